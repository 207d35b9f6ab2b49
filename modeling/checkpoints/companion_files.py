"""Files beside weights: configuration, vocabulary, casing and task.

- `bert_config.json`: the original's and ours.
- `vocab.txt`: of every format; Hugging Face's newer tools write its entries into `tokenizer.json`
  only.
- `tokenizer_config.json` and the like: see `data_gen/tokenization/settings.py`.
- `task.json`: the purpose of a fine-tuned model of ours.

Input: `CheckpointReader` and a directory. Output: the same with its companion files.
"""

import dataclasses
import os
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    TOKENIZER_CONFIG_FILE,
    TOKENIZER_FILE,
    TokenizerSettings,
    read_settings,
    write_settings,
)
from data_gen.tokenization.vocabulary import (
    Vocabulary,
    check_fingerprint,
    short,
    temporary_vocabulary,
)
from data_gen.tokenization.wordpiece import basic_tokenize
from modeling.checkpoints.reader import CheckpointReader
from modeling.config import BertConfig

# TensorFlow appends this to the path of a variable.
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
# Purpose of a fine-tuned model: kind, names of the labels, lengths, thresholds.
TASK_FILE = "task.json"
# Options of a run with its starts, and its metrics.
FLAGS_FILE = "flags.json"
METRICS_FILE = "metrics.jsonl"
EVAL_RESULTS = "eval_results.json"
# A run of a sweep or an experiment: its options and, when it is complete, its metrics.
RESULT_FILE = "run_result.json"
# Masks of an evaluation of pre-training as the model fills them.
SAMPLES_FILE = "eval_samples.jsonl"
# All runs of a sweep.
SELECTION_FILE = "selection.json"
# Directory with the best weights of a fine-tuning run, and the file in it with their metrics.
BEST_DIRECTORY = "best"
# The inputs of a run, with its id.
INPUTS_FILE = "inputs.json"
RUN_ID = "run_id"
BEST_RECORD = "best.json"
# Keys that readers need, see `json_files.check_object`.
_BEST_FIELDS = {"step": int, "metric": str, "metrics": dict[str, float], RUN_ID: str | None}
TASK_FIELDS = {
    RUN_ID: str | None,
    "kind": str | None,
    "task_name": str | None,
    "words": str | None,
    "label_scheme": str | None,
    "truncate": str | None,
    "pooling": str | None,
    "max_seq_length": int | None,
    "min_context": int | None,
    "context": str | None,
    "votes": int | None,
    "long_texts": str | None,
    "window_stride": int | None,
    "tag_scheme": str | None,
    "labels": list[str] | None,
    "pair": bool | None,
    "normalize": bool | None,
}
# "kind" of a model whose vectors are compared.
SENTENCE_EMBEDDING = "sentence_embedding"
# Names of tasks in command lines and in `task.json` of earlier versions → today's.
FORMER_TASK_NAMES = {
    "classifier": "classification",
    "squad": "question_answering",
    "ner": "token_classification",
    "ner_features": "token_classification_from_features",
}


def read_best_record(directory: str) -> dict:
    """Returns `best.json` in a directory of best weights: step, metric, metrics and the id of the
    run; empty without the file."""
    path = os.path.join(directory, BEST_RECORD)
    record = json_files.read_object(path, _BEST_FIELDS)
    if record:
        json_files.check_object(record, {"metrics": {record["metric"]: float}}, path)
        check_run_of_best(directory)
    return record


def read_task_file(path: str) -> dict:
    """Returns the keys of `task.json` that have a value, with the kind of task under its name of
    today; empty without the file."""
    task = {}
    content = json_files.read_object(path, TASK_FIELDS)
    if content:
        _check_run(path, content)
        check_names(content.get("labels") or (), f"{path}: labels")
    for name, value in content.items():
        if value is not None:
            task[name] = value
    if "kind" in task:
        task["kind"] = FORMER_TASK_NAMES.get(task["kind"], task["kind"])
    return task


def check_names(names: Sequence[str], where: str) -> None:
    """Raises `UserError` if two classes have one name."""
    if len(set(names)) < len(names):
        twin = next(name for name in names if list(names).count(name) > 1)
        raise UserError(f"{where}: two classes are called {twin!r}: give each a name of its own")


def check_run_of_best(directory: str) -> None:
    """Raises `UserError` if a directory of best weights is not of the run around it."""
    for name in (TASK_FILE, BEST_RECORD):
        path = os.path.join(directory, name)
        _check_run(path, json_files.read_object(path))


def _check_run(path: str, content: Mapping[str, object]) -> None:
    """Raises `UserError` if a file of a run directory has not the id of the run."""
    directory = files.parent_directory(path)
    if os.path.basename(directory) == BEST_DIRECTORY:
        directory = files.parent_directory(directory)
    # Runs of earlier versions have no id.
    inputs = json_files.read_object(os.path.join(directory, INPUTS_FILE), {RUN_ID: str | None})
    run_id = inputs.get(RUN_ID)
    if run_id and content.get(RUN_ID) != run_id:
        raise UserError(
            f"{path} is of another run than {directory}: restore the file, or move it away"
        )


def read_task(checkpoint: CheckpointReader | None) -> dict | None:
    """Returns `task.json` of the run directory that the weights are in; None without one."""
    if checkpoint is None or checkpoint.directory is None:
        return None
    return read_task_file(os.path.join(checkpoint.directory, TASK_FILE)) or None


def with_companion_files(checkpoint: CheckpointReader, directory: str) -> CheckpointReader:
    """Adds the files in the directory of the weights that their reader has not read itself.

    Raises:
      UserError: a file is damaged, or vocabularies contradict each other.
    """
    # A reader of another format knows its own configuration file, which has precedence.
    config = checkpoint.config
    config_file = os.path.join(directory, CONFIG_FILE)
    if config is None and files.exists(config_file):
        config = BertConfig.from_file(config_file)

    settings = read_settings(directory)
    do_lower_case = settings.do_lower_case
    if do_lower_case is None:
        do_lower_case = checkpoint.do_lower_case
    vocab_file = _vocabulary_file(checkpoint, directory, settings)
    if vocab_file is not None and _is_extended(vocab_file, settings):
        settings = dataclasses.replace(settings, fingerprint=None)
    return dataclasses.replace(
        checkpoint,
        config=config,
        vocab_file=vocab_file,
        directory=directory,
        do_lower_case=do_lower_case,
        vocab_sha256=settings.fingerprint,
        truncation_side=settings.truncation_side,
        max_length=settings.max_length,
        notes=(*checkpoint.notes, *settings.notes),
    )


def _vocabulary_file(
    checkpoint: CheckpointReader, directory: str, settings: TokenizerSettings
) -> str | None:
    """Returns the path of the vocabulary with all added tokens; None without one."""
    path: str | None = os.path.join(directory, VOCAB_FILE)
    tokenizer_file = os.path.join(directory, TOKENIZER_FILE)
    if not files.exists(str(path)):
        path = checkpoint.vocab_file
        if not settings.ids:
            return path
        ids = dict(settings.ids)
    elif not settings.ids and not settings.added_tokens:
        return path
    else:
        vocabulary = Vocabulary.from_file(str(path))
        # A fingerprint already says which of the two vocabularies the weights belong to.
        if settings.ids and settings.fingerprint is None:
            _check_same_ids(vocabulary, settings.ids)
        ids = {token: id for id, token in enumerate(vocabulary.tokens)}
    added = {}
    for token in settings.added_tokens:
        if token.content not in ids:
            added[token.content] = token.id
    # Only files of other programs name tokens that their vocab.txt lacks.
    if path is not None and not added:
        return path
    ids |= added
    if sorted(ids.values()) != list(range(len(ids))):
        where = tokenizer_file if settings.ids else os.path.join(directory, VOCAB_FILE)
        raise UserError(
            f"{where}: the ids of the vocabulary are not 0...{len(ids) - 1}, each once"
            + (f", with the added tokens {', '.join(added)}" if added else "")
        )
    settings = dataclasses.replace(settings, fingerprint=None)
    return temporary_vocabulary(sorted(ids, key=ids.__getitem__), settings)


def _is_extended(vocab_file: str, settings: TokenizerSettings) -> bool:
    """Whether another program has added tokens to a vocabulary of ours, and kept its fingerprint:
    transformers copies the keys that it does not know."""
    if settings.fingerprint is None or not settings.added_tokens:
        return False
    added = {token.content for token in settings.added_tokens}
    tokens = list(Vocabulary.from_file(vocab_file).tokens)
    num_tokens = len(tokens)
    while tokens and tokens[-1] in added:
        tokens.pop()
    return len(tokens) < num_tokens and Vocabulary(tokens).has_fingerprint(settings.fingerprint)


def _check_same_ids(vocabulary: Vocabulary, ids: Mapping[str, int]) -> None:
    """Raises `UserError` for a token of `vocab.txt` with another id in `tokenizer.json`."""
    for id, token in enumerate(vocabulary.tokens):
        if ids.get(token, id) != id:
            raise UserError(
                f"{vocabulary.path}:{id + 1}: {token} has id {ids[token]} in {TOKENIZER_FILE}: "
                "remove the file that the model was not trained with"
            )


def write_companion_files(
    directory: str,
    config: BertConfig,
    vocab_file: str | None,
    do_lower_case: bool | None,
    vocab_sha256: str | None = None,
    **more: object,
) -> None:
    """Writes the vocabulary, unless it is None, and `tokenizer_config.json`, with `more` keys; the
    writer of the format writes the configuration."""
    settings = TokenizerSettings(do_lower_case=do_lower_case, fingerprint=vocab_sha256)
    if vocab_file is not None:
        files.copy(vocab_file, os.path.join(directory, VOCAB_FILE))
        vocabulary = Vocabulary.from_file(vocab_file)
        settings = vocabulary.settings(do_lower_case, vocabulary.fingerprint)
    # The keys that Hugging Face's tokenizers read.
    # They are written even without a vocabulary: `transformers` takes its own defaults otherwise.
    keys: dict[str, object] = {
        "model_max_length": config.max_position_embeddings,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        **more,
    }
    write_settings(directory, settings, **keys)


def choose_casing(do_lower_case: bool | None, checkpoint: CheckpointReader | None) -> bool | None:
    """Returns the casing that the user gives, else the checkpoint's, None if unknown; raises
    `UserError` for a contradiction."""
    # A wrong casing makes [UNK] of many words without any error.
    stored = checkpoint.do_lower_case if checkpoint else None
    if do_lower_case is None:
        return stored
    if checkpoint and stored is not None and stored != do_lower_case:
        casing = "lower-cased" if stored else "cased"
        raise UserError(
            f"--do_lower_case={str(do_lower_case).lower()} contradicts the checkpoint "
            f"{checkpoint.description}, whose vocabulary is of {casing} text: leave the flag out"
        )
    return do_lower_case


def known_casing(
    do_lower_case: bool | None, checkpoint: CheckpointReader | None, vocabulary: Vocabulary
) -> tuple[bool | None, list[str]]:
    """Returns the casing that the user gives, else the checkpoint's, else the one that the
    vocabulary shows, with a line that says so; None if nothing does.

    Raises:
      UserError: user and checkpoint contradict each other.
    """
    casing = choose_casing(do_lower_case, checkpoint)
    example = vocabulary.upper_case_entry
    if casing is not None or example is None:
        return casing, []
    return False, [
        f"nothing beside {vocabulary.path} says its casing: it has upper-case entries such as "
        f"{example}, so text is not lower-cased (--do_lower_case)"
    ]


def settled_vocabulary(vocab_file: str, checkpoint: CheckpointReader | None) -> str:
    """Returns the path of a user's vocabulary, or of a copy with the checkpoint's settings.

    A custom vocabulary rarely has files beside it, and its words are like the checkpoint's
    texts: accents are stripped, and added tokens are found, as the checkpoint's files say.

    Raises:
      UserError: the files beside the two contradict each other.
    """
    if checkpoint is None or checkpoint.vocab_file is None:
        return vocab_file
    if files.same_file(vocab_file, checkpoint.vocab_file):
        return vocab_file
    vocabulary = Vocabulary.from_file(vocab_file)
    expected = Vocabulary.from_file(checkpoint.vocab_file)
    accents = {vocabulary.strip_accents, expected.strip_accents} - {None}
    if len(accents) > 1:
        raise UserError(
            f"strip_accents beside {vocab_file} contradicts that of {checkpoint.description}: "
            "remove one of them"
        )
    settings = vocabulary.settings(None, None)
    added = {token.content: token for token in (*expected.added_tokens, *settings.added_tokens)}
    settled = dataclasses.replace(
        settings,
        strip_accents=next(iter(accents), None),
        added_tokens=tuple(added[token] for token in added if token in vocabulary),
    )
    if settled == settings:
        return vocab_file
    return temporary_vocabulary(vocabulary.tokens, settled)


def check_vocabulary(
    vocabulary: Vocabulary,
    checkpoint: CheckpointReader | None,
    where: str = "--vocab_file",
    remedy: str = "use that one",
    do_lower_case: bool | None = None,
) -> str | None:
    """Refuses a vocabulary that the weights do not belong to, naming both and the first difference.

    A custom vocabulary may give tokens to the [unused] entries of a release, whose embeddings are
    untrained. Then a line with their number is returned, else None.

    Args:
      where: source of the vocabulary, for errors.
      remedy: instruction for a user with another one, for errors.
      do_lower_case: casing of the texts; if given, tokens that no text has are named.
    """
    if checkpoint is None:
        return None
    fingerprint = checkpoint.vocab_sha256
    if fingerprint is not None and vocabulary.has_fingerprint(fingerprint):
        return None
    # The fingerprint is all there is to compare if no vocabulary is beside the weights.
    if checkpoint.vocab_file is None:
        if fingerprint is None:
            return None
        raise UserError(
            f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description} "
            f"({short(fingerprint)} in its {TOKENIZER_CONFIG_FILE}): give the one that belongs to "
            "it"
        )
    if not vocabulary.path or not files.same_file(vocabulary.path, checkpoint.vocab_file):
        expected = Vocabulary.from_file(checkpoint.vocab_file)
    else:
        expected = vocabulary
    check_fingerprint(expected, fingerprint)
    # The original recommends this way to add words of a domain.
    replaced = expected.replaced_unused(vocabulary)
    if replaced is None:
        raise UserError(
            f"{where}: {_named(vocabulary)} is not the vocabulary of {checkpoint.description}, "
            f"which is {_named(expected)}: {expected.describe_difference(vocabulary)}: {remedy}, "
            "or take a checkpoint that was trained with yours"
        )
    if not replaced:
        return None
    note = (
        f"{vocabulary.path}: {replaced:,} [unused] entries of the checkpoint's vocabulary have "
        "tokens here, whose embeddings are untrained so far"
    )
    if do_lower_case is not None:
        note += _unmatched_tokens(vocabulary, expected, do_lower_case)
    return note


def _unmatched_tokens(vocabulary: Vocabulary, expected: Vocabulary, do_lower_case: bool) -> str:
    """Returns a warning of the tokens that are not in `expected` and in no text; "" without any."""
    added_tokens = {added.content for added in vocabulary.added_tokens}
    unmatched = []
    for token in vocabulary.tokens:
        # A word with signs or blanks in it is cut before the vocabulary is asked for it.
        word = token.removeprefix("##")
        is_new = token not in expected and token not in added_tokens
        if is_new and basic_tokenize(word, do_lower_case, vocabulary.strip_accents) != [word]:
            unmatched.append(token)
    if not unmatched:
        return ""
    return (
        f"; WARNING: no text has {len(unmatched):,} of them, since words are cut at blanks and "
        "signs, and those of an uncased vocabulary have no capitals and accents: "
        f"{', '.join(map(repr, unmatched[:10]))}"
    )


def _named(vocabulary: Vocabulary) -> str:
    """Returns path and fingerprint of a vocabulary, for messages."""
    path = vocabulary.path or "the vocabulary"
    return f"{path} (fingerprint {short(vocabulary.fingerprint)})"

"""Files beside weights: configuration, vocabulary, casing, task and pooling.

- `bert_config.json`: the original's and ours.
- `vocab.txt`: of every format; Hugging Face's newer tools write its entries into `tokenizer.json`
  only.
- `tokenizer_config.json` and the like: see `data_gen/tokenization/settings.py`.
- `task.json`: the purpose of a fine-tuned model of ours.

Directories of sentence-transformers, whose encoder is in Hugging Face's format, also have:

- `modules.json`: Transformer, Pooling and sometimes Normalize, one after the other.
- `1_Pooling/config.json`: the vectors that count.
- `sentence_bert_config.json`: maximum number of tokens of a text.
- `config_sentence_transformers.json`: similarity and prompts.

Input: `CheckpointReader` and a directory. Output: the same with its companion files;
`SentenceVectors`.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    APPLIED,
    IRRELEVANT,
    TOKENIZER_CONFIG_FILE,
    TOKENIZER_FILE,
    TokenizerSettings,
    check_keys,
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
from modeling.config import POOLINGS, BertConfig

# TensorFlow appends this to the path of a variable.
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
# Purpose of a fine-tuned model: kind, names of the labels, lengths, thresholds.
TASK_FILE = "task.json"
# Options of a run with its starts, and its metrics.
FLAGS_FILE = "flags.json"
METRICS_FILE = "metrics.jsonl"
# Directory with the best weights of a fine-tuning run, and the file in it with their metrics.
BEST_DIRECTORY = "best"
BEST_RECORD = "best.json"
# Keys that readers need, see `json_files.check_object`.
_BEST_FIELDS = {"step": int, "metric": str, "metrics": dict[str, float]}
TASK_FIELDS = {
    "kind": str | None,
    "task_name": str | None,
    "words": str | None,
    "label_scheme": str | None,
    "truncate": str | None,
    "pooling": str | None,
    "max_seq_length": int | None,
    "min_context": int | None,
    "labels": list[str] | None,
    "pair": bool | None,
    "normalize": bool | None,
}
# "kind" of a model whose vectors are compared.
SENTENCE_EMBEDDING = "sentence_embedding"
# Names of tasks in command lines and in `task.json` of earlier versions → those of today.
FORMER_TASK_NAMES = {
    "classifier": "classification",
    "squad": "question_answering",
    "ner": "token_classification",
    "ner_features": "token_classification_from_features",
}

# Activations of `Dense` modules, in PyTorch's words.
DENSE_ACTIVATIONS = ("Tanh", "Identity", "ReLU")
# Files of such a module.
_DENSE_FILES = ("config.json", "model.safetensors")

_MODULES_FILE = "modules.json"
_POOLING_DIRECTORY = "1_Pooling"
_LENGTH_FILE = "sentence_bert_config.json"
_PROMPTS_FILE = "config_sentence_transformers.json"
# Versions before 6 have a key for each pooling, and later ones still read these keys.
_POOLING_KEY = "pooling_mode_"
_POOLING_KEYS = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
}
# Keys of the files of sentence-transformers, see `check_keys`: of the one beside `modules.json`, of
# the encoder's, and of each module's.
_PROMPTS_KEYS = {
    **dict.fromkeys(
        ("prompts", "default_prompt_name", "similarity_fn_name", "truncate_dim", "activation_fn"),
        APPLIED,
    ),
    # Modules decide, not the name of the class that wrote them.
    **dict.fromkeys(("__version__", "model_type"), IRRELEVANT),
}
_LENGTH_KEYS = {
    **dict.fromkeys(("max_seq_length", "do_lower_case"), APPLIED),
    **dict.fromkeys(
        (
            "config_args",
            "modality_config",
            "model_args",
            "module_output_name",
            "processing_kwargs",
            "tokenizer_args",
            "transformer_task",
            "unpad_inputs",
        ),
        IRRELEVANT,
    ),
}
_MODULE_KEYS: dict[str, dict[str, object]] = {
    "Pooling": {
        "pooling_mode": APPLIED,
        **dict.fromkeys(_POOLING_KEYS.values(), APPLIED),
        # Refused by name where they are true.
        "pooling_mode_weightedmean_tokens": APPLIED,
        "pooling_mode_lasttoken": APPLIED,
        "include_prompt": APPLIED,
        **dict.fromkeys(("word_embedding_dimension", "embedding_dimension"), IRRELEVANT),
    },
    "Dense": {
        "activation_function": APPLIED,
        # The arrays say it.
        **dict.fromkeys(("in_features", "out_features", "bias"), IRRELEVANT),
        "module_input_name": (None, "sentence_embedding"),
        "module_output_name": (None, "sentence_embedding"),
    },
}
# The first versions called the encoder's module BERT.
_ENCODERS = ("Transformer", "BERT")
_FORMER_MODULES = "sentence_transformers.models."


def read_best_record(directory: str) -> dict:
    """Returns `best.json` in a directory of best weights: step, metric and metrics; empty without
    the file."""
    path = os.path.join(directory, BEST_RECORD)
    record = json_files.read_object(path, _BEST_FIELDS)
    if record:
        json_files.check_object(record, {"metrics": {record["metric"]: float}}, path)
    return record


def read_task_file(path: str) -> dict:
    """Returns the keys of `task.json` that have a value, with the kind of task under its name of
    today; empty without the file."""
    task = {}
    for name, value in json_files.read_object(path, TASK_FIELDS).items():
        if value is not None:
            task[name] = value
    if "kind" in task:
        task["kind"] = FORMER_TASK_NAMES.get(task["kind"], task["kind"])
    return task


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
    return dataclasses.replace(
        checkpoint,
        config=config,
        vocab_file=_vocabulary_file(checkpoint, directory, settings),
        directory=directory,
        do_lower_case=do_lower_case,
        vocab_sha256=settings.fingerprint,
        notes=(*checkpoint.notes, *settings.notes, *_unknown_sentence_keys(directory)),
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
    """Returns the casing that the user gives, else that of the checkpoint, None if unknown; raises
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
    """Returns the casing that the user gives, else that of the checkpoint, else the one that the
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

    A custom vocabulary rarely has files beside it, and its words are those of the checkpoint's
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
    expected = vocabulary
    if not vocabulary.path or not files.same_file(vocabulary.path, checkpoint.vocab_file):
        expected = Vocabulary.from_file(checkpoint.vocab_file)
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


class DenseModule(NamedTuple):
    """A dense layer after the pooling, such as LaBSE's: its directory, which has the weights, and
    the activation, one of `DENSE_ACTIVATIONS`."""

    directory: str
    activation: str


class DenseLayer(NamedTuple):
    """A dense layer after the pooling: float32 kernel [D, E], bias [E], and its activation, one of
    `DENSE_ACTIVATIONS`."""

    kernel: np.ndarray
    bias: np.ndarray
    activation: str


@dataclasses.dataclass(frozen=True)
class SentenceVectors:
    """Settings that make one vector of the vectors of a text's tokens.

    Attributes:
      pooling: one of `POOLINGS`; of a directory with further modules their names, too, e.g. "mean,
        Dense".
      normalize: whether vectors are scaled to length 1.
      max_seq_length: maximum number of tokens of a text; None for as many as there are positions.
      prompts: name → text that is put before texts of a kind, such as "query".
      default_prompt_name: the prompt of all other texts.
      similarity: how vectors are compared, "cosine" or "dot"; for others the library's word.
      truncate_dim: number of the first components that are kept; None for all.
      dense: layers after the pooling, in their order.
    """

    pooling: str = "mean"
    normalize: bool = False
    max_seq_length: int | None = None
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    default_prompt_name: str | None = None
    similarity: str = "cosine"
    truncate_dim: int | None = None
    dense: tuple[DenseModule, ...] = ()

    def prompt(self, *names: str) -> str:
        """Returns the first of these prompts that exists, else that of all texts; "" for none."""
        for name in (*names, self.default_prompt_name):
            if name is not None and name in self.prompts:
                return self.prompts[name]
        return ""


def encoder_directory(directory: str) -> str:
    """Returns the directory of the encoder's files: a lower one in old directories of
    sentence-transformers, `directory` itself in all others."""
    modules = _modules(directory)
    if not modules:
        return directory
    return os.path.join(directory, modules[0][1]).rstrip("/")


def _sentence_roots(directory: str) -> list[str]:
    """Returns the directories where the `modules.json` of an encoder's directory may be."""
    roots = [directory]
    # A `modules.json` above any other directory has nothing to do with it.
    if os.path.basename(directory).startswith("0_"):
        roots.append(os.path.dirname(directory))
    return roots


def _unknown_sentence_keys(directory: str) -> list[str]:
    """Returns a line for each file of sentence-transformers with keys that are unknown here."""
    directory = directory.rstrip("/")
    notes = []
    for root in _sentence_roots(directory):
        modules = _modules(root)
        if not modules:
            continue
        tables: list[tuple[str, Mapping[str, object]]] = [
            (os.path.join(root, _PROMPTS_FILE), _PROMPTS_KEYS),
            (os.path.join(directory, _LENGTH_FILE), _LENGTH_KEYS),
        ]
        for name, path in modules[1:]:
            if name in _MODULE_KEYS:
                tables.append((os.path.join(root, path, "config.json"), _MODULE_KEYS[name]))
        for path, rules in tables:
            note = check_keys(json_files.read_object(path), rules, path, "a sentence encoder")
            if note:
                notes.append(note)
    return notes


def vectors_of(checkpoint: CheckpointReader | None) -> SentenceVectors | None:
    """Returns the pooling of a text's tokens: by the files of sentence-transformers in the
    directory of the weights or the one above, else as the model was trained here; None if neither
    exists."""
    if checkpoint is None or checkpoint.directory is None:
        return None
    directory = checkpoint.directory.rstrip("/")
    for root in _sentence_roots(directory):
        modules = _modules(root)
        if modules and encoder_directory(root) == directory:
            vectors = _sentence_vectors(root, directory, modules)
            if vectors is not None:
                return vectors
    # Our own runs have no file of sentence-transformers.
    task = read_task(checkpoint) or {}
    if task.get("kind") != SENTENCE_EMBEDDING:
        return None
    return SentenceVectors(
        pooling=task.get("pooling", "mean"),
        normalize=task.get("normalize", True),
        max_seq_length=task.get("max_seq_length"),
    )


def _sentence_vectors(
    root: str, directory: str, modules: list[tuple[str, str]]
) -> SentenceVectors | None:
    """Returns the settings of a directory of sentence-transformers, whose encoder is in
    `directory`; None without a pooling."""
    poolings = []
    unsupported = []
    dense: list[DenseModule] = []
    normalize = False
    for name, path in modules[1:]:
        if name == "Pooling":
            poolings.append(_pooling(os.path.join(root, path)))
        elif name == "Normalize":
            normalize = True
        elif name == "Dense" and poolings and not normalize:
            dense.append(_dense_module(os.path.join(root, path)))
        else:
            unsupported.append(name)
    if not poolings:
        return None
    settings = json_files.read_object(
        os.path.join(root, _PROMPTS_FILE),
        {
            "prompts": dict[str, str] | None,
            "default_prompt_name": str | None,
            "similarity_fn_name": str | None,
            "truncate_dim": int | None,
        },
    )
    # Early versions wrote the name of the function.
    similarity = (settings.get("similarity_fn_name") or "cosine").removesuffix("_score")
    lengths = json_files.read_object(os.path.join(directory, _LENGTH_FILE))
    tokenizer = json_files.read_object(os.path.join(directory, TOKENIZER_CONFIG_FILE))
    length = lengths.get("max_seq_length") or tokenizer.get("model_max_length")
    # Tokenizers without a limit have a float here, 1e30.
    if type(length) is not int or length < 1:
        length = None
    return SentenceVectors(
        pooling=", ".join(poolings + unsupported),
        normalize=normalize,
        max_seq_length=length,
        prompts=settings.get("prompts") or {},
        default_prompt_name=settings.get("default_prompt_name"),
        similarity="cosine" if similarity == "cos_sim" else similarity,
        truncate_dim=settings.get("truncate_dim"),
        dense=tuple(dense),
    )


def _dense_module(directory: str) -> DenseModule:
    """Returns the dense layer in a module's directory; refuses other activations."""
    path = os.path.join(directory, "config.json")
    values = json_files.read_object(path, {"activation_function": str})
    if "activation_function" not in values:
        raise UserError(f"{path} names no activation_function: the Dense module is incomplete")
    activation = values["activation_function"].rpartition(".")[2]
    if activation not in DENSE_ACTIVATIONS:
        raise UserError(
            f"{path}: the activation {activation} of a Dense module is not known here: only "
            f"{', '.join(DENSE_ACTIVATIONS)} are"
        )
    return DenseModule(directory, activation)


def write_vectors(
    directory: str, vectors: SentenceVectors, hidden_size: int, positions: int
) -> None:
    """Adds the files that make a directory of sentence-transformers of one with an encoder of these
    sizes."""
    modules = [("Transformer", ""), ("Pooling", _POOLING_DIRECTORY)]
    for number, module in enumerate(vectors.dense, start=2):
        dense_directory = f"{number}_Dense"
        modules.append(("Dense", dense_directory))
        target = os.path.join(directory, dense_directory)
        files.make_directories(target)
        for file_name in _DENSE_FILES:
            files.copy(os.path.join(module.directory, file_name), os.path.join(target, file_name))
    if vectors.normalize:
        modules.append(("Normalize", f"{len(modules)}_Normalize"))
    rows = []
    for number, (name, module_path) in enumerate(modules):
        full_name = _FORMER_MODULES + name
        rows.append({"idx": number, "name": str(number), "path": module_path, "type": full_name})
    pooling: dict[str, object] = {"word_embedding_dimension": hidden_size}
    for name, key in _POOLING_KEYS.items():
        pooling[key] = name == vectors.pooling
    contents: dict[str, Any] = {
        _MODULES_FILE: rows,
        os.path.join(_POOLING_DIRECTORY, "config.json"): pooling,
        _LENGTH_FILE: {
            "max_seq_length": vectors.max_seq_length or positions,
            "do_lower_case": False,
        },
        _PROMPTS_FILE: {
            "prompts": vectors.prompts,
            "default_prompt_name": vectors.default_prompt_name,
            "similarity_fn_name": vectors.similarity,
        },
    }
    if vectors.truncate_dim:
        contents[_PROMPTS_FILE] = {
            **contents[_PROMPTS_FILE],
            "truncate_dim": vectors.truncate_dim,
        }
    # The library itself writes no directory for Normalize, a module without files.
    files.make_directories(os.path.join(directory, _POOLING_DIRECTORY))
    for name, content in contents.items():
        json_files.write(os.path.join(directory, name), content)


def supported_vectors(
    vectors: SentenceVectors | None, pooling: str | None = None
) -> SentenceVectors:
    """Returns the vectors that a directory describes, by default the mean over all tokens, with the
    pooling that the user gives.

    Raises:
      UserError: the directory has a pooling or a module that this project does not have, and the
        user gives no pooling.
    """
    # Mean pooling is the usual choice for models that were not trained for vectors.
    vectors = vectors or SentenceVectors()
    if pooling:
        vectors = dataclasses.replace(vectors, pooling=pooling)
    if vectors.pooling not in POOLINGS:
        raise UserError(
            f"{_MODULES_FILE} of the checkpoint makes vectors by {vectors.pooling!r}, which is not "
            f"known here: only {', '.join(POOLINGS)}, with or without Normalize, can be taken over "
            "(or chosen: --pooling)"
        )
    return vectors


def _modules(directory: str) -> list[tuple[str, str]]:
    """Returns (class, path) of the modules of a directory; empty without `modules.json`."""
    path = os.path.join(directory, _MODULES_FILE)
    # On ram:// a path below a file exists, so the directory is looked at first.
    if not files.is_directory(directory) or not files.exists(path):
        return []
    rows = json_files.read(path)
    if not isinstance(rows, list) or not rows:
        raise UserError(f"{path}: a list of modules is expected")
    modules = []
    # Classes were renamed between versions: only the last part of the name stayed.
    for row in rows:
        json_files.check_object(row, {"type": str, "path": str}, path)
        # A stranger must not choose which files are read.
        parts = re.split(r"[/\\]", row["path"])
        if os.path.isabs(row["path"]) or files.is_remote(row["path"]) or ".." in parts:
            raise UserError(
                f"{path}: {row['path']!r} leads out of the directory of the model: the folders of "
                "modules must be in it"
            )
        modules.append((row["type"].rpartition(".")[2], row["path"]))
    if modules[0][0] not in _ENCODERS:
        raise UserError(
            f"{path}: the first module is {modules[0][0]}, a {_ENCODERS[0]} is expected: others "
            "are not read"
        )
    return modules


def _pooling(directory: str) -> str:
    """Returns the pooling in a module's directory, as one of `POOLINGS` or, for others, in the
    library's words."""
    path = os.path.join(directory, "config.json")
    values = json_files.read_object(path, {"pooling_mode": str | list | None})
    pooling = values.get("pooling_mode")
    if not pooling:
        names = {key: name for name, key in _POOLING_KEYS.items()}
        pooling = []
        # In the order of the table first, so that messages do not depend on that of the file.
        for key in dict.fromkeys((*names, *values)):
            if key.startswith(_POOLING_KEY) and values.get(key) is True:
                pooling.append(names.get(key, key))
    if not isinstance(pooling, str):
        pooling = " and ".join(map(str, pooling)) or "mean"
    if values.get("include_prompt") is False:
        pooling += " without the prompt"
    return pooling

"""Weights as every reader of a format gives them, and files beside them: configuration, vocabulary,
casing, pooling.

  bert_config.json        the original's and ours
  vocab.txt               everybody's; Hugging Face's newer tools write its entries into
  tokenizer.json only tokenizer_config.json   do_lower_case, else that of the normalizer in
  tokenizer.json; the vocabulary's fingerprint

of sentence-transformers, whose encoder is in Hugging Face's format:

  modules.json                       Transformer, Pooling and sometimes Normalize, one after the
  other 1_Pooling/config.json              which vectors count
  sentence_bert_config.json          the most tokens of a text
  config_sentence_transformers.json  how vectors are compared, and prompts

Input: a `TensorFile` (shapes, and arrays of float32, by key), and a directory. Output: a
`StoredWeights`, a `SentenceVectors`.
"""

import atexit
import dataclasses
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.vocabulary import (
    TOKENIZER_CONFIG_FILE,
    Vocabulary,
    check_fingerprint,
    read_tokenizer_config,
    short,
    write_tokenizer_config,
)
from modeling.checkpoints.weights import HEADS, heads_of
from modeling.config import POOLINGS, BertConfig

# What TensorFlow appends to the path of a variable.
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
CONFIG_FILE = "bert_config.json"
VOCAB_FILE = "vocab.txt"
# What a fine-tuned model is for: kind, names of the labels, lengths, thresholds.
TASK_FILE = "task.json"
# The options of a run, and its starts.
FLAGS_FILE, METRICS_FILE = "flags.json", "metrics.jsonl"
# In the directory of a fine-tuning run: a directory with its best weights, and a file in it with
# their metrics.
BEST_DIRECTORY = "best"
BEST_RECORD = "best.json"
# What their readers need of them, see `json_files.read_object`.
_BEST_FIELDS = {"step": int, "metric": str, "metrics": dict[str, float]}
TASK_FIELDS = {
    **dict.fromkeys(
        ("kind", "task_name", "words", "label_scheme", "truncate", "pooling"), str | None
    ),
    **dict.fromkeys(("max_seq_length", "min_context"), int | None),
    "labels": list[str] | None,
    **dict.fromkeys(("pair", "normalize"), bool | None),
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

_MODULES_FILE, _POOLING_DIRECTORY = "modules.json", "1_Pooling"
_LENGTH_FILE, _PROMPTS_FILE = "sentence_bert_config.json", "config_sentence_transformers.json"
# Versions before 6 have a key for each pooling, and later ones read them.
_POOLING_KEYS = {
    "cls": "pooling_mode_cls_token",
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
}
# Of the first versions the latter.
_ENCODERS = ("Transformer", "BERT")
_FORMER_MODULES = "sentence_transformers.models."
_TOKENIZER_FILE = "tokenizer.json"
_TOKENIZER_FIELDS = {"model": dict | None, "normalizer": dict | None}
_WORDPIECE_FIELDS = {
    "model": {"vocab": dict[str, int]},
    "added_tokens": [{"content": str, "id": int}],
}


@dataclasses.dataclass(frozen=True)
class StoredWeights:
    """Weights that can be read by the names of the original (see `weights.py`).

    Every reader of a format makes one. Optimizer slots, counters and the like are not in it.

    Attributes:
      description: format and path, for messages.
      tensors: name → shape of each weight.
      read: name → float array of that shape. Raises `UserError` where the file is damaged, or the
        values are not finite.
      config: the configuration found with the weights, or None.
      vocab_file: path of the vocabulary found with the weights, or None.
      do_lower_case: whether the vocabulary is of lower-cased text, or None where it is unknown.
      vocab_sha256: `Vocabulary.fingerprint` of the vocabulary that it was trained with, or None
        where it is unknown.
      directory: where the weights are, and what else this project wrote with them; None where it is
        none of ours.
      path: of the weights: a prefix, or the first file.
    """

    description: str
    tensors: Mapping[str, tuple[int, ...]]
    read: Callable[[str], np.ndarray]
    config: BertConfig | None = None
    vocab_file: str | None = None
    do_lower_case: bool | None = None
    vocab_sha256: str | None = None
    directory: str | None = None
    path: str | None = None

    @property
    def heads(self) -> list[str]:
        """The heads that it has weights of, by the keys of `model.heads`."""
        return heads_of(self.tensors)

    def fingerprint(self) -> str:
        """SHA-256 of all weights by name, the same whatever their format."""
        digest = hashlib.sha256()
        for name in sorted(self.tensors):
            digest.update(
                f"{name} {self.tensors[name]}".encode()
                + np.asarray(self.read(name), np.float32).tobytes()
            )
        return digest.hexdigest()

    def classes(self, head: str) -> int | None:
        """C of one of `HEADS`; None where that head is not in the checkpoint, or has no classes."""
        shape = self.tensors.get(HEADS[head].signature_name)
        return shape[0] if shape and not HEADS[head].parts else None


class TensorFile:
    """A file of weights, with the shape of every tensor in it by key; subclasses open it and read
    single tensors. `types` are those of numbers that it may hold as weights, in the words of the
    format."""

    # Key → the tensor as the file has it.
    raw: Callable[[str], np.ndarray]

    def __init__(self, path: str, types: tuple[str, ...]):
        self.path = path
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._types = types
        self._dtypes: dict[str, str] = {}

    def read(self, key: str) -> np.ndarray:
        """The tensor called `key` as float32; half-precision numbers are widened, which is exact.
        Raises `UserError`: it is no float, can't be read, or holds values that are not finite."""
        self.check_dtype(key)
        return self._finite(key, np.asarray(self.raw(key)).astype(np.float32, copy=False))

    def check_dtype(self, key: str) -> None:
        """Refuses what is no float, or would lose digits."""
        if self._dtypes[key] not in self._types:
            raise UserError(
                f"{self.path}: {key} is of type {self._dtypes[key]}; weights are {', '.join(self._types)}"
            )

    def _finite(self, key: str, values: np.ndarray) -> np.ndarray:
        """The values, unless one is NaN or infinite: no formula of BERT makes anything of such a
        weight."""
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            count = np.count_nonzero(~np.isfinite(values))
            raise UserError(
                f"{self.path}: {key.removesuffix(SUFFIX)} holds {count:,} values that are not finite (NaN or "
                "infinity): the file is damaged, or training has diverged"
            )
        return values


def read_best_record(directory: str) -> dict:
    """`best.json` in a directory of best weights: step, metric and metrics; empty where there is
    none."""
    path = os.path.join(directory, BEST_RECORD)
    record = json_files.read_object(path, _BEST_FIELDS)
    if record:
        json_files.check_object(record, {"metrics": {record["metric"]: float}}, path)
    return record


def read_task_file(path: str) -> dict:
    """What `task.json` has a value of, the kind of task under the name of today; empty where there
    is none."""
    task = {
        name: value
        for name, value in json_files.read_object(path, TASK_FIELDS).items()
        if value is not None
    }
    return (
        {**task, "kind": FORMER_TASK_NAMES.get(task["kind"], task["kind"])}
        if "kind" in task
        else task
    )


def read_task(checkpoint: StoredWeights | None) -> dict | None:
    """`task.json` of the run directory that the weights are in; None where there is none."""
    if checkpoint is None or checkpoint.directory is None:
        return None
    return read_task_file(os.path.join(checkpoint.directory, TASK_FILE)) or None


def with_companion_files(checkpoint: StoredWeights, directory: str) -> StoredWeights:
    """Adds what lies in the directory of the weights and their reader has not found itself.

    Raises:
      UserError: a file is damaged, or vocabularies contradict each other.
    """
    config_file, beside, tokenizer_file = (
        os.path.join(directory, name) for name in (CONFIG_FILE, VOCAB_FILE, _TOKENIZER_FILE)
    )
    config = checkpoint.config
    if config is None and files.exists(config_file):
        config = BertConfig.from_file(config_file)
    tokenizer = json_files.read_object(tokenizer_file, _TOKENIZER_FIELDS)
    ids: dict[str, int] = {}
    if (model := tokenizer.get("model") or {}).get("type") == "WordPiece":
        json_files.check_object(
            {"added_tokens": [], **tokenizer}, _WORDPIECE_FIELDS, tokenizer_file
        )
        ids = {
            **{token["content"]: token["id"] for token in tokenizer.get("added_tokens", ())},
            **model["vocab"],
        }
    casing, fingerprint = read_tokenizer_config(directory)
    casings = casing, (tokenizer.get("normalizer") or {}).get("lowercase")
    vocab_file: str | None = beside
    if not files.exists(beside) and not ids:
        vocab_file = checkpoint.vocab_file
    elif not files.exists(beside):
        tokens = {id: token for token, id in ids.items()}
        if sorted(tokens) != list(range(len(ids))):
            raise UserError(
                f"{tokenizer_file}: the ids of the vocabulary are not 0...{len(ids) - 1}, each once"
            )
        # A file with its entries, which is there until the program ends.
        folder = tempfile.mkdtemp(prefix="vocabulary.")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        vocab_file = os.path.join(folder, VOCAB_FILE)
        with open(vocab_file, "w", encoding="utf-8", newline="") as file:
            file.writelines(tokens[id] + "\n" for id in range(len(tokens)))
    elif ids and fingerprint is None:
        for id, token in enumerate(Vocabulary.from_file(beside).tokens):
            if ids.get(token, id) != id:
                raise UserError(
                    f"{beside}:{id + 1}: {token} has id {ids[token]} in {_TOKENIZER_FILE}: remove the file that "
                    "the model was not trained with"
                )
    return dataclasses.replace(
        checkpoint,
        config=config,
        vocab_file=vocab_file,
        directory=directory,
        do_lower_case=next(
            (fact for fact in casings if isinstance(fact, bool)), checkpoint.do_lower_case
        ),
        vocab_sha256=fingerprint,
    )


def write_companion_files(
    directory: str,
    config: BertConfig,
    vocab_file: str | None,
    do_lower_case: bool | None,
    vocab_sha256: str | None = None,
    **more: object,
) -> None:
    """Writes the vocabulary, where there is one, and `tokenizer_config.json`, with `more` keys; the
    configuration is up to the format."""
    if vocab_file is not None:
        files.copy(vocab_file, os.path.join(directory, VOCAB_FILE))
    fingerprint = (
        vocab_sha256 if vocab_file is None else Vocabulary.from_file(vocab_file).fingerprint
    )
    write_tokenizer_config(
        directory,
        do_lower_case,
        fingerprint,
        **{
            "model_max_length": config.max_position_embeddings,
            "strip_accents": None,
            "tokenize_chinese_chars": True,
            "unk_token": "[UNK]",
            "sep_token": "[SEP]",
            "pad_token": "[PAD]",
            "cls_token": "[CLS]",
            "mask_token": "[MASK]",
            **more,
        },
    )


def chosen_casing(do_lower_case: bool | None, checkpoint: StoredWeights | None) -> bool | None:
    """The casing that the user gives, else that of the checkpoint, None where it is unknown;
    refuses a contradiction."""
    known = checkpoint.do_lower_case if checkpoint else None
    if checkpoint and None not in (do_lower_case, known) and do_lower_case != known:
        raise UserError(
            f"--do_lower_case={str(do_lower_case).lower()} contradicts the checkpoint "
            f"{checkpoint.description}, whose vocabulary is {'of lower-cased' if known else 'of cased'} text: "
            "leave the flag out"
        )
    return known if do_lower_case is None else do_lower_case


def check_vocabulary(
    vocabulary: Vocabulary,
    checkpoint: StoredWeights | None,
    where: str = "--vocab_file",
    remedy: str = "use that one",
) -> str | None:
    """Refuses a vocabulary that the weights do not belong to, naming both and the first difference.

    Allowed is the custom of giving custom words to a release's [unused] entries, whose embeddings
    are untrained: returned is a line with their number, or None.

    Args:
      where, remedy: what the vocabulary comes from, and what to do about another one, for errors.
    """
    if checkpoint is None:
        return None

    def named(one: Vocabulary) -> str:
        return f"{one.path or 'the vocabulary'} (fingerprint {short(one.fingerprint)})"

    fingerprint = checkpoint.vocab_sha256
    if fingerprint is not None and vocabulary.has_fingerprint(fingerprint):
        return None
    if checkpoint.vocab_file is None:
        if fingerprint is None:
            return None
        raise UserError(
            f"{where}: {named(vocabulary)} is not the vocabulary of {checkpoint.description} "
            f"({short(fingerprint)} in its {TOKENIZER_CONFIG_FILE}): give the one that belongs to it"
        )
    is_its_own = vocabulary.path is not None and files.same_file(
        vocabulary.path, checkpoint.vocab_file
    )
    own = vocabulary if is_its_own else Vocabulary.from_file(checkpoint.vocab_file)
    check_fingerprint(own, fingerprint)
    replaced = own.replaced_unused(vocabulary)
    if replaced is None:
        raise UserError(
            f"{where}: {named(vocabulary)} is not the vocabulary of {checkpoint.description}, which is "
            f"{named(own)}: {own.describe_difference(vocabulary)}: {remedy}, or take a checkpoint that "
            "was trained with yours"
        )
    return (
        None
        if not replaced
        else (
            f"{vocabulary.path}: {replaced:,} [unused] entries of the checkpoint's vocabulary have tokens here, whose "
            "embeddings are untrained so far"
        )
    )


@dataclasses.dataclass(frozen=True)
class SentenceVectors:
    """How the vectors of a text's tokens become one.

    Attributes:
      pooling: one of `POOLINGS`; of a directory that has more to it what that is, e.g. "mean,
        Dense".
      normalize: whether vectors are scaled to length 1.
      max_seq_length: most tokens of a text; None for as many as there are positions.
      prompts: name → what stands before texts of a kind, such as "query"; the default is that of
        all others.
    """

    pooling: str = "mean"
    normalize: bool = False
    max_seq_length: int | None = None
    prompts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    default_prompt_name: str | None = None

    def prompt(self, *names: str) -> str:
        """The first of these prompts that there is, else that of all texts; empty for none."""
        return next(
            (
                self.prompts[name]
                for name in (*names, self.default_prompt_name or "")
                if name in self.prompts
            ),
            "",
        )


def encoder_directory(directory: str) -> str:
    """Where the encoder is: in old directories below; `directory` itself where it is none of
    sentence-transformers."""
    modules = _modules(directory)
    return os.path.join(directory, modules[0][1]).rstrip("/") if modules else directory


def vectors_of(checkpoint: StoredWeights | None) -> SentenceVectors | None:
    """How the vectors of a text become one: by the files of sentence-transformers in the directory
    of the weights or the one above, else as they were trained here; None where neither says so."""
    if checkpoint is None or checkpoint.directory is None:
        return None
    place = checkpoint.directory.rstrip("/")
    # A file of that name above another directory has nothing to do with it.
    is_below = os.path.basename(place).startswith("0_")
    for root in (place, *([os.path.dirname(place)] if is_below else [])):
        modules = _modules(root)
        if not modules or encoder_directory(root) != place:
            continue
        poolings = [
            _pooling(os.path.join(root, path)) for name, path in modules if name == "Pooling"
        ]
        others = [name for name, _ in modules[1:] if name not in ("Pooling", "Normalize")]
        if poolings:
            found = json_files.read_object(
                os.path.join(root, _PROMPTS_FILE),
                {"prompts": dict[str, str] | None, "default_prompt_name": str | None},
            )
            lengths = [
                json_files.read_object(os.path.join(place, name)).get(key)
                for name, key in (
                    (_LENGTH_FILE, "max_seq_length"),
                    (TOKENIZER_CONFIG_FILE, "model_max_length"),
                )
            ]
            length = next(filter(None, lengths), None)
            return SentenceVectors(
                ", ".join([*poolings, *others]),
                any(name == "Normalize" for name, _ in modules),
                length
                if isinstance(length, int) and not isinstance(length, bool) and length > 0
                else None,
                found.get("prompts") or {},
                found.get("default_prompt_name"),
            )
    task = read_task(checkpoint) or {}
    return (
        None
        if task.get("kind") != SENTENCE_EMBEDDING
        else SentenceVectors(
            task.get("pooling", "mean"), task.get("normalize", True), task.get("max_seq_length")
        )
    )


def write_vectors(
    directory: str, vectors: SentenceVectors, hidden_size: int, positions: int
) -> None:
    """Adds what makes a directory of sentence-transformers of one with an encoder of these
    sizes."""
    names = ["Transformer", "Pooling", *(["Normalize"] if vectors.normalize else [])]
    paths = ["", _POOLING_DIRECTORY, "2_Normalize"]
    # They have no empty directory; the module reads nothing there.
    files.make_directories(os.path.join(directory, _POOLING_DIRECTORY))
    json_files.write(
        os.path.join(directory, _MODULES_FILE),
        [
            {"idx": number, "name": str(number), "path": path, "type": _FORMER_MODULES + name}
            for number, (name, path) in enumerate(zip(names, paths, strict=False))
        ],
    )
    json_files.write(
        os.path.join(directory, _POOLING_DIRECTORY, "config.json"),
        {
            "word_embedding_dimension": hidden_size,
            **{key: name == vectors.pooling for name, key in _POOLING_KEYS.items()},
        },
    )
    json_files.write(
        os.path.join(directory, _LENGTH_FILE),
        {"max_seq_length": vectors.max_seq_length or positions, "do_lower_case": False},
    )
    json_files.write(
        os.path.join(directory, _PROMPTS_FILE),
        {
            "prompts": vectors.prompts,
            "default_prompt_name": vectors.default_prompt_name,
            "similarity_fn_name": "cosine",
        },
    )


def known_vectors(vectors: SentenceVectors | None, pooling: str | None = None) -> SentenceVectors:
    """The vectors that a directory describes, the mean over all tokens by default, with the pooling
    that the user chose.

    Raises:
      UserError: the directory has a pooling or a module that this project does not have, and
        nothing was chosen.
    """
    found = vectors or SentenceVectors()
    found = dataclasses.replace(found, pooling=pooling or found.pooling)
    if found.pooling not in POOLINGS:
        raise UserError(
            f"{_MODULES_FILE} of the checkpoint makes vectors by {found.pooling!r}, which is not known here: "
            f"only {', '.join(POOLINGS)}, with or without Normalize, can be taken over (or chosen: --pooling)"
        )
    return found


def _modules(directory: str) -> list[tuple[str, str]]:
    """(class, path) of the modules of a directory; empty where there are none."""
    path = os.path.join(directory, _MODULES_FILE)
    if not files.is_directory(directory) or not files.exists(path):
        return []
    modules = json_files.read(path)
    if not isinstance(modules, list) or not modules:
        raise UserError(f"{path}: a list of modules is expected")
    for module in modules:
        json_files.check_object(module, {"type": str, "path": str}, path)
    found = [(module["type"].rpartition(".")[2], module["path"]) for module in modules]
    if found[0][0] not in _ENCODERS:
        raise UserError(
            f"{path}: the first module is {found[0][0]}, a {_ENCODERS[0]} is expected: others are not read"
        )
    return found


def _pooling(directory: str) -> str:
    path = os.path.join(directory, "config.json")
    values = json_files.read_object(path, {"pooling_mode": str | list | None})
    names = [name for name, key in _POOLING_KEYS.items() if values.get(key) is True]
    names += [
        key
        for key, value in values.items()
        if key.startswith("pooling_mode_") and value is True and key not in _POOLING_KEYS.values()
    ]
    stated = values.get("pooling_mode") or names or "mean"
    without = " without the prompt" if values.get("include_prompt") is False else ""
    return (stated if isinstance(stated, str) else " and ".join(map(str, stated))) + without

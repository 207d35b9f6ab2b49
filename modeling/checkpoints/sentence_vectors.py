"""Files of sentence-transformers beside an encoder, in Hugging Face's format: how the vectors of a
text's tokens become one.

- `modules.json`: Transformer, Pooling and sometimes Dense and Normalize, one after the other.
- `1_Pooling/config.json`: the vectors that count.
- `sentence_bert_config.json`: maximum number of tokens of a text.
- `config_sentence_transformers.json`: similarity and prompts.

Input: a directory, or the checkpoint in it. Output: `SentenceVectors`, which `write_vectors`
writes.
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    ABOUT_FILES,
    Applied,
    Rule,
    check_keys,
    read_settings,
)
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING, read_task
from modeling.checkpoints.reader import CheckpointReader
from modeling.config import POOLINGS

# Activations of `Dense` modules, in PyTorch's words.
DENSE_ACTIVATIONS = ("Tanh", "Identity", "ReLU")
# Files of such a module.
_DENSE_FILES = ("config.json", "model.safetensors")

_MODULES_FILE = "modules.json"
_POOLING_DIRECTORY = "1_Pooling"
_SETFIT_HEAD = "model_head.pkl"
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
_ACTIVATION = "activation_fn"
# Keys of the files of sentence-transformers, see `check_keys`: of the one beside `modules.json`, of
# the encoder's, and of each module's.
_PROMPTS_KEYS: dict[str, Rule] = {
    "prompts": Applied(dict[str, str] | None),
    **dict.fromkeys(
        ("default_prompt_name", "similarity_fn_name", _ACTIVATION), Applied(str | None)
    ),
    "truncate_dim": Applied(int | None, smallest=1),
    "model_type": "the modules decide, not the name of the class that wrote them",
    "__version__": ABOUT_FILES,
}
_LENGTH_KEYS: dict[str, Rule] = {
    "max_seq_length": Applied(int | None, smallest=1),
    "do_lower_case": Applied(bool | None),
    # With arguments of its own the library makes another model of the same files.
    **dict.fromkeys(
        ("config_args", "model_args", "processing_kwargs", "tokenizer_args"), (None, {})
    ),
    # States of the last layer, or the scores of a head.
    "modality_config": (
        None,
        {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        {"text": {"method": "forward", "method_output_name": "logits"}},
    ),
    **dict.fromkeys(("module_output_name", "transformer_task", "unpad_inputs"), ABOUT_FILES),
}
_ARRAYS_SAY = "the arrays say it"
# Modules may also work on vectors of tokens.
_OF_A_TEXT: dict[str, Rule] = dict.fromkeys(
    ("module_input_name", "module_output_name"), (None, "sentence_embedding")
)
_MODULE_KEYS: dict[str, dict[str, Rule]] = {
    "Pooling": {
        "pooling_mode": Applied(str | list[str] | None),
        **dict.fromkeys(
            (
                *_POOLING_KEYS.values(),
                # Refused by name where they are true.
                "pooling_mode_weightedmean_tokens",
                "pooling_mode_lasttoken",
                "include_prompt",
            ),
            Applied(bool | None),
        ),
        **dict.fromkeys(("word_embedding_dimension", "embedding_dimension"), _ARRAYS_SAY),
    },
    "Dense": {
        "activation_function": Applied(str),
        **dict.fromkeys(("in_features", "out_features", "bias"), _ARRAYS_SAY),
        "use_residual": (None, False),
        **_OF_A_TEXT,
    },
    "Normalize": _OF_A_TEXT,
}
# The first versions called the encoder's module BERT.
_ENCODERS = ("Transformer", "BERT")
_FORMER_MODULES = "sentence_transformers.models."


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


def with_sentence_files(checkpoint: CheckpointReader, directory: str) -> CheckpointReader:
    """Adds what the files of sentence-transformers in a directory say about the weights.

    A re-ranker's activation is in `config_sentence_transformers.json` since version 6, and in the
    configuration of the model before.
    """
    notes = (*checkpoint.notes, *_unknown_sentence_keys(directory))
    classifier = os.path.join(directory, _SETFIT_HEAD)
    if files.exists(classifier):
        notes = (*notes, f"{classifier} is not read: the classes of a SetFit model are in a pickle")
    config = checkpoint.config
    settings = json_files.read_object(os.path.join(directory, _PROMPTS_FILE))
    activation = settings.get(_ACTIVATION)
    if config is not None and isinstance(activation, str):
        extra = {**config.extra, "sentence_transformers": {_ACTIVATION: activation}}
        config = dataclasses.replace(config, extra=extra)
    return dataclasses.replace(checkpoint, config=config, notes=notes)


def _unknown_sentence_keys(directory: str) -> list[str]:
    """Returns a line for each file of sentence-transformers with keys that are unknown here."""
    notes = []
    for root in _sentence_roots(directory):
        modules = _modules(root)
        if not modules:
            continue
        tables = [
            (os.path.join(root, _PROMPTS_FILE), _PROMPTS_KEYS),
            (os.path.join(directory, _LENGTH_FILE), _LENGTH_KEYS),
        ]
        for name, path in modules[1:]:
            if name in _MODULE_KEYS:
                tables.append((os.path.join(root, path, "config.json"), _MODULE_KEYS[name]))
        for path, rules in tables:
            note = _read_keys(path, rules)[1]
            if note:
                notes.append(note)
    return notes


def _read_keys(path: str, rules: Mapping[str, Rule]) -> tuple[dict, str | None]:
    """Returns the keys of a file, and a line on unknown ones; nothing without the file."""
    if not files.exists(path):
        return {}, None
    values = json_files.read_object(path)
    return values, check_keys(values, rules, path, "a sentence encoder")


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
            return _sentence_vectors(root, directory, modules)
    # Our own runs have no file of sentence-transformers.
    task = read_task(checkpoint) or {}
    if task.get("kind") != SENTENCE_EMBEDDING:
        return None
    return SentenceVectors(
        pooling=task.get("pooling", "mean"),
        normalize=task.get("normalize", True),
        max_seq_length=task.get("max_seq_length"),
    )


def _sentence_vectors(root: str, directory: str, modules: list[tuple[str, str]]) -> SentenceVectors:
    """Returns the settings of a directory of sentence-transformers, whose encoder is in
    `directory`."""
    settings, _ = _read_keys(os.path.join(root, _PROMPTS_FILE), _PROMPTS_KEYS)
    prompts = settings.get("prompts") or {}
    poolings = []
    unsupported = []
    dense: list[DenseModule] = []
    normalize = False
    for name, path in modules[1:]:
        if name == "Pooling":
            poolings.append(_pooling(os.path.join(root, path), has_prompts=any(prompts.values())))
        elif name == "Normalize" and poolings:
            normalize = True
        elif name == "Dense" and poolings and not normalize:
            dense.append(_dense_module(os.path.join(root, path)))
        # Dropout acts in training only.
        elif name != "Dropout":
            unsupported.append(name)
    # A library that finds no pooling makes no vectors.
    if not poolings:
        poolings = ["no Pooling module"]
    default_prompt = settings.get("default_prompt_name")
    if default_prompt is not None and default_prompt not in prompts:
        raise UserError(
            f"{os.path.join(root, _PROMPTS_FILE)}: default_prompt_name is {default_prompt!r}, "
            "which prompts has not"
        )
    # Early versions wrote the name of the function.
    similarity = (settings.get("similarity_fn_name") or "cosine").removesuffix("_score")
    lengths, _ = _read_keys(os.path.join(directory, _LENGTH_FILE), _LENGTH_KEYS)
    return SentenceVectors(
        pooling=", ".join(poolings + unsupported),
        normalize=normalize,
        max_seq_length=lengths.get("max_seq_length") or read_settings(directory).max_length,
        prompts=prompts,
        default_prompt_name=default_prompt,
        similarity="cosine" if similarity == "cos_sim" else similarity,
        truncate_dim=settings.get("truncate_dim"),
        dense=tuple(dense),
    )


def _dense_module(directory: str) -> DenseModule:
    """Returns the dense layer in a module's directory; refuses other activations."""
    path = os.path.join(directory, "config.json")
    values, _ = _read_keys(path, _MODULE_KEYS["Dense"])
    if not values:
        raise UserError(f"{path} is missing: the Dense module is incomplete")
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
            "truncate_dim": vectors.truncate_dim,
        },
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
        folder = row["path"]
        if files.leads_out(folder):
            raise UserError(
                f"{path}: {folder!r} leads out of the directory of the model: the folders of "
                "modules must be in it"
            )
        modules.append((row["type"].rpartition(".")[2], folder))
    if modules[0][0] not in _ENCODERS:
        raise UserError(
            f"{path}: the first module is {modules[0][0]}, a {_ENCODERS[0]} is expected: others "
            "are not read"
        )
    return modules


def _pooling(directory: str, has_prompts: bool) -> str:
    """Returns the pooling in a module's directory, as one of `POOLINGS` or, for others, in the
    library's words.

    Args:
      has_prompts: whether texts may have a prompt, which the pooling may leave out.
    """
    path = os.path.join(directory, "config.json")
    values, _ = _read_keys(path, _MODULE_KEYS["Pooling"])
    if not values:
        return f"no pooling ({path} is missing)"
    pooling = values.get("pooling_mode")
    if not pooling:
        names = {key: name for name, key in _POOLING_KEYS.items()}
        pooling = []
        # In the order of the table first, so that messages do not depend on the order of the file.
        for key in dict.fromkeys((*names, *values)):
            if key.startswith(_POOLING_KEY) and values.get(key) is True:
                pooling.append(names.get(key, key))
        # The library's class has the mean by default.
        if not any(key.startswith(_POOLING_KEY) for key in values):
            pooling = "mean"
    if not isinstance(pooling, str):
        pooling = " and ".join(map(str, pooling)) or f"no pooling ({path} chooses none)"
    if has_prompts and values.get("include_prompt") is False:
        pooling += " without the prompt"
    return pooling

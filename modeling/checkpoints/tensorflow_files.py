"""Checkpoint files of TensorFlow, `PREFIX.index` and `PREFIX.data-00000-of-0000N`: found and opened
as a `Bundle`.

The keys in it are of three kinds: those of the Model Garden (`model_garden.py`), those of the
original (TensorFlow 1: the released models, and what its scripts write), and our own, of a
`tf.train.Checkpoint` with a fixed graph of names, so that the code may be rearranged freely: the
`native_path`s of the original's names. Kernels with LoRA (arXiv 2106.09685) are saved merged, and
what training needs to resume is saved beside them:

  encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE
  encoder/encoder/layer_0/attention/self/query/kernel/.ATTRIBUTES/VARIABLE_VALUE     readers need
  not know of LoRA heads/masked_lm/transform/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE
  lora/encoder/layer_0/attention/self/query/kernel/…                as it was before, which training
  leaves alone lora/encoder/layer_0/attention/self/query/lora_kernel_a/…, _b/…   the two matrices,
  which train
"""

import contextlib
import glob
import os
import re
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError, in_one_line
from data_gen.tokenization.vocabulary import casing_of_release
from modeling.checkpoints.companion_files import CONFIG_FILE, SUFFIX, StoredWeights, TensorFile
from modeling.checkpoints.weights import (
    ENCODER_PREFIX,
    LORA_PREFIX,
    WORD_EMBEDDINGS,
    native_path,
    original_name,
    places,
    raw_variables,
    weight_values,
)
from modeling.config import BertConfig

if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    # TensorFlow reads and writes; the memory of GPUs is for the engine that computes.
    with contextlib.suppress(RuntimeError):
        tf.config.set_visible_devices([], "GPU")
# Of our own checkpoints, `ckpt-<step>`.
CHECKPOINT_NAME = "ckpt"
# Ending of the directory that is there while a checkpoint is written.
UNFINISHED = "_temp"
_INDEX = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})\.index")
_SHARD = r"\.data-\d{5}-of-\d{5}"
_DATA = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})" + _SHARD)
# As TensorFlow calls them.
_DTYPES = ("float32", "float16", "bfloat16", "float64")
# Which checkpoint is the newest, in the text format of protocol buffers.
STATE_FILE = "checkpoint"
_NAMED = re.compile(r'^model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
# TensorFlow's reader raises Python's own errors for some kinds of damage.
_READER_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, IndexError)

_ROOTS = ("encoder", "heads")
# Of the original, no weights: the optimizer's state and the step counter.
_NOT_WEIGHTS = re.compile(r"(/adam_[mv]|^global_step)$")
# No weight of ours is missing this one, and no other program gives it this name.
_SIGNATURE_KEY = native_path(WORD_EMBEDDINGS.original) + SUFFIX


class Bundle(TensorFile):
    """An open TensorFlow checkpoint of whatever kind, by its prefix, the path without `.index`;
    raises `UserError` where the index can't be read, or a data shard is missing."""

    def __init__(self, prefix: str):
        super().__init__(prefix, _DTYPES)
        self.prefix = prefix
        if not files.exists(prefix + ".index"):
            raise UserError(
                f"{prefix}.index is missing: a checkpoint is this file and its {os.path.basename(prefix)}.data-*"
            )
        shards = _shards(prefix)
        if not shards:
            raise UserError(
                f"{prefix}.data-00000-of-00001 is missing: a checkpoint is the .index and all its .data files"
            )
        # Shards of another number are left from another checkpoint of this name.
        counts = sorted({int(path.rpartition("-")[2]) for path in shards})
        missing = [
            [
                path
                for shard in range(count)
                if (path := f"{prefix}.data-{shard:05d}-of-{count:05d}") not in shards
            ]
            for count in counts
        ]
        if all(missing):
            raise UserError(
                f"{missing[0][0]} is missing: the checkpoint has {counts[0]} data files"
            )
        try:
            # Not `tf.train.load_checkpoint`, which takes prefixes on ram:// for directories.
            self._reader = tf.compat.v1.train.NewCheckpointReader(prefix)
        except _READER_ERRORS as error:
            raise UserError(
                f"{self.prefix}.index can't be read as a checkpoint: {in_one_line(error)}"
            ) from None
        self.shapes = {
            key: tuple(shape) for key, shape in self._reader.get_variable_to_shape_map().items()
        }
        self._dtypes = {
            key: dtype.name for key, dtype in self._reader.get_variable_to_dtype_map().items()
        }

    def read_as(self, key: str, dtype: np.dtype) -> np.ndarray:
        """The tensor called `key`, which must be there, of this type and finite."""
        if key not in self.shapes:
            raise UserError(f"{self.prefix}: there is no {key}")
        values = np.asarray(self.raw(key))
        if values.dtype != dtype:
            raise UserError(f"{self.prefix}: {key} is of type {values.dtype}, {dtype} is expected")
        return self._finite(key, values)

    def raw(self, key: str):
        try:
            return self._reader.get_tensor(key)
        except _READER_ERRORS as error:
            raise UserError(
                f"{self.prefix}: {key} can't be read, the data are damaged: {in_one_line(error)}"
            ) from None


def find_prefix(path: str) -> str | None:
    """The prefix of the checkpoint that a path means: a prefix, one of its files, or a directory,
    in which the newest `ckpt-N` is meant; of other names the one that the file `checkpoint` names,
    or else there must be one only.

    Returns None if it holds no TensorFlow checkpoint. Raises `UserError`: the directory holds
    several and names none of them, or the one it names is missing.
    """
    # A prefix first: on ram:// whatever a name begins with is a directory.
    if files.exists(path + ".index") or not files.is_directory(path):
        prefix = re.sub(rf"(\.(index|meta)|{_SHARD})$", "", path)
        return prefix if files.exists(prefix + ".index") or _shards(prefix) else None
    names = [name for name in files.list_directory(path) if not name.startswith(".")]
    prefixes = [
        os.path.join(path, name.removesuffix(".index")) for name in names if name.endswith(".index")
    ]
    newest = latest_checkpoint(path)
    if newest is not None:
        return newest
    named = _named_in_state(path)
    if named is not None and prefixes:
        raise UserError(
            f"{os.path.join(path, 'checkpoint')} names {os.path.basename(named)}, "
            f"but {named}.index is missing"
        )
    if len(prefixes) > 1:
        some = ", ".join(os.path.basename(prefix) for prefix in prefixes[:5])
        raise UserError(
            f"{path} holds {len(prefixes)} checkpoints ({some}): name the one that is meant, e.g. "
            f"{prefixes[-1]}"
        )
    # Of data whose index is missing whoever opens them says so.
    prefixes += [
        os.path.join(path, match[1])
        for name in names
        if (match := re.fullmatch(f"(.+){_SHARD}", name))
    ]
    return prefixes[0] if prefixes else None


def latest_checkpoint(directory: str) -> str | None:
    """Prefix of the newest checkpoint in a run directory, e.g. `out/ckpt-1000`; None if there is
    none.

    What is there decides; the file `checkpoint` only shows which one is meant where names have no
    step. Raises `UserError` where a newer one has lost its index: a run that resumed from an older
    one would write over its data.
    """
    steps, names = saved_steps(directory), _names_in(directory)
    newest = steps[-1] if steps else -1
    for name in names:
        match = _DATA.fullmatch(name)
        prefix = f"{CHECKPOINT_NAME}-{match[1]}" if match else ""
        # Who writes or removes them has a `_temp` beside them.
        if match and int(match[1]) > newest and f"{prefix}{UNFINISHED}" not in names:
            then = f"resume from {CHECKPOINT_NAME}-{newest}" if newest >= 0 else "start again"
            raise UserError(
                f"{os.path.join(directory, prefix)}.index is missing, {name} is there: restore it, or move "
                f"{prefix}.* out of the directory to {then}"
            )
    if steps:
        return os.path.join(directory, f"{CHECKPOINT_NAME}-{newest}")
    named = _named_in_state(directory)
    return named if named is not None and files.exists(named + ".index") else None


def saved_steps(directory: str) -> list[int]:
    """The steps of the checkpoints `ckpt-N` in a directory, ascending: those with an index, and
    saved to their end."""
    names = _names_in(directory)
    steps = []
    for step in sorted(int(match[1]) for name in names if (match := _INDEX.fullmatch(name))):
        with contextlib.suppress(UserError):
            if f"{CHECKPOINT_NAME}-{step}{UNFINISHED}" in names:
                # Its writer was killed, maybe with half an index.
                Bundle(os.path.join(directory, f"{CHECKPOINT_NAME}-{step}"))
            steps.append(step)
    return steps


def write_state(directory: str, steps: Sequence[int]) -> None:
    """Writes the file `checkpoint`, which lists the checkpoints of these steps, ascending, for
    other programs."""
    names = [f"{CHECKPOINT_NAME}-{step}" for step in steps]
    with files.atomic_write(os.path.join(directory, STATE_FILE)) as file:
        file.write(f'model_checkpoint_path: "{names[-1]}"\n')
        file.writelines(f'all_model_checkpoint_paths: "{name}"\n' for name in names)


def _named_in_state(directory: str) -> str | None:
    """Prefix of the checkpoint that the file `checkpoint` names; None where it names none, or can't
    be read."""
    try:
        with files.open_file(os.path.join(directory, STATE_FILE)) as file:
            match = _NAMED.search(file.read())
        # Characters beyond ASCII are their bytes, or the octal numbers of these.
        path = (
            match[1].encode().decode("unicode_escape").encode("latin-1").decode() if match else ""
        )
    except (OSError, ValueError):
        return None
    # A directory may have been moved since: only the name counts.
    name = os.path.basename(path)
    return os.path.join(directory, name) if name and name.isprintable() else None


def _names_in(directory: str) -> list[str]:
    try:
        return files.list_directory(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def attach(root: tf.Module, path: str, value: tf.Module | tf.Variable) -> None:
    """Makes `value` the attribute at `path` below `root`, with modules on the way where there are
    none: by such paths `tf.train.Checkpoint` names what it saves. In them "|" stands for a slash
    that belongs to a name."""
    *nodes, leaf = (part.replace("|", "/") for part in path.split("/"))
    for node in nodes:
        if not hasattr(root, node):
            setattr(root, node, tf.Module())
        root = getattr(root, node)
    setattr(root, leaf, value)


def _shards(prefix: str) -> list[str]:
    return [
        path
        for path in files.glob_files(glob.escape(prefix) + ".data-*-of-*")
        if re.search(f"{_SHARD}$", path)
    ]


def weight_variables(model, lora: "LoraWeights | None" = None) -> dict[str, tf.Variable]:
    """The weights of a model by their native paths, as `checkpoint_of` takes them; `lora` takes the
    places of some."""
    variables = {native_path(name): variable for name, variable in raw_variables(model).items()}
    return variables | (lora.variables if lora else {})


def checkpoint_of(variables: Mapping[str, tf.Variable]) -> tf.train.Checkpoint:
    """A checkpoint object that saves variables (also those of `MirroredStrategy`) by path, with
    `SUFFIX` as the key."""
    root = tf.Module()
    for path, variable in variables.items():
        attach(root, path, variable)
    return tf.train.Checkpoint(
        **{
            name: getattr(root, name)
            for name in dict.fromkeys(path.partition("/")[0] for path in variables)
        }
    )


def read_native(bundle: Bundle) -> StoredWeights | None:
    """The weights of one of our checkpoints; None if it is of another kind."""
    if _SIGNATURE_KEY not in bundle.shapes:
        return None
    keys = {
        original_name(key.removesuffix(SUFFIX)): key
        for key in sorted(bundle.shapes)
        if key.startswith(tuple(f"{root}/" for root in _ROOTS)) and key.endswith(SUFFIX)
    }
    return StoredWeights(
        description=bundle.prefix,
        tensors={name: bundle.shapes[key] for name, key in keys.items()},
        read=lambda name: bundle.read(keys[name]),
    )


def write_native(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
    """A run directory without optimizer and counters."""
    variables = {native_path(name): tf.Variable(value) for name, value in weights.items()}
    checkpoint_of(variables).write(os.path.join(directory, f"{CHECKPOINT_NAME}-0"))
    write_state(directory, [0])
    config.to_file(os.path.join(directory, CONFIG_FILE))


def read_original(bundle: Bundle) -> StoredWeights | None:
    """The weights of an original checkpoint; None if it is of another kind."""
    if not any(key.startswith(ENCODER_PREFIX) for key in bundle.shapes):
        return None
    tensors = {
        key: shape for key, shape in sorted(bundle.shapes.items()) if not _NOT_WEIGHTS.search(key)
    }
    return StoredWeights(
        description=f"{bundle.prefix} (original TensorFlow 1 checkpoint)",
        tensors=tensors,
        read=bundle.read,
        do_lower_case=casing_of_release(os.path.dirname(bundle.prefix)),
    )


def write_original(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
    """Writes tensors as TensorFlow 1's Saver does: by their names, without an object graph."""
    tf.raw_ops.SaveV2(
        prefix=os.path.join(directory, "bert_model.ckpt"),
        tensor_names=list(weights),
        shape_and_slices=[""] * len(weights),
        tensors=[tf.constant(value) for value in weights.values()],
    )
    config.to_file(os.path.join(directory, CONFIG_FILE))


class LoraWeights:
    """What a checkpoint of a model with LoRA holds besides the model's own variables, or in their
    places: the merged kernels, and what is below lora/; `variables` has it by path."""

    def __init__(self, model):
        self._model = model
        self._merged = {
            name: tf.Variable(tf.zeros(layer.unmerged_kernel.shape), trainable=False)
            for name, layer in _lora_layers(model).items()
        }
        self.variables = {native_path(name): variable for name, variable in self._merged.items()}
        self.variables |= {name: variable.value for name, variable in _below_lora(model).items()}

    def merge(self) -> None:
        """Brings the merged kernels up to date; to be called before they are saved."""
        values = weight_values(self._model)
        for name, variable in self._merged.items():
            variable.assign(values[name])

    def load(self, prefix: str) -> None:
        """Reads what is below lora/ in a checkpoint of the same model; `load_weights` reads the
        merged kernels only."""
        bundle = Bundle(prefix)
        for name, variable in _below_lora(self._model).items():
            variable.assign(bundle.read_as(name + SUFFIX, np.dtype(np.float32)))


def lora_matrices(model) -> dict:
    """The matrices that train: name, lora/<layer>/lora_kernel_a or _b → `keras.Variable`; empty
    without LoRA."""
    return {
        name: variable
        for name, variable in _below_lora(model).items()
        if not name.endswith("/kernel")
    }


def _below_lora(model) -> dict:
    found: dict = {}
    for name, layer in _lora_layers(model).items():
        prefix = LORA_PREFIX + name.removeprefix(ENCODER_PREFIX).removesuffix("kernel")
        found |= {
            f"{prefix}kernel": layer.unmerged_kernel,
            f"{prefix}lora_kernel_a": layer.lora_kernel_a,
            f"{prefix}lora_kernel_b": layer.lora_kernel_b,
        }
    return found


def _lora_layers(model) -> dict:
    """Original name of the kernel → every layer with LoRA."""
    return {
        name: layer
        for name, (layer, attribute) in places(model).items()
        if attribute == "kernel" and getattr(layer, "lora_enabled", False)
    }

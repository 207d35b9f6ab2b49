"""Checkpoint files of TensorFlow, `PREFIX.index` and `PREFIX.data-00000-of-0000N`: found and opened
as a `TensorBundle`.

The keys in it are of three kinds: the Model Garden's (`model_garden.py`), the original's
(TensorFlow 1: the released models, and checkpoints of its scripts), and our own, of a
`tf.train.Checkpoint` with a fixed graph of names, so that the code may be rearranged freely: the
`native_path`s of the original's names. Kernels with LoRA (arXiv 2106.09685) are saved merged, so
that readers need not know of LoRA; the tensors that training needs to resume are beside them:

    encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE
    encoder/encoder/layer_0/attention/self/query/kernel/.ATTRIBUTES/VARIABLE_VALUE
    heads/masked_lm/transform/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE
    lora/encoder/layer_0/attention/self/query/kernel/…          before the update; not trained
    lora/encoder/layer_0/attention/self/query/lora_kernel_a/…   with lora_kernel_b: trained
"""

import contextlib
import glob
import math
import os
import re
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError, in_one_line, listed
from data_gen.tokenization.settings import casing_of_release
from modeling.checkpoints.companion_files import CONFIG_FILE, SUFFIX
from modeling.checkpoints.optimizer_state import native_state
from modeling.checkpoints.reader import CheckpointReader, TensorFile
from modeling.checkpoints.weights import (
    ENCODER_PREFIX,
    LORA_PREFIX,
    WORD_EMBEDDINGS,
    native_path,
    original_name,
    raw_variables,
    weight_slots,
    weight_values,
)
from modeling.config import BertConfig

if os.environ.get("KERAS_BACKEND", "tensorflow") != "tensorflow":
    # TensorFlow reads and writes; the memory of GPUs is for the engine that computes.
    with contextlib.suppress(RuntimeError):
        tf.config.set_visible_devices([], "GPU")

# Our own checkpoints are called `ckpt-<step>`.
CHECKPOINT_NAME = "ckpt"
# Ending of the directory that exists while a checkpoint is written.
UNFINISHED = "_temp"
# A SavedModel is a directory with this file, and its checkpoint in variables/.
SAVED_MODEL = "saved_model.pb"
_VARIABLES = "variables"
# The text file, a protocol buffer, that names the newest checkpoint.
STATE_FILE = "checkpoint"
_INDEX = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})\.index")
# Characters of a pattern in TensorFlow's functions of files.
_PATTERN = re.compile(r"[*?\[\\]")
_SHARD = r"\.data-\d{5}-of-\d{5}"
_DATA = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})" + _SHARD)
_STATE_PATH = re.compile(r'^model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_DTYPES = ("float32", "float16", "bfloat16", "float64")
# TensorFlow's reader raises Python's own errors for some kinds of damage.
_READER_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, IndexError)

# Roots of the weights in our checkpoints; optimizer and counters have others.
_ROOTS = ("encoder/", "heads/")
# All our checkpoints have this key, and no other program writes it.
_SIGNATURE_KEY = native_path(WORD_EMBEDDINGS.original) + SUFFIX


class TensorBundle(TensorFile):
    """An open TensorFlow checkpoint of whatever kind, by its prefix, the path without `.index`.

    Raises:
      UserError: the index can't be read, or a data shard is missing.
    """

    def __init__(self, prefix: str):
        super().__init__(prefix, _DTYPES)
        self.prefix = prefix
        _check_files(prefix)
        try:
            # `tf.train.load_checkpoint` would take prefixes on ram:// for directories.
            self._reader = tf.compat.v1.train.NewCheckpointReader(_plain_prefix(prefix, self))
        except _READER_ERRORS as error:
            raise UserError(
                f"{prefix}.index can't be read as a checkpoint: {in_one_line(error)}"
            ) from None
        shapes = self._reader.get_variable_to_shape_map()
        self.check_count(len(shapes))
        stored_bytes = sum(files.file_size(path) for path in _shards(prefix))
        for key, shape in shapes.items():
            self.shapes[key] = tuple(shape)
        for key, dtype in self._reader.get_variable_to_dtype_map().items():
            self._dtypes[key] = dtype.name
            # Texts have no size of their own.
            if dtype.is_floating or dtype.is_integer:
                self.check_stored(key, math.prod(self.shapes[key]) * dtype.size, stored_bytes)

    def read_as(self, key: str, dtype: np.dtype) -> np.ndarray:
        """Returns a tensor; raises `UserError` unless it exists, is of this type and finite."""
        if key not in self.shapes:
            raise UserError(f"{self.prefix}: there is no {key}")
        values = np.asarray(self.raw(key))
        if values.dtype != dtype:
            raise UserError(f"{self.prefix}: {key} is of type {values.dtype}, {dtype} is expected")
        return self.check_finite(key, values)

    def raw(self, key: str):
        try:
            return self._reader.get_tensor(key)
        except _READER_ERRORS as error:
            raise UserError(
                f"{self.prefix}: {key} can't be read, the data are damaged: {in_one_line(error)}"
            ) from None


def _plain_prefix(prefix: str, owner: object) -> str:
    """Returns a prefix of the same files that TensorFlow does not take for a pattern.

    It expands `run[1]/ckpt-5`, and does not find the file of that name. Links with a plain name in
    a temporary directory lead to such files, until the owner is gone.
    """
    if files.is_remote(prefix) or not _PATTERN.search(prefix):
        return prefix
    plain = os.path.join(files.temporary_folder(owner), CHECKPOINT_NAME)
    for path in (f"{prefix}.index", *_shards(prefix)):
        os.symlink(os.path.abspath(path), plain + path.removeprefix(prefix))
    return plain


def _check_files(prefix: str) -> None:
    """Raises `UserError` if the index or a data shard of a checkpoint is missing."""
    name = os.path.basename(prefix)
    if not files.exists(prefix + ".index"):
        raise UserError(
            f"{prefix}.index is missing: a checkpoint is this file and its {name}.data-*"
        )
    shards = _shards(prefix)
    if not shards:
        raise UserError(
            f"{prefix}.data-00000-of-00001 is missing: a checkpoint is the .index and all its "
            ".data files"
        )
    # Shards of several numbers are left over from other checkpoints of this name: one complete set
    # is enough.
    problem = ""
    for count in sorted({int(path.rpartition("-")[2]) for path in shards}):
        expected = [f"{prefix}.data-{shard:05d}-of-{count:05d}" for shard in range(count)]
        missing = [path for path in expected if path not in shards]
        if not missing:
            return
        if not problem:
            problem = f"{missing[0]} is missing: the checkpoint has {count} data files"
    raise UserError(problem)


def _shards(prefix: str) -> list[str]:
    """Returns the paths of the data files of a prefix."""
    paths = files.glob_files(glob.escape(prefix) + ".data-*-of-*")
    # Temporary files of TensorFlow have further letters after the number.
    return [path for path in paths if re.search(f"{_SHARD}$", path)]


def find_prefix(path: str) -> str | None:
    """Returns the prefix of the checkpoint that a path means; None without a TensorFlow checkpoint.

    A path is a prefix, one of its files, or a directory; `model.ckpt-21` may be `ckpt-21`. In a
    directory the newest `ckpt-N` is meant; of other names the one in the file `checkpoint`, or else
    there must be one only. The prefix of a SavedModel is below it.

    Raises:
      UserError: the directory holds several and names none of them, or the named one is missing.
    """
    # A prefix first: on ram:// every beginning of a name is a directory.
    if files.exists(path + ".index") or not files.is_directory(path):
        prefix = re.sub(rf"(\.(index|meta)|{_SHARD})$", "", path)
        # The original's scripts call `ckpt-21` of a run `model.ckpt-21`.
        for name in (prefix, re.sub(r"(^|/)model\.(ckpt-\d+)$", r"\1\2", prefix)):
            if files.exists(name + ".index") or _shards(name):
                return name
        return None
    newest = latest_checkpoint(path) or _saved_model_prefix(path)
    if newest is not None:
        return newest
    # Data without an index count, too: `TensorBundle` reports the missing file.
    prefixes = []
    incomplete = []
    for name in files.list_directory(path):
        if name.endswith(".index") and not name.startswith("."):
            prefixes.append(os.path.join(path, name.removesuffix(".index")))
        elif match := re.fullmatch(rf"([^.].*){_SHARD}", name):
            incomplete.append(os.path.join(path, match[1]))
    named = _named_in_state(path)
    if named is not None and prefixes:
        raise UserError(
            f"{os.path.join(path, STATE_FILE)} names {os.path.basename(named)}, but {named}.index "
            "is missing"
        )
    if len(prefixes) > 1:
        names = listed(prefixes[:5], os.path.basename)
        raise UserError(
            f"{path} holds {len(prefixes)} checkpoints ({names}): name the one that is meant, e.g. "
            f"{prefixes[-1]}"
        )
    return next(iter(prefixes + incomplete), None)


def _saved_model_prefix(directory: str) -> str | None:
    """Returns the prefix of the checkpoint in a SavedModel; None for other directories."""
    if files.exists(os.path.join(directory, SAVED_MODEL)):
        return os.path.join(directory, _VARIABLES, _VARIABLES)
    return None


def saved_model_of(prefix: str) -> str | None:
    """Returns the directory of the SavedModel that a checkpoint is a part of; None without one."""
    folder, name = os.path.split(os.path.dirname(prefix))
    if name == _VARIABLES and files.exists(os.path.join(folder, SAVED_MODEL)):
        return folder or "."
    return None


def latest_checkpoint(directory: str) -> str | None:
    """Returns the prefix of the newest checkpoint in a run directory, e.g. `out/ckpt-1000`; None
    without one.

    The files decide; the file `checkpoint` only counts where names have no step.

    Raises:
      UserError: a newer checkpoint has lost its index. A run that resumed from an older one would
        write over its data.
    """
    # Names are listed once: another process may save a checkpoint meanwhile.
    names = _names_in(directory)
    steps = saved_steps(directory)
    newest = max(steps, default=-1)
    for name in names:
        match = _DATA.fullmatch(name)
        if match is None or int(match[1]) <= newest:
            continue
        prefix = f"{CHECKPOINT_NAME}-{match[1]}"
        # A process that writes or removes a checkpoint has a `_temp` beside it.
        if prefix + UNFINISHED not in names:
            then = f"resume from {CHECKPOINT_NAME}-{newest}" if newest >= 0 else "start again"
            raise UserError(
                f"{os.path.join(directory, prefix)}.index is missing, {name} is there: restore it, "
                f"or move {prefix}.* out of the directory to {then}"
            )
    # The file `checkpoint` may be older than the newest files: saving writes it last.
    if steps:
        return os.path.join(directory, f"{CHECKPOINT_NAME}-{newest}")
    named = _named_in_state(directory)
    if named is not None and files.exists(named + ".index"):
        return named
    return None


def saved_steps(directory: str) -> list[int]:
    """Returns the steps of the checkpoints `ckpt-N` in a directory, ascending: those with an index
    that are complete."""
    names = _names_in(directory)
    steps = []
    for name in names:
        match = _INDEX.fullmatch(name)
        if match is None:
            continue
        prefix = name.removesuffix(".index")
        with contextlib.suppress(UserError):
            if prefix + UNFINISHED in names:
                # Its writer was killed, maybe with half an index.
                TensorBundle(os.path.join(directory, prefix))
            steps.append(int(match[1]))
    return sorted(steps)


def write_state(directory: str, steps: Sequence[int]) -> None:
    """Writes the file `checkpoint`, which lists the checkpoints of these steps, ascending, for
    other programs."""
    with files.atomic_write(os.path.join(directory, STATE_FILE)) as file:
        file.write(f'model_checkpoint_path: "{CHECKPOINT_NAME}-{steps[-1]}"\n')
        for step in steps:
            file.write(f'all_model_checkpoint_paths: "{CHECKPOINT_NAME}-{step}"\n')


def _named_in_state(directory: str) -> str | None:
    """Returns the prefix of the checkpoint that the file `checkpoint` names; None if it names none,
    or can't be read."""
    try:
        with files.open_file(os.path.join(directory, STATE_FILE)) as file:
            match = _STATE_PATH.search(file.read())
        if match is None:
            return None
        # Characters beyond ASCII are written as they are, or as octal numbers of their bytes.
        path = match[1].encode().decode("unicode_escape").encode("latin-1").decode()
    except (OSError, ValueError):
        return None
    # Only the name counts: the directory may have been moved since.
    name = os.path.basename(path)
    if not name or not name.isprintable():
        return None
    return os.path.join(directory, name)


def _names_in(directory: str) -> list[str]:
    """Returns the names in a directory; empty without one."""
    try:
        return files.list_directory(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def attach(root: tf.Module, path: str, value: tf.Module | tf.Variable) -> None:
    """Makes `value` the attribute at `path` below `root`, with new modules on the way.

    By such paths `tf.train.Checkpoint` names the variables that it saves. A "|" in them stands for
    a slash that belongs to a name.
    """
    *nodes, leaf = path.split("/")
    for node in nodes:
        if not hasattr(root, node):
            setattr(root, node, tf.Module())
        root = getattr(root, node)
    setattr(root, leaf.replace("|", "/"), value)


def weight_variables(model, lora: "LoraWeights | None" = None) -> dict[str, tf.Variable]:
    """Returns native path → variable of every weight of a model, for `checkpoint_of`; the variables
    of `lora` replace or join them."""
    variables = {native_path(name): variable for name, variable in raw_variables(model).items()}
    if lora is not None:
        variables |= lora.variables
    return variables


def checkpoint_of(variables: Mapping[str, tf.Variable]) -> tf.train.Checkpoint:
    """Returns a checkpoint object that saves variables (also a `MirroredStrategy`'s) by path, with
    `SUFFIX` in the key."""
    # Keys follow from this tree alone, so layers may be renamed without changing checkpoints.
    root = tf.Module()
    for path, variable in variables.items():
        attach(root, path, variable)
    roots = {}
    for path in variables:
        name = path.partition("/")[0]
        roots[name] = getattr(root, name)
    return tf.train.Checkpoint(**roots)


def read_native(bundle: TensorBundle) -> CheckpointReader | None:
    """Returns the weights of one of our checkpoints; None if it is of another kind."""
    if _SIGNATURE_KEY not in bundle.shapes:
        return None
    keys = {}
    tensors = {}
    for key in sorted(bundle.shapes):
        if key.startswith(_ROOTS) and key.endswith(SUFFIX):
            name = original_name(key.removesuffix(SUFFIX))
            keys[name] = key
            tensors[name] = bundle.shapes[key]
    return CheckpointReader(
        description=bundle.prefix,
        tensors=tensors,
        read=lambda name: bundle.read(keys[name]),
    )


def write_native(
    directory: str,
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    state: Mapping[str, np.ndarray],
) -> None:
    """Writes a run directory; without `state` it has neither optimizer nor counters.

    Args:
      state: see `optimizer_state.read_state`; empty for none.
    """
    variables = {native_path(name): tf.Variable(value) for name, value in weights.items()}
    # Step 0: other programs count from there.
    step = 0
    if state:
        for path, value in native_state(state).items():
            variables[path] = tf.Variable(value)
        step = int(state["global_step"])
    checkpoint = checkpoint_of(variables)
    if state:
        # The first use makes the variable, which is in every checkpoint of a run.
        _ = checkpoint.save_counter
    checkpoint.write(os.path.join(directory, f"{CHECKPOINT_NAME}-{step}"))
    write_state(directory, [step])
    config.to_file(os.path.join(directory, CONFIG_FILE))


def read_original(bundle: TensorBundle) -> CheckpointReader | None:
    """Returns the weights of an original checkpoint; None if it is of another kind."""
    if not any(key.startswith(ENCODER_PREFIX) for key in bundle.shapes):
        return None
    tensors = {}
    for key, shape in sorted(bundle.shapes.items()):
        # TensorFlow 1 names an optimizer's slot below its variable, whatever the optimizer:
        # NAME/adam_m, NAME/Adam_1, NAME/LAMB, NAME/Momentum. Its counters (global_step,
        # beta1_power, a loss scale) have no axes, which no weight lacks.
        if shape and os.path.dirname(key) not in bundle.shapes:
            tensors[key] = shape
    return CheckpointReader(
        description=f"{bundle.prefix} (original TensorFlow 1 checkpoint)",
        tensors=tensors,
        read=bundle.read,
        do_lower_case=casing_of_release(os.path.dirname(bundle.prefix)),
    )


def write_original(
    directory: str,
    weights: Mapping[str, np.ndarray],
    config: BertConfig,
    state: Mapping[str, np.ndarray],
) -> None:
    """Writes tensors as TensorFlow 1's Saver does: by their names, without an object graph.

    Args:
      state: see `optimizer_state.read_state`; empty for none.
    """
    tensors = {**weights, **state}
    # `tf.train.Checkpoint` would add suffixes to the names and an object graph.
    tf.raw_ops.SaveV2(
        prefix=os.path.join(directory, "bert_model.ckpt"),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(value) for value in tensors.values()],
    )
    config.to_file(os.path.join(directory, CONFIG_FILE))


class LoraWeights:
    """Variables that a checkpoint of a model with LoRA holds besides the model's own, or in their
    places.

    Attributes:
      variables: path → variable, of the merged kernels and of all that is below lora/.
    """

    def __init__(self, model):
        self._model = model
        self._merged = {}
        self.variables = {}
        for name, layer in _lora_layers(model).items():
            merged = tf.Variable(tf.zeros(layer.unmerged_kernel.shape), trainable=False)
            self._merged[name] = merged
            self.variables[native_path(name)] = merged
        for path, variable in _below_lora(model).items():
            self.variables[path] = variable.value

    def merge(self) -> None:
        """Brings the merged kernels up to date; to be called before they are saved."""
        values = weight_values(self._model)
        for name, variable in self._merged.items():
            variable.assign(values[name])

    def load(self, prefix: str) -> None:
        """Reads the tensors below lora/ in a checkpoint of the same model; `load_weights` reads the
        merged kernels only."""
        # The type must be exact: resuming from rounded matrices would change the run.
        bundle = TensorBundle(prefix)
        for path, variable in _below_lora(self._model).items():
            variable.assign(bundle.read_as(path + SUFFIX, np.dtype(np.float32)))


def lora_matrices(model) -> dict:
    """Returns lora/<layer>/lora_kernel_a or _b → `keras.Variable` of the matrices that train; empty
    without LoRA."""
    # The kernel below lora/ is the one that training leaves alone.
    matrices = {}
    for path, variable in _below_lora(model).items():
        if not path.endswith("/kernel"):
            matrices[path] = variable
    return matrices


def _below_lora(model) -> dict:
    """Returns path → `keras.Variable` of all that is below lora/."""
    variables = {}
    for name, layer in _lora_layers(model).items():
        prefix = LORA_PREFIX + name.removeprefix(ENCODER_PREFIX).removesuffix("kernel")
        variables[prefix + "kernel"] = layer.unmerged_kernel
        variables[prefix + "lora_kernel_a"] = layer.lora_kernel_a
        variables[prefix + "lora_kernel_b"] = layer.lora_kernel_b
    return variables


def _lora_layers(model) -> dict:
    """Returns original name of the kernel → layer, of every layer with LoRA."""
    layers = {}
    for name, slot in weight_slots(model).items():
        if slot.attribute == "kernel" and getattr(slot.layer, "lora_enabled", False):
            layers[name] = slot.layer
    return layers

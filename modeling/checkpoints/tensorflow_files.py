"""Checkpoint files of TensorFlow, `PREFIX.index` and `PREFIX.data-00000-of-0000N`, found, opened and read.

Input: a path. Output: a `Bundle`; `native.py` and `model_garden.py` know what its keys mean.
"""

import contextlib
import glob
import os
import re
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError, in_one_line
from modeling.checkpoints.tensor_files import TensorFile

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


class Bundle(TensorFile):
  """An open TensorFlow checkpoint of whatever kind.

  Args:
    prefix: path without `.index`.

  Raises:
    UserError: the index can't be read, or a data shard is missing.

  Attributes:
    prefix: as given.
  """

  def __init__(self, prefix: str):
    super().__init__(prefix, _DTYPES)
    self.prefix = prefix
    if not files.exists(prefix + ".index"):
      raise UserError(f"{prefix}.index is missing: a checkpoint is this file and its {os.path.basename(prefix)}.data-*")
    shards = _shards(prefix)
    if not shards:
      raise UserError(f"{prefix}.data-00000-of-00001 is missing: a checkpoint is the .index and all its .data files")
    # Shards of another number are left from another checkpoint of this name.
    counts = sorted({int(path.rpartition("-")[2]) for path in shards})
    missing = [[path for shard in range(count) if (path := f"{prefix}.data-{shard:05d}-of-{count:05d}") not in shards]
               for count in counts]
    if all(missing):
      raise UserError(f"{missing[0][0]} is missing: the checkpoint has {counts[0]} data files")
    try:
      # Not `tf.train.load_checkpoint`, which takes prefixes on ram:// for directories.
      self._reader = tf.compat.v1.train.NewCheckpointReader(prefix)
    except _READER_ERRORS as error:
      raise UserError(f"{self.prefix}.index can't be read as a checkpoint: {in_one_line(error)}") from None
    self.shapes = {key: tuple(shape) for key, shape in self._reader.get_variable_to_shape_map().items()}
    self._dtypes = {key: dtype.name for key, dtype in self._reader.get_variable_to_dtype_map().items()}

  def read_as(self, key: str, dtype: np.dtype) -> np.ndarray:
    """The tensor called `key`, which must be of this type.

    Raises:
      UserError: it is missing or of another type, the data can't be read or fail their checksum, or hold values that
        are not finite.
    """
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
      raise UserError(f"{self.prefix}: {key} can't be read, the data are damaged: {in_one_line(error)}") from None


def find_prefix(path: str) -> str | None:
  """The prefix of the checkpoint that `path` means.

  Args:
    path: a prefix, one of its files, or a directory: there the newest `ckpt-N` is meant; of other names the one that
      the file `checkpoint` names, or else there must be one only.

  Returns:
    None if `path` holds no TensorFlow checkpoint.

  Raises:
    UserError: the directory holds several checkpoints and names none of them, or the one it names is missing.
  """
  # A prefix first: on ram:// whatever a name begins with is a directory.
  if files.exists(path + ".index") or not files.is_directory(path):
    prefix = re.sub(rf"(\.(index|meta)|{_SHARD})$", "", path)
    return prefix if files.exists(prefix + ".index") or _shards(prefix) else None
  names = [name for name in files.list_directory(path) if not name.startswith(".")]
  prefixes = [os.path.join(path, name.removesuffix(".index")) for name in names if name.endswith(".index")]
  newest = latest_checkpoint(path)
  if newest is not None:
    return newest
  named = _named_in_state(path)
  if named is not None and prefixes:
    raise UserError(f"{os.path.join(path, 'checkpoint')} names {os.path.basename(named)}, "
                    f"but {named}.index is missing")
  if len(prefixes) > 1:
    some = ", ".join(os.path.basename(prefix) for prefix in prefixes[:5])
    raise UserError(f"{path} holds {len(prefixes)} checkpoints ({some}): name the one that is meant, e.g. "
                    f"{prefixes[-1]}")
  # Of data whose index is missing whoever opens them says so.
  prefixes += [os.path.join(path, match[1]) for name in names if (match := re.fullmatch(f"(.+){_SHARD}", name))]
  return prefixes[0] if prefixes else None


def latest_checkpoint(directory: str) -> str | None:
  """Prefix of the newest checkpoint in a run directory, e.g. `out/ckpt-1000`; None if there is none.

  What is there decides. The file `checkpoint` may be missing, old or damaged: it only shows which one is meant where
  names have no step.

  Raises:
    UserError: the index of a newer checkpoint is missing, whose data a run that resumed from an older one would write
      over.
  """
  steps, names = saved_steps(directory), _names_in(directory)
  newest = steps[-1] if steps else -1
  for name in names:
    match = _DATA.fullmatch(name)
    prefix = f"{CHECKPOINT_NAME}-{match[1]}" if match else ""
    # Who writes or removes them has a `_temp` beside them.
    if match and int(match[1]) > newest and f"{prefix}{UNFINISHED}" not in names:
      then = f"resume from {CHECKPOINT_NAME}-{newest}" if newest >= 0 else "start again"
      raise UserError(f"{os.path.join(directory, prefix)}.index is missing, {name} is there: restore it, or move "
                      f"{prefix}.* out of the directory to {then}")
  if steps:
    return os.path.join(directory, f"{CHECKPOINT_NAME}-{newest}")
  named = _named_in_state(directory)
  return named if named is not None and files.exists(named + ".index") else None


def saved_steps(directory: str) -> list[int]:
  """The steps of the checkpoints `ckpt-N` in a directory, ascending: those with an index, and saved to their end."""
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
  """Writes the file `checkpoint`, which lists the checkpoints for TensorFlow and other programs.

  Args:
    directory: of the checkpoints `ckpt-N`.
    steps: of all of them, ascending.
  """
  names = [f"{CHECKPOINT_NAME}-{step}" for step in steps]
  with files.atomic_write(os.path.join(directory, STATE_FILE)) as file:
    file.write(f'model_checkpoint_path: "{names[-1]}"\n')
    file.writelines(f'all_model_checkpoint_paths: "{name}"\n' for name in names)


def _named_in_state(directory: str) -> str | None:
  """Prefix of the checkpoint that the file `checkpoint` names; None where it names none, or can't be read."""
  try:
    with files.open_file(os.path.join(directory, STATE_FILE)) as file:
      match = _NAMED.search(file.read())
    # Characters beyond ASCII are their bytes, or the octal numbers of these.
    path = match[1].encode().decode("unicode_escape").encode("latin-1").decode() if match else ""
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
  """Makes `value` the attribute at `path` below `root`, with modules on the way where there are none.

  `tf.train.Checkpoint` names what it saves by such paths.

  Args:
    path: attributes joined by "/"; "|" stands for a slash that belongs to a name.
  """
  *nodes, leaf = (part.replace("|", "/") for part in path.split("/"))
  for node in nodes:
    if not hasattr(root, node):
      setattr(root, node, tf.Module())
    root = getattr(root, node)
  setattr(root, leaf, value)


def _shards(prefix: str) -> list[str]:
  return [path for path in files.glob_files(glob.escape(prefix) + ".data-*-of-*") if re.search(f"{_SHARD}$", path)]

"""TensorFlow's checkpoint files, `PREFIX.index` and `PREFIX.data-00000-of-0000N`: found, opened and read.

Input: a path. Output: a `Bundle`, shapes and arrays by key; `native.py`, `original.py` and `model_garden.py` know what
the keys mean.
"""

import os
import re
import tempfile
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from bert_tf.common import files
from bert_tf.common.errors import UserError

# Of our own checkpoints, `ckpt-<step>`.
CHECKPOINT_NAME = "ckpt"
# Ending of the directory that is there while a checkpoint is written.
UNFINISHED = "_temp"
_INDEX = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})\.index")
_DATA = re.compile(CHECKPOINT_NAME + r"-(\d{1,18})\.data-\d{5}-of-\d{5}")
# Which checkpoint is the newest, in the text format of protocol buffers.
STATE_FILE = "checkpoint"
_NAMED = re.compile(r'^model_checkpoint_path:\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_PATTERN = re.compile(r"[*?\[\\]")
# TensorFlow's reader raises Python's own errors for some kinds of damage.
_READER_ERRORS = (tf.errors.OpError, RuntimeError, ValueError, IndexError)


class Bundle:
  """An open TensorFlow checkpoint of whatever kind.

  Args:
    prefix: path without `.index`.

  Raises:
    UserError: the index can't be read, or a data shard is missing.

  Attributes:
    prefix: as given.
    shapes: key → shape of every tensor in it.
  """

  def __init__(self, prefix: str):
    self.prefix = prefix
    _check_shards(prefix)
    if _PATTERN.search(prefix) and not files.is_remote(prefix):
      # TensorFlow takes such a path for a pattern, which may match something else.
      self._link = tempfile.TemporaryDirectory(prefix="checkpoint.")
      prefix = _linked(prefix, self._link.name)
    try:
      # Not `tf.train.load_checkpoint`, which takes prefixes on ram:// for directories.
      self._reader = tf.compat.v1.train.NewCheckpointReader(prefix)
    except _READER_ERRORS as error:
      raise UserError(f"{self.prefix}.index can't be read as a checkpoint: {_first_line(error)}") from None
    self.shapes = {key: tuple(shape) for key, shape in self._reader.get_variable_to_shape_map().items()}
    for key in self.shapes:
      if not key.isprintable():
        raise UserError(f"{prefix} holds a tensor with the name {ascii(key)}: no program writes such names")

  def read(self, key: str) -> np.ndarray:
    """The tensor called `key` as float32.

    Raises:
      UserError: it is not of floats, or the data can't be read or fail their checksum.
    """
    # A scalar comes as a number.
    values = np.asarray(self._read(key))
    # bfloat16 is not among numpy's own types, but all its values are values of float32.
    if values.dtype.kind != "f" and values.dtype.name != "bfloat16":
      kind = "string" if values.dtype.kind in "SO" else values.dtype
      raise UserError(f"{self.prefix}: {key} is of type {kind}, floats are expected")
    return values.astype(np.float32, copy=False)

  def read_as(self, key: str, dtype: np.dtype) -> np.ndarray:
    """The tensor called `key`, which must be of this type.

    Raises:
      UserError: it is missing or of another type, or the data can't be read or fail their checksum.
    """
    if key not in self.shapes:
      raise UserError(f"{self.prefix}: there is no {key}")
    values = np.asarray(self._read(key))
    if values.dtype != dtype:
      raise UserError(f"{self.prefix}: {key} is of type {values.dtype}, {dtype} is expected")
    return values

  def object_graph(self) -> bytes | None:
    """The `TrackableObjectGraph` that ties the keys together in checkpoints of TensorFlow 2; None in others."""
    return self._read(_OBJECT_GRAPH) if _OBJECT_GRAPH in self.shapes else None

  def _read(self, key: str):
    try:
      return self._reader.get_tensor(key)
    except _READER_ERRORS as error:
      raise UserError(f"{self.prefix}: {key} can't be read, the data are damaged: {_first_line(error)}") from None


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
  if files.is_directory(path) and not files.exists(path + ".index"):
    return _prefix_in_directory(path)
  prefix = re.sub(r"\.(index|meta|data-\d{5}-of-\d{5})$", "", path)
  return prefix if files.exists(prefix + ".index") or _shards(prefix) else None


def latest_checkpoint(directory: str) -> str | None:
  """Prefix of the newest checkpoint in a run directory, e.g. `out/ckpt-1000`; None if there is none.

  What is there decides. The file `checkpoint` may be missing, old or damaged: it only shows whether files without an
  index were a whole checkpoint once, and which one is meant where names have no step.

  Raises:
    UserError: files of a newer checkpoint are missing, so that to resume from an older one would write over the others.
  """
  steps = saved_steps(directory)
  newest = steps[-1] if steps else -1
  _check_nothing_is_lost(directory, newest)
  if steps:
    return os.path.join(directory, f"{CHECKPOINT_NAME}-{newest}")
  named = _named_in_state(directory)
  return named if named is not None and files.exists(named + ".index") else None


def saved_steps(directory: str) -> list[int]:
  """The steps of the checkpoints `ckpt-N` in a directory, ascending: those with an index, and saved to their end."""
  names = _names_in(directory)
  steps = sorted(int(match[1]) for name in names if (match := _INDEX.fullmatch(name)))
  # Its writer was killed, maybe with half an index.
  return [step for step in steps if f"{CHECKPOINT_NAME}-{step}{UNFINISHED}" not in names
          or _is_readable(os.path.join(directory, f"{CHECKPOINT_NAME}-{step}"))]


def _check_nothing_is_lost(directory: str, newest: int) -> None:
  """Refuses data of a step after `newest` that a kill can't explain."""
  names, named = _names_in(directory), os.path.basename(_named_in_state(directory) or "")
  for name in names:
    match = _DATA.fullmatch(name)
    if not match or int(match[1]) <= newest or f"{CHECKPOINT_NAME}-{match[1]}{UNFINISHED}" in names:
      continue
    prefix = f"{CHECKPOINT_NAME}-{match[1]}"
    # A writer of earlier versions that was killed: the state names a checkpoint when it is complete.
    if not named or named == prefix:
      then = f"resume from {CHECKPOINT_NAME}-{newest}" if newest >= 0 else "start again"
      raise UserError(f"{os.path.join(directory, prefix)}.index is missing, {name} is there: restore it, or move "
                      f"{prefix}.* out of the directory to {then}")


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


def _is_readable(prefix: str) -> bool:
  try:
    Bundle(prefix)
  except UserError:
    return False
  return True


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


def _prefix_in_directory(directory: str) -> str | None:
  prefixes = [os.path.join(directory, name.removesuffix(".index"))
              for name in files.list_directory(directory) if name.endswith(".index") and not name.startswith(".")]
  newest = latest_checkpoint(directory)
  if newest is not None:
    return newest
  named = _named_in_state(directory)
  if named is not None and prefixes:
    raise UserError(f"{os.path.join(directory, 'checkpoint')} names {os.path.basename(named)}, "
                    f"but {named}.index is missing")
  if len(prefixes) > 1:
    names = ", ".join(os.path.basename(prefix) for prefix in prefixes[:5])
    raise UserError(f"{directory} holds {len(prefixes)} checkpoints ({names}): name the one that is meant, "
                    f"e.g. {prefixes[-1]}")
  return prefixes[0] if prefixes else None


def _linked(prefix: str, folder: str) -> str:
  """The same checkpoint by links in `folder`."""
  for path in (prefix + ".index", *_shards(prefix)):
    ending = path.removeprefix(prefix)
    os.symlink(os.path.abspath(path), os.path.join(folder, CHECKPOINT_NAME + ending))
  return os.path.join(folder, CHECKPOINT_NAME)


def _shards(prefix: str) -> list[str]:
  return files.glob_files(files.escape_pattern(prefix) + ".data-*-of-*")


def _check_shards(prefix: str) -> None:
  if not files.exists(prefix + ".index"):
    raise UserError(f"{prefix}.index is missing: a checkpoint is this file and its {os.path.basename(prefix)}.data-*")
  shards = _shards(prefix)
  if not shards:
    raise UserError(f"{prefix}.data-00000-of-00001 is missing: a checkpoint is the .index file and all its .data files")
  count = int(shards[0].rpartition("-")[2])
  for shard in range(count):
    path = f"{prefix}.data-{shard:05d}-of-{count:05d}"
    if path not in shards:
      raise UserError(f"{path} is missing: the checkpoint has {count} data files")


def _first_line(error: Exception) -> str:
  return str(error).strip().split("\n")[0]

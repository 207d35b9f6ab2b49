"""TensorFlow's checkpoint files, `PREFIX.index` and `PREFIX.data-00000-of-0000N`: found, opened and read.

Input: a path. Output: a `Bundle`, shapes and arrays by key; `native.py`, `original.py` and `model_garden.py` know what
the keys mean.
"""

import os
import re

import numpy as np
import tensorflow as tf

from common import files
from common.errors import UserError

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
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
    try:
      # Not `tf.train.load_checkpoint`, which takes prefixes on ram:// for directories.
      self._reader = tf.compat.v1.train.NewCheckpointReader(prefix)
    except _READER_ERRORS as error:
      raise UserError(f"{prefix}.index can't be read as a checkpoint: {_first_line(error)}") from None
    self.shapes = {key: tuple(shape) for key, shape in self._reader.get_variable_to_shape_map().items()}
    for key in self.shapes:
      if not key.isprintable():
        raise UserError(f"{prefix} holds a tensor with the name {ascii(key)}: no program writes such names")

  def read(self, key: str) -> np.ndarray:
    """The tensor called `key` as float32.

    Raises:
      UserError: it is not of floats, or the data can't be read or fail their checksum.
    """
    values = self._read(key)
    # bfloat16 is not among numpy's own types, but all its values are values of float32.
    if not isinstance(values, np.ndarray) or (values.dtype.kind != "f" and values.dtype.name != "bfloat16"):
      raise UserError(f"{self.prefix}: {key} is of type {getattr(values, 'dtype', 'string')}, floats are expected")
    return values.astype(np.float32, copy=False)

  def object_graph(self) -> bytes | None:
    """What ties the keys together in the checkpoints of TensorFlow 2, a `TrackableObjectGraph`; None in others."""
    return self._read(_OBJECT_GRAPH) if _OBJECT_GRAPH in self.shapes else None

  def _read(self, key: str):
    try:
      return self._reader.get_tensor(key)
    except _READER_ERRORS as error:
      raise UserError(f"{self.prefix}: {key} can't be read, the data are damaged: {_first_line(error)}") from None


def find_prefix(path: str) -> str | None:
  """The prefix of the checkpoint that `path` means.

  Args:
    path: a prefix, one of its files, or a directory: there the file `checkpoint` tells which one is meant, or else
      there must be one only.

  Returns:
    None if `path` holds no TensorFlow checkpoint.

  Raises:
    UserError: the directory holds several checkpoints and does not tell which is meant, or the one it tells is missing.
  """
  # A prefix first: on ram:// whatever a name begins with is a directory.
  if files.is_directory(path) and not files.exists(path + ".index"):
    return _prefix_in_directory(path)
  prefix = re.sub(r"\.(index|meta|data-\d{5}-of-\d{5})$", "", path)
  return prefix if files.exists(prefix + ".index") or _shards(prefix) else None


def latest_checkpoint(directory: str) -> str | None:
  """Prefix of the newest checkpoint in a run directory, e.g. `out/ckpt-1000`; None if there is none."""
  return tf.train.latest_checkpoint(directory)


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
  state = tf.train.get_checkpoint_state(directory)
  if state is not None and state.model_checkpoint_path:
    # A directory may have been moved since: only the name counts.
    prefix = os.path.join(directory, os.path.basename(state.model_checkpoint_path))
    if prefix not in prefixes:
      raise UserError(f"{os.path.join(directory, 'checkpoint')} names {os.path.basename(prefix)}, "
                      f"but {prefix}.index is missing")
    return prefix
  if len(prefixes) > 1:
    names = ", ".join(os.path.basename(prefix) for prefix in prefixes[:5])
    raise UserError(f"{directory} holds {len(prefixes)} checkpoints ({names}): name the one that is meant, "
                    f"e.g. {prefixes[-1]}")
  return prefixes[0] if prefixes else None


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

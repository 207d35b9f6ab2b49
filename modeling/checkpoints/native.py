"""Our own checkpoints: `tf.train.Checkpoint` with a fixed graph of names, so that the code may be rearranged freely.

Keys are the `native_path`s of the original's names:

  encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE
  encoder/encoder/layer_0/attention/self/query/kernel/.ATTRIBUTES/VARIABLE_VALUE
  heads/masked_lm/transform/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE
"""

import os
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from modeling.checkpoints.companion_files import CONFIG_FILE, StoredWeights
from modeling.checkpoints.tensorflow_files import CHECKPOINT_NAME, SUFFIX, Bundle, attach, write_state
from modeling.checkpoints.weights import WORD_EMBEDDINGS, native_path, original_name, raw_variables
from modeling.config import BertConfig

_ROOTS = ("encoder", "heads")
# No weight of ours is missing this one, and no other program gives it this name.
_SIGNATURE_KEY = native_path(WORD_EMBEDDINGS.original) + SUFFIX


def weight_variables(model) -> dict[str, tf.Variable]:
  """The weights of a model by their native paths, as `checkpoint_of` takes them.

  Args:
    model: as for `weights.original_names`.
  """
  return {native_path(name): variable for name, variable in raw_variables(model).items()}


def checkpoint_of(variables: Mapping[str, tf.Variable]) -> tf.train.Checkpoint:
  """A checkpoint object that saves variables (also those of `MirroredStrategy`) under fixed names.

  Args:
    variables: path → variable; the path and `SUFFIX` are its key in the checkpoint.
  """
  root = tf.Module()
  for path, variable in variables.items():
    attach(root, path, variable)
  return tf.train.Checkpoint(**{name: getattr(root, name) for name in dict.fromkeys(
      path.partition("/")[0] for path in variables)})


def read_native(bundle: Bundle) -> StoredWeights | None:
  """The weights of one of our checkpoints; None if it is of another kind."""
  if _SIGNATURE_KEY not in bundle.shapes:
    return None
  keys = {_name(key.removesuffix(SUFFIX)): key for key in sorted(bundle.shapes)
          if key.startswith(tuple(f"{root}/" for root in _ROOTS)) and key.endswith(SUFFIX)}
  return StoredWeights(
      description=bundle.prefix, tensors={name: bundle.shapes[key] for name, key in keys.items()},
      read=lambda name: bundle.read(keys[name]))


def write_native(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """A run directory without optimizer and counters."""
  variables = {native_path(name): tf.Variable(value) for name, value in weights.items()}
  checkpoint_of(variables).write(os.path.join(directory, f"{CHECKPOINT_NAME}-0"))
  write_state(directory, [0])
  config.to_file(os.path.join(directory, CONFIG_FILE))


def _name(path: str) -> str:
  """The original's name; the path itself for heads that this version does not know."""
  try:
    return original_name(path)
  except ValueError:
    return path

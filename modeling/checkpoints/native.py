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

from common import files
from modeling.checkpoints.companion_files import CONFIG_FILE, Checkpoint
from modeling.checkpoints.tensorflow_files import Bundle, attach
from modeling.checkpoints.weights import WORD_EMBEDDINGS, native_path, original_name, original_names
from modeling.config import BertConfig

_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_ROOTS = ("encoder", "heads")
# No weight of ours is missing this one, and no other program gives it this name.
_SIGNATURE_KEY = native_path(WORD_EMBEDDINGS.original) + _SUFFIX


def weights_tree(model) -> tf.Module:
  """The weights of a model as `tf.train.Checkpoint` takes them.

    tree = weights_tree(model)
    checkpoint = tf.train.Checkpoint(encoder=tree.encoder, heads=tree.heads, step=step)

  Args:
    model: as for `weights.original_names`.

  Returns:
    nested modules with the attributes `encoder` and `heads` that hold the TensorFlow variables (also those of
    `MirroredStrategy`) at their native paths.
  """
  root = tf.Module()
  for name in _ROOTS:
    setattr(root, name, tf.Module())
  for name, variable in original_names(model).items():
    attach(root, native_path(name), variable.value)
  return root


def read_native(bundle: Bundle) -> Checkpoint | None:
  """The weights of one of our checkpoints; None if it is of another kind."""
  if _SIGNATURE_KEY not in bundle.shapes:
    return None
  keys = {_name(key.removesuffix(_SUFFIX)): key for key in sorted(bundle.shapes)
          if key.startswith(tuple(f"{root}/" for root in _ROOTS)) and key.endswith(_SUFFIX)}
  return Checkpoint(
      description=bundle.prefix, tensors={name: bundle.shapes[key] for name, key in keys.items()},
      read=lambda name: bundle.read(keys[name]))


def write_native(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """A run directory without optimizer and counters."""
  root = tf.Module()
  for name, value in weights.items():
    attach(root, native_path(name), tf.Variable(value))
  parts = {name: getattr(root, name) for name in _ROOTS if hasattr(root, name)}
  tf.train.Checkpoint(**parts).write(os.path.join(directory, "ckpt-0"))
  with files.atomic_write(os.path.join(directory, "checkpoint")) as file:
    file.write('model_checkpoint_path: "ckpt-0"\nall_model_checkpoint_paths: "ckpt-0"\n')
  config.to_file(os.path.join(directory, CONFIG_FILE))


def _name(path: str) -> str:
  """The original's name; the path itself for heads that this version does not know."""
  try:
    return original_name(path)
  except ValueError:
    return path

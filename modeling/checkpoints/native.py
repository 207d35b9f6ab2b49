"""Our own checkpoints: `tf.train.Checkpoint` with a fixed graph of names, so that the code may be rearranged freely.

Keys are the `native_path`s of the original's names:

  encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE
  encoder/encoder/layer_0/attention/self/query/kernel/.ATTRIBUTES/VARIABLE_VALUE
  heads/masked_lm/transform/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE
"""

import tensorflow as tf

from modeling.checkpoints.companion_files import Checkpoint
from modeling.checkpoints.tensorflow_files import Bundle, attach
from modeling.checkpoints.weights import native_path, original_name, original_names

_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_ROOTS = ("encoder/", "heads/")
# No weight of ours is missing this one, and no other program gives it this name.
_SIGNATURE_KEY = "encoder/embeddings/word_embeddings" + _SUFFIX


def weights_tree(model) -> tf.Module:
  """The weights of a model as `tf.train.Checkpoint` wants them.

    tree = weights_tree(model)
    checkpoint = tf.train.Checkpoint(encoder=tree.encoder, heads=tree.heads, step=step)

  Args:
    model: as for `names.original_names`.

  Returns:
    nested modules with the attributes `encoder` and `heads` that hold the TensorFlow variables (also those of
    `MirroredStrategy`) at their native paths.
  """
  root = tf.Module()
  root.encoder = tf.Module()
  root.heads = tf.Module()
  for name, variable in original_names(model).items():
    attach(root, native_path(name), variable.value)
  return root


def read_native(bundle: Bundle) -> Checkpoint | None:
  """The weights of one of our checkpoints; None if it is of another kind."""
  if _SIGNATURE_KEY not in bundle.shapes:
    return None
  keys = {original_name(key.removesuffix(_SUFFIX)): key for key in sorted(bundle.shapes)
          if key.startswith(_ROOTS) and key.endswith(_SUFFIX)}
  return Checkpoint(
      description=bundle.prefix, tensors={name: bundle.shapes[key] for name, key in keys.items()},
      read=lambda name: bundle.read(keys[name]))

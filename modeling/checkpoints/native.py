"""Our own checkpoints, and those of the original (TensorFlow 1): the released models and what its scripts write.

Ours are a `tf.train.Checkpoint` with a fixed graph of names, so that the code may be rearranged freely.

Keys are the `native_path`s of the original's names; kernels with LoRA (arXiv 2106.09685) are saved merged, and what
training needs to resume is saved beside them:

  encoder/embeddings/word_embeddings/.ATTRIBUTES/VARIABLE_VALUE
  encoder/encoder/layer_0/attention/self/query/kernel/.ATTRIBUTES/VARIABLE_VALUE     readers need not know of LoRA
  heads/masked_lm/transform/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE
  lora/encoder/layer_0/attention/self/query/kernel/…                as it was before, which training leaves alone
  lora/encoder/layer_0/attention/self/query/lora_kernel_a/…, _b/…   the two matrices, which train
"""

import os
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from data_gen.tokenization.vocabulary import casing_of_release
from modeling.checkpoints.companion_files import CONFIG_FILE
from modeling.checkpoints.tensor_files import SUFFIX, StoredWeights
from modeling.checkpoints.tensorflow_files import CHECKPOINT_NAME, Bundle, attach, write_state
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

_ROOTS = ("encoder", "heads")
# Of the original, no weights: the optimizer's state and the step counter.
_NOT_WEIGHTS = re.compile(r"(/adam_[mv]|^global_step)$")
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
  keys = {original_name(key.removesuffix(SUFFIX)): key for key in sorted(bundle.shapes)
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


def read_original(bundle: Bundle) -> StoredWeights | None:
  """The weights of an original checkpoint; None if it is of another kind."""
  if not any(key.startswith(ENCODER_PREFIX) for key in bundle.shapes):
    return None
  tensors = {key: shape for key, shape in sorted(bundle.shapes.items()) if not _NOT_WEIGHTS.search(key)}
  return StoredWeights(
      description=f"{bundle.prefix} (original TensorFlow 1 checkpoint)", tensors=tensors, read=bundle.read,
      do_lower_case=casing_of_release(os.path.dirname(bundle.prefix)))


def write_original(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """Writes tensors as TensorFlow 1's Saver does: by their names, without an object graph."""
  tf.raw_ops.SaveV2(
      prefix=os.path.join(directory, "bert_model.ckpt"), tensor_names=list(weights),
      shape_and_slices=[""] * len(weights), tensors=[tf.constant(value) for value in weights.values()])
  config.to_file(os.path.join(directory, CONFIG_FILE))


class LoraWeights:
  """The variables that a checkpoint of a model with LoRA holds besides, or instead of, the model's own.

  Args:
    model: with an `encoder` on which `enable_lora` was called.

  Attributes:
    variables: path → `tf.Variable`: the merged kernels, which stand in the places of the model's own, and what is
      below lora/.
  """

  def __init__(self, model):
    self._model = model
    self._merged = {name: tf.Variable(tf.zeros(layer.unmerged_kernel.shape), trainable=False)
                    for name, layer in _lora_layers(model).items()}
    self.variables = {native_path(name): variable for name, variable in self._merged.items()}
    self.variables |= {name: variable.value for name, variable in _below_lora(model).items()}

  def merge(self) -> None:
    """Brings the merged kernels up to date; to be called before they are saved."""
    values = weight_values(self._model)
    for name, variable in self._merged.items():
      variable.assign(values[name])

  def load(self, prefix: str) -> None:
    """Reads what is below lora/ in a checkpoint of the same model; `load_weights` reads the merged kernels only.

    Raises:
      UserError: it is not there, or can't be read.
    """
    bundle = Bundle(prefix)
    for name, variable in _below_lora(self._model).items():
      variable.assign(bundle.read_as(name + SUFFIX, np.dtype(np.float32)))


def lora_matrices(model) -> dict:
  """The matrices that train: name, lora/<layer>/lora_kernel_a or _b → `keras.Variable`; empty without LoRA."""
  return {name: variable for name, variable in _below_lora(model).items() if not name.endswith("/kernel")}


def _below_lora(model) -> dict:
  found: dict = {}
  for name, layer in _lora_layers(model).items():
    prefix = LORA_PREFIX + name.removeprefix(ENCODER_PREFIX).removesuffix("kernel")
    found |= {f"{prefix}kernel": layer.unmerged_kernel, f"{prefix}lora_kernel_a": layer.lora_kernel_a,
              f"{prefix}lora_kernel_b": layer.lora_kernel_b}
  return found


def _lora_layers(model) -> dict:
  """Original name of the kernel → every layer with LoRA."""
  return {name: layer for name, (layer, attribute) in places(model).items()
          if attribute == "kernel" and getattr(layer, "lora_enabled", False)}

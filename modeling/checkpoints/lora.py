"""LoRA in our checkpoints: kernels are saved merged, and what training needs to resume is saved beside them.

  encoder/encoder/layer_0/attention/self/query/kernel                merged: readers need not know of LoRA
  lora/encoder/layer_0/attention/self/query/kernel                   as it was before, which training leaves alone
  lora/encoder/layer_0/attention/self/query/lora_kernel_a, _b        the two matrices, which train

Source: "LoRA: Low-rank adaptation of large language models", arXiv 2106.09685.
"""

import numpy as np
import tensorflow as tf

from modeling.checkpoints.tensorflow_files import SUFFIX, Bundle
from modeling.checkpoints.weights import ENCODER_PREFIX, LORA_PREFIX, native_path, original_names, weight_values


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
    self._merged = {name: tf.Variable(tf.zeros(variable.shape), trainable=False)
                    for name, variable in _kernels(model).items()}
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


def _kernels(model) -> dict:
  """Original name → the kernel of every layer with LoRA, without its update."""
  layers = {id(layer.unmerged_kernel) for layer in _lora_layers(model)}
  return {name: variable for name, variable in original_names(model).items() if id(variable) in layers}


def _below_lora(model) -> dict:
  by_kernel = {id(layer.unmerged_kernel): layer for layer in _lora_layers(model)}
  found: dict = {}
  for name, kernel in _kernels(model).items():
    layer, prefix = by_kernel[id(kernel)], LORA_PREFIX + name.removeprefix(ENCODER_PREFIX).removesuffix("kernel")
    found |= {f"{prefix}kernel": kernel, f"{prefix}lora_kernel_a": layer.lora_kernel_a,
              f"{prefix}lora_kernel_b": layer.lora_kernel_b}
  return found


def _lora_layers(model) -> list:
  encoder = getattr(model, "encoder", model)
  if encoder.lora is None:
    return []
  return [dense for layer in encoder.layers for dense in layer.dense_layers().values() if dense.lora_enabled]

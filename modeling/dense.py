"""The dense layer."""

import keras
from keras import ops

from modeling.linear import add_bias


class Dense(keras.layers.Layer):
  """x · kernel + bias over the last axis.

  Variables: kernel [inputs, outputs], bias [outputs].
  """

  def __init__(self, inputs: int, outputs: int, kernel_initializer: keras.initializers.Initializer, **kwargs):
    super().__init__(**kwargs)
    self._inputs = inputs
    self._outputs = outputs
    self._kernel_initializer = kernel_initializer

  def build(self, unused_input_shape=None):
    self.kernel = self.add_weight(
        shape=(self._inputs, self._outputs), initializer=self._kernel_initializer, name="kernel")
    self.bias = self.add_weight(shape=(self._outputs,), initializer="zeros", name="bias")

  def call(self, x):
    """[..., inputs] → [..., outputs]."""
    # As one matrix product: a product that is batched over B is slower, and its gradient sums B kernels.
    flat = add_bias(ops.matmul(ops.reshape(x, (-1, self._inputs)), self.kernel), self.bias)
    return ops.reshape(flat, (*ops.shape(x)[:-1], self._outputs))

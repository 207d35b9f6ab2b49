"""Layer normalization (arXiv 1607.06450)."""

import keras
from keras import ops


class LayerNorm(keras.layers.Layer):
  """Normalises the last axis to mean 0 and variance 1, then scales by gamma and shifts by beta.

  Computes in float32 whatever the policy says; the result has the policy's compute dtype.

  Variables: gamma [H], beta [H].
  """

  def __init__(self, units: int, epsilon: float, **kwargs):
    # Keras must not round the input to the compute dtype before the statistics are taken.
    super().__init__(autocast=False, **kwargs)
    self._units = units
    self._epsilon = epsilon

  def build(self, unused_input_shape=None):
    self.beta = self.add_weight(shape=(self._units,), initializer="zeros", name="beta", autocast=False)
    self.gamma = self.add_weight(shape=(self._units,), initializer="ones", name="gamma", autocast=False)

  def call(self, x):
    """[..., H] → [..., H]."""
    x = ops.cast(x, "float32")
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
    y = centered * ops.rsqrt(variance + self._epsilon) * self.gamma + self.beta
    return ops.cast(y, self.compute_dtype)

"""Two steps of linear algebra that TensorFlow does faster by other operations than `keras.ops` chooses."""

import keras
from keras import ops


def add_bias(x, bias):
  """x + bias over the last axis: [..., units] and [units] → [..., units]."""
  if keras.backend.backend() != "tensorflow":
    return x + bias
  import tensorflow as tf

  # Its gradient is a sum over rows that takes a quarter of the time of a broadcast addition's.
  return tf.nn.bias_add(x, bias)


def matmul_transposed(x, y):
  """x · yᵀ: [rows, inner] and [columns, inner] → [rows, columns]."""
  if keras.backend.backend() != "tensorflow":
    return ops.matmul(x, ops.transpose(y))
  import tensorflow as tf

  # The gradient of y comes out in y's own layout; of an explicit transpose it would have to be turned round.
  return tf.matmul(x, y, transpose_b=True)

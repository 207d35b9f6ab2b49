"""Element by element functions as one pass over memory, with a gradient that is one pass too.

TensorFlow runs `0.5 x (1 + tanh(...))` as eight operations, each of which reads and writes the whole tensor; on a CPU
that takes as long as the matrix products beside it. XLA makes one loop of them. Here only such functions are compiled:
the products stay with oneDNN, which is faster at them, and a step needs no compilation of the whole network.
"""

from collections.abc import Callable

import keras


def fused(function: Callable) -> Callable:
  """Compiles a function of floating-point tensors to one float tensor, and its gradient.

  The gradient computes the function again from its arguments, which costs less than keeping what is in between.
  Under another backend than TensorFlow the function is returned as it is.

  Args:
    function: pure; made of operations that XLA compiles.
  """
  if keras.backend.backend() != "tensorflow":
    return function
  import tensorflow as tf

  forward = tf.function(function, jit_compile=True)

  @tf.function(jit_compile=True)
  def backward(arguments, upstream):
    with tf.GradientTape() as tape:
      tape.watch(arguments)
      result = function(*arguments)
    return tape.gradient(result, arguments, output_gradients=upstream)

  @tf.custom_gradient
  def call(*arguments):
    return forward(*arguments), lambda upstream: backward(arguments, upstream)

  return call

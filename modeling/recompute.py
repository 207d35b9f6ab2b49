"""Layers whose activations are computed again for the gradients instead of being kept (arXiv 1604.06174).

Exact: dropout masks are a function of the step and the example (`modeling/dropout.py`), so the second time they are the
same, and with them outputs and gradients. What is kept of a layer is its input.

Input and output: those of the layer, [B, S, H].
"""

import dataclasses

import keras

from modeling.dropout import DropoutStream


def recomputed(layer: keras.layers.Layer, x, bias, dropout: DropoutStream):
  """`layer(x, bias=bias, dropout=dropout)`, of which nothing is kept for the gradients.

  Args:
    layer: built; draws from the stream only.
    x: float [B, S, H].
    bias: see `attention_bias`; gets no gradient.
    dropout: of the step.
  """
  import tensorflow as tf

  trained = layer.trainable_variables
  frozen = [(variable, tf.convert_to_tensor(variable.value)) for variable in layer.non_trainable_variables]

  def run(x, weights, stream: DropoutStream):
    # Weights as plain arguments: TensorFlow then knows which tensors need a gradient, on every replica.
    with keras.StatelessScope(state_mapping=[*zip(trained, weights, strict=True), *frozen]):
      return layer(x, bias=bias, dropout=stream)

  @tf.custom_gradient
  def call(x, *weights):
    def gradient(upstream):
      # All of the second computation must depend on the gradient of the result. Otherwise it would be done, or merged
      # with the first one, early on, and its results kept. 0, but no compiler can know.
      first = tf.reshape(upstream, [-1])[0]
      zero = tf.where(tf.math.is_nan(first), first, tf.zeros_like(first))
      late = dataclasses.replace(dropout, key=dropout.key + tf.cast(tf.cast(zero, tf.float32), dropout.key.dtype))
      with tf.GradientTape(watch_accessed_variables=False) as tape:
        again = x + tf.cast(zero, x.dtype)
        tape.watch([again, *weights])
        result = run(again, weights, late)
      return tape.gradient(result, [again, *weights], output_gradients=upstream,
                           unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return run(x, weights, dropout), gradient

  return call(x, *(tf.convert_to_tensor(variable.value) for variable in trained))

"""Gradient checkpointing: a layer whose activations are computed again for the gradients.

Input: a built layer and its arguments; output: the layer's output, of which only the input is kept
until the backward pass (arXiv 1604.06174).
"""

import dataclasses

import keras

from modeling.dropout import DropoutStream

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def recomputed(layer: keras.layers.Layer, x, dropout: DropoutStream, **arguments):
    """Calls a layer and keeps nothing but its input for the gradients.

    Args:
      layer: built, with one output.
      x: float [B, S, H], its first argument.
      dropout: stream of the step; both computations draw the same masks from it.
      arguments: further keyword arguments of the layer; they get no gradients.

    Returns:
      `layer(x, dropout=dropout, **arguments)`.
    """
    trained = layer.trainable_variables
    trained_values = [tf.convert_to_tensor(variable.value) for variable in trained]
    frozen = []
    for variable in layer.non_trainable_variables:
        frozen.append((variable, tf.convert_to_tensor(variable.value)))

    def run(x, weights, stream: DropoutStream):
        # Weights as plain arguments: TensorFlow then knows which tensors need a gradient, on every
        # replica.
        mapping = [*zip(trained, weights, strict=True), *frozen]
        with keras.StatelessScope(state_mapping=mapping):
            return layer(x, dropout=stream, **arguments)

    @tf.custom_gradient
    def call(x, *weights):
        def gradient(upstream):
            # The second computation must depend on the gradient of the result. Otherwise the
            # compiler would run it early, or merge it with the first one, and keep its results.
            # `zero` is always 0, but no compiler can know that.
            first = tf.reshape(upstream, [-1])[0]
            zero = tf.where(tf.math.is_nan(first), first, tf.zeros_like(first))
            zero_key = tf.cast(tf.cast(zero, tf.float32), dropout.key.dtype)
            late_stream = dataclasses.replace(dropout, key=dropout.key + zero_key)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                late_x = x + tf.cast(zero, x.dtype)
                sources = [late_x, *weights]
                tape.watch(sources)
                result = run(late_x, weights, late_stream)
            return tape.gradient(
                result,
                sources,
                output_gradients=upstream,
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )

        return run(x, weights, dropout), gradient

    return call(x, *trained_values)

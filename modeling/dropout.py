"""Dropout in two forms: exact and stateless for our own training loop, and Keras' for `fit`.

The exact form depends on the example, the dropout site and the step, and on nothing else: every
site of the model draws the decision about a unit from a hash of (seed, step, site, example, unit).
So a training step needs no generator state: a resumed run, a run on eight devices and a run that
accumulates gradients over micro-batches all drop the same units of the same examples. The hash is
made of element by element operations, so that no random words go to memory.
"""

import dataclasses

import keras

from modeling.layers import derived_seed, is_compiled_whole
from modeling.saving import WithArguments, needs_tensorflow, register

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

# 2^32 divided by the golden ratio: multiples of it are spread evenly.
_ODD = 0x9E3779B9


@dataclasses.dataclass(frozen=True)
class DropoutStream:
    """State from which a training step draws its dropout masks.

    Attributes:
      key: uint64 [1], seed and step.
      first_example: int64 [], index of the batch's first row in the step's global batch: 0 on the
        first replica.
      is_compiled: whether masks are compiled by XLA; a graph that others are to train does without,
        as not every device has XLA.
    """

    key: object
    first_example: object
    is_compiled: bool = True


def stream_key(seed: int, step):
    """Seed (31 bits of it) and step, int64 [], of a stream in one tensor, int64 []."""
    return tf.bitwise.bitwise_or(
        tf.constant((seed & 0x7FFFFFFF) << 32, tf.int64), tf.cast(step, tf.int64)
    )


def stream_of_key(key, first_example=0) -> DropoutStream:
    """The stream of a `stream_key`; `first_example`, int64 [], is this replica's first row in the
    global batch."""
    return DropoutStream(
        key=tf.reshape(tf.bitcast(key, tf.uint64), [1]),
        first_example=tf.cast(first_example, tf.int64),
    )


@register
class Dropout(WithArguments, keras.layers.Layer):
    """One dropout site: sets a fraction of the units to zero and scales the others by 1 / (1 -
    rate).

    Args:
      rate: fraction of units to drop, 0 <= rate < 1.
      site: number of the site in the model; two sites with the same number would drop alike.
      seed: of Keras' generator, for `training=True` without a stream.
    """

    _arguments = ("rate", "site", "seed")

    def __init__(self, rate: float, site: int, *, seed: int = 0, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.rate = rate
        self.site = site
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(derived_seed(seed, f"dropout/{site}"))

    def call(self, x, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """float [B, ...] → the same shape and dtype.

        Args:
          dropout: the training step's stream, whatever `training` says.
          training: without a stream, whether to drop by `keras.random`.
        """
        if dropout is not None:
            return drop(x, self.rate, self.site, dropout)
        if training and self.rate > 0:
            return keras.random.dropout(x, self.rate, seed=self.seed_generator)
        return x


def drop(x, rate: float, site: int, stream: DropoutStream):
    """The exact form of dropout.

    The probability is a multiple of 2^-32, and the scale is exact for it.

    Args:
      x: float [B, ...]; no size need be known while the graph is made.
      rate, site: as in `Dropout`.
      stream: of the step.

    Raises:
      UserError: Keras does not run on TensorFlow; `training=True` drops there.
    """
    threshold = round(rate * 2**32)
    if threshold == 0:
        return x
    needs_tensorflow("a dropout stream")
    keys = _example_keys(tf.shape(x)[0] if x.shape[0] is None else x.shape[0], site, stream)
    masked = _masked if is_compiled_whole() or not stream.is_compiled else _compiled_masked

    @tf.custom_gradient
    def call(x):
        # The mask is made again for the gradient, which costs less than keeping it.
        return masked(x, keys, threshold), lambda upstream: masked(upstream, keys, threshold)

    return call(x)


def _mixed(x, key=None):
    """A permutation of 32 bits, another for each key, in which every bit of the result depends on
    every bit of x, uint32 of any shape ("lowbias32" by C. Wellons)."""

    def folded(x, bits):
        return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(bits, tf.uint32)))

    x = folded(folded(x, 16) * tf.constant(0x7FEB352D, tf.uint32), 15)
    if key is not None:
        x = tf.bitwise.bitwise_xor(x, key)
    return folded(x * tf.constant(0x846CA68B, tf.uint32), 16)


def _example_keys(batch, site: int, stream: DropoutStream):
    """uint32 [2, B]: 64 bits that are a function of seed, step, site and example, for each row of a
    batch."""
    words = tf.bitcast(stream.key, tf.uint32)[0]  # Step and seed.
    numbers = stream.first_example + tf.range(tf.cast(batch, tf.int64))
    examples, higher = (
        tf.cast(tf.bitwise.bitwise_and(one, 0xFFFFFFFF), tf.uint32)
        for one in (numbers, tf.bitwise.right_shift(numbers, tf.constant(32, tf.int64)))
    )
    run = _mixed(_mixed(words[1] + tf.constant(_ODD, tf.uint32)) + words[0])
    of_site = (
        run
        + tf.constant(site * _ODD & 0xFFFFFFFF, tf.uint32)
        + higher * tf.constant(0x85EBCA6B, tf.uint32)
    )
    first = _mixed(_mixed(of_site) + examples)
    keys = tf.stack(
        [
            first,
            _mixed(tf.bitwise.bitwise_xor(first, run) + examples * tf.constant(_ODD, tf.uint32)),
        ]
    )
    # Once for each row, and not for each unit of it.
    return gen_xla_ops.xla_optimization_barrier(input=[keys])[0] if is_compiled_whole() else keys


def _masked(x, keys, threshold: int):
    """x, float [B, ...], scaled where it is kept, else 0, by `_example_keys` and the probability to
    drop times 2^32: element by element, so that XLA makes it a part of what comes before or
    after."""
    sizes = [tf.shape(x)[axis] if size is None else size for axis, size in enumerate(x.shape)]
    unit, stride = tf.zeros([1] * len(sizes), tf.uint32), tf.constant(_ODD, tf.uint32)
    for axis in reversed(range(1, len(sizes))):
        places = tf.cast(tf.range(sizes[axis]), tf.uint32) * stride
        unit += tf.reshape(places, [-1 if other == axis else 1 for other in range(len(sizes))])
        stride *= tf.cast(sizes[axis], tf.uint32)
    first, second = (tf.reshape(key, [-1] + [1] * (len(sizes) - 1)) for key in tf.unstack(keys))
    keep = _mixed(unit + first, second) >= tf.constant(threshold, tf.uint32)
    return tf.where(keep, x * tf.cast(2**32 / (2**32 - threshold), x.dtype), tf.zeros([], x.dtype))


if keras.backend.backend() == "tensorflow":
    # For functions that are not compiled as a whole: one pass over memory.
    _compiled_masked = tf.function(_masked, jit_compile=True, autograph=False)


def recomputed(layer: keras.layers.Layer, x, bias, dropout: DropoutStream):
    """`layer(x, bias=bias, dropout=dropout)` of a layer that is built, x float [B, S, H], of which
    nothing is kept for the gradients; the bias gets none."""
    trained = layer.trainable_variables
    frozen = [
        (variable, tf.convert_to_tensor(variable.value))
        for variable in layer.non_trainable_variables
    ]

    def run(x, weights, stream: DropoutStream):
        # Weights as plain arguments: TensorFlow then knows which tensors need a gradient, on every
        # replica.
        with keras.StatelessScope(state_mapping=[*zip(trained, weights, strict=True), *frozen]):
            return layer(x, bias=bias, dropout=stream)

    @tf.custom_gradient
    def call(x, *weights):
        def gradient(upstream):
            # All of the second computation must depend on the gradient of the result. Otherwise it
            # would be done, or merged with the first one, early on, and its results kept. 0, but no
            # compiler can know.
            first = tf.reshape(upstream, [-1])[0]
            zero = tf.where(tf.math.is_nan(first), first, tf.zeros_like(first))
            late = dataclasses.replace(
                dropout, key=dropout.key + tf.cast(tf.cast(zero, tf.float32), dropout.key.dtype)
            )
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                again = x + tf.cast(zero, x.dtype)
                tape.watch([again, *weights])
                result = run(again, weights, late)
            return tape.gradient(
                result,
                [again, *weights],
                output_gradients=upstream,
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )

        return run(x, weights, dropout), gradient

    return call(x, *(tf.convert_to_tensor(variable.value) for variable in trained))

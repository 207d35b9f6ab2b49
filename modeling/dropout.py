"""Dropout that depends on the example, for our own training loop and for `fit`.

It depends on the example, the dropout site and the step, and on nothing else: every site of the
model draws the decision about a unit from a hash of (seed, step, site, example, unit). A training
step needs no generator state: a resumed run, a run on eight devices and a run that accumulates
gradients over micro-batches all drop the same units of the same examples. The hash is made of
element by element operations, so that no random words go to memory.

`fit` has no step to give: the counter of one of Keras' generators takes its place. On Keras' other
backends `fit` drops by `keras.random`.
"""

import dataclasses

import keras
import numpy as np

from modeling.layers import derived_seed
from modeling.replicas import rows_before
from modeling.saving import WithArguments, needs_tensorflow, register
from modeling.xla import is_jit_compiled, optimization_barrier

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# 2^32 divided by the golden ratio (odd): its multiples are spread evenly over 32 bits.
_ODD = 0x9E3779B9


def layer_site(index: int, number: int) -> int:
    """Returns the dropout site of the encoder's layer `index`: number 0 for its attention
    probabilities, 1 for its attention's output, 2 for its own output.

    The embeddings have site 0; a head's sites follow, as if it were one more layer.
    """
    return 1 + 3 * index + number


@dataclasses.dataclass(frozen=True)
class DropoutStream:
    """State from which a training step draws its dropout masks.

    Attributes:
      key: uint64 [1], seed and step.
      first_example: int64 [], index of the batch's first row in the step's global batch: 0 on the
        first replica. Or [B], for rows that do not follow one another: the index of each row less
        its place in the batch.
      is_compiled: whether XLA compiles masks and activations of the step; false for a graph that
        others are to train, as not every device has XLA.
    """

    key: object
    first_example: object
    is_compiled: bool = True


def stream_key(seed: int, step):
    """Returns the key of a step's stream, int64 []: 31 bits of the seed, 32 of the step."""
    seed_bits = tf.constant((seed & 0x7FFFFFFF) << 32, tf.int64)
    return tf.bitwise.bitwise_or(seed_bits, tf.cast(step, tf.int64))


def stream_of_key(key, first_example=0) -> DropoutStream:
    """Returns the stream of a `stream_key`.

    Args:
      key: int64 [].
      first_example: int64 [], this replica's first row in the global batch.
    """
    return DropoutStream(
        key=tf.reshape(tf.bitcast(key, tf.uint64), [1]),
        first_example=tf.cast(first_example, tf.int64),
    )


def fit_stream(generator: keras.random.SeedGenerator, inputs) -> DropoutStream | None:
    """Returns the stream of a step of `fit`, or of another call with `training=True`.

    Args:
      generator: gives the seed and the number of the step, and counts it.
      inputs: a tensor with this replica's rows, [B, ...].

    Returns:
      None if Keras does not run on TensorFlow.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    # Keras finds the end of a dataset of unknown size by a step that has no batch. The step would
    # count if it did not wait for one.
    with tf.control_dependencies([inputs]):
        seed, step = tf.unstack(tf.cast(generator.next(), tf.int64))
    seed = tf.bitwise.left_shift(tf.bitwise.bitwise_and(seed, 0x7FFFFFFF), 32)
    return stream_of_key(tf.bitwise.bitwise_or(seed, step), rows_before(keras.ops.shape(inputs)[0]))


@register
class Dropout(WithArguments, keras.layers.Layer):
    """One dropout site: sets a fraction of the units to zero and scales the others by 1 / (1 -
    rate).

    Args:
      rate: fraction of units to drop, 0 <= rate < 1.
      site: number of the site in the model; two sites with the same number would drop alike.
      seed: of the generator for `training=True` without a stream.
    """

    _arguments = ("rate", "site", "seed")

    def __init__(self, rate: float, site: int, *, seed: int = 0, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.rate = rate
        self.site = site
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(derived_seed(seed, f"dropout/{site}"))

    def save_own_variables(self, store) -> None:
        # Keras saves no generators: a loaded model would draw the masks of the first steps again.
        store["steps"] = keras.ops.convert_to_numpy(self.seed_generator.state)[1:]

    def load_own_variables(self, store) -> None:
        # Files of earlier versions hold none.
        if "steps" in store.keys():
            seed = keras.ops.convert_to_numpy(self.seed_generator.state)[:1]
            self.seed_generator.state.assign(np.concatenate([seed, store["steps"][()]]))

    def call(self, x, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """Drops units of x, float [B, ...] → the same shape and dtype.

        Args:
          dropout: the training step's stream; `training` is then ignored.
          training: without a stream, whether to drop.
        """
        # The stream decides, so that our own loop needs no `training` argument.
        if dropout is None and training and self.rate > 0:
            dropout = fit_stream(self.seed_generator, x)
            if dropout is None:
                return keras.random.dropout(x, self.rate, seed=self.seed_generator)
        if dropout is None:
            return x
        return drop(x, self.rate, self.site, dropout)


def drop(x, rate: float, site: int, stream: DropoutStream):
    """Drops units of a batch by the exact form of dropout.

    The probability is a multiple of 2^-32, and the scale is exact for it.

    Args:
      x: float [B, ...]; no size need be known while the graph is built.
      rate, site: as in `Dropout`.
      stream: of the step.

    Raises:
      UserError: Keras does not run on TensorFlow; `training=True` drops there.
    """
    # Uniform 32-bit words are compared with an integer: no float is rounded on any device.
    threshold = round(rate * 2**32)
    if threshold == 0:
        return x
    needs_tensorflow("a dropout stream")
    batch = x.shape[0]
    if batch is None:
        batch = tf.shape(x)[0]
    keys = _example_keys(batch, site, stream)
    if stream.is_compiled and not is_jit_compiled():
        masked = _compiled_masked
    else:
        masked = _masked

    # XLA would merge both draws, and keep the mask of every layer from the start of the step. The
    # masks of attention probabilities stay so: XLA does not fuse the hash with a softmax, and
    # another draw would be written and read, too.
    is_drawn_again = is_jit_compiled() and len(x.shape) < 4

    @tf.custom_gradient
    def call(x):
        def gradient(upstream):
            # Drawing the mask again costs less than keeping it.
            late_keys = keys
            if is_drawn_again:
                late_keys, upstream = optimization_barrier(keys, upstream)
            return masked(upstream, late_keys, threshold)

        return masked(x, keys, threshold), gradient

    return call(x)


def _mixed(x, key=None):
    """Permutes 32-bit words ("lowbias32" by C. Wellons), uint32 of any shape.

    Every bit of the result depends on every bit of x. Each key gives another permutation.
    """

    def xor_shifted(x, bits):
        return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(bits, tf.uint32)))

    # Constants and shifts are the author's; his search chose them for their low bias.
    x = xor_shifted(x, 16) * tf.constant(0x7FEB352D, tf.uint32)
    x = xor_shifted(x, 15)
    if key is not None:
        x = tf.bitwise.bitwise_xor(x, key)
    return xor_shifted(x * tf.constant(0x846CA68B, tf.uint32), 16)


def _example_keys(batch, site: int, stream: DropoutStream):
    """Returns uint32 [2, B], 64 bits per row, a function of seed, step, site and example."""
    words = tf.bitcast(stream.key, tf.uint32)[0]
    step = words[0]
    seed = words[1]
    odd = tf.constant(_ODD, tf.uint32)
    examples = stream.first_example + tf.range(tf.cast(batch, tf.int64))
    low = tf.cast(tf.bitwise.bitwise_and(examples, 0xFFFFFFFF), tf.uint32)
    high = tf.bitwise.right_shift(examples, tf.constant(32, tf.int64))
    high = tf.cast(tf.bitwise.bitwise_and(high, 0xFFFFFFFF), tf.uint32)
    # Each input is mixed before the next one is added: neighboring steps, sites and examples must
    # not give correlated masks.
    step_key = _mixed(_mixed(seed + odd) + step)
    site_offset = tf.constant(site * _ODD & 0xFFFFFFFF, tf.uint32)
    site_key = step_key + site_offset + high * tf.constant(0x85EBCA6B, tf.uint32)
    first = _mixed(_mixed(site_key) + low)
    second = _mixed(tf.bitwise.bitwise_xor(first, step_key) + low * odd)
    keys = tf.stack([first, second])
    if is_jit_compiled():
        # XLA would otherwise compute the keys of a row once more for each of its units.
        (keys,) = optimization_barrier(keys)
    return keys


def _masked(x, keys, threshold: int):
    """Scales the kept units of x and sets the others to 0.

    The mask is computed element by element, so that XLA fuses it with the operations around it.

    Args:
      x: float [B, ...].
      keys: uint32 [2, B], from `_example_keys`.
      threshold: the probability to drop times 2^32.
    """
    sizes = []
    for axis, size in enumerate(x.shape):
        sizes.append(tf.shape(x)[axis] if size is None else size)
    ones = [1] * len(sizes)
    # The number of each unit within its example, times `_ODD`, in 32 bits.
    unit = tf.zeros(ones, tf.uint32)
    stride = tf.constant(_ODD, tf.uint32)
    # Units are numbered as in memory, the last axis fastest, without the example's axis: the mask
    # of an example must not depend on its row in the batch.
    for axis in reversed(range(1, len(sizes))):
        offsets = tf.cast(tf.range(sizes[axis]), tf.uint32) * stride
        shape = [*ones[:axis], -1, *ones[axis + 1 :]]
        unit += tf.reshape(offsets, shape)
        stride *= tf.cast(sizes[axis], tf.uint32)
    first, second = tf.unstack(keys)
    first = tf.reshape(first, [-1, *ones[1:]])
    second = tf.reshape(second, [-1, *ones[1:]])
    is_kept = _mixed(unit + first, second) >= tf.constant(threshold, tf.uint32)
    # In bfloat16 the scale would be up to 0.4 % off, in all steps alike.
    scaled = tf.cast(tf.cast(x, tf.float32) * (2**32 / (2**32 - threshold)), x.dtype)
    return tf.where(is_kept, scaled, tf.zeros([], x.dtype))


if keras.backend.backend() == "tensorflow":
    # For functions that are not compiled as a whole: one pass over memory.
    _compiled_masked = tf.function(_masked, jit_compile=True, autograph=False)

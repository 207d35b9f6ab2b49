"""Dropout in two forms: exact and stateless for our own training loop, and Keras' for `fit`.

The exact form depends on the example, the dropout site and the step, and on nothing else: every site of the model
draws from a counter-based generator (Philox 4x32) with key = (seed, step) and counter = (site, example). So a training
step needs no generator state: a resumed run, a run on eight devices and a run that accumulates gradients over
micro-batches all drop the same units of the same examples.
"""

import dataclasses
import math

import keras
from keras import ops

from modeling.layers import derived_seed
from modeling.saving import register

_DECISIONS_PER_BLOCK = 8  # One Philox block is 128 bits, one decision takes 16.


@dataclasses.dataclass(frozen=True)
class DropoutStream:
  """State from which a training step draws its dropout masks.

  Attributes:
    key: uint64 [1], seed and step.
    first_example: int64 [], index of the batch's first row in the step's global batch: 0 on the first replica.
  """

  key: object
  first_example: object


def dropout_stream(seed: int, step, first_example=0) -> DropoutStream:
  """The stream of one step.

  Args:
    seed: the run's seed, at most 31 bits of it are used.
    step: int64 [], the training step.
    first_example: int64 [], index of the first row of this replica's (micro-)batch in the global batch.
  """
  return stream_of_key(stream_key(seed, step), first_example)


def stream_key(seed: int, step):
  """Seed and step of a stream, int64 []: the arguments of `dropout_stream` in one tensor."""
  import tensorflow as tf

  return tf.bitwise.bitwise_or(tf.constant((seed & 0x7FFFFFFF) << 32, tf.int64), tf.cast(step, tf.int64))


def stream_of_key(key, first_example=0) -> DropoutStream:
  """The stream of a `stream_key`."""
  import tensorflow as tf

  return DropoutStream(key=tf.reshape(tf.bitcast(key, tf.uint64), [1]), first_example=tf.cast(first_example, tf.int64))


@register
class Dropout(keras.layers.Layer):
  """One dropout site: sets a fraction of the units to zero and scales the others by 1 / (1 - rate).

  Args:
    rate: fraction of units to drop, 0 <= rate < 1.
    site: number of the site in the model; two sites with the same number would drop alike.
    seed: of Keras' generator, for `training=True` without a stream.
  """

  def __init__(self, rate: float, site: int, *, seed: int = 0, **kwargs):
    super().__init__(autocast=False, **kwargs)
    self.rate = rate
    self.site = site
    self.seed = seed
    self.seed_generator = keras.random.SeedGenerator(derived_seed(seed, f"dropout/{site}"))

  def build(self, input_shape=None):
    """Nothing: there is no weight."""

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

  def get_config(self) -> dict:
    return {**super().get_config(), "rate": self.rate, "site": self.site, "seed": self.seed}


def drop(x, rate: float, site: int, stream: DropoutStream):
  """The exact form of dropout.

  The probability is a multiple of 2^-16: 0.1 becomes 0.100006, and the scale is exact for it.

  Args:
    x: float [B, ...].
    rate, site: as in `Dropout`.
    stream: of the step.

  Raises:
    NotImplementedError: Keras does not run on TensorFlow.
  """
  threshold = round(rate * 65536)
  if threshold == 0:
    return x
  if keras.backend.backend() != "tensorflow":
    raise NotImplementedError("a dropout stream needs Keras' TensorFlow backend: use training=True under another one")
  keep = _random_uint16(x, site, stream) >= threshold
  scale = 65536 / (65536 - threshold)
  return x * (ops.cast(keep, x.dtype) * ops.cast(scale, x.dtype))


def _random_uint16(x, site: int, stream: DropoutStream):
  """Random bits of the shape of x, [B, ...], that are the rows `first_example`... of the same call for a larger batch.

  No size need be known while the graph is made: batches of different lengths run through one graph.
  """
  import tensorflow as tf

  batch = tf.shape(x, tf.int64)[0] if x.shape[0] is None else x.shape[0]
  is_static = None not in x.shape[1:]
  row = math.prod(x.shape[1:]) if is_static else tf.reduce_prod(tf.shape(x, tf.int64)[1:])
  blocks = -(-row // _DECISIONS_PER_BLOCK)
  counter = tf.stack([tf.bitcast(stream.first_example * blocks, tf.uint64), tf.constant(site, tf.uint64)])
  words = tf.raw_ops.StatelessRandomUniformFullIntV2(
      shape=[batch, blocks * 4], key=stream.key, counter=counter, alg=1, dtype=tf.uint32)
  decisions = tf.reshape(tf.bitcast(words, tf.uint16), [batch, blocks * _DECISIONS_PER_BLOCK])
  return tf.ensure_shape(tf.reshape(decisions[:, :row], tf.shape(x)), x.shape)

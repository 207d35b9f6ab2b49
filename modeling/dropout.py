"""Dropout whose masks depend on the example, the place and the step, and on nothing else.

Every dropout place of the network draws from a counter-based generator (Philox 4x32): key = (seed, step), counter =
(place, example). So a training step needs no generator state: a resumed run, a run on eight devices and a run that
accumulates gradients over micro-batches all drop the same units of the same examples.

Comes after `modeling/masks.py`; used by every layer that drops something.
"""

import dataclasses
import math

import keras
from keras import ops

_DECISIONS_PER_BLOCK = 8  # One Philox block is 128 bits, one decision takes 16.


@dataclasses.dataclass(frozen=True)
class DropoutStream:
  """What a training step needs to know to draw its dropout masks.

  Attributes:
    key: uint64 [1], from `dropout_key(seed, step)`.
    first_example: int64 [], place of the batch's first row in the step's global batch: 0 on the first replica.
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
  import tensorflow as tf

  key = tf.bitwise.bitwise_or(tf.constant((seed & 0x7FFFFFFF) << 32, tf.int64), tf.cast(step, tf.int64))
  return DropoutStream(key=tf.reshape(tf.bitcast(key, tf.uint64), [1]), first_example=tf.cast(first_example, tf.int64))


def dropout(x, rate: float, place: int, stream: DropoutStream | None):
  """Sets a share of `rate` of the units to zero and scales the others by 1 / (1 - rate).

  The probability is a multiple of 2^-16: 0.1 becomes 0.100006, and the scale is exact for it.

  Args:
    x: float [B, ...]; all axes but the first of static size.
    rate: share of units to drop, 0 <= rate < 1.
    place: number of the place in the network; two places with the same number would drop alike.
    stream: None for inference, where `x` is returned as it is.
  """
  threshold = round(rate * 65536)
  if stream is None or threshold == 0:
    return x
  if keras.backend.backend() != "tensorflow":
    raise NotImplementedError("dropout is written for Keras' TensorFlow backend; other backends run inference only")
  keep = _random_uint16(x, place, stream) >= threshold
  scale = 65536 / (65536 - threshold)
  return x * (ops.cast(keep, x.dtype) * ops.cast(scale, x.dtype))


def _random_uint16(x, place: int, stream: DropoutStream):
  """Random bits of the shape of x, [B, ...], that are the rows `first_example`... of the same call for a larger batch.

  Only B need be known while the graph is made: batches of different lengths run through one graph.
  """
  import tensorflow as tf

  batch = x.shape[0]
  if batch is None:
    raise ValueError("dropout needs a static batch size: batch the examples with drop_remainder=True")
  is_static = None not in x.shape
  row = math.prod(x.shape[1:]) if is_static else tf.reduce_prod(tf.shape(x, tf.int64)[1:])
  blocks = -(-row // _DECISIONS_PER_BLOCK)
  counter = tf.stack([tf.bitcast(stream.first_example * blocks, tf.uint64), tf.constant(place, tf.uint64)])
  words = tf.raw_ops.StatelessRandomUniformFullIntV2(
      shape=[batch, blocks * 4], key=stream.key, counter=counter, alg=1, dtype=tf.uint32)
  decisions = tf.reshape(tf.bitcast(words, tf.uint16), [batch, blocks * _DECISIONS_PER_BLOCK])
  return tf.ensure_shape(tf.reshape(decisions[:, :row], tf.shape(x)), x.shape)

"""How fast this machine multiplies matrices, for estimates; `modeling/flops.py` says how much a step needs."""

import time

import tensorflow as tf


def matmul_rate(size: int = 1024, seconds: float = 0.3) -> float:
  """Floating-point operations per second of a float32 product of two square matrices, the best of several."""
  multiply = tf.function(tf.matmul)
  a = tf.random.stateless_normal([size, size], seed=[0, 0])
  multiply(a, a)
  best, end = 0.0, time.perf_counter() + seconds
  while time.perf_counter() < end:
    began = time.perf_counter()
    # Reading one number waits for the product.
    multiply(a, a)[0, 0].numpy()
    best = max(best, 2.0 * size**3 / (time.perf_counter() - began))
  return best

"""How much arithmetic a step is, and how fast this machine multiplies matrices: for estimates and benchmarks."""

import time

import tensorflow as tf

from modeling.config import BertConfig


def forward_flops(config: BertConfig, sequence_length: int, predictions: int) -> float:
  """Floating-point operations of the matrix products for one example, forwards (a multiply-add counts as two).

  Args:
    sequence_length: S, tokens with padding.
    predictions: P, positions that are projected to the vocabulary; 0 without the masked-LM head.
  """
  hidden, length = config.hidden_size, sequence_length
  projections = 4 * hidden * hidden + 2 * hidden * config.intermediate_size
  attention = 2 * length * hidden
  layers = config.num_hidden_layers * length * (projections + attention)
  head = predictions * hidden * (hidden + config.vocab_size)
  return 2.0 * (layers + hidden * hidden + head)


def training_flops(config: BertConfig, sequence_length: int, predictions: int) -> float:
  """The same for a training step: the backward pass costs twice the forward pass."""
  return 3.0 * forward_flops(config, sequence_length, predictions)


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

"""Floating-point operations of a model: for estimates, plans and benchmarks."""

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

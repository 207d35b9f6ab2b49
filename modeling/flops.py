"""How much arithmetic a model is: for estimates, plans, benchmarks and the utilisation of devices.

Counted are the matrix products of encoder and head as they are computed, padding included where the length is that with
padding; a multiply-add counts as two operations. Left out are what is element by element, the last matrix of
fine-tuning's heads (one row a class), and what `--recompute` computes twice.
"""

import numpy as np

from modeling.config import BertConfig


def training_flops(config: BertConfig, sequence_length: int | np.ndarray, predictions: int, *, frozen_layers: int = 0,
                   frozen_embeddings: bool = False, has_lora: bool = False) -> float | np.ndarray:
  """Floating-point operations of a training step for one row.

  The backward pass costs twice the forward pass, as each product has two gradients.

  Args:
    sequence_length: S, tokens with padding; or the lengths of several rows.
    predictions: P, positions that are projected to the vocabulary; 0 without the masked-LM head.
    frozen_layers: of the lowest layers, how many are not trained: their kernels have no gradients.
    frozen_embeddings: then no gradient goes through these layers at all.
    has_lora: no kernel of the encoder and no embedding has a gradient; the small matrices are left out.
  """
  kernels, attention, head = _products(config, sequence_length, predictions)
  frozen = min(frozen_layers, config.num_hidden_layers)
  passes_below = (1, 1) if frozen_embeddings or has_lora else (2, 3)
  passes_above = (2, 3) if has_lora else (3, 3)
  return sum(layers * (of_kernels * kernels + of_attention * attention)
             for layers, (of_kernels, of_attention) in (
                 (frozen, passes_below), (config.num_hidden_layers - frozen, passes_above))) + 3 * head


def _products(config: BertConfig, length: int | np.ndarray, predictions: int) -> tuple:
  """Operations forwards: with the kernels of a layer, of its attention, and after the last layer."""
  hidden, units = config.hidden_size, config.bilstm_units
  kernels = length * (4 * hidden * hidden + 2 * hidden * config.intermediate_size)
  attention = length * (2 * length * hidden)
  lstm = length * (2 * 4 * units * (hidden + units))
  return 2.0 * kernels, 2.0 * attention, 2.0 * (
      hidden * hidden + predictions * hidden * (hidden + config.vocab_size) + lstm)

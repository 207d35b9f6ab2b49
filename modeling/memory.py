"""The least memory that a model needs, and whether this machine has it, checked before anything is built.

What is refused by is a lower bound, so nothing that fits is. It is for sizes that can't be meant, such as a batch
of 10^10 examples, where the process would otherwise be killed without a word. `step_bytes` estimates what a step takes
on a GPU.
"""

import dataclasses
import math
import os

from bert_common.errors import UserError
from modeling.checkpoints.weight_shapes import encoder_shapes
from modeling.checkpoints.weights import BILSTM
from modeling.config import BertConfig

BYTES_PER_FLOAT = 4
# What a step of pre-training keeps, compiled by XLA, in half precision, with dropout: bytes for each token and layer by
# hidden and by intermediate unit, for each attention score (probabilities, dropout mask, dropped ones), for each logit
# (float32, with its gradient), for each parameter (with gradient and moments). Chosen to give what was measured on an
# H100: 20.1 GiB for BERT-Base, 256 rows of 128 tokens; 28.7 GiB, 64 of 512; 28.0 GiB for BERT-Large, 128 of 128.
_PER_HIDDEN, _PER_INTERMEDIATE, _PER_SCORE, _PER_LOGIT, _PER_PARAMETER = 35, 4, 5, 8, 16
# The same for scores in float32.
_PER_SCORE_IN_FLOAT32 = 9
# What the fused kernel keeps for each head of a token in the place of its scores.
_PER_LOG_SUM = 4
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
# Where the kernel shows how much of the machine's memory this process may use, in a container.
_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
  """Bytes that a process may use: the machine's memory, or the container's limit where that is less."""
  amounts = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
  for path in _LIMIT_FILES:
    try:
      with open(path, encoding="ascii") as file:
        amounts.append(int(file.read()))
    except (OSError, ValueError):
      # No container, or one without a limit ("max").
      continue
  return min(amounts)


def encoder_parameters(config: BertConfig) -> int:
  """Parameters of the encoder and the BiLSTM, if any, whatever the number of layers without listing them all."""
  one, two = (sum(map(math.prod, encoder_shapes(dataclasses.replace(config, num_hidden_layers=layers)).values()))
              for layers in (1, 2))
  bilstm = sum(math.prod(weight.sizes(config)) for weight in BILSTM) if config.bilstm_units else 0
  return one + (config.num_hidden_layers - 1) * (two - one) + bilstm


def training_bytes(config: BertConfig, tokens: float, frozen_layers: int = 0, frozen_embeddings: bool = False,
                   half_precision: bool = False) -> float:
  """The least memory of a training step: weights, gradients and Adam's moments, and what it keeps of a micro-batch (the
  output of every layer that gradients go through, and the inside of one).

  Args:
    config: of the model.
    tokens: of the micro-batch, with padding.
    frozen_layers: of the lowest layers, how many are not trained.
    frozen_embeddings: nor are the embeddings.
    half_precision: of the matrix products.
  """
  trained = max(config.num_hidden_layers - frozen_layers, 0)
  kept = tokens * (trained * config.hidden_size + config.intermediate_size) * (2 if half_precision else 4)
  copies = 1 if frozen_layers or frozen_embeddings else 4
  return encoder_parameters(config) * BYTES_PER_FLOAT * copies + kept


def step_bytes(config: BertConfig, rows: float, length: int, predictions: int = 0, half_precision: bool = True,
               recompute: bool = False, fused_attention: bool = False) -> float:
  """About what a training step of the whole model takes on a GPU.

  Args:
    config: of the model.
    rows: of the micro-batch on one device.
    length: tokens of a row, with padding.
    predictions: positions of a row that are projected to the vocabulary.
    half_precision: of the matrix products.
    recompute: only the outputs of the layers are kept, and the inside of one.
    fused_attention: no scores are kept.
  """
  wide = 1 if half_precision else 2
  hidden, layers = config.hidden_size, config.num_hidden_layers
  scores = config.num_attention_heads * (
      _PER_LOG_SUM if fused_attention else length * (_PER_SCORE if half_precision else _PER_SCORE_IN_FLOAT32))
  inside = wide * (_PER_HIDDEN * hidden + _PER_INTERMEDIATE * config.intermediate_size) + scores
  kept = layers * 2 * wide * hidden + inside if recompute else layers * inside
  return (encoder_parameters(config) * _PER_PARAMETER + rows * length * kept
          + rows * predictions * config.vocab_size * _PER_LOGIT)


def fitting_rows(available: float, config: BertConfig, length: int, predictions: int = 0, half_precision: bool = True,
                 recompute: bool = False, fused_attention: bool = False) -> int:
  """Rows whose step takes about `available` bytes, 0 for none; the other arguments are those of `step_bytes`."""
  none, one = (step_bytes(config, rows, length, predictions, half_precision, recompute, fused_attention)
               for rows in (0, 1))
  return max(0, int((available - none) // (one - none)))


def batch_bytes(tokens: float) -> float:
  """Bytes of a batch itself: ids, mask and segments, int32."""
  return tokens * 3 * 4


def check_memory(needed: float, what: str, fix: str) -> None:
  """Refuses what does not fit into this machine's memory.

  Args:
    needed: bytes.
    what: what needs them.
    fix: what to do about it.

  Raises:
    UserError: with the estimate and the machine's memory.
  """
  there = machine_memory()
  if needed > there:
    raise UserError(f"{what} needs at least {shown(needed)} of memory, this machine has {shown(there)}: {fix}")


def check_model(config: BertConfig) -> None:
  """Raises `UserError` for a model whose weights alone do not fit into this machine's memory."""
  sizes = ", ".join(f"{name} {getattr(config, name)}" for name in (
      "vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings",
      "type_vocab_size"))
  check_memory(encoder_parameters(config) * BYTES_PER_FLOAT, f"a model with {sizes}", "take a smaller one")


def shown(amount: float) -> str:
  """Bytes with three digits, e.g. "1.23 TB"."""
  unit = 0
  while amount >= 1000 and unit < len(_UNITS) - 1:
    amount, unit = amount / 1000, unit + 1
  return f"{amount:.3g} {_UNITS[unit]}" if amount < 1e6 else f"{amount:.1e} {_UNITS[unit]}"

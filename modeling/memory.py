"""The least memory that a model needs, and whether this machine has it, checked before anything is built.

What is refused by is a lower bound, so nothing that fits is. It is for sizes that can't be meant, such as a batch
of 10^10 examples, where the process would otherwise be killed without a word.
"""

import dataclasses
import math
import os

from bert_common.errors import UserError
from modeling.checkpoints.weight_shapes import encoder_shapes
from modeling.checkpoints.weights import BILSTM
from modeling.config import BertConfig

BYTES_PER_FLOAT = 4
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

"""What a checkpoint holds, whatever its format."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from modeling.config import BertConfig


@dataclasses.dataclass(frozen=True)
class Checkpoint:
  """Weights that can be read by the names of the original (see `names`).

  Every reader of a format makes one. Optimizer slots, counters and the like are not in it.

  Attributes:
    description: format and place, for messages.
    tensors: name → shape of each weight.
    read: name → float array of that shape. Raises `UserError` where the file is damaged.
    config: the configuration found with the weights, or None.
    vocab_file: path of the vocabulary found with the weights, or None.
    directory: where the weights are.
    do_lower_case: whether the vocabulary is of lower-cased text, or None where nothing tells.
  """

  description: str
  tensors: Mapping[str, tuple[int, ...]]
  read: Callable[[str], np.ndarray]
  config: BertConfig | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  directory: str | None = None

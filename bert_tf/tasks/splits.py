"""What runs on labelled files read: a file's examples as they are in it, and as the model sees them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_tf.training.examples import Examples


@dataclasses.dataclass(frozen=True)
class Split:
  """A file and what is made of it; tasks add to it.

  Attributes:
    source: what a reader in `data_gen/labelled/` gives, with its `path`.
  """

  source: Any
  examples: Examples

  def __len__(self) -> int:
    return len(self.source)


@dataclasses.dataclass(frozen=True)
class TaskData:
  """What a run reads; tasks add to it.

  Attributes:
    train: None where nothing is trained.
    dev: name → what is evaluated on; the first chooses the best weights.
    test: name → what is predicted.
    description: `task.json`.
    notes: what the user should know about the data.
  """

  train: Any
  dev: Mapping[str, Any]
  test: Mapping[str, Any]
  description: dict
  notes: list[str]

"""What runs on labelled files read: a file's examples as they are in it, and as the model sees them."""

import dataclasses
from collections.abc import Callable, Mapping
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

  @property
  def is_labelled(self) -> bool:
    """Whether the right answers are known."""
    return self.source.labels is not None


@dataclasses.dataclass(frozen=True)
class TaskData:
  """What a run reads; tasks add to it.

  Attributes:
    train: None where nothing is trained.
    dev: name → what is evaluated on; the first chooses the best weights.
    test: name → what is predicted.
    description: `task.json`.
    notes: what the user should know about the data.
    sources: name → () → what a result is made from besides options, checkpoint and files, e.g. the digest of a teacher.
  """

  train: Any
  dev: Mapping[str, Any]
  test: Mapping[str, Any]
  description: dict
  notes: list[str]
  sources: dict[str, Callable[[], object]] = dataclasses.field(default_factory=dict, kw_only=True)

  def files(self) -> dict[str, str]:
    """Split → path, of what is trained and evaluated on."""
    splits = {"train": self.train, **self.dev}
    return {name: split.source.path for name, split in splits.items() if split is not None}

  def first(self, answers: Mapping[str, Any]) -> tuple[Any, Any]:
    """The development set that chooses the best weights, and the answers about it."""
    name, split = next(iter(self.dev.items()))
    return split, answers[name]

"""What runs on labelled files read: a file's examples as they are in it, and as the model sees them."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_common import files
from bert_common.errors import UserError
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


def find_file(options: Any, split: str, names: Sequence[str], is_needed: bool) -> str | None:
  """The path of "train", "dev" or "test": --<split>_file, or the first of `names` that is in --data_dir.

  Returns:
    None where it is neither there nor needed.

  Raises:
    UserError: it is needed and not there, or can't be read.
  """
  flag, path = f"{split}_file", getattr(options, f"{split}_file")
  if path is None and options.data_dir and names:
    path = next(filter(files.exists, (os.path.join(options.data_dir, name) for name in names)), None)
    if path is None and is_needed:
      raise UserError(f"--data_dir: {options.data_dir} has no {' or '.join(names)}: give the directory that has, or "
                      f"--{flag}")
  if path is None and is_needed:
    raise UserError(f"{options.asked_by(split)} needs --{flag}{' or --data_dir' if names else ''}")
  return None if path is None else files.check_readable(path, flag)

"""The names of a head's classes in a model's configuration, where Hugging Face keeps them: `id2label`, `label2id`."""

import dataclasses
from collections.abc import Sequence

from modeling.config import BertConfig

_KEYS = ("id2label", "label2id", "problem_type")


def with_label_names(config: BertConfig, names: Sequence[str], problem_type: str | None = None) -> BertConfig:
  """The configuration with these names in place of any others.

  Args:
    problem_type: what Hugging Face calls the kind of a problem that is not one class of several; None for that.
  """
  extra = {key: value for key, value in config.extra.items() if key not in _KEYS}
  if problem_type is not None:
    extra["problem_type"] = problem_type
  extra["id2label"] = {str(number): name for number, name in enumerate(names)}
  extra["label2id"] = {name: number for number, name in enumerate(names)}
  return dataclasses.replace(config, extra=extra)


def label_names(config: BertConfig) -> list[str]:
  """The names by number; empty where there are none, or none that are numbered."""
  names = config.extra.get("id2label")
  if not isinstance(names, dict) or not all(str(key).isdecimal() for key in names):
    return []
  return [str(names[key]) for key in sorted(names, key=int)]

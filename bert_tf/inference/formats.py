"""The interface of a format of exports, and what formats share.

Input: a task with its model (`bert_tf/tasks/inference.py`). Output: a directory, and the requests with which
`bert_tf/inference/export.py` checks whether what was written gives what the model gives. `FORMATS` in `options.py` is
the table of formats.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from bert_common.errors import UserError
from bert_tf.inference.options import ExportOptions
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.load import Checkpoint

# Texts that an export and the model are compared on.
CHECKED = 8
Arrays: TypeAlias = Mapping[str, np.ndarray]
# Name → "dtype [shape]", of inputs and of outputs.
Signature: TypeAlias = tuple[dict[str, str], dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Request:
  """A request to an export, with the model's outputs for it.

  Attributes:
    signature: the entry of the export, a key of `LoadedExport.signatures`.
    inputs: strings are arrays of bytes objects.
    expected: outputs that are compared; an export may have others.
  """

  signature: str
  inputs: Arrays
  expected: Arrays


class LoadedExport(Protocol):
  """An export as its runtime sees it, e.g. `tf.saved_model.load`.

  Attributes:
    signatures: name → inputs and outputs.
  """

  signatures: dict[str, Signature]

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    """The outputs of one request; strings are bytes objects."""


class ExportFormat(abc.ABC):
  """A way of writing a model.

  Attributes:
    takes_strings: whether the tokenizer is in the export.
    load: a directory that `write` has filled → the export as its runtime sees it.
  """

  takes_strings = True
  load: Callable[[str], LoadedExport]

  def __init__(self, options: ExportOptions):
    self.options = options

  def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:  # noqa: B027  (not every format)
    """Settles what the format changes in the task of that name, before its tokenizer is made.

    Raises:
      UserError: the task has no such export.
    """

  @abc.abstractmethod
  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    """Requests to check the export with, of texts that the tokenizer in the graph and the exact one see alike."""

  @abc.abstractmethod
  def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
    """Fills an empty directory."""

  def measure(self, export: LoadedExport) -> Any:
    """The loss of score of a quantized export, with a method `describe`; None where it is not measured."""
    return None


def checked_inputs(task: TaskInference, texts: list[str]) -> tuple[dict[str, list], list]:
  """At most `CHECKED` inputs that the task takes, as strings for `serve_texts` and as `task.check` returns them.

  The first text of each input is followed by those that come after it.
  """
  rows, inputs = [], []
  for number in range(len(texts)):
    row = task.sample_input(texts[number:] + texts[:number])
    try:
      inputs.append(task.check(row))
    except UserError:
      # E.g. a text without a mask for a task that fills masks.
      continue
    rows.append(row)
    if len(rows) == CHECKED:
      break
  return dict(zip(task.text_inputs, map(list, zip(*rows, strict=True)), strict=True)), inputs


def as_arrays(outputs: Mapping) -> Arrays:
  """Tensors as NumPy has them."""
  return {name: value.numpy() for name, value in outputs.items()}


def describe_tensor(dtype: str, shape: Any) -> str:
  """As it stands in a `Signature`; None or a name for a size that may vary."""
  return f"{dtype} [{', '.join('?' if size is None else str(size) for size in shape)}]"

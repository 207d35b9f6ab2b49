"""What an export is written as: the interface of a format.

Input: a task with its model (`bert_tf/tasks/inference.py`). Output: a directory, and the requests with which
`bert_tf/inference/export.py` finds out whether what was written gives what the model gives.
"""

import abc
import dataclasses
import importlib
import math

from bert_tf.inference.exports import FORMATS
from bert_tf.inference.exports.loaders import Arrays
from bert_tf.inference.options import ExportOptions
from bert_tf.tasks.inference import TaskInference


@dataclasses.dataclass(frozen=True)
class Request:
  """What an export is asked for, and what the model says.

  Attributes:
    signature: the entry of the export, a key of `LoadedExport.signatures`.
    inputs: strings are arrays of bytes objects.
    expected: outputs that are compared; an export may have others.
  """

  signature: str
  inputs: Arrays
  expected: Arrays


class ExportFormat(abc.ABC):
  """A way of writing a model.

  Attributes:
    takes_strings: whether the tokenizer is in the export.
    served_signatures: those of its requests that TensorFlow Serving is to be warmed up with.
  """

  takes_strings = True
  served_signatures: tuple[str, ...] = ()

  def __init__(self, options: ExportOptions):
    self.options = options

  @property
  def tolerance(self) -> float:
    """The largest difference of a number from the model that is rounding; more is a mistake of ours."""
    return 1e-3 if self.options.quantize == "none" else math.inf

  def prepare(self, name: str, task: TaskInference) -> None:  # noqa: B027  (most formats take tasks as they are)
    """Settles what the format changes in the task of that name, before its tokenizer is made.

    Raises:
      UserError: the task has no such export.
    """

  @abc.abstractmethod
  def write(self, task: TaskInference, directory: str) -> None:
    """Fills an empty directory.

    Raises:
      UserError: the task has no such export.
    """

  @abc.abstractmethod
  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    """What the export is to be asked, of texts that the tokenizer in the graph and the exact one see alike."""


def format_class(name: str) -> type[ExportFormat]:
  """The class of a format of the table."""
  return importlib.import_module(FORMATS[name]).Format

"""Runs that have learnt nothing: the same prediction for every example, whatever the task.

Fine-tuning with a high learning rate or on little data may collapse (section 4.1 of the paper restarts such runs), and
the scores do not show it: all pairs of MRPC called equivalent have an F1 of 0.81.

Input: what a task predicted, `Task.predictions`. Output: a line for the user and for `eval_results.json`.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
  from bert_tf.tasks.task import Task

_WHAT_TO_DO = ("the run has learnt nothing that tells them apart, whatever its scores: take another --seed, a lower "
               "--learning_rate or more data; several values of these flags are tried one after the other")


class Predicted(NamedTuple):
  """The predictions of a set.

  Attributes:
    values: a prediction for each example, as messages name it, e.g. "yes" or "no answer".
    labels: the right ones, in any form; None where they are not known.
    what: the examples, e.g. "questions".
  """

  values: Sequence[Hashable]
  labels: Sequence[Hashable] | None = None
  what: str = "examples"

  @property
  def is_constant(self) -> bool:
    """Whether several examples, which differ in their labels, all got the same prediction."""
    # What is not a number is unlike itself.
    values = {"nan" if value != value else value for value in self.values}
    return len(self.values) > 1 and len(values) == 1 and (self.labels is None or len(set(self.labels)) > 1)


def constant_sets(predictions: Mapping[str, Predicted]) -> list[str]:
  """A phrase for each set whose predictions are all the same, e.g. "all 408 examples of dev are predicted as 'yes'"."""
  return [f"all {len(predicted.values):,} {predicted.what} of {name} are predicted as {predicted.values[0]!r}"
          for name, predicted in predictions.items() if predicted.is_constant]


def describe_degenerate(task: "Task") -> str | None:
  """What is wrong with a run whose last evaluation was degenerate, in one line; None with all others."""
  if not task.is_degenerate():
    return None
  found = constant_sets(task.predictions()) or ["every example is predicted as the same"]
  return f"DEGENERATE: {'; '.join(found)}: {_WHAT_TO_DO}"

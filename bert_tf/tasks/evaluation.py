"""What an evaluation found, as a value: tasks return it, runs keep it and compare by it, files are written from it.

A run may have learnt nothing: the same prediction for every example, whatever the task. Fine-tuning with a high
learning rate or on little data may collapse (section 4.1 of the paper restarts such runs), and the scores do not show
it: all pairs of MRPC called equivalent have an F1 of 0.81.
"""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

_WHAT_TO_DO = ("the run has learnt nothing that distinguishes them, whatever its scores: train longer, start from a "
               "pre-trained checkpoint, or take another --seed, a lower --learning_rate or more data; several values "
               "of these flags are tried one after the other")


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


@dataclasses.dataclass(frozen=True)
class Evaluation:
  """What an evaluation found.

  Attributes:
    step: updates that the weights have seen.
    metrics: by name; empty where no right answers are known.
    predictions: by the names of the sets; empty for pre-training.
    details: what the task writes and shows of it, in a form of its own.
    description: what `task.json` says of these weights beside the rest, e.g. a threshold tuned with them.
    warning: why the run has learnt nothing, where that does not follow from its predictions.
  """

  step: int
  metrics: Mapping[str, float]
  predictions: Mapping[str, Predicted] = dataclasses.field(default_factory=dict)
  details: object = None
  description: Mapping[str, object] = dataclasses.field(default_factory=dict)
  warning: str | None = None

  @property
  def degenerate(self) -> str | None:
    """A line on why the run has learnt nothing, e.g. the sets whose predictions are all the same; None where it has."""
    if self.warning is not None:
      return f"DEGENERATE: {self.warning}"
    found = [f"all {len(predicted.values):,} {predicted.what} of {name} are predicted as {predicted.values[0]!r}"
             for name, predicted in self.predictions.items() if predicted.is_constant]
    return f"DEGENERATE: {'; '.join(found)}: {_WHAT_TO_DO}" if found else None


@dataclasses.dataclass(frozen=True)
class RunOutcome:
  """What a run comes to.

  Attributes:
    evaluation: of its final weights, which are the best ones where some were chosen; None where there was none.
    test_metrics: of its predictions; None where nothing was predicted, or no right answers are known.
  """

  evaluation: Evaluation | None
  test_metrics: Mapping[str, float] | None = None

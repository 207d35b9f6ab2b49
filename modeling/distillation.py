"""Distillation: the loss of a student that learns from the soft labels of a teacher (arXiv 1503.02531, 1908.08962).

Input: the loss of a head (`modeling/losses.py`), logits of the student, soft labels. Output: the loss of both.
"""

import dataclasses
from collections.abc import Callable, Sequence

from modeling.losses import HeadLoss

# Names in the features: the teacher's, and whether an example has a label of its own, 1 where it is not given.
SOFT_LABELS, IS_LABELLED = "soft_labels", "is_labelled"


@dataclasses.dataclass(frozen=True)
class DistillationLoss(HeadLoss):
  """weight × loss against the teacher + (1 - weight) × loss of the labels, for each row; see `distillation_loss`.

  A row without a label ("is_labelled" 0) has the first part alone, with a weight of 1. Features have the teacher's
  "soft_labels" besides what the other loss reads. The metrics are those of the other loss.

  Attributes:
    hard: the loss of the labels; it says what soft labels are, and how far the student is from them.
    weight: of the teacher's part, from 0 to 1.
    temperature: divides the logits of both before the softmax. The gradients shrink with its square, by which the
      teacher's part is multiplied.
  """

  hard: HeadLoss = HeadLoss("")
  weight: float = 1.0
  temperature: float = 1.0

  def measure(self, logits, labels) -> tuple:
    labels, soft_labels, is_labelled = labels
    hard_losses, measured = self.hard.measure(logits, labels)
    soft_losses = self.hard.soft_losses(logits, soft_labels, self.temperature)
    share = (1.0 - self.weight) * is_labelled
    return (1.0 - share) * soft_losses + share * hard_losses, measured

  def means(self, sums, examples: float) -> dict[str, float]:
    return self.hard.means(sums, examples)


def distillation_loss(hard: HeadLoss, weight: float, temperature: float,
                      soft_labels: Callable[[dict], object] = lambda features: features[SOFT_LABELS]
                      ) -> DistillationLoss:
  """The loss of a head whose student has a teacher; its sums have the names of those of `hard`.

  Args:
    soft_labels: features → the teacher's, where they are not among them.
  """
  return DistillationLoss(
      hard.name, labels=lambda features: (hard.labels(features), soft_labels(features), features.get(IS_LABELLED, 1.0)),
      weights=hard.weights, loss_weights=hard.loss_weights, parts=hard.parts, hard=hard, weight=weight,
      temperature=temperature)


def mean_soft_labels(hard: HeadLoss, logits: Sequence, temperature: float):
  """The mean of the soft labels of several teachers: of probabilities, not of logits.

  A teacher that is sure has no more of a say than one that is not; both ways are in section 2 of arXiv 1503.02531.
  """
  return sum(hard.soft_labels(one, temperature) for one in logits) / len(logits)

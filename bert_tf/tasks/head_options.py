"""Options of heads, which a task's options inherit from where they make sense: dropout, weights of classes, teachers.

No TensorFlow here: `--help` and wrong flags answer at once.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bert_common.errors import UserError
from bert_common.options import Options, option
from modeling.checkpoints.named_weights import check_checkpoint_there
from modeling.config import HEAD_DROPOUT, LARGEST_DROPOUT

if TYPE_CHECKING:
  from modeling.losses import HeadLoss

_BALANCED = "balanced"
# The labels' part counts considerably less, as section 2 of arXiv 1503.02531 found best.
DISTILLATION_WEIGHT = 0.9


@dataclasses.dataclass(frozen=True, kw_only=True)
class HeadDropoutOptions(Options):
  """Head.

  For tasks whose head drops units, which that of question answering does not.
  """

  classifier_dropout: float = option(HEAD_DROPOUT, "Dropout of what the head reads.", minimum=0,
                                     maximum=LARGEST_DROPOUT, sweep=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DistillationOptions(Options):
  """Distillation.

  For tasks that can learn from a trained model's outputs.
  """

  teacher_checkpoint: tuple[str, ...] = option(
      (), "Trained models whose outputs are learnt, as --init_checkpoint; of several the mean.", path=True,
      affects_result=False)
  distillation_temperature: float | None = option(
      None, "Divides the logits of teacher and student before the softmax.", above=0, sweep=True, default_text="1")
  distillation_weight: float | None = option(
      None, "Of the loss against the teacher; that of the labels has the rest. Where there are no labels it is 1.",
      minimum=0, maximum=1, sweep=True, default_text="0.9")

  def distilled(self, loss: "HeadLoss", *soft_labels: Callable) -> "HeadLoss":
    """The loss of a head in training: with the teacher's part, where there is one; see `distillation_loss`."""
    if not self.teacher_checkpoint:
      return loss
    from modeling.losses import distillation_loss
    weight = DISTILLATION_WEIGHT if self.distillation_weight is None else self.distillation_weight
    return distillation_loss(loss, weight, self.temperature, *soft_labels)

  @property
  def temperature(self) -> float:
    """That of the distillation."""
    return 1.0 if self.distillation_temperature is None else self.distillation_temperature

  def check(self) -> None:
    super().check()
    for name in ("distillation_temperature", "distillation_weight", "transfer_file"):
      if not self.teacher_checkpoint and (getattr(self, name, None) is not None or name in self.sweep):
        raise UserError(f"--{name} is given without --teacher_checkpoint, the model whose outputs are learnt")

  def check_inputs(self) -> None:
    super().check_inputs()
    for path in self.teacher_checkpoint:
      check_checkpoint_there(path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClassWeightOptions(Options):
  """Classes.

  For tasks that choose among some.
  """

  class_weights: str | None = option(
      None, "How much examples count in the loss, by their class: numbers in the order of the classes, or balanced for "
      "all classes to count the same.", default_text="1 for each")

  def check(self) -> None:
    super().check()
    if self.class_weights not in (None, _BALANCED):
      weights = self._listed_weights()
      if not weights or not all(0 <= weight < math.inf for weight in weights) or not any(weights):
        raise UserError(f"--class_weights={self.class_weights}: balanced or a list of numbers is expected, none "
                        "negative and not all 0")

  def weights_of_classes(self, labels: Sequence[str], counts: Sequence[int]) -> list[float] | None:
    """The weight of each class; None where all count the same.

    Args:
      counts: C numbers of training examples. Balanced is the number of all, divided by that of the class and by the
        number of classes that there are examples of; 1 for a class without any.
    """
    num_classes = sum(count > 0 for count in counts)
    return self._weights(labels, [sum(counts) / (num_classes * count) if count else 1.0 for count in counts])

  def weights_of_positives(self, labels: Sequence[str], counts: Sequence[int], num_examples: int
                           ) -> list[float] | None:
    """Where several classes may apply to an example: how much it counts that a class does, against 1 that it does not.

    Args:
      num_examples: of the training set. Balanced is the number of examples without the class, divided by that with it.
    """
    return self._weights(labels, [(num_examples - count) / count if 0 < count < num_examples else 1.0
                                  for count in counts])

  def _weights(self, labels: Sequence[str], balanced: list[float]) -> list[float] | None:
    if self.class_weights is None:
      return None
    if self.class_weights == _BALANCED:
      return balanced
    weights = self._listed_weights()
    if len(weights) != len(labels):
      raise UserError(f"--class_weights={self.class_weights}: {len(labels)} numbers are expected, for "
                      f"{', '.join(labels)}")
    return weights

  def _listed_weights(self) -> list[float]:
    """Empty where they are no numbers."""
    try:
      return [float(weight) for weight in self.class_weights.split(",")]
    except ValueError:
      return []

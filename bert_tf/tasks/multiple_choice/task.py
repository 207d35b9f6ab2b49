"""Which of several choices is right: SWAG (section 4.4 of the paper), HellaSwag, CODAH and custom files.

Input: questions with choices (`bert_tf/tasks/multiple_choice/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/multiple_choice/results.py`).
"""

import numpy as np
import tensorflow as tf

from bert_tf.evaluation.classification import softmax
from bert_tf.tasks import run as driver
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.multiple_choice import results
from bert_tf.tasks.multiple_choice.data import check_head, read_data
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.splits import Split
from bert_tf.tasks.task import RunningModel
from bert_tf.training.devices import Devices
from bert_tf.training.step import Objective
from data_gen.labelled.multiple_choice import ChoiceQuestions
from modeling.multiple_choice import CHOICE, BertForMultipleChoice


def run(options: MultipleChoiceOptions) -> int:
  """What `run_swag.py` does; see `bert_tf/tasks/run.py`."""
  return driver.run(MultipleChoiceTask, options)


class MultipleChoiceTask(FineTuningTask):
  """Questions and their choices."""

  options: MultipleChoiceOptions

  def __init__(self, options: MultipleChoiceOptions):
    super().__init__(options, read_data)
    self.start.head_mismatch = check_head(self.checkpoint)
    self.main_metric = "accuracy" if self.data.dev else None
    self._skips_missing = True

  def make_model(self, dtype: str) -> BertForMultipleChoice:
    return BertForMultipleChoice(self.config, seed=self.options.seed, dtype=dtype,
                                 head_dropout=self.options.classifier_dropout)

  def objective(self, model: BertForMultipleChoice) -> Objective:
    return Objective.of(model, skip_missing=self._skips_missing)

  def check_devices(self, devices: Devices) -> None:
    super().check_devices(devices)
    self._skips_missing = not devices.jit_compile

  def outputs(self, model: BertForMultipleChoice, features: dict) -> dict:
    """float32 "scores" [B], of choices one by one."""
    return {"scores": model.scores(features)}

  def answer(self, run: RunningModel, split: Split) -> np.ndarray:
    """float32 [E, K], logits."""
    return split.examples.by_question(run.predict(split.examples.choices)["scores"])

  def score(self, split: Split, answers: np.ndarray) -> dict[str, float]:
    scores = CHOICE.score(answers, split.source.labels)
    return {name: scores[name] for name in ("accuracy", "loss")}

  def predicted(self, split: Split, answers: np.ndarray) -> Predicted:
    return Predicted(results.describe_choices(answers), split.source.labels.tolist(), "questions")

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    if self.options.hardest_questions:
      tf.summary.text("eval/hardest_questions", results.hardest_table(*self._hardest(evaluation)))

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    super().write_evaluation(run, evaluation)
    if self.options.hardest_questions:
      path = results.write_hardest(self.options.output_dir, *self._hardest(evaluation))
      run.log(f"the questions that it finds hardest: {path}")

  def _hardest(self, evaluation: Evaluation) -> tuple[ChoiceQuestions, np.ndarray, int]:
    """The development set, its probabilities, and how many of its hardest questions are to be shown."""
    split, logits = self.data.first(evaluation.details)
    return split.source, softmax(logits), self.options.hardest_questions

  def write_predictions(self, name: str, split: Split, answers: np.ndarray) -> list[str]:
    return results.write_predictions(self.options.output_dir, split.source, softmax(answers))

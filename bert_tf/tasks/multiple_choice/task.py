"""Which of several choices is right: SWAG (section 4.4 of the paper), HellaSwag, CODAH and anybody's own questions.

Input: questions with choices (`bert_tf/tasks/multiple_choice/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/multiple_choice/results.py`).
"""

import gc

import keras
import numpy as np
import tensorflow as tf

from bert_tf.evaluation.classification import softmax
from bert_tf.tasks import run as driver
from bert_tf.tasks.eval_results import write_eval_results
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.multiple_choice import results
from bert_tf.tasks.multiple_choice.data import MultipleChoiceData, Split, check_head, read_data
from bert_tf.tasks.multiple_choice.folds import run_folds
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.task import DevelopmentSetsTask, RunningModel
from bert_tf.training.devices import Devices
from bert_tf.training.step import Objective
from data_gen.labelled.multiple_choice import ChoiceQuestions
from modeling.multiple_choice import CHOICE, BertForMultipleChoice


def run(options: MultipleChoiceOptions) -> int:
  """What `run_swag.py` does; see `bert_tf/tasks/run.py`."""
  options.check()
  if options.all_folds:
    return run_folds(run_fold, options)
  return driver.run(MultipleChoiceTask, options)


def run_fold(options: MultipleChoiceOptions) -> dict[str, float]:
  """"dev_accuracy" and "test_accuracy" of a run, as far as it evaluates and predicts; nothing where it was interrupted.
  """
  outcome = driver.start(MultipleChoiceTask, options)
  keras.backend.clear_session()
  gc.collect()
  if outcome is None:
    return {}
  scores = {"dev": outcome.evaluation and outcome.evaluation.metrics, "test": outcome.test_metrics}
  return {f"{name}_accuracy": metrics["accuracy"] for name, metrics in scores.items() if metrics}


def make_objective(model: BertForMultipleChoice, skip_missing: bool = True) -> Objective:
  """Multiple choice as the training step sees it; `skip_missing` as in `BertForMultipleChoice.call`."""
  return Objective.of(model, skip_missing=skip_missing)


class MultipleChoiceTask(DevelopmentSetsTask):
  """Questions and their choices.

  Raises:
    UserError: see `bert_tf/tasks/multiple_choice/data.py`.
  """

  options: MultipleChoiceOptions
  data: MultipleChoiceData

  def __init__(self, options: MultipleChoiceOptions):
    super().__init__(options)
    self.read(read_data)
    self.head_mismatch = check_head(self.checkpoint)
    self.main_metric = "accuracy" if self.data.dev else None
    self._skips_missing = True

  def data_files(self) -> dict[str, str]:
    splits = {"train": self.data.train, **self.data.dev}
    return {name: split.questions.path for name, split in splits.items() if split is not None}

  def make_model(self, dtype: str) -> BertForMultipleChoice:
    return BertForMultipleChoice(self.config, seed=self.options.seed, dtype=dtype,
                                 head_dropout=self.options.classifier_dropout)

  def objective(self, model: BertForMultipleChoice) -> Objective:
    return make_objective(model, self._skips_missing)

  def describe_examples(self) -> str:
    examples, counts = self.train_examples, self.train_examples.num_choices
    number = f"{counts.min()} to {counts.max()}" if examples.is_ragged else str(counts.max())
    lengths = examples.row_lengths
    return (f"{len(examples):,} questions with {number} choices, sequences of {lengths.mean():.1f} tokens, the longest "
            f"{lengths.max()}")

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
    scores = CHOICE.score(answers, split.questions.labels)
    return {name: scores[name] for name in ("accuracy", "loss")}

  def predicted(self, split: Split, answers: np.ndarray) -> Predicted:
    return Predicted([f"choice {choice}" for choice in answers.argmax(axis=-1)], split.questions.labels.tolist(),
                     "questions")

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    if self.options.hardest_questions:
      tf.summary.text("eval/hardest_questions", results.hardest_table(*self._hardest(evaluation)))

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    directory = self.options.output_dir
    run.log(write_eval_results(directory, evaluation, sum(map(len, self.data.dev.values())), "eval_"))
    if self.options.hardest_questions:
      run.log(f"the questions that it finds hardest: {results.write_hardest(directory, *self._hardest(evaluation))}")

  def _hardest(self, evaluation: Evaluation) -> tuple[ChoiceQuestions, np.ndarray, int]:
    """The development set, its probabilities, and how many of its hardest questions are to be shown."""
    split, logits = self.first_set(evaluation)
    return split.questions, softmax(logits), self.options.hardest_questions

  def predict(self, run: RunningModel) -> dict[str, float] | None:
    test = self.data.test
    logits = self.answer(run, test)
    if not run.devices.is_chief:
      return None
    paths = results.write_predictions(self.options.output_dir, test.questions, softmax(logits))
    run.log(f"predicted {len(test)} questions of {test.questions.path}: {', '.join(paths)}")
    if test.questions.labels is None:
      return None
    scores = self.score(test, logits)
    run.log(f"accuracy by the labels of {test.questions.path}: {scores['accuracy']:.4f}")
    return scores

"""Which of several choices is right: SWAG (section 4.4 of the paper), HellaSwag, CODAH and anybody's own questions.

Input: questions with choices (`bert_tf/tasks/multiple_choice/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/multiple_choice/results.py`).
"""

import gc
import math
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

from bert_tf.evaluation.classification import softmax
from bert_tf.tasks import run as driver
from bert_tf.tasks.degenerate import Predicted
from bert_tf.tasks.eval_results import describe_evaluation
from bert_tf.tasks.multiple_choice import results
from bert_tf.tasks.multiple_choice.data import MultipleChoiceData, Split, check_head, read_data
from bert_tf.tasks.multiple_choice.folds import run_folds
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.run import Run
from bert_tf.tasks.task import FineTuningTask
from bert_tf.training.devices import Devices
from bert_tf.training.step import Objective
from data_gen.labelled.multiple_choice import ChoiceQuestions
from modeling.losses import example_weights
from modeling.multiple_choice import BertForMultipleChoice, multiple_choice_metrics, multiple_choice_sums


def run(options: MultipleChoiceOptions) -> int:
  """What `run_swag.py` does; see `bert_tf/tasks/run.py`."""
  options.check()
  if options.all_folds:
    return run_folds(run_fold, options)
  return driver.run(MultipleChoiceTask, options)


def run_fold(options: MultipleChoiceOptions) -> dict[str, float]:
  """A run, and what it scored: see `MultipleChoiceTask.scores`; nothing where it was interrupted."""
  tasks = []

  def make_task(one: MultipleChoiceOptions) -> MultipleChoiceTask:
    tasks.append(MultipleChoiceTask(one))
    return tasks[-1]

  driver.run(make_task, options)
  scores = tasks[-1].scores.get(options.output_dir, {})
  tasks.clear()
  keras.backend.clear_session()
  gc.collect()
  return scores


def make_objective(model: BertForMultipleChoice, skip_missing: bool = True) -> Objective:
  """Multiple choice as the training step sees it; `skip_missing` as in `BertForMultipleChoice.call`."""
  return Objective(
      losses=("multiple_choice",),
      counts=lambda features: {"multiple_choice_count": tf.reduce_sum(example_weights(features))},
      sums=lambda features, dropout: multiple_choice_sums(
          model(features, dropout=dropout, skip_missing=skip_missing), features),
      metrics=multiple_choice_metrics)


class MultipleChoiceTask(FineTuningTask):
  """Questions and their choices.

  Attributes:
    scores: output directory → "dev_accuracy" of the final evaluation and, where the test file has labels,
      "test_accuracy" of the prediction; shared by the combinations of a selection.

  Raises:
    UserError: see `bert_tf/tasks/multiple_choice/data.py`.
  """

  options: MultipleChoiceOptions
  evaluation_state = ("_probabilities",)

  def __init__(self, options: MultipleChoiceOptions):
    super().__init__(options)
    self.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    self.data: MultipleChoiceData = read_data(options, self.checkpoint)
    self.notes += self.data.notes
    self.train_examples = self.data.train.examples if self.data.train else None
    self.description = self.data.description
    self.head_mismatch = check_head(self.checkpoint)
    self.main_metric = "accuracy" if self.data.dev else None
    self.scores: dict[str, dict[str, float]] = {}
    self._skips_missing = True
    # Of the last evaluation: name → [E, K].
    self._probabilities: dict[str, np.ndarray] = {}

  @property
  def max_seq_length(self) -> int:
    return self.options.max_seq_length

  @property
  def can_evaluate(self) -> bool:
    return bool(self.data.dev)

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

  def evaluate(self, run: Run) -> dict[str, float]:
    """Metrics of all development sets; those of the second and further ones have its name in front."""
    metrics: dict[str, float] = {}
    self._probabilities = {}
    for number, (name, split) in enumerate(self.data.dev.items()):
      self._probabilities[name] = self._predict(run, split)
      scores = score(self._probabilities[name], split.questions.labels)
      metrics |= {f"{name}_{metric}" if number else metric: value for metric, value in scores.items()}
    return metrics

  def predictions(self) -> dict[str, Predicted]:
    return {name: Predicted([f"choice {choice}" for choice in probabilities.argmax(axis=-1)],
                            self.data.dev[name].questions.labels.tolist(), "questions")
            for name, probabilities in self._probabilities.items()}

  def show_evaluation(self, run: Run) -> None:
    if self.options.hardest_questions:
      tf.summary.text("eval/hardest_questions", results.hardest_table(*self._evaluated()))

  def write_evaluation(self, run: Run, metrics: Mapping[str, float]) -> None:
    directory = self.options.output_dir
    named = results.write_eval_results(directory, run.weights_step, metrics)
    run.log(describe_evaluation(directory, sum(map(len, self.data.dev.values())), named))
    if self.options.hardest_questions:
      run.log(f"the questions that it finds hardest: {results.write_hardest(directory, *self._evaluated())}")
    self._record("dev_accuracy", metrics["accuracy"])

  def _evaluated(self) -> tuple[ChoiceQuestions, np.ndarray, int]:
    """The development set, its probabilities, and how many of its hardest questions are to be shown."""
    name, split = next(iter(self.data.dev.items()))
    return split.questions, self._probabilities[name], self.options.hardest_questions

  def predict(self, run: Run) -> None:
    test = self.data.test
    probabilities = self._predict(run, test)
    if not run.devices.is_chief:
      return
    paths = results.write_predictions(self.options.output_dir, test.questions, probabilities)
    run.log(f"predicted {len(test)} questions of {test.questions.path}: {', '.join(paths)}")
    if test.questions.labels is not None:
      accuracy = score(probabilities, test.questions.labels)["accuracy"]
      self._record("test_accuracy", accuracy)
      run.log(f"accuracy by the labels of {test.questions.path}: {accuracy:.4f}")

  def _record(self, name: str, value: float) -> None:
    self.scores.setdefault(self.options.output_dir, {})[name] = value

  def _predict(self, run: Run, split: Split) -> np.ndarray:
    """float64 [E, K], probabilities."""
    return softmax(split.examples.by_question(run.predict(split.examples.choices)["scores"]))


def score(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, float]:
  """Accuracy and cross-entropy, in nats.

  Args:
    probabilities: [E, K].
    labels: int [E].
  """
  right = probabilities[np.arange(len(labels)), labels]
  return {"accuracy": float((probabilities.argmax(axis=-1) == labels).mean()),
          "loss": float(-np.log(np.maximum(right, math.ulp(0.0))).mean())}

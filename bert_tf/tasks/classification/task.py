"""Classes and scores of sequences and pairs: GLUE's tasks and anybody's own (section 4.1 of the paper).

Input: labelled texts (`bert_tf/tasks/classification/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/classification/results.py`).
"""

import dataclasses
import os

import numpy as np

from bert_tf.evaluation.classification import (
  confusion_matrix,
  confusion_text,
  per_class_table,
  score,
  score_multi_label,
)
from bert_tf.evaluation.glue_submission import submission_name, write_submission_file
from bert_tf.tasks import run as driver
from bert_tf.tasks.classification import results
from bert_tf.tasks.classification.data import CLASSES, ClassificationData, TextSplit, check_head, pool, read_data
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.evaluation import Evaluation, Predicted, write_eval_results, write_test_results
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.options import TEACHERS
from bert_tf.tasks.task import RunningModel, Stage
from bert_tf.training.examples import concatenated
from bert_tf.training.step import Objective
from modeling import fine_tuning as heads
from modeling.config import with_label_names
from modeling.losses import HeadLoss


def run(options: ClassificationOptions) -> int:
  """What `run_classifier.py` does; see `bert_tf/tasks/run.py`."""
  return driver.run(ClassificationTask, options)


class ClassificationTask(FineTuningTask):
  """Texts and their labels."""

  options: ClassificationOptions
  data: ClassificationData

  def __init__(self, options: ClassificationOptions):
    self.teachers = None
    if options.teacher_checkpoint and options.do_train:
      self.teachers = TEACHERS.load("classification")(options)
    names = self.teachers.labels if self.teachers else ()
    super().__init__(options, lambda options, checkpoint: read_data(options, checkpoint, names))
    if self.teachers:
      self.teachers.check_fit(self.data)
    if self.data.transfer is not None:
      self.train_examples = concatenated([
          dataclasses.replace(split.examples, values={})
          for split in (self.data.train, self.data.transfer) if split is not None])
    self.config = with_label_names(self.config, self.data.labels or ("LABEL_0",),
                                   None if self.data.kind == CLASSES else self.data.kind)
    self.start.head_mismatch = check_head(self.checkpoint, self.data, options.do_train)

  def make_model(self, dtype: str) -> heads.BertForClassification:
    classes = 1 if self.data.regression else len(self.data.labels)
    return heads.BertForClassification(self.config, classes, seed=self.options.seed, dtype=dtype,
                                 head_dropout=self.options.classifier_dropout)

  def objective(self, model: heads.BertForClassification) -> Objective:
    return Objective.of(model, self.options.distilled(self._loss(self.data.positive_weights)))

  def stage(self, run: RunningModel) -> Stage:
    stage = super().stage(run)
    if self.teachers is None:
      return stage

    def make_dataset():
      self.train_examples = self.teachers.distilled(
          self.data, self._loss(), self.options.temperature, run)
      return stage.make_dataset()

    return dataclasses.replace(stage, make_dataset=make_dataset)

  def outputs(self, model: heads.BertForClassification, features: dict) -> dict:
    return {"logits": model(features)}

  def answer(self, run: RunningModel, split: TextSplit) -> np.ndarray:
    """Logits, float32 [E, C]; of several windows the mean."""
    return pool(run.predict(split.examples)["logits"], split.window_counts)

  def _loss(self, positive_weights: tuple[float, ...] | None = None) -> HeadLoss:
    if self.data.multi_label:
      return dataclasses.replace(heads.SEVERAL_CLASSES, positive_weights=positive_weights)
    return heads.SCORES if self.data.regression else heads.CLASSES

  def score(self, split: TextSplit, answers: np.ndarray) -> dict[str, float]:
    """The task's metrics and the loss."""
    data, labels = self.data, split.source.labels
    predictions = data.predictions(answers)
    metrics = (score_multi_label(predictions, labels) if data.multi_label else
               score(data.metrics, predictions, labels, None if data.regression else len(data.labels)))
    return {**metrics, "loss": self._loss().score(answers, labels)["loss"]}

  def predicted(self, split: TextSplit, answers: np.ndarray) -> Predicted:
    """Classes, tuples of the classes that apply, or scores."""
    data, values = self.data, (self.data.predictions(answers), split.source.labels)
    if data.regression:
      return Predicted(*(side.tolist() for side in values))
    if data.multi_label:
      return Predicted(*([tuple(data.labels[number] for number in np.flatnonzero(row)) for row in side]
                         for side in values))
    return Predicted(*([data.labels[number] for number in side] for side in values))

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    if self.data.kind == CLASSES:
      split, logits = self.data.first(evaluation.details)
      results.show(run.reports, self.data.labels, split.source, self.data.values(logits))

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    directory, data = self.options.output_dir, self.data
    # The original's files have the loss under two names.
    loss = {name: value for name, value in evaluation.metrics.items() if name == "loss"}
    run.log(write_eval_results(directory, evaluation, sum(map(len, data.dev.values())), "eval_", loss))
    for number, (name, split) in enumerate(data.dev.items()):
      # Of MNLI's second one `eval_predictions_mismatched.jsonl`.
      suffix = f"_{name.removeprefix('dev').removeprefix('_')}" if number else ""
      results.write_predictions(os.path.join(directory, f"eval_predictions{suffix}.jsonl"), data, split.source,
                                data.values(evaluation.details[name]), with_truth=True)
    split, logits = self.data.first(evaluation.details)
    predictions, labels = data.predictions(logits), split.source.labels
    if not data.regression:
      run.log(per_class_table(predictions, labels, data.labels))
    if data.kind == CLASSES:
      matrix = confusion_matrix(predictions, labels, len(data.labels))
      run.log("\n" + confusion_text(matrix, data.labels))

  def write_predictions(self, name: str, split: TextSplit, answers: np.ndarray) -> list[str]:
    directory, data, values = self.options.output_dir, self.data, self.data.values(answers)
    rest = name.removeprefix("test").removeprefix("_")
    suffix = f"_{rest}" if rest else ""
    paths = [os.path.join(directory, file) for file in (f"test_results{suffix}.tsv", f"predictions{suffix}.jsonl")]
    write_test_results(paths[0], values)
    results.write_predictions(paths[1], data, split.source, values)
    if data.glue is not None:
      paths.append(os.path.join(directory, submission_name(data.glue.folder, name)))
      predictions = values if data.regression else [data.labels[number] for number in values.argmax(axis=-1)]
      write_submission_file(paths[-1], split.source.ids, predictions, data.regression)
    return paths

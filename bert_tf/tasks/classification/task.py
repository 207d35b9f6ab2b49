"""Classes and scores of sequences and pairs: GLUE's tasks and anybody's own (section 4.1 of the paper).

Input: labelled texts (`bert_tf/tasks/classification/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/classification/results.py`).
"""

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf.evaluation import confusion
from bert_tf.evaluation.classification import F1_ACCURACY_MEAN, score, score_multi_label, softmax
from bert_tf.tasks import run as driver
from bert_tf.tasks.classification import pictures, results
from bert_tf.tasks.classification.data import ClassificationData, Split, check_head, labelled_config, read_data
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.readers import CLASSES
from bert_tf.tasks.degenerate import Predicted
from bert_tf.tasks.eval_results import describe_evaluation
from bert_tf.tasks.run import Run
from bert_tf.tasks.task import FineTuningTask
from bert_tf.training.step import Objective
from modeling.classification import (
  BertForClassification,
  classification_metrics,
  classification_sums,
  multi_label_metrics,
  multi_label_sums,
  regression_metrics,
  regression_sums,
)
from modeling.losses import loss_weights


def run(options: ClassificationOptions) -> int:
  """What `run_classifier.py` does; see `bert_tf/tasks/run.py`."""
  return driver.run(ClassificationTask, options)


def make_objective(model: BertForClassification, regression: bool = False, multi_label: bool = False,
                   positive_weights: Sequence[float] | None = None) -> Objective:
  """Classification or regression as the training step sees it; `positive_weights` as in `multi_label_sums`."""
  name, sums, metrics = (("regression", regression_sums, regression_metrics) if regression else
                         ("classification", classification_sums, classification_metrics))
  if multi_label:
    name, metrics = "multi_label", multi_label_metrics
    sums = functools.partial(multi_label_sums, positive_weights=positive_weights and tf.constant(positive_weights))
  return Objective(
      losses=(name,), counts=lambda features: {f"{name}_count": tf.reduce_sum(loss_weights(features))},
      sums=lambda features, dropout: sums(model(features, dropout=dropout), features), metrics=metrics)


class ClassificationTask(FineTuningTask):
  """Texts and their labels.

  Raises:
    UserError: see `bert_tf/tasks/classification/data.py`.
  """

  options: ClassificationOptions

  evaluation_state = ("_predictions", "_values")

  def __init__(self, options: ClassificationOptions):
    super().__init__(options)
    self.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    self.data: ClassificationData = read_data(options, self.checkpoint)
    self.notes += self.data.notes
    self.train_examples = self.data.train.examples if self.data.train else None
    self.config = labelled_config(self.config, self.data)
    self.description = self.data.description
    self.head_mismatch = check_head(self.checkpoint, self.data, options.do_train)
    self.main_metric = self.data.main_metric if self.data.dev else None
    if self.data.kind != CLASSES:
      self.shown_metric = "mean_absolute_error" if self.data.regression else "micro_f1"
    # Of the last evaluation: development set → classes or scores, and probabilities [E, C] or scores [E].
    self._predictions: dict[str, np.ndarray] = {}
    self._values: dict[str, np.ndarray] = {}

  @property
  def max_seq_length(self) -> int:
    return self.options.max_seq_length

  @property
  def can_evaluate(self) -> bool:
    return bool(self.data.dev)

  def data_files(self) -> dict[str, str]:
    splits = {"train": self.data.train, **self.data.dev}
    return {name: split.texts.path for name, split in splits.items() if split is not None}

  def make_model(self, dtype: str) -> BertForClassification:
    classes = 1 if self.data.regression else len(self.data.labels)
    return BertForClassification(self.config, classes, seed=self.options.seed, dtype=dtype,
                                 head_dropout=self.options.classifier_dropout)

  def objective(self, model: BertForClassification) -> Objective:
    return make_objective(model, self.data.regression, self.data.multi_label, self.data.positive_weights)

  def outputs(self, model: BertForClassification, features: dict) -> dict:
    return {"logits": model(features)}

  def evaluate(self, run: Run) -> dict[str, float]:
    """Metrics of all development sets; those of the second and further ones have its name in front."""
    metrics: dict[str, float] = {}
    self._predictions, self._values = {}, {}
    for number, (name, split) in enumerate(self.data.dev.items()):
      logits = self._logits(run, split)
      prefix = f"{name.removeprefix('dev_')}_" if number else ""
      metrics |= {f"{prefix}{metric}": value for metric, value in _score(self.data, split, logits).items()}
      self._predictions[name], self._values[name] = self.data.predictions(logits), self.data.values(logits)
    return metrics

  def predictions(self) -> dict[str, Predicted]:
    return {name: Predicted(list(map(self._named, values)), list(map(self._named, self.data.dev[name].texts.labels)))
            for name, values in self._predictions.items()}

  def _named(self, value: np.ndarray) -> str | tuple[str, ...] | float:
    """A class, the classes that apply, or a score."""
    if self.data.regression:
      return float(value)
    names = self.data.labels
    return tuple(names[number] for number in np.flatnonzero(value)) if self.data.multi_label else names[int(value)]

  def complete_metrics(self, metrics: Mapping[str, float]) -> dict[str, float]:
    if self.main_metric == F1_ACCURACY_MEAN and F1_ACCURACY_MEAN not in metrics:
      return {F1_ACCURACY_MEAN: (metrics["f1"] + metrics["accuracy"]) / 2, **metrics}
    return dict(metrics)

  def show_evaluation(self, run: Run) -> None:
    if self.data.kind == CLASSES:
      name, split = next(iter(self.data.dev.items()))
      texts = [texts for texts in (split.texts.text_a, split.texts.text_b) if texts is not None]
      pictures.show(self.data.labels, split.texts.labels, self._values[name], texts)

  def write_evaluation(self, run: Run, metrics: Mapping[str, float]) -> None:
    directory = self.options.output_dir
    named = results.write_eval_results(directory, run.weights_step, metrics)
    # In the files the loss is there under the original's two names.
    named.pop("loss", None)
    for name, split in self.data.dev.items():
      results.write_evaluated_split(directory, self.data, name, split, self._values[name])
    run.log(describe_evaluation(directory, sum(map(len, self.data.dev.values())), named))
    if not self.data.regression:
      name, split = next(iter(self.data.dev.items()))
      run.log(confusion.per_class_table(self._predictions[name], split.texts.labels, self.data.labels))
    if self.data.kind == CLASSES:
      run.log("\n" + confusion.confusion_text(self._confusion(), self.data.labels))

  def predict(self, run: Run) -> None:
    for name, split in self.data.test.items():
      logits = self._logits(run, split)
      if run.devices.is_chief:
        paths = results.write_predicted_split(self.options.output_dir, self.data, name, split, self.data.values(logits))
        run.log(f"predicted {len(split)} examples of {split.texts.path}: {', '.join(paths)}")
        if split.texts.labels is not None:
          scores = _score(self.data, split, logits)
          run.log(", ".join(f"{name}: {metric} {value:.4f}" for metric, value in scores.items()))

  def _logits(self, run: Run, split: Split) -> np.ndarray:
    """float32 [E, C]; of several windows the mean."""
    return split.sequences.pool(run.predict(split.examples)["logits"])

  def _confusion(self) -> np.ndarray:
    name, split = next(iter(self.data.dev.items()))
    return confusion.confusion_matrix(self._predictions[name], split.texts.labels, len(self.data.labels))


def _score(data: ClassificationData, split: Split, logits: np.ndarray) -> dict[str, float]:
  """The task's metrics and the loss of a labelled split."""
  labels = split.texts.labels
  if data.multi_label:
    wide = logits.astype(np.float64)
    loss = float(np.mean(np.maximum(wide, 0) - wide * labels + np.log1p(np.exp(-np.abs(wide)))))
    return {**score_multi_label(data.predictions(logits), labels), "loss": loss}
  if data.regression:
    predictions = logits[:, 0]
    loss = float(np.mean(np.square(predictions.astype(np.float64) - labels)))
    return {**score(data.metrics, predictions, labels, None), "loss": loss}
  probabilities = softmax(logits)[np.arange(len(labels)), labels]
  loss = float(-np.log(np.maximum(probabilities, math.ulp(0.0))).mean())
  return {**score(data.metrics, logits.argmax(axis=-1), labels, len(data.labels)), "loss": loss}

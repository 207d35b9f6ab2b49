"""Tags of words, such as named entities: section 5.3 of the paper, fine-tuned.

Input: windows of tagged sentences (`bert_tf/tasks/token_classification/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/token_classification/results.py`).
"""

import os
from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.evaluation import confusion, conlleval, entities
from bert_tf.tasks import run as driver
from bert_tf.tasks.degenerate import Predicted
from bert_tf.tasks.eval_results import describe_evaluation, write_eval_results
from bert_tf.tasks.labels import with_label_names
from bert_tf.tasks.run import Run
from bert_tf.tasks.task import FineTuningTask
from bert_tf.tasks.token_classification import results
from bert_tf.tasks.token_classification.data import Split, check_head, read_data
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.results import Tagged, score, tag_split
from bert_tf.training.step import Objective
from modeling.token_classification import (
  BertForTokenClassification,
  token_classification_counts,
  token_classification_metrics,
  token_classification_sums,
)


def run(options: TokenClassificationOptions) -> int:
  """What `run_ner.py` does; see `bert_tf/tasks/run.py`."""
  if options.feature_based:
    from bert_tf.tasks.token_classification import feature_based

    return feature_based.run(options)
  return driver.run(TokenClassificationTask, options)


def make_objective(model: BertForTokenClassification) -> Objective:
  """The cross-entropy of the scored tokens as the training step sees it."""
  def known(features: dict) -> dict:
    """Batches are padded with 0, which is a label."""
    return {**features, "label_ids": tf.where(features["input_mask"] > 0, features["label_ids"], -1)}

  return Objective(
      losses=("token_classification",), counts=lambda features: token_classification_counts(known(features)),
      sums=lambda features, dropout: token_classification_sums(model(features, dropout=dropout), known(features)),
      metrics=token_classification_metrics)


class TokenClassificationTask(FineTuningTask):
  """Sentences and the tags of their words.

  Raises:
    UserError: see `bert_tf/tasks/token_classification/data.py`.
  """

  options: TokenClassificationOptions
  token_outputs = ("probabilities",)
  evaluation_state = ("_tagged",)

  def __init__(self, options: TokenClassificationOptions):
    super().__init__(options)
    self.config.check_sequence_length(options.max_seq_length, "--max_seq_length")
    self.data = read_data(options, self.checkpoint)
    self.notes += self.data.notes
    self.train_examples = self.data.train.examples if self.data.train else None
    self.config = with_label_names(self.config, self.data.labels)
    self.description = self.data.description
    self.head_mismatch = check_head(self.checkpoint, self.data)
    self.main_metric = ("accuracy" if self.data.chunk_names is None else "f1") if self.data.dev else None
    # Of the last evaluation: development set → what was found.
    self._tagged: dict[str, Tagged] = {}

  @property
  def max_seq_length(self) -> int:
    return self.options.max_seq_length

  @property
  def can_evaluate(self) -> bool:
    return self.data.dev is not None

  def data_files(self) -> dict[str, str]:
    splits = {"train": self.data.train, "dev": self.data.dev, **self.data.others}
    return {name: split.sentences.path for name, split in splits.items() if split is not None}

  def make_model(self, dtype: str) -> BertForTokenClassification:
    return BertForTokenClassification(self.config, len(self.data.labels), seed=self.options.seed, dtype=dtype,
                                      head_dropout=self.options.classifier_dropout)

  def objective(self, model: BertForTokenClassification) -> Objective:
    return make_objective(model)

  def outputs(self, model: BertForTokenClassification, features: dict) -> dict:
    return {"probabilities": tf.nn.softmax(model(features))}

  def evaluate(self, run: Run) -> dict[str, float]:
    """Metrics of all development sets; those of --eval_files have their name in front."""
    self._tagged = {"dev": self._tag(run, self.data.dev)}
    metrics = score(self._tagged["dev"])
    for name, split in self.data.others.items():
      self._tagged[name] = self._tag(run, split)
      metrics |= {f"{name}_{metric}": value for metric, value in score(self._tagged[name]).items()}
    return metrics

  def predictions(self) -> dict[str, Predicted]:
    return {name: Predicted(tagged.guess_tags, tagged.gold_tags, "words") for name, tagged in self._tagged.items()}

  def show_evaluation(self, run: Run) -> None:
    tagged = self._tagged["dev"]
    if tagged.counts is None:
      return
    tf.summary.image("quality/confusion", confusion.confusion_picture(*_confusion(tagged))[None])
    worst = results.worst_sentences(tagged, self.options.worst_sentences)
    tf.summary.text("eval/worst_sentences", "\n".join(f"    {line}" for line in worst.split("\n")))

  def write_evaluation(self, run: Run, metrics: Mapping[str, float]) -> None:
    directory, tagged = self.options.output_dir, self._tagged["dev"]
    write_eval_results(directory, run.weights_step, {f"eval_{name}": value for name, value in metrics.items()})
    run.log(describe_evaluation(directory, len(self.data.dev), metrics))
    results.write_predictions(os.path.join(directory, "dev_predictions.txt"), tagged)
    for name in self.data.others:
      results.write_predictions(os.path.join(directory, f"dev_predictions_{name}.txt"), self._tagged[name])
    paths = results.write_reports(directory, tagged, self.options.worst_sentences)
    if paths:
      run.log(f"{conlleval.report(tagged.counts)}\n{confusion.confusion_text(*_confusion(tagged))}")
      run.log(f"reports: {', '.join(paths)}")

  def predict(self, run: Run) -> None:
    tagged = self._tag(run, self.data.test)
    if not run.devices.is_chief:
      return
    directory, sentences = self.options.output_dir, self.data.test.sentences
    paths = [os.path.join(directory, "test_predictions.txt")]
    results.write_predictions(paths[0], tagged)
    if sentences.texts is not None and tagged.guess_chunks is not None:
      paths.append(os.path.join(directory, "test_predictions.jsonl"))
      results.write_entities(paths[1], tagged)
    run.log(f"predicted {len(sentences):,} sentences of {sentences.path}: {', '.join(paths)}")
    if tagged.is_scorable:
      metrics = score(tagged)
      path = os.path.join(directory, "test_results.json")
      json_files.write(path, {"global_step": run.weights_step, **dict(sorted(metrics.items()))})
      run.log("\n".join([f"its labels are known ({path})",
                         *(f"  {name:24} {value:.4f}" for name, value in sorted(metrics.items()))]))

  def _tag(self, run: Run, split: Split) -> Tagged:
    return tag_split(self.data, split, split.windows.of_words(run.predict(split.examples)["probabilities"]))


def _confusion(tagged: Tagged) -> tuple[np.ndarray, list[str]]:
  return entities.type_confusion(tagged.split.chunks, tagged.guess_chunks)

"""Tags of words, such as named entities: section 5.3 of the paper, fine-tuned.

Input: windows of tagged sentences (`bert_tf/tasks/token_classification/data.py`). Output: a run directory, by way of
`bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/token_classification/results.py`).
"""

import dataclasses
import os
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_common import json_files
from bert_tf.evaluation import classification, conlleval
from bert_tf.tasks.eval_results import write_eval_results
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.labels import with_label_names
from bert_tf.tasks.task import RunningModel
from bert_tf.tasks.teachers import Teachers
from bert_tf.tasks.token_classification import results
from bert_tf.tasks.token_classification.data import Split, TokenData, check_head, read_data
from bert_tf.tasks.token_classification.options import TokenClassificationOptions
from bert_tf.tasks.token_classification.results import Tagged, score, tag_split
from bert_tf.training.step import Objective
from modeling.config import BertConfig
from modeling.losses import HeadLoss
from modeling.token_classification import TOKENS, BertForTokenClassification


def make_objective(model: BertForTokenClassification,
                   distilled: Callable[[HeadLoss], HeadLoss] = lambda loss: loss) -> Objective:
  """The cross-entropy of the scored tokens as the training step sees it; `distilled` adds a teacher's part."""
  known = dataclasses.replace(
      # Batches are padded with 0, which is a label.
      TOKENS, weights=lambda features: TOKENS.weights({**features, "label_ids": tf.where(
          features["input_mask"] > 0, features["label_ids"], -1)}))
  return Objective.of(model, distilled(known))


class TokenClassificationTask(FineTuningTask):
  """Sentences and the tags of their words."""

  options: TokenClassificationOptions
  token_outputs = ("probabilities",)
  data: TokenData

  def __init__(self, options: TokenClassificationOptions):
    super().__init__(options, read_data)
    self.config = with_label_names(self.config, self.data.labels)
    self.start.head_mismatch = check_head(self.checkpoint, self.data)
    self.teachers: Teachers | None = None
    if options.teacher_checkpoint and options.do_train:
      self.teachers = Teachers(options.teacher_checkpoint, "token_classification", self._make_teacher, self.config,
                               self.options.max_seq_length)
      self.teachers.check_vocabulary(self.checkpoint.tokenizer.vocabulary, self.start.do_lower_case)
      self.teachers.check_labels(self.data.labels)
      self.data.sources["--teacher_checkpoint"] = lambda: self.teachers.digest
    self.main_metric = ("accuracy" if self.data.chunk_names is None else "f1") if self.data.dev else None

  def _make_teacher(self, config: BertConfig, dtype: str) -> BertForTokenClassification:
    return BertForTokenClassification(config, len(self.data.labels), dtype=dtype)

  def make_model(self, dtype: str) -> BertForTokenClassification:
    if self.teachers is not None:
      self.teachers.load(dtype)
    return BertForTokenClassification(self.config, len(self.data.labels), seed=self.options.seed, dtype=dtype,
                                      head_dropout=self.options.classifier_dropout)

  def objective(self, model: BertForTokenClassification) -> Objective:
    if self.teachers is None:
      return make_objective(model)
    return make_objective(model, lambda loss: self.teachers.distilled(loss, self.options))

  def outputs(self, model: BertForTokenClassification, features: dict) -> dict:
    return {"probabilities": tf.nn.softmax(model(features))}

  def answer(self, run: RunningModel, split: Split) -> Tagged:
    """Labels of the words."""
    return tag_split(self.data, split, split.windows.of_words(run.predict(split.examples)["probabilities"]))

  def score(self, split: Split, answers: Tagged) -> dict[str, float]:
    return score(answers)

  def predicted(self, split: Split, answers: Tagged) -> Predicted:
    return Predicted(answers.guess_tags, answers.gold_tags, "words")

  def show_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    _, tagged = self.data.first(evaluation.details)
    if tagged.counts is None:
      return
    run.reports.picture("quality/confusion", classification.confusion_picture(*_confusion(tagged)))
    worst = results.worst_sentences(tagged, self.options.worst_sentences)
    tf.summary.text("eval/worst_sentences", "\n".join(f"    {line}" for line in worst.split("\n")))

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    directory = self.options.output_dir
    split, tagged = self.data.first(evaluation.details)
    run.log(write_eval_results(directory, evaluation, len(split), "eval_"))
    for name, one in evaluation.details.items():
      suffix = "" if one is tagged else f"_{name}"
      results.write_predictions(os.path.join(directory, f"dev_predictions{suffix}.txt"), one)
    paths = results.write_reports(directory, tagged, self.options.worst_sentences)
    if paths:
      run.log(f"{conlleval.report(tagged.counts)}\n{classification.confusion_text(*_confusion(tagged))}")
      run.log(f"reports: {', '.join(paths)}")

  def write_predictions(self, name: str, split: Split, answers: Tagged) -> list[str]:
    tagged, directory, sentences = answers, self.options.output_dir, split.source
    paths = [os.path.join(directory, "test_predictions.txt")]
    results.write_predictions(paths[0], tagged)
    if sentences.texts is not None and tagged.guess_chunks is not None:
      paths.append(os.path.join(directory, "test_predictions.jsonl"))
      results.write_entities(paths[1], tagged)
    return paths

  def predict(self, run: RunningModel) -> dict[str, float] | None:
    metrics = super().predict(run)
    if metrics is not None:
      path = os.path.join(self.options.output_dir, "test_results.json")
      json_files.write(path, {"global_step": run.weights_step, **{
          name.removeprefix("test_"): value for name, value in sorted(metrics.items())}})
      run.log(f"its labels are known: {path}")
    return metrics


def _confusion(tagged: Tagged) -> tuple[np.ndarray, list[str]]:
  return conlleval.type_confusion(tagged.split.chunks, tagged.guess_chunks)

"""Vectors of sentences, trained on pairs, triples, scores or texts alone.

Input: pairs of texts and retrieval sets (`bert_tf/tasks/sentence_embedding/data.py`). Output: a run directory, by way
of `bert_tf/tasks/run.py`, with metrics and predictions (`bert_tf/tasks/sentence_embedding/results.py`).
"""

import dataclasses

import numpy as np

from bert_tf.tasks import run as driver
from bert_tf.tasks.eval_results import write_eval_results
from bert_tf.tasks.evaluation import Evaluation, Predicted
from bert_tf.tasks.fine_tuning import FineTuningTask
from bert_tf.tasks.sentence_embedding import results
from bert_tf.tasks.sentence_embedding.data import SentenceSplit, read_data
from bert_tf.tasks.sentence_embedding.examples import COMPARED
from bert_tf.tasks.sentence_embedding.options import LABELLED, SCORED, STS_B, TEXT, SentenceEmbeddingOptions
from bert_tf.tasks.task import RunningModel
from bert_tf.training.devices import Devices
from bert_tf.training.step import Objective
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.losses import HeadLoss
from modeling.sentence_embedding import (
  BertForSentenceEmbedding,
  CosineRegression,
  InBatchNegatives,
  OnlineContrastive,
  unit_length,
)


def run(options: SentenceEmbeddingOptions) -> int:
  """What `run_sentence_embedding.py` does; see `bert_tf/tasks/run.py`."""
  return driver.run(SentenceEmbeddingTask, options)


class SentenceEmbeddingTask(FineTuningTask):
  """Texts that belong together."""

  options: SentenceEmbeddingOptions

  def __init__(self, options: SentenceEmbeddingOptions):
    super().__init__(options, read_data)
    if self.checkpoint.heads and self.checkpoint.task:
      self.notes.append("the checkpoint's head is not used: vectors are made by the encoder")
    if options.do_train and options.task_name == TEXT and not (
        self.config.hidden_dropout_prob or self.config.attention_probs_dropout_prob):
      self.notes.append("warning: the checkpoint has no dropout, so that a text is seen twice in the same way: give "
                        "--hidden_dropout_prob=0.1 --attention_probs_dropout_prob=0.1")
    self.main_metric = (options.best_metric or options.metrics()[0]) if self.data.dev else None
    self._trims = True

  def make_model(self, dtype: str) -> BertForSentenceEmbedding:
    return BertForSentenceEmbedding(self.config, seed=self.options.seed, dtype=dtype,
                                    pooling=self.description["pooling"], normalize=self.options.normalize)

  def objective(self, model: BertForSentenceEmbedding) -> Objective:
    loss = self._loss()
    if isinstance(loss, CosineRegression):
      return Objective.of(model, loss, trim=self._trims)
    return Objective.joint(model, loss, COMPARED, trim=self._trims)

  def _loss(self) -> HeadLoss:
    options = self.options
    if options.task_name in (SCORED, STS_B):
      return CosineRegression(SENTENCE_EMBEDDING)
    if options.task_name == LABELLED:
      return OnlineContrastive(SENTENCE_EMBEDDING, margin=options.margin)
    return InBatchNegatives(SENTENCE_EMBEDDING, scale=options.similarity_scale, symmetric=options.symmetric_loss)

  def check_devices(self, devices: Devices) -> None:
    super().check_devices(devices)
    self._trims = not devices.jit_compile

  def outputs(self, model: BertForSentenceEmbedding, features: dict) -> dict:
    """float32 "vector" [B, D], of texts one by one."""
    return {"vector": model(features)}

  def answer(self, run: RunningModel, split: SentenceSplit) -> np.ndarray:
    """float32 [U, D], the vectors of all texts, of length 1."""
    return unit_length(run.predict(split.examples.unique)["vector"]).numpy()

  def score(self, split: SentenceSplit, answers: np.ndarray) -> dict[str, float]:
    return results.score(answers, split, self.options.recall_at)

  def predicted(self, split: SentenceSplit, answers: np.ndarray) -> Predicted:
    if split.is_ranked:
      best = results.rank(answers, split, 1)[:, 0]
      return Predicted([f"document {number}" for number in best], [tuple(one) for one in split.relevant], "queries")
    return Predicted([f"cosine {value:.2f}" for value in results.cosines(answers, split)],
                     split.source.labels.tolist(), "pairs")

  def evaluate(self, run: RunningModel) -> Evaluation:
    evaluation = super().evaluate(run)
    warnings = [one for name, vectors in evaluation.details.items() if (one := results.warning(vectors, name))]
    return dataclasses.replace(evaluation, warning="; ".join(warnings) or None)

  def write_evaluation(self, run: RunningModel, evaluation: Evaluation) -> None:
    run.log(write_eval_results(self.options.output_dir, evaluation, sum(map(len, self.data.dev.values())), "eval_"))

  def write_predictions(self, name: str, split: SentenceSplit, answers: np.ndarray) -> list[str]:
    return results.write_predictions(self.options.output_dir, split, results.cosines(answers, split))

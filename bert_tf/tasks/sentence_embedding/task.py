"""Sentence vectors, trained on pairs, triples, scores or texts alone.

Input: pairs of texts and retrieval sets (`bert_tf/tasks/sentence_embedding/data.py`). Output: a run
directory, by way of `bert_tf/runs/run.py`, with metrics and `predictions.jsonl`.
"""

import dataclasses
import functools
import os

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation.classification import score as score_predictions
from bert_tf.evaluation.retrieval import MAP_DEPTH, score_rankings, search, uniformity
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import Evaluation, constant_predictions, shortest
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import Run
from bert_tf.tasks.sentence_embedding import options as kinds
from bert_tf.tasks.sentence_embedding.data import SentenceSplit, read_data
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.losses import HeadLoss
from modeling.sentence_embedding import (
    BertForSentenceEmbedding,
    CosineRegression,
    InBatchNegatives,
    unit_length,
)

# Queries that are searched for together.
_QUERIES_AT_ONCE = 256
# Uniformity above which vectors count as alike: a mean squared distance of a hundredth.
_MAX_UNIFORMITY = -0.02


class SentenceEmbeddingTask(FineTuningTask):
    """Texts that belong together."""

    options: SentenceEmbeddingOptions

    def __init__(self, options: SentenceEmbeddingOptions):
        super().__init__(options, read_data)
        # Somebody may expect the head of a fine-tuned model to be used.
        if self.checkpoint.heads and self.checkpoint.task:
            self.notes.append("the checkpoint's head is not used: vectors are made by the encoder")
        config = self.config
        has_dropout = config.hidden_dropout_prob or config.attention_probs_dropout_prob
        # Texts alone are their own positives, which differ by dropout only (SimCSE).
        if options.do_train and options.task_name == kinds.TEXT and not has_dropout:
            self.notes.append(
                "warning: the checkpoint has no dropout, so that a text is seen twice in the same "
                "way: give --hidden_dropout_prob=0.1 --attention_probs_dropout_prob=0.1"
            )

    def make_model(self, dtype: str) -> BertForSentenceEmbedding:
        return BertForSentenceEmbedding(
            self.config,
            seed=self.options.seed,
            dtype=dtype,
            pooling=self.description["pooling"],
            normalize=self.options.normalize,
        )

    def loss(self, model: BertForSentenceEmbedding) -> HeadLoss:
        # Scores are regressed on; pairs and triples learn from the other texts of the batch.
        if self.options.task_name in (kinds.SCORED, kinds.STS_B):
            return CosineRegression(SENTENCE_EMBEDDING)
        return InBatchNegatives(SENTENCE_EMBEDDING, scale=self.options.similarity_scale)

    def outputs(self, model: BertForSentenceEmbedding, features: dict) -> dict:
        """Returns "vector" float32 [B, D], of texts one by one."""
        return {"vector": model(features)}

    def answer(self, trainer: Run, split: SentenceSplit) -> np.ndarray:
        """Returns the vectors of all texts, float32 [U, D], of length 1."""
        return unit_length(trainer.predict(split.examples.sequences)["vector"]).numpy()

    def score(self, split: SentenceSplit, answers: np.ndarray) -> dict[str, float]:
        """Returns the metrics of a set, with "uniformity"."""
        # Texts without scores are ranked: a query should find its own documents.
        if split.is_ranked:
            ranking = rank(answers, split, MAP_DEPTH)
            scores = score_rankings(ranking, split.relevant, kinds.RECALL_AT)
        else:
            similarities = cosines(answers, split)
            scores = score_predictions(kinds.SCORE_METRICS, similarities, split.source.labels, None)
        return {**scores, "uniformity": uniformity(answers)}

    def constant_predictions(
        self, name: str, split: SentenceSplit, answers: np.ndarray
    ) -> str | None:
        if split.is_ranked:
            best = [f"document {index}" for index in rank(answers, split, 1)[:, 0]]
            relevant = [tuple(documents) for documents in split.relevant]
            return constant_predictions(name, best, relevant, "queries")
        similarities = [f"cosine {value:.2f}" for value in cosines(answers, split)]
        return constant_predictions(name, similarities, split.source.labels.tolist(), "pairs")

    def evaluate(self, trainer: Run) -> Evaluation:
        evaluation = super().evaluate(trainer)
        warnings = []
        for name, vectors in evaluation.details.items():
            # A single vector is alike to itself only.
            if len(vectors) < 2:
                continue
            spread = uniformity(vectors)
            if spread > _MAX_UNIFORMITY:
                warnings.append(
                    f"all vectors of {name} are alike (uniformity {spread:.4f}; 0 is the same "
                    "vector for all): take a lower --learning_rate, a pre-trained checkpoint or "
                    "another --seed"
                )
        if not warnings:
            return evaluation
        # Vectors that are alike cause constant predictions, so this warning replaces that one.
        return dataclasses.replace(evaluation, warning="; ".join(warnings))

    def write_predictions(self, name: str, split: SentenceSplit, answers: np.ndarray) -> list[str]:
        path = os.path.join(self.options.output_dir, "predictions.jsonl")
        pairs = zip(*split.source.columns[:2], cosines(answers, split), strict=True)
        with files.atomic_write(path) as file:
            for text_a, text_b, cosine in pairs:
                record = {"text_a": text_a, "text_b": text_b, "cosine": shortest(cosine)}
                file.write(json_files.line_of(record))
        return [path]


# The command `run_sentence_embedding.py`; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, SentenceEmbeddingTask)


def cosines(vectors: np.ndarray, split: SentenceSplit) -> np.ndarray:
    """Returns the cosines between the first two texts of the examples, float32 [E].

    Args:
      vectors: float32 [U, D], of length 1.
    """
    texts = split.examples.texts
    return np.einsum("ed,ed->e", vectors[texts[:, 0]], vectors[texts[:, 1]])


def rank(vectors: np.ndarray, split: SentenceSplit, depth: int) -> np.ndarray:
    """Returns the best documents of each query, int64 [Q, depth].

    Among pairs a query's own text comes last, unless it is relevant.
    """
    documents = [vectors[split.documents]]
    parts = []
    for start in range(0, len(split.queries), _QUERIES_AT_ONCE):
        queries = vectors[split.queries[start : start + _QUERIES_AT_ONCE]]
        # One more, as a query's own text may be among them.
        _, best = search(queries, documents, depth + 1)
        parts.append(best)
    ranking = np.concatenate(parts)
    if split.task is not None:
        is_own = np.zeros(ranking.shape, bool)
        for index, (query, relevant) in enumerate(zip(split.queries, split.relevant, strict=True)):
            for column, document in enumerate(ranking[index]):
                is_same_text = split.documents[document] == query
                is_own[index, column] = is_same_text and document not in relevant
        # Stable: all others keep their order.
        order = np.argsort(is_own, axis=1, kind="stable")
        ranking = np.take_along_axis(ranking, order, 1)
    return ranking[:, :depth]

"""Vectors of sentences, trained on pairs, triples, scores or texts alone.

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
from bert_tf.runs.evaluation import Evaluation, Predicted, shortest
from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import RunningModel
from bert_tf.tasks.sentence_embedding import options as kinds
from bert_tf.tasks.sentence_embedding.data import COMPARED, SentenceSplit, read_data
from bert_tf.tasks.sentence_embedding.options import SentenceEmbeddingOptions
from bert_tf.training.step import Objective
from modeling.checkpoints.companion_files import SENTENCE_EMBEDDING
from modeling.sentence_embedding import (
    BertForSentenceEmbedding,
    CosineRegression,
    InBatchNegatives,
    unit_length,
)

# Queries that are searched for together.
_QUERIES_AT_ONCE = 256
# Above it, a mean distance² of a hundredth, vectors are called alike.
_ALIKE = -0.02


class SentenceEmbeddingTask(FineTuningTask):
    """Texts that belong together."""

    options: SentenceEmbeddingOptions

    def __init__(self, options: SentenceEmbeddingOptions):
        super().__init__(options, read_data)
        if self.checkpoint.heads and self.checkpoint.task:
            self.notes.append("the checkpoint's head is not used: vectors are made by the encoder")
        if (
            options.do_train
            and options.task_name == kinds.TEXT
            and not (self.config.hidden_dropout_prob or self.config.attention_probs_dropout_prob)
        ):
            self.notes.append(
                "warning: the checkpoint has no dropout, so that a text is seen twice in the same way: give "
                "--hidden_dropout_prob=0.1 --attention_probs_dropout_prob=0.1"
            )

    def make_model(self, dtype: str) -> BertForSentenceEmbedding:
        return BertForSentenceEmbedding(
            self.config,
            seed=self.options.seed,
            dtype=dtype,
            pooling=self.description["pooling"],
            normalize=self.options.normalize,
        )

    def objective(self, model: BertForSentenceEmbedding) -> Objective:
        options = self.options
        if options.task_name in (kinds.SCORED, kinds.STS_B):
            return Objective.of(
                model, CosineRegression(SENTENCE_EMBEDDING), trim=not self.is_compiled
            )
        return Objective.of(
            model,
            InBatchNegatives(SENTENCE_EMBEDDING, scale=options.similarity_scale),
            COMPARED,
            trim=not self.is_compiled,
        )

    def outputs(self, model: BertForSentenceEmbedding, features: dict) -> dict:
        """float32 "vector" [B, D], of texts one by one."""
        return {"vector": model(features)}

    def answer(self, run: RunningModel, split: SentenceSplit) -> np.ndarray:
        """float32 [U, D], the vectors of all texts, of length 1."""
        return unit_length(run.predict(split.examples.sequences)["vector"]).numpy()

    def score(self, split: SentenceSplit, answers: np.ndarray) -> dict[str, float]:
        """The metrics of a set, with "uniformity"."""
        if split.is_ranked:
            scores = score_rankings(
                rank(answers, split, MAP_DEPTH), split.relevant, kinds.RECALL_AT
            )
        else:
            scores = score_predictions(
                kinds.OF_SCORES, cosines(answers, split), split.source.labels, None
            )
        return {**scores, "uniformity": uniformity(answers)}

    def predicted(self, split: SentenceSplit, answers: np.ndarray) -> Predicted:
        if split.is_ranked:
            best = rank(answers, split, 1)[:, 0]
            return Predicted(
                [f"document {number}" for number in best],
                [tuple(one) for one in split.relevant],
                "queries",
            )
        return Predicted(
            [f"cosine {value:.2f}" for value in cosines(answers, split)],
            split.source.labels.tolist(),
            "pairs",
        )

    def evaluate(self, run: RunningModel) -> Evaluation:
        evaluation = super().evaluate(run)
        warnings = []
        for name, vectors in evaluation.details.items():
            if len(vectors) > 1 and (spread := uniformity(vectors)) > _ALIKE:
                warnings.append(
                    f"all vectors of {name} are alike (uniformity {spread:.4f}; 0 is the same vector for all): "
                    "take a lower --learning_rate, a pre-trained checkpoint or another --seed"
                )
        return dataclasses.replace(evaluation, warning="; ".join(warnings) or None)

    def write_predictions(self, name: str, split: SentenceSplit, answers: np.ndarray) -> list[str]:
        path = os.path.join(self.options.output_dir, "predictions.jsonl")
        with files.atomic_write(path) as file:
            file.writelines(
                json_files.line_of({"text_a": first, "text_b": second, "cosine": shortest(value)})
                for first, second, value in zip(
                    *split.source.columns[:2], cosines(answers, split), strict=True
                )
            )
        return [path]


# What `run_sentence_embedding.py` does; see `bert_tf/runs/run.py`.
run = functools.partial(driver.run, SentenceEmbeddingTask)


def cosines(vectors: np.ndarray, split: SentenceSplit) -> np.ndarray:
    """float32 [E], between the first two texts; `vectors` [U, D] have length 1."""
    first, second = split.examples.texts[:, 0], split.examples.texts[:, 1]
    return np.einsum("ed,ed->e", vectors[first], vectors[second])


def rank(vectors: np.ndarray, split: SentenceSplit, depth: int) -> np.ndarray:
    """int64 [Q, depth], the best documents of each query; among pairs its own text comes last,
    unless it is relevant."""
    documents = [vectors[split.documents]]
    found = np.concatenate(
        [
            search(vectors[split.queries[start : start + _QUERIES_AT_ONCE]], documents, depth + 1)[
                1
            ]
            for start in range(0, len(split.queries), _QUERIES_AT_ONCE)
        ]
    )
    if split.task is not None:
        own = [
            [split.documents[document] == query and document not in relevant for document in row]
            for row, query, relevant in zip(found, split.queries, split.relevant, strict=True)
        ]
        found = np.take_along_axis(found, np.argsort(own, axis=1, kind="stable"), 1)
    return found[:, :depth]

"""Scores of sentence vectors, and the files that a run of run_sentence_embedding.py leaves beside its checkpoints.

Input: vectors of the texts of a set. Output: metrics, and `predictions.jsonl`.
"""

import os

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation.classification import score as score_predictions
from bert_tf.evaluation.retrieval import MAP_DEPTH, alignment, score_rankings, search, uniformity
from bert_tf.tasks.eval_results import shortest
from bert_tf.tasks.sentence_embedding.data import SentenceSplit
from bert_tf.tasks.sentence_embedding.options import LABELLED, OF_LABELS, OF_SCORES
from data_gen.labelled.sentence_pairs import SentencePairs

# Queries that are searched for together.
_QUERIES_AT_ONCE = 256
# Above it, a mean distance² of a hundredth, vectors are called alike.
_ALIKE = -0.02
# The least score of pairs that belong together.
_TOGETHER = 0.8


def cosines(vectors: np.ndarray, split: SentenceSplit) -> np.ndarray:
  """float32 [E], between the first two texts; `vectors` [U, D] have length 1."""
  first, second = split.examples.texts[:, 0], split.examples.texts[:, 1]
  return np.einsum("ed,ed->e", vectors[first], vectors[second])


def rank(vectors: np.ndarray, split: SentenceSplit, depth: int) -> np.ndarray:
  """int64 [Q, depth], the best documents of each query; among pairs its own text comes last, unless it is relevant."""
  documents = [vectors[split.documents]]
  found = np.concatenate([search(vectors[split.queries[start:start + _QUERIES_AT_ONCE]], documents, depth + 1)[1]
                          for start in range(0, len(split.queries), _QUERIES_AT_ONCE)])
  if split.task is not None:
    own = [[split.documents[document] == query and document not in relevant for document in row]
           for row, query, relevant in zip(found, split.queries, split.relevant, strict=True)]
    found = np.take_along_axis(found, np.argsort(own, axis=1, kind="stable"), 1)
  return found[:, :depth]


def score(vectors: np.ndarray, split: SentenceSplit, recall_at: tuple[int, ...]) -> dict[str, float]:
  """The metrics of a set, with "uniformity" and, where texts belong together, "alignment"."""
  if split.is_ranked:
    found = rank(vectors, split, max(MAP_DEPTH, *recall_at))
    scores = score_rankings(found, split.relevant, recall_at)
    pairs = [(query, split.documents[document]) for query, documents in zip(split.queries, split.relevant, strict=True)
             for document in documents]
    together = np.array([vectors[query] @ vectors[document] for query, document in pairs])
  else:
    found, labels = cosines(vectors, split), split.source.labels
    scores = score_predictions(OF_SCORES, found, labels, None)
    if split.task == LABELLED:
      from sklearn.metrics import average_precision_score

      scores = {OF_LABELS[0]: float(average_precision_score(labels, found)) if labels.any() else 0.0, **scores}
    together = found[labels >= _TOGETHER]
  return {**scores, "uniformity": uniformity(vectors), **({"alignment": alignment(together)} if together.size else {})}


def warning(vectors: np.ndarray, name: str) -> str | None:
  """Why vectors are of no use; None where they are."""
  spread = uniformity(vectors)
  if spread <= _ALIKE or len(vectors) < 2:
    return None
  return (f"all vectors of {name} are alike (uniformity {spread:.4f}; 0 is the same vector for all): take a lower "
          "--learning_rate, a pre-trained checkpoint or another --seed")


def write_predictions(directory: str, split: SentenceSplit, found: np.ndarray) -> list[str]:
  """`predictions.jsonl`, an object for each pair: its texts and their cosine."""
  source = split.source
  assert isinstance(source, SentencePairs)
  path = os.path.join(directory, "predictions.jsonl")
  with files.atomic_write(path) as file:
    file.writelines(json_files.line_of({"text_a": first, "text_b": second, "cosine": shortest(value)})
                    for first, second, value in zip(*source.columns[:2], found, strict=True))
  return [path]

"""What a run of run_ner.py leaves beside its checkpoints: predictions in columns, reports, the worst sentences.

Input: the right labels and those that the model gives the words of a file. Output: metrics and files.
"""

import dataclasses
import itertools
import json
import os

import numpy as np

from bert_common import files
from bert_tf.evaluation import conlleval
from bert_tf.evaluation.conlleval import ChunkCounts
from bert_tf.tasks.token_classification.data import Split, TokenData
from data_gen.labelled.tag_schemes import IOB2, Chunks, find_chunks, write_tags
from modeling.token_classification import TOKENS


@dataclasses.dataclass(frozen=True)
class Tagged:
  """The words of a split with the model's guesses; W words.

  Attributes:
    probabilities: float32 [W, C].
    guess_chunks: None for plain tags.
    gold_tags, guess_tags: W tags, of chunks in IOB2; the right ones None where the file has none.
    counts: of chunks; for plain tags, and without right tags, None.
  """

  split: Split
  probabilities: np.ndarray
  guess_chunks: Chunks | None
  gold_tags: list[str] | None
  guess_tags: list[str]
  counts: ChunkCounts | None


def tag_split(data: TokenData, split: Split, probabilities: np.ndarray) -> Tagged:
  """Chooses the most probable labels; chunks of them are read as conlleval does."""
  sentences, guess = split.source, probabilities.argmax(axis=-1)
  gold_tags = counts = None
  if data.chunk_names is None:
    if sentences.tags is not None:
      gold_tags = [sentences.tag_names[tag] for tag in sentences.tags.tolist()]
    return Tagged(split, probabilities, None, gold_tags, [data.labels[label] for label in guess.tolist()], None)
  guess_chunks = find_chunks(guess, data.chunk_names, sentences.row_lengths)
  guess_tags = _tags_of(guess_chunks)
  if split.chunks is not None:
    gold_tags = _tags_of(split.chunks)

    def rows():
      pairs = iter(zip(gold_tags, guess_tags, strict=True))
      for length in sentences.row_lengths.tolist():
        yield from itertools.islice(pairs, length)
        yield None

    counts = conlleval.count_chunks(rows())
  return Tagged(split, probabilities, guess_chunks, gold_tags, guess_tags, counts)


def score(tagged: Tagged) -> dict[str, float]:
  """Metrics, between 0 and 1 but for the loss.

  Of chunks "f1", "precision" and "recall" of the official scorer, "surface_f1" of WNUT-17; always "accuracy" of the
  words' tags, and "loss", of the words whose right label the model has.
  """
  split = tagged.split
  right = np.array([gold == guess for gold, guess in zip(tagged.gold_tags, tagged.guess_tags, strict=True)])
  known = np.flatnonzero(split.labels >= 0)
  # Logarithms of probabilities are logits, too.
  logits = np.log(np.maximum(tagged.probabilities[known], np.finfo(np.float32).tiny))
  metrics = {"accuracy": float(right.mean()), "loss": TOKENS.score(logits, split.labels[known])["loss"]}
  if tagged.counts is None:
    return metrics
  precision, recall, f1 = tagged.counts.overall()
  _, _, surface_f1 = conlleval.surface_scores(split.source.words, split.chunks, tagged.guess_chunks)
  return {"f1": f1 / 100, "precision": precision / 100, "recall": recall / 100, "surface_f1": surface_f1 / 100,
          **metrics}


def worst_sentences(tagged: Tagged, most: int) -> str:
  """The sentences with the most errors, see `conlleval.worst_sentences`; not of plain tags."""
  sentences = tagged.split.source
  starts = np.cumsum(sentences.row_lengths) - sentences.row_lengths
  where = {number: sentences.where(start) for number, start in enumerate(starts.tolist())}
  return conlleval.worst_sentences(sentences.words, sentences.row_lengths, tagged.split.chunks, tagged.guess_chunks,
                                  most, where)


def write_predictions(path: str, tagged: Tagged) -> None:
  """The official columns, which any scorer reads: word, right tag (where it is known), guess; chunks in IOB2.

  Blanks inside of words become underscores.
  """
  sentences = tagged.split.source
  ends = set((np.cumsum(sentences.row_lengths) - 1).tolist())
  columns = [["_".join(word.split()) or "_" for word in sentences.words]]
  columns += [tagged.gold_tags] if tagged.gold_tags is not None else []
  columns.append(tagged.guess_tags)
  with files.atomic_write(path) as file:
    for number, row in enumerate(zip(*columns, strict=True)):
      file.write(" ".join(row) + ("\n\n" if number in ends else "\n"))


def write_entities(path: str, tagged: Tagged) -> None:
  """JSON lines, one a text: {"text", "entities": [[start, end, label], …]}, as they are read; of files of texts."""
  sentences, chunks = tagged.split.source, tagged.guess_chunks
  ends = np.cumsum(sentences.row_lengths)
  found: list[list] = [[] for _ in sentences.texts]
  for first, last, kind in chunks.spans().tolist():
    sentence = int(np.searchsorted(ends, first, side="right"))
    found[sentence].append([int(sentences.offsets[first, 0]), int(sentences.offsets[last - 1, 1]),
                            chunks.type_names[kind]])
  with files.atomic_write(path) as file:
    for text, named in zip(sentences.texts, found, strict=True):
      file.write(json.dumps({"text": text, "entities": named}) + "\n")


def write_reports(directory: str, tagged: Tagged, most: int) -> list[str]:
  """`eval_report.txt` and `worst_sentences.txt`; returns their paths."""
  if tagged.counts is None:
    return []
  texts = {
      os.path.join(directory, "eval_report.txt"):
          f"{conlleval.report(tagged.counts)}\n{conlleval.seqeval_report(tagged.counts)}",
      os.path.join(directory, "worst_sentences.txt"): worst_sentences(tagged, most)}
  for path, text in texts.items():
    with files.atomic_write(path) as file:
      file.write(text)
  return list(texts)


def _tags_of(chunks: Chunks) -> list[str]:
  tags, names = write_tags(chunks, IOB2)
  return [names[tag] for tag in tags.tolist()]

"""Scores of entities beside the official ones: surface forms, seqeval's report, confusions of types, worst sentences.

Input: tags of the words of all sentences, right ones and guesses, as chunks (`data_gen/labelled/tag_schemes.py`) or as
counts (`conlleval.py`). Output: numbers and texts.

Letters: W words of all sentences, concatenated.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from bert_tf.evaluation.conlleval import ChunkCounts, scores
from data_gen.labelled.tag_schemes import Chunks

# What an entity is confused with where there is none between the same words.
NO_ENTITY = "(none)"
_DIGITS = 4


def surface_scores(words: Sequence[str], gold: Chunks, guess: Chunks) -> tuple[float, float, float]:
  """Precision, recall and F1 of the different (surface form, type) pairs, in percent, as WNUT-17 scores them.

  An entity counts once however often it is mentioned: what is measured is the breadth of what is found.
  """
  there, found = ({(" ".join(words[first:last]), name) for first, last, name in _named_spans(chunks)}
                  for chunks in (gold, guess))
  return scores(len(there & found), len(found), len(there))


def seqeval_report(counts: ChunkCounts, digits: int = _DIGITS) -> str:
  """The report of `seqeval.metrics.classification_report` in its default mode."""
  names = [*counts.types()]
  rows = [(name, *counts.of_type(name), counts.gold[name]) for name in names]
  support = counts.gold.total()
  values = np.array([row[1:4] for row in rows]).reshape(-1, 3)
  weights = np.array([counts.gold[name] for name in names], np.float64)
  weighted = values.T @ weights / support if support else np.zeros(3)
  rows += [("micro avg", *counts.overall(), support), ("macro avg", *(values.mean(0) if names else (0, 0, 0)), support),
           ("weighted avg", *weighted, support)]
  width = max(digits, *(len(row[0]) for row in rows))
  lines = [f"{'':>{width}}  {'precision':>9} {'recall':>9} {'f1-score':>9} {'support':>9}", ""]
  for number, (name, precision, recall, f1, size) in enumerate(rows):
    if number == len(names):
      lines.append("")
    shown = " ".join(f"{value / 100:>9.{digits}f}" for value in (precision, recall, f1))
    lines.append(f"{name:>{width}}  {shown} {size:>9}")
  return "\n".join(lines) + "\n"


def type_confusion(gold: Chunks, guess: Chunks) -> tuple[np.ndarray, list[str]]:
  """Confusions of types.

  Returns:
    matrix: int64 [C, C], rows the right type, columns the guess, of entities with the same borders; an entity that only
      one of them has is in the row or the column of `NO_ENTITY`, the last one.
    names: of the C classes.
  """
  names = sorted({*gold.type_names, *guess.type_names})
  number = {name: place for place, name in enumerate(names)}
  gold_types, guess_types = (
      {(first, last): number[name] for first, last, name in _named_spans(chunks)} for chunks in (gold, guess))
  matrix = np.zeros((len(names) + 1, len(names) + 1), np.int64)
  for span in gold_types.keys() | guess_types.keys():
    matrix[gold_types.get(span, len(names)), guess_types.get(span, len(names))] += 1
  return matrix, [*names, NO_ENTITY]


def sentence_errors(row_lengths: np.ndarray, gold: Chunks, guess: Chunks) -> np.ndarray:
  """Entities that are missing plus entities that are wrong, int64 [sentences], for sentences of `row_lengths` words."""
  ends = np.cumsum(row_lengths)
  wrong = _named_spans(gold) ^ _named_spans(guess)
  firsts = np.array([first for first, _, _ in wrong], np.int64)
  return np.bincount(np.searchsorted(ends, firsts, side="right"), minlength=len(row_lengths))


def worst_sentences(words: Sequence[str], row_lengths: np.ndarray, gold: Chunks, guess: Chunks, most: int,
                    where: Mapping[int, str] | None = None) -> str:
  """The sentences with the most errors, the worst first: two lines each, with the right entities and those found.

      3 errors
        right: [PER Jane Austen] was born in [LOC Steventon] .
        found: [ORG Jane] Austen was born in Steventon .

  `where`: sentence → what is put after the number of its errors, e.g. `file:line`.
  """
  errors = sentence_errors(row_lengths, gold, guess)
  ends = np.cumsum(row_lengths)
  blocks = []
  for sentence in np.argsort(-errors, kind="stable")[:most].tolist():
    if not errors[sentence]:
      break
    span = int(ends[sentence] - row_lengths[sentence]), int(ends[sentence])
    place = f"  {where[sentence]}" if where else ""
    blocks.append(f"{errors[sentence]} error{'s' if errors[sentence] > 1 else ''}{place}\n"
                  f"  right: {_bracketed(words, gold, *span)}\n  found: {_bracketed(words, guess, *span)}\n")
  return "\n".join(blocks)


def _named_spans(chunks: Chunks) -> set[tuple[int, int, str]]:
  return {(first, last, chunks.type_names[kind]) for first, last, kind in chunks.spans().tolist()}


def _bracketed(words: Sequence[str], chunks: Chunks, first: int, last: int) -> str:
  parts = []
  for place in range(first, last):
    opening = f"[{chunks.type_names[chunks.types[place]]} " if chunks.starts[place] else ""
    parts.append(f"{opening}{words[place]}{']' if chunks.ends[place] else ''}")
  return " ".join(parts)

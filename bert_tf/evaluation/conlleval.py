"""The official scorer of CoNLL-2000 and CoNLL-2003, `conlleval.pl` of 2004-01-26: the same report, byte for byte.

  python -m bert_tf.evaluation.conlleval < predictions.txt
  python -m bert_tf.evaluation.conlleval -d '\\t' < predictions.txt     # columns separated by tabs

    -r            tags are raw: types without B- and I-, every token a chunk of its own
    -d DELIMITER  a regular expression, instead of a single space
    -o TAG        with -r, the tag of what is outside of every chunk, instead of O

Input: columns, of which the last two are the right tag and the guess; a line without columns, or whose first is -X-,
ends a sentence. Output: the report.

A chunk starts at B, at I after O, and where the type changes. Tags that begin with S are no part of the script's
rules: convert IOBES first (`data_gen/labelled/tag_schemes.py`).

Further scores of entities are surface forms, seqeval's report, confusions of types, and the sentences with the most
errors. They read the tags of the W words of all sentences, concatenated, as chunks or as counts.
"""

import argparse
import dataclasses
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from bert_common import cli
from bert_common.errors import UserError
from data_gen.labelled.tag_schemes import Chunks

# What an entity is confused with where there is none between the same words.
NO_ENTITY = "(none)"
# A B-PER → prefix and type; hyphens may be in the type.
_TAG = re.compile(r"([^-]*)-(.*)")
# (previous prefix, prefix) that begin and end a chunk whatever the types.
_STARTS = frozenset(map(tuple, ("BB", "IB", "OB", "OI", "EE", "EI", "OE")))
_ENDS = frozenset(map(tuple, ("BB", "BO", "IB", "IO", "EE", "EI", "EO")))
_ALONE = ("[", "]")
_OUTSIDE = ("O", ".")


@dataclasses.dataclass
class ChunkCounts:
  """Counts that the scores are made of.

  Attributes:
    gold, guessed, correct: type → number of chunks: right ones, found ones, and found ones that are right.
  """

  tokens: int = 0
  correct_tags: int = 0
  gold: Counter[str] = dataclasses.field(default_factory=Counter)
  guessed: Counter[str] = dataclasses.field(default_factory=Counter)
  correct: Counter[str] = dataclasses.field(default_factory=Counter)

  def overall(self) -> tuple[float, float, float]:
    """Precision, recall and F1 of all types together, in percent."""
    return scores(self.correct.total(), self.guessed.total(), self.gold.total())

  def of_type(self, name: str) -> tuple[float, float, float]:
    """Precision, recall and F1 of a type, in percent."""
    return scores(self.correct[name], self.guessed[name], self.gold[name])

  def types(self) -> list[str]:
    """The types there are, sorted by their bytes."""
    return sorted({*self.gold, *self.guessed}, key=lambda name: name.encode("utf-8", "surrogateescape"))


def count_chunks(rows: Iterable[tuple[str, str] | None]) -> ChunkCounts:
  """Counts chunks as the script does, of (right tag, guess) for every token, None between sentences."""
  counts = ChunkCounts()
  last_gold = last_guess = ("O", "")
  in_correct = False
  for row in rows:
    gold, guess = ("O", ""), ("O", "")
    if row is not None:
      gold, guess = _parse(row[0]), _parse(row[1])
    (gold_ends, gold_starts), (guess_ends, guess_starts) = _borders(last_gold, gold), _borders(last_guess, guess)
    if in_correct:
      if gold_ends and guess_ends and last_gold[1] == last_guess[1]:
        in_correct = False
        counts.correct[last_gold[1]] += 1
      elif gold_ends != guess_ends or gold[1] != guess[1]:
        in_correct = False
    if gold_starts and guess_starts and gold[1] == guess[1]:
      in_correct = True
    if gold_starts:
      counts.gold[gold[1]] += 1
    if guess_starts:
      counts.guessed[guess[1]] += 1
    if row is not None:
      counts.tokens += 1
      counts.correct_tags += gold == guess
    last_gold, last_guess = gold, guess
  if in_correct:
    counts.correct[last_gold[1]] += 1
  return counts


def report(counts: ChunkCounts) -> str:
  """The report that the script prints."""
  types = counts.types()
  if "" in counts.gold and "" in counts.guessed:
    # The script's removal of duplicates takes "" for "none yet".
    types.insert(0, "")
  shown = "precision: %6.2f%%; recall: %6.2f%%; FB1: %6.2f"
  lines = [f"processed {counts.tokens} tokens with {counts.gold.total()} phrases; found: {counts.guessed.total()} "
           f"phrases; correct: {counts.correct.total()}.\n"]
  if counts.tokens:
    lines.append(f"accuracy: {100 * counts.correct_tags / counts.tokens:6.2f}%; {shown % counts.overall()}\n")
  for name in types:
    # To 17 bytes, as Perl counts them.
    padding = " " * (17 - len(name.encode("utf-8", "surrogateescape")))
    lines.append(f"{padding}{name}: {shown % counts.of_type(name)}  {counts.guessed[name]}\n")
  return "".join(lines)


def read_rows(lines: Iterable[str], delimiter: str = " ", raw: bool = False, outside: str = "O"
              ) -> Iterator[tuple[str, str] | None]:
  """Lines of columns → rows for `count_chunks`; the arguments are those of the command line.

  Raises:
    UserError: lines with different numbers of columns, or with one.
  """
  width = None
  split = re.compile(delimiter).split
  for number, line in enumerate(lines, 1):
    columns = split(line.removesuffix("\n"))
    # As in Perl: no empty columns at the end, so an empty line has none at all.
    while columns and not columns[-1]:
      columns.pop()
    if width is None and columns:
      width = len(columns)
    if columns and len(columns) != width:
      raise UserError(f"line {number}: unexpected number of features: {len(columns)} ({width})")
    if not columns or columns[0] == "-X-":
      yield None
      continue
    if len(columns) < 2:
      raise UserError(f"line {number}: unexpected number of features in line {line.rstrip()}: the right tag and the "
                      "guess are expected")
    gold, guess = columns[-2:]
    if raw:
      gold, guess = ("O" if tag in (outside, "O") else f"B-{tag}" for tag in (gold, guess))
    yield gold, guess


def main(arguments: Sequence[str] | None = None) -> int:
  """The command line, see above; returns the exit status."""
  parser = argparse.ArgumentParser("conlleval", description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("-r", dest="raw", action="store_true", help="tags are raw")
  parser.add_argument("-d", dest="delimiter", default=" ", help="a regular expression, instead of a single space")
  parser.add_argument("-o", dest="outside", default="O", help="with -r, the tag of what is outside of every chunk")
  options = parser.parse_args(arguments)
  # Whatever the bytes are, they come out as they went in.
  sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
  sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
  try:
    print(report(count_chunks(read_rows(sys.stdin, **vars(options)))), end="", flush=True)
  except (UserError, re.error) as error:
    print(f"conlleval: {error}", file=sys.stderr)
    return 2
  return 0


def _parse(tag: str) -> tuple[str, str]:
  """(prefix, type) of a tag; Perl takes "0" for no type."""
  match = _TAG.fullmatch(tag)
  if match is None:
    return tag, ""
  return match[1], "" if match[2] == "0" else match[2]


def _borders(last: tuple[str, str], tag: tuple[str, str]) -> tuple[bool, bool]:
  """Whether a chunk ends, and whether one starts, between two tags, (prefix, type) each."""
  prefixes, other = (last[0], tag[0]), last[1] != tag[1]
  return (prefixes in _ENDS or (last[0] not in _OUTSIDE and other) or last[0] in _ALONE,
          prefixes in _STARTS or (tag[0] not in _OUTSIDE and other) or tag[0] in _ALONE)


def scores(correct: int, guessed: int, gold: int) -> tuple[float, float, float]:
  """Precision, recall and F1, in percent, of counts of chunks."""
  precision = 100 * correct / guessed if guessed else 0.0
  recall = 100 * correct / gold if gold else 0.0
  return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def surface_scores(words: Sequence[str], gold: Chunks, guess: Chunks) -> tuple[float, float, float]:
  """Precision, recall and F1 of the different (surface form, type) pairs, in percent, as WNUT-17 scores them.

  An entity counts once however often it is mentioned: what is measured is the breadth of what is found.
  """
  there, found = ({(" ".join(words[first:last]), name) for first, last, name in _named_spans(chunks)}
                  for chunks in (gold, guess))
  return scores(len(there & found), len(found), len(there))


def seqeval_report(counts: ChunkCounts, digits: int = 4) -> str:
  """The report of `seqeval.metrics.classification_report` in its default mode."""
  names = counts.types()
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


def worst_sentences(words: Sequence[str], row_lengths: np.ndarray, gold: Chunks, guess: Chunks, most: int,
                    where: Mapping[int, str] | None = None) -> str:
  """The sentences with the most errors, the worst first: two lines each, with the right entities and those found.

      3 errors
        right: [PER Jane Austen] was born in [LOC Steventon] .
        found: [ORG Jane] Austen was born in Steventon .

  `where`: sentence → what is put after the number of its errors, e.g. `file:line`.
  """
  ends = np.cumsum(row_lengths)
  # Entities that are missing plus entities that are wrong.
  firsts = np.array([first for first, _, _ in _named_spans(gold) ^ _named_spans(guess)], np.int64)
  errors = np.bincount(np.searchsorted(ends, firsts, side="right"), minlength=len(row_lengths))
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


if __name__ == "__main__":
  sys.exit(cli.status_of(lambda: main(sys.argv[1:])))

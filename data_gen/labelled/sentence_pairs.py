"""Texts that belong together: pairs, triples with hard negatives, pairs with labels or scores, texts alone.

    train = read_columns("train.csv", "train_file", ("question", "answer"))

Input: TSV, CSV or JSON lines (`tables.py`), GLUE's STS-B, files like MNLI's and SQuAD's. Output: `SentencePairs`.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled import glue
from data_gen.labelled.labelled_files import parse_labels, read_named_columns
from data_gen.labelled.squad import read_squad
from data_gen.labelled.tables import Table, check_strings, first_items, first_row, numbered_lines, shown

# STS-B's scores are 0 to 5.
_HIGHEST_STS_SCORE = 5.0
_POSITIVE, _NEGATIVE = "entailment", "contradiction"


@dataclasses.dataclass(frozen=True)
class SentencePairs:
  """Examples of K texts each, in file order; E examples.

  Attributes:
    path: the file.
    columns: K lists of E texts: anchors, what belongs to them, then hard negatives; "" for a negative that is missing.
    labels: float32 [E], 0 to 1: whether, or how much, the first two belong together; None where they do, or it is not
      known.
  """

  path: str
  columns: list[list[str]]
  labels: np.ndarray | None = None

  def __len__(self) -> int:
    return len(self.columns[0])

  def first(self, count: int | None) -> "SentencePairs":
    """The first so many examples; all of them for None."""
    return dataclasses.replace(first_items(self, count, "labels"), columns=[texts[:count] for texts in self.columns])


def read_columns(path: str, flag: str, columns: Sequence[tuple[str, str]], label: tuple[str, str] | None = None,
                 highest_label: float = 1.0, only_classes: bool = False, file_format: str = "auto") -> SentencePairs:
  """Reads a file with a column for each text.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    columns: (name of a column, name of the flag that names it) of the anchor, what belongs to it, and hard negatives,
      which may be empty.
    label: the same of the score or label; None where there is none.
    highest_label: by which scores are divided.
    only_classes: labels are 0 and 1.

  Raises:
    UserError: names file and line: see `read_named_columns`; an empty text; a label that can't be.
  """
  table = read_named_columns(path, flag, [*columns, *([label] if label else [])], file_format)
  texts = table.columns[:len(columns)]
  for number, ((name, _), values) in enumerate(zip(columns, texts, strict=True)):
    check_strings(table, values, name)
    if number < 2:
      _check_filled(table, values, name)
  return SentencePairs(path, texts, _labels(table, highest_label, only_classes) if label else None)


def read_texts(path: str, flag: str, column: tuple[str, str] | None, file_format: str = "auto") -> SentencePairs:
  """Reads texts alone, each an anchor that belongs to itself; one a line where no column is named."""
  if column is not None:
    texts = read_columns(path, flag, [column], file_format=file_format).columns[0]
  else:
    texts = [text for _, line in numbered_lines(path, flag) if (text := line.strip())]
  if not texts:
    raise UserError(f"{path} is empty: one text per line is expected")
  return SentencePairs(path, [texts, texts])


def read_sts_b(data_dir: str, split: str, path: str | None) -> SentencePairs:
  """Reads a split of GLUE's STS-B; arguments and errors as of `glue.read_split`."""
  found = glue.read_split(glue.find_task("sts-b"), data_dir, split, path)
  labels = None if found.labels is None else found.labels / np.float32(_HIGHEST_STS_SCORE)
  return SentencePairs(found.path, [found.text_a, found.text_b or []], labels)


def read_nli(path: str, flag: str, columns: Sequence[tuple[str, str]], file_format: str = "auto") -> SentencePairs:
  """Reads natural-language inference: a premise and what it entails; what contradicts it is a hard negative.

  Each entailed hypothesis is an example. Its negative is a contradiction of the same premise, one after the other where
  there are several; other labels are passed over.

  Args:
    path, flag: as of `read_columns`.
    columns: of premise, hypothesis and label.

  Raises:
    UserError: see `read_named_columns`; no row is an entailment.
  """
  table = read_named_columns(path, flag, list(columns), file_format)
  for (name, _), values in zip(columns, table.columns, strict=True):
    check_strings(table, values, name)
  hypotheses: dict[str, dict[str, list[str]]] = defaultdict(lambda: {_POSITIVE: [], _NEGATIVE: []})
  for premise, hypothesis, label in zip(*table.columns, strict=True):
    if label in (_POSITIVE, _NEGATIVE) and premise.strip() and hypothesis.strip():
      hypotheses[premise][label].append(hypothesis)
  rows = [(premise, positive, of_it[_NEGATIVE][number % len(of_it[_NEGATIVE])] if of_it[_NEGATIVE] else "")
          for premise, of_it in hypotheses.items() for number, positive in enumerate(of_it[_POSITIVE])]
  if not rows:
    raise UserError(f"{path}: no row is labelled {_POSITIVE!r} (column {shown(columns[2][0])})")
  return SentencePairs(path, [list(column) for column in zip(*rows, strict=True)])


def read_questions(path: str, flag: str) -> SentencePairs:
  """Reads questions and their paragraphs from a file in SQuAD's layout; what its paragraph does not answer is left out.

  Raises:
    UserError: see `read_squad`; no question is left.
  """
  data = read_squad(path, flag)
  pairs = [(question.text, data.contexts[question.context]) for question in data.questions
           if not question.is_impossible and question.text.strip() and data.contexts[question.context].strip()]
  if not pairs:
    raise UserError(f"--{flag}: {path} has no question that its paragraph answers")
  return SentencePairs(path, [list(texts) for texts in zip(*pairs, strict=True)])


def _check_filled(table: Table, values: list[str], name: str) -> None:
  row = first_row(values, lambda text: not text.strip())
  if row is not None:
    raise UserError(f"{table.where(row)}: the text is empty (column {shown(name)}): remove the row or fill it in")


def _labels(table: Table, highest: float, only_classes: bool) -> np.ndarray:
  values = table.columns[-1]
  labels = parse_labels(table, values, None, regression=True)
  row = first_row(labels.tolist(), lambda label: label not in (0, 1) if only_classes else abs(label) > highest)
  if row is not None:
    expected = "0 or 1 is expected" if only_classes else (
        f"at most {highest:g} is expected; if scores are higher, give the highest as --highest_score")
    raise UserError(f"{table.where(row)}: the label is {shown(values[row])}, {expected}")
  return labels / np.float32(1.0 if only_classes else highest)

"""Labelled texts: one split of a task as lists of texts and an array of labels, from custom files.

    labels = labels_of_file("train.csv", "train_file", "label")
    train = read_labelled_file("train.csv", "train_file", text_a_column="text", label_column="label", labels=labels)

Input: TSV, CSV or JSON lines (`tables.py`), gzipped or not, on any file system. Output: `LabelledTexts`, for
`pair_features.py`. The official GLUE files are read by `glue.py`.
"""

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_common.errors import UserError
from bert_common.options import whole_number
from data_gen.labelled.tables import (
  Table,
  check_strings,
  first_items,
  first_row,
  format_of,
  no_column,
  read_json_lines,
  read_table,
  shown,
)

_SHOWN_LABELS = 20
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")


@dataclasses.dataclass(frozen=True)
class LabelledTexts:
  """Examples of one split, in file order; E examples.

  Attributes:
    path: the file.
    ids: what an example is called in outputs: GLUE's "index" (QQP's "id") where the file has one, else "0", "1", …
    text_a: E texts.
    text_b: E second texts, "" where an example has none; None for a task of single sentences.
    labels: int32 [E], class numbers; float32 [E], scores, for regression; uint8 [E, C], 1 for each class of an
      example, where it may have several; None for an unlabelled split.
    num_skipped: malformed rows left out; only of files that are known for them (see `glue.py`).
  """

  path: str
  ids: list[str]
  text_a: list[str]
  text_b: list[str] | None
  labels: np.ndarray | None
  num_skipped: int = 0

  def __len__(self) -> int:
    return len(self.text_a)

  def first(self, count: int | None) -> "LabelledTexts":
    """The first so many examples; all of them for None."""
    return first_items(self, count, "ids", "text_a", "text_b", "labels")


@dataclasses.dataclass(frozen=True)
class Columns:
  """Columns of the texts and the label: names in the header or, if all are numbers, counted from 0 in a file without a
  header. In JSON lines they are keys.

  Attributes:
    text_a: the text, or the first of the pair.
    text_b: the second text of the pair.
    label: the class, or the score.
  """

  text_a: str
  text_b: str | None = None
  label: str | None = None

  def named(self) -> list[tuple[str, str]]:
    """(name, name of the flag that names it) of the columns that are read."""
    return [(str(name), f"{field.name}_column") for field in dataclasses.fields(self)
            if (name := getattr(self, field.name)) is not None]


def read_labelled_file(
    path: str, flag: str, *, text_a_column: str, text_b_column: str | None = None, label_column: str | None = None,
    labels: Sequence[str] | None, regression: bool = False, separator: str | None = None,
    file_format: str = "auto") -> LabelledTexts:
  """Reads a file of examples.

  TSV: one row per line, quotation marks are literal. CSV: quoted as RFC 4180 says. JSON lines: one object per line. A
  byte order mark and CRLF are accepted, as are blank lines. Columns are found by the names in the first row; if all of
  them are given by number, the file has no header.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    text_a_column, text_b_column, label_column: names of columns; an example with an empty second text has one text.
    labels: the classes; the number of a label is its place here. Not used without `label_column` or for regression.
    regression: labels are numbers.
    separator: of several labels of an example; None where each has one. In JSON lines they may be a list, too.
    file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

  Raises:
    UserError: names file and line: no examples, not UTF-8, a column that is not there or there twice, a row with
      another number of fields than the first, an empty first text, a label that is not in `labels` or no finite number,
      or a JSON line without a key or with a value of another type.
  """
  columns = Columns(text_a_column, text_b_column, label_column)
  table = read_named_columns(path, flag, columns.named(), file_format)
  texts = table.columns[:1 if text_b_column is None else 2]
  for values, (name, _) in zip(texts, columns.named(), strict=False):
    check_strings(table, values, name)
  row = first_row(texts[0], lambda text: not text.strip())
  if row is not None:
    raise UserError(f"{table.where(row)}: the text is empty (column {shown(text_a_column)}): remove the row or fill it "
                    "in")
  numbers = None
  if label_column is not None:
    numbers = parse_labels(table, table.columns[-1], labels, regression, separator)
  ids = list(map(str, range(len(texts[0]))))
  return LabelledTexts(path, ids, texts[0], texts[1] if text_b_column is not None else None, numbers)


def labels_of_file(path: str, flag: str, label_column: str, file_format: str = "auto", separator: str | None = None
                   ) -> list[str]:
  """The different labels of a file, sorted; by value if all are whole numbers. White space around them is dropped.

  Raises:
    UserError: as `read_labelled_file`; fewer than two labels, or none at all where an example may have several; or the
      first row of a file read by column numbers looks like a header.
  """
  table = read_named_columns(path, flag, [(str(label_column), "label_column")], file_format)
  sets = _label_sets(table, table.columns[0], separator)
  counts = Counter(label for names in sets for label in names)
  if not counts:
    raise UserError(f"{path}: no example has a label (column {shown(label_column)})")
  if len(counts) < 2 and separator is None:
    raise UserError(f"{path}: every example has the label {shown(sets[0][0])}: at least two classes are expected "
                    f"(column {shown(label_column)})")
  first = sets[0][0] if len(sets[0]) == 1 else ""
  others = [count for label, count in counts.items() if label != first]
  # By number, a header passes for an example, and would add a class.
  if (str(label_column).isdecimal() and table.lines[0] == 1 and counts.get(first) == 1
      and min(others, default=0) > 1):
    raise UserError(f"{path}:1: the label {shown(first)} occurs nowhere else: this looks like a header. Name the "
                    "columns as it does, or remove it")
  if all(map(_WHOLE_NUMBER.fullmatch, counts)):
    return sorted(counts, key=lambda label: (whole_number(label), label))
  return sorted(counts)


def parse_labels(table: Table, values: list, labels: Sequence[str] | None, regression: bool,
                 separator: str | None = None) -> np.ndarray:
  """int32 [E], places in `labels`; or float32 [E], scores, for regression; or uint8 [E, C] for several labels.

  Args:
    table: where the values come from, for errors.
    values: a column of it.
    labels: names of the classes; used unless `regression`.
    regression: the values are numbers.
    separator: of several labels of an example, see `read_labelled_file`.

  Raises:
    UserError: names the first bad value, with file and line.
  """
  if regression:
    return _scores(table, values)
  labels = labels or ()
  known = {label: number for number, label in enumerate(labels)}
  sets = _label_sets(table, values, separator)
  rows = np.repeat(np.arange(len(sets)), list(map(len, sets)))
  names = [name for names in sets for name in names]
  numbers = list(map(known.get, names))
  if None in numbers:
    place = numbers.index(None)
    more = f" and {len(labels) - _SHOWN_LABELS} more" if len(labels) > _SHOWN_LABELS else ""
    raise UserError(f"{table.where(int(rows[place]))}: the label {shown(names[place])} is not known; the labels are "
                    f"{', '.join(map(shown, labels[:_SHOWN_LABELS]))}{more}")
  if separator is None:
    return np.array(numbers, np.int32)
  chosen = np.zeros((len(sets), len(labels)), np.uint8)
  chosen[rows, np.array(numbers, np.int64)] = 1
  return chosen


def read_named_columns(path: str, flag: str, named: list[tuple[str, str]], file_format: str = "auto") -> Table:
  """The columns of a TSV, CSV or JSON-lines file, as `read_labelled_file` finds them.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    named: (name of a column, name of the flag that names it).
    file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

  Raises:
    UserError: see `tables.py`; or a column that is not there, or there twice.
  """
  file_format = format_of(path, flag, file_format)
  if file_format == "jsonl":
    return read_json_lines(path, flag, named)
  return read_table(path, flag, file_format, lambda first_row: _locate(path, first_row, named))


def _locate(path: str, first_row: list[str], named: list[tuple[str, str]]) -> tuple[list[int], bool]:
  """(numbers of the named columns, whether the first row is a header)."""
  names = [name.strip() for name in first_row]
  by_number = all(name.isdecimal() for name, _ in named)
  numbers = []
  for name, asked_by in named:
    if by_number and whole_number(name) < len(names):
      numbers.append(int(name))
    elif by_number:
      raise UserError(f"{path}:1: no column number {name} (--{asked_by}): the first row has {len(names)}, counted "
                      "from 0")
    elif name not in names:
      raise UserError(f"{no_column(f'{path}:1', name, asked_by, names)}. If this is no header, give the columns by "
                      "number, counted from 0")
    elif names.count(name) > 1:
      raise UserError(f"{path}:1: {names.count(name)} columns are called {shown(name)} (--{asked_by}): rename all but "
                      "one")
    else:
      numbers.append(names.index(name))
  return numbers, not by_number


def _label_names(table: Table, values: list) -> list[str]:
  """Labels as str, also those that are numbers or truth values in JSON."""
  row = first_row(values, lambda value: type(value) not in (str, int, bool))
  if row is not None:
    raise UserError(f"{table.where(row)}: a label must be a string or a whole number, not {shown(values[row])} "
                    "(are these scores? then --regression; several labels? then --multi_label)")
  names = [value.strip() if type(value) is str else json.dumps(value) for value in values]
  if "" in names:
    raise UserError(f"{table.where(names.index(''))}: the label is empty")
  return names


def _label_sets(table: Table, values: list, separator: str | None) -> list[list[str]]:
  """The labels of each example: one without a separator; else any number, of a text what is between separators, of a
  list in JSON its parts."""
  if separator is None:
    return [[name] for name in _label_names(table, values)]
  parts = [value.split(separator) if type(value) is str else value if type(value) is list else [value]
           for value in values]
  rows = [row for row, names in enumerate(parts) for _ in names]
  flat = [name for names in parts for name in names]
  # Two separators in a row, or one at the end, are no label.
  keep = [place for place, name in enumerate(flat) if type(name) is not str or name.strip()]
  names = _label_names(dataclasses.replace(table, lines=[table.lines[rows[place]] for place in keep]),
                       [flat[place] for place in keep])
  sets: list[list[str]] = [[] for _ in values]
  for place, name in zip(keep, names, strict=True):
    sets[rows[place]].append(name)
  return sets


def _scores(table: Table, values: list) -> np.ndarray:
  scores = np.array([_score(value) for value in values], np.float64)
  with np.errstate(over="ignore"):
    scores = scores.astype(np.float32)
  bad = np.flatnonzero(~np.isfinite(scores))
  if len(bad):
    raise UserError(f"{table.where(bad[0])}: the score {shown(values[bad[0]])} is not a finite number")
  return scores


def _score(value: Any) -> float:
  """NaN for what is not a number."""
  try:
    return float(value) if type(value) in (str, int, float) else float("nan")
  except (ValueError, OverflowError):
    return float("nan")

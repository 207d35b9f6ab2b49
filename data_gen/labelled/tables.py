"""Columns of TSV, CSV and JSON-lines files, with the line each row stands on; and labelled texts made of them.

    labels = labels_of_file("train.csv", "train_file", "label")
    train = read_labelled_file("train.csv", "train_file", text_a_column="text", label_column="label", labels=labels)

Input: a file on any file system, gzipped or not. Output: `Table`, which the readers beside this one interpret, or
`LabelledTexts`, for `pair_features.py`. The official GLUE files are read by `glue.py`.
"""

import csv
import dataclasses
import json
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import IO, Any

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError, did_you_mean

_FORMATS_BY_EXTENSION = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
FORMATS = ("auto", "tsv", "csv", "jsonl")

_JSON_OPEN = re.compile(r'\s*\{\s*["}]')
_BOM = b"\xef\xbb\xbf"
# A text may be a whole document (Python's csv refuses fields of more than 128 KiB by default); a longer line is a file
# of another kind, or has no end.
_LONGEST_LINE = 256 << 20
# Values and lists of names in messages.
_SHOWN_CHARACTERS = 60
_SHOWN_COLUMNS = 30
_SHOWN_LABELS = 20


@dataclasses.dataclass(frozen=True)
class Table:
  """Some columns of a file, all rows; E rows.

  Attributes:
    path: the file.
    lines: [E], the line (from 1) that each row begins on.
    columns: in the order asked for, each a list of E values: str, and in JSON lines whatever stands there.
    num_skipped: rows left out because of their number of fields.
  """

  path: str
  lines: Sequence[int]
  columns: list[list]
  num_skipped: int = 0

  def where(self, row: int) -> str:
    """`file:line` of a row."""
    return f"{self.path}:{self.lines[row]}"


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


def read_labelled_file(
    path: str, flag: str, *, text_a_column: str, text_b_column: str | None = None, label_column: str | None = None,
    labels: Sequence[str] | None, regression: bool = False, separator: str | None = None,
    file_format: str = "auto") -> LabelledTexts:
  """Reads a file of examples; the columns are found as by `read_named_columns`.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    text_a_column, text_b_column, label_column: names of columns; an example with an empty second text has one text.
    labels: the classes; the number of a label is its place here. Not used without `label_column` or for regression.
    regression: labels are numbers.
    separator: of several labels of an example; None where each has one. In JSON lines they may be a list, too.
    file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

  Raises:
    UserError: names file and line: as `read_named_columns`; an empty first text, a label that is not in `labels` or no
      finite number.
  """
  named = [(str(name), f"{kind}_column") for kind, name in (
      ("text_a", text_a_column), ("text_b", text_b_column), ("label", label_column)) if name is not None]
  table = read_named_columns(path, flag, named, file_format)
  texts = table.columns[:1 if text_b_column is None else 2]
  for values, (name, _) in zip(texts, named, strict=False):
    check_strings(table, values, name, may_be_empty=values is not texts[0])
  numbers = None if label_column is None else parse_labels(table, table.columns[-1], labels, regression, separator)
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
  if len(counts) < (2 if separator is None else 1):
    what = f"every example has the label {shown(sets[0][0])}: at least two classes are expected" if counts else (
        "no example has a label")
    raise UserError(f"{path}: {what} (column {shown(label_column)})")
  first = sets[0][0] if len(sets[0]) == 1 else ""
  others = [count for label, count in counts.items() if label != first]
  # By number, a header passes for an example, and would add a class.
  if (str(label_column).isdecimal() and table.lines[0] == 1 and counts.get(first) == 1
      and min(others, default=0) > 1):
    raise UserError(f"{path}:1: the label {shown(first)} occurs nowhere else: this looks like a header. Name the "
                    "columns as it does, or remove it")
  by_value = all(re.fullmatch(r"[-+]?[0-9]{1,18}", label) for label in counts)
  return sorted(counts, key=lambda label: (int(label), label)) if by_value else sorted(counts)


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


def _scores(table: Table, values: list) -> np.ndarray:
  """float32 [E]."""
  scores = np.full(len(values), np.nan, np.float32)
  for row, value in enumerate(values):
    try:
      scores[row] = value if type(value) is not bool and abs(float(value)) < 1e38 else np.nan
    except (TypeError, ValueError, OverflowError):
      pass
    if np.isnan(scores[row]):
      raise UserError(f"{table.where(row)}: the score {shown(value)} is not a finite number")
  return scores


def _label_sets(table: Table, values: list, separator: str | None) -> list[list[str]]:
  """The labels of each example as str: one without a separator; else any number, of a text what is between separators,
  of a list in JSON its parts. Two separators in a row, or one at the end, are no label."""
  sets = []
  for row, value in enumerate(values):
    parts = [value]
    if separator is not None:
      parts = value.split(separator) if type(value) is str else value if type(value) is list else parts
      parts = [part for part in parts if type(part) is not str or part.strip()]
    for part in parts:
      if type(part) not in (str, int, bool):
        raise UserError(f"{table.where(row)}: a label must be a string or a whole number, not {shown(part)} "
                        "(are these scores? then --regression; several labels? then --multi_label)")
    names = [part.strip() if type(part) is str else json.dumps(part) for part in parts]
    if "" in names:
      raise UserError(f"{table.where(row)}: the label is empty")
    sets.append(names)
  return sets


# ----------------------------------------------------------------------------------------------- columns of a file


def read_named_columns(path: str, flag: str, named: list[tuple[str, str]], file_format: str = "auto") -> Table:
  """The columns of these names of a TSV, CSV or JSON-lines file.

  Columns are found by the names in the first row; if all of them are given by number, counted from 0, the file has no
  header. In JSON lines they are keys.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    named: (name of a column, name of the flag that names it).
    file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

  Raises:
    UserError: as `read_table` or `read_json_lines`; a column is not there, or there twice; the name does not show the
      format.
  """
  if file_format == "auto":
    extension = os.path.splitext(path.removesuffix(".gz"))[1].lower()
    if extension not in _FORMATS_BY_EXTENSION:
      raise UserError(f"--{flag}: the name of {path} does not show its format (.tsv, .csv or .jsonl would): "
                      "rename it, or give --file_format")
    file_format = _FORMATS_BY_EXTENSION[extension]
  if file_format == "jsonl":
    return read_json_lines(path, flag, named)
  by_number = all(name.isdecimal() for name, _ in named)

  def locate(first_row: list[str]) -> tuple[list[int], bool]:
    names = [name.strip() for name in first_row]
    numbers = []
    for name, asked_by in named:
      if by_number and int(name) >= len(names):
        raise UserError(f"{path}:1: no column number {name} (--{asked_by}): the first row has {len(names)}, counted "
                        "from 0")
      if not by_number and name not in names:
        raise UserError(f"{no_column(f'{path}:1', name, asked_by, names)}. If this is no header, give the columns by "
                        "number, counted from 0")
      if not by_number and names.count(name) > 1:
        raise UserError(f"{path}:1: {names.count(name)} columns are called {shown(name)} (--{asked_by}): rename all "
                        "but one")
      numbers.append(int(name) if by_number else names.index(name))
    return numbers, not by_number

  return read_table(path, flag, file_format, locate)


def read_table(path: str, flag: str, file_format: str, locate: Callable[[list[str]], tuple[list[int], bool]],
               skip_misfits: bool = False, allow_longer: bool = False) -> Table:
  """Reads some columns of a TSV or CSV file.

  In TSV a line is a row and quotation marks are characters like any other; CSV is quoted as RFC 4180 says. A byte
  order mark is ignored, lines end with LF or CRLF, blank lines between rows of several columns are passed over.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    file_format: "tsv" or "csv".
    locate: gets the fields of the first row; returns the numbers of the columns to keep and whether that row is a
      header. Every other row must have as many fields.
    skip_misfits: leave out rows with another number of fields, instead of refusing them.
    allow_longer: accept rows with more fields.

  Raises:
    UserError: the file can't be read, holds no row, is not UTF-8, or a row has another number of fields; or from
      `locate`.
  """
  rows = (_csv_rows if file_format == "csv" else _tsv_rows)(path, numbered_lines(path, flag))
  first = next(rows, None)
  if first is None:
    raise UserError(f"{path} is empty: rows of examples are expected")
  line, fields = first
  numbers, has_header = locate(fields)
  width = len(fields)
  pick = _picker(numbers)
  lines, picked, num_skipped = array("q"), [], 0
  if not has_header:
    lines.append(line)
    picked.append(pick(fields))
  for line, fields in rows:
    if len(fields) != width and not (allow_longer and len(fields) > width):
      if not skip_misfits:
        hint = "quote fields that hold commas" if file_format == "csv" else "texts must not hold tabs"
        raise UserError(f"{path}:{line}: {width} columns expected, as in the first row, but {len(fields)} found: "
                        f"{hint} or line breaks")
      num_skipped += 1
      continue
    lines.append(line)
    picked.append(pick(fields))
  if not picked:
    raise UserError(f"{path} has a header and no examples below it")
  return Table(path, lines, [list(column) for column in zip(*picked, strict=True)], num_skipped)


def read_json_lines(path: str, flag: str, keys: Sequence[tuple[str, str]]) -> Table:
  """Reads some values of a file with one JSON object per line; blank lines are passed over.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    keys: (name of a key, name of the flag that asks for it) of each column.

  Raises:
    UserError: the file can't be read, holds no object, is not UTF-8, or a line is not a JSON object with all the keys.
  """
  pick = _picker([name for name, _ in keys])
  lines, picked = array("q"), []
  for line, text in numbered_lines(path, flag):
    if not text.strip():
      continue
    value = json_object(text, path, line)
    try:
      picked.append(pick(value))
    except KeyError:
      missing, asked_by = next(key for key in keys if key[0] not in value)
      raise UserError(no_column(f"{path}:{line}", missing, asked_by, list(value))) from None
    lines.append(line)
  if not picked:
    raise UserError(f"{path} is empty: one JSON object per line is expected")
  return Table(path, lines, [list(column) for column in zip(*picked, strict=True)])


def first_items(examples: Any, count: int | None, *names: str) -> Any:
  """A copy of a dataclass whose fields of these names have their first `count` items only, where they are not None."""
  return dataclasses.replace(examples, **{name: values[:count] for name in names
                                          if (values := getattr(examples, name)) is not None})


def check_strings(table: Table, values: list, column: str, may_be_empty: bool = True) -> None:
  """Raises `UserError` for the first value that is no string, as JSON may hold anything, or an empty one."""
  for row, value in enumerate(values):
    if type(value) is not str:
      raise UserError(f"{table.where(row)}: {shown(column)} must be a string, not {shown(value)}")
    if not may_be_empty and not value.strip():
      raise UserError(f"{table.where(row)}: the text is empty (column {shown(column)}): remove the row or fill it in")


def no_column(where: str, column: str, asked_by: str, columns: Sequence[str]) -> str:
  """The message for a column that is not there."""
  listed = ", ".join(shown(name) for name in columns[:_SHOWN_COLUMNS])
  more = f" and {len(columns) - _SHOWN_COLUMNS} more" if len(columns) > _SHOWN_COLUMNS else ""
  near = did_you_mean(column, columns)
  return (f"{where}: no column {shown(column)} (--{asked_by}){near or ';'} {'The' if near else 'the'} columns are "
          f"{listed or 'none'}{more}")


def shown(value: object) -> str:
  """A value as messages quote it: on one line, and not for ever."""
  text = repr(value)
  return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def json_object(text: str, path: str, line: int) -> dict:
  """The object that a line holds; `UserError` that names path and line where it holds none."""
  value = json_files.parse(text, path, line)
  if not isinstance(value, dict):
    raise UserError(f"{path}:{line}: one JSON object per line is expected, not {shown(value)}")
  return value


def looks_like_json(line: str) -> bool:
  """Whether the line starts as a JSON object does."""
  return bool(_JSON_OPEN.match(line))


def _picker(keys: Sequence) -> Callable[[Any], tuple]:
  get: Callable[[Any], Any] = itemgetter(*keys)
  return get if len(keys) > 1 else lambda row: (get(row),)


def _tsv_rows(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
  """(line it begins on, fields) of every row."""
  blank_lines: list[int] = []
  width = None
  for line, text in lines:
    # Only these end a line: str.splitlines() would also cut at U+0085 or U+2028 inside a text.
    text = text.rstrip("\r\n")
    if not text:
      blank_lines.append(line)
      continue
    fields = text.split("\t")
    if width == 1:
      # In a single column, a blank line with something after it is an empty value.
      yield from ((blank, [""]) for blank in blank_lines)
    width = width or len(fields)
    blank_lines.clear()
    yield line, fields


def _csv_rows(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
  reader = csv.reader((text for _, text in lines), strict=True)
  limit = csv.field_size_limit(_LONGEST_LINE)
  line = 1
  try:
    for fields in reader:
      if fields:
        yield line, fields
      line = reader.line_num + 1
  except csv.Error as error:
    hint = "a quotation mark is not closed" if "unexpected end" in str(error) else str(error)
    raise UserError(f"{path}:{line}: not CSV: {hint} (inside quotes, a quotation mark is written twice)") from None
  finally:
    csv.field_size_limit(limit)


def numbered_lines(path: str, flag: str) -> Iterator[tuple[int, str]]:
  """(line number from 1, text with its line end) of every line, without a byte order mark.

  Raises:
    UserError: the file can't be read or is not UTF-8.
  """
  files.check_readable(path, flag)
  with files.faults_named(path), files.open_unzipped(path) as (_, file):
    yield from decoded_lines(file, path)


def decoded_lines(file: IO[bytes], where: str) -> Iterator[tuple[int, str]]:
  """`numbered_lines` of an open file, or of the standard input; `where` is its name, for errors."""
  for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), 1):
    if len(line) > _LONGEST_LINE:
      raise UserError(f"{where}:{number}: longer than {_LONGEST_LINE >> 20} MiB: a file of lines is expected")
    if number == 1:
      line = line.removeprefix(_BOM)
    try:
      yield number, line.decode("utf-8")
    except UnicodeDecodeError as error:
      raise UserError(f"{where}:{number}: byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8: "
                      "save the file as UTF-8") from None

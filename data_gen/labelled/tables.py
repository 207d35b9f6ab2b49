"""Columns of TSV, CSV and JSON-lines files, with the line each row stands on.

Input: a file on any file system, gzipped or not. Output: `Table`; `labelled_files.py` and `glue.py` say what the
columns mean.
"""

import csv
import dataclasses
import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from bert_common import files, gzipped, json_files
from bert_common.errors import UserError, did_you_mean

_FORMATS_BY_EXTENSION = {".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
FORMATS = ("auto", "tsv", "csv", "jsonl")

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
# Python's csv refuses fields of more than 128 KiB unless told otherwise; a text may be a whole document.
_LONGEST_FIELD = 1 << 30
# Values and lists of names in messages.
_SHOWN_CHARACTERS = 60
_SHOWN_COLUMNS = 30


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


def format_of(path: str, flag: str, file_format: str = "auto") -> str:
  """"tsv", "csv" or "jsonl".

  Raises:
    UserError: the name does not tell, or `file_format` is none of `FORMATS`.
  """
  if file_format not in FORMATS:
    raise UserError(f"--file_format={file_format} is not known: choose one of {', '.join(FORMATS)}")
  if file_format != "auto":
    return file_format
  extension = os.path.splitext(path.removesuffix(".gz"))[1].lower()
  if extension not in _FORMATS_BY_EXTENSION:
    raise UserError(f"--{flag}: the name of {path} does not show its format (.tsv, .csv or .jsonl would): "
                    "rename it, or give --file_format")
  return _FORMATS_BY_EXTENSION[extension]


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
  rows = _rows(path, flag, file_format)
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
  """Reads some values of a file of JSON objects, one a line; blank lines are passed over.

  Args:
    path: the file.
    flag: name of the flag it came from, for errors.
    keys: (name of a key, name of the flag that asks for it) of each column.

  Raises:
    UserError: the file can't be read, holds no object, is not UTF-8, or a line is not a JSON object with all the keys.
  """
  names = [name for name, _ in keys]
  pick = _picker(names)
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


def first_row(values: Sequence, is_wrong: Callable[[Any], bool]) -> int | None:
  """The first row whose value is wrong, None where none is."""
  return next((row for row, value in enumerate(values) if is_wrong(value)), None)


def check_strings(table: Table, values: list, column: str) -> None:
  """Raises `UserError` for the first value that is no string: JSON may hold anything."""
  row = first_row(values, lambda value: type(value) is not str)
  if row is not None:
    raise UserError(f"{table.where(row)}: {shown(column)} must be a string, not {shown(values[row])}")


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


def _picker(keys: Sequence) -> Callable[[Any], tuple]:
  get: Callable[[Any], Any] = itemgetter(*keys)
  return get if len(keys) > 1 else lambda row: (get(row),)


def _rows(path: str, flag: str, file_format: str) -> Iterator[tuple[int, list[str]]]:
  """(line it begins on, fields) of every row."""
  lines = numbered_lines(path, flag)
  if file_format == "csv":
    yield from _csv_rows(path, lines)
    return
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


def _csv_rows(path: str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
  reader = csv.reader((text for _, text in lines), strict=True)
  limit = csv.field_size_limit(_LONGEST_FIELD)
  try:
    while True:
      line = reader.line_num + 1
      try:
        fields = next(reader)
      except StopIteration:
        return
      except csv.Error as error:
        hint = "a quotation mark is not closed" if "unexpected end" in str(error) else str(error)
        raise UserError(f"{path}:{line}: not CSV: {hint} (inside quotes, a quotation mark is written twice)") from None
      if fields:
        yield line, fields
  finally:
    csv.field_size_limit(limit)


def numbered_lines(path: str, flag: str) -> Iterator[tuple[int, str]]:
  """(line number from 1, text with its line end) of every line, without a byte order mark.

  Raises:
    UserError: the file can't be read or is not UTF-8.
  """
  files.check_readable(path, flag)
  with gzipped.faults_named(path), gzipped.open_unzipped(path) as (_, file):
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_FIELD + 1), b""), 1):
      if len(line) > _LONGEST_FIELD:
        raise UserError(f"{path}:{number}: longer than {_LONGEST_FIELD >> 20} MiB: rows of examples are expected")
      if number == 1:
        if line.startswith(_UTF16_BOMS):
          raise UserError(f"{path} is UTF-16: convert it first, e.g. iconv -f UTF-16 -t UTF-8")
        line = line.removeprefix(_BOM)
      try:
        text = line.decode("utf-8")
      except UnicodeDecodeError as error:
        raise UserError(f"{path}:{number}: byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not "
                        "UTF-8: save the file as UTF-8") from None
      yield number, text


def json_object(text: str, path: str, line: int) -> dict:
  """The object that a line holds; `UserError` that names path and line where it holds none, or what is no text."""
  value = json_files.parse(text, path, line)
  if not isinstance(value, dict):
    raise UserError(f"{path}:{line}: one JSON object per line is expected, not {shown(value)}")
  if "\\u" in text:
    json_files.check_text(value, f"{path}:{line}: ")
  return value

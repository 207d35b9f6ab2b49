"""Columns of TSV, CSV and JSON-lines files, with the line that each row begins on; and labeled
texts made of them.

    columns = {"text_a_column": "text", "label_column": "label"}
    train = read_labelled_file("train.csv", "train_file", **columns)
    dev = read_labelled_file("dev.csv", "dev_file", **columns, labels=train.label_names)

Input: a file on any file system, gzipped or not; `read_rows` is the one place that opens it.
Output: `Table`, which the other readers of this package interpret, or `LabelledTexts`, for
`pair_features.py`. The official GLUE files are read by `glue.py`.
"""

import csv
import dataclasses
import functools
import itertools
import json
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import IO, Any, NamedTuple

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError, did_you_mean
from data_gen.labelled.rows import BadRows, File, LabelledFile, items_of

_FORMATS_BY_EXTENSION = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
FORMATS = ("auto", "tsv", "csv", "jsonl")

# Matches lines that start like a JSON object.
looks_like_json = re.compile(r'\s*\{\s*["}]').match
_BOM = b"\xef\xbb\xbf"
# float() accepts more than this, e.g. 1_0 and the digits of all scripts.
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_COLUMN_NUMBER = re.compile(r"[0-9]{1,9}")
# A text may be a whole document, so that the default limit of Python's csv (128 KiB per field) is
# too low. A longer line means another kind of file, or one without end.
_LONGEST_LINE = 256 << 20
# Limits of values and of lists of names in messages.
_MAX_QUOTED_CHARACTERS = 60
_MAX_LISTED_NAMES = 20


class Layout(NamedTuple):
    """The columns to read of a TSV or CSV file.

    Attributes:
      names: name of each column, for the caller.
      numbers: number of each column in the file, from 0.
      has_header: the first row is a header, not an example.
    """

    names: Sequence[str]
    numbers: Sequence[int]
    has_header: bool


@dataclasses.dataclass(frozen=True)
class Table:
    """Some columns of a file with E rows, bad rows included.

    Attributes:
      bad: path of the file and the faults of its rows; callers add what they find in the columns.
      lines: [E], the line (from 1) that each row begins on.
      names: names of the columns.
      columns: in the same order, each a list of E values: str, or any JSON value in JSON lines. The
        values of a bad row are arbitrary.
    """

    bad: BadRows
    lines: Sequence[int]
    names: Sequence[str]
    columns: list[list]

    def numbers(self) -> list[str]:
        """Returns "0", "1", …: ids for the rows of a file that has none."""
        return list(map(str, range(len(self.lines))))

    def refuse(self, row: int, fault: str) -> None:
        """Records a fault of a row."""
        self.bad.add(self.lines[row], fault)

    def resolve(self, examples: File) -> File:
        """Returns the examples made of the rows, without the bad ones; see `BadRows.resolve`."""
        return self.bad.resolve(examples, self.lines)

    def check_strings(self, values: list, column: str, may_be_empty: bool = True) -> None:
        """Refuses rows whose value is not a string (JSON may hold anything), or is empty.

        Values that are not strings are replaced by "" in `values`.
        """
        for row, value in enumerate(values):
            if type(value) is not str:
                self.refuse(row, f"{quoted(column)} must be a string, not {quoted(value)}")
                # Later steps may rely on strings, although the row is refused.
                values[row] = ""
            elif not may_be_empty and not value.strip():
                self.refuse(
                    row,
                    f"the text is empty (column {quoted(column)}): remove the row or fill it in",
                )

    def scores(self, values: list) -> np.ndarray:
        """Returns the values as float32 [E]; refuses rows without a finite number."""
        scores = np.zeros(len(values), np.float32)
        for row, value in enumerate(values):
            number = _parse_number(value)
            # The bound keeps float32 finite, and NaN fails the comparison.
            if abs(number) < 1e38:
                scores[row] = number
            else:
                self.refuse(row, f"the score {quoted(value)} is not a finite number")
        return scores

    def label_sets(self, values: list, separator: str | None = None) -> list[list[str]]:
        """Returns the labels of each example; none for a row that is refused.

        Args:
          separator: None for one label per example. Otherwise an example has any number: a string
            is split at separators, and a JSON list holds one label per element. Empty parts are
            dropped.
        """
        sets: list[list[str]] = []
        for row, value in enumerate(values):
            parts = [value]
            if separator is not None:
                parts = _split_labels(value, separator)
            names = []
            for part in parts:
                if type(part) is str:
                    names.append(part.strip())
                # JSON spells True as true, which is also how a reader of the file would write it.
                elif type(part) in (int, bool):
                    names.append(json.dumps(part))
                else:
                    self.refuse(
                        row,
                        f"a label must be a string or a whole number, not {quoted(part)} (for "
                        "scores give --regression, for several labels --multi_label)",
                    )
                    names = []
                    break
            # A separator never leaves empty parts, so that this is a row without a label.
            if "" in names:
                self.refuse(row, "the label is empty")
                names = []
            sets.append(names)
        return sets

    def label_numbers(
        self, sets: list[list[str]], labels: Sequence[str], several: bool = False
    ) -> np.ndarray:
        """Returns positions in `labels`; refuses rows with any other label.

        Returns:
          int32 [E]; if examples may have several labels, uint8 [E, C] with 1 for each of them.
        """
        # A dictionary, as some tasks have thousands of classes.
        number_of_label = {label: number for number, label in enumerate(labels)}
        numbers: np.ndarray
        if several:
            numbers = np.zeros((len(sets), len(labels)), np.uint8)
        else:
            numbers = np.zeros(len(sets), np.int32)
        for row, names in enumerate(sets):
            for name in names:
                number = number_of_label.get(name)
                if number is None:
                    self.refuse(
                        row,
                        f"the label {quoted(name)} is not known; the labels are {_listed(labels)}",
                    )
                elif several:
                    numbers[row, number] = 1
                else:
                    numbers[row] = number
        return numbers


@dataclasses.dataclass(frozen=True)
class LabelledTexts(LabelledFile):
    """The E examples of one split.

    Attributes:
      ids: id of each example in outputs: GLUE's "index" (QQP's "id") if the file has one, else the
        number of its row, "0", "1", …
      text_b: second texts, "" for an example without one; None for a task of single sentences.
      labels: int32 [E], class numbers; float32 [E], scores, for regression; uint8 [E, C], 1 for
        each class of an example, for several labels; None for an unlabeled split.
      label_names: names of the C classes.
    """

    ids: list[str]
    text_a: list[str]
    text_b: list[str] | None
    labels: np.ndarray | None
    label_names: tuple[str, ...] = ()
    _example_fields = ("ids", "text_a", "text_b", "labels")

    def inputs(self) -> Iterable[tuple[str, ...]]:
        if self.text_b is None:
            return zip(self.text_a, strict=True)
        return zip(self.text_a, self.text_b, strict=True)

    def groups(self) -> list[str]:
        return self.text_a

    def strata(self) -> list | None:
        if self.labels is None or self.labels.dtype != np.int32:
            return None
        return self.labels.tolist()


def read_labelled_file(
    path: str,
    flag: str,
    *,
    text_a_column: str,
    text_b_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    order: Callable[[list[str]], Sequence[str]] = list,
    regression: bool = False,
    separator: str | None = None,
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> LabelledTexts:
    """Reads a file of examples; the columns are found as by `read_named_columns`.

    Args:
      text_a_column, text_b_column, label_column: names of columns. An example with an empty second
        text has one text.
      labels: the classes; the number of a label is its position. None for the labels in the file,
        sorted, by value if all are whole numbers. White space around labels is dropped.
      order: gets the sorted classes of the file and returns them in the order of their numbers.
      separator: character between several labels of an example; None if each has one. In JSON
        lines the labels may also be a list.
      file_format: one of `FORMATS`; "auto" decides by the extension.

    Raises:
      UserError: names file and lines: as `read_named_columns`; an empty first text; a label that is
        not in `labels` or not a finite number. If the classes are those of the file: fewer than
        two, or none where an example may have several; or the first row of a file that is read by
        column numbers looks like a header.
    """
    named = [(text_a_column, "text_a_column")]
    if text_b_column is not None:
        named.append((text_b_column, "text_b_column"))
    num_texts = len(named)
    if label_column is not None:
        named.append((label_column, "label_column"))
    table = read_named_columns(path, flag, named, file_format, skip_bad_rows)
    # The columns are in the order of `named`: texts, then the label.
    text_a = table.columns[0]
    table.check_strings(text_a, text_a_column, may_be_empty=False)
    text_b = None
    if num_texts == 2:
        text_b = table.columns[1]
        table.check_strings(text_b, named[1][0])
    numbers = None
    if label_column is not None and regression:
        numbers = table.scores(table.columns[-1])
    elif label_column is not None:
        sets = table.label_sets(table.columns[-1], separator)
        if labels is None:
            labels = order(_find_classes(table, sets, label_column, separator is not None))
        numbers = table.label_numbers(sets, labels, separator is not None)
    return table.resolve(
        LabelledTexts(
            path=path,
            ids=table.numbers(),
            text_a=text_a,
            text_b=text_b,
            labels=numbers,
            label_names=tuple(labels or ()),
        )
    )


def _find_classes(
    table: Table, sets: list[list[str]], label_column: str, several: bool
) -> list[str]:
    """Returns the labels of the good rows, sorted, by value if all are whole numbers.

    Args:
      sets: the labels of each row.
      several: an example may have several labels.
    """
    path = table.bad.path
    good_sets = items_of(sets, table.bad.good_rows(table.lines))
    counts = Counter(itertools.chain.from_iterable(good_sets))
    column = f"(column {quoted(label_column)})"
    if not counts:
        raise UserError(f"{path}: no example has a label {column}")
    if len(counts) < 2 and not several:
        raise UserError(
            f"{path}: every example has the label {quoted(good_sets[0][0])}: at least two classes "
            f"are expected {column}"
        )
    # In a file that is read by column numbers a header would pass for an example and add a class:
    # its label is the only one that occurs once.
    if _COLUMN_NUMBER.fullmatch(label_column) and table.lines[0] == 1:
        once = [label for label, count in counts.items() if count == 1]
        if len(counts) > 1 and once == good_sets[0]:
            raise UserError(
                f"{path}:1: the label {quoted(once[0])} occurs nowhere else: this looks like a "
                "header. Name the columns as it does, or remove it"
            )
    classes = sorted(counts)
    if all(map(_WHOLE_NUMBER.fullmatch, classes)):
        classes.sort(key=int)
    return classes


def format_of(path: str) -> str | None:
    """Returns the format that the extension of a file shows, gzipped or not; None for others."""
    extension = os.path.splitext(path.removesuffix(".gz"))[1].lower()
    return _FORMATS_BY_EXTENSION.get(extension)


def format_of_file(path: str, flag: str, file_format: str = "auto") -> str:
    """Returns the format of a file, by its extension for "auto".

    Raises:
      UserError: the extension is unknown.
    """
    if file_format != "auto":
        return file_format
    shown_format = format_of(path)
    if not shown_format:
        raise UserError(
            f"--{flag}: the extension of {path} is none of {', '.join(_FORMATS_BY_EXTENSION)}: "
            "rename it, or give --file_format"
        )
    return shown_format


def read_named_columns(
    path: str,
    flag: str,
    named: Sequence[tuple[str, str]],
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> Table:
    """Reads the columns with these names from a TSV, CSV or JSON-lines file.

    Columns are found by the names in the first row. If all of them are numbers, counted from 0, the
    file has no header. In JSON lines, one object per line, they are keys.

    Args:
      named: (name of a column, name of the flag that sets it).
      file_format: one of `FORMATS`; "auto" decides by the extension.

    Raises:
      UserError: as `read_table`; a column is missing or occurs twice; the extension is unknown; a
        JSON line is not an object with these keys.
    """
    file_format = format_of_file(path, flag, file_format)
    bad = BadRows(path, skip_bad_rows)
    if file_format == "jsonl":
        return _read_keys(bad, flag, named)
    return read_table(bad, flag, file_format, functools.partial(locate_named, path, named))


def locate_named(path: str, named: Sequence[tuple[str, str]], first_row: list[str]) -> Layout:
    """Returns the layout of a file whose columns are given by name, or all by number."""
    # Blanks around names are slips of the pen.
    header = list(map(str.strip, first_row))
    names = [name for name, _ in named]
    # A mixture of names and numbers means names: a header may contain numbers, too.
    by_number = all(map(_COLUMN_NUMBER.fullmatch, names))
    numbers = []
    for name, flag in named:
        if by_number:
            number = int(name)
            if number >= len(header):
                raise UserError(
                    f"{path}:1: no column number {name} (--{flag}): the first row has "
                    f"{len(header)}, counted from 0"
                )
        elif name not in header:
            raise UserError(
                f"{path}:1: {no_column(name, flag, header)}. If this is no header, give the "
                "columns by number, counted from 0"
            )
        elif header.count(name) > 1:
            raise UserError(
                f"{path}:1: {header.count(name)} columns are called {quoted(name)} (--{flag}): "
                "rename all but one"
            )
        else:
            number = header.index(name)
        numbers.append(number)
    return Layout(names, numbers, has_header=not by_number)


def read_table(
    bad: BadRows,
    flag: str,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    allow_longer: bool = False,
) -> Table:
    """Reads some columns of a TSV or CSV file; see `read_rows` for the syntax.

    Args:
      bad: has the path of the file; rows with another number of fields than the first, and lines
        that are not UTF-8, are added.
      locate: gets the fields of the first row; returns the columns to read.
      allow_longer: accept rows with more fields than the first.

    Raises:
      UserError: the file can't be read, is not CSV, or has no row; or from `locate`.
    """
    rows = read_rows(bad, flag, file_format)
    first = next(rows, None)
    if first is None:
        raise UserError(f"{bad.path} is empty: rows of examples are expected")
    # A first row that is not UTF-8 can be neither a header nor an example.
    if bad.faults:
        raise bad.error(1)
    # The first row decides how many fields the others must have.
    _, fields = first
    width = len(fields)
    layout = locate(fields)
    if not layout.has_header:
        rows = itertools.chain([first], rows)
    pick = _picker(layout.numbers)
    hint = "texts must not hold tabs"
    if file_format == "csv":
        hint = "quote fields that hold commas"
    # An array takes a quarter of the memory of a list of numbers.
    lines = array("q")
    picked = []
    for line, fields in rows:
        if len(fields) != width and not (allow_longer and len(fields) > width):
            bad.add(
                line,
                f"{width} columns expected, as in the first row, but {len(fields)} found: {hint} "
                "or line breaks",
            )
            fields = [""] * width
        lines.append(line)
        picked.append(pick(fields))
    if not picked:
        raise UserError(f"{bad.path} has a header and no examples below it")
    return Table(bad, lines, layout.names, _transposed(picked))


def _read_keys(bad: BadRows, flag: str, named: Sequence[tuple[str, str]]) -> Table:
    """Returns the values of keys in a JSON-lines file; an object without one is a bad row."""
    names = [name for name, _ in named]
    pick = _picker(names)
    lines = array("q")
    picked = []
    for line, value in read_rows(bad, flag, "jsonl"):
        try:
            row = pick(value)
        except KeyError as error:
            # A line that is not an object has a fault already, which is the one reported.
            row = (None,) * len(named)
            bad.add(line, no_column(error.args[0], dict(named)[error.args[0]], list(value)))
        lines.append(line)
        picked.append(row)
    if not picked:
        raise UserError(f"{bad.path} is empty: one JSON object per line is expected")
    return Table(bad, lines, names, _transposed(picked))


def _transposed(rows: list[tuple]) -> list[list]:
    return list(map(list, zip(*rows, strict=True)))


def _picker(keys: Sequence) -> Callable[[Any], tuple]:
    """Returns a function that picks these items out of a row, as a tuple."""
    get: Callable[[Any], Any] = itemgetter(*keys)
    if len(keys) > 1:
        return get
    # With a single key itemgetter returns the bare item.
    return lambda row: (get(row),)


def read_rows(bad: BadRows, flag: str, file_format: str) -> Iterator[tuple[int, Any]]:
    """Yields (line that it begins on, row) for every row of a file.

    In TSV a line is a row, and quotation marks are characters like any other. CSV is quoted as in
    RFC 4180. In JSON lines a row is an object; a line without one yields {} and is added to `bad`.
    A byte order mark is ignored, lines end with LF or CRLF, and blank lines between rows of several
    columns are skipped.

    Args:
      bad: has the path of the file; lines that can't be read are added.
      file_format: one of `FORMATS` but "auto".
    """
    lines = numbered_lines(bad.path, flag, bad)
    if file_format == "jsonl":
        return _json_rows(lines, bad)
    if file_format == "csv":
        return _csv_rows(lines, bad.path)
    return _tsv_rows(lines)


def _tsv_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    blank_lines: list[int] = []
    width = 0
    for line, text in lines:
        # str.splitlines() would also cut at U+0085 or U+2028 inside a text.
        text = text.rstrip("\r\n")
        if not text:
            blank_lines.append(line)
            continue
        fields = text.split("\t")
        if width == 1:
            # In a single column, a blank line before another row is an empty value.
            for blank_line in blank_lines:
                yield blank_line, [""]
        # The first row decides whether the file has a single column.
        width = width or len(fields)
        blank_lines.clear()
        yield line, fields


def _csv_rows(lines: Iterable[tuple[int, str]], path: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(map(itemgetter(1), lines), strict=True)
    # The limit is global to the process, so it is restored at the end.
    limit = csv.field_size_limit(_LONGEST_LINE)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            # A quoted field may span lines: a row begins after the last line of the one before it.
            line = reader.line_num + 1
    except csv.Error as error:
        hint = str(error)
        if "unexpected end" in hint:
            hint = "a quotation mark is not closed"
        raise UserError(
            f"{path}:{line}: not CSV: {hint} (inside quotes, a quotation mark is written twice)"
        ) from None
    finally:
        csv.field_size_limit(limit)


def _json_rows(lines: Iterable[tuple[int, str]], bad: BadRows) -> Iterator[tuple[int, dict]]:
    for line, text in lines:
        if not text.strip():
            continue
        value: dict = {}
        try:
            value = json_object(text)
        except UserError as error:
            bad.add(line, str(error))
        yield line, value


def json_object(text: str, path: str = "", line: int | None = None) -> dict:
    """Returns the JSON object that a line holds.

    Raises:
      UserError: it holds none; names path and line if they are given.
    """
    value = json_files.parse(text, path, line)
    if isinstance(value, dict):
        return value
    message = f"one JSON object per line is expected, not {quoted(value)}"
    if path:
        message = f"{path}:{line}: {message}"
    raise UserError(message)


def numbered_lines(path: str, flag: str, bad: BadRows | None = None) -> Iterator[tuple[int, str]]:
    """Yields (line number from 1, text with its line end), without a byte order mark.

    Args:
      bad: gets the lines that are not UTF-8, which are yielded nevertheless. Without it they raise
        `UserError`.
    """
    files.check_readable(path, flag)
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (_, file):
        yield from decoded_lines(file, path, bad)


def decoded_lines(
    file: IO[bytes], where: str, bad: BadRows | None = None
) -> Iterator[tuple[int, str]]:
    """Yields the `numbered_lines` of an open file or standard input, called `where` in errors."""
    # A size limit per line bounds the memory for a file without line ends.
    read_line = functools.partial(file.readline, _LONGEST_LINE + 1)
    for number, line in enumerate(iter(read_line, b""), 1):
        if len(line) > _LONGEST_LINE:
            raise UserError(
                f"{where}:{number}: longer than {_LONGEST_LINE >> 20} MiB: a file of lines is "
                "expected"
            )
        if number == 1:
            line = line.removeprefix(_BOM)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = (
                f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8: "
                "save the file as UTF-8"
            )
            if bad is None:
                raise UserError(f"{where}:{number}: {fault}") from None
            bad.add(number, fault)
            text = line.decode("utf-8", "replace")
        yield number, text


def no_column(column: str, flag: str, columns: Sequence[str]) -> str:
    """Returns the message for a column, named by a flag, that a file does not have."""
    hint = did_you_mean(column, columns)
    if hint:
        hint += f" The columns are {_listed(columns)}"
    else:
        hint = f"; the columns are {_listed(columns)}"
    return f"no column {quoted(column)} (--{flag}){hint}"


def quoted(value: object) -> str:
    """Returns a value as messages quote it: on one line, and shortened."""
    text = repr(value)
    if len(text) > _MAX_QUOTED_CHARACTERS:
        text = f"{text[:_MAX_QUOTED_CHARACTERS]}…"
    return text


def _listed(names: Sequence[str]) -> str:
    """Returns quoted names separated by commas, not more than `_MAX_LISTED_NAMES`."""
    if not names:
        return "none"
    text = ", ".join(map(quoted, names[:_MAX_LISTED_NAMES]))
    if len(names) > _MAX_LISTED_NAMES:
        text += f" and {len(names) - _MAX_LISTED_NAMES} more"
    return text


def _parse_number(value: object) -> float:
    """Returns the number that a string or a JSON value holds, or NaN."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, float):
        return value
    # A larger int may not fit into a float. True and False are int, but no scores.
    if type(value) is int and abs(value) < 1 << 127:
        return float(value)
    return math.nan


def _split_labels(value: object, separator: str) -> list:
    """Returns the labels in a string with separators or in a JSON list, without empty ones."""
    if isinstance(value, str):
        return list(filter(str.strip, value.split(separator)))
    if not isinstance(value, list):
        return [value]
    return [part for part in value if not isinstance(part, str) or part.strip()]

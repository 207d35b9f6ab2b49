"""Columns of TSV, CSV, JSON, Parquet and Arrow files, with the line that each row begins on; and
labeled texts made of them.

    columns = {"text_a_column": "text", "label_column": "label"}
    train = read_labeled_file("train.csv", "train_file", **columns)
    dev = read_labeled_file("dev.csv", "dev_file", **columns, labels=train.label_names)

Input: a file on any file system, compressed or not; UTF-8, or UTF-16 with a byte order mark.
Output: `Table`, which the other readers of this package interpret, or `LabeledTexts`, for
`pair_features.py`. The official GLUE files are read by `glue.py`.
"""

import ast
import csv
import dataclasses
import functools
import io
import itertools
import json
import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import IO, Any, NamedTuple, Self

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError, did_you_mean
from bert_common.plugins import Plugins
from data_gen.labeled.rows import BadRows, File, LabeledFile, Skip, items_of

_FORMATS_BY_EXTENSION = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
# Formats whose rows are objects, with keys in place of a header. "jsonl" has an object per line, or
# is a single list of objects.
OBJECT_FORMATS = ("jsonl", "parquet", "arrow")
FORMATS = ("auto", "tsv", "csv", *OBJECT_FORMATS)
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
ARROW_FORMATS = Plugins(
    "file format",
    {
        "parquet": "data_gen.labeled.arrow_files:ArrowFile",
        "arrow": "data_gen.labeled.arrow_files:ArrowFile",
    },
)

# Matches lines that start like a JSON object.
looks_like_json = re.compile(r'\s*\{\s*["}]').match
_BOM = b"\xef\xbb\xbf"
# float() accepts more than this, e.g. 1_0 and the digits of all scripts.
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_COLUMN_NUMBER = re.compile(r"[0-9]{1,9}")
# A text may be a whole document, so that the default limit of Python's csv (128 KiB per field) is
# too low. A longer line means another kind of file, or one without end.
LONGEST_LINE = 256 << 20
# Number of lines that show the separator and the quotation marks of a file.
_SAMPLE_LINES = 1000
# A field in quotation marks, with those inside of it doubled.
_QUOTED_FIELD = re.compile(r'(?:^|(?<=[\t\n]))"(?:[^"]|"")*"(?=[\t\r\n]|$)')
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
            is split at separators, and a list holds one label per element, or 0 and 1 for each
            class, which are then called "0", "1", …  Empty parts are dropped.
        """
        sets: list[list[str]] = []
        if separator is not None:
            values = [_split_labels(value, separator) for value in values]
            if _are_indicators(values):
                self.bad.guesses.append(
                    f"lists of {len(values[0])} numbers 0 and 1: a 1 marks a label of the example"
                )
                return [_numbers_of_ones(parts) for parts in values]
        for row, value in enumerate(values):
            parts = [value] if separator is None else value
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

    def marked_columns(self, columns: Sequence[list], names: Sequence[str]) -> list[list[str]]:
        """Returns the names of the columns that hold 1 for each example, and not 0.

        Args:
          columns: K lists of E values.
          names: of the K columns.
        """
        sets: list[list[str]] = [[] for _ in self.lines]
        for name, values in zip(names, columns, strict=True):
            for row, value in enumerate(values):
                number = _parse_number(int(value) if type(value) is bool else value)
                if number == 1:
                    sets[row].append(name)
                elif number != 0:
                    self.refuse(row, f"0 or 1 is expected, not {quoted(value)} (column {name})")
        return sets

    def label_numbers(
        self,
        sets: list[list[str]],
        labels: Sequence[str],
        several: bool = False,
        ignore_case: bool = False,
    ) -> np.ndarray:
        """Returns positions in `labels`; refuses rows with any other label.

        Returns:
          int32 [E]; if examples may have several labels, uint8 [E, C] with 1 for each of them.
        """
        # A dictionary, as some tasks have thousands of classes.
        number_of_label = {label: number for number, label in enumerate(labels)}
        folded = {}
        if ignore_case:
            folded = {label.casefold(): number for number, label in enumerate(labels)}
        numbers: np.ndarray
        if several:
            numbers = np.zeros((len(sets), len(labels)), np.uint8)
        else:
            numbers = np.zeros(len(sets), np.int32)
        for row, names in enumerate(sets):
            for name in names:
                number = number_of_label.get(name, folded.get(name.casefold()))
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


class UnusableRow(NamedTuple):
    """A row of a file to predict that has no usable text.

    Attributes:
      number: of the row in the file, from 0.
      id: as those of the other rows.
      reason: what is wrong with it.
    """

    number: int
    id: str
    reason: str


@dataclasses.dataclass(frozen=True)
class LabeledTexts(LabeledFile):
    """The E examples of one split.

    Attributes:
      ids: id of each example in outputs: GLUE's "index" (QQP's "id") if the file has one, else the
        number of its row, "0", "1", …
      text_b: second texts, "" for an example without one; None for a task of single sentences.
      labels: int32 [E], class numbers; float32 [E], scores, for regression; uint8 [E, C], 1 for
        each class of an example, for several labels; None for an unlabeled split.
      label_names: names of the C classes.
      unusable: rows of the file that are no examples, if predictions have a line for them, too.
    """

    ids: list[str]
    text_a: list[str]
    text_b: list[str] | None
    labels: np.ndarray | None
    label_names: tuple[str, ...] = ()
    unusable: tuple[UnusableRow, ...] = ()
    _example_fields = ("ids", "text_a", "text_b", "labels")

    def first(self, count: int | None) -> Self:
        examples = super().first(count)
        # The number of examples before an unusable row: one after the last example is left out.
        unusable = []
        for index, row in enumerate(self.unusable):
            if len(examples) == len(self) or row.number - index < len(examples):
                unusable.append(row)
        return dataclasses.replace(examples, unusable=tuple(unusable))

    def in_file_order(self) -> Iterator[int | UnusableRow]:
        """Yields the number of each example, with the unusable rows at their places."""
        unusable = list(self.unusable)
        for example in range(len(self)):
            while unusable and unusable[0].number == example + len(self.unusable) - len(unusable):
                yield unusable.pop(0)
            yield example
        yield from unusable

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


def read_labeled_file(
    path: str,
    flag: str,
    *,
    text_a_column: str,
    text_b_column: str | None = None,
    label_column: str | None = None,
    labels: Sequence[str] | None = None,
    order: Callable[[list[str]], Sequence[str]] = list,
    ignore_case: bool = False,
    regression: bool = False,
    separator: str | None = None,
    file_format: str = "auto",
    skip_bad_rows: Skip = None,
    delimiter: str | None = None,
    label_columns: Sequence[str] = (),
    id_column: str | None = None,
    keep_unusable: bool = False,
) -> LabeledTexts:
    """Reads a file of examples; the columns are found as by `read_named_columns`.

    Args:
      text_a_column, text_b_column, label_column: names of columns. An example with an empty second
        text has one text.
      labels: the classes; the number of a label is its position. None for the labels in the file,
        sorted, by value if all are whole numbers. White space around labels is dropped.
      order: gets the sorted classes of the file and returns them in the order of their numbers.
      ignore_case: find a label of the file in `labels` also by another spelling of its case.
      separator: character between several labels of an example; None if each has one. In JSON
        lines the labels may also be a list.
      file_format: one of `FORMATS`; "auto" decides by the extension.
      delimiter: see `read_table`.
      label_columns: in place of `label_column`, a column of 0 and 1 for each class.
      id_column: column of the ids; None for the numbers of the rows.
      keep_unusable: bad rows are no error but `LabeledTexts.unusable`, unless all are bad.

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
    named += [(name, "label_columns") for name in label_columns]
    if id_column is not None:
        named.append((id_column, "id_column"))
    table = read_named_columns(path, flag, named, file_format, skip_bad_rows, delimiter)
    ids = _take_ids(table, has_ids=id_column is not None)
    # The columns are in the order of `named`: texts, then the labels.
    text_a = table.columns[0]
    table.check_strings(text_a, text_a_column, may_be_empty=False)
    text_b = None
    if num_texts == 2:
        text_b = table.columns[1]
        table.check_strings(text_b, named[1][0])
    numbers = None
    if label_columns:
        sets = table.marked_columns(table.columns[num_texts:], label_columns)
        labels = order(list(label_columns)) if labels is None else labels
        numbers = table.label_numbers(sets, labels, several=True)
    elif label_column is not None and regression:
        numbers = table.scores(table.columns[-1])
    elif label_column is not None:
        sets = table.label_sets(table.columns[-1], separator)
        if labels is None:
            labels = order(_find_classes(table, sets, label_column, separator is not None))
        numbers = table.label_numbers(sets, labels, separator is not None, ignore_case)
    texts = LabeledTexts(
        path=path,
        ids=ids,
        text_a=text_a,
        text_b=text_b,
        labels=numbers,
        label_names=tuple(labels or ()),
    )
    if keep_unusable and table.bad.faults:
        return _with_unusable_rows(texts, table)
    return table.resolve(texts)


def _with_unusable_rows(texts: LabeledTexts, table: Table) -> LabeledTexts:
    """Returns the good rows as examples, and the bad ones beside them."""
    # All rows but one may be bad: none of them is lost.
    table.bad.skip = max(len(texts) - 1, 1)
    good = table.bad.good_rows(table.lines)
    guesses = [f"{texts.path}: {guess}" for guess in table.bad.guesses]
    bad = np.setdiff1d(np.arange(len(texts)), good)
    unusable = []
    # The faults are one for each bad row now, in their order.
    for row, (line, fault) in zip(bad.tolist(), table.bad.faults.items(), strict=True):
        unusable.append(UnusableRow(row, texts.ids[row], f"{table.bad.unit} {line}: {fault}"))
    note = (
        f"{texts.path}: {len(unusable):,} of {len(texts):,} rows can't be predicted and have the "
        f"reason in place of a label; the first is {unusable[0].reason}"
    )
    return dataclasses.replace(texts.take(good), unusable=tuple(unusable), notes=(*guesses, note))


def _take_ids(table: Table, has_ids: bool) -> list[str]:
    """Returns the ids in the last column, which is removed; else the numbers of the rows."""
    if not has_ids:
        return table.numbers()
    ids = []
    # Removing the last column keeps the positions of the others, and the labels stay the last.
    for value in table.columns.pop():
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        ids.append(value)
    return ids


def _find_classes(
    table: Table, sets: list[list[str]], label_column: str, several: bool
) -> list[str]:
    """Returns the labels of the good rows, sorted, by value if all are whole numbers.

    Args:
      sets: the labels of each row.
      several: an example may have several labels.
    """
    path = table.bad.path
    # The label of a refused row must not become a class.
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
    # Sorted, the numbers of the classes don't depend on the order of the rows.
    classes = sorted(counts)
    # Scores in quotation marks would make a class of every number.
    if all(map(_NUMBER.fullmatch, classes)) and any(float(name) % 1 for name in classes):
        raise UserError(
            f"{path}: the labels are numbers such as {classes[-1]} {column}: give --regression for "
            "scores; classes need names that are no decimal numbers"
        )
    if all(map(_WHOLE_NUMBER.fullmatch, classes)):
        # By their text 10 would come before 2.
        classes.sort(key=int)
    # "1.0" may be the number of a class that a spreadsheet has written; 3.6 is a score.
    elif all(map(_NUMBER.fullmatch, classes)) and any(float(name) % 1 for name in classes):
        raise UserError(
            f"{path}: the labels are numbers, such as {quoted(classes[0])} and "
            f"{quoted(classes[-1])} {column}: give --regression for scores; classes need names"
        )
    return classes


def format_of(path: str) -> str | None:
    """Returns the format that the extension of a file shows, compressed or not; None for others."""
    for ending in files.COMPRESSED:
        path = path.removesuffix(ending)
    return _FORMATS_BY_EXTENSION.get(os.path.splitext(path)[1].lower())


def format_of_file(path: str, flag: str, file_format: str = "auto") -> str:
    """Returns the format of a file, by its extension for "auto".

    Raises:
      UserError: the extension is unknown.
    """
    if file_format != "auto":
        return file_format
    shown_format = format_of(path)
    if path.lower().endswith(_SPREADSHEETS):
        raise UserError(f"--{flag}: {path} is a spreadsheet: save it as CSV (UTF-8)")
    if path.lower().endswith(".zip"):
        raise UserError(f"--{flag}: {path} is an archive: unpack it first")
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
    skip_bad_rows: Skip = None,
    delimiter: str | None = None,
    is_literal: bool = False,
) -> Table:
    """Reads the columns with these names.

    Columns are found by the names in the first row. If all of them are numbers, counted from 0, the
    file has no header. In the formats of `OBJECT_FORMATS` they are keys.

    Args:
      named: (name of a column, name of the flag that sets it).
      file_format: one of `FORMATS`; "auto" decides by the extension.
      delimiter, is_literal: see `read_table`.

    Raises:
      UserError: as `read_table`; a column is missing or occurs twice; the extension is unknown.
    """
    file_format = format_of_file(path, flag, file_format)
    bad = BadRows(path, skip_bad_rows)
    locate = functools.partial(locate_named, path, named, has_keys=file_format in OBJECT_FORMATS)
    return read_table(bad, flag, file_format, locate, delimiter=delimiter, is_literal=is_literal)


def locate_named(
    path: str,
    named: Sequence[tuple[str, str]],
    first_row: list[str],
    has_keys: bool = False,
) -> Layout:
    """Returns the layout of a file whose columns are given by name, or all by number.

    Args:
      has_keys: the first row has the keys of objects, which have names in any case.
    """
    # Blanks around names are slips of the pen.
    header = list(map(str.strip, first_row))
    names = [name for name, _ in named]
    # A mixture of names and numbers means names: a header may contain numbers, too.
    by_number = not has_keys and all(map(_COLUMN_NUMBER.fullmatch, names))
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
            message = f"{path}:1: {no_column(name, flag, header)}"
            if not has_keys:
                message += ". If this is no header, give the columns by number, counted from 0"
            raise UserError(message)
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
    *,
    allow_longer: bool = False,
    delimiter: str | None = None,
    is_literal: bool = False,
    use_class_names: bool = True,
) -> Table:
    """Reads some columns of a file.

    In TSV a line is a row, and quotation marks are characters like any other, unless the file is
    plainly quoted. CSV is quoted as in RFC 4180. Lines end with LF or CRLF, and blank lines between
    rows of several columns are skipped. In JSON a row is an object, on a line or in a list.

    Args:
      bad: has the path of the file; rows with another number of fields than the first, or without a
        key, and lines that are not UTF-8, are added.
      file_format: one of `FORMATS` but "auto".
      locate: gets the fields of the first row, or its keys; returns the columns to read.
      allow_longer: accept rows with more fields than the first.
      delimiter: between the fields of TSV and CSV. By default the one with which `locate` finds the
        columns in the first row: the usual one, or any other sign.
      is_literal: quotation marks in TSV are characters in any case.
      use_class_names: see `arrow_files.py`.

    Raises:
      UserError: the file can't be read, has no row, or is not CSV; the first row is bad; or from
        `locate`.
    """
    if file_format in ARROW_FORMATS.targets:
        return _read_arrow_table(bad, flag, file_format, locate, use_class_names)
    if file_format == "jsonl":
        return _read_json_table(bad, flag, locate)
    layout, rows = read_delimited(bad, flag, file_format, locate, delimiter, is_literal)
    # The first row decides how many fields the others must have.
    first = next(rows)
    width = len(first[1])
    if not layout.has_header:
        rows = itertools.chain([first], rows)
    pick = _picker(layout.numbers)
    hint = "quote fields that hold commas" if file_format == "csv" else "texts must not hold tabs"
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
            # Its id is still the one by which the row is found.
            fields = (fields + [""] * width)[:width]
        lines.append(line)
        picked.append(pick(fields))
    if not picked:
        raise UserError(f"{bad.path} has a header and no examples below it")
    return Table(bad, lines, layout.names, list(map(list, zip(*picked, strict=True))))


def _read_json_table(bad: BadRows, flag: str, locate: Callable[[list[str]], Layout]) -> Table:
    """Returns a table of a JSON file, see `read_table`."""
    rows = read_rows(bad, flag, "jsonl")
    first = next(rows, None)
    if first is None:
        raise UserError(f"{bad.path} is empty: one JSON object per line is expected")
    # A first row that is no object has no keys to find the columns by.
    if first[0] in bad.faults:
        raise bad.error(1)
    header = list(first[1])
    layout = locate(header)
    keys = [header[number] for number in layout.numbers]
    pick = _picker(keys)
    lines = array("q")
    picked = []
    for line, value in itertools.chain([first], rows):
        try:
            row = pick(value)
        except KeyError as error:
            # A line that is no object has a fault already, which is the one reported.
            row = (None,) * len(keys)
            bad.add(line, f"no column {quoted(error.args[0])}; the columns are {_listed([*value])}")
        lines.append(line)
        picked.append(row)
    return Table(bad, lines, layout.names, list(map(list, zip(*picked, strict=True))))


def _read_arrow_table(
    bad: BadRows,
    flag: str,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    use_class_names: bool,
) -> Table:
    """Returns a table of a Parquet or Arrow file, see `read_table`."""
    bad.unit = "row"
    path = files.check_readable(bad.path, flag)
    names: list[str] = []
    chosen: list[str] = []

    def choose(header: list[str]) -> list[str]:
        layout = locate(header)
        names.extend(layout.names)
        chosen.extend(header[number] for number in layout.numbers)
        return chosen

    # The module is loaded only for such a file, since it imports the optional pyarrow.
    file = ARROW_FORMATS.load(file_format)(path)
    columns = file.columns(choose, use_class_names)
    num_rows = len(columns[chosen[0]])
    if not num_rows:
        raise UserError(f"{path} is empty: rows of examples are expected")
    # Callers change the lists, and may ask for a column twice.
    values = [list(columns[name]) for name in chosen]
    return Table(bad, range(1, num_rows + 1), names, values)


def read_delimited(
    bad: BadRows,
    flag: str,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    delimiter: str | None = None,
    is_literal: bool = False,
) -> tuple[Layout, Iterator[tuple[int, list[str]]]]:
    """Returns the layout of a TSV or CSV file, and (line, fields) of all rows, a header included.

    The lines are read ahead of the rows; for arguments and errors see `read_table`.
    """
    all_lines = numbered_lines(bad.path, flag, bad)
    # A sample is kept in place of a second opening, so that a remote file is read once.
    sample = list(itertools.islice(all_lines, _SAMPLE_LINES))
    # A shell passes a tab as backslash and t.
    delimiter = "\t" if delimiter == r"\t" else delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise UserError(f"--delimiter={delimiter}: one character is expected, e.g. ;")
    usual = delimiter or {"tsv": "\t", "csv": ","}[file_format]
    candidates = [usual]
    first_line = next((text for _, text in sample if text.strip()), "")
    if delimiter is None:
        # Signs that separate the columns of some spreadsheets; letters and blanks are parts of
        # names.
        candidates += sorted({sign for sign in first_line if sign in ",;\t|:^~!#$%&*+/@\x1f"})
    is_quoted = not is_literal and _is_quoted(sample, usual)
    error: UserError | None = None
    for candidate in candidates:
        # A quotation mark of TSV is a character like any other.
        is_tsv = file_format == "tsv" and candidate == usual and not is_quoted
        parse = _split_rows if is_tsv else _csv_rows
        first_rows = parse(iter(sample), bad.path, candidate)
        first = next(first_rows, None)
        if first is None:
            raise UserError(f"{bad.path} is empty: rows of examples are expected")
        # A first row that is not UTF-8 can be neither a header nor an example.
        if min(bad.faults, default=first[0] + 1) <= first[0]:
            raise bad.error(1)
        try:
            layout = locate(first[1])
        except UserError as problem:
            error = error or problem
            continue
        # Any sign divides a row without a header into columns by number.
        if candidate == usual or layout.has_header:
            # Nothing is guessed about official files.
            if not is_literal:
                bad.guesses.append(_describe_layout(layout, first[1], candidate, is_quoted))
            lines = itertools.chain(sample, all_lines)
            return layout, parse(lines, bad.path, candidate)
    assert error is not None
    raise error


def _describe_layout(
    layout: Layout, first_row: Sequence[str], delimiter: str, is_quoted: bool
) -> str:
    """Returns what was understood of a file: its columns, their separator, and the first row."""
    numbers = ", ".join(map(str, layout.numbers))
    header = f"no header, columns {numbers} (from 0)"
    if layout.has_header:
        header = f"a header, columns {_listed([first_row[number] for number in layout.numbers])}"
    quotes = ", fields in quotation marks" if is_quoted else ""
    return f"{len(first_row)} columns separated by {delimiter!r}{quotes}; {header} are read"


def _is_quoted(sample: Sequence[tuple[int, str]], delimiter: str) -> bool:
    """Returns whether the fields of a TSV file are in quotation marks where they need them.

    pandas and spreadsheets write such files. They parse as CSV, with as many fields in all rows,
    and have a header in quotation marks, or marks that are doubled, or fields of several lines.
    """
    text = "".join(text for _, text in sample)
    fields = _QUOTED_FIELD.findall(text)
    if not fields:
        return False
    try:
        rows = [
            fields for fields in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
        ]
    except csv.Error:
        return False
    # The sample may end inside a row.
    widths = set(map(len, filter(None, rows[:-1] or rows)))
    needs_marks = any('""' in field[1:-1] or "\n" in field for field in fields)
    return len(widths) == 1 and (needs_marks or text.startswith('"'))


def _picker(keys: Sequence) -> Callable[[Any], tuple]:
    """Returns a function that picks these items out of a row, as a tuple."""
    get: Callable[[Any], Any] = itemgetter(*keys)
    if len(keys) > 1:
        return get
    # For a single key itemgetter returns the bare item.
    return lambda row: (get(row),)


def read_rows(bad: BadRows, flag: str, file_format: str) -> Iterator[tuple[int, dict]]:
    """Yields (line that it begins on, object) for every row of a file in an object format.

    A JSON file has an object per line, or is a list of objects, or an object with such a list under
    "data". A row that is no object yields {} and is added to `bad`.

    Args:
      bad: has the path of the file.
      file_format: one of `OBJECT_FORMATS`.
    """
    if file_format == "jsonl":
        yield from _json_rows(numbered_lines(bad.path, flag, bad), bad)
        return
    bad.unit = "row"
    open_file = ARROW_FORMATS.load(file_format)
    yield from enumerate(open_file(files.check_readable(bad.path, flag)).rows(), 1)


def _split_rows(
    lines: Iterable[tuple[int, str]], path: str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    blank_lines: list[int] = []
    width = 0
    for line, text in lines:
        # str.splitlines() would also cut at U+0085 or U+2028 inside a text.
        text = text.rstrip("\r\n")
        if not text:
            blank_lines.append(line)
            continue
        fields = text.split(delimiter)
        if width == 1:
            # In a single column, a blank line before another row is an empty value.
            for blank_line in blank_lines:
                yield blank_line, [""]
        # The first row decides whether the file has a single column.
        width = width or len(fields)
        blank_lines.clear()
        yield line, fields


def _csv_rows(
    lines: Iterable[tuple[int, str]], path: str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(map(itemgetter(1), lines), delimiter=delimiter, strict=True)
    # The limit is global to the process, so it is restored at the end.
    limit = csv.field_size_limit(LONGEST_LINE)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            # A quoted field may span lines: a row begins after the last line of the one before it.
            line = reader.line_num + 1
    except csv.Error as error:
        hint = f"{error} (inside quotes, a quotation mark is written twice)"
        if "unexpected end" in hint:
            hint = (
                "a quotation mark is not closed (inside quotes, a quotation mark is written twice)"
            )
        elif "new-line" in hint:
            hint = "lines end with CR alone: save the file with LF or CRLF at their ends"
        raise UserError(f"{path}:{line}: not CSV: {hint}") from None
    finally:
        csv.field_size_limit(limit)


def _json_rows(lines: Iterator[tuple[int, str]], bad: BadRows) -> Iterator[tuple[int, dict]]:
    filled = ((line, text) for line, text in lines if text.strip())
    start = list(itertools.islice(filled, 2))
    if not start:
        return
    first_text = start[0][1].strip()
    is_list = first_text.startswith("[")
    # An object that ends on a later line than it begins, or the only one.
    is_object = first_text.startswith("{") and (len(start) == 1 or not first_text.endswith("}"))
    if is_list or is_object:
        text = "".join(text for _, text in itertools.chain(start, filled))
        # A single line keeps its number in errors.
        value = json_files.parse(text, bad.path, start[0][0] if len(start) == 1 else None)
        rows = _objects_in(value, bad.path)
        if rows is not None:
            bad.unit = "row"
            for number, row in enumerate(rows, 1):
                if not isinstance(row, dict):
                    bad.add(number, f"a JSON object is expected, not {quoted(row)}")
                    row = {}
                yield number, row
            return
        yield start[0][0], value
        return
    for line, text in itertools.chain(start, filled):
        value = {}
        try:
            value = json_object(text)
        except UserError as error:
            bad.add(line, str(error))
        yield line, value


def _objects_in(value: Any, path: str) -> list | None:
    """Returns the rows in the JSON value of a file; None for an object that is the only row.

    Raises:
      UserError: the object holds several lists of rows, or columns.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise UserError(f"{path}: a list of JSON objects is expected, not {quoted(value)}")
    data = value.get("data")
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return data
    # Splits of a data set are lists under their names; pandas writes columns as objects.
    holds_columns = all(isinstance(part, dict) for part in value.values())
    holds_lists = all(
        isinstance(part, list) and part and isinstance(part[0], dict) for part in value.values()
    )
    if value and (holds_columns or holds_lists):
        raise UserError(
            f"{path} holds one object, with {_listed(list(value))}: a list of rows, or one row per "
            "line, is expected: save each part as a file of its own, or with pandas "
            'to_json(…, orient="records", lines=True)'
        )
    return None


def json_object(
    text: str, path: str = "", line: int | None = None, allow_half_pairs: bool = False
) -> dict:
    """Returns the JSON object that a line holds.

    Raises:
      UserError: it holds none; names path and line if they are given.
    """
    value = json_files.parse(text, path, line, allow_half_pairs)
    if isinstance(value, dict):
        return value
    message = f"one JSON object per line is expected, not {quoted(value)}"
    if path:
        message = f"{path}:{line}: {message}"
    raise UserError(message)


def numbered_lines(path: str, flag: str, bad: BadRows | None = None) -> Iterator[tuple[int, str]]:
    """Yields (line number from 1, text with its line end), without a byte order mark.

    A file in UTF-16 must begin with one.

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
    read_line = functools.partial(file.readline, LONGEST_LINE + 1)
    first = read_line()
    lines: Iterable[bytes] = itertools.chain([first] if first else [], iter(read_line, b""))
    if files.encoding_of(first) == "utf-16":
        # Its line ends are not those of bytes, so that it is decoded as a whole.
        data = first + file.read(LONGEST_LINE + 1)
        if len(data) > LONGEST_LINE:
            raise UserError(
                f"{where}: UTF-16 of more than {LONGEST_LINE >> 20} MiB: save the file as UTF-8"
            )
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError:
            raise UserError(f"{where}: damaged UTF-16: save the file as UTF-8") from None
        lines = (line.encode() for line in io.StringIO(text, newline="\n"))
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise UserError(
                f"{where}:{number}: longer than {LONGEST_LINE >> 20} MiB: a file of lines is "
                "expected"
            )
        if number == 1:
            line = line.removeprefix(_BOM)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            # The position is left out, so that equal faults are one.
            fault = f"the byte 0x{line[error.start]:02x} is not UTF-8: save the file as UTF-8"
            if bad is None:
                raise UserError(f"{where}:{number}: {fault}") from None
            bad.add(number, fault)
            text = line.decode("utf-8", "replace")
        yield number, text


def character_position(text: str, position: int, encoding: str) -> int:
    """Returns a position in units of an encoding, "utf-16-le" or "utf-8", as one in characters; -1
    if it is outside of the text or inside of a character."""
    width = 2 if encoding == "utf-16-le" else 1
    data = text.encode(encoding, "surrogatepass")
    if not 0 <= position * width <= len(data):
        return -1
    try:
        before = data[: position * width].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return -1
    # The first half of a character in UTF-16 is decoded as a character of its own.
    return len(before) if text.startswith(before) else -1


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
    """Returns the labels in a string with separators or in a list, without empty ones."""
    if isinstance(value, str) and re.fullmatch(r"\s*\[.*\]\s*", value):
        # CSV holds lists as Python or JSON spells them, or without quotation marks.
        text = value.strip()
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text[1:-1]
    if isinstance(value, str):
        return list(filter(str.strip, value.split(separator)))
    if not isinstance(value, list):
        return [value]
    return [part for part in value if not isinstance(part, str) or part.strip()]


def _are_indicators(rows: list[list]) -> bool:
    """Returns whether each list holds 0 or 1 for every class: a list of labels repeats none."""
    repeats = False
    for parts in rows:
        if len(parts) != len(rows[0]) or not all(part in (0, 1) for part in parts):
            return False
        repeats = repeats or len(set(parts)) < len(parts)
    return repeats and len(rows[0]) > 1


def _numbers_of_ones(parts: list) -> list[str]:
    return [str(number) for number, part in enumerate(parts) if part == 1]

"""Columns of TSV, CSV and JSON-lines files, with the line each row stands on; and labelled texts
made of them.

    train = read_labelled_file("train.csv", "train_file", text_a_column="text",
    label_column="label") dev = read_labelled_file("dev.csv", "dev_file", text_a_column="text",
    label_column="label",
                             labels=train.label_names)

Input: a file on any file system, gzipped or not. Output: `Table`, which the readers beside this one
interpret, or `LabelledTexts`, for `pair_features.py`. The official GLUE files are read by
`glue.py`.
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
from data_gen.labelled.rows import BadRows, File, LabelledFile, items_of

_FORMATS_BY_EXTENSION = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
FORMATS = ("auto", "tsv", "csv", "jsonl")

# Whether a line starts as a JSON object does.
looks_like_json = re.compile(r'\s*\{\s*["}]').match
_BOM = b"\xef\xbb\xbf"
# Python takes more for a number: 1_0, digits of all scripts.
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_COLUMN_NUMBER = re.compile(r"[0-9]{1,9}")
# A text may be a whole document (Python's csv refuses fields of more than 128 KiB by default); a
# longer line is a file of another kind, or has no end.
_LONGEST_LINE = 256 << 20
# Values and lists of names in messages.
_SHOWN_CHARACTERS = 60
_SHOWN_NAMES = 20


@dataclasses.dataclass(frozen=True)
class Table:
    """Some columns of a file, all rows; E rows.

    Attributes:
      bad: its path, and what is wrong with its rows; whoever interprets the columns adds to that.
      lines: [E], the line (from 1) that each row begins on.
      columns: in the order asked for, each a list of E values: str, and in JSON lines whatever
        stands there. A bad row has any values.
    """

    bad: BadRows
    lines: Sequence[int]
    columns: list[list]

    def numbers(self) -> list[str]:
        """Ids of the rows where the file has none: "0", "1", …"""
        return list(map(str, range(len(self.lines))))

    def refuse(self, row: int, what: str) -> None:
        """Something is wrong with a row."""
        self.bad.add(self.lines[row], what)

    def resolve(self, examples: File) -> File:
        """The examples made of the rows, but for those of bad ones, see `BadRows.resolve`."""
        return self.bad.resolve(examples, self.lines)

    def check_strings(self, values: list, column: str, may_be_empty: bool = True) -> None:
        """Refuses the rows whose values are no strings, as JSON may hold anything, or empty
        ones."""
        for row, value in enumerate(values):
            if type(value) is not str:
                self.refuse(row, f"{shown(column)} must be a string, not {shown(value)}")
                values[row] = ""
            elif not may_be_empty and not value.strip():
                self.refuse(
                    row, f"the text is empty (column {shown(column)}): remove the row or fill it in"
                )

    def scores(self, values: list) -> np.ndarray:
        """float32 [E]; refuses what is no finite number."""
        scores = np.zeros(len(values), np.float32)
        for row, value in enumerate(values):
            if type(value) is str and _NUMBER.fullmatch(value) or type(value) in (int, float):
                number = float(value) if type(value) is not int or abs(value) < 1 << 127 else np.inf
                if abs(number) < 1e38:
                    scores[row] = number
                    continue
            self.refuse(row, f"the score {shown(value)} is not a finite number")
        return scores

    def label_sets(self, values: list, separator: str | None = None) -> list[list[str]]:
        """The labels of each example: one without a separator; else any number, of a text what is
        between separators, of a list in JSON its parts. Two separators in a row, or one at the end,
        are no label. None of a row that is refused."""
        sets: list[list[str]] = []
        for row, value in enumerate(values):
            parts = [value]
            if separator is not None:
                parts = (
                    value.split(separator)
                    if type(value) is str
                    else value
                    if type(value) is list
                    else parts
                )
                parts = [part for part in parts if type(part) is not str or part.strip()]
            wrong = [part for part in parts if type(part) not in (str, int, bool)]
            names = [
                part.strip() if type(part) is str else json.dumps(part)
                for part in parts
                if not wrong
            ]
            if wrong:
                self.refuse(
                    row,
                    f"a label must be a string or a whole number, not {shown(wrong[0])} (are these scores? then "
                    "--regression; several labels? then --multi_label)",
                )
            elif "" in names:
                self.refuse(row, "the label is empty")
                names = []
            sets.append(names)
        return sets

    def label_numbers(
        self, sets: list[list[str]], labels: Sequence[str], several: bool = False
    ) -> np.ndarray:
        """int32 [E], places in `labels`; or uint8 [E, C] where there are several. Refuses what is
        none of them."""
        known = {label: number for number, label in enumerate(labels)}
        numbers = (
            np.zeros((len(sets), len(labels)), np.uint8)
            if several
            else np.zeros(len(sets), np.int32)
        )
        for row, names in enumerate(sets):
            for name in names:
                number = known.get(name)
                if number is None:
                    self.refuse(
                        row,
                        f"the label {shown(name)} is not known; the labels are {_listed(labels)}",
                    )
                elif several:
                    numbers[row, number] = 1
                else:
                    numbers[row] = number
        return numbers


@dataclasses.dataclass(frozen=True)
class LabelledTexts(LabelledFile):
    """Examples of one split; E examples.

    Attributes:
      ids: what an example is called in outputs: GLUE's "index" (QQP's "id") where the file has one,
        else the number of its row, "0", "1", …
      text_b: E second texts, "" where an example has none; None for a task of single sentences.
      labels: int32 [E], class numbers; float32 [E], scores, for regression; uint8 [E, C], 1 for
        each class of an example, where it may have several; None for an unlabelled split.
      label_names: of the C classes.
    """

    ids: list[str]
    text_a: list[str]
    text_b: list[str] | None
    labels: np.ndarray | None
    label_names: tuple[str, ...] = ()
    _of_examples = ("ids", "text_a", "text_b", "labels")

    def groups(self) -> list[str]:
        return self.text_a

    def strata(self) -> list | None:
        return (
            self.labels.tolist()
            if self.labels is not None and self.labels.dtype == np.int32
            else None
        )


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
      text_a_column, text_b_column, label_column: names of columns; an example with an empty second
      text has one text.
      labels: the classes; the number of a label is its place here. None for those of the file,
        sorted; by value if all are whole numbers. White space around labels is dropped.
      order: gets the classes of the file, returns them in the order of their numbers.
      separator: of several labels of an example; None where each has one. In JSON lines they may be
        a list, too.
      file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

    Raises:
      UserError: names file and lines: as `read_named_columns`; an empty first text, a label that is
        not in `labels` or no finite number. Where the classes are the file's: fewer than two, or
        none at all where an example may have several; or the first row of a file read by column
        numbers looks like a header.
    """
    named = [
        (str(name), f"{kind}_column")
        for kind, name in (
            ("text_a", text_a_column),
            ("text_b", text_b_column),
            ("label", label_column),
        )
        if name is not None
    ]
    table = read_named_columns(path, flag, named, file_format, skip_bad_rows)
    texts = table.columns[: 1 if text_b_column is None else 2]
    for values, (name, _) in zip(texts, named, strict=False):
        table.check_strings(values, name, may_be_empty=values is not texts[0])
    numbers = None
    if label_column is not None and regression:
        numbers = table.scores(table.columns[-1])
    elif label_column is not None:
        sets = table.label_sets(table.columns[-1], separator)
        if labels is None:
            good = items_of(sets, table.bad.good_rows(table.lines))
            counts = Counter(label for names in good for label in names)
            if len(counts) < (2 if separator is None else 1):
                what = (
                    f"every example has the label {shown(good[0][0])}: at least two classes are expected"
                    if counts
                    else ("no example has a label")
                )
                raise UserError(f"{path}: {what} (column {shown(label_column)})")
            first = good[0][0] if len(good[0]) == 1 else ""
            # By number, a header passes for an example, and would add a class.
            if (
                _COLUMN_NUMBER.fullmatch(str(label_column))
                and table.lines[0] == 1
                and counts.get(first) == 1
                and min((count for label, count in counts.items() if label != first), default=0) > 1
            ):
                raise UserError(
                    f"{path}:1: the label {shown(first)} occurs nowhere else: this looks like a header. Name the "
                    "columns as it does, or remove it"
                )
            by_value = all(map(_WHOLE.fullmatch, counts))
            labels = order(
                sorted(counts, key=lambda label: (int(label), label))
                if by_value
                else sorted(counts)
            )
        numbers = table.label_numbers(sets, labels, separator is not None)
    return table.resolve(
        LabelledTexts(
            path,
            table.numbers(),
            texts[0],
            texts[1] if text_b_column is not None else None,
            numbers,
            tuple(labels or ()),
        )
    )


def read_named_columns(
    path: str,
    flag: str,
    named: Sequence[tuple[str, str]],
    file_format: str = "auto",
    skip_bad_rows: bool | None = None,
) -> Table:
    """The columns of these names of a TSV, CSV or JSON-lines file.

    Columns are found by the names in the first row; if all of them are given by number, counted
    from 0, the file has no header. In JSON lines, of which each holds an object, they are keys.

    Args:
      named: (name of a column, name of the flag that names it).
      file_format: "tsv", "csv", "jsonl", or "auto": by the extension of the name.

    Raises:
      UserError: as `read_table`; a column is not there, or there twice; the name does not show the
        format; the file holds no object.
    """
    if file_format == "auto":
        extension = os.path.splitext(path.removesuffix(".gz"))[1].lower()
        if extension not in _FORMATS_BY_EXTENSION:
            raise UserError(
                f"--{flag}: the name of {path} does not show its format (.tsv, .csv or .jsonl would): "
                "rename it, or give --file_format"
            )
        file_format = _FORMATS_BY_EXTENSION[extension]
    bad = BadRows(path, skip_bad_rows)
    if file_format == "jsonl":
        return _read_json_lines(bad, flag, named)
    by_number = all(_COLUMN_NUMBER.fullmatch(name) for name, _ in named)

    def locate(first_row: list[str]) -> tuple[list[int], bool]:
        names = [name.strip() for name in first_row]
        numbers = []
        for name, asked_by in named:
            if by_number and int(name) >= len(names):
                raise UserError(
                    f"{path}:1: no column number {name} (--{asked_by}): the first row has {len(names)}, counted "
                    "from 0"
                )
            if not by_number and name not in names:
                raise UserError(
                    f"{path}:1: {no_column(name, asked_by, names)}. If this is no header, give the columns by "
                    "number, counted from 0"
                )
            if not by_number and names.count(name) > 1:
                raise UserError(
                    f"{path}:1: {names.count(name)} columns are called {shown(name)} (--{asked_by}): rename all "
                    "but one"
                )
            numbers.append(int(name) if by_number else names.index(name))
        return numbers, not by_number

    return read_table(bad, flag, file_format, locate)


def read_table(
    bad: BadRows,
    flag: str,
    file_format: str,
    locate: Callable[[list[str]], tuple[list[int], bool]],
    allow_longer: bool = False,
) -> Table:
    """Reads some columns of a TSV or CSV file.

    In TSV a line is a row and quotation marks are characters like any other; CSV is quoted as RFC
    4180 says. A byte order mark is ignored, lines end with LF or CRLF, blank lines between rows of
    several columns are passed over.

    Args:
      bad: has the path of the file; rows with another number of fields than the first, and what is
        not UTF-8, are added.
      locate: gets the fields of the first row; returns the numbers of the columns to keep and
        whether that row is a header.

    Raises:
      UserError: the file can't be read, is not CSV, or holds no row; or from `locate`.
    """
    rows = (_csv_rows if file_format == "csv" else _tsv_rows)(
        bad.path, numbered_lines(bad.path, flag, bad)
    )
    first = next(rows, None)
    if first is None:
        raise UserError(f"{bad.path} is empty: rows of examples are expected")
    line, fields = first
    if bad.faults:
        raise bad.error(1)
    numbers, has_header = locate(fields)
    width = len(fields)
    pick = _picker(numbers)
    hint = "quote fields that hold commas" if file_format == "csv" else "texts must not hold tabs"
    lines, picked = array("q", () if has_header else [line]), [] if has_header else [pick(fields)]
    for line, fields in rows:
        if len(fields) != width and not (allow_longer and len(fields) > width):
            bad.add(
                line,
                f"{width} columns expected, as in the first row, but {len(fields)} found: {hint} or line breaks",
            )
            fields = [""] * width
        lines.append(line)
        picked.append(pick(fields))
    if not picked:
        raise UserError(f"{bad.path} has a header and no examples below it")
    return Table(bad, lines, [list(column) for column in zip(*picked, strict=True)])


def _read_json_lines(bad: BadRows, flag: str, keys: Sequence[tuple[str, str]]) -> Table:
    pick = _picker([name for name, _ in keys])
    lines, picked = array("q"), []
    for line, text in numbered_lines(bad.path, flag, bad):
        if not text.strip():
            continue
        lines.append(line)
        value: dict = {}
        try:
            value = json_object(text)
            picked.append(pick(value))
        except UserError as error:
            bad.add(line, str(error))
        except KeyError:
            bad.add(line, no_column(*next(key for key in keys if key[0] not in value), list(value)))
        if len(picked) < len(lines):
            picked.append((None,) * len(keys))
    if not picked:
        raise UserError(f"{bad.path} is empty: one JSON object per line is expected")
    return Table(bad, lines, [list(column) for column in zip(*picked, strict=True)])


def json_object(text: str, path: str = "", line: int | None = None) -> dict:
    """The object that a line holds; `UserError`, with path and line if these are given, where it
    holds none."""
    value = json_files.parse(text, path, line)
    if not isinstance(value, dict):
        raise UserError(
            f"{f'{path}:{line}: ' if path else ''}one JSON object per line is expected, not {shown(value)}"
        )
    return value


def no_column(column: str, asked_by: str, columns: Sequence[str]) -> str:
    """The message for a column that is not there."""
    near = did_you_mean(column, columns)
    return (
        f"no column {shown(column)} (--{asked_by}){near or ';'} {'The' if near else 'the'} columns are "
        f"{_listed(columns)}"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"{', '.join(map(shown, names[:_SHOWN_NAMES])) or 'none'}{more}"


def shown(value: object) -> str:
    """A value as messages quote it: on one line, and not for ever."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


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
        raise UserError(
            f"{path}:{line}: not CSV: {hint} (inside quotes, a quotation mark is written twice)"
        ) from None
    finally:
        csv.field_size_limit(limit)


def numbered_lines(path: str, flag: str, bad: BadRows | None = None) -> Iterator[tuple[int, str]]:
    """(line number from 1, text with its line end) of every line, without a byte order mark.

    `bad` gets the lines that are not UTF-8, which are yielded all the same; without it they are
    `UserError`.
    """
    files.check_readable(path, flag)
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (_, file):
        yield from decoded_lines(file, path, bad)


def decoded_lines(
    file: IO[bytes], where: str, bad: BadRows | None = None
) -> Iterator[tuple[int, str]]:
    """`numbered_lines` of an open file, or of the standard input; `where` is its name, for
    errors."""
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), 1):
        if len(line) > _LONGEST_LINE:
            raise UserError(
                f"{where}:{number}: longer than {_LONGEST_LINE >> 20} MiB: a file of lines is expected"
            )
        if number == 1:
            line = line.removeprefix(_BOM)
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} of the line (0x{line[error.start]:02x}) is not UTF-8: save the file as UTF-8"
            if bad is None:
                raise UserError(f"{where}:{number}: {what}") from None
            bad.add(number, what)
            yield number, line.decode("utf-8", "replace")

"""Columns of TSV, CSV, JSON, Parquet and Arrow files, by their names.

    source = SourceFile("train.csv", "train_file")
    table = read_named_columns(source, [("text", "text_a_column")])

Input: a file on any file system, compressed or not; UTF-8, or UTF-16 with a byte order mark.
Output: `Table`.
"""

import functools
import itertools
import re
from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from bert_common import files
from bert_common.errors import UserError
from data_gen.labeled.annotation_tools import check_accepted
from data_gen.labeled.row_formats import (
    ARROW_FORMATS,
    OBJECT_FORMATS,
    format_of_file,
    read_delimited,
    read_rows,
)
from data_gen.labeled.rows import SourceFile, listed, no_column, quoted
from data_gen.labeled.table import Layout, Table, check_twins

COLUMN_NUMBER = re.compile(r"[0-9]{1,9}")


def read_named_columns(
    source: SourceFile, named: Sequence[tuple[str, str]], is_literal: bool = False
) -> Table:
    """Reads the columns with these names.

    Columns are found by the names in the first row. If all of them are numbers, counted from 0, the
    file has no header. In the formats of `OBJECT_FORMATS` they are keys.

    Args:
      source: a file in one of `FORMATS`.
      named: (name of a column, name of the flag that sets it).
      is_literal: see `read_table`.

    Raises:
      UserError: as `read_table`; a column is missing or occurs twice; the extension is unknown.
    """
    file_format = format_of_file(source)
    has_keys = file_format in OBJECT_FORMATS
    locate = functools.partial(locate_named, source.path, named, has_keys=has_keys)
    return read_table(source, file_format, locate, is_literal=is_literal)


def check_columns(source: SourceFile, named: Sequence[tuple[str, str]]) -> None:
    """Refuses a TSV or CSV file without one of the columns, as `read_named_columns` would.

    The first rows are read, so that a run can say so before it loads what it computes with.

    Raises:
      UserError: see `read_named_columns`.
    """
    file_format = format_of_file(source)
    if file_format in ("tsv", "csv"):
        locate = functools.partial(locate_named, source.path, named)
        read_delimited(source, file_format, locate)


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
    header = [value.strip() for value in first_row]
    names = [name for name, _ in named]
    # A mixture of names and numbers means names: a header may contain numbers, too.
    by_number = not has_keys and all(COLUMN_NUMBER.fullmatch(name) for name in names)
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
    source: SourceFile,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    *,
    allow_longer: bool = False,
    is_literal: bool = False,
    use_class_names: bool = True,
) -> Table:
    """Reads some columns of a file.

    In TSV a line is a row, and quotation marks are characters like any other, unless the file is
    plainly quoted. CSV is quoted as in RFC 4180. Lines end with LF or CRLF, and blank lines between
    rows of several columns are skipped. In JSON a row is an object, on a line or in a list.

    Args:
      source: rows with another number of fields than the first, or without a key, and lines that
        are not UTF-8, are added to its faults.
      file_format: one of `FORMATS` but "auto".
      locate: gets the fields of the first row, or its keys; returns the columns to read.
      allow_longer: accept rows with more fields than the first.
      is_literal: quotation marks in TSV are characters in any case.
      use_class_names: see `arrow_files.py`.

    Raises:
      UserError: the file can't be read, has no row, or is not CSV; the first row is bad; or from
        `locate`.
    """
    if file_format in ARROW_FORMATS.targets:
        return _read_arrow_table(source, file_format, locate, use_class_names)
    if file_format == "jsonl":
        return _read_json_table(source, locate)
    layout, rows = read_delimited(source, file_format, locate, is_literal)
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
            source.add(
                line,
                f"{width} columns expected, as in the first row, but {len(fields)} found: {hint} "
                "or line breaks",
            )
            # Its id is still the one by which the row is found.
            fields = (fields + [""] * width)[:width]
        elif layout.has_header and fields == first[1]:
            source.add(line, "it repeats the header, as in files that were put together: remove it")
        lines.append(line)
        picked.append(pick(fields))
    if not picked:
        raise UserError(f"{source.path} has a header and no examples below it")
    return _table_of_rows(source, lines, layout, picked)


def _read_json_table(source: SourceFile, locate: Callable[[list[str]], Layout]) -> Table:
    """Returns a table of a JSON file, see `read_table`."""
    rows = read_rows(source, "jsonl")
    first = next(rows, None)
    if first is None:
        raise UserError(f"{source.path} is empty: one JSON object per line is expected")
    # A first row that is no object has no keys to find the columns by.
    if first[0] in source.faults:
        raise source.error(1)
    header = list(first[1])
    layout = locate(header)
    keys = [header[number] for number in layout.numbers]
    pick = _picker(keys)
    lines = array("q")
    picked = []
    for line, value in itertools.chain([first], rows):
        row = (None,) * len(keys)
        try:
            check_accepted(value)
            row = pick(value)
        except UserError as error:
            source.add(line, str(error))
        except KeyError as error:
            # A line that is no object has a fault already, which is the one reported.
            source.add(
                line, f"no column {quoted(error.args[0])}; the columns are {listed([*value])}"
            )
        lines.append(line)
        picked.append(row)
    return _table_of_rows(source, lines, layout, picked)


def _table_of_rows(
    source: SourceFile, lines: array, layout: Layout, rows: Sequence[tuple]
) -> Table:
    columns = [list(values) for values in zip(*rows, strict=True)]
    return Table(source, lines, layout.names, columns)


def _read_arrow_table(
    source: SourceFile,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    use_class_names: bool,
) -> Table:
    """Returns a table of a Parquet or Arrow file, see `read_table`."""
    source.unit = "row"
    path = files.check_readable(source.path, source.flag)
    names: list[str] = []
    chosen: list[str] = []

    def choose(header: list[str]) -> list[str]:
        layout = locate(header)
        check_twins(path, layout, header)
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
    return Table(source, range(1, num_rows + 1), names, values)


def _picker(keys: Sequence) -> Callable[[Any], tuple]:
    """Returns a function that picks these items out of a row, as a tuple."""
    get: Callable[[Any], Any] = itemgetter(*keys)
    if len(keys) > 1:
        return get
    # For a single key itemgetter returns the bare item.
    return lambda row: (get(row),)

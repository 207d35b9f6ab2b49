"""Rows of a table one after another, each as the file has it, for predictions that are written back
beside them.

    rows = RowStream(SourceFile("tickets.csv", "input_file"), [("text", "text_a_column")])
    for row in rows:
        row.values       # ("My parcel is late.",)

Input: a file in one of the formats of `row_formats.py`. Output: `Row`s in the order of the file.
Nothing but the current row is in memory.
"""

import csv
import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_common.errors import UserError
from data_gen.labeled.named_columns import locate_named
from data_gen.labeled.row_formats import OBJECT_FORMATS, format_of_file, read_delimited, read_rows
from data_gen.labeled.rows import SourceFile, no_column


class Row(NamedTuple):
    """A row of a table.

    Attributes:
      number: of the row, from 0, as in the ids of files without ids.
      line: line of the file on which the row begins, from 1.
      cells: all fields of the row; an object in JSON, Parquet and Arrow files.
      values: the fields of the named columns.
      fault: why the row can't be used; None if it can.
    """

    number: int
    line: int
    cells: Sequence[str] | dict
    values: tuple
    fault: str | None


class RowStream:
    """The rows of a file, to be iterated over once.

    Args:
      source: a file in one of `row_formats.FORMATS`.
      named: (name of a column, name of the flag that sets it).

    Attributes:
      header: names of all columns; None for JSON and for a file without a header.
      is_json: the rows are objects; rows of a file without `header` may have different keys.

    Raises:
      UserError: as `named_columns.read_named_columns`, also while the rows are read; but a bad row
        is yielded with its fault.
    """

    def __init__(self, source: SourceFile, named: Sequence[tuple[str, str]]):
        self.path = source.path
        self.named = named
        file_format = format_of_file(source)
        self._file_format = file_format
        self.is_json = file_format in OBJECT_FORMATS
        self.header: list[str] | None = None
        self._source = source
        self._rows: Iterator[tuple[int, Any]]
        if self.is_json:
            self._rows = read_rows(source, file_format)
            # The first row is read here, so that a wrong column fails before the model is loaded.
            first = next(self._rows, None)
            if first is None:
                raise UserError(f"{source.path} is empty: rows of texts are expected")
            # Later objects may have other keys, but a key that the first one lacks is a wrong name.
            self._rows = itertools.chain([first], self._rows)
            if first[0] not in source.faults:
                self._check_keys(first[1])
            # The rows of Parquet and Arrow files all have the columns of the first.
            if file_format != "jsonl":
                self.header = list(first[1])
            return
        locate = functools.partial(locate_named, source.path, named)
        self._layout, self._rows = read_delimited(source, file_format, locate, keeps_bad_rows=True)
        first_row = next(self._rows)
        self.width = len(first_row[1])
        if self._layout.has_header:
            self.header = [value.strip() for value in first_row[1]]
        else:
            self._rows = itertools.chain([first_row], self._rows)

    @property
    def dialect(self) -> dict[str, Any]:
        """Separator and quotation marks of a CSV file, as arguments of `csv.writer`; the defaults
        of CSV for all other files."""
        if self.is_json or self._file_format != "csv":
            return {}
        quoting = csv.QUOTE_ALL if self._layout.is_all_quoted else csv.QUOTE_MINIMAL
        return {"delimiter": self._layout.delimiter, "quoting": quoting}

    @property
    def has_mark(self) -> bool:
        """Whether the file begins with a byte order mark."""
        return self._source.has_mark

    @property
    def guesses(self) -> list[str]:
        """What was found out about the whole file, for the user."""
        return self._source.guesses

    @property
    def unit(self) -> str:
        """What the lines of the rows count: "line", or "row" in a file without lines."""
        return self._source.unit

    def __iter__(self) -> Iterator[Row]:
        # The lines are read ahead of the rows: the faults of a row are before the next one.
        end: tuple[int, Any] = (sys.maxsize, None)
        pairs = itertools.pairwise(itertools.chain(self._rows, [end]))
        faults = self._source.faults
        for number, ((line, cells), (next_line, _)) in enumerate(pairs):
            fault = None
            # The faults of rows that were yielded are removed, or they would pile up over a long
            # file.
            for faulty_line in sorted(faults):
                if faulty_line < next_line:
                    fault = fault or faults[faulty_line]
                    del faults[faulty_line]
            if self.is_json:
                yield self._row_of_object(number, line, cells, fault)
            else:
                yield self._row_of_fields(number, line, cells, fault)

    def _row_of_object(self, number: int, line: int, cells: dict, fault: str | None) -> Row:
        if fault is None:
            try:
                self._check_keys(cells)
            except UserError as error:
                fault = str(error)
        values = tuple(cells.get(name) for name, _ in self.named)
        return Row(number, line, cells, values, fault)

    def _check_keys(self, cells: dict) -> None:
        for name, flag in self.named:
            if name not in cells:
                raise UserError(no_column(name, flag, list(cells)))

    def _row_of_fields(self, number: int, line: int, cells: list[str], fault: str | None) -> Row:
        if len(cells) != self.width:
            fault = fault or f"{self.width} columns expected, as in the first row, not {len(cells)}"
            # A row of another length would shift the columns that are written beside it.
            cells = (cells + [""] * self.width)[: self.width]
        values = tuple(cells[column] for column in self._layout.numbers)
        return Row(number, line, cells, values, fault)

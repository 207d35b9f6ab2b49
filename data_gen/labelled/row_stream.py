"""Rows of a table one after another, each as the file has it, for predictions that are written back
beside them.

    rows = RowStream("tickets.csv", "input_file", [("text", "text_a_column")])
    for row in rows:
        row.values       # ("My parcel is late.",)

Input: a file in one of the formats of `tables.py`. Output: `Row`s in the order of the file. Nothing
but the current row is in memory.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bert_common.errors import UserError
from data_gen.labelled.rows import BadRows
from data_gen.labelled.tables import Layout, format_of_file, locate_named, no_column, read_rows


class Row(NamedTuple):
    """A row of a table.

    Attributes:
      number: of the row, from 0, as in the ids of files without ids.
      line: line of the file on which the row begins, from 1.
      cells: all fields of the row; of JSON lines the object.
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
      named: (name of a column, name of the flag that sets it).
      file_format: one of `tables.FORMATS`; "auto" decides by the extension.

    Attributes:
      header: names of all columns; None for JSON lines and for a file without a header.
      is_json: the rows are objects, which may have different keys.

    Raises:
      UserError: as `tables.read_named_columns`, also while the rows are read; but a bad row is
        yielded with its fault.
    """

    def __init__(
        self, path: str, flag: str, named: Sequence[tuple[str, str]], file_format: str = "auto"
    ):
        self.path = path
        self.named = named
        file_format = format_of_file(path, flag, file_format)
        self.is_json = file_format == "jsonl"
        self.header: list[str] | None = None
        self._bad = BadRows(path)
        self._rows: Iterator[tuple[int, Any]] = read_rows(self._bad, flag, file_format)
        first = next(self._rows, None)
        if first is None:
            raise UserError(f"{path} is empty: rows of texts are expected")
        if self.is_json:
            # Later objects may have other keys, but a key that the first one lacks is a wrong name.
            self._rows = itertools.chain([first], self._rows)
            if not self._bad.faults:
                self._check_keys(first[1])
            return
        # A first row that is not UTF-8 can be neither a header nor an example.
        if self._bad.faults:
            raise self._bad.error(1)
        fields = first[1]
        self.width = len(fields)
        self._layout: Layout = locate_named(path, named, fields)
        if self._layout.has_header:
            self.header = list(map(str.strip, fields))
        else:
            self._rows = itertools.chain([first], self._rows)

    def __iter__(self) -> Iterator[Row]:
        for number, (line, cells) in enumerate(self._rows):
            fault = next(iter(self._bad.faults.values()), None)
            # The reader is not ahead of the row, so that all faults so far belong to it.
            self._bad.faults.clear()
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

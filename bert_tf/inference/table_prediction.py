"""Predictions for the rows of a table, written back beside them; for `predict.py`.

    python predict.py --init_checkpoint=out --input_file=tickets.csv --text_a_column=text \
        --output_file=predicted.csv

Input: a table in one of the formats of labeled files. Output: a row for every row, in order: the
input's columns and the prediction in CSV, the id and the prediction in JSON lines. A row that
can't be predicted has no label but the reason. Memory does not depend on the number of rows.
"""

import codecs
import csv
import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_common import parallel
from bert_common.errors import UserError
from bert_tf.inference.options import PredictOptions
from bert_tf.tasks.inference import TaskInference
from data_gen.labeled.row_stream import Row, RowStream
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.table import repeated_ids
from data_gen.text.duplicates import HashTable

_REASON = "reason"
# Prefix of a column of predictions whose name the table has already, e.g. the column of the true
# labels.
_PREFIX = "predicted_"

# Rows that are in memory, and sorted by length, together.
_ROWS_AT_ONCE = 256

Write = Callable[[bytes], object]


def open_table(options: PredictOptions, log: Callable[[str], None]) -> RowStream:
    """Opens the input of `predict.py` as a table.

    Raises:
      UserError: it can't be read or lacks a column, or JSON is to become a CSV file.
    """
    named = [(options.text_a_column, "text_a_column")]
    if options.text_b_column is not None:
        named.append((options.text_b_column, "text_b_column"))
    # The id comes last, so that the values before it are the texts.
    if options.id_column is not None:
        named.append((options.id_column, "id_column"))
    source = SourceFile(
        options.input_file, "input_file", options.file_format, delimiter=options.delimiter
    )
    table = RowStream(source, named)
    # Objects may have any keys and nested values, for which a CSV file has no columns.
    if table.is_json and table.header is None and options.writes_csv:
        raise UserError(
            f"--output_file={options.output_file}: the rows of {options.input_file} are JSON "
            "objects, which have no order of columns: give a name that ends with .jsonl"
        )
    for guess in table.guesses:
        log(f"{table.path}: {guess}")
    return table


def predict_table(
    inference: TaskInference, table: RowStream, options: PredictOptions, write: Write
) -> tuple[int, list[str]]:
    """Predicts every row of a table.

    Returns:
      the number of rows, and messages on those without a prediction or with an id that was there
      before, if there are any.

    Raises:
      UserError: the task has no columns for its results, or no row can be predicted.
    """
    columns = inference.table_columns
    if not columns:
        raise UserError(
            "--text_a_column: the results of this task do not fit into columns: leave it out, and "
            "give one input per line"
        )
    writer: _CsvWriter | _JsonWriter
    if options.writes_csv:
        if table.has_mark:
            # Excel takes a file without the mark for one in an older encoding.
            write(codecs.BOM_UTF8)
        writer = _CsvWriter(write, table.header, columns, table.dialect)
    else:
        writer = _JsonWriter(write, columns[0], has_ids=options.id_column is not None)
    num_texts = 1 if options.text_b_column is None else 2
    num_rows = 0
    num_unusable = 0
    first_fault = ""
    ids = _IdCounter(table.unit, has_ids=options.id_column is not None)
    for rows in parallel.portions(table, lambda row: 1, _ROWS_AT_ONCE):
        results = _predict_rows(inference, rows, num_texts)
        for row, result in zip(rows, results, strict=True):
            num_rows += 1
            ids.add(row)
            if _REASON in result:
                num_unusable += 1
                where = "" if row.fault else f"{table.unit} {row.line}: "
                first_fault = first_fault or where + result[_REASON]
            writer.add(row, result)
        writer.flush()
    if not num_rows:
        raise UserError(f"{table.path} has no row below its header")
    # If no row can be used, the cause is one of the whole file.
    if num_unusable == num_rows:
        raise UserError(f"{table.path}: no row can be predicted; the first is {first_fault}")
    notes = []
    if num_unusable:
        notes.append(
            f"{num_unusable:,} of {num_rows:,} rows can't be predicted and have the reason in "
            f"place of a label; the first is {first_fault}"
        )
    return num_rows, [*notes, *ids.notes()]


class _IdCounter:
    """Counts the rows with the id of an earlier one, by hashes: of a million ids at least, of more
    some may be overlooked.

    Args:
      unit: what the lines of the rows count.
      has_ids: the last value of a row is its id; else nothing is counted.
    """

    def __init__(self, unit: str, has_ids: bool):
        self._unit = unit
        self._has_ids = has_ids
        self._hashes = HashTable(most_buckets=1 << 17)
        self._count = 0
        self._first: tuple[object, str] | None = None

    def add(self, row: Row) -> None:
        """Adds a row."""
        if not self._has_ids:
            return
        id = row.values[-1]
        digest = hashlib.blake2b(json.dumps(id).encode(), digest_size=8).digest()
        if self._hashes.add(int.from_bytes(digest, "big")):
            self._count += 1
            self._first = self._first or (id, f"{self._unit} {row.line}")

    def notes(self) -> list[str]:
        """Returns a remark on the repeated ids; none if there are none."""
        return [repeated_ids(self._count, *self._first)] if self._first else []


def _predict_rows(inference: TaskInference, rows: Sequence[Row], num_texts: int) -> list[dict]:
    """Returns the result of each row; {"reason": …} for one that can't be predicted."""
    results: list[dict] = []
    inputs = []
    for row in rows:
        result = {}
        try:
            inputs.append(_check_row(inference, row, num_texts))
        except UserError as error:
            result[_REASON] = str(error)
        results.append(result)
    if inputs:
        predictions = iter(inference.predict(inputs))
        for result in results:
            if not result:
                result.update(inference.with_columns(next(predictions)))
    return results


def _check_row(inference: TaskInference, row: Row, num_texts: int) -> object:
    """Returns the input that a row holds; raises `UserError` for one that can't be predicted."""
    if row.fault is not None:
        # Cells that could not be read are not written: they are looked up in the input.
        raise UserError(f"line {row.line}: {row.fault}")
    texts = row.values[:num_texts]
    # Training refuses an empty first text too, also in files of pairs.
    if isinstance(texts[0], str) and not texts[0].strip():
        raise UserError("the text is empty")
    return inference.check(texts)


class _CsvWriter:
    """Writes rows with all their cells, then the cells of the results, then the reason.

    Args:
      header: names of the table's columns; None for a table without a header, which gets none.
      columns: names of the columns of the results.
      dialect: arguments of `csv.writer`.

    Raises:
      UserError: the table has the columns already.
    """

    def __init__(
        self,
        write: Write,
        header: Sequence[str] | None,
        columns: Sequence[str],
        dialect: Mapping[str, Any],
    ):
        self._write = write
        self._columns = columns
        self._text = io.StringIO()
        self._csv = csv.writer(self._text, lineterminator="\n", **dialect)
        if header is None:
            return
        names = []
        for column in (*columns, _REASON):
            name = column
            if name in header:
                name = f"{_PREFIX}{column}"
            if name in header:
                raise UserError(
                    f"the table has the columns {column!r} and {name!r} already: remove or rename "
                    "one of them"
                )
            names.append(name)
        self._csv.writerow([*header, *names])

    def add(self, row: Row, result: dict) -> None:
        cells: list = list(row.cells)
        if isinstance(row.cells, dict):
            cells = list(row.cells.values())
        for column in self._columns:
            value = result.get(column, "")
            # Several labels share a cell, as in training files.
            if isinstance(value, list):
                value = ",".join(str(item) for item in value)
            cells.append(value)
        self._csv.writerow([*cells, result.get(_REASON, "")])

    def flush(self) -> None:
        self._write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()


class _JsonWriter:
    """Writes an object with the id and the result of each row.

    Args:
      main_column: key of the results that a row without a prediction has, too, without a value.
      has_ids: the last value of a row is its id; else the id is its number, from 0.
    """

    def __init__(self, write: Write, main_column: str, has_ids: bool):
        self._write = write
        self._main_column = main_column
        self._has_ids = has_ids
        self._lines: list[str] = []

    def add(self, row: Row, result: dict) -> None:
        row_id = row.values[-1] if self._has_ids else str(row.number)
        record = {"id": row_id, **result}
        if _REASON in result:
            # An empty text is no label, but it would be a score's or a list's type error.
            empty = "" if self._main_column == "label" else None
            record = {"id": row_id, self._main_column: empty, **result}
        self._lines.append(json.dumps(record, ensure_ascii=False) + "\n")

    def flush(self) -> None:
        self._write("".join(self._lines).encode())
        self._lines.clear()

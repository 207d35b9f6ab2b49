"""Columns and rows of Parquet and Arrow files, as Hugging Face's `datasets` and pandas write them.

    file = ArrowFile("train.parquet")
    columns = file.columns(lambda names: ["text", "label"])

Input: a file on any file system. Output: Python values, for `named_columns.py`, which imports this
module only for such a file: it needs the package pyarrow. Numbers of classes whose names `datasets`
keeps in the file become these names.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from bert_common import files
from bert_common.errors import UserError, in_one_line

# First bytes of Parquet files and of Arrow's files; Arrow's streams have none.
_PARQUET = b"PAR1"
_ARROW_FILE = b"ARROW1"
_ROWS_PER_BATCH = 1024


class ArrowFile:
    """A Parquet or Arrow file.

    Reading raises `UserError` if the file is missing, damaged, or of another format.
    """

    def __init__(self, path: str):
        self.path = path

    def columns(
        self, choose: Callable[[list[str]], Sequence[str]], use_class_names: bool = True
    ) -> dict[str, list]:
        """Returns name → values of the chosen columns.

        Args:
          choose: gets the names of all columns, returns those to read.
          use_class_names: replace the numbers of classes by their names.
        """
        with self._opened() as source:
            # Two flags may name one column, and a table with a column twice can't be asked for it
            # by name.
            names = list(dict.fromkeys(choose(source.names)))
            table = source.read(names)
            columns = {}
            for name in names:
                values = table.column(name).to_pylist()
                class_names = source.class_names(name)
                if use_class_names and class_names:
                    values = [_with_names(value, class_names) for value in values]
                columns[name] = values
        return columns

    def rows(self, names: Sequence[str] | None = None) -> Iterator[dict]:
        """Yields the rows as objects, without holding all of them.

        Args:
          names: of the columns to read; all by default.
        """
        with self._opened() as source:
            missing = [name for name in names or () if name not in source.names]
            if missing:
                raise UserError(
                    f"{self.path}: no column {missing[0]!r}, only {', '.join(source.names)}: "
                    "--text_column names the one to use"
                )
            class_names = {}
            for name in source.names:
                class_names[name] = source.class_names(name)
            # Python objects take many times the memory of Arrow's columns, so only a batch is
            # converted.
            for batch in source.batches(names):
                for row in batch.to_pylist():
                    for name, value in row.items():
                        if class_names[name]:
                            row[name] = _with_names(value, class_names[name])
                    yield row

    @contextlib.contextmanager
    def _opened(self) -> Iterator["_Source"]:
        try:
            with (
                files.user_error(f"can't read {self.path}"),
                files.open_file(self.path, "rb") as file,
            ):
                yield _Source(file)
        except pyarrow.ArrowException as error:
            raise UserError(
                f"{self.path} can't be read as Parquet or Arrow: {in_one_line(error)}"
            ) from None


class _Source:
    """An open Parquet or Arrow file.

    Attributes:
      names: of the columns.
    """

    def __init__(self, file: Any):
        # The first bytes decide, not the extension: files and streams of Arrow are both called
        # .arrow.
        start = file.peek(len(_ARROW_FILE))
        self._parquet = None
        self._reader: Any = None
        if start.startswith(_PARQUET):
            self._parquet = pyarrow.parquet.ParquetFile(file)
            schema = self._parquet.schema_arrow
        else:
            is_file = start.startswith(_ARROW_FILE)
            self._reader = pyarrow.ipc.open_file(file) if is_file else pyarrow.ipc.open_stream(file)
            schema = self._reader.schema
        self.names: list[str] = schema.names
        # `datasets` keeps a description beside the schema: name → description of a column.
        try:
            info = json.loads((schema.metadata or {})[b"huggingface"])
            self._features = dict(info["info"]["features"])
        except (KeyError, TypeError, ValueError):
            self._features = {}

    def read(self, names: Sequence[str]) -> Any:
        """Returns a table of these columns."""
        if self._parquet is not None:
            return self._parquet.read(columns=list(names))
        return self._reader.read_all().select(names)

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        """Yields parts of the table, of all columns by default."""
        if self._parquet is not None:
            columns = None if names is None else list(names)
            yield from self._parquet.iter_batches(batch_size=_ROWS_PER_BATCH, columns=columns)
            return
        chosen = list(names or self.names)
        for batch in self._arrow_batches():
            # A file may have all its rows in one batch.
            for start in range(0, batch.num_rows, _ROWS_PER_BATCH):
                yield batch.slice(start, _ROWS_PER_BATCH).select(chosen)

    def _arrow_batches(self) -> Iterator[Any]:
        """Yields the batches of an Arrow file or stream as they were written."""
        if isinstance(self._reader, pyarrow.ipc.RecordBatchStreamReader):
            yield from self._reader
            return
        for number in range(self._reader.num_record_batches):
            yield self._reader.get_batch(number)

    def class_names(self, column: str) -> list[str]:
        """Returns the names of a column of classes, or of lists of classes; else none."""
        feature = self._features.get(column)
        # A list of classes describes its items, in earlier versions as a list of one.
        if isinstance(feature, list) and feature:
            feature = feature[0]
        if isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
            feature = feature["feature"]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            return feature.get("names") or []
        return []


def _with_names(value: Any, names: list[str]) -> Any:
    """Returns the name of a class, or of each class in a list; other values unchanged."""
    if isinstance(value, list):
        return [_with_names(item, names) for item in value]
    # Test sets have -1 in place of a class.
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return value

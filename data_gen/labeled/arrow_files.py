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
# A page of some kilobytes may hold the text of all its rows once, and a batch every time.
_ROWS_PER_BATCH = 64


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
            columns: dict[str, list] = {name: [] for name in names}
            for batch in source.batches(names):
                for name in names:
                    columns[name] += source.values(batch, name, use_class_names)
        return columns

    def rows(self, names: Sequence[str] | None = None) -> Iterator[dict]:
        """Yields the rows as objects, without holding all of them.

        Args:
          names: of the columns to read; all by default.
        """
        with self._opened() as source:
            twins = [name for name in source.names if source.names.count(name) > 1]
            if twins:
                raise UserError(
                    f"{self.path}: {source.names.count(twins[0])} columns are called "
                    f"{twins[0]!r}: rename all but one"
                )
            missing = [
                name for name in (() if names is None else names) if name not in source.names
            ]
            if missing:
                raise UserError(
                    f"{self.path}: no column {missing[0]!r}, only {', '.join(source.names)}: "
                    "--text_column names the one to use"
                )
            # Python objects take many times the memory of Arrow's columns, so only a batch is
            # converted.
            for batch in source.batches(names):
                columns = {name: source.values(batch, name) for name in batch.schema.names}
                for number in range(batch.num_rows):
                    yield {name: values[number] for name, values in columns.items()}

    @contextlib.contextmanager
    def _opened(self) -> Iterator["_Source"]:
        try:
            with (
                files.user_error(f"can't read {self.path}"),
                files.open_file(self.path, "rb") as file,
            ):
                yield _Source(file, self.path)
        except pyarrow.ArrowException as error:
            raise UserError(
                f"{self.path} can't be read as Parquet or Arrow: {in_one_line(error)}"
            ) from None


class _Source:
    """An open Parquet or Arrow file.

    Attributes:
      names: of the columns.
    """

    def __init__(self, file: Any, path: str):
        self._path = path
        self._most_bytes = files.most_unpacked(path)
        self._num_bytes = 0.0
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
            info = json.loads(({} if schema.metadata is None else schema.metadata)[b"huggingface"])
            self._features = dict(info["info"]["features"])
        except (KeyError, TypeError, ValueError, RecursionError):
            self._features = {}

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        """Yields parts of the table, of all columns by default.

        Raises `UserError` if the columns unpack to more than memory should hold.
        """
        if self._parquet is not None:
            columns = None if names is None else list(names)
            metadata = self._parquet.metadata
            for group in range(metadata.num_row_groups):
                for number in range(metadata.num_columns):
                    column = metadata.row_group(group).column(number)
                    if names is None or column.path_in_schema.partition(".")[0] in names:
                        # Pages are unpacked whole.
                        self._count(column.total_uncompressed_size, "pages")
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

    def values(self, batch: Any, name: str, use_class_names: bool = True) -> list:
        """Returns the values of a column in a batch as Python's."""
        column = batch.column(name)
        if pyarrow.types.is_dictionary(column.type):
            # A value that many rows share is converted once, but every row has to be worked on.
            shared = self._converted(column.dictionary, name)
            mean = column.dictionary.nbytes / max(len(shared), 1)
            values = []
            for index in column.indices.to_pylist():
                value = None if index is None else shared[index]
                values.append(value)
                self._count(len(value) if isinstance(value, str) else mean, name)
        else:
            self._count(column.nbytes, name)
            values = self._converted(column, name)
        class_names = self.class_names(name)
        if use_class_names and class_names:
            values = [_with_names(value, class_names) for value in values]
        return values

    def _converted(self, column: Any, name: str) -> list:
        kind = column.type
        if pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind):
            # Impala and Hive write texts as bytes, without saying that they are texts.
            with contextlib.suppress(pyarrow.ArrowInvalid):
                column = column.cast(pyarrow.large_string())
        try:
            return column.to_pylist()
        # Python's dates end with the year 9999.
        except (ValueError, OverflowError):
            with files.user_error(f"{self._path}: column {name} can't be read"):
                return column.cast(pyarrow.string()).to_pylist()

    def _count(self, num_bytes: float, name: str) -> None:
        self._num_bytes += num_bytes
        most = self._most_bytes
        if self._num_bytes > most:
            raise UserError(
                f"{self._path} unpacks to more than {most >> 20} MiB ({name}), "
                "a hundred times its size: no table is packed so well: write it again"
            )

    def class_names(self, column: str) -> list[str]:
        """Returns the names of a column of classes, or of lists of classes; else none."""
        feature = self._features.get(column)
        # A list of classes describes its items, in earlier versions as a list of one.
        if isinstance(feature, list) and feature:
            feature = feature[0]
        if isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
            feature = feature["feature"]
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            names = feature.get("names")
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                if len(set(names)) < len(names):
                    raise UserError(
                        f"{self._path}: two classes of column {column!r} have one name: "
                        f"{', '.join(names)}"
                    )
                return names
        return []


def _with_names(value: Any, names: list[str]) -> Any:
    """Returns the name of a class, or of each class in a list; other values unchanged."""
    if isinstance(value, list):
        return [_with_names(item, names) for item in value]
    # Test sets have -1 in place of a class.
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return value

"""Columns of Parquet and Arrow files, as Hugging Face's `datasets` and pandas write them.

Input: a file on any file system. Output: lists of Python values, for `tables.py`, which imports
this module only for such a file: it needs the package pyarrow.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

from bert_common import files
from bert_common.errors import UserError, in_one_line

# First bytes of Arrow's format of files; its streams have none.
_ARROW_FILE = b"ARROW1"


def read_columns(
    path: str,
    file_format: str,
    choose: Callable[[list[str]], Sequence[str]] = list,
    *,
    use_class_names: bool = True,
) -> dict[str, list]:
    """Returns name → values of the chosen columns of a file.

    Args:
      file_format: "parquet" or "arrow".
      choose: gets the names of all columns, returns those to read.
      use_class_names: replace the numbers of classes whose names `datasets` keeps in the file.

    Raises:
      UserError: the file can't be read, or from `choose`.
    """
    try:
        with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
            if file_format == "parquet":
                source = pyarrow.parquet.ParquetFile(file)
                schema = source.schema_arrow
                names = choose(schema.names)
                table = source.read(columns=list(names))
            else:
                is_file = file.peek(len(_ARROW_FILE)).startswith(_ARROW_FILE)
                reader = pyarrow.ipc.open_file(file) if is_file else pyarrow.ipc.open_stream(file)
                schema = reader.schema
                names = choose(schema.names)
                table = reader.read_all()
            columns = {name: table.column(name).to_pylist() for name in names}
    except pyarrow.ArrowException as error:
        raise UserError(f"{path} can't be read as {file_format}: {in_one_line(error)}") from None
    if use_class_names:
        features = _features(schema)
        for name, values in columns.items():
            class_names = _class_names(features.get(name))
            if class_names:
                columns[name] = [_with_names(value, class_names) for value in values]
    return columns


def read_texts(path: str, column: str) -> Any:
    """Yields the values of a column of a Parquet file, without reading the file as a whole.

    Raises:
      UserError: the file can't be read, or has no such column.
    """
    try:
        with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
            source = pyarrow.parquet.ParquetFile(file)
            names = source.schema_arrow.names
            if column not in names:
                raise UserError(
                    f"{path}: no column {column!r}, only {', '.join(names)}: --text_column names "
                    "the one to use"
                )
            for batch in source.iter_batches(batch_size=1024, columns=[column]):
                yield from batch.column(0).to_pylist()
    except pyarrow.ArrowException as error:
        raise UserError(f"{path} can't be read as parquet: {in_one_line(error)}") from None


def _features(schema: Any) -> dict:
    """Returns name → description of the columns that `datasets` keeps beside the schema."""
    try:
        info = json.loads((schema.metadata or {})[b"huggingface"])
        return dict(info["info"]["features"])
    except (KeyError, TypeError, ValueError):
        return {}


def _class_names(feature: Any) -> list[str]:
    """Returns the names of a column of classes, or of lists of classes; else none."""
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

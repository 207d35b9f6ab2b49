"""JSON files, and whether the objects in them hold what our own programs write into them.

Input: paths on any file system, gzipped or not. Output: values of Python; what is wrong is named
with file and line.
"""

import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from bert_common import files
from bert_common.errors import UserError, in_one_line

_TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


def write(path: str, value: object) -> None:
    """Writes `value` as indented JSON with a final newline, whole or not at all."""
    with files.atomic_write(path) as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read(path: str) -> Any:
    """Reads a JSON file, gzipped or not; raises `UserError` where it is missing, empty, not UTF-8,
    or not JSON."""
    # Editors of Windows begin a file with a byte order mark.
    text = files.read_text(path).removeprefix("\ufeff")
    if not text.strip():
        raise UserError(f"{path} is empty")
    return parse(text, path)


def parse(text: str, path: str = "", line: int | None = None) -> Any:
    """The value of a JSON text; `UserError` names where it is from, without a line where the text
    is a whole file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where, what = (
            f"{path}:{line or error.lineno}",
            f"not JSON: {error.msg} at column {error.colno}",
        )
    except (ValueError, RecursionError) as error:
        where, what = path if line is None else f"{path}:{line}", f"not JSON: {in_one_line(error)}"
    raise UserError(f"{where}: {what}" if path else what)


def check_text(value: object, where: str = "") -> None:
    """Raises `UserError`, with `where` in front, for half a surrogate pair in a text or in any text
    of a JSON value.

    JSON can write it, as an escape, and UTF-8 can't.
    """
    try:
        (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}half a surrogate pair ({ascii(error.object[error.start])[1:-1]}), no text"
        ) from None


def read_object(path: str, fields: Mapping[str, object] = types.MappingProxyType({})) -> dict:
    """Reads a JSON file that must hold an object, see `check_object`; an empty one where there is
    no file."""
    with files.user_error(f"can't read {path}"):
        if not files.exists(path):
            return {}
    value = read(path)
    check_object(value, fields, path)
    return value


def read_objects(
    path: str, fields: Mapping[str, object] = types.MappingProxyType({})
) -> list[dict]:
    """Reads a file with one JSON object per line, each as for `read_object`; none where there is no
    file.

    An incomplete last line, as a kill leaves it, is left out. Raises `UserError` that names the
    first wrong line.
    """
    with files.user_error(f"can't read {path}"):
        if not files.exists(path):
            return []
        with files.open_file(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    found = []
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError:
            raise UserError(
                f"{path}:{number}: not JSON: remove the line, or move the file away"
            ) from None
        check_object(value, fields, f"{path}:{number}")
        found.append(value)
    return found


def check_object(value: object, fields: Mapping[str, object], where: str, parent: str = "") -> None:
    """Raises `UserError` if what was read is no object, or a value in it is missing or of another
    type.

    Args:
      fields: key → type of its value: `int`, `float`, `str`, `bool`, `dict`, `list`, `dict[str,
        T]`, `list[T]`, `T | None` where the key may be missing, further fields of an object, or
        `[fields]` of a list of objects. Other keys are ignored.
      parent: what is in front of the keys in messages.
    """
    if not isinstance(value, dict):
        raise UserError(f"{where}: a JSON object is expected")
    for key, kind in fields.items():
        inner: Any = value.get(key)
        if type(inner) is kind and kind is not int:
            continue  # As most values are; numbers have bounds, and objects and lists fields.
        expected = (
            dict if isinstance(kind, dict) else list[dict] if isinstance(kind, list) else kind
        )
        if not _is_of_type(inner, expected):
            name = repr(parent + key)
            there = f"{name} is {json.dumps(inner)[:60]}" if key in value else f"there is no {name}"
            raise UserError(
                f"{where}: {there}, {_name(expected)} is expected: fix the file, or move it away"
            )
        if isinstance(kind, dict):
            check_object(inner, kind, where, f"{parent}{key}.")
        elif isinstance(kind, list):
            for number, one in enumerate(inner):
                check_object(one, kind[0], where, f"{parent}{key}[{number}].")


def line_of(record: dict) -> str:
    """An object as one line of a file, in readable characters."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def _is_of_type(value: Any, kind: Any) -> bool:
    if kind is int or kind is float:
        # Arrays hold no larger ones.
        return (
            type(value) is int
            and -(2**63) <= value < 2**63
            or kind is float
            and type(value) is float
        )
    if type(kind) is type:
        return type(value) is kind
    parts = kind.__args__
    if isinstance(kind, types.UnionType):
        return any(_is_of_type(value, one) for one in parts)
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, kind.__origin__) and all(_is_of_type(one, parts[-1]) for one in inner)


def _name(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join(_name(one) for one in typing.get_args(kind) if one is not types.NoneType)
    parts = typing.get_args(kind)
    inner = f", each of them {_name(parts[-1])}," if parts else ""
    return _TYPE_NAMES[typing.get_origin(kind) or kind] + inner

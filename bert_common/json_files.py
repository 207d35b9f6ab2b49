"""JSON files, and checks of the types of their fields.

Input: paths on any file system, gzipped or not. Output: values of Python, or an error that names
file and line.
"""

import json
import re
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


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of its keys and values; refuses a key that is there twice, of which every
    reader would take another one."""
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise ValueError(f"the key {key!r} is there twice in an object: remove one of them")
    return value


# Made once: it is as fast as `json.loads` without the hook.
_decode = json.JSONDecoder(object_pairs_hook=_object_of).decode
# An escape that may stand for half a surrogate pair.
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def write(path: str, value: object) -> None:
    """Writes a value as indented JSON with a final newline, whole or not at all."""
    with files.atomic_write(path) as file:
        file.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read(path: str) -> Any:
    """Returns the value of a JSON file, gzipped or not.

    Raises:
      UserError: the file is missing, empty, not UTF-8 or not JSON.
    """
    # Editors of Windows begin a file with a byte order mark.
    text = files.read_text(path).removeprefix("\ufeff")
    if not text.strip():
        raise UserError(f"{path} is empty")
    return parse(text, path)


def parse(
    text: str, path: str = "", line: int | None = None, allow_half_pairs: bool = False
) -> Any:
    """Returns the value of a JSON text.

    Args:
      path, line: origin of the text for messages; no line if the text is the whole file.
      allow_half_pairs: whether the caller replaces halves of surrogate pairs.

    Raises:
      UserError: the text is not JSON, has a key twice in an object, or half a surrogate pair, which
        no output could hold.
    """
    try:
        value = _decode(text)
        if not allow_half_pairs and _HALF_PAIR.search(text):
            check_text(value, _position(path, line))
        return value
    except json.JSONDecodeError as error:
        if line is None:
            line = error.lineno
        problem = f"{error.msg} at column {error.colno}"
    except (ValueError, RecursionError) as error:
        # Numbers with too many digits, values that are nested too deeply, keys that repeat.
        problem = in_one_line(error)
    raise UserError(f"{_position(path, line)}not JSON: {problem}")


def _position(path: str, line: int | None) -> str:
    """Returns the beginning of a message, e.g. "a.json:3: "; "" without a path."""
    if not path:
        return ""
    if line is None:
        return f"{path}: "
    return f"{path}:{line}: "


def check_text(value: object, where: str = "") -> None:
    """Checks that all texts of a JSON value can be written as UTF-8.

    JSON can escape half a surrogate pair ("\\ud800"), which UTF-8 can't encode.

    Args:
      where: begins the message.

    Raises:
      UserError: a text holds half a surrogate pair.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])[1:-1]
        raise UserError(f"{where}half a surrogate pair ({character}), no text") from None


def read_object(path: str, fields: Mapping[str, object] = types.MappingProxyType({})) -> dict:
    """Returns the object in a JSON file, checked by `check_object`; {} if there is no file."""
    with files.user_error(f"can't read {path}"):
        if not files.exists(path):
            return {}
    value = read(path)
    check_object(value, fields, path)
    return value


def read_objects(
    path: str, fields: Mapping[str, object] = types.MappingProxyType({})
) -> list[dict]:
    """Returns the objects of a file with one JSON object per line; none if there is no file.

    The incomplete last line that a killed process leaves is skipped.

    Args:
      fields: fields of each object, see `check_object`.

    Raises:
      UserError: names the first wrong line.
    """
    with files.user_error(f"can't read {path}"):
        if not files.exists(path):
            return []
        with files.open_file(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    objects = []
    for number, line in enumerate(lines, 1):
        try:
            value = _decode(line.decode())
        except ValueError:
            raise UserError(
                f"{path}:{number}: not JSON: remove the line, or move the file away"
            ) from None
        check_object(value, fields, f"{path}:{number}")
        objects.append(value)
    return objects


def object_in(values: Mapping[str, Any], key: str) -> dict:
    """Returns the object under a key; {} if the key is missing or has another value."""
    value = values.get(key)
    if isinstance(value, dict):
        return value
    return {}


def check_object(
    value: object,
    fields: Mapping[str, object],
    where: str,
    parent: str = "",
    remedy: str = "fix the file, or move it away",
) -> None:
    """Checks that a value is an object whose fields have the expected types.

    Args:
      fields: key → type of its value: `int`, `float`, `str`, `bool`, `dict`, `list`, `dict[str,
        T]`, `list[T]`, `T | None` where the key may be missing, further fields of an object, or
        `[fields]` of a list of objects. Other keys are ignored.
      where: file and line, for messages.
      parent: prefix of the keys in messages.
      remedy: end of messages.

    Raises:
      UserError: the value is no object, or a field is missing or of another type.
    """
    if not isinstance(value, dict):
        raise UserError(f"{where}: a JSON object is expected")
    for key, kind in fields.items():
        field: Any = value.get(key)
        # Most fields pass here, quickly. Integers also have bounds, objects and lists have fields.
        if type(field) is kind and kind is not int:
            continue
        if not _is_of_type(field, _container_of(kind)):
            if key in value:
                problem = f"{parent + key!r} is {json.dumps(field)[:60]}"
            else:
                problem = f"there is no {parent + key!r}"
            raise UserError(
                f"{where}: {problem}, {_name(_container_of(kind))} is expected: {remedy}"
            )
        if isinstance(kind, dict):
            check_object(field, kind, where, f"{parent}{key}.", remedy)
        elif isinstance(kind, list):
            for number, item in enumerate(field):
                check_object(item, kind[0], where, f"{parent}{key}[{number}].", remedy)


def _container_of(kind: Any) -> Any:
    """Returns the type of a field's value itself, without the types of further fields in it."""
    if isinstance(kind, dict):
        return dict
    if isinstance(kind, list):
        return list[dict]
    return kind


def line_of(record: dict) -> str:
    """Returns an object as one line of a file, without escapes of printable characters."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def _is_of_type(value: Any, kind: Any) -> bool:
    if kind is float and type(value) is float:
        return True
    if kind is int or kind is float:
        # The integers of numpy have 64 bits at most.
        return type(value) is int and -(2**63) <= value < 2**63
    if type(kind) is type:
        return type(value) is kind
    arguments = kind.__args__
    if isinstance(kind, types.UnionType):
        return any(_is_of_type(value, alternative) for alternative in arguments)
    if not isinstance(value, kind.__origin__):
        return False
    items = value.values() if isinstance(value, dict) else value
    return all(_is_of_type(item, arguments[-1]) for item in items)


def _name(kind: Any) -> str:
    """Returns the name of a type in messages, e.g. "a list, each of them a text,"."""
    arguments = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return " or ".join(_name(part) for part in arguments if part is not types.NoneType)
    if arguments:
        return f"{_TYPE_NAMES[typing.get_origin(kind)]}, each of them {_name(arguments[-1])},"
    return _TYPE_NAMES[kind]

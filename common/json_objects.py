"""Objects of JSON: whether they hold what our own programs write into them, and as a line of a file."""

import json
import types
import typing
from collections.abc import Mapping

from common.errors import UserError

_TYPE_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "an object",
               list: "a list"}


def check_object(value: object, fields: Mapping[str, object], where: str) -> None:
  """Checks what was read.

  Args:
    value: anything that JSON can hold.
    fields: key → type of its value: `int`, `float`, `str`, `bool`, `dict`, `list`, `dict[str, T]`, `list[T]`, or
      `T | None` where the key may be missing. Other keys are ignored.
    where: file, and line, for errors.

  Raises:
    UserError: it is no object, or a value is missing or of another type.
  """
  if not isinstance(value, dict):
    raise UserError(f"{where}: a JSON object is expected")
  for name, kind in fields.items():
    if not _is_of_type(value.get(name), kind):
      there = f"{name!r} is {json.dumps(value[name])[:60]}" if name in value else f"there is no {name!r}"
      raise UserError(f"{where}: {there}, {_name(kind)} is expected: fix the file, or move it away")


def json_line(record: dict) -> str:
  """An object as one line of a file, in readable characters."""
  line = json.dumps(record, ensure_ascii=False)
  try:
    line.encode()
  except UnicodeEncodeError:
    # Half of a surrogate pair, from an escape in somebody's JSON, is only possible as an escape.
    line = json.dumps(record)
  return line + "\n"


def _is_of_type(value: object, kind: object) -> bool:
  if isinstance(kind, types.UnionType):
    return any(_is_of_type(value, one) for one in typing.get_args(kind))
  origin, parts = typing.get_origin(kind), typing.get_args(kind)
  if origin is not None:
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, origin) and all(_is_of_type(one, parts[-1]) for one in inner)
  if kind in (int, float):
    return isinstance(value, (int, kind)) and not isinstance(value, bool)
  return isinstance(value, kind)


def _name(kind: object) -> str:
  if isinstance(kind, types.UnionType):
    return " or ".join(_name(one) for one in typing.get_args(kind) if one is not types.NoneType)
  parts = typing.get_args(kind)
  inner = f", each of them {_name(parts[-1])}," if parts else ""
  return _TYPE_NAMES[typing.get_origin(kind) or kind] + inner

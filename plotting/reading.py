"""JSON lines of a run directory, checked."""

import json
from collections.abc import Mapping

from common import files
from common.errors import UserError


def read_lines(path: str, fields: Mapping[str, type]) -> list[dict]:
  """The objects of a file with one a line; an incomplete last line, as a kill leaves it, is left out.

  Args:
    path: of the file; none is the same as an empty one.
    fields: keys that every object has, and the types of their values.

  Raises:
    UserError: a line is no such object; names the line.
  """
  if not files.exists(path):
    return []
  with files.open_file(path, "rb") as file:
    lines = file.read().split(b"\n")[:-1]
  found = []
  for number, line in enumerate(lines, 1):
    try:
      value = json.loads(line)
    except ValueError:
      raise UserError(f"{path}:{number}: not JSON") from None
    if not isinstance(value, dict) or not all(isinstance(value.get(key), kind) for key, kind in fields.items()):
      raise UserError(f"{path}:{number}: an object with {', '.join(fields)} is expected")
    found.append(value)
  return found

"""What `inference/predictor.py` takes: texts, pairs of texts and objects, from Python or as lines.

Errors here say what is wrong with one input; whoever knows its number adds it.
"""

import json
from collections.abc import Mapping

from common.errors import UserError
from data_gen.text.lines import looks_like_json

# Key of an object that is given back with the result.
ID = "id"


def parse_line(line: bytes, pairs: bool) -> object:
  """A line as it would be given from Python: a JSON object, "first TAB second" where pairs are known, else a text.

  Args:
    line: without its line end.
    pairs: whether a tab separates two texts; else it is white space.

  Raises:
    UserError: not UTF-8, JSON that can't be read, or several tabs.
  """
  try:
    text = line.decode("utf-8")
  except UnicodeDecodeError as error:
    raise UserError(f"not UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x})") from None
  if looks_like_json(text):
    try:
      return json.loads(text)
    except json.JSONDecodeError as error:
      raise UserError(f"not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
      raise UserError("no JSON that can be read: nested too deeply, or a number has thousands of digits") from None
  if not pairs or "\t" not in text:
    return text
  texts = tuple(text.split("\t"))
  if len(texts) > 2:
    raise UserError(f"{len(texts)} texts with tabs between them: one or two are wanted")
  return texts


def texts_of(value: object, *layouts: tuple[str, ...]) -> tuple[str, ...]:
  """The texts of an input.

  Args:
    value: a str, a pair, or a mapping with exactly the keys of a layout and perhaps "id".
    *layouts: keys of mappings, e.g. ("text",), ("text_a", "text_b"); a str is what has one key, a pair what has two.

  Raises:
    UserError: another type, number of texts, or other keys; half a surrogate pair in a text.
  """
  wanted = " or ".join(json.dumps(dict.fromkeys(layout, "…"), ensure_ascii=False) for layout in layouts)
  if isinstance(value, Mapping):
    layout = next((layout for layout in layouts if set(layout) == set(value) - {ID}), None)
    if layout is None:
      keys = ", ".join(map(repr, value)) or "none"
      raise UserError(f"the keys are {keys}; wanted is {wanted}")
    texts = tuple(value[key] for key in layout)
  else:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, tuple | list):
      raise UserError(f"a {type(value).__name__} is no text; wanted is {wanted}")
    layout = next((layout for layout in layouts if len(layout) == len(texts)), None)
    if layout is None:
      raise UserError(f"{_count(len(texts))} given; wanted is {wanted}")
  for key, text in zip(layout, texts, strict=True):
    if not isinstance(text, str):
      raise UserError(f"{key} is a {type(text).__name__}, a text is wanted")
    _check_text(text)
  return tuple(texts)


def id_of(value: object) -> dict[str, str | int]:
  """{"id": ...} where the input is a mapping with that key, else {}.

  Raises:
    UserError: it is neither a text nor a whole number.
  """
  if not isinstance(value, Mapping) or ID not in value:
    return {}
  if not isinstance(value[ID], str | int):
    raise UserError(f"id is a {type(value[ID]).__name__}, a text or a whole number is wanted")
  _check_text(str(value[ID]))
  return {ID: value[ID]}


def _check_text(text: str) -> None:
  if text.isascii():
    return
  try:
    text.encode()
  except UnicodeEncodeError as error:
    raise UserError(f"half a surrogate pair ({ascii(text[error.start])[1:-1]}) at character {error.start}, which is no "
                    "text") from None


def _count(number: int) -> str:
  return f"{number} text{'' if number == 1 else 's'}"

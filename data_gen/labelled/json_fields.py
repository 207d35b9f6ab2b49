"""Values out of JSON that must have a certain shape, with errors that name the place in the file."""

from common.errors import UserError

_KINDS = {dict: "an object", list: "a list", str: "text", int: "a whole number", float: "a number with a fraction",
          bool: "true or false", type(None): "null"}


def kind_of(value: object) -> str:
  """What a value from JSON is, in words."""
  return _KINDS[type(value)]


def read_field(parent: object, key: str, kind: type, path: str, where: str) -> object:
  """`parent[key]`, where `parent` must be an object and the value of the type `kind`.

  Args:
    parent: a value from JSON.
    key: name of the wanted field.
    kind: dict, list, str, int, float or bool, exactly: true is no int.
    path: the file, for messages.
    where: place of `parent` in it, e.g. "data[3].paragraphs[0]"; "" for the whole.

  Raises:
    UserError: the field is missing, of another type, or text that can't be written as UTF-8.
  """
  if type(parent) is not dict:
    raise UserError(f"{path}: {where or 'the whole'} must be an object, not {kind_of(parent)}")
  place = f"{where}.{key}" if where else key
  if key not in parent:
    raise UserError(f"{path}: {place} is missing")
  value = parent[key]
  if type(value) is not kind:
    raise UserError(f"{path}: {place} must be {_KINDS[kind]}, not {kind_of(value)}")
  if kind is str and not value.isascii():
    try:
      value.encode()
    except UnicodeEncodeError as error:
      raise UserError(f"{path}: {place} holds half a surrogate pair ({ascii(value[error.start])[1:-1]}) at character "
                      f"{error.start}, which is no text") from None
  return value

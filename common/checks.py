"""Checks of options that several rooms make."""

from common.errors import UserError


def check_at_least(options, least: int, *names: str) -> None:
  """Refuses numbers that are too small.

  Args:
    options: has the attributes `names`, which are flags of the same name; None counts as not given.
    least: 0 or 1.
    names: of the attributes.

  Raises:
    UserError: names the first flag whose value is below `least`.
  """
  for name in names:
    value = getattr(options, name)
    if value is not None and value < least:
      wanted = f"it must be at least {least}" if least else "it must not be negative"
      raise UserError(f"--{name} is {value}, {wanted}")

"""What every task tells the user in the same way."""

from collections.abc import Callable, Mapping


def printer(is_chief: bool) -> Callable[[str], None]:
  """`print` for the process that reports, nothing for the others."""
  return (lambda text: print(text, flush=True)) if is_chief else (lambda text: None)


def duration(seconds: float) -> str:
  """Seconds in words: "40 s", "12 min", "3.5 h", "2.1 days"."""
  for size, unit, digits in ((86400, "days", 1), (3600, "h", 1), (60, "min", 0)):
    if seconds >= 1.5 * size:
      return f"{seconds / size:.{digits}f} {unit}"
  return f"{seconds:.0f} s"


def flags_table(flags: Mapping[str, object]) -> str:
  """The flags as a Markdown table."""
  return "\n".join(["| flag | value |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in flags.items())])

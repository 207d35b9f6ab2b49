"""Markdown that shows any text as it is: flags, tokens and other people's texts in TensorBoard.

A token `_`, a pattern `train*of*`, a text with `[a](link)` or `| a |` must neither vanish nor become something else.
"""

from collections.abc import Iterable, Sequence

# Harmless wherever they stand.
_PLAIN = set(",;?'\"%$@/^")
_REPLACED = {chr(code): f"&#{code};" for code in range(33, 127) if not chr(code).isalnum() and chr(code) not in _PLAIN}
# Control characters and halves of surrogate pairs can't be shown; the Markdown library uses two of them for itself.
_REPLACED |= {chr(code): "\ufffd" for code in (*range(9), *range(14, 28), *range(127, 133), *range(134, 160),
                                              *range(0xd800, 0xe000))}
_TABLE = str.maketrans(_REPLACED)


def escape(text: str) -> str:
  """Markdown for a text, in one line; white space becomes single spaces."""
  return one_line(text).translate(_TABLE)


def readable_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
  """A Markdown table that can be read as it is, too: texts are code, in which nothing means anything."""
  lines = [header, ["---"] * len(header), *([code(cell) for cell in row] for row in rows)]
  return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value: object) -> str:
  """A code span for a table; numbers and nothing as they are."""
  text = one_line(value).replace("`", "'").replace("|", "\\|")
  return f"`{text}`" if text and isinstance(value, str) else text


def one_line(value: object) -> str:
  """A value as text without line breaks."""
  return " ".join(str(value).split())


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
  """A Markdown table, its cells as `str` writes them, see `escape`."""
  lines = ["| " + " | ".join(escape(str(cell)) for cell in row) + " |" for row in (header, *rows)]
  return "\n".join([lines[0], "| --- " * len(header) + "|", *lines[1:]])

"""User errors."""

import difflib
import re
from collections.abc import Iterable

# Of a word in a message: a name of a file is hardly longer, and a damaged value may be a million characters.
_LONGEST_WORD = 400
_SHOWN_OF_LONGER = 60
_LONGEST_MESSAGE = 1200
# What a terminal, or a reader of lines, would take for something else than a character, as in names of files.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class UserError(Exception):
  """Something outside the program is wrong: a file, a line in it, a flag, a disk.

  The message is one line that says what is wrong, where and how to fix it. Scripts print it without a traceback and end
  with exit status 2 (`bert_common/cli.py`). Everything else that is raised is a bug of ours. Control
  characters are escaped; words of hundreds of characters, and texts of many words, are shortened.
  """

  def __init__(self, message: str):
    message = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], message.replace("\n", " "))
    message = re.sub(rf"\S{{{_LONGEST_WORD},}}", _shortened, message)
    super().__init__(message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…")


def _shortened(word: re.Match) -> str:
  return f"{word[0][:_SHOWN_OF_LONGER]}…{word[0][-_SHOWN_OF_LONGER:]}"


def in_one_line(error: Exception, longest: int = 300) -> str:
  """The message of a library's exception, as a part of one of ours."""
  return " ".join(str(getattr(error, "message", None) or error).split())[:longest]


def did_you_mean(word: str, known: Iterable[str], closest: float = 0.6) -> str:
  """": did you mean X?" with the known word that is most like a misspelt one; "" where none is.

  Args:
    closest: how similar a word must be to be suggested, from 0 to 1; case does not count.
  """
  folded = {one.lower(): one for one in known}
  near = difflib.get_close_matches(word.lower(), folded, 1, closest)
  return f": did you mean {folded[near[0]]}?" if near else ""

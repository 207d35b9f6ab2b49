"""Colours on a terminal; plain text everywhere else."""

import os
from collections.abc import Callable
from typing import IO

# What is right, what is wrong, what is hidden, what was put there at random, what only needs to be found.
RIGHT, WRONG, HIDDEN, RANDOM, MARKED = "32", "31", "1;33", "35", "1"


def painter(stream: IO[str]) -> Callable[[str, str], str]:
  """A function that colours a text for a stream: (text, one of the styles above) → text.

  It gives the text back as it is where the stream is no terminal, where NO_COLOR is set to anything (no-color.org), and
  on a terminal that knows no colours.
  """
  if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
    return lambda text, style: text
  return lambda text, style: f"\033[{style}m{text}\033[0m"

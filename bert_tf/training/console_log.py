"""Console log of a run: what the user saw, in `console.log` of the run directory, where a resumed run goes on.

Standard output and standard error are copied line by line, a progress bar that draws itself again and again only as it
was left. Nothing is written before `begin`, so that a run that is refused leaves a directory as it was. The log never
costs the run anything: where it can't be written a warning says so, and the run continues.
"""

import contextlib
import logging
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TextIO

from absl import logging as absl_logging

from bert_common import files
from bert_common.errors import UserError, in_one_line

CONSOLE_LOG = "console.log"
# A longer log loses its older half.
_MOST_BYTES = 4 << 20
_DROPPED = "… older lines were dropped\n"
# Seconds between writes where a file can only be written again as a whole.
_REMOTE_SECONDS = 60.0
# Colours and movements of a terminal.
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Those of the blocks that are running, the outermost first: that of a selection, and that of the run at hand.
_running: "list[_Log]" = []


def begin() -> None:
  """Has all blocks write: what they are about is not going to be refused."""
  for log in _running:
    log.begin()


@contextlib.contextmanager
def recorded(path: str, header: str, on_begin: Callable[[], None]) -> Iterator[None]:
  """Adds to the log at `path` what the block prints and logs, after `header`, and the error that it ends with.

  `on_begin` is called when that begins: at `begin`, or where the block ends without an error.
  """
  log = _Log(path, on_begin)
  log.write(header)
  handler = _Records(log)
  logging.getLogger().addHandler(handler)
  _running.append(log)
  try:
    with contextlib.redirect_stdout(_Copied(sys.stdout, log)), contextlib.redirect_stderr(_Copied(sys.stderr, log)):
      yield
      log.begin()
  except BaseException as error:
    # Printed later, outside of the block.
    log.write(f"error: {error}" if isinstance(error, UserError) else traceback.format_exc().rstrip())
    raise
  finally:
    _running.remove(log)
    logging.getLogger().removeHandler(handler)
    log.flush()


class _Log:
  """A file that lines are added to as long as that is possible."""

  def __init__(self, path: str, on_begin: Callable[[], None]):
    self._path, self._on_begin = path, on_begin
    self._pending: list[str] = []
    self._next_write = 0.0
    self._has_begun = self._has_failed = False

  def begin(self) -> None:
    if not self._has_begun:
      self._has_begun = True
      self._on_begin()
      self.flush()

  def write(self, line: str) -> None:
    self._pending.append(line + "\n")
    if not files.is_remote(self._path) or time.monotonic() >= self._next_write:
      self.flush()

  def flush(self) -> None:
    if not self._has_begun:
      return
    text, self._pending = "".join(self._pending), []
    if self._has_failed or not text:
      return
    try:
      with files.open_file(self._path, "ab") as file:
        file.write(text.encode(errors="backslashreplace"))
      if files.file_size(self._path) > _MOST_BYTES:
        self._halve()
    except (OSError, UserError) as error:
      self._has_failed = True
      print(f"warning: {self._path} can't be written ({in_one_line(error)}): the run continues without",
            file=sys.stderr, flush=True)
    self._next_write = time.monotonic() + _REMOTE_SECONDS

  def _halve(self) -> None:
    with files.open_file(self._path, "rb") as file:
      kept = file.read()[-_MOST_BYTES // 2:].partition(b"\n")[2]
    with files.atomic_write(self._path, "wb") as file:
      file.write(_DROPPED.encode() + kept)


class _Copied:
  """A stream whose lines go to a log, too."""

  def __init__(self, stream: TextIO, log: _Log):
    self._stream, self._log, self._line = stream, log, ""

  def __getattr__(self, name: str) -> object:
    return getattr(self._stream, name)

  def write(self, text: str) -> int:
    written = self._stream.write(text)
    *lines, rest = (self._line + text).split("\n")
    # First, as the log may have to print that it can't be written.
    self._line = _last_drawn(rest)
    for line in lines:
      self._log.write(_ESCAPES.sub("", _last_drawn(line).rstrip("\r")))
    return written


def _last_drawn(line: str) -> str:
  """What a line shows after the returns to its beginning."""
  return line[line.rstrip("\r").rfind("\r") + 1:]


class _Records(logging.Handler):
  """Warnings of libraries, whose own handlers hold the streams of earlier times."""

  def __init__(self, log: _Log):
    super().__init__()
    self._log = log
    self.setFormatter(absl_logging.PythonFormatter())

  def emit(self, record: logging.LogRecord) -> None:
    self._log.write(self.format(record))

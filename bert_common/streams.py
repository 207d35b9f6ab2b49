"""Standard streams that are closed, on a full disk, or read by a program that has ended.

Messages that can't be shown are dropped; results that can't be written are an error. Libraries' lines of information
are dropped, too.
"""

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from typing import TextIO

from bert_common.errors import UserError

# What TensorFlow and XLA write past Python and past TF_CPP_MIN_LOG_LEVEL, as patterns of the shell: lines of
# information, and errors that are none. ptxas before 12.6.3 is what TensorFlow 2.20 is installed with; a cached program
# is first read as if it were text; libraries of CUDA are registered twice;
# the converter of LiteRT takes no notice of what its caller in TensorFlow always says.
_NOISE = tuple(pattern.replace("0000", 4 * "[0-9]").replace(" ", "\\ ").replace("<", "\\<") for pattern in (
    "I0000 *", "WARNING: All log messages before absl::InitializeLog*",
    "E0000 *which corresponds to a CUDA version <=12.6.2*", "Please upgrade to CUDA 12.6.3 or newer.*",
    "E0000 *XlaSerializedCacheEntry*", "E0000 *Unable to register cu* factory*", "W0000 *Delay kernel timed out*",
    "W0000 *tf_tfl_flatbuffer_helpers.cc*"))
# A process of its own, as neither Python nor a thread of it runs while a library works, or after it has crashed.
_RELAY = r"""while IFS= read -r line || [ -n "$line" ]; do
  case $line in %s) ;; *) printf '%%s\n' "$line" ;; esac
done"""
_SECONDS_TO_END = 1.0


def drop_information() -> None:
  """Drops lines of information that libraries write to file descriptor 2; Python's own output stays as it is."""
  import subprocess

  original, (reader, writer) = os.dup(2), os.pipe()
  try:
    # Another session: Ctrl-C ends the program, and the relay with it, not before it.
    relay = subprocess.Popen(["sh", "-c", _RELAY % "|".join(_NOISE)], stdin=reader, stdout=original,
                             start_new_session=True)
  except OSError:
    # No shell: the lines are shown.
    return
  finally:
    os.close(reader)
  stream = sys.stderr
  # Not closed with the stream, which others may replace: `end` needs it.
  sys.stderr = _Guarded(
      open(original, "w", 1, stream.encoding, "backslashreplace", closefd=False), lambda error: None)
  os.dup2(writer, 2)
  os.close(writer)

  def end() -> None:
    os.dup2(original, 2)
    # Processes that this one has started may still have it.
    with contextlib.suppress(subprocess.TimeoutExpired):
      relay.wait(_SECONDS_TO_END)

  atexit.register(end)


def guard() -> None:
  """Opens what the shell has closed, and has failures of standard output and of standard error dealt with as above.

  Writing and flushing `sys.stdout` then raise `UserError`, or BrokenPipeError where its reader has ended (`… | head`).
  """
  for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
    try:
      os.fstat(number)
    except OSError:
      # The lowest number that is free is this one: the next file to be opened would have taken it.
      setattr(sys, name, open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
  sys.stdout = _Guarded(sys.stdout, _refuse)
  sys.stderr = _Guarded(sys.stderr, lambda error: None)


def _refuse(error: OSError) -> None:
  if isinstance(error, BrokenPipeError):
    raise error
  raise UserError(f"can't write to standard output: {error.strerror}") from None


class _Guarded:
  """A stream whose failures go to a function; what it could not write is dropped, also when the interpreter ends."""

  def __init__(self, stream: TextIO, fail: Callable[[OSError], None]):
    self._stream, self._fail = stream, fail

  def __getattr__(self, name: str) -> object:
    return getattr(self._stream, name)

  def write(self, text: str) -> int:
    try:
      return self._stream.write(text)
    except OSError as error:
      self._drop(error)
      return len(text)

  def flush(self) -> None:
    try:
      self._stream.flush()
    except OSError as error:
      self._drop(error)

  def _drop(self, error: OSError) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
    self._fail(error)

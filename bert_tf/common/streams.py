"""Standard streams that are closed, on a full disk, or read by a program that has ended.

Messages that can't be shown are dropped; results that can't be written are an error.
"""

import os
import sys
from collections.abc import Callable
from typing import TextIO

from bert_tf.common.errors import UserError


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

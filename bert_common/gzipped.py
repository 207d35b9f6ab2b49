"""Files that may be gzipped, by their content, not their name; and the errors of reading them."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from typing import Any

from bert_common import files
from bert_common.errors import UserError

# What every gzip file begins with.
_MAGIC = b"\x1f\x8b"


def is_gzip(path: str) -> bool:
  """Whether the file is gzipped. Raises `OSError` if it can't be read."""
  with files.open_file(path, "rb") as file:
    return file.read(len(_MAGIC)) == _MAGIC


@contextlib.contextmanager
def open_unzipped(path: str) -> Iterator[tuple[Any, Any]]:
  """The file as it is stored, and the file to read from, which is another one where the content is gzip."""
  with files.open_file(path, "rb") as raw:
    if raw.peek(len(_MAGIC))[:len(_MAGIC)] != _MAGIC:
      yield raw, raw
    else:
      with gzip.GzipFile(fileobj=raw) as unpacked:
        yield raw, unpacked


@contextlib.contextmanager
def damage_named(path: str) -> Iterator[None]:
  """Turns errors of unpacking into a `UserError` with the file's name."""
  try:
    yield
  except (EOFError, zlib.error, gzip.BadGzipFile):
    raise UserError(f"{path}: damaged or cut off (gzip): copy it again") from None


@contextlib.contextmanager
def faults_named(path: str) -> Iterator[None]:
  """Turns errors of opening, reading and unpacking into a `UserError` with the file's name."""
  try:
    with damage_named(path):
      yield
  except OSError as error:
    raise UserError(f"can't read {path}: {error.strerror or error}") from None


def read_text(path: str) -> str:
  """A whole file, every character as it is. Raises `UserError` if it can't be read, or is not UTF-8."""
  try:
    with faults_named(path), open_unzipped(path) as (_, file):
      return file.read().decode("utf-8")
  except UnicodeDecodeError as error:
    raise UserError(f"{path} is not UTF-8 (byte {error.start})") from None

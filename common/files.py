"""Files found by pattern and written whole."""

import contextlib
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO

from common.errors import UserError

# What every gzip file begins with.
GZIP_MAGIC = b"\x1f\x8b"


def expand_patterns(patterns: str, flag: str) -> list[str]:
  """Files named by a comma-separated list of paths and globs, in the order given, each glob sorted.

  Args:
    patterns: e.g. `"data/*.txt,more/one.txt"`. A file named twice is returned once.
    flag: name of the flag the patterns came from, for errors.

  Raises:
    UserError: no pattern at all, a pattern matches nothing, or it names a directory.
  """
  found: dict[str, None] = {}
  for pattern in filter(None, (part.strip() for part in (patterns or "").split(","))):
    matches = sorted(glob.glob(os.path.expanduser(pattern), recursive=True))
    if not matches:
      raise UserError(f"--{flag}: no file matches {pattern!r}")
    files = [match for match in matches if not os.path.isdir(match)]
    if not files:
      raise UserError(f"--{flag}: {pattern!r} is a directory: name the files in it, e.g. {pattern.rstrip('/')}/*")
    found.update(dict.fromkeys(files))
  if not found:
    raise UserError(f"--{flag} names no file")
  return list(found)


def check_readable(path: str, flag: str) -> str:
  """Returns `path` if it is a readable file.

  Raises:
    UserError: it is missing, a directory or not readable.
  """
  if not os.path.exists(path):
    raise UserError(f"--{flag}: {path} does not exist")
  if os.path.isdir(path):
    raise UserError(f"--{flag}: {path} is a directory, a file is wanted")
  if not os.access(path, os.R_OK):
    raise UserError(f"--{flag}: {path} can't be read: check its permissions")
  return path


def is_gzip(path: str) -> bool:
  """Whether the file's content, not its name, says that it is gzipped. Raises `OSError` if it can't be read."""
  with open(path, "rb") as file:
    return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def make_output_directory(path: str, flag: str) -> str:
  """Creates the directory where missing and proves that a file can be written in it.

  Raises:
    UserError: it can't be created or written, e.g. a parent is a file, no permission, or the disk is full.
  """
  try:
    os.makedirs(path, exist_ok=True)
    with tempfile.TemporaryFile(dir=path):
      pass
  except OSError as error:
    raise UserError(f"--{flag}: can't write in {path}: {error.strerror}") from None
  return path


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[IO]:
  """A file that appears under its name only when it is complete.

  Written beside its final place as `.<name>.<random>.tmp`, synced, then renamed; removed if the block raises.

  Args:
    path: final name; an existing file of that name is replaced in one step.
    mode: "w" (UTF-8 text, newlines as given) or "wb".

  Raises:
    UserError: the disk is full or the directory can't be written.
  """
  directory, name = os.path.split(os.path.abspath(path))
  try:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=directory)
  except OSError as error:
    raise UserError(f"can't write {path}: {error.strerror}") from None
  text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
  try:
    with os.fdopen(descriptor, mode, **text) as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    os.chmod(temporary, 0o666 & ~current_umask())
    os.replace(temporary, path)
  except BaseException as error:
    with contextlib.suppress(FileNotFoundError):
      os.unlink(temporary)
    if isinstance(error, OSError):
      raise UserError(f"can't write {path}: {error.strerror}") from None
    raise


@contextlib.contextmanager
def new_directory(path: str, flag: str) -> Iterator[str]:
  """A directory that appears under its name only when everything in it is written.

  The block gets the path of a temporary directory beside it to write in; it is removed if the block raises.

  Args:
    path: final name; nothing may be there. Missing parents are made.
    flag: name of the flag the path came from, for errors.

  Raises:
    UserError: something is there, or the place can't be written.
  """
  refuse_existing(path, flag)
  parent, name = os.path.split(os.path.abspath(path))
  make_output_directory(parent, flag)
  temporary = tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=parent)
  try:
    yield temporary
    os.chmod(temporary, 0o777 & ~current_umask())
    refuse_existing(path, flag)
    os.rename(temporary, path)
  except BaseException as error:
    shutil.rmtree(temporary, ignore_errors=True)
    if isinstance(error, OSError):
      raise UserError(f"--{flag}: can't write {path}: {error.strerror}") from None
    raise


def refuse_existing(path: str, flag: str) -> None:
  """For outputs that must not replace anything.

  Raises:
    UserError: something is there.
  """
  if os.path.lexists(path):
    raise UserError(f"--{flag}: {path} exists: choose another name, or remove it first")


def write_json(path: str, value: object) -> None:
  """Writes `value` as indented JSON with a final newline, whole or not at all."""
  with atomic_write(path) as file:
    json.dump(value, file, indent=2, ensure_ascii=False)
    file.write("\n")


def read_json(path: str) -> object:
  """Reads a JSON file.

  Raises:
    UserError: missing, empty, not UTF-8, or not JSON (names line and column).
  """
  try:
    # Editors of Windows begin a file with a byte order mark.
    with open(path, encoding="utf-8-sig") as file:
      return json.load(file)
  except OSError as error:
    raise UserError(f"can't read {path}: {error.strerror}") from None
  except UnicodeDecodeError as error:
    raise UserError(f"{path} is not UTF-8 (byte {error.start})") from None
  except json.JSONDecodeError as error:
    if not error.doc.strip():
      raise UserError(f"{path} is empty") from None
    raise UserError(f"{path}:{error.lineno}: not JSON: {error.msg} at column {error.colno}") from None
  except (ValueError, RecursionError):
    raise UserError(f"{path}: no JSON that can be read: it is nested too deeply, or a number has thousands of digits"
                    ) from None


def current_umask() -> int:
  """The permissions that new files of this process do not get."""
  mask = os.umask(0)
  os.umask(mask)
  return mask

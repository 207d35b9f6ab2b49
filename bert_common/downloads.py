"""Files of web servers, by the standard library: resumed where a transfer broke off, unpacked without trust.

Input: an address, and a local place. Output: a whole file, or the members of a zip file, with their SHA-256 on record.
Proxies are those of the environment (`https_proxy`, `no_proxy`).
"""

import contextlib
import hashlib
import http.client
import os
import shutil
import stat
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any

from bert_common import files, locks
from bert_common.errors import UserError, in_one_line
from bert_common.progress import Progress

SUMS_FILE = "SHA256SUMS"
# Seconds that a server may send nothing, and between trials.
_LONGEST_SILENCE, _PAUSE = 30.0, 1.0
# Trials one after the other that bring no byte.
_MOST_TRIALS = 3
_CHUNK_BYTES = 1 << 20
_SCHEMES = ("http", "https")
# Later, the same request may be answered.
_BUSY = (408, 429, 500, 502, 503, 504)
# A zip file of weights is hardly smaller than they are: what grows by more is meant to fill disks.
_LARGEST_EXPANSION = 10
_IS_ENCRYPTED = 1


def fetch(url: str, path: str, longest_silence: float = _LONGEST_SILENCE) -> None:
  """Downloads a file to a local path.

  What an earlier call has left there is completed by a request for the rest, if the server still has the same file. A
  transfer that breaks off is resumed as long as each trial brings something.

  Args:
    longest_silence: seconds after which a server that sends nothing is given up.

  Raises:
    UserError: the server can't be reached, refuses, sends nothing, or the disk is full; what has come stays.
  """
  if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
    raise UserError(f"{url} can't be downloaded: an address that begins with https:// or http:// is expected")
  failures = 0
  while True:
    size = _size(path)
    try:
      _transfer(url, path, longest_silence)
      return
    except _BrokenOff as error:
      failures = 1 if _size(path) > size else failures + 1
      if failures >= _MOST_TRIALS:
        raise UserError(f"{url} can't be downloaded: {error}; {_size(path):,} bytes are there, the same command again "
                        "resumes") from None
    time.sleep(_PAUSE * failures)


class _BrokenOff(Exception):
  """A transfer that may be resumed."""


class _Redirects(urllib.request.HTTPRedirectHandler):
  """Follows addresses that are as safe as the first one."""

  def redirect_request(self, request: urllib.request.Request, *arguments: Any) -> urllib.request.Request | None:
    new = super().redirect_request(request, *arguments)
    if new is not None and (new.type not in _SCHEMES or (request.type, new.type) == ("https", "http")):
      raise urllib.error.URLError(f"it redirects to {new.full_url}, which is less safe")
    return new


def _transfer(url: str, path: str, longest_silence: float) -> None:
  """One request for what is missing of a file."""
  size, version = _size(path), _read_version(path)
  request = urllib.request.Request(url, headers={"User-Agent": "bert-tf"})
  if size and version:
    # Else another file's end might be appended to the beginning of an old one.
    request.add_header("Range", f"bytes={size}-")
    request.add_header("If-Range", version)
  try:
    with urllib.request.build_opener(_Redirects).open(request, timeout=longest_silence) as response:
      _receive(response, path, size)
  except urllib.error.HTTPError as error:
    if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and size:
      if error.headers.get("Content-Range") == f"bytes */{size}":
        return
      os.remove(path)
      raise _BrokenOff("the rest was asked for, and there is none") from None
    if error.code in _BUSY:
      raise _BrokenOff(f"HTTP {error.code} {error.reason}") from None
    raise UserError(f"{url} can't be downloaded: HTTP {error.code} {error.reason}") from None
  except urllib.error.URLError as error:
    raise UserError(f"{url} can't be downloaded: {_reason(error.reason)}") from None
  except TimeoutError:
    raise _BrokenOff(f"the server sent nothing for {longest_silence:g} seconds") from None
  except (ConnectionError, http.client.HTTPException) as error:
    raise _BrokenOff(f"the connection broke off ({_reason(error)})") from None


def _receive(response: Any, path: str, size: int) -> None:
  """Appends an answer to what is there, or begins anew where it is the whole file."""
  continued = response.status == http.client.PARTIAL_CONTENT and (
      response.headers.get("Content-Range", "").startswith(f"bytes {size}-"))
  start = size if continued else 0
  length = response.headers.get("Content-Length", "")
  end = start + int(length) if length.isdecimal() else None
  with (files.user_error(f"can't write {path}"), open(path, "ab" if continued else "wb") as file,
        Progress(os.path.basename(response.url), end, "B", start) as progress):
    _write_version(path, response.headers)
    while chunk := _read(response):
      file.write(chunk)
      # So that a process that is killed leaves it.
      file.flush()
      start += len(chunk)
      progress.advance(len(chunk))
  if end is not None and start != end:
    raise _BrokenOff(f"the connection ended after {start:,} of {end:,} bytes")


def _read(response: Any) -> bytes:
  """`read1`, whose errors are not those of writing."""
  try:
    return response.read1(_CHUNK_BYTES)
  except TimeoutError:
    raise _BrokenOff("the server stopped sending") from None
  except (OSError, http.client.HTTPException) as error:
    raise _BrokenOff(f"the connection broke off ({_reason(error)})") from None


def _reason(error: object) -> str:
  """The reason in a library's exception, which may be another exception or a text."""
  if isinstance(error, OSError) and error.strerror:
    return error.strerror
  return in_one_line(error) if isinstance(error, Exception) else str(error)


def _size(path: str) -> int:
  return os.path.getsize(path) if os.path.exists(path) else 0


def _read_version(path: str) -> str:
  with contextlib.suppress(OSError), open(f"{path}.version", encoding="ascii") as file:
    return file.read()
  return ""


def _write_version(path: str, headers: Any) -> None:
  """Records which version of the file this is; weak entity tags do not say that all bytes are the same."""
  tag = headers.get("ETag", "")
  version = tag if tag.startswith('"') else headers.get("Last-Modified", "")
  with open(f"{path}.version", "w", encoding="ascii", errors="ignore") as file:
    file.write(version)


@contextlib.contextmanager
def held_directory(directory: str, waiting: str) -> Iterator[None]:
  """Makes a local directory and holds its lock; where another process does, prints `waiting` and waits."""
  said = False
  while True:
    os.makedirs(directory, exist_ok=True)
    try:
      descriptor = locks.take(directory)
      break
    except FileNotFoundError:
      # Its last holder was done with it.
      continue
    except BlockingIOError:
      if not said:
        print(waiting, file=sys.stderr, flush=True)
      said = True
      time.sleep(_PAUSE / 5)
  try:
    yield
  finally:
    if descriptor is not None:
      os.close(descriptor)


def unpack(archive: str, directory: str, what: str) -> None:
  """Unpacks a zip file that may come from a stranger into an empty local directory.

  Args:
    what: whose zip file it is, for messages.

  Raises:
    UserError: it is damaged, a name in it leads out of the directory, is there twice or is no file's, the contents are
      many times its size, or the disk is full.
  """
  try:
    with zipfile.ZipFile(archive) as file:
      members = [member for member in file.infolist() if not member.is_dir()]
      _check_members(members, os.path.getsize(archive), what)
      for member in members:
        path = os.path.join(directory, member.filename)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with file.open(member) as source, open(path, "xb") as target:
          shutil.copyfileobj(source, target, _CHUNK_BYTES)
  except FileExistsError as error:
    raise UserError(f"the zip file of {what} is refused: {error.filename} is in it twice") from None
  # RuntimeError, NotImplementedError: kinds of compression and encryption that Python has not.
  except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError) as error:
    raise UserError(f"the zip file of {what} is damaged: {in_one_line(error)}") from None
  except OSError as error:
    raise UserError(f"the zip file of {what} can't be unpacked in {directory}: {error.strerror}") from None


def _check_members(members: list[zipfile.ZipInfo], archive_bytes: int, what: str) -> None:
  for member in members:
    name, mode = member.filename, member.external_attr >> 16
    if name.startswith("/") or "\\" in name or ":" in name or {*name.split("/")} & {"..", ".", ""}:
      raise UserError(f"the zip file of {what} is refused: the name {name!r} in it leads out of its directory")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or member.flag_bits & _IS_ENCRYPTED:
      raise UserError(f"the zip file of {what} is refused: {name!r} in it is a link, a device or encrypted")
  if (size := sum(member.file_size for member in members)) > _LARGEST_EXPANSION * archive_bytes:
    raise UserError(f"the zip file of {what} is refused: {archive_bytes:,} bytes that become {size:,}")


def file_sha256(path: str) -> str:
  """SHA-256 of a local file, in hexadecimal digits."""
  with open(path, "rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def write_sums(directory: str) -> None:
  """Records the sums of all files in a local directory in it, in the format of `sha256sum`."""
  lines = [f"{file_sha256(os.path.join(directory, name))}  {name}\n" for name in sorted(os.listdir(directory))]
  with files.atomic_write(os.path.join(directory, SUMS_FILE)) as file:
    file.writelines(lines)


def read_sums(path: str) -> dict[str, str]:
  """Name → sum of a file of `write_sums`; empty where there is none. Raises `UserError` where it can't be read."""
  if not os.path.exists(path):
    return {}
  try:
    with open(path, encoding="utf-8") as file:
      return {name: digest for digest, _, name in (line.rstrip("\n").partition("  ") for line in file)}
  except (OSError, UnicodeDecodeError) as error:
    raise UserError(f"{path} can't be read: {in_one_line(error)}") from None

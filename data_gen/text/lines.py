"""The lines of a text file, whatever its line ends and faults of encoding.

Input: an open file. Output: (line number, text), for `corpus_readers.py`; or texts, one input of a model each.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import IO

from bert_common import gzipped
from bert_common.errors import UserError

# Longer lines of plain text are cut at a space, so that a file without line breaks needs no memory of its size.
_MAX_TEXT_LINE_BYTES = 4 << 20
# A JSON line holds a whole document and can't be cut.
_MAX_JSON_LINE_BYTES = 1 << 30
# A line that is one input of a model; a longer one is a file of another kind, or has no end.
_LONGEST_INPUT_BYTES = 16 << 20
# What is read of a file to find out its layout.
_SAMPLE_BYTES = 1 << 18

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_JSON_OPEN = re.compile(r'\s*\{\s*["}]')


@dataclasses.dataclass
class ReadingNotes:
  """Notes on what was read, for the report.

  Attributes:
    bad_utf8_lines: lines in which bytes were replaced.
    nul_characters: NUL characters, all removed.
    empty_files: names of the files without any text.
    layouts: how files were understood → how many.
  """

  bad_utf8_lines: int = 0
  nul_characters: int = 0
  empty_files: list[str] = dataclasses.field(default_factory=list)
  layouts: dict[str, int] = dataclasses.field(default_factory=dict)

  def add(self, other: "ReadingNotes") -> None:
    """Takes in the notes on what was read after this."""
    self.bad_utf8_lines += other.bad_utf8_lines
    self.nul_characters += other.nul_characters
    self.empty_files += other.empty_files
    for layout, count in other.layouts.items():
      self.layouts[layout] = self.layouts.get(layout, 0) + count


def looks_like_json(line: str) -> bool:
  """Whether the line starts as a JSON object does."""
  return bool(_JSON_OPEN.match(line))


def input_lines(file: IO[bytes], where: str) -> Iterator[str]:
  """The lines of a file of inputs, without their line ends.

  Args:
    file: that of `gzipped.open_unzipped`, or standard input.
    where: its name, for errors.

  Raises:
    UserError: it can't be read, or a line is not UTF-8, or has more than 16 MiB.
  """
  with gzipped.faults_named(where):
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_INPUT_BYTES + 1), b""), 1):
      if len(line) > _LONGEST_INPUT_BYTES:
        raise UserError(f"{where}:{number}: longer than {_LONGEST_INPUT_BYTES >> 20} MiB: one input per line is "
                        "expected")
      try:
        yield line.decode("utf-8").rstrip("\r\n")
      except UnicodeDecodeError as error:
        raise UserError(f"{where}:{number}: not UTF-8 at byte {error.start + 1} of the line "
                        f"(0x{line[error.start]:02x}): convert the file first") from None


class Lines:
  """Iterates over (line number from 1, text without its line end), decoded, whatever the line ends are."""

  def __init__(self, path: str, raw: BufferedReader, file: IO[bytes], on_bad_utf8: str, notes: ReadingNotes,
               progress: Callable[[int], None]):
    self.path, self._raw, self._file = path, raw, file
    self._replace = on_bad_utf8 == "replace"
    self._notes, self._progress = notes, progress
    self._reported = self._offset = self._number = 0
    self._queue: list[tuple[int, str]] = []
    self._iterator = self._read()

  def sample(self) -> list[str]:
    """The first lines with text in them, without taking them away; empty for a file without text."""
    size, any_text = 0, False
    for number, text in self._iterator:
      any_text = any_text or bool(text.strip())
      self._queue.append((number, text))
      size += len(text) + 1
      if any_text and size > _SAMPLE_BYTES:
        break
      if not any_text:
        self._queue.clear()
    sample = [text for _, text in self._queue]
    self._queue.reverse()
    return sample

  def report_progress(self) -> None:
    position = self._raw.tell()
    self._progress(position - self._reported)
    self._reported = position

  def __iter__(self) -> "Lines":
    return self

  def __next__(self) -> tuple[int, str]:
    return self._queue.pop() if self._queue else next(self._iterator)

  def _read(self) -> Iterator[tuple[int, str]]:
    if self._raw.peek(2)[:2] in _UTF16_BOMS:
      raise UserError(f"{self.path} is UTF-16: convert it first, e.g. iconv -f UTF-16 -t UTF-8")
    carried = b""
    while line := self._file.readline(_MAX_TEXT_LINE_BYTES):
      if len(line) == _MAX_TEXT_LINE_BYTES and not line.endswith(b"\n"):
        line, carried = self._long_line(carried + line)
      else:
        line, carried = carried + line, b""
      yield from self._decoded(line)
      if self._offset - self._reported > _SAMPLE_BYTES:
        self.report_progress()
    if carried:
      yield from self._decoded(carried)

  def _long_line(self, line: bytes) -> tuple[bytes, bytes]:
    """Splits a line that is not at its end: the part to use now, and the part to put before the rest."""
    if looks_like_json(line[:100].decode("utf-8", errors="replace")):
      line += self._file.readline(_MAX_JSON_LINE_BYTES)
      if len(line) > _MAX_JSON_LINE_BYTES:
        raise UserError(f"{self.path}:{self._number + 1}: a line of more than {_MAX_JSON_LINE_BYTES >> 20} MiB")
      return line, b""
    end = line.rfind(b" ") + 1
    if not end:
      # Not one space in 4 MiB: cut between characters. A continuation byte has the bits 10xxxxxx.
      end = len(line) - 1
      while end > 1 and line[end] & 0xC0 == 0x80:
        end -= 1
    return line[:end], line[end:]

  def _decoded(self, line: bytes) -> Iterator[tuple[int, str]]:
    if self._offset == 0 and line.startswith(_UTF8_BOM):
      self._offset = len(_UTF8_BOM)
      line = line[len(_UTF8_BOM):]
    try:
      text = line.decode("utf-8")
    except UnicodeDecodeError as error:
      if not self._replace:
        raise UserError(
            f"{self.path}:{self._number + 1}: not UTF-8 at byte {self._offset + error.start} of the file "
            f"(0x{line[error.start]:02x}): convert the file, or --on_bad_utf8=replace") from None
      text = line.decode("utf-8", errors="replace")
      self._notes.bad_utf8_lines += 1
    self._offset += len(line)
    if "\0" in text:
      self._notes.nul_characters += text.count("\0")
      text = text.replace("\0", "")
    text = text.rstrip("\r\n")
    # A file with the line ends of the classic Mac OS arrives here in one piece.
    for part in text.split("\r"):
      self._number += 1
      yield self._number, part

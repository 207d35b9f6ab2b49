"""Documents out of text files, one reader a format, streamed.

Formats, told apart by the first line of each file that is not blank:

- plain text, see `TextLayout`;
- JSON lines: an object a line with a text field (Wikipedia dumps as JSON, `extract_docstrings.py`);
- WikiExtractor output: `<doc id=… url=… title=…>`, the title, paragraphs, `</doc>`.

Any of them may be compressed with gzip. Comes before: nothing. Comes after: `prepare_corpus.py`.
"""

import contextlib
import dataclasses
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from common.errors import UserError

FORMATS = ("auto", "text", "json", "wiki")
DOCUMENT_SEPARATORS = ("auto", "blank_line", "file", "line")

# Longer lines of plain text are cut at a space, so that a file without line breaks needs no memory of its size.
_MAX_TEXT_LINE_BYTES = 4 << 20
# A JSON line holds a whole document and can't be cut.
_MAX_JSON_LINE_BYTES = 1 << 30
# What is read of a file to find out its layout.
_SAMPLE_BYTES = 1 << 18

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_WIKI_OPEN = re.compile(r'<doc\b[^>]*?(?:\btitle="(?P<title>.*?)")?[^>"]*>$')
_JSON_OPEN = re.compile(r'\{\s*["}]')
# The end of a sentence, of a heading with a colon, or of a quotation.
_LINE_ENDS_SENTENCE = re.compile(r"""[.!?:;…。！？][\s"'”’»)\]]*$""")


@dataclasses.dataclass(frozen=True)
class ReaderOptions:
  """How files are read.

  Attributes:
    format: one of `FORMATS`.
    text_field: name of the field with the text, for JSON lines.
    document_separator: one of `DOCUMENT_SEPARATORS`, for plain text.
    hard_wrapped: True: the lines of a paragraph are joined; False: a line is a paragraph; None: each plain
      text file is looked at.
    on_bad_utf8: "error" or "replace" (by U+FFFD).
  """

  format: str = "auto"
  text_field: str = "text"
  document_separator: str = "auto"
  hard_wrapped: bool | None = None
  on_bad_utf8: str = "error"


@dataclasses.dataclass(frozen=True)
class TextLayout:
  """What the lines and blank lines of a plain text file mean.

  Attributes:
    document_separator: "blank_line": a blank line ends the document; "file": the file is one document;
      "line": every line is a document.
    hard_wrapped: the lines of a paragraph belong together, and a blank line ends it (where it does not end the
      document); else every line is a paragraph.
  """

  document_separator: str
  hard_wrapped: bool

  def __str__(self) -> str:
    paragraph = "hard-wrapped paragraphs" if self.hard_wrapped else "a paragraph a line"
    document = {"blank_line": "a blank line between documents", "file": "the file is one document",
                "line": "every line is a document"}[self.document_separator]
    return document if self.document_separator == "line" else f"{paragraph}, {document}"


@dataclasses.dataclass
class ReadingNotes:
  """What was met on the way, for the report.

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


def read_documents(
    path: str, options: ReaderOptions, notes: ReadingNotes, progress: Callable[[int], None] = lambda amount: None,
) -> Iterator[Iterator[str]]:
  """The documents of a file, each an iterator over its paragraphs (text without line breaks, never blank).

  A document has to be read to its end before the next one is asked for (as with `itertools.groupby`).
  Documents without any text are left out.

  Args:
    path: the file.
    options: how it is read.
    notes: counts are added to it.
    progress: is told the number of bytes read on, as they are on disk.

  Raises:
    UserError: the file can't be read; it is not UTF-8 (names the byte); a JSON line is wrong (names the line);
      a `<doc>` is not closed.
  """
  try:
    with _open(path) as (raw, file):
      lines = _Lines(path, raw, file, options, notes, progress)
      sample = lines.sample()
      if not sample:
        notes.empty_files.append(path)
        return
      kind = options.format if options.format != "auto" else detect_format(sample)
      layout = detect_layout(sample, options) if kind == "text" else None
      described = {"json": "JSON lines", "wiki": "WikiExtractor"}.get(kind) or f"plain text: {layout}"
      notes.layouts[described] = notes.layouts.get(described, 0) + 1
      if kind == "json":
        yield from _json_documents(lines, options)
      elif kind == "wiki":
        yield from _wiki_documents(lines)
      else:
        yield from _text_documents(lines, layout)
      lines.report_progress()
  except OSError as error:
    raise UserError(f"can't read {path}: {error.strerror or error}") from None
  except (EOFError, zlib.error) as error:
    raise UserError(f"{path}: the gzip file is damaged or cut short ({error}): copy it again") from None


def detect_format(sample: list[str]) -> str:
  """"json", "wiki" or "text", by the first of these lines that is not blank."""
  first = next((line.strip() for line in sample if line.strip()), "")
  if _JSON_OPEN.match(first):
    return "json"
  return "wiki" if first.startswith("<doc ") else "text"


def detect_layout(sample: list[str], options: ReaderOptions) -> TextLayout:
  """Finds out what lines and blank lines mean in a plain text file, where the options do not say.

  A file is taken for hard-wrapped if its lines are short, and most of those followed by another one do not
  end a sentence. A blank line is taken for the end of a document, unless the file is hard-wrapped or nearly
  every line has a blank line behind it: then it ends a paragraph only, and the file is one document.

  Args:
    sample: the first lines of the file.
    options: `document_separator` and `hard_wrapped` other than "auto" and None are kept.
  """
  stripped = [line.strip() for line in sample]
  lengths = sorted(len(line) for line in stripped if line)
  followed = [line for line, after in zip(stripped, stripped[1:], strict=False) if line and after]
  blocks = sum(bool(line) and not before for before, line in zip(["", *stripped], stripped, strict=False))

  hard_wrapped = options.hard_wrapped
  if options.document_separator == "line":
    hard_wrapped = False
  if hard_wrapped is None:
    open_ended = sum(not _LINE_ENDS_SENTENCE.search(line) for line in followed)
    short = bool(lengths) and lengths[int(0.95 * (len(lengths) - 1))] <= 120
    hard_wrapped = short and open_ended > 0.5 * len(followed)

  separator = options.document_separator
  if separator == "auto":
    one_line_blocks = blocks > 1 and len(followed) < 0.1 * blocks
    separator = "file" if hard_wrapped or one_line_blocks else "blank_line"
  return TextLayout(separator, hard_wrapped)


def _text_documents(lines: "_Lines", layout: TextLayout) -> Iterator[Iterator[str]]:
  paragraphs = _wrapped_paragraphs(lines) if layout.hard_wrapped else (text.strip() for _, text in lines)
  if layout.document_separator == "line":
    yield from (iter([paragraph]) for paragraph in paragraphs if paragraph)
    return
  one_document = layout.document_separator == "file"
  for first in paragraphs:
    if first:
      document = _document(first, paragraphs, one_document)
      yield document
      for _ in document:  # An unread rest must not become documents of its own.
        pass


def _document(first: str, paragraphs: Iterator[str], skip_blank: bool) -> Iterator[str]:
  yield first
  for paragraph in paragraphs:
    if paragraph:
      yield paragraph
    elif not skip_blank:
      return


def _wrapped_paragraphs(lines: "_Lines") -> Iterator[str]:
  """Joins the lines of each paragraph; "" stands for the blank lines between two paragraphs."""
  collected, size = [], 0
  for _, text in lines:
    text = text.strip()
    if text:
      collected.append(text)
      size += len(text)
    if collected and (not text or size > _MAX_TEXT_LINE_BYTES):
      yield " ".join(collected)
      collected, size = [], 0
      if not text:
        yield ""
  if collected:
    yield " ".join(collected)


def _json_documents(lines: "_Lines", options: ReaderOptions) -> Iterator[Iterator[str]]:
  for number, line in lines:
    if not line.strip():
      continue
    where = f"{lines.path}:{number}"
    try:
      record = json.loads(line)
    except json.JSONDecodeError as error:
      raise UserError(f"{where}: not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
      raise UserError(f"{where}: not JSON that can be read: nested too deeply") from None
    if not isinstance(record, dict):
      raise UserError(f"{where}: a JSON object was expected, this is a {type(record).__name__}")
    if options.text_field not in record:
      seen = ", ".join(sorted(record)) or "none"
      raise UserError(f"{where}: no field {options.text_field!r}, only {seen}: --text_field names the one to use")
    text = record[options.text_field]
    if not isinstance(text, str):
      raise UserError(f"{where}: field {options.text_field!r} holds a {type(text).__name__}, not a string")
    # A JSON string can hold what UTF-8 can't (half a surrogate pair) and what the lines were cleared of.
    text = text.encode("utf-8", errors="replace").decode("utf-8").replace("\0", "")
    paragraphs = _string_paragraphs(text, options)
    if paragraphs and paragraphs[0] == str(record.get("title", "")).strip():
      del paragraphs[0]
    if paragraphs:
      yield iter(paragraphs)


def _string_paragraphs(text: str, options: ReaderOptions) -> list[str]:
  sample = text.splitlines()
  if detect_layout(sample, dataclasses.replace(options, document_separator="file")).hard_wrapped:
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", "\n".join(sample)) if block.strip()]
  return [line.strip() for line in sample if line.strip()]


def _wiki_documents(lines: "_Lines") -> Iterator[Iterator[str]]:
  for number, line in lines:
    line = line.strip()
    if not line:
      continue
    opened = _WIKI_OPEN.match(line)
    if not opened:
      raise UserError(f"{lines.path}:{number}: a line outside <doc …> … </doc>; "
                      "if this is plain text, say --input_format=text")
    document = _wiki_paragraphs(lines, number, (opened["title"] or "").strip())
    first = next(document, None)
    if first is not None:
      rest = _chain(first, document)
      yield rest
      for _ in rest:
        pass


def _wiki_paragraphs(lines: "_Lines", opened_at: int, title: str) -> Iterator[str]:
  first = True
  for number, line in lines:
    line = line.strip()
    if line == "</doc>":
      return
    if line.startswith("<doc ") and _WIKI_OPEN.match(line):
      raise UserError(f"{lines.path}:{number}: <doc> inside the <doc> of line {opened_at}: a </doc> is missing")
    # The extractor repeats the title as the first line; it is no sentence.
    if line and not (first and line == title):
      yield line
    first = first and not line
  raise UserError(f"{lines.path}:{opened_at}: this <doc> has no </doc>: the file is cut short")


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
  yield first
  yield from rest


@contextlib.contextmanager
def _open(path: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
  """The file as it is on disk, and the file to read from, which is another one for gzip."""
  with open(path, "rb") as raw:
    if raw.peek(2)[:2] != _GZIP_MAGIC:
      yield raw, raw
    else:
      with gzip.GzipFile(fileobj=raw) as unpacked:
        yield raw, unpacked


class _Lines:
  """Iterates over (line number from 1, text without its line end), decoded, whatever the line ends are."""

  def __init__(
      self, path: str, raw: IO[bytes], file: IO[bytes], options: ReaderOptions, notes: ReadingNotes,
      progress: Callable[[int], None]):
    self.path = path
    self._raw = raw
    self._file = file
    self._replace = options.on_bad_utf8 == "replace"
    self._notes = notes
    self._progress = progress
    self._reported = 0
    self._offset = 0
    self._number = 0
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

  def __iter__(self) -> "_Lines":
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
    """Of a line that goes on: what is used now, and what is put before the rest."""
    if _JSON_OPEN.match(line[:100].decode("utf-8", errors="replace")):
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

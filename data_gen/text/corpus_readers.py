"""Documents out of text files, one reader per format, streamed.

Formats, recognised by the first line of each file that is not blank:

- plain text, see `TextLayout`;
- JSON lines: one object per line with a text field (Wikipedia dumps as JSON,
  `extract_docstrings.py`);
- WikiExtractor output: `<doc id=… url=… title=…>`, the title, paragraphs, `</doc>`.

Any of them may be compressed with gzip, have any line ends, and faults of encoding. Input: files.
Output: documents, each an iterator over its paragraphs, for `corpus_preparation.py`.
"""

import collections
import contextlib
import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import IO, NamedTuple

from bert_common import files
from bert_common.errors import UserError
from data_gen.labelled.tables import json_object, looks_like_json
from data_gen.options import CorpusOptions

# Longer lines of plain text are cut at a space, so that a file without line breaks needs no memory
# of its size.
_MAX_TEXT_LINE_BYTES = 4 << 20
# What is read of a file to find out its layout.
_SAMPLE_BYTES = 1 << 18
# A longer paragraph of joined lines is cut: perhaps the file has no blank lines.
_MAX_PARAGRAPH_CHARACTERS = 4 << 20

_WIKI_OPEN = re.compile(r'<doc\b[^>]*?(?:\btitle="(?P<title>.*?)")?[^>"]*>$')
_UTF8_BOM = b"\xef\xbb\xbf"
# The end of a sentence, of a heading with a colon, or of a quotation.
_LINE_ENDS_SENTENCE = re.compile(r"""[.!?:;…。！？][\s"'”’»)\]]*$""")


@dataclasses.dataclass
class ReadingNotes:
    """Notes on what was read: lines in which bytes were replaced, NUL characters that were removed,
    names of files without any text, how files were understood → how many."""

    bad_utf8_lines: int = 0
    nul_characters: int = 0
    empty_files: list[str] = dataclasses.field(default_factory=list)
    layouts: collections.Counter = dataclasses.field(default_factory=collections.Counter)


class Lines:
    """Iterates over (line number from 1, text without its line end), decoded, whatever the line
    ends are."""

    def __init__(
        self,
        path: str,
        raw: BufferedReader,
        file: IO[bytes],
        on_bad_utf8: str,
        notes: ReadingNotes,
        progress: Callable[[int], None],
    ):
        self.path, self._raw, self._file = path, raw, file
        self._replace = on_bad_utf8 == "replace"
        self._notes, self._progress = notes, progress
        self._reported = self._offset = self._number = 0
        self._iterator = self._read()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self._iterator

    def sample(self) -> list[str]:
        """The first lines with text in them, without taking them away; empty for a file without
        text."""
        sample, size = [], 0
        for number, text in itertools.dropwhile(lambda line: not line[1].strip(), self._iterator):
            sample.append((number, text))
            size += len(text) + 1
            if size > _SAMPLE_BYTES:
                break
        self._iterator = itertools.chain(sample, self._iterator)
        return [text for _, text in sample]

    def report_progress(self) -> None:
        """Reports the bytes read since the last report."""
        position = self._raw.tell()
        self._progress(position - self._reported)
        self._reported = position

    def _read(self) -> Iterator[tuple[int, str]]:
        rest = b""
        while line := self._file.readline(_MAX_TEXT_LINE_BYTES):
            is_part = len(line) == _MAX_TEXT_LINE_BYTES and not line.endswith(b"\n")
            line, rest = rest + line, b""
            if is_part and looks_like_json(line[:100].decode("utf-8", errors="replace")):
                # A JSON line holds a whole document and can't be cut.
                line += self._file.readline()
            elif is_part:
                # Without one space in 4 MiB between characters. A continuation byte has the bits
                # 10xxxxxx.
                end = line.rfind(b" ") + 1 or len(line) - 1
                while end > 1 and line[end - 1 : end] != b" " and line[end] & 0xC0 == 0x80:
                    end -= 1
                line, rest = line[:end], line[end:]
            yield from self._decoded(line)
            if self._offset - self._reported > _SAMPLE_BYTES:
                self.report_progress()
        if rest:
            yield from self._decoded(rest)

    def _decoded(self, line: bytes) -> Iterator[tuple[int, str]]:
        if self._offset == 0 and line.startswith(_UTF8_BOM):
            self._offset, line = len(_UTF8_BOM), line[len(_UTF8_BOM) :]
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            if not self._replace:
                raise UserError(
                    f"{self.path}:{self._number + 1}: not UTF-8 at byte {self._offset + error.start} of the file "
                    f"(0x{line[error.start]:02x}): convert the file, or --on_bad_utf8=replace"
                ) from None
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


# Of plain text, what separates documents → what it is read as.
_DOCUMENTS = {
    "blank_line": "a blank line between documents",
    "file": "the file is one document",
    "line": "every line is a document",
}


class TextLayout(NamedTuple):
    """Meaning of the lines and blank lines of a plain text file.

    Attributes:
      document_separator: "blank_line": a blank line ends the document; "file": the file is one
        document; "line": every line is a document.
      hard_wrapped: the lines of a paragraph belong together, and a blank line ends it (where it
        does not end the document); else every line is a paragraph.
    """

    document_separator: str
    hard_wrapped: bool


def read_documents(
    path: str,
    options: CorpusOptions,
    notes: ReadingNotes,
    progress: Callable[[int], None] = lambda amount: None,
) -> Iterator[Iterator[str]]:
    """The documents of a file, each an iterator over its paragraphs (text without line breaks,
    never blank).

    A document has to be read to its end before the next one is asked for (as with
    `itertools.groupby`). Documents without any text are left out.

    Args:
      progress: is called with the number of bytes read since, as they are stored.

    Raises:
      UserError: the file can't be read; it is not UTF-8 (names the byte); a JSON line is wrong
        (names the line); a `<doc>` is not closed.
    """
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
        lines = Lines(path, raw, file, options.on_bad_utf8, notes, progress)
        sample = lines.sample()
        if not sample:
            notes.empty_files.append(path)
            return
        kind = options.input_format
        if kind == "auto":
            first = next(line.strip() for line in sample if line.strip())
            kind = (
                "json"
                if looks_like_json(first)
                else "wiki"
                if first.startswith("<doc ")
                else "text"
            )
        if kind == "wiki":
            described, documents = "WikiExtractor", _wiki_documents(lines)
        elif kind == "json":
            texts: list[str] = []
            for line in sample:
                # What is wrong is found out when it is read.
                with contextlib.suppress(UserError):
                    texts += [*str(json_object(line).get(options.text_field, "")).splitlines(), ""]
            hard_wrapped = detect_layout(texts, options).hard_wrapped
            described = "JSON lines" + (", hard-wrapped paragraphs" if hard_wrapped else "")
            documents = _json_documents(lines, options.text_field, hard_wrapped)
        else:
            layout = detect_layout(sample, options)
            described = _DOCUMENTS[layout.document_separator]
            if layout.document_separator != "line":
                paragraph = (
                    "hard-wrapped paragraphs" if layout.hard_wrapped else "a paragraph a line"
                )
                described = f"{paragraph}, {described}"
            described, documents = f"plain text: {described}", _text_documents(lines, layout)
        notes.layouts[described] += 1
        yield from documents
        lines.report_progress()


def detect_layout(sample: list[str], options: CorpusOptions) -> TextLayout:
    """Finds out what lines and blank lines mean in a plain text file, where the options do not say.

    A file is taken for hard-wrapped if its lines are short, and most of those followed by another
    one do not end a sentence. A blank line is taken for the end of a document, unless the file is
    hard-wrapped or nearly every line has a blank line after it: then it ends a paragraph only, and
    the file is one document.

    Args:
      options: `document_separator` and `hard_wrapped` other than "auto" are kept.
    """
    stripped = [line.strip() for line in sample]
    lengths = sorted(len(line) for line in stripped if line)
    followed = [line for line, after in zip(stripped, stripped[1:], strict=False) if line and after]
    paragraphs = sum(
        bool(line) and not before for before, line in zip(["", *stripped], stripped, strict=False)
    )

    hard_wrapped = options.hard_wrapped == "true" and options.document_separator != "line"
    if options.hard_wrapped == "auto" and options.document_separator != "line":
        open_ended = sum(not _LINE_ENDS_SENTENCE.search(line) for line in followed)
        short = bool(lengths) and lengths[int(0.95 * (len(lengths) - 1))] <= 120
        hard_wrapped = short and open_ended > 0.5 * len(followed)

    separator = options.document_separator
    if separator == "auto":
        of_one_line = paragraphs > 1 and len(followed) < 0.1 * paragraphs
        separator = "file" if hard_wrapped or of_one_line else "blank_line"
    return TextLayout(separator, hard_wrapped)


def _text_documents(lines: Lines, layout: TextLayout) -> Iterator[Iterator[str]]:
    paragraphs = (
        _wrapped_paragraphs(lines) if layout.hard_wrapped else (text.strip() for _, text in lines)
    )
    if layout.document_separator == "line":
        yield from (iter([paragraph]) for paragraph in paragraphs if paragraph)
        return
    one_document = layout.document_separator == "file"
    for first in paragraphs:
        if first:
            rest = filter(None, paragraphs) if one_document else iter(paragraphs.__next__, "")
            yield itertools.chain([first], rest)
            collections.deque(
                rest, maxlen=0
            )  # An unread rest must not become documents of its own.


def _wrapped_paragraphs(lines: Lines) -> Iterator[str]:
    """Joins the lines of each paragraph; "" stands for the blank lines between two paragraphs."""
    collected, size = [], 0
    for _, text in lines:
        text = text.strip()
        if text:
            collected.append(text)
            size += len(text)
        if collected and (not text or size > _MAX_PARAGRAPH_CHARACTERS):
            yield " ".join(collected)
            collected, size = [], 0
            if not text:
                yield ""
    if collected:
        yield " ".join(collected)


def _json_documents(lines: Lines, text_field: str, hard_wrapped: bool) -> Iterator[Iterator[str]]:
    for number, line in lines:
        if not line.strip():
            continue
        record, where = json_object(line, lines.path, number), f"{lines.path}:{number}"
        if text_field not in record:
            raise UserError(
                f"{where}: no field {text_field!r}, only {', '.join(sorted(record)) or 'none'}: --text_field "
                "names the one to use"
            )
        if not isinstance(record[text_field], str):
            raise UserError(
                f"{where}: field {text_field!r} holds a {type(record[text_field]).__name__}, not a string"
            )
        # A JSON string can hold what UTF-8 can't (half a surrogate pair), and NUL.
        text = (
            record[text_field].encode("utf-8", errors="replace").decode("utf-8").replace("\0", "")
        )
        parts = (
            re.split(r"\n\s*\n", "\n".join(text.splitlines()))
            if hard_wrapped
            else text.splitlines()
        )
        paragraphs = [
            " ".join(part.split()) if hard_wrapped else part.strip()
            for part in parts
            if part.strip()
        ]
        if paragraphs and paragraphs[0] == str(record.get("title", "")).strip():
            del paragraphs[0]
        if paragraphs:
            yield iter(paragraphs)


def _wiki_documents(lines: Lines) -> Iterator[Iterator[str]]:
    for number, line in lines:
        line = line.strip()
        if not line:
            continue
        opened = _WIKI_OPEN.match(line)
        if not opened:
            raise UserError(
                f"{lines.path}:{number}: a line outside <doc …> … </doc>; "
                "if this is plain text, give --input_format=text"
            )
        document = _wiki_paragraphs(lines, number, (opened["title"] or "").strip())
        if (first := next(document, None)) is not None:
            yield itertools.chain([first], document)
            collections.deque(document, maxlen=0)


def _wiki_paragraphs(lines: Lines, opened_at: int, title: str) -> Iterator[str]:
    for number, line in lines:
        line = line.strip()
        if line == "</doc>":
            return
        if line.startswith("<doc ") and _WIKI_OPEN.match(line):
            raise UserError(
                f"{lines.path}:{number}: <doc> inside the <doc> of line {opened_at}: a </doc> is missing"
            )
        # The extractor repeats the title as the first line; it is no sentence.
        if line and line != title:
            yield line
        title = "" if line else title
    raise UserError(f"{lines.path}:{opened_at}: this <doc> has no </doc>: the file is cut short")

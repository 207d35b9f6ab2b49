"""Documents out of text files, one reader per format, streamed.

Formats, recognized by the first line of each file that is not blank:

- plain text, see `TextLayout`;
- JSON lines: one object per line with a text field (Wikipedia dumps as JSON,
  `extract_docstrings.py`);
- WikiExtractor output: `<doc id=… url=… title=…>`, the title, paragraphs, `</doc>`;
- WET files of Common Crawl: records with a header of lines and the text of a page;
- Parquet: a column of texts, a document each.

Any of them may be compressed (gzip, bzip2, xz, Zstandard), have any line ends, and faults of
encoding. Input: files. Output: documents, each an iterator over its paragraphs, for
`corpus_preparation.py`.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import IO, NamedTuple

from bert_common import files
from bert_common.errors import UserError, listed
from bert_common.text_lines import check_is_text
from data_gen.labeled.row_formats import (
    ARROW_FORMATS,
    format_of,
    json_object,
    looks_like_json,
)
from data_gen.labeled.row_stream import RowStream
from data_gen.labeled.rows import SourceFile
from data_gen.options import CorpusOptions
from data_gen.text.corpus_kinds import (
    JSON_LINES,
    JSON_LIST,
    MARKUP,
    TABLE,
    TEXT,
    WARC_RECORD,
    WET,
    WIKI,
    kind_of_corpus,
    markup_error,
)

# Longer lines of plain text are cut at a space, which bounds the memory for a file without line
# breaks.
_MAX_TEXT_LINE_BYTES = 4 << 20
# Number of characters of a file that its layout is inferred from.
_SAMPLE_BYTES = 1 << 18
# A longer paragraph of joined lines is cut: perhaps the file has no blank lines.
_MAX_PARAGRAPH_CHARACTERS = 4 << 20

_WIKI_OPEN = re.compile(r'<doc\b[^>]*?(?:\btitle="(?P<title>.*?)")?[^>"]*>$')
_WARC_RECORD_LINE = re.compile(re.escape(WARC_RECORD) + r"\d")
_PARQUET = b"PAR1"
# Number of texts that show whether the paragraphs of a Parquet file are hard-wrapped.
_SAMPLE_TEXTS = 100
_UTF8_BOM = b"\xef\xbb\xbf"
# The end of a sentence, of a heading with a colon, or of a quotation.
_LINE_ENDS_SENTENCE = re.compile(r"""[.!?:;…。！？][\s"'”’»)\]]*$""")


@dataclasses.dataclass
class ReadingNotes:
    """Notes about the input.

    Attributes:
      bad_utf8_lines: number of lines in which bytes were replaced.
      nul_characters: number of NUL characters that were removed.
      empty_files: files without any text.
      layouts: description of a layout → number of files.
      duplicate_documents, duplicate_paragraphs: number of documents that repeat another one, and
        of paragraphs in other documents that repeat one.
      removes_duplicates: they are left out.
    """

    bad_utf8_lines: int = 0
    nul_characters: int = 0
    empty_files: list[str] = dataclasses.field(default_factory=list)
    layouts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    duplicate_documents: int = 0
    duplicate_paragraphs: int = 0
    removes_duplicates: bool = False

    def add(self, other: "ReadingNotes") -> None:
        """Adds the notes about files that come after these."""
        self.bad_utf8_lines += other.bad_utf8_lines
        self.nul_characters += other.nul_characters
        self.empty_files += other.empty_files
        self.layouts.update(other.layouts)
        self.duplicate_documents += other.duplicate_documents
        self.duplicate_paragraphs += other.duplicate_paragraphs
        self.removes_duplicates |= other.removes_duplicates


class Lines:
    """Iterates over (line number from 1, decoded text without its line end) for any line ends."""

    def __init__(
        self,
        path: str,
        raw: BufferedReader,
        file: IO[bytes],
        on_bad_utf8: str,
        notes: ReadingNotes,
        progress: Callable[[int], None],
    ):
        self.path = path
        self._raw = raw
        self._file = file
        self._replace = on_bad_utf8 == "replace"
        self._notes = notes
        self._progress = progress
        # Bytes read and reported of the file as it is stored, bytes decoded, and line number.
        self._reported = 0
        self._offset = 0
        self._number = 0
        self._iterator = self._read()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self._iterator

    def sample(self) -> list[str]:
        """Returns the first lines from the first one with text, without consuming them.

        Returns no line for a file without text.
        """
        sample: list[tuple[int, str]] = []
        size = 0
        for number, text in self._iterator:
            if not sample and not text.strip():
                continue
            sample.append((number, text))
            size += len(text) + 1
            if size > _SAMPLE_BYTES:
                break
        # The sample goes back to the front: a compressed or remote file can't cheaply be read
        # again.
        self._iterator = itertools.chain(sample, self._iterator)
        return [text for _, text in sample]

    def report_progress(self) -> None:
        """Reports the bytes read since the last report."""
        # Stored bytes are counted, which add up to the size of the file on disk.
        position = self._raw.tell()
        self._progress(position - self._reported)
        self._reported = position

    def _read(self) -> Iterator[tuple[int, str]]:
        # Here too: a caller reads the rest of a document after the reader has handed it out.
        with files.user_error(f"can't read {self.path}"):
            yield from self._decoded_lines()

    def _decoded_lines(self) -> Iterator[tuple[int, str]]:
        rest = b""
        for line in iter(functools.partial(self._file.readline, _MAX_TEXT_LINE_BYTES), b""):
            # A read of the full size may also be a line of that very length, which needs no cut.
            is_part = len(line) == _MAX_TEXT_LINE_BYTES and not line.endswith(b"\n")
            line = rest + line
            rest = b""
            if is_part and looks_like_json(line[:100].decode("utf-8", errors="replace")):
                # A JSON line holds a whole document and can't be cut.
                line += self._file.readline()
            elif is_part:
                end = _find_cut(line)
                rest = line[end:]
                line = line[:end]
            yield from self._decoded(line)
            # A compressed file reports bytes as stored, so that these may be fewer than decoded.
            if self._offset - self._reported > _SAMPLE_BYTES:
                self.report_progress()
        if rest:
            yield from self._decoded(rest)

    def _decoded(self, line: bytes) -> Iterator[tuple[int, str]]:
        if self._offset == 0 and line.startswith(_UTF8_BOM):
            self._offset = len(_UTF8_BOM)
            line = line.removeprefix(_UTF8_BOM)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            if not self._replace:
                raise UserError(
                    f"{self.path}:{self._number + 1}: not UTF-8 at byte "
                    f"{self._offset + error.start} of the file (0x{line[error.start]:02x}): "
                    "convert the file, or --on_bad_utf8=replace"
                ) from None
            # Lines are decoded one by one, so a fault spoils a single line and its number is known.
            text = line.decode("utf-8", errors="replace")
            self._notes.bad_utf8_lines += 1
        self._offset += len(line)
        # NUL in a text is a fault of a conversion, e.g. from UTF-16.
        if "\0" in text:
            self._notes.nul_characters += text.count("\0")
            text = text.replace("\0", "")
        # Only line ends are removed here: the readers of the formats strip blanks themselves.
        text = text.rstrip("\r\n")
        # A file with the line ends of classic Mac OS arrives here in one piece.
        for part in text.split("\r"):
            self._number += 1
            yield self._number, part


# Kind of a file → its reader.
_FORMATS = {
    JSON_LINES: "json",
    JSON_LIST: "table",
    TABLE: "table",
    WIKI: "wiki",
    WET: "wet",
    TEXT: "text",
}
# Separator of documents in plain text → description for the report.
_DOCUMENTS = {
    "blank_line": "a blank line between documents",
    "file": "the file is one document",
    "line": "every line is a document",
}


class TextLayout(NamedTuple):
    """Role of the lines and blank lines of a plain text file.

    Attributes:
      document_separator: "blank_line": a blank line ends the document; "file": the file is one
        document; "line": every line is a document.
      hard_wrapped: the lines of a paragraph belong together, and a blank line ends it (where it
        does not end the document); else every line is a paragraph.
    """

    document_separator: str
    hard_wrapped: bool


def _find_cut(line: bytes) -> int:
    """Returns a position where a long line may be cut: after its last space if there is one.

    Else between two characters: a continuation byte of UTF-8 has the bits 10xxxxxx.
    """
    if b" " in line:
        return line.rindex(b" ") + 1
    end = len(line) - 1
    while end > 1 and line[end] & 0xC0 == 0x80:
        end -= 1
    return end


def read_documents(
    path: str,
    options: CorpusOptions,
    notes: ReadingNotes,
    progress: Callable[[int], None] = lambda amount: None,
) -> Iterator[Iterator[str]]:
    """Yields the documents of a file, each an iterator over its paragraphs.

    A paragraph is a text without line breaks, and never blank. Asking for the next document skips
    the rest of the last one. Documents without any text are left out.

    Args:
      progress: is called with the number of bytes read since the last call, as they are stored.

    Raises:
      UserError: the file can't be read; it is not UTF-8 (names the byte); a JSON line is wrong
        (names the line); a `<doc>` is not closed.
    """
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
        # Parquet is recognized by its bytes first, because the other formats are read as text.
        is_parquet = raw.peek(len(_PARQUET)).startswith(_PARQUET)
        # By its name it is none of them, whatever has become of it.
        if is_parquet or format_of(path) == "parquet":
            notes.layouts["Parquet"] += 1
            yield from _parquet_documents(path, options)
            progress(files.file_size(path))
            return
        check_is_text(file, path)
        lines = Lines(path, raw, file, options.on_bad_utf8, notes, progress)
        sample = lines.sample()
        if not sample:
            notes.empty_files.append(path)
            return
        kind = options.input_format
        if kind == "auto":
            found = kind_of_corpus(path, sample[0].strip(), options.text_field)
            if found == MARKUP:
                raise markup_error(path)
            kind = _FORMATS[found]
        if kind == "table":
            description = found
            file_format = "jsonl" if found == JSON_LIST else format_of(path) or "csv"
            documents = _row_documents(path, options.text_field, file_format)
        elif kind in _MARKED:
            description, read = _MARKED[kind]
            documents = read(lines)
        elif kind == "json":
            texts = _sample_texts(sample, options.text_field)
            hard_wrapped = detect_layout(texts, options).hard_wrapped
            description = "JSON lines"
            if hard_wrapped:
                description += ", hard-wrapped paragraphs"
            documents = _json_documents(lines, options.text_field, hard_wrapped)
        elif kind == "text":
            layout = detect_layout(sample, options)
            description = f"plain text: {_describe(layout)}"
            documents = _text_documents(lines, layout)
        else:
            raise ValueError(f"input_format={kind!r} is unknown")
        notes.layouts[description] += 1
        yield from documents
        # The rest since the last report, so that the amounts add up to the size of the file.
        lines.report_progress()


def _sample_texts(sample: list[str], text_field: str) -> list[str]:
    """Returns the lines of the texts in JSON lines, with a blank line after each text."""
    texts: list[str] = []
    for line in sample:
        # A wrong line is reported when it is read as a document.
        with contextlib.suppress(UserError):
            text = str(json_object(line, allow_half_pairs=True).get(text_field, ""))
            texts += [*text.splitlines(), ""]
    return texts


def _describe(layout: TextLayout) -> str:
    separator = _DOCUMENTS[layout.document_separator]
    if layout.document_separator == "line":
        return separator
    if layout.hard_wrapped:
        return f"hard-wrapped paragraphs, {separator}"
    return f"a paragraph a line, {separator}"


def detect_layout(sample: list[str], options: CorpusOptions) -> TextLayout:
    """Infers the layout of a plain text file, as far as the options leave it open.

    A file is hard-wrapped if its lines are short, and most lines that are followed by another one
    do not end a sentence. A blank line ends a document, unless the file is hard-wrapped or nearly
    every line has a blank line after it: then it ends a paragraph only, and the file is one
    document.

    Args:
      options: `document_separator` and `hard_wrapped` other than "auto" are final.
    """
    lengths = []
    followed = []
    num_paragraphs = 0
    last = ""
    for line in sample:
        line = line.strip()
        if line:
            lengths.append(len(line))
        if line and last:
            followed.append(last)
        elif line:
            num_paragraphs += 1
        last = line

    if options.document_separator == "line":
        hard_wrapped = False
    elif options.hard_wrapped == "auto":
        num_open_ended = sum(not _LINE_ENDS_SENTENCE.search(line) for line in followed)
        lengths.sort()
        # The longest lines may be headings or tables.
        is_short = bool(lengths) and lengths[int(0.95 * (len(lengths) - 1))] <= 120
        hard_wrapped = is_short and num_open_ended > 0.5 * len(followed)
    else:
        hard_wrapped = options.hard_wrapped == "true"

    has_single_lines = num_paragraphs > 1 and len(followed) < 0.1 * num_paragraphs
    if options.document_separator != "auto":
        separator = options.document_separator
    elif hard_wrapped or has_single_lines:
        separator = "file"
    else:
        separator = "blank_line"
    return TextLayout(separator, hard_wrapped)


def _text_documents(lines: Lines, layout: TextLayout) -> Iterator[Iterator[str]]:
    if layout.hard_wrapped:
        paragraphs = _wrapped_paragraphs(lines)
    else:
        paragraphs = (text.strip() for _, text in lines)
    for first in paragraphs:
        if not first:
            continue
        if layout.document_separator == "line":
            yield iter([first])
            continue
        rest: Iterator[str]
        if layout.document_separator == "file":
            rest = (paragraph for paragraph in paragraphs if paragraph)
        else:
            # Up to the next blank line.
            rest = iter(paragraphs.__next__, "")
        yield itertools.chain([first], rest)
        # An unread rest must not become a separate document.
        collections.deque(rest, maxlen=0)


def _wrapped_paragraphs(lines: Lines) -> Iterator[str]:
    """Yields the joined lines of each paragraph, and "" for the blank lines between two."""
    collected = []
    size = 0
    for _, text in lines:
        text = text.strip()
        if text:
            collected.append(text)
            size += len(text)
        # A paragraph without end is cut, which bounds the memory.
        if collected and (not text or size > _MAX_PARAGRAPH_CHARACTERS):
            yield " ".join(collected)
            collected = []
            size = 0
            if not text:
                yield ""
    if collected:
        yield " ".join(collected)


def _json_documents(lines: Lines, text_field: str, hard_wrapped: bool) -> Iterator[Iterator[str]]:
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{lines.path}:{number}"
        record = json_object(line, lines.path, number, allow_half_pairs=True)
        if text_field not in record:
            raise UserError(
                f"{where}: no field {text_field!r}, only {listed(sorted(record))}: --text_field "
                "names the one to use"
            )
        text = record[text_field]
        if not isinstance(text, str):
            raise UserError(
                f"{where}: field {text_field!r} holds a {type(text).__name__}, not a string"
            )
        title = str(record.get("title", ""))
        # Only WikiExtractor's objects have the number of an article's revision.
        if "revid" in record:
            text = _with_signs(text)
            title = _with_signs(title)
        paragraphs = _paragraphs_of(text, title, hard_wrapped)
        if paragraphs:
            yield iter(paragraphs)


def _row_documents(path: str, text_field: str, file_format: str) -> Iterator[Iterator[str]]:
    """Yields the texts of a table, or of a list of JSON objects."""
    source = SourceFile(path, "input_file", file_format)
    for row in RowStream(source, [(text_field, "text_field")]):
        text = row.values[0]
        fault = row.fault
        if fault is None and not isinstance(text, str):
            fault = f"field {text_field!r} holds a {type(text).__name__}, not a string"
        if fault is not None:
            raise UserError(f"{path}:{row.line}: {fault}")
        paragraphs = _paragraphs_of(text, "", hard_wrapped=False)
        if paragraphs:
            yield iter(paragraphs)


def _parquet_documents(path: str, options: CorpusOptions) -> Iterator[Iterator[str]]:
    """Yields the documents of a Parquet file, without holding all of them."""
    texts = (
        row[options.text_field]
        for row in ARROW_FORMATS.load("parquet")(path).rows([options.text_field])
    )
    # The layout is decided for the whole file, since a single short text shows too little.
    sample = list(itertools.islice(texts, _SAMPLE_TEXTS))
    sample_lines = []
    for text in sample:
        if isinstance(text, str):
            sample_lines += [*text.splitlines(), ""]
    hard_wrapped = detect_layout(sample_lines, options).hard_wrapped
    for number, text in enumerate(itertools.chain(sample, texts), 1):
        # Parquet has null for a missing text.
        if text is None:
            continue
        if not isinstance(text, str):
            raise UserError(
                f"{path}, row {number}: column {options.text_field!r} holds a "
                f"{type(text).__name__}, not a text"
            )
        paragraphs = _paragraphs_of(text, "", hard_wrapped)
        if paragraphs:
            yield iter(paragraphs)


def _paragraphs_of(text: str, title: str, hard_wrapped: bool) -> list[str]:
    """Returns the paragraphs of a document, without its title as the first one."""
    # A JSON string can contain NUL, and half a surrogate pair, which UTF-8 can't encode.
    text = text.encode("utf-8", errors="replace").decode("utf-8").replace("\0", "")
    paragraphs = text.splitlines()
    if hard_wrapped:
        parts = re.split(r"\n\s*\n", "\n".join(paragraphs))
        paragraphs = [" ".join(part.split()) for part in parts]
    paragraphs = [paragraph.strip() for paragraph in paragraphs if paragraph.strip()]
    # The title of a Wikipedia article is no sentence.
    if paragraphs and paragraphs[0] == title.strip():
        del paragraphs[0]
    return paragraphs


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
        title = "" if opened["title"] is None else opened["title"].strip()
        document = _wiki_paragraphs(lines, number, title)
        first = next(document, None)
        if first is not None:
            yield itertools.chain([first], document)
            # The next document starts after the end of this one.
            collections.deque(document, maxlen=0)


def _wet_documents(lines: Lines) -> Iterator[Iterator[str]]:
    paragraphs: list[str] = []
    is_header = False
    is_first = True
    is_after_blank = True
    for number, line in lines:
        line = line.strip()
        # A page may name the format, or quote a record, but a blank line ends every record's text.
        is_start = is_after_blank and _WARC_RECORD_LINE.fullmatch(line)
        is_after_blank = not line
        if is_start:
            if paragraphs:
                yield iter(paragraphs)
                is_first = False
            paragraphs = []
            is_header = True
            is_page = False
        elif is_header:
            if is_first and line == "WARC-Type: response":
                raise UserError(
                    f"{lines.path}:{number}: a WARC file with the HTML of pages: Common Crawl's "
                    "WET files have the text, trafilatura takes it out of HTML"
                )
            # The first record is about the file.
            is_page = is_page or line == "WARC-Type: conversion"
            is_header = bool(line)
        elif is_page and line:
            paragraphs.append(line)
    if paragraphs:
        yield iter(paragraphs)


def _wiki_paragraphs(lines: Lines, opened_at: int, title: str) -> Iterator[str]:
    for number, line in lines:
        line = line.strip()
        # The marks stand on lines by themselves in the output of WikiExtractor.
        if line == "</doc>":
            return
        if line.startswith("<doc ") and _WIKI_OPEN.match(line):
            raise UserError(
                f"{lines.path}:{number}: <doc> inside the <doc> of line {opened_at}: a </doc> is "
                "missing"
            )
        # The extractor repeats the title as the first line; it is no sentence.
        if line and line != title:
            yield _with_signs(line)
        # Only the first line can be the title: later on the same words may be a paragraph.
        title = "" if line else title
    raise UserError(f"{lines.path}:{opened_at}: this <doc> has no </doc>: the file is cut short")


def _with_signs(text: str) -> str:
    """Returns the text of a file of WikiExtractor, which by default writes "AT&amp;T" for
    "AT&T"."""
    for name, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(name, sign)
    return text


# Formats whose documents have marks around them → description for the report, reader.
_MARKED = {"wiki": ("WikiExtractor", _wiki_documents), "wet": (WET, _wet_documents)}

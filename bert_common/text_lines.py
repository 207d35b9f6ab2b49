"""Lines of text files with their numbers, decoded: UTF-8, or UTF-16 with a byte order mark.

    for number, text in numbered_lines("corpus.txt", "input_file"):

Input: a file on any file system, compressed or not, or standard input. Output: texts of at most
`LONGEST_LINE` bytes each, so that the memory stays bounded.
"""

import functools
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from bert_common import files
from bert_common.errors import UserError

# A text may be a whole document, so that the default limit of Python's csv (128 KiB per field) is
# too low. A longer line means another kind of file, or one without end.
LONGEST_LINE = 256 << 20
_BOM = b"\xef\xbb\xbf"
# Beginning of a file that is no text → what it is, and what to do.
_OTHER_KINDS = {
    rb"%PDF-": "a PDF file: save its text as UTF-8",
    rb"\{\\rtf": "a document in RTF: save its text as UTF-8",
    rb"\xd0\xcf\x11\xe0": "an old spreadsheet or document: save it as CSV or text (UTF-8)",
    rb"version https://git-lfs": "a pointer of Git LFS: fetch the file itself by git lfs pull",
    rb"PAR1": "a Parquet file, no text: the name of a table must end in .parquet, and "
    "data_gen/prepare_corpus.py makes a corpus of one",
    rb"ARROW1": "an Arrow file, no text: the name of a table must end in .arrow, and a corpus is "
    "made of Parquet, by data_gen/prepare_corpus.py",
    rb"SQLite format 3": "an SQLite database: save the table as CSV (UTF-8)",
    rb"\x89HDF": "an HDF5 file, no text",
    rb"\x93NUMPY": "a NumPy array, no text",
    rb"\x80[\x02-\x05]": "a pickle, no text",
    # Both begin with a length of eight bytes.
    rb"(?s:....)\0\0\0\0": "a file of records (TFRecord) or weights (safetensors), no text",
}
_LONGEST_KIND = 24
_MAC_LINE = re.compile(rb"[^\r]*\r|[^\r]+")


def numbered_lines(
    path: str,
    flag: str,
    report: Callable[[int, str], None] | None = None,
    report_mark: Callable[[], None] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yields (line number from 1, text with its line end), without a byte order mark.

    A file in UTF-16 must begin with one.

    Args:
      report: gets number and fault of each line that is not UTF-8, which is yielded nevertheless.
        Without it they raise `UserError`.
      report_mark: is called if the file begins with a byte order mark.
    """
    files.check_readable(path, flag)
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (_, file):
        check_is_text(file, path)
        yield from decoded_lines(file, path, report, report_mark)


def check_is_text(file: Any, path: str) -> None:
    """Raises `UserError` for an open file of another kind than text, which it names."""
    start = file.peek(_LONGEST_KIND)[:_LONGEST_KIND]
    for pattern, kind in _OTHER_KINDS.items():
        if re.match(pattern, start):
            raise UserError(f"{path} is {kind}")


def decoded_lines(
    file: IO[bytes],
    where: str,
    report: Callable[[int, str], None] | None = None,
    report_mark: Callable[[], None] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yields the `numbered_lines` of an open file or standard input, called `where` in errors."""
    # A size limit per line bounds the memory for a file without line ends.
    read_line = functools.partial(file.readline, LONGEST_LINE + 1)
    first = read_line()
    is_wide = files.encoding_of(first) == "utf-16"
    if report_mark is not None and (is_wide or first.startswith(_BOM)):
        report_mark()
    start = [first.removeprefix(_BOM)] if first else []
    lines: Iterable[bytes] = itertools.chain(start, iter(read_line, b""))
    if is_wide:
        # Its line ends differ from the line ends of bytes, so that it is decoded as a whole.
        data = first + file.read(LONGEST_LINE + 1)
        if len(data) > LONGEST_LINE:
            raise UserError(
                f"{where}: UTF-16 of more than {LONGEST_LINE >> 20} MiB: save the file as UTF-8"
            )
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError:
            raise UserError(f"{where}: damaged UTF-16: save the file as UTF-8") from None
        lines = (line.encode() for line in io.StringIO(text, newline="\n"))
    elif not first.endswith(b"\n"):
        # A file without LF may end its lines by CR alone, as some spreadsheets do.
        chunks = lines
        lines = (part for chunk in chunks for part in _MAC_LINE.findall(chunk))
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            raise UserError(
                f"{where}:{number}: longer than {LONGEST_LINE >> 20} MiB: a file of lines is "
                "expected"
            )
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            # The position is left out, so that equal faults are one.
            fault = f"the byte 0x{line[error.start]:02x} is not UTF-8: save the file as UTF-8"
            if report is None:
                raise UserError(f"{where}:{number}: {fault}") from None
            report(number, fault)
            text = line.decode("utf-8", "replace")
        yield number, text


def character_position(text: str, position: int, encoding: str) -> int:
    """Returns a position in units of an encoding, "utf-16-le" or "utf-8", as one in characters; -1
    if it is outside of the text or inside of a character."""
    width = 2 if encoding == "utf-16-le" else 1
    data = text.encode(encoding, "surrogatepass")
    if not 0 <= position * width <= len(data):
        return -1
    try:
        before = data[: position * width].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return -1
    # The first half of a character in UTF-16 is decoded as a character of its own.
    return len(before) if text.startswith(before) else -1

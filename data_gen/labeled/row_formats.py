"""Rows of TSV, CSV, JSON, Parquet and Arrow files, with the line that each begins on.

Input: a file on any file system, compressed or not, by its extension in one of `FORMATS`. Output:
rows of fields (`read_delimited`), or objects (`read_rows`).
"""

import csv
import functools
import io
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_common.plugins import Plugins
from bert_common.text_lines import LONGEST_LINE, numbered_lines
from data_gen.labeled.rows import SourceFile, listed, quoted
from data_gen.labeled.table import Layout, check_twins

_FORMATS_BY_EXTENSION = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
# Formats whose rows are objects, with keys in place of a header. "jsonl" has an object per line, or
# is a single list of objects.
OBJECT_FORMATS = ("jsonl", "parquet", "arrow")
FORMATS = ("auto", "tsv", "csv", *OBJECT_FORMATS)
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
ARROW_FORMATS = Plugins(
    "file format",
    {
        "parquet": "data_gen.labeled.arrow_files:ArrowFile",
        "arrow": "data_gen.labeled.arrow_files:ArrowFile",
    },
)

# Matches lines that start like a JSON object.
looks_like_json = re.compile(r'\s*\{\s*["}]').match
# The line that tells Excel the separator, in front of the header.
_TOLD_DELIMITER = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
# Number of lines that show the separator and the quotation marks of a file.
_SAMPLE_LINES = 1000
# A field in quotation marks, the marks inside of it, and arguments of `csv.reader`.
_QUOTINGS: tuple[tuple[re.Pattern[str], str, dict[str, Any]], ...] = (
    (re.compile(r'(?:^|(?<=[\t\n]))"(?:[^"]|"")*"(?=[\t\r\n]|$)'), '""', {}),
    (
        re.compile(r'(?:^|(?<=[\t\n]))"(?:[^"\\]|\\.)*"(?=[\t\r\n]|$)'),
        r"\"",
        {"escapechar": "\\", "doublequote": False},
    ),
)


def format_of(path: str) -> str | None:
    """Returns the format that the extension of a file shows, compressed or not; None for others."""
    for ending in files.COMPRESSED:
        path = path.removesuffix(ending)
    return _FORMATS_BY_EXTENSION.get(os.path.splitext(path)[1].lower())


def format_of_file(source: SourceFile) -> str:
    """Returns the format of a file, by its extension for "auto".

    Raises:
      UserError: the extension is unknown.
    """
    if source.file_format != "auto":
        return source.file_format
    path = source.path
    flag = source.flag
    shown_format = format_of(path)
    if path.lower().endswith(_SPREADSHEETS):
        raise UserError(f"--{flag}: {path} is a spreadsheet: save it as CSV (UTF-8)")
    if path.lower().endswith(".zip"):
        raise UserError(f"--{flag}: {path} is an archive: unpack it first")
    if not shown_format:
        raise UserError(
            f"--{flag}: the extension of {path} is none of {', '.join(_FORMATS_BY_EXTENSION)}: "
            "rename it, or give --file_format"
        )
    return shown_format


def read_delimited(
    source: SourceFile,
    file_format: str,
    locate: Callable[[list[str]], Layout],
    is_literal: bool = False,
    keeps_bad_rows: bool = False,
) -> tuple[Layout, Iterator[tuple[int, list[str]]]]:
    """Returns the layout of a TSV or CSV file, and (line, fields) of all rows, a header included.

    The lines are read ahead of the rows; for arguments and errors see `read_table`.

    Args:
      keeps_bad_rows: a row that is no CSV has no fields and a fault, and is no error.
    """
    all_lines = numbered_lines(source.path, source.flag, source.add, source.add_mark)
    # A sample is kept in place of a second opening, so that a remote file is read once.
    sample = list(itertools.islice(all_lines, _SAMPLE_LINES))
    delimiter = source.delimiter
    told = _TOLD_DELIMITER.fullmatch(sample[0][1]) if sample and not is_literal else None
    if told is not None:
        del sample[0]
        if delimiter is None:
            delimiter = told[1]
    first_line = next((text for _, text in sample if text.strip()), "")
    candidates = _delimiters(delimiter, file_format, first_line)
    usual = candidates[0]
    quoting = None if is_literal else _quoting_of(sample, usual)
    # Number of columns, and what is wrong with them, for each sign.
    problems: list[tuple[int, UserError]] = []
    for candidate in candidates:
        # A quotation mark of TSV is a character like any other.
        is_tsv = file_format == "tsv" and candidate == usual and quoting is None
        if is_tsv:
            parse: Callable[..., Iterator[tuple[int, list[str]]]] = _split_rows
        else:
            kept = source if keeps_bad_rows else None
            parse = functools.partial(
                _csv_rows, quoting=({} if quoting is None else quoting), source=kept
            )
        first_rows = parse(iter(sample), source.path, candidate)
        first = next(_with_empty_values(first_rows, source), None)
        if first is None:
            raise UserError(f"{source.path} is empty: rows of examples are expected")
        # A first row that is not UTF-8 can be neither a header nor an example.
        if min(source.faults, default=first[0] + 1) <= first[0]:
            raise source.error(1)
        try:
            layout = locate(first[1])
            check_twins(source.path, layout, first[1])
        except UserError as problem:
            problems.append((len(first[1]), problem))
            continue
        # Any sign divides a row without a header into columns by number.
        if candidate == usual or layout.has_header:
            # Nothing is guessed about official files.
            if not is_literal:
                is_quoted = quoting is not None
                source.guesses.append(_describe_layout(layout, first[1], candidate, is_quoted))
            layout = layout._replace(
                delimiter=candidate, is_all_quoted=_is_all_quoted(first_line, candidate)
            )
            lines = itertools.chain(sample, all_lines)
            rows = parse(lines, source.path, candidate)
            return layout, _with_empty_values(rows, source)
    raise _clearest(problems)


def _clearest(problems: Sequence[tuple[int, UserError]]) -> UserError:
    """Returns the error of the usual sign, the first, if it divides the row, else of the sign that
    finds most columns."""
    if problems[0][0] > 1:
        return problems[0][1]
    return max(problems, key=lambda problem: problem[0])[1]


def _delimiters(delimiter: str | None, file_format: str, first_line: str) -> list[str]:
    """Returns the signs that may separate the columns, the usual one first."""
    # A shell passes a tab as backslash and t.
    if delimiter == r"\t":
        delimiter = "\t"
    if delimiter is not None:
        if len(delimiter) != 1 or delimiter in '\r\n"':
            raise UserError(f"--delimiter={delimiter}: one character is expected, e.g. ;")
        return [delimiter]
    usual = {"tsv": "\t", "csv": ","}[file_format]
    # Signs that separate the columns of some spreadsheets; letters and blanks are parts of names.
    signs = {sign for sign in first_line if sign in ",;\t|:^~!#$%&*+/@\x1f"}
    ordered = [usual, *sorted(signs)]
    if file_format == "csv":
        # Fields that are all in quotation marks show what separates them.
        for sign in ordered:
            if _is_all_quoted(first_line, sign):
                return [sign]
    return ordered


def _is_all_quoted(line: str, delimiter: str) -> bool:
    """Whether every field of a line is in quotation marks."""
    field = r'"(?:[^"]|"")*"'
    pattern = rf"{field}(?:{re.escape(delimiter)}{field})*\s*"
    return re.fullmatch(pattern, line) is not None


def _describe_layout(
    layout: Layout, first_row: Sequence[str], delimiter: str, is_quoted: bool
) -> str:
    """Returns what was understood of a file: its columns, their separator, and the first row."""
    numbers = ", ".join(str(value) for value in layout.numbers)
    if layout.has_header:
        header = f"a header, columns {listed([first_row[number] for number in layout.numbers])}"
    else:
        header = f"no header, columns {numbers} (from 0)"
    quotes = ", fields in quotation marks" if is_quoted else ""
    return f"{len(first_row)} columns separated by {delimiter!r}{quotes}; {header} are read"


def _quoting_of(sample: Sequence[tuple[int, str]], delimiter: str) -> dict[str, Any] | None:
    """Returns how the fields of a TSV file are in quotation marks where they need them, as
    arguments of `csv.reader`; None if marks are characters like any other.

    pandas and spreadsheets write such files, and Spark with a backslash before inner marks. They
    parse as CSV, with as many fields in all rows, and have a header in quotation marks, or inner
    marks, or fields of several lines.
    """
    text = "".join(text for _, text in sample)
    for field, inner, quoting in _QUOTINGS:
        fields = field.findall(text)
        if not fields:
            continue
        try:
            rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True, **quoting))
        except csv.Error:
            continue
        # The sample may end inside a row.
        widths = {len(row) for row in rows[:-1] or rows if row}
        needs_marks = any(inner in field[1:-1] or "\n" in field for field in fields)
        if len(widths) == 1 and (needs_marks or text.startswith('"')):
            return quoting
    return None


def read_rows(source: SourceFile, file_format: str) -> Iterator[tuple[int, dict]]:
    """Yields (line that it begins on, object) for every row of a file in an object format.

    A JSON file has an object per line, or is a list of objects, or an object with such a list under
    "data", or with spaCy's under "annotations". A row that is no object yields {} and is added to
    the faults of `source`.

    Args:
      file_format: one of `OBJECT_FORMATS`.
    """
    if file_format == "jsonl":
        yield from _json_rows(numbered_lines(source.path, source.flag, source.add), source)
        return
    source.unit = "row"
    open_file = ARROW_FORMATS.load(file_format)
    yield from enumerate(open_file(files.check_readable(source.path, source.flag)).rows(), 1)


def _with_empty_values(
    rows: Iterable[tuple[int, list[str]]], source: SourceFile
) -> Iterator[tuple[int, list[str]]]:
    """Yields all rows but blank lines; in a single column, a blank line before another row is an
    empty value."""
    blank_lines: list[int] = []
    width = 0
    for line, fields in rows:
        # A row that is no CSV has no fields, either.
        if not fields and line not in source.faults:
            blank_lines.append(line)
            continue
        if width == 1:
            for blank_line in blank_lines:
                yield blank_line, [""]
        # The first row decides whether the file has a single column.
        width = width or len(fields)
        blank_lines.clear()
        yield line, fields


def _split_rows(
    lines: Iterable[tuple[int, str]], path: str, delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Yields (line, fields), none for a blank line."""
    for line, text in lines:
        # str.splitlines() would also cut at U+0085 or U+2028 inside a text.
        text = text.rstrip("\r\n")
        yield line, text.split(delimiter) if text else []


def _csv_rows(
    lines: Iterable[tuple[int, str]],
    path: str,
    delimiter: str,
    quoting: dict[str, Any],
    source: SourceFile | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """Yields (line, fields), none for a blank line.

    Args:
      quoting: further arguments of `csv.reader`.
      source: gets the fault of a row that is no CSV, which is yielded without fields; the rows
        after its first line are read again. Without it such a row is an error.
    """
    # The limit is global to the process, so it is restored at the end.
    limit = csv.field_size_limit(LONGEST_LINE)
    # Lines of the current row, which may span several.
    taken: list[tuple[int, str]] = []

    def take(lines: Iterable[tuple[int, str]]) -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line[1]

    is_read = False
    try:
        while not is_read:
            try:
                for fields in csv.reader(take(lines), delimiter=delimiter, strict=True, **quoting):
                    yield taken[0][0], fields
                    taken.clear()
                is_read = True
            except csv.Error as error:
                line = taken[0][0]
                if source is None:
                    raise UserError(f"{path}:{line}: not CSV: {_csv_hint(error)}") from None
                source.add(line, f"not CSV: {_csv_hint(error)}")
                yield line, []
                lines = itertools.chain(taken[1:], lines)
                taken = []
    finally:
        csv.field_size_limit(limit)


def _csv_hint(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return "a quotation mark is not closed (inside quotes, a quotation mark is written twice)"
    if "new-line" in str(error):
        return "lines end with CR alone: save the file with LF or CRLF at their ends"
    return f"{error} (inside quotes, a quotation mark is written twice)"


def _json_rows(lines: Iterator[tuple[int, str]], source: SourceFile) -> Iterator[tuple[int, dict]]:
    filled = ((line, text) for line, text in lines if text.strip())
    start = list(itertools.islice(filled, 2))
    if not start:
        return
    first_text = start[0][1].strip()
    # A line that is a list by itself is a row of spaCy: a text and its annotations.
    is_list = first_text.startswith("[") and (len(start) == 1 or not first_text.endswith("}]"))
    # An object that ends on a later line than it begins, or the only one.
    is_object = first_text.startswith("{") and (len(start) == 1 or not first_text.endswith("}"))
    if is_list or is_object:
        text = "".join(text for _, text in itertools.chain(start, filled))
        # A single line keeps its number in errors.
        value = json_files.parse(text, source.path, start[0][0] if len(start) == 1 else None)
        rows = _objects_in(value, source.path)
        if rows is not None:
            source.unit = "row"
            for number, row in enumerate(map(_object_of, rows), 1):
                if not isinstance(row, dict):
                    source.add(number, f"a JSON object is expected, not {quoted(row)}")
                    row = {}
                yield number, row
            return
        yield start[0][0], value
        return
    for line, text in itertools.chain(start, filled):
        value = {}
        try:
            value = json_object(text)
        except UserError as error:
            source.add(line, str(error))
        yield line, value


def _objects_in(value: Any, path: str) -> list | None:
    """Returns the rows in the JSON value of a file; None for an object that is the only row.

    Raises:
      UserError: the object holds several lists of rows, or columns.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise UserError(f"{path}: a list of JSON objects is expected, not {quoted(value)}")
    data = value.get("data")
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return data
    # NER Annotator writes spaCy's lists beside the names of the labels.
    texts = value.get("annotations")
    if "classes" in value and isinstance(texts, list):
        return texts
    # Splits of a data set are lists under their names; pandas writes columns as objects.
    holds_columns = all(isinstance(part, dict) for part in value.values())
    holds_lists = all(
        isinstance(part, list) and part and isinstance(part[0], dict) for part in value.values()
    )
    if value and (holds_columns or holds_lists):
        raise UserError(
            f"{path} holds one object, with {listed(list(value))}: a list of rows, or one row per "
            "line, is expected: save each part as a file of its own, or with pandas "
            'to_json(…, orient="records", lines=True)'
        )
    return None


def _object_of(row: Any) -> Any:
    """Returns the object of a text and its annotations, spaCy's list; other rows unchanged."""
    match row:
        case [str(text), dict(annotations)]:
            return {"text": text, **annotations}
    return row


def json_object(
    text: str, path: str = "", line: int | None = None, allow_half_pairs: bool = False
) -> dict:
    """Returns the JSON object that a line holds.

    Raises:
      UserError: it holds none; names path and line if they are given.
    """
    value = _object_of(json_files.parse(text, path, line, allow_half_pairs))
    if isinstance(value, dict):
        return value
    message = f"one JSON object per line is expected, not {quoted(value)}"
    if path:
        message = f"{path}:{line}: {message}"
    raise UserError(message)

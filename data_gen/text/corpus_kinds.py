"""What a file of texts holds, by its name and its first line: plain text, JSON, a table, markup.

Input: a file for `prepare_corpus.py`, which reads all kinds, or for the programs after it, which
read plain text only.
"""

import re

from bert_common import files
from bert_common.errors import UserError
from bert_common.text_lines import check_is_text
from data_gen.labeled.row_formats import format_of, looks_like_json

TEXT = "plain text"
JSON_LINES = "JSON lines"
JSON_LIST = "a JSON list"
TABLE = "a table"
WIKI = "WikiExtractor's output"
WET = "Common Crawl's WET"
MARKUP = "HTML or XML"
# How every record of a WARC file begins, WET files' too.
WARC_RECORD = "WARC/1."
# Longest beginning of a file that is looked at.
_FIRST_BYTES = 1 << 16


def kind_of_corpus(path: str, first_line: str, text_field: str = "text") -> str:
    """Returns one of the constants above.

    Args:
      first_line: the first line with text.
      text_field: column of the texts, whose name shows a table under any name of its file.
    """
    if looks_like_json(first_line):
        return JSON_LINES
    if re.match(r'\s*\[\s*(\{|"|$)', first_line):
        return JSON_LIST
    if first_line.startswith("<doc "):
        return WIKI
    if first_line.startswith(WARC_RECORD):
        return WET
    if re.match(r"\s*<(!doctype|html|\?xml|mediawiki)\b", first_line, re.IGNORECASE):
        return MARKUP
    cells = [cell.strip('"') for cell in re.split(r"[,;\t|]", first_line)]
    # A sentence has blanks.
    is_header = len(cells) > 1 and text_field in cells and not any(" " in cell for cell in cells)
    return TABLE if is_header or format_of(path) in ("csv", "tsv") else TEXT


def markup_error(path: str) -> UserError:
    """Returns the error for a file of markup, whose tags would be learned."""
    return UserError(
        f"{path} is {MARKUP}: take the text out of it, e.g. by trafilatura, or by WikiExtractor "
        "for a dump of Wikipedia"
    )


def check_plain_text(path: str, flag: str) -> None:
    """Raises `UserError` for a file of texts that is not plain text."""
    with files.user_error(f"--{flag}: can't read {path}"), files.open_unzipped(path) as (_, file):
        check_is_text(file, path)
        lines = file.read(_FIRST_BYTES).decode("utf-8", "replace").split("\n")
    first_line = next((line for line in lines if line.strip()), "").lstrip("\ufeff")
    kind = kind_of_corpus(path, first_line)
    if kind == MARKUP:
        raise markup_error(path)
    if kind != TEXT:
        raise UserError(
            f"--{flag}: {path} is {kind}, one sentence per line is expected: make that of it with "
            "data_gen/prepare_corpus.py"
        )

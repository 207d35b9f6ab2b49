"""Files with a word in every line, beside its tag and other columns → sentences.

    EU NNP B-NP B-ORG          CoNLL-2003: blanks or tabs, a blank line after a sentence
    1  EU  _  PROPN            CoNLL-U: numbers of words, comments that begin with #
    x/0 0 0 EU NNP (TOP* - - - speaker (ORG)      CoNLL-2012: entities in brackets
    Sentence: 1;EU;B-ORG       tables: `;`, `,`, `|`, a header, ids of sentences

Input: such a file. Output: `Sentence`s. `column_kinds.py` decides which columns are read.
"""

import csv
import dataclasses
import itertools
import os
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from bert_common.errors import UserError
from bert_common.text_lines import numbered_lines
from data_gen.labeled.annotation_tools import refuse_other_tools
from data_gen.labeled.column_kinds import (
    BRACKETS,
    COUNTS,
    NO_WORD,
    TAGS,
    WordColumns,
    filled_ids,
    find_word_columns,
    kind_of,
)
from data_gen.labeled.rows import SourceFile, quoted
from data_gen.labeled.tag_schemes import OUTSIDE, tags_of_brackets

_DOCUMENT_STARTS = ("-DOCSTART-", "#begin document", "# newdoc")
_BLANKS = " \t"
# Signs with which comments above a sentence begin; a word may begin so, too.
_COMMENTS = ("#", "//", "%")
# What a second column of comments hardly holds.
_TAG = re.compile(r"[Oo]|[BIES]-.+", re.DOTALL)
# A word with its tag behind a sign that separates no columns here.
_GLUED = re.compile(r".+\W([Oo]|[BIESLUMWbieslumw]-.+)", re.DOTALL)
# A quotation mark that stands alone.
_MARK = re.compile(r'(?:^|\t)"(?:\t|$)')
# Signs between columns, besides blanks; the first one that divides all lines alike is taken.
_SEPARATORS = "\t;,|\xa0"
# Columns of CoNLL-2012; further ones, as many as the sentence has predicates, are not read.
_CONLL_2012 = "#begin document"
_WIDTH_2012, _WORDS_2012, _ENTITIES_2012 = 11, 3, 10
# Names of columns in headers.
_HEADER = re.compile(
    r"(sentence|sent|document|doc|token|word|row)s?([ _]?(#|id|idx|index|number))?|id|idx|index"
    r"|form|text|lemma|pos|chunk|entity|iob|bio"
    r"|((ner|pos|chunk|iob|bio)[ _]?)?(tag|label)s?|ner|nel?-[a-z-]+",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]+)*:")
# A character, or half of one twice, and its place in its word.
_PLACED = re.compile(r"\S{1,2}[0-9]")
# "SpaceAfter=No|name=B-PER": the tag among features.
_FEATURES = re.compile(r"^(?:.*\|)?[^=|]+=([Oo]|[BIESLUMWbieslumw]-[^|]+)(?:\|.*)?$")
# Share of the lines that have as many columns: others are faults.
_MOST = 0.9
# So many lines show that a file holds texts, or words with their language.
_FEW_LINES = 10
# A comment in so many lines has no say in what the columns hold.
_MANY_COMMENTS = 100
# Number of lines that show the separator, and whether a line has a word or a text.
_SAMPLE_LINES = 1000


class Sentence(NamedTuple):
    """A sentence as it is read; see `tagged_files.TaggedSentences`.

    Attributes:
      tags: names, or numbers of JSON.
      lines: the line of each word.
      document: number of its document, from 0; -1 if the file marks none before it.
      misfits: entities whose ends are inside words.
      is_converted: positions of entities counted UTF-16 units or bytes.
    """

    words: Sequence[str]
    tags: Sequence | None
    lines: Sequence[int] = ()
    document: int = -1
    text: str | None = None
    offsets: Sequence[tuple[int, int]] = ()
    misfits: Sequence[str] = ()
    is_converted: bool = False


class _Rows(NamedTuple):
    """The lines of a file that hold words.

    Tuples and arrays of a file's size cost the garbage collector no time, unlike lists.

    Attributes:
      columns: the fields of each column.
      lines: line of each row, from 1.
      starts: row after a blank line or a border of documents → number of its document.
      comments: first rows of sentences that begin with a lone sign of comments.
    """

    columns: list[tuple[str, ...]]
    lines: array
    starts: dict[int, int]
    comments: list[int]

    def without(self, rows: Collection[int]) -> "_Rows":
        """Returns the other rows."""
        if not rows:
            return self
        kept = sorted(set(range(len(self.lines))).difference(rows))
        # Later starts take the place of those that have lost their rows.
        starts = {bisect_left(kept, row): document for row, document in self.starts.items()}
        return _Rows(
            [tuple([column[row] for row in kept]) for column in self.columns],
            array("q", [self.lines[row] for row in kept]),
            starts,
            [],
        )


@dataclasses.dataclass
class _Layout:
    """Separator and number of the columns of a file.

    Attributes:
      is_quoted: fields may be in quotation marks.
      is_padded: there are blanks beside tabs.
      has_header: the first row has the names of the columns.
    """

    separator: str
    is_quoted: bool = False
    width: int = 1
    is_padded: bool = False
    is_conll_2012: bool = False
    has_header: bool = False

    def split(self, text: str) -> list[str]:
        """Returns the fields of a line; several blanks between two count as one."""
        if self.is_quoted:
            return next(csv.reader([text], delimiter=self.separator))
        # str.split() without a separator would also split at other white space inside a word.
        fields = text.split(self.separator)
        if self.separator in " \xa0":
            # CoNLL-2012 has further columns, as many as a sentence has predicates.
            most = _WIDTH_2012 if self.is_conll_2012 else None
            return [field for field in fields if field][:most]
        if self.separator == "\t" and not self.is_padded:
            return fields
        return [field.strip(" ") for field in fields]


def read_word_columns(
    source: SourceFile,
    word_column: str | None,
    label_column: str | None,
    is_table: bool,
    reads_brackets: bool,
) -> Iterator[Sentence]:
    """Yields the sentences of a file in columns.

    Lines with another number of columns than the first are added to the faults of `source`.

    Args:
      word_column, label_column: numbers of columns, from 0, or from the end, -1. None to find them
        by what they hold.
      is_table: the file is CSV or TSV by its name, so that blanks separate no columns.
      reads_brackets: entities in brackets become tags.

    Raises:
      UserError: a column does not exist, or can't be found.
    """
    layout, rows = _read_rows(source, is_table)
    if not rows.lines:
        return
    where = f"{source.path}:{rows.lines[0]}"
    word = _parse_column(word_column, layout.width, where, "word_column")
    label = _parse_column(label_column, layout.width, where, "label_column")
    if layout.is_conll_2012:
        word = _WORDS_2012 if word is None else word
        label = _ENTITIES_2012 if label is None else label
    _take_tags_of_features(rows, source)
    certain = rows
    # Few comments change nothing.
    if _MANY_COMMENTS * len(rows.comments) > len(rows.lines):
        certain = rows.without(rows.comments)
    try:
        word_columns = find_word_columns(certain.columns, len(rows.starts) > 1, word, label)
    except UserError as error:
        raise UserError(f"{source.path}: {error}") from None
    words = rows.columns[word_columns.word][:_SAMPLE_LINES]
    if 2 * sum(" " in word for word in words) > len(words):
        raise UserError(
            f"{where}: column {word_columns.word} has texts, such as {quoted(words[0])}: a word "
            "per line is expected; run_classifier.py reads tables of texts"
        )
    if sum(_GLUED.fullmatch(word) is not None for word in words) >= _MOST * len(words):
        raise UserError(
            f"{where}: words and tags are in one column, such as {quoted(words[0])}: put a tab "
            "between them"
        )
    note = _describe(layout, word_columns)
    if note:
        source.guesses.append(note)
    _strip_language(rows, word_columns.word, source)
    _strip_places(rows, word_columns.word, source)
    yield from _sentences(
        rows.without(_no_words(rows, word_columns)), word_columns, source, reads_brackets
    )


def _take_tags_of_features(rows: _Rows, source: SourceFile) -> None:
    """Leaves nothing but the tags of a last column of features, in place: CoNLL-U has no column for
    them, so that DaNE and NorNE write name=B-PER|SpaceAfter=No."""
    column = rows.columns[-1]
    if not column or "=" not in column[0]:
        return
    # Values without a tag stay, and are reported.
    tags = tuple(_FEATURES.sub(r"\1", value) for value in column)
    if kind_of(tags) == TAGS:
        rows.columns[-1] = tags
        source.guesses.append("the tags are taken out of the features in the last column")


def _strip_language(rows: _Rows, column: int, source: SourceFile) -> None:
    """Removes the language that WikiAnn puts before every word, such as "en:", in place."""
    words = rows.columns[column]
    language = _LANGUAGE.match(os.path.commonprefix(words))
    if language is None or len(words) < _FEW_LINES:
        return
    rows.columns[column] = tuple([word[language.end() :] for word in words])
    source.guesses.append(f"every word begins with {quoted(language[0])}, which is left out")


def _strip_places(rows: _Rows, column: int, source: SourceFile) -> None:
    """Removes the digit after every character of Weibo NER, its place in its word, in place."""
    words = rows.columns[column]
    if len(words) < _FEW_LINES or not all(map(_PLACED.fullmatch, words)):
        return
    places = [int(word[-1]) for word in words]
    num_next = sum(place in (0, last + 1) for last, place in itertools.pairwise(places))
    if any(places) and num_next >= _MOST * (len(places) - 1):
        rows.columns[column] = tuple([word[:-1] for word in words])
        source.guesses.append(
            "every character is followed by its place in its word, which is left out"
        )


def _read_rows(source: SourceFile, is_table: bool) -> tuple[_Layout, _Rows]:
    """Reads the lines of a file, without a header and comments of another width."""
    all_lines = numbered_lines(source.path, source.flag, source.add)
    sample = list(itertools.islice(all_lines, _SAMPLE_LINES))
    texts = [text.rstrip("\r\n") for _, text in sample]
    refuse_other_tools(source.path, texts)
    layout = _find_layout(texts, is_table)
    split, separator, width = layout.split, layout.separator, layout.width
    is_plain = separator in _BLANKS and not (
        layout.is_quoted or layout.is_padded or layout.is_conll_2012
    )
    # One list of all fields: a list for each row would keep the garbage collector busy.
    fields: list[str] = []
    lines = array("q")
    starts: dict[int, int] = {}
    comments: list[int] = []
    document = -1
    num_misfits = 0
    # The line before was a border; only comments came after the last border.
    is_start = is_top = True
    for line, text in itertools.chain(sample, all_lines):
        text = text.rstrip("\r\n")
        # Only these begin lines without words.
        if text[:1] in " \t-#":
            is_border = text.startswith(_DOCUMENT_STARTS)
            if is_border or not text.strip(_BLANKS):
                document += is_border
                is_start = is_top = True
                continue
        row = text.split(separator) if is_plain else split(text)
        if len(row) != width or "" in row:
            row = split(text)
            # GermEval's test file has a line with a tab at its end.
            row = row[:width] + [field for field in row[width:] if field]
        if len(row) != width:
            # Comments stand above a sentence.
            if is_top and text.startswith(_COMMENTS):
                continue
            num_misfits += 1
            source.add(
                line, f"{width} columns expected, as in the first line, but {len(row)} found"
            )
            # The placeholder keeps the sentence together, so that it is one bad row.
            row = [OUTSIDE] * width
        if is_top:
            if is_start:
                starts[len(lines)] = document
                is_start = False
            is_top = (
                row[0] in _COMMENTS
                # KLUE: "## klue-ner-v1_train_1", a tab and the sentence. Words hold no blanks.
                or (" " in row[0] and row[0].startswith(_COMMENTS))
                # Comments of HIPE stand below the header.
                or (layout.has_header and not lines)
            )
            if is_top:
                comments.append(len(lines))
        lines.append(line)
        fields += row
    _refuse_texts(source.path, num_misfits, len(lines), width)
    columns = [tuple(fields[column::width]) for column in range(width)]
    rows = _Rows(columns, lines, starts, comments)
    return layout, rows.without({0} if layout.has_header else ())


def _refuse_texts(path: str, num_misfits: int, num_lines: int, width: int) -> None:
    """Raises `UserError` for a file whose lines have any number of words."""
    if 2 * num_misfits > num_lines >= _FEW_LINES:
        raise UserError(
            f"{path}: most lines have other numbers of columns than the first, {width}: a word "
            "per line is expected, with its tag; predict.py tags texts"
        )


def _no_words(rows: _Rows, word_columns: WordColumns) -> set[int]:
    """Returns the rows that are comments or, in CoNLL-U, several words at once, or none."""
    no_words = set(rows.comments)
    if no_words and word_columns.label is not None:
        # A word may begin so as well: its tag is one of the others, or can be nothing else.
        labels = rows.columns[word_columns.label]
        tags = Counter(labels) - Counter(labels[row] for row in rows.comments)
        for row in rows.comments:
            if labels[row] in tags or _TAG.fullmatch(labels[row]):
                no_words.remove(row)
    if word_columns.kinds[0] == COUNTS:
        numbers = rows.columns[0]
        no_words.update(row for row, number in enumerate(numbers) if NO_WORD.fullmatch(number))
    return no_words


def _find_layout(texts: Sequence[str], is_table: bool) -> _Layout:
    """Returns the separator and the number of the columns, by the first lines of a file."""
    lines = [text for text in texts if text.strip(_BLANKS)]
    words = [text for text in lines if not text.startswith((*_COMMENTS, _DOCUMENT_STARTS[0]))]
    # A file may have nothing but words that begin like a comment.
    words = words or lines or [""]
    if any(text.startswith(_CONLL_2012) for text in lines):
        layout = _Layout(" ", is_conll_2012=True)
        layout.width = min(len(layout.split(words[0])), _WIDTH_2012)
        return layout
    layout = _find_separator(words, is_table) or _Layout("\t" if "\t" in words[0] else " ")
    fields = layout.split(words[0])
    layout.width = len(fields)
    layout.has_header = _is_header(fields, is_table)
    layout.is_padded = layout.separator == "\t" and any(
        " \t" in text or "\t " in text for text in words
    )
    return layout


def _find_separator(lines: Sequence[str], is_table: bool) -> _Layout | None:
    """Returns the sign that divides the lines into as many fields; None for blanks, or none."""
    by_blanks = [_Layout(" ").split(text) for text in lines]
    has_blanks = _are_columns(by_blanks) and not is_table
    # A quotation mark between tabs is a word or a lemma: then no field is in quotation marks.
    has_marks = any(_MARK.search(text) for text in lines)
    for separator in _SEPARATORS:
        mark = re.escape(separator)
        # Two marks alone are a word.
        field = re.compile(rf'(?:^|{mark})"(?:[^"]|"")+"(?:$|{mark})')
        has_fields = any(field.search(text) for text in lines)
        layout = _Layout(separator, is_quoted=has_fields and not has_marks)
        fields = [layout.split(text) for text in lines]
        if not _are_columns(fields):
            continue
        # "Tom; B-PER" has blanks as well; "a,b NN" is a word and its tag.
        is_followed = all(len(row[0]) > 1 and row[0].endswith(separator) for row in by_blanks)
        is_same = is_followed and len(by_blanks[0]) == len(fields[0])
        if separator == "\t" or not has_blanks or is_same:
            return layout
    return None


def _are_columns(rows: Sequence[Sequence[str]]) -> bool:
    """Whether most rows have as many fields as the first, two or more, and no column is empty."""
    width = len(rows[0])
    equal = [row for row in rows if len(row) == width]
    if width < 2 or len(equal) < _MOST * len(rows):
        return False
    return all(any(column) for column in zip(*equal, strict=True))


def _is_header(fields: Sequence[str], is_table: bool) -> bool:
    """Whether the fields of the first line are names of columns."""
    num_names = sum(_HEADER.fullmatch(field) is not None for field in fields)
    # Words may be called the same.
    if is_table:
        return num_names > 1 or num_names == len(fields)
    return num_names == len(fields) > 1


def _parse_column(value: str | None, width: int, where: str, flag: str) -> int | None:
    """Returns the number of a column from 0; None if none is given."""
    if value is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}", value):
        raise UserError(f"--{flag}={value}: a number is expected, from 0; from the end, -1")
    column = int(value)
    if not -width <= column < width:
        raise UserError(
            f"{where}: no column {column} (--{flag}): there are {width}, counted from 0"
        )
    return column % width


def _describe(layout: _Layout, word_columns: WordColumns) -> str:
    """Returns what was understood of a file; "" for words in the first column and tags in the last,
    separated by blanks or tabs."""
    label = layout.width - 1 if word_columns.label is None else word_columns.label
    if (
        (word_columns.word, label) == (0, layout.width - 1)
        and layout.separator in " \t"
        and not layout.has_header
    ):
        return ""
    parts = [f"{layout.width} columns separated by {layout.separator!r}"]
    if layout.has_header:
        parts.append("a header")
    parts.append(f"words in column {word_columns.word}")
    if word_columns.label is not None and word_columns.label != word_columns.word:
        parts.append(f"tags in column {word_columns.label}")
    if word_columns.sentence is not None:
        parts.append(f"ids of sentences in column {word_columns.sentence}")
    return f"{', '.join(parts)} (counted from 0; --word_column, --label_column)"


def _sentences(
    rows: _Rows, word_columns: WordColumns, source: SourceFile, reads_brackets: bool
) -> Iterator[Sentence]:
    """Yields the sentences of the rows."""
    borders = sorted(rows.starts)
    if word_columns.sentence is not None:
        ids = filled_ids(rows.columns[word_columns.sentence])
        borders = [row for row in range(len(ids)) if row == 0 or ids[row] != ids[row - 1]]
    elif len(borders) == 1 and COUNTS in word_columns.kinds:
        # Without blank lines a sentence begins where the numbers of its words begin again.
        numbers = [int(number) for number in rows.columns[word_columns.kinds.index(COUNTS)]]
        borders += [row for row in range(1, len(numbers)) if numbers[row] != numbers[row - 1] + 1]
    words = rows.columns[word_columns.word]
    labels = None
    is_bracketed = False
    if word_columns.label is not None and word_columns.label != word_columns.word:
        labels = rows.columns[word_columns.label]
        is_bracketed = reads_brackets and word_columns.kinds[word_columns.label] == BRACKETS
    document = -1
    for start, end in itertools.pairwise([*borders, len(words)]):
        document = rows.starts.get(start, document)
        if start == end:
            continue
        tags: Sequence[str] | None = None
        if labels is not None:
            tags = labels[start:end]
        if tags is not None and is_bracketed:
            try:
                tags = tuple(tags_of_brackets(tags))
            except UserError as error:
                source.add(rows.lines[start], str(error))
        yield Sentence(words[start:end], tags, rows.lines[start:end], document)

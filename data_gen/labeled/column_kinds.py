"""What a column holds, judged by all of its values: tags, brackets, numbers, ids, words.

    kind_of(["1", "2", "3"])                        # NUMBERS
    find_word_columns([("B-PER", "O"), ("Tom", "sat")], True)      # words in 1, tags in 0

Input: columns of texts. Output: their kinds, and the columns of words and of tags among them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bert_common.errors import UserError
from data_gen.labeled.rows import quoted
from data_gen.labeled.tag_schemes import OUTSIDE

NOTHING = "no values"
FEATURES = "features"
NUMBERS = "whole numbers"
SCORES = "decimal numbers"
BRACKETS = "entities in brackets"
TAGS = "tags of entities"
WORDS = "words"
COUNTS = "numbers of words"
IDS = "ids of sentences"

# Kind → what its values look like. A value is of the first kind that fits.
_LOOKS = {
    # Features of CoNLL-U, such as SpaceAfter=No|Lang=en, are no tags of words.
    NOTHING: re.compile(r"[_*-]?|[^=|]+=[^|]*(\|[^=|]+=[^|]*)*"),
    NUMBERS: re.compile(r"[-+]?[0-9]+(\.0*)?"),
    SCORES: re.compile(r"[-+]?[0-9]*[.,][0-9]+([eE][-+]?[0-9]+)?"),
    # CoNLL-2012: "(PER*" and "*)" around the words of an entity, "(LOC)" at a single one.
    BRACKETS: re.compile(r"\*\)|\([^\s()*]+[*)]"),
    # The spellings of `tag_schemes.respell`.
    TAGS: re.compile(r"[Oo]|[BIESLUMWbieslumw][-_:/|].+|.+[-_:/|][BIESLUMW]|[BIESLUMW]", re.DOTALL),
}
_OUTSIDE_OR_BEGIN = re.compile(r"[Oo]|[BS]-.+", re.DOTALL)
# Numbers of multiword tokens (3-4) and empty nodes (8.1) in CoNLL-U, whose lines are no words.
NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
# Share of the values that decides: a slip of the pen does not change what a column is.
_MOST = 0.9
# At most twice as many rows of a file show what holds for most of them.
_SAMPLE_ROWS = 10_000
# From so many rows on, words have more different values than tags.
_MANY_ROWS = 30


class WordColumns(NamedTuple):
    """Numbers of the columns of a file of words, from 0.

    Attributes:
      label: None for a file without tags.
      sentence: ids of sentences; None if blank lines separate these.
      kinds: what each column holds.
    """

    word: int
    label: int | None
    sentence: int | None
    kinds: Sequence[str]


def kind_of(values: Iterable[str]) -> str:
    """Returns what most values of a column are: `NOTHING`, `NUMBERS`, `SCORES`, `BRACKETS`, `TAGS`
    or `WORDS`. Decimal numbers may have a comma.

    Args:
      values: of all rows; or a `Counter` of them.
    """
    counts = Counter(values)
    total = counts.total()
    sizes: Counter[str] = Counter()
    for value, count in counts.items():
        sizes[_look_of(value)] += count
    most = _MOST * total
    if sizes[NOTHING] == total:
        return NOTHING if len(counts) == 1 else FEATURES
    if sizes[NUMBERS] + sizes[SCORES] >= most:
        return SCORES if sizes[SCORES] else NUMBERS
    # An asterisk is a word outside of all entities.
    if sizes[BRACKETS] + counts["*"] >= most and _are_balanced(counts, sizes[BRACKETS]):
        return BRACKETS
    # Where most words have the tag O, the others are types of entities without a prefix.
    if counts[OUTSIDE] * 2 > total:
        return TAGS
    # Single letters and words with hyphens are tags of entities only beside an O.
    is_certain = any(_OUTSIDE_OR_BEGIN.fullmatch(value) for value in counts)
    return TAGS if is_certain and sizes[TAGS] >= most else WORDS


def _kind_of_column(values: Sequence[str]) -> str:
    """Returns the kind of a column; words and tags are told by rows from all over a long file."""
    kind = kind_of(values[:: max(1, len(values) // _SAMPLE_ROWS)])
    # A few values decide about the others, such as a bracket or a decimal number.
    return kind if kind in (WORDS, TAGS) else kind_of(values)


def _look_of(value: str) -> str:
    for kind, look in _LOOKS.items():
        if look.fullmatch(value):
            return kind
    return WORDS


def _are_balanced(counts: Counter[str], num_brackets: int) -> bool:
    """Whether as many entities end as begin: the brackets of a syntax tree end several at once."""
    num_begins = 0
    for value, count in counts.items():
        if value.startswith("(") and value.endswith("*"):
            num_begins += count
    return abs(num_begins - counts["*)"]) <= (1 - _MOST) * num_brackets


def find_word_columns(
    columns: Sequence[Sequence[str]],
    has_borders: bool,
    word: int | None = None,
    label: int | None = None,
) -> WordColumns:
    """Returns the columns of words and of tags, by what the columns hold.

    By default the words are in the first column and the tags in the last. A column of entities'
    tags is taken wherever it is; numbers, ids and scores are neither words nor tags, unless numbers
    stand alone beside the words.

    Args:
      columns: values of each column of the file.
      has_borders: blank lines separate the sentences.
      word, label: columns that the user names.

    Raises:
      UserError: the columns can be read in several ways, or none holds words.
    """
    kinds = [_kind_of_column(values) for values in columns]
    tagged = [column for column, kind in enumerate(kinds) if kind in (TAGS, BRACKETS)]
    for column, values in enumerate(columns):
        others = [other for other, kind in enumerate(kinds) if kind == WORDS and other != column]
        if len(columns) > 2 and _are_counts(values):
            kinds[column] = COUNTS
        # Without tags of entities one of the other columns has the words and one their plain tags.
        elif column not in tagged and len(others) > (not tagged):
            if (column == 0 or kinds[column] == NUMBERS) and _are_ids(values):
                kinds[column] = IDS
    if len(columns) == 1:
        return WordColumns(0, None, None, kinds)
    if label is None:
        label = _find_labels(columns, kinds, tagged, word)
    if word is None:
        # In a short file the only words may be numbers.
        other_kinds = [kind for column, kind in enumerate(kinds) if column != label]
        if len(columns[0]) >= _MANY_ROWS and WORDS not in other_kinds:
            raise _undecided(columns, kinds)
        words = [column for column in _varied_words(columns, kinds) if column != label]
        word = words[0] if words else int(label == 0)
    sentence = None
    if not has_borders and IDS in kinds:
        # The column that changes most often: documents have ids, too.
        ids = [column for column, kind in enumerate(kinds) if kind == IDS]
        sentence = max(ids, key=lambda column: len(set(columns[column])))
    return WordColumns(word, label, sentence, kinds)


def _find_labels(
    columns: Sequence[Sequence[str]], kinds: list[str], tagged: list[int], word: int | None
) -> int | None:
    """Returns the column of the tags; None if there is none, see `find_word_columns`."""
    # Columns behind that of the entities may have the few that are inside of others (GermEval).
    # Chunks, in CoNLL-2003 before the entities, cover most words.
    num_tagged = [len(values) - values.count(OUTSIDE) for values in columns]
    sparse = [column for column in tagged if 2 * num_tagged[column] < len(columns[0])] or tagged
    if tagged:
        enough = max(num_tagged[column] for column in sparse) / 2
        return [column for column in sparse if num_tagged[column] >= enough][-1]
    words = _varied_words(columns, kinds)
    if word is None and words:
        word = words[0]
    plain = [column for column in words if column != word]
    last = len(columns) - 1
    if last in plain:
        sizes = [len(set(columns[column])) for column in words]
        if len(columns[0]) < _MANY_ROWS or sizes[-1] <= 2 * min(sizes):
            return last
        # Tags before their words, or lemmas after them.
        if len(words) > 2:
            raise _undecided(columns, kinds)
        return words[0]
    if kinds[last] in (NOTHING, WORDS) and last != word:
        return last
    if len(plain) > 1 or (plain and kinds[last] == NUMBERS):
        raise _undecided(columns, kinds)
    if plain:
        return plain[0]
    # Features beside the words are their only tags; CoNLL-U has them in its last column.
    alone = (NUMBERS, FEATURES) if len(columns) == 2 else (NUMBERS,)
    return last if kinds[last] in alone and words else None


def _varied_words(columns: Sequence[Sequence[str]], kinds: Sequence[str]) -> list[int]:
    """Returns the columns of words; of several, those that do not hold the same everywhere."""
    words = []
    for column, kind in enumerate(kinds):
        values = columns[column]
        if kind == WORDS and (len(columns) == 2 or any(value != values[0] for value in values)):
            words.append(column)
    return words


def _are_counts(values: Sequence[str]) -> bool:
    """Whether a column numbers the words: of each sentence, from 0 or 1, or of the whole file."""
    numbers: list[int] = []
    # Most columns are left at their first values.
    for value in values:
        if not value.isdecimal():
            if NO_WORD.fullmatch(value):
                continue
            return False
        number = int(value)
        if number > 1 and (not numbers or number != numbers[-1] + 1):
            return False
        numbers.append(number)
    return len(numbers) > 2 and len(set(numbers)) > 1


def _are_ids(values: Sequence[str]) -> bool:
    """Whether a column names the sentences: the rows of a name follow each other. A name may be
    given in the first of them only."""
    names: set[str] = set()
    last = None
    # A word is soon repeated somewhere else.
    for value in values:
        name = value or last or ""
        if name != last:
            if name in names:
                return False
            names.add(name)
            last = name
    return 2 * len(names) <= len(values)


def filled_ids(values: Iterable[str]) -> list[str]:
    """Returns the ids of sentences, with the one above in place of an empty one."""
    filled = []
    last = ""
    for value in values:
        last = value or last
        filled.append(last)
    return filled


def _undecided(columns: Sequence[Sequence[str]], kinds: list[str]) -> UserError:
    """Returns the error that shows the columns, without the name of the file."""
    parts = []
    for number, (values, kind) in enumerate(zip(columns, kinds, strict=True)):
        examples = ", ".join(quoted(value) for value in [*dict.fromkeys(values)][:3])
        parts.append(f"{number} has {kind} ({examples})")
    return UserError(
        "the columns of words and of tags can't be told by what they hold: column "
        f"{', column '.join(parts)}: give --word_column and --label_column"
    )

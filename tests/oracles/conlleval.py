"""Columns read, and chunks counted, as `conlleval.pl` does, token by token."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

# A B-PER → prefix and type; hyphens may be in the type.
_TAG = re.compile(r"([^-]*)-(.*)")
# (previous prefix, prefix) that begin and end a chunk whatever the types.
_STARTS = frozenset(map(tuple, ("BB", "IB", "OB", "OI", "EE", "EI", "OE")))
_ENDS = frozenset(map(tuple, ("BB", "BO", "IB", "IO", "EE", "EI", "EO")))
_ALONE = ("[", "]")
_OUTSIDE = ("O", ".")


def count_chunks(rows: Iterable[tuple[str, str] | None]) -> tuple[Counter, Counter, Counter]:
    """Type → chunks that are right, found, and both, of (right tag, guess) for every token, None
    between sentences."""
    right, found, both = Counter(), Counter(), Counter()
    last_gold = last_guess = ("O", "")
    in_correct = False
    for row in rows:
        gold, guess = ("O", ""), ("O", "")
        if row is not None:
            gold, guess = _parse(row[0]), _parse(row[1])
        (gold_ends, gold_starts), (guess_ends, guess_starts) = (
            _borders(last_gold, gold),
            _borders(last_guess, guess),
        )
        if in_correct:
            if gold_ends and guess_ends and last_gold[1] == last_guess[1]:
                in_correct = False
                both[last_gold[1]] += 1
            elif gold_ends != guess_ends or gold[1] != guess[1]:
                in_correct = False
        if gold_starts and guess_starts and gold[1] == guess[1]:
            in_correct = True
        if gold_starts:
            right[gold[1]] += 1
        if guess_starts:
            found[guess[1]] += 1
        last_gold, last_guess = gold, guess
    if in_correct:
        both[last_gold[1]] += 1
    return right, found, both


def read_rows(
    text: str, delimiter: str = " ", raw: bool = False, outside: str = "O"
) -> Iterator[tuple[str, str] | None]:
    """(right tag, guess) of every line, None between sentences; `raw` as of the script's option
    -r."""
    for line in text.splitlines():
        columns = line.split(delimiter)
        if not columns[-1] or columns[0] == "-X-":
            yield None
        else:
            yield tuple(
                columns[-2:]
                if not raw
                else ["O" if tag in (outside, "O") else f"B-{tag}" for tag in columns[-2:]]
            )


def _parse(tag: str) -> tuple[str, str]:
    """(prefix, type) of a tag; Perl takes "0" for no type."""
    match = _TAG.fullmatch(tag)
    if match is None:
        return tag, ""
    return match[1], "" if match[2] == "0" else match[2]


def _borders(last: tuple[str, str], tag: tuple[str, str]) -> tuple[bool, bool]:
    """Whether a chunk ends, and whether one starts, between two tags, (prefix, type) each."""
    prefixes, other = (last[0], tag[0]), last[1] != tag[1]
    return (
        prefixes in _ENDS or (last[0] not in _OUTSIDE and other) or last[0] in _ALONE,
        prefixes in _STARTS or (tag[0] not in _OUTSIDE and other) or tag[0] in _ALONE,
    )

"""Tags of tokens as chunks, in the schemes IOB1, IOB2 and IOBES: recognized, checked and converted.

    word    I     live  in    New    York  Old    York
    IOB1    O     O     O     I-LOC  I-LOC B-LOC  I-LOC    B only between chunks of the same type
    IOB2    O     O     O     B-LOC  I-LOC B-LOC  I-LOC    B at every start
    IOBES   O     O     O     B-LOC  E-LOC B-LOC  E-LOC    also E at every end, S for single words

CoNLL-2003 uses IOB1. Tags of no scheme, such as parts of speech, are plain: every token has one,
and there are no chunks.

Other spellings of these schemes are rewritten first (`respell`): B_LOC, LOC-B, b-loc, a bare B,
BILOU, BMES, and types without prefixes.

Letters: W words of all sentences, concatenated.
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError

OUTSIDE = "O"
IOB1, IOB2, IOBES, PLAIN = "iob1", "iob2", "iobes", "plain"
CHUNK_SCHEMES = (IOB1, IOB2, IOBES)
SCHEMES = ("auto", *CHUNK_SCHEMES, PLAIN)

_PREFIXES = "OBIES"
_O, _B, _I, _E, _S = range(len(_PREFIXES))
_CHUNK_TAG = re.compile(r"([BIES])-(.+)", re.DOTALL)
# Other spellings: pattern → example for messages. The letters of BILOU and BMES are included.
_SPELLINGS = {
    r"(?P<letter>[BIESLUMW])[-_:/|](?P<type>.+)": "B_X",
    r"(?P<type>.+)[-_:/|](?P<letter>[BIESLUMW])": "X-B",
    r"(?P<letter>[bieslumw])[-_:/|](?P<type>.+)": "b-x",
    r"(?P<letter>[BIESLUMW])": "B",
}
# Type of chunks whose tags have none.
_ONLY_TYPE = "ENTITY"
# Letters of BILOU (last, unit), BMES (middle) and BMEWO (whole) → the letters of IOBES.
_LETTERS = {"L": "E", "U": "S", "M": "I", "W": "S"}


@dataclasses.dataclass(frozen=True)
class TagNames:
    """The C names of tags, parsed.

    Attributes:
      prefixes: uint8 [C], position of the prefix in "OBIES".
      types: int32 [C], into `type_names`; -1 for O.
      type_names: sorted.
    """

    names: tuple[str, ...]
    prefixes: np.ndarray
    types: np.ndarray
    type_names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Chunks:
    """The chunks of W words.

    Attributes:
      starts, ends: bool [W], first and last words of chunks.
      types: int32 [W], into `type_names`; -1 outside of all chunks.
      first_words: bool [W], first words of sentences.
      type_names: sorted.
    """

    starts: np.ndarray
    ends: np.ndarray
    types: np.ndarray
    first_words: np.ndarray
    type_names: tuple[str, ...]

    def spans(self) -> np.ndarray:
        """Returns int64 [chunks, 3]: first word, end (exclusive), type."""
        # Starts and ends alternate, so that their numbers are equal.
        first = np.flatnonzero(self.starts)
        return np.stack([first, np.flatnonzero(self.ends) + 1, self.types[first]], axis=1)


def parse_names(names: Sequence[str]) -> TagNames | None:
    """Returns the parsed names; None for plain tags: one is neither O nor B-X, I-X, E-X or S-X."""
    prefixes = []
    types: list[str | None] = []
    for name in names:
        match = _CHUNK_TAG.fullmatch(name)
        if match:
            prefixes.append(_PREFIXES.index(match[1]))
            types.append(match[2])
        elif name == OUTSIDE:
            prefixes.append(_O)
            types.append(None)
        else:
            return None
    type_names = sorted(filter(None, set(types)))
    number_of_type: dict[str | None, int] = {}
    for number, type_name in enumerate(type_names):
        number_of_type[type_name] = number
    return TagNames(
        names=tuple(names),
        prefixes=np.array(prefixes, np.uint8),
        types=np.array([number_of_type.get(name, -1) for name in types], np.int32),
        type_names=tuple(type_names),
    )


def respell(tag_names: Sequence[str], tags: np.ndarray) -> tuple[tuple[str, ...], str]:
    """Returns the names of a file's tags in the spelling of IOB or IOBES, and a note on what was
    changed.

    Tags count as tags of chunks if all are spelled alike and one begins a chunk; types without
    prefixes if most words have the tag O, as parts of speech never do. Other names, such as those
    of plain tags, are returned unchanged, with an empty note.

    Args:
      tags: int [W], into `tag_names`.
    """
    # A file without an O may have a dash in its place.
    outside = "-" if "-" in tag_names else OUTSIDE
    others = [name for name in tag_names if name.upper() != outside]
    if not others or len(others) == len(tag_names) == 1:
        return tuple(tag_names), ""
    for pattern, example in _SPELLINGS.items():
        matches = {name: re.fullmatch(pattern, name, re.DOTALL) for name in others}
        if not all(matches.values()):
            continue
        letters = {match["letter"].upper() for match in matches.values() if match}
        is_lower = example == "b-x"
        has_outside = (OUTSIDE.lower() if is_lower else OUTSIDE) in tag_names
        # A single letter may be a part of speech.
        if not letters & set("BSU") or (example == "B" and not has_outside):
            continue
        new_names = []
        for name in tag_names:
            match = matches.get(name)
            if match is None:
                new_names.append(OUTSIDE)
                continue
            letter = match["letter"].upper()
            type_name = match.groupdict().get("type") or _ONLY_TYPE
            new_names.append(f"{_LETTERS.get(letter, letter)}-{type_name}")
        return _respelled(tag_names, new_names)
    has_chunk_tags = any(_CHUNK_TAG.fullmatch(value) for value in others)
    if OUTSIDE in tag_names and not has_chunk_tags:
        num_outside = np.count_nonzero(tags == list(tag_names).index(OUTSIDE))
        if 2 * num_outside > len(tags):
            new_names = [OUTSIDE if name == OUTSIDE else f"I-{name}" for name in tag_names]
            return _respelled(tag_names, new_names)
    return tuple(tag_names), ""


def _respelled(old: Sequence[str], new: list[str]) -> tuple[tuple[str, ...], str]:
    """Returns the new names, and a note if they differ from the old ones."""
    for old_name, new_name in zip(old, new, strict=True):
        if old_name != new_name:
            note = f"the tag {old_name} is read as {new_name}, the others alike"
            return tuple(new), f"{note} (--tag_scheme=plain for tags of words without chunks)"
    return tuple(old), ""


def tags_of_brackets(values: Sequence[str]) -> list[str]:
    """Returns the entities of a sentence in CoNLL-2012's brackets as tags of IOB2.

    `(PER* * *) (LOC) *` is B-PER I-PER I-PER B-LOC O. Raises `UserError` for brackets that are
    nested or not closed.
    """
    tags = []
    entity = None
    for value in values:
        match = re.fullmatch(r"(?:\(([^()*]+))?(?:\*?(\))|\*)", value)
        if not match or (entity and match[1]) or (match[2] and not (entity or match[1])):
            raise UserError(f"{value!r} is no entity in brackets, or inside of another one")
        if match[1]:
            entity = match[1]
            tags.append(f"B-{entity}")
        else:
            tags.append(f"I-{entity}" if entity else OUTSIDE)
        if match[2]:
            entity = None
    if entity:
        raise UserError(f"the bracket of the entity {entity} is not closed in its sentence")
    return tags


def find_chunks(tags: np.ndarray, names: TagNames, row_lengths: np.ndarray) -> Chunks:
    """Returns the chunks of any tags, valid or not; without E and S they are conlleval's.

    A chunk starts at B and S, after O, E and S, and at a change of type; none crosses the end of a
    sentence.

    Args:
      row_lengths: int64 [sentences], number of words of each.
    """
    prefixes = names.prefixes[tags]
    types = names.types[tags]
    first = np.zeros(len(tags), bool)
    first[(np.cumsum(row_lengths) - row_lengths)[row_lengths > 0]] = True
    # Prefix and type of the word before; an O's before the first word of a sentence.
    last_prefixes = np.append(np.uint8(_O), prefixes)[:-1]
    last_prefixes[first] = _O
    last_types = np.append(np.int32(-1), types)[:-1]
    last_types[first] = -1
    inside = types >= 0
    starts = inside & (
        (prefixes == _B)
        | (prefixes == _S)
        | (last_types != types)
        | (last_prefixes == _E)
        | (last_prefixes == _S)
    )
    # A chunk ends before the next start, an O, the next sentence, or the end of all words.
    ends = inside & np.append(starts | ~inside | first, True)[1:]
    return Chunks(starts, ends, types, first, names.type_names)


def write_tags(chunks: Chunks, scheme: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Returns the chunks as tags of IOB1, IOB2 or IOBES.

    Returns:
      tags: int32 [W].
      names: "O", then the tags of each type in order; all that the scheme has, whether they occur
        or not.
    """
    letters = "BIES" if scheme == IOBES else "BI"
    names = [OUTSIDE]
    for type_name in chunks.type_names:
        for letter in letters:
            names.append(f"{letter}-{type_name}")
    # The letters of a scheme follow each other in "OBIES" from B on.
    letter_numbers = _prefixes(chunks, scheme).astype(np.int32) - _B
    tags = np.where(chunks.types < 0, 0, 1 + chunks.types * len(letters) + letter_numbers)
    return tags.astype(np.int32), tuple(names)


def interpret(
    tags: np.ndarray, tag_names: Sequence[str], row_lengths: np.ndarray, scheme: str
) -> tuple[str, dict[int, str]]:
    """Returns the scheme of a file's tags, and the faults of words by their numbers.

    Args:
      row_lengths: int64 [sentences], number of words of each.
      scheme: one of `SCHEMES`; "auto" takes the scheme with the fewest faults, IOB2 if IOB1 has as
        many.
    """
    if scheme == PLAIN:
        return PLAIN, {}
    names = parse_names(tag_names)
    if names is None:
        return _interpret_unknown(tags, tag_names, scheme)
    chunks = find_chunks(tags, names, row_lengths)
    prefixes = names.prefixes[tags]
    candidates: tuple[str, ...] = (scheme,)
    if scheme == "auto":
        if np.isin([_E, _S], prefixes).any():
            candidates = (IOBES,)
        else:
            candidates = (IOB2, IOB1)
    # A word is wrong if its prefix is not the one that the scheme has there.
    expected = {candidate: _prefixes(chunks, candidate) for candidate in candidates}
    # min() takes the first of equal counts, which is IOB2.
    best = min(candidates, key=lambda candidate: np.count_nonzero(prefixes != expected[candidate]))
    state = f"wrong in {best.upper()}"
    if scheme == "auto":
        state += ", which the file follows best"
    faults = {}
    for word in np.flatnonzero(prefixes != expected[best]).tolist():
        if not chunks.first_words[word]:
            before = f"the tag {tag_names[tags[word - 1]]}"
        else:
            before = "the start of the sentence"
        prefix = _PREFIXES[expected[best][word]]
        faults[word] = (
            f"{tag_names[tags[word]]} after {before} is {state}: "
            f"{prefix}-{chunks.type_names[chunks.types[word]]} is expected"
        )
    return best, faults


def _interpret_unknown(
    tags: np.ndarray, tag_names: Sequence[str], scheme: str
) -> tuple[str, dict[int, str]]:
    """Returns the result of `interpret` for tags of which some are of no scheme."""
    unknown = []
    for number, name in enumerate(tag_names):
        if name != OUTSIDE and not _CHUNK_TAG.fullmatch(name):
            unknown.append(number)
    # Plain tags, such as parts of speech, may include an O, but no tag of a scheme.
    if scheme == "auto" and len(unknown) == len(set(tag_names) - {OUTSIDE}):
        return PLAIN, {}
    faults = {}
    for word in np.flatnonzero(np.isin(tags, unknown)).tolist():
        faults[word] = (
            f"the tag {tag_names[tags[word]]!r} is in none of the schemes IOB1, IOB2 and IOBES: "
            "B-X, I-X and O are expected. Fix it, or give --tag_scheme=plain for tags that are no "
            "chunks"
        )
    return scheme, faults


def _prefixes(chunks: Chunks, scheme: str) -> np.ndarray:
    """Returns the prefixes that one of `CHUNK_SCHEMES` has for the words, uint8 [W]."""
    starts = chunks.starts
    if scheme == IOBES:
        # np.select takes the first condition that holds.
        conditions = [starts & chunks.ends, starts, chunks.ends]
        prefixes = np.select(conditions, [_S, _B, _E], _I)
    else:
        if scheme == IOB1:
            # B only marks a start that directly follows a chunk of the same type.
            touches = np.append(False, chunks.types[:-1] == chunks.types[1:])[: len(starts)]
            starts = starts & touches & ~chunks.first_words
        prefixes = np.where(starts, _B, _I)
    return np.where(chunks.types >= 0, prefixes, _O).astype(np.uint8)

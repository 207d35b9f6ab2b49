"""Tags of tokens as chunks, in the schemes IOB1, IOB2 and IOBES: recognised, checked and converted.

    word    I     live  in    New    York  Old    York
    IOB1    O     O     O     I-LOC  I-LOC B-LOC  I-LOC    B only where chunks of the same type
    touch (CoNLL-2003) IOB2    O     O     O     B-LOC  I-LOC B-LOC  I-LOC    B at every start
    IOBES   O     O     O     B-LOC  E-LOC B-LOC  E-LOC    also E at every end, S alone

Tags that are none of these, such as parts of speech, are plain: every token has one, and there are
no chunks.

Letters: W words of all sentences, concatenated.
"""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

OUTSIDE = "O"
IOB1, IOB2, IOBES, PLAIN = "iob1", "iob2", "iobes", "plain"
CHUNK_SCHEMES = (IOB1, IOB2, IOBES)
SCHEMES = ("auto", *CHUNK_SCHEMES, PLAIN)

_PREFIXES = "OBIES"
_O, _B, _I, _E, _S = range(len(_PREFIXES))
_CHUNK_TAG = re.compile(r"([BIES])-(.+)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class TagNames:
    """Meaning of the names of C tags.

    Attributes:
      prefixes: uint8 [C], numbers of O, B, I, E, S.
      types: int32 [C], into `type_names`; -1 for O.
      type_names: sorted.
    """

    names: tuple[str, ...]
    prefixes: np.ndarray
    types: np.ndarray
    type_names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Chunks:
    """Chunks of W words.

    Attributes:
      starts, ends: bool [W], the first and the last words of chunks.
      types: int32 [W], into `type_names`; -1 outside of all chunks.
      first_words: bool [W], the words that begin sentences.
      type_names: sorted.
    """

    starts: np.ndarray
    ends: np.ndarray
    types: np.ndarray
    first_words: np.ndarray
    type_names: tuple[str, ...]

    def spans(self) -> np.ndarray:
        """int64 [chunks, 3]: first word, end (exclusive), type."""
        first = np.flatnonzero(self.starts)
        return np.stack([first, np.flatnonzero(self.ends) + 1, self.types[first]], axis=1)


def parse_names(names: Sequence[str]) -> TagNames | None:
    """The meaning of tags; None where they are plain: some tag but O is none of B-X, I-X, E-X,
    S-X."""
    matches = list(map(_CHUNK_TAG.fullmatch, names))
    if not all(match or name == OUTSIDE for match, name in zip(matches, names, strict=True)):
        return None
    type_names = sorted({match[2] for match in matches if match})
    number = {name: place for place, name in enumerate(type_names)}
    return TagNames(
        tuple(names),
        np.array([_PREFIXES.index(match[1]) if match else _O for match in matches], np.uint8),
        np.array([number[match[2]] if match else -1 for match in matches], np.int32),
        tuple(type_names),
    )


def find_chunks(tags: np.ndarray, names: TagNames, row_lengths: np.ndarray) -> Chunks:
    """The chunks of any tags, valid or not; without E and S they are conlleval's.

    A chunk starts at B and S, after O, E and S, and where the type changes; none goes over the end
    of a sentence.

    Args:
      row_lengths: int64 [sentences], words of each.
    """
    prefixes, types = names.prefixes[tags], names.types[tags]
    first = np.zeros(len(tags), bool)
    first[(np.cumsum(row_lengths) - row_lengths)[row_lengths > 0]] = True
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
    # What follows the last word, as what follows a sentence, ends a chunk.
    ends = inside & np.append(starts | ~inside | first, True)[1:]
    return Chunks(starts, ends, types, first, names.type_names)


def write_tags(chunks: Chunks, scheme: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The chunks as tags of IOB1, IOB2 or IOBES.

    Returns:
      tags: int32 [W].
      names: "O", then those of each type in order; all that the scheme has, whether they occur or
        not.
    """
    letters = "BIES" if scheme == IOBES else "BI"
    names = (OUTSIDE, *(f"{letter}-{name}" for name in chunks.type_names for letter in letters))
    prefix = _prefixes(chunks, scheme)
    tags = np.where(
        chunks.types < 0, 0, 1 + chunks.types * len(letters) + prefix.astype(np.int32) - _B
    )
    return tags.astype(np.int32), names


def interpret(
    tags: np.ndarray, tag_names: Sequence[str], row_lengths: np.ndarray, scheme: str
) -> tuple[str, dict[int, str]]:
    """The scheme that a file's tags are written in; where IOB1 and IOB2 write them alike, IOB2.

    Args:
      row_lengths: int64 [sentences], words of each.
      scheme: one of `SCHEMES`; "auto" finds it out.

    Returns:
      One of the schemes but "auto"; and what is wrong with words by their numbers, in that scheme,
      or in the one that the tags follow best.
    """
    if scheme == PLAIN:
        return PLAIN, {}
    names = parse_names(tag_names)
    if names is None:
        unknown = {
            number
            for number, name in enumerate(tag_names)
            if name != OUTSIDE and not _CHUNK_TAG.fullmatch(name)
        }
        if scheme == "auto" and len(unknown) == len(set(tag_names) - {OUTSIDE}):
            return PLAIN, {}
        return scheme, {
            word: f"the tag {tag_names[tag]!r} is in none of the schemes IOB1, IOB2 and IOBES: B-X, I-X and O "
            "are expected. Fix it, or give --tag_scheme=plain for tags that are no chunks"
            for word, tag in enumerate(tags.tolist())
            if tag in unknown
        }
    chunks = find_chunks(tags, names, row_lengths)
    candidates: tuple[str, ...] = (scheme,)
    if scheme == "auto":
        present = set(names.prefixes[np.unique(tags)].tolist())
        candidates = (IOBES,) if present & {_E, _S} else (IOB2, IOB1)
    # Words whose prefix is not the one that the scheme has there.
    expected = {candidate: _prefixes(chunks, candidate) for candidate in candidates}
    wrong = {
        candidate: np.flatnonzero(names.prefixes[tags] != prefixes)
        for candidate, prefixes in expected.items()
    }
    best = min(candidates, key=lambda candidate: len(wrong[candidate]))
    faults = {}
    for word in wrong[best].tolist():
        before = (
            "the start of the sentence"
            if chunks.first_words[word]
            else f"the tag {tag_names[tags[word - 1]]}"
        )
        faults[word] = (
            f"{tag_names[tags[word]]} after {before} is wrong in {best.upper()}"
            f"{', which the file follows best' if scheme == 'auto' else ''}: "
            f"{_PREFIXES[expected[best][word]]}-{chunks.type_names[chunks.types[word]]} is expected"
        )
    return best, faults


def _prefixes(chunks: Chunks, scheme: str) -> np.ndarray:
    """uint8 [W], of one of `CHUNK_SCHEMES`; of words outside of chunks O."""
    starts, ends, inside = chunks.starts, chunks.ends, chunks.types >= 0
    if scheme == IOBES:
        prefix = np.select([starts & ends, starts, ends], [_S, _B, _E], _I)
    elif scheme == IOB2:
        prefix = np.where(starts, _B, _I)
    else:
        touches = np.append(False, chunks.types[:-1] == chunks.types[1:])[: len(starts)]
        prefix = np.where(starts & touches & ~chunks.first_words, _B, _I)
    return np.where(inside, prefix, _O).astype(np.uint8)

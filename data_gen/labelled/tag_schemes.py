"""Tags of tokens as chunks, in the schemes IOB1, IOB2 and IOBES: told apart, checked and converted.

    word    I     live  in    New    York  Old    York
    IOB1    O     O     O     I-LOC  I-LOC B-LOC  I-LOC    B only where chunks of the same type touch (CoNLL-2003)
    IOB2    O     O     O     B-LOC  I-LOC B-LOC  I-LOC    B at every start
    IOBES   O     O     O     B-LOC  E-LOC B-LOC  E-LOC    also E at every end, S alone

Tags that are none of these, such as parts of speech, are plain: every token has one, and there are no chunks.

Letters: W words of all sentences, concatenated.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np

from bert_common.errors import UserError

OUTSIDE = "O"
IOB1, IOB2, IOBES, PLAIN = "iob1", "iob2", "iobes", "plain"
# Chunks as conlleval reads them: whatever the tags are, there is no wrong one.
LENIENT = "lenient"
CHUNK_SCHEMES = (IOB1, IOB2, IOBES)
SCHEMES = ("auto", *CHUNK_SCHEMES, LENIENT, PLAIN)

_PREFIXES = "OBIES"
_O, _B, _I, _E, _S = range(len(_PREFIXES))
# BILOU is IOBES with other letters.
_SYNONYMS = {"U": "S", "L": "E"}
_CHUNK_TAG = re.compile(r"([BIESUL])-(.+)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class TagNames:
  """Meaning of the names of C tags.

  Attributes:
    names: of the tags.
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
  """The meaning of tags; None where they are plain: some tag but O is none of B-X, I-X, E-X, S-X (or U-X, L-X)."""
  matches = [None if name == OUTSIDE else _CHUNK_TAG.fullmatch(name) for name in names]
  if all(match is None for match in matches):
    is_chunks = set(names) <= {OUTSIDE}
  else:
    is_chunks = all(match or name == OUTSIDE for match, name in zip(matches, names, strict=True))
  if not is_chunks:
    return None
  type_names = sorted({match[2] for match in matches if match})
  number = {name: place for place, name in enumerate(type_names)}
  return TagNames(
      tuple(names),
      np.array([_PREFIXES.index(_SYNONYMS.get(match[1], match[1])) if match else _O for match in matches], np.uint8),
      np.array([number[match[2]] if match else -1 for match in matches], np.int32), tuple(type_names))


def find_chunks(tags: np.ndarray, names: TagNames, row_lengths: np.ndarray) -> Chunks:
  """The chunks of any tags, valid or not; without E and S they are conlleval's.

  A chunk starts at B and S, after O, E and S, and where the type changes; none goes over the end of a sentence.

  Args:
    tags: int [W], into the names.
    names: of the tags.
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
  starts = inside & ((prefixes == _B) | (prefixes == _S) | (last_types != types)
                     | (last_prefixes == _E) | (last_prefixes == _S))
  # What follows the last word, as what follows a sentence, ends a chunk.
  ends = inside & np.append(starts | ~inside | first, True)[1:]
  return Chunks(starts, ends, types, first, names.type_names)


def write_tags(chunks: Chunks, scheme: str) -> tuple[np.ndarray, tuple[str, ...]]:
  """The chunks as tags of IOB1, IOB2 or IOBES.

  Returns:
    tags: int32 [W].
    names: "O", then those of each type in order; all that the scheme has, whether they occur or not.
  """
  letters = "BIES" if scheme == IOBES else "BI"
  names = (OUTSIDE, *(f"{letter}-{name}" for name in chunks.type_names for letter in letters))
  prefix = _prefixes(chunks, scheme)
  tags = np.where(chunks.types < 0, 0, 1 + chunks.types * len(letters) + prefix.astype(np.int32) - _B)
  return tags.astype(np.int32), names


def find_scheme(tags: np.ndarray, names: TagNames | None, row_lengths: np.ndarray, where: Callable[[int], str]) -> str:
  """The scheme that tags are written in; that of chunks which IOB1 and IOB2 write alike is IOB2.

  Args:
    tags, row_lengths: as for `find_chunks`.
    names: of the tags, None for plain ones.
    where: number of a word → `file:line`.

  Raises:
    UserError: the tags follow none of the schemes; names the first that is wrong in the one they follow best.
  """
  if names is None:
    return PLAIN
  chunks = find_chunks(tags, names, row_lengths)
  present = names.prefixes[np.unique(tags)] if len(tags) else names.prefixes[:0]
  candidates = (IOBES,) if {_E, _S} & set(present.tolist()) else (IOB2, IOB1)
  wrong = {scheme: _wrong_words(tags, names, chunks, scheme) for scheme in candidates}
  best = min(candidates, key=lambda scheme: len(wrong[scheme]))
  if len(wrong[best]):
    raise UserError(_describe_wrong(tags, names, chunks, best, int(wrong[best][0]), where,
                                    f"{best.upper()}, which the file's tags are nearest to"))
  return best


def check_scheme(tags: np.ndarray, names: TagNames | None, row_lengths: np.ndarray, scheme: str,
                 where: Callable[[int], str]) -> None:
  """Refuses tags that the scheme does not have; the arguments are those of `find_scheme`.

  Raises:
    UserError: names the first.
  """
  if scheme == PLAIN:
    return
  if names is None:
    raise UserError(f"{where(0)}: the tags are not those of chunks (B-X, I-X, O): give --tag_scheme=plain")
  if scheme == LENIENT:
    return
  chunks = find_chunks(tags, names, row_lengths)
  wrong = _wrong_words(tags, names, chunks, scheme)
  if len(wrong):
    raise UserError(_describe_wrong(tags, names, chunks, scheme, int(wrong[0]), where, scheme.upper()))


def interpret(tags: np.ndarray, tag_names: Sequence[str], row_lengths: np.ndarray, scheme: str,
              where: Callable[[int], str]) -> tuple[Chunks | None, str]:
  """The chunks of a file's tags, and the scheme they are written in.

  Args:
    tags: int [W], into the names.
    tag_names: of the tags.
    row_lengths: int64 [sentences], words of each.
    scheme: one of `SCHEMES`; "auto" finds it out.
    where: number of a word → `file:line`.

  Returns:
    The chunks, None for plain tags; and one of the schemes but "auto".

  Raises:
    UserError: names the first word whose tag is wrong.
  """
  if scheme == PLAIN:
    return None, PLAIN
  names = parse_names(tag_names)
  if names is None and any(map(_CHUNK_TAG.fullmatch, tag_names)):
    unknown = {number for number, name in enumerate(tag_names) if name != OUTSIDE and not _CHUNK_TAG.fullmatch(name)}
    word = next(number for number, tag in enumerate(tags.tolist()) if tag in unknown)
    raise UserError(f"{where(word)}: the tag {tag_names[tags[word]]!r} is in none of the schemes IOB1, IOB2 and IOBES, "
                    "unlike others: B-X, I-X and O are expected. Fix it, or give --tag_scheme=plain for tags that are "
                    "no chunks")
  if scheme == "auto":
    scheme = find_scheme(tags, names, row_lengths, where)
  else:
    check_scheme(tags, names, row_lengths, scheme, where)
  return (None if names is None else find_chunks(tags, names, row_lengths)), scheme


def _prefixes(chunks: Chunks, scheme: str) -> np.ndarray:
  """uint8 [W]; of words outside of chunks O."""
  starts, ends, inside = chunks.starts, chunks.ends, chunks.types >= 0
  if scheme == IOBES:
    prefix = np.select([starts & ends, starts, ends], [_S, _B, _E], _I)
  elif scheme == IOB2:
    prefix = np.where(starts, _B, _I)
  elif scheme == IOB1:
    touches = np.append(False, chunks.types[:-1] == chunks.types[1:])[:len(starts)]
    prefix = np.where(starts & touches & ~chunks.first_words, _B, _I)
  else:
    raise ValueError(f"{scheme} is none of {CHUNK_SCHEMES}")
  return np.where(inside, prefix, _O).astype(np.uint8)


def _wrong_words(tags: np.ndarray, names: TagNames, chunks: Chunks, scheme: str) -> np.ndarray:
  """Numbers of the words whose prefix is not the one that the scheme has there."""
  return np.flatnonzero(names.prefixes[tags] != _prefixes(chunks, scheme))


def _describe_wrong(tags: np.ndarray, names: TagNames, chunks: Chunks, scheme: str, word: int,
                    where: Callable[[int], str], title: str) -> str:
  tag = names.names[tags[word]]
  before = "the start of the sentence" if chunks.first_words[word] else f"the tag {names.names[tags[word - 1]]}"
  expected = f"{_PREFIXES[_prefixes(chunks, scheme)[word]]}-{chunks.type_names[chunks.types[word]]}"
  return (f"{where(word)}: {tag} after {before} is wrong in {title}: {expected} is expected. "
          f"Fix it, or read chunks as conlleval does with --tag_scheme={LENIENT}")

"""Text → words → word pieces: `BasicTokenizer` and `WordpieceTokenizer` of the original.

    basic_tokenize("Café-Bar 東京!", do_lower_case=True)  # ['cafe', '-', 'bar', '東', '京', '!']

Input: any str. Output: words (cleaned, in lower case, without accents; punctuation and ideographs
apart), and the ids of their pieces. The Unicode tables are those of the running Python
(`unicodedata`), as with the original.

Pieces are found greedily: the longest piece of the vocabulary at the start of the word, then the
longest "##" piece, and so on; if any part of the word is covered by no piece, the whole word is
[UNK]. "unaffable" → un ##aff ##able.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from data_gen.tokenization.vocabulary import UNK, Vocabulary

# Bytes of an id in what `WordPiece.ids` returns (int32).
ID_BYTES = 4
# Longer words are [UNK] (characters, after NFD), as in the original.
MAX_WORD_CHARACTERS = 200
# Characters by which `_lengths_by_prefix` distinguishes subwords.
_PREFIX = 4

# The ideographs that become words of their own. Extensions from U+2CEB0 on are not among them in
# the original.
_CJK_RANGES = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_CJK = "".join(f"{chr(first)}-{chr(last)}" for first, last in _CJK_RANGES)

# str.split() also splits at these control characters; the original deletes them first, which joins
# the words.
_DELETED_WHITE_SPACE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
# All white space of Unicode is below U+3001; asking Python keeps this equal to what str.split()
# does.
WHITE_SPACE = "".join(
    chr(code)
    for code in range(0x3001)
    if chr(code).isspace() and chr(code) not in _DELETED_WHITE_SPACE
)

# A chunk: the longest stretch that can be tokenized without looking at what is around it.
find_chunks = re.compile(f"[{_CJK}]|[^{WHITE_SPACE}{_CJK}]+").findall
# Words and punctuation marks of a text of printable ASCII characters.
_ASCII_WORD = re.compile(r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_find_ascii_words = _ASCII_WORD.findall
# The same for numpy, by code point.
_ORDINARY, _SPACE, _IDEOGRAPH = range(3)
_KINDS = np.zeros(0x110000, np.uint8)
_KINDS[list(map(ord, WHITE_SPACE))] = _SPACE
for _first, _last in _CJK_RANGES:
    _KINDS[_first : _last + 1] = _IDEOGRAPH

# Where str.split() does not find the chunks. The range is wider than needed: a test of every
# character against the exact set costs more than it saves.
_search_unsplittable = re.compile(f"[{_DELETED_WHITE_SPACE}\u3400-\U0010ffff]").search


class _Cleaning(dict):
    """For str.translate: deletes what the original deletes, puts spaces around Chinese
    characters."""

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        value: int | str | None = code
        if character in WHITE_SPACE:
            value = " "
        elif code == 0xFFFD or unicodedata.category(character) in ("Cc", "Cf"):
            value = None
        elif any(first <= code <= last for first, last in _CJK_RANGES):
            value = f" {character} "
        self[code] = value
        return value


class _Separation(dict):
    """For str.translate: puts spaces around punctuation; deletes the accents that NFD has set apart
    if asked to."""

    def __init__(self, strip_accents: bool):
        super().__init__()
        self._strip_accents = strip_accents

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        category = unicodedata.category(character)
        # ASCII symbols such as "$", "^" and "~" are punctuation here though not in Unicode.
        value: int | str | None
        if category[0] == "P" or (code < 128 and category[0] == "S"):
            value = f" {character} "
        else:
            value = None if self._strip_accents and category == "Mn" else code
        self[code] = value
        return value


# Filled with the characters that are met, hence module-wide.
_decomposed = functools.cache(lambda character: unicodedata.normalize("NFD", character.lower()))
_CLEANING = _Cleaning()
_SEPARATION = {strip_accents: _Separation(strip_accents) for strip_accents in (False, True)}


def splits_plainly(text: str) -> bool:
    """Whether `text.split()` finds the chunks of the text (always if not `False`; the test is
    quick, not sharp)."""
    if text.isascii():
        # Six passes of memchr are many times faster than one of a regular expression.
        return not (
            "\x0b" in text
            or "\x0c" in text
            or "\x1c" in text
            or "\x1d" in text
            or "\x1e" in text
            or "\x1f" in text
        )
    return _search_unsplittable(text) is None


def find_chunk_starts(text: str) -> np.ndarray:
    """The positions at which `find_chunks` finds something, int64 [number of chunks]."""
    kinds = _KINDS[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)]
    previous = np.append(np.uint8(_SPACE), kinds[:-1])
    return np.flatnonzero((kinds == _IDEOGRAPH) | ((kinds == _ORDINARY) & (previous != _ORDINARY)))


def basic_tokenize(text: str, do_lower_case: bool = True) -> list[str]:
    """Splits text into words and punctuation marks, exactly as `BasicTokenizer.tokenize` of the
    original.

    Control and format characters, U+0000 and U+FFFD are deleted without ending the word; white
    space is a boundary; Chinese characters and punctuation marks are words of their own. With
    `do_lower_case`, `str.lower()` (which knows the final sigma, so it sees a whole chunk at a
    time), then NFD, then marks of category Mn are dropped.

    Args:
      text: any str, lone surrogates included.
      do_lower_case: also strips accents.

    Returns:
      The words; never an empty one.
    """
    if text.isascii() and text.isprintable():
        return _find_ascii_words(text.lower() if do_lower_case else text)
    separation = _SEPARATION[do_lower_case]
    if text.isalnum() and _search_unsplittable(text) is None:
        # Most words of most languages: nothing to delete or to cut, unless NFD sets accents apart.
        word = unicodedata.normalize("NFD", text.lower()) if do_lower_case else text
        return [word] if word.isalnum() else word.translate(separation).split()
    words = []
    for chunk in text.translate(_CLEANING).split():
        if do_lower_case:
            chunk = unicodedata.normalize("NFD", chunk.lower())
        words += chunk.translate(separation).split()
    return words


def basic_tokenize_with_offsets(
    text: str, do_lower_case: bool = True
) -> list[tuple[str, Sequence[int], Sequence[int]]]:
    """`basic_tokenize` with the offsets in `text` of every character of a word.

    A deleted accent belongs to the character before it in its word: text[start:end] of "cafe\u0301"
    has its accent. After a punctuation mark or an ideograph, which are words of their own, it
    belongs to none.

    Returns:
      A (word, starts, ends) for each word: character i of the word comes from
      text[starts[i]:ends[i]].
    """
    if text.isascii() and text.isprintable():
        return [
            (
                match[0].lower() if do_lower_case else match[0],
                range(*match.span()),
                range(match.start() + 1, match.end() + 1),
            )
            for match in _ASCII_WORD.finditer(text)
        ]
    words: list[list[tuple[str, int, int]]] = []
    for chunk in _split_with_offsets(
        zip(text, range(len(text)), strict=True), _CLEANING, joins_deleted=False
    ):
        characters = [(character, start) for character, start, _ in chunk]
        if do_lower_case:
            # NFD of the lower-cased chunk, each character with the position of the one that it
            # comes from. Lower-casing looks at the context for the sigma only, and then gives one
            # character either way.
            lowered = unicodedata.normalize(
                "NFD", "".join([character for character, _ in characters]).lower()
            )
            characters = [
                (part, start) for character, start in characters for part in _decomposed(character)
            ]
            if "".join([part for part, _ in characters]) != lowered:
                # As NFD does across characters: consecutive combining marks by their class; that of
                # all others is 0.
                runs = itertools.groupby(
                    characters, key=lambda pair: unicodedata.combining(pair[0]) > 0
                )
                starts = [
                    start
                    for _, run in runs
                    for _, start in sorted(run, key=lambda pair: unicodedata.combining(pair[0]))
                ]
                characters = list(zip(lowered, starts, strict=True))
        words += _split_with_offsets(characters, _SEPARATION[do_lower_case], joins_deleted=True)
    columns = (zip(*word, strict=True) for word in words)
    return [("".join(characters), starts, ends) for characters, starts, ends in columns]


def _split_with_offsets(
    characters: Iterable[tuple[str, int]], table: _Cleaning | _Separation, joins_deleted: bool
) -> list[list[tuple[str, int, int]]]:
    """What `str.split()` makes of characters, each with its position, after the table: (character,
    start, end) of each.

    With `joins_deleted` a character that the table deletes belongs to the one before it in its
    part.
    """
    parts: list[list[tuple[str, int, int]]] = []
    part: list[tuple[str, int, int]] | None = None
    for character, start in characters:
        kept = table[ord(character)]
        if kept is None:
            if joins_deleted and part:
                part[-1] = (*part[-1][:2], max(part[-1][2], start + 1))
        elif kept == " ":
            part = None
        else:
            if part is None or isinstance(kept, str):
                part = []
                parts.append(part)
            part.append((character, start, start + 1))
            part = None if isinstance(kept, str) else part
    return parts


class WordPiece:
    """Splits words. Ids come as bytes, which are cheaper than numbers to keep and to join."""

    def __init__(self, vocabulary: Vocabulary):
        packed = np.arange(vocabulary.size, dtype=np.int32).tobytes()
        ids = [packed[start : start + ID_BYTES] for start in range(0, len(packed), ID_BYTES)]
        self._starts = dict(zip(vocabulary.tokens, ids, strict=True))
        self._continuations = {
            token[2:]: id for token, id in self._starts.items() if token.startswith("##")
        }
        # A piece has at least one character: "##" alone must never match, or the search would not
        # advance.
        self._continuations.pop("", None)
        self._lengths = {id: len(token.removeprefix("##")) for token, id in self._starts.items()}
        self._start_lengths = _lengths_by_prefix(self._starts)
        self._continuation_lengths = _lengths_by_prefix(self._continuations)

    def id_bytes(self, token: str) -> bytes:
        """The id of one token of the vocabulary, 4 bytes."""
        return self._starts[token]

    def ids(self, word: str) -> bytes:
        """The ids of the pieces of a word, 4 bytes each (int32, native order).

        Args:
          word: one of `basic_tokenize`, at least one character.
        """
        if len(word) > MAX_WORD_CHARACTERS:
            return self._starts[UNK]
        whole = self._starts.get(word)
        if whole is not None:
            return whole
        pieces = self._split(word)
        return self._starts[UNK] if pieces is None else b"".join(pieces)

    def pieces(self, word: str) -> list[tuple[bytes, int]]:
        """(id, number of characters) of each piece; the numbers add up to len(word)."""
        ids = self._split(word) if len(word) <= MAX_WORD_CHARACTERS else None
        return (
            [(self._starts[UNK], len(word))]
            if ids is None
            else [(id, self._lengths[id]) for id in ids]
        )

    def _split(self, word: str) -> list[bytes] | None:
        """The id of each piece, or None where the pieces do not cover the word."""
        found = []
        pieces, lengths = self._starts, self._start_lengths
        start, size = 0, len(word)
        while start < size:
            for length in lengths.get(word[start : start + _PREFIX]) or lengths.get(
                word[start], ()
            ):
                end = start + length
                id = pieces.get(word[start:end])
                if id is not None and end <= size:
                    break
            else:
                return None
            found.append(id)
            start = end
            pieces, lengths = self._continuations, self._continuation_lengths
        return found


def _lengths_by_prefix(pieces: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """First characters of a piece → the lengths worth trying, longest first: far fewer than all up
    to the longest.

    The keys are the first `_PREFIX` characters of longer pieces and, for the shorter ones, the
    first character.
    """
    short: dict[str, set[int]] = {}
    long: dict[str, set[int]] = {}
    for piece in pieces:
        if len(piece) < _PREFIX:
            short.setdefault(piece[0], set()).add(len(piece))
        else:
            long.setdefault(piece[:_PREFIX], set()).add(len(piece))
    for prefix, found in long.items():
        found.update(short.get(prefix[0], ()))
    return {prefix: tuple(sorted(found, reverse=True)) for prefix, found in (long | short).items()}

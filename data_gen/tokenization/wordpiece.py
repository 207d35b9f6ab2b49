"""Text → words → word pieces: `BasicTokenizer` and `WordpieceTokenizer` of the original.

    basic_tokenize("Café-Bar 東京!", do_lower_case=True)  # ['cafe', '-', 'bar', '東', '京', '!']

Input: any str. Output: words (cleaned, in lower case, without accents; punctuation and ideographs
apart), and the ids of their pieces. As with the original, the running Python has the Unicode tables
(`unicodedata`).

Pieces are found greedily: the longest piece of the vocabulary at the start of the word, then the
longest "##" piece, and so on; if any part of the word is covered by no piece, the whole word is
[UNK]. "unaffable" → un ##aff ##able.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from data_gen.tokenization.vocabulary import UNK, Vocabulary

# Size of an id in the bytes that `WordPiece.ids` returns (int32).
ID_BYTES = 4
# Longer words (in characters, after NFD) are [UNK], as in the original.
MAX_WORD_CHARACTERS = 200
# Number of characters by which `_lengths_by_prefix` distinguishes subwords.
_PREFIX = 4

# Ideographs, each of which becomes a word. The original leaves out extensions from U+2CEB0 on.
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

# Control characters at which str.split() splits, but which the original deletes first: they join
# the words around them.
_DELETED_WHITE_SPACE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
# All white space of Unicode is below U+3001. Asking Python keeps the set equal to str.split()'s.
WHITE_SPACE = "".join(
    chr(code)
    for code in range(0x3001)
    if chr(code).isspace() and chr(code) not in _DELETED_WHITE_SPACE
)

# A chunk is the longest stretch whose tokens do not depend on the text around it.
find_chunks = re.compile(f"[{_CJK}]|[^{WHITE_SPACE}{_CJK}]+").findall
# Words and punctuation marks of a text of printable ASCII characters.
_ASCII_WORD = re.compile(r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_find_ascii_words = _ASCII_WORD.findall
# Kind of each code point, for numpy.
_ORDINARY = 0
_SPACE = 1
_IDEOGRAPH = 2
_KINDS = np.zeros(0x110000, np.uint8)
_KINDS[[ord(character) for character in WHITE_SPACE]] = _SPACE
for _first, _last in _CJK_RANGES:
    _KINDS[_first : _last + 1] = _IDEOGRAPH

# Finds characters because of which str.split() may not find the chunks. The range is wider than
# needed: comparing every character with the exact set costs more than it saves.
_search_unsplittable = re.compile(f"[{_DELETED_WHITE_SPACE}\u3400-\U0010ffff]").search


class _Cleaning(dict):
    """Table for str.translate: deletes the characters that the original deletes, and puts spaces
    around Chinese characters."""

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
    """Table for str.translate: puts spaces around punctuation, and deletes the accents that NFD
    has separated if `strip_accents` is set."""

    def __init__(self, strip_accents: bool):
        super().__init__()
        self._strip_accents = strip_accents

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        category = unicodedata.category(character)
        value: int | str | None = code
        # The original treats ASCII symbols such as "$", "^" and "~" as punctuation; Unicode does
        # not.
        if category[0] == "P" or (code < 128 and category[0] == "S"):
            value = f" {character} "
        elif self._strip_accents and category == "Mn":
            value = None
        self[code] = value
        return value


# The tables fill up with the characters that occur, so all tokenizers of a process share them.
CLEANING = _Cleaning()
_SEPARATION = {strip_accents: _Separation(strip_accents) for strip_accents in (False, True)}


def splits_plainly(text: str) -> bool:
    """Whether `text.split()` finds the chunks of the text.

    The test is quick, not sharp: False may also be returned for texts that split plainly.
    """
    if not text.isascii():
        return _search_unsplittable(text) is None
    # Six passes of memchr are many times faster than one of a regular expression.
    return not (
        "\x0b" in text
        or "\x0c" in text
        or "\x1c" in text
        or "\x1d" in text
        or "\x1e" in text
        or "\x1f" in text
    )


def find_chunk_starts(text: str) -> np.ndarray:
    """Returns the positions of the chunks that `find_chunks` finds, int64 [number of chunks]."""
    kinds = _KINDS[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)]
    previous = np.append(np.uint8(_SPACE), kinds[:-1])
    is_first_ordinary = (kinds == _ORDINARY) & (previous != _ORDINARY)
    return np.flatnonzero((kinds == _IDEOGRAPH) | is_first_ordinary)


def strips_accents(do_lower_case: bool, strip_accents: bool | None) -> bool:
    """Returns whether accents are stripped: by the setting, else where text is lower-cased, as in
    the original."""
    if strip_accents is None:
        return do_lower_case
    return strip_accents


def basic_tokenize(
    text: str, do_lower_case: bool = True, strip_accents: bool | None = None
) -> list[str]:
    """Splits text into words and punctuation marks, exactly as `BasicTokenizer.tokenize` of the
    original.

    Control and format characters, U+0000 and U+FFFD are deleted without ending the word; white
    space is a boundary; Chinese characters and punctuation marks are words of their own. With
    `do_lower_case`, `str.lower()` (which knows the final sigma, so it sees a whole chunk at a
    time), then, unless accents stay, NFD, of which marks of category Mn are dropped.

    Args:
      text: any str, lone surrogates included.
      strip_accents: as in Hugging Face's tokenizers; None for the value of `do_lower_case`.

    Returns:
      The words; never an empty one.
    """
    if text.isascii() and text.isprintable():
        if do_lower_case:
            text = text.lower()
        return _find_ascii_words(text)
    strips = strips_accents(do_lower_case, strip_accents)
    separation = _SEPARATION[strips]
    if text.isalnum() and _search_unsplittable(text) is None:
        # Most words of most languages: nothing to delete or to cut, unless NFD separates accents.
        if do_lower_case:
            text = text.lower()
        if strips:
            text = unicodedata.normalize("NFD", text)
        if text.isalnum():
            return [text]
        return text.translate(separation).split()
    words = []
    for chunk in text.translate(CLEANING).split():
        if do_lower_case:
            chunk = chunk.lower()
        if strips:
            chunk = unicodedata.normalize("NFD", chunk)
        words += chunk.translate(separation).split()
    return words


class WordWithOffsets(NamedTuple):
    """A word; character i of it comes from text[starts[i]:ends[i]]."""

    word: str
    starts: Sequence[int]
    ends: Sequence[int]


class _Character(NamedTuple):
    """A character of a word that comes from text[start:end]."""

    character: str
    start: int
    end: int


def basic_tokenize_with_offsets(
    text: str, do_lower_case: bool = True, strip_accents: bool | None = None
) -> list[WordWithOffsets]:
    """Splits text as `basic_tokenize`, and finds where every character of a word comes from.

    A deleted accent belongs to the character before it in its word: text[start:end] of "cafe\u0301"
    has its accent. After a punctuation mark or an ideograph, which are words of their own, it
    belongs to none.
    """
    if text.isascii() and text.isprintable():
        words = []
        for match in _ASCII_WORD.finditer(text):
            start, end = match.span()
            word = match[0].lower() if do_lower_case else match[0]
            words.append(WordWithOffsets(word, range(start, end), range(start + 1, end + 1)))
        return words
    strips = strips_accents(do_lower_case, strip_accents)
    characters = [(character, start) for start, character in enumerate(text)]
    words = []
    for chunk in _split_with_offsets(characters, CLEANING, joins_deleted=False):
        characters = [(part.character, part.start) for part in chunk]
        if do_lower_case or strips:
            characters = _normalize_with_offsets(characters, do_lower_case, strips)
        separation = _SEPARATION[strips]
        for parts in _split_with_offsets(characters, separation, joins_deleted=True):
            letters, starts, ends = zip(*parts, strict=True)
            words.append(WordWithOffsets("".join(letters), starts, ends))
    return words


def normalize(text: str, do_lower_case: bool, decomposes: bool) -> str:
    """Returns the lower case of text, its NFD, or both."""
    if do_lower_case:
        text = text.lower()
    if decomposes:
        text = unicodedata.normalize("NFD", text)
    return text


# Few different characters occur in a text.
_normalize_character = functools.cache(normalize)


def _normalize_with_offsets(
    characters: list[tuple[str, int]], do_lower_case: bool, decomposes: bool
) -> list[tuple[str, int]]:
    """Normalizes a chunk: returns (character, position of its origin) of each."""
    chunk = "".join([character for character, _ in characters])
    normalized = normalize(chunk, do_lower_case, decomposes)
    parts = []
    for character, start in characters:
        for part in _normalize_character(character, do_lower_case, decomposes):
            parts.append((part, start))
    if "".join([part for part, _ in parts]) == normalized:
        return parts
    # Lower-casing looks at the context of a sigma only, which gives one character either way, so
    # the lengths agree. NFD also sorts consecutive combining marks by their class (the class of
    # all other characters is 0): sort the origins in the same way.
    starts = []
    if decomposes:
        for _, run in itertools.groupby(parts, key=lambda pair: unicodedata.combining(pair[0]) > 0):
            for _, start in sorted(run, key=lambda pair: unicodedata.combining(pair[0])):
                starts.append(start)
    else:
        starts = [start for _, start in parts]
    return list(zip(normalized, starts, strict=True))


def _split_with_offsets(
    characters: Iterable[tuple[str, int]], table: _Cleaning | _Separation, joins_deleted: bool
) -> list[list[_Character]]:
    """Returns the words that `str.split()` finds in characters after a table has changed them.

    Args:
      characters: (character, its position) of each.
      joins_deleted: a character that the table deletes belongs to the one before it in its word.
    """
    words: list[list[_Character]] = []
    word: list[_Character] | None = None
    for character, start in characters:
        replacement = table[ord(character)]
        if replacement is None:
            if joins_deleted and word:
                last = word[-1]
                word[-1] = last._replace(end=max(last.end, start + 1))
            continue
        if replacement == " ":
            word = None
            continue
        is_separate = isinstance(replacement, str)
        if word is None or is_separate:
            word = []
            words.append(word)
        word.append(_Character(character, start, start + 1))
        if is_separate:
            word = None
    return words


class WordPiece:
    """Splits words into pieces.

    Ids are bytes, which are cheaper than numbers to keep and to join.
    """

    def __init__(self, vocabulary: Vocabulary):
        packed = np.arange(len(vocabulary.word_pieces), dtype=np.int32).tobytes()
        ids = [packed[start : start + ID_BYTES] for start in range(0, len(packed), ID_BYTES)]
        self._starts = dict(zip(vocabulary.word_pieces, ids, strict=True))
        self._continuations = {}
        self._lengths = {}
        for token, id in self._starts.items():
            self._lengths[id] = len(token.removeprefix("##"))
            # "##" alone must never match: the search would not advance.
            if token.startswith("##") and token != "##":
                self._continuations[token[2:]] = id
        self._start_lengths = _lengths_by_prefix(self._starts)
        self._continuation_lengths = _lengths_by_prefix(self._continuations)

    def id_bytes(self, token: str) -> bytes:
        """Returns the id of one token of the vocabulary, 4 bytes."""
        return self._starts[token]

    def ids(self, word: str) -> bytes:
        """Returns the ids of the pieces of a word, 4 bytes each (int32, native order).

        Args:
          word: one of `basic_tokenize`, at least one character.
        """
        if len(word) > MAX_WORD_CHARACTERS:
            return self._starts[UNK]
        id = self._starts.get(word)
        if id is not None:
            return id
        pieces = self._split(word)
        if pieces is None:
            return self._starts[UNK]
        return b"".join(pieces)

    def pieces(self, word: str) -> list[tuple[bytes, int]]:
        """Returns (id, number of characters) of each piece; the numbers add up to len(word)."""
        ids = self._split(word) if len(word) <= MAX_WORD_CHARACTERS else None
        if ids is None:
            return [(self._starts[UNK], len(word))]
        return [(id, self._lengths[id]) for id in ids]

    def _split(self, word: str) -> list[bytes] | None:
        """Returns the id of each piece, or None if the pieces do not cover the word."""
        ids = []
        pieces = self._starts
        lengths = self._start_lengths
        start = 0
        size = len(word)
        while start < size:
            prefix = word[start : start + _PREFIX]
            for length in lengths.get(prefix) or lengths.get(word[start], ()):
                end = start + length
                if end <= size:
                    id = pieces.get(word[start:end])
                    if id is not None:
                        break
            else:
                return None
            ids.append(id)
            start = end
            pieces = self._continuations
            lengths = self._continuation_lengths
        return ids


def _lengths_by_prefix(pieces: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Returns the first characters of a piece → the lengths worth trying, longest first.

    These are far fewer than all up to the longest. The keys are the first `_PREFIX` characters of
    longer pieces and, for the shorter ones, the first character.
    """
    short: dict[str, set[int]] = {}
    long: dict[str, set[int]] = {}
    for piece in pieces:
        if len(piece) < _PREFIX:
            short.setdefault(piece[0], set()).add(len(piece))
        else:
            long.setdefault(piece[:_PREFIX], set()).add(len(piece))
    for prefix, lengths in long.items():
        lengths.update(short.get(prefix[0], ()))
    by_prefix = {}
    for prefix, lengths in (long | short).items():
        by_prefix[prefix] = tuple(sorted(lengths, reverse=True))
    return by_prefix

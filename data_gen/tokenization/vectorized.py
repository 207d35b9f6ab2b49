"""Tokenizes batches of mostly ASCII text with numpy: no Python code runs per word, except for words
never met before.

Input: the UTF-8 of many texts, concatenated. Output: their word pieces, as `tokenizer.py` returns
them; it sends large batches here. A batch is cut at ASCII white space and ASCII punctuation only;
what lies between, a word, may hold any other character, and its pieces are asked from the exact
tokenizer once and looked up in a hash table (`WordTable`) from then on: thousands of words at a
time.

Cutting at ASCII punctuation before lower-casing changes nothing as long as the text has no capital
sigma, the one character whose lower case depends on what is around it. Such texts must not come
here.
"""

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import DTypeLike

# A word piece with its offsets in its word, in characters.
PIECE_WITH_OFFSETS = np.dtype([("id", np.int32), ("start", np.int32), ("end", np.int32)])

# Longest word of the table, in bytes of UTF-8: the words are compared as two 64-bit numbers.
_MAX_WORD_BYTES = 16

_SPACES = b" \t\r\n"
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
# Tables for bytes.translate, which is quicker than numpy: 1 for every byte that is not of a word.
# All others are, control characters and parts of non-ASCII characters included.
_IS_CUT = bytes(byte in _SPACES + _PUNCTUATION for byte in range(256))
_IS_MARK = np.array([byte in _PUNCTUATION for byte in range(256)])
# What the table can hold: no U+0000, because words are filled up with it.
_is_short_word = re.compile(
    b"[^\\0%s]{1,%d}" % (re.escape(_SPACES + _PUNCTUATION), _MAX_WORD_BYTES)
).fullmatch
# By number of bytes (the last entry is for all longer words, too): what keeps these of the first
# and of the second 8 bytes of a word.
_KEEP_LOW = np.array(
    [(1 << 8 * min(size, 8)) - 1 for size in range(_MAX_WORD_BYTES + 1)], np.uint64
)
_KEEP_HIGH = np.array(
    [(1 << 8 * max(size - 8, 0)) - 1 for size in range(_MAX_WORD_BYTES + 1)], np.uint64
)
_PADDING = bytes(_MAX_WORD_BYTES)
# Any word will do.
_KNOWN_LOW = int.from_bytes(b"a", "little")

# The table is emptied when it has learnt this many words.
_MAX_WORDS = 200_000
# Slots to begin with (32 bytes each), as a power of two. At most half of them are used.
_MIN_BITS = 17
# Columns of a slot: the word (a free slot has 0 here), its first piece in `pieces`, its number of
# pieces.
_LOW, _HIGH, _FIRST, _COUNT = range(4)
# Odd numbers without structure (from the golden ratio and from xxHash): the upper bits of the
# product are the hash.
_LOW_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HIGH_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)


class VectorizedTokenizer:
    """Tokenizes batches of text; see the head of the file for which. Not for several threads at
    once."""

    def __init__(
        self,
        pieces_of: Callable[[list[str]], list[bytes]],
        cached_pieces_of: Callable[[str], bytes],
        dtype: DTypeLike,
        do_lower_case: bool,
        first_words: Iterable[str],
    ):
        """A tokenizer that knows some words from the start.

        Args:
          pieces_of: exact tokenizer of words, each of them one without ASCII punctuation or a
            punctuation mark: for each word items of `dtype`, concatenated.
          cached_pieces_of: the same for one word, for those that are too long to be kept here.
          dtype: int32 for ids only, or `PIECE_WITH_OFFSETS`.
          do_lower_case: give `pieces_of` ASCII letters in lower case only.
          first_words: distinct words that may well come; those that can't be words here are left
            out.
        """
        self._cached_pieces_of = cached_pieces_of
        self._dtype = np.dtype(dtype)
        self._do_lower_case = do_lower_case
        first = [
            word
            for word in (word.encode("utf-8", "surrogatepass") for word in first_words)
            if _is_short_word(word) and not (do_lower_case and word != word.lower())
        ]
        # "\n" is not part of a word: all are decoded at once.
        self._table = WordTable(
            lambda words: pieces_of(b"\n".join(words).decode("utf-8", "surrogatepass").split("\n")),
            dtype,
            first,
        )
        self._marks = np.zeros(256, dtype)
        self._marks[list(_PUNCTUATION)] = np.frombuffer(
            b"".join(pieces_of([chr(mark) for mark in _PUNCTUATION])), dtype
        )

    def encode(self, data: bytes, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of R texts.

        Args:
          data: UTF-8 (surrogates passed) of the texts with "\n" between them, without U+0000 and
            capital sigma; a few hundred kilobytes at most, so that what is computed on the way
            stays in the processor's cache.
          lengths: int64 [R], bytes of each text.

        Returns:
          pieces: [T] of the dtype given; the offsets of a `PIECE_WITH_OFFSETS` are relative to its
            text.
          row_lengths: int64 [R].
        """
        raw = b"\n" + data + b"\n"
        text = np.frombuffer((raw.lower() if self._do_lower_case else raw) + _PADDING, np.uint8)
        # Every byte that is not of a word, and the word, perhaps empty, between it and the next.
        cuts = np.flatnonzero(np.frombuffer(raw.translate(_IS_CUT), bool))
        sizes = np.diff(cuts) - 1
        after = np.flatnonzero(sizes)  # words, by the cut they follow
        starts, sizes = cuts[after] + 1, sizes[after]
        first, count, long_words, long_pieces = self._look_up(raw, text, starts, sizes)
        at_cut = text[cuts]
        is_mark = _IS_MARK[at_cut]
        counts = np.zeros(
            (len(cuts), 2), np.int64
        )  # tokens of the cut, tokens of the word after it
        counts[:, 0] = is_mark
        counts[after, 1] = count
        ends = np.cumsum(counts.ravel())
        pieces = np.empty(ends[-1], self._dtype)
        marks = np.flatnonzero(is_mark)
        pieces[ends[2 * marks] - 1] = self._marks[at_cut[marks]]
        targets = ends[2 * after]
        if len(long_words):
            pieces[ragged_range(targets[long_words], count[long_words])] = long_pieces
            count[long_words] = 0
        # The pieces of every word go to its target: all first pieces, then all second ones, and so
        # on.
        left = np.flatnonzero(count)
        if len(left) < len(count):
            targets, first, count = targets[left], first[left], count[left]
        while len(targets):
            pieces[targets] = self._table.pieces[first]
            more = np.flatnonzero(count > 1)
            targets, first, count = targets[more] + 1, first[more] + 1, count[more] - 1
        row_starts = np.cumsum(lengths + 1) - lengths - 1  # where the "\n" before each text stands
        if self._dtype == PIECE_WITH_OFFSETS:
            # Those of pieces in their words become offsets in their texts.
            unit_starts, text_starts = np.stack([cuts, cuts + 1], axis=1).ravel(), row_starts
            if not raw.isascii():
                # From bytes to characters: continuation bytes of UTF-8 do not count.
                characters = np.cumsum((np.frombuffer(raw, np.uint8) & 0xC0) != 0x80) - 1
                characters = np.append(characters, characters[-1] + 1)
                unit_starts, text_starts = characters[unit_starts], characters[row_starts]
            texts = np.searchsorted(text_starts, unit_starts, side="right") - 1
            shift = np.repeat(
                (unit_starts - text_starts[texts] - 1).astype(np.int32), counts.ravel()
            )
            pieces["start"] += shift
            pieces["end"] += shift
        rows = ends[2 * np.searchsorted(cuts, np.append(row_starts, len(raw) - 1))]
        return pieces, np.diff(rows)

    def _look_up(
        self, raw: bytes, text: np.ndarray, starts: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """(first piece in the table and number of pieces of each word; which words are too long,
        and their pieces)."""
        windows = np.ndarray(
            (len(text) - 7,), "<u8", text, strides=(1,)
        )  # the 8 bytes from each position
        low = windows[starts] & _KEEP_LOW.take(sizes, mode="clip")
        high = np.zeros_like(low)
        wide = np.flatnonzero(sizes > 8)
        high[wide] = windows[starts[wide] + 8] & _KEEP_HIGH.take(sizes[wide], mode="clip")
        long_words = np.flatnonzero(sizes > _MAX_WORD_BYTES)
        if not len(long_words):
            return *self._table.find(low, high), long_words, None
        # The table gets a word it knows in place of each long one.
        low[long_words], high[long_words] = _KNOWN_LOW, 0
        first, count = self._table.find(low, high)
        long_starts = starts[long_words]
        values = [
            self._cached_pieces_of(raw[start:end].decode("utf-8", "surrogatepass"))
            for start, end in zip(
                long_starts.tolist(), (long_starts + sizes[long_words]).tolist(), strict=True
            )
        ]
        count[long_words] = (
            np.fromiter(map(len, values), np.int64, len(values)) // self._dtype.itemsize
        )
        return first, count, long_words, np.frombuffer(b"".join(values), self._dtype)


class WordTable:
    """Hash table from short words to their pieces, asked about thousands of words at once.

    Open addressing with linear probing. Bounded: a full table is emptied.

    Attributes:
      pieces: the pieces of all known words, array of the dtype given.
    """

    def __init__(
        self,
        pieces_of: Callable[[list[bytes]], list[bytes]],
        dtype: DTypeLike,
        first_words: Sequence[bytes] = (),
    ):
        """A table of distinct words, because learning many at once is quicker; `pieces_of` gives
        the pieces of each word, items of `dtype`, concatenated."""
        self._pieces_of = pieces_of
        self._dtype = np.dtype(dtype)
        self._first_words = list(first_words)
        self._reset()

    def find(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Looks up words; those not met before are learnt.

        Args:
          low, high: uint64 [W], the first and second 8 bytes of each word, little-endian, filled up
            with zeros; the first must not be 0. At most `_MAX_WORDS` of them may be different.

        Returns:
          (first, count), int64 [W] each: word i has the pieces self.pieces[first[i]:first[i] +
          count[i]].
        """
        slots, missing = self._probe(low, high)
        if len(missing):
            # Collecting in a dict is faster here than sorting.
            new = list(
                dict.fromkeys(zip(low[missing].tolist(), high[missing].tolist(), strict=True))
            )
            if self._num_words + len(new) > len(self._first_words) + _MAX_WORDS:
                self._reset()
                return self.find(low, high)
            padded = np.array(new, "<u8").tobytes()
            self._learn_words(
                [
                    padded[start : start + _MAX_WORD_BYTES].rstrip(b"\0")
                    for start in range(0, len(padded), _MAX_WORD_BYTES)
                ]
            )
            slots[missing], _ = self._probe(low[missing], high[missing])
        return slots[:, _FIRST].view(np.int64), slots[:, _COUNT].view(np.int64)

    def _reset(self) -> None:
        self._bits = _MIN_BITS
        self._slots = np.zeros((1 << self._bits, 4), np.uint64)
        self._num_words = self._num_pieces = 0
        self.pieces = np.empty(1 << 16, self._dtype)
        self._learn_words(self._first_words)

    def _hash(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        product: np.ndarray = low * _LOW_FACTOR + high * _HIGH_FACTOR
        return (product >> np.uint64(64 - self._bits)).view(np.int64)

    def _probe(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The slot of each word, [W, 4], and which words have none."""
        positions = self._hash(low, high)
        slots = self._slots.take(positions, axis=0)
        wrong = np.flatnonzero((slots[:, _LOW] != low) | (slots[:, _HIGH] != high))
        missing = []
        while len(wrong):
            free = slots[wrong, _LOW] == 0
            missing.append(wrong[free])
            wrong = wrong[~free]
            positions[wrong] = (positions[wrong] + 1) & (len(self._slots) - 1)
            found = self._slots.take(positions[wrong], axis=0)
            slots[wrong] = found
            wrong = wrong[(found[:, _LOW] != low[wrong]) | (found[:, _HIGH] != high[wrong])]
        return slots, np.concatenate(missing) if missing else wrong

    def _learn_words(self, words: list[bytes]) -> None:
        """Adds distinct words that are not in the table."""
        if not words:
            return
        values = self._pieces_of(words)
        counts = np.fromiter(map(len, values), np.int64, len(values)) // self._dtype.itemsize
        pieces = np.frombuffer(b"".join(values), self._dtype)
        total = self._num_pieces + len(pieces)
        if total > len(self.pieces):
            self.pieces = np.concatenate(
                [self.pieces[: self._num_pieces], np.empty(2 * total, self._dtype)]
            )
        self.pieces[self._num_pieces : total] = pieces
        entries = np.empty((len(words), 4), np.uint64)
        entries[:, :2] = np.frombuffer(
            b"".join([word.ljust(_MAX_WORD_BYTES, b"\0") for word in words]), "<u8"
        ).reshape(-1, 2)
        entries[:, _FIRST] = self._num_pieces + np.cumsum(counts) - counts
        entries[:, _COUNT] = counts
        self._num_pieces = total
        self._num_words += len(words)
        while 2 * self._num_words > len(self._slots):
            self._bits += 1
            entries = np.concatenate([self._slots[self._slots[:, _LOW] != 0], entries])
            self._slots = np.zeros((1 << self._bits, 4), np.uint64)
        positions = self._hash(entries[:, _LOW], entries[:, _HIGH])
        # Where several want the same slot numpy lets the last one have it. Backwards, so that it is
        # the word that came first, which in a vocabulary and in a text is likely to be the more
        # frequent one; the others take the next slot.
        waiting = np.arange(len(entries))[::-1]
        while len(waiting):
            free = waiting[self._slots[positions[waiting], _LOW] == 0]
            self._slots[positions[free]] = entries[free]
            settled = (self._slots[positions[waiting], :_FIRST] == entries[waiting, :_FIRST]).all(
                axis=1
            )
            waiting = waiting[~settled]
            positions[waiting] = (positions[waiting] + 1) & (len(self._slots) - 1)


def ragged_range(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """[start, start + 1, … start + count - 1] of each, concatenated."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())

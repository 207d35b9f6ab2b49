"""Tokenizes batches of mostly ASCII text with numpy: Python code runs for new words only.

Input: the UTF-8 of many texts, concatenated. Output: their word pieces, as `tokenizer.py` returns
them; it sends large batches here.

A batch is cut at ASCII white space and ASCII punctuation only. A word, the text between two cuts,
may contain any other character. The exact tokenizer computes its pieces once; from then on a hash
table (`WordTable`) has them, in which thousands of words are looked up at a time.

Cutting at ASCII punctuation before lower-casing changes nothing unless the text has a capital
sigma, the one character whose lower case depends on its context. Such texts must not come here.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

# A word piece with its offsets in its word, in characters.
PIECE_WITH_OFFSETS = np.dtype([("id", np.int32), ("start", np.int32), ("end", np.int32)])

# Longest word of the table, in bytes of UTF-8: words are compared as two 64-bit numbers.
_MAX_WORD_BYTES = 16

_SPACES = b" \t\r\n"
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
# Table for bytes.translate, which is quicker than numpy: 1 for bytes at which the text is cut. All
# others belong to words, also control characters and parts of non-ASCII characters.
_IS_CUT = bytes(byte in _SPACES + _PUNCTUATION for byte in range(256))
_IS_MARK = np.array([byte in _PUNCTUATION for byte in range(256)])
# The table can't contain words with U+0000, because words are padded with it.
_WORD_BYTES = b"[^\\0%s]" % re.escape(_SPACES + _PUNCTUATION)
_is_short_word = re.compile(_WORD_BYTES + b"{1,%d}" % _MAX_WORD_BYTES).fullmatch
# Masks by the number of bytes of a word, for its first and its second 8 bytes. The last entry also
# serves longer words.
_BYTES = np.arange(_MAX_WORD_BYTES + 1)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_KEEP_LOW = _MASKS[np.minimum(_BYTES, 8)]
_KEEP_HIGH = _MASKS[np.maximum(_BYTES - 8, 0)]
_PADDING = bytes(_MAX_WORD_BYTES)
# The word "a" stands in for words that are too long for the table; any word will do.
_STAND_IN_LOW = int.from_bytes(b"a", "little")

# The table is emptied when it has learned this many words.
_MAX_WORDS = 200_000
# Initial number of slots (32 bytes each), as a power of two. At most half of the slots are used.
_MIN_BITS = 17
# Columns of a slot: the two halves of the word (the first is 0 in a free slot), its first piece in
# `pieces`, and its number of pieces.
_LOW = 0
_HIGH = 1
_FIRST = 2
_COUNT = 3
# Odd numbers without structure (from the golden ratio and from xxHash): the upper bits of the
# product are the hash.
_LOW_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HIGH_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)


class _Words(NamedTuple):
    """Words of a batch and where their pieces are.

    Attributes:
      first, counts: int64 [W], the first piece in the table and the number of pieces of each word.
      long_words: indices of the words that are too long for the table.
      long_pieces: their pieces, concatenated; None without such words.
    """

    first: np.ndarray
    counts: np.ndarray
    long_words: np.ndarray
    long_pieces: np.ndarray | None


class VectorizedTokenizer:
    """Tokenizes batches of text that meet the conditions in the module's docstring.

    Only one thread at a time may use it.
    """

    def __init__(
        self,
        pieces_of: Callable[[list[str]], list[bytes]],
        cached_pieces_of: Callable[[str], bytes],
        dtype: DTypeLike,
        do_lower_case: bool,
        first_words: Iterable[str],
    ):
        """Makes a tokenizer whose table contains some words from the start.

        Args:
          pieces_of: exact tokenizer of words without ASCII punctuation and of punctuation marks;
            for each it returns items of `dtype`, concatenated.
          cached_pieces_of: the same for a single word that is too long for the table.
          dtype: int32 for ids only, or `PIECE_WITH_OFFSETS`.
          do_lower_case: lower-case ASCII letters before `pieces_of` sees a word.
          first_words: distinct words that are likely to occur; those that can't be words here are
            skipped.
        """
        self._cached_pieces_of = cached_pieces_of
        self._dtype = np.dtype(dtype)
        self._do_lower_case = do_lower_case

        def pieces_of_encoded(words: list[bytes]) -> list[bytes]:
            # No word contains "\n", so all can be decoded at once.
            return pieces_of(b"\n".join(words).decode("utf-8", "surrogatepass").split("\n"))

        first = []
        for word in first_words:
            data = word.encode("utf-8", "surrogatepass")
            is_reachable = not do_lower_case or data == data.lower()
            if is_reachable and _is_short_word(data):
                first.append(data)
        self._table = WordTable(pieces_of_encoded, dtype, first)
        self._marks = np.zeros(256, dtype)
        marks = [chr(mark) for mark in _PUNCTUATION]
        self._marks[list(_PUNCTUATION)] = np.frombuffer(b"".join(pieces_of(marks)), dtype)

    def encode(self, data: bytes, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the tokens of R texts.

        Args:
          data: UTF-8 (surrogates passed) of the texts with "\n" between them, without U+0000 and
            capital sigma; a few hundred kilobytes at most, so that the arrays computed from it stay
            in the processor's cache.
          lengths: int64 [R], bytes of each text.

        Returns:
          pieces: [T] of the dtype given; the offsets of a `PIECE_WITH_OFFSETS` are relative to its
            text.
          row_lengths: int64 [R].
        """
        raw = b"\n" + data + b"\n"
        text = np.frombuffer((raw.lower() if self._do_lower_case else raw) + _PADDING, np.uint8)
        # Each cut is followed by a word, which may be empty, up to the next cut.
        cuts = np.flatnonzero(np.frombuffer(raw.translate(_IS_CUT), bool))
        sizes = np.diff(cuts) - 1
        cuts_before_words = np.flatnonzero(sizes)
        words = self._look_up(raw, text, cuts[cuts_before_words] + 1, sizes[cuts_before_words])
        characters_at_cuts = text[cuts]
        is_mark = _IS_MARK[characters_at_cuts]
        # Numbers of tokens: of the cut itself, and of the word after it.
        counts = np.zeros((len(cuts), 2), np.int64)
        counts[:, 0] = is_mark
        counts[cuts_before_words, 1] = words.counts
        ends = np.cumsum(counts.ravel())
        pieces = np.empty(ends[-1], self._dtype)
        marks = np.flatnonzero(is_mark)
        pieces[ends[2 * marks] - 1] = self._marks[characters_at_cuts[marks]]
        self._put_words(pieces, words, ends[2 * cuts_before_words])
        # Position of the "\n" before each text.
        row_starts = np.cumsum(lengths + 1) - lengths - 1
        if self._dtype == PIECE_WITH_OFFSETS:
            _add_text_offsets(pieces, raw, cuts, row_starts, counts)
        rows = ends[2 * np.searchsorted(cuts, np.append(row_starts, len(raw) - 1))]
        return pieces, np.diff(rows)

    def _look_up(
        self, raw: bytes, text: np.ndarray, starts: np.ndarray, sizes: np.ndarray
    ) -> _Words:
        """Looks up words, given by their starts and sizes in bytes."""
        # Row i of the windows is the 8 bytes from position i.
        windows = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))
        low = windows[starts] & _KEEP_LOW.take(sizes, mode="clip")
        high = np.zeros_like(low)
        wide = np.flatnonzero(sizes > 8)
        high[wide] = windows[starts[wide] + 8] & _KEEP_HIGH.take(sizes[wide], mode="clip")
        long_words = np.flatnonzero(sizes > _MAX_WORD_BYTES)
        if not len(long_words):
            return _Words(*self._table.find(low, high), long_words, None)
        low[long_words] = _STAND_IN_LOW
        high[long_words] = 0
        first, count = self._table.find(low, high)
        long_starts = starts[long_words].tolist()
        long_ends = (starts[long_words] + sizes[long_words]).tolist()
        values = []
        for start, end in zip(long_starts, long_ends, strict=True):
            word = raw[start:end].decode("utf-8", "surrogatepass")
            values.append(self._cached_pieces_of(word))
        value_sizes = np.fromiter(map(len, values), np.int64, len(values))
        count[long_words] = value_sizes // self._dtype.itemsize
        return _Words(first, count, long_words, np.frombuffer(b"".join(values), self._dtype))

    def _put_words(self, pieces: np.ndarray, words: _Words, targets: np.ndarray) -> None:
        """Writes the pieces of every word into `pieces` from its target on."""
        first = words.first
        count = words.counts
        if len(words.long_words):
            positions = ragged_range(targets[words.long_words], count[words.long_words])
            pieces[positions] = words.long_pieces
            count[words.long_words] = 0
        remaining = np.flatnonzero(count)
        if len(remaining) < len(count):
            targets = targets[remaining]
            first = first[remaining]
            count = count[remaining]
        # All first pieces are written at once, then all second ones, and so on.
        while len(targets):
            pieces[targets] = self._table.pieces[first]
            more = np.flatnonzero(count > 1)
            targets = targets[more] + 1
            first = first[more] + 1
            count = count[more] - 1


def _add_text_offsets(
    pieces: np.ndarray, raw: bytes, cuts: np.ndarray, row_starts: np.ndarray, counts: np.ndarray
) -> None:
    """Turns offsets of pieces in their words into offsets in their texts, in characters."""
    unit_starts = np.stack([cuts, cuts + 1], axis=1).ravel()
    text_starts = row_starts
    if not raw.isascii():
        # Continuation bytes of UTF-8 are no characters.
        characters = np.cumsum((np.frombuffer(raw, np.uint8) & 0xC0) != 0x80) - 1
        characters = np.append(characters, characters[-1] + 1)
        unit_starts = characters[unit_starts]
        text_starts = characters[row_starts]
    texts = np.searchsorted(text_starts, unit_starts, side="right") - 1
    shifts = (unit_starts - text_starts[texts] - 1).astype(np.int32)
    shift = np.repeat(shifts, counts.ravel())
    pieces["start"] += shift
    pieces["end"] += shift


class WordTable:
    """Hash table from short words to their pieces, for thousands of words at once.

    Open addressing with linear probing. Bounded: a full table is emptied.

    Attributes:
      pieces: the pieces of all words in the table, array of the given dtype.
    """

    def __init__(
        self,
        pieces_of: Callable[[list[bytes]], list[bytes]],
        dtype: DTypeLike,
        first_words: Sequence[bytes] = (),
    ):
        """Makes a table of distinct words, because learning many at once is quicker.

        Args:
          pieces_of: returns the pieces of each word, items of `dtype`, concatenated.
        """
        self._pieces_of = pieces_of
        self._dtype = np.dtype(dtype)
        self._first_words = list(first_words)
        self._reset()

    def find(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Looks up words and learns those that are new.

        Args:
          low, high: uint64 [W], the first and second 8 bytes of each word, little-endian, padded
            with zeros; the first must not be 0. At most `_MAX_WORDS` of them may be different.

        Returns:
          (first, count), int64 [W] each: word i has the pieces self.pieces[first[i]:first[i] +
          count[i]].
        """
        slots, missing = self._probe(low, high)
        if len(missing):
            # Collecting in a dict is faster here than sorting.
            pairs = zip(low[missing].tolist(), high[missing].tolist(), strict=True)
            new = list(dict.fromkeys(pairs))
            if self._num_words + len(new) > len(self._first_words) + _MAX_WORDS:
                self._reset()
                return self.find(low, high)
            padded = np.array(new, "<u8").tobytes()
            words = []
            for start in range(0, len(padded), _MAX_WORD_BYTES):
                words.append(padded[start : start + _MAX_WORD_BYTES].rstrip(b"\0"))
            self._learn_words(words)
            slots[missing], _ = self._probe(low[missing], high[missing])
        return slots[:, _FIRST].view(np.int64), slots[:, _COUNT].view(np.int64)

    def _reset(self) -> None:
        self._bits = _MIN_BITS
        self._slots = np.zeros((1 << self._bits, 4), np.uint64)
        self._num_words = 0
        self._num_pieces = 0
        self.pieces = np.empty(1 << 16, self._dtype)
        self._learn_words(self._first_words)

    def _hash(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        product: np.ndarray = low * _LOW_FACTOR + high * _HIGH_FACTOR
        return (product >> np.uint64(64 - self._bits)).view(np.int64)

    def _probe(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the slot of each word, [W, 4], and the indices of words that have none."""
        positions = self._hash(low, high)
        slots = self._slots.take(positions, axis=0)
        wrong = np.flatnonzero((slots[:, _LOW] != low) | (slots[:, _HIGH] != high))
        missing = []
        while len(wrong):
            is_free = slots[wrong, _LOW] == 0
            missing.append(wrong[is_free])
            wrong = wrong[~is_free]
            positions[wrong] = (positions[wrong] + 1) & (len(self._slots) - 1)
            next_slots = self._slots.take(positions[wrong], axis=0)
            slots[wrong] = next_slots
            is_other = (next_slots[:, _LOW] != low[wrong]) | (next_slots[:, _HIGH] != high[wrong])
            wrong = wrong[is_other]
        if missing:
            return slots, np.concatenate(missing)
        return slots, wrong

    def _learn_words(self, words: list[bytes]) -> None:
        """Adds distinct words that are not in the table."""
        if not words:
            return
        values = self._pieces_of(words)
        counts = np.fromiter(map(len, values), np.int64, len(values)) // self._dtype.itemsize
        pieces = np.frombuffer(b"".join(values), self._dtype)
        total = self._num_pieces + len(pieces)
        if total > len(self.pieces):
            room = np.empty(2 * total, self._dtype)
            self.pieces = np.concatenate([self.pieces[: self._num_pieces], room])
        self.pieces[self._num_pieces : total] = pieces
        padded = b"".join([word.ljust(_MAX_WORD_BYTES, b"\0") for word in words])
        entries = np.empty((len(words), 4), np.uint64)
        entries[:, :2] = np.frombuffer(padded, "<u8").reshape(-1, 2)
        entries[:, _FIRST] = self._num_pieces + np.cumsum(counts) - counts
        entries[:, _COUNT] = counts
        self._num_pieces = total
        self._num_words += len(words)
        while 2 * self._num_words > len(self._slots):
            self._bits += 1
            entries = np.concatenate([self._slots[self._slots[:, _LOW] != 0], entries])
            self._slots = np.zeros((1 << self._bits, 4), np.uint64)
        self._insert(entries)

    def _insert(self, entries: np.ndarray) -> None:
        """Puts entries into free slots from their hash on."""
        positions = self._hash(entries[:, _LOW], entries[:, _HIGH])
        # If several entries want the same slot, numpy gives it to the last one, and the others take
        # the next slot. The order is reversed so that the winner is the word that came first: in a
        # vocabulary and in a text it is likely to be the most frequent one.
        waiting = np.arange(len(entries))[::-1]
        while len(waiting):
            is_free = self._slots[positions[waiting], _LOW] == 0
            candidates = waiting[is_free]
            self._slots[positions[candidates]] = entries[candidates]
            stored = self._slots[positions[waiting], :_FIRST]
            is_settled = (stored == entries[waiting, :_FIRST]).all(axis=1)
            waiting = waiting[~is_settled]
            positions[waiting] = (positions[waiting] + 1) & (len(self._slots) - 1)


def ragged_range(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns [start, start + 1, … start + count - 1] of each pair, concatenated."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())

"""Tokenizes batches of mostly ASCII text with numpy: Python code runs for new words only.

Input: the UTF-8 of many texts, concatenated. Output: their word pieces, as `tokenizer.py` returns
them; it sends large batches here.

A batch is cut at ASCII white space and ASCII punctuation only. A unit is a punctuation mark, or a
word: the text between two cuts, which may contain any other character. The exact tokenizer computes
its pieces once; from then on a hash table (`UnitTable`) has them, in which thousands of units are
looked up at a time.

Cutting at ASCII punctuation before lower-casing changes nothing unless the text has a capital
sigma, the one character whose lower case depends on its context. Such texts must not come here.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from data_gen.ragged import lengths_of, starts_of

# A word piece with its offsets in its word, in characters.
PIECE_WITH_OFFSETS = np.dtype([("id", np.int32), ("start", np.int32), ("end", np.int32)])
# Between texts. Units are padded with it, so that none can contain it.
SEPARATOR = b"\0"

# Units of more bytes (of UTF-8) are found in a dict; others are compared as two 64-bit numbers.
_MAX_BYTES = 16

_SPACES = b" \t\r\n" + SEPARATOR
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
# Kinds of bytes. Words also have control characters and parts of non-ASCII characters.
_SPACE = 0
_WORD = 1
_MARK = 2
_kinds = np.full(256, _WORD, np.uint8)
_kinds[list(_SPACES)] = _SPACE
_kinds[list(_PUNCTUATION)] = _MARK
# Table for bytes.translate, which is quicker than numpy.
_KIND_OF_BYTE = _kinds.tobytes()
_WORD_BYTES = b"[^%s]" % re.escape(_SPACES + _PUNCTUATION)
_is_short_word = re.compile(_WORD_BYTES + b"{1,%d}" % _MAX_BYTES).fullmatch
# Masks by the number of bytes of a unit, for its first and its second 8 bytes. The last entry also
# serves longer units.
_BYTES = np.arange(_MAX_BYTES + 1)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_KEEP_LOW = _MASKS[np.minimum(_BYTES, 8)]
_KEEP_HIGH = _MASKS[np.maximum(_BYTES - 8, 0)]
_PADDING = bytes(_MAX_BYTES)
# The word "a" stands in for units that are too long for the table; any word will do.
_STAND_IN_LOW = int.from_bytes(b"a", "little")

# The table is emptied when it has learned this many units.
_MAX_UNITS = 200_000
# Initial number of slots, as a power of two. At most half of the slots are used.
_MIN_BITS = 18
# A slot: the first half of the unit (0 in a free slot), its first piece in `pieces`, and its number
# of pieces. The second halves are kept apart: few units have one, and small slots are quicker to
# read.
_SLOT = np.dtype([("low", np.uint64), ("first", np.int32), ("count", np.int32)])
# Odd numbers without structure (from the golden ratio and from xxHash): the upper bits of the
# product are the hash.
_LOW_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HIGH_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)


class Units(NamedTuple):
    """Units of a text, in the form in which they are looked up.

    Attributes:
      low, high: uint64 [U], the first and second 8 bytes of each unit, little-endian, padded with
        zeros.
      wide: int64 [W], indices of the units of 8 bytes and more.
      long: int64 [L], indices of the units of more than 16 bytes; low and high are another word's.
      long_words: their bytes.
    """

    low: np.ndarray
    high: np.ndarray
    wide: np.ndarray
    long: np.ndarray
    long_words: list[bytes]


class VectorizedTokenizer:
    """Tokenizes batches of text that meet the conditions in the module's docstring.

    Only one thread at a time may use it.
    """

    def __init__(
        self,
        pieces_of: Callable[[list[str]], list[bytes]],
        dtype: DTypeLike,
        do_lower_case: bool,
        first_words: Iterable[str],
    ):
        """Makes a tokenizer whose table contains some words from the start.

        Args:
          pieces_of: exact tokenizer of words without ASCII punctuation and of punctuation marks;
            for each it returns items of `dtype`, concatenated.
          dtype: int32 for ids only, or `PIECE_WITH_OFFSETS`.
          do_lower_case: lower-case ASCII letters before `pieces_of` sees a word.
          first_words: distinct words that are likely to occur; those that can't be words here are
            skipped.
        """
        self._dtype = np.dtype(dtype)
        self._do_lower_case = do_lower_case

        def pieces_of_encoded(units: list[bytes]) -> list[bytes]:
            # No unit contains "\n", so all can be decoded at once.
            return pieces_of(b"\n".join(units).decode("utf-8", "surrogatepass").split("\n"))

        # Punctuation comes first, so that no other unit takes its slots.
        first = [bytes([mark]) for mark in _PUNCTUATION]
        for word in first_words:
            data = word.encode("utf-8", "surrogatepass")
            # A word with capitals can't occur in lower-cased text and would only take a slot.
            is_reachable = not do_lower_case or data == data.lower()
            if is_reachable and _is_short_word(data):
                first.append(data)
        self._table = UnitTable(pieces_of_encoded, dtype, first)

    def encode(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Returns the tokens of R texts.

        Args:
          data: UTF-8 (surrogates passed) of the texts with `SEPARATOR` between them, without
            capital sigma; a few hundred kilobytes at most, so that the arrays computed from it stay
            in the processor's cache.

        Returns:
          pieces: [T] of the dtype given; the offsets of a `PIECE_WITH_OFFSETS` are relative to its
            text.
          row_lengths: int64 [R].
        """
        # Separators around the texts put a byte before and after every unit.
        raw = SEPARATOR + data + SEPARATOR
        starts, sizes = _find_units(raw)
        # ASCII letters become lower-case here, all others in the exact tokenizer.
        text = raw.lower() if self._do_lower_case else raw
        first, counts = self._table.find(read_units(text, starts, sizes))
        ends = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=ends[1:])
        # "clip" is quicker than a check of the indices.
        pieces = self._table.pieces.take(ragged_range(first, counts, ends[1:]), mode="clip")
        separators = np.flatnonzero(np.frombuffer(raw, np.uint8) == 0)
        if self._dtype == PIECE_WITH_OFFSETS:
            _add_text_offsets(pieces, raw, starts, separators, counts)
        return pieces, np.diff(ends[np.searchsorted(starts, separators)])


def _find_units(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Returns the start and the size of each word and punctuation mark, int64 [U], in bytes."""
    kinds = np.frombuffer(raw.translate(_KIND_OF_BYTE), np.uint8)
    # A unit begins, and ends, between any two bytes of which one is no white space, except between
    # two bytes of a word.
    is_word = kinds & _WORD
    starts = np.flatnonzero(kinds[1:] > is_word[:-1])
    ends = np.flatnonzero(kinds[:-1] > is_word[1:])
    return starts + 1, ends - starts


def read_units(text: bytes, starts: np.ndarray, sizes: np.ndarray) -> Units:
    """Returns units of a text, given by their starts and sizes in bytes, int64 [U]."""
    padded = text + _PADDING
    # Row i of the windows is the 8 bytes from position i.
    windows = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))
    low = windows[starts]
    low &= _KEEP_LOW.take(sizes, mode="clip")
    high = np.zeros_like(low)
    wide = np.flatnonzero(sizes >= 8)
    wide_starts = starts[wide]
    wide_sizes = sizes[wide]
    high[wide] = windows[wide_starts + 8] & _KEEP_HIGH.take(wide_sizes, mode="clip")
    is_long = wide_sizes > _MAX_BYTES
    long = wide[is_long]
    low[long] = _STAND_IN_LOW
    high[long] = 0
    long_words = []
    long_starts = wide_starts[is_long].tolist()
    for start, size in zip(long_starts, wide_sizes[is_long].tolist(), strict=True):
        long_words.append(text[start : start + size])
    return Units(low, high, wide, long, long_words)


def _add_text_offsets(
    pieces: np.ndarray, raw: bytes, starts: np.ndarray, separators: np.ndarray, counts: np.ndarray
) -> None:
    """Turns offsets of pieces in their units into offsets in their texts, in characters."""
    texts = np.searchsorted(separators, starts, side="right") - 1
    if not raw.isascii():
        # Continuation bytes of UTF-8 are no characters.
        characters = np.cumsum((np.frombuffer(raw, np.uint8) & 0xC0) != 0x80)
        starts = characters[starts]
        separators = characters[separators]
    shifts = (starts - separators[texts] - 1).astype(np.int32)
    shift = np.repeat(shifts, counts)
    pieces["start"] += shift
    pieces["end"] += shift


class UnitTable:
    """Hash table from units to their pieces, for thousands of units at once.

    Open addressing with linear probing. Bounded: a full table is emptied.

    Attributes:
      pieces: the pieces of all units in the table, array of the given dtype.
    """

    def __init__(
        self,
        pieces_of: Callable[[list[bytes]], list[bytes]],
        dtype: DTypeLike,
        first_units: Sequence[bytes] = (),
    ):
        """Makes a table of distinct units, because learning many at once is quicker.

        Args:
          pieces_of: returns the pieces of each unit, items of `dtype`, concatenated.
          first_units: of 16 bytes at most.
        """
        self._pieces_of = pieces_of
        self._dtype = np.dtype(dtype)
        padded = b"".join([unit.ljust(_MAX_BYTES, b"\0") for unit in first_units])
        self._first_units = np.frombuffer(padded, "<u8").reshape(-1, 2)
        self._reset()

    def find(self, units: Units) -> tuple[np.ndarray, np.ndarray]:
        """Looks up units and learns those that are new.

        Args:
          units: none is empty; at most `_MAX_UNITS` of them may be different.

        Returns:
          (first, count), int64 [U] each: unit i has the pieces self.pieces[first[i]:first[i] +
          count[i]].
        """
        slots, missing = self._probe(units)
        # Collecting in a dict is faster here than sorting.
        new: dict[tuple[int, int], int] = {}
        indices = []
        halves = zip(units.low[missing].tolist(), units.high[missing].tolist(), strict=True)
        for pair in halves:
            indices.append(new.setdefault(pair, len(new)))
        new_long = [word for word in dict.fromkeys(units.long_words) if word not in self._long]
        if new or new_long:
            # A long word counts as often as it has 16 bytes, so that memory stays bounded.
            size = len(new) + sum(len(word) for word in new_long) // _MAX_BYTES
            if self._size + size > len(self._first_units) + _MAX_UNITS:
                self._reset()
                return self.find(units)
            self._size += size
            learned = self._learn(np.array(list(new), "<u8").reshape(-1, 2), new_long)
            slots[missing] = learned[indices]
        first = slots["first"].astype(np.int64)
        count = slots["count"].astype(np.int64)
        if units.long_words:
            pairs = [self._long[word] for word in units.long_words]
            first[units.long], count[units.long] = zip(*pairs, strict=True)
        return first, count

    def _reset(self) -> None:
        self._size = len(self._first_units)
        self._num_pieces = 0
        self.pieces = np.empty(1 << 16, self._dtype)
        self._make_slots(_MIN_BITS)
        # Long words → (first piece, number of pieces).
        self._long: dict[bytes, tuple[int, int]] = {}
        self._learn(self._first_units, [])

    def _make_slots(self, bits: int) -> None:
        self._bits = bits
        self._num_used = 0
        self._slots = np.zeros(1 << bits, _SLOT)
        self._high = np.zeros(1 << bits, np.uint64)

    def _hash(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        product: np.ndarray = low * _LOW_FACTOR
        product += high * _HIGH_FACTOR
        product >>= np.uint64(64 - self._bits)
        return product.view(np.int64)

    def _probe(self, units: Units) -> tuple[np.ndarray, np.ndarray]:
        """Returns the slot of each unit, [U], and the indices of units that have none."""
        low, high, wide = units.low, units.high, units.wide
        positions = self._hash(low, high)
        slots = self._slots.take(positions)
        # Less than 8 bytes are padded within the first half, which no other unit has then.
        is_wrong = slots["low"] != low
        is_wrong[wide] |= self._high.take(positions[wide]) != high[wide]
        wrong = np.flatnonzero(is_wrong)
        missing = [wrong[:0]]
        waiting = wrong
        while len(waiting):
            is_free = self._slots["low"][positions[waiting]] == 0
            missing.append(waiting[is_free])
            waiting = waiting[~is_free]
            following = (positions[waiting] + 1) & (len(self._slots) - 1)
            positions[waiting] = following
            is_other = self._slots["low"][following] != low[waiting]
            is_other |= self._high[following] != high[waiting]
            waiting = waiting[is_other]
        slots[wrong] = self._slots[positions[wrong]]
        return slots, np.concatenate(missing)

    def _learn(self, keys: np.ndarray, long_words: list[bytes]) -> np.ndarray:
        """Adds distinct units that are not in the table.

        Args:
          keys: uint64 [N, 2], both halves of each unit.

        Returns:
          The new slots, [N].
        """
        padded = keys.tobytes()
        units = []
        for start in range(0, len(padded), _MAX_BYTES):
            units.append(padded[start : start + _MAX_BYTES].rstrip(b"\0"))
        values = self._pieces_of(units + long_words)
        counts = lengths_of(values) // self._dtype.itemsize
        pieces = np.frombuffer(b"".join(values), self._dtype)
        first = self._num_pieces + starts_of(counts)
        total = self._num_pieces + len(pieces)
        if total > len(self.pieces):
            room = np.empty(2 * total, self._dtype)
            self.pieces = np.concatenate([self.pieces[: self._num_pieces], room])
        self.pieces[self._num_pieces : total] = pieces
        self._num_pieces = total
        num_short = len(units)
        pairs = zip(first[num_short:].tolist(), counts[num_short:].tolist(), strict=True)
        self._long.update(zip(long_words, pairs, strict=True))
        slots = np.empty(num_short, _SLOT)
        slots["low"] = keys[:, 0]
        slots["first"] = first[:num_short]
        slots["count"] = counts[:num_short]
        self._insert(slots, keys[:, 1])
        return slots

    def _insert(self, slots: np.ndarray, high: np.ndarray) -> None:
        """Puts slots where their units' hash says, in a larger table if it is needed."""
        bits = self._bits
        while 2 * (self._num_used + len(slots)) > 1 << bits:
            bits += 1
        if bits > self._bits:
            used = np.flatnonzero(self._slots["low"])
            slots = np.concatenate([self._slots[used], slots])
            high = np.concatenate([self._high[used], high])
            self._make_slots(bits)
        self._num_used += len(slots)
        positions = self._hash(slots["low"], high)
        # If several units want the same slot, numpy gives it to the last one, and the others take
        # the next slot. The order is reversed so that the winner is the unit that came first: in a
        # vocabulary and in a text it is likely to be the most frequent one.
        waiting = np.arange(len(slots))[::-1]
        while len(waiting):
            is_free = self._slots["low"][positions[waiting]] == 0
            candidates = waiting[is_free]
            self._slots[positions[candidates]] = slots[candidates]
            self._high[positions[candidates]] = high[candidates]
            stored = positions[waiting]
            is_other = self._slots["low"][stored] != slots["low"][waiting]
            is_other |= self._high[stored] != high[waiting]
            waiting = waiting[is_other]
            positions[waiting] = (positions[waiting] + 1) & (len(self._slots) - 1)


def ragged_range(
    starts: np.ndarray, counts: np.ndarray, ends: np.ndarray | None = None
) -> np.ndarray:
    """Returns [start, start + 1, … start + count - 1] of each pair, concatenated.

    Args:
      ends: the cumulative sum of `counts`, where it is known.
    """
    if ends is None:
        ends = np.cumsum(counts)
    positions = np.repeat(starts + counts - ends, counts)
    positions += np.arange(len(positions))
    return positions

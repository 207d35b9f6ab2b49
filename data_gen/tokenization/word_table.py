"""A hash table from short words to their pieces that is asked about thousands of words at once, in numpy."""

from collections.abc import Callable, Sequence

import numpy as np

# Longest word, in bytes of UTF-8: the words are compared as two 64-bit numbers.
MAX_WORD_BYTES = 16

# The table is emptied when it has learnt this many words.
MAX_WORDS = 200_000
# Slots to begin with (32 bytes each), as a power of two. At most half of them are used.
_MIN_BITS = 17
# Columns of a slot: the word (a free slot has 0 here), its first piece in `pieces`, its number of pieces.
_LOW, _HIGH, _FIRST, _COUNT = range(4)
# Odd numbers without structure (from the golden ratio and from xxHash): the upper bits of the product are the hash.
_LOW_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HIGH_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)


class WordTable:
  """Open addressing with linear probing. Bounded: a full table is emptied.

  Attributes:
    pieces: the pieces of all known words, array of the dtype given.
  """

  def __init__(self, pieces_of: Callable[[list[bytes]], list[bytes]], dtype: np.dtype,
               first_words: Sequence[bytes] = ()):
    """Starts with some words, because learning many at once is quicker.

    Args:
      pieces_of: words → of each its pieces, items of `dtype` one behind the other.
      dtype: of a piece.
      first_words: distinct words.
    """
    self._pieces_of = pieces_of
    self._dtype = np.dtype(dtype)
    self._first_words = list(first_words)
    self._reset()

  def find(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Looks up words; those not met before are learnt.

    Args:
      low, high: uint64 [W], the first and second 8 bytes of each word, little-endian, filled up with zeros; the
        first must not be 0. At most `MAX_WORDS` of them may be different.

    Returns:
      (first, count), int64 [W] each: word i has the pieces self.pieces[first[i]:first[i] + count[i]].
    """
    slots, missing = self._probe(low, high)
    if len(missing):
      # Collecting in a dict is faster here than sorting.
      new = list(dict.fromkeys(zip(low[missing].tolist(), high[missing].tolist(), strict=True)))
      if self._num_words + len(new) > len(self._first_words) + MAX_WORDS:
        self._reset()
        return self.find(low, high)
      self._learn(new)
      slots[missing], _ = self._probe(low[missing], high[missing])
    return slots[:, _FIRST].view(np.int64), slots[:, _COUNT].view(np.int64)

  def _reset(self) -> None:
    self._bits = _MIN_BITS
    self._slots = np.zeros((1 << self._bits, 4), np.uint64)
    self._num_words = self._num_pieces = 0
    self.pieces = np.empty(1 << 16, self._dtype)
    self._learn_words(self._first_words)

  def _hash(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return ((low * _LOW_FACTOR + high * _HIGH_FACTOR) >> np.uint64(64 - self._bits)).view(np.int64)

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

  def _learn(self, keys: list[tuple[int, int]]) -> None:
    padded = np.array(keys, "<u8").tobytes()
    words = [padded[start:start + MAX_WORD_BYTES].rstrip(b"\0") for start in range(0, len(padded), MAX_WORD_BYTES)]
    self._learn_words(words)

  def _learn_words(self, words: list[bytes]) -> None:
    """Adds distinct words that are not in the table."""
    if not words:
      return
    values = self._pieces_of(words)
    counts = np.fromiter(map(len, values), np.int64, len(values)) // self._dtype.itemsize
    pieces = np.frombuffer(b"".join(values), self._dtype)
    total = self._num_pieces + len(pieces)
    if total > len(self.pieces):
      self.pieces = np.concatenate([self.pieces[:self._num_pieces], np.empty(2 * total, self._dtype)])
    self.pieces[self._num_pieces:total] = pieces
    entries = np.empty((len(words), 4), np.uint64)
    entries[:, :2] = np.frombuffer(
      b"".join([word.ljust(MAX_WORD_BYTES, b"\0") for word in words]), "<u8").reshape(-1, 2)
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
    """Puts entries [W, 4] of distinct words into free slots."""
    positions = self._hash(entries[:, _LOW], entries[:, _HIGH])
    # Where several want the same slot numpy lets the last one have it. Backwards, so that it is the word that came
    # first, which in a vocabulary and in a text is likely to be the more frequent one; the others go on.
    waiting = np.arange(len(entries))[::-1]
    while len(waiting):
      free = waiting[self._slots[positions[waiting], _LOW] == 0]
      self._slots[positions[free]] = entries[free]
      settled = (self._slots[positions[waiting], :_FIRST] == entries[waiting, :_FIRST]).all(axis=1)
      waiting = waiting[~settled]
      positions[waiting] = (positions[waiting] + 1) & (len(self._slots) - 1)

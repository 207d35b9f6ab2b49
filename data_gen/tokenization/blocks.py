"""Tokenizes blocks of mostly ASCII text with numpy: no Python code runs per word, except for words never met before.

Used by `data_gen/tokenization/tokenizer.py` for large batches. A block is the UTF-8 of many texts, one behind the other. It
is cut at ASCII white space and ASCII punctuation only; what lies between, a word, may hold any other character,
and its pieces are asked from the exact tokenizer once and looked up from then on (`data_gen/tokenization/word_table.py`).

Cutting at ASCII punctuation before lower-casing changes nothing as long as the text has no capital sigma, the one
character whose lower case depends on what is around it. Such texts must not come here.
"""

import re
from collections.abc import Callable, Iterable

import numpy as np

from data_gen.tokenization.word_table import MAX_WORD_BYTES, WordTable

# A token with its place in its word, in characters.
SPANNED_PIECE = np.dtype([("id", np.int32), ("start", np.int32), ("end", np.int32)])

_SPACES = b" \t\r\n"
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())
# Tables for bytes.translate, which is quicker than numpy: 1 for every byte that is not of a word. All others are,
# control characters and parts of non-ASCII characters included.
_IS_CUT = bytes(byte in _SPACES + _PUNCTUATION for byte in range(256))
_IS_MARK = np.array([byte in _PUNCTUATION for byte in range(256)])
# What the table can hold: no U+0000, because words are filled up with it.
_is_short_word = re.compile(b"[^\\0%s]{1,%d}" % (re.escape(_SPACES + _PUNCTUATION), MAX_WORD_BYTES)).fullmatch
# By number of bytes (the last entry is for all longer words, too): what keeps these of the first and of the second
# 8 bytes of a word.
_KEEP_LOW = np.array([(1 << 8 * min(size, 8)) - 1 for size in range(MAX_WORD_BYTES + 1)], np.uint64)
_KEEP_HIGH = np.array([(1 << 8 * max(size - 8, 0)) - 1 for size in range(MAX_WORD_BYTES + 1)], np.uint64)
_PADDING = bytes(MAX_WORD_BYTES)


class BlockTokenizer:
  """Tokenizes blocks of text; see the head of the file for which. Not for several threads at once."""

  def __init__(self, pieces_of: Callable[[list[str]], list[bytes]], cached_pieces_of: Callable[[str], bytes],
               dtype: np.dtype, do_lower_case: bool, first_words: Iterable[str]):
    """Learns some words in advance.

    Args:
      pieces_of: exact tokenizer of words, each of them one without ASCII punctuation or a punctuation mark: for each
        word items of `dtype` one behind the other.
      cached_pieces_of: the same for one word, for those that are too long to be kept here.
      dtype: int32 for ids only, or `SPANNED_PIECE`.
      do_lower_case: give `pieces_of` ASCII letters in lower case only.
      first_words: distinct words that are likely to come; those that can't be words here are left out.
    """
    self._cached_pieces_of = cached_pieces_of
    self._dtype = np.dtype(dtype)
    self._do_lower_case = do_lower_case
    first = [word for word in (word.encode("utf-8", "surrogatepass") for word in first_words)
             if _is_short_word(word) and not (do_lower_case and word != word.lower())]
    self._pieces_of = pieces_of
    self._table = WordTable(self._pieces_of_bytes, dtype, first)
    self._marks = np.zeros(256, dtype)
    self._marks[list(_PUNCTUATION)] = np.frombuffer(b"".join(pieces_of([chr(mark) for mark in _PUNCTUATION])), dtype)

  def encode(self, data: bytes, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of R texts.

    Args:
      data: UTF-8 (surrogates passed) of the texts with "\n" between them, without U+0000 and capital sigma; a few
        hundred kilobytes at most, so that what is computed on the way stays in the processor's cache.
      lengths: int64 [R], bytes of each text.

    Returns:
      pieces: [T] of the dtype given; the places of a `SPANNED_PIECE` are relative to its text.
      row_lengths: int64 [R].
    """
    raw = b"\n" + data + b"\n"
    block = np.frombuffer((raw.lower() if self._do_lower_case else raw) + _PADDING, np.uint8)
    # Every byte that is not of a word, and the word, perhaps empty, between it and the next.
    cuts = np.flatnonzero(np.frombuffer(raw.translate(_IS_CUT), bool))
    sizes = np.diff(cuts) - 1
    after = np.flatnonzero(sizes)  # words, by the cut they follow
    starts, sizes = cuts[after] + 1, sizes[after]
    first, count, long_words, long_pieces = self._look_up(raw, block, starts, sizes)
    at_cut = block[cuts]
    is_mark = _IS_MARK[at_cut]
    counts = np.zeros((len(cuts), 2), np.int64)  # tokens of the cut, tokens of the word behind it
    counts[:, 0] = is_mark
    counts[after, 1] = count
    ends = np.cumsum(counts.ravel())
    pieces = np.empty(ends[-1], self._dtype)
    marks = np.flatnonzero(is_mark)
    pieces[ends[2 * marks] - 1] = self._marks[at_cut[marks]]
    targets = ends[2 * after]
    if len(long_words):
      pieces[_ragged(targets[long_words], count[long_words])] = long_pieces
      count[long_words] = 0
    self._copy_pieces(pieces, targets, first, count)
    row_starts = np.cumsum(lengths + 1) - lengths - 1  # where the "\n" before each text stands
    if self._dtype == SPANNED_PIECE:
      self._add_places(pieces, raw, row_starts, cuts, counts)
    rows = ends[2 * np.searchsorted(cuts, np.append(row_starts, len(raw) - 1))]
    return pieces, np.diff(rows)

  def _look_up(self, raw: bytes, block: np.ndarray, starts: np.ndarray, sizes: np.ndarray
               ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """(first piece in the table and number of pieces of each word; which words are too long, and their pieces)."""
    windows = np.ndarray((len(block) - 7,), "<u8", block, strides=(1,))  # the 8 bytes from each position
    low = windows[starts] & _KEEP_LOW.take(sizes, mode="clip")
    high = np.zeros_like(low)
    wide = np.flatnonzero(sizes > 8)
    high[wide] = windows[starts[wide] + 8] & _KEEP_HIGH.take(sizes[wide], mode="clip")
    long_words = np.flatnonzero(sizes > MAX_WORD_BYTES)
    if not len(long_words):
      return *self._table.find(low, high), long_words, None
    # The table gets a word it knows in place of each long one.
    low[long_words], high[long_words] = _KNOWN_LOW, 0
    first, count = self._table.find(low, high)
    long_starts = starts[long_words]
    values = [self._cached_pieces_of(raw[start:end].decode("utf-8", "surrogatepass"))
              for start, end in zip(long_starts.tolist(), (long_starts + sizes[long_words]).tolist(), strict=True)]
    count[long_words] = np.fromiter(map(len, values), np.int64, len(values)) // self._dtype.itemsize
    return first, count, long_words, np.frombuffer(b"".join(values), self._dtype)

  def _copy_pieces(self, pieces: np.ndarray, targets: np.ndarray, first: np.ndarray, count: np.ndarray) -> None:
    """Copies the pieces of every word to its target: all first pieces, then all second ones, and so on."""
    source = self._table.pieces
    left = np.flatnonzero(count)
    if len(left) < len(count):
      targets, first, count = targets[left], first[left], count[left]
    while len(targets):
      pieces[targets] = source[first]
      more = np.flatnonzero(count > 1)
      targets, first, count = targets[more] + 1, first[more] + 1, count[more] - 1

  def _add_places(self, pieces: np.ndarray, raw: bytes, row_starts: np.ndarray, cuts: np.ndarray, counts: np.ndarray
                  ) -> None:
    """Makes the places of pieces in their words places in their texts."""
    unit_starts = np.stack([cuts, cuts + 1], axis=1).ravel()
    if not raw.isascii():
      # From bytes to characters: continuation bytes of UTF-8 do not count.
      characters = np.cumsum((np.frombuffer(raw, np.uint8) & 0xC0) != 0x80) - 1
      characters = np.append(characters, characters[-1] + 1)
      unit_starts, row_starts = characters[unit_starts], characters[row_starts]
    rows = np.searchsorted(row_starts, unit_starts, side="right") - 1
    offsets = np.repeat((unit_starts - row_starts[rows] - 1).astype(np.int32), counts.ravel())
    pieces["start"] += offsets
    pieces["end"] += offsets

  def _pieces_of_bytes(self, words: list[bytes]) -> list[bytes]:
    # "\n" is not part of a word: all are decoded at once.
    return self._pieces_of(b"\n".join(words).decode("utf-8", "surrogatepass").split("\n"))


# Any word will do.
_KNOWN_LOW = int.from_bytes(b"a", "little")


def _ragged(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
  """[start, start + 1, … start + count - 1] of each, one behind the other."""
  before = np.cumsum(counts) - counts
  return np.repeat(starts - before, counts) + np.arange(counts.sum())

"""From words to word pieces of a vocabulary (`WordpieceTokenizer` of the original).

Input: words of `basic.py`. Output: ids.

Greedy: the longest piece of the vocabulary at the start of the word, then the longest "##" piece, and so on; if
any part of the word is covered by no piece, the whole word is [UNK]. "unaffable" → un ##aff ##able.
"""

from collections.abc import Iterable

import numpy as np

from data_gen.tokenization.vocabulary import UNK, Vocabulary

# Bytes of an id in what `WordPiece.ids` returns (int32).
ID_BYTES = 4
# Longer words are [UNK] (characters, after NFD), as in the original.
MAX_WORD_CHARACTERS = 200

# Characters by which `_lengths_by_prefix` tells pieces apart.
_PREFIX = 4


class WordPiece:
  """Splits words. Ids come as bytes, which are cheaper than numbers to keep and to join."""

  def __init__(self, vocabulary: Vocabulary):
    packed = np.arange(vocabulary.size, dtype=np.int32).tobytes()
    ids = [packed[start:start + ID_BYTES] for start in range(0, len(packed), ID_BYTES)]
    self._starts = dict(zip(vocabulary.tokens, ids, strict=True))
    self._continuations = {token[2:]: id for token, id in self._starts.items() if token.startswith("##")}
    # A piece has at least one character: "##" alone must never match, or the search would not advance.
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
    return [(self._starts[UNK], len(word))] if ids is None else [(id, self._lengths[id]) for id in ids]

  def _split(self, word: str) -> list[bytes] | None:
    """The id of each piece, or None where the pieces do not cover the word."""
    found = []
    pieces, lengths = self._starts, self._start_lengths
    start, size = 0, len(word)
    while start < size:
      for length in lengths.get(word[start:start + _PREFIX]) or lengths.get(word[start], ()):
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
  """First characters of a piece → the lengths worth trying, longest first: far fewer than all up to the longest.

  The keys are the first `_PREFIX` characters of longer pieces and, for the shorter ones, the first character.
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

"""From text to WordPiece ids, exactly as the original `FullTokenizer`, in batches and at the speed of `str.split()`.

    tokenizer = Tokenizer.from_file("vocab.txt", do_lower_case=True)
    ids, row_lengths, spans = tokenizer.encode_batch(["Hello, world!", "And you?"], spans=True)

Before this: `data_gen/vocabulary.py`, `data_gen/basic_tokenization.py`. After it: whatever makes features of ids.

How it is fast: the original's algorithm never looks beyond a chunk (what white space and Chinese characters
delimit), so the ids of a chunk are remembered, as bytes, and those of a text are
`b"".join(map(cache.__getitem__, text.split()))`: loops in C, and nothing in Python but the chunks never met before.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from data_gen.basic_tokenization import (
  basic_tokenize,
  basic_tokenize_with_spans,
  find_chunk_starts,
  find_chunks,
  splits_plainly,
)
from data_gen.vocabulary import SPECIAL_TOKENS, Vocabulary
from data_gen.wordpiece import ID_BYTES, WordPiece

# A cache is emptied when it holds this many entries: just under the size at which the dict would double.
_CACHE_ENTRIES = 349_000
# Longer chunks (addresses, base64, sentences of languages without spaces) hardly ever come back.
_LONGEST_CACHED_CHUNK = 48

_split_special_tokens = re.compile(f"({'|'.join(map(re.escape, SPECIAL_TOKENS))})").split


class Encoding(NamedTuple):
  """Tokens of R texts, T in all, one text behind the other.

  Attributes:
    ids: int32 [T].
    row_lengths: int64 [R], number of tokens of each text; 0 for a text without any.
    spans: int32 [T, 2] or None: the token is text[start:end] of its own text, in Python characters.
  """
  ids: np.ndarray
  row_lengths: np.ndarray
  spans: np.ndarray | None


class Tokenizer:
  """WordPiece tokenizer, identical to `FullTokenizer` of the original. Results never depend on what was seen before.

  Can be pickled (the caches stay behind). Holds at most some 60 MB in each of up to four caches: ids and spans,
  each with and without special tokens recognised.
  """

  def __init__(self, vocabulary: Vocabulary, do_lower_case: bool = True):
    """Takes a vocabulary; with `do_lower_case` text is lower-cased and accents are stripped."""
    self.vocabulary = vocabulary
    self.do_lower_case = do_lower_case
    self._wordpiece = WordPiece(vocabulary)
    self._word_cache = _Cache(self._wordpiece.ids)
    # By whether special tokens are recognised.
    self._ids_caches = {False: _Cache(self._ids_of_chunk), True: _Cache(self._ids_of_special_chunk)}
    self._spans_caches = {False: _Cache(self._spans_of_chunk), True: _Cache(self._spans_of_special_chunk)}

  @classmethod
  def from_file(cls, vocab_file: str, do_lower_case: bool = True) -> "Tokenizer":
    """Reads the vocabulary first.

    Raises:
      UserError: see `Vocabulary.from_file`.
    """
    return cls(Vocabulary.from_file(vocab_file), do_lower_case)

  def __reduce__(self):
    return type(self), (self.vocabulary, self.do_lower_case)

  def tokenize(self, text: str) -> list[str]:
    """The tokens of a text, e.g. ['un', '##aff', '##able']."""
    return [self.vocabulary.tokens[id] for id in self.encode(text).tolist()]

  def encode(self, text: str, special_tokens: bool = False) -> np.ndarray:
    """The ids of a text, int32 [T]; [CLS] and [SEP] are not added. Many texts: `encode_batch`, which is faster.

    Args:
      text: any str.
      special_tokens: "[MASK]", "[SEP]", "[CLS]", "[PAD]" and "[UNK]" in the text, written exactly so, are those
        tokens wherever they stand; otherwise they are brackets and words like any other.
    """
    return self.encode_batch([text], special_tokens).ids

  def encode_batch(self, texts: Sequence[str], special_tokens: bool = False, spans: bool = False) -> Encoding:
    """The ids of many texts; [CLS] and [SEP] are not added.

    Args:
      texts: R str.
      special_tokens: as in `encode`.
      spans: also return where each token stands in its text. [UNK] covers its word; the rules for characters that
        are deleted or become several are in docs/tokenization.md.

    Raises:
      TypeError: a text is not a str.
    """
    if isinstance(texts, str):
      raise TypeError("encode_batch takes a list of texts; use encode() for one text")
    texts = texts if isinstance(texts, list | tuple) else list(texts)
    blob = "\n".join(texts)
    # One quick look at everything spares most batches a look at each text.
    chunks_of = str.split if splits_plainly(blob) else _chunks
    if spans:
      return self._encode_with_spans(texts, blob, chunks_of, special_tokens)
    ids_of = self._ids_caches[special_tokens].__getitem__
    join = b"".join
    rows = [join(map(ids_of, chunks_of(text))) for text in texts]
    row_lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // ID_BYTES
    return Encoding(_array(rows), row_lengths, None)

  def _encode_with_spans(self, texts: Sequence[str], blob: str, chunks_of: Callable, special_tokens: bool) -> Encoding:
    # In the joined text everything is found at once: "\n" is white space, so no chunk goes over the end of a text.
    text_lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    text_starts = np.cumsum(text_lengths + 1) - text_lengths - 1
    chunk_starts = find_chunk_starts(blob)
    chunks = [chunk for text in texts for chunk in chunks_of(text)]
    chunk_ids = list(map(self._ids_caches[special_tokens].__getitem__, chunks))
    chunk_lengths = np.fromiter(map(len, chunk_ids), np.int64, len(chunk_ids)) // ID_BYTES
    first_tokens = np.concatenate([[0], np.cumsum(chunk_lengths)])
    first_chunks = np.searchsorted(chunk_starts, np.append(text_starts, len(blob) + 1))
    row_lengths = np.diff(first_tokens[first_chunks])
    spans = _array(map(self._spans_caches[special_tokens].__getitem__, chunks)).reshape(-1, 2)
    chunk_texts = np.searchsorted(text_starts, chunk_starts, side="right") - 1
    offsets = (chunk_starts - text_starts[chunk_texts]).astype(np.int32)
    spans += np.repeat(offsets, chunk_lengths)[:, None]
    return Encoding(_array(chunk_ids), row_lengths, spans)

  def _ids_of_chunk(self, chunk: str) -> bytes:
    return b"".join(map(self._word_cache.__getitem__, basic_tokenize(chunk, self.do_lower_case)))

  def _ids_of_special_chunk(self, chunk: str) -> bytes:
    return b"".join([self._wordpiece.id_bytes(part) if is_special else self._ids_of_chunk(part)
                     for part, is_special, _ in _special_parts(chunk)])

  def _spans_of_chunk(self, chunk: str) -> bytes:
    """Start and end of each token, relative to the chunk, int32."""
    return np.array(self._spans_of_part(chunk, 0), np.int32).tobytes()

  def _spans_of_special_chunk(self, chunk: str) -> bytes:
    spans = []
    for part, is_special, offset in _special_parts(chunk):
      spans += (offset, offset + len(part)) if is_special else self._spans_of_part(part, offset)
    return np.array(spans, np.int32).tobytes()

  def _spans_of_part(self, part: str, offset: int) -> list[int]:
    spans = []
    for word, starts, ends in basic_tokenize_with_spans(part, self.do_lower_case):
      first = 0
      for length in self._wordpiece.lengths(word):
        last = first + length
        # Not simply the first start and the last end: NFD may put a later mark before an earlier one.
        spans += (offset + min(starts[first:last]), offset + max(ends[first:last]))
        first = last
    return spans


class _Cache(dict):
  """text → bytes, worked out by `function` where missing; bounded."""

  def __init__(self, function: Callable[[str], bytes]):
    super().__init__()
    self._function = function

  def __missing__(self, text: str) -> bytes:
    value = self._function(text)
    if len(text) <= _LONGEST_CACHED_CHUNK:
      if len(self) >= _CACHE_ENTRIES:
        # Starting afresh keeps up with a text whose language changes, and costs a fraction of a second each time.
        self.clear()
      self[text] = value
    return value


def _special_parts(chunk: str) -> Iterator[tuple[str, bool, int]]:
  """The chunk cut around special tokens: (part, whether it is one, where it starts)."""
  offset = 0
  for index, part in enumerate(_split_special_tokens(chunk)):
    yield part, index % 2 == 1, offset
    offset += len(part)


def _chunks(text: str) -> list[str]:
  return text.split() if splits_plainly(text) else find_chunks(text)


def _array(rows: Iterable[bytes]) -> np.ndarray:
  # bytearray: the caller may write into the array.
  return np.frombuffer(bytearray().join(rows), np.int32)

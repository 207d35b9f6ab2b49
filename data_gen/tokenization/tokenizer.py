"""From text to WordPiece ids, exactly as the original `FullTokenizer`, in batches and at the speed
of `str.split()`.

    tokenizer = Tokenizer.from_file("vocab.txt", do_lower_case=True)
    ids, row_lengths, offsets = tokenizer.encode_batch(["Hello, world!", "And you?"], offsets=True)

Input: texts. Output: flat arrays of ids, of which features are made.

How it is fast: the original's algorithm never looks beyond a chunk (what white space and Chinese
characters delimit), so a chunk is tokenized once and remembered. Large batches of mostly ASCII text
go through `vectorized.py`, two to three times as fast; all others are
`b"".join(map(cache.__getitem__, text.split()))`, loops in C.
"""

import re
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from data_gen.tokenization.vectorized import PIECE_WITH_OFFSETS, VectorizedTokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from data_gen.tokenization.wordpiece import (
    ID_BYTES,
    WordPiece,
    basic_tokenize,
    basic_tokenize_with_offsets,
    find_chunk_starts,
    find_chunks,
    splits_plainly,
)

# A cache is emptied when it holds this many entries: just under the size at which a dict would
# double.
_CACHE_ENTRIES = 174_000
# Longer chunks (addresses, base64, sentences of languages without spaces) hardly ever come back.
_LONGEST_CACHED_CHUNK = 48

# Up to this many characters are done before numpy has got going.
_SMALLEST_BATCH = 8_000
# A batch for `VectorizedTokenizer` and what is computed from it should fit in the second-level
# cache of a core.
_BATCH_CHARACTERS = 128_000
# Bytes; a single text may be longer than a batch should be. Up to two of these must have fewer
# different words than a `WordTable` holds.
_LONGEST_BATCH = 200_000
# Texts with more bytes per character are mostly not ASCII: their words are long in UTF-8.
_MOST_BYTES_PER_CHARACTER = 1.25

_pack_offsets = struct.Struct("=ii").pack
# Every second part is a special token.
_split_special_tokens = re.compile(f"({'|'.join(map(re.escape, SPECIAL_TOKENS))})").split


class Encoding(NamedTuple):
    """Tokens of R texts, T in all, concatenated.

    Attributes:
      ids: int32 [T].
      row_lengths: int64 [R], number of tokens of each text; 0 for a text without any.
      offsets: int32 [T, 2] or None: the token is text[start:end] of its own text, in Python
        characters.
    """

    ids: np.ndarray
    row_lengths: np.ndarray
    offsets: np.ndarray | None


class Tokenizer:
    """WordPiece tokenizer, identical to `FullTokenizer` of the original. Results never depend on
    what was seen before.

    Can be pickled (without the caches) and used by several threads. What it remembers is bounded:
    about 120 MB if only ids are asked for, 300 MB if everything is.

    Examples:
        tokenizer = Tokenizer(Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",
        "##aff", "##able"])) tokenizer.tokenize("Unaffable!")                                  #
        ["un", "##aff", "##able", "[UNK]"] ids, row_lengths, offsets =
        tokenizer.encode_batch(["unaffable", "un"], offsets=True) offsets.tolist()
        # [[0, 2], [2, 5], [5, 9], [0, 2]]
    """

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool = True):
        """Takes a vocabulary; with `do_lower_case` text is lower-cased and accents are stripped."""
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        self._wordpiece = WordPiece(vocabulary)
        self._word_cache = _Cache(self._wordpiece.ids)
        # By whether offsets are asked for: then a piece is a `PIECE_WITH_OFFSETS`, else an int32
        # id.
        self._caches = {
            False: _Cache(self._ids_of_chunk),
            True: _Cache(self._pieces_with_offsets_of_chunk),
        }
        # By whether offsets are asked for; the second is made when needed.
        self._vectorized_tokenizers: dict[bool, VectorizedTokenizer] = {}
        self._vectorized_tokenizer(offsets=False)
        self._lock = threading.Lock()

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
        """The ids of a text, int32 [T]; [CLS] and [SEP] are not added. Many texts: `encode_batch`,
        which is faster.

        Args:
          special_tokens: "[MASK]", "[SEP]", "[CLS]", "[PAD]" and "[UNK]" in the text, written
            exactly so, are those tokens wherever they stand; otherwise they are brackets and words
            like any other.
        """
        return self.encode_batch([text], special_tokens).ids

    def encode_batch(
        self, texts: Sequence[str], special_tokens: bool = False, offsets: bool = False
    ) -> Encoding:
        """The ids of many texts; [CLS] and [SEP] are not added.

        Args:
          special_tokens: as in `encode`.
          offsets: also return where each token stands in its text. [UNK] covers its word; the rules
            for characters that are deleted or become several are in docs/tokenization.md.

        Raises:
          TypeError: a text is not a str.
        """
        if isinstance(texts, str):
            raise TypeError("encode_batch takes a list of texts; use encode() for one text")
        texts = texts if isinstance(texts, list | tuple) else list(texts)
        if not special_tokens:
            pieces, row_lengths = self._encode(texts, offsets)
        else:
            # What stands between special tokens as if it were texts of its own, with these in their
            # places.
            parts = [
                (row, place, part)
                for row, text in enumerate(texts)
                for place, part in enumerate(_split_special_tokens(text))
            ]
            rows, places = (
                np.array([part[number] for part in parts], np.int64) for number in (0, 1)
            )
            is_special = places % 2 == 1
            pieces, lengths = self._encode(
                ["" if place % 2 else part for _, place, part in parts], offsets
            )
            found = np.frombuffer(
                b"".join(
                    [
                        self._wordpiece.id_bytes(part)
                        + (_pack_offsets(0, len(part)) if offsets else b"")
                        for _, place, part in parts
                        if place % 2
                    ]
                ),
                pieces.dtype,
            )
            pieces = np.insert(pieces, np.cumsum(lengths)[is_special], found)
            lengths = lengths + is_special
            if offsets:
                ends = np.cumsum([len(part) for _, _, part in parts], dtype=np.int64)
                starts = np.append(0, ends)[:-1]
                shift = np.repeat((starts - starts[places == 0][rows]).astype(np.int32), lengths)
                pieces["start"] += shift
                pieces["end"] += shift
            row_lengths = np.bincount(rows, lengths, len(texts)).astype(np.int64)
        if not offsets:
            return Encoding(pieces, row_lengths, None)
        return Encoding(
            pieces["id"].copy(), row_lengths, np.stack([pieces["start"], pieces["end"]], axis=1)
        )

    def _encode(self, texts: Sequence[str], offsets: bool) -> tuple[np.ndarray, np.ndarray]:
        """(pieces, row lengths) of the texts, whichever way is quicker for each of them."""
        if sum(map(len, texts)) <= _SMALLEST_BATCH:
            return self._encode_chunks(texts, offsets)
        outputs = [self._encode_part(part, offsets) for part in _batches(texts)]
        pieces, row_lengths = zip(*outputs, strict=True)
        return np.concatenate(pieces), np.concatenate(row_lengths)

    def _encode_part(self, texts: Sequence[str], offsets: bool) -> tuple[np.ndarray, np.ndarray]:
        blob = "\n".join(texts)
        if blob.isascii():
            data = blob.encode()
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        else:
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            data = b"\n".join(encoded)
            lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        # Looking up may change the vectorized tokenizer's table; the caches are dicts and need no
        # lock.
        if _fits_vectorized(blob, data):
            with self._lock:
                return self._vectorized_tokenizer(offsets).encode(data, lengths)
        if len(texts) == 1:
            return self._encode_chunks(texts, offsets)
        fits = np.array(
            [_fits_vectorized(text, text.encode("utf-8", "surrogatepass")) for text in texts]
        )
        others = self._encode_chunks(
            [text for text, fit in zip(texts, fits, strict=True) if not fit], offsets
        )
        if not fits.any():
            return others
        encoded = [
            text.encode("utf-8", "surrogatepass")
            for text, fit in zip(texts, fits, strict=True)
            if fit
        ]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        with self._lock:
            fitting = self._vectorized_tokenizer(offsets).encode(b"\n".join(encoded), lengths)
        row_lengths = np.empty(len(fits), np.int64)
        row_lengths[fits], row_lengths[~fits] = fitting[1], others[1]
        is_fitting = np.repeat(fits, row_lengths)
        pieces = np.empty(len(is_fitting), others[0].dtype)
        pieces[is_fitting], pieces[~is_fitting] = fitting[0], others[0]
        return pieces, row_lengths

    def _encode_chunks(self, texts: Sequence[str], offsets: bool) -> tuple[np.ndarray, np.ndarray]:
        """(pieces, row lengths) by looking up chunk after chunk."""
        blob = "\n".join(texts)
        # One quick look at everything spares most batches a look at each text.
        chunks_of: Callable[[str], list[str]] = (
            str.split
            if splits_plainly(blob)
            else (lambda text: text.split() if splits_plainly(text) else find_chunks(text))
        )
        pieces_of = self._caches[offsets].__getitem__
        if not offsets:
            join = b"".join
            rows = [join(map(pieces_of, chunks_of(text))) for text in texts]
            # bytearray, here and below: the caller may write into the array.
            ids: np.ndarray = np.frombuffer(bytearray().join(rows), np.int32)
            return ids, np.fromiter(map(len, rows), np.int64, len(rows)) // ID_BYTES
        # In the joined text everything is found at once: "\n" is white space, so no chunk goes over
        # the end of a text.
        text_lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        text_starts = np.cumsum(text_lengths + 1) - text_lengths - 1
        chunk_starts = find_chunk_starts(blob)
        values = [pieces_of(chunk) for text in texts for chunk in chunks_of(text)]
        counts = np.fromiter(map(len, values), np.int64, len(values)) // PIECE_WITH_OFFSETS.itemsize
        pieces: np.ndarray = np.frombuffer(bytearray().join(values), PIECE_WITH_OFFSETS)
        chunk_texts = np.searchsorted(text_starts, chunk_starts, side="right") - 1
        shift = np.repeat((chunk_starts - text_starts[chunk_texts]).astype(np.int32), counts)
        pieces["start"] += shift
        pieces["end"] += shift
        first_pieces = np.concatenate([[0], np.cumsum(counts)])
        first_chunks = np.searchsorted(chunk_starts, np.append(text_starts, len(blob) + 1))
        return pieces, np.diff(first_pieces[first_chunks])

    def _vectorized_tokenizer(self, offsets: bool) -> VectorizedTokenizer:
        if offsets not in self._vectorized_tokenizers:
            ids, ids_of_chunk = self._wordpiece.ids, self._ids_of_chunk
            # Its words have no ASCII punctuation, and are in lower case where that is asked for.
            self._vectorized_tokenizers[offsets] = VectorizedTokenizer(
                (lambda words: list(map(self._pieces_with_offsets_of_chunk, words)))
                if offsets
                else (
                    lambda words: [
                        ids(word) if word.isascii() and word.isprintable() else ids_of_chunk(word)
                        for word in words
                    ]
                ),
                self._caches[offsets].__getitem__,
                PIECE_WITH_OFFSETS if offsets else np.int32,
                self.do_lower_case,
                self.vocabulary.tokens,
            )
        return self._vectorized_tokenizers[offsets]

    def _ids_of_chunk(self, chunk: str) -> bytes:
        return b"".join(
            map(self._word_cache.__getitem__, basic_tokenize(chunk, self.do_lower_case))
        )

    def _pieces_with_offsets_of_chunk(self, chunk: str) -> bytes:
        """Offsets are relative to the chunk."""
        pieces: list[bytes] = []
        for word, starts, ends in basic_tokenize_with_offsets(chunk, self.do_lower_case):
            first = 0
            for id, length in self._wordpiece.pieces(word):
                last = first + length
                # Not simply the first start and the last end: NFD may put a later mark before an
                # earlier one.
                pieces += (id, _pack_offsets(min(starts[first:last]), max(ends[first:last])))
                first = last
        return b"".join(pieces)


class _Cache(dict):
    """text → bytes, worked out by `function` where missing; bounded."""

    def __init__(self, function: Callable[[str], bytes]):
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> bytes:
        value = self._function(text)
        if len(text) <= _LONGEST_CACHED_CHUNK:
            if len(self) >= _CACHE_ENTRIES:
                # Starting afresh keeps up with a text whose language changes, and costs a fraction
                # of a second each time.
                self.clear()
            self[text] = value
        return value


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in groups of about `_BATCH_CHARACTERS`."""
    start = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= _BATCH_CHARACTERS:
            yield texts[start:end]
            start, size = end, 0
    if start < len(texts):
        yield texts[start:]


def _fits_vectorized(text: str, data: bytes) -> bool:
    """Whether `VectorizedTokenizer` is right for the text, whose UTF-8 is `data`, and quick."""
    if len(data) > _LONGEST_BATCH or b"\0" in data:
        return False
    if len(data) == len(text):
        return True
    return len(data) <= _MOST_BYTES_PER_CHARACTER * len(text) and "Σ" not in text

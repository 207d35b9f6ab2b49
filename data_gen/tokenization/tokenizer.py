"""From text to WordPiece ids, exactly as the original `FullTokenizer`, in batches and at the speed
of `str.split()`.

    tokenizer = Tokenizer.from_file("vocab.txt", do_lower_case=True)
    ids, row_lengths, offsets = tokenizer.encode_batch(["Hello, world!", "And you?"], offsets=True)

Input: texts. Output: flat arrays of ids, for features.

The speed comes from a cache: the original's algorithm never looks beyond a chunk (text between
white space and Chinese characters), so each chunk is tokenized once and remembered. Large batches
of mostly ASCII text go through `vectorized.py`, about three times as fast, and many of them through
`nanotoken_engine.py` where that is installed; all unfitting are
`b"".join(map(cache.__getitem__, text.split()))`, loops in C.
"""

import bisect
import functools
import itertools
import struct
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from data_gen.ragged import bounds_of, lengths_of, starts_of
from data_gen.tokenization import nanotoken_engine
from data_gen.tokenization.added_tokens import AddedTokens
from data_gen.tokenization.settings import AddedToken
from data_gen.tokenization.vectorized import PIECE_WITH_OFFSETS, SEPARATOR, VectorizedTokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import (
    ID_BYTES,
    WordPiece,
    basic_tokenize,
    basic_tokenize_with_offsets,
    find_chunk_starts,
    find_chunks,
    splits_plainly,
    strips_accents,
)

# A cache is emptied when it has this many entries: just under the size at which a dict would
# double.
_CACHE_ENTRIES = 174_000
# Longer chunks (addresses, base64, sentences of languages without spaces) hardly ever come back.
_LONGEST_CACHED_CHUNK = 48

# A dict has tokenized this many characters before numpy has begun.
_SMALLEST_BATCH = 8_000
# A batch for `VectorizedTokenizer` and the arrays computed from it should fit in the second-level
# cache of a core.
_BATCH_CHARACTERS = 128_000
# So many texts are joined to see how long they are, which takes half the time of asking each, and
# for a moment as much memory as they have.
_MOST_JOINED = 2_000
# Largest batch in bytes; a single text may be longer than a batch should be. Two of these must have
# fewer different words than a `UnitTable` holds.
_LONGEST_BATCH = 200_000
# Texts with more bytes per character are mostly not ASCII: their words are too long for the table.
_MAX_BYTES_PER_CHARACTER = 1.25

# An engine, which takes as long to start, takes over after this many characters of large batches.
_ENGINE_CHARACTERS = 4_000_000
_NANOTOKEN = "nanotoken"

_pack_id = struct.Struct("=i").pack
_pack_offsets = struct.Struct("=ii").pack


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


class _Pieces(NamedTuple):
    """Word pieces of R texts, concatenated.

    Attributes:
      pieces: [T], int32 ids or `PIECE_WITH_OFFSETS`.
      row_lengths: int64 [R].
    """

    pieces: np.ndarray
    row_lengths: np.ndarray


class Tokenizer:
    """WordPiece tokenizer, identical to `FullTokenizer` of the original.

    Accents and added tokens are treated as the vocabulary says, in which published models differ.
    Results never depend on texts seen before. A tokenizer can be pickled (without the caches) and
    used by several threads. Its memory is bounded: about 120 MB for ids only, 300 MB with offsets.

    Examples:
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able"]
        tokenizer = Tokenizer(Vocabulary(tokens))
        tokenizer.tokenize("Unaffable!")  # ["un", "##aff", "##able", "[UNK]"]
        encoding = tokenizer.encode_batch(["unaffable", "un"], offsets=True)
        encoding.offsets.tolist()  # [[0, 2], [2, 5], [5, 9], [0, 2]]
    """

    def __init__(
        self, vocabulary: Vocabulary, do_lower_case: bool = True, engine: str | None = None
    ):
        """Takes a vocabulary; `do_lower_case` lower-cases text and, unless the vocabulary has its
        own setting, strips accents.

        Args:
          engine: "numpy", or "nanotoken" for batches without offsets; None for nanotoken where it
            is installed and there is more text than its start is worth. The ids are the same.

        Raises:
          UserError: the engine is not installed, in a version whose ids are known.
        """
        if engine == _NANOTOKEN and not nanotoken_engine.installed():
            raise UserError(
                "the tokenizer's engine nanotoken is not there in a version whose ids were "
                "compared: pip install '.[fast]' in a clone of the project"
            )
        if engine not in (None, "numpy", _NANOTOKEN):
            raise UserError(f"the tokenizer has no engine {engine!r}: it has numpy and nanotoken")
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        special = [
            AddedToken(token, vocabulary.id_of(token)) for token in vocabulary.special_tokens
        ]
        # The key is whether special tokens are found in texts, too.
        self._added_tokens = {}
        for is_special, tokens in ((False, []), (True, special)):
            self._added_tokens[is_special] = AddedTokens(
                [*tokens, *vocabulary.added_tokens], do_lower_case, vocabulary.strip_accents
            )
        self._wordpiece = WordPiece(vocabulary)
        self._word_cache = _Cache(self._wordpiece.ids)
        # The key is whether offsets are wanted: a piece is a `PIECE_WITH_OFFSETS` then, else an
        # int32 id.
        self._caches = {
            False: _Cache(self._ids_of_chunk),
            True: _Cache(self._pieces_with_offsets_of_chunk),
        }
        # The key is the same; the tokenizer with offsets is made when needed.
        self._vectorized_tokenizers: dict[bool, VectorizedTokenizer] = {}
        self._vectorized_tokenizer(offsets=False)
        self._engine_name = engine
        self._num_characters = 0
        # Looking up changes the table of a vectorized tokenizer. The caches are dicts, which need
        # no lock.
        self._lock = threading.Lock()

    @classmethod
    def from_file(
        cls, vocab_file: str, do_lower_case: bool = True, strip_accents: bool | None = None
    ) -> "Tokenizer":
        """Makes a tokenizer of a vocabulary file.

        Args:
          strip_accents: None for the setting beside the file.

        Raises:
          UserError: see `Vocabulary.from_file`.
        """
        vocabulary = Vocabulary.from_file(vocab_file)
        if strip_accents is not None:
            vocabulary.strip_accents = strip_accents
        return cls(vocabulary, do_lower_case)

    @property
    def strip_accents(self) -> bool:
        """Whether accents are stripped from texts."""
        return strips_accents(self.do_lower_case, self.vocabulary.strip_accents)

    def __reduce__(self):
        return type(self), (self.vocabulary, self.do_lower_case, self._engine_name)

    def tokenize(self, text: str) -> list[str]:
        """Returns the tokens of a text, e.g. ['un', '##aff', '##able']."""
        return [self.vocabulary.tokens[id] for id in self.encode(text).tolist()]

    def encode(self, text: str, special_tokens: bool = False) -> np.ndarray:
        """Returns the ids of a text, int32 [T], without [CLS] and [SEP].

        `encode_batch` is faster for many texts.

        Args:
          special_tokens: "[MASK]", "[SEP]", "[CLS]", "[PAD]" and "[UNK]" in the text, spelled
            exactly so, are those tokens wherever they occur; otherwise they are brackets and words
            like any other.
        """
        return self.encode_batch([text], special_tokens).ids

    def encode_batch(
        self, texts: Sequence[str], special_tokens: bool = False, offsets: bool = False
    ) -> Encoding:
        """Returns the ids of many texts, without [CLS] and [SEP].

        Args:
          special_tokens: as in `encode`.
          offsets: also return the position of each token in its text. [UNK] covers its word; the
            rules for characters that are deleted or become several are in docs/tokenization.md.

        Raises:
          TypeError: a text is not a str.
        """
        # A text is a sequence of texts of one character, so the mistake would go unnoticed.
        if isinstance(texts, str):
            raise TypeError("encode_batch takes a list of texts; use encode() for one text")
        if not isinstance(texts, list | tuple):
            texts = list(texts)
        if special_tokens or self.vocabulary.added_tokens:
            pieces, row_lengths = self._encode_with_added_tokens(
                texts, self._added_tokens[special_tokens], offsets
            )
        else:
            pieces, row_lengths = self._encode(texts, offsets)
        if not offsets:
            return Encoding(pieces, row_lengths, None)
        return Encoding(
            pieces["id"].copy(), row_lengths, np.stack([pieces["start"], pieces["end"]], axis=1)
        )

    def _encode_with_added_tokens(
        self, texts: Sequence[str], added_tokens: AddedTokens, offsets: bool
    ) -> _Pieces:
        """Encodes the text between added tokens like texts of its own, and inserts these."""
        rows = []
        starts_in_texts = []
        ordinary_parts = []
        special_pieces = []
        is_special = []
        for row, text in enumerate(texts):
            for start, end, id in added_tokens.split(text):
                rows.append(row)
                starts_in_texts.append(start)
                is_special.append(id is not None)
                if id is None:
                    ordinary_parts.append(text[start:end])
                    continue
                # An empty text keeps the place of the token among the rows.
                ordinary_parts.append("")
                special_pieces.append(_pack_id(id))
                if offsets:
                    special_pieces.append(_pack_offsets(0, end - start))
        is_special_row = np.array(is_special, bool)
        pieces, lengths = self._encode(ordinary_parts, offsets)
        inserted = np.frombuffer(b"".join(special_pieces), pieces.dtype)
        # All positions refer to the array before the insertion, so one call inserts every token.
        pieces = np.insert(pieces, np.cumsum(lengths)[is_special_row], inserted)
        lengths = lengths + is_special_row
        rows_of_parts = np.array(rows, np.int64)
        if offsets:
            # Offsets in a part become offsets in its text.
            _shift_offsets(pieces, np.array(starts_in_texts, np.int64), lengths)
        # The minimum length keeps rows of texts at the end that have no part.
        row_lengths = np.bincount(rows_of_parts, lengths, len(texts)).astype(np.int64)
        return _Pieces(pieces, row_lengths)

    def _encode(self, texts: Sequence[str], offsets: bool) -> _Pieces:
        """Encodes little text at once, more in batches."""
        if len(texts) <= _MOST_JOINED:
            joined = _join(texts)
            if len(joined) <= _SMALLEST_BATCH:
                return self._encode_chunks(texts, offsets)
            if len(joined) <= _BATCH_CHARACTERS:
                self._num_characters += len(joined)
                return self._encode_part(texts, joined, offsets)
        ends = list(itertools.accumulate(map(len, texts)))
        self._num_characters += ends[-1]
        parts = []
        start = 0
        full = _BATCH_CHARACTERS
        while start < len(texts):
            end = bisect.bisect_left(ends, full, hi=len(texts) - 1) + 1
            batch = texts[start:end]
            parts.append(self._encode_part(batch, _join(batch), offsets))
            start = end
            full = ends[end - 1] + _BATCH_CHARACTERS
        if len(parts) == 1:
            return parts[0]
        return _Pieces(
            np.concatenate([part.pieces for part in parts]),
            np.concatenate([part.row_lengths for part in parts]),
        )

    def _encode_part(self, texts: Sequence[str], joined: str, offsets: bool) -> _Pieces:
        """Encodes a batch, or a single longer text; `joined` is all of it, see `_join`."""
        if not offsets and self._uses_engine():
            return self._encode_with_engine(texts, joined)
        return self._encode_in_python(texts, joined, offsets)

    def _uses_engine(self) -> bool:
        if self._engine_name is not None:
            return self._engine_name == _NANOTOKEN
        return self._num_characters > _ENGINE_CHARACTERS and bool(nanotoken_engine.installed())

    @functools.cached_property
    def _engine(self) -> nanotoken_engine.NanotokenEngine:
        return nanotoken_engine.NanotokenEngine(self.vocabulary, self.do_lower_case)

    def _encode_with_engine(self, texts: Sequence[str], joined: str) -> _Pieces:
        """Encodes texts by the engine, those that it does not encode exactly without it."""
        if nanotoken_engine.is_exact(joined):
            return _Pieces(*self._engine.encode(texts))
        fits = np.array([nanotoken_engine.is_exact(text) for text in texts], bool)
        fitting = self._engine.encode(list(itertools.compress(texts, fits)))
        unfitting = list(itertools.compress(texts, ~fits))
        others = self._encode_in_python(unfitting, _join(unfitting), offsets=False)
        return _merge(fits, _Pieces(*fitting), others)

    def _encode_in_python(self, texts: Sequence[str], joined: str, offsets: bool) -> _Pieces:
        # Half a surrogate pair, which JSON may hold, must not be an error here.
        data = joined.encode("utf-8", "surrogatepass")
        if _fits_vectorized(joined, data, num_texts=len(texts)):
            return self._encode_vectorized(data, offsets)
        if len(texts) == 1:
            return self._encode_chunks(texts, offsets)
        return self._encode_mixed(texts, offsets)

    def _encode_vectorized(self, data: bytes, offsets: bool) -> _Pieces:
        with self._lock:
            return _Pieces(*self._vectorized_tokenizer(offsets).encode(data))

    def _encode_mixed(self, texts: Sequence[str], offsets: bool) -> _Pieces:
        """Encodes a batch of which only some texts suit the vectorized tokenizer."""
        fitting = []
        unfitting = []
        fits = np.zeros(len(texts), bool)
        for row, text in enumerate(texts):
            data = text.encode("utf-8", "surrogatepass")
            fits[row] = _fits_vectorized(text, data)
            if fits[row]:
                fitting.append(data)
            else:
                unfitting.append(text)
        others = self._encode_chunks(unfitting, offsets)
        if not fitting:
            return others
        return _merge(fits, self._encode_vectorized(SEPARATOR.join(fitting), offsets), others)

    def _encode_chunks(self, texts: Sequence[str], offsets: bool) -> _Pieces:
        """Encodes texts by looking up chunk after chunk."""
        joined = "\n".join(texts)
        # One quick look at everything spares most batches a look at each text.
        split: Callable = str.split if splits_plainly(joined) else _split_chunks
        pieces_of = self._caches[offsets].__getitem__
        if not offsets:
            join = b"".join
            rows = [join(map(pieces_of, split(text))) for text in texts]
            # A bytearray makes the array writable, here and below: callers write into it.
            ids: np.ndarray = np.frombuffer(bytearray().join(rows), np.int32)
            return _Pieces(ids, lengths_of(rows) // ID_BYTES)
        values: list[bytes] = []
        for text in texts:
            values += map(pieces_of, split(text))
        counts = lengths_of(values) // PIECE_WITH_OFFSETS.itemsize
        pieces: np.ndarray = np.frombuffer(bytearray().join(values), PIECE_WITH_OFFSETS)
        # All chunks are found at once in the joined text: "\n" is white space, so no chunk crosses
        # the end of a text.
        text_lengths = lengths_of(texts)
        text_starts = starts_of(text_lengths + 1)
        chunk_starts = find_chunk_starts(joined)
        chunk_texts = np.searchsorted(text_starts, chunk_starts, side="right") - 1
        _shift_offsets(pieces, chunk_starts - text_starts[chunk_texts], counts)
        first_pieces = bounds_of(counts)
        first_chunks = np.searchsorted(chunk_starts, np.append(text_starts, len(joined) + 1))
        return _Pieces(pieces, np.diff(first_pieces[first_chunks]))

    def _vectorized_tokenizer(self, offsets: bool) -> VectorizedTokenizer:
        if offsets not in self._vectorized_tokenizers:
            self._vectorized_tokenizers[offsets] = VectorizedTokenizer(
                self._pieces_with_offsets_of_words if offsets else self._ids_of_words,
                PIECE_WITH_OFFSETS if offsets else np.int32,
                self.do_lower_case,
                self.vocabulary.word_pieces,
            )
        return self._vectorized_tokenizers[offsets]

    def _ids_of_words(self, words: list[str]) -> list[bytes]:
        """Returns the ids of words of the vectorized tokenizer.

        Its words have no ASCII punctuation, and ASCII letters have their final case, so that words
        of printable ASCII characters are words of `basic_tokenize`.
        """
        values = []
        for word in words:
            if word.isascii() and word.isprintable():
                values.append(self._wordpiece.ids(word))
            else:
                values.append(self._ids_of_chunk(word))
        return values

    def _pieces_with_offsets_of_words(self, words: list[str]) -> list[bytes]:
        return [self._pieces_with_offsets_of_chunk(word) for word in words]

    def _ids_of_chunk(self, chunk: str) -> bytes:
        words = basic_tokenize(chunk, self.do_lower_case, self.vocabulary.strip_accents)
        return b"".join(map(self._word_cache.__getitem__, words))

    def _pieces_with_offsets_of_chunk(self, chunk: str) -> bytes:
        """Returns the pieces of a chunk, with offsets in it, as bytes of `PIECE_WITH_OFFSETS`."""
        pieces: list[bytes] = []
        words = basic_tokenize_with_offsets(
            chunk, self.do_lower_case, self.vocabulary.strip_accents
        )
        for word, starts, ends in words:
            first = 0
            for id, length in self._wordpiece.pieces(word):
                end = first + length
                # NFD may put a later mark before an earlier one, so the first start need not be
                # the smallest.
                pieces += (id, _pack_offsets(min(starts[first:end]), max(ends[first:end])))
                first = end
        return b"".join(pieces)


def _join(texts: Sequence[str]) -> str:
    """Returns all texts with the separator of `VectorizedTokenizer` between them."""
    return SEPARATOR.decode().join(texts)


def _merge(fits: np.ndarray, fitting: _Pieces, others: _Pieces) -> _Pieces:
    """Returns the pieces of all texts in their order: those that fit, bool [R], and the others."""
    row_lengths = np.empty(len(fits), np.int64)
    row_lengths[fits] = fitting.row_lengths
    row_lengths[~fits] = others.row_lengths
    is_fitting = np.repeat(fits, row_lengths)
    # Each kind has kept its own order.
    pieces = np.empty(len(is_fitting), others.pieces.dtype)
    pieces[is_fitting] = fitting.pieces
    pieces[~is_fitting] = others.pieces
    return _Pieces(pieces, row_lengths)


class _Cache(dict):
    """Bounded cache text → bytes; `function` computes missing entries."""

    def __init__(self, function: Callable[[str], bytes]):
        super().__init__()
        self._function = function

    def __missing__(self, text: str) -> bytes:
        value = self._function(text)
        if len(text) <= _LONGEST_CACHED_CHUNK:
            if len(self) >= _CACHE_ENTRIES:
                # An empty cache adapts to a text whose language changes, and costs a fraction of a
                # second each time.
                self.clear()
            self[text] = value
        return value


def _split_chunks(text: str) -> list[str]:
    if splits_plainly(text):
        return text.split()
    return find_chunks(text)


def _shift_offsets(pieces: np.ndarray, shifts: np.ndarray, counts: np.ndarray) -> None:
    """Adds to the offsets of `PIECE_WITH_OFFSETS`: shifts[i] to the next counts[i] of them."""
    shift = np.repeat(shifts.astype(np.int32), counts)
    pieces["start"] += shift
    pieces["end"] += shift


def _fits_vectorized(text: str, data: bytes, num_texts: int = 1) -> bool:
    """Whether `VectorizedTokenizer` is exact and quick for texts, whose UTF-8 is `data`."""
    # A separator within a text would end it.
    if len(data) > _LONGEST_BATCH or data.count(SEPARATOR) >= num_texts:
        return False
    if len(data) == len(text):
        return True
    # Capital sigma has two lower-case forms, which depend on its place in the word.
    return len(data) <= _MAX_BYTES_PER_CHARACTER * len(text) and "Σ" not in text

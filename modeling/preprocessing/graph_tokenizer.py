"""From strings to WordPiece ids in a TensorFlow graph, with the offsets of every token, and to what
the model reads.

    tokenizer = GraphTokenizer(vocabulary, do_lower_case=True)
    tokens = tokenizer(tf.constant(["Hello, world!", "And you?"]))
    tokens.ids     # RaggedTensor int32 [B, (tokens)]

The tokenizers of tensorflow_text lower-case and clean by other rules than BERT's. Only the last
step, pieces of a word, is taken from them; the steps before are done here, character by character:
`basic_tokenize` as lookups in tables (`build_tables`). The result is that of
`data_gen.tokenization.tokenizer` for all text but one kind: two combining marks side by side that
both stay and that NFD would swap, which no language writes.

`pack` is `convert_single_example` of the original, with the rules of
`data_gen/labelled/pair_features.py`:

    # tokens:      [CLS] is this jack ##son ##ville ? [SEP] no it is not . [SEP]
    # segment ids:   0    0    0   0    0     0     0   0    1  1 1   1  1   1

Input: strings [B]; output: ids [B, (tokens)] and the offsets of every token, or features [B, S],
padded to the longest row.
"""

import functools
import sys
import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from data_gen.labelled.pair_features import END, head_length
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, UNK, Vocabulary
from data_gen.tokenization.wordpiece import MAX_WORD_CHARACTERS, WHITE_SPACE, find_chunk_starts

# UTF-8 of the longest word that may have pieces.
_MAX_WORD_BYTES = 4 * MAX_WORD_CHARACTERS
# Stands in for a longer word: one character, so one token.
_LONG_WORD = "-"
# Properties of a character, one bit each.
DELETED, SPACE, IDEOGRAPH, PUNCTUATION, CASED, CASE_IGNORABLE, ACCENT = (
    1 << bit for bit in range(7)
)
# The number of the character's expansion, 0 for none, is counted in these.
EXPANSION_UNIT = 1 << 7

CAPITAL_SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2

# Characters in a page.
PAGE_SIZE = 128
_CODES = sys.maxunicode + 1


class Tokens(NamedTuple):
    """Tokens of B texts.

    Attributes:
      ids: RaggedTensor int32 [B, (tokens)].
      starts, ends: int32 [T] for all tokens, in order: the token is text[start:end] of its text, in
        characters (code points; the rules for what is deleted are those of `Tokenizer`).
    """

    ids: tf.RaggedTensor
    starts: tf.Tensor
    ends: tf.Tensor


class _Characters(NamedTuple):
    """Characters of all texts, concatenated; all [N]."""

    codes: tf.Tensor  # int32, code points
    properties: tf.Tensor  # int32, of `UnicodeTables`
    rows: tf.Tensor  # int64, the text
    starts: tf.Tensor  # int32, where in the text it comes from
    ends: tf.Tensor
    chunks: tf.Tensor  # int32, rising; what is in different chunks is in different words
    literal: tf.Tensor  # bool, in a special token: taken as it is

    def where(self, mask) -> "_Characters":
        """Those for which `mask`, bool [N], is true."""
        indices = tf.where(mask)[:, 0]
        return _Characters(*(tf.gather(values, indices) for values in self))


class UnicodeTables(NamedTuple):
    """Two levels of arrays, as most pages of characters are like another one.

    Attributes:
      page_of: int32 [0x110000 / PAGE_SIZE], the page that describes a page of characters.
      pages: int32 [pages * PAGE_SIZE], properties and number of the expansion of each character.
      expansion_starts, expansion_counts: int32 [expansions], the position of each in `expanded`.
      expanded: int32, what characters become by lower-casing and NFD, accents included.
    """

    page_of: np.ndarray
    pages: np.ndarray
    expansion_starts: np.ndarray
    expansion_counts: np.ndarray
    expanded: np.ndarray


@functools.cache
def build_tables(do_lower_case: bool) -> UnicodeTables:
    """Looks at every character there is, which takes about a second, by the `unicodedata` of the
    running Python: an export keeps the Unicode version it was made with."""
    values = np.zeros(_CODES, np.int32)
    # Ideographs are words by themselves: a letter after one begins a chunk, though there is no
    # white space.
    starts = find_chunk_starts("".join(chr(code) + "a" for code in range(_CODES)))
    values[starts[starts % 2 == 1] // 2] = IDEOGRAPH
    values[[ord(character) for character in WHITE_SPACE]] = SPACE
    expansions: list[list[int]] = [[]]
    for code in range(_CODES):
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Cn", "Co", "Cs"):
            continue
        if not values[code]:
            if category in ("Cc", "Cf") or code == 0xFFFD:
                values[code] = DELETED
            # ASCII symbols such as "$", "^" and "~" are punctuation here though not in Unicode.
            elif category[0] == "P" or (code < 128 and category[0] == "S"):
                values[code] = PUNCTUATION
        if not do_lower_case:
            continue
        # What the lower case of a capital sigma after them depends on: Python has no function for
        # these two properties of Unicode, but its `str.lower()` knows them.
        if f"{character}Σ".lower().endswith("ς"):
            values[code] |= CASED
        elif f"A{character}Σ".lower().endswith("ς"):
            values[code] |= CASE_IGNORABLE
        values[code] |= ACCENT if category == "Mn" else 0
        expansion = unicodedata.normalize("NFD", character.lower())
        if expansion != character:
            values[code] |= len(expansions) * EXPANSION_UNIT
            expansions.append([*map(ord, expansion)])
    pages, page_of = np.unique(values.reshape(-1, PAGE_SIZE), axis=0, return_inverse=True)
    counts = np.array([*map(len, expansions)], np.int32)
    return UnicodeTables(
        page_of=page_of.astype(np.int32).ravel(),
        pages=pages.ravel(),
        expansion_starts=np.cumsum(counts, dtype=np.int32) - counts,
        expansion_counts=counts,
        expanded=np.array([code for expansion in expansions for code in expansion], np.int32),
    )


class GraphTokenizer(tf.Module):
    """Tokenizes within a graph.

    Args:
      vocabulary: entries of at most 256 bytes.
      do_lower_case: lower-case and strip accents.
      special_tokens: "[MASK]" and the like in a text, written exactly so, are those tokens.
    """

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool, special_tokens: bool = False):
        super().__init__()
        self._do_lower_case = do_lower_case
        self._special_tokens = special_tokens
        self._unk_id = vocabulary.unk_id
        self._tables = UnicodeTables(*map(tf.constant, build_tables(do_lower_case)))
        # Here: models of ids do without the package.
        import tensorflow_text

        self._pieces = tensorflow_text.FastWordpieceTokenizer(
            vocab=vocabulary.tokens,
            suffix_indicator="##",
            max_bytes_per_word=_MAX_WORD_BYTES,
            token_out_type=tf.int32,
            unknown_token=UNK,
            no_pretokenization=True,
        )

    def __call__(self, texts) -> Tokens:
        """string [B], UTF-8 → `Tokens`; [CLS] and [SEP] are not added. Bytes that are no UTF-8 are
        passed over."""
        # Cut at white space and around ideographs; what is not text is deleted.
        decoded = tf.strings.unicode_decode(texts, "UTF-8")
        codes, rows = decoded.values, decoded.value_rowids()
        starts = tf.cast(tf.ragged.range(decoded.row_lengths()).values, tf.int32)
        properties = self._lookup(codes)
        alone = _has(properties, IDEOGRAPH)
        cuts = (
            tf.not_equal(rows, _previous(rows)) | _has(properties, SPACE) | alone | _previous(alone)
        )
        literal = tf.zeros_like(alone)
        count = tf.size(codes)
        for token in SPECIAL_TOKENS if self._special_tokens else ():
            length = len(token)
            padded_codes = tf.concat([codes, tf.zeros([length], codes.dtype)], 0)
            padded_rows = tf.concat([rows, tf.fill([length], tf.constant(-1, rows.dtype))], 0)
            begins = tf.equal(padded_rows[length - 1 : length - 1 + count], rows)
            for index, character in enumerate(token):
                begins &= tf.equal(padded_codes[index : index + count], ord(character))
            shifted = tf.concat([tf.zeros([length], tf.bool), begins], 0)
            for index in range(length):
                literal |= shifted[length - index : length - index + count]
            cuts |= begins | shifted[:count]
        characters = _Characters(
            codes, properties, rows, starts, starts + 1, tf.cumsum(tf.cast(cuts, tf.int32)), literal
        )
        characters = characters.where(~_has(properties, SPACE | DELETED))
        if self._do_lower_case:
            characters = self._lower_case(characters)
        return self._wordpiece(characters, tf.shape(texts, out_type=tf.int64)[0])

    def _lookup(self, codes):
        """The properties of characters, int32 [N] → int32 [N]."""
        pages = tf.gather(self._tables.page_of, codes // PAGE_SIZE)
        return tf.gather(self._tables.pages, pages * PAGE_SIZE + codes % PAGE_SIZE)

    def _lower_case(self, characters: _Characters) -> _Characters:
        """Lower case, NFD; accents are dropped, the characters before them reach up to their
        ends."""
        # The rule of `str.lower()`: a capital sigma is a final one after a cased letter of its
        # chunk and before none, not looking at characters such as apostrophes and accents.
        seen = ~_has(characters.properties, CASE_IGNORABLE)
        rank = tf.cumsum(tf.cast(seen, tf.int32), exclusive=True)
        # Of the characters that are seen, with an end on both sides.
        edge = tf.constant([-1])
        chunks = tf.concat([edge, tf.boolean_mask(characters.chunks, seen), edge], 0)
        cased = tf.concat(
            [[False], tf.boolean_mask(_has(characters.properties, CASED), seen), [False]], 0
        )
        # The sigma itself is seen; where there is none, the places only have to exist.
        before, after = (
            tf.gather(cased, place) & tf.equal(tf.gather(chunks, place), characters.chunks)
            for place in (rank, tf.minimum(rank + 2, tf.size(chunks) - 1))
        )
        final = tf.equal(characters.codes, CAPITAL_SIGMA) & ~characters.literal & before & ~after
        tables = self._tables
        numbers = tf.where(characters.literal | final, 0, characters.properties // EXPANSION_UNIT)
        counts = tf.where(numbers > 0, tf.gather(tables.expansion_counts, numbers), 1)
        origins = tf.repeat(tf.range(tf.size(counts)), counts)
        within = tf.range(tf.size(origins)) - tf.gather(tf.cumsum(counts, exclusive=True), origins)
        codes = tf.where(final, FINAL_SIGMA, characters.codes)
        expanded = _Characters(
            *(tf.gather(values, origins) for values in characters._replace(codes=codes))
        )
        numbers = tf.gather(numbers, origins)
        places = tf.where(numbers > 0, tf.gather(tables.expansion_starts, numbers) + within, 0)
        codes = tf.where(numbers > 0, tf.gather(tables.expanded, places), expanded.codes)
        expanded = expanded._replace(codes=codes, properties=self._lookup(codes))

        dropped = _has(expanded.properties, ACCENT) & ~expanded.literal
        # The number of the character that each accent follows.
        owners = tf.cumsum(tf.cast(~dropped, tf.int32)) - 1
        kept = expanded.where(~dropped)
        owned = tf.where(dropped & (owners >= 0))[:, 0]
        owners = tf.gather(owners, owned)
        in_word = tf.equal(
            tf.gather(kept.chunks, owners), tf.gather(expanded.chunks, owned)
        ) & ~_has(tf.gather(kept.properties, owners), PUNCTUATION)
        ends = tf.where(in_word, tf.gather(expanded.ends, owned), 0)
        return kept._replace(ends=tf.tensor_scatter_nd_max(kept.ends, owners[:, None], ends))

    def _wordpiece(self, characters: _Characters, nrows) -> Tokens:
        alone = _has(characters.properties, PUNCTUATION) & ~characters.literal
        begins = (
            tf.not_equal(characters.chunks, _previous(characters.chunks)) | alone | _previous(alone)
        )
        number = tf.size(characters.codes, tf.int64)
        word_starts = tf.where(begins)[:, 0]
        word_ends = tf.concat([word_starts[1:], number[None]], 0)[: tf.size(word_starts)]
        too_long = word_ends - word_starts > MAX_WORD_CHARACTERS
        splits = tf.concat([word_starts, number[None]], 0)
        words = tf.RaggedTensor.from_row_splits(characters.codes, splits, validate=False)
        words = tf.strings.unicode_encode(words, "UTF-8")
        ids, starts, ends = self._pieces.tokenize_with_offsets(
            tf.where(too_long, _LONG_WORD, words)
        )
        word_of = ids.value_rowids()
        in_long_word = tf.gather(too_long, word_of)

        # From bytes in a word to bytes in all words, and from these to characters.
        codes = characters.codes
        sizes = 1 + sum(tf.cast(codes >= first, tf.int64) for first in (0x80, 0x800, 0x10000))
        places = tf.cumsum(sizes, exclusive=True)
        word_places = tf.gather(places, tf.gather(word_starts, word_of))
        first = tf.searchsorted(places, word_places + starts.values, out_type=tf.int64)
        last = tf.searchsorted(places, word_places + ends.values, out_type=tf.int64)
        last = tf.where(in_long_word, tf.gather(word_ends, word_of), last)
        return Tokens(
            ids=tf.RaggedTensor.from_value_rowids(
                tf.where(in_long_word, self._unk_id, ids.values),
                tf.gather(characters.rows, first),
                nrows,
                validate=False,
            ),
            starts=tf.gather(characters.starts, first),
            ends=tf.gather(characters.ends, last - 1),
        )


def _has(properties, bits: int):
    """Whether any of the bits is set."""
    return tf.not_equal(properties & bits, 0)


def _previous(values):
    """The value before each; False, or a number that none has, before the first."""
    nothing = False if values.dtype == tf.bool else -1
    return tf.concat([tf.constant(nothing, values.dtype, [1]), values[:-1]], 0)[: tf.size(values)]


def pack(
    first: tf.RaggedTensor,
    second: tf.RaggedTensor | None,
    max_seq_length: int,
    vocabulary: Vocabulary,
    lose: str = END,
    width=None,
) -> dict:
    """[CLS] a [SEP] b [SEP], or [CLS] a [SEP] where there is no second text or it has no token.

    Args:
      first, second: int32 [B, (tokens)].
      max_seq_length: longer pairs are truncated: the longer text loses its last token until they
        fit, the second if they are equally long.
      vocabulary: for the ids of [CLS], [SEP] and [PAD].
      lose: which tokens of a text are lost, as in `encode_pairs`.
      width: S; None for the length of the longest row.

    Returns:
      int32 "input_ids", "input_mask" and "segment_ids", each [B, S].
    """
    if second is None:
        most = max_seq_length - 2
        kept = (
            first[:, :most]
            if lose == END
            else _kept_of_rows(first, tf.minimum(first.row_lengths(), most), lose)
        )
        return features(
            [column(first, vocabulary.cls_id), kept, column(first, vocabulary.sep_id)],
            3,
            vocabulary,
            width,
        )
    a, b = first.row_lengths(), second.row_lengths()
    room = max_seq_length - 2 - tf.cast(b > 0, tf.int64)
    first = _kept_of_rows(first, tf.minimum(a, tf.maximum(room - b, (room + 1) // 2)), lose)
    second = _kept_of_rows(
        second, tf.minimum(b, tf.maximum(room - a, room // 2)), lose, is_first=False
    )
    last = first_of_rows(
        column(first, vocabulary.sep_id), tf.cast(second.row_lengths() > 0, tf.int64)
    )
    return features(
        [column(first, vocabulary.cls_id), first, column(first, vocabulary.sep_id), second, last],
        3,
        vocabulary,
        width,
    )


def features(
    parts: list[tf.RaggedTensor], segment: int, vocabulary: Vocabulary, width=None
) -> dict:
    """The parts of rows concatenated, as in `pack`; those from number `segment` on are of segment
    1."""
    ids = tf.concat(parts, 1)
    segments = tf.concat(
        [tf.zeros_like(part) + int(number >= segment) for number, part in enumerate(parts)], 1
    )
    return {
        "input_ids": padded(ids, vocabulary.pad_id, width),
        "input_mask": padded(tf.ones_like(ids), 0, width),
        "segment_ids": padded(segments, 0, width),
    }


def padded(ragged: tf.RaggedTensor, value, width=None) -> tf.Tensor:
    """[B, (tokens)] → [B, S]: `width`, or the longest row.

    S is at least 1, as the model looks at the first position even where there is no text.
    """
    if isinstance(width, int):
        return ragged.to_tensor(value, shape=[None, width])
    width = (
        tf.maximum(ragged.bounding_shape(axis=1), 1) if width is None else tf.cast(width, tf.int64)
    )
    return ragged.to_tensor(value, shape=tf.stack([ragged.nrows(), width]))


def first_of_rows(ragged: tf.RaggedTensor, lengths) -> tf.RaggedTensor:
    """The first `lengths`, int64 [B], of each row; no row may be shorter than that."""
    places = tf.ragged.range(ragged.row_starts(), ragged.row_starts() + lengths)
    return places.with_flat_values(tf.gather(ragged.values, places.flat_values))


def _kept_of_rows(
    ragged: tf.RaggedTensor, lengths, lose: str, is_first: bool = True
) -> tf.RaggedTensor:
    """`lengths`, int64 [B], of the values of each row, see `head_length`; no row may be shorter
    than that."""
    head, ends = head_length(lengths, lose, is_first), ragged.row_limits()
    places = tf.concat(
        [
            tf.ragged.range(ragged.row_starts(), ragged.row_starts() + head),
            tf.ragged.range(ends - (lengths - head), ends),
        ],
        1,
    )
    return places.with_flat_values(tf.gather(ragged.values, places.flat_values))


def column(like: tf.RaggedTensor, value) -> tf.RaggedTensor:
    """One value for each row."""
    return tf.RaggedTensor.from_row_splits(
        tf.fill([like.nrows()], value), tf.range(like.nrows() + 1), validate=False
    )

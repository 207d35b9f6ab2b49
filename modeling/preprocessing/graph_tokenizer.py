"""The tokenizer as TensorFlow operations: strings → WordPiece ids with offsets → features.

    tokenizer = GraphTokenizer(vocabulary, do_lower_case=True)
    tokens = tokenizer(tf.constant(["Hello, world!", "And you?"]))
    tokens.ids     # RaggedTensor int32 [B, (tokens)]

The tokenizers of tensorflow_text lower-case and clean by other rules than BERT's. Only the last
step, splitting words into pieces, is taken from them; the steps before work on single characters,
by lookups in tables (`build_tables`). The result equals `data_gen.tokenization.tokenizer`'s with
one exception: two adjacent combining marks that both stay and that NFD would swap, which no
language writes.

`pack` is `convert_single_example` of the original, with the rules of
`data_gen/labeled/pair_features.py`:

    # tokens:      [CLS] is this jack ##son ##ville ? [SEP] no it is not . [SEP]
    # segment ids:   0    0    0   0    0     0     0   0    1  1 1   1  1   1

Input: strings [B]; output: ids [B, (tokens)] and the offsets of every token, or features [B, S],
padded to the longest row.
"""

import functools
import itertools
import sys
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError, needs_package
from data_gen.labeled.pair_features import END, head_length
from data_gen.tokenization.added_tokens import Normalization
from data_gen.tokenization.vocabulary import UNK, Vocabulary
from data_gen.tokenization.wordpiece import (
    MAX_WORD_CHARACTERS,
    WHITE_SPACE,
    find_chunk_starts,
    normalize,
    strips_accents,
)

# Bytes of UTF-8 of the longest word that may have pieces.
_MAX_WORD_BYTES = 4 * MAX_WORD_CHARACTERS
# Placeholder for a longer word: one character, so one token.
_LONG_WORD = "-"
# Properties of a character, one bit each.
DELETED = 1 << 0
SPACE = 1 << 1
IDEOGRAPH = 1 << 2
PUNCTUATION = 1 << 3
CASED = 1 << 4
CASE_IGNORABLE = 1 << 5
ACCENT = 1 << 6
# The bits above are the number of the character's expansion, 0 for none.
EXPANSION_UNIT = 1 << 7

CAPITAL_SIGMA = 0x3A3
FINAL_SIGMA = 0x3C2

# Added tokens are replaced by single characters of a private area, which are entries of the pieces;
# such characters in a text are replaced by another one first.
_FIRST_PLACEHOLDER = 0x100000
_PRIVATE = 0xE000

# Characters in a page of the tables.
PAGE_SIZE = 128
_CODES = sys.maxunicode + 1


class Tokens(NamedTuple):
    """Tokens of B texts.

    Attributes:
      ids: RaggedTensor int32 [B, (tokens)].
      starts, ends: int32 [T] for all tokens, in order: the token is text[start:end] of its text, in
        characters (code points).
    """

    ids: tf.RaggedTensor
    starts: tf.Tensor
    ends: tf.Tensor


class _Characters(NamedTuple):
    """Characters of all texts, concatenated; all [N]."""

    codes: tf.Tensor  # int32, code points
    properties: tf.Tensor  # int32, of `UnicodeTables`
    rows: tf.Tensor  # int64, number of the text
    starts: tf.Tensor  # int32, offsets in the text
    ends: tf.Tensor
    chunks: tf.Tensor  # int32, rising; words do not extend over several chunks
    literal: tf.Tensor  # bool, part of a special token: kept unchanged

    def where(self, mask) -> "_Characters":
        """Returns the characters for which `mask`, bool [N], is true."""
        return self.gather(tf.where(mask)[:, 0])

    def gather(self, indices) -> "_Characters":
        """Returns the characters at the indices, int [M]."""
        return _Characters(*(tf.gather(values, indices) for values in self))


class UnicodeTables(NamedTuple):
    """Tables of two levels, as most pages of characters equal another page.

    Attributes:
      page_of: int32 [0x110000 / PAGE_SIZE], the page that describes a page of characters.
      pages: int32 [pages * PAGE_SIZE], properties and number of the expansion of each character.
      expansion_starts, expansion_counts: int32 [expansions], the position of each in `expanded`.
      expanded: int32, the characters' lower case, NFD or both, accents included.
    """

    page_of: np.ndarray
    pages: np.ndarray
    expansion_starts: np.ndarray
    expansion_counts: np.ndarray
    expanded: np.ndarray


@functools.cache
def build_tables(do_lower_case: bool, strip_accents: bool) -> UnicodeTables:
    """Builds the tables of all characters, which takes about a second.

    They follow the `unicodedata` of the running Python: an export keeps the Unicode version it was
    made with.
    """
    values = np.zeros(_CODES, np.int32)
    # Ideographs are words by themselves: a letter after one begins a chunk, though there is no
    # white space.
    text = "".join(chr(code) + "a" for code in range(_CODES))
    starts = find_chunk_starts(text)
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
        if strip_accents and category == "Mn":
            values[code] |= ACCENT
        if do_lower_case:
            values[code] |= _case_properties(character)
        if do_lower_case or strip_accents:
            expansion = normalize(character, do_lower_case, strip_accents)
            if expansion != character:
                values[code] |= len(expansions) * EXPANSION_UNIT
                expansions.append([ord(letter) for letter in expansion])
    # Most of the 8,704 pages are alike, as most of Unicode is unassigned or a large script.
    pages, page_of = np.unique(values.reshape(-1, PAGE_SIZE), axis=0, return_inverse=True)
    counts = np.array([len(expansion) for expansion in expansions], np.int32)
    return UnicodeTables(
        page_of=page_of.astype(np.int32).ravel(),
        pages=pages.ravel(),
        expansion_starts=np.cumsum(counts, dtype=np.int32) - counts,
        expansion_counts=counts,
        expanded=np.array(list(itertools.chain.from_iterable(expansions)), np.int32),
    )


def _case_properties(character: str) -> int:
    """Returns the properties that lower-casing depends on.

    The lower case of a capital sigma depends on two properties of the characters before it. Python
    has no function for them, but its `str.lower()` uses them.
    """
    if f"{character}Σ".lower().endswith("ς"):
        return CASED
    if f"A{character}Σ".lower().endswith("ς"):
        return CASE_IGNORABLE
    return 0


class GraphTokenizer(tf.Module):
    """Tokenizes within a graph.

    Args:
      vocabulary: entries of at most 256 bytes.
      do_lower_case: lower-case and, unless the vocabulary has its own setting, strip accents.
      special_tokens: "[MASK]" and the like, written exactly so in a text, are those tokens.
    """

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool, special_tokens: bool = False):
        super().__init__()
        self._special_tokens = vocabulary.special_tokens if special_tokens else []
        self._unk_id = vocabulary.unk_id
        strips = strips_accents(do_lower_case, vocabulary.strip_accents)
        self._normalizes = do_lower_case or strips
        tables = build_tables(do_lower_case, strips)
        self._tables = UnicodeTables(*(tf.constant(table) for table in tables))
        self._literal_tokens, self._normalized_tokens = _added_tokens(vocabulary, do_lower_case)
        placeholders = []
        added_ids = []
        for _, code in (*self._literal_tokens, *self._normalized_tokens):
            placeholders.append(chr(code))
            added_ids.append(vocabulary.added_tokens[code - _FIRST_PLACEHOLDER].id)
        self._num_pieces = len(vocabulary.word_pieces)
        self._added_ids = tf.constant(added_ids if added_ids else [0], tf.int32)
        # Imported here, as models of ids need no tensorflow_text.
        try:
            import tensorflow_text
        except ModuleNotFoundError as error:
            raise needs_package("a tokenizer in a graph", error.name) or error from None

        self._pieces = tensorflow_text.FastWordpieceTokenizer(
            vocab=[*vocabulary.word_pieces, *placeholders],
            suffix_indicator="##",
            max_bytes_per_word=_MAX_WORD_BYTES,
            token_out_type=tf.int32,
            unknown_token=UNK,
            no_pretokenization=True,
        )

    def __call__(self, texts) -> Tokens:
        """Tokenizes string [B], UTF-8; [CLS] and [SEP] are not added.

        Returns ragged ids int32 [B, (tokens)], and flat offsets int32 [T]. Invalid bytes become
        U+FFFD, which gives no token but counts in the offsets.
        """
        # Cut at white space and around ideographs; delete control characters.
        # Offsets are counted in characters before anything is deleted, as users index their texts.
        decoded = tf.strings.unicode_decode(texts, "UTF-8")
        if self._literal_tokens or self._normalized_tokens:
            codes = tf.where(decoded.values >= _FIRST_PLACEHOLDER, _PRIVATE, decoded.values)
        else:
            codes = decoded.values
        rows = decoded.value_rowids()
        starts = tf.cast(tf.ragged.range(decoded.row_lengths()).values, tf.int32)
        properties = self._lookup(codes)
        alone = _has(properties, IDEOGRAPH)
        cuts = tf.not_equal(rows, _previous(rows)) | _has(properties, SPACE)
        cuts = cuts | alone | _previous(alone)
        literal = tf.zeros_like(alone)
        if self._special_tokens:
            found = _find_tokens(self._special_tokens, codes, rows)
            literal = found.begins | found.continues
            cuts |= found.begins | found.ends
        characters = _Characters(
            codes=codes,
            properties=properties,
            rows=rows,
            starts=starts,
            ends=starts + 1,
            chunks=tf.cumsum(tf.cast(cuts, tf.int32)),
            literal=literal,
        )
        characters = _replace_tokens(characters, self._literal_tokens, "rows")
        # White space has cut the chunks already, so it can be dropped with control characters.
        characters = characters.where(~_has(characters.properties, SPACE | DELETED))
        if self._normalizes:
            characters = self._normalize(characters)
        characters = _replace_tokens(characters, self._normalized_tokens, "chunks")
        return self._wordpiece(characters, tf.shape(texts, out_type=tf.int64)[0])

    def _lookup(self, codes):
        """Returns the properties of characters, int32 [N] → int32 [N]."""
        pages = tf.gather(self._tables.page_of, codes // PAGE_SIZE)
        return tf.gather(self._tables.pages, pages * PAGE_SIZE + codes % PAGE_SIZE)

    def _normalize(self, characters: _Characters) -> _Characters:
        """Lower-cases, decomposes (NFD) and strips accents, as the tables say.

        The character before an accent gets the accent's end.
        """
        is_final = self._is_final_sigma(characters)
        tables = self._tables
        numbers = characters.properties // EXPANSION_UNIT
        numbers = tf.where(characters.literal | is_final, 0, numbers)
        counts = tf.where(numbers > 0, tf.gather(tables.expansion_counts, numbers), 1)
        # Each character becomes `counts` characters, all with its row, offsets and chunk.
        origins = tf.repeat(tf.range(tf.size(counts)), counts)
        first = tf.gather(tf.cumsum(counts, exclusive=True), origins)
        within = tf.range(tf.size(origins)) - first
        codes = tf.where(is_final, FINAL_SIGMA, characters.codes)
        expanded = characters._replace(codes=codes).gather(origins)
        numbers = tf.gather(numbers, origins)
        indices = tf.gather(tables.expansion_starts, numbers) + within
        indices = tf.where(numbers > 0, indices, 0)
        codes = tf.where(numbers > 0, tf.gather(tables.expanded, indices), expanded.codes)
        expanded = expanded._replace(codes=codes, properties=self._lookup(codes))

        is_dropped = _has(expanded.properties, ACCENT) & ~expanded.literal
        letters = expanded.where(~is_dropped)
        # The number of the letter that each accent follows.
        letter_numbers = tf.cumsum(tf.cast(~is_dropped, tf.int32)) - 1
        accents = tf.where(is_dropped & (letter_numbers >= 0))[:, 0]
        letter_numbers = tf.gather(letter_numbers, accents)
        letter_chunks = tf.gather(letters.chunks, letter_numbers)
        letter_properties = tf.gather(letters.properties, letter_numbers)
        in_word = tf.equal(letter_chunks, tf.gather(expanded.chunks, accents))
        in_word = in_word & ~_has(letter_properties, PUNCTUATION)
        accent_ends = tf.where(in_word, tf.gather(expanded.ends, accents), 0)
        ends = tf.tensor_scatter_nd_max(letters.ends, letter_numbers[:, None], accent_ends)
        return letters._replace(ends=ends)

    def _is_final_sigma(self, characters: _Characters):
        """Returns bool [N], by the rule of `str.lower()`.

        A capital sigma is a final one after a cased letter of its chunk and before none.
        Case-ignorable characters, such as apostrophes and accents, are skipped.
        """
        is_seen = ~_has(characters.properties, CASE_IGNORABLE)
        # Chunk and case of the characters that are not skipped, with an end on both sides.
        edge = tf.constant([-1])
        chunks = tf.concat([edge, tf.boolean_mask(characters.chunks, is_seen), edge], 0)
        is_cased = tf.boolean_mask(_has(characters.properties, CASED), is_seen)
        is_cased = tf.concat([[False], is_cased, [False]], 0)
        # The sigma itself is not skipped; for skipped characters the indices only have to exist.
        before = tf.cumsum(tf.cast(is_seen, tf.int32), exclusive=True)
        after = tf.minimum(before + 2, tf.size(chunks) - 1)
        same_before = tf.equal(tf.gather(chunks, before), characters.chunks)
        same_after = tf.equal(tf.gather(chunks, after), characters.chunks)
        cased_before = tf.gather(is_cased, before) & same_before
        cased_after = tf.gather(is_cased, after) & same_after
        is_sigma = tf.equal(characters.codes, CAPITAL_SIGMA) & ~characters.literal
        return is_sigma & cased_before & ~cased_after

    def _wordpiece(self, characters: _Characters, nrows) -> Tokens:
        """Splits the characters of `nrows` texts into words, and these into pieces."""
        chunks = characters.chunks
        alone = _has(characters.properties, PUNCTUATION) & ~characters.literal
        # A punctuation character is a word by itself, and so a word begins at it and after it.
        begins = tf.not_equal(chunks, _previous(chunks)) | alone | _previous(alone)
        size = tf.size(characters.codes, tf.int64)
        word_starts = tf.where(begins)[:, 0]
        word_ends = tf.concat([word_starts[1:], size[None]], 0)[: tf.size(word_starts)]
        is_long = word_ends - word_starts > MAX_WORD_CHARACTERS
        splits = tf.concat([word_starts, size[None]], 0)
        words = tf.RaggedTensor.from_row_splits(characters.codes, splits, validate=False)
        # tensorflow_text splits bytes, so words are encoded again after cleaning.
        words = tf.strings.unicode_encode(words, "UTF-8")
        words = tf.where(is_long, _LONG_WORD, words)
        ids, starts, ends = self._pieces.tokenize_with_offsets(words)
        word_numbers = ids.value_rowids()
        # Placeholders are the entries after the pieces.
        numbers = tf.maximum(ids.values - self._num_pieces, 0)
        values = tf.where(
            ids.values < self._num_pieces, ids.values, tf.gather(self._added_ids, numbers)
        )
        in_long_word = tf.gather(is_long, word_numbers)

        # Convert bytes within a word to bytes within all words, and these to characters.
        codes = characters.codes
        num_bytes = tf.ones_like(codes, tf.int64)
        for smallest_code in (0x80, 0x800, 0x10000):
            num_bytes += tf.cast(codes >= smallest_code, tf.int64)
        byte_offsets = tf.cumsum(num_bytes, exclusive=True)
        word_offsets = tf.gather(byte_offsets, tf.gather(word_starts, word_numbers))
        first = tf.searchsorted(byte_offsets, word_offsets + starts.values, out_type=tf.int64)
        last = tf.searchsorted(byte_offsets, word_offsets + ends.values, out_type=tf.int64)
        last = tf.where(in_long_word, tf.gather(word_ends, word_numbers), last)
        ids = tf.RaggedTensor.from_value_rowids(
            tf.where(in_long_word, self._unk_id, values),
            tf.gather(characters.rows, first),
            nrows,
            validate=False,
        )
        return Tokens(
            ids=ids,
            starts=tf.gather(characters.starts, first),
            ends=tf.gather(characters.ends, last - 1),
        )


def _added_tokens(
    vocabulary: Vocabulary, do_lower_case: bool
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Returns (content, placeholder) of the added tokens, the longest first: of those that are
    found in the text as it is, and of those that are found in the normalized text.

    Raises:
      UserError: a token needs more than a comparison of characters.
    """
    literal = []
    normalized = []
    table = Normalization(do_lower_case, strips_accents(do_lower_case, vocabulary.strip_accents))
    for number, token in enumerate(vocabulary.added_tokens):
        content = token.content.translate(table) if token.normalized else token.content
        if token.single_word or (token.normalized and " " in content):
            raise UserError(
                f"the added token {token.content!r} can't be part of a graph: it is found "
                "between words only, or has spaces or ideographs and is normalized; formats that "
                "take token ids can be exported (docs/exports.md)"
            )
        entry = (content, _FIRST_PLACEHOLDER + number)
        if token.normalized:
            normalized.append(entry)
        else:
            literal.append(entry)
    literal.sort(key=lambda entry: -len(entry[0]))
    normalized.sort(key=lambda entry: -len(entry[0]))
    return literal, normalized


def _replace_tokens(
    characters: _Characters, tokens: list[tuple[str, int]], boundary: str
) -> _Characters:
    """Replaces added tokens by their placeholders, each a chunk of its own.

    Args:
      tokens: (content, placeholder) of each, the longest first.
      boundary: "rows" or "chunks", over whose ends no token extends.
    """
    if not tokens:
        return characters
    contents, placeholders = zip(*tokens, strict=True)
    found = _find_tokens(contents, characters.codes, getattr(characters, boundary))
    begins = found.begins
    last = tf.range(tf.size(begins)) + tf.maximum(found.lengths, 1) - 1
    chunks = characters.chunks
    cuts = tf.not_equal(chunks, _previous(chunks)) | begins | found.ends
    codes = tf.gather(tf.constant(placeholders), found.numbers)
    replaced = characters._replace(
        codes=tf.where(begins, codes, characters.codes),
        properties=tf.where(begins, 0, characters.properties),
        ends=tf.gather(characters.ends, last),
        chunks=tf.cumsum(tf.cast(cuts, tf.int32)),
        literal=characters.literal | begins,
    )
    return replaced.where(~found.continues)


class _Found(NamedTuple):
    """Tokens among N characters; all [N].

    Attributes:
      lengths: int32, characters of the token that begins at a character; 0 for none.
      numbers: int32, its number; 0 for none.
      begins, continues, ends: bool, whether a token begins at a character, began before it and
        includes it, or ended before it.
    """

    lengths: tf.Tensor
    numbers: tf.Tensor
    begins: tf.Tensor
    continues: tf.Tensor
    ends: tf.Tensor


def _find_tokens(contents: Sequence[str], codes, rows) -> _Found:
    """Finds tokens from left to right, the first of `contents` at each character.

    Args:
      contents: such as "[MASK]".
      codes, rows: of `_Characters`.
    """
    lengths = tf.zeros_like(codes)
    numbers = tf.zeros_like(codes)
    for number, content in enumerate(contents):
        begins = _begins_at(content, codes, rows) & tf.equal(lengths, 0)
        lengths = tf.where(begins, len(content), lengths)
        numbers = tf.where(begins, number, numbers)
    lengths = _without_overlaps(lengths)
    continues, ends = _extents(lengths)
    return _Found(lengths, numbers, lengths > 0, continues > 0, ends > 0)


def _begins_at(content: str, codes, rows):
    """Returns bool [N], whether the characters from each one on are `content`, in one row."""
    count = tf.size(codes)
    length = len(content)
    padded_codes = tf.concat([codes, tf.zeros([length], codes.dtype)], 0)
    padded_rows = tf.concat([rows, tf.fill([length], tf.constant(-1, rows.dtype))], 0)
    # The last character must be in the same text.
    begins = tf.equal(padded_rows[length - 1 : length - 1 + count], rows)
    for index, character in enumerate(content):
        begins &= tf.equal(padded_codes[index : index + count], ord(character))
    return begins


def _extents(lengths) -> tuple:
    """Returns how many tokens began before each character and include it, and how many ended
    before it.

    Args:
      lengths: int32 [N], of the token that begins at each character, 0 for none.
    """
    count = tf.size(lengths)
    begins = tf.cast(lengths > 0, tf.int32)
    ends = tf.math.unsorted_segment_sum(begins, tf.range(count) + lengths, count + 1)[:count]
    return tf.cumsum(begins, exclusive=True) - tf.cumsum(ends), ends


def _without_overlaps(lengths):
    """Returns int32 [N], 0 for tokens that begin within one that is kept, as a reader from left to
    right finds them: of "---" the token "--" is the first two characters."""
    count = tf.size(lengths)
    continues, _ = _extents(lengths)
    overlaps = tf.reduce_any((lengths > 0) & (continues > 0))
    # The character at which a reader goes on after each one. From the end there is no way on.
    following = tf.concat([tf.range(count) + tf.maximum(lengths, 1), count[None]], 0)
    is_visited = tf.one_hot(0, count + 1, dtype=tf.int32)

    def has_not_arrived(is_visited, following):
        return overlaps & (following[0] < count)

    # Steps double, so that N characters take log2(N) of them.
    def go_twice_as_far(is_visited, following):
        is_visited = tf.tensor_scatter_nd_max(is_visited, following[:, None], is_visited)
        return is_visited, tf.gather(following, following)

    is_visited, _ = tf.while_loop(has_not_arrived, go_twice_as_far, (is_visited, following))
    return tf.where(overlaps & tf.equal(is_visited[:count], 0), 0, lengths)


def _has(properties, bits: int):
    """Returns whether any of the bits is set."""
    return tf.not_equal(properties & bits, 0)


def _previous(values):
    """Returns the value before each; False, or -1, which is no other value, before the first."""
    nothing = False if values.dtype == tf.bool else -1
    return tf.concat([tf.constant(nothing, values.dtype, [1]), values[:-1]], 0)[: tf.size(values)]


def pack(
    first: tf.RaggedTensor,
    second: tf.RaggedTensor | None,
    max_seq_length: int,
    vocabulary: Vocabulary,
    truncation: str = END,
    width=None,
) -> dict:
    """Packs texts to rows: [CLS] a [SEP] b [SEP], or [CLS] a [SEP] if there is no second text.

    A second text without tokens counts as none.

    Args:
      first, second: int32 [B, (tokens)].
      max_seq_length: longer pairs are truncated: the longer text loses its last token until they
        fit, the second if they are equally long.
      vocabulary: for the ids of [CLS], [SEP] and [PAD].
      truncation: which tokens of a text are lost, as in `encode_pairs`.
      width: S; None for the length of the longest row.

    Returns:
      int32 "input_ids", "input_mask" and "segment_ids", each [B, S].
    """
    cls = column(first, vocabulary.cls_id)
    sep = column(first, vocabulary.sep_id)
    if second is None:
        room = max_seq_length - 2
        if truncation == END:
            first = first[:, :room]
        else:
            first = _truncated(first, tf.minimum(first.row_lengths(), room), truncation)
        return features([cls, first, sep], 3, vocabulary, width)
    first_lengths = first.row_lengths()
    second_lengths = second.row_lengths()
    # [CLS], [SEP], and a second [SEP] after a second text.
    room = max_seq_length - 2 - tf.cast(second_lengths > 0, tf.int64)
    # Each text gets half of the room, and the room that the other one does not need.
    first_room = tf.maximum(room - second_lengths, (room + 1) // 2)
    second_room = tf.maximum(room - first_lengths, room // 2)
    first = _truncated(first, tf.minimum(first_lengths, first_room), truncation)
    second = _truncated(second, tf.minimum(second_lengths, second_room), truncation, is_first=False)
    # A row without a second text has no second [SEP].
    last = first_of_rows(sep, tf.cast(second.row_lengths() > 0, tf.int64))
    return features([cls, first, sep, second, last], 3, vocabulary, width)


def features(
    parts: list[tf.RaggedTensor], segment: int, vocabulary: Vocabulary, width=None
) -> dict:
    """Concatenates the parts of rows to features, as in `pack`.

    Args:
      parts: int32 [B, (tokens)] each.
      segment: parts from this number on are of segment 1.
      vocabulary: for the id of [PAD].
      width: S; None for the length of the longest row.
    """
    ids = tf.concat(parts, 1)
    part_segments = []
    for number, part in enumerate(parts):
        part_segments.append(tf.zeros_like(part) + int(number >= segment))
    segments = tf.concat(part_segments, 1)
    return {
        "input_ids": padded(ids, vocabulary.pad_id, width),
        "input_mask": padded(tf.ones_like(ids), 0, width),
        "segment_ids": padded(segments, 0, width),
    }


def padded(ragged: tf.RaggedTensor, value, width=None) -> tf.Tensor:
    """Pads rows, [B, (tokens)] → [B, S]; S is `width`, or the length of the longest row.

    S is at least 1, as the model reads the first position even if there is no text.
    """
    if isinstance(width, int):
        return ragged.to_tensor(value, shape=[None, width])
    if width is None:
        width = tf.maximum(ragged.bounding_shape(axis=1), 1)
    else:
        width = tf.cast(width, tf.int64)
    return ragged.to_tensor(value, shape=tf.stack([ragged.nrows(), width]))


def first_of_rows(ragged: tf.RaggedTensor, lengths) -> tf.RaggedTensor:
    """Returns the first `lengths`, int64 [B], values of each row; no row may be shorter."""
    indices = tf.ragged.range(ragged.row_starts(), ragged.row_starts() + lengths)
    return indices.with_flat_values(tf.gather(ragged.values, indices.flat_values))


def _truncated(
    ragged: tf.RaggedTensor, lengths, truncation: str, is_first: bool = True
) -> tf.RaggedTensor:
    """Returns `lengths`, int64 [B], values of each row; no row may be shorter.

    `head_length` of them are from the row's beginning, the others from its end.
    """
    head = head_length(lengths, truncation, is_first)
    starts = ragged.row_starts()
    ends = ragged.row_limits()
    head_indices = tf.ragged.range(starts, starts + head)
    tail_indices = tf.ragged.range(ends - (lengths - head), ends)
    indices = tf.concat([head_indices, tail_indices], 1)
    return indices.with_flat_values(tf.gather(ragged.values, indices.flat_values))


def column(like: tf.RaggedTensor, value) -> tf.RaggedTensor:
    """Returns one value for each row of `like`."""
    return tf.RaggedTensor.from_row_splits(
        tf.fill([like.nrows()], value), tf.range(like.nrows() + 1), validate=False
    )

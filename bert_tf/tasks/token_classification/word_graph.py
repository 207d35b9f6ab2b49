"""Words and entities of texts in a graph, from their tokens; Python calls the same functions.

A text has no words as labeled files have them, so they are made of its tokens, by one of two
rules:

    basic   every word of the basic tokenizer:         "Don't (yet)."  →  Don ' t ( yet ) .
    edges   parts between white space, without the     "Don't (yet)."  →  Don't ( yet ) .
            punctuation marks at their edges

Files with words are cut like the second, files with texts and offsets are read by the first. An
ideograph is a word.

Letters: B texts, T tokens of all texts, W words of all texts, E maximum number of entities of a
text, C labels.
"""

import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from data_gen.labeled.tag_schemes import TagNames
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import find_chunk_starts

BASIC = "basic"
EDGES = "edges"
# Kinds of tokens, as far as they decide where words end.
_ORDINARY, CONTINUATION, _PUNCTUATION, _IDEOGRAPH, _UNKNOWN = range(5)


class Words(NamedTuple):
    """Words of texts.

    Attributes:
      tokens: int64 [W], number of the first token of each.
      rows: int64 [W], the text of each, ascending.
      starts, ends: int32 [W]; the word is text[start:end], in characters.
    """

    tokens: tf.Tensor
    rows: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor


def token_kinds(vocabulary: Vocabulary) -> np.ndarray:
    """Returns the kind of each token of a vocabulary of V entries, uint8 [V]."""
    kinds = np.zeros(len(vocabulary), np.uint8)
    for number, token in enumerate(vocabulary.tokens):
        if token.startswith("##") and len(token) > 2:
            kinds[number] = CONTINUATION
        elif len(token) == 1:
            if not token.isalnum() and unicodedata.category(token)[0] in "PS":
                kinds[number] = _PUNCTUATION
            # An ordinary character and the letter after it would be one chunk.
            elif len(find_chunk_starts(f"{token}a")) == 2:
                kinds[number] = _IDEOGRAPH
    kinds[vocabulary.unk_id] = _UNKNOWN
    return kinds


def find_words(ids, starts, ends, rows, kinds: np.ndarray, rule: str) -> Words:
    """Finds the words of texts.

    Args:
      ids, starts, ends: int32 [T], tokens and their offsets in characters.
      rows: int64 [T], the text of each token.
      kinds: see `token_kinds`.
      rule: `BASIC` or `EDGES`.
    """
    kind = tf.gather(tf.constant(kinds, tf.int32), ids)
    is_text_start = _is_first_of_row(rows)
    begins_word = (kind != CONTINUATION) | is_text_start
    if rule == EDGES:
        # A chunk is a part between white space.
        is_after_gap = tf.concat([starts[:1] >= 0, starts[1:] != ends[:-1]], 0)
        begins_chunk = is_text_start | (begins_word & is_after_gap)
        is_ideograph = kind == _IDEOGRAPH
        is_after_ideograph = tf.concat([is_ideograph[:1], is_ideograph[:-1]], 0)
        begins_word &= (
            begins_chunk
            | _is_at_edge(kind, ends - starts, begins_chunk)
            | is_ideograph
            | is_after_ideograph
        )
    tokens = tf.where(begins_word)[:, 0]
    word_numbers = tf.cumsum(tf.cast(begins_word, tf.int64)) - 1
    # A word ends with the last of its tokens.
    word_ends = tf.math.unsorted_segment_max(ends, word_numbers, tf.size(tokens, tf.int64))
    return Words(tokens, tf.gather(rows, tokens), tf.gather(starts, tokens), word_ends)


def _is_at_edge(kind, lengths, begins_chunk):
    """Returns whether a token stands in the punctuation at an edge of its chunk, or right after it.

    Args:
      kind: int32 [T], kinds of tokens.
      lengths: int32 [T], their lengths in characters.
      begins_chunk: bool [T].

    Returns:
      bool [T]: a word begins at such a token, unless it is a continuation.
    """
    num_tokens = tf.size(kind, tf.int64)
    numbers = tf.range(num_tokens)
    chunks = tf.cumsum(tf.cast(begins_chunk, tf.int64)) - 1
    num_chunks = tf.reduce_sum(tf.cast(begins_chunk, tf.int64))
    # A single character that the vocabulary lacks is most often a punctuation mark, too.
    is_mark = (kind == _PUNCTUATION) | ((kind == _UNKNOWN) & (lengths <= 1))
    # In a chunk of marks alone every token is at an edge.
    first_candidates = tf.where(is_mark, num_tokens, numbers)
    first_inner = tf.math.unsorted_segment_min(first_candidates, chunks, num_chunks)
    last_candidates = tf.where(is_mark, tf.constant(-1, tf.int64), numbers)
    last_inner = tf.math.unsorted_segment_max(last_candidates, chunks, num_chunks)
    is_leading = numbers <= tf.gather(first_inner, chunks)
    is_trailing = numbers > tf.gather(last_inner, chunks)
    return is_leading | is_trailing


def find_entities(words: Words, probabilities, names: TagNames, num_texts) -> dict:
    """Finds the entities of the most probable labels, by conlleval's rules.

    Args:
      probabilities: float32 [W, C].
      names: prefixes and types of the labels.
      num_texts: B.

    Returns:
      int32 "start" and "end" [B, E] in characters, -1 after the last entity of a text; string
      "label" [B, E]; float32 "score" [B, E], the mean probability of the labels of its words.
    """
    labels = tf.argmax(probabilities, 1)
    prefixes = tf.gather(tf.constant(names.prefixes, tf.int32), labels)
    types = tf.gather(tf.constant(names.types), labels)
    is_text_start = _is_first_of_row(words.rows)
    is_inside = types >= 0
    last_prefixes = tf.where(is_text_start, 0, tf.concat([prefixes[:1], prefixes[:-1]], 0))
    last_types = tf.where(is_text_start, -1, tf.concat([types[:1], types[:-1]], 0))
    # The prefixes O, B, I, E, S are 0 to 4: B and S begin an entity, E and S end the last one.
    begins = (prefixes == 1) | (prefixes == 4) | (last_types != types) | (last_prefixes >= 3)
    begins &= is_inside
    # A word ends an entity if the next one is outside, begins another, or is of another text.
    is_border = begins | ~is_inside | is_text_start
    ends = is_inside & tf.concat([is_border[1:], tf.ones_like(is_inside[:1])], 0)
    first_words = tf.where(begins)[:, 0]
    last_words = tf.where(ends)[:, 0]
    entities = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, is_inside)
    confidence = tf.boolean_mask(tf.reduce_max(probabilities, 1), is_inside)
    num_entities = tf.size(first_words, tf.int64)
    sums = tf.math.unsorted_segment_sum(confidence, entities, num_entities)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(confidence), entities, num_entities)
    rows = tf.gather(words.rows, first_words)
    # A vocabulary of types may be empty; gather needs an entry.
    type_names = tf.constant([*names.type_names, ""])
    entity_names = tf.gather(type_names, tf.gather(types, first_words))
    entity_starts = tf.gather(words.starts, first_words)
    entity_ends = tf.gather(words.ends, last_words)
    return {
        "start": pad_rows(entity_starts, rows, num_texts, -1),
        "end": pad_rows(entity_ends, rows, num_texts, -1),
        "label": pad_rows(entity_names, rows, num_texts, ""),
        "score": pad_rows(sums / counts, rows, num_texts, 0.0),
    }


def pad_rows(values, rows, num_rows, padding):
    """Arranges values of texts, [N], whose texts `rows` ascend, as [B, most values of a text]."""
    ragged = tf.RaggedTensor.from_value_rowids(values, rows, num_rows, validate=False)
    return ragged.to_tensor(padding)


def _is_first_of_row(rows):
    """Returns bool [T], whether a token is the first of its text."""
    return tf.concat([rows[:1] >= 0, rows[1:] != rows[:-1]], 0)

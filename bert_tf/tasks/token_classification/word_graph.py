"""Tokens of texts → words → entities, in a graph; predictions in Python find words by the same
functions.

A text has no words as labelled files have them, so they are made of its tokens, by one of two
rules:

    basic   every word of the basic tokenizer:         "Don't (yet)."  →  Don ' t ( yet ) .
    edges   what stands between white space, without    "Don't (yet)."  →  Don't ( yet ) .
            the punctuation marks at its edges

Files with words are cut like the second, files with texts and offsets are read by the first. An
ideograph is a word.

Letters: B texts, T tokens of all texts, W words of all texts, E entities of the text with most of
them, C labels.
"""

import unicodedata
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from data_gen.labelled.tag_schemes import TagNames
from data_gen.tokenization.vocabulary import Vocabulary
from data_gen.tokenization.wordpiece import find_chunk_starts

BASIC, EDGES = "basic", "edges"
_ORDINARY, CONTINUATION, _PUNCTUATION, _IDEOGRAPH, _UNKNOWN = range(5)


class Words(NamedTuple):
    """Words of texts.

    Attributes:
      tokens: int64 [W], the first token of each.
      rows: int64 [W], the text of each, rising.
      starts, ends: int32 [W], the word is text[start:end], in characters.
    """

    tokens: tf.Tensor
    rows: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor


def token_kinds(vocabulary: Vocabulary) -> np.ndarray:
    """What matters of tokens where words end, uint8 [V]."""
    kinds = np.zeros(len(vocabulary), np.uint8)
    for number, token in enumerate(vocabulary.tokens):
        if token.startswith("##") and len(token) > 2:
            kinds[number] = CONTINUATION
        elif len(token) == 1 and not token.isalnum() and unicodedata.category(token)[0] in "PS":
            kinds[number] = _PUNCTUATION
        elif len(token) == 1 and len(find_chunk_starts(f"{token}a")) == 2:
            # Ordinary characters go on in one chunk.
            kinds[number] = _IDEOGRAPH
    kinds[vocabulary.unk_id] = _UNKNOWN
    return kinds


def find_words(ids, starts, ends, rows, kinds: np.ndarray, rule: str) -> Words:
    """The words of texts, of the tokens' ids, starts and ends, int32 [T], and rows, int64 [T], the
    text of each."""
    kind = tf.gather(tf.constant(kinds, tf.int32), ids)
    numbers = tf.range(tf.size(ids, tf.int64))
    is_new = _differs(rows)
    is_basic = (kind != CONTINUATION) | is_new
    begins = is_basic
    if rule == EDGES:
        is_chunk = is_new | (is_basic & tf.concat([starts[:1] >= 0, starts[1:] != ends[:-1]], 0))
        chunks = tf.cumsum(tf.cast(is_chunk, tf.int64)) - 1
        count = tf.reduce_sum(tf.cast(is_chunk, tf.int64))
        # A character that the vocabulary lacks is most often a mark, too.
        is_inner = (kind != _PUNCTUATION) & ((kind != _UNKNOWN) | (ends - starts > 1))
        nowhere = tf.size(ids, tf.int64)
        first = tf.math.unsorted_segment_min(tf.where(is_inner, numbers, nowhere), chunks, count)
        last = tf.math.unsorted_segment_max(tf.where(is_inner, numbers, -1), chunks, count)
        is_ideograph = kind == _IDEOGRAPH
        at_edge = (numbers <= tf.gather(first, chunks)) | (numbers > tf.gather(last, chunks))
        begins &= (
            is_chunk | at_edge | is_ideograph | tf.concat([is_ideograph[:1], is_ideograph[:-1]], 0)
        )
    tokens = tf.where(begins)[:, 0]
    words = tf.cumsum(tf.cast(begins, tf.int64)) - 1
    word_ends = tf.math.unsorted_segment_max(ends, words, tf.size(tokens, tf.int64))
    return Words(tokens, tf.gather(rows, tokens), tf.gather(starts, tokens), word_ends)


def find_entities(words: Words, probabilities, names: TagNames, num_texts) -> dict:
    """The entities that the most probable labels say, by conlleval's rules.

    Args:
      probabilities: float32 [W, C].

    Returns:
      int32 "start" and "end" [B, E] in characters, -1 where a text has no more; string "label" [B,
      E]; float32 "score" [B, E], the mean probability of the labels of the entity's words.
    """
    labels = tf.argmax(probabilities, 1)
    prefixes = tf.gather(tf.constant(names.prefixes, tf.int32), labels)
    types = tf.gather(tf.constant(names.types), labels)
    is_new = _differs(words.rows)
    inside = types >= 0
    last_prefixes = tf.where(is_new, 0, tf.concat([prefixes[:1], prefixes[:-1]], 0))
    last_types = tf.where(is_new, -1, tf.concat([types[:1], types[:-1]], 0))
    # O, B, I, E, S are 0 to 4.
    begins = inside & (
        (prefixes == 1) | (prefixes == 4) | (last_types != types) | (last_prefixes >= 3)
    )
    stops = inside & tf.concat([(begins | ~inside | is_new)[1:], inside[:1] | True], 0)
    first, last = tf.where(begins)[:, 0], tf.where(stops)[:, 0]
    entities = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, inside)
    confidence = tf.boolean_mask(tf.reduce_max(probabilities, 1), inside)
    count = tf.size(first, tf.int64)
    scores = tf.math.unsorted_segment_sum(
        confidence, entities, count
    ) / tf.math.unsorted_segment_sum(tf.ones_like(confidence), entities, count)
    rows = tf.gather(words.rows, first)
    type_names = tf.constant([*names.type_names, ""])
    return {
        name: pad_rows(values, rows, num_texts, nothing)
        for name, values, nothing in (
            ("start", tf.gather(words.starts, first), -1),
            ("end", tf.gather(words.ends, last), -1),
            ("label", tf.gather(type_names, tf.gather(types, first)), ""),
            ("score", scores, 0.0),
        )
    }


def pad_rows(values, rows, num_rows, nothing):
    """Values of texts one after the other, [N] with their texts, rising, as [B, most of a text]."""
    return tf.RaggedTensor.from_value_rowids(values, rows, num_rows, validate=False).to_tensor(
        nothing
    )


def _differs(rows):
    """bool [T], whether a token is the first of its text."""
    return tf.concat([rows[:1] >= 0, rows[1:] != rows[:-1]], 0)

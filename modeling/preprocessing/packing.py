"""Tokens of texts and pairs as what the model reads, in a graph: `convert_single_example` of the original.

    # tokens:      [CLS] is this jack ##son ##ville ? [SEP] no it is not . [SEP]
    # segment ids:   0    0    0   0    0     0     0   0    1  1 1   1  1   1

Input: ids [B, (tokens)] of one or two texts; output: features [B, S], padded to the longest row. The rules are those of
`data_gen/labelled/pair_features.py`.
"""

import tensorflow as tf

from data_gen.labelled.pair_features import END, head_length
from data_gen.tokenization.vocabulary import Vocabulary


def pack(first: tf.RaggedTensor, second: tf.RaggedTensor | None, max_seq_length: int, vocabulary: Vocabulary,
         lose: str = END, width=None) -> dict:
  """[CLS] a [SEP] b [SEP], or [CLS] a [SEP] where there is no second text or it has no token.

  Args:
    first, second: int32 [B, (tokens)].
    max_seq_length: longer pairs are truncated: the longer text loses its last token until they fit, the second if they
      are equally long.
    vocabulary: for the ids of [CLS], [SEP] and [PAD].
    lose: which tokens of a text are lost, as in `encode_pairs`.
    width: S; None for the length of the longest row.

  Returns:
    int32 "input_ids", "input_mask" and "segment_ids", each [B, S].
  """
  if second is None:
    most = max_seq_length - 2
    kept = first[:, :most] if lose == END else _kept_of_rows(first, tf.minimum(first.row_lengths(), most), lose)
    return features([column(first, vocabulary.cls_id), kept,
                     column(first, vocabulary.sep_id)], 3, vocabulary, width)
  a, b = first.row_lengths(), second.row_lengths()
  room = max_seq_length - 2 - tf.cast(b > 0, tf.int64)
  first = _kept_of_rows(first, tf.minimum(a, tf.maximum(room - b, (room + 1) // 2)), lose)
  second = _kept_of_rows(second, tf.minimum(b, tf.maximum(room - a, room // 2)), lose, is_first=False)
  last = first_of_rows(column(first, vocabulary.sep_id), tf.cast(second.row_lengths() > 0, tf.int64))
  return features([column(first, vocabulary.cls_id), first, column(first, vocabulary.sep_id), second, last], 3,
                  vocabulary, width)


def features(parts: list[tf.RaggedTensor], segment: int, vocabulary: Vocabulary, width=None) -> dict:
  """The parts of rows concatenated, as in `pack`; those from number `segment` on are of segment 1."""
  ids = tf.concat(parts, 1)
  segments = tf.concat([tf.zeros_like(part) + int(number >= segment) for number, part in enumerate(parts)], 1)
  return {"input_ids": padded(ids, vocabulary.pad_id, width), "input_mask": padded(tf.ones_like(ids), 0, width),
          "segment_ids": padded(segments, 0, width)}


def padded(ragged: tf.RaggedTensor, value, width=None) -> tf.Tensor:
  """[B, (tokens)] → [B, S]: `width`, or the longest row.

  S is at least 1, as the model looks at the first position even where there is no text.
  """
  if isinstance(width, int):
    return ragged.to_tensor(value, shape=[None, width])
  width = tf.maximum(ragged.bounding_shape(axis=1), 1) if width is None else tf.cast(width, tf.int64)
  return ragged.to_tensor(value, shape=tf.stack([ragged.nrows(), width]))


def first_of_rows(ragged: tf.RaggedTensor, lengths) -> tf.RaggedTensor:
  """The first `lengths`, int64 [B], of each row; no row may be shorter than that."""
  places = tf.ragged.range(ragged.row_starts(), ragged.row_starts() + lengths)
  return places.with_flat_values(tf.gather(ragged.values, places.flat_values))


def _kept_of_rows(ragged: tf.RaggedTensor, lengths, lose: str, is_first: bool = True) -> tf.RaggedTensor:
  """`lengths`, int64 [B], of the values of each row, see `head_length`; no row may be shorter than that."""
  head, ends = head_length(lengths, lose, is_first), ragged.row_limits()
  places = tf.concat([tf.ragged.range(ragged.row_starts(), ragged.row_starts() + head),
                      tf.ragged.range(ends - (lengths - head), ends)], 1)
  return places.with_flat_values(tf.gather(ragged.values, places.flat_values))


def column(like: tf.RaggedTensor, value) -> tf.RaggedTensor:
  """One value for each row."""
  return tf.RaggedTensor.from_row_splits(tf.fill([like.nrows()], value), tf.range(like.nrows() + 1), validate=False)

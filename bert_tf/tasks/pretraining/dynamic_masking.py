"""Masks made while training: anew in every pass, by the rule of data generation (`data_gen/pretraining/masking.py`).

What is masked in a sequence is a function of (seed, pass, sequence, share of the tokens), so neither a resumed run nor
the number of devices changes it; in evaluation it is always the same. The share may fall (arXiv 2305.15096).

Input: parsed records without masks. Output: the same features as those of records with masks.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from bert_tf.training.inputs import STEP_SHIFT
from data_gen.pretraining.masking import KeyedDraws, Masking, mask, predictions_of
from data_gen.pretraining.packing import Packs, put_in_rows
from data_gen.pretraining.record_writer import sequence_features
from data_gen.pretraining.schema import MASK_FEATURES, Schema


def masker(schema: Schema, masking: Masking, seed: int, probs: Callable | None = None) -> Callable:
  """A function for `data.parser`: (features, serialized records string [b], uses int64 [b]) → features with masks.

  Args:
    masking: how to mask; `max_predictions_per_seq` are the predictions of a record, also of a packed one.
    probs: steps, int64 [b] → `masked_lm_prob` of each; None for that of `masking`.
  """
  import tensorflow as tf

  names = [name for name in schema.features if name != "next_sentence_weights"]

  def add_masks(features: dict, serialized, uses) -> dict:
    # Whatever the place of a record in the files: the same sequence is the same example.
    keys = tf.strings.to_hash_bucket_fast(serialized, 1 << 62)

    def work(keys, uses, *values):
      now = masking if probs is None else dataclasses.replace(masking, masked_lm_prob=probs(uses >> STEP_SHIFT))
      return mask_records(dict(zip(names, values, strict=True)), now, seed, uses, keys)

    masked = tf.numpy_function(work, [keys, uses, *(features[name] for name in names)],
                               [tf.int32, tf.int32, tf.int32, tf.float32], stateful=False)
    for name, value in zip(("input_ids", *MASK_FEATURES), masked, strict=True):
      width = schema.max_seq_length if name == "input_ids" else masking.max_predictions_per_seq
      value.set_shape([serialized.shape[0], width])
      features = {**features, name: value}
    return features

  return add_masks


def mask_records(features: dict[str, np.ndarray], masking: Masking, seed: int, passes: np.ndarray, keys: np.ndarray
                 ) -> tuple[np.ndarray, ...]:
  """Masks the sequences of records.

  Args:
    features: of b records without masks, as they are in the files.
    masking: how to mask; `masked_lm_prob` may be one for each record, float64 [b].
    passes, keys: int64 [b], which pass it is (its lower 32 bits count), and which record.

  Returns:
    "input_ids" int32 [b, S], "masked_lm_positions" and "masked_lm_ids" int32 [b, P], "masked_lm_weights" float32
    [b, P].
  """
  number = features["input_mask"]
  rows, width = number.shape
  is_packed = "next_sentence_positions" in features
  most = features["next_sentence_positions"].shape[1] if is_packed else 1
  # Every sequence by itself: its row, its number there, its first position and its length.
  length = (number[:, :, None] == np.arange(1, most + 1)).sum(1)  # [b, K]
  row, which = np.nonzero(length)
  begin = features["next_sentence_positions"][row, which] if is_packed else np.zeros_like(row)
  packs, length = Packs(row, which, begin, rows), length[row, which]
  at = np.minimum(begin[:, None] + np.arange(width), width - 1)
  real = np.arange(width) < length[:, None]
  ids, segments = (np.where(real, features[name][row[:, None], at], 0) for name in ("input_ids", "segment_ids"))
  segment_b = np.where((segments == 1).any(1), (segments == 1).argmax(1), length)
  masking = dataclasses.replace(masking, masked_lm_prob=np.broadcast_to(masking.masked_lm_prob, rows)[row])
  # Rows were packed for so many predictions: only where other flags are given now may there be too many.
  predicted = predictions_of(length, masking.masked_lm_prob, masking.max_predictions_per_seq)
  before = np.cumsum(predicted) - predicted
  before -= before[np.searchsorted(row, row)]
  draws = KeyedDraws(seed, passes[row].astype(np.uint64), (keys[row] * most + which).astype(np.uint64), width,
                     masking.max_predictions_per_seq)
  masked = mask(ids.astype(np.int32), length, segment_b - 1, masking, draws,
                np.maximum(masking.max_predictions_per_seq - before, 0))
  sequences = sequence_features(ids, length, segment_b, np.zeros_like(row), masked)
  schema = Schema(width, masking.max_predictions_per_seq, most)
  found = put_in_rows(sequences, length, packs, schema)
  return (*(found[name].astype(np.int32) for name in ("input_ids", *MASK_FEATURES[:2])),
          found["masked_lm_weights"])

"""Texts of any length as windows of tokens that overlap, so that a model sees all of them.

Input: texts. Output: flat arrays as those of `pair_features.py`, one row per window, and how many rows each text has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range

# Texts encoded at a time.
_PORTION = 10_000


class WindowFeatures(NamedTuple):
  """Windows of E texts, W in all with T tokens.

  Attributes:
    input_ids: int32 [T], [CLS] tokens [SEP] for each window.
    row_lengths: int64 [W], number of tokens of each window.
    window_counts: int64 [E], windows of each text, at least 1.
  """

  input_ids: np.ndarray
  row_lengths: np.ndarray
  window_counts: np.ndarray


def encode_windows(tokenizer: Tokenizer, texts: Sequence[str], max_seq_length: int, stride: int) -> WindowFeatures:
  """The windows of E texts, in order.

  Args:
    tokenizer: makes ids of texts.
    texts: E of them.
    max_seq_length: of a window, [CLS] and [SEP] included; at least 3.
    stride: tokens between the beginnings of two windows. The last window of a text ends where the text does, so it is
      as long as the others and may overlap the one before it by more.

  Raises:
    ValueError: a window that can't hold a token, or a stride that leaves tokens out.
  """
  room = max_seq_length - 2
  if not 1 <= stride <= room:
    raise ValueError(f"stride is {stride}, it must be from 1 to {room}, the tokens of a window")
  parts = [_encode_portion(tokenizer, texts[first:first + _PORTION], room, stride)
           for first in range(0, max(len(texts), 1), _PORTION)]
  return WindowFeatures(*map(np.concatenate, zip(*parts, strict=True)))


def _encode_portion(tokenizer: Tokenizer, texts: Sequence[str], room: int, stride: int) -> WindowFeatures:
  ids, lengths, _ = tokenizer.encode_batch(texts)
  # Tokens beyond the first window, in strides.
  counts = 1 + -(-np.maximum(lengths - room, 0) // stride)
  text_of_window = np.repeat(np.arange(len(lengths)), counts)
  number = ragged_range(np.zeros_like(counts), counts)
  starts = np.minimum(number * stride, np.maximum(lengths - room, 0)[text_of_window])
  sizes = np.minimum(lengths[text_of_window] - starts, room)
  starts += (np.cumsum(lengths) - lengths)[text_of_window]
  # [CLS] and [SEP] are put around what is gathered.
  row_lengths = sizes + 2
  ends = np.cumsum(row_lengths)
  input_ids = np.empty(int(row_lengths.sum()), np.int32)
  is_token = np.ones(len(input_ids), bool)
  is_token[ends - 1] = is_token[ends - row_lengths] = False
  input_ids[ends - row_lengths], input_ids[ends - 1] = tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id
  input_ids[is_token] = ids[ragged_range(starts, sizes)]
  return WindowFeatures(input_ids, row_lengths, counts)

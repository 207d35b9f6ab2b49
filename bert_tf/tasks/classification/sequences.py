"""Texts as what the model reads, and what becomes of those that are longer.

Input: texts or pairs. Output: `Examples`, of which a long text may have several. Runs and predictions use the same.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks.classification.options import LONG_TEXTS
from bert_tf.training.examples import Examples
from data_gen.labelled.pair_features import END, MIDDLE, encode_pairs, encode_windows
from data_gen.tokenization.tokenizer import Tokenizer

TRUNCATE, HEAD_TAIL, WINDOWS = LONG_TEXTS


@dataclasses.dataclass(frozen=True)
class Sequences:
  """E texts as W sequences.

  Attributes:
    window_counts: int64 [E], sequences of each text; None where each has one.
  """

  examples: Examples
  window_counts: np.ndarray | None
  truncated: int

  def per_window(self, values: np.ndarray) -> np.ndarray:
    """Values of texts, [E, ...], as those of their sequences, [W, ...]."""
    return values if self.window_counts is None else np.repeat(values, self.window_counts, axis=0)

  def pool(self, logits: np.ndarray) -> np.ndarray:
    """The mean over the sequences of each text: [W, C] → [E, C]."""
    if self.window_counts is None:
      return logits
    starts = np.cumsum(self.window_counts) - self.window_counts
    sums = np.add.reduceat(logits.astype(np.float64), starts, axis=0)
    return (sums / self.window_counts[:, None]).astype(logits.dtype)


@dataclasses.dataclass(frozen=True)
class LongTexts:
  """What is read of texts of more than `max_seq_length` tokens.

  Attributes:
    how: one of `LONG_TEXTS`.
    max_seq_length: of a sequence, [CLS] and [SEP] included.
    stride: tokens from one window to the next; None where there are none.
  """

  how: str
  max_seq_length: int
  stride: int | None = None

  def __post_init__(self):
    if self.how not in LONG_TEXTS:
      raise UserError(f"long_texts is {self.how!r}: it must be one of {', '.join(LONG_TEXTS)}")
    room = self.max_seq_length - 2
    if self.is_windows and (type(self.stride) is not int or not 1 <= self.stride <= room):
      raise UserError(f"--window_stride is {self.stride}: it must be from 1 to {room}, the tokens of a window of "
                      f"--max_seq_length={self.max_seq_length}")

  @classmethod
  def choose(cls, how: str | None, max_seq_length: int, stride: int | None, task: Mapping | None) -> "LongTexts":
    """As asked for; else as `task.json` says; else truncated, with windows that overlap by half.

    The stride of `task.json` is for its own length: windows that are shorter than it touch.
    """
    task, room = task or {}, max_seq_length - 2
    how = how or task.get("long_texts", TRUNCATE)
    if how != WINDOWS:
      return cls(how, max_seq_length)
    told = task.get("window_stride", max(room // 2, 1))
    return cls(how, max_seq_length, stride or (min(told, room) if type(told) is int else told))

  @property
  def is_windows(self) -> bool:
    """Whether a text may have several sequences."""
    return self.how == WINDOWS

  def to_task(self) -> dict:
    """For `task.json`; empty for what was always done."""
    if self.how == TRUNCATE:
      return {}
    return {"long_texts": self.how} | ({"window_stride": self.stride} if self.is_windows else {})

  def encode(self, tokenizer: Tokenizer, text_a: Sequence[str], text_b: Sequence[str] | None) -> Sequences:
    """The sequences of texts or pairs, in order; windows are of single texts."""
    if self.is_windows:
      windows = encode_windows(tokenizer, text_a, self.max_seq_length, self.stride)
      tokens = {"input_ids": windows.input_ids, "segment_ids": np.zeros(len(windows.input_ids), np.uint8)}
      return Sequences(Examples(tokens, windows.row_lengths), windows.window_counts, 0)
    features = encode_pairs(tokenizer, text_a, text_b, self.max_seq_length,
                            lose=MIDDLE if self.how == HEAD_TAIL else END)
    tokens = {"input_ids": features.input_ids, "segment_ids": features.segment_ids}
    return Sequences(Examples(tokens, features.row_lengths), None, features.truncated)

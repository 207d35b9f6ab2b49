"""Examples of several texts in memory: every text is kept once, however many examples have it.

Input: sequences of ids, one a text (`bert_tf/tasks/sentence_embedding/data.py`). Output: batches for
`bert_tf/training/step.py`.
"""

import dataclasses
import functools

import numpy as np

from bert_tf.training.examples import Examples
from modeling.sentence_embedding import NO_TEXT

# What losses that compare examples read beside their vectors.
COMPARED = ("text_ids", "label_ids", "is_real_example")
# In a batch the k-th texts of all examples are as long as the longest of them, rounded up: few lengths are compiled.
_LENGTH_STEP = 8


@dataclasses.dataclass(frozen=True)
class SentenceExamples(Examples):
  """E examples of K texts; `row_lengths` and `row_starts` have one number a text, U in all.

  In a batch sequences are [B, K, S]; a text that is not there is all padding. A batch also holds "text_ids" int32
  [B, K], `NO_TEXT` for what is not there and for all of a padding example, and "text_lengths" int32 [B, K], of all rows
  the same: to so many tokens the k-th texts of the batch can be cut.

  Attributes:
    texts: int64 [E, K], rows; `NO_TEXT` where an example has fewer.
  """

  texts: np.ndarray = dataclasses.field(kw_only=True)

  def __len__(self) -> int:
    return len(self.texts)

  @functools.cached_property
  def text_lengths(self) -> np.ndarray:
    """int64 [E, K], tokens of the texts of each example; 0 for none."""
    return np.where(self.texts == NO_TEXT, 0, self.row_lengths[self.texts])

  @property
  def lengths(self) -> np.ndarray:
    return self.text_lengths.max(axis=1)

  @property
  def sequence_lengths(self) -> np.ndarray:
    return self.text_lengths.ravel()

  def describe(self) -> str:
    return (f"{len(self):,} of {self.texts.shape[1]} texts, {len(self.row_lengths):,} different ones of "
            f"{self.row_lengths.mean():.1f} tokens, the longest {self.row_lengths.max()}")

  @property
  def sequence_axes(self) -> tuple[int, ...]:
    return self.texts.shape[1:]

  @property
  def value_types(self) -> dict[str, np.dtype]:
    return {**super().value_types, **dict.fromkeys(("text_ids", "text_lengths"), np.dtype(np.int32))}

  @property
  def value_shapes(self) -> dict[str, tuple[int, ...]]:
    return {**super().value_shapes, **dict.fromkeys(("text_ids", "text_lengths"), self.texts.shape[1:])}

  def select(self, chosen: np.ndarray, num_real: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    texts, lengths = self.texts[chosen], self.text_lengths[chosen]
    longest = -(-lengths.max(axis=0) // _LENGTH_STEP) * _LENGTH_STEP
    values = {name: values[chosen] for name, values in self.values.items()}
    values["text_ids"] = np.where(np.arange(len(chosen))[:, None] < num_real, texts, NO_TEXT)
    values["text_lengths"] = np.tile(longest, (len(chosen), 1))
    return np.where(texts == NO_TEXT, 0, self.row_starts[texts]), lengths, values

  @property
  def unique(self) -> Examples:
    """Every text as an example of its own: [U]."""
    return Examples(self.tokens, self.row_lengths)

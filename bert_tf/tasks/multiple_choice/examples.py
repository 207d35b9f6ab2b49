"""Questions in memory: all choices of a question stay together, and none is made up where a question has fewer.

Input: sequences of ids, one a choice (`bert_tf/tasks/multiple_choice/data.py`). Output: batches for
`bert_tf/training/step.py`, padded to the longest sequence of the batch, and the same sequences one by one for
predictions.
"""

import dataclasses
import functools

import numpy as np

from bert_tf.training.examples import Examples


@dataclasses.dataclass(frozen=True)
class ChoiceExamples(Examples):
  """E questions: `row_lengths` and `row_starts` have one number a choice, those of a question side by side.

  In a batch sequences are [B, K, S], K the most choices that a question here has; choices that a question does not have
  are all padding. Where not all have the same number, a batch also holds "num_choices" int32 [B] and "first_choice"
  int32 [B], the number of choices of the questions before this one in the global batch. Questions that only fill the
  batch count one choice.

  Attributes:
    num_choices: int64 [E], at least 1 each.
  """

  num_choices: np.ndarray = dataclasses.field(kw_only=True)

  def __len__(self) -> int:
    return len(self.num_choices)

  @functools.cached_property
  def first_rows(self) -> np.ndarray:
    """int64 [E], the row of the first choice of each question."""
    return np.cumsum(self.num_choices) - self.num_choices

  @functools.cached_property
  def lengths(self) -> np.ndarray:
    return np.maximum.reduceat(self.row_lengths, self.first_rows)

  @functools.cached_property
  def most_choices(self) -> int:
    """K."""
    return int(self.num_choices.max())

  @functools.cached_property
  def is_ragged(self) -> bool:
    """Whether some questions have fewer choices than others."""
    return bool((self.num_choices < self.most_choices).any())

  @property
  def sequence_axes(self) -> tuple[int, ...]:
    return (self.most_choices,)

  @property
  def value_types(self) -> dict[str, np.dtype]:
    added = ("num_choices", "first_choice") if self.is_ragged else ()
    return {**super().value_types, **dict.fromkeys(added, np.dtype(np.int32))}

  def select(self, chosen: np.ndarray, num_real: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    values = {name: values[chosen] for name, values in self.values.items()}
    counts = self.num_choices[chosen]
    if self.is_ragged:
      counts = np.where(np.arange(len(chosen)) < num_real, counts, 1)
      values |= {"num_choices": counts.astype(np.int32),
                 "first_choice": (np.cumsum(counts) - counts).astype(np.int32)}
    numbers = np.arange(self.most_choices)
    is_there = numbers < counts[:, None]  # [B, K]
    rows = np.where(is_there, self.first_rows[chosen][:, None] + numbers, 0)
    return self.row_starts[rows], np.where(is_there, self.row_lengths[rows], 0), values

  @property
  def choices(self) -> Examples:
    """Every choice as an example of its own: a score needs no other choice."""
    return Examples(self.tokens, self.row_lengths)

  def by_question(self, scores: np.ndarray) -> np.ndarray:
    """float [number of choices] → [E, K], minus infinity for choices that are not there."""
    table = np.full((len(self), self.most_choices), -np.inf, scores.dtype)
    table[np.arange(self.most_choices) < self.num_choices[:, None]] = scores
    return table

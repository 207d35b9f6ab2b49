"""Scores with 95 % intervals, beside the score of a model that always answers the same.

The intervals are over examples: other examples of the same kind would give another score. They do
not include what another seed of the training would change.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

# Normal distribution: 95 % lie within so many standard deviations.
_WIDTH = 1.959964
_NUM_SAMPLES = 2_000


@dataclasses.dataclass(frozen=True)
class Score:
    """A score.

    Attributes:
      name: the metric, as in `metrics.jsonl`.
      value: the score.
      low, high: the interval.
      baseline: the score of always giving the same answer; None if it has none.
      num_examples: examples, words or questions that the score is of.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float | None
    num_examples: int


def share(name: str, num_right: int, num_examples: int, baseline: float | None = None) -> Score:
    """Returns a share of right answers with Wilson's interval."""
    value = num_right / num_examples
    squared = _WIDTH**2 / num_examples
    center = (value + squared / 2) / (1 + squared)
    half = _WIDTH * math.sqrt(value * (1 - value) / num_examples + squared / num_examples / 4)
    half /= 1 + squared
    return Score(
        name, value, max(center - half, 0.0), min(center + half, 1.0), baseline, num_examples
    )


def mean(name: str, values: Sequence[float], baseline: float | None = None) -> Score:
    """Returns the mean of the examples' scores, 0 to 1, with the normal interval."""
    value = float(np.mean(values))
    if len(values) > 1:
        half = _WIDTH * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    else:
        half = 0.0
    return Score(name, value, max(value - half, 0.0), min(value + half, 1.0), baseline, len(values))


def macro_f1(matrix: np.ndarray) -> Score:
    """Returns the mean of the classes' F1 from a confusion matrix int [C, C], rows the true ones.

    The interval comes from matrices with as many examples, drawn from this one.
    """
    num_examples = int(matrix.sum())
    random = np.random.default_rng(0)
    cells = matrix.reshape(-1) / num_examples
    samples = random.multinomial(num_examples, cells, size=_NUM_SAMPLES)
    scores = _macro_f1(samples.reshape(-1, *matrix.shape))
    low, high = np.percentile(scores, [2.5, 97.5])
    # The most frequent class for every example: its recall is 1, its precision its share.
    true = matrix.sum(axis=1)
    largest = true.max() / num_examples
    baseline = 2 * largest / (1 + largest) / np.count_nonzero(true)
    value = float(_macro_f1(matrix[None])[0])
    return Score("macro_f1", value, float(low), float(high), float(baseline), num_examples)


def _macro_f1(matrices: np.ndarray) -> np.ndarray:
    """Returns the macro F1 of each matrix, [N, C, C] → [N], as `evaluation.classification` has it:
    the mean over the classes that occur or are predicted."""
    right = np.diagonal(matrices, axis1=1, axis2=2)
    counted = matrices.sum(axis=1) + matrices.sum(axis=2)
    f1 = 2 * right / np.maximum(counted, 1)
    return f1.sum(axis=1) / np.count_nonzero(counted, axis=1)


def f1_of_counts(correct: np.ndarray, guessed: np.ndarray, gold: np.ndarray) -> Score:
    """Returns F1 of chunks from the counts of each sentence, int [S]; without chunks it is 0.

    The interval takes the sentences as independent, and F1 as linear near its value.
    """
    total = int(guessed.sum() + gold.sum())
    value = 2 * int(correct.sum()) / max(total, 1)
    residuals = 2 * correct - value * (guessed + gold)
    half = _WIDTH * math.sqrt(float((residuals**2).sum())) / max(total, 1)
    return Score("f1", value, max(value - half, 0.0), min(value + half, 1.0), 0.0, int(gold.sum()))


def correlation(name: str, values: np.ndarray, true_values: np.ndarray) -> Score:
    """Returns Pearson's correlation with Fisher's interval; a constant answer has 0."""
    if np.ptp(values) and np.ptp(true_values):
        value = float(np.corrcoef(values, true_values)[0, 1])
    else:
        value = 0.0
    low, high = value, value
    if len(values) > 3 and abs(value) < 1:
        half = _WIDTH / math.sqrt(len(values) - 3)
        low, high = np.tanh(np.arctanh(value) - half), np.tanh(np.arctanh(value) + half)
    return Score(name, value, float(low), float(high), 0.0, len(values))

"""Significance of a difference between two rows: paired tests over the repetitions; and intervals
of a relative change over examples.

A repetition has the same seeds and the same data in all rows, so rows are compared seed by seed.
With few seeds few differences are significant.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

# Below this p a difference is called significant.
LEVEL = 0.05
_NUM_SAMPLES = 2_000
# A spread of less, as a share of the values, is their rounding.
_ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Difference:
    """Difference of a row to another one.

    Attributes:
      mean: mean of its repetitions minus the mean of the other row's.
      low, high: 95% interval; None with too few repetitions, or if all differ by the same.
      p: two-sided probability of so large a difference by chance alone.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


def difference(a: Mapping[int, float], b: Mapping[int, float]) -> Difference:
    """Returns the difference of `a` to `b`, seed → value each: by Student's paired t-test if the
    seeds are the same, else by Welch's."""
    from scipy import stats

    values = np.array(list(a.values()))
    baseline = np.array(list(b.values()))
    is_paired = a.keys() == b.keys()
    if is_paired:
        # In the order of the same seeds.
        baseline = np.array([b[seed] for seed in a])
        spread = np.ptp(values - baseline)
    else:
        spread = np.ptp(values) + np.ptp(baseline)
    mean = float(values.mean() - baseline.mean())
    rounding = _ROUNDING * max(np.abs(values).max(), np.abs(baseline).max())
    # The tests divide by the spread. If a run has diverged, both are NaN or infinite.
    if min(len(values), len(baseline)) < 2 or not spread > rounding:
        return Difference(mean)
    if is_paired:
        test = stats.ttest_rel(values, baseline)
    else:
        test = stats.ttest_ind(values, baseline, equal_var=False)
    low, high = test.confidence_interval(1 - LEVEL)
    return Difference(mean, float(low), float(high), float(test.pvalue))


def relative_change(before: np.ndarray, after: np.ndarray) -> Difference:
    """Returns by what share the sum of `after` is more than that of `before`, float [N] each.

    The interval comes from samples of the N examples, with replacement (Efron 1979): other examples
    of the same kind would give another change. It is None for a single example.
    """
    change = float(after.sum() / before.sum() - 1)
    if len(before) < 2:
        return Difference(change)
    random = np.random.default_rng(0)
    samples = random.integers(len(before), size=(_NUM_SAMPLES, len(before)))
    changes = after[samples].sum(axis=1) / before[samples].sum(axis=1) - 1
    low, high = np.percentile(changes, [50 * LEVEL, 100 - 50 * LEVEL])
    return Difference(change, float(low), float(high))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Returns p-values corrected for their number (Holm 1979); None stays None, and counts."""
    # Values that could not be tested are in the number of tests, which is conservative.
    tested = [index for index, value in enumerate(values) if value is not None]
    corrected: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, index in enumerate(sorted(tested, key=values.__getitem__)):
        # No corrected value is below the corrected value of a smaller p.
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = largest
    return corrected

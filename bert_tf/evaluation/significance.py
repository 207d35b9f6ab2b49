"""How sure a difference between two rows is: paired tests over the repetitions.

A repetition has the same seeds and the same data in all rows, so rows are compared seed by seed.
With few seeds little can be sure, and what is said is never more than that.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

# What is called beyond chance.
LEVEL = 0.05


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much more a row has than another one.

    Attributes:
      mean: of its repetitions, less that of the other one.
      low, high: 95% interval; None where there are too few repetitions, or all differ by the same.
      p: two-sided, that chance alone makes so large a difference.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    p: float | None = None


def difference(a: Mapping[int, float], b: Mapping[int, float]) -> Difference:
    """The difference of `a` to `b`, seed → value each: by Student's paired t-test where the seeds
    are the same, else by Welch's."""
    from scipy import stats

    values, others = list(a.values()), list(b.values())
    mean = float(np.mean(values) - np.mean(others))
    is_paired = a.keys() == b.keys()
    spread = (
        np.ptp([a[seed] - b[seed] for seed in a]) if is_paired else np.ptp(values) + np.ptp(others)
    )
    if min(len(values), len(others)) < 2 or not spread or not np.isfinite([*values, *others]).all():
        return Difference(mean)
    test = (
        stats.ttest_rel(values, [b[seed] for seed in a])
        if is_paired
        else stats.ttest_ind(values, others, equal_var=False)
    )
    low, high = test.confidence_interval(1 - LEVEL)
    return Difference(mean, float(low), float(high), float(test.pvalue))


def paired_p(a: Mapping[int, float], b: Mapping[int, float]) -> float | None:
    """Two-sided p of Student's paired t-test; None for fewer than two seeds that both have, or for
    equal differences."""
    seeds = a.keys() & b.keys()
    return (
        difference({seed: a[seed] for seed in seeds}, {seed: b[seed] for seed in seeds}).p
        if len(seeds) > 1
        else None
    )


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for their number (Holm 1979); those that are None stay so, and count."""
    known = [number for number, value in enumerate(values) if value is not None]
    order = sorted(known, key=lambda number: values[number])
    corrected: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[number]))
        corrected[number] = largest
    return corrected

"""How sure a difference between two rows is, and an order of many: paired tests over the repetitions.

A repetition has the same seeds and the same data in all rows, so rows are compared seed by seed. With few seeds little
can be sure, and what is said is never more than that.
"""

import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence

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
  """The difference of `a` to `b`, seed → value each: by Student's paired t-test where the seeds are the same, else by
  Welch's."""
  from scipy import stats

  values, others = list(a.values()), list(b.values())
  mean = float(np.mean(values) - np.mean(others))
  is_paired = a.keys() == b.keys()
  spread = np.ptp([a[seed] - b[seed] for seed in a]) if is_paired else np.ptp(values) + np.ptp(others)
  if min(len(values), len(others)) < 2 or not spread or not np.isfinite([*values, *others]).all():
    return Difference(mean)
  test = (stats.ttest_rel(values, [b[seed] for seed in a]) if is_paired
          else stats.ttest_ind(values, others, equal_var=False))
  low, high = test.confidence_interval(1 - LEVEL)
  return Difference(mean, float(low), float(high), float(test.pvalue))


def paired_p(a: Mapping[int, float], b: Mapping[int, float]) -> float | None:
  """Two-sided p of Student's paired t-test; None for fewer than two seeds that both have, or for equal differences."""
  seeds = a.keys() & b.keys()
  return difference({seed: a[seed] for seed in seeds}, {seed: b[seed] for seed in seeds}).p if len(seeds) > 1 else None


def sign_test(more: int, less: int) -> float | None:
  """Two-sided p of the exact sign test, which is McNemar's; None without any count."""
  from scipy import stats

  return float(stats.binomtest(more, more + less).pvalue) if more + less else None


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


@dataclasses.dataclass(frozen=True)
class Pair:
  """Two rows of which the paper has the first before the second.

  Attributes:
    better, worse: names of the rows, in the paper.
    difference: of our means, positive where we agree.
    p: of the paired test, corrected; None where there is none.
  """

  better: str
  worse: str
  difference: float
  p: float | None

  @property
  def is_sure(self) -> bool:
    return self.p is not None and self.p < LEVEL


@dataclasses.dataclass(frozen=True)
class Order:
  """The order of the rows of a column, compared with the paper's.

  Attributes:
    pairs: of all rows that have a value here and in the paper, whose values there differ.
    seeds: the fewest repetitions of a row.
    tests: how many pairs the p-values are corrected for: those of all columns of the table.
  """

  pairs: tuple[Pair, ...]
  seeds: int
  tests: int

  @property
  def verdict(self) -> str:
    """"confirmed", "same order", "not confirmed", "contradicted" or "unknown"."""
    if not self.pairs or self.seeds < 2:
      return "unknown"
    if any(pair.is_sure and pair.difference < 0 for pair in self.pairs):
      return "contradicted"
    if all(pair.difference > 0 for pair in self.pairs):
      return "confirmed" if all(pair.is_sure for pair in self.pairs) else "same order"
    return "not confirmed"

  def sentence(self) -> str:
    """What may be said, and why."""
    if not self.pairs:
      return "there are no two rows to compare."
    agree = [pair for pair in self.pairs if pair.difference > 0]
    sure = [pair for pair in agree if pair.is_sure]
    reversed_ = [pair for pair in self.pairs if pair.is_sure and pair.difference < 0]
    counts = f"{len(agree)} of {len(self.pairs)} pairs of rows are in the paper's order"
    if self.seeds < 2:
      return f"{counts}; there is one repetition, so nothing is known of chance."
    test = (f"{len(sure)} of them beyond chance (paired t-test over {self.seeds} repetitions, Holm's correction for "
            f"the {self.tests} pairs of all columns, p < {LEVEL})")
    named = ", ".join(f"{pair.worse} above {pair.better} (p = {pair.p:.3f})" for pair in reversed_)
    return {
        "confirmed": "the paper's order is confirmed at this scale: ",
        "contradicted": f"the paper's order is contradicted at this scale: {named}; ",
        "same order": "the order is the paper's, but chance could have made it: ",
        "not confirmed": "the paper's order is not confirmed at this scale, nor is it contradicted: ",
    }[self.verdict] + f"{counts}, {test}."


def compare_orders(ours: Mapping[str, Mapping[str, Mapping[int, float]]], paper: Mapping[str, Mapping[str, float]],
                   lower_is_better: Collection[str] = ()) -> dict[str, Order]:
  """Compares all pairs of rows in every column of a table, and corrects for all of them together.

  Args:
    ours: column → row → seed → value.
    paper: column → row → published value.
    lower_is_better: columns such as perplexities.

  Returns:
    column → order; a table is one family of tests, as whoever reads it looks at all of its columns.
  """
  pairs: dict[str, list[Pair]] = {}
  for column, rows in ours.items():
    published, sign = paper[column], -1.0 if column in lower_is_better else 1.0
    pairs[column] = []
    for one, other in itertools.combinations([row for row in rows if row in published and rows[row]], 2):
      if published[one] != published[other]:
        better, worse = (one, other) if sign * published[one] > sign * published[other] else (other, one)
        gap = sign * (np.mean(list(rows[better].values())) - np.mean(list(rows[worse].values())))
        pairs[column].append(Pair(better, worse, float(gap), paired_p(rows[better], rows[worse])))
  corrected = iter(holm([pair.p for found in pairs.values() for pair in found]))
  tests = sum(map(len, pairs.values()))
  return {column: Order(tuple(dataclasses.replace(pair, p=next(corrected)) for pair in found),
                        min((len(values) for row, values in ours[column].items() if row in paper[column]), default=0),
                        tests)
          for column, found in pairs.items()}

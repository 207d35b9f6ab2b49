"""From the files of complete jobs to the numbers of a table."""

import dataclasses
import itertools
import os
from collections import Counter
from collections.abc import Mapping

import numpy as np

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.evaluation.significance import holm, paired_p
from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.data import Source
from experiments.runner.experiment import Column, Experiment, Row
from experiments.runner.jobs import Plan
from experiments.runner.recipes import Measurement

# Of the mean over all columns.
MEAN = "mean"
_MEAN = Column("mean", kind="", task="", metric="")


@dataclasses.dataclass(frozen=True)
class Planned:
  """An experiment with the jobs that measure it.

  Attributes:
    experiment: what is measured.
    rows: that can be measured.
    columns: name → column and where its data is.
    results: (row's name, column's name) → a job for each repetition.
    notes: what a reader should know of the data.
  """

  experiment: Experiment
  rows: tuple[Row, ...]
  columns: Mapping[str, tuple[Column, Source | None]]
  results: Mapping[tuple[str, str], tuple[Measurement, ...]]
  notes: tuple[str, ...]

  @property
  def shown(self) -> dict[str, Column]:
    """Name → column, the mean over the columns included where it is asked for and there are several."""
    found = {name: column for name, (column, _) in self.columns.items()}
    return found | ({MEAN: _MEAN} if self.experiment.mean_of_columns and len(found) > 1 else {})

  def jobs(self) -> set[str]:
    """Names of the jobs that hold its results."""
    return {one.job for found in self.results.values() for one in found}


@dataclasses.dataclass(frozen=True)
class Pair:
  """Two rows of a column, of which the paper has the first before the second.

  Attributes:
    better, worse: names of the rows, in the paper.
    difference: of our means, positive where we agree.
    p: two-sided, of a paired t-test over the seeds, corrected for all pairs of all columns (Holm); None for one seed.
  """

  better: str
  worse: str
  difference: float
  p: float | None


@dataclasses.dataclass(frozen=True)
class Measured:
  """The numbers of an experiment.

  Attributes:
    planned: what was to be measured.
    values: row → column → seed → value, in the paper's unit; a column is not there where nothing was measured.
    degenerate: (row, column) → how many of its runs predict the same for every example.
  """

  planned: Planned
  values: Mapping[str, Mapping[str, Mapping[int, float]]]
  degenerate: Mapping[tuple[str, str], int]

  def paper(self, row: Row, column: str) -> float | None:
    """The published value; of a mean, that of the same columns, where all of them were published."""
    values = dict(zip(self.planned.experiment.columns, row.paper, strict=False))
    if column != MEAN:
      return values.get(column)
    published = [values.get(name) for name in self.planned.columns]
    return None if None in published else sum(published) / len(published)

  def pairs(self) -> dict[str, list[Pair]]:
    """Column → all pairs of rows whose values in the paper differ; a table is one family of tests, as whoever reads it
    looks at all of its columns."""
    found: dict[str, list[Pair]] = {}
    for name, column in self.planned.shown.items() if self.planned.experiment.orders_rows else ():
      sign = -1.0 if column.lower_is_better else 1.0
      rows = [(sign * paper, row.name) for row in self.planned.rows
              if (paper := self.paper(row, name)) is not None and name in self.values[row.name]]
      for (first, one), (second, other) in itertools.combinations(rows, 2):
        if first != second:
          better, worse = (one, other) if first > second else (other, one)
          a, b = (self.values[row][name] for row in (better, worse))
          gap = sign * (np.mean(list(a.values())) - np.mean(list(b.values())))
          found.setdefault(name, []).append(Pair(better, worse, float(gap), paired_p(a, b)))
    corrected = iter(holm([pair.p for pairs in found.values() for pair in pairs]))
    return {name: [dataclasses.replace(pair, p=next(corrected)) for pair in pairs] for name, pairs in found.items()}


def measure(planned: Planned, plan: Plan, complete: frozenset[str]) -> Measured:
  """Reads the results of the jobs that are complete."""
  values: dict[str, dict[str, dict[int, float]]] = {}
  degenerate: Counter[tuple[str, str]] = Counter()
  for row in planned.rows:
    found = values[row.name] = {}
    for name, (column, _) in planned.columns.items():
      for one in planned.results[row.name, name]:
        if one.job in complete:
          value, is_degenerate = _read(row, column, plan.result_file(one.job))
          found.setdefault(name, {})[one.seed] = value
          degenerate[row.name, name] += is_degenerate
    if MEAN in planned.shown and len(found) == len(planned.columns):
      seeds = set.intersection(*(set(one) for one in found.values()))
      found[MEAN] = {seed: sum(found[name][seed] for name in planned.columns) / len(planned.columns)
                     for seed in sorted(seeds)}
  return Measured(planned, values, +degenerate)


def _read(row: Row, column: Column, path: str) -> tuple[float, bool]:
  """A result in the paper's unit, and whether its run predicts the same for every example."""
  if row.layers:
    key, chosen = column.metric.removeprefix("eval_"), TABLE_7[row.layers]
    others = {"layers": ",".join(chosen.layers), "combine": chosen.combine}
    fields = {"others": dict, "metrics": {key: float}, "degenerate": bool}
    runs = [run for run in json_files.read_object(path, {"runs": [fields]})["runs"] if run["others"] == others]
    if len(runs) != 1:
      raise UserError(f"{path}: one of 'runs' has {others}, {len(runs)} are found: restore the file, or move "
                      f"{os.path.dirname(path)} away")
    return column.factor * runs[0]["metrics"][key], runs[0]["degenerate"]
  found = json_files.read_object(path, {column.metric: float})
  return column.factor * found[column.metric], "degenerate" in found

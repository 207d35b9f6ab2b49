"""From the files of complete jobs to the numbers of a table."""

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.evaluation.significance import Order, compare_orders
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
class Measured:
  """The numbers of an experiment.

  Attributes:
    planned: what was to be measured.
    values: row → column → seed → value, in the paper's unit; a column is not there where nothing was measured.
    orders: column → how the order of the rows compares with the paper's.
    degenerate: (row, column) → how many of its runs predict the same for every example.
  """

  planned: Planned
  values: Mapping[str, Mapping[str, Mapping[int, float]]]
  orders: Mapping[str, Order]
  degenerate: Mapping[tuple[str, str], int]

  def paper(self, row: Row, column: str) -> float | None:
    """The published value; of a mean, that of the same columns, where all of them were published."""
    values = dict(zip(self.planned.experiment.columns, row.paper, strict=False))
    if column != MEAN:
      return values.get(column)
    published = [values.get(name) for name in self.planned.columns]
    return None if None in published else sum(published) / len(published)


def measure(planned: Planned, plan: Plan, complete: frozenset[str]) -> Measured:
  """Reads the results of the jobs that are complete."""
  values: dict[str, dict[str, dict[int, float]]] = {}
  degenerate: Counter[tuple[str, str]] = Counter()
  for row in planned.rows:
    found = values[row.name] = {}
    for name, (column, _) in planned.columns.items():
      read = {one.seed: _read(row, column, plan.result_file(one.job)) for one in planned.results[row.name, name]
              if one.job in complete}
      if count := sum(is_degenerate for _, is_degenerate in read.values()):
        degenerate[row.name, name] = count
      if read:
        found[name] = {seed: value for seed, (value, _) in read.items()}
    if MEAN in planned.shown and len(found) == len(planned.columns):
      seeds = set.intersection(*(set(one) for one in found.values()))
      found[MEAN] = {seed: sum(found[name][seed] for name in planned.columns) / len(planned.columns)
                     for seed in sorted(seeds)}
  orders: dict[str, Order] = {}
  measured = Measured(planned, values, orders, degenerate)
  ours, papers = {}, {}
  for name in planned.shown if planned.experiment.orders_rows else ():
    paper = {row.name: value for row in planned.rows if (value := measured.paper(row, name)) is not None}
    rows = {row: found[name] for row, found in values.items() if name in found and row in paper}
    if len(rows) > 1:
      ours[name], papers[name] = rows, paper
  orders.update(compare_orders(ours, papers, {name for name in ours if planned.shown[name].lower_is_better}))
  return measured


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
    run = runs[0]
    return column.factor * run["metrics"][key], run["degenerate"]
  found = json_files.read_object(path, {column.metric: float})
  return column.factor * found[column.metric], "degenerate" in found

"""Numbers of a table from the files of its jobs."""

import dataclasses

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.run_results import SELECTION_FILE
from experiments.runner.experiment import COLUMNS, Experiment, Model, Row
from experiments.runner.jobs import Job, Plan
from experiments.runner.recipes import Measurement
from experiments.runner.report import Measured, Pair, Planned, measure


def _planned(folder) -> tuple[Row, Planned, Plan]:
  """A row of one column, whose job is a selection."""
  plan, row = Plan(str(folder)), Row("last", Model(), (94.9,), layers="last")
  plan.add(Job("features", "run_ner.py", {}, SELECTION_FILE))
  experiment = Experiment(name="x", title="x", about="x", rows=(row,), columns=("ner_features",))
  planned = Planned(experiment, (row,), {"ner_features": (COLUMNS["ner_features"], None)},
                    {("last", "ner_features"): (Measurement("features", 1),)}, ())
  return row, planned, plan


def test_a_row_of_fixed_activations_is_found_in_the_selection(tmp_path):
  row, planned, plan = _planned(tmp_path)
  (tmp_path / "jobs" / "features").mkdir(parents=True)
  json_files.write(plan.path("features", SELECTION_FILE), {"runs": [
      {"others": {"layers": layers, "combine": "concat"}, "metrics": {"f1": f1}, "degenerate": layers == "-1"}
      for layers, f1 in (("-2", 0.5), ("-1", 0.25))]})
  measured = measure(planned, plan, frozenset({"features"}))
  assert measured.values == {"last": {"ner_features": {1: 25.0}}}
  assert measured.degenerate == {("last", "ner_features"): 1} and measured.paper(row, "ner_features") == 94.9


def test_a_result_that_was_edited(tmp_path):
  _, planned, plan = _planned(tmp_path)
  (tmp_path / "jobs" / "features").mkdir(parents=True)
  json_files.write(plan.path("features", SELECTION_FILE), {"runs": []})
  with pytest.raises(UserError, match="selection.json: one of 'runs' has {'layers': '-1', .*, 0 are found: restore"):
    measure(planned, plan, frozenset({"features"}))


def _ordered(lower_is_better: bool, **columns: dict[str, tuple[float, ...]]) -> dict[str, list[Pair]]:
  """Pairs of rows A, B, C, which the paper has in this order, in columns of row → a value for each seed."""
  rows = tuple(Row(name, Model(), (paper,) * len(columns)) for name, paper in (("A", 84.0), ("B", 83.0), ("C", 80.0)))
  experiment = Experiment(name="x", title="x", about="x", rows=rows, columns=tuple(columns))
  column = dataclasses.replace(COLUMNS["mnli"], lower_is_better=lower_is_better)
  planned = Planned(experiment, rows, dict.fromkeys(columns, (column, None)), {}, ())
  values = {row.name: {name: dict(enumerate(found[row.name])) for name, found in columns.items() if row.name in found}
            for row in rows}
  return Measured(planned, values, {}).pairs()


def test_pairs_of_rows_are_compared_with_the_paper():
  found = {"A": (70.0, 71.0, 72.0), "B": (75.0, 76.1, 76.9), "C": (60.1, 61.0, 62.0)}
  pairs = _ordered(False, x=found)["x"]
  assert [(one.better, one.worse, one.difference > 0) for one in pairs] == [
      ("A", "B", False), ("A", "C", True), ("B", "C", True)]
  assert all(one.p < 0.01 for one in pairs)
  # Of a perplexity the lower one is before the other; one repetition says nothing of chance.
  (pair,) = _ordered(True, x={"A": (60.0,), "B": (61.0,)})["x"]
  assert (pair.better, pair.worse, pair.difference, pair.p) == ("B", "A", -1.0, None)
  assert not _ordered(False, x={"A": (2.0, 3.0)})


def test_the_columns_of_a_table_are_one_family():
  sure, other = {"A": (70.0, 71.0, 72.0), "B": (60.0, 61.3, 61.7)}, {"A": (1.0, 2.0, 3.0), "B": (3.0, 1.0, 2.0)}
  found = _ordered(False, x=sure, y=other, z=other)
  assert found["x"][0].p == pytest.approx(3 * _ordered(False, x=sure)["x"][0].p)
  assert found["y"][0].p == found["z"][0].p == 1.0

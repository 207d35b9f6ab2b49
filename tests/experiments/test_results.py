"""Numbers of a table from the files of its jobs."""

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.run_results import SELECTION_FILE
from experiments.runner.experiment import COLUMNS, Experiment, Model, Row
from experiments.runner.jobs import Job, Plan
from experiments.runner.recipes import Measurement
from experiments.runner.results import Planned, measure


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
  json_files.write(plan.result_file("features"), {"runs": [
      {"others": {"layers": layers, "combine": "concat"}, "metrics": {"f1": f1}, "degenerate": layers == "-1"}
      for layers, f1 in (("-2", 0.5), ("-1", 0.25))]})
  measured = measure(planned, plan, frozenset({"features"}))
  assert measured.values == {"last": {"ner_features": {1: 25.0}}}
  assert measured.degenerate == {("last", "ner_features"): 1} and measured.paper(row, "ner_features") == 94.9


def test_a_result_that_was_edited(tmp_path):
  _, planned, plan = _planned(tmp_path)
  (tmp_path / "jobs" / "features").mkdir(parents=True)
  json_files.write(plan.result_file("features"), {"runs": []})
  with pytest.raises(UserError, match="selection.json: one of 'runs' has {'layers': '-1', .*, 0 are found: restore"):
    measure(planned, plan, frozenset({"features"}))

import dataclasses
import re

import pytest

from bert_common import json_files
from bert_tf.runs.results import SELECTION_FILE
from experiments.runner.experiment import COLUMNS, Experiment, Model, Row
from experiments.runner.jobs import Job, Plan
from experiments.runner.recipes import Measurement
from experiments.runner.report import Measured, Planned, measure


def test_a_row_of_fixed_activations_is_found_in_the_selection(tmp_path):
    plan, row = Plan(str(tmp_path)), Row("last", Model(), (94.9,), layers="last")
    plan.add(Job("features", "run_ner.py", {}, SELECTION_FILE))
    experiment = Experiment(name="x", title="x", about="x", rows=(row,), columns=("ner_features",))
    planned = Planned(
        experiment,
        (row,),
        {"ner_features": (COLUMNS["ner_features"], {})},
        {("last", "ner_features"): (Measurement("features", 1),)},
        (),
    )
    (tmp_path / "jobs" / "features").mkdir(parents=True)
    json_files.write(
        plan.path("features", SELECTION_FILE),
        {
            "runs": [
                {
                    "others": {"layers": layers, "combine": "concat"},
                    "metrics": {"f1": f1},
                    "degenerate": layers == "-1",
                }
                for layers, f1 in (("-2", 0.5), ("-1", 0.25))
            ]
        },
    )
    measured = measure(planned, plan, frozenset({"features"}))
    assert measured.values == {"last": {"ner_features": {1: 25.0}}}
    assert (
        measured.degenerate == {("last", "ner_features"): 1}
        and measured.paper(row, "ner_features") == 94.9
    )


def _order(lower_is_better: bool = False, **columns: dict[str, tuple[float, ...]]) -> list[str]:
    """Of rows A, B, C, which the paper has in this order, in columns of row → a value for each
    seed."""
    rows = tuple(
        Row(name, Model(), (paper,) * len(columns))
        for name, paper in (("A", 84.0), ("B", 83.0), ("C", 80.0))
    )
    experiment = Experiment(name="x", title="x", about="x", rows=rows, columns=tuple(columns))
    shown = {
        name: (
            dataclasses.replace(COLUMNS["mnli"], title=name, lower_is_better=lower_is_better),
            {},
        )
        for name in columns
    }
    values = {
        row.name: {
            name: dict(enumerate(found[row.name]))
            for name, found in columns.items()
            if row.name in found
        }
        for row in rows
    }
    return Measured(Planned(experiment, rows, shown, {}, ()), values, {}).order()


def test_the_order_of_rows_is_compared_with_the_paper():
    found = {"A": (70.0, 71.0, 72.0), "B": (75.0, 76.1, 76.9), "C": (60.1, 61.0, 62.0)}
    (line,) = _order(x=found)
    assert re.sub(r" \(p = \S+\)", "", line) == (
        "- x: 2 of 3 pairs of rows are in the paper's order; beyond chance: A below B, A above C, B above C"
    )
    # Of a perplexity the lower one is before the other; one repetition says nothing of chance.
    assert _order(True, x={"A": (60.0,), "B": (61.0,)}) == [
        "- x: 0 of 1 pairs of rows are in the paper's order; beyond chance: none"
    ]
    assert not _order(x={"A": (2.0, 3.0)})
    # All columns of a table are one family of tests.
    sure = {"A": (70.0, 71.0, 72.0), "B": (60.0, 61.3, 61.7)}
    other = {"A": (1.0, 2.0, 3.0), "B": (3.0, 1.0, 2.0)}
    (alone,), (together, *_) = _order(x=sure), _order(x=sure, y=other, z=other)
    p = [float(re.search(r"p = ([0-9.]+)", line)[1]) for line in (alone, together)]
    assert p[1] == pytest.approx(3 * p[0], rel=0.1)

import json

import pytest

from bert_common.errors import UserError
from bert_tf.training.metrics import MetricsLogger
from bert_tf.training.run_directory import read_metrics
from tests.full_disk import full_disk


def test_only_the_chief_writes(tmp_path):
    MetricsLogger(str(tmp_path), False, 0, print).evaluation(1, {"loss": 1.0})
    assert list(tmp_path.iterdir()) == []


def test_an_evaluation_is_written_once_however_often_it_is_made(tmp_path):
    metrics = {"loss": 1 / 3, "perplexity": float("nan")}
    MetricsLogger(str(tmp_path), True, 0, print).evaluation(4, metrics)
    again = MetricsLogger(str(tmp_path), True, 4, print)
    again.evaluation(4, metrics)
    again.evaluation(4, metrics)
    assert len(read_metrics(str(tmp_path))) == 1
    # On other examples, say.
    again.evaluation(4, {**metrics, "loss": 0.5})
    assert [line["loss"] for line in read_metrics(str(tmp_path))] == [0.3333333, 0.5]


def test_the_metrics_of_steps_that_are_done_again_are_dropped(tmp_path):
    reports = MetricsLogger(str(tmp_path), True, 0, print)
    for step in (1, 2, 3):
        reports.evaluation(step, {"loss": 1 / (3 * step), "accuracy": 0.0})
    with open(tmp_path / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 4, "spl')
    MetricsLogger(str(tmp_path), True, 2, print).evaluation(3, {"loss": 0.5})
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert (
        lines
        == read_metrics(str(tmp_path))
        == [
            {"step": 1, "split": "eval", "loss": 0.3333333, "accuracy": 0.0},
            {"step": 2, "split": "eval", "loss": 0.1666667, "accuracy": 0.0},
            {"step": 3, "split": "eval", "loss": 0.5},
        ]
    )


def test_metrics_on_a_full_disk_end_the_run_and_keep_what_is_there(tmp_path):
    reports = MetricsLogger(str(tmp_path), True, 0, print)
    reports.evaluation(1, {"loss": 0.5})
    before = (tmp_path / "metrics.jsonl").read_text()
    with (
        full_disk(len(before)),
        pytest.raises(UserError, match=r"can't write .*metrics\.jsonl: File too large"),
    ):
        reports.evaluation(2, {"loss": 0.25})
    assert (tmp_path / "metrics.jsonl").read_text() == before

"""The lines of the benchmarks' history, and the page's table of them."""

import datetime
import json

import pytest

from benchmarks import history
from benchmarks.history import HistoryOptions
from bert_common.errors import UserError
from tests.page_commands import PROJECT

PAGE = (PROJECT / "docs/results.md").read_text("utf-8")


def test_every_line_has_the_form():
    lines = history.read()
    assert lines
    for line in lines:
        assert list(line) == list(history.FIELDS)
        assert line["program"] not in line["faster_by"] and line["faster_by"]
        assert all(ratio > 0 for ratio in line["faster_by"].values())
        assert len(line["commit"]) == 40 and "python" in line["versions"]
        assert datetime.date.fromisoformat(line["date"])


def test_the_page_has_the_last_lines():
    assert history.with_table(PAGE, history.read()) == PAGE, "run python -m benchmarks.history"


def test_a_run_appends_a_line_where_it_is_asked_to(tmp_path, monkeypatch):
    if not (PROJECT / ".git").exists():
        pytest.skip("notes the commit: this is no checkout")
    path = tmp_path / "history.jsonl"
    monkeypatch.setattr(history, "_HISTORY", path)
    seconds = {"ours": [1.0, 2.0, 4.0], "theirs": [3.0, 3.0, 9.0]}
    HistoryOptions().record("steps", "small", seconds)
    HistoryOptions(history=True).record("steps", "alone", {"ours": [1.0]})
    assert not path.exists()
    for setting in ("small", "large", "small"):
        HistoryOptions(history=True).record("steps", setting, seconds)
        seconds["theirs"] = [5.0]
    lines = history.read(path)
    assert [line["faster_by"] for line in lines] == [{"theirs": 1.5}, *[{"theirs": 2.5}] * 2]
    assert list(lines[0]) == list(history.FIELDS)
    rows = history.table(lines).splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| steps: large", "ours", "theirs 2.50×"],
        ["| steps: small", "ours", "theirs 2.50×"],
    ]


def test_a_wrong_line_is_named(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"benchmark": "steps"}) + "\n", "utf-8")
    with pytest.raises(UserError, match="history.jsonl:1"):
        history.read(path)

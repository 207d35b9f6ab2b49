"""The command that kills jobs, on a small scale; `python tests/fuzz/kill.py --kills=100` is the
large one."""

import random

import pytest

from modeling.checkpoints.named_weights import MIRROR_VARIABLE
from tests.fuzz import kill
from tests.page_commands import parse_command


def test_data_generation_that_is_killed_ends_with_the_same_bytes():
    lines = []
    assert kill.torment("data", kill.JOBS["data"], kills=2, seed=1, log=lines.append), lines
    assert lines[0].startswith("data: 2 kills in ")


def test_a_directory_that_is_put_in_the_place_of_a_held_one_stays_as_it_is():
    lines = []
    assert kill.displace("data", kill.JOBS["data"], moves=1, seed=1, log=lines.append), lines


def test_inputs_that_are_exchanged_are_never_mixed():
    lines = []
    assert kill.exchange("data", kill.JOBS["data"], exchanges=1, seed=1, log=lines.append), lines


def test_other_inputs_have_the_same_size_and_come_and_go(tmp_path):
    job = kill.JOBS["distillation"]
    job.prepare(tmp_path)
    kill.add_others(tmp_path, job.inputs)
    names = [name for group in job.inputs for name in group]
    before = {name: (tmp_path / name).read_bytes() for name in names}
    for way in ("moved there", "in place"):
        times = {name: (tmp_path / name).stat().st_mtime_ns for name in names}
        for group in job.inputs:
            kill.swap(tmp_path, group, way)
        for name in names:
            # An index has the offsets of the weights, in other bytes.
            if not name.endswith(".index"):
                content = (tmp_path / name).read_bytes()
                assert len(content) == len(before[name])
                assert (content != before[name]) == (way == "moved there")
            if way == "moved there":
                assert (tmp_path / name).stat().st_mtime_ns == times[name]


@pytest.mark.parametrize("name", kill.JOBS)
def test_the_command_of_a_job_is_understood(name, tmp_path, monkeypatch):
    job = kill.JOBS[name]
    # The job sets it for its commands.
    monkeypatch.setenv(MIRROR_VARIABLE, "")
    job.prepare(tmp_path)
    (tmp_path / "round").mkdir()
    monkeypatch.chdir(tmp_path / "round")
    parse_command(job.command[0], job.command[1:], monkeypatch)


def test_checkpoints_before_the_last_may_be_of_any_step(tmp_path):
    for name in (
        "a/ckpt-2.index",
        "a/ckpt-9.index",
        "b/ckpt-3.index",
        "b/ckpt-9.index",
        "b/best/ckpt-2.index",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert kill.names(tmp_path / "a") == ["ckpt-9.index"]
    assert kill.names(tmp_path / "b") == ["best", "best/ckpt-2.index", "ckpt-9.index"]


def test_what_goes_wrong_is_found(tmp_path):
    with pytest.raises(kill.Failure, match="a differs: 1 unbroken, None here"):
        kill.compare({"a": 1}, {})
    (tmp_path / "best").mkdir()
    for name, content in (("inputs.json", '{"run_id": "a"}'), ("best/best.json", '{"step": 1}')):
        kill.check_ids(tmp_path)
        (tmp_path / name).write_text(content)
    with pytest.raises(kill.Failure, match="ids of several runs"):
        kill.check_ids(tmp_path)
    wrong = kill.Job(
        ("data_gen/create_pretraining_data.py", "--output_file=out"),
        lambda folder: None,
        lambda folder: {},
        steps=("what no process says",),
    )
    with pytest.raises(kill.Failure, match=r"status \[2\]: .*must be given"):
        kill.run_round(wrong, tmp_path / "round", 1e3, random.Random(0), 1)

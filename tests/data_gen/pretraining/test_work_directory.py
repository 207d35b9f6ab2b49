"""The directory behind `--resume`: what is in it, who may use it, and what a lost byte means."""

import os
import pathlib

import pytest

from bert_common.errors import UserError
from data_gen.pretraining import external_shuffle
from data_gen.pretraining.external_shuffle import ShardPart
from data_gen.pretraining.work_directory import WorkDirectory


@pytest.fixture
def output(tmp_path) -> str:
    return str(tmp_path / "out.tfrecord")


def finish_run(work: WorkDirectory) -> None:
    external_shuffle.write_facts(work.run_path(0), {"instances": 1})


def finish_part(work: WorkDirectory, part: ShardPart, data: bytes) -> dict:
    with open(work.part_path(part), "wb") as file:
        file.write(data)
    facts = {"bytes": len(data), "counts": {}, "peak_bytes": 1}
    external_shuffle.write_facts(work.part_path(part), facts)
    return facts


PARTS = [ShardPart(0, 0, 0, 0, 1), ShardPart(0, 1, 1, 0, 1), ShardPart(1, 0, 1, 1, 2)]


def publish(work: WorkDirectory, tmp_path) -> list[bytes]:
    outputs = [tmp_path / "out.tfrecord", tmp_path / "second"]
    stats_file = str(tmp_path / "stats.json")
    work.publish({number: str(path) for number, path in enumerate(outputs)}, stats_file)
    work.finish(stats_file, {})
    return [path.read_bytes() for path in outputs]


def test_parts_become_shards(output, tmp_path):
    with WorkDirectory(output, {}, resume=False) as work:
        for part, data in zip(PARTS, (b"ab", b"cd", b"e"), strict=True):
            work.append_part(part, finish_part(work, part, data))
        assert publish(work, tmp_path) == [b"abcd", b"e"]
    assert sorted(os.listdir(tmp_path)) == ["out.tfrecord", "second", "stats.json"]


def test_a_part_that_was_copied_half_is_copied_again(output, tmp_path):
    with WorkDirectory(output, {}, resume=False) as work:
        facts = [
            finish_part(work, part, data)
            for part, data in zip(PARTS, (b"ab", b"cd", b"e"), strict=True)
        ]
        work.append_part(PARTS[0], facts[0])
        finish_run(work)
        with open(work._shard_path(0), "ab") as file:
            file.write(b"c")
    with WorkDirectory(output, {}, resume=True) as work:
        work.check_shards({0: PARTS[:2], 1: PARTS[2:]}, [output, str(tmp_path / "second")])
        for part in PARTS:
            work.append_part(part, work.read_part(part))
        assert publish(work, tmp_path) == [b"abcd", b"e"]


def test_a_shard_that_has_lost_bytes_is_made_again(output, tmp_path):
    with WorkDirectory(output, {}, resume=False) as work:
        for part, data in zip(PARTS, (b"ab", b"cd", b"e"), strict=True):
            work.append_part(part, finish_part(work, part, data))
        finish_run(work)
        with open(work._shard_path(0), "r+b") as file:
            file.truncate(3)
    with WorkDirectory(output, {}, resume=True) as work:
        work.check_shards({0: PARTS[:2], 1: PARTS[2:]}, [output, str(tmp_path / "second")])
        assert [work.read_part(part) is None for part in PARTS] == [True, True, False]


def test_a_shard_with_a_part_that_nothing_is_known_of_is_made_again(output, tmp_path):
    with WorkDirectory(output, {}, resume=False) as work:
        for part, data in zip(PARTS, (b"ab", b"cd", b"e"), strict=True):
            work.append_part(part, finish_part(work, part, data))
        finish_run(work)
        pathlib.Path(f"{work.part_path(PARTS[0])}.json").write_text("{}")
    with WorkDirectory(output, {}, resume=True) as work:
        work.check_shards({0: PARTS[:2], 1: PARTS[2:]}, [output, str(tmp_path / "second")])
        assert [work.read_part(part) is None for part in PARTS] == [True, True, False]


def test_finished_work_is_not_thrown_away(output):
    with WorkDirectory(output, {"seed": 1}, resume=False) as work:
        finish_run(work)
    with pytest.raises(UserError, match="give --resume to continue it, or delete"):
        WorkDirectory(output, {"seed": 1}, resume=False).__enter__()
    with pytest.raises(UserError, match="was begun with another --seed"):
        WorkDirectory(output, {"seed": 2}, resume=True).__enter__()
    with WorkDirectory(output, {"seed": 1}, resume=True) as work:
        assert work.resumed and os.path.exists(f"{work.run_path(0)}.json")


def test_unfinished_work_is_cleared_away(output):
    with WorkDirectory(output, {}, resume=False) as work:
        with open(f"{work.run_path(0)}.rows.tmp", "wb") as file:
            file.write(b"half")
        path = work.path
    assert not os.path.exists(path)
    # Without an orderly end it is still there, and in nobody's way.
    work = WorkDirectory(output, {"old": 1}, resume=False).__enter__()
    open(f"{work.run_path(0)}.rows.tmp", "wb").close()
    work._lock.close()
    with WorkDirectory(output, {"new": 1}, resume=False) as work:
        assert os.listdir(work.path) == ["manifest.json"]


def test_what_is_no_work_directory_is_refused(output, tmp_path):
    (tmp_path / "target").mkdir()
    path = pathlib.Path(WorkDirectory(output, {}, resume=False).path)
    for make in (lambda: path.symlink_to(tmp_path / "target"), lambda: path.write_text("kept")):
        make()
        with pytest.raises(UserError, match=r"--output_file: .*\.partial, .* is no directory"):
            WorkDirectory(output, {}, resume=False).__enter__()
        path.unlink()
    assert not list((tmp_path / "target").iterdir())


def test_what_others_put_into_a_work_directory_is_kept(output, tmp_path):
    (tmp_path / "manifest.json").write_text("kept")
    path = pathlib.Path(WorkDirectory(output, {}, resume=False).path)
    path.mkdir()
    (path / "thesis.txt").write_text("kept")
    (path / "run-000000.rows").symlink_to(tmp_path / "manifest.json")
    (path / "run-000000").mkdir()
    with WorkDirectory(output, {}, resume=False):
        pass
    assert sorted(os.listdir(path)) == ["run-000000", "thesis.txt"]
    assert (tmp_path / "manifest.json").read_text() == "kept"


def test_one_at_a_time(output):
    with WorkDirectory(output, {}, resume=False):
        with pytest.raises(UserError, match="another process is writing this output"):
            WorkDirectory(output, {}, resume=True).__enter__()

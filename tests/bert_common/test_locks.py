import os
import signal
import subprocess
import sys

import pytest

from bert_common import files, locks
from bert_common.errors import UserError

pytestmark = pytest.mark.processes
_HOLD = """
import sys, time
from bert_common import locks
with locks.directory_lock(sys.argv[1], "busy"):
  print("held", flush=True)
  time.sleep(600)
"""


def test_one_process_at_a_time_and_a_killed_one_does_not_block(project, tmp_path):
    directory = tmp_path / "run"
    directory.mkdir()
    (tmp_path / "link").symlink_to("run")
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(directory)], cwd=project, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        for path in (directory, tmp_path / "link"):
            with (
                pytest.raises(UserError, match="^busy: x$"),
                locks.directory_lock(str(path), "busy: x"),
            ):
                pass
        holder.send_signal(signal.SIGKILL)
    with locks.directory_lock(str(directory), "busy"):
        pass
    assert os.listdir(directory) == []


def test_it_is_given_back_and_waits_for_a_moment(tmp_path, monkeypatch):
    descriptor = locks.take(str(tmp_path))
    with pytest.raises(BlockingIOError):
        locks.take(str(tmp_path))
    os.close(descriptor)
    with locks.directory_lock(str(tmp_path), "busy"), pytest.raises(BlockingIOError):
        locks.take(str(tmp_path))
    monkeypatch.setattr(
        locks.time, "sleep", lambda seconds: pytest.fail("it waits for a lock that is free")
    )
    with locks.directory_lock(str(tmp_path), "busy"):
        pass


def test_as_on_windows(tmp_path, monkeypatch):
    """A file beside the directory is locked in its place, and what is open is neither moved nor
    removed."""
    monkeypatch.setattr(locks, "WINDOWS", True)
    assert locks.take(str(tmp_path)) is None
    run = tmp_path / "run"
    run.mkdir()
    with locks.directory_lock(str(run), "busy"):
        assert sorted(os.listdir(tmp_path)) == ["run", "run.lock"]
        with pytest.raises(UserError, match="^busy$"), locks.directory_lock(str(run), "busy"):
            pass
    assert os.listdir(tmp_path) == ["run"]
    (tmp_path / ".a.0a1b2c3d.bert-tf.tmp").touch()
    with files.atomic_write(str(tmp_path / "a")) as file:
        file.write("x\n")
    with files.new_directory(str(tmp_path / "b"), "output"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "run"]


def test_without_locks_nothing_is_refused_and_nothing_removed(tmp_path, monkeypatch):
    def no_locks(descriptor, blocking):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(locks.filelock, "lock_descriptor", no_locks)
    (tmp_path / ".a.0a1b2c3d.bert-tf.tmp").touch()
    assert locks.take(str(tmp_path)) is None
    with (
        locks.directory_lock(str(tmp_path), "busy"),
        locks.directory_lock(str(tmp_path), "busy"),
        locks.directory_lock("gs://bucket/run", "busy"),
    ):
        locks.remove_abandoned(str(tmp_path), locks.temporary_names("a"))
    assert os.listdir(tmp_path) == [".a.0a1b2c3d.bert-tf.tmp"]


def _moved(path):
    path.rename(path.parent / "moved")


def _removed(path):
    path.rmdir()


def _replaced(path):
    path.rename(path.parent / "moved")
    path.mkdir()


def _linked_elsewhere(path):
    _replaced(path)
    path.rmdir()
    path.symlink_to("moved2")
    (path.parent / "moved2").mkdir()


_CHANGES = {
    "write": lambda path: files.atomic_write(path).__enter__(),
    "append": lambda path: files.open_file(path, "a"),
    "new directory": lambda path: files.new_directory(f"{path}.new", "output").__enter__(),
    "make": lambda path: files.make_directories(path),
    "rename": lambda path: files.rename(__file__, path),
    "remove": files.remove,
    "remove tree": files.remove_tree,
}


@pytest.mark.parametrize("loss", [_moved, _removed, _replaced, _linked_elsewhere])
def test_a_process_that_has_lost_its_directory_changes_nothing(tmp_path, loss):
    held = tmp_path / "run"
    held.mkdir()
    with locks.directory_lock(str(held), "busy"):
        (held / "a").touch()
        (held / "a").unlink()
        locks.check_held()
        loss(held)
        target = tmp_path / "run" / "a"
        if held.exists():
            target.touch()
        before = sorted(map(str, tmp_path.rglob("*")))
        for name, change in _CHANGES.items():
            with pytest.raises(UserError, match=r"run was moved, removed or replaced"):
                change(str(target))
                pytest.fail(name)
        assert sorted(map(str, tmp_path.rglob("*"))) == before
    # The lock has ended, and with it the question.
    locks.check_held()


def test_a_directory_that_is_moved_while_it_is_made_stays_where_it_is(tmp_path):
    (tmp_path / "a").mkdir()

    def make():
        with files.new_directory(str(tmp_path / "a/new"), "output") as directory:
            open(os.path.join(directory, "x"), "w").close()
            (tmp_path / "a").rename(tmp_path / "b")
            os.makedirs(directory)
            open(os.path.join(directory, "theirs"), "w").close()

    with pytest.raises(UserError, match="can't write"):
        make()
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert names == ["theirs", "x"]


def test_a_lock_by_a_link_or_a_relative_path_holds_when_its_parent_moves(tmp_path, monkeypatch):
    (tmp_path / "a/run").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/run")
    with locks.directory_lock(str(tmp_path / "link"), "busy"):
        locks.check_held()
    monkeypatch.chdir(tmp_path / "a")
    with locks.directory_lock("run", "busy"):
        (tmp_path / "a").rename(tmp_path / "b")
        locks.check_held()

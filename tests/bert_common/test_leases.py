"""Two processes that are told to write into one directory, on file systems without locks."""

import contextlib
import json
import re
import signal
import subprocess
import sys

import pytest

from bert_common import files, leases
from bert_common.errors import UserError

pytestmark = pytest.mark.processes
# Takes a directory at each line with its name, and writes there, until the next line.
_PROGRAM = """
import json, sys, time
from bert_common import files, leases, locks
from bert_common.errors import UserError

name, hours, intervals = sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])
clock = time.time
time.time = lambda: clock() + 3600 * hours

def no_locks(descriptor, blocking):
    raise OSError(95, "Operation not supported")

locks.filelock.lock_descriptor = no_locks

def write(directory):
    with files.open_file(f"{directory}/log", "a") as file:
        file.write(name)

for line in sys.stdin:
    directory = line.strip()
    try:
        with locks.directory_lock(directory, "busy") as is_locked:
            assert not is_locked
            with leases.holding(directory, "busy", leases.Intervals(**intervals)):
                for _ in range(3):
                    write(directory)
                print("writing", flush=True)
                sys.stdin.readline()
                write(directory)
        print("ended", flush=True)
    except UserError as error:
        print(error, flush=True)
"""
_LOST = "another run writes there by now, or the lease was removed: this process ends"


class Writer:
    """A process that writes its name; the clock of B is an hour ahead.

    Attributes:
      has_watched: whether it has said that it watches a lease.
    """

    def __init__(self, project, name: str, expiry: float):
        intervals = json.dumps({"renewal": 0.1, "expiry": expiry, "settling": 0.15})
        self.has_watched = False
        hours = "1" if name == "B" else "0"
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, name, hours, intervals],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def say(self, line: object) -> None:
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        line = self.process.stdout.readline().strip()
        if "watching for up to" not in line:
            return line
        self.has_watched = True
        return self.answer()


@pytest.fixture
def start(project):
    with contextlib.ExitStack() as stack:

        def started(name: str, expiry: float = 600.0) -> Writer:
            writer = Writer(project, name, expiry)
            stack.enter_context(writer.process)
            stack.callback(writer.process.kill)
            return writer

        yield started


def test_of_two_that_start_together_one_goes_on(start, tmp_path):
    writers = [start("A"), start("B")]
    for number in range(20):
        directory = tmp_path / str(number)
        directory.mkdir()
        for writer in writers:
            writer.say(directory)
        answers = [writer.answer() for writer in writers]
        for writer, answer in zip(writers, answers, strict=True):
            if answer == "writing":
                writer.say("go on")
        ends = [
            writer.answer() if answer == "writing" else answer
            for writer, answer in zip(writers, answers, strict=True)
        ]
        assert ends.count("ended") == 1, (answers, ends)
        assert all(re.search(f"ended|busy|{_LOST}", end) for end in ends), ends
        # Nobody writes after the other has begun.
        assert re.fullmatch("A+B*|B+A*", (directory / "log").read_text())
        assert not (directory / leases.NAME).exists()


def test_one_that_was_suspended_writes_no_more(start, tmp_path):
    first, second = start("A"), start("B", expiry=0.6)
    first.say(tmp_path)
    assert first.answer() == "writing"
    # It is renewed while the second one watches.
    second.say(tmp_path)
    assert second.answer() == "busy"
    first.process.send_signal(signal.SIGSTOP)
    second.say(tmp_path)
    assert second.answer() == "writing"
    first.process.send_signal(signal.SIGCONT)
    first.say("go on")
    assert re.search(_LOST, first.answer())
    second.say("go on")
    assert second.answer() == "ended"
    assert (tmp_path / "log").read_text() == "AAABBBB"


def test_a_lease_of_a_dead_process_ends_at_once_on_its_host_only(start, tmp_path):
    first = start("A")
    first.say(tmp_path)
    assert first.answer() == "writing"
    first.process.kill()
    first.process.wait()
    path = tmp_path / leases.NAME
    left = json.loads(path.read_text())
    second = start("B")
    second.say(tmp_path)
    assert second.answer() == "writing"
    second.say("go on")
    assert second.answer() == "ended" and not second.has_watched
    # The same from another machine, whose processes nobody here knows.
    path.write_text(json.dumps({**left, "machine": "elsewhere"}))
    third = start("B", expiry=0.6)
    third.say(tmp_path)
    assert third.answer() == "writing" and third.has_watched


def test_what_was_read_in_a_directory_with_a_lease_may_be_replaced(tmp_path):
    """A run reads its file `checkpoint` and writes it again."""
    path = tmp_path / "checkpoint"
    path.touch()
    files.register.begin(opened=True)
    with leases.holding(str(tmp_path), "busy", leases.Intervals(settling=0.0)):
        files.open_file(str(path)).close()
        files.check_replaceable(str(path))
    with pytest.raises(UserError, match="is read by this command, which would be lost"):
        files.check_replaceable(str(path))
    files.register.begin()

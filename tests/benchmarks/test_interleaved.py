"""Turns, what becomes of programs that break off, and the figures that turns add up to; without any
library."""

import json
import os
import sys
import time

from benchmarks import interleaved
from bert_common.errors import UserError


def build(log, name):
    """ "loud" prints more than a pipe holds, "weak" breaks off in its second turn, "killed" dies
    without a word, "absent" never starts."""
    if name == "absent":
        raise UserError("nothing is installed")
    print("a line of a library", flush=True)
    turns = []

    def turn():
        turns.append(name)
        if name == "loud":
            sys.stderr.write("x" * 79 + "\n" * 20000)
            time.sleep(0.1)
        if name == "weak" and len(turns) == 2:
            raise MemoryError("too little")
        if name == "killed":
            os.kill(os.getpid(), 9)
        with open(log, "a") as file:
            file.write(
                json.dumps([name, os.environ["OMP_NUM_THREADS"], len(os.sched_getaffinity(0))])
                + "\n"
            )

    return turn


def run(tmp_path, programs, turns, **options):
    log = tmp_path / "log"
    seconds = interleaved.take_turns(
        interleaved.TurnsOptions(**options), programs, turns, build, str(log)
    )
    return seconds, [json.loads(line) for line in log.read_text().splitlines()]


def test_turns(tmp_path, capsys):
    before = os.sched_getaffinity(0), dict(os.environ)
    seconds, log = run(tmp_path, ("calm", "loud", "third"), 6, threads=1)
    assert (os.sched_getaffinity(0), dict(os.environ)) == before
    assert {name: len(turns) for name, turns in seconds.items()} == {
        "calm": 6,
        "loud": 6,
        "third": 6,
    }
    assert 0.1 <= min(seconds["loud"])
    orders = [tuple(name for name, _, _ in log[first : first + 3]) for first in range(0, 18, 3)]
    assert (
        all(sorted(order) == ["calm", "loud", "third"] for order in orders) and len(set(orders)) > 1
    )
    assert {(threads, cores) for _, threads, cores in log} == {("1", 1)}
    assert capsys.readouterr().out.startswith(
        f"1 threads on cores {min(os.sched_getaffinity(0))} of "
    )


def test_programs_that_break_off_are_left_out(tmp_path, capsys):
    seconds, log = run(tmp_path, ("absent", "weak", "killed", "calm"), 3)
    assert list(seconds) == ["calm"] and len(seconds["calm"]) == 3
    assert [name for name, _, _ in log].count("weak") == 1
    printed = capsys.readouterr().out
    assert "absent: not measured, it broke off after 0 turns: nothing is installed\n" in printed
    assert (
        "killed: not measured, it broke off after 0 turns: BrokenProcessPool: A process in"
        in printed
    )
    assert "weak: not measured, it broke off after 1 turns: MemoryError: too little\n" in printed


def test_figures(capsys):
    slow, fast = [4.0, 6.0, 2.0, 4.0, 5.0], [2.0, 2.0, 2.0, 2.0, 2.0]
    assert interleaved.quartiles(slow) == (4.0, 4.0, 5.0) and interleaved.quartiles([3.0]) == (
        3.0,
        3.0,
        3.0,
    )
    low, median, high = interleaved.ratio(slow, fast)
    assert 1.0 <= low < median == 2.0 < high <= 3.0
    assert interleaved.ratio(fast, fast) == (1.0, 1.0, 1.0)
    interleaved.print_rates(
        {"ours": fast, "peer": slow}, [8] * 5, "steps", {"share": {"ours": "", "peer": "50%"}}
    )
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].split()
        == "program steps/s quartiles share ours is faster by 95 % interval".split()
    )
    assert lines[1].split() == ["ours", "4.0", "4.0", "to", "4.0", "1.00x"]
    assert (
        lines[2].split()[:6] == ["peer", "2.0", "1.6", "to", "2.0", "50%"] and "2.00x" in lines[2]
    )

"""Turns, what becomes of programs that break off, and the figures that turns add up to; without any library."""

import dataclasses
import json
import os
import time

import pytest

from benchmarks import interleaved
from bert_tf.common.options import option

# Speaks as `serve` does. The program "loud" fills more than a pipe, "weak" breaks off in its second turn, "absent"
# never starts.
SCRIPT = """
import json, os, sys
name = next(word.split("=")[1] for word in sys.argv if word.startswith("--worker="))
log = next(word.split("=")[1] for word in sys.argv if word.startswith("--log="))
if name == "absent":
  sys.exit("error: nothing is installed")
print("a line of a library", flush=True)
print(json.dumps({"ready": True}), flush=True)
for turn, _ in enumerate(sys.stdin):
  if name == "loud":
    sys.stderr.write("x" * 79 + "\\n" * 20000)
    sys.stderr.flush()
  if name == "weak" and turn == 1:
    raise MemoryError("too little")
  with open(log, "a") as file:
    file.write(json.dumps([name, os.environ["OMP_NUM_THREADS"], len(os.sched_getaffinity(0))]) + "\\n")
  print(json.dumps({"seconds": 2.0 if name == "loud" else 1.0}), flush=True)
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScriptOptions(interleaved.TurnsOptions):
  """Options of the script."""

  log: str = option(None, "Who had a turn.")


def run(tmp_path, programs, turns, **options):
  script, log = tmp_path / "script.py", tmp_path / "log"
  script.write_text(SCRIPT)
  seconds = interleaved.take_turns(
      str(script), ScriptOptions(log=str(log), **options), programs, turns, build=lambda name: pytest.fail(name))
  return seconds, [json.loads(line) for line in log.read_text().splitlines()]


def test_turns(tmp_path, capsys):
  seconds, log = run(tmp_path, ("calm", "loud", "third"), 6, threads=1)
  assert seconds == {"calm": [1.0] * 6, "loud": [2.0] * 6, "third": [1.0] * 6}
  orders = [tuple(name for name, _, _ in log[first:first + 3]) for first in range(0, 18, 3)]
  assert all(sorted(order) == ["calm", "loud", "third"] for order in orders) and len(set(orders)) > 1
  assert {(threads, cores) for _, threads, cores in log} == {("1", 1)}
  assert capsys.readouterr().out.startswith(f"1 thread on cores {min(os.sched_getaffinity(0))} of ")


def test_programs_that_break_off_are_left_out(tmp_path, capsys):
  seconds, log = run(tmp_path, ("absent", "weak", "calm"), 3)
  assert seconds == {"calm": [1.0] * 3}
  assert [name for name, _, _ in log].count("weak") == 1
  printed = capsys.readouterr().out
  assert "absent: not measured: error: nothing is installed\n" in printed
  assert "weak: not measured: turn 2: MemoryError: too little\n" in printed


def test_in_one_process(tmp_path):
  done = []
  seconds = interleaved.take_turns("", ScriptOptions(one_process=True), ("a", "b"), 2,
                                   lambda name: lambda: done.append(name))
  assert sorted(done) == ["a", "a", "b", "b"] and [len(turns) for turns in seconds.values()] == [2, 2]


def test_processor_time(capsys):
  """A program that only waits takes none."""
  seconds = interleaved.take_turns("", ScriptOptions(one_process=True, clock="cpu"), ("a",), 2,
                                   lambda name: lambda: time.sleep(0.2))
  assert all(0 <= taken < 0.1 for taken in seconds["a"])
  assert capsys.readouterr().out.endswith("2 turns in shuffled order, processor time\n")


def test_figures(capsys):
  slow, fast = [4.0, 6.0, 2.0, 4.0, 5.0], [2.0, 2.0, 2.0, 2.0, 2.0]
  assert interleaved.quartiles(slow) == (4.0, 4.0, 5.0) and interleaved.quartiles([3.0]) == (3.0, 3.0, 3.0)
  assert interleaved.median_ratio(slow, fast) == 2.0
  low, high = interleaved.ratio_interval(slow, fast)
  assert 1.0 <= low < 2.0 < high <= 3.0
  assert interleaved.ratio_interval(fast, fast) == (1.0, 1.0)
  interleaved.print_rates({"ours": fast, "peer": slow}, [8] * 5, "steps", {"note": {"peer": "padded"}})
  lines = capsys.readouterr().out.splitlines()
  assert lines[0].split() == "program steps/s quartiles note ours is faster by 95 % interval".split()
  assert lines[1].split() == ["ours", "4.0", "4.0", "to", "4.0", "1.00x"]
  assert lines[2].split()[:6] == ["peer", "2.0", "1.6", "to", "2.0", "padded"] and "2.00x" in lines[2]

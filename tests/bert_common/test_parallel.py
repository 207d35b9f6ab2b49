"""Work spread over processes. Real processes are started by a fresh interpreter: this one may hold
TensorFlow."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bert_common import parallel

pytestmark = pytest.mark.processes


def _run(project, code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True)


def test_a_portion_ends_with_the_item_that_makes_it_large_enough():
    assert list(parallel.portions([2, 2, 3, 9, 1], lambda item: item, 4)) == [[2, 2], [3, 9], [1]]
    assert list(parallel.portions([], len, 4)) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"cpu.max": ""}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "100000 0\n"}, None),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "100000000 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "90000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
    ],
)
def test_the_quota_of_a_container_is_no_more_cores_than_it_pays_for(tmp_path, files, expected):
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    all_cores = parallel.default_num_workers(str(tmp_path / "none"))
    assert parallel.default_num_workers(str(tmp_path)) == (expected or all_cores)


def test_results_come_in_order_and_items_are_read_a_few_ahead(project):
    done = _run(
        project,
        """
import random, time
from bert_common import errors, parallel
def slow(number):
  time.sleep(random.random() / 50)
  return number * number
def double(text):
  return text * 2
def refuse(number):
  if number == 3:
    raise errors.UserError("three")
  return number
taken = 0
def items():
  global taken
  for number in range(1000):
    taken += 1
    yield number
for workers in (1, 2, 5):
  assert list(parallel.ordered_map(slow, range(40), workers)) == [n * n for n in range(40)], workers
assert list(parallel.ordered_map(slow, [], 3)) == []
texts = [str(n) * 400_000 for n in range(30)]
assert list(parallel.ordered_map(double, texts, 3)) == [text * 2 for text in texts]
results = parallel.ordered_map(abs, items(), 2)
for done in range(1, 50):
  next(results)
  assert taken <= done + 10, (taken, done)
results.close()
seen = []
try:
  for result in parallel.ordered_map(refuse, range(9), 2):
    seen.append(result)
except errors.UserError as error:
  print(seen, error)
""",
    )
    assert done.stdout == "[0, 1, 2] three\n", done.stderr


def test_a_worker_that_ends_is_an_error_not_a_hang(project):
    done = _run(
        project,
        """
import os, signal
from bert_common import errors, parallel
def end(how):
  os._exit(3) if how == 3 else os.kill(os.getpid(), how)
for how in (signal.SIGKILL, signal.SIGSEGV, 3):
  try:
    list(parallel.ordered_map(end, [how] * 9, 2))
  except errors.UserError as error:
    print(error)
""",
    )
    killed, crashed, ended = done.stdout.splitlines()
    assert (
        "memory ran out" in killed
        and "was ended by SIGSEGV: " in crashed
        and "ended with status 3: " in ended
    )
    assert "memory" not in crashed + ended


def test_workers_leave_the_garbage_of_their_parent_alone(project):
    done = _run(
        project,
        """
import gc, os
from bert_common import parallel
parent = os.getpid()
class Iterator:
  def __init__(self):
    self.cycle = self
  def __del__(self):
    if os.getpid() != parent:
      os._exit(3)
def collect(number):
  own = []
  own.append(own)
  del own
  return gc.isenabled() and gc.collect() > 0
gc.disable()
Iterator()
gc.enable()
print(list(parallel.ordered_map(collect, range(3), 2)), gc.isenabled())
""",
    )
    assert done.stdout == "[True, True, True] True\n", done.stdout + done.stderr


def test_workers_end_when_the_parent_is_killed(project):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            """
import os, time
from bert_common import parallel
def report(number):
  # One write: of print, unbuffered, the number and the end of its line are two, and those of two processes mix.
  os.write(1, f"{os.getpid()}\\n".encode())
  time.sleep(600)
list(parallel.ordered_map(report, range(2), 2))
""",
        ],
        cwd=project,
        stdout=subprocess.PIPE,
        text=True,
    )
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    try:
        while any(map(_is_alive, workers)):
            time.sleep(0.1)
    finally:
        for pid in filter(_is_alive, workers):
            os.kill(pid, signal.SIGKILL)
        parent.stdout.close()


def test_interrupted_twice_it_ends_at_once(project):
    done = subprocess.Popen(
        [
            sys.executable,
            "-c",
            """
import time
from bert_common import parallel
def report(number):
  print(number, flush=True)
  time.sleep(600)
try:
  list(parallel.ordered_map(report, range(2), 2))
except KeyboardInterrupt:
  print("interrupted")
""",
        ],
        cwd=project,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        done.stdout.readline(), done.stdout.readline()
        for _ in range(2):
            os.killpg(done.pid, signal.SIGINT)
            time.sleep(0.01)
        assert done.communicate()[0] == "interrupted\n"
    finally:
        done.kill()


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_worker_killed_while_it_sends(project):
    done = _run(
        project,
        """
import os, signal, threading, time
from bert_common import errors, parallel
def send_much(number):
  # The result is larger than what a pipe takes in, and the parent is not reading: the worker dies in between.
  threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
  return bytes(50_000_000)
def items():
  yield 0
  yield 1
  time.sleep(1.5)
  yield 2
try:
  list(parallel.ordered_map(send_much, items(), 2))
except errors.UserError as error:
  print("killed" in str(error))
""",
    )
    assert done.stdout == "True\n", done.stderr

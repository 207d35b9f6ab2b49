import os
import signal
import time

import pytest

from training.session import Interrupted, LoopLength, SessionOptions, StopSignal


def ends(length: LoopLength, last: int) -> list[int]:
  """The steps at which inner loops end."""
  found = [0]
  while found[-1] < last:
    found.append(found[-1] + length(found[-1]))
  return found[1:]


def test_loops_end_at_checkpoints_evaluations_and_the_end():
  length = LoopLength(SessionOptions(num_train_steps=25, save_checkpoints_steps=10, eval_steps=8,
                                     iterations_per_loop=1000, profile_steps=(3, 5)))
  assert ends(length, 25) == [3, 5, 8, 10, 16, 20, 24, 25]
  length.adapt(0.001)
  assert ends(length, 25) == [3, 5, 8, 10, 16, 20, 24, 25]


@pytest.mark.parametrize(("seconds_per_step", "expected"), [(60.0, 1), (2.0, 2), (0.3, 10), (0.01, 500), (1e-6, 1000)])
def test_a_loop_takes_a_few_seconds_where_its_length_is_not_given(seconds_per_step, expected):
  length = LoopLength(SessionOptions(num_train_steps=10**6, save_checkpoints_steps=10**5))
  assert length(0) == 1
  length.adapt(seconds_per_step)
  assert length(0) == expected
  # They end at round numbers, whatever they began at.
  assert (1003 + length(1003)) % expected == 0


def wait_for(condition) -> None:
  deadline = time.monotonic() + 10
  while not condition():
    assert time.monotonic() < deadline
    time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_noted_and_said(number):
  stop, said = StopSignal(), []
  before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
  with stop.listening(said.append):
    stop.check()
    os.kill(os.getpid(), number)
    # A supervisor may send it to the process and to its group.
    os.kill(os.getpid(), number)
    wait_for(lambda: said)
    with pytest.raises(Interrupted, match=signal.Signals(number).name):
      stop.check()
    time.sleep(0.1)
  assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)] == before
  assert len(said) == 1 and signal.Signals(number).name in said[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_ends_a_process_that_computes(number):
  child = os.fork()
  if child == 0:
    stop = StopSignal()
    with stop.listening(lambda line: None):
      os.kill(os.getpid(), number)
      wait_for(lambda: stop.received)
      time.sleep(1.2)
      os.kill(os.getpid(), number)
      time.sleep(10)
    os._exit(0)
  assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 128 + number

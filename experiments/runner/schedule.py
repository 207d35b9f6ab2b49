"""Runs a plan: steps that are not complete, several at a time, each with a log of its own.

The order is that of Python's `graphlib`, and of what is ready the step with the most work behind it comes first. Tools
that do more were looked at: docs/experiments.md says why none is used.
"""

import dataclasses
import graphlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from bert_tf.common import parallel
from bert_tf.common.progress import Progress
from experiments.runner.state import State
from experiments.runner.steps import Plan, Step

_PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SECONDS_BETWEEN_LOOKS = 0.2
# For a step to save and end after a signal.
_SECONDS_TO_SAVE = 120.0
# Of the log of a step that has failed, so many characters are searched for its last line.
_END_OF_LOG = 4000


class Running(Protocol):
  """A step that runs."""

  def poll(self) -> int | None:
    """Its exit status; None while it runs."""

  def terminate(self) -> None:
    """Asks it to save and end."""

  def kill(self) -> None:
    """Ends it."""


# (script with its arguments, log file) → the process.
Launch = Callable[[list[str], str], Running]


@dataclasses.dataclass(frozen=True)
class Outcome:
  """What came of a plan.

  Attributes:
    complete: names of the steps that are complete now.
    failed: step → why.
    waiting: names of the steps that need one that failed, or for which there was no time.
    interrupted: whether a signal came.
  """

  complete: frozenset[str]
  failed: Mapping[str, str]
  waiting: tuple[str, ...]
  interrupted: bool


def launcher(cores: int | None) -> Launch:
  """Starts commands of this project as processes that end with this one.

  Args:
    cores: that a step may compute on; None for all.
  """
  environment = dict(os.environ)
  if cores is not None:
    environment |= dict.fromkeys(
        ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(cores))
  parent = os.getpid()

  def launch(command: list[str], log_file: str) -> Running:
    with open(log_file, "ab") as log:
      # A group of its own: a signal of the terminal comes to this process, which hands it on, once.
      return subprocess.Popen(
          [sys.executable, os.path.join(_PROJECT, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=log,
          stderr=subprocess.STDOUT, env=environment, start_new_session=True,
          preexec_fn=lambda: parallel.end_with_parent(parent))

  return launch


def run(plan: Plan, state: State, jobs: int, launch: Launch, what: str) -> Outcome:
  """Runs what is not complete; a step that fails stops only those that need it.

  Args:
    plan: the steps.
    state: what is known of them.
    jobs: steps at a time.
    launch: starts a command.
    what: shown beside the progress.

  Raises:
    UserError: state can't be written, a full disk say.
  """
  return _Schedule(plan, state, jobs, launch, what).run()


class _Schedule:

  def __init__(self, plan: Plan, state: State, jobs: int, launch: Launch, what: str):
    self._plan, self._state, self._jobs, self._launch, self._what = plan, state, jobs, launch, what
    self._order = graphlib.TopologicalSorter({name: step.needs() for name, step in plan.steps.items()})
    self._order.prepare()
    self._weights = _work_behind(plan)
    self._ready: list[str] = []
    self._running: dict[str, tuple[Running, float]] = {}
    self._complete: set[str] = set()
    self._failed: dict[str, str] = {}

  def run(self) -> Outcome:
    interrupted, old = False, signal.signal(signal.SIGTERM, _interrupt)
    try:
      with Progress(self._what, len(self._plan.steps), "steps") as progress:
        while self._take_ready(progress) or self._running:
          self._start(progress)
          self._look(progress)
    except KeyboardInterrupt:
      interrupted = True
      print(f"\nstopping {', '.join(self._running)}: what is trained is saved; a second signal ends at once",
            file=sys.stderr, flush=True)
      self._stop(_SECONDS_TO_SAVE)
    finally:
      self._stop(0.0)
      signal.signal(signal.SIGTERM, old)
    waiting = tuple(name for name in self._plan.steps if name not in self._complete and name not in self._failed)
    return Outcome(frozenset(self._complete), dict(self._failed), waiting, interrupted)

  def _take_ready(self, progress: Progress) -> bool:
    """Collects what can be started; what is complete already is passed at once. Whether there is anything to start."""
    while ready := self._order.get_ready():
      for name in ready:
        if self._state.is_complete(self._plan.steps[name]):
          self._done(name, progress)
        else:
          self._ready.append(name)
    return bool(self._ready)

  def _start(self, progress: Progress) -> None:
    self._ready.sort(key=lambda name: -self._weights[name])
    while self._ready and len(self._running) < self._jobs:
      name = self._ready.pop(0)
      step = self._plan.steps[name]
      self._state.begin(step)
      began = time.monotonic()
      self._running[name] = self._launch(self._plan.command(step), self._state.log_file(step)), began
      progress.advance(0, running=", ".join(self._running))

  def _look(self, progress: Progress) -> None:
    """Waits until a step has ended."""
    while True:
      ended = [(name, status) for name, (process, _) in self._running.items() if (status := process.poll()) is not None]
      if ended:
        break
      time.sleep(_SECONDS_BETWEEN_LOOKS)
    for name, status in ended:
      _, began = self._running.pop(name)
      step, seconds = self._plan.steps[name], time.monotonic() - began
      # A command that was interrupted and can be resumed ends with status 0, too.
      if status == 0 and self._state.has_result(step):
        self._state.end(step, seconds)
        self._done(name, progress)
        progress.write(f"{name}: {seconds:.0f} s")
      else:
        self._failed[name] = _why(self._state.log_file(step), status, step)
        progress.write(f"{name}: failed: {self._failed[name]}")

  def _done(self, name: str, progress: Progress) -> None:
    self._complete.add(name)
    self._order.done(name)
    progress.advance(1, running=", ".join(self._running) or "nothing")

  def _stop(self, seconds: float) -> None:
    """Asks what runs to save and end, and ends it after so many seconds."""
    for process, _ in self._running.values():
      if seconds:
        process.terminate()
    deadline = time.monotonic() + seconds
    try:
      while seconds and time.monotonic() < deadline and any(
          process.poll() is None for process, _ in self._running.values()):
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    except KeyboardInterrupt:
      pass
    for process, _ in self._running.values():
      if process.poll() is None:
        process.kill()
    self._running.clear()


def _interrupt(*unused) -> None:
  raise KeyboardInterrupt


def _work_behind(plan: Plan) -> dict[str, float]:
  """Step → the most work on a way from it to the end, its own included."""
  behind = dict.fromkeys(plan.steps, 0.0)
  for name, step in reversed(plan.steps.items()):
    # Steps without a model are short, but not nothing.
    behind[name] += step.work.flops + 1.0
    for needed in step.needs():
      behind[needed] = max(behind[needed], behind[name])
  return behind


def _why(log_file: str, status: int, step: Step) -> str:
  """The last line of the log that says anything, and where the rest is."""
  with open(log_file, encoding="utf-8", errors="replace") as file:
    lines = [line.strip() for line in file.read()[-_END_OF_LOG:].splitlines() if line.strip()]
  errors = [line for line in lines if line.startswith("error:")] or lines or ["it said nothing"]
  if status == 0:
    errors = [f"it made no {step.result}: {errors[-1]}"]
  return f"{errors[-1].removeprefix('error: ')} (status {status}, {log_file})"

"""Runs a plan: jobs that are not complete, several at a time, each with a log in its directory.

A job is complete where the result kept there (`bert_tf/run_results.py`) is made from what it is made from today,
and its file is there. So nothing is lost with the process that ran it, however that ended, and a change of settings
makes incomplete what depends on it.

The order is that of Python's `graphlib`, and of what is ready the job with the longest way to the end comes first.
"""

import contextlib
import dataclasses
import datetime
import functools
import graphlib
import itertools
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from bert_common import files, json_files, parallel
from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf import run_results
from bert_tf.tasks.run_inputs import content_digest
from experiments.runner.jobs import JOBS, Job, Plan

_PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SECONDS_BETWEEN_LOOKS = 0.2
# For a job to save and end after a signal.
_SECONDS_TO_SAVE = 120.0
# Of the log of a job that has failed, so many characters are searched for its last line.
_END_OF_LOG = 4000

_KIND_FILE = "experiment.json"
_DETAILS = {"command": list[str], "begun": str, "starts": int, "machine": str}
# (script with its arguments, log file) → the process.
Launch = Callable[[list[str], str], subprocess.Popen]


class State:
  """The jobs of a plan in their output directory.

  Raises:
    UserError: the directory can't be written, or was made at another scale or by an earlier version; a file of the
      user is missing.
  """

  def __init__(self, plan: Plan, scale: str):
    self._plan = plan
    files.make_output_directory(plan.directory, "output_dir")
    path, where = os.path.join(plan.directory, _KIND_FILE), f"--output_dir={plan.directory} holds"
    found = json_files.read_object(path, {"scale": str, "version": int | None})
    if found and found.get("version") != run_results.VERSION:
      raise UserError(f"{where} experiments of another version of this program, whose results are not read: choose "
                      "another directory")
    if found.get("scale", scale) != scale:
      raise UserError(f"{where} experiments of --scale={found['scale']}: choose another directory for --scale={scale}")
    json_files.write(path, {"scale": scale, "version": run_results.VERSION})
    files.make_output_directory(os.path.join(plan.directory, JOBS), "output_dir")
    self._sources = plan.sources(functools.cache(_content))

  def is_complete(self, job: Job) -> bool:
    """Whether nothing is to be done."""
    found = self.result(job.name)
    return (found is not None and found.is_complete and self.has_result(job)
            and not run_results.differences(found.sources, self._sources[job.name]))

  def has_result(self, job: Job) -> bool:
    """Whether the file is there that a complete job leaves."""
    return os.path.exists(self._plan.result_file(job.name))

  def result(self, name: str) -> run_results.Result | None:
    """What was kept, with details: command, begun (UTC), starts, machine; None of a job that was never begun."""
    return run_results.read_result(self._plan.job_directory(name), _DETAILS)

  def begin(self, job: Job) -> str | None:
    """Notes that a job begins, in the directory where it was stopped.

    Returns:
      what the user should know: a directory that was made from something else has got another name.

    Raises:
      UserError: the disk is full, or the like.
    """
    directory, found, note = self._plan.job_directory(job.name), self.result(job.name), None
    changes = (run_results.differences(found.sources, self._sources[job.name]) if found else
               ["what it is made from is not known"] if os.path.isdir(directory) and os.listdir(directory) else [])
    if changes:
      names = (f"{directory}.replaced-{number}" for number in itertools.count(1))
      aside = next(name for name in names if not os.path.lexists(name))
      with files.user_error(f"can't rename {directory}"):
        os.rename(directory, aside)
      found, note = None, f"{job.name} is made again, what was there is kept in {aside} ({'; '.join(changes)})"
    files.make_output_directory(directory, "output_dir")
    earlier = found.details if found else {}
    machine = f"{parallel.default_num_workers()} cores, {platform.machine()}, Python {platform.python_version()}"
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    run_results.write_result(directory, run_results.Result(self._sources[job.name], details={
        "command": self._plan.command(job), "begun": earlier.get("begun", now),
        "starts": earlier.get("starts", 0) + 1, "machine": machine}))
    return note

  def end(self, job: Job, seconds: float) -> None:
    """Notes that a job is complete, so many seconds after it was last begun."""
    result = run_results.Result(self._sources[job.name], seconds=seconds, details=self.result(job.name).details)
    run_results.write_result(self._plan.job_directory(job.name), result)

def _content(patterns: str) -> str:
  """Digest of the names and contents of the user's files: those of patterns, or all below a directory."""
  if not os.path.isdir(patterns):
    return content_digest(files.expand_patterns(patterns, "corpus"))
  return content_digest(sorted(
      os.path.join(folder, name) for folder, _, names in os.walk(patterns) for name in names))


@dataclasses.dataclass(frozen=True)
class Outcome:
  """What came of a plan.

  Attributes:
    complete: names of the jobs that are complete now.
    failed: job → why.
    waiting: names of the jobs that need one that failed, or for which there was no time.
    interrupted: whether a signal came.
  """

  complete: frozenset[str]
  failed: Mapping[str, str]
  waiting: tuple[str, ...]
  interrupted: bool


def launcher(cores: int | None) -> Launch:
  """Starts commands of this project as processes that end with this one.

  Args:
    cores: that a job may compute on; None for all.
  """
  environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (_PROJECT, os.environ.get("PYTHONPATH"))))}
  if cores is not None:
    environment |= dict.fromkeys(
        ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(cores))
  parent = os.getpid()

  def launch(command: list[str], log_file: str) -> subprocess.Popen:
    with open(log_file, "ab") as log:
      # A group of its own: a signal of the terminal comes to this process, which hands it on, once.
      return subprocess.Popen(
          [sys.executable, os.path.join(_PROJECT, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=log,
          stderr=subprocess.STDOUT, env=environment, start_new_session=True,
          preexec_fn=lambda: parallel.end_with_parent(parent))

  return launch


class Schedule:
  """Runs what is not complete of a plan; a job that fails stops only those that need it.

  Args:
    at_a_time: so many jobs.
    what: shown beside the progress.
  """

  def __init__(self, plan: Plan, state: State, at_a_time: int, launch: Launch, what: str):
    self._plan, self._state, self._at_a_time, self._launch = plan, state, at_a_time, launch
    self._progress = Progress(what, len(plan.jobs), "jobs")
    self._order = graphlib.TopologicalSorter({name: job.needs() for name, job in plan.jobs.items()})
    self._order.prepare()
    self._weights = plan.work_to_the_end()
    self._ready: list[str] = []
    self._running: dict[str, tuple[subprocess.Popen, float]] = {}
    self._complete: set[str] = set()
    self._failed: dict[str, str] = {}

  def run(self) -> Outcome:
    """Raises `UserError` where the state can't be read or written, on a full disk say."""
    interrupted, old = False, signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
      with self._progress:
        while self._take_ready() or self._running:
          self._start()
          self._wait()
    except KeyboardInterrupt:
      interrupted = True
      print(f"\nstopping {', '.join(self._running)}: what is trained is saved; a second signal ends at once",
            file=sys.stderr, flush=True)
      for process, _ in self._running.values():
        process.terminate()
      deadline = time.monotonic() + _SECONDS_TO_SAVE
      with contextlib.suppress(KeyboardInterrupt):
        while time.monotonic() < deadline and any(process.poll() is None for process, _ in self._running.values()):
          time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
      for process, _ in self._running.values():
        process.kill()
      signal.signal(signal.SIGTERM, old)
    waiting = tuple(name for name in self._plan.jobs if name not in self._complete and name not in self._failed)
    return Outcome(frozenset(self._complete), dict(self._failed), waiting, interrupted)

  def _take_ready(self) -> bool:
    """Collects what can be started; what is complete already is passed at once. Whether there is anything to start."""
    while ready := self._order.get_ready():
      for name in ready:
        if self._state.is_complete(self._plan.jobs[name]):
          self._done(name)
        else:
          self._ready.append(name)
    return bool(self._ready)

  def _start(self) -> None:
    self._ready.sort(key=lambda name: -self._weights[name])
    while self._ready and len(self._running) < self._at_a_time:
      name = self._ready.pop(0)
      job = self._plan.jobs[name]
      if note := self._state.begin(job):
        self._progress.write(note)
      self._running[name] = self._launch(self._plan.command(job), self._plan.log_file(name)), time.monotonic()
      self._progress.advance(0, running=", ".join(self._running))

  def _wait(self) -> None:
    """Waits until a job has ended."""
    while not (ended := {name: status for name, (process, _) in self._running.items()
                         if (status := process.poll()) is not None}):
      time.sleep(_SECONDS_BETWEEN_LOOKS)
    for name, status in ended.items():
      job, seconds = self._plan.jobs[name], time.monotonic() - self._running.pop(name)[1]
      # A command that was interrupted and can be resumed ends with status 0, too.
      if status == 0 and self._state.has_result(job):
        self._state.end(job, seconds)
        self._done(name)
        self._progress.write(f"{name}: {seconds:.0f} s")
      else:
        self._failed[name] = _why(self._plan.log_file(name), status, job)
        self._progress.write(f"{name}: failed: {self._failed[name]}")

  def _done(self, name: str) -> None:
    self._complete.add(name)
    self._order.done(name)
    self._progress.advance(1, running=", ".join(self._running) or "nothing")


def _why(log_file: str, status: int, job: Job) -> str:
  """The last line of the log that says anything, and where the rest is."""
  with open(log_file, encoding="utf-8", errors="replace") as file:
    lines = [line.strip() for line in file.read()[-_END_OF_LOG:].splitlines() if line.strip()]
  errors = [line for line in lines if line.startswith("error:")] or lines or ["it said nothing"]
  if status == 0:
    errors = [f"it made no {job.result}: {errors[-1]}"]
  return f"{errors[-1].removeprefix('error: ')} (status {status}, {log_file})"

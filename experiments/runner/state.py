"""What is known of jobs that were run: in the directory of each, from when it begins, with its log.

A job is complete where the result kept there (`bert_common/run_results.py`) is made from what it is made from today,
and its file is there. So nothing is lost with the process that ran it, however that ended, and a change of settings
makes incomplete what depends on it.
"""

import datetime
import functools
import os
import platform

from bert_common import files, json_files, parallel, run_results
from bert_common.errors import UserError
from bert_common.run_results import Result
from experiments.runner.jobs import JOBS, Job, Plan

_LOG = "log.txt"
_KIND_FILE = "experiment.json"
_DETAILS = {"command": list[str], "begun": str, "starts": int, "machine": str}


class State:
  """The jobs of a plan in their output directory.

  Raises:
    UserError: the directory can't be written, or was made at another scale or by an earlier version; a file of the
      user is missing.
  """

  def __init__(self, plan: Plan, scale: str):
    self._plan = plan
    files.make_output_directory(plan.directory, "output_dir")
    self._check_kind(scale)
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

  def result(self, name: str) -> Result | None:
    """What was kept, with details: command, begun (UTC), starts, machine; None of a job that was never begun."""
    return run_results.read_result(self._plan.job_directory(name), _DETAILS)

  def log_file(self, job: Job) -> str:
    """Where the job's output goes."""
    return os.path.join(self._plan.job_directory(job.name), _LOG)

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
      aside = _set_aside(directory)
      found, note = None, f"{job.name} is made again, what was there is kept in {aside} ({'; '.join(changes)})"
    files.make_output_directory(directory, "output_dir")
    earlier = found.details if found else {}
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    run_results.write_result(directory, Result(self._sources[job.name], details={
        "command": self._plan.command(job), "begun": earlier.get("begun", now),
        "starts": earlier.get("starts", 0) + 1, "machine": machine()}))
    return note

  def end(self, job: Job, seconds: float) -> None:
    """Notes that a job is complete, so many seconds after it was last begun."""
    result = Result(self._sources[job.name], seconds=seconds, details=self.result(job.name).details)
    run_results.write_result(self._plan.job_directory(job.name), result)

  def _check_kind(self, scale: str) -> None:
    path, where = os.path.join(self._plan.directory, _KIND_FILE), f"--output_dir={self._plan.directory} holds"
    found = json_files.read_object(path, {"scale": str, "version": int | None})
    if found and found.get("version") != run_results.VERSION:
      raise UserError(f"{where} experiments of another version of this program, whose results are not read: choose "
                      "another directory")
    if found.get("scale", scale) != scale:
      raise UserError(f"{where} experiments of --scale={found['scale']}: choose another directory for --scale={scale}")
    json_files.write(path, {"scale": scale, "version": run_results.VERSION})


def _content(patterns: str) -> str:
  """Digest of the names and contents of the user's files: those of patterns, or all below a directory."""
  if not os.path.isdir(patterns):
    return run_results.content_digest(files.expand_patterns(patterns, "corpus"))
  return run_results.content_digest(sorted(
      os.path.join(folder, name) for folder, _, names in os.walk(patterns) for name in names))


def _set_aside(directory: str) -> str:
  """Gives a directory a name that is free; returns it."""
  number = 1
  while os.path.lexists(aside := f"{directory}.replaced-{number}"):
    number += 1
  with files.user_error(f"can't rename {directory}"):
    os.rename(directory, aside)
  return aside


def machine() -> str:
  """What ran a job, in a few words."""
  return f"{parallel.default_num_workers()} cores, {platform.machine()}, Python {platform.python_version()}"

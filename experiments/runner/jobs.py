"""Jobs: commands of this project with what they read and what they make; a plan is many of them.

A job owns a directory, `<output_dir>/jobs/<name>/`, and writes nowhere else. What it reads is either made by another
job (`Made`) or the user's (`Given`), so that the order of the jobs follows from their flags. Any command may be given
again where it was stopped.
"""

import dataclasses
import fnmatch
import importlib
import os
from collections.abc import Callable, Iterable, Mapping

from bert_common import cli
from bert_common.options import Options
from bert_tf import run_results

JOBS = "jobs"


@dataclasses.dataclass(frozen=True)
class Made:
  """A file or directory that a job makes.

  Attributes:
    job: its name.
    path: in the job's directory; "" is the directory itself.
  """

  job: str
  path: str = ""


@dataclasses.dataclass(frozen=True)
class Given:
  """Files of the user: a path, or patterns separated by commas."""

  path: str


@dataclasses.dataclass(frozen=True)
class Joined:
  """A value made of several, concatenated: texts, numbers, `Made`, `Given`."""

  parts: tuple[object, ...]


@dataclasses.dataclass(frozen=True)
class Job:
  """A command.

  Attributes:
    name: of the job and of its directory.
    script: relative to the project.
    flags: name → value: text, number, truth, `Made`, `Given`, `Joined`, or a tuple of such, with commas between them.
    result: the file that is there when the job is complete.
    makes: patterns of what other jobs may read of it, beside the result.
    examples: sequences that a model is trained on; 0 where there is no model.
    flops: floating-point operations of the matrix products.
  """

  name: str
  script: str
  flags: Mapping[str, object]
  result: str
  makes: tuple[str, ...] = ()
  examples: int = 0
  flops: float = 0.0

  def reads(self) -> list[Made | Given]:
    """What it reads, in the order of its flags."""
    return [one for value in self.flags.values() for one in _parts(value)
            if isinstance(one, Given) or isinstance(one, Made) and one.job != self.name]

  def needs(self) -> list[str]:
    """Names of the jobs that must be complete before."""
    return list(dict.fromkeys(value.job for value in self.reads() if isinstance(value, Made)))


def _parts(value: object) -> Iterable[object]:
  """A value, or those that it is made of."""
  parts = value.parts if isinstance(value, Joined) else value if isinstance(value, tuple) else None
  return [value] if parts is None else [one for part in parts for one in _parts(part)]


def options_class(script: str) -> type[Options]:
  """The options of a script, the one class of them that it imports."""
  module = importlib.import_module(script.removesuffix(".py").replace("/", "."))
  (found,) = (value for value in vars(module).values()
              if isinstance(value, type) and issubclass(value, Options) and value is not Options)
  return found


class Plan:
  """Jobs by their names, each after those it needs.

  Args:
    directory: the experiment's output directory.
  """

  def __init__(self, directory: str):
    self.directory = directory
    self.jobs: dict[str, Job] = {}

  def add(self, job: Job) -> Job:
    """Takes a job; one that is there already, from another row or table, is shared.

    Raises:
      ValueError: another job has the name, or something is read that no earlier job makes.
    """
    if self.jobs.get(job.name, job) != job:
      raise ValueError(f"two different jobs are called {job.name}")
    for value in job.reads():
      maker = self.jobs.get(value.job) if isinstance(value, Made) else None
      if isinstance(value, Made) and maker is None:
        raise ValueError(f"{job.name} reads {value.path or 'the directory'} of {value.job}, which is no earlier job")
      if maker and value.path and not any(
          fnmatch.fnmatch(value.path, pattern) for pattern in (maker.result, *maker.makes)):
        raise ValueError(f"{job.name} reads {value.path} of {value.job}, which makes {maker.result} {maker.makes}")
    return self.jobs.setdefault(job.name, job)

  def job_directory(self, name: str) -> str:
    """What a job writes in."""
    return os.path.join(self.directory, JOBS, name)

  def result_file(self, name: str) -> str:
    """The path of a job's result."""
    return os.path.join(self.job_directory(name), self.jobs[name].result)

  def log_file(self, name: str) -> str:
    """Where a job's output goes."""
    return os.path.join(self.job_directory(name), "log.txt")

  def command(self, job: Job) -> list[str]:
    """The script and its arguments, with real paths."""
    return [job.script, *(f"--{'' if value else 'no'}{name}" if isinstance(value, bool) else
                          f"--{name}={self._place(value)}" for name, value in job.flags.items())]

  def check(self) -> None:
    """Parses every command with the options of its script.

    Raises:
      UserError: a flag or a value that can't be.
    """
    for job in self.jobs.values():
      cli.parse(options_class(job.script), self.command(job))

  def needed(self, results: Iterable[str]) -> "Plan":
    """The part of the plan that makes the results of some jobs, in the same order."""
    wanted, waiting = set(), list(results)
    while waiting:
      name = waiting.pop()
      if name not in wanted:
        wanted.add(name)
        waiting += self.jobs[name].needs()
    part = Plan(self.directory)
    part.jobs = {name: job for name, job in self.jobs.items() if name in wanted}
    return part

  def work_to_the_end(self) -> dict[str, float]:
    """Job → operations on the longest way from it to the end, its own included."""
    found = dict.fromkeys(self.jobs, 0.0)
    for name, job in reversed(self.jobs.items()):
      # Jobs without a model are short, but not nothing.
      found[name] += job.flops + 1.0
      for needed in job.needs():
        found[needed] = max(found[needed], found[name])
    return found

  def sources(self, content: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Name of a job → what its result is made from, see `run_results`: its flags, what they name, how that was made.

    Args:
      content: path or patterns of the user's files → the digest of their contents.
    """
    found: dict[str, dict[str, object]] = {}

    def identify(value: object) -> str:
      parts = _parts(value)
      if parts != [value]:
        inner = list(map(identify, parts))
        return run_results.digest(inner) if any(isinstance(one, Made | Given) for one in parts) else ",".join(inner)
      if isinstance(value, Made):
        return run_results.digest([found[value.job], value.path]) if value.job in found else value.path
      return content(value.path) if isinstance(value, Given) else str(value)

    for name, job in self.jobs.items():
      found[name] = {"job": name, "script": job.script, "result": job.result,
                     **{flag: identify(value) for flag, value in job.flags.items()}}
    return found

  def _place(self, value: object) -> str:
    """The text of a flag's value."""
    if isinstance(value, tuple):
      return ",".join(map(self._place, value))
    if isinstance(value, Joined):
      return "".join(map(self._place, value.parts))
    if isinstance(value, Made):
      directory = self.job_directory(value.job)
      return os.path.join(directory, value.path) if value.path else directory
    return value.path if isinstance(value, Given) else str(value)

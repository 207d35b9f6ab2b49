"""Jobs: commands of this project with what they read and what they make; a plan is many of them.

A job owns a directory, `<output_dir>/jobs/<name>/`, and writes nowhere else. What it reads is either made by another
job (`Made`) or the user's (`Given`), so that the order of the jobs follows from their flags. Any command may be given
again where it was stopped.
"""

import dataclasses
import importlib
import os
from collections.abc import Callable, Collection, Mapping

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
class Job:
  """A command.

  Attributes:
    name: of the job and of its directory.
    script: relative to the project.
    flags: name → value: text, number, truth, `Made`, `Given`, or a tuple of such, with commas between them; a tuple
      in a tuple has its parts concatenated.
    result: the file that is there when the job is complete.
    examples: sequences that a model is trained on; 0 where there is no model.
    flops: floating-point operations of the matrix products.
  """

  name: str
  script: str
  flags: Mapping[str, object]
  result: str
  examples: int = 0
  flops: float = 0.0

  def needs(self) -> list[str]:
    """Names of the jobs that must be complete before."""
    return list(dict.fromkeys(one.job for one in _parts(tuple(self.flags.values()))
                              if isinstance(one, Made) and one.job != self.name))


def _parts(value: object) -> list[object]:
  """A value, or those that a tuple is made of."""
  return [one for part in value for one in _parts(part)] if isinstance(value, tuple) else [value]


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
    if unknown := set(job.needs()) - self.jobs.keys():
      raise ValueError(f"{job.name} reads of {', '.join(unknown)}, which is no earlier job")
    return self.jobs.setdefault(job.name, job)

  def path(self, job: str, name: str = "") -> str:
    """A file of a job, or its directory."""
    return os.path.join(self.directory, JOBS, job, name).rstrip("/")

  def result_file(self, name: str) -> str:
    """The path of a job's result."""
    return self.path(name, self.jobs[name].result)

  def command(self, job: Job) -> list[str]:
    """The script and its arguments, with real paths."""
    return [job.script, *(f"--{'' if value else 'no'}{name}" if isinstance(value, bool) else
                          f"--{name}={self._text(value)}" for name, value in job.flags.items())]

  def _text(self, value: object, separator: str = ",") -> str:
    """A flag's value as it is typed."""
    if isinstance(value, tuple):
      return separator.join(self._text(one, separator="") for one in value)
    return self.path(value.job, value.path) if isinstance(value, Made) else str(
        value.path if isinstance(value, Given) else value)

  def check(self) -> None:
    """Parses every command with the options of its script.

    Raises:
      UserError: a flag or a value that can't be.
    """
    for job in self.jobs.values():
      cli.parse(options_class(job.script), self.command(job))

  def needed(self, results: Collection[str]) -> list[Job]:
    """The jobs that make the results of some jobs, these included, in the order of the plan."""
    wanted = set(results)
    for name, job in reversed(self.jobs.items()):
      wanted.update(job.needs() if name in wanted else ())
    return [job for name, job in self.jobs.items() if name in wanted]

  def sources(self, content: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Name of a job → what its result is made from, see `run_results`: its flags, what they name, how that was made.

    Args:
      content: path or patterns of the user's files → the digest of their contents.
    """
    found: dict[str, dict[str, object]] = {}

    def identify(value: object) -> str:
      if isinstance(value, tuple):
        parts = _parts(value)
        inner = list(map(identify, parts))
        return run_results.digest(inner) if any(isinstance(one, Made | Given) for one in parts) else ",".join(inner)
      if isinstance(value, Made):
        return run_results.digest([found[value.job], value.path]) if value.job in found else value.path
      return content(value.path) if isinstance(value, Given) else str(value)

    for name, job in self.jobs.items():
      found[name] = {"job": name, "script": job.script, "result": job.result,
                     **{flag: identify(value) for flag, value in job.flags.items()}}
    return found

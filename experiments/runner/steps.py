"""Steps: commands of this project with what they read and what they make; a plan is many of them.

A step owns a directory, `<output_dir>/steps/<name>/`, and writes nowhere else. What it reads is either made by another
step (`Made`) or the user's (`Given`), so that the order of the steps follows from their flags.
"""

import dataclasses
import fnmatch
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping

from bert_tf.common import cli
from experiments.runner import scripts

STEPS = "steps"


@dataclasses.dataclass(frozen=True)
class Made:
  """A file or directory that a step makes.

  Attributes:
    step: its name.
    path: in the step's directory; "" is the directory itself.
  """

  step: str
  path: str = ""


@dataclasses.dataclass(frozen=True)
class Given:
  """Files of the user: a path, or patterns separated by commas."""

  path: str


@dataclasses.dataclass(frozen=True)
class Joined:
  """A value made of several, one behind the other: texts, numbers, `Made`, `Given`."""

  parts: tuple[object, ...]


@dataclasses.dataclass(frozen=True)
class Work:
  """How much a step is.

  Attributes:
    examples: sequences that a model is trained on; 0 where there is no model.
    flops: floating-point operations of the matrix products.
  """

  examples: int = 0
  flops: float = 0.0


@dataclasses.dataclass(frozen=True)
class Step:
  """A command.

  Attributes:
    name: of the step and of its directory.
    script: relative to the project.
    flags: name → value: text, number, truth, `Made`, `Given`, `Joined`, or a tuple of such, with commas between them.
    result: the file that is there when the step is complete.
    makes: patterns of what other steps may read of it, beside the result.
    resumes: whether the command, given again, goes on where it was stopped. The directory of one that does not is
      emptied before it is run again.
    work: how much it is.
  """

  name: str
  script: str
  flags: Mapping[str, object]
  result: str
  makes: tuple[str, ...] = ()
  resumes: bool = True
  work: Work = Work()

  def reads(self) -> list[Made | Given]:
    """What it reads, in the order of its flags."""
    return [value for value in self._values() if isinstance(value, Given) or (
        isinstance(value, Made) and value.step != self.name)]

  def needs(self) -> list[str]:
    """Names of the steps that must be complete before."""
    return list(dict.fromkeys(value.step for value in self.reads() if isinstance(value, Made)))

  def arguments(self, place: Callable[[object], str]) -> list[str]:
    """The words of the command after the script's name.

    Args:
      place: value of a flag → its text; see `Plan.command`.
    """
    words = []
    for name, value in self.flags.items():
      if value is True:
        words.append(f"--{name}")
      elif value is False:
        words.append(f"--no{name}")
      elif isinstance(value, tuple):
        words.append(f"--{name}={','.join(map(place, value))}")
      else:
        words.append(f"--{name}={place(value)}")
    return words

  def _values(self) -> Iterable[object]:
    waiting = list(self.flags.values())
    while waiting:
      value = waiting.pop(0)
      parts = value.parts if isinstance(value, Joined) else value if isinstance(value, tuple) else None
      if parts is None:
        yield value
      else:
        waiting[:0] = parts


class Plan:
  """Steps by their names, each after those it needs.

  Args:
    directory: the experiment's output directory.
  """

  def __init__(self, directory: str):
    self.directory = directory
    self.steps: dict[str, Step] = {}

  def add(self, step: Step) -> Step:
    """Takes a step; one that is there already, from another row or table, is shared.

    Raises:
      ValueError: another step has the name, or something is read that no earlier step makes.
    """
    there = self.steps.get(step.name)
    if there is not None:
      if there != step:
        raise ValueError(f"two different steps are called {step.name}")
      return there
    for value in step.reads():
      if isinstance(value, Made):
        self._check_made(step.name, value)
    self.steps[step.name] = step
    return step

  def step_directory(self, name: str) -> str:
    """What a step writes in."""
    return os.path.join(self.directory, STEPS, name)

  def command(self, step: Step) -> list[str]:
    """The script and its arguments, with real paths."""
    return [step.script, *step.arguments(self.place)]

  def place(self, value: object) -> str:
    """The text of a flag's value."""
    if isinstance(value, Joined):
      return "".join(map(self.place, value.parts))
    if isinstance(value, Made):
      directory = self.step_directory(value.step)
      return os.path.join(directory, value.path) if value.path else directory
    return value.path if isinstance(value, Given) else str(value)

  def check(self) -> None:
    """Parses every command with the options of its script.

    Raises:
      UserError: a flag or a value that can't be.
    """
    for step in self.steps.values():
      cli.parse(scripts.options_class(step.script), self.command(step))

  def needed(self, results: Iterable[str]) -> "Plan":
    """The part of the plan that makes the results of some steps, in the same order."""
    wanted, waiting = set(), list(results)
    while waiting:
      name = waiting.pop()
      if name not in wanted:
        wanted.add(name)
        waiting += self.steps[name].needs()
    part = Plan(self.directory)
    part.steps = {name: step for name, step in self.steps.items() if name in wanted}
    return part

  def digests(self, fingerprint: Callable[[str], str]) -> dict[str, str]:
    """Name of a step → what changes with its command, what that reads, and how that was made.

    Args:
      fingerprint: path or patterns of the user's files → what changes with their contents.
    """
    found: dict[str, str] = {}

    def identify(value: object) -> str:
      if isinstance(value, Joined):
        return f"joined:{list(map(identify, value.parts))}"
      if isinstance(value, Made):
        return f"made:{found.get(value.step, 'self')}:{value.path}"
      return f"given:{fingerprint(value.path)}" if isinstance(value, Given) else f"value:{value}"

    for name, step in self.steps.items():
      # The name too: directories and what is written in them follow from it. The order of flags means nothing.
      told = json.dumps([name, step.script, step.result, sorted(step.arguments(identify))])
      found[name] = hashlib.sha256(told.encode()).hexdigest()
    return found

  def _check_made(self, reader: str, value: Made) -> None:
    maker = self.steps.get(value.step)
    if maker is None:
      raise ValueError(f"{reader} reads {value.path or 'the directory'} of {value.step}, which is no earlier step")
    if value.path and not any(fnmatch.fnmatch(value.path, pattern) for pattern in (maker.result, *maker.makes)):
      raise ValueError(f"{reader} reads {value.path} of {value.step}, which makes {maker.result} {maker.makes}")

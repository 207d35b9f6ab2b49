"""Measuring several programs in one run: each in a process of its own, taking turns in shuffled order.

Turns matter on a shared machine: whatever slows it down meets all programs alike, so ratios are steady where
seconds are not. A program that waits for its turn uses no processor. All programs have the same number of threads and
stay on the same cores.
"""

import contextlib
import dataclasses
import functools
import importlib
import multiprocessing
import multiprocessing.connection
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from bert_common import files, json_files, outputs
from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_tf.tables import print_table

_RESAMPLES = 2000
_CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# What TensorFlow's, OpenMP's and MKL's thread pools are made by.
_THREAD_VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TurnsOptions(Options):
  """Processes and results."""

  threads: int | None = option(None, "Threads of each program, and cores that it stays on.", minimum=1,
                               default_text="one for every core")
  clock: str = option(
      "wall", "What is counted: the time that passes, or (cpu) the processor time of a program, which others on the "
      "machine change less. With cpu give --threads=1: threads that wait for each other count, too.", choices=_CLOCKS)
  one_process: bool = option(
      False, "All programs in this process, to see that they run: thread pools compete, so ratios mean nothing.")
  one_at_a_time: bool = option(
      False, "One program after the other, each with all its turns: for a device that nobody else uses, whose memory "
      "does not hold all of them.")
  json_file: str | None = option(
      None, "What was measured of a program, or why it was not, is appended here as a line of JSON.", path=True)

  def check_inputs(self) -> None:
    super().check_inputs()
    if self.json_file is not None:
      outputs.prepare_output_file(self.json_file, "json_file", {})

  def record(self, program: str, **values: object) -> None:
    """Keeps what was found out about a program, where there is a file for that."""
    if self.json_file is not None:
      with files.open_file(self.json_file, "a") as file:
        file.write(json_files.line_of({"program": program, **values}))


def find_program(path: str, arguments: Mapping[str, object] = {}) -> Callable:  # noqa: B006
  """The function at "module.function" of benchmarks/ with some of its arguments; only then its libraries are imported.
  """
  module, _, function = path.partition(".")
  return functools.partial(getattr(importlib.import_module(f"benchmarks.{module}"), function), **arguments)


def repeated(step: Callable[[], None], steps: int, warm_up_steps: int) -> Callable[[], None]:
  """A turn of so many steps, after some that are not measured."""
  def turn(count: int = steps) -> None:
    for _ in range(count):
      step()

  turn(warm_up_steps)
  return turn


def take_turns(options: TurnsOptions, programs: Sequence[str], turns: int, build: Callable, *arguments: object
               ) -> dict[str, list[float]]:
  """Starts the programs and measures them in turns.

  Args:
    options: of the benchmark.
    programs: their names.
    turns: of each.
    build: function of a module, called with `arguments` and a name in the process of the program; returns a function
      that does the work of a turn, warmed up.
    arguments: what can be pickled.

  Returns:
    name → seconds of each turn, in the order of `programs`; programs that could not start or broke off are left out,
    with a line that says why.
  """
  cores = _cores(options.threads)
  print(f"{len(cores)} thread{'s' * (len(cores) > 1)} on cores {', '.join(map(str, cores))} of {os.cpu_count()}; load "
        f"{os.getloadavg()[0]:.1f} before; {turns} turns in shuffled order"
        f"{', processor time' if options.clock == 'cpu' else ''}", flush=True)
  builds = {name: functools.partial(build, *arguments, name) for name in programs}
  seconds: dict[str, list[float]] = {}
  for together in [{name: one} for name, one in builds.items()] if options.one_at_a_time else [builds]:
    seconds |= _take_turns(options, together, turns, cores)
  return seconds


def _take_turns(options: TurnsOptions, builds: Mapping[str, Callable], turns: int, cores: Sequence[int]
                ) -> dict[str, list[float]]:
  """The same for programs that are there at the same time; name → what builds it."""
  seconds: dict[str, list[float]] = {name: [] for name in builds}
  shuffler = random.Random(0)
  with contextlib.ExitStack() as ends:
    # One at a time: building one program must not slow down another's warm-up.
    if options.one_process:
      running = {name: _Here(one, options.clock) for name, one in builds.items()}
    else:
      running = {name: ends.enter_context(contextlib.closing(_Process(one, options.clock, cores)))
                 for name, one in builds.items()}
    broken = {name: problem for name, program in running.items() if (problem := program.problem)}
    for turn in range(turns):
      order = [name for name in builds if name not in broken]
      shuffler.shuffle(order)
      for name in order:
        taken = running[name].turn()
        if taken is None:
          broken[name] = f"turn {turn + 1}: {running[name].problem}"
        else:
          seconds[name].append(taken)
  for name, program in running.items():
    options.record(name, start_seconds=round(program.start_seconds, 3), error=broken.get(name))
  for name, problem in broken.items():
    print(f"{name}: not measured: {problem}")
    del seconds[name]
  return seconds


def ratio(slower: Sequence[float], faster: Sequence[float], share: float = 0.95) -> tuple[float, float, float]:
  """Median over the turns of seconds / seconds, and where it lies: a bootstrap over the turns.

  Args:
    slower, faster: seconds of each turn.
    share: of the medians of resampled turns that lie in the interval.

  Returns:
    (beginning of the interval, median, end)
  """
  ratios, chooser = [a / b for a, b in zip(slower, faster, strict=True)], random.Random(0)
  medians = sorted(statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
  outside = round((1 - share) / 2 * _RESAMPLES)
  return medians[outside], statistics.median(ratios), medians[-1 - outside]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
  """First quartile, median, third quartile."""
  return tuple(map(float, np.percentile(values, [25, 50, 75])))


def print_rates(options: TurnsOptions, seconds: Mapping[str, Sequence[float]], amounts: Sequence[float], unit: str,
                columns: Mapping[str, tuple[str, Mapping[str, float]]] = {}) -> None:  # noqa: B006
  """A table of what programs do in a second, and by how much the first one is faster; --json_file has the same.

  Args:
    options: of the benchmark.
    seconds: program → time of each turn.
    amounts: what is done in each turn.
    unit: of the amounts, plural.
    columns: heading → format, program → number of further columns.
  """
  first = next(iter(seconds), None)
  if first is None:
    return
  rows = [("program", f"{unit}/s", "quartiles", *columns, f"{first} is faster by", "95 % interval")]
  for name, turns in seconds.items():
    low, middle, high = quartiles([amount / turn for amount, turn in zip(amounts, turns, strict=True)])
    more = {heading: numbers[name] for heading, (_, numbers) in columns.items() if name in numbers}
    rows.append((name, f"{middle:,.1f}", f"{low:,.1f} to {high:,.1f}",
                 *(columns[heading][0].format(more[heading]) if heading in more else "" for heading in columns),
                 *ratio_texts(seconds, name, first)))
    options.record(name, **{f"{unit}/s": middle, "quartiles": [low, high], **more,
                            f"{first} is faster by": ratio(turns, seconds[first])[1]})
  print_table(rows)


def ratio_texts(seconds: Mapping[str, Sequence[float]], name: str, first: str) -> tuple[str, str]:
  """By how much the program `first` is faster than this one, and the 95 % interval."""
  if first not in seconds:
    return "", ""
  low, median, high = ratio(seconds[name], seconds[first])
  return f"{median:.2f}x", "" if name == first else f"{low:.2f} to {high:.2f}"


class _Process:
  """A program in a process of its own, which is not forked from this one.

  Attributes:
    problem: why it is not there; None while it is.
    start_seconds: until it was ready for its first turn, imports and warm-up included.
  """

  def __init__(self, build: Callable[[], Callable[[], None]], clock: str, cores: Sequence[int]):
    self.problem: str | None = None
    began = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    self._connection, other_end = spawn.Pipe()
    self._log = tempfile.NamedTemporaryFile(encoding="utf-8", mode="r", errors="replace")  # noqa: SIM115 (closed with the process)
    self._process = spawn.Process(target=_serve, args=(other_end, self._log.name, build, clock))
    with _surroundings(cores):
      self._process.start()
    other_end.close()
    self._answer()
    self.start_seconds = time.perf_counter() - began

  def turn(self) -> float | None:
    """Seconds of one turn; None, with `problem` set, where the program has ended."""
    with contextlib.suppress(OSError):
      self._connection.send("go")
    return self._answer()

  def close(self) -> None:
    """Waits for the end of a program that has no more turns."""
    self._connection.close()
    self._process.join()
    self._log.close()

  def _answer(self) -> float | None:
    try:
      return self._connection.recv()
    except (EOFError, OSError):
      self._process.join()
      lines = [line.strip() for line in self._log if line.strip()]
      self.problem = lines[-1] if lines else f"exit status {self._process.exitcode}, no message"
      return None


def _serve(connection: multiprocessing.connection.Connection, log: str, build: Callable[[], Callable[[], None]],
           clock: str) -> None:
  """The measured process: says that it is ready, then does the work of a turn for every message."""
  # Whatever libraries print.
  for path, stream in ((os.devnull, sys.stdout), (log, sys.stderr)):
    with open(path, "w", encoding="utf-8") as file:
      os.dup2(file.fileno(), stream.fileno())
  try:
    measure = build()
  except UserError as error:
    sys.exit(f"error: {error}")
  connection.send(0.0)
  with contextlib.suppress(EOFError):
    while connection.recv():
      connection.send(_timed(measure, clock))


@contextlib.contextmanager
def _surroundings(cores: Sequence[int]) -> Iterator[None]:
  """Processes that are started meanwhile stay on the cores, with as many threads."""
  variables = dict(os.environ)
  os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(len(cores))))
  usable = _cores(None)
  if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, cores)
  try:
    yield
  finally:
    os.environ.clear()
    os.environ.update(variables)
    if hasattr(os, "sched_setaffinity"):
      os.sched_setaffinity(0, usable)


class _Here:
  """A program in this process; attributes as above."""

  problem = None

  def __init__(self, build: Callable[[], Callable[[], None]], clock: str):
    began = time.perf_counter()
    self.turn = functools.partial(_timed, build(), clock)
    self.start_seconds = time.perf_counter() - began


def _timed(measure: Callable[[], None], clock: str) -> float:
  began = _CLOCKS[clock]()
  measure()
  return _CLOCKS[clock]() - began


def _cores(threads: int | None) -> list[int]:
  """The first so many of the cores that this process may use."""
  usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
  return usable[:threads]

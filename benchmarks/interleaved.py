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
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

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


def find_program(path: str, arguments: Mapping[str, object] = {}) -> Callable:  # noqa: B006
  """The function at "module.function" of benchmarks/ with some of its arguments; only then its libraries are imported.
  """
  module, _, function = path.partition(".")
  return functools.partial(getattr(importlib.import_module(f"benchmarks.{module}"), function), **arguments)


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
  running: dict[str, Callable[[], float]] = {}
  problems: dict[str, str] = {}
  seconds: dict[str, list[float]] = {name: [] for name in programs}
  shuffler = random.Random(0)
  with contextlib.ExitStack() as ends:

    def attempt(name: str, work: Callable) -> None:
      try:
        work()
      except Exception as error:
        if options.one_process:
          raise
        problems[name] = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"

    def start(name: str) -> None:
      program = functools.partial(build, *arguments, name)
      if options.one_process:
        running[name] = functools.partial(_timed, program(), options.clock)
        return
      pool = ends.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context("spawn")))
      with _surroundings(cores):
        started = pool.submit(_start, program)
      started.result()
      running[name] = lambda: pool.submit(_turn, options.clock).result()

    # One at a time: building one program must not slow down another's warm-up.
    for name in programs:
      attempt(name, functools.partial(start, name))
    for _ in range(turns):
      order = [name for name in running if name not in problems]
      shuffler.shuffle(order)
      for name in order:
        attempt(name, lambda name=name: seconds[name].append(running[name]()))
  for name, problem in problems.items():
    print(f"{name}: not measured, it broke off after {len(seconds.pop(name))} turns: {problem}")
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


def print_rates(seconds: Mapping[str, Sequence[float]], amounts: Sequence[float], unit: str,
                columns: Mapping[str, tuple[str, Mapping[str, float]]] = {}) -> None:  # noqa: B006
  """A table of what programs do in a second, and by how much the first one is faster.

  Args:
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
    rows.append((name, f"{middle:,.1f}", f"{low:,.1f} to {high:,.1f}",
                 *(form.format(numbers[name]) if name in numbers else "" for form, numbers in columns.values()),
                 *ratio_texts(seconds, name, first)))
  print_table(rows)


def ratio_texts(seconds: Mapping[str, Sequence[float]], name: str, first: str) -> tuple[str, str]:
  """By how much the program `first` is faster than this one, and the 95 % interval."""
  if first not in seconds:
    return "", ""
  low, median, high = ratio(seconds[name], seconds[first])
  return f"{median:.2f}x", "" if name == first else f"{low:.2f} to {high:.2f}"


# Of a measured process: what does the work of a turn.
_measured: list[Callable[[], None]] = []


def _start(build: Callable[[], Callable[[], None]]) -> None:
  """Builds the program of this process; what libraries print goes nowhere."""
  with open(os.devnull, "w", encoding="utf-8") as nowhere:
    for stream in (1, 2):
      os.dup2(nowhere.fileno(), stream)
  _measured.append(build())


def _turn(clock: str) -> float:
  return _timed(_measured[0], clock)


def _timed(measure: Callable[[], None], clock: str) -> float:
  began = _CLOCKS[clock]()
  measure()
  return _CLOCKS[clock]() - began


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


def _cores(threads: int | None) -> list[int]:
  """The first so many of the cores that this process may use."""
  usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
  return usable[:threads]

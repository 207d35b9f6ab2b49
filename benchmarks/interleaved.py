"""Measuring several programs in one run: each in a process of its own, taking turns in shuffled order.

Turns matter on a shared machine: whatever slows it down meets all programs alike, so ratios are steady where
seconds are not. A program that waits for its turn blocks on its standard input and uses no processor. All programs
have the same number of threads and stay on the same cores.
"""

import collections
import dataclasses
import functools
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from bert_tf.common.options import Options, option

_RESAMPLES = 2000
_CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
# Lines of a program's standard error that are kept for the message about its end.
_LAST_LINES = 20
# What TensorFlow's, OpenMP's and MKL's thread pools are made by.
_THREAD_VARIABLES = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TurnsOptions(Options):
  """Options of the processes; the first two are given by the benchmark itself."""

  worker: str | None = option(None, "The program that this process measures.")
  directory: str | None = option(None, "Where the benchmark has put what the programs share.")
  threads: int | None = option(None, "Threads of each program, and cores that it stays on.", minimum=1,
                               default_text="one for every core")
  clock: str = option(
      "wall", "What is counted: the time that passes, or (cpu) the processor time of a program, which others on the "
      "machine change less. With cpu give --threads=1: threads that wait for each other count, too.", choices=_CLOCKS)
  order_seed: int = option(0, "Of the order of the programs, another one in every turn.", minimum=0)
  one_process: bool = option(
      False, "All programs in this process, to see that they run: thread pools compete, so ratios mean nothing.")


def worker_commands(script: str, options: TurnsOptions, programs: Sequence[str]) -> dict[str, list[str]]:
  """Name → command line of the script as a worker with the same options, for each of the programs.

  Args:
    script: path of the benchmark.
    options: its options; one that is None is left out.
    programs: names for `--worker`.
  """
  flags = []
  for name, value in options.values().items():
    if isinstance(value, bool):
      flags.append(f"--{name}" if value else f"--no{name}")
    elif isinstance(value, list):
      flags.append(f"--{name}={','.join(map(str, value))}")
    elif value is not None and name != "worker":
      flags.append(f"--{name}={value}")
  return {program: [sys.executable, os.path.abspath(script), *flags, f"--worker={program}"] for program in programs}


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


def serve(measure: Callable[[], None], clock: str) -> None:
  """The measured process: says that it is ready, then runs `measure` once for every line it is sent.

  Args:
    measure: does the work and returns when it is done.
    clock: of the options.
  """
  print(json.dumps({"ready": True}), flush=True)
  for _ in sys.stdin:
    print(json.dumps({"seconds": _timed(measure, clock)}), flush=True)


def take_turns(script: str, options: TurnsOptions, programs: Sequence[str], turns: int,
               build: Callable[[str], Callable[[], None]]) -> dict[str, list[float]]:
  """Starts the programs and measures them in turns.

  Args:
    script: path of the benchmark, which calls `serve(build(options.worker), options.clock)` where `--worker` is given.
    options: its options.
    programs: their names.
    turns: of each.
    build: name → a program that is warmed up: a function that does the work of a turn.

  Returns:
    name → seconds of each turn, in the order of `programs`; programs that could not start or broke off are left out,
    with a line that says why.
  """
  cores = _cores(options.threads)
  print(f"{len(cores)} thread{'s' * (len(cores) > 1)} on cores {', '.join(map(str, cores))} of {os.cpu_count()}; load "
        f"{os.getloadavg()[0]:.1f} before; {turns} turns in shuffled order"
        f"{', processor time' if options.clock == 'cpu' else ''}", flush=True)
  if options.one_process:
    running = {name: _Here(build(name), options.clock) for name in programs}
  else:
    # One at a time: building one program must not slow down another's warm-up.
    running = {name: _Process(command, cores) for name, command in worker_commands(script, options, programs).items()}
  seconds: dict[str, list[float]] = {name: [] for name in programs}
  broken = {name: problem for name, program in running.items() if (problem := program.problem)}
  shuffler = random.Random(options.order_seed)
  for turn in range(turns):
    order = [name for name in programs if name not in broken]
    shuffler.shuffle(order)
    for name in order:
      taken = running[name].turn()
      if taken is None:
        broken[name] = f"turn {turn + 1}: {running[name].problem}"
      else:
        seconds[name].append(taken)
  for program in running.values():
    program.end()
  for name, problem in broken.items():
    print(f"{name}: not measured: {problem}")
    del seconds[name]
  return seconds


def median_ratio(slower: Sequence[float], faster: Sequence[float]) -> float:
  """Median over the turns of seconds / seconds."""
  return statistics.median(_ratios(slower, faster))


def ratio_interval(slower: Sequence[float], faster: Sequence[float], share: float = 0.95) -> tuple[float, float]:
  """Where the median ratio lies: a bootstrap over the turns.

  Args:
    slower, faster: seconds of each turn.
    share: of the medians of resampled turns that lie in the interval.
  """
  ratios, chooser = _ratios(slower, faster), random.Random(0)
  medians = sorted(statistics.median(chooser.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
  outside = round((1 - share) / 2 * _RESAMPLES)
  return medians[outside], medians[-1 - outside]


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
  """First quartile, median, third quartile."""
  if len(values) == 1:
    return values[0], values[0], values[0]
  return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def print_rates(seconds: Mapping[str, Sequence[float]], amounts: Sequence[float], unit: str,
                columns: Mapping[str, Mapping[str, str]] = {}) -> None:  # noqa: B006
  """A table of what programs do in a second, and by how much the first one is faster.

  Args:
    seconds: program → time of each turn.
    amounts: what is done in each turn.
    unit: of the amounts, plural.
    columns: heading → program → text of further columns.
  """
  first = next(iter(seconds), None)
  if first is None:
    return
  wide = max(22, *map(len, seconds))
  headings = "".join(f"  {heading:>{_width(heading, texts)}}" for heading, texts in columns.items())
  print(f"{'program':{wide}} {f'{unit}/s':>12}  {'quartiles':>18}{headings}  {f'{first} is faster by':>20}  "
        "95 % interval")
  for name, turns in seconds.items():
    low, middle, high = quartiles([amount / turn for amount, turn in zip(amounts, turns, strict=True)])
    more = "".join(f"  {texts.get(name, ''):>{_width(heading, texts)}}" for heading, texts in columns.items())
    ratio = f"{median_ratio(turns, seconds[first]):.2f}x"
    interval = "" if name == first else "{:.2f} to {:.2f}".format(*ratio_interval(turns, seconds[first]))
    print(f"{name:{wide}} {middle:12,.1f}  {f'{low:,.1f} to {high:,.1f}':>18}{more}  {ratio:>20}  {interval}".rstrip())


class _Process:
  """A program in a process of its own.

  Attributes:
    problem: why it is not there; None while it is.
  """

  def __init__(self, command: Sequence[str], cores: Sequence[int]):
    environment = {**os.environ, **dict.fromkeys(_THREAD_VARIABLES, str(len(cores)))}
    self.problem: str | None = None
    self._process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        env=environment)
    if hasattr(os, "sched_setaffinity"):
      os.sched_setaffinity(self._process.pid, cores)
    # A full pipe would block the program in the middle of a turn.
    self._last_lines: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
    self._drain = threading.Thread(target=lambda: self._last_lines.extend(self._process.stderr), daemon=True)
    self._drain.start()
    self._answer()

  def turn(self) -> float | None:
    """Seconds of one turn; None, with `problem` set, where the program has ended."""
    try:
      self._process.stdin.write("go\n")
      self._process.stdin.flush()
    except BrokenPipeError:
      pass
    answer = self._answer()
    return None if answer is None else answer["seconds"]

  def end(self) -> None:
    """Waits for the end of a program that has no more turns."""
    self._process.stdin.close()
    self._process.wait()

  def _answer(self) -> dict | None:
    """The next line of JSON; None at the end. Whatever else a library prints is ignored."""
    for line in self._process.stdout:
      if line.startswith("{"):
        return json.loads(line)
    self._drain.join()
    lines = [line.strip() for line in self._last_lines if line.strip()]
    self.problem = lines[-1] if lines else f"exit status {self._process.wait()}, no message"
    return None


class _Here:
  """A program in this process."""

  problem = None

  def __init__(self, measure: Callable[[], None], clock: str):
    self._measure, self._clock = measure, clock

  def turn(self) -> float:
    return _timed(self._measure, self._clock)

  def end(self) -> None:
    """Nothing: there is no process."""


def _timed(measure: Callable[[], None], clock: str) -> float:
  began = _CLOCKS[clock]()
  measure()
  return _CLOCKS[clock]() - began


def _cores(threads: int | None) -> list[int]:
  """The first so many of the cores that this process may use."""
  usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
  return usable[:threads]


def _ratios(slower: Sequence[float], faster: Sequence[float]) -> list[float]:
  return [a / b for a, b in zip(slower, faster, strict=True)]


def _width(heading: str, texts: Mapping[str, str]) -> int:
  return max(map(len, (heading, *texts.values())))

"""Measuring several programs in one run: each in a process of its own, taking turns.

Turns matter on a shared machine: whatever slows it down meets all programs alike, so ratios are steady where
seconds are not. A program that waits for its turn blocks on its standard input and uses no processor.
"""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from common.options import Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class TurnsOptions(Options):
  """Options of the processes, given by the benchmark itself."""

  worker: str | None = option(None, "The program that this process measures.")
  directory: str | None = option(None, "Where the benchmark has put what the programs share.")


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


def serve(measure: Callable[[], None]) -> None:
  """The measured process: says that it is ready, then runs `measure` once for every line it is sent.

  Args:
    measure: does the work and returns when it is done.
  """
  print(json.dumps({"ready": True}), flush=True)
  for _ in sys.stdin:
    began = time.perf_counter()
    measure()
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)


def take_turns(commands: Mapping[str, Sequence[str]], repetitions: int) -> dict[str, list[float]]:
  """Starts the programs and measures them in turns.

  Args:
    commands: name → command line of a process that calls `serve`.
    repetitions: turns of each.

  Returns:
    name → seconds of each turn; names whose process could not start are left out, with a line that says why.
  """
  processes = {}
  for name, command in commands.items():
    # One at a time: building one program must not slow down another's warm-up.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if _answer(process) is None:
      lines = process.communicate()[1].strip().splitlines()
      print(f"{name}: not measured: {lines[-1] if lines else 'no message'}")
    else:
      processes[name] = process
  seconds: dict[str, list[float]] = {name: [] for name in processes}
  for _ in range(repetitions):
    for name, process in processes.items():
      process.stdin.write("go\n")
      process.stdin.flush()
      seconds[name].append(_answer(process)["seconds"])
  for process in processes.values():
    process.communicate()
  return seconds


def median_ratio(slower: Sequence[float], faster: Sequence[float]) -> float:
  """Median over the turns of seconds / seconds."""
  return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def _answer(process: subprocess.Popen) -> dict | None:
  """The next line of JSON; None at the end. Whatever else a library prints is ignored."""
  for line in process.stdout:
    if line.startswith("{"):
      return json.loads(line)
  return None

"""Time and memory of processes."""

import concurrent.futures
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Stopwatch:
  """Starts when it is made."""

  def __init__(self):
    self._began = _clocks()

  def read(self) -> tuple[float, float]:
    """Seconds by the clock, and of the processor: all threads, and the processes that were started and have ended."""
    return tuple(now - before for now, before in zip(_clocks(), self._began, strict=True))


def peak_mib(who: int = resource.RUSAGE_SELF) -> float:
  """The most memory that this process, or any of its children that have ended, has had resident, in MiB."""
  return resource.getrusage(who).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def held_mib() -> float:
  """Memory that this process has resident now, in MiB; Linux."""
  with open("/proc/self/statm") as file:
    return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def gpu_peak_mib(in_pytorch: bool) -> float:
  """The most GPU memory that this process has had in use, in MiB."""
  if in_pytorch:
    import torch

    return torch.cuda.max_memory_allocated() / 2**20
  import tensorflow as tf

  return tf.config.experimental.get_memory_info("GPU:0")["peak"] / 2**20


def in_new_process(function: Callable[..., Result], *arguments: object) -> Result:
  """Calls the function in a new process that is not forked from this one, so that nothing here counts there."""
  with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
    return pool.submit(function, *arguments).result()


def pin_to_one_core() -> int | None:
  """Keeps this process on one core; returns its number, or None where the system has no such call."""
  if not hasattr(os, "sched_setaffinity"):
    return None
  core = max(os.sched_getaffinity(0))
  os.sched_setaffinity(0, {core})
  return core


def _clocks() -> tuple[float, float]:
  children = resource.getrusage(resource.RUSAGE_CHILDREN)
  return time.perf_counter(), time.process_time() + children.ru_utime + children.ru_stime

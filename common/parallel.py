"""Work spread over processes, results in the order of the work, memory bounded."""

import collections
import concurrent.futures
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from common.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Items in flight per worker: one at work, and enough waiting that no worker runs dry while the first
# result is being collected.
_WINDOW_PER_WORKER = 4


def default_num_workers() -> int:
  """The number of cores this process may use."""
  if hasattr(os, "sched_getaffinity"):
    return len(os.sched_getaffinity(0))
  return os.cpu_count() or 1


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], num_workers: int) -> Iterator[Result]:
  """`map(function, items)` on several processes: the same results in the same order for any number of workers.

  `items` is read only a few items ahead of the results, so neither side piles up in memory.

  Args:
    function: a top-level function (it must be picklable).
    items: what it is called with; an iterator is advanced in this process.
    num_workers: with 1 everything happens in this process.

  Raises:
    UserError: a worker was killed from outside, most likely for want of memory.
    Exception: whatever `function` raises, at the place of its item.
  """
  if num_workers <= 1:
    yield from map(function, items)
    return
  pool = concurrent.futures.ProcessPoolExecutor(num_workers, initializer=_start_worker, initargs=(os.getpid(),))
  waiting = collections.deque()
  try:
    for item in items:
      waiting.append(pool.submit(function, item))
      if len(waiting) >= _WINDOW_PER_WORKER * num_workers:
        yield waiting.popleft().result()
    while waiting:
      yield waiting.popleft().result()
  except concurrent.futures.process.BrokenProcessPool:
    raise UserError(
        "a worker process was killed, most likely because memory ran out: use a smaller --num_workers") from None
  finally:
    pool.shutdown(wait=True, cancel_futures=True)


def _start_worker(parent: int) -> None:
  # Ctrl-C reaches the whole process group; the parent alone decides what happens then.
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
  # A parent that is killed can't end its workers, and they would wait for work for ever.
  while os.getppid() == parent:
    time.sleep(1.0)
  os._exit(1)

"""Work spread over processes, results in the order of the work, memory bounded.

Small items go to the workers in portions: as many items as are worth sending to a process.
"""

import ctypes
import gc
import math
import multiprocessing
import multiprocessing.connection
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

from bert_common.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Items that a worker holds: one in work, and one so that it never waits for the next.
_ITEMS_PER_WORKER = 2
# Items per worker that are started ahead of the first missing result. It bounds the memory.
_WINDOW_PER_WORKER = 4
# Option of prctl(2): the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1
# The module `signal` does not have it on Windows.
_SIGKILL = 9
# Files of Linux with a container's quota, microseconds of all cores in a period, and that period;
# of versions 2 and 1 of cgroups.
_QUOTA_FILES = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))
# Time that a worker may outlive a parent that was killed.
_SECONDS_WITHOUT_PARENT = 1.0


def default_num_workers(cgroup: str = "/sys/fs/cgroup") -> int:
    """Returns the number of cores that this process may use; `cgroup` has a container's limits."""
    if hasattr(os, "sched_getaffinity"):
        # `taskset`, batch systems and cpusets allow fewer cores than `cpu_count` finds.
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    for names in _QUOTA_FILES:
        try:
            quota, period = map(int, _words(cgroup, names))
        except (OSError, ValueError):
            # No container, or one without a quota ("max" in version 2, -1 in version 1).
            continue
        if quota > 0 and period > 0:
            cores = min(cores, math.ceil(quota / period))
    return cores


def _words(directory: str, names: Iterable[str]) -> list[str]:
    """Returns the words of small files, one after the other."""
    words = []
    for name in names:
        with open(os.path.join(directory, name), encoding="ascii") as file:
            words += file.read().split()
    return words


def portions(
    items: Iterable[Item], size: Callable[[Item], int], enough: int
) -> Iterator[list[Item]]:
    """Groups items into portions of work: each ends with the item that makes its total size
    `enough` or more."""
    portion: list[Item] = []
    total = 0
    for item in items:
        portion.append(item)
        total += size(item)
        if total >= enough:
            yield portion
            portion = []
            total = 0
    if portion:
        yield portion


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], num_workers: int
) -> Generator[Result, None, None]:
    """Maps a function over items on several processes; the order of the results is kept.

    `items` is read only a few items ahead of the results, so neither side piles up in memory. When
    the caller stops early, is interrupted or killed, the workers end.

    `concurrent.futures` can't be used: a pool waits for ever for the rest of a large result if its
    worker is killed while sending it, and an interrupted pool finishes all the work it has begun.

    Args:
      function: a top-level function (it must be picklable).
      num_workers: 1 computes everything in this process.

    Raises:
      UserError: a worker ended: it was killed from outside, most likely because memory ran out, or
        it crashed.
      Exception: an exception of `function`, at the position of its item.
    """
    if num_workers <= 1:
        for item in items:
            yield function(item)
        return
    pool = _Pool(function, enumerate(items))
    try:
        pool.start(num_workers)
        finished = 0
        while True:
            pool.hand_out(finished)
            if finished in pool.outcomes:
                succeeded, outcome = pool.outcomes.pop(finished)
                if not succeeded:
                    raise outcome
                finished += 1
                yield outcome
            elif finished == pool.num_started:
                return
            else:
                pool.receive()
    finally:
        pool.kill()


class _Pool:
    """Worker processes with their items and outcomes.

    Attributes:
      num_started: items that were given to workers.
      outcomes: number of an item → (succeeded, result or exception), of results that are waiting
        for earlier ones.
    """

    def __init__(self, function: Callable, numbered_items: Iterator[tuple[int, Any]]):
        self.num_started = 0
        self.outcomes: dict[int, tuple[bool, Any]] = {}
        self._function = function
        self._pending = numbered_items
        self._workers: list[_Worker] = []

    def start(self, num_workers: int) -> None:
        """Starts the processes; `kill` ends those that were started, whatever happens here."""
        for _ in range(num_workers):
            self._workers.append(_Worker(self._function))

    def hand_out(self, num_finished: int) -> None:
        """Gives items to workers that have less than enough, as far as the window allows."""
        while self.num_started - num_finished < _WINDOW_PER_WORKER * len(self._workers):
            # The least busy worker is asked, so that one long item doesn't hold up the others.
            worker = min(self._workers, key=lambda worker: worker.num_items)
            if worker.num_items >= _ITEMS_PER_WORKER:
                return
            numbered_item = next(self._pending, None)
            if numbered_item is None:
                return
            worker.exchange(worker.connection.send, numbered_item)
            worker.num_items += 1
            self.num_started += 1

    def receive(self) -> None:
        """Waits for outcomes of any workers."""
        workers: dict[Any, _Worker] = {worker.connection: worker for worker in self._workers}
        # `wait` also returns connections that have closed, so a dead worker is noticed at once.
        for connection in multiprocessing.connection.wait(list(workers)):
            worker = workers[connection]
            number, outcome = worker.exchange(worker.connection.recv)
            self.outcomes[number] = outcome
            worker.num_items -= 1

    def kill(self) -> None:
        for worker in self._workers:
            worker.kill()


class _Worker:
    """A process with a connection of its own, so that its death is seen as the end of a file."""

    def __init__(self, function: Callable):
        self.num_items = 0
        self.connection, worker_connection = multiprocessing.Pipe()
        # The interpreter ends a daemon at its exit, whatever happens here.
        self._process = multiprocessing.Process(
            target=_work, args=(function, worker_connection, os.getpid()), daemon=True
        )
        was_enabled = gc.isenabled()
        # A forked worker must not collect this process's garbage before `_work` freezes it.
        gc.disable()
        try:
            self._process.start()
        finally:
            if was_enabled:
                gc.enable()
        # An open copy here would keep the connection alive after the worker's death.
        worker_connection.close()

    def exchange(self, call: Callable, *words: Any) -> Any:
        """Sends or receives by `call(*words)`; raises `UserError` if the process has ended."""
        try:
            return call(*words)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            # The connection closes a moment before the process has ended.
            self._process.join()
        status = self._process.exitcode
        if status == -_SIGKILL:
            raise UserError(
                "a worker process was killed, most likely because memory ran out: use a smaller "
                "--num_workers"
            )
        if status is not None and status < 0:
            event = f"was ended by {signal.Signals(-status).name}"
        else:
            event = f"ended with status {status}"
        raise UserError(f"a worker process {event}: --num_workers=1 works without other processes")

    def kill(self) -> None:
        # A worker has nothing to save: SIGKILL also ends one that is stuck in native code.
        self._process.kill()
        self._process.join()
        self.connection.close()


def _work(
    function: Callable, connection: multiprocessing.connection.Connection, parent: int
) -> None:
    # Objects that the parent no longer uses must not be collected here: destructors of TensorFlow's
    # iterators, for example, would wait for threads that this process does not have.
    gc.freeze()
    gc.enable()
    end_with_parent(parent)
    # Ctrl-C reaches the whole process group; the parent alone decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A thread receives items at once: a parent that is blocked while sending an item can't receive
    # results, and both would wait for ever.
    items: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, parent, items), daemon=True).start()
    while True:
        number, item = items.get()
        try:
            outcome = (True, function(item))
        except Exception as error:
            # Pickling drops the traceback, and the note survives it.
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            outcome = (False, error)
        connection.send((number, outcome))


def end_with_parent(parent: int) -> None:
    """Lets Linux kill this process when its parent has ended; elsewhere `_receive` notices that
    within a second.

    Args:
      parent: process id.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        # The parent may have ended before the call, which then takes no effect.
        if os.getppid() != parent:
            os._exit(1)


def _receive(
    connection: multiprocessing.connection.Connection, parent: int, items: queue.SimpleQueue
) -> None:
    try:
        while True:
            # Other workers may hold a copy of the parent's end of the connection, so its death need
            # not show as the end of the file.
            while not connection.poll(_SECONDS_WITHOUT_PARENT):
                if os.getppid() != parent:
                    os._exit(1)
            items.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)

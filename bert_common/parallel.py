"""Work spread over processes, results in the order of the work, memory bounded.

Small items go to the workers in portions: as many items as are worth sending to a process.
"""

import ctypes
import gc
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

# Items given to a worker at a time: one that it works on, and one so that it need not wait for the
# next.
_ITEMS_PER_WORKER = 2
# Items started ahead of the first result that is still missing, per worker.
_WINDOW_PER_WORKER = 4
# Of prctl(2): the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1
# Windows has none.
_SIGKILL = 9
# How long a worker may outlive a parent that was killed.
_SECONDS_WITHOUT_PARENT = 1.0


def default_num_workers() -> int:
    """The number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def portions(
    items: Iterable[Item], size: Callable[[Item], int], enough: int
) -> Iterator[list[Item]]:
    """Groups items into portions of work: each ends with the item that makes its total size
    `enough` or more."""
    portion, total = [], 0
    for item in items:
        portion.append(item)
        total += size(item)
        if total >= enough:
            yield portion
            portion, total = [], 0
    if portion:
        yield portion


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], num_workers: int
) -> Generator[Result, None, None]:
    """`map(function, items)` on several processes: the same results in the same order for any
    number of workers.

    `items` is read only a few items ahead of the results, so neither side piles up in memory. When
    the caller stops early, is interrupted or killed, the workers end.

    Why not `concurrent.futures`: a worker that is killed while it sends a large result leaves its
    pool waiting for the rest of it, for ever, and an interrupted pool waits for all the work it has
    begun.

    Args:
      function: a top-level function (it must be picklable).
      num_workers: with 1 everything happens in this process.

    Raises:
      UserError: a worker ended: it was killed from outside, most likely because memory ran out, or
        crashed.
      Exception: whatever `function` raises, at the place of its item.
    """
    if num_workers <= 1:
        yield from map(function, items)
        return
    pending, outcomes = enumerate(items), dict[int, Any]()
    workers: list[_Worker] = []
    started = finished = 0
    exhausted = False
    try:
        for _ in range(num_workers):
            workers.append(_Worker(function))
        by_connection: dict[Any, _Worker] = {worker.connection: worker for worker in workers}
        while True:
            while not exhausted and started - finished < _WINDOW_PER_WORKER * len(workers):
                worker = min(workers, key=lambda worker: worker.items)
                if worker.items >= _ITEMS_PER_WORKER:
                    break
                item = next(pending, None)
                if item is None:
                    exhausted = True
                else:
                    worker.exchange(worker.connection.send, item)
                    worker.items += 1
                    started += 1
            if finished in outcomes:
                succeeded, outcome = outcomes.pop(finished)
                if not succeeded:
                    raise outcome
                finished += 1
                yield outcome
            elif finished == started:
                return
            else:
                for connection in multiprocessing.connection.wait(list(by_connection)):
                    worker = by_connection[connection]
                    number, outcomes[number] = worker.exchange(worker.connection.recv)
                    worker.items -= 1
    finally:
        for worker in workers:
            worker.kill()


class _Worker:
    """A process with a connection of its own, so that its death at any moment is seen here as the
    end of a file."""

    def __init__(self, function: Callable):
        self.items = 0
        self.connection, theirs = multiprocessing.Pipe()
        # daemon: ended by the interpreter at its exit, whatever happens here.
        self._process = multiprocessing.Process(
            target=_work, args=(function, theirs, os.getpid()), daemon=True
        )
        collects = gc.isenabled()
        # Until _work has taken this process's garbage out of the worker's reach.
        gc.disable()
        try:
            self._process.start()
        finally:
            if collects:
                gc.enable()
        theirs.close()

    def exchange(self, call: Callable, *words: Any) -> Any:
        """`call(*words)`, which sends or receives; raises `UserError` if the process has ended."""
        try:
            return call(*words)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            # Its end of the connection closes a moment before it has ended.
            self._process.join()
        status = self._process.exitcode or 0
        if status == -_SIGKILL:
            raise UserError(
                "a worker process was killed, most likely because memory ran out: use a smaller --num_workers"
            )
        how = (
            f"was ended by {signal.Signals(-status).name}"
            if status < 0
            else f"ended with status {status}"
        )
        raise UserError(f"a worker process {how}: --num_workers=1 works without other processes")

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()


def _work(
    function: Callable, connection: multiprocessing.connection.Connection, parent: int
) -> None:
    # What the parent no longer uses is not collected here: destructors of TensorFlow's iterators,
    # for one, would wait for threads that this process does not have.
    gc.freeze()
    gc.enable()
    end_with_parent(parent)
    # Ctrl-C reaches the whole process group; the parent alone decides what happens then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A thread takes what comes at once: a parent that waits to hand over an item can't take a
    # result.
    items: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_take, args=(connection, parent, items), daemon=True).start()
    while True:
        number, item = items.get()
        try:
            outcome = (True, function(item))
        except Exception as error:
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
            outcome = (False, error)
        connection.send((number, outcome))


def end_with_parent(parent: int) -> None:
    """Lets Linux kill this process when `parent`, its number, has gone; elsewhere `_take` finds
    that out in a second."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def _take(
    connection: multiprocessing.connection.Connection, parent: int, items: queue.SimpleQueue
) -> None:
    try:
        while True:
            # Other workers may hold a copy of the parent's end, so that its death need not be the
            # end of the file.
            while not connection.poll(_SECONDS_WITHOUT_PARENT):
                if os.getppid() != parent:
                    os._exit(1)
            items.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)

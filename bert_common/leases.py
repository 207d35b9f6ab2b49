"""Leases on directories where no lock works, such as `gs://`: one run at a time writes there.

The holder writes a nonce into a file of the directory, and a thread renews it. A start that finds
a lease watches it: a lease that changes is held; one that has not changed for three renewals has
ended, and so has one whose process is known to be dead. Clocks of two machines are never compared.
"""

import contextlib
import dataclasses
import json
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Iterator

from bert_common import files, json_files, locks
from bert_common.errors import UserError, say

# In the directory of a run.
NAME = ".lease.json"


@dataclasses.dataclass(frozen=True)
class Intervals:
    """Seconds of a lease.

    Args:
      renewal: between two renewals.
      expiry: without a change, after which it has ended.
      settling: after which a start reads back what it has written; other starts write meanwhile.
    """

    renewal: float = 30.0
    expiry: float = 90.0
    settling: float = 2.0


class Lease:
    """The lease of one start on an existing directory, local or remote."""

    def __init__(self, directory: str, intervals: Intervals):
        self.directory = directory
        self._path = os.path.join(directory, NAME)
        self._intervals = intervals
        self._nonce = secrets.token_hex(8)
        self._renewals = 0
        self._has_ended = threading.Event()
        # A check must not read what the thread has half written. Before it writes, the thread
        # itself checks.
        self._lock = threading.RLock()
        self._thread = threading.Thread(target=self._keep_renewing, daemon=True)

    def take(self, busy: str) -> None:
        """Raises `UserError(busy)` if another process holds the lease, or takes it now."""
        self._await_the_end_of_another(busy)
        self._write()
        time.sleep(self._intervals.settling)
        if self.is_lost():
            raise UserError(busy)
        self._thread.start()

    def is_lost(self) -> bool:
        """Whether the file is another's, or gone."""
        with self._lock:
            return _record_in(self._read()).get("nonce") != self._nonce

    def give_back(self) -> None:
        """Removes the lease unless it is lost. Without the file system it stays, and ends."""
        self._has_ended.set()
        self._thread.join()
        with contextlib.suppress(OSError, UserError):
            files.remove(self._path)

    def _await_the_end_of_another(self, busy: str) -> None:
        before = self._read()
        record = _record_in(before)
        if before is None or _is_dead(record):
            return
        say(
            f"{self.directory}: watching for up to {self._intervals.expiry:g} s whether process "
            f"{record.get('process')} on {record.get('host')} still writes there ({NAME})",
            file=sys.stderr,
        )
        end = time.monotonic() + self._intervals.expiry
        while time.monotonic() < end:
            time.sleep(self._intervals.settling)
            content = self._read()
            if content is None:
                return
            if content != before:
                raise UserError(busy)

    def _keep_renewing(self) -> None:
        while not self._has_ended.wait(self._intervals.renewal):
            # The next renewal makes up for one that fails. A lost lease is not written.
            with contextlib.suppress(OSError, UserError):
                self._write()

    def _read(self) -> str | None:
        """Returns the content of the file; None if there is none."""
        with files.user_error(f"can't read {self._path}"), contextlib.suppress(FileNotFoundError):
            with files.open_file(self._path, "rb") as file:
                return file.read().decode(errors="replace")
        return None

    def _write(self) -> None:
        self._renewals += 1
        record = {
            "nonce": self._nonce,
            "renewals": self._renewals,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "started": _time_of_start(os.getpid()),
            "machine": _machine(),
        }
        with (
            self._lock,
            files.user_error(f"can't write {self._path}"),
            files.open_file(self._path, "w") as file,
        ):
            file.write(json_files.line_of(record))


@contextlib.contextmanager
def holding(directory: str, busy: str, intervals: Intervals = Intervals()) -> Iterator[None]:
    """Holds the lease of an existing directory; raises `UserError(busy)` if it is another's."""
    lease = Lease(directory, intervals)
    lease.take(busy)
    locks.leases.append(lease)
    try:
        yield
    finally:
        lease.give_back()
        locks.leases.remove(lease)


def _record_in(content: str | None) -> dict:
    """Returns the record in the content of a lease; {} if there is none or half of one."""
    record = None
    with contextlib.suppress(ValueError, IndexError):
        # Some file systems append to a file that is written again.
        record = json.loads((content or "").splitlines()[-1])
    return record if isinstance(record, dict) else {}


def _is_dead(record: dict) -> bool:
    """Whether the process of a lease is known to have ended."""
    machine = _machine()
    if machine is None or record.get("machine") != machine:
        return False
    # Another process may have the number by now.
    return _time_of_start(record.get("process")) != record.get("started")


def _machine() -> str | None:
    """Returns what processes that can see each other share; None where that can't be known.

    It differs between machines, starts of a machine, containers and users.
    """
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {space} {os.stat('/proc/self').st_uid}"
    except OSError:
        return None


def _time_of_start(process: object) -> str | None:
    """Returns when a process has started, by the kernel's clock; None if it has ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            # The name of the program, in parentheses, may hold anything.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    is_zombie = fields[0] in "ZX"
    return None if is_zombie else fields[19]

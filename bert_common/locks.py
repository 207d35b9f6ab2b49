"""Locks on local directories and files, and removal of abandoned temporary files.

No two processes write in one directory at once. The locks are the kernel's (`flock`; on Windows
`LockFileEx`), by way of filelock: a lock ends with the process that holds it, so a killed process
never blocks another. No lock files are made, except on Windows, where a directory can't be locked:
`<directory>.lock` beside it, while it is locked. On file systems without such locks (some network
file systems, and all remote ones) nothing is locked and nothing is refused; runs have a lease there
(`leases.py`).
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import filelock

from bert_common.errors import UserError
from bert_common.remote_files import is_remote

# Windows can't open a directory, nor move or remove an open file.
WINDOWS = os.name == "nt"
# No symbolic link is followed, and no pipe without a writer blocks. Windows has neither flag.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# A killed process and its workers need a moment to end.
_SECONDS_UNTIL_GONE = 2.0
_SECONDS_BETWEEN_TRIALS = 0.1
# Ending of the names of incomplete files; no other program uses it.
TEMPORARY = ".bert-tf.tmp"
# Bytes of a name that temporary names keep as it is.
_LONGEST_NAME = 255 - len(f"..12345678{TEMPORARY}")
# Locks that this process holds: descriptor → path of the directory (on Windows, of its lock file).
_held: dict[int, str] = {}
# Leases that it holds where there are no locks (`leases.py`).
leases: list[Any] = []


def take(path: str, flags: int = _READ) -> int | None:
    """Locks a file or a directory.

    Args:
      flags: flags of `os.open`; by default a symbolic link is not followed.

    Returns:
      a descriptor, whose closing ends the lock; None if the file system has no locks, or for a
      directory on Windows.

    Raises:
      BlockingIOError: another process holds the lock.
    """
    if WINDOWS and os.path.isdir(path):
        return None
    while True:
        descriptor = os.open(path, flags)
        is_free = None
        with contextlib.suppress(OSError):
            # None remains if the file system has no locks, which is different from a lock that is
            # taken.
            is_free = filelock.lock_descriptor(descriptor, blocking=False)
        if is_free and is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        if is_free is None:
            return None
        if not is_free:
            raise BlockingIOError(f"{path} is locked")
        # The last holder has removed the file, and somebody has made another one: lock that.


def is_at(descriptor: int, path: str) -> bool:
    """Whether an open file is still the one at `path`."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


@contextlib.contextmanager
def holding(descriptor: int | None, path: str) -> Iterator[None]:
    """Lets `check_held` watch a lock while the block runs, then ends the lock.

    Args:
      descriptor: of the locked directory; None where the file system has no locks.
    """
    if descriptor is None:
        yield
        return
    _held[descriptor] = path
    try:
        yield
    finally:
        del _held[descriptor]
        os.close(descriptor)


def lost_directory() -> str | None:
    """Returns the path of a directory that this process held and has lost; None if it has all."""
    return _moved_directory() or _taken_directory()


def _moved_directory() -> str | None:
    """Returns the path of a locked directory that is not at its path any more; None if all are."""
    # The list is a copy: another thread may take or release a lock meanwhile.
    for descriptor, path in list(_held.items()):
        # The path may lead there by a symbolic link, so links are followed.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                continue
        return path
    return None


def _taken_directory() -> str | None:
    """Returns the path of a directory whose lease this process has lost; None if it has all."""
    for lease in list(leases):
        if lease.is_lost():
            return lease.directory
    return None


def is_below_held(real_path: str) -> bool:
    """Whether a path without symbolic links is in a directory that this process holds, by its lock
    or its lease."""
    directories = [lease.directory for lease in list(leases)]
    for path in list(_held.values()):
        if WINDOWS:
            path = path.removesuffix(".lock")
        directories.append(path)
    for path in directories:
        if not is_remote(path):
            path = os.path.realpath(path)
        # The separator at the end keeps "runs2" from counting as a part of "runs".
        if real_path.startswith(os.path.join(path, "")):
            return True
    return False


def check_held() -> None:
    """Raises `UserError` if this process has lost a directory, see `lost_directory`.

    A stopped process may continue after its directory was moved, removed or replaced. It must
    neither write nor remove anything then: what lies at the path may belong to another process.
    Every function that writes or removes asks first.
    """
    path = _moved_directory()
    if path is not None:
        raise UserError(
            f"{path} was moved, removed or replaced while this process was writing there: it ends, "
            "and writes and removes nothing more"
        )
    path = _taken_directory()
    if path is not None:
        raise UserError(
            f"{path}: another run writes there by now, or the lease was removed: this process "
            "ends, and writes and removes nothing more"
        )


@contextlib.contextmanager
def directory_lock(path: str, busy: str) -> Iterator[bool]:
    """Holds the lock of an existing local directory.

    Args:
      busy: message of the error.

    Yields:
      whether it is locked; not where the file system has no locks.

    Raises:
      UserError: another process holds the lock.
    """
    if is_remote(path):
        yield False
        return
    lock_path = os.path.realpath(path)
    flags = _READ
    if WINDOWS:
        lock_path += ".lock"
        flags = os.O_RDWR | os.O_CREAT
    descriptor = None
    # The clock of the day may jump, a monotonic one does not.
    deadline = time.monotonic() + _SECONDS_UNTIL_GONE
    while True:
        try:
            descriptor = take(lock_path, flags)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UserError(busy) from None
            time.sleep(_SECONDS_BETWEEN_TRIALS)
        except PermissionError:
            # A directory that can be written but not read can't be locked.
            break
    try:
        with holding(descriptor, lock_path if WINDOWS else path):
            yield descriptor is not None
    finally:
        if WINDOWS:
            with contextlib.suppress(OSError):
                os.unlink(lock_path)


def temporary_names(name: str | None = None) -> str:
    """Returns a regular expression of temporary names, `.<name>.<random>.bert-tf.tmp`.

    Args:
      name: final name of the file; None for any.
    """
    name_pattern = ".+" if name is None else re.escape(_short(name))
    return rf"\.{name_pattern}\.[a-z0-9_]{{8}}{re.escape(TEMPORARY)}"


def temporary_prefix(name: str) -> str:
    """Returns the beginning of the temporary names of a file or a directory."""
    return f".{_short(name)}."


def _short(name: str) -> str:
    """Returns a name that leaves room for what temporary names add, of the 255 bytes of a name."""
    # File systems limit bytes, and a letter may have four of them.
    encoded = os.fsencode(name)
    if len(encoded) <= _LONGEST_NAME:
        return name
    return hashlib.sha256(encoded).hexdigest()


def temporary_beside(path: str) -> tuple[int, str]:
    """Makes a temporary file beside `path` and locks it; returns (descriptor, path).

    The lock shows other processes that the file is in use.
    """
    folder, name = os.path.split(os.path.abspath(path))
    remove_abandoned(folder, temporary_names(name))
    while True:
        # `mkstemp` refuses existing names, so two processes never share a file.
        descriptor, temporary = tempfile.mkstemp(
            prefix=temporary_prefix(name), suffix=TEMPORARY, dir=folder
        )
        with contextlib.suppress(OSError):
            filelock.lock_descriptor(descriptor)
        if is_at(descriptor, temporary):
            return descriptor, temporary
        # Another process took the file for abandoned before it was locked.
        os.close(descriptor)


def remove_abandoned(directory: str, pattern: str) -> None:
    """Removes the files and directories that killed processes left in a local directory.

    Locked ones belong to a living process and stay; without locks everything stays.

    Args:
      pattern: regular expression of the whole name.
    """
    names = []
    with contextlib.suppress(OSError):
        # Cleaning up is a courtesy: an unreadable directory must not stop the command.
        names = [name for name in os.listdir(directory) if re.fullmatch(pattern, name)]
    for name in names:
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError):
            descriptor = take(path)
            if descriptor is None:
                continue
            try:
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                elif not WINDOWS:
                    os.unlink(path)
            finally:
                os.close(descriptor)
            if WINDOWS:
                os.unlink(path)

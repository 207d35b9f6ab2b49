"""Locks on local directories and files, so that no two processes write in one place at once, nor
leave temporary files.

They are the kernel's (`flock`; on Windows `LockFileEx`), by way of filelock: a lock ends with the
process that holds it, however that ends, so that one that was killed never blocks another. No file
is made for them, but on Windows, where a directory can't be locked: `<directory>.lock` beside it,
while it is locked. On file systems without such locks (some network file systems, whatever only
TensorFlow knows) nothing is locked and nothing is refused.
"""

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator

import filelock

from bert_common.errors import UserError
from bert_common.remote_files import is_remote

# There no directory can be opened, and no open file moved or removed.
WINDOWS = os.name == "nt"
# Neither is known to Windows: of links, and of pipes that nobody writes.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
# A process that was killed, and its workers, need a moment until they are gone.
_SECONDS_UNTIL_GONE = 2.0
_SECONDS_BETWEEN_TRIALS = 0.1
# Ending of the names of what is not complete yet; one that no other program's files have.
TEMPORARY = ".bert-tf.tmp"


def take(path: str, flags: int = _READ) -> int | None:
    """Locks a file or a directory, which is opened with these flags of `os.open`; a symbolic link
    is not followed.

    Returns a descriptor, whose closing ends the lock; None where the file system has no locks, or
    Windows none for a directory. Raises `BlockingIOError` where another process holds it.
    """
    if WINDOWS and os.path.isdir(path):
        return None
    while True:
        descriptor, is_free = os.open(path, flags), None
        with contextlib.suppress(OSError):
            is_free = filelock.lock_descriptor(descriptor, blocking=False)
        if is_free and is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        if is_free is None:
            return None
        if not is_free:
            raise BlockingIOError(f"{path} is locked")
        # Its last holder has removed it, and somebody has made another one.


def is_at(descriptor: int, path: str) -> bool:
    """Whether an open file still is what is found at `path`."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    return False


@contextlib.contextmanager
def directory_lock(path: str, busy: str) -> Iterator[None]:
    """Holds the lock of a local directory that exists; raises `UserError(busy)` where another
    process holds it."""
    if is_remote(path):
        yield
        return
    place, flags = os.path.realpath(path), _READ
    if WINDOWS:
        place, flags = f"{place}.lock", os.O_RDWR | os.O_CREAT
    descriptor, deadline = None, time.monotonic() + _SECONDS_UNTIL_GONE
    while True:
        try:
            descriptor = take(place, flags)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UserError(busy) from None
            time.sleep(_SECONDS_BETWEEN_TRIALS)
        except PermissionError:
            # A directory that can be written but not read can't be locked.
            break
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        if WINDOWS:
            with contextlib.suppress(OSError):
                os.unlink(place)


def temporary_names(name: str | None = None) -> str:
    """Regular expression of the names of what is to become `name`, or anything:
    `.<name>.<random>.bert-tf.tmp`."""
    return rf"\.{'.+' if name is None else re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(TEMPORARY)}"


def temporary_beside(path: str) -> tuple[int, str]:
    """A new file of its own beside `path`, locked, so that others know that it is in use."""
    folder, name = os.path.split(os.path.abspath(path))
    remove_abandoned(folder, temporary_names(name))
    while True:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=TEMPORARY, dir=folder)
        with contextlib.suppress(OSError):
            filelock.lock_descriptor(descriptor)
        if is_at(descriptor, temporary):
            return descriptor, temporary
        # Another process has taken it for abandoned before it was locked.
        os.close(descriptor)


def remove_abandoned(directory: str, pattern: str) -> None:
    """Removes what processes that were killed have left in a local directory, not below it.

    `pattern` is a regular expression of the whole name. What a living process holds locked stays,
    and so does everything where there are no locks.
    """
    names = []
    with contextlib.suppress(OSError):
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

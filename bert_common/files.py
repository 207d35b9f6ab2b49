"""Files on any file system: found by pattern, read, and written whole.

A path like `gs://bucket/file` goes through TensorFlow (`remote_files.py`), another one through
Python's own functions. All functions raise `OSError` alike, for both. Text is written with "\\n" on
every system.
"""

import contextlib
import functools
import glob
import gzip
import io
import itertools
import os
import re
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from bert_common import locks
from bert_common.errors import UserError, did_you_mean
from bert_common.remote_files import RemoteFile, gfile_of, is_remote

_COPY_BYTES = 1 << 20
# How many names of a directory are looked at for one that is like a name that is not there, and how
# like it must be.
_MOST_NAMES, _SIMILAR = 5000, 0.8
# What every gzip file begins with.
_MAGIC = b"\x1f\x8b"
# On Windows two.
_SEPARATORS = f"/{os.sep}"
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,9})")


@contextlib.contextmanager
def user_error(what: str) -> Iterator[None]:
    """An error of reading, unpacking or writing a file becomes a `UserError` that begins with
    `what`: "can't read a"."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError(f"{what}: damaged or cut off (gzip): copy it again") from None
    except OSError as error:
        raise UserError(f"{what}: {error.strerror or error}") from None


def open_file(
    path: str, mode: str = "r", *, encoding: str | None = "utf-8", newline: str | None = None
) -> Any:
    """`open` for any file system; modes are "r", "w", "a" for text, or "rb", "wb", "ab"."""
    newline = "\n" if newline is None and mode in ("w", "a") else newline
    if not is_remote(path):
        return (
            open(path, mode)
            if "b" in mode
            else open(path, mode, encoding=encoding, newline=newline)
        )
    raw = RemoteFile(path, mode.replace("b", "") + "b")
    binary = (
        io.BufferedReader(raw, _COPY_BYTES)
        if raw.readable()
        else io.BufferedWriter(raw, _COPY_BYTES)
    )
    return binary if "b" in mode else io.TextIOWrapper(binary, encoding=encoding, newline=newline)


def _everywhere(local: Callable[[str], Any], remote: str) -> Callable[[str], Any]:
    """A function of a path: `local`, or on other file systems the one of `tf.io.gfile` of that
    name."""

    def call(path: str) -> Any:
        if not is_remote(path):
            return local(path)
        with gfile_of(path) as gfile:
            return getattr(gfile, remote)(path)

    return call


exists: Callable[[str], bool] = _everywhere(os.path.exists, "exists")
is_directory: Callable[[str], bool] = _everywhere(os.path.isdir, "isdir")
make_directories: Callable[[str], None] = _everywhere(
    functools.partial(os.makedirs, exist_ok=True), "makedirs"
)
remove: Callable[[str], None] = _everywhere(os.remove, "remove")
_names = _everywhere(os.listdir, "listdir")
_remove_tree = _everywhere(functools.partial(shutil.rmtree, ignore_errors=True), "rmtree")
_status = _everywhere(os.stat, "stat")


def is_file(path: str) -> bool:
    """`os.path.isfile`."""
    return exists(path) and not is_directory(path) if is_remote(path) else os.path.isfile(path)


def list_directory(path: str) -> list[str]:
    """`os.listdir`, sorted."""
    return sorted({name.rstrip("/") for name in _names(path)})


def glob_files(pattern: str) -> list[str]:
    """`glob.glob`, sorted; `**` on local file systems only."""
    if not is_remote(pattern):
        return sorted(glob.glob(os.path.expanduser(pattern), recursive=True))
    try:
        with gfile_of(pattern) as gfile:
            return sorted(gfile.glob(pattern))
    except FileNotFoundError:
        return []


def cache_directory(environment: Mapping[str, str] = os.environ) -> str:
    """Where this project keeps what can be made or downloaded again (the XDG base directory
    specification)."""
    shared = environment.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.abspath(os.path.join(shared, "bert-tf"))


def parent_directory(path: str) -> str:
    """The directory that holds `path`, e.g. "gs://bucket/run" of "gs://bucket/run/vocab.txt";
    absolute where local."""
    if not is_remote(path):
        return os.path.dirname(os.path.abspath(path))
    parent = path.rstrip("/").rpartition("/")[0]
    return parent if is_remote(parent) else f"{parent}/"


def absolute(path: str) -> str:
    """`os.path.abspath` of a local path, for processes that are elsewhere."""
    return path if is_remote(path) else os.path.abspath(path)


def remove_tree(path: str) -> None:
    """`shutil.rmtree`; nothing happens where nothing is."""
    with contextlib.suppress(FileNotFoundError):
        _remove_tree(path)


def rename(source: str, target: str) -> None:
    """`os.replace`: a file at `target` is replaced."""
    if not is_remote(source) and not is_remote(target):
        os.replace(source, target)
        return
    with gfile_of(source) as gfile:
        gfile.rename(source, target, overwrite=True)


def file_size(path: str) -> int:
    """`os.path.getsize`, bytes."""
    status = _status(path)
    return status.length if is_remote(path) else status.st_size


def state(path: str) -> list:
    """[absolute path, bytes, time of the last change in nanoseconds]: another list, another
    content."""
    status = _status(path)
    return [
        absolute(path),
        *(
            (status.length, status.mtime_nsec)
            if is_remote(path)
            else (status.st_size, status.st_mtime_ns)
        ),
    ]


def copy(source: str, target: str) -> None:
    """Copies a file's content, between any two file systems; the target appears when it is
    complete."""
    with open_file(source, "rb") as file, atomic_write(target, "wb") as result:
        shutil.copyfileobj(file, result, _COPY_BYTES)


def local_copy(path: str, owner: object) -> str:
    """The path of a local file; of a remote one that of a copy, which is removed with its owner.

    Raises `OSError` where it can't be copied.
    """
    if not is_remote(path):
        return path
    folder = tempfile.mkdtemp(prefix="copy.")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    target = os.path.join(folder, os.path.basename(path))
    copy(path, target)
    return target


def same_file(a: str, b: str) -> bool:
    """Whether two paths name one file; either may be missing."""
    return (
        a == b or not (is_remote(a) or is_remote(b)) and os.path.realpath(a) == os.path.realpath(b)
    )


def expand_patterns(patterns: str, flag: str) -> list[str]:
    """Files named by a comma-separated list of paths and globs, in the order given, each glob
    sorted, each file once.

    A name that exists is that file, also where it could be read as a glob (`a[1].txt`). Raises
    `UserError` with the name of the flag where there is no pattern, one matches nothing, a
    directory, a pipe or a device, or its file system can't be read.
    """
    found: dict[str, None] = {}
    for pattern in filter(None, (part.strip() for part in (patterns or "").split(","))):
        with user_error(f"--{flag}: can't read {pattern}"):
            matches = [pattern] if exists(pattern) else glob_files(pattern)
        if not matches:
            raise UserError(f"--{flag}: no file matches {pattern!r}{similar(pattern)}")
        paths = [match for match in matches if not is_directory(match)]
        if not paths:
            raise UserError(
                f"--{flag}: {pattern!r} is a directory: name the files in it, e.g. {pattern.rstrip('/')}/*"
            )
        if special := next(filter(is_special, paths), None):
            raise UserError(
                f"--{flag}: {special} is a pipe or a device: it is read several times, a file is expected"
            )
        found.update(dict.fromkeys(paths))
    if not found:
        raise UserError(f"--{flag} names no file")
    return list(found)


def similar(path: str) -> str:
    """ ": did you mean X?" where a name like that of the file, or of the first directory that is
    missing, is there."""
    parent, name = os.path.split(path.rstrip(_SEPARATORS))
    if is_remote(path):
        return ""
    while parent and not os.path.isdir(parent):
        parent, name = os.path.split(parent.rstrip(_SEPARATORS))
    if not name:
        return ""
    try:
        with os.scandir(parent or os.curdir) as entries:
            names = [entry.name for entry in itertools.islice(entries, _MOST_NAMES)]
    except (OSError, ValueError):
        return ""
    return did_you_mean(name, names, _SIMILAR)


def check_readable(path: str, flag: str) -> str:
    """Returns `path` if it is a readable file; raises `UserError` if it is missing, a directory or
    not readable."""
    with user_error(f"--{flag}: can't read {path}"):
        if not exists(path):
            raise UserError(f"--{flag}: {path} does not exist{similar(path)}")
    if is_directory(path):
        raise UserError(f"--{flag}: {path} is a directory, a file is expected")
    if not is_remote(path) and not os.access(path, os.R_OK):
        raise UserError(f"--{flag}: {path} can't be read: check its permissions")
    return path


def make_output_directory(path: str, flag: str) -> str:
    """Creates the directory where missing; raises `UserError` unless a file can be written in
    it."""
    with user_error(f"--{flag}: can't write in {path}"):
        make_directories(path)
        probe = unshared_name(os.path.join(path, ".probe"))
        open_file(probe, "wb").close()
        remove(probe)
    return path


def is_special(path: str) -> bool:
    """Whether `path` is there and neither a file nor a directory: a device, a pipe, or the standard
    output."""
    if is_remote(path):
        return False
    return _DESCRIPTOR.fullmatch(path) is not None or (
        os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    )


def unshared_name(path: str) -> str:
    """A name beside `path` to write under until the file is complete, which no other process that
    makes it has too."""
    return f"{path}.{os.urandom(4).hex()}{locks.TEMPORARY}"


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[IO]:
    """A file that appears under its name, whatever was there, only when it is complete.

    Written beside its final place as `.<name>.<random>.bert-tf.tmp`, synced, then renamed; removed
    if the block raises. What a process that was killed has left of the same file is removed. An
    existing file hands down its permissions; of a symbolic link the link is replaced. A device, a
    pipe or `/dev/stdout` is written at once.

    Args:
      mode: "w" (UTF-8 text, newlines as given) or "wb".

    Raises:
      UserError: the disk is full or the directory can't be written.
      BrokenPipeError: the program that reads a pipe has ended.
    """
    temporary = None
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        if is_remote(path):
            temporary = os.path.join(
                parent_directory(path), unshared_name(f".{os.path.basename(path)}")
            )
            with open_file(temporary, mode, newline="") as file:
                yield file
            rename(temporary, path)
        elif is_special(path):
            # A number of a file that is open already, or another device.
            match = _DESCRIPTOR.fullmatch(path)
            number = match and (
                int(match[2]) if match[2] else ("stdout", "stderr").index(match[1]) + 1
            )
            with os.fdopen(
                os.open(path, os.O_WRONLY) if number is None else os.dup(number), mode, **text
            ) as file:
                yield file
        else:
            descriptor, temporary = locks.temporary_beside(path)
            with os.fdopen(descriptor, mode, **text) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not locks.WINDOWS:
                    # Before it is closed, which ends its lock.
                    take_the_place_of(temporary, path)
            if locks.WINDOWS:
                take_the_place_of(temporary, path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                remove(temporary)
        # Whoever reads a pipe may have seen enough (`… | head`).
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise UserError(f"can't write {path}: {error.strerror}") from None
        raise


def take_the_place_of(source: str, target: str) -> None:
    """Moves a local file to `target`; a file that was there hands down its permissions and its
    owner."""
    mode = 0o666 & ~current_umask()
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(target)
        mode = stat.S_IMODE(status.st_mode) & 0o777
        # Windows has no owners of this kind.
        with contextlib.suppress(OSError, AttributeError):
            os.chown(source, status.st_uid, status.st_gid)
    os.chmod(source, mode)
    os.replace(source, target)


def refuse_existing(path: str, flag: str) -> None:
    """Raises `UserError` if something is at the place of an output, or the place can't be
    reached."""
    with user_error(f"--{flag}: can't write {path}"):
        if exists(path) if is_remote(path) else os.path.lexists(path):
            raise UserError(f"--{flag}: {path} exists: choose another name, or remove it first")


def current_umask() -> int:
    """The permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def new_directory(path: str, flag: str) -> Iterator[str]:
    """A directory that appears under its name only when everything in it is written.

    The block gets the path of a temporary local directory to write in; it is removed if the block
    raises. A local directory is moved into place in one step, a remote one is copied there file by
    file. Missing parents are made.

    Raises:
      UserError: something is there, or the place can't be written.
    """
    path = path.rstrip(_SEPARATORS) or path
    refuse_existing(path, flag)
    # Not the absolute path: TensorFlow takes no name of a working directory that is not UTF-8.
    folder = parent_directory(path) if is_remote(path) else os.path.dirname(path) or os.curdir
    parent = make_output_directory(folder, flag)
    name, lock = os.path.basename(path), None
    with user_error(f"--{flag}: can't write {path}"):
        if not is_remote(path):
            locks.remove_abandoned(parent, locks.temporary_names(name))
        temporary = tempfile.mkdtemp(
            prefix=f".{name}.", suffix=locks.TEMPORARY, dir=None if is_remote(path) else parent
        )
    try:
        lock = locks.take(temporary)
        with user_error(f"--{flag}: can't write {path}"):
            yield temporary
            os.chmod(temporary, 0o777 & ~current_umask())
            refuse_existing(path, flag)
            if not is_remote(path):
                os.rename(temporary, path)
            else:
                try:
                    copy_tree(temporary, path)
                except BaseException:
                    with contextlib.suppress(OSError):
                        remove_tree(path)
                    raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def copy_tree(source: str, target: str) -> None:
    """Copies a directory with everything below it, between any two file systems."""
    make_directories(target)
    for name in list_directory(source):
        path = os.path.join(source, name)
        (copy_tree if is_directory(path) else copy)(path, os.path.join(target, name))


def is_gzip(path: str) -> bool:
    """Whether the file is gzipped. Raises `OSError` if it can't be read."""
    with open_file(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


@contextlib.contextmanager
def open_unzipped(path: str) -> Iterator[tuple[Any, Any]]:
    """The file as it is stored, and the file to read from, which is another one where the content
    is gzip."""
    with open_file(path, "rb") as raw:
        if raw.peek(len(_MAGIC))[: len(_MAGIC)] != _MAGIC:
            yield raw, raw
        else:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield raw, unpacked


def read_text(path: str) -> str:
    """A whole file, every character as it is. Raises `UserError` if it can't be read, or is not
    UTF-8."""
    try:
        with user_error(f"can't read {path}"), open_unzipped(path) as (_, file):
            return file.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start})") from None

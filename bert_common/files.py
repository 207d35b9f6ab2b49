"""Files on any file system: found by pattern, read, and written whole or not at all.

A path like `gs://bucket/file` goes through TensorFlow (`remote_files.py`), a local one through
Python's own functions. The functions raise `OSError` for both. Text is written with "\\n" on every
system.
"""

import bz2
import contextlib
import functools
import glob
import gzip
import io
import itertools
import lzma
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
from bert_common.errors import UserError, did_you_mean, needs_package
from bert_common.remote_files import RemoteFile, gfile_of, is_remote

_COPY_BYTES = 1 << 20
# Suggestions for a missing name: names of a directory to compare, and the similarity to reach.
_MAX_NAMES = 5000
_SIMILARITY = 0.8
# A compressed file that is read whole may unpack to so many bytes, or to so many times its size.
_UNPACKED_BYTES = 64 << 20
_MOST_PACKED = 100
# The ending of a result that is written compressed, and zlib's level.
GZIPPED = ".gz"
GZIP_LEVEL = 6
# Endings of names of compressed files, which are recognized by their first bytes.
COMPRESSED = (GZIPPED, ".bz2", ".xz", ".zst")
_GZIP = b"\x1f\x8b"
# The second ending is that of a file without content.
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
_XZ = b"\xfd7zXZ\0"
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\3\4"
_LONGEST_MAGIC = 10
# Windows has two separators.
_SEPARATORS = f"/{os.sep}"
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,9})")


@contextlib.contextmanager
def user_error(message: str) -> Iterator[None]:
    """Turns errors of reading, unpacking or writing into a `UserError` that begins with `message`,
    e.g. "can't read a"."""
    try:
        yield
    # BadGzipFile is an OSError, so this clause must be the first one.
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
        raise UserError(f"{message}: damaged or cut off (compressed): copy it again") from None
    except OSError as error:
        raise UserError(f"{message}: {error.strerror or error}") from None


def open_file(
    path: str, mode: str = "r", *, encoding: str | None = "utf-8", newline: str | None = None
) -> Any:
    """Opens a file on any file system, as `open`.

    Args:
      mode: "r", "w" or "a" for text, "rb", "wb" or "ab" for bytes.
    """
    if "r" not in mode:
        locks.check_held()
    else:
        register.note_opened(path)
    # Python's default would write "\r\n" on Windows, and the bytes would depend on the system.
    if newline is None and mode in ("w", "a"):
        newline = "\n"
    if not is_remote(path):
        if "b" in mode:
            return open(path, mode)
        return open(path, mode, encoding=encoding, newline=newline)
    raw = RemoteFile(path, mode.replace("b", "") + "b")
    binary: Any
    if raw.readable():
        binary = io.BufferedReader(raw, _COPY_BYTES)
    else:
        binary = io.BufferedWriter(raw, _COPY_BYTES)
    if "b" in mode:
        return binary
    return io.TextIOWrapper(binary, encoding=encoding, newline=newline)


def _everywhere(
    local: Callable[[str], Any], remote: str, changes: bool = False
) -> Callable[[str], Any]:
    """Returns a function of a path: `local`, or for remote paths the function of `tf.io.gfile` of
    that name.

    Args:
      changes: whether it changes something, which a process may do only in a place that it holds.
    """

    def call(path: str) -> Any:
        if changes:
            locks.check_held()
        if not is_remote(path):
            return local(path)
        with gfile_of(path) as gfile:
            return getattr(gfile, remote)(path)

    return call


exists: Callable[[str], bool] = _everywhere(os.path.exists, "exists")
is_directory: Callable[[str], bool] = _everywhere(os.path.isdir, "isdir")
make_directories: Callable[[str], None] = _everywhere(
    functools.partial(os.makedirs, exist_ok=True), "makedirs", changes=True
)
remove: Callable[[str], None] = _everywhere(os.remove, "remove", changes=True)
# Temporary files have names of their own, and go wherever they are.
_remove_temporary = _everywhere(os.remove, "remove")
_names = _everywhere(os.listdir, "listdir")
_remove_tree = _everywhere(
    functools.partial(shutil.rmtree, ignore_errors=True), "rmtree", changes=True
)
_status = _everywhere(os.stat, "stat")


def is_file(path: str) -> bool:
    """Whether there is a file, as `os.path.isfile`."""
    if not is_remote(path):
        return os.path.isfile(path)
    return exists(path) and not is_directory(path)


def list_directory(path: str) -> list[str]:
    """Returns the names in a directory, sorted."""
    # Remote file systems mark directories by a slash, and some list a name twice.
    return sorted({name.rstrip("/") for name in _names(path)})


def glob_files(pattern: str) -> list[str]:
    """Returns the paths that match a pattern, sorted; `**` works on local file systems only."""
    if not is_remote(pattern):
        return sorted(glob.glob(os.path.expanduser(pattern), recursive=True))
    try:
        with gfile_of(pattern) as gfile:
            return sorted(gfile.glob(pattern))
    except FileNotFoundError:
        return []


def cache_directory(environment: Mapping[str, str] = os.environ) -> str:
    """Returns where this project keeps files that can be made or downloaded again.

    Source: XDG base directory specification.
    """
    home = os.path.expanduser("~")
    # An account without a home directory has no name for it either.
    if not os.path.isabs(home):
        home = tempfile.gettempdir()
    shared = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return os.path.abspath(os.path.join(shared, "bert-tf"))


def parent_directory(path: str) -> str:
    """Returns the directory that holds `path`, absolute if it is local.

    "gs://bucket/run/vocab.txt" gives "gs://bucket/run".
    """
    if not is_remote(path):
        return os.path.dirname(os.path.abspath(path))
    # A bucket has no parent but the scheme: "gs:/" gets its second slash back.
    parent = path.rstrip("/").rpartition("/")[0]
    return parent if is_remote(parent) else f"{parent}/"


def absolute(path: str) -> str:
    """Returns an absolute path, for processes with another working directory."""
    return path if is_remote(path) else os.path.abspath(path)


def remove_tree(path: str) -> None:
    """Removes a directory with everything below it, if it exists."""
    # Asking for existence first would leave a moment in which another process removes it.
    with contextlib.suppress(FileNotFoundError):
        _remove_tree(path)


def rename(source: str, target: str) -> None:
    """Moves a file; a file at `target` is replaced."""
    locks.check_held()
    if not is_remote(source) and not is_remote(target):
        # `os.rename` fails on Windows if the target exists.
        os.replace(source, target)
        return
    with gfile_of(source) as gfile:
        gfile.rename(source, target, overwrite=True)


def file_size(path: str) -> int:
    """Returns the size of a file in bytes."""
    return state(path)[1]


def leads_out(name: str) -> bool:
    """Whether the name of a file, in a stranger's file, leads out of the directory it is meant for.

    A stranger must not choose which files are read.
    """
    return os.path.isabs(name) or is_remote(name) or ".." in re.split(r"[/\\]", name)


def state(path: str) -> list:
    """Returns [absolute path, bytes, time of the last change in nanoseconds].

    A file whose content has changed has another state.
    """
    status = _status(path)
    if is_remote(path):
        return [absolute(path), status.length, status.mtime_nsec]
    return [absolute(path), status.st_size, status.st_mtime_ns]


def copy(source: str, target: str) -> None:
    """Copies a file's content, between any two file systems; the target appears when it is
    complete."""
    with open_file(source, "rb") as file, _complete_file(target, "wb") as result:
        shutil.copyfileobj(file, result, _COPY_BYTES)


def local_copy(path: str, owner: object) -> str:
    """Returns a local path to a file's content: the file, or a copy of a remote one.

    The copy is removed together with its owner, an object. Raises `OSError` if copying fails.
    """
    if not is_remote(path):
        return path
    target = os.path.join(temporary_folder(owner), os.path.basename(path))
    copy(path, target)
    return target


def temporary_folder(owner: object) -> str:
    """Makes a local directory that is removed together with its owner.

    One that a killed process left is removed by the next process that makes one.
    """
    # A killed process runs no finalizer, so somebody else must clean up after it.
    locks.remove_abandoned(tempfile.gettempdir(), rf"copy\.\w{{8}}{re.escape(locks.TEMPORARY)}")
    while True:
        folder = tempfile.mkdtemp(prefix="copy.", suffix=locks.TEMPORARY)
        # Another process may have taken it for abandoned.
        with contextlib.suppress(FileNotFoundError):
            lock = locks.take(folder)
            break
    # A finalizer runs at the interpreter's exit as well, which `__del__` need not do.
    weakref.finalize(owner, _remove_folder, folder, lock)
    return folder


def _remove_folder(folder: str, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def same_file(a: str, b: str) -> bool:
    """Whether two paths name one file; either may be missing."""
    # Equal texts need no file system: the names of remote files are compared by text alone.
    if a == b:
        return True
    if is_remote(a) or is_remote(b):
        return False
    return os.path.realpath(a) == os.path.realpath(b)


class InputRegister:
    """What this process reads, so that nothing that it writes can replace it."""

    def __init__(self):
        # Whether files that are opened count as well: in a process that is one command, a script.
        self.counts_opened = False
        # Real paths of directories that this process has made: what it reads there, it has written.
        self.new_directories: list[str] = []
        # Path → the flag that names it; "" for files that were only opened.
        self._inputs: dict[str, str] = {}
        # The same by the real paths, to which symbolic links lead.
        self._real_inputs: dict[str, str] = {}

    def begin(self, opened: bool = False) -> None:
        """Empties the register, as another command begins.

        Args:
          opened: whether files that are opened to be read are inputs, too. A program that calls
            several functions may well read a file and replace it later.
        """
        self.counts_opened = opened
        self._inputs.clear()
        self._real_inputs.clear()

    def note(self, path: str, flag: str = "") -> None:
        """Registers a file that this process reads.

        Args:
          flag: name of the flag that names it.
        """
        # Paths are only collected here: links are followed when something is to be written.
        self._inputs[path] = flag
        self._real_inputs.clear()

    def note_opened(self, path: str) -> None:
        """Registers a file that is opened, unless it is known."""
        if self.counts_opened and path not in self._inputs:
            self.note(path)

    def is_new(self, real_path: str) -> bool:
        """Whether a path without symbolic links is in a directory that this process has made."""
        return any(real_path.startswith(os.path.join(made, "")) for made in self.new_directories)

    def given(self) -> dict[str, str]:
        """Returns path → flag of the inputs that flags name."""
        return {path: flag for path, flag in self._inputs.items() if flag}

    def flag_of(self, real_path: str) -> str | None:
        """Returns the flag that names an input, "" if none does; None for any other file."""
        if not self._real_inputs:
            for name, flag in self._inputs.items():
                real = _real_path(name)
                self._real_inputs[real] = flag or self._real_inputs.get(real, "")
        return self._real_inputs.get(real_path)


# One for the process, as a command may write anything that any part of it has read.
register = InputRegister()


def check_replaceable(path: str, flag: str = "") -> None:
    """Raises `UserError` if a file is one of the inputs of this process, which would be lost.

    A file that no flag names may be replaced in a directory that the process has locked or made:
    the records of a run, and exports that are checked, are read and written again.

    Args:
      flag: name of the flag that names the output.
    """
    real = _real_path(path)
    named_by = register.flag_of(real)
    is_own = locks.is_below_held(real) or register.is_new(real)
    if named_by is None or (not named_by and is_own):
        return
    # Nothing is lost at a device, or at a name that is free by now.
    if is_special(path) or not exists(path):
        return
    if named_by:
        problem = f"{path} is also --{named_by}"
    else:
        problem = f"{path} is read by this command"
    if flag:
        problem = f"--{flag}: {problem}"
    raise UserError(f"{problem}, which would be lost: give it another name")


def _check_command_output(path: str) -> None:
    """Raises `UserError` if a script would replace one of its inputs.

    A Python program may call a run, and then write its configuration anew.
    """
    if register.counts_opened:
        check_replaceable(path)


def _real_path(path: str) -> str:
    if is_remote(path):
        return path
    return os.path.realpath(path)


def expand_patterns(patterns: str, flag: str) -> list[str]:
    """Returns the files named by a comma-separated list of paths and globs.

    They come in the order of the list, each glob sorted, each file once. A name that exists is that
    file, also where it could be read as a glob (`a[1].txt`).

    Raises:
      UserError: there is no pattern, or one matches nothing, only directories, a pipe or a device,
        or its file system can't be read.
    """
    # A dict keeps the order and drops duplicates.
    matching: dict[str, None] = {}
    for pattern in map(str.strip, ("" if patterns is None else patterns).split(",")):
        if not pattern:
            continue
        with user_error(f"--{flag}: can't read {pattern}"):
            # The name itself comes first: brackets are allowed in file names.
            paths = [pattern] if exists(pattern) else glob_files(pattern)
        if not paths:
            raise UserError(f"--{flag}: no file matches {pattern!r}{similar(pattern)}")
        paths = [path for path in paths if not is_directory(path)]
        if not paths:
            raise UserError(
                f"--{flag}: {pattern!r} is a directory: name the files in it, e.g. "
                f"{pattern.rstrip('/')}/*"
            )
        for path in paths:
            if is_special(path):
                raise UserError(
                    f"--{flag}: {path} is a pipe or a device: the program reads it several times, "
                    "a file is expected"
                )
            matching[path] = None
            register.note(path, flag)
    if not matching:
        raise UserError(f"--{flag} names no file")
    return list(matching)


def similar(path: str) -> str:
    """Returns ": did you mean X?" if something with a similar name exists, else "".

    Compares the name of the file or, if its directory is missing, of the first missing one.
    """
    if is_remote(path):
        return ""
    parent, name = os.path.split(path.rstrip(_SEPARATORS))
    while parent and not os.path.isdir(parent):
        parent, name = os.path.split(parent.rstrip(_SEPARATORS))
    if not name:
        return ""
    try:
        with os.scandir(parent or os.curdir) as entries:
            # A directory may hold millions of names, and a suggestion is not worth the wait.
            names = [entry.name for entry in itertools.islice(entries, _MAX_NAMES)]
    # A NUL byte in a path raises ValueError.
    except (OSError, ValueError):
        return ""
    return did_you_mean(name, names, _SIMILARITY)


def check_readable(path: str, flag: str) -> str:
    """Returns `path`; raises `UserError` unless it is a readable file."""
    with user_error(f"--{flag}: can't read {path}"):
        if not exists(path):
            raise UserError(f"--{flag}: {path} does not exist{similar(path)}")
    if is_directory(path):
        raise UserError(f"--{flag}: {path} is a directory, a file is expected")
    # Permissions of remote files are known only to their service, which answers at the first read.
    if not is_remote(path) and not os.access(path, os.R_OK):
        raise UserError(f"--{flag}: {path} can't be read: check its permissions")
    return path


def make_output_directory(path: str, flag: str) -> str:
    """Creates a directory if it is missing; raises `UserError` unless it can be written in."""
    with user_error(f"--{flag}: can't write in {path}"):
        make_directories(path)
        # Permission bits don't tell about quotas, read-only mounts or access lists: only writing
        # does.
        probe = unshared_name(os.path.join(path, ".probe"))
        open_file(probe, "wb").close()
        remove(probe)
    return path


def is_special(path: str) -> bool:
    """Whether `path` is a device, a pipe, or the standard output."""
    if is_remote(path):
        return False
    if _DESCRIPTOR.fullmatch(path):
        return True
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def unshared_name(path: str) -> str:
    """Returns a temporary name beside `path` that no other process uses."""
    return f"{path}.{os.urandom(4).hex()}{locks.TEMPORARY}"


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[IO]:
    """Opens a file that appears under its name only when it is complete.

    The content is written beside the final path as `.<name>.<random>.bert-tf.tmp`, synced, then
    renamed over an existing file; it is removed if the block raises. Temporary files of the same
    name that a killed process left are removed. The new file inherits the permissions of an
    existing one; a symbolic link is replaced itself. Writes to a device, a pipe or `/dev/stdout`
    are direct. The content is gzipped if the name ends in ".gz".

    Args:
      mode: "w" (UTF-8 text, newlines as given) or "wb".

    Raises:
      UserError: the disk is full or the directory can't be written.
      BrokenPipeError: the program that reads a pipe has ended.
    """
    if not path.lower().endswith(GZIPPED):
        with _complete_file(path, mode) as file:
            yield file
        return
    with contextlib.ExitStack() as stack:
        packed = stack.enter_context(_complete_file(path, "wb"))
        # The header has neither name nor time, so that equal contents give equal bytes.
        content: Any = stack.enter_context(gzip.GzipFile("", "wb", GZIP_LEVEL, packed, mtime=0))
        if "b" not in mode:
            content = stack.enter_context(io.TextIOWrapper(content, encoding="utf-8", newline=""))
        yield content


@contextlib.contextmanager
def _complete_file(path: str, mode: str) -> Iterator[IO]:
    """Opens a file of just the bytes that are written; see `atomic_write`."""
    locks.check_held()
    _check_command_output(path)
    temporary = None
    text: dict[str, Any] = {}
    if "b" not in mode:
        # The csv module writes its own line ends, which must not be translated again.
        text = {"encoding": "utf-8", "newline": ""}
    try:
        if is_remote(path):
            temporary = os.path.join(
                parent_directory(path), unshared_name(f".{os.path.basename(path)}")
            )
            with open_file(temporary, mode, newline="") as file:
                yield file
            rename(temporary, path)
        elif is_special(path):
            with os.fdopen(_special_descriptor(path), mode, **text) as file:
                yield file
        else:
            descriptor, temporary = locks.temporary_beside(path)
            with os.fdopen(descriptor, mode, **text) as file:
                yield file
                file.flush()
                # A rename may reach the disk before the content does, and a crash would leave an
                # empty file.
                os.fsync(file.fileno())
                if not locks.WINDOWS:
                    # Closing ends the lock: until the rename the name must stay protected from
                    # other processes, which remove unlocked temporary files.
                    take_the_place_of(temporary, path)
            if locks.WINDOWS:
                take_the_place_of(temporary, path)
    # KeyboardInterrupt must leave no temporary file behind either.
    except BaseException as error:
        if temporary is not None:
            # A failure to clean up must not hide the error that is the reason for it.
            with contextlib.suppress(OSError):
                _remove_temporary(temporary)
        # The reader of a pipe may have ended on purpose (`… | head`): that is no user error.
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise UserError(f"can't write {path}: {error.strerror}") from None
        raise


def _special_descriptor(path: str) -> int:
    """Opens a device, a pipe, or a copy of the open descriptor that `/dev/fd/N` names."""
    match = _DESCRIPTOR.fullmatch(path)
    if match is None:
        return os.open(path, os.O_WRONLY)
    if match[2]:
        return os.dup(int(match[2]))
    return os.dup(1 if match[1] == "stdout" else 2)


def take_the_place_of(source: str, target: str) -> None:
    """Moves a local file to `target`; it inherits permissions and owner of a file there."""
    locks.check_held()
    # Inputs may have been opened since the writing began.
    _check_command_output(target)
    # Temporary files are readable by their owner only (0600), which nobody expects of a result.
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
    """Raises `UserError` if an output exists already, or its directory can't be reached."""
    with user_error(f"--{flag}: can't write {path}"):
        # A broken symbolic link exists, too.
        is_there = exists(path) if is_remote(path) else os.path.lexists(path)
        if is_there:
            raise UserError(f"--{flag}: {path} exists: choose another name, or remove it first")


def current_umask() -> int:
    """Returns the permission bits that new files of this process do not get."""
    # POSIX has no call that reads the mask without setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def new_directory(path: str, flag: str) -> Iterator[str]:
    """Makes a directory that appears under its name only when everything in it is written.

    The block writes into a temporary local directory, which is removed if it raises. A local
    directory is moved to its path in one step, a remote one is copied there file by file. Missing
    parents are made.

    Raises:
      UserError: the path exists, or its parent can't be written.
    """
    path = path.rstrip(_SEPARATORS) or path
    refuse_existing(path, flag)
    name = os.path.basename(path)
    is_local = not is_remote(path)
    # A relative path stays relative: TensorFlow takes no working directory that is not UTF-8.
    parent = (os.path.dirname(path) or os.curdir) if is_local else parent_directory(path)
    make_output_directory(parent, flag)
    # A rename is atomic only within a file system, so the temporary directory lies beside the
    # target.
    temporary_parent = parent if is_local else None
    with user_error(f"--{flag}: can't write {path}"):
        if is_local:
            locks.remove_abandoned(parent, locks.temporary_names(name))
        temporary = tempfile.mkdtemp(
            prefix=locks.temporary_prefix(name), suffix=locks.TEMPORARY, dir=temporary_parent
        )
    lock = None
    try:
        lock = locks.take(temporary)
        register.new_directories.append(os.path.realpath(temporary))
        with user_error(f"--{flag}: can't write {path}"):
            yield temporary
            is_ours = lock is None or locks.is_at(lock, temporary)
            if not is_ours:
                raise UserError(
                    f"--{flag}: can't write {path}: its directory was moved or removed meanwhile"
                )
            os.chmod(temporary, 0o777 & ~current_umask())
            # Another process may have made the path while the block was running.
            refuse_existing(path, flag)
            if is_local:
                os.rename(temporary, path)
            else:
                try:
                    copy_tree(temporary, path)
                except BaseException:
                    with contextlib.suppress(OSError):
                        remove_tree(path)
                    raise
    finally:
        if lock is None or locks.is_at(lock, temporary):
            shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def copy_tree(source: str, target: str) -> None:
    """Copies a directory with everything below it, between any two file systems."""
    make_directories(target)
    for name in list_directory(source):
        path = os.path.join(source, name)
        if is_directory(path):
            copy_tree(path, os.path.join(target, name))
        else:
            copy(path, os.path.join(target, name))


def is_gzip(path: str) -> bool:
    """Whether the file is gzipped. Raises `OSError` if it can't be read."""
    with open_file(path, "rb") as file:
        return file.read(len(_GZIP)) == _GZIP


@contextlib.contextmanager
def open_unzipped(path: str) -> Iterator[tuple[Any, Any]]:
    """Opens a file as (stored bytes, content): the same object unless it is compressed.

    Raises:
      UserError: the file is an archive, or is compressed with Zstandard and pyarrow is missing.
    """
    with open_file(path, "rb") as raw:
        unpacked = _unpacked(raw, path)
        if unpacked is None:
            yield raw, raw
        else:
            with unpacked:
                if _unpacked(unpacked, path) is not None:
                    raise UserError(f"{path} is compressed twice: unpack it once")
                yield raw, unpacked


def _unpacked(raw: Any, path: str) -> Any:
    """Returns a file with the content of a compressed one; None for a file that is not."""
    start = raw.peek(_LONGEST_MAGIC)[:_LONGEST_MAGIC]
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if _BZIP2.match(start):
        return bz2.BZ2File(raw)
    if start.startswith(_XZ):
        return lzma.LZMAFile(raw)
    if start.startswith(_ZIP):
        raise UserError(
            f"{path} is a ZIP archive or a spreadsheet: unpack it, or save it as CSV (UTF-8)"
        )
    if not start.startswith(_ZSTANDARD):
        return None
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise needs_package(f"{path} (Zstandard)", error.name) or error from None
    return io.BufferedReader(pyarrow.CompressedInputStream(raw, "zstd"), _COPY_BYTES)


def encoding_of(start: bytes) -> str:
    """Returns the encoding of a text by its first bytes: UTF-16 has a byte order mark, else
    UTF-8."""
    return "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def most_unpacked(path: str) -> int:
    """Returns the number of bytes that a compressed file may unpack to."""
    return max(_UNPACKED_BYTES, _MOST_PACKED * file_size(path))


def read_bytes(path: str) -> bytes:
    """Returns the content of a file, compressed or not.

    Raises:
      UserError: it can't be read, or some kilobytes unpack to more than memory should hold.
    """
    with user_error(f"can't read {path}"), open_unzipped(path) as (raw, file):
        if file is raw:
            return file.read()
        max_bytes = most_unpacked(path)
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UserError(
            f"{path} unpacks to more than {max_bytes >> 20} MiB, {_MOST_PACKED} times its "
            "size: no text is packed so well: unpack it first"
        )
    return data


def read_text(path: str) -> str:
    """Returns the text of a file, compressed or not.

    Raises:
      UserError: see `read_bytes`, or it is neither UTF-8 nor UTF-16 with a byte order mark.
    """
    data = read_bytes(path)
    try:
        return data.decode(encoding_of(data))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 (byte {error.start})") from None

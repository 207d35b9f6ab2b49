"""Contents of input files and checkpoints: their digests, and whether they stay as they are."""

import concurrent.futures
import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence

from bert_common import files
from bert_common.errors import UserError
from bert_common.manifests import file_digest
from bert_common.options import DIRECTORY, FILE, FILES, Options, declared_options
from bert_tf.runs.results import digest

# Inputs of up to so many bytes are read whole. Of larger ones a sample is read: a block per MiB, up
# to a maximum.
_WHOLE = 64 << 20
_BLOCK = 4096
_MAX_BLOCKS = 1024
_FILES_AT_ONCE = 16
# Options that name checkpoints.
_CHECKPOINTS = ("init_checkpoint", "teacher_checkpoint")
# Statuses of files → their digest, of this process.
_known_digests: dict[tuple, str] = {}


def content_digest(paths: Sequence[str]) -> str:
    """Returns the digest of the contents of files, whatever their names; of large ones a sample."""
    return known_digest(statuses(paths))


class InputFacts:
    """Sizes, times, inodes and contents of inputs at one moment.

    They are taken before the inputs are read and compared afterwards: what is recorded as the input
    of a run would else be of another moment than the contents that it was made from.

    Args:
      groups: name of a flag → files. Of the files of a flag up to 64 MB are compared whole, of more
        a sample of blocks.
    """

    def __init__(self, groups: Mapping[str, Sequence[str]]):
        self._groups: dict[str, list[str]] = {}
        for name, paths in groups.items():
            self._groups[name] = [path for path in paths if not files.is_special(path)]
        self._statuses = {name: _identities(paths) for name, paths in self._groups.items()}
        self._contents = {name: self._content(name) for name in self._groups}

    @classmethod
    def of(cls, options: Options) -> "InputFacts":
        """Returns the facts of all files that the options name.

        Files that can't be read are left out: the reader reports them in its own words.
        """
        groups: dict[str, list[str]] = {}
        for option in declared_options(type(options)):
            value = getattr(options, option.name)
            if not value:
                continue
            with contextlib.suppress(UserError, OSError):
                if option.path == FILE and files.is_file(value):
                    groups[option.name] = [value]
                elif option.path == FILES:
                    groups[option.name] = files.expand_patterns(value, option.name)
                elif option.path == DIRECTORY and isinstance(value, str):
                    paths = [os.path.join(value, name) for name in files.list_directory(value)]
                    groups[option.name] = [path for path in paths if files.is_file(path)]
        for name in _CHECKPOINTS:
            checkpoints = getattr(options, name, None) or ()
            if isinstance(checkpoints, str):
                checkpoints = [checkpoints]
            with contextlib.suppress(UserError, OSError):
                # A checkpoint's directory also holds logs, which may grow meanwhile: only its files
                # count.
                groups[name] = weight_files(checkpoints)
        return cls(groups)

    def check(self, contents: bool = True) -> None:
        """Raises `UserError` if a file has changed.

        Args:
          contents: whether contents are read again, as time and size may be set by hand.
        """
        for name, paths in self._groups.items():
            for path, before, after in zip(
                paths, self._statuses[name], _identities(paths), strict=True
            ):
                if before != after:
                    raise _changed(name, path)
            if contents and paths and self._content(name) != self._contents[name]:
                raise _changed(name, paths[0])

    def _content(self, name: str) -> str:
        return fresh_digest([status[:3] for status in self._statuses[name]])


def _identities(paths: Sequence[str]) -> list[list]:
    """Returns the states of files with their inodes."""
    identities = []
    for path in paths:
        try:
            inode = None if files.is_remote(path) else os.stat(path).st_ino
            identities.append([*files.state(path), inode])
        except OSError:
            identities.append([files.absolute(path), 0, 0, "missing"])
    return identities


def _changed(name: str, path: str) -> UserError:
    return UserError(
        f"--{name}: {path} has changed while it was read: run the same command again when it is "
        "complete"
    )


def weight_files(checkpoints: Sequence[str]) -> list[str]:
    """Returns the files of checkpoints: weights, configuration, vocabulary, task."""
    from modeling.checkpoints.load import files_of, read_checkpoint

    paths = []
    for checkpoint in checkpoints:
        paths += files_of(read_checkpoint(checkpoint).path)
    return paths


def statuses(paths: Sequence[str]) -> list[list]:
    """Returns [absolute path, bytes, time of the last change in nanoseconds] of each file."""
    # Remote file systems answer slowly but in parallel, and threads wait without holding the
    # interpreter.
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        return list(pool.map(_status, paths))


def _status(path: str) -> list:
    with files.user_error(f"can't read {path}"):
        return files.state(path)


def is_sampled(statuses: Sequence[Sequence]) -> bool:
    """Whether the digest of files as `statuses` describes them is of a sample of blocks."""
    return sum(size for _, size, _ in statuses) > _WHOLE


def known_digest(statuses: Sequence[Sequence]) -> str:
    """Returns the digest of files as `statuses` describes them, if possible the one of
    `InputFacts`, which every start takes anew."""
    key = tuple(tuple(value) for value in statuses)
    return _known_digests.get(key) or fresh_digest(statuses)


def fresh_digest(statuses: Sequence[Sequence]) -> str:
    """Reads files as `statuses` describes them and returns their digest: equal sizes and times are
    not believed."""
    num_blocks = None
    if is_sampled(statuses):
        total = sum(size for _, size, _ in statuses)
        # The first and the last block of each file at least.
        num_blocks = max(2, min(total >> 20, _MAX_BLOCKS) // len(statuses))

    def size_and_digest(status: Sequence) -> list:
        path, size, _ = status
        return [size, _file_digest(path, size, num_blocks)]

    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        content = digest(list(pool.map(size_and_digest, statuses)))
    _known_digests[tuple(tuple(value) for value in statuses)] = content
    return content


def _file_digest(path: str, size: int, num_blocks: int | None) -> str:
    """Returns the SHA-256 of a file, or of `num_blocks` blocks from its beginning to its end."""
    if num_blocks is None:
        return file_digest(path)
    with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
        sha256 = hashlib.sha256()
        # The blocks are spread evenly; the last one ends with the file.
        for number in range(num_blocks):
            file.seek(max(size - _BLOCK, 0) * number // (num_blocks - 1))
            sha256.update(file.read(_BLOCK))
        return sha256.hexdigest()

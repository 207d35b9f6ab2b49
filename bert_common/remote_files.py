"""TensorFlow's file systems (`gs://`, `hdfs://`, `s3://`, `ram://`) with Python's interface, for
`files.py`.

Paths without "://" are local. TensorFlow is imported when the first other one is met.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from typing import Any

from bert_common.errors import in_one_line

# A scheme has at least two letters: C:// is a drive of Windows.
_REMOTE = re.compile(r"[A-Za-z][\w+.-]+://")
# Takes the place of `tf.io.gfile` where a program has file systems of its own (data_gen/beam/).
stand_in: Any = None


def is_remote(path: str) -> bool:
    """Whether only TensorFlow knows the file system of `path`."""
    return _REMOTE.match(path) is not None


@contextlib.contextmanager
def gfile_of(path: str) -> Iterator:
    """Gives `tf.io.gfile`, or what stands in for it; errors of the block become `OSError`s about
    `path`."""
    if stand_in is not None:
        yield stand_in
        return
    import tensorflow as tf

    try:
        yield tf.io.gfile
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(2, "No such file or directory", path) from error
    except tf.errors.UnimplementedError:
        # The empty scheme stands for local files.
        schemes = sorted(scheme for scheme in tf.io.gfile.get_registered_schemes() if scheme)
        raise OSError(
            5,
            f"TensorFlow knows no file system {path.partition(':')[0]}://, only "
            f"{', '.join(f'{scheme}://' for scheme in schemes)}: copy the files to this machine",
            path,
        ) from None
    except tf.errors.OpError as error:
        raise OSError(5, in_one_line(error), path) from error


class RemoteFile(io.RawIOBase):
    """Wraps a `GFile` as a raw file of Python, in mode "rb", "wb" or "ab"."""

    def __init__(self, path: str, mode: str):
        self._path = path
        self._mode = mode
        with gfile_of(path) as gfile:
            self._file = gfile.GFile(path, mode)
            # A GFile opens its file lazily. As with `open`, a missing file must be an error here,
            # and a new one must be made even if nothing is written.
            if mode == "rb":
                self._file.size()
            else:
                self._file.write(b"")

    def readable(self) -> bool:
        return self._mode == "rb"

    seekable = readable

    def writable(self) -> bool:
        return not self.readable()

    def readinto(self, buffer) -> int:
        with gfile_of(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data) -> int:
        with gfile_of(self._path):
            self._file.write(bytes(data))
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        with gfile_of(self._path):
            self._file.seek(offset, whence)
            return self._file.tell()

    def close(self) -> None:
        if not self.closed:
            with gfile_of(self._path):
                self._file.close()
            super().close()

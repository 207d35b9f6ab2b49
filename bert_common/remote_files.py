"""TensorFlow's file systems (`gs://`, `hdfs://`, `s3://`, `ram://`) with Python's interface, for
`files.py`.

Paths without "://" are local. TensorFlow is imported when the first other one is met.
"""

import contextlib
import io
import re
from collections.abc import Iterator

from bert_common.errors import in_one_line

# A scheme has two letters or more: C:// is a drive of Windows.
_REMOTE = re.compile(r"[A-Za-z][\w+.-]+://")


def is_remote(path: str) -> bool:
    """Whether only TensorFlow knows the file system of `path`."""
    return _REMOTE.match(path) is not None


@contextlib.contextmanager
def gfile_of(path: str) -> Iterator:
    """`tf.io.gfile`, whose errors become `OSError`s about `path`."""
    import tensorflow as tf

    try:
        yield tf.io.gfile
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(2, "No such file or directory", path) from error
    except tf.errors.UnimplementedError:
        known = ", ".join(
            f"{scheme}://" for scheme in sorted(filter(None, tf.io.gfile.get_registered_schemes()))
        )
        raise OSError(
            5,
            f"TensorFlow knows no file system {path.partition(':')[0]}://, only {known}: copy the files to "
            "this machine",
            path,
        ) from None
    except tf.errors.OpError as error:
        raise OSError(5, in_one_line(error), path) from error


class RemoteFile(io.RawIOBase):
    """A `GFile` as one of Python's own files, in mode "rb", "wb" or "ab"."""

    def __init__(self, path: str, mode: str):
        self._path, self._mode = path, mode
        with gfile_of(path) as gfile:
            self._file = gfile.GFile(path, mode)
            # Opened lazily: as with `open`, a missing file must be an error here, and an empty one
            # must be made.
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

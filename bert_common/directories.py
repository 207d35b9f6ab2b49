"""Directories that are written or copied as one, on any file system."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from bert_common import files, locks


@contextlib.contextmanager
def new_directory(path: str, flag: str) -> Iterator[str]:
  """A directory that appears under its name only when everything in it is written.

  The block gets the path of a temporary local directory to write in; it is removed if the block raises. A local
  directory is moved into place in one step, a remote one is copied there file by file. Missing parents are made.

  Raises:
    UserError: something is there, or the place can't be written.
  """
  path = path.rstrip("/") or path
  files.refuse_existing(path, flag)
  # Not the absolute path: TensorFlow takes no name of a working directory that is not UTF-8.
  folder = files.parent_directory(path) if files.is_remote(path) else os.path.dirname(path) or os.curdir
  parent = files.make_output_directory(folder, flag)
  name, lock = os.path.basename(path), None
  if not files.is_remote(path):
    with files.user_error(f"--{flag}: can't write {path}"):
      locks.remove_abandoned(parent, locks.temporary_names(name))
  with files.user_error(f"--{flag}: can't write {path}"):
    temporary = tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=None if files.is_remote(path) else parent)
  try:
    lock = locks.take(temporary)
    with files.user_error(f"--{flag}: can't write {path}"):
      yield temporary
      os.chmod(temporary, 0o777 & ~files.current_umask())
      files.refuse_existing(path, flag)
      if files.is_remote(path):
        _copy_whole(temporary, path)
      else:
        os.rename(temporary, path)
  finally:
    shutil.rmtree(temporary, ignore_errors=True)
    if lock is not None:
      os.close(lock)


def _copy_whole(source: str, target: str) -> None:
  """`copy_tree`, undone where it fails."""
  try:
    copy_tree(source, target)
  except BaseException:
    with contextlib.suppress(OSError):
      files.remove_tree(target)
    raise


def copy_tree(source: str, target: str) -> None:
  """Copies a directory with everything below it, between any two file systems."""
  files.make_directories(target)
  for name in files.list_directory(source):
    path = os.path.join(source, name)
    (copy_tree if files.is_directory(path) else files.copy)(path, os.path.join(target, name))

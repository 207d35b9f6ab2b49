"""HDF5 files (`.h5`), read without trusting them: only numbers that lie in the file itself.

HDF5 can point into other files (external links, external and virtual data sets), with which a stranger would choose
what is read of somebody's disk: those are refused.
"""

import io
import os
from collections.abc import Iterator

import h5py
import numpy as np

from bert_tf.common import files
from bert_tf.common.errors import UserError

# What h5py raises for files that are damaged.
_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError)


class H5File:
  """An HDF5 file with arrays.

  Args:
    path: of the file; a remote one is read into memory whole.

  Raises:
    UserError: it is missing or damaged, or refers to other files.

  Attributes:
    path: as given.
    shapes: path in the file → shape of every array in it.
  """

  def __init__(self, path: str):
    self.path = path
    self._content: bytes | None = None
    self.shapes: dict[str, tuple[int, ...]] = {}
    self._dtypes: dict[str, str] = {}
    try:
      if files.is_remote(path):
        with files.open_file(path, "rb") as file:
          self._content = file.read()
      with self._open() as file:
        for name, array in _arrays(file):
          self._check_inside(name, array)
          self.shapes[name] = tuple(array.shape)
          # Keras keeps bfloat16 in bytes that numpy has no name for.
          self._dtypes[name] = "bfloat16" if array.attrs.get("dtype") == "bfloat16" else str(array.dtype)
    except _ERRORS as error:
      raise UserError(f"{path} can't be read as HDF5, it is damaged or incomplete: {_first_line(error)}") from None

  def read(self, name: str) -> np.ndarray:
    """The array called `name` as float32; half-precision numbers are widened, which is exact.

    Raises:
      UserError: it is of another type, or can't be read.
    """
    self.check_dtype(name)
    try:
      with self._open() as file:
        values = file[name][()]
    except _ERRORS as error:
      raise UserError(f"{self.path}: {name} can't be read, the file is damaged: {_first_line(error)}") from None
    if self._dtypes[name] == "bfloat16":
      return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.asarray(values, np.float32)

  def check_dtype(self, name: str) -> None:
    """Refuses what is no float, or would lose digits.

    Raises:
      UserError: names the array and its type.
    """
    if self._dtypes[name] not in ("float32", "float16", "bfloat16"):
      raise UserError(f"{self.path}: {name} is of type {self._dtypes[name]}; weights are float32, float16, bfloat16")

  def _open(self) -> h5py.File:
    # No lock: the file may be on a read-only or a network file system.
    return (h5py.File(self.path, "r", locking=False) if self._content is None else
            h5py.File(io.BytesIO(self._content), "r"))

  def _check_inside(self, name: str, array: h5py.Dataset) -> None:
    if not name.isprintable():
      raise UserError(f"{self.path} holds an array with the name {ascii(name)}: no program writes such names")
    if array.external or array.is_virtual:
      raise UserError(f"{self.path}: the numbers of {name} are in another file, which is not read")


def find_h5(path: str) -> list[str]:
  """The `.h5` files that `path` may mean."""
  if files.is_directory(path):
    return [os.path.join(path, name) for name in files.list_directory(path) if name.endswith(".h5")]
  return [path] if path.endswith(".h5") and files.exists(path) else []


def _arrays(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
  """(path, array) of all that is in the file; links, soft and external, are not followed."""
  found = []

  def visit(name: str, entry) -> None:
    if isinstance(entry, h5py.Dataset):
      found.append((name, entry))

  file.visititems(visit)
  return iter(found)


def _first_line(error: Exception) -> str:
  return str(error).strip("'\"").split("\n")[0]

"""Tensors in files of whatever format, read without trusting them: what is checked of every one.

Input: what a format's own reader finds. Output: arrays of float32 by key, or a `UserError` that names file and tensor.
"""

import numpy as np

from bert_common.errors import UserError

# Tensors may take so many times the bytes that their file has: a few lines of a header can describe any amount.
_LARGEST_EXPANSION = 10


class TensorFile:
  """A file of weights; subclasses open it and read single tensors.

  Args:
    path: of the file, for messages.
    types: of the numbers that it may hold as weights, in the words of the format.

  Attributes:
    path: as given.
    shapes: key → shape of every tensor in it.
  """

  def __init__(self, path: str, types: tuple[str, ...]):
    self.path = path
    self.shapes: dict[str, tuple[int, ...]] = {}
    self._types = types
    self._dtypes: dict[str, str] = {}

  def read(self, key: str) -> np.ndarray:
    """The tensor called `key` as float32; half-precision numbers are widened, which is exact.

    Raises:
      UserError: it is no float, can't be read, or holds values that are not finite.
    """
    self.check_dtype(key)
    return self._finite(key, np.asarray(self._read(key)).astype(np.float32, copy=False))

  def check_dtype(self, key: str) -> None:
    """Refuses what is no float, or would lose digits.

    Raises:
      UserError: names the tensor and its type.
    """
    if self._dtypes[key] not in self._types:
      raise UserError(f"{self.path}: {key} is of type {self._dtypes[key]}; weights are {', '.join(self._types)}")

  def _read(self, key: str) -> np.ndarray:
    raise NotImplementedError

  def _finite(self, key: str, values: np.ndarray) -> np.ndarray:
    """The values, unless one is NaN or infinite: no formula of BERT makes anything of such a weight."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
      raise UserError(f"{self.path}: {key} holds {np.count_nonzero(~np.isfinite(values)):,} values that are not "
                      "finite (NaN or infinity): the file is damaged, or training has diverged")
    return values

  def _check_contents(self, described: int = 0, stored: int = 0) -> None:
    """Refuses names that no program writes, and tensors that take far more bytes than the file has."""
    for key in self.shapes:
      if not key.isprintable():
        raise UserError(f"{self.path} holds a tensor with the name {ascii(key)}: no program writes such names")
    if described > _LARGEST_EXPANSION * stored:
      raise UserError(f"{self.path} describes tensors of {described:,} bytes, but has only {stored:,}: it is damaged")

"""What every reader of a format gives, and what is checked of the tensors in any file.

Input: a path. Output: a `TensorFile`, shapes and arrays of float32 by key, or a `UserError` that names file and tensor;
a `StoredWeights`.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping

import numpy as np

from bert_common.errors import UserError
from modeling.checkpoints.weights import HEADS, heads_of
from modeling.config import BertConfig

# What TensorFlow appends to the path of a variable.
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


@dataclasses.dataclass(frozen=True)
class StoredWeights:
  """Weights that can be read by the names of the original (see `weights.py`).

  Every reader of a format makes one. Optimizer slots, counters and the like are not in it.

  Attributes:
    description: format and path, for messages.
    tensors: name → shape of each weight.
    read: name → float array of that shape. Raises `UserError` where the file is damaged, or the values are not finite.
    config: the configuration found with the weights, or None.
    vocab_file: path of the vocabulary found with the weights, or None.
    do_lower_case: whether the vocabulary is of lower-cased text, or None where it is unknown.
    vocab_sha256: `Vocabulary.fingerprint` of the vocabulary that it was trained with, or None where it is unknown.
    directory: where the weights are, and what else this project wrote with them; None where it is none of ours.
    path: of the weights: a prefix, or the first file.
  """

  description: str
  tensors: Mapping[str, tuple[int, ...]]
  read: Callable[[str], np.ndarray]
  config: BertConfig | None = None
  vocab_file: str | None = None
  do_lower_case: bool | None = None
  vocab_sha256: str | None = None
  directory: str | None = None
  path: str | None = None

  @property
  def heads(self) -> list[str]:
    """The heads that it has weights of, by the keys of `model.heads`."""
    return heads_of(self.tensors)

  def fingerprint(self) -> str:
    """SHA-256 of all weights by name, the same whatever their format."""
    digest = hashlib.sha256()
    for name in sorted(self.tensors):
      digest.update(f"{name} {self.tensors[name]}".encode() + np.asarray(self.read(name), np.float32).tobytes())
    return digest.hexdigest()

  def classes(self, head: str) -> int | None:
    """C of one of `HEADS`; None where that head is not in the checkpoint, or has no classes."""
    shape = self.tensors.get(HEADS[head].signature_name)
    return shape[0] if shape and not HEADS[head].parts else None


class TensorFile:
  """A file of weights, with the shape of every tensor in it by key; subclasses open it and read single tensors. `types`
  are those of numbers that it may hold as weights, in the words of the format."""

  def __init__(self, path: str, types: tuple[str, ...]):
    self.path = path
    self.shapes: dict[str, tuple[int, ...]] = {}
    self._types = types
    self._dtypes: dict[str, str] = {}

  def read(self, key: str) -> np.ndarray:
    """The tensor called `key` as float32; half-precision numbers are widened, which is exact. Raises `UserError`: it is
    no float, can't be read, or holds values that are not finite."""
    self.check_dtype(key)
    return self._finite(key, np.asarray(self.raw(key)).astype(np.float32, copy=False))

  def check_dtype(self, key: str) -> None:
    """Refuses what is no float, or would lose digits."""
    if self._dtypes[key] not in self._types:
      raise UserError(f"{self.path}: {key} is of type {self._dtypes[key]}; weights are {', '.join(self._types)}")

  def raw(self, key: str) -> np.ndarray:
    raise NotImplementedError

  def _finite(self, key: str, values: np.ndarray) -> np.ndarray:
    """The values, unless one is NaN or infinite: no formula of BERT makes anything of such a weight."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
      count = np.count_nonzero(~np.isfinite(values))
      raise UserError(f"{self.path}: {key.removesuffix(SUFFIX)} holds {count:,} values that are not finite (NaN or "
                      "infinity): the file is damaged, or training has diverged")
    return values

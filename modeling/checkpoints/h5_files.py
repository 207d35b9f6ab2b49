"""HDF5 files (`.h5`), read without trusting them: only numbers that lie in the file itself.

HDF5 can point into other files (external links, external and virtual data sets), with which a stranger would choose
what is read of somebody's disk: those are refused.
"""

import re

import h5py
import numpy as np

from bert_common import files
from bert_common.errors import UserError, in_one_line
from modeling.checkpoints.tensor_files import TensorFile

_DTYPES = ("float32", "float16", "bfloat16")
# What h5py raises for files that are damaged.
_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError)
# In transformers' TensorFlow classes the last part of a variable's name → in PyTorch, as it translated them itself.
_PYTORCH_LEAVES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
_KERNELS = ("/kernel:0", "/kernel")


class H5File(TensorFile):
  """An HDF5 file with arrays.

  Args:
    path: of the file; a remote one is read into memory whole.

  Raises:
    UserError: it is missing or damaged, or refers to other files.
  """

  def __init__(self, path: str):
    super().__init__(path, _DTYPES)
    # Key → name in the file, where they differ.
    self._names: dict[str, str] = {}
    try:
      self._local = files.local_copy(path, self)
      with self._open() as file:
        file.visititems(self._visit)
    except _ERRORS as error:
      raise UserError(f"{path} can't be read as HDF5, it is damaged or incomplete: {in_one_line(error)}") from None

  def raw(self, key: str) -> np.ndarray:
    try:
      with self._open() as file:
        values = file[self._names.get(key, key)][()]
    except _ERRORS as error:
      raise UserError(f"{self.path}: {key} can't be read, the file is damaged: {in_one_line(error)}") from None
    if self._dtypes[key] == "bfloat16":
      return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values

  def _open(self) -> h5py.File:
    # No lock: the file may be on a read-only or a network file system.
    return h5py.File(self._local, "r", locking=False)

  def _visit(self, name: str, array: object) -> None:
    if not isinstance(array, h5py.Dataset):
      return
    if array.external or array.is_virtual:
      raise UserError(f"{self.path}: the numbers of {name} are in another file, which is not read")
    self.shapes[name] = tuple(array.shape)
    # Keras keeps bfloat16 in bytes that numpy has no name for.
    kept_as = array.attrs.get("dtype") if array.dtype == "V2" else None
    self._dtypes[name] = "bfloat16" if isinstance(kept_as, str) and kept_as == "bfloat16" else str(array.dtype)


class TransformersH5File(H5File):
  """A file of transformers' TensorFlow classes, `TFBertModel` and `TFBertFor…`: `tf_model.h5`, or what Keras 2 saved.

  Keys and orientation of the arrays are those of Hugging Face's PyTorch classes. Raises `UserError` as `H5File`, or
  where two arrays that should be copies of one weight differ.
  """

  def __init__(self, path: str):
    super().__init__(path)
    stored: dict[str, str] = {}
    for name in self.shapes:
      key = _pytorch_name(name)
      first = stored.setdefault(key, name)
      # Heads that share the embeddings save them along with their own weights.
      if first != name and not np.array_equal(self.read(first), self.read(name)):
        raise UserError(f"{path}: {first} and {name} are two names of one weight, {key}, and differ")
    self._names = stored
    self.shapes = {key: self.shapes[name][::-1] if name.endswith(_KERNELS) else self.shapes[name]
                   for key, name in stored.items()}
    self._dtypes = {key: self._dtypes[name] for key, name in stored.items()}

  def raw(self, key: str) -> np.ndarray:
    values = super().raw(key)
    return values.T if self._names.get(key, key).endswith(_KERNELS) else values


def _pytorch_name(name: str) -> str:
  """Name of a variable in the file → name in PyTorch, still with the class's own prefix.

  E.g. bert/tf_bert_model/bert/encoder/layer_._0/attention/self/key/kernel:0
  → tf_bert_model.bert.encoder.layer.0.attention.self.key.weight.
  """
  # The first part is the layer of the file, under which some variables of other layers are repeated.
  _, _, path = name.partition("/")
  # Some names hold the PyTorch name after three underscores: mlm___cls is cls.
  *parts, leaf = [part.rpartition("___")[2] for part in (path or name).removesuffix(":0").split("/")]
  return re.sub(r"layer_\._(\d+)", r"layer.\1", ".".join([*parts, _PYTORCH_LEAVES.get(leaf, leaf)]))

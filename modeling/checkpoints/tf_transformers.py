"""HDF5 files of transformers' TensorFlow classes, `TFBertModel` and `TFBertFor…`: `tf_model.h5`, or what Keras 2 saved.

Input: such a file. Output: its arrays under the names of Hugging Face's PyTorch classes and the way round they have
there, so that `huggingface.py` reads both kinds of files alike.
"""

import re

import numpy as np

from bert_tf.common.errors import UserError
from modeling.checkpoints.h5_files import H5File
from modeling.checkpoints.weights import show_shape

# The last part of a variable's name there → in PyTorch, as transformers itself translated them.
_LEAVES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}


class TransformersH5File:
  """An HDF5 file with the interface of a `SafetensorsFile`.

  Args:
    path: of the file.

  Raises:
    UserError: as for `H5File`, or two arrays that should be copies of one weight differ.

  Attributes:
    path: as given.
    shapes: name in PyTorch → shape there.
  """

  def __init__(self, path: str):
    self.path = path
    self._file = H5File(path)
    self._stored: dict[str, str] = {}
    for name in self._file.shapes:
      key = _pytorch_name(name)
      first = self._stored.setdefault(key, name)
      # Heads that share the embeddings save them along with their own weights.
      if first != name and not np.array_equal(self._file.read(first), self._file.read(name)):
        raise UserError(f"{path}: {first} and {name} are two names of one weight, {key}, and differ")
    self.shapes = {key: self._file.shapes[name][::-1] if _is_kernel(name) else self._file.shapes[name]
                   for key, name in self._stored.items()}

  def read(self, key: str) -> np.ndarray:
    """As `H5File.read`; matrices the way round that they have in PyTorch."""
    name = self._stored[key]
    values = self._file.read(name)
    return values.T if _is_kernel(name) else values

  def check_dtype(self, key: str) -> None:
    """As `H5File.check_dtype`."""
    name = self._stored[key]
    if _is_kernel(name) and len(self._file.shapes[name]) != 2:
      raise UserError(f"{self.path}: {name} is {show_shape(self._file.shapes[name])}, a matrix is expected")
    self._file.check_dtype(name)


def open_h5(path: str) -> dict[str, TransformersH5File]:
  """The file that each tensor is in, as `safetensors_files.open_files` gives it."""
  file = TransformersH5File(path)
  return dict.fromkeys(file.shapes, file)


def _is_kernel(name: str) -> bool:
  return name.endswith(("/kernel:0", "/kernel"))


def _pytorch_name(name: str) -> str:
  """Name of a variable in the file → name in PyTorch, still with the class's own prefix.

  E.g. bert/tf_bert_model/bert/encoder/layer_._0/attention/self/key/kernel:0
  → tf_bert_model.bert.encoder.layer.0.attention.self.key.weight.
  """
  # The first part is the layer of the file, under which some variables of other layers are repeated.
  _, _, path = name.partition("/")
  # Some names hold the PyTorch name after three underscores: mlm___cls is cls.
  *parts, leaf = [part.rpartition("___")[2] for part in (path or name).removesuffix(":0").split("/")]
  return re.sub(r"layer_\._(\d+)", r"layer.\1", ".".join([*parts, _LEAVES.get(leaf, leaf)]))

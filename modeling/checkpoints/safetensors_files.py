"""`.safetensors` files, one or several with an index, read without trusting them, and written.

The `safetensors` library proves that the header fits the file; what is read after that are plain numbers.
"""

import os
from collections.abc import Mapping

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints.tensor_file import TensorFile

INDEX_SUFFIX = ".safetensors.index.json"
# Kinds of numbers that are exact in float32.
_DTYPES = ("F32", "F16", "BF16")


class SafetensorsFile(TensorFile):
  """A `.safetensors` file.

  Args:
    path: of the file.

  Raises:
    UserError: it is missing, truncated, no regular file, or its header does not fit.
  """

  def __init__(self, path: str):
    super().__init__(path, _DTYPES)
    try:
      self._local = files.local_copy(path, self)
      with safe_open(self._local, "np") as file:
        slices = {key: file.get_slice(key) for key in file.keys()}
        self.shapes = {key: tuple(one.get_shape()) for key, one in slices.items()}
        self._dtypes = {key: one.get_dtype() for key, one in slices.items()}
    except (OSError, SafetensorError) as error:
      reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).split("\n")[0]
      raise UserError(f"{path} can't be read as safetensors, it is damaged or incomplete: {reason}") from None
    # The library has found that the tensors are the rest of the file, to the byte.
    self._check_contents()

  def _read(self, key: str) -> np.ndarray:
    try:
      with safe_open(self._local, "np") as file:
        return file.get_tensor(key)
    except (OSError, SafetensorError):
      raise UserError(f"{self.path}: {key} can't be read any more, the file has changed") from None


def open_files(path: str) -> dict[str, SafetensorsFile]:
  """The file that each tensor is in.

  Args:
    path: a `.safetensors` file, or an index of several that lie beside it.

  Raises:
    UserError: a file is missing or damaged, or the index names something outside its directory or a tensor that is not
      where it should be.
  """
  if not path.endswith(INDEX_SUFFIX):
    file = SafetensorsFile(path)
    return dict.fromkeys(file.shapes, file)
  index = json_files.read(path)
  weight_map = index.get("weight_map") if isinstance(index, dict) else None
  if not isinstance(weight_map, dict) or not weight_map:
    raise UserError(f"{path} is no index of safetensors: there is no \"weight_map\" in it")
  shards = {}
  for name in weight_map.values():
    if not isinstance(name, str) or os.path.basename(name) != name or not name.endswith(".safetensors"):
      raise UserError(f"{path} names {name!r}: the names of .safetensors files in the same directory are expected")
    if name not in shards:
      shard = os.path.join(os.path.dirname(path), name)
      if not files.exists(shard):
        raise UserError(f"{shard} is missing: {os.path.basename(path)} names it")
      shards[name] = SafetensorsFile(shard)
  for key, name in weight_map.items():
    if key not in shards[name].shapes:
      raise UserError(f"{path} says that {key!r} is in {name}, but it is not")
  return {key: shards[name] for key, name in weight_map.items()}


def write_file(path: str, tensors: Mapping[str, np.ndarray]) -> None:
  """Writes a `.safetensors` file as PyTorch's programs expect it.

  Raises:
    OSError: it can't be written.
  """
  tensors = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
  metadata = {"format": "pt"}
  if files.is_remote(path):
    with files.open_file(path, "wb") as file:
      file.write(save(tensors, metadata=metadata))
    return
  try:
    # Without a copy of all tensors in memory, which `save` makes.
    save_file(tensors, path, metadata=metadata)
    os.chmod(path, 0o666 & ~files.current_umask())
  except SafetensorError as error:
    raise OSError(str(error)) from None

"""The files of features: the original's JSON lines, or an .npz that grows on disk only.

Input: vectors of lines that follow each other, which `bert_tf/inference/features.py` computes. Output: a file that
appears when it is complete.

Letters: E lines, T tokens, H hidden.
"""

import contextlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from bert_common import files
from data_gen.tokenization.vocabulary import Vocabulary

# Writes some lines: number of the first of them, from 0; int32 [T] their token ids, [CLS] and [SEP] included; int64 [E]
# tokens of each line; layer number → float32 [T, H], or [E, H] where a line has one vector.
Write: TypeAlias = Callable[[int, np.ndarray, np.ndarray, Mapping[int, np.ndarray]], None]


@contextlib.contextmanager
def json_writer(path: str, pooled: bool, vocabulary: Vocabulary) -> Iterator[Write]:
  """One line of JSON for each line of the input.

  Args:
    pooled: one vector per line instead of one per token.

  Raises:
    UserError: the disk is full, or the place can't be written.
  """
  def vectors_at(layers: Mapping[int, np.ndarray], place: int) -> list[dict]:
    # Rounded as doubles, as in the original: rounded as float32 they would be printed with all their digits again.
    return [{"index": index, "values": np.round(values[place].astype(np.float64), 6).tolist()}
            for index, values in layers.items()]

  def write(first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]) -> None:
    ends = np.cumsum(row_lengths)
    for row, (length, end) in enumerate(zip(row_lengths.tolist(), ends.tolist(), strict=True)):
      found = {"layers": vectors_at(layers, row)} if pooled else {"features": [
          {"token": vocabulary.tokens[input_ids[position]], "layers": vectors_at(layers, position)}
          for position in range(end - length, end)]}
      file.write(json.dumps({"linex_index": first + row, **found}) + "\n")

  with files.atomic_write(path) as file:
    yield write


@contextlib.contextmanager
def npz_writer(path: str, pooled: bool, layers: tuple[int, ...], hidden_size: int) -> Iterator[Write]:
  """Arrays: `layer_<number>`, `row_lengths` and, without pooling, `input_ids`; see `json_writer`.

  They are files without names until their lengths are known, which an .npy begins with.
  """
  # Member → (its dtype, the shape of one row).
  members = {f"layer_{index}": (np.dtype(np.float32), (hidden_size,)) for index in layers}
  members |= {"row_lengths": (np.dtype(np.int64), ()), **({} if pooled else {"input_ids": (np.dtype(np.int32), ())})}

  def write(first: int, input_ids: np.ndarray, row_lengths: np.ndarray, layers: Mapping[int, np.ndarray]) -> None:
    arrays = {f"layer_{index}": values for index, values in layers.items()}
    arrays |= {"row_lengths": row_lengths, "input_ids": input_ids}
    for name, (dtype, _) in members.items():
      contents[name].write(np.ascontiguousarray(arrays[name], dtype).data)

  with files.atomic_write(path, "wb") as file, contextlib.ExitStack() as stack:
    # Beside the output, where there is space for it; what is written over a network is collected on this machine.
    is_elsewhere = files.is_remote(path) or files.is_special(path)
    directory = None if is_elsewhere else os.path.dirname(os.path.abspath(path))
    contents = {name: stack.enter_context(tempfile.TemporaryFile(dir=directory)) for name in members}
    yield write
    # Copied into the archive one by one, giving back the space of each.
    with zipfile.ZipFile(file, "w") as archive:
      for name, (dtype, row_shape) in members.items():
        content = contents[name]
        rows = content.tell() // (dtype.itemsize * int(np.prod(row_shape, dtype=np.int64)))
        content.seek(0)
        with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
          np.lib.format.write_array_header_1_0(
              member, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False,
                       "shape": (rows, *row_shape)})
          shutil.copyfileobj(content, member, 1 << 20)
        content.truncate(0)

"""The files of feature extraction: lines in; the original's JSON lines out, or an .npz that grows on disk only.

Input: a file with a text or a pair a line. Output: the vectors that `bert_tf/inference/features.py` computes of them.

Letters: E lines, T tokens, H hidden.
"""

import contextlib
import dataclasses
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO

import numpy as np

from bert_common import files, gzipped
from bert_common.errors import UserError
from bert_common.parallel import portions
from data_gen.labelled.tables import decoded_lines
from data_gen.tokenization.vocabulary import Vocabulary

# Lines read and sorted by length together; fewer where they are long.
_LINES_AT_ONCE = 4096
_CHARACTERS_AT_ONCE = 1 << 24
_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")


@contextlib.contextmanager
def open_input(path: str) -> Iterator[tuple[IO[bytes], int | None]]:
  """A file, or standard input for "-", and its size in bytes; None where that is not known."""
  if path == "-":
    yield sys.stdin.buffer, None
    return
  with contextlib.ExitStack() as stack:
    try:
      # A pipe has no size.
      size = files.file_size(path) or None
      stored, file = stack.enter_context(gzipped.open_unzipped(path))
    except OSError as error:
      raise UserError(f"--input_file: can't read {path}: {error.strerror}") from None
    yield file, size if file is stored else None


def read_chunks(file: IO[bytes], path: str) -> Iterator[tuple[list[str], list[str], int]]:
  """Chunks of some thousand lines: first texts, second texts ("" where there is none) and the number of bytes.

  Raises:
    UserError: it can't be read, or a line is not UTF-8 or too long.
  """
  lines = (line.rstrip("\r\n") for _, line in decoded_lines(file, "standard input" if path == "-" else path))
  for chunk in portions(lines, lambda line: max(len(line), _CHARACTERS_AT_ONCE // _LINES_AT_ONCE), _CHARACTERS_AT_ONCE):
    pairs = []
    for line in chunk:
      pair = _PAIR.match(line.strip())
      pairs.append(pair.groups() if pair else (line.strip(), ""))
    text_a, text_b = map(list, zip(*pairs, strict=True))
    yield text_a, text_b, sum(len(line.encode()) + 1 for line in chunk)


@dataclasses.dataclass(frozen=True)
class FeatureChunk:
  """Features of some lines that follow each other.

  Attributes:
    first: number of the first of them, from 0.
    input_ids: int32 [T], [CLS] and [SEP] included.
    row_lengths: int64 [E], tokens of each line.
    layers: layer number → float32 [T, H], or [E, H] where a line has one vector.
  """

  first: int
  input_ids: np.ndarray
  row_lengths: np.ndarray
  layers: Mapping[int, np.ndarray]


@contextlib.contextmanager
def feature_writer(path: str, layers: tuple[int, ...], hidden_size: int, pooled: bool,
                   vocabulary: Vocabulary) -> Iterator["_JsonWriter | _NpzWriter"]:
  """A file of features, which appears when it is complete.

  Args:
    path: .npz for arrays, any other name for JSON lines.
    pooled: one vector a line instead of one a token.

  Raises:
    UserError: the disk is full, or the place can't be written.
  """
  if path.endswith(".npz"):
    with files.atomic_write(path, "wb") as file, contextlib.ExitStack() as stack:
      # Beside the output, where there is room for it; what is written over a network is collected on this machine.
      is_elsewhere = files.is_remote(path) or files.is_special(path)
      directory = None if is_elsewhere else os.path.dirname(os.path.abspath(path))
      writer = _NpzWriter(stack, directory, layers, hidden_size, pooled)
      yield writer
      writer.finish(file)
  else:
    with files.atomic_write(path) as file:
      yield _JsonWriter(file, pooled, vocabulary)


class _JsonWriter:
  """One line of JSON for each line of the input."""

  def __init__(self, file: IO[str], pooled: bool, vocabulary: Vocabulary):
    self._file = file
    self._pooled = pooled
    self._tokens = vocabulary.tokens

  def write(self, chunk: FeatureChunk) -> None:
    ends = np.cumsum(chunk.row_lengths)
    for row, (length, end) in enumerate(zip(chunk.row_lengths.tolist(), ends.tolist(), strict=True)):
      line = {"linex_index": chunk.first + row}
      if self._pooled:
        line["layers"] = _layers({index: values[row] for index, values in chunk.layers.items()})
      else:
        line["features"] = [
            {"token": self._tokens[chunk.input_ids[position]],
             "layers": _layers({index: values[position] for index, values in chunk.layers.items()})}
            for position in range(end - length, end)]
      self._file.write(json.dumps(line) + "\n")


def _layers(vectors: Mapping[int, np.ndarray]) -> list[dict]:
  # Rounded as doubles, as in the original: rounded as float32 they would be printed with all their digits again.
  return [{"index": index, "values": np.round(vector.astype(np.float64), 6).tolist()}
          for index, vector in vectors.items()]


class _NpzWriter:
  """An .npz, whose members are files without names until their lengths are known, which an .npy begins with."""

  def __init__(self, stack: contextlib.ExitStack, directory: str | None, layers: tuple[int, ...],
               hidden_size: int, pooled: bool):
    self._pooled = pooled
    # Member → (its dtype, the shape of one row).
    self._members = {f"layer_{index}": (np.dtype(np.float32), (hidden_size,)) for index in layers}
    self._members["row_lengths"] = (np.dtype(np.int64), ())
    if not pooled:
      self._members["input_ids"] = (np.dtype(np.int32), ())
    self._files = {name: stack.enter_context(tempfile.TemporaryFile(dir=directory)) for name in self._members}

  def write(self, chunk: FeatureChunk) -> None:
    arrays = {f"layer_{index}": values for index, values in chunk.layers.items()}
    arrays["row_lengths"] = chunk.row_lengths
    if not self._pooled:
      arrays["input_ids"] = chunk.input_ids
    for name, values in arrays.items():
      dtype, _ = self._members[name]
      self._files[name].write(np.ascontiguousarray(values, dtype).data)

  def finish(self, file: IO[bytes]) -> None:
    """Copies the members into the archive, one by one, giving back the space of each."""
    with zipfile.ZipFile(file, "w") as archive:
      for name, (dtype, row_shape) in self._members.items():
        content = self._files[name]
        rows = content.tell() // (dtype.itemsize * int(np.prod(row_shape, dtype=np.int64)))
        content.seek(0)
        with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
          np.lib.format.write_array_header_1_0(
              member, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False,
                       "shape": (rows, *row_shape)})
          shutil.copyfileobj(content, member, 1 << 20)
        content.truncate(0)

"""The pre-training records: the one file that knows their schema, writes it and reads it.

Before this come `data_gen/instances.py` and `data_gen/masking.py`, which make the arrays that are written here;
after it comes `training/`, which parses the records with `parse_spec`.

A record is a `tf.train.Example` in a TFRecord file. For speed both are produced here with numpy, thousands of
records at a time, and without TensorFlow: a record costs a few microseconds, where building a `tf.train.Example`
costs more than a hundred. The bytes are ordinary ones, any TFRecord reader takes them.

    TFRecord file:  { uint64 length, uint32 masked_crc32c(length), payload, uint32 masked_crc32c(payload) } ...
    payload:        Example { features: 1 { feature: 1 { key: 1 "input_ids", value: 2 { int64_list: 3 { value: 1
                    packed varints }}}}}, where masked_lm_weights is a float_list (2) instead
"""

import dataclasses
import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from typing import IO

import google_crc32c
import numpy as np

from common.errors import UserError

# Feature → (its length, its type). Shapes are [length]; next_sentence_labels is 1 where segment B is a random one.
FEATURES = {
    "input_ids": ("max_seq_length", np.int64),
    "input_mask": ("max_seq_length", np.int64),
    "segment_ids": ("max_seq_length", np.int64),
    "masked_lm_positions": ("max_predictions_per_seq", np.int64),
    "masked_lm_ids": ("max_predictions_per_seq", np.int64),
    "masked_lm_weights": ("max_predictions_per_seq", np.float32),
    "next_sentence_labels": (1, np.int64),
}

# The names that the Model Garden's `--use_v2_feature_names` writes instead.
V2_NAMES = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}

_LENGTH = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_HEADER_BYTES = _LENGTH.size + _CRC.size
# A record longer than this is taken for a file of another kind: 512 tokens need about 4 kB.
_LONGEST_RECORD = 64 << 20


@dataclasses.dataclass(frozen=True)
class RecordFacts:
  """What the first record of a file tells about all of them."""

  feature_names: tuple[str, ...]
  max_seq_length: int
  max_predictions_per_seq: int
  largest_id: int
  v2_feature_names: bool


def feature_length(name: str, max_seq_length: int, max_predictions_per_seq: int) -> int:
  """Number of values of a feature (name of the original schema)."""
  length = FEATURES[name][0]
  return {"max_seq_length": max_seq_length, "max_predictions_per_seq": max_predictions_per_seq}.get(length, length)


def parse_spec(max_seq_length: int, max_predictions_per_seq: int, v2_feature_names: bool = False) -> dict:
  """Name → `tf.io.FixedLenFeature`, for `tf.io.parse_example` on a batch of serialized records.

  The keys are the names in the file: with `v2_feature_names` those of the Model Garden.
  """
  import tensorflow as tf

  return {
      V2_NAMES.get(name, name) if v2_feature_names else name: tf.io.FixedLenFeature(
          [feature_length(name, max_seq_length, max_predictions_per_seq)],
          tf.float32 if dtype == np.float32 else tf.int64)
      for name, (_, dtype) in FEATURES.items()}


# ---------------------------------------------------------------------------------------------------- writing


class RecordWriter:
  """Turns arrays of instances into the bytes of a TFRecord file.

  Args:
    max_seq_length: S.
    max_predictions_per_seq: P.
    vocab_size: ids are below it.
  """

  def __init__(self, max_seq_length: int, max_predictions_per_seq: int, vocab_size: int):
    self._sequence = max_seq_length
    self._predictions = max_predictions_per_seq
    self._varints = _varint_table(max(vocab_size, max_seq_length, 2))
    self._keys = {name: _delimited(1, name.encode()) for name in FEATURES}

  def encode(self, input_ids: np.ndarray, length: np.ndarray, segment_b_start: np.ndarray,
             masked_lm_positions: np.ndarray, masked_lm_ids: np.ndarray, masked_count: np.ndarray,
             next_sentence_labels: np.ndarray) -> bytes:
    """Serializes B instances.

    Args:
      input_ids: integers [B, S], 0 behind `length`.
      length: [B], number of real tokens.
      segment_b_start: [B], first position of segment 1 (equal to `length` where there is none).
      masked_lm_positions: integers [B, P], sorted, 0 behind `masked_count`.
      masked_lm_ids: integers [B, P], 0 behind `masked_count`.
      masked_count: [B].
      next_sentence_labels: [B], 0 or 1.

    Returns:
      The framed records, one after the other.
    """
    column = np.arange(self._sequence, dtype=np.int32)
    real = column < length[:, None]
    slot = np.arange(self._predictions, dtype=np.int32)
    weights = (slot < masked_count[:, None]).astype("<f4")
    parts = [
        self._int64s("input_ids", input_ids),
        self._bytes("input_mask", real.view(np.uint8)),
        self._bytes("segment_ids", (real & (column >= segment_b_start[:, None])).view(np.uint8)),
        self._int64s("masked_lm_positions", masked_lm_positions),
        self._int64s("masked_lm_ids", masked_lm_ids),
        self._floats("masked_lm_weights", weights),
        self._bytes("next_sentence_labels", next_sentence_labels.astype(np.uint8)[:, None]),
    ]
    return _frame(parts)

  def _int64s(self, name: str, values: np.ndarray) -> "_Part":
    """[B, n] values of one to four bytes each."""
    packed, keep = (table.take(values).view(np.uint8).reshape(len(values), -1) for table in self._varints)
    payload_bytes = keep.sum(1, dtype=np.int32)
    return _Part.headed(self._keys[name], 3, packed, keep.view(bool), payload_bytes)

  def _bytes(self, name: str, values: np.ndarray) -> "_Part":
    """[B, n] values below 128: each is its own varint."""
    return _Part.headed(self._keys[name], 3, values, None, np.full(len(values), values.shape[1], np.int32))

  def _floats(self, name: str, values: np.ndarray) -> "_Part":
    raw = values.view(np.uint8).reshape(len(values), -1)
    return _Part.headed(self._keys[name], 2, raw, None, np.full(len(values), raw.shape[1], np.int32))


@dataclasses.dataclass
class _Part:
  """Some bytes of every record: a rectangle [B, width] of which each row uses the bytes marked in `keep`."""

  data: np.ndarray  # uint8 [B, width]
  keep: np.ndarray  # bool [B, width]
  size: np.ndarray  # int32 [B], number of kept bytes

  @classmethod
  def headed(cls, key: bytes, list_field: int, payload: np.ndarray, keep: np.ndarray | None,
             payload_bytes: np.ndarray) -> "_Part":
    """One entry of the feature map: key, and a list whose packed values are `payload`."""
    sizes, which = np.unique(payload_bytes, return_inverse=True)
    heads = [_feature_head(key, list_field, int(size)) for size in sizes]
    width = max(map(len, heads))
    batch = len(payload)
    data = np.empty((batch, width + payload.shape[1]), np.uint8)
    kept = np.ones(data.shape, bool)
    head_sizes = np.array([len(head) for head in heads], np.int32)[which]
    data[:, :width] = np.frombuffer(b"".join(head.ljust(width) for head in heads), np.uint8).reshape(-1, width)[which]
    if len(heads) > 1:
      kept[:, :width] = np.arange(width) < head_sizes[:, None]
    data[:, width:] = payload
    if keep is not None:
      kept[:, width:] = keep
    return cls(data, kept, head_sizes + payload_bytes)


def _feature_head(key: bytes, list_field: int, payload_bytes: int) -> bytes:
  """What stands before the packed values of a feature; every length in it counts what follows."""
  values = b"\x0a" + _varint(payload_bytes)
  values_list = bytes([list_field << 3 | 2]) + _varint(len(values) + payload_bytes) + values
  feature = b"\x12" + _varint(len(values_list) + payload_bytes) + values_list
  entry = key + feature
  return b"\x0a" + _varint(len(entry) + payload_bytes) + entry


def _frame(parts: list[_Part]) -> bytes:
  """Puts the parts of each record together, with the Example around them and the TFRecord framing around that."""
  body_bytes = sum(part.size for part in parts)
  sizes, which = np.unique(body_bytes, return_inverse=True)
  heads = []
  for size in sizes:
    example = b"\x0a" + _varint(int(size))
    length = _LENGTH.pack(len(example) + int(size))
    heads.append(length + _masked_crc(length) + example)
  width = max(map(len, heads))
  head = np.frombuffer(b"".join(head.ljust(width) for head in heads), np.uint8).reshape(-1, width)[which]
  head_sizes = np.array([len(head) for head in heads], np.int32)[which]
  batch = len(body_bytes)
  crc = np.zeros((batch, _CRC.size), np.uint8)
  data = np.concatenate([head, *(part.data for part in parts), crc], axis=1)
  keep = np.concatenate([np.arange(width) < head_sizes[:, None], *(part.keep for part in parts),
                         np.ones(crc.shape, bool)], axis=1)
  flat = data[keep]
  ends = np.cumsum(head_sizes + body_bytes + _CRC.size)
  payload = memoryview(flat)
  begin = 0
  checksums = []
  for end in ends.tolist():
    checksums.append(google_crc32c.value(bytes(payload[begin + _HEADER_BYTES:end - _CRC.size])))
    begin = end
  masked = _mask(np.array(checksums, np.uint32)).astype("<u4").view(np.uint8).reshape(-1, _CRC.size)
  flat[ends[:, None] - _CRC.size + np.arange(_CRC.size)] = masked
  return flat.tobytes()


def _varint(value: int) -> bytes:
  out = bytearray()
  while value > 127:
    out.append(value & 127 | 128)
    value >>= 7
  out.append(value)
  return bytes(out)


def _delimited(field: int, data: bytes) -> bytes:
  return bytes([field << 3 | 2]) + _varint(len(data)) + data


def _varint_table(size: int) -> tuple[np.ndarray, np.ndarray]:
  """For each value below `size` its varint in four bytes, and which of the four belong to it; both uint32 [size]."""
  if size > 1 << 28:
    raise ValueError(f"ids of more than 28 bits are not supported: {size}")
  value = np.arange(size, dtype=np.uint32)
  digits = np.stack([value >> shift & 127 for shift in (0, 7, 14, 21)], axis=1).astype(np.uint8)
  keep = np.stack([value >= 0, value >= 1 << 7, value >= 1 << 14, value >= 1 << 21], axis=1)
  digits[:, :3] |= keep[:, 1:].astype(np.uint8) << 7
  return digits.view(np.uint32)[:, 0].copy(), keep.view(np.uint32)[:, 0].copy()


def _mask(crc: np.ndarray | int) -> np.ndarray | int:
  """The rotation and constant that TFRecord adds, so that a CRC of bytes that hold CRCs stays meaningful."""
  if isinstance(crc, int):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
  return (crc >> np.uint32(15) | crc << np.uint32(17)) + np.uint32(0xA282EAD8)


def _masked_crc(data: bytes) -> bytes:
  return _CRC.pack(_mask(google_crc32c.value(data)))


# ---------------------------------------------------------------------------------------------------- reading


def read_records(path: str) -> Iterator[bytes]:
  """Payloads of the records of a file, plain or gzipped (seen by content), both checksums verified.

  Raises:
    UserError: names the file and the number of the record (from 1) that is truncated, damaged, or not a TFRecord.
  """
  with _open(path) as file:
    number = 0
    while header := _read(file, _HEADER_BYTES, path, number + 1):
      number += 1
      length = _checked_length(header, path, number)
      body = _read(file, length + _CRC.size, path, number)
      if len(header) < _HEADER_BYTES or len(body) < length + _CRC.size:
        raise _truncated(path, number)
      if body[length:] != _masked_crc(body[:length]):
        raise UserError(f"{path}: record {number} is damaged (wrong checksum): write the file again")
      yield body[:length]


def parse_example(payload: bytes) -> dict[str, np.ndarray]:
  """Features of a serialized `tf.train.Example`: int64 or float32 arrays, or lists of bytes as object arrays.

  Raises:
    ValueError: not a serialized Example.
  """
  features: dict[str, np.ndarray] = {}
  for field, example in _fields(payload):
    for entry_field, entry in _fields(example) if field == 1 else ():
      parts = dict(_fields(entry)) if entry_field == 1 else {}
      if 1 in parts:
        features[bytes(parts[1]).decode()] = _parse_values(parts.get(2, b""))
  return features


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
  """The records of a file as arrays under the names of the original schema.

  Raises:
    UserError: as `read_records`; or a record is not an Example of pre-training.
  """
  for number, payload in enumerate(read_records(path), 1):
    features = _parse_record(payload, path, number)
    yield {name: features[V2_NAMES.get(name, name) if _is_v2(features) else name] for name in FEATURES}


def inspect_first_record(path: str) -> RecordFacts:
  """Sizes and names found in the first record of a file.

  Raises:
    UserError: as `read_examples`; or the file is empty.
  """
  payload = next(read_records(path), None)
  if payload is None:
    raise UserError(f"{path} is empty: it holds no record")
  features = _parse_record(payload, path, 1)
  v2 = _is_v2(features)
  named = {name: features[V2_NAMES.get(name, name) if v2 else name] for name in FEATURES}
  largest = max(int(named[name].max(initial=0)) for name in ("input_ids", "masked_lm_ids"))
  return RecordFacts(
      feature_names=tuple(sorted(features)), max_seq_length=len(named["input_ids"]),
      max_predictions_per_seq=len(named["masked_lm_ids"]), largest_id=largest, v2_feature_names=v2)


def count_records(path: str) -> int:
  """Number of records of a file, from the framing alone (the payloads are skipped, not verified).

  Raises:
    UserError: names the record inside which the file ends, or which is damaged.
  """
  number = 0
  with _open(path) as file:
    size = None if isinstance(file, gzip.GzipFile) else os.fstat(file.fileno()).st_size
    end = 0
    while header := _read(file, _HEADER_BYTES, path, number + 1):
      number += 1
      length = _checked_length(header, path, number)
      end += _HEADER_BYTES + length + _CRC.size
      if size is None:
        complete = len(_read(file, length + _CRC.size, path, number)) == length + _CRC.size
      else:
        complete = end <= size
        file.seek(end)
      if len(header) < _HEADER_BYTES or not complete:
        raise _truncated(path, number)
  return number


def _open(path: str) -> IO[bytes]:
  try:
    with open(path, "rb") as file:
      zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else open(path, "rb")
  except OSError as error:
    raise UserError(f"can't read {path}: {error.strerror}") from None


def _read(file: IO[bytes], size: int, path: str, number: int) -> bytes:
  try:
    return file.read(size)
  except EOFError:
    raise _truncated(path, number) from None
  except (OSError, zlib.error) as error:
    raise UserError(f"{path}: record {number} can't be read: {error}") from None


def _checked_length(header: bytes, path: str, number: int) -> int:
  if len(header) < _HEADER_BYTES:
    raise _truncated(path, number)
  length = _LENGTH.unpack_from(header)[0]
  if header[_LENGTH.size:] != _masked_crc(header[:_LENGTH.size]) or length > _LONGEST_RECORD:
    what = "it is not a TFRecord file" if number == 1 else f"record {number} is damaged (wrong checksum of its length)"
    raise UserError(f"{path}: {what}: write it again with data_gen/create_pretraining_data.py")
  return length


def _truncated(path: str, number: int) -> UserError:
  return UserError(f"{path}: the file ends inside record {number}: it was cut off; write or copy it again")


def _is_v2(features: dict[str, np.ndarray]) -> bool:
  return "input_ids" not in features


def _parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  try:
    features = parse_example(payload)
  except (ValueError, IndexError):
    raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
  names = [V2_NAMES.get(name, name) if _is_v2(features) else name for name in FEATURES]
  missing = [name for name in names if name not in features]
  if missing:
    raise UserError(f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
                    f"{', '.join(sorted(features)) or 'none'}): it is not a pre-training record")
  return features


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
  """Fields of a protocol buffer message: (number, bytes or varint)."""
  position = 0
  while position < len(data):
    tag, position = _read_varint(data, position)
    kind = tag & 7
    if kind == 0:
      value, position = _read_varint(data, position)
    else:
      size, position = (4, position) if kind == 5 else (8, position) if kind == 1 else _read_varint(data, position)
      if kind not in (1, 2, 5) or position + size > len(data):
        raise ValueError("not a protocol buffer message")
      value, position = data[position:position + size], position + size
    yield tag >> 3, value


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
  value = shift = 0
  while True:
    byte = data[position]
    value |= (byte & 127) << shift
    position += 1
    if byte < 128:
      return value, position
    shift += 7


def _parse_values(feature: bytes) -> np.ndarray:
  """The values of a Feature, packed or one by one."""
  for kind, values in _fields(feature):
    fields = [value for field, value in _fields(values) if field == 1]
    if kind == 2:
      return np.frombuffer(b"".join(fields), "<f4")
    if kind == 3:
      return np.concatenate([np.empty(0, np.int64), *map(_parse_int64s, fields)])
    return np.array(fields, object)
  return np.empty(0, np.int64)


def _parse_int64s(field: bytes | int) -> np.ndarray:
  """One value, or a packed run of varints."""
  if isinstance(field, int):
    return np.array([field], np.uint64).view(np.int64)
  data = np.frombuffer(field, np.uint8)
  ends = np.flatnonzero(data < 128)
  if not len(ends):
    return np.empty(0, np.int64)
  starts = np.concatenate([[0], ends[:-1] + 1])
  value_of_byte = np.repeat(np.arange(len(ends)), ends - starts + 1)
  shift = (7 * (np.arange(ends[-1] + 1) - starts[value_of_byte])).astype(np.uint64)
  shifted = (data[:ends[-1] + 1] & 127).astype(np.uint64) << shift
  return np.add.reduceat(shifted, starts).view(np.int64)

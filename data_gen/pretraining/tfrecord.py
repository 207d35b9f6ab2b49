"""TFRecord files and serialized `tf.train.Example`s, read and framed without TensorFlow.

    TFRecord file:  { uint64 length, uint32 masked_crc32c(length), payload, uint32 masked_crc32c(payload) } ...
    payload:        Example { features: 1 { feature: 1 { key: 1 "input_ids", value: 2 { int64_list: 3 { value: 1
                    packed varints }}}}}, where a bytes_list is field 1 and a float_list field 2

Files may be gzipped, and on any file system TensorFlow knows. `records.py` says which features there are.
"""

import struct
from collections.abc import Iterator
from typing import Any

import google_crc32c
import numpy as np

from bert_common import files
from bert_common.errors import UserError

LENGTH = struct.Struct("<Q")
CRC = struct.Struct("<I")
HEADER_BYTES = LENGTH.size + CRC.size
# A record longer than this is taken for a file of another kind: 512 tokens need about 4 kB.
_LONGEST_RECORD = 64 << 20


def varint(value: int) -> bytes:
  """A number of 0 or more as protocol buffers write it."""
  out = bytearray()
  while value > 127:
    out.append(value & 127 | 128)
    value >>= 7
  out.append(value)
  return bytes(out)


def delimited(field: int, data: bytes) -> bytes:
  """A field of a message that holds bytes, a string or another message."""
  return bytes([field << 3 | 2]) + varint(len(data)) + data


def mask_crc(crc):
  """The rotation and constant that TFRecord adds, so that a CRC of bytes that hold CRCs stays meaningful; int or array
  of uint32."""
  return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: bytes) -> bytes:
  """The checksum of `data` as it stands in the file, 4 bytes."""
  return CRC.pack(mask_crc(google_crc32c.value(data)))


def record_header(payload_bytes: int) -> bytes:
  """The 12 bytes before a payload of this size."""
  length = LENGTH.pack(payload_bytes)
  return length + masked_crc(length)


def read_records(path: str) -> Iterator[bytes]:
  """Payloads of the records of a file, plain or gzipped (seen by content), both checksums verified.

  Raises:
    UserError: names the file and the number of the record (from 1) that is truncated, damaged, or not a TFRecord.
  """
  with files.faults_named(path), files.open_unzipped(path) as (_, file):
    number = 0
    while header := file.read(HEADER_BYTES):
      number += 1
      length = _checked_length(header, path, number)
      body = file.read(length + CRC.size)
      if len(body) < length + CRC.size:
        raise _truncated(path, number)
      if body[length:] != masked_crc(body[:length]):
        raise UserError(f"{path}: record {number} is damaged (wrong checksum): write the file again")
      yield body[:length]


def count_records(path: str) -> int:
  """Number of records of a file, from the framing alone (the payloads are skipped, not verified).

  Raises:
    UserError: names the record inside which the file ends, or which is damaged.
  """
  number = end = 0
  with files.faults_named(path), files.open_unzipped(path) as (raw, file):
    size = files.file_size(path) if file is raw else None
    while header := file.read(HEADER_BYTES):
      number += 1
      body = _checked_length(header, path, number) + CRC.size
      end += HEADER_BYTES + body
      if (len(file.read(body)) < body) if size is None else (end > size):
        raise _truncated(path, number)
      if size is not None:
        file.seek(end)
  return number


def _checked_length(header: bytes, path: str, number: int) -> int:
  if len(header) < HEADER_BYTES:
    raise _truncated(path, number)
  length = LENGTH.unpack_from(header)[0]
  if header[LENGTH.size:] != masked_crc(header[:LENGTH.size]) or length > _LONGEST_RECORD:
    what = "it is not a TFRecord file" if number == 1 else f"record {number} is damaged (wrong checksum of its length)"
    raise UserError(f"{path}: {what}: write it again with data_gen/create_pretraining_data.py")
  return length


def _truncated(path: str, number: int) -> UserError:
  return UserError(f"{path}: the file ends inside record {number}: it was cut off; write or copy it again")


def parse_example(payload: bytes) -> dict[str, np.ndarray]:
  """Features of a serialized `tf.train.Example`: int64 or float32 arrays, or lists of bytes as object arrays.

  Raises:
    ValueError: not a serialized Example.
  """
  features: dict[str, np.ndarray] = {}
  try:
    for field, example in _fields(payload):
      for entry_field, entry in _fields(example) if field == 1 else ():
        parts = dict(_fields(entry)) if entry_field == 1 else {}
        if 1 in parts:
          features[parts[1].decode()] = _parse_values(parts.get(2, b""))
  except (TypeError, AttributeError, IndexError) as error:
    # A number where bytes should be, or the end too early.
    raise ValueError("not a protocol buffer message") from error
  return features


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
  """Fields of a protocol buffer message: (number, bytes or varint)."""
  position = 0
  while position < len(data):
    tag, position = _read_varint(data, position)
    kind = tag & 7
    if kind == 0:
      value, position = _read_varint(data, position)
      yield tag >> 3, value
      continue
    size, position = (4, position) if kind == 5 else (8, position) if kind == 1 else _read_varint(data, position)
    if kind not in (1, 2, 5) or position + size > len(data):
      raise ValueError("not a protocol buffer message")
    yield tag >> 3, data[position:position + size]
    position += size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
  value = shift = 0
  while True:
    byte = data[position]
    value |= (byte & 127) << shift
    position += 1
    if byte < 128:
      return value, position
    shift += 7
    if shift >= 70:
      raise ValueError("not a protocol buffer message")


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
  """One value, or packed varints."""
  if isinstance(field, int):
    return np.array([field & 0xFFFFFFFFFFFFFFFF], np.uint64).view(np.int64)
  data = np.frombuffer(field, np.uint8)
  ends = np.flatnonzero(data < 128)
  if not len(ends):
    return np.empty(0, np.int64)
  starts = np.concatenate([[0], ends[:-1] + 1])
  value_of_byte = np.repeat(np.arange(len(ends)), ends - starts + 1)
  shift = (7 * (np.arange(ends[-1] + 1) - starts[value_of_byte])).astype(np.uint64)
  shifted = (data[:ends[-1] + 1] & 127).astype(np.uint64) << shift
  return np.add.reduceat(shifted, starts).view(np.int64)

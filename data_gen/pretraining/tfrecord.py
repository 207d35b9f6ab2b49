"""TFRecord files and serialized `tf.train.Example`s, read and framed without TensorFlow.

    TFRecord file:  { uint64 length, uint32 masked_crc32c(length), payload, uint32 masked_crc32c(payload) } ...
    payload:        Example { features: 1 { feature: 1 { key: 1 "input_ids", value: 2 { int64_list: 3 { value: 1
                    packed varints }}}}}, where a bytes_list is field 1 and a float_list field 2

Files may be gzipped, and on any file system TensorFlow knows. `records.py` says which features there are.
"""

import functools
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
  from google.protobuf.message import DecodeError

  try:
    example = _example_type().FromString(payload)
  except DecodeError as error:
    raise ValueError("not a serialized tf.train.Example") from error
  features: dict[str, np.ndarray] = {}
  for entry in example.features.feature:
    kind = next((kind for kind in _LISTS if entry.value.HasField(kind)), "int64_list")
    features[entry.key] = np.array(getattr(entry.value, kind).value, _LISTS[kind][1])
  return features


# Kind of values of a feature → their types, of protocol buffers and of numpy.
_LISTS = {"bytes_list": ("BYTES", object), "float_list": ("FLOAT", np.float32), "int64_list": ("INT64", np.int64)}


@functools.cache
def _example_type() -> Any:
  """The class of `tf.train.Example`, whose import from TensorFlow takes seconds; its map is a list of entries here."""
  from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

  file = descriptor_pb2.FileDescriptorProto(name="example.proto", syntax="proto3")
  field = descriptor_pb2.FieldDescriptorProto
  # Message → its fields in the order of their numbers, * repeated; a field that is a message is called as that is.
  for message, fields in {
      "Example": ["features"], "features": ["*feature"], "feature": ["key", "value"], "value": [*_LISTS],
      **{kind: ["*value"] for kind in _LISTS}}.items():
    described = file.message_type.add(name=message)
    for number, name in enumerate(fields, 1):
      kind = _LISTS[message][0] if message in _LISTS else "STRING" if name == "key" else "MESSAGE"
      described.field.add(
          name=name.removeprefix("*"), number=number, type=field.Type.Value(f"TYPE_{kind}"),
          label=field.LABEL_REPEATED if name.startswith("*") else field.LABEL_OPTIONAL,
          type_name=name.removeprefix("*") if kind == "MESSAGE" else None)
  pool = descriptor_pool.DescriptorPool()
  pool.Add(file)
  return message_factory.GetMessageClass(pool.FindMessageTypeByName("Example"))

"""Pre-training records and their files, read without TensorFlow: to look at them, to check them, to
count them.

    TFRecord file:  { uint64 length, uint32 masked_crc32c(length), payload, uint32
    masked_crc32c(payload) } ... payload:        Example { features: 1 { feature: 1 { key: 1
    "input_ids", value: 2 { int64_list: 3 { value: 1
                    packed varints }}}}}, where a bytes_list is field 1 and a float_list field 2

Input: TFRecord files in one of the schemas of `schema.py`, gzipped or not, on any file system
TensorFlow knows; by patterns as `--input_file` has them. Output: the files of whole sets, and
features as arrays. Training parses records in a graph, see `bert_tf/tasks/pretraining/data.py`.
"""

import dataclasses
import functools
import glob
import os
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import google_crc32c
import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.pretraining.schema import (
    MASK_FEATURES,
    PACKED_FEATURES,
    V2_NAMES,
    Schema,
    expected_features,
)

LENGTH = struct.Struct("<Q")
CRC = struct.Struct("<I")
HEADER_BYTES = LENGTH.size + CRC.size
# A record longer than this is taken for a file of another kind: 512 tokens need about 4 kB.
_LONGEST_RECORD = 64 << 20
# Kind of values of a feature → their types, of protocol buffers and of numpy.
_LISTS = {
    "bytes_list": ("BYTES", object),
    "float_list": ("FLOAT", np.float32),
    "int64_list": ("INT64", np.int64),
}
# What generation writes beside the records, under the name that all shards begin with.
STATISTICS_SUFFIX = ".stats.json"
_SHARD = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})")


@dataclasses.dataclass(frozen=True)
class RecordFacts:
    """Properties of all records of a file, read from the first; `features` are those that
    `read_examples` yields."""

    schema: Schema
    features: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
    """The records of a file, see `parse_record`; raises `UserError` as this and `read_records`."""
    for number, payload in enumerate(read_records(path), 1):
        yield parse_record(payload, path, number)


def inspect_first_record(path: str) -> RecordFacts:
    """Schema and values of the first record of a file.

    Raises:
      UserError: as `read_examples`; or the file is empty.
    """
    payload = next(read_records(path), None)
    if payload is None:
        raise UserError(f"{path} is empty: it holds no record")
    features, is_v2 = parse_record(payload, path, 1), "input_ids" not in parse_example(payload)
    return RecordFacts(dataclasses.replace(Schema.of(features), v2_feature_names=is_v2), features)


def parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
    """The features of a record as arrays under the names of the original schema.

    Raises:
      UserError: with file and record: it is not an Example of pre-training.
    """
    try:
        features = parse_example(payload)
    except ValueError:
        raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
    is_v2 = "input_ids" not in features
    expected = expected_features(
        any(name in features for name in PACKED_FEATURES),
        any(name in features for name in MASK_FEATURES),
    )
    names = {name: V2_NAMES.get(name, name) if is_v2 else name for name in expected}
    if missing := [name for name in names.values() if name not in features]:
        raise UserError(
            f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
            f"{', '.join(sorted(features)) or 'none'}): it is not a pre-training record"
        )
    return {name: features[there] for name, there in names.items()}


def shard_names(name: str, count: int) -> list[str]:
    """The files of a set, e.g. t-00000-of-00002 and t-00001-of-00002."""
    return [f"{name}-{shard:05d}-of-{count:05d}" for shard in range(count)]


def find_records(patterns: str, flag: str) -> list[str]:
    """The record files that comma-separated paths and globs name, in their order; statistics beside
    them are none.

    Raises:
      UserError: as `files.expand_patterns`; there are only statistics, or shards of two sets of one
        name, which an earlier run with another number of shards has left.
    """
    found = files.expand_patterns(patterns, flag)
    paths = [path for path in found if not path.endswith(STATISTICS_SUFFIX)]
    if not paths:
        raise UserError(
            f"--{flag}: {found[0]} holds statistics of records, none itself: name the record files"
        )
    counts: dict[str, str] = {}
    for path in paths:
        if shard := _SHARD.fullmatch(path):
            other = counts.setdefault(shard["name"], shard["count"])
            if other != shard["count"]:
                raise UserError(
                    f"--{flag}={patterns} matches files of two sets, {shard['name']}-*-of-{other} and "
                    f"{shard['name']}-*-of-{shard['count']}: name the one that is meant, or remove the other"
                )
    return paths


def statistics_of(paths: Sequence[str]) -> list[str | None]:
    """The statistics that each record file belongs to: by its name, else those of its directory
    that list it."""
    # Each directory is listed, and each of its statistics read, once: far away they take 50 ms
    # each.
    read = functools.cache(json_files.read_object)
    directories = {path: files.parent_directory(path) for path in paths}
    listed = {
        directory: files.glob_files(f"{glob.escape(directory)}/*{STATISTICS_SUFFIX}")
        for directory in set(directories.values())
    }
    found: list[str | None] = []
    for path in paths:
        there = {os.path.basename(one): one for one in listed[directories[path]]}
        set_name = shard["name"] if (shard := _SHARD.fullmatch(path)) else path
        by_name = [
            there.get(os.path.basename(name) + STATISTICS_SUFFIX) for name in (path, set_name)
        ]
        # The second and further names of a list stand in the statistics of the first.
        listing = (one for one in there.values() if _facts_of(path, read(one)))
        found.append(by_name[0] or by_name[1] or next(listing, None))
    return found


def _facts_of(path: str, statistics: dict) -> dict | None:
    """What statistics hold of a shard; None where they do not list it."""
    shards = statistics.get("shards")
    return (
        next(
            (
                shard
                for shard in shards
                if isinstance(shard, dict) and shard.get("file") == os.path.basename(path)
            ),
            None,
        )
        if isinstance(shards, list)
        else None
    )


def stated_counts(paths: Sequence[str]) -> list[int | None]:
    """How many records files hold, by the statistics beside them.

    None where these do not say it, or were written of a file of another size. Counting takes 2 s
    for a million records.
    """
    read = functools.cache(json_files.read_object)
    facts = [
        _facts_of(path, read(statistics)) if statistics else None
        for path, statistics in zip(paths, statistics_of(paths), strict=True)
    ]
    return [
        of_it["rows"]
        if of_it
        and isinstance(of_it.get("rows"), int)
        and of_it.get("bytes") == files.file_size(path)
        else None
        for path, of_it in zip(paths, facts, strict=True)
    ]


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
    """The rotation and constant that TFRecord adds, so that a CRC of bytes that hold CRCs stays
    meaningful; int or array of uint32."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: bytes) -> bytes:
    """The checksum of `data` as it stands in the file, 4 bytes."""
    return CRC.pack(mask_crc(google_crc32c.value(data)))


def record_header(payload_bytes: int) -> bytes:
    """The 12 bytes before a payload of this size."""
    length = LENGTH.pack(payload_bytes)
    return length + masked_crc(length)


def read_records(path: str) -> Iterator[bytes]:
    """Payloads of the records of a file, plain or gzipped (seen by content), both checksums
    verified.

    Raises:
      UserError: names the file and the number of the record (from 1) that is truncated, damaged, or
        not a TFRecord.
    """
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (_, file):
        number = 0
        while header := file.read(HEADER_BYTES):
            number += 1
            length = _checked_length(header, path, number)
            body = file.read(length + CRC.size)
            if len(body) < length + CRC.size:
                raise _truncated(path, number)
            if body[length:] != masked_crc(body[:length]):
                raise UserError(
                    f"{path}: record {number} is damaged (wrong checksum): write the file again"
                )
            yield body[:length]


def count_records(path: str) -> int:
    """Number of records of a file, from the framing alone (the payloads are skipped, not verified).

    Raises:
      UserError: names the record inside which the file ends, or which is damaged.
    """
    number = end = 0
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
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
    if header[LENGTH.size :] != masked_crc(header[: LENGTH.size]) or length > _LONGEST_RECORD:
        what = (
            "it is not a TFRecord file"
            if number == 1
            else f"record {number} is damaged (wrong checksum of its length)"
        )
        raise UserError(f"{path}: {what}: write it again with data_gen/create_pretraining_data.py")
    return length


def _truncated(path: str, number: int) -> UserError:
    return UserError(
        f"{path}: the file ends inside record {number}: it was cut off; write or copy it again"
    )


def parse_example(payload: bytes) -> dict[str, np.ndarray]:
    """Features of a serialized `tf.train.Example`: int64 or float32 arrays, or lists of bytes as
    object arrays.

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


@functools.cache
def _example_type() -> Any:
    """The class of `tf.train.Example`, whose import from TensorFlow takes seconds; its map is a
    list of entries here."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="example.proto", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    # Message → its fields in the order of their numbers, * repeated; a field that is a message is
    # called as that is.
    for message, fields in {
        "Example": ["features"],
        "features": ["*feature"],
        "feature": ["key", "value"],
        "value": [*_LISTS],
        **{kind: ["*value"] for kind in _LISTS},
    }.items():
        described = file.message_type.add(name=message)
        for number, name in enumerate(fields, 1):
            kind = (
                _LISTS[message][0]
                if message in _LISTS
                else "STRING"
                if name == "key"
                else "MESSAGE"
            )
            described.field.add(
                name=name.removeprefix("*"),
                number=number,
                type=field.Type.Value(f"TYPE_{kind}"),
                label=field.LABEL_REPEATED if name.startswith("*") else field.LABEL_OPTIONAL,
                type_name=name.removeprefix("*") if kind == "MESSAGE" else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Example"))

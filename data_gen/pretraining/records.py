"""Pre-training records and their files, read without TensorFlow: to show, check and count them.

    TFRecord file:  { uint64 length, uint32 masked_crc32c(length),
                      payload, uint32 masked_crc32c(payload) } ...
    payload:        Example { features: 1 { feature: 1 { key: 1 "input_ids",
                      value: 2 { int64_list: 3 { value: 1 packed varints }}}}},
                    where a bytes_list is field 1 and a float_list field 2

Input: TFRecord files in one of the schemas of `schema.py`, gzipped or not, on any file system
TensorFlow knows; by patterns as `--input_file` has them. Output: the files of whole sets, and
features as arrays. Training parses records in a graph, see `bert_tf/tasks/pretraining/data.py`.
"""

import dataclasses
import functools
import glob
import itertools
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import google_crc32c
import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError, listed
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
# Ending of the statistics that generation writes beside the records; the name before it is the one
# that all shards begin with.
STATISTICS_SUFFIX = ".stats.json"
_SHARD = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})")


@dataclasses.dataclass(frozen=True)
class RecordFacts:
    """Properties of all records of a file.

    Attributes:
      features: values of the first record, as `read_examples` yields them.
    """

    schema: Schema
    features: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
    """Yields the records of a file.

    Raises `UserError` as `read_records` and `parse_record` do.
    """
    for number, payload in enumerate(read_records(path), 1):
        yield parse_record(payload, path, number)


def inspect_first_record(path: str) -> RecordFacts:
    """Returns schema and values of the first record of a file.

    Raises:
      UserError: as `read_examples`; or the file is empty.
    """
    payload = next(read_records(path), None)
    if payload is None:
        raise UserError(f"{path} is empty: it holds no record")
    features = parse_record(payload, path, 1)
    is_v2 = "input_ids" not in parse_example(payload)
    return RecordFacts(dataclasses.replace(Schema.of(features), v2_feature_names=is_v2), features)


def parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
    """Returns the features of a record as arrays, under the names of the original schema.

    Raises:
      UserError: the record is not an Example of pre-training; names file and record.
    """
    try:
        features = parse_example(payload)
    except ValueError:
        raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
    is_v2 = "input_ids" not in features
    is_packed = any(name in features for name in PACKED_FEATURES)
    has_masks = any(name in features for name in MASK_FEATURES)
    values = {}
    missing = []
    for name in expected_features(is_packed, has_masks):
        name_in_file = V2_NAMES.get(name, name) if is_v2 else name
        if name_in_file in features:
            values[name] = features[name_in_file]
        else:
            missing.append(name_in_file)
    if missing:
        raise UserError(
            f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
            f"{listed(sorted(features))}): it is not a pre-training record"
        )
    return values


def shard_names(name: str, count: int) -> list[str]:
    """Returns the files of a set, e.g. t-00000-of-00002 and t-00001-of-00002."""
    return [f"{name}-{shard:05d}-of-{count:05d}" for shard in range(count)]


def find_records(patterns: str, flag: str) -> list[str]:
    """Returns the record files that comma-separated paths and globs name, in their order.

    Statistics that match a glob are skipped, and so are shards that have no record by their
    statistics, unless all are such.

    Raises:
      UserError: as `files.expand_patterns`; there are only statistics, or shards of two sets of one
        name, which an earlier run with another number of shards has left; or machines that share
        the work have not written all shards of a set.
    """
    matches = files.expand_patterns(patterns, flag)
    paths = [path for path in matches if not path.endswith(STATISTICS_SUFFIX)]
    if not paths:
        raise UserError(
            f"--{flag}: {matches[0]} contains statistics and no records: name the record files"
        )
    counts: dict[str, str] = {}
    for path in paths:
        shard = _SHARD.fullmatch(path)
        if shard is None:
            continue
        other = counts.setdefault(shard["name"], shard["count"])
        if other != shard["count"]:
            raise UserError(
                f"--{flag}={patterns} matches files of two sets, {shard['name']}-*-of-{other} and "
                f"{shard['name']}-*-of-{shard['count']}: name one of them, or remove the other"
            )
    for name, count in counts.items():
        _check_complete(name, count, flag)
    filled = []
    for path, facts in zip(paths, _shard_facts(paths), strict=True):
        # A set of fewer instances than files has shards without a byte.
        if facts.get("rows") != 0 or files.file_size(path):
            filled.append(path)
    if filled:
        return filled
    return paths


def _check_complete(name: str, count: str, flag: str) -> None:
    """Raises `UserError` if machines (--part) have not written all shards of a set."""
    if files.is_remote(name):
        return
    folder, base = os.path.split(f"{name}-00000-of-{count}")
    work = glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(base)}.*-of-*.partial"))
    if work:
        raise UserError(
            f"--{flag}: {name}-*-of-{count} is not complete: create_pretraining_data.py --part has "
            f"work left in {min(work)}; give its command again on each machine"
        )


def statistics_of(paths: Sequence[str]) -> list[str | None]:
    """Returns the statistics that each record file belongs to; None if there are none.

    They are found by the file's name, else in its directory by their list of shards.
    """
    # Each directory is listed, and each of its statistics read, once: on a remote file system every
    # access takes 50 ms.
    read = functools.cache(_read_shards)
    in_directory: dict[str, dict[str, str]] = {}
    statistics: list[str | None] = []
    for path in paths:
        directory = files.parent_directory(path)
        if directory not in in_directory:
            pattern = f"{glob.escape(directory)}/*{STATISTICS_SUFFIX}"
            names = {os.path.basename(match): match for match in files.glob_files(pattern)}
            in_directory[directory] = names
        statistics.append(_find_statistics(path, in_directory[directory], read))
    return statistics


def _find_statistics(
    path: str, by_name: Mapping[str, str], read: Callable[[str], dict[str, dict]]
) -> str | None:
    """Returns the statistics of a record file, of all in its directory, name → path."""
    names = [path]
    shard = _SHARD.fullmatch(path)
    if shard:
        names.append(shard["name"])
    for name in names:
        statistics = by_name.get(os.path.basename(name) + STATISTICS_SUFFIX)
        if statistics is not None:
            return statistics
    # The second and further names of a list of outputs are in the statistics of the first.
    for statistics in by_name.values():
        if os.path.basename(path) in read(statistics):
            return statistics
    return None


def _read_shards(statistics: str) -> dict[str, dict]:
    """Returns file name → entry of each shard that statistics list."""
    shards = json_files.read_object(statistics).get("shards")
    by_name = {}
    if isinstance(shards, list):
        for shard in shards:
            if isinstance(shard, dict) and isinstance(shard.get("file"), str):
                by_name[shard["file"]] = shard
    return by_name


def _shard_facts(paths: Sequence[str]) -> list[dict]:
    """Returns the entry of each record file in its statistics, {} if there is none."""
    read = functools.cache(_read_shards)
    facts = []
    for path, statistics in zip(paths, statistics_of(paths), strict=True):
        shards = {} if statistics is None else read(statistics)
        facts.append(shards.get(os.path.basename(path), {}))
    return facts


def stated_counts(paths: Sequence[str]) -> list[int | None]:
    """Returns the numbers of records of files, from the statistics beside them.

    None if the statistics do not contain it, or belong to a file of another size. Counting would
    take 2 s for a million records.
    """
    counts: list[int | None] = []
    for path, facts in zip(paths, _shard_facts(paths), strict=True):
        rows = facts.get("rows")
        is_stated = isinstance(rows, int) and facts.get("bytes") == files.file_size(path)
        counts.append(rows if is_stated else None)
    return counts


def varint(value: int) -> bytes:
    """Returns a number of 0 or more as protocol buffers encode it."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def delimited(field: int, data: bytes) -> bytes:
    """Returns the field of a message that contains bytes, a string or another message."""
    return bytes([field << 3 | 2]) + varint(len(data)) + data


def mask_crc(crc):
    """Returns a CRC, int or array of uint32, with TFRecord's rotation and constant.

    They keep a CRC meaningful whose bytes contain CRCs themselves.
    """
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def masked_crc(data: bytes) -> bytes:
    """Returns the checksum of `data` as in the file, 4 bytes."""
    return CRC.pack(mask_crc(google_crc32c.value(data)))


def record_header(payload_bytes: int) -> bytes:
    """Returns the 12 bytes before a payload of this size."""
    length = LENGTH.pack(payload_bytes)
    return length + masked_crc(length)


def read_records(path: str) -> Iterator[bytes]:
    """Yields the payloads of the records of a file, each after both of its checksums are verified.

    The file may be compressed, see `files.open_unzipped`. An empty file yields nothing.

    Raises:
      UserError: names the file, which can't be read or unpacked or is no TFRecord file, or the
        number (from 1) of the first record that is truncated or damaged.
    """
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (_, file):
        for number in itertools.count(1):
            header = file.read(HEADER_BYTES)
            if not header:
                return
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
    """Returns the number of records of a file.

    Only the framing is read: payloads are skipped, not verified.

    Raises:
      UserError: names the record inside which the file ends, or which is damaged.
    """
    count = 0
    end = 0
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, file):
        # A gzipped file can't be skipped through.
        is_plain = file is raw
        size = files.file_size(path)
        while True:
            header = file.read(HEADER_BYTES)
            if not header:
                return count
            count += 1
            body = _checked_length(header, path, count) + CRC.size
            end += HEADER_BYTES + body
            is_truncated = end > size if is_plain else len(file.read(body)) < body
            if is_truncated:
                raise _truncated(path, count)
            if is_plain:
                file.seek(end)


def _checked_length(header: bytes, path: str, number: int) -> int:
    if len(header) < HEADER_BYTES:
        raise _truncated(path, number)
    length = LENGTH.unpack_from(header)[0]
    if header[LENGTH.size :] != masked_crc(header[: LENGTH.size]) or length > _LONGEST_RECORD:
        if number == 1:
            problem = "it is not a TFRecord file"
        else:
            problem = f"record {number} is damaged (wrong checksum of its length)"
        raise UserError(
            f"{path}: {problem}: write it again with data_gen/create_pretraining_data.py"
        )
    return length


def _truncated(path: str, number: int) -> UserError:
    return UserError(
        f"{path}: the file ends inside record {number}: it was cut off; write or copy it again"
    )


def parse_example(payload: bytes) -> dict[str, np.ndarray]:
    """Returns the features of a serialized `tf.train.Example`.

    They are int64 or float32 arrays, or lists of bytes as object arrays.

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
        # A feature without values has no list: it counts as integers.
        value_kind = "int64_list"
        for kind in _LISTS:
            if entry.value.HasField(kind):
                value_kind = kind
        values = getattr(entry.value, value_kind).value
        features[entry.key] = np.array(values, _LISTS[value_kind][1])
    return features


@functools.cache
def _example_type() -> Any:
    """Builds the class of `tf.train.Example`, whose import from TensorFlow would take seconds.

    Its map of features is a list of entries here.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="example.proto", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto
    # Message → its fields in the order of their numbers, * for repeated ones. A field that contains
    # a message has the name of that message.
    messages = {
        "Example": ["features"],
        "features": ["*feature"],
        "feature": ["key", "value"],
        "value": list(_LISTS),
    }
    for kind in _LISTS:
        messages[kind] = ["*value"]
    for message, field_names in messages.items():
        description = file.message_type.add(name=message)
        for number, marked_name in enumerate(field_names, 1):
            name = marked_name.removeprefix("*")
            label = field.LABEL_REPEATED if marked_name != name else field.LABEL_OPTIONAL
            type_name = None
            if message in _LISTS:
                kind = _LISTS[message][0]
            elif name == "key":
                kind = "STRING"
            else:
                kind = "MESSAGE"
                type_name = name
            description.field.add(
                name=name,
                number=number,
                type=field.Type.Value(f"TYPE_{kind}"),
                label=label,
                type_name=type_name,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Example"))

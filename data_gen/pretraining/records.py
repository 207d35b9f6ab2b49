"""Pre-training records, read without TensorFlow: to look at them, to check them, to count them; and their files.

Input: TFRecord files in one of the schemas of `schema.py`, by patterns as `--input_file` has them. Output: the files of
whole sets, and features as arrays. Training parses records in a graph, see `bert_tf/tasks/pretraining/data.py`.
"""

import dataclasses
import functools
import glob
import os
import re
from collections.abc import Iterator, Sequence

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.pretraining import tfrecord
from data_gen.pretraining.schema import MASK_FEATURES, PACKED_FEATURES, V2_NAMES, Schema, expected_features
from data_gen.pretraining.tfrecord import count_records as count_records

# What generation writes beside the records, under the name that all shards begin with.
STATISTICS_SUFFIX = ".stats.json"
_SHARD = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})")


@dataclasses.dataclass(frozen=True)
class RecordFacts:
  """Properties of all records of a file, read from the first; `features` are those that `read_examples` yields."""

  schema: Schema
  features: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False)


def read_examples(path: str) -> Iterator[dict[str, np.ndarray]]:
  """The records of a file, see `parse_record`; raises `UserError` as this and `tfrecord.read_records`."""
  for number, payload in enumerate(tfrecord.read_records(path), 1):
    yield parse_record(payload, path, number)


def inspect_first_record(path: str) -> RecordFacts:
  """Schema and values of the first record of a file.

  Raises:
    UserError: as `read_examples`; or the file is empty.
  """
  payload = next(tfrecord.read_records(path), None)
  if payload is None:
    raise UserError(f"{path} is empty: it holds no record")
  features, is_v2 = parse_record(payload, path, 1), "input_ids" not in tfrecord.parse_example(payload)
  return RecordFacts(dataclasses.replace(Schema.of(features), v2_feature_names=is_v2), features)


def parse_record(payload: bytes, path: str, number: int) -> dict[str, np.ndarray]:
  """The features of a record as arrays under the names of the original schema.

  Raises:
    UserError: with file and record: it is not an Example of pre-training.
  """
  try:
    features = tfrecord.parse_example(payload)
  except ValueError:
    raise UserError(f"{path}: record {number} is not a serialized tf.train.Example") from None
  is_v2 = "input_ids" not in features
  expected = expected_features(any(name in features for name in PACKED_FEATURES),
                               any(name in features for name in MASK_FEATURES))
  names = {name: V2_NAMES.get(name, name) if is_v2 else name for name in expected}
  if missing := [name for name in names.values() if name not in features]:
    raise UserError(f"{path}: record {number} has no feature {', '.join(missing)} (it has: "
                    f"{', '.join(sorted(features)) or 'none'}): it is not a pre-training record")
  return {name: features[there] for name, there in names.items()}


def shard_names(name: str, count: int) -> list[str]:
  """The files of a set, e.g. t-00000-of-00002 and t-00001-of-00002."""
  return [f"{name}-{shard:05d}-of-{count:05d}" for shard in range(count)]


def find_records(patterns: str, flag: str) -> list[str]:
  """The record files that patterns name, in their order; statistics beside them are none.

  Args:
    patterns: comma-separated paths and globs.
    flag: where they come from, for errors.

  Raises:
    UserError: as `files.expand_patterns`; there are only statistics, or shards of two sets of one name, which an
      earlier run with another number of shards has left.
  """
  found = files.expand_patterns(patterns, flag)
  paths = [path for path in found if not path.endswith(STATISTICS_SUFFIX)]
  if not paths:
    raise UserError(f"--{flag}: {found[0]} holds statistics of records, none itself: name the record files")
  counts: dict[str, str] = {}
  for path in paths:
    if shard := _SHARD.fullmatch(path):
      other = counts.setdefault(shard["name"], shard["count"])
      if other != shard["count"]:
        raise UserError(f"--{flag}={patterns} matches files of two sets, {shard['name']}-*-of-{other} and "
                        f"{shard['name']}-*-of-{shard['count']}: name the one that is meant, or remove the other")
  return paths


def statistics_of(paths: Sequence[str]) -> list[str | None]:
  """The statistics that each record file belongs to: by its name, else those of its directory that list it."""
  # Each directory is listed, and each of its statistics read, once: far away they take 50 ms each.
  read = functools.cache(json_files.read_object)
  directories = {path: files.parent_directory(path) for path in paths}
  listed = {directory: files.glob_files(f"{glob.escape(directory)}/*{STATISTICS_SUFFIX}")
            for directory in set(directories.values())}
  found: list[str | None] = []
  for path in paths:
    there = {os.path.basename(one): one for one in listed[directories[path]]}
    set_name = shard["name"] if (shard := _SHARD.fullmatch(path)) else path
    by_name = [there.get(os.path.basename(name) + STATISTICS_SUFFIX) for name in (path, set_name)]
    # The second and further names of a list stand in the statistics of the first.
    listing = (one for one in there.values() if _facts_of(path, read(one)))
    found.append(by_name[0] or by_name[1] or next(listing, None))
  return found


def _facts_of(path: str, statistics: dict) -> dict | None:
  """What statistics hold of a shard; None where they do not list it."""
  shards = statistics.get("shards")
  return next((shard for shard in shards if isinstance(shard, dict) and shard.get("file") == os.path.basename(path)),
              None) if isinstance(shards, list) else None


def stated_counts(paths: Sequence[str]) -> list[int | None]:
  """How many records files hold, by the statistics beside them.

  None where these do not say it, or were written of a file of another size. Counting takes 2 s for a million records.
  """
  read = functools.cache(json_files.read_object)
  facts = [_facts_of(path, read(statistics)) if statistics else None
           for path, statistics in zip(paths, statistics_of(paths), strict=True)]
  return [of_it["rows"] if of_it and isinstance(of_it.get("rows"), int) and of_it.get("bytes") == files.file_size(path)
          else None for path, of_it in zip(paths, facts, strict=True)]

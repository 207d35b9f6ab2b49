"""Names of record files: shards of a set, the statistics beside them, and which of them a pattern means.

Input: patterns as `--input_file` has them. Output: record files of whole sets, without their statistics.
"""

import functools
import os
import re
from collections.abc import Sequence

from bert_common import files, json_files
from bert_common.errors import UserError

# What generation writes beside the records, under the name that all shards begin with.
STATISTICS_SUFFIX = ".stats.json"
_SHARD = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})")


def shard_names(name: str, count: int) -> list[str]:
  """The files of a set, e.g. t-00000-of-00002 and t-00001-of-00002."""
  return [f"{name}-{shard:05d}-of-{count:05d}" for shard in range(count)]


def set_name(path: str) -> str:
  """The name of the set that a file belongs to: without the number of the shard, where there is one."""
  shard = _SHARD.fullmatch(path)
  return shard["name"] if shard else path


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
  list_directory = functools.cache(
      lambda directory: files.glob_files(f"{files.escape_pattern(directory)}/*{STATISTICS_SUFFIX}"))
  read = functools.cache(json_files.read_object)

  def find(path: str) -> str | None:
    there = {os.path.basename(one): one for one in list_directory(files.parent_directory(path))}
    for name in (path, set_name(path)):
      if found := there.get(os.path.basename(name) + STATISTICS_SUFFIX):
        return found
    # The second and further names of a list stand in the statistics of the first.
    return next((one for one in there.values() if _facts_of(path, read(one))), None)

  return [*map(find, paths)]


def _facts_of(path: str, statistics: dict) -> dict | None:
  """What statistics tell of a shard; None where they do not list it."""
  shards = statistics.get("shards")
  return next((shard for shard in shards if isinstance(shard, dict) and shard.get("file") == os.path.basename(path)),
              None) if isinstance(shards, list) else None


def stated_counts(paths: Sequence[str]) -> list[int | None]:
  """How many records files hold, by the statistics beside them.

  None where these don't tell, or were written of a file of another size. Counting takes 2 s for a million records.
  """
  read = functools.cache(json_files.read_object)

  def count(path: str, statistics: str | None) -> int | None:
    facts = _facts_of(path, read(statistics)) if statistics else None
    if facts is None or not isinstance(facts.get("rows"), int) or facts.get("bytes") != files.file_size(path):
      return None
    return facts["rows"]

  return [*map(count, paths, statistics_of(paths))]


def earlier_sets(paths: Sequence[str]) -> list[str]:
  """Patterns of shards that lie beside new ones of the same name and were written as another number of files."""
  found: list[str] = []
  for name in dict.fromkeys(map(set_name, paths)):
    beside = [shard for path in files.glob_files(f"{files.escape_pattern(name)}-*-of-*")
              if path not in paths and (shard := _SHARD.fullmatch(path)) and shard["name"] == name]
    found += dict.fromkeys(f"{name}-*-of-{shard['count']}" for shard in beside)
  if len(paths) > 1 or set_name(paths[0]) != paths[0]:
    found += [name for name in dict.fromkeys(map(set_name, paths)) if name not in paths and os.path.isfile(name)]
  return found

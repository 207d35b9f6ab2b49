"""Which files a pattern of records means: never their statistics, never two sets; their contents."""

import json

import pytest

from bert_common.errors import UserError
from data_gen.pretraining.records import find_records, shard_names, stated_counts


def _touch(folder, *names):
  for name in names:
    (folder / name).write_text("")


@pytest.mark.parametrize("pattern", [
    "train*", "train.tfrecord*", "train.tfrecord*of*", "train.tfrecord-00000-of-00002,train*"])
def test_statistics_are_no_records_whatever_the_pattern(tmp_path, pattern):
  names = shard_names("train.tfrecord", 2)
  _touch(tmp_path, *names, "train.tfrecord.stats.json")
  patterns = ",".join(str(tmp_path / one) for one in pattern.split(","))
  assert find_records(patterns, "input_file") == [str(tmp_path / name) for name in names]


def test_statistics_alone_are_refused(tmp_path):
  _touch(tmp_path, "a.stats.json")
  with pytest.raises(UserError, match="--input_file: .*a.stats.json holds statistics of records, none itself"):
    find_records(str(tmp_path / "a*"), "input_file")


def test_two_sets_of_a_name_are_refused(tmp_path):
  _touch(tmp_path, *shard_names("t", 4), *shard_names("t", 2), *shard_names("u", 3))
  with pytest.raises(UserError, match=r"matches files of two sets, .*/t-\*-of-0000[24] and .*/t-\*-of-0000[24]: name"):
    find_records(str(tmp_path / "t*of*"), "input_file")
  assert len(find_records(f"{tmp_path}/t*of-00004,{tmp_path}/u*", "input_file")) == 7


def test_statistics_tell_how_many_records_there_are_of_a_file_of_that_size(tmp_path):
  names = shard_names("t", 3)
  paths = [str(tmp_path / name) for name in names]
  for path, text in zip(paths, ("12345", "1234567", ""), strict=True):
    with open(path, "w") as file:
      file.write(text)
  shards = [{"file": name, "bytes": size, "rows": size * 10} for name, size in zip(names, (5, 6, 0), strict=True)]
  (tmp_path / "t.stats.json").write_text(json.dumps({"shards": shards}))
  assert stated_counts(paths) == [50, None, 0]
  # Those of earlier versions have no sizes.
  for wrong in ([{"file": names[0], "rows": 50}], [{"file": names[0], "bytes": 5}], ["t"], 7, None):
    (tmp_path / "t.stats.json").write_text(json.dumps({"shards": wrong}))
    assert stated_counts(paths) == [None] * 3

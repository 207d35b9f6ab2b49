import errno
import os

import pytest

from common import files
from common.errors import UserError


def test_patterns_keep_their_order_and_name_each_file_once(tmp_path):
  for name in ("b.txt", "a.txt", "c.md"):
    (tmp_path / name).write_text("x")
  found = files.expand_patterns(f"{tmp_path}/c.md,{tmp_path}/*.txt,{tmp_path}/a.txt", "input_file")
  assert [os.path.basename(path) for path in found] == ["c.md", "a.txt", "b.txt"]


@pytest.mark.parametrize("pattern, message", [
    ("{}/*.nothing", "--input_file: no file matches"), ("{}", "is a directory"), ("", "names no file")])
def test_patterns_that_name_no_file_are_refused(tmp_path, pattern, message):
  with pytest.raises(UserError, match=message):
    files.expand_patterns(pattern.format(tmp_path), "input_file")


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path):
  path = tmp_path / "kept.txt"
  path.write_text("old")
  with pytest.raises(UserError, match="No space left"), files.atomic_write(str(path)) as file:
    file.write("new")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
  assert path.read_text() == "old"
  assert os.listdir(tmp_path) == ["kept.txt"]


def test_a_complete_file_replaces_the_old_one_with_ordinary_permissions(tmp_path):
  path = tmp_path / "new.json"
  files.write_json(str(path), {"b": 1, "a": "é"})
  assert files.read_json(str(path)) == {"b": 1, "a": "é"}
  assert path.stat().st_mode & 0o444 == 0o444


def test_json_may_begin_with_a_byte_order_mark(tmp_path):
  path = tmp_path / "windows.json"
  path.write_text('{"a": "é"}', encoding="utf-8-sig")
  assert files.read_json(str(path)) == {"a": "é"}


@pytest.mark.parametrize("content, message", [
  ('{\n"a": 1,\n "b" 2}', r"broken.json:3: not JSON: Expecting ':' delimiter at column 6"),
  ("", "broken.json is empty"), (" \n", "broken.json is empty")])
def test_broken_json_names_its_place(tmp_path, content, message):
  path = tmp_path / "broken.json"
  path.write_text(content)
  with pytest.raises(UserError, match=message):
    files.read_json(str(path))


@pytest.mark.parametrize("content", ["[" * 200_000, "1" * 10_000], ids=["deep", "long"])
def test_json_made_to_do_harm_is_refused(tmp_path, content):
  path = tmp_path / "bomb.json"
  path.write_text(content)
  with pytest.raises(UserError, match="bomb.json: no JSON that can be read"):
    files.read_json(str(path))


def test_an_output_directory_below_a_file_is_refused(tmp_path):
  (tmp_path / "file").write_text("x")
  with pytest.raises(UserError, match="--output_dir: can't write"):
    files.make_output_directory(str(tmp_path / "file" / "below"), "output_dir")


def test_a_new_directory_appears_when_it_is_complete(tmp_path):
  path = tmp_path / "parent/new"
  with files.new_directory(str(path), "output") as directory:
    files.write_json(os.path.join(directory, "a.json"), 1)
    assert not path.exists()
  assert os.listdir(path) == ["a.json"]
  assert path.stat().st_mode & 0o055 == 0o055
  assert os.listdir(tmp_path / "parent") == ["new"]


def test_a_directory_that_fails_half_way_leaves_nothing(tmp_path):
  with pytest.raises(UserError, match="--output: can't write .*new: No space left"), \
      files.new_directory(str(tmp_path / "new"), "output") as directory:
    files.write_json(os.path.join(directory, "a.json"), 1)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
  assert os.listdir(tmp_path) == []


def test_a_new_directory_replaces_nothing(tmp_path):
  (tmp_path / "old").mkdir()
  with pytest.raises(UserError, match="--output: .*old exists"), files.new_directory(str(tmp_path / "old"), "output"):
    pass
  # Not even what has come while it was written.
  with pytest.raises(UserError, match="--output: .*late exists"), files.new_directory(str(tmp_path / "late"), "output"):
    (tmp_path / "late").mkdir()
  assert sorted(os.listdir(tmp_path)) == ["late", "old"]

"""Directories that appear when they are complete, and copies of whole ones; `test_files.py` has them everywhere."""

import errno
import os
import uuid

import pytest

from bert_common import files, json_files
from bert_common.errors import UserError


def test_trees_are_copied_between_file_systems(tmp_path):
  for name in ("a/b/c.txt", "a/d.bin"):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(name.encode())
  remote = f"ram://directories/{uuid.uuid4()}/copy"
  files.copy_tree(str(tmp_path / "a"), remote)
  assert files.list_directory(remote) == ["b", "d.bin"] and files.open_file(f"{remote}/b/c.txt").read() == "a/b/c.txt"
  files.copy_tree(remote, str(tmp_path / "back"))
  assert (tmp_path / "back/b/c.txt").read_text() == "a/b/c.txt" and (tmp_path / "back/d.bin").exists()


def test_a_remote_directory_that_is_copied_half_way_is_removed():
  path = f"ram://directories/{uuid.uuid4()}/new"
  with pytest.raises(UserError, match="--output: can't write .*new: No such file"), \
      files.new_directory(path, "output") as directory:
    json_files.write(os.path.join(directory, "a.json"), 1)
    os.symlink("nothing", os.path.join(directory, "b.json"))
  assert not files.exists(path)


def test_a_new_directory_appears_when_it_is_complete(tmp_path):
  path = tmp_path / "parent/new"
  with files.new_directory(str(path), "output") as directory:
    json_files.write(os.path.join(directory, "a.json"), 1)
    assert not path.exists()
  assert os.listdir(path) == ["a.json"]
  assert path.stat().st_mode & 0o055 == 0o055
  assert os.listdir(tmp_path / "parent") == ["new"]


def test_a_directory_that_fails_half_way_leaves_nothing(tmp_path):
  with pytest.raises(UserError, match="--output: can't write .*new: No space left"), \
      files.new_directory(str(tmp_path / "new"), "output") as directory:
    json_files.write(os.path.join(directory, "a.json"), 1)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
  assert os.listdir(tmp_path) == []


def test_a_new_directory_replaces_nothing(tmp_path):
  (tmp_path / "old").mkdir()
  with (pytest.raises(UserError, match="--output: .*old exists"),
        files.new_directory(str(tmp_path / "old"), "output")):
    pass
  # Not even what has come while it was written.
  with (pytest.raises(UserError, match="--output: .*late exists"),
        files.new_directory(str(tmp_path / "late"), "output")):
    (tmp_path / "late").mkdir()
  assert sorted(os.listdir(tmp_path)) == ["late", "old"]

"""What of a terminal's output is kept, and what happens where nothing can be."""

import logging
import sys

import pytest

from bert_common.errors import UserError
from bert_common.progress import Progress
from bert_tf.training import console_log
from tests.full_disk import full_disk


def recorded(path, on_begin=lambda: None):
  return console_log.recorded(str(path), "--- a start", on_begin)


def test_what_the_user_saw_is_kept(tmp_path, capsys):
  path = tmp_path / "console.log"
  for _ in range(2):
    with recorded(path):
      print("to standard output")
      print("warning: to standard error", file=sys.stderr)
      sys.stderr.write("\x1b[1;33mcoloured\x1b[0m\nin two ")
      sys.stderr.write("parts\r\n")
      logging.getLogger("absl").warning("of a library")
  lines = path.read_text().splitlines()
  assert lines[:5] == ["--- a start", "to standard output", "warning: to standard error", "coloured", "in two parts"]
  assert lines[5].endswith("of a library") and len(lines) == 12
  assert capsys.readouterr().out == "to standard output\n" * 2
  print("afterwards")
  assert "afterwards" not in path.read_text()


def test_a_progress_bar_is_kept_as_it_was_left(tmp_path, monkeypatch):
  path = tmp_path / "console.log"
  with recorded(path):
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    progress = Progress("training", 50, "step")
    for step in range(50):
      progress._bar.update(1)
      progress._bar.refresh()
      if step == 20:
        progress.write("step 20: evaluation")
    assert len(sys.stderr._line) < 1000
    progress.close()
  header, evaluation, bar = path.read_text().splitlines()
  assert evaluation == "step 20: evaluation" and bar.startswith("training: 100%") and "50/50" in bar


def test_a_refused_run_leaves_nothing(tmp_path):
  path, begun = tmp_path / "console.log", []
  with pytest.raises(UserError), recorded(path, lambda: begun.append(1)):
    print("checking")
    raise UserError("--seed: no")
  assert not path.exists() and not begun
  with pytest.raises(UserError), recorded(path, lambda: begun.append(1)):
    print("checking")
    console_log.begin()
    assert path.read_text() == "--- a start\nchecking\n"
    raise UserError("the disk is full")
  assert path.read_text().endswith("checking\nerror: the disk is full\n") and begun == [1]


def test_a_bug_is_kept_with_its_traceback_in_both_logs(tmp_path):
  with pytest.raises(ZeroDivisionError), recorded(tmp_path / "all.log"), recorded(tmp_path / "one.log"):
    print("one of two")
    console_log.begin()
    1 / 0  # noqa: B018
  for name in ("all.log", "one.log"):
    text = (tmp_path / name).read_text()
    assert "one of two\n" in text and text.endswith("ZeroDivisionError: division by zero\n")


def test_a_long_log_loses_its_older_half(tmp_path, monkeypatch):
  monkeypatch.setattr(console_log, "_MOST_BYTES", 1000)
  with recorded(tmp_path / "console.log"):
    console_log.begin()
    for number in range(200):
      print(f"line {number}")
  lines = (tmp_path / "console.log").read_text().splitlines()
  assert lines[0] == "… older lines were dropped" and lines[-1] == "line 199" and len(lines) < 130
  assert lines[1:] == [f"line {number}" for number in range(200 - len(lines) + 1, 200)]


def test_a_full_disk_is_a_warning(tmp_path, capsys):
  path = tmp_path / "console.log"
  with full_disk(20), recorded(path):
    console_log.begin()
    for number in range(3):
      print(f"a line that is too long for this disk {number}")
  captured = capsys.readouterr()
  assert captured.out.count("a line that is too long") == 3
  assert captured.err == f"warning: {path} can't be written ([Errno 27] File too large): the run continues without\n"

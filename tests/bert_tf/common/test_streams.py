"""Scripts whose standard streams are closed, full or read no further, as a shell has them."""

import os
import subprocess
import sys

import pytest

_FULL = "error: can't write to standard output: No space left on device\n"


@pytest.fixture
def shell(project, tmp_path):
  """Runs a script of data_gen with redirections; PYTHONUNBUFFERED writes every text at once."""
  (tmp_path / "text.txt").write_text("A sentence is here. Another one follows.\n")

  def call(arguments: str, unbuffered: bool = False) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment |= {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    return subprocess.run(f"'{sys.executable}' '{project}/data_gen/prepare_corpus.py' {arguments}", shell=True,
                          cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
  return call


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("arguments", ["--help", "--input_file=text.txt --output_file=out.txt"])
def test_a_full_disk_behind_standard_output_is_one_line(shell, arguments, unbuffered):
  done = shell(f"{arguments} > /dev/full", unbuffered)
  assert done.returncode == 2 and done.stderr.endswith(_FULL) and "Traceback" not in done.stderr


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_the_work_is_done_whatever_the_streams_are(shell, tmp_path, redirection):
  done = shell(f"--input_file=text.txt --output_file=out.txt {redirection}")
  assert done.returncode == 0 and "Traceback" not in done.stderr
  assert (tmp_path / "out.txt").read_text() == "A sentence is here.\nAnother one follows.\n"


def test_a_reader_that_has_ended(shell):
  done = shell("--help | head -n 1")
  assert (done.stderr, done.stdout.count("\n")) == ("", 1)


def test_conlleval(project, tmp_path):
  command = f"printf 'a B-X B-X\\n' | '{sys.executable}' -m bert_tf.evaluation.conlleval"
  done = subprocess.run(f"{command} > /dev/full", shell=True, cwd=project, capture_output=True, text=True, check=False)
  assert (done.returncode, done.stderr) == (2, _FULL.replace("error", "conlleval"))
  done = subprocess.run(f"{command} | head -n 0", shell=True, cwd=project, capture_output=True, text=True, check=False)
  assert (done.stdout, done.stderr) == ("", "")

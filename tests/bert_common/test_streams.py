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


_WRITES_AS_LIBRARIES_DO = """
import os, sys
from bert_common import streams
streams.guard()
streams.drop_information()
os.write(2, {lines!r}.encode())
print("Python's own", file=sys.stderr)
{end}
"""
_INFORMATION = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795436234.506712   32573 gpu_device.cc:2020] Created device /job:localhost/replica:0/task:0/device:GPU:0
E0000 00:00:17.9 3 cuda_helpers.cc:9] *** WARNING *** Invoking ptxas with version 12.5.82, which corresponds to \
a CUDA version <=12.6.2. CUDA versions 12.x.y up to and including 12.6.2 miscompile certain edge cases around clamping.
Please upgrade to CUDA 12.6.3 or newer.
E0000 00:00:1 1 text_format.cc:430] Error parsing text-format tensorflow.XlaSerializedCacheEntry: 2:1: Expected \
identifier, got: 5
E0000 00:00:1 1 cuda_fft.cc:477] Unable to register cuFFT factory: Attempting to register factory for plugin cuFFT
W0000 00:00:1 1 gpu_timer.cc:114] Delay kernel timed out: measured time has sub-optimal accuracy
"""
_REAL = """\
E0000 00:00:1 1 cuda_driver.cc:1] CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered
W0000 00:00:1 1 gpu_device.cc:2344] Cannot dlopen some GPU libraries.
F0000 00:00:1 1 service.cc:1] Check failed: 100 %s \\n
Information that does not begin as such: I0000
"""


@pytest.mark.parametrize(("end", "status"), [
    ("", 0), ("os.abort()", -6), ("sys.exit(3)", 3), ("sys.stderr = sys.__stderr__", 0)])
def test_lines_of_information_of_libraries_are_dropped(project, end, status):
  lines = _INFORMATION + _REAL + _INFORMATION + "no end of line"
  done = subprocess.run([sys.executable, "-c", _WRITES_AS_LIBRARIES_DO.format(lines=lines, end=end)], text=True,
                        cwd=project, capture_output=True, check=False)
  assert (done.returncode, done.stdout) == (status, "")
  assert done.stderr.replace("Python's own\n", "", 1) == _REAL + "no end of line\n"


def test_all_is_shown_where_there_is_no_shell(project):
  done = subprocess.run([sys.executable, "-c", _WRITES_AS_LIBRARIES_DO.format(lines=_REAL, end="")], text=True,
                        cwd=project, capture_output=True, check=False, env={"PATH": "/nowhere"})
  assert (done.returncode, done.stderr) == (0, f"{_REAL}Python's own\n")

"""The benchmark of reading runs small: one host of several, with and without groups, and behind a slow file system."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from benchmarks import reading
from tests.bert_tf.training.common import write_records


@pytest.fixture(scope="module")
def records(tmp_path_factory):
  folder = tmp_path_factory.mktemp("records")
  for number in range(2):
    write_records(folder / f"r-{number}", 40, 40 * number)
  return str(folder / "r-*")


def test_every_host_reads_everything_or_its_own(records, capsys):
  reading.main(reading.ReadingOptions(input_file=records, hosts=(1, 4), replicas=2, host_batch_size=8, steps=2,
                                      warm_up_records=100))
  _, *rows = capsys.readouterr().out.splitlines()
  assert [row.split()[:2] for row in rows] == [["1", "1"], ["4", "1"], ["4", "4"]]
  assert all(float(row.split()[3]) > 0 for row in rows)


def test_a_slow_file_system(records, project):
  if shutil.which("cc") is None:
    pytest.skip("there is no C compiler")
  command = [sys.executable, "-m", "benchmarks.reading", f"--input_file={records}", "--hosts=1", "--replicas=1",
             "--host_batch_size=8", "--steps=1", "--latency_ms=200", "--warm_up_records=0"]
  done = subprocess.run(command, cwd=project, env={**os.environ, "PYTHONPATH": str(project)}, capture_output=True,
                        text=True, timeout=300)
  assert done.returncode == 0, done.stderr
  assert re.search(r"^1 +1 ", done.stdout, re.M), done.stdout

"""Which failures are repeated, by real runs of pytest."""

import subprocess
import sys

import pytest

MODULE = """
import pathlib
import pytest

@pytest.mark.processes
def test_held_up():
  path = pathlib.Path("runs")
  path.write_text(path.read_text() + "x" if path.exists() else "x")
  assert len(path.read_text()) > 1

def test_other():
  assert {other}
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    "other, status, printed",
    [
        (True, 0, "repeated once: test_it.py::test_held_up"),
        (False, 1, "not repeated: test_it.py::test_other failed"),
    ],
)
def test_only_what_is_marked_is_repeated(project, tmp_path, other, status, printed):
    (tmp_path / "test_it.py").write_text(MODULE.format(other=other))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = processes: starts processes\n")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist"], cwd=tmp_path, check=False
    )
    done = subprocess.run(
        [sys.executable, project / "tests/again.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status and printed in done.stdout

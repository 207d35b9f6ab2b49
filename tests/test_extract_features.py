"""The command itself."""

import subprocess
import sys

import numpy as np
import pytest

from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
  return write_tiny(tmp_path_factory.mktemp("bert"))


def command(project, *flags: str, text: str = "") -> subprocess.CompletedProcess:
  return subprocess.run(
      [sys.executable, str(project / "extract_features.py"), *flags], capture_output=True, text=True, input=text,
      check=False)


def test_from_standard_input_to_arrays(project, checkpoint, tmp_path):
  result = command(
      project, "--input_file=-", f"--output_file={tmp_path}/out.npz", f"--init_checkpoint={checkpoint}",
      "--layers=-1,0", "--pooling=mean", "--max_seq_length=5", "--use_one_hot_embeddings=false",
      text="the array is returned\n\na ||| b\n")
  assert result.returncode == 0, result.stderr
  assert result.stdout == "" and "loaded 55 tensors" in result.stderr
  assert "1 of 3 lines had more than --max_seq_length=5 tokens and were truncated" in result.stderr
  assert f"wrote {tmp_path}/out.npz: 3 lines, 12 tokens" in result.stderr
  with np.load(tmp_path / "out.npz") as data:
    assert sorted(data) == ["layer_-1", "layer_0", "row_lengths"] and data["layer_0"].shape == (3, 12)
    assert data["row_lengths"].tolist() == [5, 2, 5]

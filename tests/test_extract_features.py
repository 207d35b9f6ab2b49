import subprocess
import sys

import numpy as np

from tests.tiny import write_tiny


def test_from_standard_input_to_arrays(project, tmp_path):
    result = subprocess.run(
        [
            sys.executable,
            str(project / "extract_features.py"),
            "--input_file=-",
            f"--output_file={tmp_path}/out.npz",
            f"--init_checkpoint={write_tiny(tmp_path / 'bert')}",
            "--layers=-1,0",
            "--pooling=mean",
            "--max_seq_length=5",
            "--use_one_hot_embeddings=false",
        ],
        capture_output=True,
        text=True,
        input="the array is returned\n\na ||| b\n",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "" and "loaded 55 tensors" in result.stderr
    assert (
        "1 of 3 lines had more than --max_seq_length=5 tokens and were truncated" in result.stderr
    )
    assert f"wrote {tmp_path}/out.npz: 3 lines, 12 tokens" in result.stderr
    with np.load(tmp_path / "out.npz") as data:
        assert sorted(data) == ["layer_-1", "layer_0", "row_lengths"] and data["layer_0"].shape == (
            3,
            12,
        )
        assert data["row_lengths"].tolist() == [5, 2, 5]

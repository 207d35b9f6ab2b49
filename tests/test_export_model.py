import os
import subprocess
import sys

from tests.bert_tf.inference.test_export import checkpoint


def test_the_command(project, tmp_path):
    checkpoint(tmp_path / "in")
    done = subprocess.run(
        [
            sys.executable,
            str(project / "export_model.py"),
            "--init_checkpoint=in",
            "--export_dir=served/1",
            "--max_seq_length=8",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("TF_")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "built-in sample: the tokenizer in the graph gives the exact tokens for 218 of 218 lines"
    )
    assert "  out mean_output: float32 [?, 12]" in lines and lines[-1].startswith(
        "wrote served/1 ("
    )
    assert sorted(os.listdir(tmp_path / "served/1")) == [
        "assets",
        "assets.extra",
        "fingerprint.pb",
        "saved_model.pb",
        "variables",
    ]

import os
import subprocess
import sys

import tensorflow as tf

from bert_tf.inference.options import FORMATS
from modeling.checkpoints.load import read_checkpoint
from tests.bert_tf.inference.test_export import checkpoint
from tests.processes import run_commands
from tests.tiny import write_tiny


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


def test_the_script_writes_every_format(tmp_path):
    task = {"kind": "classification", "labels": [*"abc"]}
    write_tiny(tmp_path / "in", "classification", task=task)
    flags = {name: f"--format={name}" for name in FORMATS.targets} | {"tfhub": "--api=tfhub"}
    output = run_commands(
        "export_model.py",
        tmp_path,
        *(
            f"--init_checkpoint=in --max_seq_length=8 --export_dir={name} {flag}"
            for name, flag in flags.items()
        ),
    )
    # Each was loaded back by the runtime of its clients.
    for name in flags:
        assert f"wrote {name} (" in output
    for name in ("saved_model", "tfhub/preprocess", "tfhub/encoder"):
        assert tf.saved_model.contains_saved_model(str(tmp_path / name))
    assert read_checkpoint(str(tmp_path / "hub")).heads == ["classification"]

"""The environment that `make env` makes: its programs start and work together, and it knows the
project's packages."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import pytest
import tensorflow as tf

from bert_common import cli

BIN = pathlib.Path(sys.executable).parent


def _get(url: str):
    with urllib.request.urlopen(url) as answer:
        content = answer.read()
    return json.loads(
        gzip.decompress(content) if answer.headers["Content-Encoding"] == "gzip" else content
    )


def test_the_packages_are_found_from_any_directory(tmp_path):
    program = "from modeling import BertConfig, BertEncoder; BertEncoder(BertConfig(vocab_size=30))"
    ours = ("PYTHONPATH", "TF_CPP_MIN_LOG_LEVEL")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    # TensorFlow 2.21 logs information while its libraries are loaded.
    lines = [line for line in done.stderr.splitlines() if not cli.INFORMATION.match(line)]
    assert (done.returncode, done.stdout, lines) == (0, "", [])


def test_make_env_installs_the_project_where_it_is(tmp_path):
    """The recipe, run with a Python that only notes what it is asked for."""
    project = pathlib.Path(__file__).resolve().parent.parent
    clone = tmp_path / "a clone"
    (clone / ".venv/bin").mkdir(parents=True)
    for name in ("Makefile", "requirements.txt", "requirements.lock", "pyproject.toml"):
        shutil.copyfile(project / name, clone / name)
    python = clone / ".venv/bin/python"
    python.write_text('#!/bin/sh\necho "$@" >> calls\n')
    python.chmod(0o755)
    subprocess.run(
        ["make", "--silent", "env", f"PYTHON={_program(tmp_path / 'python3.12')}"],
        cwd=clone,
        check=True,
    )
    *_, install, works = (clone / "calls").read_text().splitlines()
    assert install.endswith("--no-deps --no-build-isolation --editable .") and works.startswith(
        "-c import keras"
    )
    assert (clone / ".venv/.complete").exists()


def _program(path: pathlib.Path, body: str = "") -> str:
    """Writes a shell script in the place of a Python; returns its path."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "names, expected",
    [
        ({"python3.13": "exit 127", "python3.12": "", "python3.11": ""}, "python3.12"),
        ({"python3.13": "exit 127"}, ""),
    ],
)
def test_make_takes_the_newest_python_that_starts(project, tmp_path, names, expected):
    for name in ("sh", "echo"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for name, body in names.items():
        _program(tmp_path / name, body)
    (tmp_path / "show.mk").write_text(
        f'include {project / "Makefile"}\nshow: ; @echo "[$(PYTHON)]"\n'
    )
    shown = subprocess.run(
        [shutil.which("make"), "-s", "-f", "show.mk", "show"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": str(tmp_path)},
    )
    assert shown.stdout == f"[{expected}]\n"


def test_tensorboard_serves_a_run_and_its_profile(tmp_path):
    """PyTorch brings a setuptools without pkg_resources unless one is pinned; TensorBoard cannot
    start with that."""
    with tf.summary.create_file_writer(str(tmp_path / "train")).as_default():
        tf.summary.scalar("loss", 2.5, step=10)
    with tf.profiler.experimental.Profile(str(tmp_path / "train")):
        tf.linalg.matmul(tf.ones((2, 2)), tf.ones((2, 2)))
    process = subprocess.Popen(
        [BIN / "tensorboard", f"--logdir={tmp_path}", "--port=0", "--reload_interval=1"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if served := re.search(r"TensorBoard \S+ at (http://\S+/)", line):
                break
        else:
            raise AssertionError("TensorBoard ended: " + "".join(lines))
        url = served[1]
        query = urllib.parse.urlencode({"run": "train", "tag": "loss"})
        while _get(f"{url}data/runs") != ["train"]:
            time.sleep(0.2)
        ((_, step, value),) = _get(f"{url}data/plugin/scalars/scalars?{query}")
        assert (step, value) == (10, 2.5)
        (profile,) = _get(f"{url}data/plugin/profile/runs")
        assert "overview_page" in _get(
            f"{url}data/plugin/profile/run_tools?{urllib.parse.urlencode({'run': profile})}"
        )
    finally:
        process.terminate()
        process.communicate()

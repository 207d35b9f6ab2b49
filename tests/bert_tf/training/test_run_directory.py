import datetime
import json
import os
import platform
import shlex
import socket
import subprocess
import sys

import pytest

from bert_common.errors import UserError
from bert_tf.training import run_directory
from tests.bert_tf.training.common import TINY


def names(directory) -> list[str]:
    return sorted(os.listdir(directory))


def test_the_description_of_a_run(tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")
    flags = {"learning_rate": 1e-4, "seed": 1, "input_file": "a"}
    run_directory.write_description(str(tmp_path), "run.py", flags, TINY, str(vocabulary), False)
    assert names(tmp_path) == [
        "bert_config.json",
        "flags.json",
        "tokenizer_config.json",
        "vocab.txt",
        "words.txt",
    ]
    assert (tmp_path / "vocab.txt").read_text() == vocabulary.read_text()
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["do_lower_case"] is False
    written = json.loads((tmp_path / "flags.json").read_text())
    assert (
        written["flags"] == flags
        and written["script"] == "run.py"
        and "tensorflow" in written["versions"]
    )
    assert run_directory.changed_flags(str(tmp_path), {**flags, "seed": 2, "new": 1}) == [
        "seed: 1 → 2"
    ]
    older = {"num_train_epochs": ["3"], "learning_rate": ["5e-5", "3e-5"]}
    run_directory.write_description(str(tmp_path), "run.py", older, TINY, str(vocabulary), False)
    newer = {"num_train_epochs": 3.0, "learning_rate": [5e-5, 3e-5]}
    assert run_directory.changed_flags(str(tmp_path), newer) == []
    # A run that goes on from its own vocabulary.
    run_directory.write_description(
        str(tmp_path), "run.py", flags, TINY, str(tmp_path / "vocab.txt"), None
    )
    assert (tmp_path / "vocab.txt").read_text() == vocabulary.read_text()


def test_starts_are_noted(tmp_path, capsys):
    for devices in ("2 x CPU", "1 x CPU"):
        run_directory.note_start(str(tmp_path), devices)
        run_directory.write_description(str(tmp_path), "run.py", {"seed": 1}, TINY, None, None)
    written = json.loads((tmp_path / "flags.json").read_text())
    assert written["flags"] == {"seed": 1} and written["script"] == "run.py"
    first, second = written["starts"]
    assert first["devices"] == "2 x CPU" and second["devices"] == "1 x CPU"
    assert (
        shlex.split(second["command"]) == sys.orig_argv
        and second["working_directory"] == os.getcwd()
    )
    assert (
        second["versions"]["python"] == platform.python_version()
        and second["host"] == socket.gethostname()
    )
    assert datetime.datetime.fromisoformat(second["time"]).tzinfo is not None
    # Not a reason to stop.
    (tmp_path / "flags.json").write_text('{"starts": 3}')
    run_directory.note_start(str(tmp_path), "1 x CPU")
    assert "warning: this start is not recorded: " in capsys.readouterr().err


def test_the_commit_is_that_of_the_checkout(monkeypatch, tmp_path):
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a", *arguments],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    (tmp_path / "bert_tf").mkdir()
    (tmp_path / "bert_tf" / "__init__.py").touch()
    monkeypatch.setattr(
        run_directory.bert_tf, "__file__", str(tmp_path / "bert_tf" / "__init__.py")
    )
    commit = run_directory._commit.__wrapped__
    assert commit() is None
    git("init", "-q")
    assert commit() is None
    git("add", ".")
    git("commit", "-qm", "a")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    expected = git("--git-dir", str(tmp_path / ".git"), "rev-parse", "HEAD")
    assert commit() == {"id": expected, "modified": False}
    (tmp_path / "bert_tf" / "__init__.py").write_text("changed = True")
    assert commit() == {"id": expected, "modified": True}


@pytest.mark.parametrize("name", ["train", "eval", "best", ".activation_cache", ".teacher_outputs"])
def test_a_file_or_a_link_in_the_place_of_a_directory_is_found_at_once(tmp_path, name):
    run_directory.check_layout(str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / name).symlink_to("mine")
    with pytest.raises(UserError, match=f"--output_dir=.*: .*/{name} is a symbolic link"):
        run_directory.check_layout(str(tmp_path))
    (tmp_path / name).unlink()
    (tmp_path / name).touch()
    with pytest.raises(
        UserError, match=f"--output_dir=.*: .*/{name} is a file, a directory must be there"
    ):
        run_directory.check_layout(str(tmp_path))


@pytest.mark.parametrize(
    "name", ["eval_results.json", "best/task.json", ".teacher_outputs/train.npy"]
)
def test_a_pipe_in_the_place_of_a_file_is_found_at_once(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(
        UserError, match=f"--output_dir=.*: .*{name} is a pipe or a device: move it away"
    ):
        run_directory.check_layout(str(tmp_path))

import json
import os
import re
import subprocess
import sys

import pytest

from bert_common import json_files
from bert_tf.runs import model_card
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.training import run_directory
from tests.bert_tf.training.common import TINY
from tests.tiny import write_tiny

PROJECT = os.path.dirname(os.path.abspath(model_card.__file__)).removesuffix(
    os.path.join("bert_tf", "runs")
)
FLAGS = {
    "learning_rate": 0.001,
    "train_batch_size": 32,
    "init_checkpoint": "uncased",
    "lora_layers": ["query", "value"],
}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "train.csv").write_text("text,label\n")
    run_directory.write_description(
        str(tmp_path),
        "run_classifier.py",
        {**FLAGS, "train_file": str(tmp_path / "train.csv")},
        TINY,
        None,
        None,
        {"kind": "classification", "labels": ["a|b", "c`d"], "pair": True},
    )
    return tmp_path


def card(directory) -> str:
    model_card.write(str(directory), ClassificationOptions)
    return (directory / "README.md").read_text()


def test_what_it_says(run):
    json_files.write(
        str(run / "eval_results.json"),
        {"eval_accuracy": 0.87654, "global_step": 5, "degenerate": "DEGENERATE"},
    )
    text = card(run)
    assert (
        "trained for classification of 2 labels (`a\\|b`, `c'd`) from the weights `uncased` by `run_class"
        in text
    )
    assert f'| `--train_file` | `"{run}/train.csv"` |' in text
    assert (
        "| `eval_accuracy` | 0.8765 |" in text
        and "| `global_step` | 5 |" in text
        and "**DEGENERATE**" in text
    )
    # What is as the default is left out.
    assert (
        "| `--learning_rate` | `0.001` | `5e-05` |" in text
        and "train_batch_size" not in text
        and "lora" not in text
    )
    run_directory.note_start(str(run), "1 x CPU")
    start = json_files.read(str(run / "flags.json"))["starts"][0]
    assert f"```bash\n{start['command']}\n```" in card(run)


def test_a_file_of_somebody_else_is_left_alone(run):
    first = card(run)
    assert first.startswith("<!-- Written by bert-tf")
    json_files.write(str(run / "eval_results.json"), {"eval_accuracy": 0.5})
    assert card(run) != first
    for own in ("# My model\n", "", first.partition("\n")[2]):
        (run / "README.md").write_text(own)
        assert card(run) == own


def test_a_directory_without_weights_gets_none(tmp_path):
    model_card.write(str(tmp_path), ClassificationOptions)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "head, task",
    [
        (
            "classification",
            {
                "kind": "classification",
                "labels": ["x", "y", "z"],
                "pair": True,
                "max_seq_length": 24,
            },
        ),
        ("masked_lm", None),
    ],
)
def test_its_command_runs(tmp_path, head, task):
    write_tiny(tmp_path / "", head, task=task)
    json_files.write(str(tmp_path / "flags.json"), {"flags": {}})
    model_card.write(str(tmp_path), ClassificationOptions if task else PretrainingOptions)
    (command,) = re.findall(r"```bash\n(.*?)\n```", (tmp_path / "README.md").read_text(), re.DOTALL)
    if task is None:
        # One process is enough.
        assert command.endswith(" --task=fill_mask")
        return
    result = subprocess.run(
        ["bash", "-c", command.replace("python ", f"{sys.executable} ", 1)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": PROJECT},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["label"] in "xyz"


def test_names_and_labels_are_no_markup_and_no_commands_to_a_terminal(tmp_path):
    directory = tmp_path / "[x](http://a)*b*"
    directory.mkdir()
    run_directory.write_description(
        str(directory),
        "run_classifier.py",
        {"init_checkpoint": "https://me:secret@host/w?sig=key"},
        TINY,
        None,
        None,
        {"kind": "classification", "labels": ["<b>\u202e", "a\x1b[31m`"], "pair": False},
    )
    text = card(directory)
    assert r"# \[x\](http://a)\*b\*" in text
    assert "`<b>\\u202e`, `a\\x1b[31m'`" in text
    assert "\x1b" not in text and "\u202e" not in text
    for path in ("README.md", "flags.json"):
        content = (directory / path).read_text()
        assert (
            "secret" not in content and "sig" not in content and "https://***@host/w?***" in content
        )

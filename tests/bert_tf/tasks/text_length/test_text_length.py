"""A new task is small: this package trains, evaluates, predicts and exports, and no file of the
library knows of it."""

import json
import pathlib
import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.predictor import Predictor
from tests.bert_tf.inference.stock_server import assert_served
from tests.bert_tf.tasks.classification.toy_task import OTHERS, write_model
from tests.bert_tf.tasks.text_length import HEADS, TASKS, add_to_tables

PACKAGE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def trained(tmp_path_factory, project) -> pathlib.Path:
    """The directory of a run of the command."""
    folder = tmp_path_factory.mktemp("lengths")
    drawn = random.Random(0)
    for name, count in (("train", 400), ("dev", 40), ("test", 20)):
        (folder / f"{name}.txt").write_text(
            "".join(
                " ".join(drawn.choices(OTHERS, k=drawn.randint(1, 12))) + "\n" for _ in range(count)
            )
        )
    flags = {
        "train_file": folder / "train.txt",
        "dev_file": folder / "dev.txt",
        "test_file": folder / "test.txt",
        "bert_config_file": write_model(folder),
        "output_dir": folder / "run",
        "max_seq_length": 16,
        "learning_rate": 0.003,
        "num_train_epochs": 12,
        "train_batch_size": 8,
        "eval_steps": 300,
        "hidden_dropout_prob": 0,
        "attention_probs_dropout_prob": 0,
    }
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.bert_tf.tasks.text_length.run_length",
            "--do_train",
            "--do_eval",
            "--do_predict",
            *(f"--{name}={value}" for name, value in flags.items()),
        ],
        cwd=project,
        check=True,
    )
    return folder / "run"


@pytest.fixture(autouse=True)
def tables():
    """With the rows of this task, for one test."""
    add_to_tables()
    yield
    del HEADS["length"], TASKS["length"]


def test_it_trains_evaluates_and_predicts(trained):
    # Who always guesses 6 words is off by 3.
    assert json_files.read(str(trained / "eval_results.json"))["eval_negative_error"] > -1.5
    assert json_files.read(str(trained / "best/task.json"))["kind"] == "length"
    lines = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
    error = np.mean([abs(line["length"] - len(line["text"].split())) for line in lines])
    assert len(lines) == 20 and error < 1.5
    # Of a model that is loaded.
    predictor = Predictor.from_checkpoint(str(trained))
    assert predictor.task == "length"
    np.testing.assert_allclose(
        [one["length"] for one in predictor([line["text"] for line in lines])],
        [line["length"] for line in lines],
        atol=1e-4,
    )


def test_it_is_exported(trained, tmp_path):
    report = export(
        ExportOptions(init_checkpoint=str(trained), export_dir=str(tmp_path / "served"))
    )
    assert report.task == "length" and report.max_difference < 1e-4
    assert_served(tmp_path / "served")
    texts = ["the film is", "so it was a book of the story"]
    found = tf.saved_model.load(str(tmp_path / "served")).signatures["serving_default"](
        text=tf.constant(texts)
    )
    np.testing.assert_allclose(
        found["length"],
        [one["length"] for one in Predictor.from_checkpoint(str(trained))(texts)],
        atol=1e-4,
    )


def test_it_is_small_and_stands_in_two_tables():
    code = {
        path.name: path.read_text().splitlines()
        for path in PACKAGE.glob("*.py")
        if "test" not in path.name
    }
    assert sorted(code) == [
        "__init__.py",
        "inference.py",
        "model.py",
        "options.py",
        "run_length.py",
        "task.py",
    ]
    assert sum(map(len, code.values())) <= 260
    assert [
        line.split("[")[0].strip() for line in code["__init__.py"] if '["length"] = ' in line
    ] == ["HEADS", "TASKS"]

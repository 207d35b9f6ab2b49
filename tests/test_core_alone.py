"""The core without bert_tf/extras: a copy of the tree trains, evaluates, predicts and exports;
extras are named."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from bert_common import json_files

_LENGTHS = ("--max_seq_length=24", "--doc_stride=4", "--max_query_length=6")


@pytest.fixture(scope="module")
def copy(project, tmp_path_factory):
    """The tree without its extras and tests; beside it a corpus, questions and a small model's
    configuration."""
    folder = tmp_path_factory.mktemp("alone")
    for name in ("bert_common", "bert_tf", "data_gen", "modeling"):
        shutil.copytree(
            project / name, folder / name, ignore=shutil.ignore_patterns("extras", "__pycache__")
        )
    for script in project.glob("*.py"):
        shutil.copy(script, folder)
    (folder / "corpus.txt").write_text(
        "".join(
            f"the old house stood by the river .\nthe {color} door was open .\nshe went in and sat down .\n\n"
            for color in ("red", "green", "white", "black", "brown", "blue") * 4
        )
    )
    paragraphs = [
        {
            "context": f"The {color} door was open and she sat down.",
            "qas": [
                {
                    "id": color,
                    "question": "Which door?",
                    "answers": [{"text": color, "answer_start": 4}],
                }
            ],
        }
        for color in ("red", "green", "white", "black")
    ]
    json_files.write(
        str(folder / "questions.json"),
        {"version": "1.1", "data": [{"title": "", "paragraphs": paragraphs}]},
    )
    shutil.copy(project / "samples/tiny_books/vocab.txt", folder)
    config = json_files.read(str(project / "samples/tiny_books/bert_config.json"))
    json_files.write(
        str(folder / "bert_config.json"),
        {
            **config,
            "num_hidden_layers": 1,
            "hidden_size": 16,
            "num_attention_heads": 2,
            "intermediate_size": 32,
        },
    )
    return folder


def start(folder: pathlib.Path, script: str, *arguments: str) -> subprocess.Popen:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("TF_")
    } | {"PYTHONPATH": ""}
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(folder: pathlib.Path, script: str, *arguments: str) -> str:
    """What a command prints that must succeed."""
    process = start(folder, script, *arguments)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


@pytest.mark.processes
def test_pretraining_fine_tuning_predictions_and_an_export(copy):
    run(
        copy,
        "data_gen/create_pretraining_data.py",
        "--input_file=corpus.txt",
        "--output_file=records",
        "--vocab_file=vocab.txt",
        "--max_seq_length=24",
        "--max_predictions_per_seq=4",
        "--num_workers=1",
    )
    run(
        copy,
        "run_pretraining.py",
        "--do_train",
        "--do_eval",
        "--input_file=records",
        "--eval_file=records",
        "--bert_config_file=bert_config.json",
        "--output_dir=pretrained",
        "--train_batch_size=4",
        "--num_train_steps=2",
        "--num_warmup_steps=0",
        "--max_seq_length=24",
        "--max_predictions_per_seq=4",
    )
    run(
        copy,
        "run_squad.py",
        "--do_train",
        "--do_predict",
        "--train_file=questions.json",
        "--predict_file=questions.json",
        "--init_checkpoint=pretrained",
        "--output_dir=squad",
        "--train_batch_size=4",
        "--num_train_epochs=1",
        *_LENGTHS,
    )
    assert set(json_files.read(str(copy / "squad/eval_results.json"))) >= {"exact", "f1"}
    assert set(json_files.read(str(copy / "squad/predictions.json"))) == {
        "red",
        "green",
        "white",
        "black",
    }
    (copy / "lines.txt").write_text(
        json.dumps({"question": "Which door?", "context": "The red door was open."}) + "\n"
    )
    (line,) = run(
        copy, "predict.py", "--init_checkpoint=squad", "--input_file=lines.txt"
    ).splitlines()
    assert json.loads(line)["answer"] in "The red door was open."
    assert "signature serving_default" in run(
        copy, "export_model.py", "--init_checkpoint=squad", "--export_dir=served"
    )
    assert (copy / "served/saved_model.pb").exists() and not (copy / "bert_tf/extras").exists()


@pytest.mark.processes
def test_what_is_asked_of_extras_is_one_line_that_names_them(copy, project):
    (copy / "preset.weights.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    tiny = project / "samples/tiny_books/bert_model.ckpt"
    commands = {
        "onnx": (
            "export_model.py",
            f"--init_checkpoint={tiny}",
            "--task=features",
            "--export_dir=onnx",
            "--format=onnx",
        ),
        "mlflow": (
            "run_squad.py",
            "--do_train",
            "--train_file=questions.json",
            f"--init_checkpoint={tiny}",
            "--output_dir=tracked",
            "--report_to=mlflow",
            *_LENGTHS,
        ),
        "keras_hub": (
            "predict.py",
            "--init_checkpoint=preset.weights.h5",
            "--vocab_file=vocab.txt",
        ),
    }
    processes = {name: start(copy, *command) for name, command in commands.items()}
    for name, process in processes.items():
        _, err = process.communicate()
        assert process.returncode == 2, err
        assert (
            err.startswith("error: ")
            and f" {name} is not installed: there is no module bert_tf.extras" in err
        ), err
        assert err.count("\n") == 1, err
    assert not [
        path
        for name in ("onnx", "tracked")
        if (path := copy / name).exists() and any(path.iterdir())
    ]

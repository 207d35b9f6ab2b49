import csv
import json
import pathlib

import numpy as np
import pytest

from bert_common import json_files
from bert_tf.inference.predictor import Predictor
from bert_tf.runs import run as driver
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.tasks.multiple_choice.task import MultipleChoiceTask, run
from bert_tf.training.run_directory import read_metrics
from modeling.checkpoints.load import open_checkpoint
from tests.bert_tf.tasks.multiple_choice.toy_questions import write_jsonl, write_model, write_swag
from tests.refusals import assert_refused
from tests.tiny import write_tiny

TRAINING = dict(
    max_seq_length=24, train_batch_size=8, learning_rate=0.01, num_train_epochs=2, seed=1
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    for split, count, seed in (("train", 101, 1), ("val", 40, 2), ("test", 21, 3)):
        write_swag(folder / f"{split}.csv", count, seed, labels=split != "test")
        write_jsonl(folder / f"{split}.jsonl", count, seed, most=4, fewest=2)
    return folder


def swag(folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> MultipleChoiceOptions:
    return MultipleChoiceOptions(
        **{
            **TRAINING,
            **dict(
                data_dir=str(folder),
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
            ),
            **changes,
        }
    )


def own(folder: pathlib.Path, output_dir: pathlib.Path, **changes) -> MultipleChoiceOptions:
    """Questions with 2 to 4 choices."""
    return MultipleChoiceOptions(
        **{
            **TRAINING,
            **dict(
                task_name="custom",
                train_file=f"{folder}/train.jsonl",
                dev_file=f"{folder}/val.jsonl",
                test_file=f"{folder}/test.jsonl",
                context_column="context",
                choices_columns=("choices",),
                label_column="label",
                id_column="id",
                output_dir=str(output_dir),
                bert_config_file=f"{folder}/bert_config.json",
            ),
            **changes,
        }
    )


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory) -> pathlib.Path:
    """The directory of a finished run on questions with different numbers of choices."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert (
        run(
            own(
                folder,
                directory,
                do_train=True,
                do_eval=True,
                do_predict=True,
                save_checkpoints_steps=10,
            )
        )
        == 0
    )
    return directory


def test_it_learns_and_keeps_its_best_weights(trained):
    results = json_files.read(str(trained / "eval_results.json"))
    assert set(results) == {"eval_accuracy", "eval_loss", "global_step"}
    assert results["eval_accuracy"] > 0.8
    evaluations = [line for line in read_metrics(str(trained)) if line["split"] == "eval"]
    assert [line["step"] for line in evaluations] == [13, 26]
    assert (
        json_files.read(str(trained / "best/best.json"))["metrics"]["accuracy"]
        == results["eval_accuracy"]
    )
    opened = open_checkpoint(str(trained))
    assert opened.heads == ["multiple_choice"]
    description = {
        "kind": "multiple_choice",
        "task_name": "custom",
        "max_seq_length": 24,
        "truncate": "longer",
    }
    assert opened.task.items() >= description.items()


def test_what_is_written(folder, trained):
    questions = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    rows = [
        list(map(float, line.split("\t")))
        for line in (trained / "test_results.tsv").read_text().splitlines()
    ]
    assert list(map(len, rows)) == [len(question["choices"]) for question in questions]
    assert {len(row) for row in rows} == {2, 3, 4}
    assert all(sum(row) == pytest.approx(1, abs=1e-6) for row in rows)
    with open(trained / "predictions.csv", newline="") as file:
        predicted = list(csv.DictReader(file))
    assert list(predicted[0]) == ["", "pred"]
    assert [row[""] for row in predicted] == [question["id"] for question in questions]
    assert [int(row["pred"]) for row in predicted] == [int(np.argmax(row)) for row in rows]
    lines = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
    assert [line["choices"] for line in lines] == [question["choices"] for question in questions]
    assert [line["prediction"] for line in lines] == [int(row["pred"]) for row in predicted]


def test_the_hardest_questions(trained):
    lines = [
        json.loads(line) for line in (trained / "hardest_questions.jsonl").read_text().splitlines()
    ]
    assert len(lines) == 20
    right = [line["probabilities"][line["label"]] for line in lines]
    assert right == sorted(right)
    accuracy = json_files.read(str(trained / "eval_results.json"))["eval_accuracy"]
    # Those that are answered wrongly come first, as 40 are all there are.
    assert sum(line["prediction"] != line["label"] for line in lines) == round(40 * (1 - accuracy))


def test_a_finished_run_predicts_again_whatever_the_batches(folder, trained, tmp_path, capsys):
    expected = (trained / "predictions.csv").read_bytes()
    only = dict(
        train_file=None, dev_file=None, label_column=None, bert_config_file=None, do_predict=True
    )
    run(
        own(
            folder,
            tmp_path,
            init_checkpoint=str(trained),
            pad_to_max_length=True,
            predict_batch_size=5,
            **only,
        )
    )
    assert (tmp_path / "predictions.csv").read_bytes() == expected
    assert "predicted 21 examples" in capsys.readouterr().out
    # Line by line, too.
    questions = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    answers = Predictor.from_checkpoint(str(trained))(
        [
            {"id": one["id"], "context": one["context"], "choices": one["choices"]}
            for one in questions
        ]
    )
    rows = [
        list(map(float, line.split("\t")))
        for line in (trained / "test_results.tsv").read_text().splitlines()
    ]
    for answer, row in zip(answers, rows, strict=True):
        np.testing.assert_allclose(answer["probabilities"], row, atol=1e-5)


def test_a_later_evaluation_counts_labels_as_the_training_did(folder, tmp_path):
    """A development set alone does not show that its labels are counted from 1."""
    rows = [json.loads(line) for line in (folder / "val.jsonl").read_text().splitlines()]
    not_last = [row for row in rows if row["label"] + 1 < len(row["choices"])][:5]
    for name, chosen in (("train", rows), ("dev", not_last)):
        lines = [json.dumps({**row, "label": row["label"] + 1}) for row in chosen]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    files = {"train_file": f"{tmp_path}/train.jsonl", "dev_file": f"{tmp_path}/dev.jsonl"}
    run(own(folder, tmp_path / "run", **files, test_file=None, do_train=True, do_eval=True))
    assert open_checkpoint(str(tmp_path / "run")).task["label_kind"] == "number"
    later = dict(init_checkpoint=str(tmp_path / "run"), bert_config_file=None, do_eval=True)
    dev_only = dict(train_file=None, dev_file=files["dev_file"], test_file=None)
    run(own(folder, tmp_path / "later", **later, **dev_only))
    run(own(folder, tmp_path / "index", **later, **dev_only, label_kind="index"))
    accuracy = {}
    for name in ("run", "later", "index"):
        results = json_files.read(str(tmp_path / name / "eval_results.json"))
        accuracy[name] = results["eval_accuracy"]
    assert accuracy["later"] == accuracy["run"] > accuracy["index"]


def test_a_fold_of_codah(folder, tmp_path, capsys):
    """In SWAG's columns, found in the directory; truncated, frozen, limited, with a second
    development set."""
    data = tmp_path / "fold_0"
    data.mkdir()
    for number, split in enumerate(("train", "dev", "test")):
        write_swag(data / f"{split}.csv", 40, number)
    options = swag(
        folder,
        tmp_path / "out",
        task_name="codah",
        data_dir=str(data),
        do_train=True,
        do_eval=True,
        do_predict=True,
        truncate="context_start",
        max_seq_length=10,
        freeze_embeddings=True,
        num_train_epochs=1,
        max_train_examples=30,
        eval_files=(f"train:{folder}/train.csv",),
        max_eval_examples=20,
    )
    outcome = driver.start(MultipleChoiceTask, options)
    output = capsys.readouterr().out
    assert "sequences, of a question with one choice each, were truncated to 10 tokens" in output
    assert "30 questions with 4 choices" in output
    results = json_files.read(str(tmp_path / "out/eval_results.json"))
    # Ten tokens do not distinguish the choices.
    assert set(results) - {"degenerate"} == {
        "eval_accuracy",
        "eval_loss",
        "eval_train_accuracy",
        "eval_train_loss",
        "global_step",
    }
    assert outcome.evaluation.metrics["accuracy"] == results["eval_accuracy"]
    with open(data / "test.csv", newline="") as file:
        labels = [int(row["label"]) for row in csv.DictReader(file)]
    with open(tmp_path / "out/predictions.csv", newline="") as file:
        predicted = [int(row["pred"]) for row in csv.DictReader(file)]
    assert outcome.test_metrics["test_accuracy"] == np.mean(np.array(labels) == predicted)
    assert open_checkpoint(str(tmp_path / "out")).task["truncate"] == "context_start"


@pytest.mark.parametrize(
    "changes, parts",
    [
        (
            dict(do_eval=True, dev_file="{folder}/test.csv", init_checkpoint="{trained}"),
            ["test.csv:1: no column 'label'", "the columns are '', 'video-id'", "--do_predict"],
        ),
        (dict(do_train=True, data_dir=None), ["--do_train needs --train_file or --data_dir"]),
        (dict(do_train=True, data_dir="{folder}/runs"), ["has no train.csv"]),
        (
            dict(do_train=True, question_column="q"),
            ["--question_column has no effect without --task_name=custom"],
        ),
        (dict(do_train=True, task_name="custom"), ["--choices_columns must be given"]),
        (
            dict(do_train=True, task_name="codah", data_dir="{folder}/runs"),
            ["has no train.tsv or train.csv"],
        ),
    ],
)
def test_what_does_not_fit_is_refused(folder, trained, tmp_path, changes, parts):
    changes = {
        name: value.format(folder=folder, trained=trained) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    assert_refused(lambda: run(swag(folder, tmp_path / "out", **changes)), *parts)
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_whose_head_is_of_another_kind(folder, tmp_path):
    (tmp_path / "classification").mkdir()
    checkpoint = write_tiny(tmp_path / "classification", "classification")
    options = swag(
        folder, tmp_path / "out", bert_config_file=None, init_checkpoint=checkpoint, do_eval=True
    )
    assert_refused(
        lambda: run(options),
        "is not a trained model for this task",
        "that of the checkpoint is a classification head",
    )

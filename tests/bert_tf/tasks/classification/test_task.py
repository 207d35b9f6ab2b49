import csv
import dataclasses
import json
import os
import shutil
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.inference.predictor import Predictor
from bert_tf.runs.evaluation import Evaluation, write_eval_results, write_test_results
from bert_tf.tasks.classification.task import run, write_predictions
from bert_tf.training.run_directory import read_metrics
from data_gen.labeled.labeled_texts import LabeledTexts
from modeling.checkpoints.load import open_checkpoint, read_checkpoint
from modeling.encoder import BertEncoder
from tests.bert_tf.tasks.classification.toy_task import (
    MODEL,
    glue_task,
    own_task,
    refused,
    write_csv,
)


def test_it_learns_and_keeps_its_best_weights(trained):
    results = json_files.read(str(trained / "eval_results.json"))
    metrics = ("accuracy", "f1", "loss", "macro_f1", "matthews_correlation")
    assert {*(f"eval_{name}" for name in metrics), "loss", "global_step"} == set(results)
    assert results["eval_accuracy"] > 0.9
    evaluations = [line for line in read_metrics(str(trained)) if line["split"] == "eval"]
    # 203 examples are 26 batches, the last one of 3.
    assert [line["step"] for line in evaluations] == [26, 52, 78]
    best = json_files.read(str(trained / "best" / "best.json"))
    assert best["step"] == results["global_step"]
    assert (
        best["metrics"]["accuracy"]
        == max(line["accuracy"] for line in evaluations)
        == results["eval_accuracy"]
    )
    reader = tf.train.load_checkpoint(str(trained / "best"))
    assert not any("optimizer" in key for key in reader.get_variable_to_shape_map())


def test_a_run_directory_tells_what_it_is_for(trained):
    opened = open_checkpoint(str(trained))
    assert os.path.samefile(opened.source.directory, trained / "best")
    description = {
        "kind": "classification",
        "task_name": "custom",
        "labels": ["no", "yes"],
        "pair": False,
        "max_seq_length": 16,
    }
    assert opened.task.items() >= description.items()
    assert opened.config.extra["id2label"] == {"0": "no", "1": "yes"}
    assert os.path.samefile(open_checkpoint(str(trained / "ckpt-78")).source.directory, trained)


def test_a_bilstm_between_encoder_and_head(folder, tmp_path, capsys):
    """Trained, stopped and resumed, predicted with; the pre-trained checkpoint has none."""
    BertEncoder(MODEL, seed=1).save_checkpoint(
        str(tmp_path / "weights"), vocab_file=f"{folder}/vocab.txt", do_lower_case=True
    )
    options = own_task(
        folder,
        tmp_path / "run",
        init_checkpoint=str(tmp_path / "weights"),
        do_train=True,
        do_eval=True,
        num_train_epochs=1,
        bilstm_units=5,
        max_train_examples=40,
        save_checkpoints_steps=3,
    )
    assert run(options) == 0
    assert run(dataclasses.replace(options, num_train_epochs=2)) == 0
    output = capsys.readouterr().out
    assert (
        "newly initialized, not in the checkpoint: classification head (2 tensors), BiLSTM (6 tensors)"
        in output
    )
    assert "resuming from" in output
    assert open_checkpoint(str(tmp_path / "run")).config.bilstm_units == 5
    reader = tf.train.load_checkpoint(str(tmp_path / "run"))
    key = "heads/bilstm/backward/recurrent_kernel"
    assert reader.get_variable_to_shape_map()[f"{key}/.ATTRIBUTES/VARIABLE_VALUE"] == [5, 20]
    predictor = Predictor.from_checkpoint(str(tmp_path / "run"))
    evaluated = [
        json.loads(line)
        for line in (tmp_path / "run/eval_predictions.jsonl").read_text().splitlines()
    ]
    found = predictor([line["text_a"] for line in evaluated])
    for one, line in zip(found, evaluated, strict=True):
        assert one["probabilities"] == pytest.approx(line["probabilities"], abs=1e-5)
    with pytest.raises(
        UserError, match="--bilstm_units=6 contradicts the checkpoint, whose BiLSTM has 5 units"
    ):
        run(dataclasses.replace(options, bilstm_units=6))
    # Predictions know it without the flag.
    assert run(dataclasses.replace(options, bilstm_units=None, do_train=False)) == 0


def test_the_predictions_of_a_test_file(folder, trained):
    with open(folder / "test.csv", newline="") as file:
        truth = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (trained / "predictions.jsonl").read_text().splitlines()]
    assert [line["text_a"] for line in lines] == [row["review"] for row in truth]
    probabilities = np.loadtxt(trained / "test_results.tsv", delimiter="\t")
    assert probabilities.shape == (21, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    assert [line["label"] for line in lines] == [
        ("no", "yes")[row] for row in probabilities.argmax(axis=1)
    ]
    assert (
        np.mean([line["label"] == row["verdict"] for line, row in zip(lines, truth, strict=True)])
        > 0.8
    )


def test_tensorboard_shows_scalars(trained):
    values = {}
    for path in (trained / "eval").glob("events*"):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            values |= {value.tag: value for value in event.summary.value}
    assert set(values) >= {
        "loss/loss",
        "quality/accuracy",
        "quality/f1",
        "quality/macro_f1",
        "quality/matthews_correlation",
        "predictions/confusion_matrix",
        "predictions/reliability",
    }
    assert "example" in values["quality/accuracy"].metadata.summary_description


def test_a_finished_run_is_used_without_training(folder, trained, tmp_path, capsys):
    """By --output_dir alone, in its own directory and elsewhere; padding and batches do not change
    what comes out."""
    expected = np.loadtxt(trained / "test_results.tsv", delimiter="\t")
    changes = dict(
        train_file=None, dev_file=None, bert_config_file=None, label_column=None, do_predict=True
    )
    elsewhere = dict(init_checkpoint=str(trained), pad_to_max_length=True, predict_batch_size=5)
    for directory, extra in ((trained, {}), (tmp_path, elsewhere)):
        assert run(own_task(folder, directory, **changes, **extra)) == 0
        np.testing.assert_allclose(
            np.loadtxt(directory / "test_results.tsv", delimiter="\t"), expected, atol=1e-5
        )
    assert "predicted 21 examples" in capsys.readouterr().out
    assert run(own_task(folder, trained, do_train=True, seed=2)) == 0
    output = capsys.readouterr().out
    assert "training is finished" in output and "seed: 1 → 2" in output
    assert "nothing was trained with seed: 1 → 2: to do so, choose another --output_dir" in output


def test_the_head_of_another_task_is_not_taken(folder, trained, tmp_path, capsys):
    run(
        glue_task(
            "mnli",
            folder,
            tmp_path / "mnli",
            init_checkpoint=str(trained),
            bert_config_file=None,
            do_train=True,
            do_eval=True,
        )
    )
    output = capsys.readouterr().out
    assert (
        "the head is newly initialized: that of the checkpoint has 2 classes, this task has 3"
        in output
    )
    assert "MNLI has no dev_mismatched.tsv" in output
    # The diagnostic set goes with the model of MNLI.
    run(
        glue_task(
            "ax",
            folder,
            tmp_path / "ax",
            init_checkpoint=str(tmp_path / "mnli"),
            bert_config_file=None,
            do_predict=True,
        )
    )
    lines = (tmp_path / "ax" / "AX.tsv").read_text().splitlines()
    assert lines[0] == "index\tprediction" and len(lines) == 41
    assert {line.split("\t")[1] for line in lines[1:]} <= {"contradiction", "entailment", "neutral"}
    with pytest.raises(UserError, match="not a trained model for this task .*2 classes"):
        run(
            glue_task(
                "ax",
                folder,
                tmp_path / "no",
                init_checkpoint=str(trained),
                bert_config_file=None,
                do_predict=True,
            )
        )


def test_pairs_are_scored_by_f1_and_written_for_the_server(folder, tmp_path):
    run(glue_task("MRPC", folder, tmp_path, do_train=True, do_eval=True, do_predict=True))
    results = json_files.read(str(tmp_path / "eval_results.json"))
    assert results["eval_f1_accuracy_mean"] == pytest.approx(
        (results["eval_f1"] + results["eval_accuracy"]) / 2
    )
    best = json_files.read(str(tmp_path / "best" / "best.json"))
    assert best["metric"] == "f1_accuracy_mean"
    run(glue_task("MRPC", folder, tmp_path, do_train=True, do_eval=True, num_train_epochs=2))
    again = json_files.read(str(tmp_path / "best" / "best.json"))["metrics"]
    assert again.get("f1_accuracy_mean", 2) >= best["metrics"]["f1_accuracy_mean"]
    # The same with ids, texts and names of the classes.
    predicted = [
        json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()
    ]
    raw = [
        list(map(float, line.split("\t")))
        for line in (tmp_path / "test_results.tsv").read_text().splitlines()
    ]
    assert [list(one["probabilities"].values()) for one in predicted] == raw
    assert [one["id"] for one in predicted] == list(map(str, range(len(raw))))
    assert all(one["text_b"] for one in predicted)
    lines = (tmp_path / "MRPC.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["index", *map(str, range(40))]


def test_scores_are_regressed(folder, tmp_path):
    run(
        glue_task(
            "sts-b",
            folder,
            tmp_path,
            do_train=True,
            do_eval=True,
            do_predict=True,
            eval_steps=2,
            learning_rate=0.05,
        )
    )
    results = json_files.read(str(tmp_path / "eval_results.json"))
    assert {"eval_pearson", "eval_spearman", "eval_loss"} <= set(results)
    evaluations = [line["step"] for line in read_metrics(str(tmp_path)) if line["split"] == "eval"]
    assert evaluations == [2, 4, 5]
    scores = [
        float(line.split("\t")[1]) for line in (tmp_path / "STS-B.tsv").read_text().splitlines()[1:]
    ]
    assert all(0 <= score <= 5 for score in scores)
    raw = np.loadtxt(tmp_path / "test_results.tsv")
    np.testing.assert_allclose(np.clip(raw, 0, 5), scores, atol=5.1e-4)
    assert read_checkpoint(str(tmp_path)).tensors["output_weights"] == (1, 16)


def test_the_order_of_the_labels_is_that_of_the_checkpoint(folder, trained, tmp_path):
    """A head whose classes are numbered otherwise, as those of other people's models are."""
    opened = open_checkpoint(str(trained))
    config = dataclasses.replace(opened.config, extra={"id2label": {"0": "yes", "1": "no"}})
    for path in (trained / "best").iterdir():
        if path.name != "task.json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    config.to_file(str(tmp_path / "bert_config.json"))
    run(
        own_task(
            folder,
            tmp_path / "out",
            init_checkpoint=str(tmp_path),
            bert_config_file=None,
            do_eval=True,
        )
    )
    accuracy = json_files.read(str(tmp_path / "out" / "eval_results.json"))["eval_accuracy"]
    assert accuracy == pytest.approx(
        1 - json_files.read(str(trained / "eval_results.json"))["eval_accuracy"]
    )


@pytest.mark.parametrize(
    "changes, parts",
    [
        (
            dict(dev_file="{folder}/none.csv", do_train=True),
            ["--dev_file", "none.csv does not exist"],
        ),
        (dict(train_file=None, do_train=True), ["--do_train needs --train_file"]),
        (dict(do_predict=True), ["holds no trained model", "--do_train"]),
        (
            dict(do_predict=True, sweep={"seed": (1, 2)}),
            ["several values of --seed are for --do_train"],
        ),
        (dict(do_train=True, max_seq_length=33), ["33", "32"]),
        (
            dict(do_train=True, regression=True),
            ["train.csv: 203 of 203 rows are bad", "lines 2, ", "number"],
        ),
        (dict(), ["nothing to do"]),
        (dict(task_name="rde", data_dir="{folder}", do_train=True), ["did you mean rte"]),
        (dict(task_name="rte", do_train=True), ["--train_file", "custom"]),
    ],
)
def test_what_does_not_go_together_is_refused(folder, tmp_path, changes, parts):
    changes = {
        name: value.format(folder=folder) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    refused(own_task(folder, tmp_path / "out", **changes), *parts)


def test_wrong_splits_are_refused(folder, trained, tmp_path):
    refused(glue_task("cola", folder, tmp_path, do_train=True), "CoLA/train.tsv")
    refused(
        glue_task("ax", folder, tmp_path, do_eval=True, init_checkpoint=str(trained)),
        "no labels here",
    )
    write_csv(tmp_path / "dev.csv", 9, names=("no", "perhaps"))
    refused(
        own_task(folder, tmp_path / "out", dev_file=f"{tmp_path}/dev.csv", do_train=True),
        "dev.csv:",
        "'perhaps'",
        "'no', 'yes'",
    )
    refused(
        own_task(folder, tmp_path / "out", dev_file=None, do_train=True, sweep={"seed": (1, 2)}),
        "--dev_file",
    )


def test_a_model_reads_pairs_or_single_texts_as_it_was_trained(folder, trained, tmp_path):
    """A forgotten --text_b_column is no other result, in the run's directory and elsewhere."""
    predicting = dict(do_predict=True, label_column=None)
    copy = shutil.copytree(trained, tmp_path / "copy")
    refused(own_task(folder, copy, text_b_column="verdict", **predicting), "pair is False there")
    refused(own_task(folder, copy, text_b_column="verdict", do_train=True), "pair is False there")
    options = own_task(folder, tmp_path / "out", init_checkpoint=str(trained), **predicting)
    options = options.replace(bert_config_file=None, train_file=None, dev_file=None)
    refused(options.replace(text_b_column="verdict"), "was trained on single texts")


def test_several_classes_in_windows_from_the_run_to_the_prediction(folder, tmp_path):
    """With class weights, a further evaluation file and the other schedules and rates."""
    for name in ("train", "dev"):
        with open(folder / f"{name}.csv", newline="") as file:
            rows = [
                {
                    "review": row["review"],
                    "tags": [row["verdict"]] + ["long"] * (len(row["review"]) > 50),
                }
                for row in csv.DictReader(file)
            ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = own_task(
        folder,
        tmp_path / "run",
        train_file=f"{tmp_path}/train.jsonl",
        dev_file=f"{tmp_path}/dev.jsonl",
        test_file=f"{tmp_path}/dev.jsonl",
        eval_files=(f"again:{tmp_path}/dev.jsonl",),
        label_column="tags",
        multi_label=True,
        class_weights="balanced",
        long_texts="windows",
        max_seq_length=14,
        lr_schedule="cosine",
        weight_decay=0.0,
        hidden_dropout_prob=0.0,
        classifier_dropout=0.0,
        learning_rate=0.01,
        max_eval_examples=30,
        max_predict_examples=12,
        do_train=True,
        do_eval=True,
        do_predict=True,
    )
    assert run(options) == 0
    results = json_files.read(str(tmp_path / "run" / "eval_results.json"))
    assert results["eval_micro_f1"] == results["eval_again_micro_f1"] > 0.7
    config = json_files.read(str(tmp_path / "run" / "best" / "bert_config.json"))
    assert (
        config["problem_type"] == "multi_label_classification"
        and config["hidden_dropout_prob"] == config["classifier_dropout"] == 0.0
    )
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()
    ]
    assert len(lines) == 12 and np.loadtxt(tmp_path / "run" / "test_results.tsv").shape == (12, 3)
    predictor = Predictor.from_checkpoint(str(tmp_path / "run"))
    for line, result in zip(lines, predictor([line["text_a"] for line in lines]), strict=True):
        assert result["labels"] == line["labels"]
        assert result["probabilities"] == pytest.approx(line["probabilities"], abs=1e-5)
    # Later only the file is given.
    again = own_task(
        folder,
        tmp_path / "run",
        train_file=None,
        dev_file=None,
        test_file=f"{tmp_path}/dev.jsonl",
        label_column=None,
        bert_config_file=None,
        max_seq_length=14,
        max_predict_examples=12,
        do_predict=True,
    )
    before = (tmp_path / "run" / "predictions.jsonl").read_bytes()
    assert run(again) == 0 and (tmp_path / "run" / "predictions.jsonl").read_bytes() == before


PROBABILITIES = np.array([[0.9, 0.1], [1 / 3, 2 / 3]], np.float32)


def test_eval_results_have_the_keys_of_the_original(tmp_path):
    loss = np.float64(1 / 3)
    evaluation = Evaluation(343, {"accuracy": np.float32(0.75), "loss": loss, "f1": 0.8})
    table = write_eval_results(str(tmp_path), evaluation, 20, "eval_", {"loss": loss})
    assert (tmp_path / "eval_results.txt").read_text() == (
        "eval_accuracy = 0.75\neval_f1 = 0.8\neval_loss = 0.3333333333333333\nglobal_step = 343\n"
        "loss = 0.3333333333333333\n"
    )
    assert json.loads((tmp_path / "eval_results.json").read_text()) == {
        "eval_accuracy": 0.75,
        "eval_f1": 0.8,
        "eval_loss": 1 / 3,
        "global_step": 343,
        "loss": 1 / 3,
    }
    assert (
        table.splitlines()[0].startswith("evaluation on 20 examples (") and table.count("loss") == 1
    )


def test_a_line_an_example(tmp_path):
    write_test_results(str(tmp_path / "test_results.tsv"), PROBABILITIES)
    assert (tmp_path / "test_results.tsv").read_text() == "0.9\t0.1\n0.33333334\t0.6666667\n"
    write_test_results(str(tmp_path / "test_results.tsv"), np.array([0.1 + 0.2, -1e-9, 5]))
    assert (tmp_path / "test_results.tsv").read_text() == "0.30000000000000004\n-1e-09\n5.0\n"


def test_predictions_of_pairs_and_of_a_regression(tmp_path):
    path = tmp_path / "predictions.jsonl"
    texts = LabeledTexts("", ["a", 7], ["one\u2028line", "tab\there"], ["größer", "中文"], None)
    write_predictions(
        str(path),
        types.SimpleNamespace(labels=["no", "yes"], multi_label=False),
        texts,
        PROBABILITIES,
    )
    assert "größer" in path.read_text(encoding="utf-8")
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] == [
        {
            "id": "a",
            "text_a": "one\u2028line",
            "text_b": "größer",
            "label": "no",
            "probabilities": {"no": 0.9, "yes": 0.1},
        },
        {
            "id": 7,
            "text_a": "tab\there",
            "text_b": "中文",
            "label": "yes",
            "probabilities": {"no": 0.33333334, "yes": 0.6666667},
        },
    ]
    write_predictions(
        str(path),
        types.SimpleNamespace(labels=[]),
        LabeledTexts("", [0, 1], ["a", "b"], None, np.array([3.0, 0.5])),
        np.array([3.25, 0.1], np.float32),
        with_truth=True,
    )
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"id": 0, "text_a": "a", "score": 3.25, "true_score": 3.0},
        {"id": 1, "text_a": "b", "score": 0.1, "true_score": 0.5},
    ]

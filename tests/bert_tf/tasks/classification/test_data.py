import pathlib

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.runs.dry_run import describe_data
from bert_tf.tasks.classification.data import (
    ClassificationData,
    check_head,
    named_probabilities,
    read_data,
)
from bert_tf.tasks.classification.long_texts import pool
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import ClassificationTask
from modeling.checkpoints.load import open_checkpoint
from tests.bert_tf.tasks.classification.toy_task import write_glue, write_model
from tests.data_gen.labeled.test_glue import write_xnli
from tests.tiny import write_tiny

ROWS = [
    ("good film", "new,long"),
    ("bad " * 12, "long"),
    ("the book is fine", ""),
    ("dull", "old,new"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("data")
    write_model(folder)
    write_glue(folder)
    write_xnli(folder)
    for name in ("train", "dev", "hard"):
        lines = [f"{text}\t{labels}\t{number % 3}" for number, (text, labels) in enumerate(ROWS)]
        (folder / f"{name}.tsv").write_text("\n".join(["review\ttags\tstars", *lines]) + "\n")
    return folder


def read(folder: pathlib.Path, **changes) -> ClassificationData:
    options = ClassificationOptions(
        **{
            **dict(
                task_name="custom",
                train_file=f"{folder}/train.tsv",
                dev_file=f"{folder}/dev.tsv",
                text_a_column="review",
                label_column="stars",
                output_dir="out",
                do_train=True,
                max_seq_length=8,
            ),
            **changes,
        }
    )
    options.check()
    return read_data(options, open_checkpoint(None, bert_config_file=f"{folder}/bert_config.json"))


def test_several_classes_and_their_weights(folder):
    data = read(folder, label_column="tags", multi_label=True, class_weights="balanced")
    assert data.labels == ("long", "new", "old") and data.metrics[0] == "micro_f1"
    assert data.train.examples.values["label_ids"].tolist() == [
        [1, 1, 0],
        [1, 0, 0],
        [0, 0, 0],
        [0, 1, 1],
    ]
    assert (
        data.positive_weights == (1.0, 1.0, 3.0) and "loss_weight" not in data.train.examples.values
    )
    assert data.description["kind"] == "multi_label_classification"


@pytest.mark.parametrize(
    "weights, count, expected",
    [
        ("balanced", None, [2 / 3, 4 / 3, 4 / 3, 2 / 3]),
        ("1,0,2.5", None, [1, 0, 2.5, 1]),
        # A class without examples does not make the others lighter.
        ("balanced", 2, [1, 1]),
    ],
)
def test_weights_of_classes(folder, weights, count, expected):
    data = read(folder, class_weights=weights, max_train_examples=count)
    np.testing.assert_allclose(data.train.examples.values["loss_weight"], expected, rtol=1e-6)
    with pytest.raises(UserError, match="--class_weights=1,0: 3 numbers are expected, for 0, 1, 2"):
        read(folder, class_weights="1,0")


def test_a_dry_run_shows_lengths(folder, tmp_path):
    rows = ["good film\tgood", "bad " * 12 + "\tbad"] * 8 + ["dull\tBad ", "fine\told"]
    (tmp_path / "train.tsv").write_text("\n".join(["review\tstars", *rows]) + "\n")
    shown = describe_data(read(folder, train_file=f"{tmp_path}/train.tsv", dev_file=None))
    assert shown == [
        (
            "train",
            "18 examples in 18 sequences, 5 % of them have at most 3 tokens, half 4, 95 % 8, the longest 8; 44.4% "
            "are cut",
        ),
    ]


def test_the_metric_that_chooses_the_best_weights(folder, tmp_path):
    options = dict(
        task_name="custom",
        train_file=f"{folder}/train.tsv",
        dev_file=f"{folder}/dev.tsv",
        do_train=True,
        text_a_column="review",
        label_column="stars",
        output_dir=str(tmp_path / "run"),
        bert_config_file=f"{folder}/bert_config.json",
    )
    # The model has 32 positions, and the default is 128.
    task = ClassificationTask(ClassificationOptions(**options))
    assert (
        task.main_metric == "accuracy"
        and task.description["max_seq_length"] == task.options.max_seq_length == 32
    )
    assert "--max_seq_length=32: the model has no more positions" in task.notes
    assert (
        ClassificationTask(ClassificationOptions(**options, best_metric="macro_f1")).main_metric
        == "macro_f1"
    )
    for changes, metrics in (
        ({}, "accuracy, macro_f1"),
        ({"dev_file": None}, "there are no development sets"),
    ):
        with pytest.raises(
            UserError, match=f"--best_metric=f1 is none of the metrics of this run: {metrics}"
        ):
            ClassificationTask(ClassificationOptions(**{**options, **changes}, best_metric="f1"))
    with pytest.raises(UserError, match="--max_seq_length 64 is longer"):
        ClassificationTask(ClassificationOptions(**options, max_seq_length=64))


def test_two_classes_have_an_f1(folder, tmp_path):
    (tmp_path / "two.tsv").write_text("review\tstars\na\tyes\nb\tno\n")
    data = read(folder, train_file=f"{tmp_path}/two.tsv", dev_file=f"{tmp_path}/two.tsv")
    assert data.metrics == ("accuracy", "macro_f1", "matthews_correlation", "f1")
    assert "the metric f1 is that of the class 'yes'" in data.notes
    assert "f1" not in read(folder).metrics


def test_windows_share_label_and_weight_of_their_text(folder):
    data = read(folder, long_texts="windows", class_weights="1,2,4")
    # 12 tokens in windows of 6 that begin 3 apart.
    assert data.train.window_counts.tolist() == [1, 3, 1, 1]
    values = data.train.examples.values
    assert values["label_ids"].tolist() == [0, 1, 1, 1, 2, 0]
    np.testing.assert_allclose(values["loss_weight"], [1, 2 / 3, 2 / 3, 2 / 3, 4, 1])
    np.testing.assert_allclose(
        pool(np.arange(12, dtype=np.float32).reshape(6, 2), data.train.window_counts),
        [[0, 1], [4, 5], [8, 9], [10, 11]],
    )
    assert data.description["long_texts"] == "windows" and data.description["window_stride"] == 3
    assert "train: 1 of 4 examples have several windows, 6 windows in all" in data.notes
    with pytest.raises(UserError, match="--window_stride is 7: it must be from 1 to 6"):
        read(folder, long_texts="windows", window_stride=7)
    with pytest.raises(UserError, match="--window_stride=3 has no effect without --long_texts"):
        read(folder, window_stride=3)
    with pytest.raises(UserError, match="windows is for single texts"):
        read(folder, long_texts="windows", text_b_column="tags")


def test_the_first_examples_of_every_file(folder):
    data = read(
        folder,
        max_train_examples=3,
        max_eval_examples=2,
        max_predict_examples=1,
        do_predict=True,
        # Names of other sets are names like any other.
        eval_files=tuple(f"{name}:{folder}/hard.tsv" for name in ("hard", "train", "dev", "test")),
        test_file=f"{folder}/dev.tsv",
    )
    assert len(data.train) == 3
    assert {name: len(split) for name, split in data.dev.items()} == {
        "dev": 2,
        "dev_hard": 2,
        "dev_train": 2,
        "dev_dev": 2,
        "dev_test": 2,
    }
    for name, split in data.dev.items():
        assert split.source.path == f"{folder}/{'dev' if name == 'dev' else 'hard'}.tsv"
    assert len(data.test["test"]) == 1
    # The labels are those of the whole training file all the same.
    assert data.labels == ("0", "1", "2")


def test_further_files_of_a_glue_task_have_its_columns(folder):
    changes = dict(
        task_name="mnli",
        data_dir=str(folder),
        train_file=None,
        dev_file=None,
        text_a_column=None,
        label_column=None,
    )
    path = f"{folder}/MNLI/dev_matched.tsv"
    data = read(folder, **changes, eval_files=(f"again:{path}",))
    assert list(data.dev) == ["dev_matched", "dev_again"] and len(data.dev["dev_again"]) == 40
    with pytest.raises(UserError, match="matched is a development set of MNLI"):
        read(folder, **changes, eval_files=(f"matched:{path}",))


def test_xnli(folder):
    changes = dict(
        task_name="xnli",
        data_dir=str(folder),
        train_file=None,
        dev_file=None,
        text_a_column=None,
        label_column=None,
        do_predict=True,
    )
    data = read(folder, **changes, long_texts="head_tail")
    assert (list(data.dev), list(data.test), data.metrics) == (["dev"], ["test"], ("accuracy",))
    assert (
        data.labels == ("contradiction", "entailment", "neutral")
        and data.description["long_texts"] == "head_tail"
    )
    assert list(read(folder, **changes, eval_languages=("all",)).dev) == ["dev_en", "dev_zh"]
    assert "eval_languages" in str(
        pytest.raises(UserError, read, folder, **changes, eval_files=("a:b.tsv",)).value
    )


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ({}, None),
        ({"task_name": None, "labels": None}, None),
        ({"labels": ["2", "1", "0"]}, "that of the checkpoint is for the labels 2, 1, 0"),
        ({"task_name": "other"}, "that of the checkpoint was trained for other"),
        ({"kind": "question_answering"}, None),
    ],
)
def test_a_head_whose_description_lacks_something(folder, tmp_path, task, reason):
    checkpoint = open_checkpoint(
        write_tiny(tmp_path, "classification", task={"kind": "classification", **task})
    )
    assert check_head(checkpoint, read(folder), True) == reason


def test_probabilities_of_many_classes_are_those_of_the_most_probable():
    labels = [f"class {number}" for number in range(3000)]
    values = np.random.default_rng(0).random(3000)
    shown = named_probabilities(labels, values, float)
    assert len(shown) == 1000 and min(shown.values()) == np.sort(values)[-1000]
    assert list(shown) == sorted(shown, key=labels.index)
    assert named_probabilities(labels[:2], values[:2], float) == {
        "class 0": values[0],
        "class 1": values[1],
    }

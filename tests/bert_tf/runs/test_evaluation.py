import math
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_common import json_files
from bert_tf.runs import run as driver
from bert_tf.runs.evaluation import constant_predictions
from bert_tf.tasks.classification.task import ClassificationTask
from bert_tf.tasks.multiple_choice.task import describe_choices
from bert_tf.tasks.question_answering.options import SquadConfig
from bert_tf.tasks.question_answering.task import SquadPredictions
from tests.bert_tf.runs.test_run import fine_tuning
from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model


@pytest.mark.parametrize(
    "predicted, constant",
    [
        ((["a", "a", "a"],), True),
        ((["a", "a", "a"], ["a", "b", "a"]), True),
        # All are right: nothing can be said.
        ((["a", "a", "a"], ["a", "a", "a"]), False),
        ((["a", "a", "b"],), False),
        ((["a"],), False),
        (([],), False),
        (([math.nan, math.nan], [0.0, 1.0]), True),
        (([math.nan, 1.0],), False),
    ],
)
def test_constant_predictions(predicted, constant):
    clause = constant_predictions("first", *predicted)
    assert bool(clause) is constant
    assert not constant or " examples of first are predicted as " in clause


def test_choices_that_are_all_as_probable_are_none():
    tie = np.log([[0.251, 0.25, 0.249, 0.25], [0.249, 0.251, 0.25, 0.25]])
    assert describe_choices(tie) == ["any choice", "any choice"]
    assert constant_predictions("dev", describe_choices(tie), [0, 1])
    # Two choices of three and of two, where one is not there.
    assert describe_choices(np.array([[0.1, 2.0, -1.0], [0.5, 0.2, -np.inf]])) == [
        "choice 1",
        "choice 0",
    ]


class Collapsed(ClassificationTask):
    """Every text is a "yes"."""

    def outputs(self, model, features):
        logits = super().outputs(model, features)["logits"]
        return {"logits": 0.0 * logits + tf.constant([0.0, 1.0])}


def test_a_run_says_so_loudly(tmp_path, capsys):
    write_model(tmp_path)
    write_csv(tmp_path / "train.csv", 40, 1)
    write_csv(tmp_path / "dev.csv", 16, 2)
    options = fine_tuning(tmp_path, tmp_path / "run", num_train_epochs=2, do_eval=True)
    assert driver.run(Collapsed, options) == 0
    captured = capsys.readouterr()
    said = "DEGENERATE: all 16 examples of dev are predicted as 'yes'"
    assert captured.err.count("DEGENERATE") == 1 and f"step 5: {said}" in captured.err
    assert captured.out.rstrip().splitlines()[-1].startswith(f"warning: {said}")
    results = json_files.read(str(tmp_path / "run/eval_results.json"))
    assert results["degenerate"].startswith(said) and results["eval_accuracy"] <= 1
    assert "degenerate" not in (tmp_path / "run/eval_results.txt").read_text()


def answered(starts, right) -> SquadPredictions:
    """Answers that begin at these characters, None for no answer."""
    results = [
        types.SimpleNamespace(
            id=id, choose=lambda threshold, start=start: types.SimpleNamespace(start=start)
        )
        for id, start in enumerate(starts)
    ]
    questions = [
        types.SimpleNamespace(
            answers=[types.SimpleNamespace(start=start)] if start is not None else ()
        )
        for start in right
    ]
    split = types.SimpleNamespace(
        source=types.SimpleNamespace(path="folder/dev.json", questions=questions), is_labeled=True
    )
    return SquadPredictions(split, results, SquadConfig(), None)


@pytest.mark.parametrize(
    "starts, right, said",
    [
        (
            [None, None, None],
            [3, None, 0],
            "all 3 questions of dev.json are predicted as 'no answer'",
        ),
        (
            [0, 0, 0],
            [3, None, 0],
            "all 3 questions of dev.json are predicted as 'what begins at character 0'",
        ),
        ([None, None, None], [None, None, None], None),
        ([0, 7, None], [3, None, 0], None),
    ],
)
def test_questions_that_all_get_one_answer(starts, right, said):
    evaluation = answered(starts, right).evaluation(step=1)
    if said is None:
        assert evaluation.degenerate is None
    else:
        assert evaluation.degenerate.startswith(f"DEGENERATE: {said}: ")

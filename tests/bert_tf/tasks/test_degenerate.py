"""Runs that predict the same for every example say so, whatever the task."""

import math
import types

import pytest
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.tasks import run as driver
from bert_tf.tasks.classification.task import ClassificationTask
from bert_tf.tasks.degenerate import Predicted, constant_sets, describe_degenerate
from bert_tf.tasks.eval_results import add_degenerate, write_eval_results
from bert_tf.tasks.question_answering.results import Answered
from bert_tf.tasks.question_answering.settings import SquadSettings
from bert_tf.tasks.question_answering.task import SquadTask
from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model
from tests.bert_tf.tasks.test_run import fine_tuning


@pytest.mark.parametrize("predicted, constant", [
    (Predicted(["a", "a", "a"]), True),
    (Predicted(["a", "a", "a"], ["a", "b", "a"]), True),
    # All are right: nothing can be said.
    (Predicted(["a", "a", "a"], ["a", "a", "a"]), False),
    (Predicted(["a", "a", "b"]), False),
    (Predicted(["a"]), False),
    (Predicted([]), False),
    (Predicted([math.nan, math.nan], [0.0, 1.0]), True),
    (Predicted([math.nan, 1.0]), False)])
def test_constant_predictions(predicted, constant):
  assert predicted.is_constant is constant
  assert bool(constant_sets({"dev": predicted})) is constant


def test_the_line_names_the_set_and_the_prediction():
  sets = {"dev_matched": Predicted(["yes"] * 1200, what="questions"), "dev_mismatched": Predicted([1, 2])}
  assert constant_sets(sets) == ["all 1,200 questions of dev_matched are predicted as 'yes'"]


def test_a_task_that_only_tells_that_it_is_degenerate_is_warned_of_too():
  task = types.SimpleNamespace(is_degenerate=lambda: True, predictions=dict)
  assert describe_degenerate(task).startswith("DEGENERATE: every example is predicted as the same: ")
  assert describe_degenerate(types.SimpleNamespace(is_degenerate=lambda: False)) is None


def test_the_results_of_the_same_step_are_marked(tmp_path):
  add_degenerate(str(tmp_path), 3, "all the same")
  assert not list(tmp_path.iterdir())
  write_eval_results(str(tmp_path), 3, {"accuracy": 0.5})
  path = str(tmp_path / "eval_results.json")
  add_degenerate(str(tmp_path), 4, "all the same")
  assert json_files.read(path) == {"accuracy": 0.5, "global_step": 3}
  add_degenerate(str(tmp_path), 3, "all the same")
  assert json_files.read(path) == {"accuracy": 0.5, "global_step": 3, "degenerate": "all the same"}


class Collapsed(ClassificationTask):
  """Every text is a "yes"."""

  def outputs(self, model, features):
    logits = super().outputs(model, features)["logits"]
    return {"logits": 0.0 * logits + tf.constant([0.0, 1.0])}


def test_a_run_says_so_loudly(tmp_path, capsys):
  write_model(tmp_path)
  write_csv(tmp_path / "train.csv", 40, 1)
  write_csv(tmp_path / "dev.csv", 16, 2)
  options = fine_tuning(tmp_path, tmp_path / "run", num_train_epochs=1, do_eval=True)
  assert driver.run(Collapsed, options) == 0
  captured = capsys.readouterr()
  said = "DEGENERATE: all 16 examples of dev are predicted as 'yes'"
  assert f"step 5: {said}" in captured.err
  assert captured.out.rstrip().splitlines()[-1].startswith(f"warning: {said}")
  results = json_files.read(str(tmp_path / "run/eval_results.json"))
  assert results["degenerate"].startswith(said) and results["eval_accuracy"] <= 1
  assert "degenerate" not in (tmp_path / "run/eval_results.txt").read_text()


def answered(starts, right) -> Answered:
  """Answers that begin at these characters, None for no answer."""
  results = [types.SimpleNamespace(choose=lambda threshold, start=start: types.SimpleNamespace(start=start))
             for start in starts]
  questions = [types.SimpleNamespace(answers=[types.SimpleNamespace(start=start)] if start is not None else ())
               for start in right]
  split = types.SimpleNamespace(data=types.SimpleNamespace(path="folder/dev.json", questions=questions),
                                is_scorable=True)
  return Answered(split, results, SquadSettings(), None)


@pytest.mark.parametrize("starts, right, said", [
    ([None, None, None], [3, None, 0], ["all 3 questions of dev.json are predicted as 'no answer'"]),
    ([0, 0, 0], [3, None, 0], ["all 3 questions of dev.json are predicted as 'what begins at character 0'"]),
    ([None, None, None], [None, None, None], []),
    ([0, 7, None], [3, None, 0], [])])
def test_questions_that_all_get_one_answer(starts, right, said):
  task = types.SimpleNamespace(_answered=answered(starts, right))
  assert constant_sets(SquadTask.predictions(task)) == said
  assert SquadTask.predictions(types.SimpleNamespace(_answered=None)) == {}

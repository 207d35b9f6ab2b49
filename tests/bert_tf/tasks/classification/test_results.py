import json
from typing import NamedTuple

import numpy as np
import pytest

from bert_tf.tasks.classification.results import write_predictions
from bert_tf.tasks.evaluation import Evaluation, write_eval_results, write_test_results
from data_gen.labelled.tables import LabelledTexts


class Data(NamedTuple):
  """Of `ClassificationData` what files of predictions are written by."""

  labels: list[str]
  multi_label: bool = False


PROBABILITIES = np.array([[0.9, 0.1], [1 / 3, 2 / 3]], np.float32)


def test_eval_results_have_the_keys_of_the_original(tmp_path):
  loss = np.float64(1 / 3)
  evaluation = Evaluation(343, {"accuracy": np.float32(0.75), "loss": loss, "f1": 0.8})
  table = write_eval_results(str(tmp_path), evaluation, 20, "eval_", {"loss": loss})
  assert (tmp_path / "eval_results.txt").read_text() == (
    "eval_accuracy = 0.75\neval_f1 = 0.8\neval_loss = 0.3333333333333333\nglobal_step = 343\n"
    "loss = 0.3333333333333333\n")
  assert json.loads((tmp_path / "eval_results.json").read_text()) == {
      "eval_accuracy": 0.75, "eval_f1": 0.8, "eval_loss": 1 / 3, "global_step": 343, "loss": 1 / 3}
  assert table.splitlines()[0].startswith("evaluation on 20 examples (") and table.count("loss") == 1


def test_probabilities_are_a_line_an_example(tmp_path):
  write_test_results(str(tmp_path / "test_results.tsv"), PROBABILITIES)
  text = (tmp_path / "test_results.tsv").read_text()
  assert text == "0.9\t0.1\n0.33333334\t0.6666667\n"
  read = np.array([line.split("\t") for line in text.splitlines()], np.float32)
  assert (read == PROBABILITIES).all()


def test_scores_are_a_line_an_example(tmp_path):
  scores = np.array([0.1 + 0.2, -1e-9, 5])
  write_test_results(str(tmp_path / "test_results.tsv"), scores)
  assert (tmp_path / "test_results.tsv").read_text() == "0.30000000000000004\n-1e-09\n5.0\n"


def test_predictions_of_pairs(tmp_path):
  path = tmp_path / "predictions.jsonl"
  texts = LabelledTexts("", ["a", 7], ["one\u2028line", "tab\there"], ["größer", "中文"], None)
  write_predictions(str(path), Data(["no", "yes"]), texts, PROBABILITIES)
  assert "größer" in path.read_text(encoding="utf-8")
  assert [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]] == [
    {"id": "a", "text_a": "one\u2028line", "text_b": "größer", "label": "no", "probabilities": {"no": 0.9, "yes": 0.1}},
    {"id": 7, "text_a": "tab\there", "text_b": "中文", "label": "yes",
     "probabilities": {"no": 0.33333334, "yes": 0.6666667}}]


def test_predictions_of_a_regression_on_single_texts(tmp_path):
  path = tmp_path / "predictions.jsonl"
  write_predictions(str(path), Data([]), LabelledTexts("", [0, 1], ["a", "b"], None, np.array([3.0, 0.5])),
                    np.array([3.25, 0.1], np.float32), with_truth=True)
  assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
    {"id": 0, "text_a": "a", "score": 3.25, "true_score": 3.0},
    {"id": 1, "text_a": "b", "score": 0.1, "true_score": 0.5}]


@pytest.mark.parametrize("labels, values", [(["a"], PROBABILITIES), (["a", "b"], PROBABILITIES[:1])])
def test_values_must_fit_the_labels_and_examples(tmp_path, labels, values):
  with pytest.raises(ValueError, match="zip"):
    write_predictions(str(tmp_path / "predictions.jsonl"), Data(labels),
                      LabelledTexts("", [0, 1], ["a", "b"], None, None), values)
  assert not list(tmp_path.iterdir())

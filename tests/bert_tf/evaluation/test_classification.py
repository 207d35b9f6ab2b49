import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_tf.evaluation.classification import (
  OWN_CLASSIFICATION,
  OWN_MULTI_LABEL,
  OWN_REGRESSION,
  TASK_METRICS,
  is_degenerate,
  score,
  score_multi_label,
  sigmoid,
  softmax,
)

ALL_CLASSIFICATION = ("accuracy", "f1", "macro_f1", "matthews_correlation")
# As many of either class as MRPC's development set has.
MRPC_LABELS = np.repeat([1, 0], [279, 129])


@pytest.fixture(autouse=True)
def no_warnings():
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    yield


def test_binary_scores_computed_by_hand():
  """3 true positives, 1 false positive, 2 false negatives, 4 true negatives."""
  predictions = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
  labels = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0])
  scores = score(ALL_CLASSIFICATION, predictions, labels, 2)
  assert scores == pytest.approx({
      "accuracy": 7 / 10, "f1": 2 * 3 / (2 * 3 + 1 + 2),
      "macro_f1": (6 / 9 + 8 / 11) / 2,
      "matthews_correlation": (3 * 4 - 1 * 2) / (4 * 5 * 5 * 6)**0.5})
  assert all(type(value) is float for value in scores.values())


def test_all_pairs_alike_do_not_win_by_their_f1():
  alike = score(TASK_METRICS["mrpc"], np.ones_like(MRPC_LABELS), MRPC_LABELS, 2)
  assert alike == pytest.approx({"f1": 2 * 279 / (2 * 279 + 129), "accuracy": 279 / 408,
                                 "f1_accuracy_mean": (558 / 687 + 279 / 408) / 2})
  # A quarter of either class wrong.
  learnt = np.where(np.arange(408) % 4, MRPC_LABELS, 1 - MRPC_LABELS)
  scores = score(TASK_METRICS["qqp"], learnt, MRPC_LABELS, 2)
  assert next(iter(TASK_METRICS["mrpc"])) == next(iter(TASK_METRICS["qqp"])) == "f1_accuracy_mean"
  assert scores["f1"] < alike["f1"] and scores["f1_accuracy_mean"] > alike["f1_accuracy_mean"]


def test_f1_is_that_of_class_1():
  assert score(["f1"], np.array([0, 0, 1]), np.array([0, 0, 0]), 2) == {"f1": 0.0}
  assert score(["f1"], np.array([1, 1, 0]), np.array([1, 1, 1]), 2)["f1"] == pytest.approx(0.8)


def test_regression_scores_computed_by_hand():
  predictions, labels = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 2.0, 3.0, 5.0])
  # Deviations (-1.5, -0.5, 1.5, 0.5) and (-1.75, -0.75, 0.25, 2.25); ranks (1, 2, 4, 3) and (1, 2, 3, 4).
  pearson = (1.5 * 1.75 + 0.5 * 0.75 + 1.5 * 0.25 + 0.5 * 2.25) / (5 * 8.75)**0.5
  assert score(OWN_REGRESSION, predictions, labels, None) == pytest.approx(
      {"pearson": pearson, "spearman": 1 - 6 * 2 / (4 * 15)})


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 40))
def test_classification_agrees_with_the_definitions(seed, num_classes, size):
  generator = np.random.default_rng(seed)
  predictions, labels = generator.integers(num_classes, size=(2, size))
  scores = score(ALL_CLASSIFICATION, predictions, labels, num_classes)
  matrix = np.zeros((num_classes, num_classes))
  for prediction, label in zip(predictions, labels, strict=True):
    matrix[label, prediction] += 1
  hits, true, predicted = np.diag(matrix), matrix.sum(1), matrix.sum(0)
  f1 = [2 * hits[k] / (true[k] + predicted[k]) if true[k] + predicted[k] else None for k in range(num_classes)]
  # Gorodkin's R_K, which is the Matthews correlation of more than two classes.
  spread = (size**2 - (predicted**2).sum()) * (size**2 - (true**2).sum())
  matthews = (hits.sum() * size - (true * predicted).sum()) / spread**0.5 if spread else 0
  assert scores == pytest.approx({
      "accuracy": hits.sum() / size, "f1": f1[1] or 0.0,
      "macro_f1": np.mean([value for value in f1 if value is not None]), "matthews_correlation": matthews}, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_correlations_agree_with_the_definitions(seed, size):
  generator = np.random.default_rng(seed)
  labels = generator.integers(0, 6, size) / 1.0
  predictions = generator.normal(size=size).astype(np.float32)
  if is_degenerate(labels):
    labels[0] += 1
  # The rank of a number among ties is the mean of theirs.
  ranks = [((labels < label).sum() + (labels <= label).sum() + 1) / 2 for label in labels]
  expected = {"pearson": np.corrcoef(predictions.astype(np.float64), labels)[0, 1],
              "spearman": np.corrcoef(np.argsort(np.argsort(predictions)), ranks)[0, 1]}
  assert score(OWN_REGRESSION, predictions, labels, None) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("predictions", [
    np.full(4, 2.5), np.array([np.nan, 1, 2, 3]), np.full(4, np.nan), np.array([1, np.inf, 2, 3]),
    np.array([2.5, 2.5, 2.5, np.nextafter(2.5, 3)]), np.array([1e300, -1e300, 1e300, 0])])
def test_correlations_of_what_has_none_are_finite(predictions):
  scores = score(OWN_REGRESSION, predictions, np.array([0.0, 1, 2, 5]), None)
  assert all(np.isfinite(value) and -1 <= value <= 1 for value in scores.values())


@pytest.mark.parametrize("predictions, labels", [([1, 1, 1], [0, 1, 0]), ([0, 1, 0], [1, 1, 1]), ([1, 1], [1, 1])])
def test_a_constant_has_no_matthews_correlation(predictions, labels):
  assert score(["matthews_correlation"], np.array(predictions), np.array(labels), 2)["matthews_correlation"] == 0


def test_one_example():
  assert score(ALL_CLASSIFICATION, np.array([1]), np.array([1]), 2) == {
      "accuracy": 1, "f1": 1, "macro_f1": 1, "matthews_correlation": 0}
  assert score(OWN_REGRESSION, np.array([1.0]), np.array([1.0]), None) == {"pearson": 0, "spearman": 0}


@pytest.mark.parametrize("predictions, labels, num_classes", [
    ([0, 2], [0, 1], 2), ([0, -1], [0, 1], 2), ([0, 1], [0, 2], 2), ([0], [0, 1], 2), ([], [], 2),
    ([0.5, 1], [0, 1], 2), ([[0, 1]], [[0, 1]], 2)])
def test_what_can_not_be_scored_is_refused(predictions, labels, num_classes):
  with pytest.raises(ValueError):
    score(["accuracy"], np.array(predictions), np.array(labels), num_classes)


def test_an_unknown_metric_is_refused():
  with pytest.raises(ValueError, match="unknown metrics"):
    score(["acuracy"], np.array([0]), np.array([0]), 2)


def test_all_tasks_have_metrics_that_exist():
  names = {name for metrics in (*TASK_METRICS.values(), OWN_CLASSIFICATION) for name in metrics}
  assert set(TASK_METRICS) == {"cola", "sst-2", "mrpc", "sts-b", "qqp", "mnli", "qnli", "rte", "wnli"}
  assert set(score(sorted(names), np.array([0, 1]), np.array([0, 1]), 2)) == names


@pytest.mark.parametrize("predictions, expected", [
    ([1, 1, 1], True), ([1, 0, 1], False), ([0.1, 0.1], True), ([0.1, 0.2], False), ([np.nan, np.nan], True),
    ([np.nan, 1.0], False)])
def test_degenerate(predictions, expected):
  assert is_degenerate(np.array(predictions)) is expected


def test_several_classes_computed_by_hand():
  """The third class is neither there nor predicted."""
  predictions = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
  labels = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]])
  scores = score_multi_label(predictions, labels)
  assert tuple(scores) == OWN_MULTI_LABEL
  assert scores == pytest.approx({"micro_f1": 6 / 8, "macro_f1": (4 / 5 + 2 / 3) / 2, "subset_accuracy": 2 / 4,
                                  "micro_precision": 3 / 4, "micro_recall": 3 / 4})
  assert set(score_multi_label(np.zeros((2, 3)), np.zeros((2, 3))).values()) == {0.0, 1.0}
  # The second class is predicted and never there: it counts, as 0.
  assert score_multi_label(np.array([[1, 1], [1, 0]]), np.array([[1, 0], [1, 0]]))["macro_f1"] == 0.5
  assert is_degenerate(labels[:2]) and not is_degenerate(labels)
  with pytest.raises(ValueError, match="must both be"):
    score_multi_label(predictions, labels[:, :2])


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_several_classes_agree_with_scikit_learn(seed):
  from sklearn.metrics import f1_score, precision_score, recall_score

  predictions, labels = np.random.default_rng(seed).integers(2, size=(2, 12, 4))
  scores = score_multi_label(predictions, labels)
  for name, function in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
    assert scores[f"micro_{name}"] == pytest.approx(function(labels, predictions, average="micro", zero_division=0))
  seen = (labels | predictions).any(axis=0)
  assert scores["macro_f1"] == pytest.approx(
      f1_score(labels[:, seen], predictions[:, seen], average="macro", zero_division=0))


def test_sigmoid():
  np.testing.assert_allclose(sigmoid([0.0, np.log(3), -np.log(3), 1e4, -1e4]), [0.5, 0.75, 0.25, 1, 0])


def test_softmax():
  logits = np.array([[0, np.log(3)], [1000, 1000], [-2000, 0]], np.float32)
  probabilities = softmax(logits)
  assert probabilities.dtype == np.float64
  np.testing.assert_allclose(probabilities, [[0.25, 0.75], [0.5, 0.5], [0, 1]], atol=1e-7)
  np.testing.assert_allclose(probabilities.sum(-1), 1, rtol=1e-15)


def test_no_tensorflow_is_imported(project):
  script = ("import sys, numpy as np; import bert_tf.evaluation.confusion as c; "
            "import bert_tf.evaluation.classification as s; import bert_tf.evaluation.glue_submission; "
            "a = np.array([0, 1]); "
            "c.confusion_picture(c.confusion_matrix(a, a, 2), 'ab'); "
            "s.score(['f1', 'pearson', 'spearman', 'matthews_correlation'], a, a, 2); "
            "assert not {'tensorflow', 'keras'} & set(sys.modules)")
  subprocess.run([sys.executable, "-c", script], check=True, cwd=project)

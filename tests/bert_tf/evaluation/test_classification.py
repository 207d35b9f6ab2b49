import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, recall_score

from bert_tf.evaluation import classification

ALL_CLASSIFICATION = ("accuracy", "f1", "macro_f1", "matthews_correlation")
# As many of either class as MRPC's development set has.
MRPC_LABELS = np.repeat([1, 0], [279, 129])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_all_pairs_alike_do_not_win_by_their_f1():
    alike = classification.score(
        classification.TASK_METRICS["mrpc"], np.ones_like(MRPC_LABELS), MRPC_LABELS, 2
    )
    assert alike == pytest.approx(
        {
            "f1": 2 * 279 / (2 * 279 + 129),
            "accuracy": 279 / 408,
            "f1_accuracy_mean": (558 / 687 + 279 / 408) / 2,
        }
    )
    # A quarter of either class wrong.
    learned = np.where(np.arange(408) % 4, MRPC_LABELS, 1 - MRPC_LABELS)
    scores = classification.score(classification.TASK_METRICS["qqp"], learned, MRPC_LABELS, 2)
    assert {next(iter(classification.TASK_METRICS[name])) for name in ("mrpc", "qqp")} == {
        "f1_accuracy_mean"
    }
    assert scores["f1"] < alike["f1"] and scores["f1_accuracy_mean"] > alike["f1_accuracy_mean"]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 40))
def test_classification_agrees_with_scikit_learn(seed, num_classes, size):
    generator = np.random.default_rng(seed)
    predictions, labels = generator.integers(num_classes, size=(2, size))
    scores = classification.score(ALL_CLASSIFICATION, predictions, labels, num_classes)
    assert scores == pytest.approx(
        {
            "accuracy": np.mean(predictions == labels),
            "f1": f1_score(labels, predictions, labels=[1], average="macro", zero_division=0),
            "macro_f1": f1_score(labels, predictions, average="macro", zero_division=0),
            "matthews_correlation": 0
            if not np.ptp(labels) or not np.ptp(predictions)
            else matthews_corrcoef(labels, predictions),
        },
        abs=1e-12,
    )


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_correlations_agree_with_the_definitions(seed, size):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 6, size) / 1.0
    predictions = generator.normal(size=size).astype(np.float32)
    labels[0] += not np.ptp(labels)
    # The rank of a number among ties is the mean of theirs.
    ranks = [((labels < label).sum() + (labels <= label).sum() + 1) / 2 for label in labels]
    expected = {
        "pearson": np.corrcoef(predictions.astype(np.float64), labels)[0, 1],
        "spearman": np.corrcoef(np.argsort(np.argsort(predictions)), ranks)[0, 1],
    }
    scores = classification.score(classification.CUSTOM_REGRESSION, predictions, labels, None)
    assert scores == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "predictions",
    [np.full(4, 2.5), np.array([np.nan, 1, 2, 3]), np.array([2.5, 2.5, 2.5, np.nextafter(2.5, 3)])],
)
def test_correlations_of_what_has_none_are_finite(predictions):
    scores = classification.score(
        classification.CUSTOM_REGRESSION, predictions, np.array([0.0, 1, 2, 5]), None
    )
    assert all(np.isfinite(value) and -1 <= value <= 1 for value in scores.values())


@pytest.mark.parametrize(
    "predictions, labels, num_classes",
    [
        ([0, 2], [0, 1], 2),
        ([0, -1], [0, 1], 2),
        ([0], [0, 1], 2),
        ([], [], 2),
        ([0.5, 1], [0, 1], 2),
    ],
)
def test_what_can_not_be_scored_is_refused(predictions, labels, num_classes):
    with pytest.raises(ValueError):
        classification.score(["accuracy"], np.array(predictions), np.array(labels), num_classes)
    with pytest.raises(ValueError, match="unknown metrics"):
        classification.score(["acuracy"], np.array([0]), np.array([0]), 2)


def test_all_tasks_have_metrics_that_exist():
    assert set(classification.TASK_METRICS) == {
        "cola",
        "sst-2",
        "mrpc",
        "sts-b",
        "qqp",
        "mnli",
        "qnli",
        "rte",
        "wnli",
    }
    for metrics in (*classification.TASK_METRICS.values(), classification.CUSTOM_CLASSIFICATION):
        num_classes = None if metrics == classification.CUSTOM_REGRESSION else 2
        assert (
            tuple(classification.score(metrics, np.array([0, 1]), np.array([0, 1]), num_classes))
            == metrics
        )


def test_several_classes_computed_by_hand():
    """The third class is neither there nor predicted."""
    predictions = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
    labels = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]])
    scores = classification.score_multi_label(predictions, labels)
    assert tuple(scores) == classification.CUSTOM_MULTI_LABEL
    assert scores == pytest.approx(
        {
            "micro_f1": 6 / 8,
            "macro_f1": (4 / 5 + 2 / 3) / 2,
            "subset_accuracy": 2 / 4,
            "micro_precision": 3 / 4,
            "micro_recall": 3 / 4,
        }
    )
    assert set(classification.score_multi_label(np.zeros((2, 3)), np.zeros((2, 3))).values()) == {
        0.0,
        1.0,
    }
    # The second class is predicted and never there: it counts, as 0.
    assert (
        classification.score_multi_label(np.array([[1, 1], [1, 0]]), np.array([[1, 0], [1, 0]]))[
            "macro_f1"
        ]
        == 0.5
    )
    with pytest.raises(ValueError, match="must both be"):
        classification.score_multi_label(predictions, labels[:, :2])


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_several_classes_agree_with_scikit_learn(seed):
    predictions, labels = np.random.default_rng(seed).integers(2, size=(2, 12, 4))
    scores = classification.score_multi_label(predictions, labels)
    for name, function in (
        ("precision", precision_score),
        ("recall", recall_score),
        ("f1", f1_score),
    ):
        assert scores[f"micro_{name}"] == pytest.approx(
            function(labels, predictions, average="micro", zero_division=0)
        )
    seen = (labels | predictions).any(axis=0)
    assert scores["macro_f1"] == pytest.approx(
        f1_score(labels[:, seen], predictions[:, seen], average="macro", zero_division=0)
    )


def test_probabilities():
    logits = np.array([[0, np.log(3)], [1000, 1000], [-2000, 0]], np.float32)
    probabilities = classification.softmax(logits)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, [[0.25, 0.75], [0.5, 0.5], [0, 1]], atol=1e-7)
    np.testing.assert_allclose(
        classification.sigmoid([0.0, np.log(3), -np.log(3), 1e4, -1e4]), [0.5, 0.75, 0.25, 1, 0]
    )


def test_no_tensorflow_is_imported(project):
    script = (
        "import sys, numpy as np; import bert_tf.evaluation.classification as s; "
        "import bert_tf.evaluation.glue_submission; "
        "a = np.array([0, 1]); "
        "s.score(['f1', 'matthews_correlation'], a, a, 2); s.score(['pearson', 'spearman'], a, a, None); "
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=project)


LABELS = np.array([0, 0, 0, 1, 1, 2])
PREDICTIONS = np.array([0, 0, 1, 1, 0, 2])


def _random(
    num_classes: int, size: int = 5000, right: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(num_classes)
    labels = generator.integers(num_classes, size=size)
    return np.where(
        generator.random(size) < right, labels, generator.integers(num_classes, size=size)
    ), labels


def test_rows_are_true_and_columns_predicted():
    matrix = classification.confusion_matrix(PREDICTIONS, LABELS, 4)
    assert matrix.tolist() == [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    with pytest.raises(ValueError, match="predictions"):
        classification.confusion_matrix(PREDICTIONS, LABELS, 2)


def test_table_computed_by_hand():
    assert classification.per_class_table(
        PREDICTIONS, LABELS, ["good", "bad", "ugly", "never"]
    ).splitlines() == [
        "class          precision  recall      f1  examples",
        "good              0.6667  0.6667  0.6667         3",
        "bad               0.5000  0.5000  0.5000         2",
        "ugly              1.0000  1.0000  1.0000         1",
        "never             0.0000  0.0000  0.0000         0",
        "macro average     0.7222  0.7222  0.7222         6",
    ]


def test_text_of_few_classes():
    matrix = classification.confusion_matrix(PREDICTIONS, LABELS, 3)
    assert classification.confusion_text(matrix, ["good", "bad", "中文"]).splitlines() == [
        "true \\ predicted   good    bad   中文",
        "good                  2      1      0",
        "bad                   1      1      0",
        "中文                  0      0      1",
    ]


def test_long_names_are_cut_and_numbered():
    names = [f"a long name of a class that ends with {number}" for number in range(6)]
    lines = classification.confusion_text(
        classification.confusion_matrix(*_random(6), 6), names
    ).splitlines()
    assert lines[0].split() == ["true", "\\", "predicted", *"012345"]
    assert lines[6].startswith("5: a long name… ends with 5") and max(map(len, lines)) < 80


@pytest.mark.parametrize("num_classes", [11, 400])
def test_many_classes_make_no_endless_table(num_classes):
    predictions, labels = _random(num_classes)
    names = [f"intent {number}" for number in range(num_classes)]
    table = classification.per_class_table(predictions, labels, names).splitlines()
    matrix = classification.confusion_matrix(predictions, labels, num_classes)
    text = classification.confusion_text(matrix, names).splitlines()
    assert (
        f"{classification.score(['macro_f1'], predictions, labels, num_classes)['macro_f1']:.4f}"
        in table[-1].split()
    )
    assert len(table) <= 53 and len(text) <= 22 and max(map(len, table + text)) < 110
    listed = [line.replace(",", "").split()[0] for line in text[1:-1]]
    assert sorted(listed, key=int, reverse=True) == listed
    errors = (predictions != labels).sum()
    assert sum(map(int, listed)) + int(text[-1].split()[2].replace(",", "")) == errors
    assert ("less frequent" in table[-2]) == (num_classes > 50)


def test_confusions_of_many_classes_are_counted_by_the_pairs_that_occur():
    predictions, labels = _random(30)
    names = [f"class {number}" for number in range(30)]
    matrix = classification.confusion_matrix(predictions, labels, 30)
    expected = classification.confusion_text(matrix, names)
    assert classification.confusions_of(predictions, labels, names) == expected
    # The matrix of these would take 7 GiB.
    many = [f"class {number}" for number in range(30_000)]
    predictions = np.arange(1000) * 29
    text = classification.confusions_of(predictions, predictions + 1, many)
    assert re.search(r"class 1 +→ class 0\n", text) and "980 examples in 980 rarer ones" in text

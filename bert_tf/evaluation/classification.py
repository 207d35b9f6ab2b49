"""Metrics of classification and regression on sentences, of GLUE and of custom tasks.

Input: predictions and labels. Output: name → score; confusion matrices as text and as a figure, a
table of scores by class.

Letters: E examples, C classes.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_tf.tables import columns, named_table, pad, shorten

# The GLUE server averages the two metrics of a task. F1 alone would hide a trivial model:
# predicting 1 for every pair of MRPC has an F1 of 0.81.
F1_ACCURACY_MEAN = "f1_accuracy_mean"
# Metrics of the GLUE server for each task, by the name of run_classifier's --task_name; the first
# one selects. The original also writes the accuracy of CoLA.
TASK_METRICS: dict[str, tuple[str, ...]] = {
    "cola": ("matthews_correlation", "accuracy"),
    "sst-2": ("accuracy",),
    "mrpc": (F1_ACCURACY_MEAN, "f1", "accuracy"),
    "sts-b": ("pearson", "spearman"),
    "qqp": (F1_ACCURACY_MEAN, "f1", "accuracy"),
    "mnli": ("accuracy",),
    "qnli": ("accuracy",),
    "rte": ("accuracy",),
    "wnli": ("accuracy",),
}
CUSTOM_CLASSIFICATION = ("accuracy", "macro_f1", "matthews_correlation")
# With two classes, F1 is the score of the second one, as in MRPC and QQP.
CUSTOM_TWO_CLASSES = (*CUSTOM_CLASSIFICATION, "f1")
CUSTOM_REGRESSION = ("pearson", "spearman")
CUSTOM_MULTI_LABEL = ("micro_f1", "macro_f1", "subset_accuracy", "micro_precision", "micro_recall")

# Maximum number of classes in the table and in the picture; the most frequent ones are shown.
_MAX_CLASSES = 50
# Maximum number of classes, and of characters of their names, for a matrix that fits a terminal.
# Beyond, the most frequent confusions are listed, or columns have numbers in place of names.
_MAX_COLUMNS = 10
_MAX_HEAD_WIDTH = 70
_MAX_CONFUSIONS = 20

_MAX_NAME_LENGTH = 24


class _ClassCounts(NamedTuple):
    """Counts of each class, int64 [C]: correct predictions, true examples, predictions."""

    correct: np.ndarray
    true: np.ndarray
    predicted: np.ndarray

    def f1(self) -> np.ndarray:
        """Returns the F1 of each class."""
        return _ratio(2 * self.correct, self.true + self.predicted)

    def frequency(self) -> np.ndarray:
        """Returns the number of examples and predictions of each class."""
        return self.true + self.predicted


def score(
    metrics: Sequence[str], predictions: np.ndarray, labels: np.ndarray, num_classes: int | None
) -> dict[str, float]:
    """Returns the scores of the predictions of one set.

    An undefined score counts as 0: a correlation with a constant, or of numbers that are not
    finite, and the F1 of a class that neither occurs nor is predicted.

    Args:
      metrics: names: accuracy; f1 (of class 1); f1_accuracy_mean (of these two); macro_f1 (mean
        over the classes that occur or are predicted); matthews_correlation; pearson; spearman.
      predictions: int [E], class numbers; for regression float [E].
      labels: the same of the truth.
      num_classes: C; None for regression.

    Raises:
      ValueError: no examples, different numbers of predictions and labels, a class that is not
        below `num_classes`, or an unknown metric.
    """
    predictions = np.asarray(predictions)
    labels = np.asarray(labels)
    if predictions.ndim != 1 or predictions.shape != labels.shape or not predictions.size:
        raise ValueError(
            f"predictions {predictions.shape} and labels {labels.shape} must both be [E], E > 0"
        )
    if num_classes is None:
        scores = _correlations(predictions.astype(np.float64), labels.astype(np.float64))
    else:
        scores = _class_scores(_count_classes(predictions, labels, num_classes), len(labels))
    unknown = sorted(set(metrics) - set(scores))
    if unknown:
        raise ValueError(f"unknown metrics {unknown}; known are {', '.join(scores)}")
    # In the order of the metrics: the first one selects.
    return {name: float(scores[name]) for name in metrics}


def _correlations(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Returns the metrics of regression."""
    if not np.isfinite(predictions).all() or not np.ptp(predictions) or not np.ptp(labels):
        return {"pearson": 0.0, "spearman": 0.0}
    from scipy import stats

    with warnings.catch_warnings():
        # scipy warns of numbers that are equal but for rounding; their correlation may be NaN.
        warnings.simplefilter("ignore")
        return {
            "pearson": np.nan_to_num(stats.pearsonr(predictions, labels).statistic),
            "spearman": np.nan_to_num(stats.spearmanr(predictions, labels).statistic),
        }


def _class_scores(counts: _ClassCounts, num_examples: int) -> dict[str, float]:
    """Returns the metrics of one class per example."""
    f1 = counts.f1()
    accuracy = counts.correct.sum() / num_examples
    # Empty, and so 0, if there is only one class.
    f1_of_1 = f1[1:2].sum()
    # Gorodkin's R_K, which is Matthews' correlation for two classes; 0 if a side is constant.
    size = float(num_examples)
    spread_predicted = size**2 - np.square(counts.predicted, dtype=float).sum()
    spread_true = size**2 - np.square(counts.true, dtype=float).sum()
    chance = (counts.true * counts.predicted.astype(float)).sum()
    covariance = counts.correct.sum() * size - chance
    spread = spread_predicted * spread_true
    return {
        "accuracy": accuracy,
        "f1": f1_of_1,
        F1_ACCURACY_MEAN: (f1_of_1 + accuracy) / 2,
        "macro_f1": f1[counts.frequency() > 0].mean(),
        "matthews_correlation": covariance / np.sqrt(spread) if spread else 0.0,
    }


def score_multi_label(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Returns the metrics `CUSTOM_MULTI_LABEL` of one set, in which several classes may apply to an
    example, or none.

    The micro metrics are over all pairs of example and class; macro_f1 is the mean over the classes
    that occur or are predicted; subset_accuracy is the fraction of examples whose classes are all
    right. An undefined score counts as 0.

    Args:
      predictions, labels: [E, C], 1 or True for the classes that are predicted or apply.

    Raises:
      ValueError: no examples, or different shapes.
    """
    predictions = np.asarray(predictions, bool)
    labels = np.asarray(labels, bool)
    if predictions.ndim != 2 or predictions.shape != labels.shape or not predictions.size:
        raise ValueError(
            f"predictions {predictions.shape} and labels {labels.shape} must both be [E, C], E > 0"
        )
    counts = _count_classes(predictions, labels, predictions.shape[1])
    correct = counts.correct.sum()
    seen = counts.frequency() > 0
    # The sums are 0 without any prediction or label, and so are the scores.
    scores = {
        "micro_f1": 2 * correct / max(counts.frequency().sum(), 1),
        "macro_f1": counts.f1()[seen].mean() if seen.any() else 0.0,
        "subset_accuracy": np.mean((predictions == labels).all(axis=1)),
        "micro_precision": correct / max(counts.predicted.sum(), 1),
        "micro_recall": correct / max(counts.true.sum(), 1),
    }
    return {name: float(score) for name, score in scores.items()}


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities over the last axis, of logits of any size."""
    logits = np.asarray(logits, np.float64)
    # The largest exponent is 0, so that none overflows.
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Returns float64 probabilities, each by itself, of logits of any size."""
    logits = np.asarray(logits, np.float64)
    # Exponents of negative numbers only, so that none overflows.
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1.0, small) / (1.0 + small)


def confusion_matrix(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Returns counts, int64 [C, C], of class numbers, int [E]: a row for each true class, a column
    for each predicted one."""
    predictions = np.asarray(predictions)
    labels = np.asarray(labels)
    _check_classes(predictions, labels, num_classes)
    # A pair of classes is one number, so that one pass counts them all.
    pairs = labels.astype(np.int64) * num_classes + predictions
    return np.bincount(pairs, minlength=num_classes * num_classes).reshape(num_classes, num_classes)


def per_class_table(predictions: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> str:
    """Returns precision, recall, F1 and number of examples of each class, and their means, as text
    for the console.

    The mean F1 is the metric `macro_f1`: over the classes that occur or are predicted.

    Args:
      predictions, labels: int [E], class numbers; or [E, C], 1 for each class that applies, if
        there may be several.
    """
    counts = _count_classes(np.asarray(predictions), np.asarray(labels), len(names))
    scores = np.stack(
        [
            _ratio(counts.correct, counts.predicted),
            _ratio(counts.correct, counts.true),
            counts.f1(),
        ],
        axis=1,
    )
    # A table of hundreds of classes would fill the console.
    rows = [["class", "precision", "recall", "f1", "examples"]]
    visible = _most_frequent(counts.frequency(), _MAX_CLASSES)
    for index in visible:
        name = shorten(names[index], _MAX_NAME_LENGTH)
        rows.append([name, *_decimals(scores[index]), f"{counts.true[index]:,}"])
    seen = counts.frequency() > 0
    means = scores[seen].mean(axis=0) if seen.any() else np.zeros(3)
    rows.append(["macro average", *_decimals(means), f"{len(labels):,}"])
    lines = named_table(rows).split("\n")
    if len(visible) < len(names):
        lines.insert(-1, f"… and {len(names) - len(visible):,} less frequent classes")
    return "\n".join(lines)


def _decimals(values: np.ndarray) -> list[str]:
    """Returns scores as a table shows them."""
    return [f"{value:.4f}" for value in values]


def confusion_text(matrix: np.ndarray, names: Sequence[str]) -> str:
    """Returns the matrix, int [C, C], with names; for many classes the most frequent confusions."""
    names = [shorten(name, _MAX_NAME_LENGTH) for name in names]
    if len(names) > _MAX_COLUMNS:
        return _frequent_confusions(matrix, names)
    heads = names
    if sum(columns(name) for name in names) > _MAX_HEAD_WIDTH:
        heads = [str(number) for number in range(len(names))]
        names = [f"{number}: {name}" for number, name in enumerate(names)]
    rows = [["true \\ predicted", *heads]]
    for name, counts in zip(names, matrix.tolist(), strict=True):
        rows.append([name, *(f"{count:5,}" for count in counts)])
    return named_table(rows)


def confusions_of(predictions: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> str:
    """Returns `confusion_text` of class numbers, int [E], in memory that does not grow with the
    square of the number of classes."""
    if len(names) <= _MAX_COLUMNS:
        return confusion_text(confusion_matrix(predictions, labels, len(names)), names)
    _check_classes(predictions, labels, len(names))
    is_wrong = predictions != labels
    # A pair of classes is one number; only those that occur are counted.
    pairs = labels[is_wrong].astype(np.int64) * len(names) + predictions[is_wrong]
    pairs, counts = np.unique(pairs, return_counts=True)
    true, predicted = np.divmod(pairs, len(names))
    return _list_confusions(true, predicted, counts, names)


def _frequent_confusions(matrix: np.ndarray, names: Sequence[str]) -> str:
    # The diagonal holds the correct predictions, which are no confusions.
    errors = matrix - np.diag(matrix.diagonal())
    true, predicted = np.nonzero(errors)
    return _list_confusions(true, predicted, errors[true, predicted], names)


def _list_confusions(
    true: np.ndarray, predicted: np.ndarray, counts: np.ndarray, names: Sequence[str]
) -> str:
    """Returns a line for each of the most frequent confusions.

    Args:
      true, predicted, counts: int [N]: a pair of different classes, and its number of examples.
    """
    order = np.argsort(-counts, kind="stable")[:_MAX_CONFUSIONS]
    if not len(order):
        return "no example in a wrong class"
    padded = pad([[shorten(names[true[index]], _MAX_NAME_LENGTH)] for index in order], str.ljust)
    lines = ["most frequent confusions (examples  true → predicted)"]
    for index, (name,) in zip(order, padded, strict=True):
        predicted_name = shorten(names[predicted[index]], _MAX_NAME_LENGTH)
        lines.append(f"{counts[index]:8,}  {name} → {predicted_name}")
    if len(order) < len(counts):
        rest = counts.sum() - counts[order].sum()
        lines.append(f"… and {rest:,} examples in {len(counts) - len(order):,} rarer ones")
    return "\n".join(lines)


def _check_classes(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> None:
    """Raises `ValueError` unless all are class numbers, 0 ≤ number < `num_classes`."""
    for name, classes in (("predictions", predictions), ("labels", labels)):
        is_integer = np.issubdtype(classes.dtype, np.integer)
        if not is_integer or classes.min() < 0 or classes.max() >= num_classes:
            raise ValueError(f"{name} must be integers from 0 to {num_classes - 1}")


def _count_classes(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> _ClassCounts:
    """Returns the counts of [E] class numbers or of [E, C] classes that apply."""
    if labels.ndim == 2:
        predictions = predictions.astype(bool)
        labels = labels.astype(bool)
        correct = predictions & labels
        return _ClassCounts(correct.sum(axis=0), labels.sum(axis=0), predictions.sum(axis=0))
    _check_classes(predictions, labels, num_classes)
    return _ClassCounts(
        correct=np.bincount(labels[predictions == labels], minlength=num_classes),
        true=np.bincount(labels, minlength=num_classes),
        predicted=np.bincount(predictions, minlength=num_classes),
    )


def _most_frequent(frequency: np.ndarray, limit: int) -> np.ndarray:
    """Returns the numbers of the at most `limit` classes with the most examples and predictions, in
    the order of the classes."""
    return np.sort(np.argsort(-frequency, kind="stable")[:limit])


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Returns the quotient, 0 if undefined."""
    return np.divide(
        numerator, denominator, out=np.zeros(np.shape(numerator)), where=denominator > 0
    )

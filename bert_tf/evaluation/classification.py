"""The metrics of classification and regression on sentences: GLUE's, and those of custom tasks.

Input: predictions and labels. Output: name → score; confusion matrices as text and as a figure, a
table of scores by class.

Letters: E examples, C classes.
"""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from bert_tf.tables import columns, named_table, new_figure, pad, shorten

# What the GLUE server averages for its tasks with two metrics, and what F1 alone would not show:
# predicting 1 for every pair of MRPC has an F1 of 0.81.
F1_ACCURACY_MEAN = "f1_accuracy_mean"
# The metrics of the GLUE server for each task, by the name of run_classifier's --task_name; the
# first one selects. CoLA's accuracy is there because the original writes it.
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
OWN_CLASSIFICATION = ("accuracy", "macro_f1")
OWN_REGRESSION = ("pearson", "spearman")
OWN_MULTI_LABEL = ("micro_f1", "macro_f1", "subset_accuracy", "micro_precision", "micro_recall")

# More classes than this: the table shows the most frequent ones, the picture combines the others.
_MOST_CLASSES = 50
# More classes than this: the text lists the most frequent confusions in place of a matrix wider
# than a terminal.
_MOST_COLUMNS = 10
_MOST_CONFUSIONS = 20
# Longer names together (characters) than this: the columns of the matrix have numbers in place of
# names.
_WIDEST_HEAD = 70
# More classes than this: the picture has no numbers in its cells.
_MOST_NUMBERED = 25
# Longest name shown in full.
_LONGEST_NAME = 24
# In pixels of the picture: a letter of a name, a cell that has a number, one that has none.
_LETTER_PIXELS, _NUMBER_PIXELS, _CELL_PIXELS = 6.5, 30, 14
_SHOWN_WIDTH = 350


def score(
    metrics: Sequence[str], predictions: np.ndarray, labels: np.ndarray, num_classes: int | None
) -> dict[str, float]:
    """Scores of the predictions of one set.

    A score that is undefined counts as 0: a correlation with a constant, or of numbers that are not
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
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    if predictions.ndim != 1 or predictions.shape != labels.shape or not predictions.size:
        raise ValueError(
            f"predictions {predictions.shape} and labels {labels.shape} must both be [E], E > 0"
        )
    if num_classes is None:
        found, values = (
            dict.fromkeys(OWN_REGRESSION, 0.0),
            (predictions.astype(np.float64), labels.astype(np.float64)),
        )
        if np.isfinite(values[0]).all() and all(map(np.ptp, values)):
            from scipy import stats

            with warnings.catch_warnings():
                # scipy warns of numbers that are equal but for rounding; their correlation may then
                # not be defined.
                warnings.simplefilter("ignore")
                found = {
                    name: np.nan_to_num(getattr(stats, f"{name}r")(*values).statistic)
                    for name in found
                }
    else:
        correct, true, predicted = _count_classes(predictions, labels, num_classes)
        accuracy, f1, size = (
            correct.sum() / len(labels),
            _ratio(2 * correct, true + predicted),
            float(len(labels)),
        )
        # Gorodkin's R_K, which is Matthews' correlation where there are two classes; 0 where a side
        # is constant.
        spread = (size**2 - np.square(predicted, dtype=float).sum()) * (
            size**2 - np.square(true, dtype=float).sum()
        )
        covariance = correct.sum() * size - (true * predicted.astype(float)).sum()
        found = {
            "accuracy": accuracy,
            "f1": f1[1:2].sum(),
            F1_ACCURACY_MEAN: (f1[1:2].sum() + accuracy) / 2,
            "macro_f1": f1[true + predicted > 0].mean(),
            "matthews_correlation": covariance / np.sqrt(spread) if spread else 0.0,
        }
    if not set(metrics) <= set(found):
        raise ValueError(
            f"unknown metrics {sorted(set(metrics) - set(found))}; known are {', '.join(found)}"
        )
    return {name: float(found[name]) for name in metrics}


def score_multi_label(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The metrics `OWN_MULTI_LABEL` of one set, where several classes may apply to an example, or
    none.

    The micro metrics are over all pairs of example and class; macro_f1 is the mean over the classes
    that occur or are predicted; subset_accuracy is the fraction of examples whose classes are all
    right. What is undefined counts as 0.

    Args:
      predictions, labels: [E, C], 1 or True for the classes that are predicted or apply.

    Raises:
      ValueError: no examples, or different shapes.
    """
    predictions, labels = np.asarray(predictions, bool), np.asarray(labels, bool)
    if predictions.ndim != 2 or predictions.shape != labels.shape or not predictions.size:
        raise ValueError(
            f"predictions {predictions.shape} and labels {labels.shape} must both be [E, C], E > 0"
        )
    correct, true, predicted = _count_classes(predictions, labels, predictions.shape[1])
    seen = predicted + true > 0
    values = {
        "micro_f1": 2 * correct.sum() / max((predicted + true).sum(), 1),
        "macro_f1": np.mean(_ratio(2 * correct, predicted + true)[seen]) if seen.any() else 0.0,
        "subset_accuracy": np.mean((predictions == labels).all(axis=1)),
        "micro_precision": correct.sum() / max(predicted.sum(), 1),
        "micro_recall": correct.sum() / max(true.sum(), 1),
    }
    return {name: float(values[name]) for name in OWN_MULTI_LABEL}


def softmax(logits: np.ndarray) -> np.ndarray:
    """float64 probabilities over the last axis, of logits of any size."""
    logits = np.asarray(logits, np.float64)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """float64 probabilities, each by itself, of logits of any size."""
    logits = np.asarray(logits, np.float64)
    small = np.exp(-np.abs(logits))
    return np.where(logits >= 0, 1.0, small) / (1.0 + small)


def confusion_matrix(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> np.ndarray:
    """Counts, int64 [C, C], of class numbers, int [E]: a row for each true class, a column for each
    predicted one."""
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    _check_classes(predictions, labels, num_classes)
    pairs = labels.astype(np.int64) * num_classes + predictions
    return np.bincount(pairs, minlength=num_classes * num_classes).reshape(num_classes, num_classes)


def per_class_table(predictions: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> str:
    """Precision, recall, F1 and number of examples of each class, and their means: text for the
    console.

    The mean F1 is the metric `macro_f1`: over the classes that occur or are predicted.

    Args:
      predictions, labels: int [E], class numbers; or [E, C], 1 for each class, where there may be
        several.
    """
    correct, true, predicted = _count_classes(
        np.asarray(predictions), np.asarray(labels), len(names)
    )
    scores = [
        _ratio(correct, predicted),
        _ratio(correct, true),
        _ratio(2 * correct, true + predicted),
    ]
    seen = (true + predicted) > 0
    shown = _most_frequent(true + predicted, _MOST_CLASSES)
    rows = [("class", "precision", "recall", "f1", "examples")]
    rows += [
        (
            shorten(names[number], _LONGEST_NAME),
            *(f"{values[number]:.4f}" for values in scores),
            f"{true[number]:,}",
        )
        for number in shown
    ]
    means = [values[seen].mean() if seen.any() else 0.0 for values in scores]
    rows.append(("macro average", *(f"{mean:.4f}" for mean in means), f"{len(labels):,}"))
    lines = named_table(rows).split("\n")
    if len(shown) < len(names):
        lines.insert(-1, f"… and {len(names) - len(shown):,} less frequent classes")
    return "\n".join(lines)


def confusion_text(matrix: np.ndarray, names: Sequence[str]) -> str:
    """The matrix, int [C, C], with names; of many classes, the most frequent confusions instead."""
    names = [shorten(name, _LONGEST_NAME) for name in names]
    if len(names) <= _MOST_COLUMNS:
        rows = heads = names
        if sum(map(columns, names)) > _WIDEST_HEAD:
            rows, heads = (
                [f"{number}: {name}" for number, name in enumerate(names)],
                [str(n) for n in range(len(names))],
            )
        return named_table(
            [
                ["true \\ predicted", *heads],
                *(
                    [row, *(f"{count:5,}" for count in counts)]
                    for row, counts in zip(rows, matrix, strict=True)
                ),
            ]
        )
    errors = matrix - np.diag(matrix.diagonal())
    true, predicted = np.nonzero(errors)
    counts = errors[true, predicted]
    order = np.argsort(-counts, kind="stable")[:_MOST_CONFUSIONS]
    if not len(order):
        return "no example in a wrong class"
    padded = pad([[names[true[number]]] for number in order], str.ljust)
    lines = ["most frequent confusions (examples  true → predicted)"]
    lines += [
        f"{counts[number]:8,}  {name} → {names[predicted[number]]}"
        for number, (name,) in zip(order, padded, strict=True)
    ]
    if len(order) < len(counts):
        lines.append(
            f"… and {counts.sum() - counts[order].sum():,} examples in {len(counts) - len(order):,} rarer ones"
        )
    return "\n".join(lines)


def confusion_picture(matrix: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The matrix as a picture: dark cells are a large share of their true class; the number in a
    cell is the count.

    Returns:
      uint8 [height, width, 4], RGBA in pixels; as wide as TensorBoard shows it, or a whole multiple
      of that.
    """
    if len(names) > _MOST_CLASSES:
        kept = _most_frequent(matrix.sum(axis=1) + matrix.sum(axis=0), _MOST_CLASSES - 1)
        place = np.full(len(names), len(kept))
        place[kept] = np.arange(len(kept))
        combined = np.zeros((len(kept) + 1, len(kept) + 1), np.int64)
        np.add.at(combined, (place[:, None], place[None, :]), matrix)
        matrix, names = combined, [*(names[number] for number in kept), "(others)"]
    size, labels = len(names), [shorten(name, _LONGEST_NAME) for name in names]
    shares = _ratio(matrix, matrix.sum(axis=1, keepdims=True))
    # In pixels: the longest name, and all that is left of the matrix.
    longest = _LETTER_PIXELS * max(map(columns, labels))
    left = longest + 50
    needed = left + size * (_NUMBER_PIXELS if size <= _MOST_NUMBERED else _CELL_PIXELS)
    # TensorBoard's page Images makes pictures so wide by leaving pixels out or repeating them:
    # others come out jagged.
    width = _SHOWN_WIDTH * math.ceil(needed / _SHOWN_WIDTH)
    is_turned = longest > (width - left) / size
    with new_figure(
        width / 100, (width - left + (longest if is_turned else 10) + 50) / 100
    ) as figure:
        axes = figure.add_subplot()
        # The square root shows also the errors of a good classifier.
        axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
        axes.set_xticks(range(size), labels, rotation=90 if is_turned else 0, fontsize=8)
        axes.set_yticks(range(size), labels, fontsize=8)
        axes.set(xlabel="predicted", ylabel="true")
        for row, column in np.argwhere(matrix > 0) if size <= _MOST_NUMBERED else ():
            count = matrix[row, column]
            axes.text(
                column,
                row,
                str(count) if count < 10_000 else f"{count / 1000:.0f}k",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if shares[row, column] > 0.3 else "black",
            )
        figure.canvas.draw()
        return np.array(figure.canvas.buffer_rgba())


def _check_classes(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> None:
    """Raises `ValueError` unless all are class numbers, 0 ≤ number < `num_classes`."""
    for name, classes in (("predictions", predictions), ("labels", labels)):
        if (
            not np.issubdtype(classes.dtype, np.integer)
            or classes.min() < 0
            or classes.max() >= num_classes
        ):
            raise ValueError(f"{name} must be integers from 0 to {num_classes - 1}")


def _count_classes(
    predictions: np.ndarray, labels: np.ndarray, num_classes: int
) -> tuple[np.ndarray, ...]:
    """For each class, int64 [C]: correct predictions, true examples, predictions; of [E] numbers or
    of [E, C]."""
    if labels.ndim == 2:
        predictions, labels = predictions.astype(bool), labels.astype(bool)
        return (predictions & labels).sum(axis=0), labels.sum(axis=0), predictions.sum(axis=0)
    _check_classes(predictions, labels, num_classes)
    return tuple(
        np.bincount(classes, minlength=num_classes)
        for classes in (labels[predictions == labels], labels, predictions)
    )


def _most_frequent(frequency: np.ndarray, limit: int) -> np.ndarray:
    """Numbers of the at most `limit` classes with the most examples and predictions, in the order
    of the classes."""
    return np.sort(np.argsort(-frequency, kind="stable")[:limit])


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where it is not defined."""
    return np.divide(
        numerator, denominator, out=np.zeros(np.shape(numerator)), where=denominator > 0
    )

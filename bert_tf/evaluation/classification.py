"""The metrics of classification and regression on sentences: GLUE's, and those of custom tasks.

Input: predictions and labels. Output: name → score. `confusion.py` shows where a classifier is wrong.
"""

import functools
import warnings
from collections.abc import Callable, Sequence

import numpy as np

# What the GLUE server averages for its tasks with two metrics, and what F1 alone would not show: predicting 1 for every
# pair of MRPC has an F1 of 0.81.
F1_ACCURACY_MEAN = "f1_accuracy_mean"
# The metrics of the GLUE server for each task, by the name of run_classifier's --task_name; the first one selects.
# CoLA's accuracy is there because the original writes it.
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


def score(metrics: Sequence[str], predictions: np.ndarray, labels: np.ndarray,
          num_classes: int | None) -> dict[str, float]:
  """Scores of the predictions of one set.

  A score that is undefined counts as 0: a correlation with a constant, or of numbers that are not finite, and the F1 of
  a class that neither occurs nor is predicted.

  Args:
    metrics: names: accuracy; f1 (of class 1); f1_accuracy_mean (of these two); macro_f1 (mean over the classes that
      occur or are predicted); matthews_correlation; pearson; spearman.
    predictions: int [E], class numbers; for regression float [E].
    labels: the same of the truth.
    num_classes: C; None for regression.

  Raises:
    ValueError: no examples, different numbers of predictions and labels, a class that is not below `num_classes`, or an
      unknown metric.
  """
  predictions, labels = np.asarray(predictions), np.asarray(labels)
  if predictions.ndim != 1 or predictions.shape != labels.shape or not predictions.size:
    raise ValueError(f"predictions {predictions.shape} and labels {labels.shape} must both be [E], E > 0")
  if num_classes is not None:
    check_classes(predictions, labels, num_classes)
  unknown = [name for name in metrics if name not in _METRICS]
  if unknown:
    raise ValueError(f"unknown metrics {unknown}; known are {sorted(_METRICS)}")
  return {name: float(_METRICS[name](predictions, labels)) for name in metrics}


def score_multi_label(predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
  """The metrics `OWN_MULTI_LABEL` of one set, where several classes may apply to an example, or none.

  The micro metrics are over all pairs of example and class; macro_f1 is the mean over the classes that occur or are
  predicted; subset_accuracy is the fraction of examples whose classes are all right. What is undefined counts as 0.

  Args:
    predictions, labels: [E, C], 1 or True for the classes that are predicted or apply.

  Raises:
    ValueError: no examples, or different shapes.
  """
  predictions, labels = np.asarray(predictions, bool), np.asarray(labels, bool)
  if predictions.ndim != 2 or predictions.shape != labels.shape or not predictions.size:
    raise ValueError(f"predictions {predictions.shape} and labels {labels.shape} must both be [E, C], E > 0")
  correct, predicted, expected = ((predictions & labels).sum(0), predictions.sum(0), labels.sum(0))
  seen = predicted + expected > 0
  values = {
      "micro_f1": 2 * correct.sum() / max((predicted + expected).sum(), 1),
      "macro_f1": np.mean(2 * correct[seen] / (predicted + expected)[seen]) if seen.any() else 0.0,
      "subset_accuracy": np.mean((predictions == labels).all(axis=1)),
      "micro_precision": correct.sum() / max(predicted.sum(), 1),
      "micro_recall": correct.sum() / max(expected.sum(), 1),
  }
  return {name: float(values[name]) for name in OWN_MULTI_LABEL}


def check_classes(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> None:
  """Raises `ValueError` unless all are class numbers, 0 ≤ number < `num_classes`."""
  for name, classes in (("predictions", predictions), ("labels", labels)):
    if not np.issubdtype(classes.dtype, np.integer) or classes.min() < 0 or classes.max() >= num_classes:
      raise ValueError(f"{name} must be integers from 0 to {num_classes - 1}")


def is_degenerate(predictions: np.ndarray) -> bool:
  """Whether a model has learnt nothing: all predictions, [E] or [E, C], are the same (or none is a number)."""
  predictions = np.asarray(predictions)
  return bool(np.isnan(predictions).all() or (predictions == predictions[0]).all())


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


def _accuracy(predictions: np.ndarray, labels: np.ndarray) -> float:
  return np.mean(predictions == labels)


def _f1(predictions: np.ndarray, labels: np.ndarray, classes: Sequence[int] | None = (1,)) -> float:
  """Mean over the classes; None for those that occur or are predicted."""
  from sklearn.metrics import f1_score

  return f1_score(labels, predictions, labels=classes, average="macro", zero_division=0)


def _f1_accuracy_mean(predictions: np.ndarray, labels: np.ndarray) -> float:
  return (_f1(predictions, labels) + _accuracy(predictions, labels)) / 2


def _matthews_correlation(predictions: np.ndarray, labels: np.ndarray) -> float:
  from sklearn.metrics import matthews_corrcoef

  if is_degenerate(predictions) or is_degenerate(labels):
    return 0.0
  return matthews_corrcoef(labels, predictions)


def _correlation(statistic: str, predictions: np.ndarray, labels: np.ndarray) -> float:
  """One of the correlations of `scipy.stats`."""
  from scipy import stats

  predictions, labels = predictions.astype(np.float64), labels.astype(np.float64)
  if is_degenerate(predictions) or is_degenerate(labels) or not np.isfinite(predictions).all():
    return 0.0
  with warnings.catch_warnings():
    # scipy warns of numbers that are equal but for rounding; their correlation may then not be defined.
    warnings.simplefilter("ignore")
    correlation = getattr(stats, statistic)(predictions, labels).statistic
  return correlation if np.isfinite(correlation) else 0.0


_METRICS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": _accuracy,
    "f1": _f1,
    F1_ACCURACY_MEAN: _f1_accuracy_mean,
    "macro_f1": functools.partial(_f1, classes=None),
    "matthews_correlation": _matthews_correlation,
    "pearson": functools.partial(_correlation, "pearsonr"),
    "spearman": functools.partial(_correlation, "spearmanr"),
}

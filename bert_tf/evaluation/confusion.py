"""Confusion matrices of classifiers, as text and as a figure, and a table of scores by class."""

from collections.abc import Sequence

import numpy as np

from bert_common.tables import columns, named_table, pad
from bert_tf.evaluation.classification import check_classes
from bert_tf.evaluation.drawing import new_figure, shorten, shown_width, to_pixels

# More classes than this: the table shows the most frequent ones, the picture puts the others together.
_MOST_CLASSES = 50
# More classes than this: the text lists the most frequent confusions in place of a matrix wider than a terminal.
_MOST_COLUMNS = 10
_MOST_CONFUSIONS = 20
# Longer names together (characters) than this: the columns of the matrix have numbers in place of names.
_WIDEST_HEAD = 70
# More classes than this: the picture has no numbers in its cells.
_MOST_NUMBERED = 25
# Longest name shown in full.
_LONGEST_NAME = 24
_OTHERS = "(others)"
# In pixels of the picture: a letter of a name, a cell that has a number, one that has none.
_LETTER_PIXELS, _NUMBER_PIXELS, _CELL_PIXELS = 6.5, 30, 14


def confusion_matrix(predictions: np.ndarray, labels: np.ndarray, num_classes: int) -> np.ndarray:
  """Counts, int64 [C, C], of class numbers, int [E]: a row for each true class, a column for each predicted one."""
  predictions, labels = np.asarray(predictions), np.asarray(labels)
  check_classes(predictions, labels, num_classes)
  pairs = labels.astype(np.int64) * num_classes + predictions
  return np.bincount(pairs, minlength=num_classes * num_classes).reshape(num_classes, num_classes)


def per_class_table(predictions: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> str:
  """Precision, recall, F1 and number of examples of each class, and their means: text for the console.

  The mean F1 is the metric `macro_f1`: over the classes that occur or are predicted.

  Args:
    predictions, labels: int [E], class numbers; or [E, C], 1 for each class, where there may be several.
  """
  if np.ndim(labels) == 2:
    chosen, true = np.asarray(predictions, bool), np.asarray(labels, bool)
    correct, support, predicted = (chosen & true).sum(axis=0), true.sum(axis=0), chosen.sum(axis=0)
  else:
    matrix = confusion_matrix(predictions, labels, len(names))
    correct, support, predicted = matrix.diagonal(), matrix.sum(axis=1), matrix.sum(axis=0)
  precision, recall = _ratio(correct, predicted), _ratio(correct, support)
  f1 = _ratio(2 * correct, support + predicted)
  seen = (support + predicted) > 0
  shown = _most_frequent(support + predicted, _MOST_CLASSES)
  scores = (precision, recall, f1)
  rows = [("class", "precision", "recall", "f1", "examples")]
  rows += [(shorten(names[number], _LONGEST_NAME), *(f"{values[number]:.4f}" for values in scores),
            f"{support[number]:,}") for number in shown]
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
    return _matrix_text(matrix, names)
  errors = matrix - np.diag(matrix.diagonal())
  true, predicted = np.nonzero(errors)
  counts = errors[true, predicted]
  order = np.argsort(-counts, kind="stable")[:_MOST_CONFUSIONS]
  if not len(order):
    return "no example in a wrong class"
  padded = pad([[names[true[number]]] for number in order], str.ljust)
  lines = ["most frequent confusions (examples  true → predicted)"]
  lines += [f"{counts[number]:8,}  {name} → {names[predicted[number]]}"
            for number, (name,) in zip(order, padded, strict=True)]
  if len(order) < len(counts):
    lines.append(f"… and {counts.sum() - counts[order].sum():,} examples in {len(counts) - len(order):,} rarer ones")
  return "\n".join(lines)


def confusion_picture(matrix: np.ndarray, names: Sequence[str]) -> np.ndarray:
  """The matrix as a picture: dark cells are a large share of their true class; the number in a cell is the count.

  Returns:
    uint8 [height, width, 4], RGBA in pixels; as wide as TensorBoard shows it, or a whole multiple of that.
  """
  matrix, names = _together(matrix, names)
  size, labels = len(names), [shorten(name, _LONGEST_NAME) for name in names]
  shares = _ratio(matrix, matrix.sum(axis=1, keepdims=True))
  # In pixels: the longest name, and all that is left of the matrix.
  longest = _LETTER_PIXELS * max(map(columns, labels))
  left = longest + 50
  width = shown_width(left + size * (_NUMBER_PIXELS if size <= _MOST_NUMBERED else _CELL_PIXELS))
  is_turned = longest > (width - left) / size
  with new_figure(width / 100, (width - left + (longest if is_turned else 10) + 50) / 100) as figure:
    axes = figure.add_subplot()
    # The square root shows also the errors of a good classifier.
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(size), labels, rotation=90 if is_turned else 0, fontsize=8)
    axes.set_yticks(range(size), labels, fontsize=8)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    if size <= _MOST_NUMBERED:
      for row, column in np.argwhere(matrix > 0):
        axes.text(column, row, _short_count(matrix[row, column]), ha="center", va="center", fontsize=8,
                  color="white" if shares[row, column] > 0.3 else "black")
    return to_pixels(figure)


def _matrix_text(matrix: np.ndarray, names: Sequence[str]) -> str:
  rows = heads = names
  if sum(map(columns, names)) > _WIDEST_HEAD:
    rows, heads = [f"{number}: {name}" for number, name in enumerate(names)], [str(n) for n in range(len(names))]
  return named_table([["true \\ predicted", *heads], *(
      [row, *(f"{count:5,}" for count in counts)] for row, counts in zip(rows, matrix, strict=True))])


def _most_frequent(frequency: np.ndarray, limit: int) -> np.ndarray:
  """Numbers of the at most `limit` classes with the most examples and predictions, in the order of the classes."""
  return np.sort(np.argsort(-frequency, kind="stable")[:limit])


def _together(matrix: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
  """Puts the less frequent of more than `_MOST_CLASSES` classes together into one."""
  if len(names) <= _MOST_CLASSES:
    return matrix, list(names)
  kept = _most_frequent(matrix.sum(axis=1) + matrix.sum(axis=0), _MOST_CLASSES - 1)
  place = np.full(len(names), len(kept))
  place[kept] = np.arange(len(kept))
  result = np.zeros((len(kept) + 1, len(kept) + 1), np.int64)
  np.add.at(result, (place[:, None], place[None, :]), matrix)
  return result, [*(names[number] for number in kept), _OTHERS]


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
  """The quotient, 0 where it is not defined."""
  return np.divide(numerator, denominator, out=np.zeros(np.shape(numerator)), where=denominator > 0)


def _short_count(count: int) -> str:
  """A count in at most four characters: 950, 12k, 1.2M."""
  if count < 10_000:
    return str(count)
  return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1e6:.1f}M"

import warnings

import numpy as np
import pytest

from bert_tf.evaluation.classification import score
from bert_tf.evaluation.confusion import confusion_matrix, confusion_picture, confusion_text, per_class_table

LABELS = np.array([0, 0, 0, 1, 1, 2])
PREDICTIONS = np.array([0, 0, 1, 1, 0, 2])


def _random(num_classes: int, size: int = 5000, right: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
  generator = np.random.default_rng(num_classes)
  labels = generator.integers(num_classes, size=size)
  return np.where(generator.random(size) < right, labels, generator.integers(num_classes, size=size)), labels


def test_rows_are_true_and_columns_predicted():
  matrix = confusion_matrix(PREDICTIONS, LABELS, 4)
  assert matrix.tolist() == [[2, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
  with pytest.raises(ValueError, match="predictions"):
    confusion_matrix(PREDICTIONS, LABELS, 2)


def test_many_classes_keep_their_places():
  predictions, labels = np.array([70000, 5], np.int32), np.array([70000, 70000], np.int32)
  assert confusion_matrix(predictions % 3000, labels % 3000, 3000)[1000].nonzero()[0].tolist() == [5, 1000]


def test_table_computed_by_hand():
  assert per_class_table(PREDICTIONS, LABELS, ["good", "bad", "ugly", "never"]).splitlines() == [
      "class          precision  recall      f1  examples",
      "good              0.6667  0.6667  0.6667         3",
      "bad               0.5000  0.5000  0.5000         2",
      "ugly              1.0000  1.0000  1.0000         1",
      "never             0.0000  0.0000  0.0000         0",
      "macro average     0.7222  0.7222  0.7222         6"]


def test_table_of_several_classes():
  labels = np.array([[1, 0], [1, 1], [0, 0]])
  table = per_class_table(labels[[0, 0, 2]], labels, ["new", "old"])
  assert [line.split()[-4:] for line in table.splitlines()[1:]] == [
      ["1.0000", "1.0000", "1.0000", "2"], ["0.0000", "0.0000", "0.0000", "1"], ["0.5000", "0.5000", "0.5000", "3"]]


@pytest.mark.parametrize("num_classes", [2, 7, 60])
def test_the_mean_of_the_table_is_the_metric(num_classes):
  predictions, labels = _random(num_classes, 200)
  last = per_class_table(predictions, labels, list(map(str, range(num_classes)))).splitlines()[-1]
  assert f"{score(['macro_f1'], predictions, labels, num_classes)['macro_f1']:.4f}" in last.split()


def test_text_of_few_classes():
  assert confusion_text(confusion_matrix(PREDICTIONS, LABELS, 3), ["good", "bad", "中文"]).splitlines() == [
      "true \\ predicted   good    bad   中文",
      "good                  2      1      0",
      "bad                   1      1      0",
      "中文                  0      0      1"]


def test_long_names_are_cut_and_numbered():
  names = [f"a long name of a class that ends with {number}" for number in range(6)]
  lines = confusion_text(confusion_matrix(*_random(6), 6), names).splitlines()
  assert lines[0].split() == ["true", "\\", "predicted", *"012345"]
  assert lines[6].startswith("5: a long name… ends with 5") and max(map(len, lines)) < 80


@pytest.mark.parametrize("num_classes", [11, 50, 400])
def test_many_classes_make_no_endless_table(num_classes):
  predictions, labels = _random(num_classes)
  names = [f"intent {number}" for number in range(num_classes)]
  table = per_class_table(predictions, labels, names).splitlines()
  text = confusion_text(confusion_matrix(predictions, labels, num_classes), names).splitlines()
  assert len(table) <= 53 and len(text) <= 22 and max(map(len, table + text)) < 110
  listed = [line.replace(",", "").split()[0] for line in text[1:-1]]
  assert sorted(listed, key=int, reverse=True) == listed
  errors = (predictions != labels).sum()
  assert sum(map(int, listed)) + int(text[-1].split()[2].replace(",", "")) == errors
  assert ("less frequent" in table[-2]) == (num_classes > 50)


def test_many_classes_without_an_error():
  labels = np.arange(12)
  assert confusion_text(confusion_matrix(labels, labels, 12), list("abcdefghijkl")) == "no example in a wrong class"


@pytest.mark.parametrize("names", [["0", "1"], ["$a_b", "$\\frac"], ["中文", "two\nlines"],
                                   [f"intent {number}" for number in range(50)], [str(n) for n in range(300)]])
def test_picture(names):
  matrix = confusion_matrix(*_random(len(names)), len(names))
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    picture = confusion_picture(matrix, names)
  assert picture.dtype == np.uint8 and picture.shape[2] == 4 and max(picture.shape) <= 1600
  assert (picture[..., 3] == 255).all()
  # Dark diagonal on a light ground: much of the picture is light, some of it is dark blue.
  blue = (picture[..., 2].astype(int) - picture[..., 0] > 80).mean()
  assert 0.005 < blue < 0.6


def test_the_picture_shows_the_matrix():
  """Seen by its colours: the right cells are dark if all is right, the other ones if all is wrong."""
  right = confusion_picture(np.diag([9, 9]), ["a", "b"])
  wrong = confusion_picture(np.diag([9, 9])[::-1], ["a", "b"])
  height, width = right.shape[:2]
  upper_left, upper_right = (height // 5, width // 4), (height // 5, width * 3 // 4)
  assert right[upper_left][0] < 60 < 200 < right[upper_right][0]
  assert wrong[upper_right][0] < 60 < 200 < wrong[upper_left][0]

"""What TensorBoard shows of a classifier's evaluation: confusion matrix, precision and recall, examples.

Input: the probabilities of a development set. Output: summaries of the current `tf.summary` writer and step, pictures
also for other trackers.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from bert_common import markdown
from bert_tf.evaluation import classification
from bert_tf.training.reports import Reports

# Classes that get a curve of precision and recall: those with the most examples.
_MOST_CURVES = 10
# Examples shown: some as they come, and the mistakes that the model is surest of.
_FIRST, _MISTAKES = 5, 10
_MOST_CHARACTERS = 300


def show(reports: Reports, names: Sequence[str], labels: np.ndarray, probabilities: np.ndarray,
         texts: Sequence[Sequence[str]]) -> None:
  """Writes all of it.

  Args:
    texts: first texts [E], and second ones [E] where there are pairs.
  """
  labels, predicted = np.asarray(labels), probabilities.argmax(axis=-1)
  confidence = probabilities.max(axis=-1)
  matrix = classification.confusion_matrix(predicted, labels, len(names))
  reports.picture("quality/confusion", classification.confusion_picture(matrix, names),
                  "Rows are true classes, columns predicted ones; dark is a large share of the row. A click shows it "
                  "in full size.")
  if not np.isfinite(confidence).all():
    return
  _show_precision_and_recall(names, labels, probabilities)
  tf.summary.text("eval/examples", _examples(names, labels, predicted, confidence, texts))


def _show_precision_and_recall(names: Sequence[str], labels: np.ndarray, probabilities: np.ndarray) -> None:
  from tensorboard.plugins.pr_curve import summary

  # Of two classes the first one's curve says the same as the second one's.
  frequent = [1] if len(names) == 2 else np.argsort(-np.bincount(labels, minlength=len(names)), kind="stable")
  for number in frequent[:_MOST_CURVES]:
    message = summary.pb(f"precision and recall/{names[number]}", labels == number,
                         np.clip(probabilities[:, number], 0, 1),
                         description=f"Against all other classes, of {markdown.escape(names[number])}.")
    tf.summary.experimental.write_raw_pb(message.SerializeToString())


def _examples(names: Sequence[str], labels: np.ndarray, predicted: np.ndarray, confidence: np.ndarray,
              texts: Sequence[Sequence[str]]) -> str:
  wrong = np.flatnonzero(predicted != labels)
  surest = wrong[np.argsort(-confidence[wrong], kind="stable")][:_MISTAKES]
  header = ("", "text", *(["second text"] if len(texts) > 1 else []), "true", "predicted", "probability")

  def rows(numbers):
    return [("✓" if predicted[number] == labels[number] else "✗", *(text[number] for text in texts),
             names[labels[number]], names[predicted[number]], f"{confidence[number]:.1%}") for number in numbers]

  parts = ["The first ones of the development set:",
           markdown.table(header, rows(range(min(_FIRST, len(labels)))), _MOST_CHARACTERS)]
  if len(surest):
    parts += [f"The surest of {len(wrong):,} mistakes in {len(labels):,} examples:",
              markdown.table(header, rows(surest), _MOST_CHARACTERS)]
  return "\n\n".join(parts)

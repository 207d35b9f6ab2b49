"""Predictions of a classifier as a file for people, and what TensorBoard shows of an evaluation.

Input: the probabilities or scores of a set. Output: `predictions.jsonl` and the like; summaries of the current
`tf.summary` writer and step.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from bert_common import files, json_files
from bert_tf import markdown
from bert_tf.evaluation.classification import confusion_matrix, confusion_picture
from bert_tf.tasks.classification.data import ClassificationData
from bert_tf.tasks.evaluation import shortest
from bert_tf.training.reports import Reports
from data_gen.labelled.tables import LabelledTexts

# Classes that get a curve of precision and recall in TensorBoard: those with the most examples.
_MOST_CURVES = 10
# Examples that it shows: some as they come, and the most confident errors.
_FIRST, _MISTAKES = 5, 10
_MOST_CHARACTERS = 300


def write_predictions(path: str, data: ClassificationData, texts: LabelledTexts, values: np.ndarray,
                      with_truth: bool = False) -> None:
  """`predictions.jsonl`: a JSON object for each example, with its text.

      {"id": 0, "text_a": "…", "text_b": "…", "label": "good", "probabilities": {"good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "labels": ["new", "good"], "probabilities": {"new": 0.7, "good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "score": 3.2}

  Args:
    values: [E, C] probabilities; or [E] scores of a regression.
    with_truth: write the labels of the texts, too, as "true_label", "true_labels" or "true_score".
  """
  labels, columns = data.labels, {"id": texts.ids, "text_a": texts.text_a}
  columns |= {} if texts.text_b is None else {"text_b": texts.text_b}
  with files.atomic_write(path) as file:
    for number, (value, *given) in enumerate(zip(values, *columns.values(), strict=True)):
      record = dict(zip(columns, given, strict=True))
      if labels:
        record |= predicted_labels(labels, value, data.multi_label)
        record["probabilities"] = dict(zip(labels, map(shortest, value), strict=True))
      else:
        record["score"] = shortest(value)
      if with_truth:
        true = texts.labels[number]
        record |= ({"true_score": float(true)} if not labels else
                   {"true_labels": predicted_labels(labels, true, True)["labels"]} if data.multi_label else
                   {"true_label": labels[int(true)]})
      file.write(json_files.line_of(record))


def predicted_labels(labels: Sequence[str], probabilities: np.ndarray, multi_label: bool) -> dict[str, object]:
  """{"label": the most probable}; or {"labels": those of a probability of at least one half}."""
  if multi_label:
    return {"labels": [label for label, value in zip(labels, probabilities, strict=True) if value >= 0.5]}
  return {"label": labels[int(probabilities.argmax())]}


def show(reports: Reports, names: Sequence[str], texts: LabelledTexts, probabilities: np.ndarray) -> None:
  """Confusion matrix, also for other trackers, precision and recall, examples.

  Args:
    names: of the C classes.
    texts: of a development set.
    probabilities: [E, C].
  """
  labels, predicted, confidence = texts.labels, probabilities.argmax(axis=-1), probabilities.max(axis=-1)
  matrix = confusion_matrix(predicted, labels, len(names))
  reports.picture("quality/confusion", lambda: confusion_picture(matrix, names),
                  "Rows are true classes, columns predicted ones; dark is a large share of the row. A click shows it "
                  "in full size.")
  if not np.isfinite(confidence).all():
    return
  from tensorboard.plugins.pr_curve import summary

  # Of two classes the first one's curve says the same as the second one's.
  frequent = [1] if len(names) == 2 else np.argsort(-np.bincount(labels, minlength=len(names)), kind="stable")
  for number in frequent[:_MOST_CURVES]:
    message = summary.pb(f"precision and recall/{names[number]}", labels == number,
                         np.clip(probabilities[:, number], 0, 1),
                         description=f"Against all other classes, of {markdown.escape(names[number])}.")
    tf.summary.experimental.write_raw_pb(message.SerializeToString())
  wrong = np.flatnonzero(predicted != labels)
  surest = wrong[np.argsort(-confidence[wrong], kind="stable")][:_MISTAKES]
  pairs = [] if texts.text_b is None else [texts.text_b]
  header = ("", "text", *("second text" for _ in pairs), "true", "predicted", "probability")
  parts = []
  for title, numbers in (("The first ones of the development set:", range(min(_FIRST, len(labels)))),
                         (f"The most confident of {len(wrong):,} errors in {len(labels):,} examples:", surest)):
    rows = [("✓" if predicted[number] == labels[number] else "✗", *(text[number] for text in (texts.text_a, *pairs)),
             names[labels[number]], names[predicted[number]], f"{confidence[number]:.1%}") for number in numbers]
    parts += [title, markdown.table(header, rows, _MOST_CHARACTERS)] if rows else []
  tf.summary.text("eval/examples", "\n\n".join(parts))

"""The files that a run of run_classifier.py leaves beside its checkpoints.

Input: metrics, and the probabilities or scores of a test set. Output: the original's files, a file for people, and
the one for the GLUE server (`bert_tf/evaluation/glue_submission.py`).
"""

import os
from collections.abc import Sequence

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation import glue_submission
from bert_tf.tasks.classification.data import ClassificationData, Split
from bert_tf.tasks.eval_results import shortest, write_test_results
from data_gen.labelled.labelled_files import LabelledTexts

# Of development sets; begins the files' names.
EVAL_PREDICTIONS = "eval_predictions"


def write_predicted_split(directory: str, data: ClassificationData, name: str, split: Split, values: np.ndarray
                          ) -> list[str]:
  """All files of a test set; returns their paths.

  Args:
    values: [E, C] probabilities; or [E] scores of a regression.
  """
  rest = name.removeprefix("test").removeprefix("_")
  suffix = f"_{rest}" if rest else ""
  paths = [os.path.join(directory, file) for file in (f"test_results{suffix}.tsv", f"predictions{suffix}.jsonl")]
  write_test_results(paths[0], values)
  write_predictions(paths[1], split.source, data.labels, values, data.multi_label)
  if data.glue is not None:
    paths.append(os.path.join(directory, glue_submission.submission_name(data.glue.folder, name)))
    predictions = values if data.regression else [data.labels[number] for number in values.argmax(axis=-1)]
    glue_submission.write_submission_file(paths[-1], split.source.ids, predictions, data.regression)
  return paths


def write_evaluated_split(directory: str, data: ClassificationData, name: str, split: Split,
                          values: np.ndarray) -> None:
  """`eval_predictions.jsonl` of a development set (of MNLI's second one `eval_predictions_mismatched.jsonl`).

  The arguments are those of `write_predicted_split`.
  """
  suffix = f"_{name.removeprefix('dev').removeprefix('_')}" if name != next(iter(data.dev)) else ""
  write_predictions(os.path.join(directory, f"{EVAL_PREDICTIONS}{suffix}.jsonl"), split.source, data.labels, values,
                    data.multi_label, with_truth=True)


def write_predictions(path: str, texts: LabelledTexts, labels: Sequence[str], values: np.ndarray,
                      multi_label: bool = False, with_truth: bool = False) -> None:
  """`predictions.jsonl`: a JSON object for each example, with its text.

      {"id": 0, "text_a": "…", "text_b": "…", "label": "good", "probabilities": {"good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "labels": ["new", "good"], "probabilities": {"new": 0.7, "good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "score": 3.2}

  Args:
    labels: names of the C classes; empty for regression.
    values: [E, C] probabilities; or [E] scores of a regression.
    multi_label: several classes may apply: those of a probability of at least one half.
    with_truth: write the labels of the texts, too, as "true_label", "true_labels" or "true_score".
  """
  columns = {"id": texts.ids, "text_a": texts.text_a} | ({} if texts.text_b is None else {"text_b": texts.text_b})
  with files.atomic_write(path) as file:
    for number, (value, *given) in enumerate(zip(values, *columns.values(), strict=True)):
      record = dict(zip(columns, given, strict=True))
      if labels:
        record |= predicted_labels(labels, value, multi_label)
        record["probabilities"] = dict(zip(labels, map(shortest, value), strict=True))
      else:
        record["score"] = shortest(value)
      if with_truth:
        true = texts.labels[number]
        record |= ({"true_score": float(true)} if not labels else
                   {"true_labels": predicted_labels(labels, true, True)["labels"]} if multi_label else
                   {"true_label": labels[int(true)]})
      file.write(json_files.line_of(record))


def predicted_labels(labels: Sequence[str], probabilities: np.ndarray, multi_label: bool) -> dict[str, object]:
  """{"label": the most probable}; or {"labels": those of a probability of at least one half}."""
  if multi_label:
    return {"labels": [label for label, value in zip(labels, probabilities, strict=True) if value >= 0.5]}
  return {"label": labels[int(probabilities.argmax())]}

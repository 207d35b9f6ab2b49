"""The files that a run of run_classifier.py leaves beside its checkpoints.

Input: metrics, and the probabilities or scores of a test set. Output: the original's files, a file for people, and
the one for the GLUE server (`bert_tf/evaluation/glue_submission.py`).
"""

import os
from collections.abc import Sequence

import numpy as np

from bert_tf.common import files, json_files
from bert_tf.evaluation import glue_submission
from bert_tf.tasks.classification.data import ClassificationData, Split
from bert_tf.tasks.eval_results import shortest, write_test_results

# Of development sets; begins the files' names.
EVAL_PREDICTIONS = "eval_predictions"


def write_predicted_split(directory: str, data: ClassificationData, name: str, split: Split, values: np.ndarray
                          ) -> list[str]:
  """All files of a test set.

  Args:
    values: [E, C] probabilities; or [E] scores of a regression.
  """
  suffix = name.removeprefix("test").removeprefix("_")
  paths = [os.path.join(directory, f"test_results_{suffix}.tsv" if suffix else "test_results.tsv")]
  write_test_results(paths[0], values)
  if data.glue is None:
    paths.append(os.path.join(directory, f"predictions_{suffix}.jsonl" if suffix else "predictions.jsonl"))
    write_predictions(paths[1], split.source.ids, split.source.text_a, split.source.text_b,
                      None if data.regression else data.labels, values, multi_label=data.multi_label)
  else:
    paths.append(os.path.join(directory, glue_submission.submission_name(data.glue.folder, name)))
    predictions = values if data.regression else [data.labels[number] for number in values.argmax(axis=-1)]
    glue_submission.write_submission_file(paths[1], split.source.ids, predictions, data.regression)
  return paths


def write_evaluated_split(directory: str, data: ClassificationData, name: str, split: Split, values: np.ndarray) -> str:
  """`eval_predictions.jsonl` of a development set (of MNLI's second one `eval_predictions_mismatched.jsonl`).

  The arguments are those of `write_predicted_split`.
  """
  number = list(data.dev).index(name)
  suffix = f"_{name.removeprefix('dev').removeprefix('_')}" if number else ""
  path = os.path.join(directory, f"{EVAL_PREDICTIONS}{suffix}.jsonl")
  labels = split.source.labels
  if data.multi_label:
    truth = [predicted_labels(data.labels, row, True)["labels"] for row in labels]
  else:
    truth = [float(label) if data.regression else data.labels[int(label)] for label in labels]
  write_predictions(path, split.source.ids, split.source.text_a, split.source.text_b,
                    None if data.regression else data.labels, values, truth, data.multi_label)
  return path


def write_predictions(path: str, ids: Sequence[object], text_a: Sequence[str], text_b: Sequence[str] | None,
                      labels: Sequence[str] | None, values: np.ndarray,
                      truth: Sequence[str | float | Sequence[str]] | None = None, multi_label: bool = False) -> None:
  """`predictions.jsonl`: a JSON object for each example, with its text.

      {"id": 0, "text_a": "…", "text_b": "…", "label": "good", "probabilities": {"good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "labels": ["new", "good"], "probabilities": {"new": 0.7, "good": 0.9, "bad": 0.1}}
      {"id": 0, "text_a": "…", "score": 3.2}

  Args:
    labels: names of the C classes; None for regression.
    values: [E, C] probabilities; or [E] scores of a regression.
    truth: [E] names of the true classes, or true scores, written as "true_label" or "true_score"; lists of names,
      written as "true_labels", where several may apply; None where they are not known.
    multi_label: several classes may apply: those of a probability of at least one half.
  """
  values = np.asarray(values)
  if values.shape != ((len(ids),) if labels is None else (len(ids), len(labels))):
    raise ValueError(f"{values.shape} is not the shape for {len(ids)} examples and labels {labels}")
  texts = {"text_a": text_a} if text_b is None else {"text_a": text_a, "text_b": text_b}
  with files.atomic_write(path) as file:
    for number, (identifier, value, *pair) in enumerate(zip(ids, values, *texts.values(), strict=True)):
      record = {"id": identifier, **dict(zip(texts, pair, strict=True))}
      if labels is None:
        record["score"] = shortest(value)
      else:
        record |= predicted_labels(labels, value, multi_label)
        record["probabilities"] = dict(zip(labels, map(shortest, value), strict=True))
      if truth is not None:
        record["true_score" if labels is None else "true_labels" if multi_label else "true_label"] = truth[number]
      file.write(json_files.line_of(record))


def predicted_labels(labels: Sequence[str], probabilities: np.ndarray, multi_label: bool) -> dict[str, object]:
  """{"label": the most probable}; or {"labels": those of a probability of at least one half}."""
  if multi_label:
    return {"labels": [label for label, value in zip(labels, probabilities, strict=True) if value >= 0.5]}
  return {"label": labels[int(probabilities.argmax())]}

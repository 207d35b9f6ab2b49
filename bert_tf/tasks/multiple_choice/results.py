"""The files that a run of run_swag.py leaves beside its checkpoints.

Input: metrics, questions and the probabilities of their choices. Output: files for programs, for SWAG's leaderboard and
for people.
"""

import csv
import os

import numpy as np

from bert_common import files, json_files, markdown
from bert_tf.tasks.eval_results import shortest, write_test_results
from data_gen.labelled.multiple_choice import ChoiceQuestions

HARDEST_FILE = "hardest_questions.jsonl"
# Of a text in TensorBoard.
_MOST_CHARACTERS = 300
# Of the logits of choices among which nothing is chosen: their probabilities differ by a hundredth at most.
_LARGEST_TIE = 0.04


def describe_choices(logits: np.ndarray) -> list[str]:
  """The choice of each question as messages name it, "any choice" where all are as probable.

  Args:
    logits: float [E, K], minus infinity for choices that are not there.
  """
  lowest = np.where(np.isneginf(logits), np.inf, logits).min(axis=-1)
  return ["any choice" if highest - low <= _LARGEST_TIE else f"choice {choice}"
          for choice, highest, low in zip(logits.argmax(axis=-1), logits.max(axis=-1), lowest, strict=True)]


def write_predictions(directory: str, questions: ChoiceQuestions, probabilities: np.ndarray) -> list[str]:
  """The files of a test set.

  `test_results.tsv` has a line for each question: the probabilities of its choices, separated by tabs.
  `predictions.csv` has the id and the number of the chosen ending, as SWAG's own code writes it.
  `predictions.jsonl` has the texts, too.

  Args:
    probabilities: [E, K]; those of choices that a question does not have are not read.
  """
  paths = [os.path.join(directory, name) for name in ("test_results.tsv", "predictions.csv", "predictions.jsonl")]
  rows = [row[:count] for row, count in zip(np.asarray(probabilities, np.float32), questions.num_choices, strict=True)]
  write_test_results(paths[0], rows)
  with files.atomic_write(paths[1]) as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["", "pred"])
    table.writerows([id, int(row.argmax())] for id, row in zip(questions.ids, rows, strict=True))
  with files.atomic_write(paths[2]) as file:
    file.writelines(json_files.line_of(_record(questions, number, row)) for number, row in enumerate(rows))
  return paths


def hardest(questions: ChoiceQuestions, probabilities: np.ndarray, number: int) -> np.ndarray:
  """int64 [<= number], the questions whose right choice has the lowest probability, the hardest first."""
  right = probabilities[np.arange(len(questions)), questions.labels]
  return np.argsort(right, kind="stable")[:number]


def write_hardest(directory: str, questions: ChoiceQuestions, probabilities: np.ndarray, number: int) -> str:
  """`hardest_questions.jsonl`, an object a question with its label; returns its path. Arguments as of `hardest`."""
  path = os.path.join(directory, HARDEST_FILE)
  with files.atomic_write(path) as file:
    for row in hardest(questions, probabilities, number):
      values = np.asarray(probabilities[row], np.float32)[:len(questions.choices[row])]
      file.write(json_files.line_of({**_record(questions, row, values), "label": int(questions.labels[row])}))
  return path


def hardest_table(questions: ChoiceQuestions, probabilities: np.ndarray, number: int) -> str:
  """The same as a Markdown table, for TensorBoard, the right choice behind a ✓. Arguments as of `hardest`."""
  rows = []
  for row in hardest(questions, probabilities, number):
    label = questions.labels[row]
    texts = [f"{'✓ ' if place == label else ''}{text} ({value:.1%})" for place, (text, value) in
             enumerate(zip(questions.choices[row], probabilities[row], strict=False))]
    rows.append((questions.ids[row], " ".join((questions.contexts[row], questions.questions[row])), *texts))
  columns = max(map(len, rows))
  header = ("id", "question", *(f"choice {place}" for place in range(columns - 2)))
  return markdown.table(header, [(*cells, *[""] * (columns - len(cells))) for cells in rows], _MOST_CHARACTERS)


def _record(questions: ChoiceQuestions, row: int, probabilities: np.ndarray) -> dict:
  texts = {"context": questions.contexts[row], "question": questions.questions[row]}
  return {"id": questions.ids[row], **{name: text for name, text in texts.items() if text},
          "choices": list(questions.choices[row]), "probabilities": list(map(shortest, probabilities)),
          "prediction": int(probabilities.argmax())}

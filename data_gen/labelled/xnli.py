"""The files of XNLI (arXiv 1809.05053): natural language inference in 15 languages, the original's fourth task.

    # xnli/multinli/multinli.train.zh.tsv: MultiNLI, translated by a machine.
    read_training("xnli", "zh", LABELS)
    # xnli/xnli.dev.tsv: translated by people, all languages in one file.
    read_evaluation("xnli", "dev", ["zh", "en"], LABELS)

Input: the folder with the contents of XNLI-MT-1.0.zip and XNLI-1.0.zip, with or without their own folders. Output:
`LabelledTexts`. As for GLUE, quotation marks are literal and columns are found by the header.
"""

import os
from collections.abc import Sequence

import numpy as np

from bert_common import files
from bert_common.errors import UserError
from data_gen.labelled.tables import LabelledTexts, Table, no_column, parse_labels, read_table

NAME = "xnli"
LABELS = ("contradiction", "entailment", "neutral")
# The only one that the original reads.
DEFAULT_LANGUAGE = "zh"

_TRAINING = ("premise", "hypo", "label")
_EVALUATION = ("language", "gold_label", "sentence1", "sentence2")
# What the training files call the first class.
_OTHER_NAMES = {"contradictory": "contradiction"}


def read_training(data_dir: str, language: str, labels: Sequence[str]) -> LabelledTexts:
  """The training set of a language; `labels` are `LABELS` in the order of their numbers.

  Raises:
    UserError: there is none of this language, or as `read_evaluation`.
  """
  name = f"multinli.train.{language}.tsv"
  path = _find(data_dir, [os.path.join(folder, "multinli", name) for folder in ("", "XNLI-MT-1.0")])
  premises, hypotheses, names = (table := _read(path, _TRAINING)).columns
  numbers = parse_labels(table, [_OTHER_NAMES.get(label, label) for label in names], labels, regression=False)
  return LabelledTexts(path, list(map(str, range(len(premises)))), premises, hypotheses, numbers)


def read_evaluation(data_dir: str, split: str, languages: Sequence[str], labels: Sequence[str]
                    ) -> dict[str, LabelledTexts]:
  """The examples of languages.

  Args:
    data_dir: see the module.
    split: "dev" or "test"; both have labels.
    languages: codes such as "zh"; ("all",) for all that the file has.
    labels: `LABELS` in the order of their numbers.

  Returns:
    language → its examples, in the order of `languages`.

  Raises:
    UserError: a file, a column or a language is not there; or, with file and line, a row with another number of fields,
      bytes that are not UTF-8, an unknown label.
  """
  path = _find(data_dir, [os.path.join(folder, f"xnli.{split}.tsv") for folder in ("", "XNLI-1.0")])
  table = _read(path, _EVALUATION)
  language_of_row, names, premises, hypotheses = table.columns
  numbers = parse_labels(table, names, labels, regression=False)
  there = list(dict.fromkeys(language_of_row))
  found = {}
  for language in there if tuple(languages) == ("all",) else languages:
    rows = [row for row, code in enumerate(language_of_row) if code == language]
    if not rows:
      raise UserError(f"{path} has no examples in {language!r}: the languages are {', '.join(there)}")
    found[language] = LabelledTexts(path, list(map(str, range(len(rows)))), [premises[row] for row in rows],
                                    [hypotheses[row] for row in rows], numbers[np.array(rows)])
  return found


def _find(data_dir: str, names: list[str]) -> str:
  data_dir = data_dir if files.is_remote(data_dir) else os.path.expanduser(data_dir)
  paths = [os.path.join(data_dir, name) for name in names]
  found = next(filter(files.exists, paths), None)
  if found is None:
    raise UserError(f"--data_dir: {os.path.basename(names[0])} of XNLI is not there: looked for {', '.join(paths)}")
  return found


def _read(path: str, names: Sequence[str]) -> Table:
  def locate(first_row: list[str]) -> tuple[list[int], bool]:
    header = [name.strip() for name in first_row]
    for name in names:
      if name not in header:
        raise UserError(no_column(f"{path}:1", name, "data_dir", header))
    return [header.index(name) for name in names], True

  return read_table(path, "data_dir", "tsv", locate)

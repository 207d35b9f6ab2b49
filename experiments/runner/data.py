"""Where the data of a column is, among what the user has.

Input: the directories of the options. Output: the flags that name the files, or why the column is left out.
"""

import dataclasses
import itertools
import os
from collections.abc import Iterator, Mapping

from bert_common import files
from data_gen.labelled import glue
from data_gen.labelled.tables import numbered_lines
from experiments.runner import experiment as columns
from experiments.runner.experiment import Column, ExperimentOptions
from experiments.runner.jobs import Given

_CODAH = "codah_fold0_{}.swag.csv"
_NER_NAMES = {"train": ("eng.train", "train"), "dev": ("eng.testa", "testa", "valid", "dev")}


@dataclasses.dataclass(frozen=True)
class Source:
  """The data of a task.

  Attributes:
    flags: of its script.
    examples: to train on.
    split: whether there is only a development set, in the folder that the flags name, to be split.
    note: what a reader of the results should know.
  """

  flags: Mapping[str, object]
  examples: int
  split: bool = False
  note: str | None = None


def find(column: Column, options: ExperimentOptions) -> Source | str:
  """The data of a column, or why it can't be measured.

  A plan needs no data: where a directory is not given, its flag stands for it, with the data set as it was published.
  """
  kind = {columns.FEATURES: columns.NER}.get(column.kind, column.kind)
  flag = f"{kind}_dir"
  directory = getattr(options, flag)
  if directory is None and options.print_plan:
    folder = os.path.join(flag, glue.find_task(column.task).folder) if kind == columns.GLUE else flag
    return Source(_squad_flags(column.task, flag) if kind == columns.SQUAD else {"data_dir": Given(folder)},
                  column.examples)
  if directory is None:
    return f"--{flag} was not given"
  return {columns.GLUE: _glue, columns.SQUAD: _squad, columns.SWAG: _swag, columns.NER: _ner}[kind](column, directory)


def available(column_names: tuple[str, ...], options: ExperimentOptions
              ) -> tuple[dict[str, tuple[Column, Source | None]], list[str]]:
  """The columns whose data is there, by name, and notes: what is left out, what is not the published data."""
  found, notes = {}, {}
  for name in column_names:
    column = columns.COLUMNS[name]
    source = None if column.kind == columns.PRETRAINING else find(column, options)
    if isinstance(source, str):
      notes[f"{column.title} is left out: {source}"] = True
      continue
    found[name] = column, source
    if source is not None and source.note:
      notes[source.note] = True
  return found, list(notes)


def _glue(column: Column, directory: str) -> Source | str:
  task = glue.find_task(column.task)
  folder = os.path.join(directory, task.folder)
  flags = {"data_dir": Given(folder)}
  if glue.find_path(task, directory, "train") and glue.find_path(task, directory, glue.dev_splits(task)[0]):
    return Source(flags, _rows(os.path.join(folder, "train.tsv"), "glue_dir"))
  dev = f"{glue.dev_splits(task)[0]}.tsv"
  if files.exists(os.path.join(folder, dev)):
    return Source(flags, _rows(os.path.join(folder, dev), "glue_dir"), split=True, note=(
        f"{task.folder} has only {dev} here: four fifths of it are trained on, one fifth is measured"))
  return f"{folder} has no train.tsv and {dev}"


def _squad_flags(version: str, directory: str) -> dict[str, object]:
  flags = {name: Given(os.path.join(directory, f"{part}-{version}.json"))
           for name, part in (("train_file", "train"), ("predict_file", "dev"))}
  return flags | ({"version_2_with_negative": True} if version == "v2.0" else {})


def _squad(column: Column, directory: str) -> Source | str:
  flags = _squad_flags(column.task, directory)
  missing = [value.path for value in flags.values() if isinstance(value, Given) and not files.exists(value.path)]
  if missing:
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not there"
  # A question begins with its text.
  return Source(flags, sum(text.count('"question"') for text in _lines(flags["train_file"].path, "squad_dir")))


def _swag(column: Column, directory: str) -> Source | str:
  if all(files.exists(os.path.join(directory, name)) for name in ("train.csv", "val.csv")):
    return Source({"data_dir": Given(directory)}, 4 * _rows(os.path.join(directory, "train.csv"), "swag_dir"))
  codah = {split: os.path.join(directory, _CODAH.format(split)) for split in ("train", "dev")}
  if all(map(files.exists, codah.values())):
    return Source({f"{split}_file": Given(path) for split, path in codah.items()},
                  4 * _rows(codah["train"], "swag_dir"),
                  note="CODAH (fold 0) instead of SWAG: questions of the same form, a fiftieth as many")
  return f"{directory} has neither train.csv and val.csv of SWAG nor {_CODAH.format('train')} of CODAH"


def _ner(column: Column, directory: str) -> Source | str:
  names = files.list_directory(directory) if files.exists(directory) else []
  found = {}
  for split, parts in _NER_NAMES.items():
    matches = [sorted(name for name in names if part in name) for part in parts]
    chosen = next((one for one in matches if one), None)
    if chosen is None:
      return f"{directory} has no file for {split}: a name with {' or '.join(parts)} is expected"
    found[split] = os.path.join(directory, chosen[0])
  empty = [not text.strip() for text in _lines(found["train"], "ner_dir")]
  sentences = sum(before < after for before, after in itertools.pairwise(empty))
  note = None if os.path.basename(found["train"]) == "eng.train" else (
      f"{os.path.basename(found['train'])} instead of CoNLL-2003")
  return Source({f"{split}_file": Given(path) for split, path in found.items()}, sentences, note=note)


def _lines(path: str, flag: str) -> Iterator[str]:
  return (text for _, text in numbered_lines(path, flag))


def _rows(path: str, flag: str) -> int:
  """Of a table with a header."""
  return sum(1 for _ in _lines(path, flag)) - 1

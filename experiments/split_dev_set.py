"""Splits a development set of GLUE, for those who have no training set of the task.

  python experiments/split_dev_set.py --task_name=mnli --data_dir=glue --output_dir=glue_split

Writes glue_split/MNLI/train.tsv and glue_split/MNLI/dev_matched.tsv. Examples with the same first text (MNLI has three
hypotheses to a premise) stay on one side. Scores are not those of the official split.
"""

import dataclasses
import os

import numpy as np

from bert_common import cli, files
from bert_common.errors import UserError
from bert_common.options import LARGEST_INT64, Options, option
from data_gen.labelled import glue


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
  """The task and its split."""

  task_name: str = option(None, "One of GLUE's tasks.", required=True)
  data_dir: str = option(None, "Where GLUE's folders are, or the task's own folder.", required=True)
  output_dir: str = option(None, "Where the task's folder with the two files goes.", required=True)
  dev_fraction: float = option(0.2, "Share of the first texts that stays in the development set.", above=0, below=1)
  seed: int = option(12345, "Chooses them.", minimum=0, maximum=LARGEST_INT64)


def split(options: SplitOptions) -> None:
  """Writes `<Task>/train.tsv` and `<Task>/dev….tsv` into --output_dir.

  Raises:
    UserError: the task has no such file, or the file no such column, or too few examples.
  """
  task = glue.find_task(options.task_name)
  splits = glue.dev_splits(task)
  if not splits:
    raise UserError(f"--task_name={options.task_name} has no development set")
  name = f"{splits[0]}.tsv"
  path = glue.find_path(task, options.data_dir, splits[0])
  if path is None:
    raise UserError(f"--data_dir={options.data_dir}: {name} of {task.folder} is not there")
  with files.open_file(path, newline="\n") as file:
    header, *lines = file.read().splitlines()
  names = header.split("\t")
  if task.columns.text_a not in names:
    raise UserError(f"{path}: there is no column {task.columns.text_a}; it has {', '.join(names)}")
  column = names.index(task.columns.text_a)
  keys = [line.split("\t")[column] if line.count("\t") >= column else "" for line in lines]
  texts = np.unique(np.array(keys, dtype=object).astype(str))
  count = round(options.dev_fraction * len(texts))
  if not 0 < count < len(texts):
    raise UserError(f"{path}: {len(texts)} different first texts can't be split with --dev_fraction="
                    f"{options.dev_fraction}")
  chosen = set(np.random.default_rng(options.seed).permutation(texts)[:count].tolist())
  folder = files.make_output_directory(os.path.join(options.output_dir, task.folder), "output_dir")
  for split_name, is_dev in (("train", False), (splits[0], True)):
    rows = [line for line, key in zip(lines, keys, strict=True) if (key in chosen) == is_dev]
    path = os.path.join(folder, f"{split_name}.tsv")
    with files.atomic_write(path) as file:
      file.writelines(f"{line}\n" for line in (header, *rows))
    print(f"wrote {path}: {len(rows):,} examples")


if __name__ == "__main__":
  cli.run(SplitOptions, "experiments.split_dev_set:split")

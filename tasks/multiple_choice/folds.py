"""All folds of a cross-validation, one after the other, and the mean of their results.

Input: options without a fold. Output: a run directory for each fold, `folds.json` and a table.
"""

import gc
import os
from collections.abc import Callable, Mapping

import keras
import numpy as np

from common import files
from common.errors import UserError
from tasks import run as driver
from tasks.multiple_choice.data import check_folds
from tasks.multiple_choice.options import NUM_FOLDS, MultipleChoiceOptions

FOLDS_FILE = "folds.json"


def run_folds(make_task: Callable, options: MultipleChoiceOptions) -> int:
  """Trains, evaluates and predicts every fold; one that was finished before is not run again.

  Args:
    make_task: options → a task with `scores`.
    options: of the runs; --output_dir gets a directory for each.

  Raises:
    UserError: the folds do not fit together, there are several machines, or see `tasks/run.py`.
  """
  if os.environ.get("TF_CONFIG"):
    raise UserError("on several machines (TF_CONFIG) one fold is run at a time: choose it with --fold")
  check_folds(options)
  files.make_output_directory(options.output_dir, "output_dir")
  path = os.path.join(options.output_dir, FOLDS_FILE)
  finished = {int(fold): scores for fold, scores in files.read_json_object(path).get("folds", {}).items()}
  expected = {name for name, is_expected in (("dev_accuracy", options.do_eval), ("test_accuracy", options.do_predict))
              if is_expected}
  for fold in range(NUM_FOLDS):
    if expected <= set(finished.get(fold, ())):
      print(f"fold {fold}: finished already")
      continue
    print(f"\nfold {fold} of 0 to {NUM_FOLDS - 1}")
    tasks = []

    def make(one: MultipleChoiceOptions, tasks: list = tasks):
      tasks.append(make_task(one))
      return tasks[-1]

    directory = os.path.join(options.output_dir, f"fold_{fold}")
    driver.run(make, options.replace(fold=fold, output_dir=directory))
    scores = tasks[-1].scores.get(directory, {})
    if not expected <= set(scores):
      # It was interrupted, and has said so.
      return 0
    finished[fold] = dict(scores)
    files.write_json(path, _summary(finished))
    del tasks
    keras.backend.clear_session()
    gc.collect()
  print(f"\n{table(finished)}\n({path})")
  return 0


def table(folds: Mapping[int, Mapping[str, float]]) -> str:
  """A line a fold, and mean ± standard deviation over the folds."""
  names = list(next(iter(folds.values())))
  rows = [["fold", *names]]
  rows += [[str(fold), *(f"{scores[name]:.4f}" for name in names)] for fold, scores in sorted(folds.items())]
  rows.append(["mean", *(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in _statistics(folds).values())])
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _summary(folds: Mapping[int, Mapping[str, float]]) -> dict:
  return {"folds": {str(fold): scores for fold, scores in sorted(folds.items())},
          "mean": {name: mean for name, (mean, _) in _statistics(folds).items()},
          "standard_deviation": {name: deviation for name, (_, deviation) in _statistics(folds).items()}}


def _statistics(folds: Mapping[int, Mapping[str, float]]) -> dict[str, tuple[float, float]]:
  """Name → mean and sample standard deviation (0 of a single fold)."""
  values = {name: [scores[name] for scores in folds.values()] for name in next(iter(folds.values()))}
  return {name: (float(np.mean(ones)), float(np.std(ones, ddof=1)) if len(ones) > 1 else 0.0)
          for name, ones in values.items()}

"""All folds of a cross-validation, one after the other, and the mean of their results.

Input: options without a fold. Output: a run directory for each fold, `folds.json` and a table.
"""

import os
from collections.abc import Callable, Mapping

import numpy as np

from bert_tf.common import files, json_files
from bert_tf.common.errors import UserError
from bert_tf.tasks.multiple_choice.data import check_folds
from bert_tf.tasks.multiple_choice.options import NUM_FOLDS, MultipleChoiceOptions

FOLDS_FILE = "folds.json"


def run_folds(run_fold: Callable[[MultipleChoiceOptions], Mapping[str, float]], options: MultipleChoiceOptions) -> int:
  """Trains, evaluates and predicts every fold; one that was finished before is not run again.

  Args:
    run_fold: options of one fold → "dev_accuracy" and "test_accuracy", as far as asked for; fewer where it was
      interrupted, and has said so.
    options: of the runs; --output_dir gets a directory for each.

  Raises:
    UserError: the folds do not fit together, there are several machines, or see `bert_tf/tasks/run.py`.
  """
  if os.environ.get("TF_CONFIG"):
    raise UserError("on several machines (TF_CONFIG) one fold is run at a time: choose it with --fold")
  check_folds(options)
  files.make_output_directory(options.output_dir, "output_dir")
  path = os.path.join(options.output_dir, FOLDS_FILE)
  finished = {int(fold): scores for fold, scores in json_files.read_object(path).get("folds", {}).items()}
  expected = {name for name, is_expected in (("dev_accuracy", options.do_eval), ("test_accuracy", options.do_predict))
              if is_expected}
  for fold in range(NUM_FOLDS):
    if expected <= set(finished.get(fold, ())):
      print(f"fold {fold}: finished already")
      continue
    print(f"\nfold {fold} of 0 to {NUM_FOLDS - 1}")
    scores = run_fold(options.replace(fold=fold, output_dir=os.path.join(options.output_dir, f"fold_{fold}")))
    if not expected <= set(scores):
      return 0
    finished[fold] = dict(scores)
    json_files.write(path, _summary(finished))
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

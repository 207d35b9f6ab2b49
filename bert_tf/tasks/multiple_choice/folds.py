"""All folds of a cross-validation, one after the other, and the mean of their results.

Input: options without a fold. Output: a run directory for each fold, `folds.json` and a table.
"""

import os
from collections.abc import Callable, Mapping

from bert_common import files, json_files
from bert_common.cluster import find_cluster
from bert_common.errors import UserError
from bert_common.tables import mean_and_deviation, show_mean, table
from bert_tf.tasks.eval_results import EVAL_RESULTS
from bert_tf.tasks.many_runs import carry_out, sources_of, sources_of_data
from bert_tf.tasks.multiple_choice.data import check_folds
from bert_tf.tasks.multiple_choice.options import MultipleChoiceOptions
from bert_tf.training import run_directory
from modeling.checkpoints.load import open_checkpoint

FOLDS_FILE = "folds.json"


def run_folds(run_fold: Callable[[MultipleChoiceOptions], Mapping[str, float]], options: MultipleChoiceOptions) -> int:
  """Trains, evaluates and predicts every fold; one that was finished before is not run again.

  Args:
    run_fold: options of one fold → "dev_accuracy" and "test_accuracy", as far as asked for; fewer where it was
      interrupted, and has said so.

  Raises:
    UserError: the folds do not fit together, there are several machines, or see `many_runs.carry_out` and
      `bert_tf/tasks/run.py`.
  """
  if find_cluster(os.environ) is not None:
    raise UserError("on several machines one fold is run at a time: choose it with --fold")
  data_files = check_folds(options)
  checkpoint = open_checkpoint(options.init_checkpoint, bert_config_file=options.bert_config_file,
                               vocab_file=options.vocab_file, do_lower_case=options.do_lower_case)
  if options.dry_run or options.suggest:
    print(f"{len(data_files)} folds, one after the other; the first:")
    run_fold(options.replace(fold=0, output_dir=os.path.join(options.output_dir, "fold_0")))
    return 0
  files.make_output_directory(options.output_dir, "output_dir")
  # Unlike those of a selection, the results are of the test set, too.
  sources = {**sources_of(options, checkpoint, {}), "max_predict_examples": options.max_predict_examples}
  runs = {f"fold_{fold}": {**sources, **sources_of_data(paths)} for fold, paths in enumerate(data_files)}
  expected = {name for name, is_expected in (("dev_accuracy", options.do_eval), ("test_accuracy", options.do_predict))
              if is_expected}

  def measure(name: str) -> tuple[Mapping[str, float], bool] | None:
    directory = os.path.join(options.output_dir, name)
    scores = run_fold(options.replace(fold=list(runs).index(name), output_dir=directory))
    evaluated = json_files.read_object(os.path.join(directory, EVAL_RESULTS))
    return (scores, "degenerate" in evaluated) if expected <= set(scores) else None

  with run_directory.writing(options.output_dir):
    found = carry_out(options.output_dir, runs, measure, True, print, lambda one: expected <= set(one.metrics))
    path = os.path.join(options.output_dir, FOLDS_FILE)
    if found:
      folds = {name.removeprefix("fold_"): result.metrics for name, result in found.items()}
      statistics = {name: mean_and_deviation(values) for name, values in _values(folds).items()}
      json_files.write(path, {
          "folds": folds, "mean": {name: mean for name, (mean, _) in statistics.items()},
          "standard_deviation": {name: deviation for name, (_, deviation) in statistics.items()}})
  if len(found) == len(runs):
    print(f"\n{describe(folds)}\n({path})")
  return 0


def describe(folds: Mapping[str, Mapping[str, float]]) -> str:
  """A line a fold, and mean ± standard deviation over the folds."""
  values = _values(folds)
  return table([["fold", *values], *([fold, *(f"{scores[name]:.4f}" for name in values)]
                                     for fold, scores in folds.items()), ["mean", *map(show_mean, values.values())]])


def _values(folds: Mapping[str, Mapping[str, float]]) -> dict[str, list[float]]:
  """Score → its values, of the scores that all folds have."""
  names = [name for name in next(iter(folds.values())) if all(name in scores for scores in folds.values())]
  return {name: [scores[name] for scores in folds.values()] for name in names}

"""The files and the table of a final evaluation, and predictions as numbers, the same for every task."""

import os
from collections.abc import Iterable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_tf.tasks.evaluation import Evaluation

EVAL_RESULTS = "eval_results.json"


def write_eval_results(directory: str, evaluation: Evaluation, num_examples: int, prefix: str = "",
                       others: Mapping[str, float] | None = None) -> str:
  """Writes `eval_results.txt` as the original does (sorted `key = value` lines), and `eval_results.json`.

  Args:
    evaluation: numpy's numbers are welcome among its metrics. If it is degenerate the JSON file says so.
    others: further numbers for the files, which the table does not repeat.

  Returns:
    the results as a table, and where they are.
  """
  named = {f"{prefix}{name}": value if isinstance(value, int) else float(value)
           for name, value in evaluation.metrics.items()}
  results = dict(sorted({"global_step": evaluation.step, **named, **(others or {})}.items()))
  path = os.path.join(directory, "eval_results.txt")
  with files.atomic_write(path) as file:
    file.writelines(f"{name} = {value}\n" for name, value in results.items())
  warning = {"degenerate": evaluation.degenerate} if evaluation.degenerate else {}
  json_files.write(os.path.join(directory, EVAL_RESULTS), {**results, **warning})
  return "\n".join([f"evaluation on {num_examples:,} examples ({path})",
                    *(f"  {name:24} {value:.4f}" for name, value in sorted(named.items()))])


def write_test_results(path: str, rows: Iterable[np.ndarray]) -> None:
  """`test_results.tsv` as the original writes it: a line for each example, no header, no labels.

  Args:
    rows: the probabilities of each example, which are separated by tabs; or one score each.
  """
  with files.atomic_write(path) as file:
    # str of a numpy number has the digits that its type holds: those of float32 are not padded to float64.
    file.writelines("\t".join(map(str, np.atleast_1d(row))) + "\n" for row in rows)


def shortest(number: np.floating) -> float:
  """The float with the fewest digits that is the same number in the type of `number`."""
  return float(str(number))

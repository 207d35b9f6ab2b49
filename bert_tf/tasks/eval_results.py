"""The files and the table of a final evaluation, the same for every task."""

import os
from collections.abc import Mapping

from bert_tf.common import files, json_files

EVAL_RESULTS = "eval_results.json"
# Of a selection.
SELECTION_FILE = "selection.json"


def write_eval_results(directory: str, step: int, metrics: Mapping[str, float]) -> None:
  """`eval_results.txt` as the original writes it (sorted `key = value` lines), and `eval_results.json`."""
  results = {"global_step": step, **metrics}
  with files.atomic_write(os.path.join(directory, "eval_results.txt")) as file:
    file.writelines(f"{name} = {results[name]}\n" for name in sorted(results))
  json_files.write(os.path.join(directory, EVAL_RESULTS), {name: results[name] for name in sorted(results)})


def add_degenerate(directory: str, step: int, warning: str) -> None:
  """Adds "degenerate" to the `eval_results.json` of this step, where there is one."""
  path = os.path.join(directory, EVAL_RESULTS)
  results = json_files.read_object(path)
  if results.get("global_step") == step:
    json_files.write(path, {**results, "degenerate": warning})


def describe_evaluation(directory: str, num_examples: int, metrics: Mapping[str, float]) -> str:
  """The results as a table, and where they are."""
  # The original's files have the loss of a classifier twice.
  shown = {name: value for name, value in metrics.items() if f"eval_{name}" not in metrics}
  lines = [f"evaluation on {num_examples:,} examples ({os.path.join(directory, 'eval_results.txt')})"]
  return "\n".join([*lines, *(f"  {name:24} {value:.4f}" for name, value in sorted(shown.items()))])

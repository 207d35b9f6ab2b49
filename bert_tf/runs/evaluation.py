"""Evaluations as values, and the files that hold them.

A run may have learned nothing: it predicts the same for every example. Fine-tuning with a high
learning rate or on little data may collapse (section 4.1 of the paper restarts such runs), and the
scores do not show it: calling all pairs of MRPC equivalent has an F1 of 0.81.
"""

import dataclasses
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from bert_common import files, json_files
from modeling.checkpoints.companion_files import EVAL_RESULTS

_ADVICE = (
    "the run has learned nothing that distinguishes them, whatever its scores: train longer, start "
    "from a pre-trained checkpoint, or take another --seed, a lower --learning_rate or more data; "
    "several values of these flags are tried one after the other"
)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Result of an evaluation.

    Attributes:
      step: updates that the weights have seen.
      metrics: by name; empty if no labels are known.
      details: what the task writes of it, in the task's own form.
      description: entries of `task.json` that depend on the evaluation, e.g. a tuned threshold.
      warning: why the run has learned nothing; None if it has.
    """

    step: int
    metrics: Mapping[str, float]
    details: object = None
    description: Mapping[str, object] = dataclasses.field(default_factory=dict)
    warning: str | None = None

    @property
    def degenerate(self) -> str | None:
        """A line for logs and files if the run has learned nothing, else None."""
        if self.warning is None:
            return None
        return f"DEGENERATE: {self.warning}"


def constant_predictions(
    name: str,
    values: Sequence[Hashable],
    labels: Sequence[Hashable] | None = None,
    noun: str = "examples",
) -> str | None:
    """Describes a set for which a model predicts the same for all examples.

    Args:
      name: of the set.
      values: a prediction for each example, in words for the message, e.g. "no answer".
      labels: the true ones, in any form; None if unknown.
      noun: for the examples, e.g. "questions".

    Returns:
      a clause such as "all 408 pairs of dev are predicted as 'yes'"; None if predictions differ, or
      if they should not because the labels are all the same.
    """
    # A single prediction can't differ from another one.
    if len(values) < 2:
        return None
    # A model that is right about a set of one class has not collapsed.
    if labels is not None and len(set(labels)) == 1:
        return None
    # NaN is unequal to itself; several of them count as one value.
    distinct = {"nan" if value != value else value for value in values}
    if len(distinct) > 1:
        return None
    return f"all {len(values):,} {noun} of {name} are predicted as {values[0]!r}"


def constant_predictions_warning(clauses: Iterable[str | None]) -> str | None:
    """Returns the warning of an evaluation, from `constant_predictions` of each set."""
    text = "; ".join(clause for clause in clauses if clause)
    return f"{text}: {_ADVICE}" if text else None


def write_eval_results(
    directory: str,
    evaluation: Evaluation,
    num_examples: int,
    prefix: str = "",
    others: Mapping[str, float] | None = None,
) -> str:
    """Writes `eval_results.txt` as the original does, and `eval_results.json`.

    The text has sorted `key = value` lines.

    Args:
      prefix: of the metrics' names in the files.
      others: further results for the files.

    Returns:
      the metrics as a table, with the path of the file.
    """
    metrics: dict[str, float] = {}
    for name, value in evaluation.metrics.items():
        # Counts stay whole numbers; numpy's floats would not be JSON.
        if not isinstance(value, int):
            value = float(value)
        metrics[f"{prefix}{name}"] = value
    # Sorted by name, as the original sorts its keys.
    results = {"global_step": evaluation.step, **metrics, **({} if others is None else others)}
    results = dict(sorted(results.items()))
    path = os.path.join(directory, "eval_results.txt")
    with files.atomic_write(path) as file:
        file.writelines(f"{name} = {value}\n" for name, value in results.items())
    record: dict[str, object] = dict(results)
    if evaluation.degenerate:
        record["degenerate"] = evaluation.degenerate
    # The JSON comes last, so that a reader who finds it finds the text, too.
    json_files.write(os.path.join(directory, EVAL_RESULTS), record)
    lines = [f"evaluation on {num_examples:,} examples ({path})"]
    for name, value in sorted(metrics.items()):
        lines.append(f"  {name:24} {value:.4f}")
    return "\n".join(lines)


def write_test_results(path: str, rows: Iterable[np.ndarray]) -> None:
    """Writes `test_results.tsv` as the original does: probabilities or a score per line."""
    with files.atomic_write(path) as file:
        for row in rows:
            # str of a numpy number has the digits of its type: float32 is not padded to float64.
            file.write("\t".join(str(number) for number in np.atleast_1d(row)) + "\n")


def shortest(number: np.floating) -> float:
    """Returns the float with the fewest digits that is the same number in the type of `number`."""
    # A plain float() of a float32 shows digits that its type doesn't have: 0.1 gives 0.10000000149.
    return float(str(number))

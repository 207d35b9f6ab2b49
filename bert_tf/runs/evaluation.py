"""Evaluations as values: tasks return them, runs keep them and compare by them, files are written
from them.

A run may have learnt nothing: the same prediction for every example, whatever the task. Fine-tuning
with a high learning rate or on little data may collapse (section 4.1 of the paper restarts such
runs), and the scores do not show it: all pairs of MRPC called equivalent have an F1 of 0.81.
"""

import dataclasses
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_common import files, json_files

EVAL_RESULTS = "eval_results.json"

_WHAT_TO_DO = (
    "the run has learnt nothing that distinguishes them, whatever its scores: train longer, start from a "
    "pre-trained checkpoint, or take another --seed, a lower --learning_rate or more data; several values "
    "of these flags are tried one after the other"
)


class Predicted(NamedTuple):
    """The predictions of a set.

    Attributes:
      values: a prediction for each example, as messages name it, e.g. "yes" or "no answer".
      labels: the right ones, in any form; None where they are not known.
      what: the examples, e.g. "questions".
    """

    values: Sequence[Hashable]
    labels: Sequence[Hashable] | None = None
    what: str = "examples"


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    Attributes:
      step: updates that the weights have seen.
      metrics: by name; empty where no right answers are known.
      predictions: by the names of the sets; empty for pre-training.
      details: what the task writes and shows of it, in a form of its own.
      description: what `task.json` says of these weights beside the rest, e.g. a threshold tuned
        with them.
      warning: why the run has learnt nothing, where that does not follow from its predictions.
    """

    step: int
    metrics: Mapping[str, float]
    predictions: Mapping[str, Predicted] = dataclasses.field(default_factory=dict)
    details: object = None
    description: Mapping[str, object] = dataclasses.field(default_factory=dict)
    warning: str | None = None

    @property
    def degenerate(self) -> str | None:
        """A line on why the run has learnt nothing, e.g. the sets whose predictions are all the
        same; None where it has."""
        if self.warning is not None:
            return f"DEGENERATE: {self.warning}"
        # Several examples that differ in their labels all got the same prediction. What is not a
        # number is unlike itself.
        found = [
            f"all {len(values):,} {what} of {name} are predicted as {values[0]!r}"
            for name, (values, labels, what) in self.predictions.items()
            if len(values) > 1
            and len({"nan" if value != value else value for value in values}) == 1
            and (labels is None or len(set(labels)) > 1)
        ]
        return f"DEGENERATE: {'; '.join(found)}: {_WHAT_TO_DO}" if found else None


@dataclasses.dataclass(frozen=True)
class RunOutcome:
    """What a run comes to.

    Attributes:
      evaluation: of its final weights, which are the best ones where some were chosen; None where
        there was none.
      test_metrics: of its predictions; None where nothing was predicted, or no right answers are
        known.
    """

    evaluation: Evaluation | None
    test_metrics: Mapping[str, float] | None = None


def write_eval_results(
    directory: str,
    evaluation: Evaluation,
    num_examples: int,
    prefix: str = "",
    others: Mapping[str, float] | None = None,
) -> str:
    """Writes `eval_results.txt` as the original does (sorted `key = value` lines), and
    `eval_results.json`.

    Returns the results as a table, without `others`, and where they are.
    """
    named = {
        f"{prefix}{name}": value if isinstance(value, int) else float(value)
        for name, value in evaluation.metrics.items()
    }
    results = dict(sorted({"global_step": evaluation.step, **named, **(others or {})}.items()))
    path = os.path.join(directory, "eval_results.txt")
    with files.atomic_write(path) as file:
        file.writelines(f"{name} = {value}\n" for name, value in results.items())
    warning = {"degenerate": evaluation.degenerate} if evaluation.degenerate else {}
    json_files.write(os.path.join(directory, EVAL_RESULTS), {**results, **warning})
    return "\n".join(
        [
            f"evaluation on {num_examples:,} examples ({path})",
            *(f"  {name:24} {value:.4f}" for name, value in sorted(named.items())),
        ]
    )


def write_test_results(path: str, rows: Iterable[np.ndarray]) -> None:
    """`test_results.tsv` as the original writes it: a line with the probabilities of each example,
    or one score each."""
    with files.atomic_write(path) as file:
        # str of a numpy number has the digits that its type holds: those of float32 are not padded
        # to float64.
        file.writelines("\t".join(map(str, np.atleast_1d(row))) + "\n" for row in rows)


def shortest(number: np.floating) -> float:
    """The float with the fewest digits that is the same number in the type of `number`."""
    return float(str(number))

"""What is printed and written of an experiment: its plan; from the files of complete jobs the
numbers of its tables, as Markdown and JSON with every number, and the pictures of curves.
"""

import dataclasses
import itertools
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common import files, json_files
from bert_tf.evaluation.significance import LEVEL, holm, paired_p
from bert_tf.plotting import Picture, marker_style, write
from bert_tf.tables import mean_and_deviation, pad, show_mean
from bert_tf.tasks.token_classification.options import TABLE_7
from experiments.runner.experiment import BY_FLOPS, Column, Experiment, Row
from experiments.runner.jobs import Outcome, Plan, State
from experiments.runner.recipes import Measurement, Source
from experiments.runner.scales import Scale
from modeling.config import PRESETS
from modeling.costs import training_flops

MEAN = "mean"
# After the value of a run which predicts the same for every example.
_DEGENERATE = " †"
_X_LABELS = {
    "steps": "thousand sequences of pre-training",
    "flops": "FLOP of pre-training (matrix products)",
}
_BASE = PRESETS["bert-base-uncased"]
# What hours are estimated for: FLOP/s of matrix products in training, and who measured them; small
# models reach less.
_DEVICES = {
    "one core": (
        4.6e10,
        "a server's, float32: 242 sequences/s of 64 tokens, 2 layers, 128 hidden units, 4,000 tokens",
    ),
    "A100 80 GB": (
        485.59 * training_flops(PRESETS["bert-large-uncased"], 128, 20),
        "NVIDIA's BERT-Large in TensorFlow 2, 128 tokens, float16: 485.6 sequences/s",
    ),
    "H100 80 GB": (
        3407 * training_flops(_BASE, 128, 20),
        "this project's BERT-Base, 128 tokens, bfloat16: 3,407 sequences/s",
    ),
    "16 TPU v2 chips": (
        1e6
        * 256
        * (0.9 * training_flops(_BASE, 128, 20) + 0.1 * training_flops(_BASE, 512, 77))
        / (4 * 86_400),
        "the paper, appendix A.2: BERT-Base in 4 days",
    ),
}


@dataclasses.dataclass(frozen=True)
class Planned:
    """An experiment with the jobs that measure it.

    Attributes:
      rows: that can be measured.
      columns: name → column and where its data is.
      results: (row's name, column's name) → a job for each repetition.
      notes: what a reader should know of the data.
    """

    experiment: Experiment
    rows: tuple[Row, ...]
    columns: Mapping[str, tuple[Column, Source]]
    results: Mapping[tuple[str, str], tuple[Measurement, ...]]
    notes: tuple[str, ...]

    @property
    def shown(self) -> dict[str, Column]:
        """Name → column, the mean over the columns included where it is asked for and there are
        several."""
        found = {name: column for name, (column, _) in self.columns.items()}
        has_mean = self.experiment.mean_of_columns and len(found) > 1
        return found | ({MEAN: Column(MEAN, kind="", task="", metric="")} if has_mean else {})

    def jobs(self) -> set[str]:
        """Names of the jobs that hold its results."""
        return {one.job for found in self.results.values() for one in found}


@dataclasses.dataclass(frozen=True)
class Measured:
    """The numbers of an experiment.

    Attributes:
      values: row → column → seed → value, in the paper's unit; a column is not there where nothing
        was measured.
      degenerate: (row, column) → how many of its runs predict the same for every example.
    """

    planned: Planned
    values: Mapping[str, Mapping[str, Mapping[int, float]]]
    degenerate: Mapping[tuple[str, str], int]

    def paper(self, row: Row, column: str) -> float | None:
        """The published value."""
        return dict(zip(self.planned.experiment.columns, row.paper, strict=False)).get(column)

    def order(self) -> list[str]:
        """A line for each column: how many pairs of rows are in the paper's order, and which of
        them hardly by chance.

        A table is one family of tests, as whoever reads it looks at all of its columns.
        """
        pairs = []
        for name, column in (
            self.planned.shown.items() if self.planned.experiment.orders_rows else ()
        ):
            sign = -1.0 if column.lower_is_better else 1.0
            rows = sorted(
                (
                    (sign * paper, row.name)
                    for row in self.planned.rows
                    if (paper := self.paper(row, name)) is not None
                    and name in self.values[row.name]
                ),
                reverse=True,
            )
            for (first, better), (second, worse) in itertools.combinations(rows, 2):
                if first > second:
                    a, b = (self.values[row][name] for row in (better, worse))
                    gap = sign * (np.mean(list(a.values())) - np.mean(list(b.values())))
                    pairs.append(
                        (
                            column.title,
                            f"{better} {'above' if gap > 0 else 'below'} {worse}",
                            gap,
                            paired_p(a, b),
                        )
                    )
        corrected = holm([p for *_, p in pairs])
        lines = []
        for title in dict.fromkeys(title for title, *_ in pairs):
            found = [
                (text, gap, p)
                for (its, text, gap, _), p in zip(pairs, corrected, strict=True)
                if its == title
            ]
            sure = [f"{text} (p = {p:.2g})" for text, _, p in found if p is not None and p < LEVEL]
            lines.append(
                f"- {title}: {sum(gap > 0 for _, gap, _ in found)} of {len(found)} pairs of rows are in the paper's "
                f"order; beyond chance: {', '.join(sure) or 'none'}"
            )
        return lines


def measure(planned: Planned, plan: Plan, complete: frozenset[str]) -> Measured:
    """Reads the results of the jobs that are complete."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    degenerate: Counter[tuple[str, str]] = Counter()
    for row in planned.rows:
        found = values[row.name] = {}
        for name, (column, _) in planned.columns.items():
            for one in planned.results[row.name, name]:
                if one.job not in complete:
                    continue
                path = plan.path(one.job, plan.jobs[one.job].result)
                if row.layers:
                    key, chosen = column.metric.removeprefix("eval_"), TABLE_7[row.layers]
                    others = {"layers": ",".join(chosen.layers), "combine": chosen.combine}
                    fields = {"others": dict, "metrics": {key: float}, "degenerate": bool}
                    runs = json_files.read_object(path, {"runs": [fields]})["runs"]
                    value, is_degenerate = next(
                        (run["metrics"][key], run["degenerate"])
                        for run in runs
                        if run["others"] == others
                    )
                else:
                    result = json_files.read_object(path, {column.metric: float})
                    value, is_degenerate = result[column.metric], "degenerate" in result
                found.setdefault(name, {})[one.seed] = column.factor * value
                degenerate[row.name, name] += is_degenerate
        if MEAN in planned.shown and len(found) == len(planned.columns):
            seeds = set.intersection(*(set(one) for one in found.values()))
            found[MEAN] = {
                seed: sum(found[name][seed] for name in planned.columns) / len(planned.columns)
                for seed in sorted(seeds)
            }
    return Measured(planned, values, +degenerate)


def describe(plan: Plan, planned: Sequence[Planned], scale: Scale) -> str:
    """Every command with its examples and arithmetic, in an order that works, and hours on some
    devices."""
    lines = []
    for one in planned:
        lines += [f"{one.experiment.name}: {one.experiment.title}", f"  {one.experiment.about}"]
        if scale.name in one.experiment.expect:
            lines.append(f"  expect: {one.experiment.expect[scale.name]}")
        lines += [
            f"  {len(one.rows)} rows × {', '.join(column.title for column, _ in one.columns.values())}",
            *(f"  note: {note}" for note in one.notes),
        ]
    for job in plan.jobs.values():
        amount = f"{job.examples:,} examples, {job.flops:.2g} FLOP" if job.flops else "no training"
        lines += [
            "",
            f"# {job.name}: {amount}",
            " \\\n    ".join(["python " + job.script, *map(shlex.quote, plan.command(job)[1:])]),
        ]
    flops, examples = (
        sum(getattr(job, name) for job in plan.jobs.values()) for name in ("flops", "examples")
    )
    lines += [
        "",
        f"{len(plan.jobs)} jobs, {examples:,} examples, {flops:.2g} FLOP of matrix products",
        "",
        "hours, of training alone",
    ]
    for name, (rate, source) in _DEVICES.items():
        hours = flops / rate / 3600
        lines.append(f"{name:16}{format(hours, '.2g' if hours < 100 else ',.0f'):>12}   {source}")
    lines.append("Fine-tuning is counted as if all sequences had the greatest length.")
    return "\n".join(lines)


def write_report(
    measured: Measured, plan: Plan, state: State, scale: Scale, outcome: Outcome
) -> list[str]:
    """Writes `<name>.md`, `.json` and pictures into the output directory; returns the paths of the
    first two."""
    experiment, records = measured.planned.experiment, {}
    for job in plan.needed(measured.planned.jobs()):
        if job.name in outcome.complete:
            found = state.result(job.name)
            # Of one that was run elsewhere only what it should have been is known.
            records[job.name] = (
                {**found.details, "seconds": found.seconds}
                if found and found.is_complete
                else {"command": plan.command(job), "seconds": None, "machine": "elsewhere"}
            )
    drawn = [
        os.path.basename(path)
        for column in measured.planned.shown
        if experiment.x and any(column in found for found in measured.values.values())
        for path in write(
            Picture(
                f"{experiment.name}-{column}",
                lambda figure, column=column: _draw_curves(figure, measured, column),
                (7.5, 4.5),
            ),
            plan.directory,
            ("png",),
        )
    ]
    paths = [
        os.path.join(plan.directory, f"{experiment.name}.{extension}")
        for extension in ("md", "json")
    ]
    with files.atomic_write(paths[0]) as file:
        file.write("\n".join(_markdown(measured, scale, outcome, records, drawn)))
    rows = []
    for row in measured.planned.rows:
        cells = {}
        for column in measured.planned.shown:
            values = measured.values[row.name].get(column, {})
            mean, deviation = mean_and_deviation(list(values.values())) if values else (None, None)
            cells[column] = {
                "mean": mean,
                "standard_deviation": deviation,
                "paper": measured.paper(row, column),
                "degenerate_runs": measured.degenerate.get((row.name, column), 0),
                "seeds": {str(seed): value for seed, value in values.items()},
                "jobs": [
                    dataclasses.asdict(one)
                    for one in measured.planned.results.get((row.name, column), ())
                ],
            }
        rows.append({"name": row.name, "curve": row.curve, "at": row.at, "columns": cells})
    json_files.write(
        paths[1],
        {
            "name": experiment.name,
            "title": experiment.title,
            "rows": rows,
            "columns": {name: column.title for name, column in measured.planned.shown.items()},
            "published": [list(point) for point in experiment.published],
            "notes": list(measured.planned.notes),
            "pictures": drawn,
            "jobs": records,
        },
    )
    return paths


def _markdown(
    measured: Measured,
    scale: Scale,
    outcome: Outcome,
    records: Mapping[str, dict],
    drawn: Sequence[str],
) -> list[str]:
    """The table, notes, the order of the rows, pictures, commands."""
    planned, experiment, shown = (
        measured.planned,
        measured.planned.experiment,
        measured.planned.shown,
    )
    rows = [["", *(column.title for column in shown.values())]]
    for row in planned.rows:
        rows.append([row.name])
        for name, column in shown.items():
            paper = measured.paper(row, name)
            rows[-1].append(
                show_mean(list(measured.values[row.name].get(name, {}).values()), column.decimals)
                + (_DEGENERATE if (row.name, name) in measured.degenerate else "")
                + ("" if paper is None else f" ({paper:.{column.decimals}f})")
            )
    header, *table = (f"| {' | '.join(row)} |" for row in pad(rows, str.ljust))
    lines = [
        f"# {experiment.title}",
        "",
        experiment.about,
        "",
        header,
        "|" + "|".join("-" * len(cell) for cell in header.strip("|").split("|")) + "|",
        *table,
        "",
        f"Scale {scale.name}: mean ± standard deviation over the repetitions, on development sets; in brackets what "
        "is published.",
        "",
        *(f"- {note}" for note in planned.notes),
    ]
    if measured.degenerate:
        lines.append(
            f"-{_DEGENERATE} {sum(measured.degenerate.values())} of the runs predict the same for every example: "
            "nothing was learnt of the task."
        )
    if missing := sorted(planned.jobs() - outcome.complete):
        lines.append(f"- **Not complete**: {', '.join(missing)}. The same command again resumes.")
    if found := measured.order():
        lines += [
            "",
            "## The order of the rows",
            "",
            *found,
            "- What chance is here: other seeds (paired t-tests, Holm's correction for all pairs of all columns, "
            f"p < {LEVEL}); of one repetition nothing is known of it.",
        ]
        if not scale.pretraining_seeds:
            lines.append(
                "- The repetitions differ in fine-tuning alone: what another pre-training would change is not seen."
            )
    for name in drawn:
        lines += ["", f"![{name}]({name})"]
    seeds = sorted({one.seed for found in planned.results.values() for one in found})
    machines = sorted({record["machine"] for record in records.values()})
    minutes = sum(one["seconds"] or 0.0 for one in records.values()) / 60
    lines += [
        "",
        f"Seeds: {', '.join(map(str, seeds))}. {minutes:.0f} minutes of jobs, one after the other, on "
        f"{'; '.join(machines)}; a job that was interrupted counts from its last start.",
        "",
        "## Commands",
        "",
    ]
    for name, record in records.items():
        took = "run elsewhere" if record["seconds"] is None else f"{record['seconds']:.0f} s"
        lines += [
            f"{name}, {took}:",
            "",
            "```",
            f"python {shlex.join(record['command'])}",
            "```",
            "",
        ]
    return lines


def _draw_curves(figure, measured: Measured, column: str) -> None:
    """A column against the length of pre-training, with error bars over the repetitions."""
    axes, planned, experiment = figure.subplots(), measured.planned, measured.planned.experiment
    for number, curve in enumerate(dict.fromkeys(row.curve for row in planned.rows)):
        points = []
        for row in planned.rows:
            if row.curve == curve and column in measured.values[row.name]:
                # A mean is over columns whose models are the same.
                result = planned.results[
                    row.name, next(iter(planned.columns)) if column == MEAN else column
                ][0]
                points.append(
                    (
                        result.flops if experiment.x == BY_FLOPS else result.examples / 1000,
                        *mean_and_deviation(list(measured.values[row.name][column].values())),
                    )
                )
        if points:
            xs, means, deviations = zip(*sorted(points), strict=True)
            axes.errorbar(
                xs,
                means,
                yerr=[deviation or 0.0 for deviation in deviations],
                capsize=3,
                label=curve,
                linestyle="-",
                **marker_style(number),
            )
    for name, flops, score in experiment.published:
        axes.plot(flops, score, "x", color="gray")
        axes.annotate(name, (flops, score), fontsize=7, xytext=(3, 3), textcoords="offset points")
    if experiment.x == BY_FLOPS:
        axes.set_xscale("log")
        # The labels of Matplotlib are formulas, which pictures here show as they are written.
        axes.xaxis.set_major_formatter(lambda value, place: f"{value:.0e}".replace("+", ""))
    axes.set_xlabel(_X_LABELS[experiment.x])
    axes.set_ylabel(planned.shown[column].title)
    axes.grid(alpha=0.3)
    axes.legend()

"""The report of an experiment: Markdown and JSON with every number, and the pictures of curves."""

import dataclasses
import os
import shlex
from collections.abc import Mapping, Sequence

from bert_common import files, json_files
from bert_tf.evaluation.significance import LEVEL
from bert_tf.plotting.picture import Picture, marker_style, write
from bert_tf.tables import mean_and_deviation, pad, show_mean
from experiments.runner.experiment import BY_FLOPS
from experiments.runner.jobs import Plan
from experiments.runner.results import MEAN, Measured
from experiments.runner.scales import Scale
from experiments.runner.schedule import Outcome, State

# After the value of a run which predicts the same for every example.
_DEGENERATE = " †"
_X_LABELS = {"steps": "thousand sequences of pre-training", "flops": "FLOP of pre-training (matrix products)"}


def write_report(measured: Measured, plan: Plan, state: State, scale: Scale, outcome: Outcome) -> list[str]:
  """Writes `<name>.md`, `.json` and pictures into the output directory; returns the paths of the first two.

  Raises:
    UserError: a file can't be written.
  """
  experiment, records = measured.planned.experiment, {}
  for job in plan.needed(measured.planned.jobs()):
    if job.name in outcome.complete:
      found = state.result(job.name)
      # Of one that was run elsewhere only what it should have been is known.
      records[job.name] = ({**found.details, "seconds": found.seconds} if found and found.is_complete else
                           {"command": plan.command(job), "seconds": None, "machine": "elsewhere"})
  drawn = [os.path.basename(path) for column in measured.planned.shown if experiment.x
           and any(column in found for found in measured.values.values())
           for path in write(Picture(f"{experiment.name}-{column}", lambda figure, column=column: _draw_curves(
               figure, measured, column), (7.5, 4.5)), plan.directory, ("png",))]
  paths = [os.path.join(plan.directory, f"{experiment.name}.{extension}") for extension in ("md", "json")]
  with files.atomic_write(paths[0]) as file:
    file.write("\n".join(_markdown(measured, scale, outcome, records, drawn)))
  json_files.write(paths[1], _as_json(measured, records, drawn))
  return paths


def _markdown(measured: Measured, scale: Scale, outcome: Outcome, records: Mapping[str, dict], drawn: Sequence[str]
              ) -> list[str]:
  planned, experiment = measured.planned, measured.planned.experiment
  lines = [f"# {experiment.title}", "", experiment.about, "", *_results_table(measured), "",
           f"Scale {scale.name}: mean ± standard deviation over the repetitions, on development sets; in brackets what "
           "is published.", "", *(f"- {note}" for note in planned.notes)]
  if measured.degenerate:
    lines.append(f"-{_DEGENERATE} {sum(measured.degenerate.values())} of the runs predict the same for every example: "
                 "nothing was learnt of the task.")
  if missing := sorted(planned.jobs() - outcome.complete):
    lines.append(f"- **Not complete**: {', '.join(missing)}. The same command again resumes.")
  lines += _order_of_rows(measured, scale)
  for name in drawn:
    lines += ["", f"![{name}]({name})"]
  seeds = sorted({one.seed for found in planned.results.values() for one in found})
  machines = sorted({record["machine"] for record in records.values()})
  minutes = sum(one["seconds"] or 0.0 for one in records.values()) / 60
  lines += ["", f"Seeds: {', '.join(map(str, seeds))}. {minutes:.0f} minutes of jobs, one after the other, on "
            f"{'; '.join(machines)}; a job that was interrupted counts from its last start.", "", "## Commands", ""]
  for name, record in records.items():
    took = "run elsewhere" if record["seconds"] is None else f"{record['seconds']:.0f} s"
    lines += [f"{name}, {took}:", "", "```", f"python {shlex.join(record['command'])}", "```", ""]
  return lines


def _order_of_rows(measured: Measured, scale: Scale) -> list[str]:
  """How many pairs of rows are as in the paper, and which of them hardly by chance."""
  if not (found := measured.pairs()):
    return []
  lines = ["", "## The order of the rows", ""]
  for column, pairs in found.items():
    sure = [f"{pair.better} {'above' if pair.difference > 0 else 'below'} {pair.worse} (p = {pair.p:.2g})"
            for pair in pairs if pair.p is not None and pair.p < LEVEL]
    lines.append(f"- {measured.planned.shown[column].title}: {sum(pair.difference > 0 for pair in pairs)} of "
                 f"{len(pairs)} pairs of rows are in the paper's order; beyond chance: {', '.join(sure) or 'none'}")
  lines.append("- What chance is here: other seeds (paired t-tests, Holm's correction for all pairs of all columns, "
               f"p < {LEVEL}); of one repetition nothing is known of it. Another text, other settings, larger models "
               "are not in it.")
  if not scale.pretraining_seeds:
    lines.append("- The repetitions differ in fine-tuning alone: what another pre-training would change is not seen.")
  return lines


def _results_table(measured: Measured) -> list[str]:
  """A table that is readable as text, too; its cells are our own words."""
  shown = measured.planned.shown
  rows = [["", *(column.title for column in shown.values())]]
  for row in measured.planned.rows:
    rows.append([row.name])
    for name, column in shown.items():
      paper = measured.paper(row, name)
      rows[-1].append(show_mean(list(measured.values[row.name].get(name, {}).values()), column.decimals)
                      + (_DEGENERATE if (row.name, name) in measured.degenerate else "")
                      + ("" if paper is None else f" ({paper:.{column.decimals}f})"))
  header, *lines = (f"| {' | '.join(row)} |" for row in pad(rows, str.ljust))
  return [header, "|" + "|".join("-" * len(cell) for cell in header.strip("|").split("|")) + "|", *lines]


def _as_json(measured: Measured, records: Mapping[str, dict], drawn: Sequence[str]) -> dict:
  planned, rows = measured.planned, []
  for row in planned.rows:
    found = {}
    for column in planned.shown:
      values = measured.values[row.name].get(column, {})
      mean, deviation = mean_and_deviation(list(values.values())) if values else (None, None)
      found[column] = {
          "mean": mean, "standard_deviation": deviation, "paper": measured.paper(row, column),
          "degenerate_runs": measured.degenerate.get((row.name, column), 0),
          "seeds": {str(seed): value for seed, value in values.items()},
          "jobs": [dataclasses.asdict(one) for one in planned.results.get((row.name, column), ())]}
    rows.append({"name": row.name, "curve": row.curve, "at": row.at, "columns": found})
  orders = {column: {"pairs": [dataclasses.asdict(pair) for pair in pairs]}
            for column, pairs in measured.pairs().items()}
  return {
      "name": planned.experiment.name, "title": planned.experiment.title, "rows": rows,
      "columns": {name: column.title for name, column in planned.shown.items()},
      "orders": orders, "published": [list(point) for point in planned.experiment.published],
      "notes": list(planned.notes), "pictures": list(drawn), "jobs": records}


def _draw_curves(figure, measured: Measured, column: str) -> None:
  """A column against the length of pre-training, with error bars over the repetitions."""
  axes, planned, experiment = figure.subplots(), measured.planned, measured.planned.experiment
  for number, curve in enumerate(dict.fromkeys(row.curve for row in planned.rows)):
    points = []
    for row in planned.rows:
      if row.curve == curve and column in measured.values[row.name]:
        # A mean is over columns whose models are the same.
        result = planned.results[row.name, next(iter(planned.columns)) if column == MEAN else column][0]
        points.append((result.flops if experiment.x == BY_FLOPS else result.examples / 1000,
                       *mean_and_deviation(list(measured.values[row.name][column].values()))))
    if points:
      xs, means, deviations = zip(*sorted(points), strict=True)
      axes.errorbar(xs, means, yerr=[deviation or 0.0 for deviation in deviations], capsize=3, label=curve,
                    linestyle="-", **marker_style(number))
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

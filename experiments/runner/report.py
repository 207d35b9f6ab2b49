"""The report of an experiment: Markdown, HTML and JSON with every number, and pictures."""

import dataclasses
import html
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

from bert_common import files, json_files
from bert_tf.tables import mean_and_deviation, pad, show_mean
from experiments.runner import pictures
from experiments.runner.jobs import Job, Plan
from experiments.runner.plans import settings
from experiments.runner.results import Measured
from experiments.runner.scales import Scale
from experiments.runner.schedule import Outcome, State

# After the value of a run which predicts the same for every example.
_DEGENERATE = " †"
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font-family: sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; line-height: 1.4 }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid #999; padding: .2em .6em; text-align: left }}
img {{ max-width: 100% }} pre {{ overflow-x: auto; background: #f4f4f4; padding: .6em }}
</style></head><body>
{body}
</body></html>
"""


def write_report(measured: Measured, plan: Plan, state: State, scale: Scale, outcome: Outcome) -> list[str]:
  """Writes `<name>.md`, `.html`, `.json` and pictures into the output directory; returns the paths of the first three.

  Raises:
    UserError: a file can't be written.
  """
  import markdown

  name = measured.planned.experiment.name
  jobs = plan.needed(sorted(measured.planned.jobs())).jobs
  records = {name: _record(job, plan, state) for name, job in jobs.items() if name in outcome.complete}
  drawn = pictures.draw(measured, plan.directory)
  text = _markdown(measured, plan, scale, outcome, records, drawn)
  paths = [os.path.join(plan.directory, f"{name}.{extension}") for extension in ("md", "html", "json")]
  page = _PAGE.format(title=html.escape(measured.planned.experiment.title),
                      body=markdown.markdown(text, extensions=["tables", "fenced_code"]))
  for path, content in zip(paths, (text, page), strict=False):
    with files.atomic_write(path) as file:
      file.write(content)
  json_files.write(paths[2], _as_json(measured, scale, records, drawn))
  return paths


def _record(job: Job, plan: Plan, state: State) -> dict:
  """How a job was carried out; of one that was run elsewhere only what it should have been."""
  found = state.result(job.name)
  if found is None or not found.is_complete:
    return {"command": plan.command(job), "seconds": None, "machine": "elsewhere"}
  return {**found.details, "seconds": found.seconds}


def _markdown(measured: Measured, plan: Plan, scale: Scale, outcome: Outcome, records: Mapping[str, dict],
              drawn: Sequence[str]) -> str:
  planned, experiment = measured.planned, measured.planned.experiment
  lines = [f"# {experiment.title}", "", experiment.about, "", *_results_table(measured), ""]
  lines += ["Mean ± standard deviation over the repetitions, on development sets; in brackets what is published.", ""]
  lines += [f"- {note}" for note in planned.notes]
  if measured.degenerate:
    number = sum(measured.degenerate.values())
    lines.append(f"-{_DEGENERATE} {number} of the runs {'predicts' if number == 1 else 'predict'} the same for every "
                 "example: nothing was learnt of the task.")
  missing = sorted(planned.jobs() - outcome.complete)
  if missing:
    lines.append(f"- **Not complete**: {', '.join(missing)}. The same command again resumes.")
  if measured.orders:
    lines += ["", "## The order of the rows", ""]
    lines += [f"- {planned.shown[column].title}: {order.sentence()}" for column, order in measured.orders.items()]
    if not scale.pretraining_seeds:
      lines.append("- The repetitions differ in fine-tuning alone: what another pre-training would change is not seen.")
    lines.append("- What chance is here: other seeds. Another text, other settings, larger models are not in it.")
  for name in drawn:
    lines += ["", f"![{name}]({name})"]
  lines += ["", "## Settings", "", *_table(("", ""), settings(scale, [planned]).items())]
  seeds = sorted({one.seed for found in planned.results.values() for one in found})
  lines += ["", f"Seeds: {', '.join(map(str, seeds))}."]
  lines += [f"\nThe {title}: {plan.result_file(job)}" for title, job in planned.extras.items()
            if job in outcome.complete]
  seconds = sum(record["seconds"] or 0.0 for record in records.values())
  machines = sorted({record["machine"] for record in records.values()})
  lines += ["", "## Time and machine", "",
            f"{seconds / 60:.0f} minutes of jobs, one after the other, on {'; '.join(machines)}. A job that was "
            "interrupted counts from its last start.", "", "## Commands", ""]
  for name, record in records.items():
    command = " ".join(map(shlex.quote, record["command"]))
    took = "run elsewhere" if record["seconds"] is None else f"{record['seconds']:.0f} s"
    lines += [f"{name}, {took}:", "", "```", f"python {command}", "```", ""]
  return "\n".join(lines)


def _results_table(measured: Measured) -> list[str]:
  shown, rows = measured.planned.shown, []
  for row in measured.planned.rows:
    cells = [row.name]
    for name, column in shown.items():
      values, paper = measured.values[row.name].get(name, {}), measured.paper(row, name)
      mark = _DEGENERATE if (row.name, name) in measured.degenerate else ""
      cells.append(show_mean(list(values.values()), column.decimals) + mark
                   + ("" if paper is None else f" ({paper:.{column.decimals}f})"))
    rows.append(cells)
  return _table(("", *(column.title for column in shown.values())), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
  """A table that is readable as text, too; its cells are our own words."""
  cells = [[str(cell).replace("|", "\\|") for cell in row] for row in (header, *rows)]
  header, *rows = pad(cells, str.ljust)
  lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
  return [lines[0], "|" + "|".join("-" * (len(cell) + 2) for cell in header) + "|", *lines[1:]]


def _as_json(measured: Measured, scale: Scale, records: Mapping[str, dict], drawn: Sequence[str]) -> dict:
  planned = measured.planned
  rows = []
  for row in planned.rows:
    found = {}
    for column in planned.shown:
      values = measured.values[row.name].get(column, {})
      mean, deviation = mean_and_deviation(list(values.values())) if values else (None, None)
      jobs = planned.results.get((row.name, column), ())
      found[column] = {
          "mean": mean, "standard_deviation": deviation, "paper": measured.paper(row, column),
          "degenerate_runs": measured.degenerate.get((row.name, column), 0),
          "seeds": {str(seed): value for seed, value in values.items()},
          "jobs": [dataclasses.asdict(one) for one in jobs]}
    rows.append({"name": row.name, "curve": row.curve, "at": row.at, "columns": found})
  orders = {column: {"verdict": order.verdict, "sentence": order.sentence(),
                     "pairs": [dataclasses.asdict(pair) for pair in order.pairs]}
            for column, order in measured.orders.items()}
  return {
      "name": planned.experiment.name, "title": planned.experiment.title, "rows": rows,
      "columns": {name: column.title for name, column in planned.shown.items()},
      "orders": orders, "published": [list(point) for point in planned.experiment.published],
      "notes": list(planned.notes), "settings": settings(scale, [planned]), "pictures": list(drawn), "jobs": records}

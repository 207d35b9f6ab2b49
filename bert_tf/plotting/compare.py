"""Compares runs, for `compare.py`: tables on the console, the same as `comparison.md`, and a picture of the scores."""

import functools
import os
from collections.abc import Sequence

from bert_common import charts, files, markdown
from bert_common.tables import named_table, show_mean
from bert_tf.evaluation.drawing import shorten
from bert_tf.evaluation.significance import difference, holm
from bert_tf.plotting.compared import Group, common_flags, differing, groups_of, metrics_of, read_runs
from bert_tf.plotting.disagreement import Disagreement, Prediction, disagreements
from bert_tf.plotting.options import CompareOptions
from bert_tf.plotting.picture import BARS, LONGEST_NAME, Picture, marker_style, panels, write

_REPORT = "comparison.md"
# Of a value in a table on the console, and of an example's text.
_LONGEST_VALUE, _LONGEST_TEXT = 60, 500
_MOST_PANELS = 6


def run(options: CompareOptions) -> None:
  """Prints the comparison, and writes it where there is a directory for it; raises `UserError` see `read_runs`."""
  groups = groups_of(read_runs(options.sources))
  report = Report()
  _describe_groups(report, groups)
  _compare_settings(report, groups)
  _compare_scores(report, groups)
  for other in groups[1:]:
    _compare_predictions(report, groups[0], other, options.examples)
  print(report.text(), flush=True)
  if not options.output_dir:
    return
  files.make_output_directory(options.output_dir, "output_dir")
  paths = [path for picture in _pictures(groups) for path in write(picture, options.output_dir, options.formats)]
  report_path = os.path.join(options.output_dir, _REPORT)
  with files.atomic_write(report_path) as file:
    file.write(report.markdown([os.path.basename(path) for path in paths if not path.endswith(".pdf")][:1]))
  print("\n" + "\n".join([report_path, *paths]))


class Report:
  """Titles, lines and tables, for the console and as Markdown."""

  def __init__(self):
    self._parts: list[tuple[str, object]] = []

  def title(self, text: str) -> None:
    self._parts.append(("title", text))

  def line(self, text: str) -> None:
    self._parts.append(("line", text))

  def table(self, rows: Sequence[Sequence[str]]) -> None:
    """The first row is the header."""
    self._parts.append(("table", rows))

  def text(self) -> str:
    """For the console: long values are shortened."""
    shown = {"title": lambda text: f"\n{text}", "line": str, "table": lambda rows: named_table(
        [[shorten(cell, _LONGEST_VALUE) for cell in row] for row in rows])}
    return "\n".join(shown[kind](part) for kind, part in self._parts).strip()

  def markdown(self, pictures: Sequence[str]) -> str:
    """The whole values, and pictures at the end."""
    shown = {"title": lambda text: f"## {markdown.escape(text)}", "line": markdown.escape,
             "table": lambda rows: markdown.readable_table([markdown.escape(cell) for cell in rows[0]], rows[1:])}
    parts = [shown[kind](part) for kind, part in self._parts]
    return "\n\n".join(["# Comparison of runs", *parts, *(f"![Scores]({name})" for name in pictures)]) + "\n"


def _describe_groups(report: Report, groups: Sequence[Group]) -> None:
  report.title("Runs")
  report.table([["", "", "seeds", "directory"], *(
      [group.letter, group.name, ", ".join(str(run.seed) for run in group.runs),
       ", ".join(run.path for run in group.runs)] for group in groups)])


def _compare_settings(report: Report, groups: Sequence[Group]) -> None:
  """Flags, data and versions that differ; what all runs have in common is left out."""
  sides = {"Flags": [common_flags(group) for group in groups],
           "Data and model": [group.runs[0].data for group in groups],
           "Versions": [group.runs[0].versions for group in groups]}
  for title, values in sides.items():
    report.title(title)
    unknown = [group.letter for group, one in zip(groups, values, strict=True) if not one]
    rows, partly = differing(values)
    if rows:
      report.table([["", *(group.letter for group in groups)], *rows])
    elif len(unknown) < len(groups) - 1:
      report.line("the same")
    if unknown:
      report.line(f"not recorded: {', '.join(unknown)}")
    if partly:
      report.line(f"only some of the runs have: {', '.join(partly)}")


def _compare_scores(report: Report, groups: Sequence[Group]) -> None:
  """A column for each group, and for each but the first its difference to that one."""
  metrics = metrics_of(groups)
  report.title("Scores")
  if not metrics:
    report.line("none of the runs was evaluated")
    return
  first, others = groups[0], groups[1:]
  found = [[difference(other.values(metric), first.values(metric))
            if other.values(metric) and first.values(metric) else None for other in others] for metric in metrics]
  corrected = iter(holm([one.p if one else None for row in found for one in row]))
  rows = [[metric, *(show_mean(list(group.values(metric).values())) for group in groups),
           *(_shown(one, next(corrected)) for one in row)] for metric, row in zip(metrics, found, strict=True)]
  report.table([["", *(group.letter for group in groups),
                 *(f"{other.letter} - {first.letter}" for other in others)], *rows])
  if any(one is not None and one.p is not None for row in found for one in row):
    report.line("mean ± standard deviation over seeds; of differences the 95% interval, and p (t-test, paired where "
                "the seeds are the same) with Holm's correction for all of them")
  elif len(groups) == sum(len(group.runs) for group in groups):
    report.line("one seed each: how much of a difference is chance is unknown; several values of --seed show it")


def _shown(one, p: float | None) -> str:
  if one is None:
    return "-"
  interval = "" if one.low is None else f" [{one.low:+.4f}, {one.high:+.4f}]"
  return f"{one.mean:+.4f}{interval}{'' if p is None else f' p={p:.3f}'}"


def _compare_predictions(report: Report, first: Group, other: Group, most: int) -> None:
  """Of the first run of each."""
  ours, theirs = first.runs[0], other.runs[0]
  for one in disagreements(ours.path, theirs.path):
    report.title(f"Predictions of {first.letter} ({ours.name}) and {other.letter} ({theirs.name})")
    report.line(one.summary())
    if most and one.pairs:
      report.table(_rows(one, first.letter, other.letter, most))


def _rows(one: Disagreement, first: str, second: str, most: int) -> list[list[str]]:
  has_truth = any(pair[1].truth is not None for pair in one.pairs)
  has_text = any(pair[1].text for pair in one.pairs)

  def row(key: str, ours: Prediction, theirs: Prediction) -> list[str]:
    return [key, *([str(ours.truth)] if has_truth else []), str(ours.predicted), str(theirs.predicted),
            *([shorten(ours.text, _LONGEST_TEXT)] if has_text else [])]

  return [["id", *(["true"] if has_truth else []), first, second, *(["text"] if has_text else [])],
          *(row(*pair) for pair in one.pairs[:most])]


def _pictures(groups: Sequence[Group]) -> list[Picture]:
  metrics = [name for name in metrics_of(groups) if charts.find(name).group in (charts.QUALITY, charts.LOSS)]
  metrics = metrics[:_MOST_PANELS]
  if not metrics:
    return []
  return [Picture("comparison", functools.partial(_draw, groups=groups, metrics=metrics),
                  (2 + 2.2 * min(3, len(metrics)), (1 + 0.35 * len(groups)) * -(-len(metrics) // 3) + 0.6))]


def _draw(figure, groups: Sequence[Group], metrics: Sequence[str]) -> None:
  """A panel for each metric: bars are means, points the seeds."""
  found = panels(figure, len(metrics), min(3, len(metrics)), sharey=True)
  names = [f"{group.letter} {shorten(group.name, LONGEST_NAME)}" for group in groups]
  for axes, metric in zip(found, metrics, strict=True):
    for place, group in enumerate(groups):
      values = list(group.values(metric).values())
      if values:
        axes.barh(place, sum(values) / len(values), height=0.6, **BARS)
        axes.plot(values, [place] * len(values), linestyle="", markersize=4, **marker_style(2))
    axes.set_yticks(range(len(groups)), names)
    axes.set_title(metric.replace("_", " "), fontsize="medium")
    axes.set_xlabel(charts.find(metric).unit)
    axes.grid(axis="x", alpha=0.3)
  found[0].invert_yaxis()
  figure.suptitle("bars are means, points seeds", fontsize="small")

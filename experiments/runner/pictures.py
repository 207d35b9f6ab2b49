"""The pictures of a report: rows beside the paper's, or curves, with error bars over the repetitions."""

import os

from bert_tf.plotting.picture import Picture, marker_style, write
from bert_tf.tables import mean_and_deviation
from experiments.runner.experiment import BY_FLOPS
from experiments.runner.results import MEAN, Measured

_FORMATS = ("png", "svg")
_X_LABELS = {"steps": "thousand sequences of pre-training", "flops": "FLOP of pre-training (matrix products)"}


def draw(measured: Measured, directory: str) -> list[str]:
  """Writes a picture for each column, or the curves; returns the names of those that a page shows."""
  experiment, paths = measured.planned.experiment, []
  for column, title in ((name, one.title) for name, one in measured.planned.shown.items()):
    if not any(column in found for found in measured.values.values()):
      continue
    picture = Picture(f"{experiment.name}-{column}", lambda figure, column=column, title=title: (
        _curves if experiment.x else _bars)(figure, measured, column, title), (7.5, 4.5))
    paths += write(picture, directory, _FORMATS)
  return [os.path.basename(path) for path in paths if path.endswith(".png")]


def _bars(figure, measured: Measured, column: str, title: str) -> None:
  """A point a row, ours with its standard deviation, the paper's beside it on an axis of its own."""
  axes = figure.subplots()
  rows = [row for row in measured.planned.rows if column in measured.values[row.name]]
  places = range(len(rows))
  for place, row in zip(places, rows, strict=True):
    mean, deviation = mean_and_deviation(list(measured.values[row.name][column].values()))
    axes.errorbar(mean, place - 0.1, xerr=deviation, fmt="o", capsize=4, color="#000000",
                  label="here, ± standard deviation" if place == 0 else None)
  axes.set_yticks(list(places), [row.name for row in rows])
  axes.invert_yaxis()
  axes.set_xlabel(f"{title}, here")
  axes.grid(alpha=0.3)
  published = [(place, value) for place, row in zip(places, rows, strict=True)
               if (value := measured.paper(row, column)) is not None]
  if published:
    twin = axes.twiny()
    twin.plot([value for _, value in published], [place + 0.1 for place, _ in published], "^", color="#D55E00",
              label="the paper")
    twin.set_xlabel(f"{title}, the paper")
    handles = [*axes.get_legend_handles_labels()[0], *twin.get_legend_handles_labels()[0]]
    # Below: a row's point may be anywhere inside.
    figure.legend(handles, ["here, ± standard deviation", "the paper"], loc="outside lower center", ncols=2)


def _curves(figure, measured: Measured, column: str, title: str) -> None:
  axes = figure.subplots()
  experiment = measured.planned.experiment
  for number, curve in enumerate(dict.fromkeys(row.curve for row in measured.planned.rows)):
    points = []
    for row in measured.planned.rows:
      if row.curve == curve and column in measured.values[row.name]:
        # A mean is over columns whose models are the same.
        of = next(iter(measured.planned.columns)) if column == MEAN else column
        result = measured.planned.results[row.name, of][0]
        x = result.flops if experiment.x == BY_FLOPS else result.examples / 1000
        points.append((x, *mean_and_deviation(list(measured.values[row.name][column].values()))))
    if points:
      xs, means, deviations = zip(*sorted(points), strict=True)
      axes.errorbar(xs, means, yerr=[deviation or 0.0 for deviation in deviations], capsize=3, label=curve,
                    linestyle="-", **marker_style(number))
  if experiment.published:
    for name, flops, score in experiment.published:
      axes.plot(flops, score, "x", color="gray")
      axes.annotate(name, (flops, score), fontsize=7, xytext=(3, 3), textcoords="offset points")
  if experiment.x == BY_FLOPS:
    axes.set_xscale("log")
    # The labels of Matplotlib are formulas, which pictures here show as they are written.
    axes.xaxis.set_major_formatter(lambda value, place: f"{value:.0e}".replace("+", ""))
  axes.set_xlabel(_X_LABELS[experiment.x])
  axes.set_ylabel(title)
  axes.grid(alpha=0.3)
  axes.legend()

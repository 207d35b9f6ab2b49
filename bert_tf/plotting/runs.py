"""Plots of runs: curves from `metrics.jsonl`, scores by learning rate from `selection.json`."""

import functools
import math
import os
from collections.abc import Sequence

from bert_tf.common import charts, files, json_files
from bert_tf.common.errors import UserError
from bert_tf.common.run_results import SELECTION_FILE
from bert_tf.common.tables import mean_and_deviation
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import Picture, line_style, marker_style, named

# What is read of a run in selection.json, beside its main metric.
_RUN_FIELDS = {"learning_rate": float, "train_batch_size": int, "num_train_epochs": float, "seed": int,
               "degenerate": bool | None, "others": dict[str, float | str | None] | None}
_MOST_PANELS = 8
_HELD_OUT = "evaluation"


def curves(options: PlotOptions) -> list[Picture]:
  """Losses and qualities by step, of all runs in one picture."""
  runs = {}
  for path, name, _ in named(options.sources):
    lines = json_files.read_objects(os.path.join(path, charts.METRICS_FILE), {"step": int, "split": str})
    if lines:
      runs[name] = lines
  if not runs:
    return []
  there = dict.fromkeys(name for lines in runs.values() for line in lines for name in line)
  unknown = [name for name in options.metrics if name not in there or name in ("step", "split")]
  if unknown:
    raise UserError(f"--metrics: there is no {unknown[0]} in {charts.METRICS_FILE}; there are "
                    f"{', '.join(sorted(set(there) - {'step', 'split'}))}")
  chosen = list(options.metrics) or _shown(there)
  rows = math.ceil(len(chosen) / 2)
  return [Picture("curves", functools.partial(_draw_curves, runs=runs, metrics=chosen),
                  (9 if len(chosen) > 1 else 6, 0.6 + 2.7 * rows))]


def _shown(there: Sequence[str]) -> list[str]:
  """The losses, then what is measured of quality."""
  groups = {group: [name for name in there if name not in ("step", "split") and charts.find(name).group == group]
            for group in (charts.LOSS, charts.QUALITY)}
  return [name for names in groups.values() for name in names][:_MOST_PANELS]


def _draw_curves(figure, runs: dict[str, list[dict]], metrics: Sequence[str]) -> None:
  panels = figure.subplots(math.ceil(len(metrics) / 2), min(2, len(metrics)), sharex=True, squeeze=False).ravel()
  handles: dict[str, object] = {}
  for axes, metric in zip(panels, metrics, strict=False):
    for number, (name, lines) in enumerate(runs.items()):
      for split in ("train", "eval"):
        points = [(line["step"], line[metric]) for line in lines if line["split"] == split and metric in line]
        if not points:
          continue
        style = line_style(number)
        # Evaluations have a marker at each; with one run their dashes differ from training's, too.
        if split == "eval":
          style |= {"marker": marker_style(number)["marker"], "markersize": 4}
          style |= {"linestyle": "--"} if len(runs) == 1 else {}
        else:
          style |= {"alpha": 0.55, "linewidth": 1}
        what = "training" if split == "train" else _HELD_OUT
        label = what if len(runs) == 1 else f"{name}, {what}"
        (handles[label],) = axes.plot(*zip(*points, strict=True), **style)
    title = metric.replace("_", " ").replace("lm", "LM")
    axes.set_title(title, fontsize="medium")
    axes.set_ylabel(charts.find(metric).unit or title)
    axes.grid(alpha=0.3)
  for axes in panels[len(metrics):]:
    axes.remove()
  for axes in panels[max(0, len(metrics) - 2):len(metrics)]:
    axes.set_xlabel("step")
    axes.tick_params(labelbottom=True)
  figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 3),
                fontsize="small")


def selection(options: PlotOptions) -> list[Picture]:
  """The main metric of every run against its learning rate, a picture for each selection."""
  found = []
  for path, _, suffix in named(options.sources):
    file = os.path.join(path, SELECTION_FILE)
    if not files.exists(file):
      continue
    content = json_files.read_object(file, {"main_metric": str})
    run = {**_RUN_FIELDS, "metrics": {content["main_metric"]: float | None}}
    json_files.check_object(content, {"best": run, "runs": [run]}, file)
    if content["runs"]:
      found.append(Picture(f"selection{suffix}", functools.partial(_draw_selection, content=content), (7, 4.5)))
  return found


def _draw_selection(figure, content: dict) -> None:
  axes = figure.add_subplot()
  metric, settings = content["main_metric"], {}
  for run in content["runs"]:
    if run["metrics"].get(metric) is not None:
      others = {"batch": run["train_batch_size"], "epochs": run["num_train_epochs"], **(run.get("others") or {})}
      settings.setdefault(tuple(others.items()), []).append(run)
  for number, (others, runs) in enumerate(settings.items()):
    rates = sorted({run["learning_rate"] for run in runs})
    scores = {rate: [run["metrics"][metric] for run in runs if run["learning_rate"] == rate] for rate in rates}
    label = ", ".join(f"{name} {value:g}" if isinstance(value, (int, float)) else f"{name} {value}"
                      for name, value in others)
    axes.plot(rates, [mean_and_deviation(scores[rate])[0] for rate in rates], label=label, **line_style(number))
    axes.plot([run["learning_rate"] for run in runs], [run["metrics"][metric] for run in runs], linestyle="",
              markersize=6, fillstyle="none", **marker_style(number))
    degenerate = [run for run in runs if run.get("degenerate")]
    axes.plot([run["learning_rate"] for run in degenerate], [run["metrics"][metric] for run in degenerate],
              linestyle="", marker="x", color="black", markersize=9)
  axes.set_xscale("log")
  rates = sorted({run["learning_rate"] for run in content["runs"]})
  axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
  axes.minorticks_off()
  best = content["best"]
  score = best["metrics"].get(metric)
  axes.set(xlabel="learning rate (logarithmic)", ylabel=f"{metric.replace('_', ' ')} on the development set",
           title=f"a point is a seed, a line the mean; best {math.nan if score is None else score:.4g} at "
                 f"{best['learning_rate']:g}, seed {best['seed']}")
  axes.title.set_fontsize("medium")
  axes.grid(alpha=0.3)
  if any(run.get("degenerate") for run in content["runs"]):
    axes.plot([], [], "x", color="black", label="predicts one class only")
  axes.legend(fontsize="small")

"""Plots of runs: curves from `metrics.jsonl`, scores by learning rate from `selection.json`."""

import dataclasses
import functools
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence

from bert_common import charts, files, json_files
from bert_common.errors import UserError
from bert_common.run_results import SELECTION_FILE
from bert_common.tables import mean_and_deviation
from bert_tf.evaluation.drawing import shorten
from bert_tf.plotting.options import PlotOptions
from bert_tf.plotting.picture import BASELINE, LONGEST_NAME, Picture, line_style, marker_style, named, panels, shortened
from bert_tf.tasks.eval_results import EVAL_RESULTS
from modeling.checkpoints.companion_files import FLAGS_FILE

# What is read of a run in selection.json, beside its main metric.
_RUN_FIELDS = {"learning_rate": float, "train_batch_size": int, "num_train_epochs": float, "seed": int,
               "degenerate": bool | None, "others": dict[str, float | str | None] | None}
_MOST_PANELS = 8
# More runs than this are named beside the panels, not below them.
_MOST_BELOW = 6
# Metric → where pre-training keeps what guessing would have.
_BASELINES = {"masked_lm_accuracy": "masked_lm_baseline_most_frequent",
              "masked_lm_accuracy_at_mask": "masked_lm_baseline_at_mask"}
_CHANCE = {"next_sentence_accuracy": 0.5, "matthews_correlation": 0.0}


@dataclasses.dataclass(frozen=True)
class _Curves:
  """What is drawn of a run: the lines of metrics.jsonl, and what the same metrics are without a model."""

  lines: Sequence[Mapping[str, float | str]]
  baselines: Mapping[str, float]

  def points(self, split: str, metric: str) -> tuple[list[float], list[float]]:
    """Steps and values; what is not finite is a gap."""
    there = [(line["step"], line[metric]) for line in self.lines if line["split"] == split and metric in line]
    return [step for step, _ in there], [value if math.isfinite(value) else math.nan for _, value in there]


def curves(options: PlotOptions) -> list[Picture]:
  """Losses and qualities by step, of all runs in one picture; of a directory without any, the runs below it."""
  runs = {}
  paths = [path for source in options.sources for path in with_runs_below(source)]
  for path, name, _ in named(paths):
    lines = json_files.read_objects(os.path.join(path, charts.METRICS_FILE), {"step": int, "split": str})
    if lines:
      runs[name] = _Curves(lines, baselines(path))
  if not runs:
    return []
  runs = dict(zip(shortened(list(runs)), runs.values(), strict=True))
  there = dict.fromkeys(name for run in runs.values() for line in run.lines for name in line)
  unknown = [name for name in options.metrics if name not in there or name in ("step", "split")]
  if unknown:
    raise UserError(f"--metrics: there is no {unknown[0]} in {charts.METRICS_FILE}; there are "
                    f"{', '.join(sorted(set(there) - {'step', 'split'}))}")
  chosen = list(options.metrics) or _shown(there)
  rows = math.ceil(len(chosen) / 2)
  width = (9 if len(chosen) > 1 else 6) + (3 if len(runs) > _MOST_BELOW else 0)
  return [Picture("curves", functools.partial(_draw_curves, runs=runs, metrics=chosen),
                  (width, max(1.2 + 2.7 * rows, 0.22 * len(runs) if len(runs) > _MOST_BELOW else 0)))]


def with_runs_below(source: str) -> list[str]:
  """A run; in its place the runs in a directory that is none, which must be of one task to be compared."""
  if files.exists(os.path.join(source, charts.METRICS_FILE)) or not files.is_directory(source):
    return [source]
  pattern = files.escape_pattern(source)
  below = [os.path.dirname(path) for depth in ("*", os.path.join("*", "*"))
           for path in files.glob_files(os.path.join(pattern, depth, charts.METRICS_FILE))]
  scripts = {path: str(json_files.read_object(os.path.join(path, FLAGS_FILE)).get("script")) for path in below}
  if len(set(scripts.values())) > 1:
    runs = ", ".join(f"{path} ({script})" for path, script in scripts.items())
    raise UserError(f"{source} holds runs of several scripts, which are not compared: name those to draw: {runs}")
  return below or [source]


def baselines(path: str) -> dict[str, float]:
  """Metric → its value without a model, as far as a run's directory shows it: the most frequent answer, or chance."""
  found = dict(_CHANCE)
  results = json_files.read_object(os.path.join(path, EVAL_RESULTS))
  found |= {metric: results[name] for metric, name in _BASELINES.items() if isinstance(results.get(name), float)}
  labels = Counter(line.get("true_label") for line in json_files.read_objects(
      os.path.join(path, "eval_predictions.jsonl")))
  if labels and None not in labels:
    found["accuracy"] = max(labels.values()) / labels.total()
  return found


def _shown(there: Sequence[str]) -> list[str]:
  """The losses, then what is measured of quality."""
  groups = {group: [name for name in there if name not in ("step", "split") and charts.find(name).group == group]
            for group in (charts.LOSS, charts.QUALITY)}
  return [name for names in groups.values() for name in names][:_MOST_PANELS]


def _draw_curves(figure, runs: Mapping[str, _Curves], metrics: Sequence[str]) -> None:
  found = panels(figure, len(metrics), min(2, len(metrics)), sharex=True)
  for axes, metric in zip(found, metrics, strict=True):
    for number, run in enumerate(runs.values()):
      _draw_run(axes, run, metric, number, is_alone=len(runs) == 1)
    for value in {run.baselines[metric] for run in runs.values() if metric in run.baselines}:
      axes.axhline(value, **BASELINE)
    title = metric.replace("_", " ").replace("lm", "LM")
    axes.set_title(title, fontsize="medium")
    axes.set_ylabel(charts.find(metric).unit or title)
    if metric.endswith("perplexity"):
      _scale_logarithmically(axes)
    axes.grid(alpha=0.3)
  for axes in found[-2:]:
    axes.set_xlabel("step")
    axes.tick_params(labelbottom=True)
  if len(runs) == 1:
    figure.suptitle(next(iter(runs)))
  is_beside = len(runs) > _MOST_BELOW
  figure.legend(*_legend(runs, any(metric in run.baselines for metric in metrics for run in runs.values())),
                loc="outside right upper" if is_beside else "outside lower center", ncols=1 if is_beside else 3,
                fontsize="small", handlelength=3.5)


def _draw_run(axes, run: _Curves, metric: str, number: int, is_alone: bool) -> None:
  """Training is a thin line, evaluation a thick one with a marker at each."""
  for split in ("train", "eval"):
    steps, values = run.points(split, metric)
    if not steps:
      continue
    style = _split_style(number, split, is_alone)
    # A single point has no line.
    axes.plot(steps, values, **({"marker": "o", "markersize": 4} | style if len(steps) == 1 else style))


def _split_style(number: int, split: str, is_alone: bool) -> dict[str, object]:
  if is_alone:
    number = int(split == "eval")
  if split == "train":
    return {**line_style(number), "linewidth": 1, "alpha": 0.7}
  return {**line_style(number), "linewidth": 1.8, "markersize": 4.5, "marker": marker_style(number)["marker"]}


def _legend(runs: Mapping[str, _Curves], has_baseline: bool) -> tuple[list, list[str]]:
  """Handles and labels: the runs, then how training, evaluation and baselines are drawn."""
  from matplotlib.lines import Line2D

  entries: list[tuple[str, dict]] = []
  if len(runs) > 1:
    entries += [(name, _split_style(number, "eval", False)) for number, name in enumerate(runs)]
  for split, label in (("train", "training"), ("eval", "evaluation")):
    if any(line["split"] == split for run in runs.values() for line in run.lines):
      style = _split_style(0, split, is_alone=True)
      entries.append((label, style if len(runs) == 1 else style | {
          "color": "0.35", "linestyle": "-", "marker": "" if split == "train" else "o"}))
  if has_baseline:
    entries.append(("most frequent answer, or chance", BASELINE))
  return [Line2D([], [], **style) for _, style in entries], [label for label, _ in entries]


def _scale_logarithmically(axes) -> None:
  """A logarithmic axis with plain numbers, also where it does not span a power of ten."""
  from matplotlib.ticker import LogFormatter

  class Plain(LogFormatter):

    def __call__(self, x, pos=None):
      return f"{x:,.10g}" if super().__call__(x, pos) else ""

  axes.set_yscale("log")
  axes.set_ylabel(f"{axes.get_ylabel()} (log)")
  axes.yaxis.set_major_formatter(Plain())
  axes.yaxis.set_minor_formatter(Plain(minor_thresholds=(2, 0.6)))
  axes.tick_params(axis="y", which="minor", labelsize="small")


def selection(options: PlotOptions) -> list[Picture]:
  """The main metric of every run against its learning rate, a picture for each selection."""
  found = []
  for path, name, suffix in named(options.sources):
    file = os.path.join(path, SELECTION_FILE)
    if not files.exists(file):
      continue
    content = json_files.read_object(file, {"main_metric": str})
    run = {**_RUN_FIELDS, "metrics": {content["main_metric"]: float | None}}
    json_files.check_object(content, {"best": run, "runs": [run]}, file)
    if content["runs"]:
      found.append(Picture(f"selection{suffix}", functools.partial(
          _draw_selection, content=content, name=shorten(name, LONGEST_NAME),
          baseline=baselines(path).get(content["main_metric"])), (7, 5)))
  return found


def _draw_selection(figure, content: dict, name: str, baseline: float | None) -> None:
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
           title=f"{name}: best {math.nan if score is None else score:.4g} at {best['learning_rate']:g}, seed "
                 f"{best['seed']}\na point is a seed, a line the mean")
  axes.title.set_fontsize("medium")
  axes.grid(alpha=0.3)
  if any(run.get("degenerate") for run in content["runs"]):
    axes.plot([], [], "x", color="black", label="predicts one class only")
  if baseline is not None:
    axes.axhline(baseline, label=f"most frequent answer, or chance: {baseline:.4g}", **BASELINE)
  figure.legend(loc="outside lower center", ncols=2, fontsize="small", handlelength=3.5)

"""The paper's selection of hyperparameters: every combination is run, the best on the development set predicts.

The paper (section 4.1, appendix A.3) fine-tunes with several learning rates, batch sizes and numbers of epochs, and
with several random restarts where the data is small, and takes what is best on the dev set.

Input: a task and one set of options for each combination. Output: a run directory for each, `selection.json`, a table,
TensorBoard's HParams page, and the best weights in `best/`.
"""

import contextlib
import dataclasses
import gc
import math
import os
import time
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import keras
import numpy as np

from bert_tf.common import charts, files, json_files
from bert_tf.common.errors import UserError
from bert_tf.tasks.eval_results import SELECTION_FILE
from bert_tf.tasks.task import Task
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.devices import Devices

if TYPE_CHECKING:
  from bert_tf.tasks.run import Run

# In the directory of a finished run of a selection.
_RESULT_FILE = "result.json"

# Of the event files written here, so that a report that is written again replaces the older one.
_EVENTS_SUFFIX = ".selection"
# Keeps the results of whole runs out of the charts that runs draw while they train.
_TAG = "selection/"
_HYPERPARAMETERS = ("learning_rate", "train_batch_size", "num_train_epochs", "seed")


@dataclasses.dataclass(frozen=True)
class RunResult:
  """One finished run.

  Attributes:
    directory: its output directory.
    learning_rate: peak of the schedule.
    train_batch_size: examples in a step.
    num_train_epochs: passes over the training data.
    seed: of the run.
    metrics: on the dev set, e.g. {"accuracy": …, "loss": …}.
    degenerate: whether it predicts the same for every example.
    seconds: how long it took.
    others: the other options that have several values in the selection, by name.
  """

  directory: str
  learning_rate: float
  train_batch_size: int
  num_train_epochs: float
  seed: int
  metrics: dict[str, float]
  degenerate: bool
  seconds: float
  others: dict[str, object] = dataclasses.field(default_factory=dict)

  @property
  def hyperparameters(self) -> dict[str, object]:
    """By the names of their options, those that are always there first."""
    return {**{name: getattr(self, name) for name in _HYPERPARAMETERS}, **self.others}


@dataclasses.dataclass(frozen=True)
class _Setting:
  """The runs that differ only in their seeds."""

  learning_rate: float
  train_batch_size: int
  num_train_epochs: float
  others: dict[str, object]
  runs: tuple[RunResult, ...]

  def statistics(self, metric: str) -> tuple[float, float | None]:
    """Mean and sample standard deviation over the runs; no deviation of a single run."""
    values = [run.metrics[metric] for run in self.runs]
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None

  @property
  def num_degenerate(self) -> int:
    return sum(run.degenerate for run in self.runs)


def check(task: Task) -> None:
  """Refuses what can't be chosen among.

  Raises:
    UserError: nothing is trained, or there is no development set.
  """
  names = " and ".join(f"--{name}" for name in task.options.sweep)
  if not task.options.do_train:
    raise UserError(f"several values of {names} are for --do_train: to evaluate or predict there is one model")
  if not task.can_evaluate:
    raise UserError(f"to choose among several values of {names} a development set with labels is needed, e.g. "
                    "--dev_file")


def select(make_task: Callable, task: Task, tasks: Sequence[Task], devices: Devices, log: Callable[[str], None],
           run_once: Callable[[Task, Devices, Callable], "Run"]) -> None:
  """Runs all combinations one after the other, then evaluates and predicts with the best.

  A combination that is finished already is not repeated.

  Args:
    make_task: options → the task, its checkpoint opened again.
    task: under the options that were given, lists included.
    tasks: one for each combination.
    devices, log, run_once: see `bert_tf/tasks/run.py`.
  """
  options, results = task.options, []
  for number, one in enumerate(map(_measured, tasks), 1):
    directory = one.options.output_dir
    log(f"\nrun {number} of {len(tasks)}: {os.path.basename(directory)}")
    result_file = os.path.join(directory, _RESULT_FILE)
    if files.exists(result_file):
      fields = typing.get_type_hints(RunResult)
      written = json_files.read_object(result_file, fields)
      result = RunResult(**{name: written[name] for name in fields})
      result = dataclasses.replace(result, metrics=one.complete_metrics(result.metrics))
      changes = run_directory.changed_flags(directory, one.options.values())
      log(f"finished already{', with other flags: ' + ', '.join(changes) if changes else ''}")
    else:
      files.make_output_directory(directory, "output_dir")
      with run_directory.lock(directory) if devices.is_chief else contextlib.nullcontext():
        result = _measure(one, tuple(options.sweep), devices, log, run_once)
      if devices.is_chief:
        json_files.write(result_file, dataclasses.asdict(result))
      keras.backend.clear_session()
      gc.collect()
    results.append(result)
  best = best_run(results, task.main_metric)
  log(f"\n{table(results, task.main_metric)}")
  if devices.is_chief:
    write_json(options.output_dir, results, best, task.main_metric)
    write_hparams(options.output_dir, results, task.main_metric)
    checkpoints.copy_best(best.directory, options.output_dir)
  if options.do_eval or options.do_predict:
    chosen = next(one.options for one in tasks if one.options.output_dir == best.directory)
    run_once(make_task(chosen.replace(output_dir=options.output_dir, do_train=False)), devices, log)


def _measured(task: Task) -> Task:
  """The task as a run of the selection: evaluated at its end where there is a flag for it, and not asked to predict."""
  changes = {name: name == "do_eval" for name in ("do_eval", "do_predict") if name in task.options.values()}
  return task.with_options(task.options.replace(**changes))


def _measure(task: Task, chosen: Sequence[str], devices: Devices, log: Callable[[str], None], run_once: Callable
             ) -> RunResult:
  """One combination: trained, and measured on the development set; `chosen` has the names of the swept options."""
  options, started = task.options, time.monotonic()
  run = run_once(task, devices, log)
  metrics = run.evaluation()
  return RunResult(options.output_dir, options.learning_rate, options.train_batch_size, options.num_train_epochs,
                   options.seed, metrics, run.task.is_degenerate(), time.monotonic() - started,
                   {name: _plain(getattr(options, name)) for name in chosen if name not in _HYPERPARAMETERS})


def _plain(value: object) -> object:
  """A value for JSON and TensorBoard: of a list its text."""
  return ",".join(map(str, value)) if isinstance(value, tuple) else value


def best_run(results: Sequence[RunResult], main_metric: str) -> RunResult:
  """The run with the highest `main_metric`, of several the first.

  A degenerate run is taken only if there is no other, and a metric that is not a number is the lowest.
  """
  def rank(run: RunResult) -> tuple[bool, float]:
    value = run.metrics[main_metric]
    return not run.degenerate, -math.inf if math.isnan(value) else value

  return max(results, key=rank)


def table(results: Sequence[RunResult], main_metric: str) -> str:
  """One line a setting: its runs, mean ± standard deviation of each metric over the seeds, and its best run.

  The means are over all the runs of a setting, degenerate ones included. The setting of the best run is marked.
  """
  best = best_run(results, main_metric)
  metrics = _metric_names(results, main_metric)
  rows = [["", "learning_rate", "batch", "epochs", *best.others, "runs", *metrics, f"best {main_metric}", "degenerate"]]
  for setting in _settings(results):
    rows.append([
        "*" if any(run is best for run in setting.runs) else "", f"{setting.learning_rate:g}",
        str(setting.train_batch_size), f"{setting.num_train_epochs:g}", *map(str, setting.others.values()),
        str(len(setting.runs)),
        *(_mean_and_deviation(*setting.statistics(metric)) for metric in metrics),
        f"{best_run(setting.runs, main_metric).metrics[main_metric]:.4f}", str(setting.num_degenerate or "-")])
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
  degenerate = ", but it predicts the same for every example" if best.degenerate else ""
  lines.append(f"* best: {main_metric} {best.metrics[main_metric]:.4f} with seed {best.seed} in {best.directory}"
               f"{degenerate}")
  return "\n".join(lines)


def write_json(directory: str, results: Sequence[RunResult], best: RunResult, main_metric: str) -> None:
  """`selection.json`: the best run, the settings with mean and standard deviation, every run.

  What is not a number is null.
  """
  metrics = _metric_names(results, main_metric)
  settings = []
  for setting in _settings(results):
    statistics = {metric: setting.statistics(metric) for metric in metrics}
    settings.append({
        "learning_rate": setting.learning_rate, "train_batch_size": setting.train_batch_size,
        "num_train_epochs": setting.num_train_epochs, **setting.others, "seeds": [run.seed for run in setting.runs],
        "num_degenerate": setting.num_degenerate,
        "metrics": {metric: {"mean": _finite(mean), "standard_deviation": _finite(deviation)}
                    for metric, (mean, deviation) in statistics.items()},
        "best": _finite(best_run(setting.runs, main_metric).metrics[main_metric])})
  json_files.write(os.path.join(directory, SELECTION_FILE), {
      "main_metric": main_metric, "best": _as_dict(best), "settings": settings,
      "runs": [_as_dict(run) for run in results]})


def write_hparams(directory: str, results: Sequence[RunResult], main_metric: str) -> None:
  """The runs for TensorBoard's HParams page: `tensorboard --logdir=directory`.

  Writes the description of the experiment in `directory`, and a session with its metrics in a sub-directory for each
  run: the run's own directory if that is below `directory`, else one of the same name. What an earlier call wrote there
  is replaced.

  Raises:
    ValueError: two runs would share a sub-directory.
  """
  import tensorflow as tf
  from tensorboard.plugins.hparams import api as hp
  from tensorboard.plugins.hparams import api_pb2, summary

  names = [_session_name(directory, run) for run in results]
  if len(set(names)) < len(names):
    raise ValueError(f"runs must have different directories: {sorted(names)}")
  metrics = [metric for metric in _metric_names(results, main_metric) if charts.tag(metric) is not None]
  now = time.time()
  domains = [hp.HParam(name, hp.Discrete(sorted({run.hyperparameters[name] for run in results})))
             for name in results[0].hyperparameters]
  with _events(directory):
    tf.summary.experimental.write_raw_pb(
        hp.hparams_config_pb(domains, [hp.Metric(_TAG + metric, display_name=metric) for metric in metrics]
                             ).SerializeToString())
  for name, run in zip(names, results, strict=True):
    with _events(os.path.join(directory, name)):
      start = hp.hparams_pb(run.hyperparameters, trial_id=name, start_time_secs=now - run.seconds)
      end = summary.session_end_pb(api_pb2.STATUS_SUCCESS, end_time_secs=now)
      for message in (start, end):
        tf.summary.experimental.write_raw_pb(message.SerializeToString())
      for metric in metrics:
        tf.summary.scalar(_TAG + metric, run.metrics[metric], description="Of the best weights, as on page HParams.")


@contextlib.contextmanager
def _events(directory: str) -> Iterator[None]:
  """Summaries of the block go to the one event file of this module in `directory`, in place of an older one."""
  import tensorflow as tf

  pattern = os.path.join(files.escape_pattern(directory), f"events.out.tfevents.*{_EVENTS_SUFFIX}")
  for path in files.glob_files(pattern):
    files.remove(path)
  writer = tf.summary.create_file_writer(directory, filename_suffix=_EVENTS_SUFFIX)
  with writer.as_default(step=0):
    yield
  writer.close()


def _session_name(directory: str, run: RunResult) -> str:
  relative = os.path.relpath(run.directory, directory)
  inside = relative != os.curdir and relative.split(os.sep)[0] != os.pardir
  return relative if inside else os.path.basename(os.path.abspath(run.directory))


def _settings(results: Sequence[RunResult]) -> list[_Setting]:
  """The settings in the order of their first runs."""
  groups: dict[tuple, list[RunResult]] = {}
  for run in results:
    setting = {name: value for name, value in run.hyperparameters.items() if name != "seed"}
    groups.setdefault(tuple(setting.values()), []).append(run)
  return [_Setting(runs[0].learning_rate, runs[0].train_batch_size, runs[0].num_train_epochs, runs[0].others,
                   tuple(runs)) for runs in groups.values()]


def _metric_names(results: Sequence[RunResult], main_metric: str) -> list[str]:
  """The metrics of the runs, the main one first."""
  return [main_metric, *(name for name in results[0].metrics if name != main_metric)]


def _mean_and_deviation(mean: float, deviation: float | None) -> str:
  return f"{mean:.4f}" if deviation is None else f"{mean:.4f} ± {deviation:.4f}"


def _finite(value: float | None) -> float | None:
  return None if value is None or not math.isfinite(value) else value


def _as_dict(run: RunResult) -> dict:
  return {**dataclasses.asdict(run), "metrics": {name: _finite(value) for name, value in run.metrics.items()}}

"""A sweep: one run for each combination of hyperparameters, in one output directory.

The paper (section 4.1, appendix A.3) takes the best on the dev set of several learning rates, batch
sizes, numbers of epochs and, for small data sets, random restarts.

Each run has a directory with its result (`bert_tf/runs/results.py`). A result counts only if it has
the same options and the same inputs (`bert_tf/runs/provenance.py`). The output directory itself
gets `selection.json` and `best/`.
"""

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

from bert_common import files, json_files, locks, manifests
from bert_common.errors import UserError
from bert_common.options import as_flag
from bert_tf.report import numbers, page
from bert_tf.runs import provenance
from bert_tf.runs.fine_tuning import InMemoryTask
from bert_tf.runs.options import REPORT, TrainingOptions
from bert_tf.runs.results import (
    Result,
    differences,
    read_result,
    write_result,
)
from bert_tf.runs.task import Run
from bert_tf.tables import mean_and_deviation, show_mean, table
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.devices import Devices
from modeling.checkpoints.companion_files import BEST_DIRECTORY, SELECTION_FILE, TASK_FILE
from modeling.checkpoints.tensorflow_files import latest_checkpoint

# Digests of the files that `copy_best` has copied, beside them.
_COPIED = "copied.json"
_HYPERPARAMETERS = ("learning_rate", "train_batch_size", "num_train_epochs", "seed")
# A run as in `selection.json`: "directory", relative to the sweep's; four hyperparameters;
# "metrics", "degenerate", "seconds"; "others", name → value of the other options of the sweep.
FinishedRun = Mapping[str, Any]


def check(task: InMemoryTask) -> None:
    """Raises `UserError` if the runs can't be compared: there is no development set."""
    if not task.can_evaluate:
        names = " and ".join(f"--{name}" for name in task.options.sweep)
        raise UserError(
            f"to choose among several values of {names} a development set with labels is needed, "
            f"e.g. --{task.options.dev_flag}"
        )


def read_results(
    task: InMemoryTask, tasks: Sequence[InMemoryTask], is_chief: bool
) -> dict[str, Result | None]:
    """Returns name → result of each run; None if it has not begun.

    Raises `UserError` if a directory holds anything but runs with these options and inputs.
    """
    directory = task.options.output_dir
    if is_chief:
        if latest_checkpoint(directory) is not None:
            raise UserError(
                f"--output_dir={directory} holds a single run: choose another directory for a "
                "selection"
            )
        _check_copied(directory, [run_task.options.output_dir for run_task in tasks])
    results = {}
    for run_task in tasks:
        path = run_task.options.output_dir
        result = read_result(path)
        sources = run_task.options.relevant()
        changes = []
        if result is not None:
            # Results of earlier versions have digests beside the options.
            recorded = {name: result.sources.get(name) for name in sources}
            changes = differences(recorded, sources)
        elif latest_checkpoint(path):
            changes = run_directory.changed_flags(path, sources)
        if changes:
            raise UserError(
                f"--output_dir: the run in {path} has other options ({'; '.join(changes)}): choose "
                "another directory, or the options that it was begun with"
            )
        # Runs of earlier versions have no record.
        trained_on = provenance.read(path)["made_from"]
        if trained_on:
            fingerprints = provenance.fingerprints(task.inputs(), trained_on)
            provenance.check_same(path, trained_on, fingerprints, strict=True)
        results[os.path.basename(path)] = result
    return results


def select(
    make_task: Callable,
    task: InMemoryTask,
    tasks: Sequence[InMemoryTask],
    devices: Devices,
    log: Callable[[str], None],
    run_once: Callable[..., Run],
) -> Run | None:
    """Carries out all runs that are not complete, then evaluates and predicts with the best.

    Returns what `run_once` returns for the best run; None without --do_eval and --do_predict.
    """
    options = task.options
    results = read_results(task, tasks, devices.is_chief)
    if devices.is_chief:
        run_directory.note_start(options.output_dir, str(devices))
    finished_runs = []
    tasks_by_name = {}
    for number, run_task in enumerate(tasks, 1):
        name = os.path.basename(run_task.options.output_dir)
        tasks_by_name[name] = run_task
        log(f"\nrun {number} of {len(tasks)}: {name}")
        result = results[name]
        if result is not None and result.is_complete:
            log("finished already")
        else:
            result = _carry_out(run_task, devices, log, run_once, is_begun=result is not None)
        finished_runs.append(_finished_run(run_task.options, list(options.sweep), result))
    best = best_run(finished_runs, task.main_metric)
    log(f"\n{summary(finished_runs, task.main_metric)}")
    # Every process needs the best run, but only the chief writes.
    predicts = options.do_eval or options.do_predict
    if devices.is_chief:
        write_json(options.output_dir, finished_runs, best, task.main_metric)
        copy_best(os.path.join(options.output_dir, best["directory"]), options.output_dir)
        if not predicts:
            from bert_tf.runs import model_card

            model_card.write(options.output_dir, type(options))
            if REPORT in options.report_to:
                content = numbers.read(options.output_dir)
                log(f"report       {page.write(options.output_dir, content)}")
    if not predicts:
        return None
    best_options = tasks_by_name[best["directory"]].options
    best_options = best_options.replace(output_dir=options.output_dir, do_train=False)
    return run_once(make_task(best_options), devices, log)


def _carry_out(
    task: InMemoryTask,
    devices: Devices,
    log: Callable[[str], None],
    run_once: Callable,
    is_begun: bool,
) -> Result:
    """Trains and evaluates one run, and writes its result."""
    options = task.options
    directory = options.output_dir
    sources = options.relevant()
    # The run is evaluated at its end if there is a flag for it; only the best run predicts. These
    # flags do not belong to the options that a result depends on.
    changes = {}
    if "do_eval" in options.values():
        changes["do_eval"] = True
    if "do_predict" in options.values():
        changes["do_predict"] = False
    if task.evaluation_interval() == 0:
        # The last weights are those to choose among: they are evaluated, and so kept as the best.
        changes["eval_steps"] = task.schedule().steps
    files.make_output_directory(directory, "output_dir")
    # A result without metrics shows that the run has begun, and with which options.
    if devices.is_chief and not is_begun:
        write_result(directory, Result(sources))
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        if devices.is_chief:
            stack.enter_context(run_directory.writing(directory))
        run_task = task.with_options(options.replace(**changes))
        evaluation = run_once(run_task, devices, log, is_of_many=True).evaluation
    # Keras keeps the layers of all runs until its session is cleared.
    keras.backend.clear_session()
    result = Result(
        sources,
        metrics=dict(evaluation.metrics),
        seconds=time.monotonic() - start,
        degenerate=evaluation.degenerate is not None,
    )
    if devices.is_chief:
        write_result(directory, result)
    return result


def _finished_run(
    options: TrainingOptions, sweep_names: Sequence[str], result: Result
) -> FinishedRun:
    hyperparameters = {name: getattr(options, name) for name in _HYPERPARAMETERS}
    others = {}
    for name in sweep_names:
        if name not in hyperparameters:
            # JSON and the table have no tuples.
            others[name] = as_flag(getattr(options, name))
    return {
        "directory": os.path.basename(options.output_dir),
        **hyperparameters,
        "metrics": result.metrics,
        "degenerate": result.degenerate,
        "seconds": result.seconds,
        "others": others,
    }


def copy_best(source: str, directory: str) -> None:
    """Copies the best weights of the run in `source` to `directory`, whole or not at all."""
    # The check comes before anything is removed: weights of unknown origin might be the only ones.
    _check_copied(directory, [source])
    target = os.path.join(directory, BEST_DIRECTORY)
    best = os.path.join(source, BEST_DIRECTORY)
    if not files.exists(best):
        raise UserError(
            f"{best} is missing, the best weights of all runs: restore it, or move {source} away "
            "for the run to be carried out again"
        )
    # The record shows later runs that these weights are copies, which may be replaced.
    record = {"files": _digests(best)}
    # Remote file systems can't rename a directory at once.
    if files.is_remote(target):
        files.remove_tree(target)
        files.copy_tree(best, target)
        json_files.write(os.path.join(target, _COPIED), record)
        return
    with tempfile.TemporaryDirectory(prefix=checkpoints.COPIES, dir=directory) as temporary:
        # A kill leaves the old weights or the new ones, and a temporary directory that the next run
        # removes.
        copy = os.path.join(temporary, "new")
        files.copy_tree(best, copy)
        json_files.write(os.path.join(copy, _COPIED), record)
        # Copying takes a while, in which the directory may have been moved.
        locks.check_held()
        if os.path.exists(target):
            # A directory can't be replaced by a rename unless it is empty, so the old one moves
            # away first.
            os.rename(target, os.path.join(temporary, "old"))
        os.rename(copy, target)


def _check_copied(directory: str, sources: Sequence[str]) -> None:
    """Raises `UserError` unless the best weights in a directory are copies.

    Without a record, because a kill came before it or by an earlier version, they must be copies of
    the best weights in one of the `sources`.
    """
    run_directory.check_layout(directory)
    target = os.path.join(directory, BEST_DIRECTORY)
    if not files.exists(target):
        return
    record = json_files.read_object(os.path.join(target, _COPIED), {"files": dict[str, str] | None})
    copies = []
    if record.get("files"):
        copies.append(record["files"])
    else:
        for source in sources:
            best = os.path.join(source, BEST_DIRECTORY)
            if files.exists(best):
                copies.append(_digests(best))
    digests = _digests(target)
    for name in files.list_directory(target):
        # Tuning a threshold for these weights changes `task.json`.
        is_copy = name == _COPIED
        for copy in copies:
            if name in copy and (name == TASK_FILE or digests.get(name) == copy[name]):
                is_copy = True
        if not is_copy:
            raise UserError(
                f"--output_dir={directory}: {os.path.join(target, name)} is of no selection, whose "
                f"best weights go there: move {target} away, or choose another directory"
            )


def _digests(directory: str) -> dict[str, str]:
    """Returns file name → digest."""
    digests = {}
    for name in files.list_directory(directory):
        path = os.path.join(directory, name)
        if files.is_file(path):
            digests[name] = f"sha256:{manifests.file_digest(path)}"
    return digests


def best_run(runs: Sequence[FinishedRun], main_metric: str) -> FinishedRun:
    """Returns the run with the highest `main_metric`, the first of equal ones.

    A degenerate run wins only if there is no other.
    """

    def quality(run: FinishedRun) -> tuple[bool, float]:
        value = run["metrics"][main_metric]
        # Every comparison with NaN is false, so it would win as the first run.
        if math.isnan(value):
            value = -math.inf
        return not run["degenerate"], value

    # `max` returns the first of equal ones, which makes the choice repeatable.
    return max(runs, key=quality)


def summary(runs: Sequence[FinishedRun], main_metric: str) -> str:
    """Returns a table with one line per setting and a line about the best run.

    A setting has its number of runs, mean ± standard deviation of each metric, and its best run.
    """
    best = best_run(runs, main_metric)
    settings = _settings(runs)
    metrics = _metric_names(runs, main_metric)
    other_names = list(runs[0]["others"])
    header = ["", "learning_rate", "batch", "epochs", *other_names, "runs", *metrics]
    rows = [[*header, f"best {main_metric}", "degenerate"]]
    for setting, setting_runs in settings:
        row = ["*" if best in setting_runs else ""]
        for value in setting.values():
            row.append(f"{value:g}" if isinstance(value, float) else str(value))
        row.append(str(len(setting_runs)))
        for metric in metrics:
            row.append(show_mean([run["metrics"][metric] for run in setting_runs]))
        row.append(f"{best_run(setting_runs, main_metric)['metrics'][main_metric]:.4f}")
        row.append(str(_num_degenerate(setting_runs) or "-"))
        rows.append(row)
    text = (
        f"{table(rows)}\n"
        f"* best: {main_metric} {best['metrics'][main_metric]:.4f} with seed {best['seed']} in "
        f"{best['directory']}"
    )
    if best["degenerate"]:
        text += ", but it predicts the same for every example"
    return text


def write_json(
    directory: str, runs: Sequence[FinishedRun], best: FinishedRun, main_metric: str
) -> None:
    """Writes `selection.json`: the best run, statistics of the settings, and every run.

    Values that are not finite are written as null.
    """
    metrics = _metric_names(runs, main_metric)
    settings = []
    for setting, setting_runs in _settings(runs):
        statistics = {}
        for metric in metrics:
            mean, deviation = mean_and_deviation([run["metrics"][metric] for run in setting_runs])
            statistics[metric] = {
                "mean": _finite(mean),
                "standard_deviation": _finite(deviation),
            }
        best_of_setting = best_run(setting_runs, main_metric)
        settings.append(
            {
                **setting,
                "seeds": [run["seed"] for run in setting_runs],
                "num_degenerate": _num_degenerate(setting_runs),
                "metrics": statistics,
                "best": _finite(best_of_setting["metrics"][main_metric]),
            }
        )
    json_files.write(
        os.path.join(directory, SELECTION_FILE),
        {
            "main_metric": main_metric,
            "best": _with_finite_metrics(best),
            "settings": settings,
            "runs": [_with_finite_metrics(run) for run in runs],
        },
    )


def _metric_names(runs: Sequence[FinishedRun], main_metric: str) -> list[str]:
    """Returns the names of the metrics, the main one first."""
    # All runs of a sweep have one task, so the first one has the metrics of all.
    return [main_metric, *(name for name in runs[0]["metrics"] if name != main_metric)]


def _num_degenerate(runs: Sequence[FinishedRun]) -> int:
    return sum(run["degenerate"] for run in runs)


def _settings(runs: Sequence[FinishedRun]) -> list[tuple[dict[str, object], list[FinishedRun]]]:
    """Returns each setting, the hyperparameters without the seed, with its runs, in their order."""
    settings: dict[tuple, tuple[dict[str, object], list[FinishedRun]]] = {}
    for run in runs:
        setting = {name: run[name] for name in _HYPERPARAMETERS if name != "seed"}
        setting |= run["others"]
        key = tuple(setting.values())
        if key not in settings:
            settings[key] = (setting, [])
        settings[key][1].append(run)
    return list(settings.values())


def _with_finite_metrics(run: FinishedRun) -> FinishedRun:
    return {**run, "metrics": {name: _finite(value) for name, value in run["metrics"].items()}}


def _finite(value: float | None) -> float | None:
    """Returns None for NaN and infinity, which JSON lacks."""
    if value is None or not math.isfinite(value):
        return None
    return value

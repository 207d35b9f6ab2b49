"""Many runs in one output directory: combinations of hyperparameters.

The paper (section 4.1, appendix A.3) takes the best on the dev set of several learning rates, batch
sizes, numbers of epochs and, where the data is small, random restarts.

Each run has a directory with its result (`bert_tf/runs/results.py`), which is believed only where it
is of the same options and made from the same (`bert_tf/runs/provenance.py`); above them are
`selection.json` and `best/`.
"""

import contextlib
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.runs import provenance
from bert_tf.runs.fine_tuning import InMemoryTask
from bert_tf.runs.results import (
    SELECTION_FILE,
    Result,
    differences,
    read_result,
    write_result,
)
from bert_tf.tables import mean_and_deviation, show_mean, table
from bert_tf.training import checkpoints, run_directory
from bert_tf.training.devices import Devices
from modeling.checkpoints.companion_files import BEST_DIRECTORY, TASK_FILE
from modeling.checkpoints.tensorflow_files import latest_checkpoint

if TYPE_CHECKING:
    from bert_tf.runs.trainer import Trainer

# In weights that `copy_best` has copied: the digests of their files.
_COPIED = "copied.json"
_HYPERPARAMETERS = ("learning_rate", "train_batch_size", "num_train_epochs", "seed")
# As `selection.json` has it: "directory", relative to that of the selection; hyperparameters that
# are always there; "metrics", "degenerate", "seconds"; "others", name → value of the other
# hyperparameters.
FinishedRun = Mapping[str, Any]


def read_results(
    task: InMemoryTask, tasks: Sequence[InMemoryTask], is_chief: bool
) -> dict[str, tuple[dict[str, object], Result | None]]:
    """Of each run of a selection, by name: the options that its result depends on, and what is
    known of it, if anything.

    Raises `UserError` where a directory holds something else than runs of these options, made from
    the same.
    """
    directory, results = task.options.output_dir, {}
    if is_chief:
        if latest_checkpoint(directory) is not None:
            raise UserError(
                f"--output_dir={directory} holds a single run: choose another directory for a selection"
            )
        _check_copied(directory, [one.options.output_dir for one in tasks])
    for one in tasks:
        name, sources = os.path.basename(one.options.output_dir), one.options.relevant()
        own = os.path.join(directory, name)
        result = read_result(own)
        results[name] = sources, result
        # Earlier versions kept digests beside the options.
        changes = (
            (run_directory.changed_flags(own, sources) if latest_checkpoint(own) else [])
            if result is None
            else (differences({name: result.sources.get(name) for name in sources}, sources))
        )
        if changes:
            raise UserError(
                f"--output_dir: the run in {own} has other options ({'; '.join(changes)}): choose another "
                "directory, or the options that it was begun with"
            )
        if made_from := provenance.read(own)["made_from"]:
            provenance.check_same(
                own, made_from, provenance.facts_of(task.inputs(), made_from), strict=True
            )
    return results


def check(task: InMemoryTask) -> None:
    """Refuses what can't be chosen among: nothing is trained, or there is no development set."""
    names = " and ".join(f"--{name}" for name in task.options.sweep)
    if not task.options.do_train:
        raise UserError(
            f"several values of {names} are for --do_train: to evaluate or predict there is one model"
        )
    if not task.can_evaluate:
        raise UserError(
            f"to choose among several values of {names} a development set with labels is needed, e.g. "
            "--dev_file"
        )


def select(
    make_task: Callable,
    task: InMemoryTask,
    tasks: Sequence[InMemoryTask],
    devices: Devices,
    log: Callable[[str], None],
    run_once: Callable[..., "Trainer"],
) -> "Trainer | None":
    """Runs all combinations that are not finished; evaluates and predicts with the best, and
    returns its outcome."""
    options = task.options
    combinations = {os.path.basename(one.options.output_dir): one for one in tasks}
    # Evaluated at its end where there is a flag for it, and not asked to predict.
    changes = {
        name: name == "do_eval" for name in ("do_eval", "do_predict") if name in options.values()
    }
    known = read_results(task, tasks, devices.is_chief)
    if devices.is_chief:
        run_directory.note_start(options.output_dir, str(devices))
    results = []
    for number, (name, (sources, result)) in enumerate(known.items(), 1):
        log(f"\nrun {number} of {len(known)}: {name}")
        own, one = os.path.join(options.output_dir, name), combinations[name]
        if result is not None and result.is_complete:
            log("finished already")
        else:
            files.make_output_directory(own, "output_dir")
            if devices.is_chief and result is None:
                write_result(own, Result(sources))
            started = time.monotonic()
            with run_directory.writing(own) if devices.is_chief else contextlib.nullcontext():
                evaluation = run_once(
                    one.with_options(one.options.replace(**changes)), devices, log, is_of_many=True
                ).evaluation
            keras.backend.clear_session()
            result = Result(
                sources,
                dict(evaluation.metrics),
                time.monotonic() - started,
                evaluation.degenerate is not None,
            )
            if devices.is_chief:
                write_result(own, result)
        # Those that are always there, and those that have several values; lists as text.
        values = {of: getattr(one.options, of) for of in (*_HYPERPARAMETERS, *options.sweep)}
        values = {
            of: ",".join(map(str, value)) if isinstance(value, tuple) else value
            for of, value in values.items()
        }
        results.append(
            {
                "directory": name,
                **{of: values.pop(of) for of in _HYPERPARAMETERS},
                "metrics": result.metrics,
                "degenerate": result.degenerate,
                "seconds": result.seconds,
                "others": values,
            }
        )
    best = best_run(results, task.main_metric)
    log(f"\n{summary(results, task.main_metric)}")
    if devices.is_chief:
        write_json(options.output_dir, results, best, task.main_metric)
        copy_best(os.path.join(options.output_dir, best["directory"]), options.output_dir)
        if not (options.do_eval or options.do_predict):
            from bert_tf.runs import model_card

            model_card.write(options.output_dir, type(options))
    if options.do_eval or options.do_predict:
        chosen = combinations[best["directory"]].options
        return run_once(
            make_task(chosen.replace(output_dir=options.output_dir, do_train=False)), devices, log
        )
    return None


def copy_best(source: str, directory: str) -> None:
    """Makes the best weights of the run in `source` those of `directory`, whole or not at all."""
    _check_copied(directory, [source])
    target, best = os.path.join(directory, BEST_DIRECTORY), os.path.join(source, BEST_DIRECTORY)
    if not files.exists(best):
        raise UserError(
            f"{best} is missing, the best weights of all runs: restore it, or move {source} away for the run "
            "to be carried out again"
        )
    copied = {"files": _digests(best)}
    if files.is_remote(target):
        files.remove_tree(target)
        files.copy_tree(best, target)
        json_files.write(os.path.join(target, _COPIED), copied)
        return
    with tempfile.TemporaryDirectory(prefix=checkpoints.COPIES, dir=directory) as temporary:
        copy = os.path.join(temporary, "new")
        files.copy_tree(best, copy)
        json_files.write(os.path.join(copy, _COPIED), copied)
        if os.path.exists(target):
            os.rename(target, os.path.join(temporary, "old"))
        os.rename(copy, target)


def _check_copied(directory: str, sources: Sequence[str]) -> None:
    """Raises `UserError` unless the best weights in a directory are copies; without a record: of
    those of `sources`."""
    run_directory.check_places(directory)
    target = os.path.join(directory, BEST_DIRECTORY)
    if not files.exists(target):
        return
    record = json_files.read_object(os.path.join(target, _COPIED), {"files": dict[str, str] | None})
    bests = [
        path for source in sources if files.exists(path := os.path.join(source, BEST_DIRECTORY))
    ]
    copies = [record["files"]] if record.get("files") else [_digests(best) for best in bests]
    for name in files.list_directory(target):
        path = os.path.join(target, name)
        # A threshold that is tuned for these weights changes `task.json`.
        if name != _COPIED and not any(
            name in copy
            and (name == TASK_FILE or copy[name] == f"sha256:{provenance.file_digest(path)}")
            for copy in copies
        ):
            raise UserError(
                f"--output_dir={directory}: {path} is of no selection, whose best weights go there: move "
                f"{target} away, or choose another directory"
            )


def _digests(directory: str) -> dict[str, str]:
    return {
        name: f"sha256:{provenance.file_digest(path)}"
        for name in files.list_directory(directory)
        if files.is_file(path := os.path.join(directory, name))
    }


def best_run(results: Sequence[FinishedRun], main_metric: str) -> FinishedRun:
    """The run with the highest `main_metric`, of several the first; a degenerate one only if there
    is no other."""
    return max(
        results,
        key=lambda run: (
            not run["degenerate"],
            -math.inf if math.isnan(value := run["metrics"][main_metric]) else value,
        ),
    )


def summary(results: Sequence[FinishedRun], main_metric: str) -> str:
    """One line a setting: its runs, mean ± standard deviation of each metric over all of them, and
    its best run."""
    best, settings = best_run(results, main_metric), _settings(results)
    metrics = [main_metric, *(name for name in results[0]["metrics"] if name != main_metric)]
    others = [name for name in settings[0][0] if name not in _HYPERPARAMETERS]
    rows = [
        [
            "",
            "learning_rate",
            "batch",
            "epochs",
            *others,
            "runs",
            *metrics,
            f"best {main_metric}",
            "degenerate",
        ]
    ]
    for setting, runs in settings:
        rows.append(
            [
                "*" if any(run is best for run in runs) else "",
                *(
                    f"{value:g}" if isinstance(value, float) else str(value)
                    for value in setting.values()
                ),
                str(len(runs)),
                *(show_mean([run["metrics"][metric] for run in runs]) for metric in metrics),
                f"{best_run(runs, main_metric)['metrics'][main_metric]:.4f}",
                str(sum(run["degenerate"] for run in runs) or "-"),
            ]
        )
    degenerate = ", but it predicts the same for every example" if best["degenerate"] else ""
    return (
        f"{table(rows)}\n* best: {main_metric} {best['metrics'][main_metric]:.4f} with seed {best['seed']} in "
        f"{best['directory']}{degenerate}"
    )


def write_json(
    directory: str, results: Sequence[FinishedRun], best: FinishedRun, main_metric: str
) -> None:
    """`selection.json`: the best run, the settings with mean and deviation, every run; null for
    what is no number."""
    settings = []
    for setting, runs in _settings(results):
        statistics = {
            metric: mean_and_deviation([run["metrics"][metric] for run in runs])
            for metric in (
                main_metric,
                *(name for name in results[0]["metrics"] if name != main_metric),
            )
        }
        settings.append(
            {
                **setting,
                "seeds": [run["seed"] for run in runs],
                "num_degenerate": sum(run["degenerate"] for run in runs),
                "metrics": {
                    metric: {"mean": _finite(mean), "standard_deviation": _finite(deviation)}
                    for metric, (mean, deviation) in statistics.items()
                },
                "best": _finite(best_run(runs, main_metric)["metrics"][main_metric]),
            }
        )
    best, *runs = (
        {**run, "metrics": {name: _finite(value) for name, value in run["metrics"].items()}}
        for run in (best, *results)
    )
    json_files.write(
        os.path.join(directory, SELECTION_FILE),
        {"main_metric": main_metric, "best": best, "settings": settings, "runs": runs},
    )


def _settings(results: Sequence[FinishedRun]) -> list[tuple[dict[str, object], list[FinishedRun]]]:
    """Hyperparameters but the seed, and the runs that have them, in the order of the first of
    these."""
    groups: dict[tuple, tuple[dict[str, object], list[FinishedRun]]] = {}
    for run in results:
        setting = {
            **{name: run[name] for name in _HYPERPARAMETERS if name != "seed"},
            **run["others"],
        }
        groups.setdefault(tuple(setting.values()), (setting, []))[1].append(run)
    return list(groups.values())


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value

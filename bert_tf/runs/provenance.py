"""Provenance of runs: which files and weights they are made from.

A run has `inputs.json` in its directory from its beginning:

  made_from      name of an input → fingerprint: training data, development data, start weights,
                 teachers
  evaluated_on   the same for the last evaluation or prediction without training

  run_id         drawn at the beginning; checkpoints and task.json have it, too
  results        "eval", "predict" → the run and the files that the last results are of, and the
                 digests of the files with results

A fingerprint consists of the files with their sizes and times, and one digest of their contents. If
they are large it is of a sample of blocks, and "sampled" says so. Digests are compared, so that a
directory can be moved, copied and spelled otherwise.
"""

import contextlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence

from bert_common import files, json_files, outputs
from bert_common.errors import UserError
from bert_common.manifests import file_digest
from bert_tf.runs import contents
from bert_tf.runs.options import TrainingOptions
from bert_tf.runs.results import digest
from bert_tf.training import run_directory
from modeling.checkpoints.companion_files import BEST_DIRECTORY, INPUTS_FILE

_VERSION = 1
_RECORD = {
    "version": int,
    "made_from": dict[str, dict],
    "evaluated_on": dict[str, dict],
    "run_id": str | None,
    "results": dict[str, dict] | None,
}
_FINGERPRINT = {"digest": str, "files": list[list]}
# Names of inputs. The last two are checkpoints.
TRAIN = "train"
DEV = "dev"
START = "init_checkpoint"
TEACHER = "teacher_checkpoint"
# Inputs that a result depends on, and their names in messages. Among the development sets this is
# the first, which chooses the best weights.
_COMPARED = {
    TRAIN: "training data",
    DEV: "development data",
    "transfer": "texts without labels",
    "queries_file": "development data",
    "documents_file": "development data",
    "relevance_file": "development data",
    START: "start weights (--init_checkpoint)",
    TEACHER: "teacher (--teacher_checkpoint)",
}
# Results → beginnings of the names of the sets that they are of.
_SETS_OF_RESULTS = {"eval": ("eval", DEV), "predict": ("test", "predict", DEV)}
# Beginnings of checkpoints that are named instead of given as a path.
_BY_NAME = ("hf:", "google:")
# A run that resumes has its weights in its checkpoint: its start weights need not be given again.
# It may evaluate on a development set or not, as its training does not depend on it.
_MAY_BE_DROPPED = (START, DEV)
_MAY_BE_ADDED = (DEV,)


def read(directory: str) -> dict[str, dict]:
    """Returns the record of the run in a directory, as arguments of `write`; without one
    "made_from" and "evaluated_on" are empty."""
    path = os.path.join(directory, INPUTS_FILE)
    record = json_files.read_object(path)
    if not record:
        return {"made_from": {}, "evaluated_on": {}}
    json_files.check_object(record, _RECORD, path)
    if record["version"] != _VERSION:
        raise UserError(
            f"{path} is of version {record['version']} of the format, {_VERSION} is expected: move "
            "it away"
        )
    for part in ("made_from", "evaluated_on"):
        for name, fingerprint in record[part].items():
            json_files.check_object(fingerprint, _FINGERPRINT, f"{path}: {name}")
    return {name: record[name] for name in _RECORD if name in record and name != "version"}


def write(
    directory: str,
    made_from: Mapping[str, Mapping],
    evaluated_on: Mapping[str, Mapping],
    **others: object,
) -> None:
    """Writes the record of a run.

    Args:
      others: "run_id" and "results", which records of earlier versions lack.
    """
    # These keys are part of the format of a run directory.
    record = {"version": _VERSION, "made_from": made_from, "evaluated_on": evaluated_on, **others}
    json_files.write(os.path.join(directory, INPUTS_FILE), record)


def note_results(directory: str, kind: str, inputs: Mapping[str, Sequence[str]]) -> None:
    """Notes the run and the files that results in a directory are of, and the digests of these.

    Args:
      kind: "eval" or "predict".
      inputs: of the run, name → files.
    """
    record = read(directory)
    paths: list[str] = []
    for prefix in _SETS_OF_RESULTS[kind]:
        for name, set_paths in inputs.items():
            # Question answering predicts its development set.
            if name.startswith(prefix) and not (paths and prefix == DEV):
                paths += set_paths
    digests = {}
    for name in outputs.results_in(directory):
        path = os.path.join(directory, name)
        if files.is_file(path):
            digests[name] = file_digest(path)
    result = {"run_id": record.get("run_id", ""), "files": paths, "digests": digests}
    write(directory, **{**record, "results": {**record.get("results", {}), kind: result}})


def record_of_start(
    options: TrainingOptions, inputs: Mapping[str, Sequence[str]], log: Callable[[str], None]
) -> dict[str, dict]:
    """Returns the record of a run that starts, as arguments of `write`.

    Raises `UserError` if the run would resume with other inputs.
    """
    from modeling.checkpoints.tensorflow_files import latest_checkpoint

    existing = read(options.output_dir)
    trained_on = existing["made_from"]
    earlier = trained_on if options.do_train else existing["evaluated_on"]
    current = fingerprints(inputs, earlier)
    # The division of a training file belongs to its data: the parts of another split are other
    # data.
    if getattr(options, "dev_fraction", 0):
        held_out = [options.dev_fraction, options.split_seed]
    else:
        held_out = None
    for name in (TRAIN, DEV):
        if name in current:
            current[name]["held_out"] = held_out
    # An evaluation leaves the record of the training as it is.
    if not options.do_train:
        _warn_of_training_data(current, trained_on.get(TRAIN), log)
        return {**existing, "evaluated_on": current}
    if latest_checkpoint(options.output_dir) is None:
        existing["run_id"] = _id_of_beginning(options, existing, current)
        trained_on = {}
    elif trained_on:
        check_same(options.output_dir, trained_on, current, strict=False)
    _warn_of_training_data(current, current.get(TRAIN), log)
    # Start weights that are not given again stay in the record.
    return {**existing, "made_from": {**trained_on, **current}, "evaluated_on": {}}


def _id_of_beginning(options: TrainingOptions, existing: Mapping, current: Mapping) -> str:
    """Returns the id of a run that begins: a new one, or the id of the same run without a
    checkpoint.

    Raises `UserError` if the directory has results of another run, whose checkpoints are gone.
    """
    directory = options.output_dir
    results = outputs.results_in(directory)
    if not results:
        return f"{secrets.randbits(63):016x}"
    # A run that is killed before its first checkpoint may have left its best weights.
    changes = run_directory.changed_flags(directory, options.relevant())
    if existing["made_from"] and not changes:
        check_same(directory, existing["made_from"], current, strict=False)
        return existing.get("run_id", "")
    raise UserError(
        f"--output_dir: {directory} has no checkpoint, but results of another run "
        f"({', '.join(results)}): move them away, or choose another directory"
    )


def run_number(made_from: Mapping[str, Mapping]) -> int:
    """Returns the number of a run in its checkpoints, which follows from what it is made from.

    Returns:
      from 1 to 2**63 - 1; 0 without a record.
    """
    parts = []
    for name in sorted(made_from):
        # A run may evaluate on other data when it resumes.
        if name in _COMPARED and name not in _MAY_BE_ADDED:
            parts.append([name, made_from[name]["digest"], made_from[name].get("held_out")])
    if not parts:
        return 0
    return int(digest(parts).removeprefix("sha256:")[:15], 16) + 1


def _warn_of_training_data(
    fingerprints: Mapping[str, Mapping], train: Mapping | None, log: Callable[[str], None]
) -> None:
    """Logs a warning if a development set is the training set."""
    if train is None:
        return
    for name, fingerprint in fingerprints.items():
        if not name.startswith(DEV) or fingerprint["digest"] != train["digest"]:
            continue
        # One file may be divided into both sets.
        held_out = fingerprint.get("held_out")
        if held_out and held_out == train.get("held_out"):
            continue
        log(
            "warning: the development set is the training set: its scores show what was "
            "memorized, and choose no best weights"
        )
        return


def fingerprints(
    inputs: Mapping[str, Sequence[str]], earlier: Mapping[str, Mapping]
) -> dict[str, dict]:
    """Returns the fingerprints of inputs.

    Pipes and devices, which give their contents once or without end, are left out.

    Args:
      inputs: name → files; for `START` and `TEACHER`, checkpoints of any format.
      earlier: name → fingerprint of an earlier start.
    """
    fingerprints = {}
    for name, paths in inputs.items():
        regular = [path for path in paths if not files.is_special(path)]
        if not regular:
            continue
        previous = earlier.get(name, {"files": []})
        if name in (START, TEACHER):
            fingerprints[name] = _checkpoint_fingerprint(regular, previous)
        else:
            fingerprints[name] = _fingerprint(contents.statuses(regular))
    return fingerprints


def _checkpoint_fingerprint(checkpoints: Sequence[str], previous: Mapping) -> dict:
    """Returns the fingerprint of checkpoints, with their absolute paths or names as "given"."""
    locations = []
    for checkpoint in checkpoints:
        if not checkpoint.startswith(_BY_NAME):
            checkpoint = files.absolute(checkpoint)
        locations.append(checkpoint)
    statuses = None
    if locations == previous.get("given"):
        # Files that were removed are looked for again below.
        with contextlib.suppress(UserError):
            statuses = contents.statuses([status[0] for status in previous["files"]])
    if statuses is None or statuses != previous["files"]:
        # A directory may hold newer weights by now.
        statuses = contents.statuses(contents.weight_files(checkpoints))
    return {**_fingerprint(statuses), "given": locations}


def _fingerprint(statuses: list[list]) -> dict:
    fingerprint = {"digest": contents.known_digest(statuses), "files": statuses}
    if contents.is_sampled(statuses):
        fingerprint["sampled"] = True
    return fingerprint


def check_same(
    directory: str,
    trained_on: Mapping[str, Mapping],
    fingerprints: Mapping[str, Mapping],
    strict: bool,
) -> None:
    """Raises `UserError` if the inputs of a run are not those that it was made from.

    Args:
      trained_on: the fingerprints in its record.
      fingerprints: of the inputs of this start.
      strict: whether every input must be given as before. A single run that resumes may drop and
        add some.
    """
    changes = []
    # All changes are collected, so that a user corrects a command once.
    for name, description in _COMPARED.items():
        before = trained_on.get(name)
        after = fingerprints.get(name)
        if before and after:
            has_changed = before["digest"] != after["digest"]
            # The options of a sweep's run, which are compared as well, have the division.
            if not strict and before.get("held_out") != after.get("held_out"):
                has_changed = True
            if has_changed:
                changes.append(f"other {description} {_difference(before, after)}")
        elif before and (strict or name not in _MAY_BE_DROPPED):
            changes.append(f"{description} not given")
        elif after and (strict or name not in _MAY_BE_ADDED):
            changes.append(f"{description} given")
    if changes:
        raise UserError(
            f"--output_dir: the run in {directory} was made from something else than now "
            f"({'; '.join(changes)}): give what it was made from, or choose another directory"
        )


def _difference(before: Mapping, after: Mapping) -> str:
    """Returns where two fingerprints of an input differ: "in" a place, or "without" one."""
    if "given" in after:
        return f"in {after['given'][0]}"
    known = {}
    for status in before["files"]:
        known[status[0]] = status
    found = set()
    for status in after["files"]:
        found.add(status[0])
        if status[0] not in known:
            return f"in {status[0]}"
    for path in known:
        if path not in found:
            return f"without {path}"
    for status in after["files"]:
        if status != known[status[0]]:
            return f"in {status[0]}"
    # Contents that were changed at the same size and time, or another order.
    return f"in {after['files'][0][0]}"


def check_evaluated(directory: str, init_checkpoint: str | None) -> None:
    """Raises `UserError` if --init_checkpoint contradicts the run in a directory, to be evaluated.

    The run has its own weights. Its start weights may be given again, as on the command line that
    trained it.
    """
    if init_checkpoint is None:
        return
    best_directory = os.path.join(directory, BEST_DIRECTORY)
    if files.same_file(init_checkpoint, directory):
        return
    if files.same_file(init_checkpoint, best_directory):
        return
    # The directory of a sweep has flags in `best/` only.
    flags = run_directory.read_flags(directory) or run_directory.read_flags(best_directory)
    start = flags.get(START)
    if start == init_checkpoint:
        return
    trained_on = read(directory)["made_from"]
    if START in trained_on:
        fingerprint = fingerprints({START: [init_checkpoint]}, trained_on)[START]
        if fingerprint["digest"] == trained_on[START]["digest"]:
            return
    raise UserError(
        f"--init_checkpoint={init_checkpoint} and --output_dir={directory} contradict each other: "
        f"the latter holds a run with weights of its own, begun with {start or 'random ones'}: "
        "leave out --init_checkpoint to use these, or choose another --output_dir"
    )

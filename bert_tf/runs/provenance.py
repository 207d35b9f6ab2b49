"""What runs, caches and indexes are made from. Of a run, `inputs.json` in its directory, from its
first moment:

  made_from      name of an input → facts: training data, development data, start weights, teachers
  … evaluated_on   the same of the last evaluation or prediction without training

Facts are the files with their sizes and times, and one digest of their contents, of large ones of a
sample of blocks. A start compares sizes and times first, and contents where these have changed, so
that a directory can be moved, copied and spelled otherwise. What is kept between processes has a
manifest:

  {"version": 2, "sources": {"model": "sha256:…"}, "files": {"vectors.f32": [bytes, "SHA-256"]}, …}
"""

import concurrent.futures
import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

from bert_common import files, json_files
from bert_common.errors import UserError
from bert_tf.runs.options import TrainingOptions
from bert_tf.runs.results import digest
from modeling.checkpoints.companion_files import BEST_DIRECTORY

INPUTS_FILE = "inputs.json"
_VERSION = 1
_FACTS = {"digest": str, "files": list[list]}
# Bytes of an input that is read whole; of others a block for each MiB, at most so many.
_WHOLE, _BLOCK, _MOST_BLOCKS = 64 << 20, 4096, 1024
_FILES_AT_ONCE = 16
# Inputs that a result depends on, and what messages call them: of development sets the first, which
# chooses the best weights. Of the last two, checkpoints are given.
TRAIN, DEV, START, TEACHER = "train", "dev", "init_checkpoint", "teacher_checkpoint"
_COMPARED = {
    TRAIN: "training data",
    DEV: "development data",
    "transfer": "texts without labels",
    **dict.fromkeys(("queries_file", "documents_file", "relevance_file"), "development data"),
    START: "start weights (--init_checkpoint)",
    TEACHER: "teacher (--teacher_checkpoint)",
}
_BY_NAME = ("hf:", "google:")
# What a single run may go on without, or with from now on.
_OPTIONAL = {(START, False), (DEV, False), (DEV, True)}


def content_digest(paths: Sequence[str]) -> str:
    """Digest of the contents of files, whatever they are called; of large ones of a sample."""
    return _digest_of(tuple(map(tuple, _statuses(paths))))


def read(directory: str) -> dict[str, dict]:
    """ "made_from" and "evaluated_on" of the run in a directory; both empty where there is no
    record."""
    path = os.path.join(directory, INPUTS_FILE)
    found = json_files.read_object(path)
    json_files.check_object(
        found,
        {"version": int, "made_from": dict[str, dict], "evaluated_on": dict[str, dict]}
        if found
        else {},
        path,
    )
    if found.get("version", _VERSION) != _VERSION:
        raise UserError(
            f"{path} is of version {found['version']} of the format, {_VERSION} is expected: move it away"
        )
    for name, one in (
        pair for part in ("made_from", "evaluated_on") for pair in found.get(part, {}).items()
    ):
        json_files.check_object(one, _FACTS, f"{path}: {name}")
    return {part: found.get(part, {}) for part in ("made_from", "evaluated_on")}


def write(
    directory: str, made_from: Mapping[str, Mapping], evaluated_on: Mapping[str, Mapping]
) -> None:
    """Writes the record of a run."""
    record = {"version": _VERSION, "made_from": made_from, "evaluated_on": evaluated_on}
    json_files.write(os.path.join(directory, INPUTS_FILE), record)


def compared(
    options: TrainingOptions, inputs: Mapping[str, Sequence[str]], log: Callable[[str], None]
) -> dict[str, dict]:
    """The record of a run as it is to be written; raises `UserError` where it would be resumed with
    something else."""
    from modeling.checkpoints.tensorflow_files import latest_checkpoint

    known = read(options.output_dir)
    made_from = known["made_from"]
    found = facts_of(inputs, made_from if options.do_train else known["evaluated_on"])
    # How a training file is divided: the parts of another split are other data.
    held_out = (
        [options.dev_fraction, options.split_seed] if getattr(options, "dev_fraction", 0) else None
    )
    for name in found.keys() & {TRAIN, DEV}:
        found[name]["held_out"] = held_out
    if options.do_train and latest_checkpoint(options.output_dir) is None:
        made_from = {}
    elif options.do_train and made_from:
        check_same(options.output_dir, made_from, found, strict=False)
    train = (found if options.do_train else made_from).get(TRAIN, {"digest": None})
    if any(
        name.startswith(DEV)
        and one["digest"] == train["digest"]
        and not (one.get("held_out") and one["held_out"] == train.get("held_out"))
        for name, one in found.items()
    ):
        log(
            "warning: the development set is the training set: its scores show what was memorised, and choose no best "
            "weights"
        )
    # Of weights that are not given again the run knows still.
    return (
        {"made_from": {**made_from, **found}, "evaluated_on": {}}
        if options.do_train
        else {"made_from": made_from, "evaluated_on": found}
    )


def facts_of(inputs: Mapping[str, Sequence[str]], known: Mapping[str, Mapping]) -> dict[str, dict]:
    """The facts of inputs; those that are known are taken over where the files have not changed.

    Args:
      inputs: name → files; of `START` and `TEACHER`, checkpoints of any format. Pipes and devices,
        which give their contents once or without end, are left out.
    """
    found = {}
    regular = {
        name: [path for path in paths if not files.is_special(path)]
        for name, paths in inputs.items()
    }
    for name, paths in ((name, paths) for name, paths in regular.items() if paths):
        there = known.get(name, {"files": []})
        given = (
            {}
            if name not in (START, TEACHER)
            else {
                "given": [
                    path if path.startswith(_BY_NAME) else files.absolute(path) for path in paths
                ]
            }
        )
        try:
            # A directory that was given may hold newer weights by now.
            is_there = (
                given
                and given["given"] == there.get("given")
                and _statuses([file[0] for file in there["files"]]) == there["files"]
            )
        except UserError:
            is_there = False
        now = there["files"] if is_there else _statuses(weight_files(paths) if given else paths)
        found[name] = {
            **(
                there
                if now == there["files"]
                else {"digest": _digest_of(tuple(map(tuple, now))), "files": now}
            ),
            **given,
        }
    return found


def check_same(
    directory: str, known: Mapping[str, Mapping], found: Mapping[str, Mapping], strict: bool
) -> None:
    """Raises `UserError` where a run would go on, or its result be used, with something else than
    it was made from.

    Args:
      strict: also where something is given now, or no longer, that a single run may go on with or
        without.
    """
    changes = []
    for name, what in _COMPARED.items():
        before, now = known.get(name), found.get(name)
        if (
            before
            and now
            and (
                before["digest"] != now["digest"]
                or (not strict and before.get("held_out") != now.get("held_out"))
            )
        ):
            changes.append(f"other {what} in {now.get('given', now['files'][0])[0]}")
        elif bool(before) != bool(now) and (strict or (name, bool(now)) not in _OPTIONAL):
            changes.append(f"{what} {'given' if now else 'not given'}")
    if changes:
        raise UserError(
            f"--output_dir: the run in {directory} was made from something else than now ({'; '.join(changes)})"
            ": give what it was made from, or choose another directory"
        )


def check_evaluated(directory: str, init_checkpoint: str | None) -> None:
    """Raises `UserError` where weights are given for an evaluation in the directory of a run with
    weights of its own, unless that run began with those that are given: they were given again.
    """
    if init_checkpoint is None or any(
        files.same_file(init_checkpoint, own)
        for own in (directory, os.path.join(directory, BEST_DIRECTORY))
    ):
        return
    from bert_tf.training.run_directory import read_flags

    # That of a selection has flags in `best/` only.
    flags = read_flags(directory) or read_flags(os.path.join(directory, BEST_DIRECTORY))
    begun, known = flags.get(START), read(directory)["made_from"].get(START)
    if (
        begun == init_checkpoint
        or known
        and known["digest"] == facts_of({START: [init_checkpoint]}, {START: known})[START]["digest"]
    ):
        return
    raise UserError(
        f"--init_checkpoint={init_checkpoint} and --output_dir={directory} contradict each other: the latter "
        f"holds a run with weights of its own, begun with {begun or 'random ones'}: leave out "
        "--init_checkpoint to use these, or choose another --output_dir"
    )


def write_manifest(
    path: str, version: int, sources: Mapping[str, object], names: Sequence[str], **facts: object
) -> None:
    """Writes a manifest: what the files of these names beside it were made from, for JSON, and what
    is in them."""
    places = {name: os.path.join(os.path.dirname(path), name) for name in names}
    json_files.write(
        path,
        {
            "version": version,
            "sources": sources,
            **facts,
            "files": {
                name: (files.file_size(place), file_digest(place)) for name, place in places.items()
            },
        },
    )


def read_manifest(
    path: str, version: int, sources: Mapping[str, object], fields: Mapping[str, object]
) -> dict:
    """A manifest whose files are what they were; raises `UserError` where they were edited, or made
    from something else.

    Args:
      fields: of its further keys, see `json_files.check_object`.
    """
    found = json_files.read(path)
    json_files.check_object(
        found, {"version": int, "sources": dict, "files": dict[str, list], **fields}, path
    )
    if found["version"] != version:
        raise UserError(
            f"{path} is of version {found['version']} of the format, {version} is expected"
        )
    expected = json.loads(json.dumps(sources))
    if found["sources"] != expected:
        other = sorted(
            name for name, value in expected.items() if found["sources"].get(name) != value
        )
        raise UserError(f"{path}: made from something else ({', '.join(other)})")
    if not all([type(one) for one in entry] == [int, str] for entry in found["files"].values()):
        raise UserError(f"{path}: 'files' has another form")
    for name, (size, content) in found["files"].items():
        file = os.path.join(os.path.dirname(path), os.path.basename(name))
        with files.user_error(f"can't read {file}"):
            if (
                not files.is_file(file)
                or files.file_size(file) != size
                or file_digest(file) != content
            ):
                raise UserError(f"{file} is damaged")
    return found


def file_digest(path: str) -> str:
    """SHA-256 of a file; raises `UserError` where it can't be read."""
    found = hashlib.sha256()
    with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def weight_files(checkpoints: Sequence[str]) -> list[str]:
    """The files of checkpoints of any format: weights, configuration, vocabulary, task."""
    from modeling.checkpoints.load import files_of, read_checkpoint

    return [file for path in checkpoints for file in files_of(read_checkpoint(path).path)]


def _statuses(paths: Sequence[str]) -> list[list]:
    """[absolute path, bytes, time of the last change in nanoseconds] of each."""
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        return list(pool.map(_status, paths))


def _status(path: str) -> list:
    with files.user_error(f"can't read {path}"):
        return files.state(path)


@functools.cache
def _digest_of(there: tuple[tuple[str, int, int], ...]) -> str:
    total = sum(size for _, size, _ in there)
    blocks = None if total <= _WHOLE else max(2, min(total >> 20, _MOST_BLOCKS) // len(there))
    with concurrent.futures.ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        return digest(
            list(pool.map(lambda file: [file[1], _file_digest(file[0], file[1], blocks)], there))
        )


def _file_digest(path: str, size: int, blocks: int | None) -> str:
    """SHA-256 of a file, or of so many blocks from its beginning to its end."""
    if blocks is None:
        return file_digest(path)
    with files.user_error(f"can't read {path}"), files.open_file(path, "rb") as file:
        found = hashlib.sha256()
        for number in range(blocks):
            file.seek(max(size - _BLOCK, 0) * number // (blocks - 1))
            found.update(file.read(_BLOCK))
        return found.hexdigest()

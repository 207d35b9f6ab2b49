"""The directory of a run: who writes in it, what a resumed run must agree with, its reports.

docs/architecture.md has the table of its files. Used by `bert_tf/training/metrics.py` and the
tasks.
"""

import contextlib
import datetime
import functools
import os
import platform
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping

import bert_tf
from bert_common import files, json_files, locks, version
from bert_common.errors import UserError, in_one_line, without_passwords
from bert_common.options import plain
from data_gen.tokenization.vocabulary import write_tokenizer_config
from modeling.checkpoints import companion_files
from modeling.checkpoints.companion_files import (
    BEST_DIRECTORY,
    CONFIG_FILE,
    FLAGS_FILE,
    TASK_FILE,
    VOCAB_FILE,
)
from modeling.checkpoints.tensorflow_files import latest_checkpoint
from modeling.config import BertConfig

# Directories of TensorBoard, and of what may be computed again.
TRAIN, EVAL, ACTIVATIONS, TEACHER_OUTPUTS = "train", "eval", ".activation_cache", ".teacher_outputs"

# Packages whose versions decide what a run computes.
_PACKAGES = ("tensorflow", "keras", "numpy")
# Starts that are kept, the last ones; how long git may take.
_MOST_STARTS, _GIT_SECONDS = 100, 10.0


def writing(directory: str) -> contextlib.AbstractContextManager:
    """Holds a run directory for the only process that writes there; raises `UserError` where
    another one has it."""
    return locks.directory_lock(
        directory,
        f"--output_dir={directory}: another run is writing there: wait for it or stop "
        "it, or choose another directory",
    )


def note_start(directory: str, devices: str) -> None:
    """Notes in `flags.json` when, where and by which command a run starts; what can't be recorded
    is a warning."""
    start = {
        "time": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": without_passwords(shlex.join(sys.orig_argv)),
        "working_directory": os.path.abspath("."),
        "host": socket.gethostname(),
        "cpus": os.cpu_count(),
        "devices": devices,
        "versions": _versions(),
        "commit": _commit(),
    }
    try:
        _write_flags(directory, {"starts": [*read_starts(directory), start][-_MOST_STARTS:]})
    except (OSError, UserError) as error:
        print(
            f"warning: this start is not recorded: {in_one_line(error)}",
            file=sys.stderr,
            flush=True,
        )


def read_starts(directory: str) -> list[dict]:
    """The starts of runs in a directory, the oldest first; without those of earlier versions, which
    kept none."""
    return (
        json_files.read_object(os.path.join(directory, FLAGS_FILE), {"starts": list | None}).get(
            "starts"
        )
        or []
    )


def _versions() -> dict[str, str]:
    versions = {package: version(package) or "unknown" for package in _PACKAGES}
    return {"bert-tf": bert_tf.__version__, "python": platform.python_version(), **versions}


@functools.cache
def _commit() -> dict[str, object] | None:
    """The commit of the checkout that this code is in, and whether files differ from it; None where
    it is in none."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(bert_tf.__file__)))
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    # Without those of a hook that this runs in, which are of its repository.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "--no-optional-locks", "-C", root, *arguments],
            env=variables,
            check=True,
            capture_output=True,
            timeout=_GIT_SECONDS,
            text=True,
        ).stdout.strip()

    try:
        return {
            "id": git("rev-parse", "HEAD"),
            "modified": bool(git("status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None


def check_places(directory: str) -> None:
    """Raises `UserError` where a directory is a file or a link to others' files, or a file is a
    pipe or a device."""
    folders = [
        os.path.join(directory, name)
        for name in (TRAIN, EVAL, BEST_DIRECTORY, ACTIVATIONS, TEACHER_OUTPUTS)
    ]
    for path in folders:
        if os.path.islink(path):
            raise UserError(
                f"--output_dir={directory}: {path} is a symbolic link, and what it leads to would be changed: "
                "remove the link"
            )
        if files.exists(path) and not files.is_directory(path):
            raise UserError(
                f"--output_dir={directory}: {path} is a file, a directory must be there: move it away"
            )
    for folder in filter(files.is_directory, (directory, *folders)):
        for path in (os.path.join(folder, name) for name in files.list_directory(folder)):
            if files.is_special(path):
                raise UserError(
                    f"--output_dir={directory}: {path} is a pipe or a device: move it away"
                )


def check_same_model(directory: str, config: BertConfig, task: Mapping[str, object] | None) -> None:
    """Raises `UserError` where a directory holds checkpoints of another model or task
    (`task.json`)."""
    path = os.path.join(directory, CONFIG_FILE)
    if latest_checkpoint(directory) is None or not files.exists(path):
        return
    tasks = companion_files.read_task_file(os.path.join(directory, TASK_FILE)), task or {}
    for name, without in (("kind", "pre-training"), ("pooling", "none")):
        before, now = (one.get(name, without) for one in tasks)
        if before != now:
            raise UserError(
                f"--output_dir={directory} holds a run of another task ({name} is {before} there and {now} "
                "here): choose another directory, or resume it as it was begun"
            )
    there, here = BertConfig.from_file(path).to_dict(), config.to_dict()
    different = [
        f"{key} is {there.get(key)} there and {here.get(key)} here"
        for key in sorted({*there, *here})
        if there.get(key) != here.get(key)
    ]
    if different:
        raise UserError(
            f"--output_dir={directory} holds checkpoints of another configuration ({'; '.join(different)}): "
            "choose another directory, or the configuration that is there"
        )


# Flags that decide which variables a run trains, those first without which the others are
# irrelevant.
_VARIABLES = {
    "feature_based": ("layers", "combine", "lstm_units", "lstm_layers"),
    "lora_rank": ("lora_alpha", "lora_layers"),
}


def check_same_variables(directory: str, flags: Mapping[str, object]) -> None:
    """Raises `UserError` where the run in a directory trains other variables; names the first flag
    that differs."""
    earlier = read_flags(directory)
    if latest_checkpoint(directory) is None or not earlier:
        return
    # Runs of earlier versions have none of these flags.
    there = {**dict.fromkeys(_VARIABLES, 0), **earlier}
    for switch, others in _VARIABLES.items():
        for name in (switch, *(others if flags.get(switch) else ())):
            if name in flags and name in there and plain(there[name]) != plain(flags[name]):
                before, now = (
                    ",".join(map(str, one)) if isinstance(one, (list, tuple)) else one
                    for one in (there[name], flags[name])
                )
                raise UserError(
                    f"--output_dir={directory} holds a run with --{name}={before}, --{name}={now} is given: "
                    "resume it as it was begun, or choose another directory"
                )


def read_flags(directory: str) -> dict[str, object]:
    """The effective flags of the last run in a directory; empty where there is none."""
    return (
        json_files.read_object(os.path.join(directory, FLAGS_FILE), {"flags": dict | None}).get(
            "flags"
        )
        or {}
    )


def changed_flags(directory: str, flags: Mapping[str, object]) -> list[str]:
    """What an earlier run in this directory was given otherwise, e.g. "learning_rate: 0.0001 →
    5e-05"."""
    earlier = read_flags(directory)
    return [
        f"{name}: {plain(earlier[name])} → {plain(value)}"
        for name, value in flags.items()
        if name in earlier and plain(earlier[name]) != plain(value)
    ]


def write_description(
    directory: str,
    script: str,
    flags: Mapping[str, object],
    config: BertConfig,
    vocab_file: str | None,
    do_lower_case: bool | None,
    task: Mapping[str, object] | None = None,
    vocab_sha256: str | None = None,
    given: Iterable[str] = (),
) -> None:
    """Writes everything but checkpoints and reports; what is None is not known. `given` are the
    flags that were given."""
    config.to_file(os.path.join(directory, CONFIG_FILE))
    if vocab_file is not None:
        target = os.path.join(directory, VOCAB_FILE)
        if not files.same_file(vocab_file, target):
            files.copy(vocab_file, target)
    write_tokenizer_config(directory, do_lower_case, vocab_sha256)
    if task is not None:
        json_files.write(os.path.join(directory, TASK_FILE), dict(task))
    _write_flags(
        directory,
        {"script": script, "flags": dict(flags), "given": sorted(given), "versions": _versions()},
    )


def _write_flags(directory: str, changes: Mapping[str, object]) -> None:
    """Changes some of what `flags.json` holds."""
    path = os.path.join(directory, FLAGS_FILE)
    json_files.write(path, {**json_files.read_object(path), **changes})


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics as `metrics.jsonl` has them, with 7 digits."""
    return {name: float(f"{value:.7g}") for name, value in metrics.items()}


def read_metrics(directory: str) -> list[dict]:
    """The lines of `metrics.jsonl`, without an incomplete last one. Raises `UserError` if a line is
    no report."""
    return json_files.read_objects(
        os.path.join(directory, companion_files.METRICS_FILE), {"step": int, "split": str}
    )

"""The directory of a run: its lock, its description, and what a resumed run must agree with.

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
from collections.abc import Iterable, Iterator, Mapping

import bert_tf
from bert_common import files, json_files, locks, version
from bert_common.errors import UserError, in_one_line, say, without_passwords, without_secrets
from bert_common.options import as_flag, plain
from data_gen.tokenization.settings import TokenizerSettings, write_settings
from data_gen.tokenization.vocabulary import Vocabulary
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

# Directories of TensorBoard's files.
TRAIN = "train"
EVAL = "eval"
# Directories of files that can be computed again.
ACTIVATIONS = ".activation_cache"
TEACHER_OUTPUTS = ".teacher_outputs"

# Packages whose versions decide what a run computes.
_PACKAGES = ("tensorflow", "keras", "numpy")
# Number of starts that `flags.json` keeps, and time that git may take.
_MAX_STARTS = 100
_GIT_SECONDS = 10.0
# Flags that decide which variables a run trains: the others are irrelevant without the first.
# Runs of earlier versions lack some of the first, and have these values.
_EARLIER = {"feature_based": 0, "lora_rank": 0, "optimizer": "adamw"}
_VARIABLES: dict[str, tuple[str, ...]] = {
    "optimizer": (),
    "feature_based": ("layers", "combine", "lstm_units", "lstm_layers"),
    "lora_rank": ("lora_alpha", "lora_layers"),
    "freeze_embeddings": (),
    "freeze_layers": (),
}


@contextlib.contextmanager
def writing(directory: str) -> Iterator[None]:
    """Holds a run directory for this process; raises `UserError` if another one writes there."""
    busy = (
        f"--output_dir={directory}: another run is writing there: wait for it or stop it, or "
        "choose another directory"
    )
    with locks.directory_lock(directory, busy) as is_locked:
        lease: contextlib.AbstractContextManager = contextlib.nullcontext()
        if not is_locked:
            from bert_common import leases

            lease = leases.holding(directory, busy)
        with lease:
            yield


def note_start(directory: str, devices: str) -> None:
    """Notes in `flags.json` when, where and by which command a run starts.

    A start that can't be recorded is a warning.
    """
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
        starts = [*read_starts(directory), start]
        _write_flags(directory, {"starts": starts[-_MAX_STARTS:]})
    except (OSError, UserError) as error:
        locks.check_held()
        message = f"warning: this start is not recorded: {in_one_line(error)}"
        say(message, file=sys.stderr)


def read_starts(directory: str) -> list[dict]:
    """Returns the recorded starts of runs in a directory, the oldest first."""
    # Runs of earlier versions recorded none.
    content = json_files.read_object(os.path.join(directory, FLAGS_FILE), {"starts": list | None})
    return content.get("starts") or []


def _versions() -> dict[str, str]:
    versions = {"bert-tf": bert_tf.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        versions[package] = version(package) or "unknown"
    return versions


@functools.cache
def _commit() -> dict[str, object] | None:
    """Returns the commit of this code's checkout, and whether files differ from it.

    None if the code is in no checkout.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(bert_tf.__file__)))
    if not os.path.exists(os.path.join(root, ".git")):
        return None
    # A hook of git sets variables that name its own repository.
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


def check_layout(directory: str) -> None:
    """Raises `UserError` if a run directory has entries that a run must not write to or open.

    Those are a file or a symbolic link in the place of one of the run's subdirectories, and a pipe
    or a device in the directory or in one of these. All may be missing; the directory itself may
    be a link.
    """
    folders = [directory]
    for name in (TRAIN, EVAL, BEST_DIRECTORY, ACTIVATIONS, TEACHER_OUTPUTS):
        path = os.path.join(directory, name)
        folders.append(path)
        # A link would let a run change files elsewhere.
        if os.path.islink(path):
            raise UserError(
                f"--output_dir={directory}: {path} is a symbolic link, and what it leads to would "
                "be changed: remove the link"
            )
        if files.exists(path) and not files.is_directory(path):
            raise UserError(
                f"--output_dir={directory}: {path} is a file, a directory must be there: "
                "move it away"
            )
    for folder in folders:
        if not files.is_directory(folder):
            continue
        for name in files.list_directory(folder):
            path = os.path.join(folder, name)
            # Opening a pipe would wait forever.
            if files.is_special(path):
                raise UserError(
                    f"--output_dir={directory}: {path} is a pipe or a device: move it away"
                )


def check_same_model(directory: str, config: BertConfig, task: Mapping[str, object] | None) -> None:
    """Raises `UserError` if a directory holds checkpoints of another model or task.

    Args:
      task: content of `task.json`; None for pre-training.
    """
    path = os.path.join(directory, CONFIG_FILE)
    if latest_checkpoint(directory) is None or not files.exists(path):
        return
    existing_task = companion_files.read_task_file(os.path.join(directory, TASK_FILE))
    task = task or {}
    # Classifiers of earlier versions do not say whether they read pairs.
    defaults = {"kind": "pre-training", "pooling": "none", "pair": task.get("pair")}
    for name, default in defaults.items():
        before = existing_task.get(name, default)
        after = task.get(name, default)
        if before != after:
            raise UserError(
                f"--output_dir={directory} holds a run of another task ({name} is {before} there "
                f"and {after} here): choose another directory, or resume it as it was begun"
            )
    # Keys that older configurations lack have their defaults by now.
    existing_values = BertConfig.from_file(path).without_classifier_dropout().to_dict()
    values = config.without_classifier_dropout().to_dict()
    differences = []
    for key in sorted({*existing_values, *values}):
        before = existing_values.get(key)
        after = values.get(key)
        if before != after:
            differences.append(f"{key} is {before} there and {after} here")
    if differences:
        raise UserError(
            f"--output_dir={directory} holds checkpoints of another configuration "
            f"({'; '.join(differences)}): choose another directory, or the configuration that is "
            "there"
        )


def check_same_variables(directory: str, flags: Mapping[str, object]) -> None:
    """Raises `UserError` if the run in a directory trains other variables.

    The message names the first flag that differs.
    """
    existing_flags = read_flags(directory)
    if latest_checkpoint(directory) is None or not existing_flags:
        return
    existing_flags = {**_EARLIER, **existing_flags}
    for switch, dependent_flags in _VARIABLES.items():
        names = [switch]
        if flags.get(switch):
            names += dependent_flags
        for name in names:
            if name not in flags or name not in existing_flags:
                continue
            before = existing_flags[name]
            after = flags[name]
            if plain(before) != plain(after):
                raise UserError(
                    f"--output_dir={directory} holds a run with --{name}={as_flag(before)}, "
                    f"--{name}={as_flag(after)} is given: resume it as it was begun, or choose "
                    "another directory"
                )


def read_flags(directory: str) -> dict[str, object]:
    """Returns the effective flags of the last run in a directory; empty if there is none."""
    # A start without training notes itself, but no flags.
    content = json_files.read_object(os.path.join(directory, FLAGS_FILE), {"flags": dict | None})
    return content.get("flags") or {}


def changed_flags(directory: str, flags: Mapping[str, object]) -> list[str]:
    """Returns the flags that differ from the last run's, e.g. "learning_rate: 0.0001 → 5e-05"."""
    existing_flags = read_flags(directory)
    changes = []
    for name, value in flags.items():
        if name not in existing_flags:
            continue
        before = plain(existing_flags[name])
        after = plain(without_secrets(value))
        if before != after:
            changes.append(f"{name}: {before} → {after}")
    return changes


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
    """Writes configuration, vocabulary, tokenizer_config.json, task.json and flags.json.

    Args:
      script: name of the script of the run.
      flags: name → effective value.
      vocab_file, do_lower_case, vocab_sha256: None if not known.
      task: content of `task.json`; None for pre-training.
      given: names of the flags on the command line.
    """
    settings = TokenizerSettings(do_lower_case=do_lower_case, fingerprint=vocab_sha256)
    config_file = os.path.join(directory, CONFIG_FILE)
    is_same = False
    # A file with the same values keeps its formatting: the user may have written it.
    with contextlib.suppress(UserError):
        is_same = files.exists(config_file) and BertConfig.from_file(config_file) == config
    if not is_same:
        config.to_file(config_file)
    if vocab_file is not None:
        vocabulary = Vocabulary.from_file(vocab_file)
        settings = vocabulary.settings(do_lower_case, vocab_sha256)
        # A run that resumes reads the vocabulary that it would overwrite.
        target = os.path.join(directory, VOCAB_FILE)
        if not files.same_file(vocab_file, target):
            files.copy(vocab_file, target)
    write_settings(directory, settings)
    if task is not None:
        json_files.write(os.path.join(directory, TASK_FILE), dict(task))
    _write_flags(
        directory,
        {"script": script, "flags": dict(flags), "given": sorted(given), "versions": _versions()},
    )


def _write_flags(directory: str, changes: Mapping[str, object]) -> None:
    """Replaces some keys of `flags.json`."""
    path = os.path.join(directory, FLAGS_FILE)
    json_files.write(path, without_secrets({**json_files.read_object(path), **changes}))


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Returns metrics rounded to 7 digits, as in `metrics.jsonl`."""
    return {name: float(f"{value:.7g}") for name, value in metrics.items()}


def read_metrics(directory: str) -> list[dict]:
    """Returns the lines of `metrics.jsonl`, without an incomplete last one.

    Raises `UserError` if a line is no report.
    """
    path = os.path.join(directory, companion_files.METRICS_FILE)
    return json_files.read_objects(path, {"step": int, "split": str})

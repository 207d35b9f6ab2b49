"""Modules that every package may use; none imports TensorFlow, so that text tools start at once.

    options.py        options, each declared once
    cli.py            the start and the end of every script, values of flags in YAML and JSON files
    foreign_flags.py  names of flags in other programs
    errors.py         `UserError`; the extras that bring optional packages
    plugins.py        modules that are imported when somebody asks for them by name
    files.py          files on any file system, gzipped or not; written whole or not at all
    text_lines.py     numbered and decoded lines of text files
    outputs.py        whether a path may be written: names of checkpoints, runs and indexes
    remote_files.py   what `files.py` needs of TensorFlow
    json_files.py     JSON files and their fields
    manifests.py      files that are kept between processes: what they were made from
    locks.py          locks on directories and files
    leases.py         leases on directories of file systems without locks
    parallel.py       work on several processes, results in order
    gpus.py           the driver of GPUs, options of XLA, the cache of compiled programs
    progress.py       the progress bar, and colors on a terminal

This file is read first and uses the syntax of Python 3.6, so that an unsupported Python, or one
without our packages, ends with one line.
"""

import importlib.util
import os
import sys
import types

# TensorFlow reads the variable when it is imported, which happens after the import of this package.
# By default it logs a dozen lines about the CPU and missing GPU drivers; errors are raised anyway.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# (first version, end) of each range; pyproject.toml has the same.
PYTHON = (3, 11), (3, 14)
PACKAGES = {"tensorflow": ((2, 20), (2, 22)), "keras": ((3, 12), (3, 16)), "numpy": ((2,), (3,))}
# Modules that all scripts import to read their flags → the packages that bring them.
_FIRST = {
    "absl": "absl-py",
    "filelock": "filelock",
    "numpy": "numpy",
    "tqdm": "tqdm",
    "yaml": "PyYAML",
}
_HINT = (
    "`make env` makes an environment in .venv, `pip install .` completes this one "
    "(docs/installation.md)"
)


class WrongEnvironment(ImportError):
    """Raised for an unsupported Python, or a package that is missing or of another version."""


def check_tensorflow() -> None:
    """Raises `WrongEnvironment` unless TensorFlow, Keras and numpy are versions that this project
    is tested with.

    Makes TensorFlow the backend of Keras, whatever Keras' configuration file says; another one in
    KERAS_BACKEND is an error.
    """
    if os.environ.setdefault("KERAS_BACKEND", "tensorflow") != "tensorflow":
        raise WrongEnvironment(
            f"KERAS_BACKEND={os.environ['KERAS_BACKEND']}: the scripts compute with TensorFlow: "
            "unset it, or set it to tensorflow; the library takes others (docs/keras.md)"
        )
    for package, (first, end) in PACKAGES.items():
        installed = version(package)
        if installed is None:
            if importlib.util.find_spec(package) is None:
                raise WrongEnvironment(f"{sys.executable} has no package {package}: {_HINT}")
            # A build under another name, such as tensorflow-cpu: its version is not checked.
            continue
        numbers = tuple(int(part) for part in installed.split(".")[: len(first)])
        if not first <= numbers < end:
            raise WrongEnvironment(
                f"{package} {installed} is installed: {_dotted(first)} or newer, below "
                f"{_dotted(end)}, is needed: {_HINT}"
            )


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in numbers)


def version(package: str) -> "str | None":
    """Returns the version of an installed package; None if no package of this name is installed."""
    # The import takes as long as a script needs to answer --help.
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _in_one_line(
    kind: "type[BaseException]", error: BaseException, trace: "types.TracebackType | None"
) -> None:
    """Replaces `sys.excepthook`: prints a `WrongEnvironment` as one line."""
    if not issubclass(kind, WrongEnvironment):
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write(f"error: {error}\n")
    raise SystemExit(2)


# Nothing starts without these, or under another Python. A program that does not catch the error
# ends with one line instead of a traceback, and with exit status 2.
_missing = [_FIRST[module] for module in sorted(_FIRST) if importlib.util.find_spec(module) is None]
if not PYTHON[0] <= sys.version_info[:2] < PYTHON[1]:
    sys.excepthook = _in_one_line
    raise WrongEnvironment(
        f"{sys.executable} is Python {sys.version_info[0]}.{sys.version_info[1]}: 3.11, 3.12 or "
        "3.13 is needed, `make env` takes the newest of them (docs/installation.md)"
    )
if _missing:
    sys.excepthook = _in_one_line
    raise WrongEnvironment(f"{sys.executable} has no package {_missing[0]}: {_HINT}")

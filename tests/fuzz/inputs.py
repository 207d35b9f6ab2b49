"""Gives every script wrong input and reports what does not end with one line, and what is damaged
or taken silently.

  python -m tests.fuzz.inputs --runs=300 --seed=1
  python -m tests.fuzz.inputs --runs=1 --seed=1 --first=217          # one of them again
  python -m tests.fuzz.inputs --runs=100 --scripts=predict,run_squad

Each run spoils one thing (`mutations.py`) of a command that is right (`workspace.py`). Many runs
share a process, which ends, and is replaced, when one of them takes too long or crashes.
"""

import concurrent.futures
import contextlib
import dataclasses
import faulthandler
import hashlib
import multiprocessing
import os
import pathlib
import pkgutil
import resource
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator

if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from bert_common import cli
from bert_common.errors import UserError, as_user_error
from bert_common.options import Options, option
from tests.fuzz.mutations import Case, make_case
from tests.fuzz.workspace import COMMANDS, OTHERS, Command, add_runs, make_workspace

# How a run may end; the others are findings.
ACCEPTED, REFUSED, TRACEBACK, NOISE, CRASH = "accepted", "refused", "traceback", "noise", "crash"
# A run has changed files that must stay, or has taken other inputs than those that its directory
# was made from.
DAMAGE, SILENT = "damage", "silent exchange"
GOOD = (ACCEPTED, REFUSED)
# Lines of the libraries' own logs and of Python's warnings, beside an error of one line.
_NOISE = ("Traceback", "Exception in thread", "Exception ignored", "UserWarning", "RuntimeWarning")
_LONGEST_MESSAGE = 1500
# Graphs of earlier runs stay in a process's memory.
_RUNS_PER_PROCESS = 60
# What has been found so far is printed: a run may be cut off.
_RUNS_BETWEEN_COUNTS = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class FuzzOptions(Options):
    """Runs with wrong input."""

    runs: int = option(300, "How many.", minimum=1)
    seed: int = option(1, "Of all of them.", minimum=0)
    first: int = option(0, "Number of the first run.", minimum=0)
    scripts: tuple[str, ...] = option((), "Names without .py; only these.", default_text="all")
    seconds: float = option(180.0, "Longest time of a run.", above=0)
    gigabytes: float = option(6.0, "Most memory of a process.", above=0)

    @property
    def commands(self) -> tuple[Command, ...]:
        found = tuple(
            one
            for one in COMMANDS
            if not self.scripts or pathlib.Path(one.script).stem in self.scripts
        )
        if not found:
            raise UserError(f"--scripts={','.join(self.scripts)}: no such script")
        return found


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a run ended: one of the kinds above, and the message or the traceback."""

    kind: str
    text: str


def run_case(case: Case, workspace: pathlib.Path) -> Ending:
    """Runs a case in this process, in a copy of the workspace that is the working directory
    meanwhile."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory) / "work"
        shutil.copytree(workspace, folder)
        os.chdir(folder)
        try:
            with _captured(pathlib.Path(directory) / "before"):
                _run_before(case.command, folder)
            case.spoil(folder)
            contents = _contents(folder)
            for name in case.command.own:
                contents.pop(name, None)
            with (
                _captured(pathlib.Path(directory) / "log") as log,
                _exchanging(case, folder) as was_exchanged,
            ):
                given = _arguments(case.command, case.command.arguments, folder)
                ending = _ending(case.command, given)
        finally:
            os.chdir(before)
        if was_exchanged():
            # What the attack itself has changed counts as it is now.
            contents[case.while_read[0]] = _content(folder / case.while_read[0])
            if ending.kind == ACCEPTED:
                return Ending(SILENT, "another input was taken while it was read")
        changed = sorted(
            name for name, content in contents.items() if _content(folder / name) != content
        )
        if ending.kind == ACCEPTED:
            # A cache whose files have other names than the run's own is none of its.
            exchanged = [
                name
                for name in contents
                if _is_below(name, case.exchanged)
                and (folder / name).is_file()
                and (workspace / name).is_file()
            ]
            if exchanged and not {*exchanged} & {*changed}:
                return Ending(SILENT, "other inputs were taken as they are")
            changed = [name for name in changed if _is_below(name, case.kept)]
        if ending.kind in GOOD and changed:
            return Ending(DAMAGE, f"{ending.text}\nchanged: {', '.join(changed)}")
        return _with_noise(ending, log.read_text("utf-8", errors="replace").splitlines())


def _run_before(command: Command, folder: pathlib.Path) -> None:
    """Runs the commands that come before one, and removes what is to be lost of their files."""
    for arguments in command.before:
        ending = _ending(command, _arguments(command, arguments, folder))
        if ending.kind != ACCEPTED:
            raise ValueError(f"a run before {command.script} has failed: {ending.text}")
    for name in command.lost:
        (folder / name).unlink()


def _arguments(command: Command, arguments: dict[str, str], folder: pathlib.Path) -> list[str]:
    # Tokenizers of a process are kept by the path of their vocabulary.
    paths = {
        name: str(folder / value) if value in command.inputs else value
        for name, value in arguments.items()
    }
    return [
        command.script,
        *(f"--{name}={value}" for name, value in paths.items()),
        *command.words,
    ]


# Path → what is done at the moment in which this process opens it. Audit hooks stay until a
# process ends, so that there is one for all runs.
_at_opening: dict[str, Callable[[], None]] = {}
_hooks: list[Callable] = []


def _watch_openings(event: str, arguments: tuple) -> None:
    if event == "open" and _at_opening and isinstance(arguments[0], str):
        change = _at_opening.get(os.path.abspath(arguments[0]))
        if change is not None:
            change()


@contextlib.contextmanager
def _exchanging(case: Case, folder: pathlib.Path) -> Iterator[Callable[[], bool]]:
    """Puts another file in the place of the one of a case at its opening, while the block runs;
    gives what says whether it came so far."""
    if case.while_read is None:
        yield lambda: False
        return
    name, left = case.while_read

    def change() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            shutil.copyfile(folder / OTHERS / name, folder / "another")
            os.replace(folder / "another", folder / name)

    if _watch_openings not in _hooks:
        _hooks.append(_watch_openings)
        sys.addaudithook(_watch_openings)
    _at_opening[str(folder / (case.opened or name))] = change
    try:
        yield lambda: left <= 0
    finally:
        _at_opening.clear()


def _is_below(name: str, directories: tuple[str, ...]) -> bool:
    return f"{name}/".startswith(tuple(f"{one}/" for one in directories))


def _contents(folder: pathlib.Path) -> dict[str, object]:
    """Path of every file below a directory → what must stay as it is."""
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*")}


def _content(path: pathlib.Path) -> object:
    if path.is_symlink() or not path.is_file():
        return path.is_symlink(), path.is_dir(), path.is_fifo()
    return hashlib.sha256(path.read_bytes()).digest()


def _with_noise(ending: Ending, log: list[str]) -> Ending:
    """Noise where a good ending's message is long or of several lines, or has traces of errors
    beside it."""
    noise = [line for line in log if any(part in line for part in _NOISE)]
    is_plain = len(ending.text) <= _LONGEST_MESSAGE and len(ending.text.splitlines()) <= 1
    if ending.kind not in GOOD or (is_plain and not noise):
        return ending
    return Ending(NOISE, "\n".join([ending.text, *noise]))


def _ending(command: Command, arguments: list[str]) -> Ending:
    options, target, positional = command.entry
    try:
        parsed = cli.parse(options, arguments, positional)
        parsed.check_inputs()
        pkgutil.resolve_name(target)(parsed)
        return Ending(ACCEPTED, "")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        refusal = as_user_error(error) if isinstance(error, Exception) else None
        return (
            Ending(REFUSED, str(refusal)) if refusal else Ending(TRACEBACK, traceback.format_exc())
        )


@contextlib.contextmanager
def _captured(log: pathlib.Path) -> Iterator[pathlib.Path]:
    """Everything that is written to the standard streams, also by C++, goes to a file; standard
    input is empty."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (0, 1, 2)]
    streams = sys.stdin, sys.stdout, sys.stderr
    with open(os.devnull, "rb") as nothing, open(log, "wb") as file:
        for number, target in enumerate((nothing, file, file)):
            os.dup2(target.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            for number, mode in enumerate("rww")
        )
        try:
            yield log
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)


def _run_number(options: FuzzOptions, number: int, workspace: pathlib.Path) -> Ending:
    """A run in a process of its own kind: one that ends itself when it takes too long."""
    faulthandler.dump_traceback_later(options.seconds, exit=True)
    try:
        return run_case(make_case(options.commands, options.seed, number), workspace)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _limit_memory(gigabytes: float) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 1e9),) * 2)


def _start_process(options: FuzzOptions) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(
        1,
        multiprocessing.get_context("spawn"),
        _limit_memory,
        (options.gigabytes,),
        max_tasks_per_child=_RUNS_PER_PROCESS,
    )


def main(options: FuzzOptions) -> int:
    """Runs the cases and reports; status 1 where there is a finding."""
    counts: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as directory:
        workspace = pathlib.Path(directory)
        make_workspace(workspace)
        add_runs(workspace)
        process = _start_process(options)
        for number in range(options.first, options.first + options.runs):
            try:
                ending = process.submit(_run_number, options, number, workspace).result()
            except concurrent.futures.BrokenExecutor:
                ending = Ending(CRASH, f"the process ended, perhaps after {options.seconds:g} s")
                process = _start_process(options)
            counts[ending.kind] = counts.get(ending.kind, 0) + 1
            done = number + 1 - options.first
            if done % _RUNS_BETWEEN_COUNTS == 0:
                print(f"{done} runs: {_listed(counts)}", flush=True)
            if ending.kind not in GOOD:
                case = make_case(options.commands, options.seed, number)
                print(
                    f"{number}: {ending.kind}: {case.command.script}, {case.change}\n  "
                    + ascii(ending.text[-1200:])[1:-1].replace("\\n", "\n  "),
                    flush=True,
                )
        process.shutdown()
    print(f"{options.runs} runs of seed {options.seed}: " + _listed(counts))
    return int(any(kind not in GOOD for kind in counts))


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


if __name__ == "__main__":
    cli.run(FuzzOptions, main)

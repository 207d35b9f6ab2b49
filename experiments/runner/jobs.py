"""Jobs, commands of this project with what they read and what they make; a plan is many of them,
and is run.

A job owns a directory, `<output_dir>/jobs/<name>/`, and writes nowhere else. What it reads is
either made by another job (`Made`) or the user's (`Given`), so that the order of the jobs follows
from their flags. Any command may be given again where it was stopped. Jobs that are not complete
are run several at a time, each with a log in its directory.

A job is complete where the result kept there (`bert_tf/runs/results.py`) is made from what it is
made from today, and its file is there: a change of settings makes incomplete what depends on it.
"""

import contextlib
import dataclasses
import functools
import importlib
import itertools
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping

from bert_common import cli, files, json_files, parallel
from bert_common.errors import UserError
from bert_common.options import Options
from bert_common.progress import Progress
from bert_tf.runs import results
from bert_tf.runs.provenance import content_digest

JOBS = "jobs"
LOG_FILE = "log.txt"
_PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SECONDS_BETWEEN_LOOKS = 0.2
# For a job to save and end after a signal.
_SECONDS_TO_SAVE = 120.0
_KIND_FILE = "experiment.json"
# (script with its arguments, log file) → the process.
Launch = Callable[[list[str], str], subprocess.Popen]


@dataclasses.dataclass(frozen=True)
class Made:
    """A file or directory that a job makes: the job's name, and the path in its directory, "" for
    itself."""

    job: str
    path: str = ""


@dataclasses.dataclass(frozen=True)
class Given:
    """Files of the user: a path, or patterns separated by commas."""

    path: str


@dataclasses.dataclass(frozen=True)
class Job:
    """A command.

    Attributes:
      script: relative to the project.
      flags: name → value: text, number, truth, `Made`, `Given`, or a tuple of such, with commas
        between them; a tuple in a tuple has its parts concatenated.
      result: the file that is there when the job is complete.
      examples: sequences that a model is trained on; 0 where there is no model.
      flops: floating-point operations of the matrix products.
    """

    name: str
    script: str
    flags: Mapping[str, object]
    result: str
    examples: int = 0
    flops: float = 0.0

    def needs(self) -> list[str]:
        """Names of the jobs that must be complete before."""
        return list(
            dict.fromkeys(
                one.job
                for one in _parts(tuple(self.flags.values()))
                if isinstance(one, Made) and one.job != self.name
            )
        )


def _parts(value: object) -> list[object]:
    """A value, or those that a tuple is made of."""
    return [one for part in value for one in _parts(part)] if isinstance(value, tuple) else [value]


def options_class(script: str) -> type[Options]:
    """The options of a script, the one class of them that it imports."""
    module = importlib.import_module(script.removesuffix(".py").replace("/", "."))
    (found,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Options) and value is not Options
    )
    return found


class Plan:
    """Jobs by their names, each after those it needs, in an output directory."""

    def __init__(self, directory: str):
        self.directory = directory
        self.jobs: dict[str, Job] = {}

    def add(self, job: Job) -> Job:
        """Takes a job; one that is there already, from another row or table, is shared.

        Raises:
          ValueError: another job has the name, or something is read that no earlier job makes.
        """
        if self.jobs.get(job.name, job) != job:
            raise ValueError(f"two different jobs are called {job.name}")
        if unknown := set(job.needs()) - self.jobs.keys():
            raise ValueError(f"{job.name} reads of {', '.join(unknown)}, which is no earlier job")
        return self.jobs.setdefault(job.name, job)

    def path(self, job: str, name: str = "") -> str:
        """A file of a job, or its directory."""
        return os.path.join(self.directory, JOBS, job, name).rstrip("/")

    def command(self, job: Job) -> list[str]:
        """The script and its arguments, with real paths."""
        return [
            job.script,
            *(
                f"--{'' if value else 'no'}{name}"
                if isinstance(value, bool)
                else f"--{name}={self._text(value)}"
                for name, value in job.flags.items()
            ),
        ]

    def _text(self, value: object, separator: str = ",") -> str:
        """A flag's value as it is typed."""
        if isinstance(value, tuple):
            return separator.join(self._text(one, separator="") for one in value)
        return (
            self.path(value.job, value.path)
            if isinstance(value, Made)
            else str(value.path if isinstance(value, Given) else value)
        )

    def check(self) -> None:
        """Parses every command with the options of its script; raises `UserError` for a wrong flag
        or value."""
        for job in self.jobs.values():
            cli.parse(options_class(job.script), self.command(job))

    def needed(self, results: Collection[str]) -> list[Job]:
        """The jobs that make the results of some jobs, these included, in the order of the plan."""
        wanted = set(results)
        for name, job in reversed(self.jobs.items()):
            wanted.update(job.needs() if name in wanted else ())
        return [job for name, job in self.jobs.items() if name in wanted]

    def sources(self, content: Callable[[str], str]) -> dict[str, dict[str, object]]:
        """Name of a job → what its result is made from: its flags, what they name, how that was
        made.

        `content` makes a digest of the contents of the user's files, of a path or patterns.
        """
        found: dict[str, dict[str, object]] = {}

        def identify(value: object) -> str:
            if isinstance(value, tuple):
                parts = _parts(value)
                inner = list(map(identify, parts))
                return (
                    results.digest(inner)
                    if any(isinstance(one, Made | Given) for one in parts)
                    else ",".join(inner)
                )
            if isinstance(value, Made):
                return (
                    results.digest([found[value.job], value.path])
                    if value.job in found
                    else value.path
                )
            return content(value.path) if isinstance(value, Given) else str(value)

        for name, job in self.jobs.items():
            found[name] = {
                "job": name,
                "script": job.script,
                "result": job.result,
                **{flag: identify(value) for flag, value in job.flags.items()},
            }
        return found


class State:
    """The jobs of a plan in their output directory.

    Raises:
      UserError: the directory can't be written, or was made at another scale or by an earlier
        version; a file of the user is missing.
    """

    def __init__(self, plan: Plan, scale: str):
        self._plan = plan
        files.make_output_directory(plan.directory, "output_dir")
        path, where = (
            os.path.join(plan.directory, _KIND_FILE),
            f"--output_dir={plan.directory} holds",
        )
        found = json_files.read_object(path, {"scale": str, "version": int | None})
        if found and found.get("version") != results.VERSION:
            raise UserError(
                f"{where} experiments of another version of this program, whose results are not read: choose "
                "another directory"
            )
        if found.get("scale", scale) != scale:
            raise UserError(
                f"{where} experiments of --scale={found['scale']}: choose another directory for --scale={scale}"
            )
        json_files.write(path, {"scale": scale, "version": results.VERSION})
        files.make_output_directory(os.path.join(plan.directory, JOBS), "output_dir")
        self._sources = plan.sources(functools.cache(_content))

    def has_result(self, job: Job) -> bool:
        return os.path.exists(self._plan.path(job.name, job.result))

    def result(self, name: str) -> results.Result | None:
        """What was kept, with details: command, machine; None of a job that was never begun."""
        return results.read_result(self._plan.path(name), {"command": list[str], "machine": str})

    def complete(self) -> set[str]:
        """Names of the jobs of which nothing is to be done."""
        return {
            name
            for name, job in self._plan.jobs.items()
            if (found := self.result(name))
            and found.is_complete
            and self.has_result(job)
            and not results.differences(found.sources, self._sources[name])
        }

    def begin(self, job: Job) -> str | None:
        """Notes that a job begins, in the directory where it was stopped; one that was made from
        something else gets another name, which is returned as a note."""
        directory, found, note = self._plan.path(job.name), self.result(job.name), None
        changes = (
            results.differences(found.sources, self._sources[job.name])
            if found
            else ["what it is made from is not known"]
            if os.path.isdir(directory) and os.listdir(directory)
            else []
        )
        if changes:
            aside = next(
                name
                for number in itertools.count(1)
                if not os.path.lexists(name := f"{directory}.replaced-{number}")
            )
            with files.user_error(f"can't rename {directory}"):
                os.rename(directory, aside)
            note = f"{job.name} is made again, what was there is kept in {aside} ({'; '.join(changes)})"
        files.make_output_directory(directory, "output_dir")
        machine = f"{parallel.default_num_workers()} cores, {platform.machine()}, Python {platform.python_version()}"
        results.write_result(
            directory,
            results.Result(
                self._sources[job.name],
                details={"command": self._plan.command(job), "machine": machine},
            ),
        )
        return note


def _content(patterns: str) -> str:
    """Digest of the names and contents of the user's files: those of patterns, or all below a
    directory."""
    if not os.path.isdir(patterns):
        return content_digest(files.expand_patterns(patterns, "corpus"))
    return content_digest(
        sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(patterns) for name in names
        )
    )


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a plan: names of complete jobs, failed ones → why, those that wait; whether a
    signal came."""

    complete: frozenset[str]
    failed: Mapping[str, str]
    waiting: tuple[str, ...]
    interrupted: bool


def launcher(cores: int | None) -> Launch:
    """Starts commands of this project as processes that end with this one, on so many cores; None
    for all."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, (_PROJECT, os.environ.get("PYTHONPATH"))))
    }
    if cores is not None:
        environment |= dict.fromkeys(
            (
                "TF_NUM_INTRAOP_THREADS",
                "TF_NUM_INTEROP_THREADS",
                "OMP_NUM_THREADS",
                "OPENBLAS_NUM_THREADS",
            ),
            str(cores),
        )
    parent = os.getpid()

    def launch(command: list[str], log_file: str) -> subprocess.Popen:
        with open(log_file, "ab") as log:
            # A group of its own: a signal of the terminal comes to this process, which hands it on,
            # once.
            return subprocess.Popen(
                [sys.executable, os.path.join(_PROJECT, command[0]), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=lambda: parallel.end_with_parent(parent),
            )

    return launch


def run_jobs(plan: Plan, state: State, at_a_time: int, launch: Launch, what: str) -> Outcome:
    """Runs what is not complete of a plan, in its order; a job that fails stops only those that
    need it.

    Args:
      at_a_time: so many jobs.
      what: shown beside the progress.
    """
    complete, failed, interrupted = state.complete(), {}, False
    waiting = [job for name, job in plan.jobs.items() if name not in complete]
    running: dict[str, tuple[subprocess.Popen, float]] = {}
    old = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Progress(what, len(plan.jobs), "jobs", initial=len(complete)) as progress:
            while True:
                for job in [job for job in waiting if complete.issuperset(job.needs())][
                    : at_a_time - len(running)
                ]:
                    if note := state.begin(job):
                        progress.write(note)
                    running[job.name] = (
                        launch(plan.command(job), plan.path(job.name, LOG_FILE)),
                        time.monotonic(),
                    )
                    waiting.remove(job)
                if not running:
                    break
                progress.advance(0, running=", ".join(running))
                while not (
                    ended := {
                        name: status
                        for name, (process, _) in running.items()
                        if (status := process.poll()) is not None
                    }
                ):
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                for name, status in ended.items():
                    seconds = time.monotonic() - running.pop(name)[1]
                    # A command that was interrupted and can be resumed ends with status 0, too.
                    if status == 0 and state.has_result(plan.jobs[name]):
                        results.write_result(
                            plan.path(name),
                            dataclasses.replace(state.result(name), seconds=seconds),
                        )
                        complete.add(name)
                        progress.write(f"{name}: {seconds:.0f} s")
                        progress.advance(1)
                    else:
                        # The last error of the log, or else its last line.
                        log_file = plan.path(name, LOG_FILE)
                        with open(log_file, encoding="utf-8", errors="replace") as file:
                            lines = [line.strip() for line in file if line.strip()] or [
                                "it said nothing"
                            ]
                        last = (
                            [
                                line.removeprefix("error: ")
                                for line in lines
                                if line.startswith("error:")
                            ]
                            or lines
                        )[-1]
                        why = last if status else f"it made no {plan.jobs[name].result}: {last}"
                        failed[name] = f"{why} (status {status}, {log_file})"
                        progress.write(f"{name}: failed: {failed[name]}")
    except KeyboardInterrupt:
        interrupted = True
        print(
            f"\nstopping {', '.join(running)}: what is trained is saved; a second signal ends at once",
            file=sys.stderr,
            flush=True,
        )
        for process, _ in running.values():
            process.terminate()
        deadline = time.monotonic() + _SECONDS_TO_SAVE
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < deadline and any(
                process.poll() is None for process, _ in running.values()
            ):
                time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        for process, _ in running.values():
            process.kill()
        signal.signal(signal.SIGTERM, old)
    return Outcome(
        frozenset(complete),
        failed,
        tuple(name for name in plan.jobs if name not in complete and name not in failed),
        interrupted,
    )

"""Jobs: commands of this project, each with its directory, its result and the jobs before it.

A job owns a directory, `<output_dir>/jobs/<name>/`, and writes nowhere else. Its command and its
time are recorded there in `job.json`, its output in `log.txt`. A job is complete when its result
file exists and `job.json` does not say that the last run was interrupted: a job that was run by
hand, for example on a cluster, has no `job.json`. Every command resumes when it is run again.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

from bert_common import files, json_files, parallel
from bert_common.errors import UserError
from bert_common.options import as_flag
from bert_common.progress import Progress

LOG_FILE = "log.txt"
RECORD_FILE = "job.json"
_PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
_SECONDS_BETWEEN_POLLS = 0.2
# Time for a job to save its state and end after a signal.
_SECONDS_TO_SAVE = 120.0
# Starts a command (script and arguments) whose output goes to a log file.
Launch = Callable[[list[str], str], subprocess.Popen]


@dataclasses.dataclass(frozen=True)
class Job:
    """A command.

    Attributes:
      name: unique name.
      directory: directory that it writes to.
      script: path relative to the project.
      flags: values by name: text, number, truth value, or a tuple of them.
      result: name of the file in its directory that exists when it is complete.
      needs: names of the jobs that must be complete before.
      sequences: number of sequences in a pre-training.
      flops: floating-point operations of a pre-training.
    """

    name: str
    directory: str
    script: str
    flags: Mapping[str, object]
    result: str
    needs: tuple[str, ...] = ()
    sequences: int = 0
    flops: float = 0.0

    def file(self, name: str) -> str:
        """Returns the path of a file in the job's directory."""
        return os.path.join(self.directory, name)

    def command(self) -> list[str]:
        """Returns the script and its arguments."""
        words = [self.script]
        for name, value in self.flags.items():
            if value is True:
                words.append(f"--{name}")
            elif value is False:
                words.append(f"--no{name}")
            else:
                words.append(f"--{name}={as_flag(value)}")
        return words

    def seconds(self) -> float | None:
        """Returns the time of the last run; None if it was interrupted or not started here.

        Raises:
          UserError: the directory has the record of another command, so that its files can be
            neither used nor resumed.
        """
        record = json_files.read_object(
            self.file(RECORD_FILE), {"command": list[str], "seconds": float | None}
        )
        if record and record["command"] != self.command():
            raise UserError(
                f"{self.directory} was made with other settings: choose another --output_dir, or "
                "move it and the jobs that read it away"
            )
        return record.get("seconds")

    def has_result(self) -> bool:
        return os.path.exists(self.file(self.result))

    def is_complete(self) -> bool:
        # No record at all: the job was run by hand, and its result counts.
        was_interrupted = self.seconds() is None and os.path.exists(self.file(RECORD_FILE))
        return self.has_result() and not was_interrupted

    def write_record(self, seconds: float | None) -> None:
        json_files.write(self.file(RECORD_FILE), {"command": self.command(), "seconds": seconds})

    def error(self, status: int) -> str | None:
        """Returns why an ended run has failed: the last error in its log, or its last line."""
        # A command that was interrupted and can be resumed ends with status 0 as well.
        if status == 0 and self.has_result():
            return None
        # Scripts print one line that begins with "error: "; libraries may print after it.
        message = "no output"
        with open(self.file(LOG_FILE), encoding="utf-8", errors="replace") as file:
            for line in file:
                is_error = line.startswith("error: ")
                if line.strip() and (is_error or not message.startswith("error: ")):
                    message = line.strip()
        log_file = self.file(LOG_FILE)
        return f"{message.removeprefix('error: ')} (status {status}, {log_file})"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Result of a run of jobs.

    Attributes:
      complete: names of the complete jobs.
      failed: error message of each failed job.
      interrupted: whether a signal stopped the run.
    """

    complete: frozenset[str]
    failed: Mapping[str, str]
    interrupted: bool


def process_launcher(cores: int | None) -> Launch:
    """Returns a function that starts commands as processes, on a number of cores (None for all)."""
    # Jobs run in the directory of the user, whose relative paths they are given, and import the
    # packages of the project.
    environment = dict(os.environ)
    python_path = [_PROJECT]
    if os.environ.get("PYTHONPATH"):
        python_path.append(os.environ["PYTHONPATH"])
    environment["PYTHONPATH"] = os.pathsep.join(python_path)
    # Several jobs run side by side; each would otherwise make threads for every core.
    if cores is not None:
        for name in (
            "TF_NUM_INTRAOP_THREADS",
            "TF_NUM_INTEROP_THREADS",
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
        ):
            environment[name] = str(cores)
        # A job on a GPU would otherwise take all of its memory.
        environment["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    # Jobs must not go on writing when this process was killed and the directory is free again.
    parent = os.getpid()

    def launch(command: list[str], log_file: str) -> subprocess.Popen:
        # Appended: the log of a job that resumes keeps what it printed before.
        with open(log_file, "ab") as log:
            return subprocess.Popen(
                [sys.executable, os.path.join(_PROJECT, command[0]), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                # Ctrl-C of the terminal must reach a job once, from this process: a second signal
                # ends a job before it has saved.
                start_new_session=True,
                preexec_fn=lambda: parallel.end_with_parent(parent),
            )

    return launch


def run_jobs(jobs: Mapping[str, Job], at_a_time: int, launch: Launch) -> Outcome:
    """Runs the jobs that are not complete, in order; a failure stops only the jobs that need it.

    Args:
      jobs: jobs by name, each after those that it needs.
      at_a_time: maximum number of jobs that run at the same time.
      launch: function that starts a command.

    Raises:
      UserError: a job's directory was made with other settings; the disk is full.
    """
    # All records are checked before the first job starts.
    complete = {name for name, job in jobs.items() if job.is_complete()}
    waiting = [job for name, job in jobs.items() if name not in complete]
    running: dict[str, subprocess.Popen] = {}
    started: dict[str, float] = {}
    failed: dict[str, str] = {}
    interrupted = False
    # A cluster's SIGTERM is handled as Ctrl-C is: jobs save before they end.
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Progress("experiments", len(jobs), "jobs", initial=len(complete)) as progress:
            while True:
                # Jobs are in an order that works, so that the first that can run is started.
                for job in list(waiting):
                    if len(running) < at_a_time and complete.issuperset(job.needs):
                        waiting.remove(job)
                        files.make_output_directory(job.directory, "output_dir")
                        # Until it ends, the record has no time: a kill makes it incomplete.
                        job.write_record(seconds=None)
                        started[job.name] = time.monotonic()
                        running[job.name] = launch(job.command(), job.file(LOG_FILE))
                # All are complete, or the rest needs a job that has failed.
                if not running:
                    break
                progress.advance(0, running=", ".join(running))
                job = jobs[_wait(running)]
                error = job.error(running.pop(job.name).poll())
                if error is None:
                    seconds = time.monotonic() - started[job.name]
                    job.write_record(seconds)
                    complete.add(job.name)
                    progress.write(f"{job.name}: {seconds:.0f} s")
                    progress.advance(1)
                else:
                    failed[job.name] = error
                    progress.write(f"{job.name} failed: {error}")
    except KeyboardInterrupt:
        interrupted = True
        _stop(running)
    finally:
        # After an error here, such as a full disk, or when a job has not ended in time.
        for process in running.values():
            process.kill()
        signal.signal(signal.SIGTERM, previous_handler)
    return Outcome(frozenset(complete), failed, interrupted)


def _wait(running: Mapping[str, subprocess.Popen]) -> str:
    """Waits until a process has ended; returns its name."""
    # Polled, as `os.wait` would also return processes that others have started.
    while True:
        for name, process in running.items():
            if process.poll() is not None:
                return name
        time.sleep(_SECONDS_BETWEEN_POLLS)


def _stop(running: Mapping[str, subprocess.Popen]) -> None:
    """Asks all processes to save and end, and waits for them; a second signal ends the waiting."""
    print(
        f"\nstopping {', '.join(running)}; a second signal ends them without saving",
        file=sys.stderr,
        flush=True,
    )
    for process in running.values():
        process.terminate()
    # A job that does not end is killed afterwards; it resumes from its last checkpoint.
    deadline = time.monotonic() + _SECONDS_TO_SAVE
    with contextlib.suppress(KeyboardInterrupt):
        for process in running.values():
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(_SECONDS_BETWEEN_POLLS)

r"""Kills a job at random moments, starts it again, and compares the final result with that of an
unbroken run.

  python tests/fuzz/kill.py --kills=100 --job=pretraining
  python tests/fuzz/kill.py --kills=20 --job=all --seed=3
  python tests/fuzz/kill.py --moves=10 --job=pretraining

The jobs are in `kill_jobs.py`. Everything is tiny and made in a temporary directory. A round stops
a command up to three times (SIGKILL or SIGTERM, at moments drawn from the seed and the length of
the unbroken run), then lets it end. A round fails where the command ends with another status than 0
or with a traceback, where the result differs, or where something is left that the unbroken run does
not leave. The first failing round ends the job; its directory stays to be looked at. With --moves a
command is suspended instead, another directory is put in the place of the one that it holds, and it
continues: nothing in that place may change. Exit status: 0, or 1 where a job has failed.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from tests.fuzz.kill_jobs import JOBS, Job  # noqa: E402
from tests.processes import cluster_variables  # noqa: E402

_MOST_KILLS_IN_A_ROUND = 3
_CHECKPOINT = re.compile(r"(.*?)ckpt-(\d+)\.")


class Failure(Exception):
    """A round went wrong."""


class Group:
    """The processes of a command, one or several workers, with their output in `directory.log`."""

    def __init__(self, job: Job, directory: pathlib.Path):
        directory.mkdir(exist_ok=True)
        self._log = pathlib.Path(f"{directory}.log")
        self._held = contextlib.ExitStack()
        variables = (
            self._held.enter_context(cluster_variables(job.workers)) if job.workers > 1 else [{}]
        )
        with open(self._log, "ab") as log:
            self._processes = [
                subprocess.Popen(
                    [sys.executable, str(PROJECT / job.command[0]), *job.command[1:]],
                    cwd=directory,
                    stdout=log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **job.environment, **one},
                )
                for one in variables
            ]

    def ends_within(self, seconds: float) -> bool:
        """Waits; whether all have ended."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            for process in self._processes:
                process.wait(max(deadline - time.monotonic(), 0.0))
            return True
        return False

    def finish(self) -> None:
        """Waits until the command has ended well.

        Raises:
          Failure: it has not.
        """
        self._end(self._processes)
        self._held.close()
        if any(process.returncode for process in self._processes):
            raise Failure(
                f"status {[process.returncode for process in self._processes]}: {self._last_lines()}"
            )

    def signal(self, number: signal.Signals, rng: random.Random) -> None:
        """Sends a signal to one of the processes, or to all, and waits until all have ended, of
        which the rest is killed.

        Raises:
          Failure: one that was asked to end (SIGTERM) has a traceback.
        """
        chosen = [rng.choice(self._processes)] if rng.random() < 0.5 else self._processes
        for process in chosen:
            process.send_signal(number)
        if number == signal.SIGTERM:
            # A worker that was not asked may wait for the other one to be started again.
            self._end(chosen)
        # What a scheduler does with the rest, sooner or later.
        self.ends_within(rng.uniform(0.0, 2.0) if len(self._processes) > 1 else 0.0)
        for process in self._processes:
            process.kill()
            process.wait()
        self._held.close()

    def suspend(self, change: Callable[[], object]) -> None:
        """Changes something while the processes stand still, and waits for their end.

        Raises:
          Failure: a traceback.
        """
        for process in self._processes:
            process.send_signal(signal.SIGSTOP)
        try:
            change()
        finally:
            for process in self._processes:
                process.send_signal(signal.SIGCONT)
        self._end(self._processes)
        self._held.close()

    def _end(self, processes: list[subprocess.Popen]) -> None:
        for process in processes:
            process.wait()
        if "Traceback" in self._log.read_text(errors="replace"):
            raise Failure(f"traceback: {self._last_lines()}")

    def _last_lines(self) -> str:
        return " | ".join(self._log.read_text(errors="replace").strip().splitlines()[-3:])


def is_done(job: Job, directory: pathlib.Path) -> bool:
    """Whether an output that must not exist when the command starts is there: the kill came after
    the work."""
    names = ("--output=", "--export_dir=", "--index_dir=")
    return any(flag.startswith(names) for flag in job.command) and (directory / "out").exists()


def run_round(
    job: Job, directory: pathlib.Path, seconds: float, rng: random.Random, most_kills: int
) -> list[str]:
    """Kills and restarts until the command has ended.

    Returns:
      signal and seconds after which it came, for each that met a living process.
    """
    killed = []
    for _ in range(rng.randint(1, most_kills)):
        group = Group(job, directory)
        # Imports take most of a tiny run: the second half of it is where files are written.
        moment, number = (
            seconds * rng.triangular(0.05, 1.1, 0.8),
            rng.choice((signal.SIGKILL, signal.SIGTERM)),
        )
        if group.ends_within(moment):
            group.finish()
            return killed
        group.signal(number, rng)
        killed.append(f"{number.name} at {moment:.2f} s")
        if is_done(job, directory):
            return killed
    Group(job, directory).finish()
    return killed


def names(directory: pathlib.Path) -> list[str]:
    """Everything below a directory; event files without the time in their names, each kind once.

    Of a directory's checkpoints only the last counts: SIGTERM saves others than the schedule.
    """
    found = {str(path.relative_to(directory)) for path in directory.rglob("*")}
    steps: dict[str, int] = {}
    for match in filter(None, map(_CHECKPOINT.match, found)):
        steps[match[1]] = max(int(match[2]), steps.get(match[1], 0))
    return sorted(
        {
            name.partition(".tfevents.")[0]
            for name in found
            if not (match := _CHECKPOINT.match(name)) or int(match[2]) == steps[match[1]]
        }
    )


def compare(expected: dict[str, object], found: dict[str, object]) -> None:
    """Raises `Failure` with the first difference."""
    for name in sorted({*expected, *found}):
        if expected.get(name) != found.get(name):
            raise Failure(
                f"{name} differs: {str(expected.get(name))[:200]} unbroken, {str(found.get(name))[:200]} here"
            )


def torment(name: str, job: Job, kills: int, seed: int, log: Callable[[str], None] = print) -> bool:
    """Kills a job until it was met `kills` times; says whether it always came out as if nothing had
    been."""
    rng = random.Random(f"{name} {seed}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"kill-{name}-"))
    job.prepare(folder)
    unbroken = folder / "unbroken"
    started = time.monotonic()
    Group(job, unbroken).finish()
    seconds = time.monotonic() - started
    expected = {"files": names(unbroken), **job.result(unbroken)}
    met = rounds = 0
    while met < kills:
        rounds += 1
        directory = folder / f"round{rounds}"
        killed = []
        try:
            killed = run_round(
                job, directory, seconds, rng, min(_MOST_KILLS_IN_A_ROUND, kills - met)
            )
            compare(expected, {"files": names(directory), **job.result(directory)})
        except Failure as failure:
            log(
                f"{name}: round {rounds} failed, see {directory}, after "
                f"{', '.join(killed) or 'unknown signals'}: {failure}"
            )
            return False
        met += len(killed)
        shutil.rmtree(directory)
    log(f"{name}: {met} kills in {rounds} rounds of {seconds:.0f} s, every result as unbroken")
    shutil.rmtree(folder)
    return True


def displace(
    name: str, job: Job, moves: int, seed: int, log: Callable[[str], None] = print
) -> bool:
    """Puts another directory in the place of the one that a job holds, so many times; says whether
    it always stayed as it was."""
    rng = random.Random(f"move {name} {seed}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"move-{name}-"))
    job.prepare(folder)
    started = time.monotonic()
    Group(job, folder / "unbroken").finish()
    seconds = time.monotonic() - started
    met = 0
    while met < moves:
        directory = folder / f"move{met}"
        group = Group(job, directory)
        if group.ends_within(seconds * rng.triangular(0.3, 1.0, 0.8)):
            group.finish()
            shutil.rmtree(directory)
            continue
        contents: dict[pathlib.Path, bytes] = {}

        def replace(directory: pathlib.Path = directory, contents: dict = contents) -> None:
            for place in filter(pathlib.Path.is_dir, list(directory.iterdir())):
                place.rename(folder / f"{place.name}.{directory.name}")
                place.mkdir()
                (place / "ckpt-1.index").write_text("of another process")
                (place / "flags.json").write_text("{}")
            for path in filter(pathlib.Path.is_file, directory.rglob("*")):
                contents[path] = path.read_bytes()

        try:
            group.suspend(replace)
            held = {path for path in contents if path.parent != directory}
            places = {path.parent for path in held}
            found = {path for place in places for path in place.rglob("*") if path.is_file()}
            if found != held or any(path.read_bytes() != contents[path] for path in held):
                raise Failure(f"{sorted(map(str, found ^ held)) or 'a file'} has changed")
        except Failure as failure:
            log(f"{name}: move {met} failed, see {directory}: {failure}")
            return False
        met += 1
    log(f"{name}: {met} moves, nothing was written or removed in the place of another")
    shutil.rmtree(folder)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10, help="how many kills must meet each job")
    parser.add_argument("--moves", type=int, help="moves of directories in place of kills")
    parser.add_argument("--job", choices=[*JOBS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    chosen = list(JOBS) if options.job == "all" else [options.job]
    attack, count = torment, options.kills
    if options.moves is not None:
        attack, count = displace, options.moves
    return 0 if all([attack(name, JOBS[name], count, options.seed) for name in chosen]) else 1


if __name__ == "__main__":
    raise SystemExit(main())

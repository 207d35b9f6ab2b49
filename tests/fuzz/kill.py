r"""Kills a job at random moments, starts it again, and compares the final result with that of an
unbroken run.

  python tests/fuzz/kill.py --kills=100 --job=pretraining
  python tests/fuzz/kill.py --kills=20 --job=all --seed=3
  python tests/fuzz/kill.py --moves=10 --job=pretraining
  python tests/fuzz/kill.py --exchanges=10 --job=distillation
  python tests/fuzz/kill.py --afresh=10 --job=finetuning

The jobs are in `kill_jobs.py`. Everything is tiny and made in a temporary directory. A round stops
a command up to three times (SIGKILL or SIGTERM, at moments drawn from the seed and the length of
the unbroken run), then lets it end. A round fails where the command ends with another status than 0
or with a traceback, where the result differs, or where something is left that the unbroken run does
not leave. The first failing round ends the job; its directory stays to be looked at. With --moves a
command is suspended instead, a directory of it is moved, removed or replaced by another one, and it
continues: it may write and remove nothing in that place. With --exchanges one of its inputs becomes
another one meanwhile, or between two starts: the command ends with an error, or as if one of the
two had been there all the time. With --afresh the checkpoints of a finished run are removed, with
other files of it or not, and one of its inputs is exchanged or not: the next start is refused, or
makes the run of these inputs, and all that it leaves has one id. Exit status: 0, or 1 where a job
has failed.
"""

import argparse
import contextlib
import itertools
import json
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

from tests.fuzz.kill_jobs import JOBS, Job, add_others  # noqa: E402
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
        self._length_before = len(self._logged()) if self._log.exists() else 0
        self._held = contextlib.ExitStack()
        variables = (
            self._held.enter_context(cluster_variables(job.workers)) if job.workers > 1 else [{}]
        )
        parts: list[list[str]] = [[]]
        if job.machines > 1:
            parts = [[f"--part={number + 1}/{job.machines}"] for number in range(job.machines)]
        # Nobody reads what runs print: they must go on without. Errors go to the log.
        reader, unread = os.pipe()
        os.close(reader)
        is_run = job.command[0].startswith("run_")
        with open(self._log, "ab") as log, open(unread, "wb") as pipe:
            self._processes = [
                subprocess.Popen(
                    [sys.executable, str(PROJECT / job.command[0]), *job.command[1:], *part],
                    cwd=directory,
                    stdout=pipe if is_run else log,
                    stderr=log,
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **job.environment, **one},
                )
                for one, part in itertools.product(variables, parts)
            ]

    def ends_within(self, seconds: float) -> bool:
        """Waits; whether all have ended."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            for process in self._processes:
                process.wait(max(deadline - time.monotonic(), 0.0))
            return True
        return False

    def wait_for(self, text: str) -> None:
        """Waits until the log since this start has a text, or all have ended."""
        while text not in self._logged()[self._length_before :] and not self.ends_within(0.05):
            pass

    def finish(self) -> None:
        """Waits until the command has ended well.

        Raises:
          Failure: it has not.
        """
        self.wait()
        if any(process.returncode for process in self._processes):
            raise Failure(
                f"status {[process.returncode for process in self._processes]}: {self._last_lines()}"
            )

    def signal(self, number: signal.Signals, rng: random.Random) -> None:
        """Sends a signal to one of the processes, or to all, and waits until all have ended, of
        which the rest is killed.

        Raises:
          Failure: one that was asked to end (SIGTERM, SIGHUP) has a traceback.
        """
        chosen = [rng.choice(self._processes)] if rng.random() < 0.5 else self._processes
        for process in chosen:
            process.send_signal(number)
        if number != signal.SIGKILL:
            # A worker that was not asked may wait for the other one to be started again.
            self._end(chosen)
        # What a scheduler does with the rest, sooner or later.
        self.ends_within(rng.uniform(0.0, 2.0) if len(self._processes) > 1 else 0.0)
        for process in self._processes:
            process.kill()
            process.wait()
        self._held.close()

    def wait(self) -> None:
        """Waits for the end, however it is.

        Raises:
          Failure: a traceback.
        """
        self._end(self._processes)
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
        self.wait()

    @property
    def ended_well(self) -> bool:
        """Whether all have ended with status 0."""
        return all(process.returncode == 0 for process in self._processes)

    def _end(self, processes: list[subprocess.Popen]) -> None:
        for process in processes:
            process.wait()
        if "Traceback" in self._logged():
            raise Failure(f"traceback: {self._last_lines()}")

    def _last_lines(self) -> str:
        return " | ".join(self._logged().strip().splitlines()[-3:])

    def _logged(self) -> str:
        return self._log.read_text(errors="replace")


def run_to_the_end(job: Job, directory: pathlib.Path) -> None:
    """Gives a command, of several machines until all of them have ended well with everything there.

    Raises:
      Failure: it has not ended well.
    """
    if job.machines == 1:
        Group(job, directory).finish()
        return
    # They prepare, then write. One that is ahead refuses to write before the other has prepared.
    for _ in range(3):
        group = Group(job, directory)
        group.wait()
        if (directory / "out.tfrecord.stats.json").exists() and group.ended_well:
            return
    raise Failure("the machines do not come to an end")


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
            rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)),
        )
        if job.steps:
            group.wait_for(rng.choice(job.steps))
            moment = rng.uniform(0.0, seconds / len(job.steps))
        if group.ends_within(moment):
            if job.machines > 1:
                group.wait()
                continue
            group.finish()
            return killed
        group.signal(number, rng)
        killed.append(f"{number.name} at {moment:.2f} s")
        if is_done(job, directory):
            return killed
    run_to_the_end(job, directory)
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
    folder, seconds, expected = _prepared("kill", name, job)
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
    """Moves, removes or replaces a directory that a job writes in, so many times; says whether it
    left the place as it was and, where the directory was one in that of a run, whether the next
    start ended as if nothing had been or said why not."""
    rng = random.Random(f"move {name} {seed}")
    folder, seconds, expected = _prepared("move", name, job)
    endings: dict[str, int] = {}
    while sum(endings.values()) < moves:
        directory = folder / f"move{sum(endings.values())}"
        group = Group(job, directory)
        if group.ends_within(seconds * rng.triangular(0.3, 1.0, 0.8)):
            group.finish()
            shutil.rmtree(directory)
            continue
        change, depth = rng.choice(("moved", "removed", "replaced")), rng.choice((1, 1, 2))
        places: list[pathlib.Path] = []

        def move(
            directory: pathlib.Path = directory,
            change: str = change,
            depth: int = depth,
            places: list = places,
        ) -> None:
            for place in sorted(filter(pathlib.Path.is_dir, directory.glob("/".join("*" * depth)))):
                away = folder / f"{place.name}.{directory.name}"
                place.rename(away)
                places.append(place)
                if change == "removed":
                    shutil.rmtree(away)
                elif change == "replaced" and depth == 1:
                    place.mkdir()
                    (place / "ckpt-1.index").write_text("of another process")
                    (place / "flags.json").write_text("{}")
                elif change == "replaced":
                    # What a run has in its directory is replaced by what it had itself.
                    place.mkdir()
                    for path in filter(pathlib.Path.is_file, sorted(away.iterdir())[::2]):
                        shutil.copyfile(path, place / path.name)

        try:
            group.suspend(move)
            if depth == 1:
                _check_untouched(places, change)
            elif places:
                _check_resumed(job, directory, expected)
        except Failure as failure:
            log(f"{name}: {change} at depth {depth}, see {directory}: {failure}")
            return False
        ending = f"{change} at depth {depth}" if places else "nothing there"
        endings[ending] = endings.get(ending, 0) + 1
        shutil.rmtree(directory)
    log(f"{name}: nothing was written or removed in the place of another: {_counts(endings)}")
    shutil.rmtree(folder)
    return True


def _prepared(attack: str, name: str, job: Job) -> tuple[pathlib.Path, float, dict[str, object]]:
    """Makes the inputs of a job and lets it end once.

    Returns:
      the directory, the length of the run in seconds, and its result.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{attack}-{name}-"))
    job.prepare(folder)
    unbroken = folder / "unbroken"
    started = time.monotonic()
    run_to_the_end(job, unbroken)
    seconds = (time.monotonic() - started) / job.machines
    return folder, seconds, {"files": names(unbroken), **job.result(unbroken)}


def _counts(endings: dict[str, int]) -> str:
    return ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items()))


def _check_untouched(places: list[pathlib.Path], change: str) -> None:
    """Raises `Failure` if something has come to, or gone from, where a held directory was."""
    for place in places:
        found = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
        expected = ["ckpt-1.index", "flags.json"] if change == "replaced" else []
        if found != expected or (change != "replaced" and place.exists()):
            raise Failure(f"{place} contains {found}")
        if expected and (place / "flags.json").read_text() != "{}":
            raise Failure(f"{place}/flags.json has changed")


def _check_resumed(job: Job, directory: pathlib.Path, expected: dict[str, object]) -> None:
    """Starts a job again. Raises `Failure` if it ends as if it had succeeded, with another
    result."""
    try:
        Group(job, directory).finish()
    except Failure as failure:
        # An error of one line names what is missing.
        if "traceback" in str(failure):
            raise
        return
    found = job.result(directory)
    # A run that has ended needs its caches no more, and makes no lost ones anew.
    needed = {
        name: value
        for name, value in expected.items()
        if name != "files" and (name in found or not name.startswith("out/."))
    }
    compare(needed, found)


def exchange(
    name: str, job: Job, exchanges: int, seed: int, log: Callable[[str], None] = print
) -> bool:
    """Puts another file in the place of an input of a running job, so many times; says whether the
    job always ended with an error, or as if one of the two had been there all the time."""
    rng = random.Random(f"exchange {name} {seed}")
    folder, seconds, expected = _prepared("exchange", name, job)
    add_others(folder, job.inputs)
    others: dict[str, dict[str, object]] = {}
    endings: dict[str, int] = {}
    while sum(endings.values()) < exchanges:
        directory = folder / f"exchange{sum(endings.values())}"
        group_of_files = rng.choice(job.inputs)
        way = rng.choice(("in place", "moved there", "between starts"))
        group = Group(job, directory)
        if group.ends_within(seconds * rng.triangular(0.2, 1.0, 0.6)):
            group.finish()
            shutil.rmtree(directory)
            continue
        try:
            if way == "between starts":
                group.signal(rng.choice((signal.SIGKILL, signal.SIGTERM)), rng)
                swap(folder, group_of_files)
                group = Group(job, directory)
                group.wait()
            else:
                group.suspend(lambda files=group_of_files, way=way: swap(folder, files, way))
            swap(folder, group_of_files)
            ending = "refused"
            if group.ended_well:
                found = {"files": names(directory), **job.result(directory)}
                ending = "old" if found == expected else "new"
                if ending == "new":
                    compare(_with_other(folder, job, group_of_files, others), found)
        except Failure as failure:
            log(f"{name}: {group_of_files[0]} ({way}), see {directory}: {failure}")
            return False
        endings[ending] = endings.get(ending, 0) + 1
        shutil.rmtree(directory)
    log(f"{name}: no mixture of inputs: {_counts(endings)}")
    shutil.rmtree(folder)
    return True


def _with_other(
    folder: pathlib.Path,
    job: Job,
    group_of_files: tuple[str, ...],
    known: dict[str, dict[str, object]],
) -> dict[str, object]:
    """The result of a job with the other files of a group; `known` keeps it."""
    name = group_of_files[0]
    if name not in known:
        swap(folder, group_of_files)
        directory = folder / f"with-{name.replace('/', '-')}"
        Group(job, directory).finish()
        known[name] = {"files": names(directory), **job.result(directory)}
        swap(folder, group_of_files)
    return known[name]


# What a user may remove with the checkpoints of a run.
_LOST = (
    "checkpoint",
    "best",
    "best/best.json",
    "best/ckpt-*",
    "eval_*",
    "flags.json",
    "inputs.json",
    "metrics.jsonl",
    "predictions.jsonl",
    "task.json",
)


def begin_afresh(
    name: str, job: Job, count: int, seed: int, log: Callable[[str], None] = print
) -> bool:
    """Removes the checkpoints of a finished run, with other files and another input or not, so many
    times; says whether the next start was always refused, or made the run of its inputs."""
    rng = random.Random(f"afresh {name} {seed}")
    folder, _, expected = _prepared("afresh", name, job)
    add_others(folder, job.inputs)
    others: dict[str, dict[str, object]] = {}
    endings: dict[str, int] = {}
    for number in range(count):
        directory = folder / f"afresh{number}"
        shutil.copytree(folder / "unbroken", directory)
        lost = ("ckpt-*", *rng.sample(_LOST, rng.randint(0, 3)))
        for path in [path for pattern in lost for path in (directory / "out").glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        exchanged = rng.choice((None, *job.inputs))
        if exchanged:
            swap(folder, exchanged)
        group = Group(job, directory)
        try:
            group.wait()
            if exchanged:
                swap(folder, exchanged)
            ending = "refused"
            if group.ended_well:
                ending = "made anew"
                if exchanged:
                    expected_now = _with_other(folder, job, exchanged, others)
                else:
                    expected_now = expected
                found = {"files": names(directory), **job.result(directory)}
                compare(expected_now, found)
                check_ids(directory / "out")
        except Failure as failure:
            log(f"{name}: without {', '.join(lost)}, {exchanged}, see {directory}: {failure}")
            return False
        endings[ending] = endings.get(ending, 0) + 1
        shutil.rmtree(directory)
    log(f"{name}: nothing of the run before was taken: {_counts(endings)}")
    shutil.rmtree(folder)
    return True


def check_ids(run: pathlib.Path) -> None:
    """Raises `Failure` if the files of a run have not one id."""
    ids = {}
    for name in ("inputs.json", "task.json", "best/task.json", "best/best.json"):
        if (run / name).exists():
            ids[name] = json.loads((run / name).read_text()).get("run_id")
    if len(set(ids.values())) > 1 or None in ids.values():
        raise Failure(f"ids of several runs: {ids}")


def swap(folder: pathlib.Path, group_of_files: tuple[str, ...], way: str = "moved there") -> None:
    """Exchanges files with those of the same names in `others`, which have the same sizes; files
    that are moved there have the same times as well."""
    for name in group_of_files:
        path, other = folder / name, folder / "others" / name
        status, content, new = path.stat(), path.read_bytes(), other.read_bytes()
        other.write_bytes(content)
        if way == "in place":
            path.write_bytes(new)
        else:
            target = path.with_name(f"{path.name}.new")
            target.write_bytes(new)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            target.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=10, help="how many kills must meet each job")
    parser.add_argument("--moves", type=int, help="moves of directories in place of kills")
    parser.add_argument("--exchanges", type=int, help="exchanges of inputs in place of kills")
    parser.add_argument("--afresh", type=int, help="finished runs that begin anew")
    parser.add_argument("--job", choices=[*JOBS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    attack, count = torment, options.kills
    if options.moves is not None:
        attack, count = displace, options.moves
    chosen = list(JOBS) if options.job == "all" else [options.job]
    if options.exchanges is not None:
        attack, count = exchange, options.exchanges
        chosen = [name for name in chosen if JOBS[name].inputs]
    if options.afresh is not None:
        attack, count = begin_afresh, options.afresh
        is_run = {name: JOBS[name].command[0].startswith("run_") for name in chosen}
        chosen = [name for name in chosen if JOBS[name].inputs and is_run[name]]
    return 0 if all([attack(name, JOBS[name], count, options.seed) for name in chosen]) else 1


if __name__ == "__main__":
    raise SystemExit(main())

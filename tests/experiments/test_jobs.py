import dataclasses
import json
import os
import signal

import pytest

from bert_common.errors import UserError
from experiments.runner.jobs import Job, Outcome, process_launcher, run_jobs
from tests.full_disk import disk_that_fills_up
from tests.refusals import assert_refused


def test_the_words_of_a_command():
    job = Job(
        "b",
        "out/jobs/b",
        "data_gen/prepare_corpus.py",
        {"input_file": ("x-*", "/t.txt"), "seed": 3, "fast": True, "slow": False},
        "out.txt",
    )
    assert job.command() == [
        "data_gen/prepare_corpus.py",
        "--input_file=x-*,/t.txt",
        "--seed=3",
        "--fast",
        "--noslow",
    ]


@dataclasses.dataclass
class Fake:
    """A command that has ended, or never does."""

    status: int | None

    def poll(self) -> int | None:
        return self.status

    def terminate(self) -> None:
        self.status = 0

    def kill(self) -> None:
        self.status = -9


class Launcher:
    """Writes the results of commands at once, and notes which there were.

    Attributes:
      ran: names of the jobs.
      fails: names of those that end with status 2.
      hangs: names of those that do not end; the process gets a signal then.
    """

    def __init__(self, fails=(), hangs=()):
        self.ran, self.fails, self.hangs = [], fails, hangs

    def __call__(self, command: list[str], log_file: str) -> Fake:
        output = next(word for word in command if word.startswith("--output_file=")).partition("=")[
            2
        ]
        name = os.path.basename(os.path.dirname(output))
        self.ran.append(name)
        with open(log_file, "a") as log:
            log.write(
                "first line\nerror: it is broken\nsomething after it\n"
                if name in self.fails
                else "fine\n"
            )
        if name in self.hangs:
            os.kill(os.getpid(), signal.SIGTERM)
            return Fake(None)
        if name not in self.fails:
            with open(output, "a") as file:
                file.write("x")
        return Fake(2 if name in self.fails else 0)


def make_jobs(folder, seed: int | str = 1) -> dict[str, Job]:
    """a → b → d, a → c."""
    jobs = {}
    for name, needs, flags in (
        ("a", (), {}),
        ("b", ("a",), {"seed": seed}),
        ("c", ("a",), {}),
        ("d", ("b",), {}),
    ):
        directory = str(folder / "jobs" / name)
        flags["output_file"] = f"{directory}/out.txt"
        script = "data_gen/prepare_corpus.py"
        jobs[name] = Job(name, directory, script, flags, "out.txt", needs)
    return jobs


def run(jobs: dict[str, Job], launcher: Launcher, at_a_time: int = 1) -> Outcome:
    return run_jobs(jobs, at_a_time, launcher)


def test_order_and_nothing_twice(tmp_path):
    launcher = Launcher()
    outcome = run(make_jobs(tmp_path), launcher)
    assert launcher.ran == ["a", "b", "c", "d"] and outcome.complete == {"a", "b", "c", "d"}
    assert not outcome.failed and not outcome.interrupted
    again = Launcher()
    assert run(make_jobs(tmp_path), again).complete == {"a", "b", "c", "d"} and not again.ran
    # A result that was deleted is made again.
    (tmp_path / "jobs" / "c" / "out.txt").unlink()
    run(make_jobs(tmp_path), again)
    assert again.ran == ["c"]


def test_a_job_of_other_settings_is_refused_before_anything_runs(tmp_path):
    run(make_jobs(tmp_path), Launcher())
    (tmp_path / "jobs" / "a" / "out.txt").unlink()
    launcher = Launcher()
    with pytest.raises(UserError, match="jobs/b was made with other settings"):
        run(make_jobs(tmp_path, seed=2), launcher)
    assert not launcher.ran


def test_a_job_that_was_run_by_hand_is_complete(tmp_path):
    for name in "ab":
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "out.txt").write_text("x")
    launcher = Launcher()
    run(make_jobs(tmp_path), launcher)
    assert launcher.ran == ["c", "d"]


@pytest.mark.parametrize(
    "content, message", [("{", "not JSON"), ('{"command": 3, "seconds": 1.0}', "'command' is 3")]
)
def test_a_damaged_record_is_named(tmp_path, content, message):
    run(make_jobs(tmp_path), Launcher())
    (tmp_path / "jobs" / "b" / "job.json").write_text(content)
    launcher = Launcher()
    assert_refused(lambda: run(make_jobs(tmp_path), launcher), message, str(tmp_path))
    assert not launcher.ran


def test_a_failure_stops_only_what_needs_it(tmp_path, capsys):
    outcome = run(make_jobs(tmp_path), Launcher(fails=("b",)))
    assert outcome.complete == {"a", "c"}
    log = tmp_path / "jobs" / "b" / "log.txt"
    assert outcome.failed == {"b": f"it is broken (status 2, {log})"}
    assert "it is broken" in capsys.readouterr().err
    launcher = Launcher()
    assert run(make_jobs(tmp_path), launcher).complete == {"a", "b", "c", "d"}
    assert launcher.ran == ["b", "d"]


def test_interrupted(tmp_path):
    """The job in progress resumes in its directory, even if its result exists: it may be of an
    earlier evaluation."""
    outcome = run(make_jobs(tmp_path), Launcher(hangs=("b",)))
    assert outcome.interrupted and outcome.complete == {"a"}
    for name in ("half.txt", "out.txt"):
        (tmp_path / "jobs" / "b" / name).write_text("half")
    launcher = Launcher()
    assert run(make_jobs(tmp_path), launcher).complete == {"a", "b", "c", "d"}
    assert launcher.ran == ["b", "c", "d"]
    assert (tmp_path / "jobs" / "b" / "half.txt").exists()


def test_a_full_disk(tmp_path):
    """What could not be recorded is done again, and nothing else."""

    class FillsUp(Launcher):
        def __call__(self, command: list[str], log_file: str) -> Fake:
            process = super().__call__(command, log_file)
            if self.ran[-1] == "b":
                fill()
            return process

    # Of a size that nothing else has, such as the file that this process prints to.
    def jobs() -> dict[str, Job]:
        return make_jobs(tmp_path, seed="1" * 100_000)

    with (
        disk_that_fills_up(50_000) as fill,
        pytest.raises(UserError, match=r"can't write .*b/job\.json"),
    ):
        run(jobs(), FillsUp())
    again = Launcher()
    assert run(jobs(), again).complete == set("abcd") and again.ran == ["b", "c", "d"]


def test_real_processes_two_at_a_time(tmp_path, monkeypatch):
    """From wherever the experiment is started; their output is in their logs."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    (tmp_path / "text.txt").write_text(
        "A first sentence. A second one.\n\nAnother document. It ends.\n" * 5
    )
    jobs = {}
    for name in ("a", "b"):
        directory = str(tmp_path / name)
        flags = {
            "input_file": str(tmp_path / "text.txt"),
            "output_file": f"{directory}/out.txt",
            "num_workers": 1,
        }
        jobs[name] = Job(name, directory, "data_gen/prepare_corpus.py", flags, "out.txt")
    flags = {"vocab_file": str(tmp_path / "vocab.txt"), "output_dir": str(tmp_path / "c")}
    script = "experiments/write_config.py"
    jobs["c"] = Job("c", str(tmp_path / "c"), script, flags, "bert_config.json")
    outcome = run(jobs, process_launcher(1), at_a_time=2)
    assert outcome.complete == {"a", "b", "c"}, outcome.failed
    text = (tmp_path / "a" / "out.txt").read_text()
    assert text.startswith("A first sentence.\nA second one.\n")
    assert (tmp_path / "a" / "log.txt").read_text()
    assert json.loads((tmp_path / "a" / "job.json").read_text())["seconds"] > 0

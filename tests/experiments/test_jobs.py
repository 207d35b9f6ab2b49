import dataclasses
import json
import os
import signal

import pytest

from bert_common.errors import UserError
from experiments.runner.jobs import Given, Job, Made, Outcome, Plan, State, launcher, run_jobs
from tests.full_disk import disk_that_fills_up
from tests.refusals import assert_refused


def job(name: str, **flags) -> Job:
    return Job(
        name,
        "data_gen/prepare_corpus.py",
        {**flags, "output_file": Made(name, "out.txt")},
        "out.txt",
    )


def plan_of(*jobs: Job) -> Plan:
    plan = Plan("out")
    for one in jobs:
        plan.add(one)
    return plan


def test_the_words_of_a_command():
    plan = plan_of(
        job("a"),
        job("b", input_file=(Made("a", "x-*"), Given("/t.txt")), seed=3, fast=True, slow=False),
    )
    assert plan.command(plan.jobs["b"]) == [
        "data_gen/prepare_corpus.py",
        "--input_file=out/jobs/a/x-*,/t.txt",
        "--seed=3",
        "--fast",
        "--noslow",
        "--output_file=out/jobs/b/out.txt",
    ]
    assert plan.jobs["b"].needs() == ["a"]


@pytest.mark.parametrize(
    "reader, message",
    [
        (job("b", input_file=Made("c", "out.txt")), "which is no earlier job"),
        (job("a", seed=1), "two different jobs are called a"),
    ],
)
def test_what_no_earlier_step_makes_is_not_read(reader, message):
    with pytest.raises(ValueError, match=message):
        plan_of(job("a"), reader)


def test_the_same_step_is_shared():
    plan = plan_of(job("a"), job("b", input_file=Made("a", "out.txt")), job("a"))
    assert list(plan.jobs) == ["a", "b"] and plan.needed({"a"}) == [job("a")]


def test_a_list_of_files_is_known_by_their_contents():
    def source(value: object, content: str) -> object:
        return plan_of(job("a", input_file=value)).sources(lambda path: f"sha256:{content}")["a"][
            "input_file"
        ]

    for value in ((Given("a"), Given("b")), (("128:", Given("a")),)):
        assert source(value, "one") == source(value, "one") != source(value, "two")
    assert source((1e-4, 3e-4), "one") == "0.0001,0.0003"


def test_commands_are_checked_before_anything_runs():
    with pytest.raises(UserError, match="no_such_flag"):
        plan_of(job("a", input_file=Given("/t.txt"), no_such_flag=1)).check()
    plan = plan_of(job("a", input_file=Given("/t.txt")))
    plan.check()
    with pytest.raises(UserError, match="input_file"):
        wrong = dataclasses.replace(plan.jobs["a"], flags={"output_file": Made("a", "out.txt")})
        plan_of(wrong).check()


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


def make_plan(directory, seed: int | str = 1) -> Plan:
    """a → b → d, a → c."""
    plan = Plan(str(directory))
    for name, needed, flags in (
        ("a", None, {}),
        ("b", "a", {"seed": seed}),
        ("c", "a", {}),
        ("d", "b", {}),
    ):
        read = Given(str(directory / "text.txt")) if needed is None else Made(needed, "out.txt")
        flags |= {"input_file": read, "output_file": Made(name, "out.txt")}
        plan.add(Job(name, "data_gen/prepare_corpus.py", flags, "out.txt"))
    return plan


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "text.txt").write_text("A text.\n")
    return tmp_path


def run(plan: Plan, launcher: Launcher, jobs: int = 1, scale: str = "toy") -> Outcome:
    return run_jobs(plan, State(plan, scale), jobs, launcher, "test")


def test_order_and_nothing_twice(directory):
    launcher = Launcher()
    outcome = run(make_plan(directory), launcher)
    assert launcher.ran == ["a", "b", "c", "d"] and outcome.complete == {"a", "b", "c", "d"}
    assert not outcome.failed and not outcome.waiting and not outcome.interrupted
    again = Launcher()
    assert run(make_plan(directory), again).complete == {"a", "b", "c", "d"} and not again.ran
    # A result that was deleted is made again.
    (directory / "jobs" / "c" / "out.txt").unlink()
    run(make_plan(directory), again)
    assert again.ran == ["c"]


def test_a_change_of_settings_repeats_what_depends_on_it(directory, capsys):
    run(make_plan(directory), Launcher())
    launcher = Launcher()
    run(make_plan(directory, seed=2), launcher)
    assert launcher.ran == ["b", "d"]
    # What is repeated begins with nothing, and what was there is kept.
    assert (
        (directory / "jobs/b/out.txt").read_text()
        == "x"
        == (directory / "jobs/b.replaced-1/out.txt").read_text()
    )
    assert (
        f"b is made again, what was there is kept in {directory}/jobs/b.replaced-1 (seed: 1 → 2)\n"
        in (capsys.readouterr().err)
    )
    (directory / "text.txt").write_text("Another text.\n")
    launcher = Launcher()
    run(make_plan(directory, seed=2), launcher)
    assert launcher.ran == ["a", "b", "c", "d"]
    assert "b.replaced-2 (input_file has other contents)\n" in capsys.readouterr().err
    assert {path.name for path in (directory / "jobs").iterdir()} == {
        "a",
        "a.replaced-1",
        "b",
        "b.replaced-1",
        "b.replaced-2",
        "c",
        "c.replaced-1",
        "d",
        "d.replaced-1",
        "d.replaced-2",
    }


def test_what_is_not_known_is_kept(directory, capsys):
    """Of another program, of make, or of a job whose record was removed."""
    run(make_plan(directory), Launcher())
    record = directory / "jobs/b/run_result.json"
    record.unlink()
    launcher = Launcher()
    run(make_plan(directory), launcher)
    assert launcher.ran == ["b"] and (directory / "jobs/b.replaced-1/out.txt").read_text() == "x"
    assert "(what it is made from is not known)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("jobs/b/run_result.json", "{", "not JSON"),
        ("jobs/b/run_result.json", {"sources": {"seed": 3}}, "'digest' is not that of 'sources'"),
        ("jobs/b/run_result.json", {"details": {"command": "a b"}}, "'details.command' is \"a b\""),
        ("experiment.json", '{"scale": 3}', "'scale' is 3"),
        # Of the version before, which kept steps/ and state/.
        (
            "experiment.json",
            '{"scale": "toy"}',
            "holds experiments of another version of this program",
        ),
    ],
)
def test_damaged_state_is_named(directory, name, content, message):
    run(make_plan(directory), Launcher())
    if isinstance(content, dict):
        content = json.dumps({**json.loads((directory / name).read_text()), **content})
    (directory / name).write_text(content)
    launcher = Launcher()
    assert_refused(lambda: run(make_plan(directory), launcher), message, str(directory))
    assert not launcher.ran


def test_a_failure_stops_only_what_needs_it(directory, capsys):
    outcome = run(make_plan(directory), Launcher(fails=("b",)))
    assert outcome.complete == {"a", "c"} and outcome.waiting == ("d",)
    log = directory / "jobs" / "b" / "log.txt"
    assert outcome.failed == {"b": f"it is broken (status 2, {log})"}
    assert "b: failed: it is broken" in capsys.readouterr().err
    launcher = Launcher()
    assert run(make_plan(directory), launcher).complete == {
        "a",
        "b",
        "c",
        "d",
    } and launcher.ran == ["b", "d"]


def test_interrupted(directory):
    """The job in progress resumes in its directory, which is left as it was."""
    plan = make_plan(directory)
    outcome = run(plan, Launcher(hangs=("b",)), jobs=1)
    assert (
        outcome.interrupted
        and outcome.complete == {"a"}
        and set(outcome.waiting) == {"b", "c", "d"}
    )
    (directory / "jobs" / "b" / "half.txt").write_text("half")
    launcher = Launcher()
    assert run(make_plan(directory), launcher).complete == {"a", "b", "c", "d"}
    assert launcher.ran == ["b", "c", "d"]
    assert (directory / "jobs" / "b" / "half.txt").exists()


def test_an_output_directory_of_another_scale_and_a_missing_text(directory):
    run(make_plan(directory), Launcher())
    with pytest.raises(
        UserError,
        match="holds experiments of --scale=toy: choose another directory for --scale=paper",
    ):
        run(make_plan(directory), Launcher(), scale="paper")
    (directory / "text.txt").unlink()
    with pytest.raises(UserError, match=r"text\.txt"):
        run(make_plan(directory), Launcher())


def test_a_full_disk(directory):
    """What could not be noted is done again, and nothing else."""

    class FillsUp(Launcher):
        def __call__(self, command: list[str], log_file: str) -> Fake:
            process = super().__call__(command, log_file)
            if self.ran[-1] == "b":
                fill()
            return process

    # Of a size that nothing else has, such as the file that this process prints to.
    def plan() -> Plan:
        return make_plan(directory, seed="1" * 100_000)

    with (
        disk_that_fills_up(50_000) as fill,
        pytest.raises(UserError, match=r"can't write .*b/run_result\.json"),
    ):
        run(plan(), FillsUp())
    again = Launcher()
    assert run(plan(), again).complete == set("abcd") and again.ran == ["b", "c", "d"]


def test_real_processes_two_at_a_time(directory, monkeypatch):
    """Of scripts that take no second, from wherever the experiment is started; their output is in
    their logs."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(directory)
    (directory / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    (directory / "text.txt").write_text(
        "A first sentence. A second one.\n\nAnother document. It ends.\n" * 5
    )
    plan = Plan(str(directory))
    for name in ("a", "b"):
        plan.add(
            Job(
                name,
                "data_gen/prepare_corpus.py",
                {
                    "input_file": Given(str(directory / "text.txt")),
                    "output_file": Made(name, "out.txt"),
                    "num_workers": 1,
                },
                "out.txt",
            )
        )
    plan.add(
        Job(
            "c",
            "experiments/write_config.py",
            {"vocab_file": Given(str(directory / "vocab.txt")), "output_dir": Made("c")},
            "bert_config.json",
        )
    )
    outcome = run(plan, launcher(1), jobs=2)
    assert outcome.complete == {"a", "b", "c"}, outcome.failed
    assert (
        (directory / "jobs" / "a" / "out.txt")
        .read_text()
        .startswith("A first sentence.\nA second one.\n")
    )
    assert (directory / "jobs" / "a" / "log.txt").read_text()

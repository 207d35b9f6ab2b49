"""Running a plan: order, failures, interruptions, and what is done again after a change."""

import dataclasses
import os
import signal

import pytest

from bert_tf.common.errors import UserError
from experiments.runner import schedule
from experiments.runner.state import State
from experiments.runner.steps import Given, Made, Plan, Step, Work
from tests.full_disk import disk_that_fills_up

TEXT = "/given/text.txt"


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
    ran: names of the steps.
    fails: names of those that end with status 2.
    hangs: names of those that do not end; the process gets a signal then.
    writes: whether results are written.
  """

  def __init__(self, fails=(), hangs=(), writes=True):
    self.ran, self.fails, self.hangs, self.writes, self.running = [], fails, hangs, writes, []

  def __call__(self, command: list[str], log_file: str) -> Fake:
    output = next(word for word in command if word.startswith("--output_file=")).partition("=")[2]
    name = os.path.basename(os.path.dirname(output))
    self.ran.append(name)
    with open(log_file, "a") as log:
      log.write("first line\nerror: it is broken\nsomething behind it\n" if name in self.fails else "fine\n")
    if name in self.hangs:
      os.kill(os.getpid(), signal.SIGTERM)
      return Fake(None)
    if name not in self.fails and self.writes:
      with open(output, "a") as file:
        file.write("x")
    return Fake(2 if name in self.fails else 0)


def make_plan(directory, seed: int | str = 1, resumes: bool = False) -> Plan:
  """a → b → d, a → c."""
  plan = Plan(str(directory))
  for name, needed, flags in (("a", None, {}), ("b", "a", {"seed": seed}), ("c", "a", {}), ("d", "b", {})):
    read = Given(str(directory / "text.txt")) if needed is None else Made(needed, "out.txt")
    flags |= {"input_file": read, "output_file": Made(name, "out.txt")}
    plan.add(Step(name, "data_gen/prepare_corpus.py", flags, "out.txt", resumes=resumes,
                  work=Work(1, {"b": 5.0}.get(name, 1.0))))
  return plan


@pytest.fixture
def directory(tmp_path):
  (tmp_path / "text.txt").write_text("A text.\n")
  return tmp_path


def run(plan: Plan, launcher: Launcher, jobs: int = 1, scale: str = "toy") -> schedule.Outcome:
  return schedule.run(plan, State(plan, scale), jobs, launcher, "test")


def test_order_and_nothing_twice(directory):
  launcher = Launcher()
  outcome = run(make_plan(directory), launcher)
  # The longer way first.
  assert launcher.ran == ["a", "b", "c", "d"] and outcome.complete == {"a", "b", "c", "d"}
  assert not outcome.failed and not outcome.waiting and not outcome.interrupted
  again = Launcher()
  assert run(make_plan(directory), again).complete == {"a", "b", "c", "d"} and not again.ran


def test_a_change_of_settings_repeats_what_depends_on_it(directory):
  run(make_plan(directory), Launcher())
  launcher = Launcher()
  run(make_plan(directory, seed=2), launcher)
  assert launcher.ran == ["b", "d"]
  # What is repeated begins with nothing.
  assert (directory / "steps" / "b" / "out.txt").read_text() == "x"
  (directory / "text.txt").write_text("Another text.\n")
  launcher = Launcher()
  run(make_plan(directory, seed=2), launcher)
  assert launcher.ran == ["a", "b", "c", "d"]


def test_a_text_that_is_only_newer_changes_nothing(directory):
  run(make_plan(directory), Launcher())
  os.utime(directory / "text.txt", (1, 1))
  launcher = Launcher()
  run(make_plan(directory), launcher)
  assert not launcher.ran


def test_a_result_that_was_deleted_is_made_again(directory):
  run(make_plan(directory), Launcher())
  (directory / "steps" / "c" / "out.txt").unlink()
  launcher = Launcher()
  run(make_plan(directory), launcher)
  assert launcher.ran == ["c"]


def test_a_failure_stops_only_what_needs_it(directory, capsys):
  outcome = run(make_plan(directory), Launcher(fails=("b",)))
  assert outcome.complete == {"a", "c"} and outcome.waiting == ("d",)
  log = directory / "logs" / "b.log"
  assert outcome.failed == {"b": f"it is broken (status 2, {log})"}
  assert "b: failed: it is broken" in capsys.readouterr().err
  launcher = Launcher()
  assert run(make_plan(directory), launcher).complete == {"a", "b", "c", "d"} and launcher.ran == ["b", "d"]


def test_status_0_without_a_result_is_not_complete(directory):
  outcome = run(make_plan(directory), Launcher(writes=False))
  assert outcome.failed["a"].startswith("it made no out.txt: fine") and not outcome.complete


@pytest.mark.parametrize("resumes", [False, True])
def test_interrupted(directory, resumes):
  """The step in progress goes on where it resumes, in a directory that is left as it was."""
  plan = make_plan(directory, resumes=resumes)
  outcome = run(plan, Launcher(hangs=("b",)), jobs=1)
  assert outcome.interrupted and outcome.complete == {"a"} and set(outcome.waiting) == {"b", "c", "d"}
  (directory / "steps" / "b" / "half.txt").write_text("half")
  launcher = Launcher()
  assert run(make_plan(directory, resumes=resumes), launcher).complete == {"a", "b", "c", "d"}
  assert launcher.ran == ["b", "c", "d"]
  assert (directory / "steps" / "b" / "half.txt").exists() == resumes
  assert State(plan, "toy").record("b")["starts"] == (2 if resumes else 1)


def test_an_output_directory_of_another_scale(directory):
  run(make_plan(directory), Launcher())
  with pytest.raises(UserError, match="holds experiments of --scale=toy: choose another directory for --scale=paper"):
    run(make_plan(directory), Launcher(), scale="paper")


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

  with disk_that_fills_up(50_000) as fill, pytest.raises(UserError, match=r"can't write .*b\.json"):
    run(plan(), FillsUp())
  again = Launcher()
  assert run(plan(), again).complete == set("abcd") and again.ran == ["b", "c", "d"]


def test_a_missing_text(directory):
  (directory / "text.txt").unlink()
  with pytest.raises(UserError, match=r"text\.txt"):
    run(make_plan(directory), Launcher())


def test_real_processes_two_at_a_time(directory):
  """Of a script that takes no second; its output is in its log."""
  (directory / "text.txt").write_text("A first sentence. A second one.\n\nAnother document. It ends.\n" * 5)
  plan = Plan(str(directory))
  for name in ("a", "b"):
    plan.add(Step(name, "data_gen/prepare_corpus.py", {
        "input_file": Given(str(directory / "text.txt")), "output_file": Made(name, "out.txt"), "num_workers": 1},
        "out.txt"))
  outcome = run(plan, schedule.launcher(1), jobs=2)
  assert outcome.complete == {"a", "b"}, outcome.failed
  assert (directory / "steps" / "a" / "out.txt").read_text().startswith("A first sentence.\nA second one.\n")
  assert (directory / "logs" / "a.log").read_text()

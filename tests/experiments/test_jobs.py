"""A plan: what a job may read, and what a change makes incomplete."""

import dataclasses

import pytest

from bert_common.errors import UserError
from bert_tf.run_results import differences
from experiments.runner.jobs import Given, Job, Made, Plan


def job(name: str, **flags) -> Job:
  return Job(name, "data_gen/prepare_corpus.py", {**flags, "output_file": Made(name, "out.txt")}, "out.txt")


def plan_of(*jobs: Job) -> Plan:
  plan = Plan("out")
  for one in jobs:
    plan.add(one)
  return plan


def test_the_words_of_a_command():
  plan = plan_of(job("a"), job("b", input_file=(Made("a", "x-*"), Given("/t.txt")), seed=3,
                                                 fast=True, slow=False))
  assert plan.command(plan.jobs["b"]) == [
      "data_gen/prepare_corpus.py", "--input_file=out/jobs/a/x-*,/t.txt", "--seed=3", "--fast", "--noslow",
      "--output_file=out/jobs/b/out.txt"]
  assert plan.jobs["b"].needs() == ["a"]


@pytest.mark.parametrize("reader, message", [
    (job("b", input_file=Made("c", "out.txt")), "which is no earlier job"),
    (job("a", seed=1), "two different jobs are called a"),
])
def test_what_no_earlier_step_makes_is_not_read(reader, message):
  with pytest.raises(ValueError, match=message):
    plan_of(job("a"), reader)


def test_the_same_step_is_shared():
  plan = plan_of(job("a"), job("b", input_file=Made("a", "out.txt")), job("a"))
  assert list(plan.jobs) == ["a", "b"] and plan.needed({"a"}) == [job("a")]


def test_a_change_is_seen_by_exactly_what_depends_on_it():
  def sources(seed: int = 1, content: str = "text", directory: str = "out") -> dict[str, dict]:
    plan = Plan(directory)
    for one in (job("a", input_file=Given("/t.txt")), job("b", input_file=Made("a", "out.txt"), seed=seed),
                job("c", input_file=Made("b", "out.txt")), job("d", input_file=Made("a", "out.txt"))):
      plan.add(one)
    return plan.sources(lambda path: f"sha256:{path} {content}")

  def changed(other: dict[str, dict]) -> dict[str, list[str]]:
    return {name: found for name, one in sources().items() if (found := differences(one, other[name]))}

  assert not changed(sources(directory="elsewhere"))
  other = "input_file has other contents"
  assert changed(sources(seed=2)) == {"b": ["seed: 1 → 2"], "c": [other]}
  assert changed(sources(content="other")) == dict.fromkeys("abcd", [other])


def test_a_list_of_files_is_known_by_their_contents():
  def source(value: object, content: str) -> object:
    return plan_of(job("a", input_file=value)).sources(lambda path: f"sha256:{content}")["a"]["input_file"]

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

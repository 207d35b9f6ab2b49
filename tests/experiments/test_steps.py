"""A plan: what a step may read, and what a change makes incomplete."""

import dataclasses

import pytest

from bert_tf.common.errors import UserError
from experiments.runner.steps import Given, Made, Plan, Step


def step(name: str, result: str = "out.txt", makes: tuple[str, ...] = (), **flags) -> Step:
  return Step(name, "data_gen/prepare_corpus.py", {**flags, "output_file": Made(name, result)}, result, makes)


def plan_of(*steps: Step) -> Plan:
  plan = Plan("out")
  for one in steps:
    plan.add(one)
  return plan


def test_the_words_of_a_command():
  plan = plan_of(step("a", makes=("x-*",)), step("b", input_file=(Made("a", "x-*"), Given("/t.txt")), seed=3,
                                                 fast=True, slow=False))
  assert plan.command(plan.steps["b"]) == [
      "data_gen/prepare_corpus.py", "--input_file=out/steps/a/x-*,/t.txt", "--seed=3", "--fast", "--noslow",
      "--output_file=out/steps/b/out.txt"]
  assert plan.steps["b"].needs() == ["a"]


@pytest.mark.parametrize("reader, message", [
    (step("b", input_file=Made("c", "out.txt")), "which is no earlier step"),
    (step("b", input_file=Made("a", "other.txt")), "which makes out.txt"),
    (step("a", seed=1), "two different steps are called a"),
])
def test_what_no_earlier_step_makes_is_not_read(reader, message):
  with pytest.raises(ValueError, match=message):
    plan_of(step("a"), reader)


def test_the_same_step_is_shared():
  plan = plan_of(step("a"), step("b", input_file=Made("a", "out.txt")), step("a"))
  assert list(plan.steps) == ["a", "b"] and list(plan.needed(["a"]).steps) == ["a"]


def test_a_change_is_seen_by_exactly_what_depends_on_it():
  def digests(seed: int = 1, content: str = "text", directory: str = "out") -> dict[str, str]:
    plan = Plan(directory)
    for one in (step("a", input_file=Given("/t.txt")), step("b", input_file=Made("a", "out.txt"), seed=seed),
                step("c", input_file=Made("b", "out.txt")), step("d", input_file=Made("a", "out.txt"))):
      plan.add(one)
    return plan.digests(lambda path: f"{path} {content}")

  def changed(other: dict[str, str]) -> set[str]:
    return {name for name, digest in digests().items() if other[name] != digest}

  assert not changed(digests(directory="elsewhere"))
  assert changed(digests(seed=2)) == {"b", "c"}
  assert changed(digests(content="other")) == {"a", "b", "c", "d"}


def test_the_order_of_flags_means_nothing():
  orders = [plan_of(step("a", **flags)).digests(str) for flags in (
      {"input_file": Given("/t.txt"), "seed": 1}, {"seed": 1, "input_file": Given("/t.txt")})]
  assert orders[0] == orders[1]


def test_commands_are_checked_before_anything_runs():
  with pytest.raises(UserError, match="no_such_flag"):
    plan_of(step("a", input_file=Given("/t.txt"), no_such_flag=1)).check()
  plan = plan_of(step("a", input_file=Given("/t.txt")))
  plan.check()
  with pytest.raises(UserError, match="input_file"):
    wrong = dataclasses.replace(plan.steps["a"], flags={"output_file": Made("a", "out.txt")})
    plan_of(wrong).check()

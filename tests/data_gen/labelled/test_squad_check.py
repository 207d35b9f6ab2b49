"""Answers to be trained on: what is repaired, skipped, refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UserError
from data_gen.labelled.squad import REPAIR_REACH, Answer, Question, SquadData, check_training, read_squad

CONTEXT = "Winter came in. The inn at the harbour closed in May,  when rain came."


def data_of(*answers, context=CONTEXT, is_impossible=False):
  questions = [Question(f"q{number}", "When?", 0, () if answer is None else (Answer(*answer),), is_impossible)
               for number, answer in enumerate(answers)]
  return SquadData("train.json", [context], questions, True, is_impossible)


@pytest.mark.parametrize("text, start", [("in May", 46), ("May,  when", 49), ("Winter", 0), ("came.", 65)])
def test_an_answer_in_its_place_stays_as_it_is(text, start):
  data = data_of((text, start))
  checked = check_training(data, version_2_with_negative=False)
  assert checked.data == data and checked.report() == ""
  assert checked.repaired_ids == checked.skipped_ids == ()


@pytest.mark.parametrize("text, start, repaired, why", [
  ("May", 47, 49, "a little beside"),
  ("May", 52, 49, "behind"),
  ("May", -3, 49, "before the text"),
  ("May", 120, 49, "behind the text"),
  ("came", 5, 7, "the nearer of two"),
  ("in", 0, 12, "not within a word while it is one elsewhere"),
  ("arbou", 30, 32, "within a word where it is none elsewhere"),
  ("May, when", 49, 49, "other white space"),
  ("closed  in", 40, 39, "other white space, and beside"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_an_answer_beside_its_place_is_moved(text, start, repaired, why):
  checked = check_training(data_of((text, start)), version_2_with_negative=False)
  (answer,) = checked.data.questions[0].answers
  assert answer.start == repaired, why
  assert CONTEXT[repaired:repaired + len(answer.text)] == answer.text
  assert answer.text.split() == text.split()
  distance = abs(repaired - start)
  assert checked.repaired_ids == ("q0",) and checked.farthest_repair == distance
  assert checked.report() == f"train.json: answers repaired, moved by at most {distance} characters: 1 (q0)"


def test_how_far_a_text_is_looked_for():
  context = "." * 500 + "answer" + "." * 500
  for start, found in ((500 - REPAIR_REACH, True), (499 - REPAIR_REACH, False),
                       (500 + REPAIR_REACH, True), (501 + REPAIR_REACH, False)):
    data = data_of(("answer", start), context=context)
    if found:
      assert check_training(data, version_2_with_negative=False).farthest_repair == REPAIR_REACH
    else:
      with pytest.raises(UserError, match="'answer' is not within 100 characters of answer_start"):
        check_training(data, version_2_with_negative=False)


BAD = [(("June", 3), "'June' is not within 100 characters of answer_start 3"), (("", 5), "its text is empty"),
       ((" \n", 6), "its text is empty"), (None, "it has no answer")]


@pytest.mark.parametrize("answer, reason", BAD, ids=[reason for _, reason in BAD])
def test_a_question_without_a_usable_answer(answer, reason):
  data = data_of(("May", 49), answer)
  with pytest.raises(UserError) as error:
    check_training(data, version_2_with_negative=False)
  assert str(error.value) == (f"train.json: 1 of 2 questions have no usable answer: q1 ({reason}); fix them, or leave "
                              "them out with --skip_bad_answers")
  checked = check_training(data, version_2_with_negative=False, skip_bad_answers=True)
  assert [question.id for question in checked.data.questions] == ["q0"] and checked.skipped_ids == ("q1",)
  assert checked.report() == "train.json: questions skipped, no usable answer: 1 (q1)"


def test_many_bad_answers_are_counted_and_some_are_named():
  with pytest.raises(UserError, match=r"8 of 8 questions .* q4 \(it has no answer\) and 3 more; fix"):
    check_training(data_of(*[None] * 8), version_2_with_negative=False)
  with pytest.raises(UserError, match="nothing is left to train on"):
    check_training(data_of(*[None] * 8), version_2_with_negative=False, skip_bad_answers=True)


def test_version_2_needs_its_flag():
  data = data_of(("May", 49), None, is_impossible=True)
  with pytest.raises(UserError, match=r"questions are marked is_impossible \(2: q0, q1\).* --version_2_with_negative"):
    check_training(data, version_2_with_negative=False, skip_bad_answers=True)
  checked = check_training(data, version_2_with_negative=True)
  assert [question.answers for question in checked.data.questions] == [(), ()]


def test_version_1_data_with_the_flag_of_version_2():
  assert check_training(data_of(("May", 49)), version_2_with_negative=True).report() == ""
  with pytest.raises(UserError, match="it has no answer"):
    check_training(data_of(None), version_2_with_negative=True)


def test_the_first_of_several_answers_counts():
  question = Question("q", "When?", 0, (Answer("May", 49), Answer("in May", 46), Answer("wrong", 0)), False)
  checked = check_training(SquadData("train.json", [CONTEXT], [question], True, False), version_2_with_negative=False)
  assert checked.data.questions[0].answers == (Answer("May", 49),)
  assert checked.repaired_ids == ()


@given(st.text("ab \n\u00e9", max_size=60), st.text("ab \n\u00e9", max_size=6), st.integers(-5, 70))
def test_what_is_kept_stands_in_its_place(context, text, start):
  data = data_of((text, start), context=context)
  try:
    checked = check_training(data, version_2_with_negative=False)
  except UserError:
    assert not text.strip() or " ".join(text.split()) not in " ".join(context.split())
    return
  (answer,) = checked.data.questions[0].answers
  assert answer.start >= 0 and context[answer.start:answer.start + len(answer.text)] == answer.text
  assert answer.text.split() == text.split()


def test_the_awkward_examples_that_the_original_leaves_out(golden):
  """Four of the five are good answers or are near one; in the last the case differs."""
  skipped = json.loads((golden / "squad" / "squad_corner_info.json").read_text())["skipped_in_training"]
  data = read_squad(str(golden / "squad" / "squad_corner_train.json"), "train_file")
  checked = check_training(data, version_2_with_negative=False, skip_bad_answers=True)
  assert set(checked.skipped_ids) < set(skipped) and checked.skipped_ids == ("public-bad_offset-2",)
  assert checked.repaired_ids == ("public-bad_offset-0", "public-bad_offset-1")

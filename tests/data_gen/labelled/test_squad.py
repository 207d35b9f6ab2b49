"""SQuAD files: what is read, and what is refused where."""

import json

import pytest

from common.errors import UserError
from data_gen.labelled.squad import Answer, Question, SquadData, read_squad

CONTEXT = "The boats left the bay before noon."


def entry(id="q1", question="When did they leave?", **others):
  return {"id": id, "question": question, "answers": [{"text": "before noon", "answer_start": 23}]} | others


def without(values, key):
  return {name: value for name, value in values.items() if name != key}


def squad(*entries, context=CONTEXT):
  return {"version": "1.1", "data": [{"title": "Boats", "paragraphs": [{"context": context, "qas": list(entries)}]}]}


@pytest.fixture
def write(tmp_path):
  def write_file(contents, name="squad.json"):
    path = tmp_path / name
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents), encoding="utf-8")
    return str(path)
  return write_file


def test_version_1(write):
  contents = squad(entry(), entry("q2", "Who?", answers=[{"text": "boats", "answer_start": 4},
                                                         {"text": "The boats", "answer_start": 0}]))
  contents["data"].append({"paragraphs": [{"context": "", "qas": []},
                                          {"context": "Ab", "qas": [entry("q3", answers=[])]}]})
  path = write(contents)
  assert read_squad(path, "train_file") == SquadData(path, [CONTEXT, "", "Ab"], [
    Question("q1", "When did they leave?", 0, (Answer("before noon", 23),), False),
    Question("q2", "Who?", 0, (Answer("boats", 4), Answer("The boats", 0)), False),
    Question("q3", "When did they leave?", 2, (), False)], has_answers=True, has_impossible=False)


def test_version_2(write):
  data = read_squad(write(squad(entry(is_impossible=False), entry(
    "q2", is_impossible=True, answers=[], plausible_answers=[{"text": "noon", "answer_start": 30}]))), "predict_file")
  assert data.has_impossible and data.has_answers
  assert [(question.is_impossible, len(question.answers)) for question in data.questions] == [(False, 1), (True, 0)]


def test_a_file_to_predict_needs_no_answers(write):
  data = read_squad(write(squad(without(entry(), "answers"), entry("q2"))), "predict_file")
  assert not data.has_answers and data.questions[0].answers == ()


def test_an_empty_question_is_read_and_named(write):
  data = read_squad(write(squad(entry(), entry("q2", ""), entry("q3", " \n"))), "predict_file")
  assert data.empty_question_ids == ["q2", "q3"]


def test_the_official_files(real_data):
  counts = {}
  for name in ("train-v1.1", "dev-v1.1", "train-v2.0", "dev-v2.0"):
    data = read_squad(str(real_data / "squad" / f"{name}.json"), "train_file")
    assert data.has_answers and not data.empty_question_ids
    assert data.has_impossible == name.endswith("2.0")
    counts[name] = len(data.questions)
  assert min(counts.values()) > 500


@pytest.mark.parametrize("contents, message", [
  ("", "squad.json is empty"),
  ("\n ", "squad.json is empty"),
  ('{"data": [\n  {"paragraphs" []}]}', r"squad.json:2: not JSON: Expecting ':' delimiter at column 17"),
  ([], "--train_file: .*squad.json is no SQuAD file: it holds a list, not an object with the key data"),
  ({"version": "1.1"}, "squad.json: data is missing"),
  ({"data": {}}, "squad.json: data must be a list, not an object"),
  ({"data": [1]}, r"squad.json: data\[0\] must be an object, not a whole number"),
  ({"data": [{}]}, r"data\[0\].paragraphs is missing"),
  ({"data": [{"paragraphs": [{"qas": []}]}]}, r"data\[0\].paragraphs\[0\].context is missing"),
  ({"data": [{"paragraphs": [{"context": "x"}]}]}, r"data\[0\].paragraphs\[0\].qas is missing"),
  (squad(context=None), r"data\[0\].paragraphs\[0\].context must be text, not null"),
  (squad(entry(), without(entry(), "id")), r"data\[0\].paragraphs\[0\].qas\[1\].id is missing"),
  (squad(without(entry(), "question")), r"data\[0\].paragraphs\[0\].qas\[0\].question is missing"),
  (squad(entry(id=7)), r"qas\[0\].id must be text, not a whole number"),
  (squad(entry(answers={"text": ["noon"]})), r"qas\[0\].answers must be a list, not an object"),
  (squad(entry(answers=None)), r"qas\[0\].answers must be a list, not null"),
  (squad(entry(answers=[{"text": "noon"}])), r"qas\[0\].answers\[0\].answer_start is missing"),
  (squad(entry(answers=[{"text": "noon", "answer_start": True}])), "answer_start must be a whole number, not true or"),
  (squad(entry(answers=[{"text": "noon", "answer_start": 3.0}])), "answer_start must be a whole number, not a n"),
  (squad(entry(is_impossible="no")), r"qas\[0\].is_impossible must be true or false, not text"),
  (squad(entry("same"), entry("same")), r"qas\[1\] has the id 'same' of data\[0\].paragraphs\[0\].qas\[0\]"),
  (squad(context="ab \ud83d"), r"paragraphs\[0\].context holds half a surrogate pair \(\\ud83d\) at character 3"),
  (squad(), "--train_file: .*squad.json holds no question"),
  ({"data": []}, "--train_file: .*squad.json holds no question"),
], ids=str)
def test_refused(write, contents, message):
  with pytest.raises(UserError, match=message) as error:
    read_squad(write(contents), "train_file")
  assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
  with pytest.raises(UserError, match="--train_file: .* does not exist"):
    read_squad(str(tmp_path / "none.json"), "train_file")
  with pytest.raises(UserError, match="--train_file: .* is a directory"):
    read_squad(str(tmp_path), "train_file")

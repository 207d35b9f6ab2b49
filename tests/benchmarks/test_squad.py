"""The plain way from logits to answers, which the benchmark of predictions measures, gives the answers of ours."""

import importlib.util
import json
import re

import numpy as np
import pytest

from benchmarks.squad import SquadBenchmarkOptions, main
from bert_tf.evaluation.squad_answers import AnswerOptions, find_answers
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.squad import reference_features
from tests.oracles.squad_answers import reference_answers
from tests.oracles.squad_prediction import plain_squad
from tests.oracles.tokenizer import ReferenceTokenizer

LENGTHS = {"max_seq_length": 32, "doc_stride": 12, "max_query_length": 8}


def test_both_ways_find_the_same(project):
  contexts = ["The boats (two) left the bay, said Ann's brother. " * 3, "In 1998 a storm came from the north-west.", ""]
  questions = [Question(str(number), "Which of the boats left?", number % 3, (), False) for number in range(7)]
  data = SquadData("made.json", contexts, questions, has_answers=False, has_impossible=False)
  vocabulary = Vocabulary.from_file(str(project / "vocab/english_uncased/vocab.txt"))
  tokens, windows = make_windows(data, Tokenizer(vocabulary), **LENGTHS, training=False)
  tokenizer = ReferenceTokenizer(vocabulary.tokens)
  features = list(reference_features(data, tokenizer, **LENGTHS, training=False))
  random = np.random.default_rng(0)
  starts, ends = random.normal(size=(2, int(windows.row_lengths.sum()))).astype(np.float32)
  rows = np.cumsum(windows.row_lengths)[:-1]
  starts_of_rows, ends_of_rows = ([row.tolist() for row in np.split(side, rows)] for side in (starts, ends))
  found = reference_answers(data, features, starts_of_rows, ends_of_rows, tokenizer, n_best_size=10,
                            max_answer_length=6)
  expected = find_answers(data, tokens, windows, starts, ends, AnswerOptions(n_best_size=10, max_answer_length=6))
  assert list(found) == [result.id for result in expected]
  for result in expected:
    assert [one["text"] for one in found[result.id]] == [candidate.text for candidate in result.nbest]
    assert [one["probability"] for one in found[result.id]] == pytest.approx(
        [candidate.probability for candidate in result.nbest], rel=1e-9)
  assert found["2"][0]["text"] == "empty"


def test_the_command(tmp_path, capsys, monkeypatch):
  monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
  peers = ("pytorch_grouped",) if importlib.util.find_spec("transformers") else ()
  programs = ("ours", "model_garden_grouped", *peers)
  questions = [{"id": str(number), "question": "Which of the boats left the bay?"} for number in range(3)]
  paragraphs = [{"context": "The boats (two) left the bay. " * repeats, "qas": [one]}
                for repeats, one in zip((60, 3, 9), questions, strict=True)]
  path = tmp_path / "questions.json"
  path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
  main(SquadBenchmarkOptions(input_file=str(path), size="L1-H32", batch_size=2, repetitions=1,
                             one_process=True, programs=programs))
  printed = capsys.readouterr().out
  assert "3 questions in 5 windows, batch 2" in printed
  for name in programs:
    assert re.search(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE), printed
  if not peers:
    pytest.skip("PyTorch and transformers are not installed (pip install --group peers); the others ran")


def test_peers_answer_in_the_order_of_the_file(project, tmp_path):
  """Whether or not the windows are sorted by length."""
  contexts = ["The boats left the bay. " * repeats for repeats in (2, 30, 8)]
  path = tmp_path / "questions.json"
  path.write_text(json.dumps({"data": [{"paragraphs": [
      {"context": context, "qas": [{"id": str(number), "question": "Which?"}]}
      for number, context in enumerate(contexts)]}]}))

  def outputs_of(ids, mask, segments):
    lengths = mask.sum(1)
    scores = np.zeros(ids.shape)
    scores[np.arange(len(ids)), lengths - 2] = 9.0  # The last token of the context, which is a full stop.
    scores[np.arange(len(ids)), lengths - 3] = 5.0
    return scores, scores

  answers = []
  for grouped in (False, True):
    directory = tmp_path / str(grouped)
    directory.mkdir()
    predict = plain_squad(outputs_of, str(path), str(project / "vocab/english_uncased/vocab.txt"),
                                  str(directory), 2, grouped)
    assert predict() == 3
    answers.append((directory / "nbest_predictions.json").read_text())
  assert answers[0] == answers[1] and list(json.loads(answers[0])) == ["0", "1", "2"]
  assert all(nbest[0]["text"] == "." for nbest in json.loads(answers[0]).values())

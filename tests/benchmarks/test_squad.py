"""The plain way from logits to answers, which the benchmark of predictions measures, gives the answers of ours."""

import numpy as np
import pytest

from benchmarks.reference_squad import reference_features
from benchmarks.reference_squad_answers import reference_answers
from benchmarks.reference_tokenizer import ReferenceTokenizer
from data_gen.labelled.squad import Question, SquadData
from data_gen.labelled.squad_features import make_windows
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from evaluation.squad_answers import AnswerOptions, find_answers

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

"""Scores of entities: against seqeval, and by hand."""

import random

import numpy as np
import pytest

from bert_tf.evaluation import entities
from bert_tf.evaluation.conlleval import count_chunks
from data_gen.labelled.tag_schemes import find_chunks, parse_names

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-X", "I-X"]


def chunks_of(sentences):
  tags = np.array([NAMES.index(tag) for sentence in sentences for tag in sentence], np.int32)
  return find_chunks(tags, parse_names(NAMES), np.array(list(map(len, sentences))))


def counts_of(gold, guess):
  return count_chunks(row for pair in zip(gold, guess, strict=True) for row in [*zip(*pair, strict=True), None])


@pytest.mark.parametrize("seed", range(3))
def test_the_report_is_seqevals(seed):
  metrics = pytest.importorskip("seqeval.metrics")
  drawn = random.Random(seed)
  gold, guess = [], []
  for _ in range(40):
    right = [drawn.choice(NAMES[:5] if seed else NAMES) for _ in range(drawn.randrange(1, 9))]
    gold.append(right)
    guess.append([tag if drawn.random() < 0.7 else drawn.choice(NAMES) for tag in right])
  for digits in (2, 4):
    expected = metrics.classification_report(gold, guess, digits=digits, zero_division=0)
    assert entities.seqeval_report(counts_of(gold, guess), digits) == expected


GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"], ["B-LOC", "O"], ["O", "O"]]
GUESS = [["B-X", "I-X", "O", "O"], ["O", "B-LOC"], ["B-LOC", "O"], ["B-PER", "O"]]
WORDS = ["Jane", "Austen", "in", "Bath", "in", "Bath", "bath", "!", "Hm", "?"]
LENGTHS = np.array([4, 2, 2, 2])


def test_surface_forms_count_once():
  """Right: Jane Austen, Bath, bath; found: another type for the first, Bath, bath, and Hm."""
  precision, recall, f1 = entities.surface_scores(WORDS, chunks_of(GOLD), chunks_of(GUESS))
  assert (precision, recall) == (50.0, pytest.approx(200 / 3))
  assert f1 == pytest.approx(2 * 50 * 200 / 3 / (50 + 200 / 3))
  nothing = chunks_of([["O"] * 10])
  assert entities.surface_scores(WORDS, nothing, nothing) == (0.0, 0.0, 0.0)


def test_confusions_of_types():
  matrix, names = entities.type_confusion(chunks_of(GOLD), chunks_of(GUESS))
  assert names == ["LOC", "PER", "X", "(none)"]
  assert matrix.tolist() == [[2, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]


def test_the_sentences_with_the_most_errors():
  gold, guess = chunks_of(GOLD), chunks_of(GUESS)
  assert entities.sentence_errors(LENGTHS, gold, guess).tolist() == [3, 0, 0, 1]
  text = entities.worst_sentences(WORDS, LENGTHS, gold, guess, 5, {0: "a.conll:1", 3: "a.conll:12"})
  assert text == ("3 errors  a.conll:1\n  right: [PER Jane Austen] in [LOC Bath]\n  found: [X Jane Austen] in Bath\n\n"
                  "1 error  a.conll:12\n  right: Hm ?\n  found: [PER Hm] ?\n")
  assert entities.worst_sentences(WORDS, LENGTHS, gold, gold, 5) == ""

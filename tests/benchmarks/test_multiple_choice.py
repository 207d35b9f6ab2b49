"""What the benchmark of multiple choice trains on, and a step of its programs."""

import importlib.util
import re

import numpy as np
import pytest

from benchmarks.examples import full_batches, synthetic_questions
from benchmarks.finetuning import FinetuningOptions, main


def test_synthetic_questions_are_as_long_as_codahs():
  examples = synthetic_questions(128)
  lengths = examples.row_lengths.reshape(-1, 4)
  assert len(examples) == 1665 and lengths.min() >= 7 and lengths.max() <= 69
  assert abs(lengths.mean() - 21.7) < 0.5 and abs(lengths.std() - 6.35) < 0.5
  assert abs(examples.lengths.mean() - 24.0) < 0.5
  assert synthetic_questions(20).row_lengths.max() == 20


def test_only_full_batches_are_measured():
  examples = synthetic_questions(128)
  cut = full_batches(examples, 16)
  assert len(cut) == 1664 == len(cut.values["label_ids"]) == len(cut.row_lengths) / 4
  np.testing.assert_array_equal(cut.tokens["input_ids"], examples.tokens["input_ids"][:cut.row_lengths.sum()])


def test_the_command(capsys):
  peers = ("pytorch",) if importlib.util.find_spec("transformers") else ()
  programs = ("ours", "model_garden", *peers)
  main(FinetuningOptions(task="multiple_choice", layers=1, hidden_size=32, batch_size=4, max_seq_length=16, max_steps=1,
                         turns=1, one_process=True, programs=programs))
  printed = capsys.readouterr().out
  assert "1,664 questions, 6,656 sequences of " in printed
  for name in programs:
    assert re.search(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE), printed
  if not peers:
    pytest.skip("PyTorch and transformers are not installed (requirements-peers.txt); the others ran")

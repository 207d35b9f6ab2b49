"""What the benchmark of multiple choice trains on, and a step of this project's program."""

import numpy as np

from benchmarks.finetuning_examples import VOCAB_SIZE
from benchmarks.multiple_choice_programs import full_batches, ours, synthetic_questions
from modeling.config import BertConfig


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


def test_a_step():
  config = BertConfig(vocab_size=VOCAB_SIZE, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                      intermediate_size=8)
  report = ours(config, full_batches(synthetic_questions(8), 4), 4, 8)(1)
  assert np.isfinite(report["loss"]) and report["steps_per_second"] > 0

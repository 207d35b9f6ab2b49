"""The parts of the benchmark, and short turns of one of its programs."""

import re
import subprocess
import sys

import numpy as np

from benchmarks.finetuning_examples import full_batches, synthetic_examples, turn_steps


def test_an_epoch_is_cut_into_turns():
  assert turn_steps(114, 4, None) == [29, 29, 28, 28]
  assert turn_steps(114, 1, None) == [114]
  assert turn_steps(3, 4, None) == [1, 1, 1]
  assert turn_steps(114, 2, 5) == [5, 5]


def test_synthetic_examples_are_as_long_as_mrpcs():
  examples = synthetic_examples(128)
  lengths = examples.row_lengths
  assert len(examples) == 3668 and lengths.min() >= 19 and lengths.max() <= 103
  assert abs(lengths.mean() - 53.2) < 1 and abs(lengths.std() - 13) < 1
  assert synthetic_examples(60).row_lengths.max() == 60
  first = examples.tokens["segment_ids"][:lengths[0]]
  assert first[0] == 0 and first[-1] == 1 and (np.diff(first.astype(int)) >= 0).all()


def test_only_full_batches_are_measured():
  examples = synthetic_examples(128)
  cut = full_batches(examples, 32)
  assert len(cut) == 3648 == len(cut.values["label_ids"])
  assert len(cut.tokens["input_ids"]) == len(cut.tokens["segment_ids"]) == examples.row_lengths[:3648].sum()
  np.testing.assert_array_equal(cut.tokens["input_ids"], examples.tokens["input_ids"][:cut.row_lengths.sum()])


def test_the_command(project):
  result = subprocess.run(
    [sys.executable, str(project / "benchmarks" / "finetuning.py"), "--programs=ours", "--turns=2",
     "--max_steps=2", "--layers=1", "--hidden_size=32", "--batch_size=4"], capture_output=True, text=True, check=False)
  assert result.returncode == 0, result.stderr
  assert "4 steps in 2 turns" in result.stdout
  assert re.search(r"^ours +[1-9][\d.]* .* 1\.00x", result.stdout, re.MULTILINE), result.stdout

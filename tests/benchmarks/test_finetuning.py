"""The parts of the benchmark, and short turns of two programs."""

import importlib.util
import re

import numpy as np
import pytest

from benchmarks.examples import full_batches, synthetic_pairs
from benchmarks.finetuning import FinetuningOptions, main, turn_steps
from benchmarks.loops import EpochLoop
from bert_tf.common.errors import UserError
from bert_tf.training.examples import assemble, epoch_batches

SMALL = {"layers": 1, "hidden_size": 32, "batch_size": 4, "max_seq_length": 24, "max_steps": 1, "turns": 2,
         "one_process": True}


def test_an_epoch_is_cut_into_turns():
  assert turn_steps(114, 4, None) == [29, 29, 28, 28]
  assert turn_steps(114, 1, None) == [114]
  assert turn_steps(3, 4, None) == [1, 1, 1]
  assert turn_steps(114, 2, 5) == [5, 5]


def test_synthetic_pairs_are_as_long_as_mrpcs():
  examples = synthetic_pairs(128)
  lengths = examples.row_lengths
  assert len(examples) == 3668 and lengths.min() >= 19 and lengths.max() <= 103
  assert abs(lengths.mean() - 53.2) < 1 and abs(lengths.std() - 13) < 1
  assert synthetic_pairs(60).row_lengths.max() == 60
  first = examples.tokens["segment_ids"][:lengths[0]]
  assert first[0] == 0 and first[-1] == 1 and (np.diff(first.astype(int)) >= 0).all()


def test_only_full_batches_are_measured():
  examples = synthetic_pairs(128)
  cut = full_batches(examples, 32)
  assert len(cut) == 3648 == len(cut.values["label_ids"])
  assert len(cut.tokens["input_ids"]) == len(cut.tokens["segment_ids"]) == examples.row_lengths[:3648].sum()
  np.testing.assert_array_equal(cut.tokens["input_ids"], examples.tokens["input_ids"][:cut.row_lengths.sum()])


def test_a_peer_is_warmed_up_on_every_shape_it_will_see():
  examples, seen = full_batches(synthetic_pairs(40), 8), []
  run = EpochLoop(lambda batch: seen.append(batch["input_ids"]), examples, 8, range(1, 41), 12, grouped=True)
  warmed_up = {ids.shape for ids in seen}
  before = len(seen)
  run(5)
  run(7)
  measured = seen[before:]
  assert len(measured) == 12 and {ids.shape for ids in measured} == warmed_up and len(warmed_up) > 1
  first = epoch_batches(examples.lengths, 8, 0, 0)[0]
  np.testing.assert_array_equal(measured[0], assemble(examples, first, 8, np.arange(1, 41))["input_ids"])
  seen.clear()
  EpochLoop(lambda batch: seen.append(batch["input_ids"].shape), examples, 8, [64], 1, grouped=False)
  assert seen == [(8, 64)] * 2


def test_the_command(capsys):
  peers = ("pytorch_grouped",) if importlib.util.find_spec("transformers") else ()
  programs = ("ours", "model_garden_grouped", *peers)
  main(FinetuningOptions(**SMALL, programs=programs))
  printed = capsys.readouterr().out
  assert "L1-H32, batch 4, limit 24, 3,668 examples, sequences of " in printed and "2 steps in 2 turns" in printed
  assert re.search(r"^ours +[1-9][\d.,]* .* 1\.00x", printed, re.MULTILINE), printed
  for name in programs[1:]:
    assert re.search(rf"^{name} +[1-9][\d.,]* .*x +[\d.]+ to [\d.]+$", printed, re.MULTILINE), printed
  if not peers:
    pytest.skip("PyTorch and transformers are not installed (requirements-peers.txt); the others ran")


def test_programs_of_other_tasks_are_refused():
  with pytest.raises(UserError, match="--task=multiple_choice has no pytorch_dynamic: use some of ours, "):
    FinetuningOptions(task="multiple_choice", programs=("ours", "pytorch_dynamic")).check()
  with pytest.raises(UserError, match="--predict is for --task=token_classification"):
    FinetuningOptions(predict=True).check()
  assert list(FinetuningOptions(task="token_classification", predict=True).chosen()) == [
      "ours_predict", "model_garden_predict", "model_garden_grouped_predict", "pytorch_predict"]
  assert "ours_padded" not in FinetuningOptions().chosen()

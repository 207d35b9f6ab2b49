"""What the benchmark of tags of words trains on, and a step of its programs."""

import importlib.util
import re

import numpy as np
import pytest

from benchmarks.examples import CLASSES, full_batches, synthetic_sentences
from benchmarks.finetuning import FinetuningOptions, main
from benchmarks.loops import known_labels
from bert_tf.training.examples import assemble, epoch_batches, lengths_for


def test_synthetic_sentences_are_as_long_as_those_of_wnut17():
  examples = full_batches(synthetic_sentences(128), 32)
  lengths = examples.row_lengths
  assert len(examples) == 3392 and lengths.min() >= 3 and lengths.max() <= 120
  assert 20 < lengths.mean() < 35
  labels = examples.tokens["label_ids"]
  assert set(np.unique(labels)) == {-1, *range(CLASSES["token_classification"])}
  assert 0.6 < (labels >= 0).mean() < 0.72


def test_labels_of_padding_are_left_out():
  examples = synthetic_sentences(40)
  chosen = epoch_batches(examples.row_lengths, 8, 0, 0)[0]
  batch = assemble(examples, chosen, 8, lengths_for(40, False))
  labels = known_labels(batch)
  starts = examples.row_starts[chosen]
  for row, (start, length) in enumerate(zip(starts, examples.row_lengths[chosen], strict=True)):
    np.testing.assert_array_equal(labels[row, :length], examples.tokens["label_ids"][start:start + length])
    assert (labels[row, length:] == -1).all()


@pytest.mark.parametrize("predict", [False, True])
def test_the_command(predict, capsys):
  suffix = "_predict" if predict else ""
  peers = (f"pytorch{suffix}",) if importlib.util.find_spec("transformers") else ()
  programs = (f"ours{suffix}", f"model_garden{suffix}", *peers)
  main(FinetuningOptions(task="token_classification", layers=1, hidden_size=32, batch_size=4, max_seq_length=16,
                         max_steps=1, turns=1, one_process=True, predict=predict, programs=programs))
  printed = capsys.readouterr().out
  assert "3,392 sentences, sequences of " in printed
  for name in programs:
    assert re.search(rf"^{name} +[1-9][\d.,]* ", printed, re.MULTILINE), printed
  if not peers:
    pytest.skip("PyTorch and transformers are not installed (requirements-peers.txt); the others ran")

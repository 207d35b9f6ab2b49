"""The parts of the benchmark of tags of words: what is trained on."""

import numpy as np

from benchmarks.finetuning_examples import full_batches
from benchmarks.ner_programs import CLASSES, known_labels, synthetic_sentences
from training.examples import assemble, epoch_batches, lengths_for


def test_synthetic_sentences_are_as_long_as_those_of_wnut17():
  examples = full_batches(synthetic_sentences(128), 32)
  lengths = examples.row_lengths
  assert len(examples) == 3392 and lengths.min() >= 3 and lengths.max() <= 120
  assert 20 < lengths.mean() < 35
  labels = examples.tokens["label_ids"]
  assert set(np.unique(labels)) == {-1, *range(CLASSES)}
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

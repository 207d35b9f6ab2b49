"""Batches that peers are measured on."""

import numpy as np

from benchmarks.examples import full_batches, synthetic_pairs, synthetic_sentences
from benchmarks.loops import EpochLoop, known_labels
from bert_tf.training.examples import assemble, epoch_batches, lengths_for


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


def test_labels_of_padding_are_left_out():
  examples = synthetic_sentences(40)
  chosen = epoch_batches(examples.row_lengths, 8, 0, 0)[0]
  labels = known_labels(assemble(examples, chosen, 8, lengths_for(40, False)))
  starts = examples.row_starts[chosen]
  for row, (start, length) in enumerate(zip(starts, examples.row_lengths[chosen], strict=True)):
    np.testing.assert_array_equal(labels[row, :length], examples.tokens["label_ids"][start:start + length])
    assert (labels[row, length:] == -1).all()

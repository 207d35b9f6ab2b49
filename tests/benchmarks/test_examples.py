"""What the benchmark of fine-tuning trains on."""

import numpy as np
import pytest

from benchmarks import examples
from benchmarks.examples import (
  CLASSES,
  EpochLoop,
  full_batches,
  known_labels,
  synthetic_pairs,
  synthetic_questions,
  synthetic_sentences,
)
from bert_tf.training.examples import assemble, epoch_batches, lengths_for
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS


def test_synthetic_pairs_are_as_long_as_mrpcs():
  pairs = synthetic_pairs(128)
  lengths = pairs.row_lengths
  assert len(pairs) == 3668 and lengths.min() >= 19 and lengths.max() <= 103
  assert abs(lengths.mean() - 53.2) < 1 and abs(lengths.std() - 13) < 1
  assert synthetic_pairs(60).row_lengths.max() == 60
  first = pairs.tokens["segment_ids"][:lengths[0]]
  assert first[0] == 0 and first[-1] == 1 and (np.diff(first.astype(int)) >= 0).all()


def test_synthetic_questions_are_as_long_as_codahs():
  questions = synthetic_questions(128)
  lengths = questions.row_lengths.reshape(-1, 4)
  assert len(questions) == 1665 and lengths.min() >= 7 and lengths.max() <= 69
  assert abs(lengths.mean() - 21.7) < 0.5 and abs(lengths.std() - 6.35) < 0.5
  assert abs(questions.lengths.mean() - 24.0) < 0.5
  assert synthetic_questions(20).row_lengths.max() == 20


def test_synthetic_sentences_are_as_long_as_those_of_wnut17():
  sentences = full_batches(synthetic_sentences(128), 32)
  lengths = sentences.row_lengths
  assert len(sentences) == 3392 and lengths.min() >= 3 and lengths.max() <= 120
  assert 20 < lengths.mean() < 35
  labels = sentences.tokens["label_ids"]
  assert set(np.unique(labels)) == {-1, *range(CLASSES["token_classification"])}
  assert 0.6 < (labels >= 0).mean() < 0.72


@pytest.mark.parametrize("make, size, count, choices", [
    (synthetic_pairs, 32, 3648, 1), (synthetic_questions, 16, 1664, 4)])
def test_only_full_batches_are_measured(make, size, count, choices):
  made = make(128)
  cut = full_batches(made, size)
  assert len(cut) == count == len(cut.values["label_ids"]) == len(cut.row_lengths) / choices
  assert len(cut.tokens["input_ids"]) == len(cut.tokens["segment_ids"]) == cut.row_lengths.sum()
  np.testing.assert_array_equal(cut.row_lengths, made.row_lengths[:count * choices])
  np.testing.assert_array_equal(cut.tokens["input_ids"], made.tokens["input_ids"][:cut.row_lengths.sum()])


def test_files_are_read(tmp_path):
  vocab_file = str(tmp_path / "vocab.txt")
  (tmp_path / "vocab.txt").write_text("\n".join([*SPECIAL_TOKENS, "a", "list", "is", "sorted"]))
  heading = "video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
  (tmp_path / "questions.csv").write_text(f"{heading}0,0,a list,a list,,gold,is,sorted,is a list,a,2\n")
  questions = examples.read("multiple_choice", str(tmp_path / "questions.csv"), vocab_file, 16)
  assert questions.row_lengths.tolist() == [6, 6, 8, 6] and questions.values["label_ids"].tolist() == [2]
  (tmp_path / "words.conll").write_text("a O\nlist B-X\n\nsorted O\n\n")
  sentences = examples.read("token_classification", str(tmp_path / "words.conll"), vocab_file, 16)
  assert sentences.row_lengths.tolist() == [4, 3] and (sentences.tokens["label_ids"] >= 0).sum() == 3
  (tmp_path / "MRPC").mkdir()
  (tmp_path / "MRPC" / "train.tsv").write_text(
      "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta list\tis sorted\n0\t3\t4\ta\tlist\n")
  pairs = examples.read("classification", str(tmp_path), vocab_file, 16)
  assert pairs.row_lengths.tolist() == [7, 5] and pairs.values["label_ids"].tolist() == [1, 0]


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

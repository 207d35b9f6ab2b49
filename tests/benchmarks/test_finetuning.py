"""Short turns of the programs of all tasks, and the batches of peers."""

import importlib.util
import re

import numpy as np
import pytest

from benchmarks.finetuning import FinetuningOptions, main
from benchmarks.inputs import epoch_loop, known_labels
from bert_tf.training.examples import Examples, assemble, epoch_batches

SMALL = {"size": "L1-H32", "train_batch_size": 4, "max_seq_length": 24, "one_process": True}
SWAG = "video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
STS_B = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"


def examples(count: int = 100) -> Examples:
  lengths = np.random.default_rng(0).integers(3, 41, count)
  tokens = {name: np.ones(lengths.sum(), np.int32) for name in ("input_ids", "segment_ids")}
  return Examples({**tokens, "label_ids": np.arange(lengths.sum(), dtype=np.int32) % 9}, lengths)


@pytest.mark.parametrize("task, name, text, title, peer, turns, steps", [
    # At most so many steps a turn; the whole epoch in fewer turns than were asked for, and in unequal parts.
    ("classification", "MRPC/train.tsv", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + "".join(
        f"{number % 2}\t1\t2\tA boat left.\t{'The bay. ' * number}\n" for number in range(1, 10)),
     "8 examples, sequences of ", "pytorch", {"turns": 1, "max_steps": 1}, "1 steps in 1 turns"),
    ("multiple_choice", "train.csv", SWAG + "0,0,a boat,a boat,,gold,left,is here,is there,came,2\n" * 9,
     "8 questions, 32 sequences of ", "pytorch", {"turns": 3}, "2 steps in 2 turns"),
    ("token_classification", "train.conll", "a O\nboat B-X\n\nleft O\n\n" * 6, "12 sentences, sequences of ",
     "pytorch", {"turns": 2}, "3 steps in 2 turns"),
    ("sentence_embedding", "STS-B/train.tsv", STS_B + "".join(
        f"0\tg\tf\ty\to\ts\ts\t{'A boat left. ' * number}\tThe bay.\t2.5\n" for number in range(1, 10)),
     "8 pairs, ", "sentence_transformers", {"turns": 2, "max_steps": 1}, "2 steps in 2 turns")])
def test_the_command(task, name, text, title, peer, turns, steps, tmp_path, capsys, monkeypatch):
  monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
  (tmp_path / name).parent.mkdir(exist_ok=True)
  for file in (name, name.replace("train", "dev")):
    (tmp_path / file).write_text(text)
  given = {"data_dir": str(tmp_path)} if "/" in name else {"train_file": str(tmp_path / name)}
  has_peer = importlib.util.find_spec("transformers" if peer == "pytorch" else peer)
  programs = ("ours", *(("pytorch", "pytorch_grouped") if has_peer else ()))
  main(FinetuningOptions(**SMALL, **turns, task=task, **given, programs=programs))
  printed = capsys.readouterr().out
  assert f"L1-H32, batch 4, limit 24, {title}" in printed and f"; {steps}\n" in printed
  assert re.search(r"^ours +[1-9][\d.,]* .* 1\.00x$", printed, re.MULTILINE), printed
  for one in programs[1:]:
    assert re.search(rf"^{one} +[1-9][\d.,]* .*x +[\d.]+ to [\d.]+$", printed, re.MULTILINE), printed
  if not has_peer:
    pytest.skip(f"{peer} is not installed (pip install --group peers); ours ran")


def test_a_peer_is_warmed_up_on_every_shape_it_will_see():
  data, seen = examples(), []
  run = epoch_loop(lambda batch: seen.append(batch["input_ids"]), data, 8, range(1, 41), 12, grouped=True)
  warmed_up = {ids.shape for ids in seen}
  before = len(seen)
  run(5)
  run(7)
  measured = seen[before:]
  assert len(measured) == 12 and {ids.shape for ids in measured} == warmed_up and len(warmed_up) > 1
  first = epoch_batches(data.lengths, 8, 0, 0)[0]
  np.testing.assert_array_equal(measured[0], assemble(data, first, 8, np.arange(1, 41))["input_ids"])
  seen.clear()
  epoch_loop(lambda batch: seen.append(batch["input_ids"].shape), data, 8, [64], 1, grouped=False)
  assert seen == [(8, 64)] * 2


def test_labels_of_padding_are_left_out():
  data = examples()
  chosen = epoch_batches(data.row_lengths, 8, 0, 0)[0]
  labels = known_labels(assemble(data, chosen, 8, np.array([41])))
  for row, (start, length) in enumerate(zip(data.row_starts[chosen], data.row_lengths[chosen], strict=True)):
    np.testing.assert_array_equal(labels[row, :length], data.tokens["label_ids"][start:start + length])
    assert (labels[row, length:] == -1).all()

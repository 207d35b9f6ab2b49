"""The benchmark of packing runs small: both kinds of records are made, trained on and compared."""

import importlib.util

import pytest

from benchmarks import packing
from bert_common.errors import UserError
from modeling.config import BertConfig


def test_it_runs(golden, capsys, monkeypatch):
  monkeypatch.setattr(packing, "find_config", lambda size, vocab_size: BertConfig(
      vocab_size=vocab_size, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16))
  peers = ("pytorch_gathered",) if importlib.util.find_spec("transformers") else ()
  packing.main(packing.PackingOptions(
      input_file=str(golden / "pretraining_data" / "sample_corpus.txt"),
      vocab_file=str(golden / "bert" / "uncased_vocab.txt"), sizes=("L2-H128",), lengths=(64,), tokens=128,
      repetitions=2, steps=1, one_process=True, programs=("packed", "unpacked", *peers)))
  printed = capsys.readouterr().out
  heading, _, line, *others = printed[printed.index("size "):].splitlines()
  assert heading.split()[:2] == ["size", "length"] and line.split()[:2] == ["L2-H128", "64"]
  unpacked, packed, ratio = (float(text.strip("%x")) for text in line.split()[2:5])
  assert 0 <= packed < unpacked < 50 and ratio > 0
  assert [other.split()[4:6] for other in others] == [["than", peer] for peer in peers], printed
  if not peers:
    pytest.skip("transformers is not installed (requirements-peers.txt); our own programs ran")


def test_there_is_something_to_compare_with(tmp_path):
  with pytest.raises(UserError, match="packed must be among them"):
    packing.main(packing.PackingOptions(
        input_file=str(tmp_path), vocab_file=str(tmp_path), programs=("unpacked", "keras_hub")))

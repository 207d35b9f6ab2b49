"""The benchmark of answers runs small: all programs get the same texts, and exports are made on the way."""

import importlib.util
import re

import pytest

from benchmarks import serving
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from tests.tiny import WORDS, write_tiny


def test_texts_of_so_many_tokens(tmp_path):
  vocab_file = tmp_path / "vocab.txt"
  vocab_file.write_text("\n".join([*SPECIAL_TOKENS, *WORDS]) + "\n")
  found = serving._texts(serving.ServingOptions(vocab_file=str(vocab_file), tokens=(3, 16)))
  tokenizer = Tokenizer.from_file(str(vocab_file))
  assert {name: {len(tokenizer.encode(text)) + 2 for text in texts} for name, texts in found.items()} == {
      "3 tokens": {3}, "16 tokens": {16}}


def test_it_runs(tmp_path, capsys):
  (tmp_path / "model").mkdir()
  checkpoint = write_tiny(tmp_path / "model")
  programs = ("export", "onnx", "onnx_int8", *(
      ("transformers",) if importlib.util.find_spec("transformers") else ()))
  serving.main(serving.ServingOptions(
      init_checkpoint=checkpoint, tokens=(9,), max_seq_length=16, batch_size=(2,),
      repetitions=2, programs=programs, one_process=True))
  printed = capsys.readouterr().out
  assert re.search(r"^export +\d+\.\d +\d+\.\d$", printed, re.MULTILINE)
  for name in programs:
    assert re.search(rf"^ +2 .* {name} +\d+\.\d +[\d.]+ to [\d.]+ +\d+\.\d +\d+\.\d\dx", printed, re.MULTILINE), printed
  if "transformers" not in programs:
    pytest.skip("transformers is not installed (pip install --group peers); the others ran")

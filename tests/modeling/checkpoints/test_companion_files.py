import json
import os

import pytest

from modeling.checkpoints.load import read_checkpoint
from tests.modeling.checkpoints.common import assert_refused, random_weights, write_huggingface

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "é", "##s"]


@pytest.fixture
def folder(tmp_path):
  return write_huggingface(tmp_path / "model", random_weights())


def write_tokenizer(folder, vocabulary=None, **values):
  ids = {token: id for id, token in enumerate(TOKENS)} if vocabulary is None else vocabulary
  (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": ids}} | values))


def test_nothing_beside(folder):
  source = read_checkpoint(str(folder))
  assert (source.vocab_file, source.do_lower_case) == (None, None)


@pytest.mark.parametrize("lowercase", [True, False])
def test_newer_tools_write_one_file_only(folder, lowercase):
  write_tokenizer(folder, normalizer={"type": "BertNormalizer", "lowercase": lowercase},
                  added_tokens=[{"id": 0, "content": "[PAD]"}, {"id": 7, "content": "[NEW]"}])
  source = read_checkpoint(str(folder))
  assert source.do_lower_case is lowercase
  assert open(source.vocab_file, encoding="utf-8").read().split("\n") == [*TOKENS, "[NEW]", ""]
  assert os.listdir(folder) and not (folder / "vocab.txt").exists()


def test_the_older_files_win(folder):
  write_tokenizer(folder, normalizer={"type": "BertNormalizer", "lowercase": True})
  (folder / "vocab.txt").write_text("[PAD]\n")
  (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
  source = read_checkpoint(str(folder))
  assert (source.vocab_file, source.do_lower_case) == (str(folder / "vocab.txt"), False)


@pytest.mark.parametrize("vocabulary", [
    {"a": 0, "b": 0}, {"a": 0, "b": 2}, {"a": 1}, {"a": "0"}, {"a": -1}, {"a": 0, "b": None}, {"a": 10 ** 9}])
def test_ids_that_make_no_list(folder, vocabulary):
  write_tokenizer(folder, vocabulary)
  assert_refused(folder, "tokenizer.json: the ids of the vocabulary are not")


@pytest.mark.parametrize("token", ["a\nb", "\ud800"])
def test_an_entry_that_no_file_can_hold(folder, token):
  write_tokenizer(folder, {token: 0})
  assert_refused(folder, "an entry of the vocabulary holds a line break or half a character")


@pytest.mark.parametrize("values", [
    {"model": {"type": "BPE", "vocab": {"a": 0}}}, {"model": None}, {"model": {"type": "WordPiece", "vocab": []}},
    {"normalizer": {"lowercase": "yes"}, "model": []}], ids=str)
def test_other_tokenizers_are_ignored(folder, values):
  write_tokenizer(folder, **values)
  source = read_checkpoint(str(folder))
  assert (source.vocab_file, source.do_lower_case) == (None, None)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_file(folder, name):
  (folder / name).write_text("{")
  assert_refused(folder, f"{name}:1: not JSON")
  (folder / name).write_text("[1]")
  assert read_checkpoint(str(folder)).do_lower_case is None

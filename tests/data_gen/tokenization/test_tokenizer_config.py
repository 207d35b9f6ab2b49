"""What stands beside a vocabulary: written, read, and held against it."""

import hashlib
import json

import pytest

from bert_common.errors import UserError
from data_gen.tokenization.tokenizer_config import (
  casing_of_release,
  check_beside,
  read_casing,
  read_fingerprint,
  write_tokenizer_config,
)
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary

TOKENS = [*SPECIAL_TOKENS, "[unused0]", "[unused1]", "the", "##s", "é"]


def write(directory, tokens=TOKENS, end="\n") -> Vocabulary:
  directory.mkdir(parents=True, exist_ok=True)
  (directory / "vocab.txt").write_bytes("".join(f"{token}{end}" for token in tokens).encode())
  return Vocabulary.from_file(str(directory / "vocab.txt"))


def test_the_fingerprint_is_that_of_the_tokens_however_the_file_is_written(tmp_path):
  plain, windows = write(tmp_path / "a"), write(tmp_path / "b", end="\r\n")
  assert plain.fingerprint == windows.fingerprint == Vocabulary(TOKENS).fingerprint
  assert plain.fingerprint == hashlib.sha256((tmp_path / "a/vocab.txt").read_bytes()).hexdigest()
  # What earlier versions noted: the bytes of the file.
  of_bytes = hashlib.sha256((tmp_path / "b/vocab.txt").read_bytes()).hexdigest()
  assert windows.has_fingerprint(of_bytes) and not plain.has_fingerprint(of_bytes)
  assert write(tmp_path / "c", TOKENS[::-1]).fingerprint != plain.fingerprint


def test_differences_of_two_vocabularies():
  there = Vocabulary(TOKENS)
  assert there.replaced_unused(Vocabulary(TOKENS)) == 0
  assert there.replaced_unused(Vocabulary([*SPECIAL_TOKENS, "a", "b", *TOKENS[7:]])) == 2
  assert there.replaced_unused(Vocabulary([*TOKENS[:7], "a", *TOKENS[8:]])) is None
  assert there.replaced_unused(Vocabulary(TOKENS[:-1])) == 0
  assert there.replaced_unused(Vocabulary([*TOKENS, "more"])) is None
  # The other way round the weights know words where the vocabulary has none.
  assert Vocabulary([*SPECIAL_TOKENS, "a", *TOKENS[6:]]).replaced_unused(there) is None
  assert there.describe_difference(Vocabulary([*TOKENS[:7], "a", *TOKENS[8:]])) == (
      "1 of 10 entries differ, the first in line 8: the there, a here")
  assert there.describe_difference(Vocabulary(TOKENS[:8])) == (
      "2 of 10 entries differ, the first in line 9: ##s there, nothing here")


def test_what_is_written_is_read(tmp_path):
  write_tokenizer_config(str(tmp_path), None, None)
  assert not list(tmp_path.iterdir())
  assert read_casing(str(tmp_path)) is None and read_fingerprint(str(tmp_path)) is None
  write_tokenizer_config(str(tmp_path), False, "abc", model_max_length=12, strip_accents=None)
  assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == {
      "do_lower_case": False, "tokenizer_class": "BertTokenizer", "model_max_length": 12, "strip_accents": None,
      "vocab_sha256": "abc"}
  assert read_casing(str(tmp_path)) is False and read_fingerprint(str(tmp_path)) == "abc"


@pytest.mark.parametrize(("name", "casing"), [
    ("uncased_L-12_H-768_A-12", True), ("cased_L-12_H-768_A-12", False), ("multi_cased_L-12_H-768_A-12", False),
    ("multilingual_L-12_H-768_A-12", True), ("chinese_L-12_H-768_A-12", True), ("mine", None)])
def test_the_casing_of_a_release(tmp_path, name, casing):
  assert casing_of_release(str(tmp_path / name)) is casing
  vocabulary = write(tmp_path / name)
  check_beside(vocabulary, casing is not False)
  if casing is not None:
    with pytest.raises(UserError, match=f"give --do_lower_case={str(casing).lower()}"):
      check_beside(vocabulary, not casing)


def test_a_vocabulary_that_contradicts_what_stands_beside_it(tmp_path):
  vocabulary = write(tmp_path / "run")
  write_tokenizer_config(str(tmp_path / "run"), False, vocabulary.fingerprint)
  check_beside(vocabulary, False)
  with pytest.raises(UserError, match="--do_lower_case is true, .*of cased text: give --do_lower_case=false"):
    check_beside(vocabulary, True)
  with pytest.raises(UserError, match="vocab.txt .* is not the vocabulary that the weights beside it were trained"):
    check_beside(write(tmp_path / "run", [*TOKENS[:-1], "other"]), False)

"""Hugging Face's `tokenizer.json`: the tokenizer of this project, which is the original's, for their programs.

Input: a vocabulary and its casing. Output: the file. The steps that Hugging Face has for BERT
(`BertNormalizer`, `BertPreTokenizer`) know an older Unicode, delete other characters, and take 100 characters for the
longest word; so the steps here are general ones, with the characters of our tables.
"""

import os

import numpy as np

from bert_common import json_files
from data_gen.tokenization.vocabulary import CLS, PAD, SEP, SPECIAL_TOKENS, UNK, Vocabulary
from data_gen.tokenization.wordpiece import MAX_WORD_CHARACTERS
from modeling.preprocessing import unicode_tables as unicode

TOKENIZER_FILE = "tokenizer.json"
# What transformers reads beside it. The class takes the file as it is; `BertTokenizer` would put steps of its own in
# place of these.
_CONFIG: dict[str, object] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
_CONTINUATION = "##"


def write_tokenizer(directory: str, vocab_file: str, do_lower_case: bool, max_length: int | None = None,
                    fixed_length: bool = False, special_tokens: bool = True) -> dict[str, object]:
  """Writes a `tokenizer.json`.

  Args:
    special_tokens: "[MASK]" and the like in a text are those tokens, as they are wherever transformers reads it.
    max_length: most tokens of a row, which the tokenizer then truncates to, and pads batches to their longest row;
      None for neither.
    fixed_length: pad all rows to that length.

  Returns:
    the keys of `tokenizer_config.json` that go with it.

  Raises:
    UserError: the vocabulary can't be read, or the file can't be written.
  """
  vocabulary = Vocabulary.from_file(vocab_file)
  values = tokenizer_values(vocabulary, do_lower_case) | ({} if special_tokens else {"added_tokens": []})
  if max_length is None:
    json_files.write(os.path.join(directory, TOKENIZER_FILE), values)
    return _CONFIG
  batches = {
      "truncation": {"direction": "Right", "max_length": max_length, "strategy": "LongestFirst", "stride": 0},
      "padding": {"strategy": {"Fixed": max_length} if fixed_length else "BatchLongest", "direction": "Right",
                  "pad_to_multiple_of": None, "pad_id": vocabulary.pad_id, "pad_type_id": 0, "pad_token": PAD}}
  json_files.write(os.path.join(directory, TOKENIZER_FILE), {**values, **batches})
  return {**_CONFIG, "model_max_length": max_length}


def tokenizer_values(vocabulary: Vocabulary, do_lower_case: bool) -> dict[str, object]:
  """The object in a `tokenizer.json`.

  Args:
    do_lower_case: casing of the vocabulary.
  """
  return {
      "version": "1.0", "truncation": None, "padding": None,
      "added_tokens": [{"id": vocabulary.id_of(token), "content": token, "single_word": False, "lstrip": False,
                        "rstrip": False, "normalized": False, "special": True} for token in SPECIAL_TOKENS],
      "normalizer": {"type": "Sequence", "normalizers": _normalizers(do_lower_case)},
      "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
          {"type": "WhitespaceSplit"},
          {"type": "Split", "pattern": {"Regex": _class(unicode.IDEOGRAPH | unicode.PUNCTUATION)},
           "behavior": "Isolated", "invert": False}]},
      "post_processor": _template(vocabulary),
      "decoder": {"type": "WordPiece", "prefix": _CONTINUATION, "cleanup": True},
      "model": {"type": "WordPiece", "unk_token": UNK, "continuing_subword_prefix": _CONTINUATION,
                "max_input_chars_per_word": MAX_WORD_CHARACTERS,
                "vocab": {token: id for id, token in enumerate(vocabulary.tokens)}},
  }


def _normalizers(do_lower_case: bool) -> list[dict]:
  def replaced(pattern: str, content: str) -> dict:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}

  steps = [replaced(_class(unicode.SPACE), " "), replaced(_class(unicode.DELETED), "")]
  if not do_lower_case:
    return steps
  cased, ignorable = _class(unicode.CASED), _class(unicode.CASE_IGNORABLE)
  # `Lowercase` looks at one character at a time, `str.lower()` at what is around a sigma.
  final_sigma = f"(?<={cased}{ignorable}*){chr(unicode.CAPITAL_SIGMA)}(?!{ignorable}*{cased})"
  return [*steps, replaced(final_sigma, chr(unicode.FINAL_SIGMA)), {"type": "Lowercase"}, {"type": "NFD"},
          replaced(_class(unicode.ACCENT), "")]


def _class(properties: int) -> str:
  """A regular expression of one character that has one of these properties, as ranges."""
  tables = unicode.build_tables(True)
  values = tables.pages.reshape(-1, unicode.PAGE_SIZE)[tables.page_of].ravel()
  edges = np.flatnonzero(np.diff(np.concatenate([[False], values & properties != 0, [False]])))
  return "[" + "".join(f"\\x{{{start:X}}}-\\x{{{end - 1:X}}}" for start, end in edges.reshape(-1, 2)) + "]"


def _template(vocabulary: Vocabulary) -> dict:
  """[CLS] first [SEP] second [SEP], with the segment of each."""
  def special(token: str, segment: int) -> dict:
    return {"SpecialToken": {"id": token, "type_id": segment}}

  single = [special(CLS, 0), {"Sequence": {"id": "A", "type_id": 0}}, special(SEP, 0)]
  return {
      "type": "TemplateProcessing", "single": single,
      "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}, special(SEP, 1)],
      "special_tokens": {token: {"id": token, "ids": [vocabulary.id_of(token)], "tokens": [token]}
                         for token in (CLS, SEP)}}

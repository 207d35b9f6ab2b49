"""Hugging Face's `tokenizer.json`: the tokenizer of this project, which is the original's, for
their programs.

Input: a vocabulary and its casing. Output: the file. The steps that Hugging Face has for BERT
(`BertNormalizer`, `BertPreTokenizer`) know an older Unicode, delete other characters, and take 100
characters for the longest word; so the steps here are general ones, with the characters of our
tables.
"""

import os
from typing import Any

import numpy as np

from bert_common import json_files
from data_gen.tokenization.settings import TOKENIZER_FILE, AddedToken, flags_of
from data_gen.tokenization.vocabulary import CLS, PAD, SEP, UNK, Vocabulary
from data_gen.tokenization.wordpiece import MAX_WORD_CHARACTERS, strips_accents
from modeling.preprocessing.graph_tokenizer import (
    ACCENT,
    CAPITAL_SIGMA,
    CASE_IGNORABLE,
    CASED,
    DELETED,
    FINAL_SIGMA,
    IDEOGRAPH,
    PAGE_SIZE,
    PUNCTUATION,
    SPACE,
    build_tables,
)

SPECIAL_TOKENS_FILE = "special_tokens_map.json"
_CONTINUATION = "##"


def write_tokenizer(
    directory: str,
    vocab_file: str,
    do_lower_case: bool,
    max_length: int | None = None,
    fixed_length: bool = False,
    special_tokens: bool = True,
    listed: bool = True,
    is_left: bool = False,
) -> dict[str, object]:
    """Writes a `tokenizer.json`, and a `special_tokens_map.json`, without which some clients fail.

    Args:
      max_length: maximum number of tokens of a row, to which the tokenizer truncates; it pads
        batches to their longest row. None for neither.
      fixed_length: pad all rows to that length.
      special_tokens: "[MASK]" and the like in a text are those tokens; else brackets and words,
        wherever the client can.
      listed: whether special tokens are marked as such, for clients that skip them in the output.
        Clients other than transformers do not know `split_special_tokens`: they then take typed
        ones for those tokens.
      is_left: truncation keeps the end of a text.

    Returns:
      the keys of `tokenizer_config.json` that go with it.
    """
    vocabulary = Vocabulary.from_file(vocab_file)
    values = tokenizer_values(vocabulary, do_lower_case)
    config: dict[str, object] = {
        # This class takes the file as it is; `BertTokenizer` would put its own steps in place of
        # these.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    }
    if not special_tokens:
        config["split_special_tokens"] = True
        if not listed:
            values["added_tokens"] = values["added_tokens"][len(vocabulary.special_tokens) :]
    if max_length is not None:
        config["model_max_length"] = max_length
        # Longest first, as the original truncates pairs.
        if is_left:
            config["truncation_side"] = "left"
        values["truncation"] = {
            "direction": "Left" if is_left else "Right",
            "max_length": max_length,
            "strategy": "LongestFirst",
            "stride": 0,
        }
        values["padding"] = {
            "strategy": {"Fixed": max_length} if fixed_length else "BatchLongest",
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": vocabulary.pad_id,
            "pad_type_id": 0,
            "pad_token": PAD,
        }
    json_files.write(os.path.join(directory, TOKENIZER_FILE), values)
    # Clients make special tokens of the names here, too.
    names = {}
    if special_tokens or listed:
        for token in vocabulary.special_tokens:
            names[f"{token.strip('[]').lower()}_token"] = token
    json_files.write(os.path.join(directory, SPECIAL_TOKENS_FILE), names)
    return config


def tokenizer_values(vocabulary: Vocabulary, do_lower_case: bool) -> dict[str, Any]:
    """Returns the object in a `tokenizer.json`."""
    # [CLS] first [SEP] second [SEP], with the segment of each.
    single = [_special(CLS, 0), {"Sequence": {"id": "A", "type_id": 0}}, _special(SEP, 0)]
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}, _special(SEP, 1)]
    added_tokens = []
    for name in vocabulary.special_tokens:
        special_token = AddedToken(name, vocabulary.id_of(name))
        added_tokens.append({"id": special_token.id, **flags_of(special_token, special=True)})
    for added_token in vocabulary.added_tokens:
        added_tokens.append({"id": added_token.id, **flags_of(added_token)})
    strips = strips_accents(do_lower_case, vocabulary.strip_accents)
    template_tokens = {}
    for token in (CLS, SEP):
        template_tokens[token] = {
            "id": token,
            "ids": [vocabulary.id_of(token)],
            "tokens": [token],
        }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens,
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(do_lower_case, strips)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                # Of the type WhitespaceSplit, openvino_tokenizers would also split at symbols.
                _split(r"\s+", "Removed"),
                _split(_class(IDEOGRAPH | PUNCTUATION), "Isolated"),
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": template_tokens,
        },
        "decoder": {"type": "WordPiece", "prefix": _CONTINUATION, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": UNK,
            "continuing_subword_prefix": _CONTINUATION,
            "max_input_chars_per_word": MAX_WORD_CHARACTERS,
            "vocab": {token: id for id, token in enumerate(vocabulary.word_pieces)},
        },
    }


def _split(pattern: str, behavior: str) -> dict[str, Any]:
    """Returns the step that cuts a text at a regular expression, which it removes or keeps."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def _normalizers(do_lower_case: bool, strip_accents: bool) -> list[dict]:
    """Returns the steps before a text is split into words."""
    steps = [_replace(_class(SPACE), " "), _replace(_class(DELETED), "")]
    if do_lower_case:
        cased = _class(CASED)
        ignorable = _class(CASE_IGNORABLE)
        # `Lowercase` looks at one character at a time, `str.lower()` also at the characters around
        # a sigma.
        final_sigma = f"(?<={cased}{ignorable}*){chr(CAPITAL_SIGMA)}(?!{ignorable}*{cased})"
        steps.append(_replace(final_sigma, chr(FINAL_SIGMA)))
        if strip_accents:
            # OpenVINO makes one step of `Lowercase` and the `NFD` after it, which keeps accents.
            steps.append({"type": "NFD"})
        steps.append({"type": "Lowercase"})
    if strip_accents:
        steps += [{"type": "NFD"}, _replace(_class(ACCENT), "")]
    return steps


def _replace(pattern: str, content: str) -> dict:
    """Returns the step that replaces matches of a regular expression."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _special(token: str, segment: int) -> dict:
    """Returns a special token in a template."""
    return {"SpecialToken": {"id": token, "type_id": segment}}


def _class(properties: int) -> str:
    r"""Returns a regular expression of one character that has one of these properties, as ranges.

    The characters stand for themselves: one library writes `\x{9}`, another `\u{9}`.
    """
    tables = build_tables(True, True)
    values = tables.pages.reshape(-1, PAGE_SIZE)[tables.page_of].ravel()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values & properties != 0, [False]])))
    # Edges of the runs of characters that have the property.
    ranges = []
    for start, end in edges.reshape(-1, 2).tolist():
        ranges.append(_escape(start))
        if end - start > 1:
            ranges.append("-" + _escape(end - 1))
    return f"[{''.join(ranges)}]"


def _escape(code: int) -> str:
    """Returns a character as it is written in a class of a regular expression."""
    character = chr(code)
    return "\\" + character if character in "[]\\^-" else character

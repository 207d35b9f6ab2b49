"""Hugging Face's `tokenizer.json`: the tokenizer of this project, which is the original's, for
their programs.

Input: a vocabulary and its casing. Output: the file. The steps that Hugging Face has for BERT
(`BertNormalizer`, `BertPreTokenizer`) know an older Unicode, delete other characters, and take 100
characters for the longest word; so the steps here are general ones, with the characters of our
tables.
"""

import os

import numpy as np

from bert_common import json_files
from data_gen.tokenization.vocabulary import CLS, PAD, SEP, SPECIAL_TOKENS, UNK, Vocabulary
from data_gen.tokenization.wordpiece import MAX_WORD_CHARACTERS
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

TOKENIZER_FILE, SPECIAL_TOKENS_FILE = "tokenizer.json", "special_tokens_map.json"
# What transformers reads beside it. The class takes the file as it is; `BertTokenizer` and its like
# would put steps of their own in place of these.
_CONFIG: dict[str, object] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
}
_CONTINUATION = "##"


def write_tokenizer(
    directory: str,
    vocab_file: str,
    do_lower_case: bool,
    max_length: int | None = None,
    fixed_length: bool = False,
    special_tokens: bool = True,
    listed: bool = True,
) -> dict[str, object]:
    """Writes a `tokenizer.json`, and a `special_tokens_map.json`, which some clients do without and
    others refuse to.

    Args:
      max_length: most tokens of a row, which the tokenizer then truncates to, and pads batches to
        their longest row; None for neither.
      fixed_length: pad all rows to that length.
      special_tokens: "[MASK]" and the like in a text are those tokens; else brackets and words,
        wherever the client can.
      listed: whether special tokens are marked as such, for clients that skip them in the output.
        Those that do not know `split_special_tokens`, which all but transformers are, take typed
        ones for those tokens then.

    Returns:
      the keys of `tokenizer_config.json` that go with it.
    """
    vocabulary = Vocabulary.from_file(vocab_file)
    values, config = tokenizer_values(vocabulary, do_lower_case), _CONFIG
    if not special_tokens:
        config = {**config, "split_special_tokens": True}
        values = values if listed else {**values, "added_tokens": []}
    if max_length is not None:
        config = {**config, "model_max_length": max_length}
        values |= {
            "truncation": {
                "direction": "Right",
                "max_length": max_length,
                "strategy": "LongestFirst",
                "stride": 0,
            },
            "padding": {
                "strategy": {"Fixed": max_length} if fixed_length else "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": vocabulary.pad_id,
                "pad_type_id": 0,
                "pad_token": PAD,
            },
        }
    json_files.write(os.path.join(directory, TOKENIZER_FILE), values)
    # Whoever reads names here makes tokens of them.
    json_files.write(
        os.path.join(directory, SPECIAL_TOKENS_FILE),
        {f"{name.strip('[]').lower()}_token": name for name in SPECIAL_TOKENS}
        if values["added_tokens"]
        else {},
    )
    return config


def tokenizer_values(vocabulary: Vocabulary, do_lower_case: bool) -> dict[str, object]:
    """The object in a `tokenizer.json`."""

    def replaced(pattern: str, content: str) -> dict:
        return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}

    def special(token: str, segment: int) -> dict:
        return {"SpecialToken": {"id": token, "type_id": segment}}

    normalizers = [replaced(_class(SPACE), " "), replaced(_class(DELETED), "")]
    if do_lower_case:
        cased, ignorable = _class(CASED), _class(CASE_IGNORABLE)
        # `Lowercase` looks at one character at a time, `str.lower()` at what is around a sigma.
        final_sigma = f"(?<={cased}{ignorable}*){chr(CAPITAL_SIGMA)}(?!{ignorable}*{cased})"
        normalizers += [
            replaced(final_sigma, chr(FINAL_SIGMA)),
            {"type": "Lowercase"},
            {"type": "NFD"},
            replaced(_class(ACCENT), ""),
        ]
    # [CLS] first [SEP] second [SEP], with the segment of each.
    single = [special(CLS, 0), {"Sequence": {"id": "A", "type_id": 0}}, special(SEP, 0)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary.id_of(token),
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in SPECIAL_TOKENS
        ],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {
                    "type": "Split",
                    "pattern": {"Regex": _class(IDEOGRAPH | PUNCTUATION)},
                    "behavior": "Isolated",
                    "invert": False,
                },
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}, special(SEP, 1)],
            "special_tokens": {
                token: {"id": token, "ids": [vocabulary.id_of(token)], "tokens": [token]}
                for token in (CLS, SEP)
            },
        },
        "decoder": {"type": "WordPiece", "prefix": _CONTINUATION, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": UNK,
            "continuing_subword_prefix": _CONTINUATION,
            "max_input_chars_per_word": MAX_WORD_CHARACTERS,
            "vocab": {token: id for id, token in enumerate(vocabulary.tokens)},
        },
    }


def _class(properties: int) -> str:
    """A regular expression of one character that has one of these properties, as ranges.

    The characters stand for themselves: one library writes `\\x{9}`, another `\\u{9}`.
    """
    tables = build_tables(True)
    values = tables.pages.reshape(-1, PAGE_SIZE)[tables.page_of].ravel()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values & properties != 0, [False]])))
    ranges = [(chr(start), chr(end - 1)) for start, end in edges.reshape(-1, 2)]
    return (
        "["
        + "".join(
            "-".join(f"\\{one}" if one in "[]\\^-" else one for one in dict.fromkeys(ends))
            for ends in ranges
        )
        + "]"
    )

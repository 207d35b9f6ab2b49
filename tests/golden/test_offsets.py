"""Offsets on the original's texts: what they cut out of a text is the token that the original made
there."""

import json

import numpy as np
import pytest

from data_gen.tokenization.tokenizer import Tokenizer
from tests.oracles.tokenizer import ReferenceTokenizer


@pytest.mark.golden
@pytest.mark.parametrize("casing", ["uncased", "cased"])
def test_slices_are_the_tokens_of_the_original(golden, golden_set, casing):
    tokenizer = Tokenizer.from_file(
        str(golden / "bert" / f"{casing}_vocab.txt"), casing == "uncased"
    )
    reference = ReferenceTokenizer(tokenizer.vocabulary.tokens, casing == "uncased")
    with open(
        golden_set / "tokenization" / f"tokenization_{casing}.jsonl", encoding="utf-8"
    ) as file:
        lines = [line for line in map(json.loads, file) if "lang" in line]
    encoding = tokenizer.encode_batch([line["text"] for line in lines], offsets=True)
    compared = 0
    for line, offsets in zip(
        lines, np.split(encoding.offsets, np.cumsum(encoding.row_lengths)[:-1]), strict=True
    ):
        assert (offsets[1:, 0] >= offsets[:-1, 0]).all() and (offsets[:, 1] > offsets[:, 0]).all()
        for token, (start, end) in zip(line["tokens"], offsets.tolist(), strict=True):
            piece = line["text"][start:end]
            if token == "[UNK]":
                assert reference.tokenize(piece) == ["[UNK]"]
            # A sigma by itself does not know that it stood at the end of a word.
            elif "ς" not in token:
                assert "".join(reference.basic_tokenize(piece)) == token.removeprefix("##")
                compared += 1
    assert compared > 10_000

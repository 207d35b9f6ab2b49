"""The benchmark of answers runs small: all programs get the same texts, and exports are made on the
way."""

import importlib.util
import os
import re

import pytest

from benchmarks import serving
from data_gen.tokenization.tokenizer import Tokenizer
from tests.tiny import write_tiny


def test_it_runs(tmp_path, capsys, monkeypatch):
    requests, build = [], serving._build
    monkeypatch.setattr(
        serving, "_build", lambda *given: requests.append(given[2:]) or build(*given)
    )
    checkpoint = write_tiny(tmp_path / "model")
    vocab_file = os.path.join(checkpoint, "vocab.txt")
    programs = (
        "export",
        "onnx",
        "onnx_int8",
        *(("transformers",) if importlib.util.find_spec("transformers") else ()),
    )
    serving.main(
        serving.ServingOptions(
            init_checkpoint=checkpoint,
            vocab_file=vocab_file,
            tokens=(9,),
            max_seq_length=16,
            batch_size=(2,),
            repetitions=2,
            programs=programs,
            one_process=True,
        )
    )
    printed = capsys.readouterr().out
    assert re.search(r"^export +\d+\.\d$", printed, re.MULTILINE)
    for name in programs:
        assert re.search(
            rf"^{name} +[\d,.]+ +[\d,.]+ to [\d,.]+ +\d+\.\d +\d+\.\d +\d+\.\d\dx",
            printed,
            re.MULTILINE,
        ), printed
    # All programs get the same texts, of so many tokens.
    tokenizer = Tokenizer.from_file(vocab_file)
    assert requests == [(requests[0][0], 2, name) for name in programs]
    assert {len(tokenizer.encode(text)) + 2 for text in requests[0][0]} == {9}
    if "transformers" not in programs:
        pytest.skip("transformers is not installed (pip install --group peers); the others ran")

"""nanotoken as an engine: the ids are the original's, character by character and for whole texts."""

import numpy as np
import pytest

from bert_common.errors import UserError
from data_gen.tokenization import nanotoken_engine
from data_gen.tokenization.nanotoken_engine import is_exact
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary

needs_nanotoken = pytest.mark.skipif(nanotoken_engine.installed() is None, reason="needs nanotoken")


def both(vocabulary, lower, texts):
    """The encodings of both engines."""
    return [
        Tokenizer(vocabulary, lower, engine).encode_batch(texts)
        for engine in ("numpy", "nanotoken")
    ]


@needs_nanotoken
@pytest.mark.parametrize("lower, strip_accents", [(True, None), (False, None), (False, True)])
def test_every_character_alone_between_letters_twice_and_beside_marks(lower, strip_accents):
    characters = [chr(code) for code in range(0x10000) if is_exact(chr(code))]
    words = [character for character in characters if not character.isspace()]
    # Every character is a piece, so that no difference can hide in [UNK].
    vocabulary = Vocabulary(
        [*SPECIAL_TOKENS, *words, *(f"##{word}" for word in words)], strip_accents=strip_accents
    )
    texts = []
    for character in characters:
        texts.append("x ax xx e\u0301x x\u0301 cx\u0316\u0301d".replace("x", character))
    expected, found = both(vocabulary, lower, texts)
    assert len(texts) > 50_000
    np.testing.assert_array_equal(found.row_lengths, expected.row_lengths)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.ids.dtype == np.int32 and found.row_lengths.dtype == np.int64


@needs_nanotoken
@pytest.mark.parametrize("lower", [True, False])
def test_long_words_and_marks_of_special_tokens(lower):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "x", "##x", "[", "]", "mask", "MASK", "\u1100"])
    texts = [f"{letter * size} x" for letter in ("x", "é", "\uac01") for size in range(99, 202)]
    texts += ["[MASK] [mask][SEP]", "", "x" * 300_000] * 40
    expected, found = both(vocabulary, lower, texts)
    np.testing.assert_array_equal(found.row_lengths, expected.row_lengths)
    np.testing.assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("text", ["ΟΔΟΣ", "a\ue000", "\ud800", "\u1734", "\u061d"])
def test_what_the_engine_knows_otherwise_is_not_left_to_it(text):
    assert not is_exact(text)
    assert is_exact("“naïve” 東京 Привет한")


def test_engines_that_are_not_there():
    vocabulary = Vocabulary(SPECIAL_TOKENS)
    with pytest.raises(UserError, match="'rust'"):
        Tokenizer(vocabulary, engine="rust")


def test_a_version_that_was_not_compared(monkeypatch, capfd):
    monkeypatch.setattr(nanotoken_engine, "_VERSIONS", ("0.0.9",))
    monkeypatch.setattr(nanotoken_engine, "version", lambda package: "0.1.0")
    nanotoken_engine.installed.cache_clear()
    try:
        with pytest.raises(UserError, match="fast"):
            Tokenizer(Vocabulary(SPECIAL_TOKENS), engine="nanotoken")
        assert "nanotoken 0.1.0 is not used" in capfd.readouterr().err
    finally:
        nanotoken_engine.installed.cache_clear()

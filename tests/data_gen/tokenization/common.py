import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from data_gen.tokenization import nanotoken_engine
from data_gen.tokenization import tokenizer as tokenization
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tests.oracles.tokenizer import ReferenceTokenizer

PIECES = [*"abcdefghijknorstuAEIßéςσαlo0123", *"!,.'-[]$#", *"「中本한ก\u1112éő\u0301−"]
WORDS = [
    "the",
    "un",
    "aff",
    "able",
    "mask",
    "MASK",
    "Ab",
    "ab",
    "##",
    "[unused1]",
    "oς",
    "a" * 30,
    "\u1112\u1161",
]
VOCABULARY = Vocabulary(
    [
        *SPECIAL_TOKENS,
        *dict.fromkeys(PIECES + WORDS),
        *dict.fromkeys(
            f"##{piece}" for piece in [*PIECES, *WORDS[:6], "\u1161", "\u11ab", "\u0301"]
        ),
    ]
)
TOKENIZERS = {lower: Tokenizer(VOCABULARY, lower) for lower in (True, False)}
REFERENCES = {lower: ReferenceTokenizer(VOCABULARY.tokens, lower) for lower in (True, False)}

# What goes wrong lives in few characters: random Unicode alone would hardly ever meet them.
AWKWARD = st.sampled_from(
    [
        *" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2028\u2029\u202f\u205f\u3000",
        *"\0\x01\x7f\x9f\xad\u200b\u200d\ufeff\ufffd\U000e0001",
        *"\u0301\u0300\u0323\u0345\u1ab0\u302e\U0001d165\u0903",
        *"Σσς'.:İıßﬁÅéŐΆ≠\u037e\u1fef",
        *"中一\u33ff\u3400\u4dbf\u4dc0\u9fff\ua000\uf900\ufaff\U00020000\U0002cea1\U0002ceb0\U0002fa1f",
        *"한각ก「",
        "\ud800",
        "\ue000",
        "\U0010ffff",
        "𝔘",
        "①",
        "[MASK]",
        "[SEP]",
        "[mask]",
        "##",
    ]
)
TEXTS = st.lists(
    st.one_of(AWKWARD, st.sampled_from(PIECES + WORDS), st.characters(), st.just(" ")), max_size=30
).map("".join)
# Mostly ASCII, as what is vectorized.
ENGLISH = st.lists(
    st.one_of(
        st.sampled_from([*WORDS, "The", "unaffable", "x" * 17, "A.B", "é", "“", "\xa0"]),
        st.text(st.characters(max_codepoint=127), max_size=20),
        st.just(" "),
        AWKWARD,
    ),
    max_size=30,
).map("".join)
LOWER = st.booleans()
WAY = st.sampled_from(
    ["chunks", "vectorized", *(["nanotoken"] if nanotoken_engine.installed() else [])]
)
thorough = settings(max_examples=400, deadline=None)


def set_way(way, patch):
    """Looks all texts up chunk by chunk, or gives all that it takes to a faster way."""
    patch.setattr(tokenization, "_SMALLEST_BATCH", 10**9 if way == "chunks" else 0)
    patch.setattr(tokenization, "_ENGINE_CHARACTERS", 0 if way == "nanotoken" else 10**9)


def rows(encoding):
    return [row.tolist() for row in np.split(encoding.ids, np.cumsum(encoding.row_lengths)[:-1])]


def encode(way, tokenizer, texts, special_tokens=False, offsets=False, characters=10):
    """encode_batch one way or the other, so few characters at a time that most batches are cut into
    several."""
    with pytest.MonkeyPatch.context() as patch:
        set_way(way, patch)
        patch.setattr(tokenization, "_BATCH_CHARACTERS", characters)
        return tokenizer.encode_batch(texts, special_tokens, offsets)


def tokens_and_texts(tokenizer, text, special_tokens=False):
    """[(token, the text that its offsets cover)]"""
    encoding = tokenizer.encode_batch([text], special_tokens, offsets=True)
    return [
        (tokenizer.vocabulary.tokens[id], text[start:end])
        for id, (start, end) in zip(encoding.ids.tolist(), encoding.offsets.tolist(), strict=True)
    ]

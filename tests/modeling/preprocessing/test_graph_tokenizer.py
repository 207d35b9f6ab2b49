import json
import unicodedata

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings

from data_gen.labeled.pair_features import encode_pairs
from data_gen.tokenization.settings import AddedToken
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from modeling.preprocessing.graph_tokenizer import GraphTokenizer, pack
from tests.data_gen.tokenization.common import LOWER, TEXTS, TOKENIZERS, VOCABULARY


def traced(vocabulary, do_lower_case, special_tokens=False):
    graph = GraphTokenizer(vocabulary, do_lower_case, special_tokens)
    return tf.function(
        graph.__call__, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )


GRAPHS = {
    (lower, special): traced(VOCABULARY, lower, special)
    for lower in (False, True)
    for special in (False, True)
}


def assert_same(graph, tokenizer, texts, special_tokens=False):
    found = graph(tf.constant([text.encode() for text in texts], tf.string))
    expected = tokenizer.encode_batch(texts, special_tokens, offsets=True)
    np.testing.assert_array_equal(found.ids.row_lengths(), expected.row_lengths)
    np.testing.assert_array_equal(found.ids.values, expected.ids)
    np.testing.assert_array_equal(np.stack([found.starts, found.ends], 1), expected.offsets)


@pytest.mark.golden
@pytest.mark.parametrize("name", ["uncased", "cased"])
def test_every_golden_line(golden, golden_set, name):
    tokenizer = Tokenizer.from_file(str(golden / "bert" / f"{name}_vocab.txt"), name == "uncased")
    with open(golden_set / "tokenization" / f"tokenization_{name}.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    graph = GraphTokenizer(tokenizer.vocabulary, name == "uncased")
    if unicodedata.unidata_version != "14.0.0":
        lines = [line for line in lines if "unicode" not in line]
    found = graph(tf.constant([line["text"] for line in lines])).ids.to_list()
    assert found == [line["ids"] for line in lines]
    assert_same(graph, tokenizer, [line["text"] for line in lines])


@pytest.mark.parametrize("lower", [True, False])
def test_every_kind_of_character(lower):
    """Within a word, at its end, and behind a capital sigma: all that are assigned, but of the many
    syllables and ideographs, as of unassigned characters, a sample and the ends of their ranges."""
    edges = {
        0x3400,
        0x4DBF,
        0x4DC0,
        0x4E00,
        0x9FFF,
        0xA000,
        0xAC00,
        0xD7A3,
        0xF900,
        0xFAFF,
        0xFB00,
        0x20000,
        0x2A6DF,
        0x2A6E0,
        0x2A700,
        0x2CEAF,
        0x2CEB0,
        0x2F800,
        0x2FA1F,
        0x2FA20,
        0xFFFE,
        0xFFFF,
        0x10FFFF,
    }
    codes = [
        code
        for code in range(0x110000)
        if not 0xD800 <= code < 0xE000
        and (
            unicodedata.category(chr(code)) not in ("Lo", "Cn", "Co")
            or code % 61 == 0
            or code in edges
        )
    ]
    words = [f"a{chr(code)}b aΣ{chr(code)} aΣ{chr(code)}a" for code in codes]
    texts = [" ".join(words[start : start + 500]) for start in range(0, len(words), 500)]
    assert_same(GRAPHS[lower, False], TOKENIZERS[lower], texts)


def usable(text):
    """Without what is no UTF-8, and without one of the marks that NFD would swap (see the module's
    docstring)."""
    return "".join(
        character
        for character in text
        if unicodedata.category(character) != "Cs"
        and (
            unicodedata.combining(character) in (0, 9)
            or unicodedata.category(character) == "Mn"
            or character == "\u302e"
        )
    )


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS, LOWER, LOWER)
@example("[MASK]", "a[MASK]\u0301 Σ[MASK]Σ [[MASK]]", True, True)
@example("", "", True, False)
def test_random_unicode(first, second, lower, special):
    texts = [usable(first), "", usable(second)]
    assert_same(GRAPHS[lower, special], TOKENIZERS[lower], texts, special)


def test_bytes_that_are_no_text_are_passed_over():
    found = GRAPHS[True, False](tf.constant([b"the\xff un\xc3", b"\x80", b"able"]))
    expected = TOKENIZERS[True].encode_batch(["the\ufffd un\ufffd", "\ufffd", "able"])
    np.testing.assert_array_equal(found.ids.row_lengths(), expected.row_lengths)
    np.testing.assert_array_equal(found.ids.values, expected.ids)


def test_no_texts():
    assert GRAPHS[True, True](tf.zeros([0], tf.string)).ids.to_list() == []


def test_a_vocabulary_with_odd_entries():
    vocabulary = Vocabulary(
        [*VOCABULARY.tokens, "##\u0301\u0301x", "\ufffd", "a b", "##..", "中国", "..."]
    )
    texts = ["##", "# #", "a b", "...", "中国", "the" * 70, "\ufffd", "-" + "a" * 201 + "-"]
    for lower in (True, False):
        assert_same(GraphTokenizer(vocabulary, lower), Tokenizer(vocabulary, lower), texts)


@pytest.mark.parametrize("normalized", [False, True])
def test_added_tokens_that_overlap_are_found_from_left_to_right(normalized):
    # Two that share a letter, in both orders, one in another, and two that overlap themselves.
    contents = ["yz", "xy", "zy", "---", "-.", "--"]
    added = [AddedToken(content, -1, normalized) for content in contents]
    vocabulary = Vocabulary([*VOCABULARY.tokens, *contents], added_tokens=added)
    graph = traced(vocabulary, True)
    texts = ["xyz", "zyz Xyzy", *("-" * count for count in range(9)), "-" * 5000, "--.--.---."]
    assert_same(graph, Tokenizer(vocabulary), texts)
    assert_same(graph, Tokenizer(vocabulary), ["xy", "the -- un"])


TOKENIZER = TOKENIZERS[True]
GRAPH = GraphTokenizer(TOKENIZER.vocabulary, True)


@pytest.mark.parametrize("max_seq_length", [3, 4, 5, 8, 9, 50])
@pytest.mark.parametrize("pairs", [False, True])
def test_rows_are_those_of_training(max_seq_length, pairs):
    lengths = [(a, b) for a in range(8) for b in range(8)]
    first, second = (
        ["the un a . b c no é"[: 2 * n] for n in column] for column in zip(*lengths, strict=True)
    )
    second = second if pairs else None
    exact = encode_pairs(TOKENIZER, first, second, max_seq_length)
    found = pack(
        GRAPH(tf.constant(first)).ids,
        GRAPH(tf.constant(second)).ids if pairs else None,
        max_seq_length,
        TOKENIZER.vocabulary,
    )
    mask = found["input_mask"].numpy().astype(bool)
    np.testing.assert_array_equal(mask.sum(1), exact.row_lengths)
    np.testing.assert_array_equal(found["input_ids"].numpy()[mask], exact.input_ids)
    np.testing.assert_array_equal(found["segment_ids"].numpy()[mask], exact.segment_ids)
    # Padded to the longest and not beyond.
    assert mask.shape[1] == exact.row_lengths.max()
    assert set(found["input_ids"].numpy()[~mask]) <= {TOKENIZER.vocabulary.pad_id}

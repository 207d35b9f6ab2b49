"""The tokenizer against the original's output, against a plain implementation on random Unicode,
and its offsets."""

import concurrent.futures
import gzip
import json
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data_gen.tokenization import tokenizer as tokenization
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.wordpiece import basic_tokenize
from tests.data_gen.tokenization import common
from tests.oracles.tokenizer import ReferenceTokenizer


@pytest.fixture(scope="module", params=["uncased", "cased"])
def released(request, golden):
    path = str(golden / "bert" / f"{request.param}_vocab.txt")
    return request.param, Tokenizer.from_file(path, do_lower_case=request.param == "uncased")


def golden_lines(golden, name):
    with open(golden / "tokenization" / f"tokenization_{name}.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    if unicodedata.unidata_version != "14.0.0":
        # Characters that were assigned or changed since may legitimately differ.
        lines = [line for line in lines if "unicode" not in line]
    return lines


@pytest.mark.golden
def test_every_golden_line(released, golden_set, way):
    name, tokenizer = released
    lines = golden_lines(golden_set, name)
    texts = [line["text"] for line in lines]
    encoding = tokenizer.encode_batch(texts)
    assert len(lines) > 2300
    assert common.rows(encoding) == [line["ids"] for line in lines]
    assert [tokenizer.tokenize(text) for text in texts] == [line["tokens"] for line in lines]
    with_offsets = tokenizer.encode_batch(texts, offsets=True)
    np.testing.assert_array_equal(with_offsets.ids, encoding.ids)
    np.testing.assert_array_equal(with_offsets.row_lengths, encoding.row_lengths)


@pytest.mark.golden
def test_reference_on_every_golden_line(released, golden_set):
    """The implementation that the other tests and the benchmark compare with is itself exact."""
    name, tokenizer = released
    reference = ReferenceTokenizer(tokenizer.vocabulary.tokens, tokenizer.do_lower_case)
    for line in golden_lines(golden_set, name):
        assert reference.tokenize(line["text"]) == line["tokens"]


@pytest.mark.golden
def test_class_of_every_character(golden):
    """Deleted, space, punctuation, ideograph or ordinary: each in the middle of a word."""
    with gzip.open(golden / "tokenization" / "basic_char_classes.json.gz") as file:
        expected = json.load(file)
    if unicodedata.unidata_version != expected["unidata_version"]:
        pytest.skip(f"the values are for Unicode {expected['unidata_version']}")
    classes = {}
    for first, last, name in expected["classes"]:
        classes.update(dict.fromkeys(range(int(first, 16), int(last, 16) + 1), name))
    lowered = {}
    for key, value in expected["lower_strip_accents"].items():
        lowered[int(key, 16)] = value
    for start in range(0, 0x110000, 0x1000):
        # Planes 4 to 13 are unassigned and 15 and 16 private: a sample will do.
        codes = range(start, start + 0x1000, 1 if start < 0x40000 or start == 0xE0000 else 61)
        words = [
            word
            for code in codes
            for word in {
                "drop": ["ab"],
                "space": ["a", "b"],
                "split_only": ["a", "b"],
                "punct": ["a", chr(code), "b"],
                "cjk": ["a", chr(code), "b"],
            }.get(classes.get(code), [f"a{chr(code)}b"])
        ]
        assert (
            basic_tokenize(" ".join(f"a{chr(code)}b" for code in codes), do_lower_case=False)
            == words
        )
        letters = [code for code in codes if code not in classes and not 0xAC00 <= code <= 0xD7A3]
        # What lower-casing and stripping leaves may be cut again: U+2260 leaves "=".
        left = [
            basic_tokenize(lowered.get(code, chr(code)), do_lower_case=False) for code in letters
        ]
        assert basic_tokenize(" ".join(map(chr, letters)), do_lower_case=True) == [
            word for words in left for word in words
        ]


@common.thorough
@given(st.lists(st.one_of(common.TEXTS, common.ENGLISH), max_size=4), common.LOWER, common.WAY)
@example(["ΑΣ ΑΣ.b ΑΣ\u200bΒ", "ΟΔΟΣ"], True, "vectorized")
@example(["a\x1cb", "中a\x85", ""], False, "chunks")
@example(["the" * 6, "é" * 9 + "a" * 17, "a" * 16 + "b", "a" * 16], True, "vectorized")
@example(["\0\0\0\0\0\0\0\0a", "a", "\0"], True, "vectorized")
def test_equals_the_plain_algorithm(texts, lower, way):
    expected = [common.REFERENCES[lower].encode(text) for text in texts]
    encoding = common.encode(way, common.TOKENIZERS[lower], texts)
    assert (common.rows(encoding) if texts else []) == expected
    assert encoding.ids.dtype == np.int32 and encoding.row_lengths.dtype == np.int64
    assert encoding.row_lengths.tolist() == [len(row) for row in expected]
    assert encoding.offsets is None
    for text in texts:
        assert common.REFERENCES[lower].basic_tokenize(text) == basic_tokenize(text, lower)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(common.TEXTS | common.ENGLISH, min_size=1, max_size=6),
    common.LOWER,
    st.booleans(),
    common.WAY,
)
def test_a_batch_is_its_texts_one_by_one(texts, lower, special, way):
    tokenizer = common.TOKENIZERS[lower]
    batch = common.encode(way, tokenizer, texts, special, offsets=True)
    singles = [tokenizer.encode_batch([text], special, offsets=True) for text in texts]
    np.testing.assert_array_equal(batch.ids, np.concatenate([single.ids for single in singles]))
    np.testing.assert_array_equal(
        batch.row_lengths, np.concatenate([single.row_lengths for single in singles])
    )
    np.testing.assert_array_equal(
        batch.offsets, np.concatenate([single.offsets for single in singles])
    )
    np.testing.assert_array_equal(batch.ids, common.encode(way, tokenizer, texts, special).ids)


def test_full_caches_change_nothing(monkeypatch):
    monkeypatch.setattr(tokenization, "_CACHE_ENTRIES", 3)
    common.set_way("chunks", monkeypatch)
    tokenizer = Tokenizer(common.VOCABULARY)
    texts = ["the unaffable the, able!", "a b c d e f the", "中本a " * 3] * 2
    expected = [common.REFERENCES[True].encode(text) for text in texts]
    assert common.rows(tokenizer.encode_batch(texts)) == expected
    assert common.rows(tokenizer.encode_batch(texts, offsets=True)) == expected
    caches = [*tokenizer._caches.values(), tokenizer._word_cache]
    assert [len(cache) <= 3 for cache in caches] == [True] * 3
    assert any(caches)


@pytest.mark.parametrize("size", [150_000, 250_000])
def test_long_text(size):
    """One text longer than a batch should be, and one that is too long to be vectorized at all."""
    text = "the able, un " * (size // 13)
    encoding = common.TOKENIZERS[True].encode_batch([text, "a"], offsets=True)
    assert encoding.row_lengths.tolist() == [4 * (size // 13), 1]
    np.testing.assert_array_equal(encoding.ids[:4], common.REFERENCES[True].encode("the able, un"))
    np.testing.assert_array_equal(
        encoding.offsets[:-1].reshape(-1, 4, 2) - 13 * np.arange(size // 13)[:, None, None],
        np.broadcast_to([[0, 3], [4, 8], [8, 9], [10, 12]], (size // 13, 4, 2)),
    )


@pytest.mark.usefixtures("way")
def test_long_words_count_characters_after_decomposition():
    """200 characters are a word, 201 are [UNK]; a Hangul syllable of three Jamo counts three."""
    lower, cased = common.TOKENIZERS[True], common.TOKENIZERS[False]
    assert lower.tokenize("a" * 200) == ["a" * 30] + ["##a"] * 170
    assert lower.tokenize("a" * 201) == ["[UNK]"]
    assert lower.tokenize("a" * 201 + ",a") == ["[UNK]", ",", "a"]
    assert len(lower.tokenize("한" * 66)) > 1
    assert lower.tokenize("한" * 67) == ["[UNK]"]
    assert len(cased.tokenize("한" * 200)) == 200
    assert len(lower.tokenize("é" * 200)) > 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ab[MASK]ab", ["ab", "[MASK]", "ab"]),
        ("[CLS][SEP] [PAD]\n[UNK]", ["[CLS]", "[SEP]", "[PAD]", "[UNK]"]),
        ("中[MASK]中", ["中", "[MASK]", "中"]),
        ("[mask]", ["[", "mask", "]"]),
        ("[MA\u200bSK]", ["[", "mask", "]"]),
        ("[[MASK]]", ["[", "[MASK]", "]"]),
    ],
)
@pytest.mark.usefixtures("way")
def test_special_tokens_wherever_they_stand(text, tokens):
    tokenizer = common.TOKENIZERS[True]
    for _ in range(2):
        encoding = tokenizer.encode_batch([text], special_tokens=True, offsets=True)
        assert [common.VOCABULARY.tokens[id] for id in encoding.ids] == tokens
        for token, (start, end) in zip(tokens, encoding.offsets, strict=True):
            assert text[start:end].replace("\u200b", "").lower() == token.lower()


@pytest.mark.usefixtures("way")
def test_empty_input_and_what_is_no_text():
    tokenizer = common.TOKENIZERS[True]
    assert tokenizer.tokenize("") == []
    for offsets in (True, False):
        encoding = tokenizer.encode_batch([], offsets=offsets)
        assert len(encoding.ids) == len(encoding.row_lengths) == 0
        encoding = tokenizer.encode_batch(["", " ", "a", "\x0b"], offsets=offsets)
        assert encoding.row_lengths.tolist() == [0, 0, 1, 0]
    assert encoding.offsets is None
    assert tokenizer.encode_batch([], offsets=True).offsets.shape == (0, 2)
    with pytest.raises(TypeError, match="list of texts"):
        tokenizer.encode_batch("one text")
    for text in (b"bytes", None, 1):
        with pytest.raises(TypeError):
            tokenizer.encode_batch([text])
    assert tokenizer.encode_batch(text for text in ("a", "b")).row_lengths.tolist() == [1, 1]


@pytest.mark.usefixtures("way")
def test_threads():
    tokenizer = Tokenizer(common.VOCABULARY)
    batches = [
        [f"the {number} able, a{number}b un{number}" for number in range(start, start + 300)]
        for start in (0, 100, 200, 300)
    ]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        encodings = list(pool.map(tokenizer.encode_batch, batches * 3))
    for encoding, batch in zip(encodings, batches * 3, strict=True):
        assert common.rows(encoding) == [common.REFERENCES[True].encode(text) for text in batch]


def test_tensorflow_is_not_imported(project):
    code = "import sys, data_gen.tokenization; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=project, check=False).returncode == 0

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.labeled import pair_features
from data_gen.labeled.pair_features import (
    END,
    MIDDLE,
    START,
    START_OF_A,
    encode_pairs,
    encode_windows,
)
from data_gen.tokenization.tokenizer import Tokenizer
from tests.data_gen.tokenization.common import TEXTS, TOKENIZERS

TOKENIZER = TOKENIZERS[True]
WORDS = ["un", "able", "unable", "the", "ab", "!"]
SENTENCES = st.lists(st.sampled_from([*WORDS, " ", ""]), max_size=12).map(" ".join)
# Many times as long as what is read of them, with places where a cut would change tokens.
_PIECES = [
    *WORDS,
    " ",
    "\n",
    300 * " ",
    "ab" * 80,
    "文",
    "文能",
    "\u0301",
    "Σ",
    "a\u00ad",
    "\0",
    "[SEP]",
]
LONG = st.lists(st.sampled_from(_PIECES), max_size=300).map("".join)


def plain(tokenizer, text_a, text_b, max_seq_length, keep_end_of_a=False):
    """One example, token by token: (ids, segment ids, whether it was truncated)."""
    a = tokenizer.encode(text_a).tolist()
    b = tokenizer.encode(text_b).tolist() if text_b else []
    before = len(a) + len(b)
    longest = max_seq_length - (3 if b else 2)
    while len(a) + len(b) > longest:
        if len(a) > len(b):
            a.pop(0 if keep_end_of_a else -1)
        else:
            b.pop()
    sep = [tokenizer.vocabulary.sep_id]
    first, second = [tokenizer.vocabulary.cls_id] + a + sep, b + sep if b else []
    return first + second, [0] * len(first) + [1] * len(second), len(a) + len(b) < before


def rows(features):
    ends = np.cumsum(features.row_lengths)[:-1]
    return [
        (ids.tolist(), segments.tolist())
        for ids, segments in zip(
            np.split(features.input_ids, ends), np.split(features.segment_ids, ends), strict=True
        )
    ]


def check(tokenizer, text_a, text_b, max_seq_length, **options):
    features = encode_pairs(tokenizer, text_a, text_b, max_seq_length, **options)
    expected = [
        plain(tokenizer, *pair, max_seq_length, options.get("truncation") == START_OF_A)
        for pair in zip(text_a, text_b or [""] * len(text_a), strict=True)
    ]
    assert (features.input_ids.dtype, features.segment_ids.dtype, features.row_lengths.dtype) == (
        np.int32,
        np.uint8,
        np.int64,
    )
    assert features.row_lengths.tolist() == [len(ids) for ids, _, _ in expected]
    assert rows(features) == [(ids, segments) for ids, segments, _ in expected]
    assert features.is_truncated.tolist() == [truncated for _, _, truncated in expected]
    assert features.truncated == sum(features.is_truncated)


@settings(deadline=None)
@given(
    st.lists(st.tuples(SENTENCES, st.one_of(SENTENCES, TEXTS)), min_size=1, max_size=12),
    st.integers(3, 24),
    st.booleans(),
    st.booleans(),
)
def test_every_example_is_that_of_a_plain_loop(pairs, max_seq_length, is_pair, keep_end_of_a):
    text_a, text_b = map(list, zip(*pairs, strict=True))
    check(
        TOKENIZER,
        text_a,
        text_b if is_pair else None,
        max_seq_length,
        truncation=START_OF_A if keep_end_of_a else END,
    )


@settings(deadline=None)
@given(LONG, LONG, st.integers(3, 9), st.sampled_from([END, START_OF_A]))
def test_a_long_text_has_the_tokens_of_the_whole(text_a, text_b, max_seq_length, truncation):
    check(TOKENIZER, [text_a], [text_b], max_seq_length, truncation=truncation)
    check(TOKENIZER, [text_a], None, max_seq_length, truncation=truncation)


@pytest.mark.parametrize("truncation", [END, MIDDLE, START])
@pytest.mark.parametrize("unit", ["the unable ", "文能 ", "文", "able\n"])
def test_no_more_of_a_text_is_tokenized_than_is_read(truncation, unit):
    class Counting(Tokenizer):
        characters = 0

        def encode_batch(self, texts, *arguments):
            self.characters += sum(len(text) for text in texts)
            return super().encode_batch(texts, *arguments)

    ids = []
    counts = []
    for length in (10_000, 1_000_000):
        tokenizer = Counting(TOKENIZER.vocabulary)
        text = unit * (length // len(unit))
        ids.append(encode_pairs(tokenizer, [text], None, 16, truncation=truncation).input_ids)
        counts.append(tokenizer.characters)
    np.testing.assert_array_equal(ids[0], ids[1])
    assert counts[1] == counts[0] < 2_000


@pytest.mark.golden
@pytest.mark.parametrize("max_seq_length", [128, 32])
def test_the_originals_features(golden, golden_set, max_seq_length):
    tokenizer = Tokenizer.from_file(str(golden / "bert" / "uncased_vocab.txt"))
    with gzip.open(golden_set / "classifier_features" / "classifier_features.jsonl.gz") as file:
        examples = [example for line in file if (example := json.loads(line))["text_a"] is not None]
    assert len(examples) in (14, 214)
    features = encode_pairs(
        tokenizer,
        [example["text_a"] for example in examples],
        [example["text_b"] or "" for example in examples],
        max_seq_length,
    )
    expected = [example["features"][str(max_seq_length)] for example in examples]
    assert features.row_lengths.tolist() == [each["n_tokens"] for each in expected]
    for (ids, segments), each in zip(rows(features), expected, strict=True):
        padding = [0] * (max_seq_length - len(ids))
        assert ids + padding == each["input_ids"]
        assert segments + padding == each["segment_ids"]


def test_portions_and_workers_change_nothing(monkeypatch):
    monkeypatch.setattr(pair_features, "_PORTION", 7)
    monkeypatch.setattr(pair_features, "_MIN_EXAMPLES_FOR_WORKERS", 0)
    source = np.random.default_rng(0)
    text_a, text_b = (
        [" ".join(source.choice(WORDS, size=size)) for size in source.integers(0, 9, 40)]
        for _ in range(2)
    )
    for num_workers in (1, 2):
        check(TOKENIZER, text_a, text_b, 9, num_workers=num_workers)
        check(TOKENIZER, text_a, None, 5, num_workers=num_workers)


def test_no_examples_and_impossible_arguments():
    for text_b in ([], None):
        features = encode_pairs(TOKENIZER, [], text_b, 128)
        assert [array.dtype for array in features[:3]] == [np.int32, np.uint8, np.int64]
        assert not any(map(len, features[:3])) and features.truncated == 0
    with pytest.raises(ValueError, match="max_seq_length is 2"):
        encode_pairs(TOKENIZER, ["a"], None, 2)
    with pytest.raises(ValueError, match="2 first texts, but 1"):
        encode_pairs(TOKENIZER, ["a", "b"], ["a"], 128)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(SENTENCES | LONG, SENTENCES | LONG), min_size=1, max_size=8),
    st.integers(3, 24),
    st.booleans(),
)
def test_head_and_tail_are_as_long_as_what_else_would_be_kept(pairs, max_seq_length, is_pair):
    text_a, text_b = map(list, zip(*pairs, strict=True))
    text_b = text_b if is_pair else None
    features = encode_pairs(TOKENIZER, text_a, text_b, max_seq_length, truncation=MIDDLE)
    heads = encode_pairs(TOKENIZER, text_a, text_b, max_seq_length)
    assert (
        features.row_lengths.tolist() == heads.row_lengths.tolist()
        and features.truncated == heads.truncated
    )
    np.testing.assert_array_equal(features.segment_ids, heads.segment_ids)
    sep = TOKENIZER.vocabulary.sep_id
    for number, (ids, _) in enumerate(rows(features)):
        ends = [place for place, token in enumerate(ids) if token == sep]
        starts = [1, *(end + 1 for end in ends)]
        for texts, start, end in zip((text_a, text_b), starts, ends, strict=False):
            tokens, kept = TOKENIZER.encode(texts[number]).tolist(), end - start
            head = -(-kept // 4)
            assert ids[start:end] == tokens[:head] + tokens[len(tokens) - (kept - head) :]


TEXT_OF_WINDOWS = st.lists(st.sampled_from([*WORDS, " ", ""]), max_size=30).map(" ".join)


def plain_windows(text, max_seq_length, stride):
    tokens, room = TOKENIZER.encode(text).tolist(), max_seq_length - 2
    windows, start = [], 0
    while True:
        if start + room >= len(tokens):
            windows.append(tokens[max(len(tokens) - room, 0) :])
            break
        windows.append(tokens[start : start + room])
        start += stride
    vocabulary = TOKENIZER.vocabulary
    return [[vocabulary.cls_id, *window, vocabulary.sep_id] for window in windows]


@settings(deadline=None, max_examples=50)
@given(st.lists(TEXT_OF_WINDOWS, max_size=8), st.integers(3, 12), st.data())
def test_every_window_is_that_of_a_plain_loop(texts, max_seq_length, data):
    stride = data.draw(st.integers(1, max_seq_length - 2))
    features = encode_windows(TOKENIZER, texts, max_seq_length, stride)
    expected = [plain_windows(text, max_seq_length, stride) for text in texts]
    assert features.window_counts.tolist() == list(map(len, expected))
    rows = np.split(features.input_ids, np.cumsum(features.row_lengths)[:-1]) if expected else []
    assert [row.tolist() for row in rows] == [window for windows in expected for window in windows]
    assert (features.input_ids.dtype, features.row_lengths.dtype) == (np.int32, np.int64)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.pretraining.corpus import Documents
from data_gen.pretraining.instances import (
    SegmentPairs,
    _truncate,
    full_length_segments,
    segment_pairs,
)


def make_documents(lengths: list[list[int]], names: list[int] | None = None) -> Documents:
    """Documents of sentences of these lengths; each token's id is its place in the corpus."""
    sentences = [length for document in lengths for length in document]
    return Documents(
        ids=np.arange(sum(sentences), dtype=np.int32),
        sentence_offsets=np.concatenate([[0], np.cumsum(sentences)]),
        document_offsets=np.concatenate([[0], np.cumsum([len(document) for document in lengths])]),
        document_ids=np.array(names if names else range(len(lengths))),
        counts={},
    )


def document_of(documents: Documents, token: np.ndarray) -> np.ndarray:
    starts = documents.sentence_offsets[documents.document_offsets]
    return documents.document_ids[np.searchsorted(starts, token, side="right") - 1]


CORPORA = st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=12), min_size=2, max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    lengths=CORPORA,
    width=st.integers(5, 64),
    short=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 1000),
)
def test_pairs(lengths, width, short, seed):
    documents = make_documents(lengths)
    pairs = segment_pairs(documents, documents.size, width, short, np.random.default_rng(seed))
    assert (pairs.a_length >= 1).all() and (pairs.b_length >= 1).all()
    assert (pairs.length() <= width).all()
    a_last, b_last = pairs.a_start + pairs.a_length - 1, pairs.b_start + pairs.b_length - 1
    own, other = document_of(documents, pairs.a_start), document_of(documents, pairs.b_start)
    np.testing.assert_array_equal(document_of(documents, a_last), own)
    np.testing.assert_array_equal(document_of(documents, b_last), other)
    np.testing.assert_array_equal(own == other, pairs.random_next == 0)
    following = pairs.random_next == 0
    # Where nothing was cut off, B starts just behind A.
    whole = following & (pairs.length() < width)
    assert (pairs.b_start[whole] == a_last[whole] + 1).all()
    assert (pairs.b_start[following] > a_last[following]).all()
    # Every document begins an instance, and with sentences that need no cut every token is in one.
    assert set(own) == set(documents.document_ids)
    assert (np.diff(pairs.a_start[np.diff(own, prepend=-1) == 0]) > 0).all()


def test_a_single_document_draws_from_itself():
    documents = make_documents([[5] * 200])
    pairs = segment_pairs(documents, 1, 32, 0.0, np.random.default_rng(0))
    assert 0.3 < pairs.random_next.mean() < 0.8


def test_parts_of_the_same_document_are_not_drawn_from_and_guests_are():
    documents = make_documents([[5] * 50, [5] * 50, [5]], names=[7, 7, -1])
    pairs = segment_pairs(documents, 2, 32, 0.0, np.random.default_rng(0))
    assert (document_of(documents, pairs.a_start) == 7).all()
    assert set(pairs.b_start[pairs.random_next == 1]) == {500}


def test_short_targets_are_drawn_per_document():
    documents = make_documents([[1] * 300] * 400)
    pairs = segment_pairs(documents, 400, 103, 0.25, np.random.default_rng(0))
    longest = np.zeros(400, np.int64)
    np.maximum.at(longest, document_of(documents, pairs.a_start), np.minimum(pairs.length(), 103))
    # A random B may be a document's short end, but the longest instance of a document shows its
    # target.
    assert np.mean(longest < 103) == pytest.approx(0.25, abs=0.07)
    assert np.quantile(longest[longest < 103], 0.5) == pytest.approx(53, abs=12)


@pytest.mark.parametrize("target", [40, 41])
def test_truncation_is_that_of_the_original(target):
    """With an odd target both segments may be equally long while a token is still too many."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 60, 500), rng.integers(1, 60, 500)
    pairs = _truncate(
        np.stack([np.zeros(500, int), a, np.full(500, 100), 100 + b, np.zeros(500, int)]),
        target,
        rng,
    )
    for index in range(500):
        expected = [int(a[index]), int(b[index])]
        while sum(expected) > target:
            expected[0 if expected[0] > expected[1] else 1] -= 1
        assert [pairs.a_length[index], pairs.b_length[index]] == expected
    removed = a - pairs.a_length
    assert pairs.a_start[removed > 0].sum() / removed.sum() == pytest.approx(0.5, abs=0.05)
    assert (pairs.a_start + pairs.a_length <= a).all()


@settings(max_examples=100, deadline=None)
@given(
    lengths=CORPORA,
    width=st.integers(5, 64),
    short=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 1000),
)
def test_full_length_segments_cover_everything(lengths, width, short, seed):
    documents = make_documents(lengths)
    pairs = full_length_segments(
        documents, documents.size, width, short, np.random.default_rng(seed)
    )
    used = np.zeros(len(documents.ids), bool)
    for start, length in zip(pairs.a_start, pairs.a_length, strict=True):
        used[start : start + length] = True
    assert used.all()
    assert not pairs.b_length.any() and not pairs.random_next.any()
    last = pairs.a_start + pairs.a_length - 1
    np.testing.assert_array_equal(
        document_of(documents, pairs.a_start), document_of(documents, last)
    )
    if short == 0:
        size = np.array([sum(document) for document in lengths])[
            document_of(documents, pairs.a_start)
        ]
        np.testing.assert_array_equal(pairs.a_length, np.minimum(size, width - 2))


def test_full_length_segments_differ_between_passes():
    documents = make_documents([[1] * 1000])
    rng = np.random.default_rng(0)
    starts = [tuple(full_length_segments(documents, 1, 34, 0.0, rng).a_start) for _ in range(4)]
    assert len(set(starts)) > 1


def test_sequences():
    ids = np.arange(100, 200, dtype=np.int32)
    pairs = SegmentPairs(*np.array([[0, 50], [2, 3], [10, 0], [3, 0], [1, 0]]))
    np.testing.assert_array_equal(
        pairs.input_ids(ids, 9, cls_id=1, sep_id=2),
        [[1, 100, 101, 2, 110, 111, 112, 2, 0], [1, 150, 151, 152, 2, 0, 0, 0, 0]],
    )
    np.testing.assert_array_equal(pairs.length(), [8, 5])

import collections
import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.pretraining import masking as masking_module
from data_gen.pretraining.masking import (
    DEFAULT_RATIOS,
    Draws,
    KeyedDraws,
    Masking,
    MaskingRatios,
    mask,
)

CLS, SEP, MASK, VOCAB = 2, 3, 4, 40
RATIOS = MaskingRatios.parse(DEFAULT_RATIOS)
IS_CONTINUATION = np.arange(VOCAB) >= 30


def make_batch(rng: np.random.Generator, batch: int, width: int):
    length = rng.integers(5, width + 1, batch)
    sep = np.array([rng.integers(2, n - 2) for n in length])
    ids = rng.integers(5, VOCAB, (batch, width)).astype(np.int32)
    ids[np.arange(width) >= length[:, None]] = 0
    ids[:, 0] = CLS
    ids[np.arange(batch), sep] = ids[np.arange(batch), length - 1] = SEP
    return ids, length, sep


def draws_of(kind: str, seed: int, batch: int, width: int, predictions: int) -> Draws | KeyedDraws:
    """Those of data generation, and those of training."""
    if kind == "generator":
        return Draws(np.random.default_rng(seed))
    return KeyedDraws(
        seed, np.zeros(batch, np.uint64), np.arange(batch, dtype=np.uint64), width, predictions
    )


def words_of(row: np.ndarray) -> list[list[int]]:
    words: list[list[int]] = []
    for position, token in enumerate(row.tolist()):
        if token in (0, CLS, SEP):
            continue
        if IS_CONTINUATION[token] and words:
            words[-1].append(position)
        else:
            words.append([position])
    return words


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    width=st.integers(6, 80),
    most=st.integers(1, 20),
    prob=st.sampled_from([0.0, 0.15, 0.5, 1.0]),
    whole_words=st.booleans(),
    kind=st.sampled_from(["generator", "keyed"]),
)
def test_rules_that_always_hold(seed, width, most, prob, whole_words, kind):
    rng = np.random.default_rng(seed)
    ids, length, sep = make_batch(rng, 12, width)
    masking = Masking(most, prob, RATIOS, VOCAB, MASK, IS_CONTINUATION if whole_words else None)
    masked = mask(ids, length, sep, masking, draws_of(kind, seed, 12, width, most))
    assert masked.positions.shape == masked.labels.shape == (12, most)
    assert sum(masked.kind_counts.values()) == masked.count.sum()
    for row in range(12):
        count = int(masked.count[row])
        positions = masked.positions[row, :count].tolist()
        expected = min(most, max(1, round(int(length[row]) * prob)), int(length[row]) - 3)
        assert positions == sorted(set(positions))
        assert not masked.positions[row, count:].any() and not masked.labels[row, count:].any()
        np.testing.assert_array_equal(masked.labels[row, :count], ids[row, positions])
        assert not {CLS, SEP, 0} & set(ids[row, positions].tolist())
        untouched = np.ones(width, bool)
        untouched[positions] = False
        np.testing.assert_array_equal(masked.input_ids[row, untouched], ids[row, untouched])
        if whole_words:
            words = words_of(ids[row])
            for word in words:
                assert len(set(word) & set(positions)) in (0, len(word))
            # Nothing that would have fitted was left out.
            left = expected - count
            assert (
                left >= 0
                and all(len(word) > left for word in words if word[0] not in positions)
                or left == 0
            )
        else:
            assert count == expected


@pytest.mark.parametrize("kind", ["generator", "keyed"])
def test_all_candidates_are_equally_likely(kind):
    rng = np.random.default_rng(0)
    ids, length, sep = make_batch(rng, 1, 12)
    many = [np.repeat(array, 20_000, axis=0) for array in (ids, length, sep)]
    masked = mask(*many, Masking(3, 0.15, RATIOS, VOCAB, MASK), draws_of(kind, 1, 20_000, 12, 3))
    counts = collections.Counter(masked.positions[np.arange(3) < masked.count[:, None]].tolist())
    candidates = [i for i in range(1, length[0] - 1) if i != sep[0]]
    assert set(counts) == set(candidates)
    expected = masked.count.sum() / len(candidates)
    assert max(abs(count / expected - 1) for count in counts.values()) < 0.06


def test_my_dog_is_hairy():
    failed, attempted = doctest.testmod(masking_module)
    assert attempted and not failed


@pytest.mark.parametrize("kind", ["generator", "keyed"])
@pytest.mark.parametrize("text", ["80,10,10", "100,0,0", "0,100,0", "0,0,100", "33.5,33.5,33"])
def test_masking_ratios(text, kind):
    rng = np.random.default_rng(0)
    ratios = MaskingRatios.parse(text)
    ids, length, sep = make_batch(rng, 2000, 64)
    masked = mask(
        ids, length, sep, Masking(10, 0.15, ratios, VOCAB, MASK), draws_of(kind, 1, 2000, 64, 10)
    )
    total = masked.count.sum()
    # A random token is now and then the one that was there, or [MASK].
    chance = ratios.random / VOCAB
    assert masked.kind_counts["mask"] / total == pytest.approx(ratios.mask + chance, abs=0.01)
    assert masked.kind_counts["same"] / total == pytest.approx(ratios.same + chance, abs=0.01)
    if text == "0,100,0":
        assert len(np.unique(masked.input_ids)) == VOCAB


@pytest.mark.parametrize(
    "text",
    ["80,10", "80,10,20", "a,b,c", "110,-5,-5", "nan,nan,nan", "nan,10,10", "inf,-inf,100", ""],
)
def test_wrong_masking_ratios_are_refused(text):
    with pytest.raises(UserError, match="--masking="):
        MaskingRatios.parse(text)


def test_a_cut_word_at_the_front_is_a_word_of_its_own():
    ids = np.array([[CLS, 31, 32, 6, SEP, 33, 7, SEP]], np.int32)
    masking = Masking(3, 1.0, MaskingRatios(1, 0, 0), VOCAB, MASK, IS_CONTINUATION)
    seen = set()
    for seed in range(50):
        masked = mask(
            ids, np.array([8]), np.array([4]), masking, Draws(np.random.default_rng(seed))
        )
        seen.add(tuple(masked.positions[0, : masked.count[0]].tolist()))
    # [31, 32], [6 … 33] and [7]: three tokens make two of them.
    assert seen == {(1, 2, 6), (3, 5, 6)}

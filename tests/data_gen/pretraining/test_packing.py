import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.pretraining.masking import predictions_of
from data_gen.pretraining.packing import longest_pack_first, pack, put_in_rows, space_needed
from data_gen.pretraining.schema import Schema
from tests.data_gen.pretraining.packed_rows import split_row


@given(st.lists(st.integers(1, 32), max_size=200), st.integers(1, 12), st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_every_sequence_has_a_place_of_its_own(lengths, most, seed):
    length = np.array(lengths, np.int64)
    packs = pack(length, length, 32, most, np.random.default_rng(seed))
    used = np.zeros((packs.rows, 33), np.int64)
    for row, offset, size in zip(packs.row, packs.offset, length, strict=True):
        used[row, offset : offset + size] += 1
        assert offset + size <= 32
    assert used.max(initial=0) <= 1 and used.sum() == length.sum()
    # Rows begin with their first token, have no holes, and number their sequences in order.
    assert all((row[:-1] >= row[1:]).all() for row in used)
    by_place = np.lexsort((packs.offset, packs.row))
    number = packs.number[by_place]
    assert set(packs.row) == set(range(packs.rows)) and number.max(initial=0) < most
    assert (number[1:] == np.where(np.diff(packs.row[by_place]) > 0, 0, number[:-1] + 1)).all()


@given(st.lists(st.integers(1, 16), max_size=60), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_packs_hold_the_histogram(lengths, most):
    histogram = np.bincount(np.array(lengths, np.int64), minlength=17)
    packs = longest_pack_first(histogram, 16, most)
    found = np.zeros(17, np.int64)
    for copies, pack_lengths in packs:
        assert copies > 0 and sum(pack_lengths) <= 16 and len(pack_lengths) <= most
        np.add.at(found, list(pack_lengths), copies)
    assert (found == histogram).all()
    # No two rows could be one: best fit leaves at most one row that is half empty and may take
    # more.
    open_rows = [
        sum(pack_lengths)
        for copies, pack_lengths in packs
        for _ in range(copies)
        if len(pack_lengths) <= most // 2
    ]
    assert sum(size <= 8 for size in open_rows) <= 1


@pytest.mark.parametrize("capacity, share", [(128, 0.02), (512, 0.005)])
def test_little_padding_is_left(capacity, share):
    rng = np.random.default_rng(0)
    length = np.where(rng.random(20_000) < 0.25, capacity, rng.integers(5, capacity + 1, 20_000))
    packs = pack(length, length, capacity, 12, rng)
    assert 1 - length.sum() / (packs.rows * capacity) < share


@given(st.lists(st.integers(3, 40), min_size=1, max_size=60), st.integers(1, 12), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_rows_hold_the_sequences_and_their_masks(lengths, most, max_predictions):
    length = np.array(lengths, np.int64)
    rng = np.random.default_rng(len(lengths))
    count = predictions_of(length, 0.15, max_predictions)
    real = np.arange(40) < length[:, None]
    used = np.arange(max_predictions) < count[:, None]
    sequences = {
        "input_ids": rng.integers(1, 999, real.shape) * real,
        "segment_ids": rng.integers(0, 2, real.shape) * real,
        "next_sentence_labels": rng.integers(0, 2, (len(length), 1)),
        "masked_lm_positions": rng.integers(0, length[:, None], used.shape) * used,
        "masked_lm_ids": rng.integers(1, 999, used.shape) * used,
        "masked_lm_weights": used.astype(np.float32),
    }
    schema = Schema(40, max_predictions, most)
    packs = pack(length, space_needed(length, count, 40, max_predictions), 40, most, rng)
    rows = put_in_rows(sequences, length, packs, schema)
    assert {name: value.shape[1] for name, value in rows.items()} == {
        name: expected for name, (expected, _) in schema.features.items()
    }
    split = [
        split_row({name: value[row] for name, value in rows.items()}) for row in range(packs.rows)
    ]
    for index, (row, number) in enumerate(zip(packs.row, packs.number, strict=True)):
        found = split[row][number]
        for name, values in sequences.items():
            kept = values[
                index,
                : length[index]
                if name in ("input_ids", "segment_ids")
                else 1
                if name == "next_sentence_labels"
                else count[index],
            ]
            np.testing.assert_array_equal(found[name], kept)
    for row in range(packs.rows):
        assert (
            schema.find_fault(
                {name: value[row].astype(schema.features[name][1]) for name, value in rows.items()},
                999,
                2,
            )
            is None
        )

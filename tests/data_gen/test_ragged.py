"""Lengths, bounds and starts of rows that are concatenated."""

import numpy as np

from data_gen.ragged import bounds_of, lengths_of, starts_of


def test_rows_of_different_lengths():
    rows = ["ab", "", "cde"]
    lengths = lengths_of(rows)
    bounds = bounds_of(lengths)
    assert lengths.tolist() == [2, 0, 3]
    assert bounds.tolist() == [0, 2, 2, 5]
    assert starts_of(lengths).tolist() == bounds[:-1].tolist()
    joined = "".join(rows)
    assert [joined[bounds[row] : bounds[row + 1]] for row in range(3)] == rows


def test_no_rows():
    assert lengths_of([]).dtype == bounds_of([]).dtype == np.int64
    assert bounds_of([]).tolist() == [0]

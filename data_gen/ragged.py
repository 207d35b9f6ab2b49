"""Rows of different lengths, concatenated in one array: their lengths and their bounds."""

from collections.abc import Sequence, Sized

import numpy as np


def lengths_of(rows: Sequence[Sized]) -> np.ndarray:
    """Returns the length of each row, int64 [N]."""
    return np.fromiter(map(len, rows), np.int64, len(rows))


def bounds_of(lengths: np.ndarray | Sequence[int]) -> np.ndarray:
    """Returns where each row begins, and the end of the last one, int64 [N + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Returns the position where each row begins, [N]."""
    return np.cumsum(lengths) - lengths

"""The report's pictures as rasters uint8 [H, W, 3], of the same arrays, for TensorBoard."""

import math
from collections.abc import Sequence

import numpy as np

from bert_tf.report.numbers import Bin

_SIZE = 320
# Colors of a share of 0 and of 1, and of lines.
_LIGHT = np.array([236, 242, 250])
_RIGHT = np.array([21, 101, 60])
_WRONG = np.array([176, 58, 20])
_LINE = np.array([128, 128, 128])


def confusion(matrix: np.ndarray) -> np.ndarray:
    """Returns a confusion matrix int [C, C], with darker cells for larger shares of a row.

    Shares of the right class are green, others are red.
    """
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    is_right = np.eye(len(matrix), dtype=bool)[:, :, None]
    colors = _LIGHT + shares[:, :, None] * (np.where(is_right, _RIGHT, _WRONG) - _LIGHT)
    cell = math.ceil(_SIZE / len(matrix))
    return np.kron(colors.round(), np.ones((cell, cell, 1))).astype(np.uint8)


def reliability(bins: Sequence[Bin]) -> np.ndarray:
    """Returns accuracy (upward) by predicted probability, both from 0 to 1.

    On the gray diagonal probabilities are true.
    """
    picture = np.full((_SIZE, _SIZE, 3), 255, np.uint8)
    picture[np.arange(_SIZE)[::-1], np.arange(_SIZE)] = _LINE
    for group in bins:
        x = round(group.probability * (_SIZE - 1))
        y = round((1 - group.accuracy) * (_SIZE - 1))
        picture[max(y - 4, 0) : y + 5, max(x - 4, 0) : x + 5] = _RIGHT
    return picture

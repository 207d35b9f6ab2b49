"""Packing: several sequences in one row, so that next to nothing of what is computed is padding.

Longest-pack-first on the histogram of the lengths (Krell et al. 2021, arXiv 2107.02027): lengths
are taken from the longest to the shortest, and each goes where the least space remains. Input:
sequences and their lengths. Output: which share a row, where in it each begins, and the features of
the rows.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from data_gen.pretraining.schema import Schema


@dataclasses.dataclass(frozen=True)
class Packs:
    """The row of each sequence.

    Attributes:
      row: int64 [B], the row that a sequence is in.
      number: int64 [B], which sequence of its row it is, from 0.
      offset: int64 [B], the position of its first token in the row.
    """

    row: np.ndarray
    number: np.ndarray
    offset: np.ndarray
    rows: int


def space_needed(
    length: np.ndarray, predictions: np.ndarray, capacity: int, max_predictions: int
) -> np.ndarray:
    """Tokens of a row that are reserved for a sequence, int64 [B]: its own, and more where it has
    many predictions.

    So the predictions of a row never exceed those of an unpacked sequence, and the masked-LM head,
    a large part of the work of a small model, computes next to nothing for unused ones.

    Args:
      length: int [B], tokens.
      predictions: int [B], masked tokens, each at most `max_predictions`.
      capacity: tokens of a row.
      max_predictions: predictions of a row.
    """
    return np.maximum(length, -(-predictions * capacity // max_predictions)).astype(np.int64)


def pack(
    length: np.ndarray, space: np.ndarray, capacity: int, most: int, rng: np.random.Generator
) -> Packs:
    """Distributes sequences over rows, rows and the sequences in them in random order.

    Args:
      length: int [B], tokens of each.
      space: int [B], what is reserved for each: from its length to `capacity`.
      capacity: tokens that fit into a row.
      most: sequences of a row at most.
    """
    order = rng.permutation(len(space))
    order = order[
        np.argsort(space[order], kind="stable")
    ]  # Sequences of one size lie together, in random order.
    taken = np.searchsorted(space[order], np.arange(capacity + 2))
    row = np.empty(len(space), np.int64)
    rows = 0
    for copies, sizes in longest_pack_first(
        np.bincount(space, minlength=capacity + 1), capacity, most
    ):
        for size in sizes:
            row[order[taken[size] : taken[size] + copies]] = rows + np.arange(copies)
            taken[size] += copies
        rows += copies
    row = rng.permutation(rows)[row]
    # Sequences row by row; within a row in random order.
    order = rng.permutation(len(space))
    order = order[np.argsort(row[order], kind="stable")]
    first = np.searchsorted(row[order], np.arange(rows))  # [rows], the first sequence of each row
    before = np.cumsum(length[order]) - length[order]
    number, offset = np.empty_like(row), np.empty_like(row)
    number[order] = np.arange(len(order)) - first[row[order]]
    offset[order] = before - before[first[row[order]]]
    return Packs(row, number, offset, rows)


def longest_pack_first(
    histogram: np.ndarray, capacity: int, most: int
) -> list[tuple[int, tuple[int, ...]]]:
    """The packs by the lengths in them.

    Args:
      histogram: int [capacity + 1], number of sequences of each length; of length 0 there are none.
      capacity: tokens that fit into a row.
      most: sequences of a row at most.

    Returns:
      (number of rows, the lengths in each of them), in a fixed order.
    """
    full: list[tuple[int, tuple[int, ...]]] = []
    open_packs: dict[int, list[tuple[int, tuple[int, ...]]]] = {}  # by the space that is left
    for length in range(capacity, 0, -1):
        missing = int(histogram[length])
        left = length
        while missing:
            while left <= capacity and not open_packs.get(left):
                left += 1
            copies, lengths = open_packs[left].pop() if left <= capacity else (missing, ())
            space = left if left <= capacity else capacity
            # As often as it fits; less often where so many are not there.
            repeat = min(space // length, most - len(lengths), missing)
            used = min(copies, missing // repeat)
            if lengths and used < copies:
                open_packs[left].append((copies - used, lengths))
            lengths = (*lengths, *[length] * repeat)
            free = capacity - sum(lengths)
            (open_packs.setdefault(free, []) if free and len(lengths) < most else full).append(
                (used, lengths)
            )
            missing -= used * repeat
    return full + [pack for left in sorted(open_packs) for pack in open_packs[left]]


def put_in_rows(
    sequences: Mapping[str, np.ndarray], length: np.ndarray, packs: Packs, schema: Schema
) -> dict[str, np.ndarray]:
    """Sequences → the features of packed records.

    Args:
      sequences: features of B sequences as unpacked records have them, each [B, n]; those of masks
        may be missing.
      length: int [B], tokens of each.
      packs: where each belongs; rows from 0 without gaps.

    Returns:
      name → [rows, length of the feature], whole numbers but for the weights.
    """
    width, most = schema.max_seq_length, schema.max_sequences_per_row
    real = np.arange(sequences["input_ids"].shape[1]) < length[:, None]
    at = (packs.row * width + packs.offset)[:, None] + np.arange(
        real.shape[1]
    )  # [B, S], in all rows laid end to end
    at = at[real]

    def spread(
        values: np.ndarray, where: np.ndarray, size: int, dtype: DTypeLike = np.int64
    ) -> np.ndarray:
        out: np.ndarray = np.zeros(packs.rows * size, dtype)
        out[where] = values
        return out.reshape(packs.rows, size)

    place = packs.row * most + packs.number
    rows = {
        "input_ids": spread(sequences["input_ids"][real], at, width),
        "input_mask": spread(np.repeat(packs.number + 1, length), at, width),
        "segment_ids": spread(sequences["segment_ids"][real], at, width),
        "next_sentence_positions": spread(packs.offset, place, most),
        "next_sentence_labels": spread(sequences["next_sentence_labels"][:, 0], place, most),
        "next_sentence_weights": spread(np.ones(len(length), np.float32), place, most, np.float32),
    }
    if not schema.has_masks:
        return rows
    used = sequences["masked_lm_weights"] > 0
    count = used.sum(1)
    order = np.lexsort((packs.number, packs.row))  # row by row
    before = np.empty_like(packs.row)
    before[order] = np.cumsum(count[order]) - count[order]
    first_of_row = np.zeros(packs.rows, np.int64)
    first_of_row[packs.row[packs.number == 0]] = before[packs.number == 0]
    slot = (packs.row * schema.max_predictions_per_seq + before - first_of_row[packs.row])[:, None]
    slot = (slot + np.arange(used.shape[1]))[used]
    size = schema.max_predictions_per_seq
    return rows | {
        "masked_lm_positions": spread(
            (sequences["masked_lm_positions"] + packs.offset[:, None])[used], slot, size
        ),
        "masked_lm_ids": spread(sequences["masked_lm_ids"][used], slot, size),
        "masked_lm_weights": spread(np.ones(len(slot), np.float32), slot, size, np.float32),
    }

"""Packing: several sequences in one row, so that almost no computation is spent on padding.

Longest-pack-first on the histogram of the lengths (Krell et al. 2021, arXiv 2107.02027): lengths
are placed from the longest to the shortest, each where the least space remains.

Input: sequences and their lengths. Output: the row of each sequence, its offset, and the features
of the rows.
"""

import collections
import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from data_gen.pretraining.schema import Schema
from data_gen.ragged import starts_of


@dataclasses.dataclass(frozen=True)
class Packs:
    """Places of sequences in rows.

    Attributes:
      row: int64 [B], the row of a sequence.
      number: int64 [B], its number in the row, from 0.
      offset: int64 [B], the position of its first token in the row.
      rows: number of rows.
    """

    row: np.ndarray
    number: np.ndarray
    offset: np.ndarray
    rows: int


def space_needed(
    length: np.ndarray, predictions: np.ndarray, capacity: int, max_predictions: int
) -> np.ndarray:
    """Returns the tokens of a row that are reserved for a sequence, int64 [B].

    They are its own tokens, and more if it has many predictions: a row then never has more
    predictions than an unpacked sequence, and the masked-LM head, a large part of the work of a
    small model, computes few unused ones.

    Args:
      length: int [B], tokens.
      predictions: int [B], masked tokens, each at most `max_predictions`.
      capacity: tokens of a row.
      max_predictions: predictions of a row.
    """
    # The double negation rounds up.
    for_predictions = -(-predictions * capacity // max_predictions)
    return np.maximum(length, for_predictions).astype(np.int64)


def pack(
    length: np.ndarray,
    space: np.ndarray,
    capacity: int,
    max_sequences: int,
    rng: np.random.Generator,
) -> Packs:
    """Distributes sequences over rows, rows and the sequences in them in random order.

    Args:
      length: int [B], tokens of each.
      space: int [B], reserved tokens for each: from its length to `capacity`.
      capacity: tokens that fit into a row.
      max_sequences: maximum number of sequences of a row.
    """
    # Sequences of one size are beside each other, in random order.
    order = rng.permutation(len(space))
    order = order[np.argsort(space[order], kind="stable")]
    next_of_size = np.searchsorted(space[order], np.arange(capacity + 2))
    row = np.empty(len(space), np.int64)
    rows = 0
    histogram = np.bincount(space, minlength=capacity + 1)
    for copies, sizes in longest_pack_first(histogram, capacity, max_sequences):
        for size in sizes:
            first = next_of_size[size]
            row[order[first : first + copies]] = rows + np.arange(copies)
            next_of_size[size] += copies
        rows += copies
    row = rng.permutation(rows)[row]
    # Order the sequences row by row, in random order within a row.
    order = rng.permutation(len(space))
    order = order[np.argsort(row[order], kind="stable")]
    first = np.searchsorted(row[order], np.arange(rows))  # [rows], the first sequence of each row
    before = starts_of(length[order])
    number = np.empty_like(row)
    offset = np.empty_like(row)
    number[order] = np.arange(len(order)) - first[row[order]]
    offset[order] = before - before[first[row[order]]]
    return Packs(row, number, offset, rows)


def longest_pack_first(
    histogram: np.ndarray, capacity: int, max_sequences: int
) -> list[tuple[int, tuple[int, ...]]]:
    """Returns the packs by the lengths in them.

    Args:
      histogram: int [capacity + 1], number of sequences of each length; length 0 does not occur.
      capacity: tokens that fit into a row.
      max_sequences: maximum number of sequences of a row.

    Returns:
      (number of rows, the lengths in each of them), in a fixed order.
    """
    full: list[tuple[int, tuple[int, ...]]] = []
    # Remaining space → the packs that have it.
    open_packs: dict[int, list[tuple[int, tuple[int, ...]]]] = collections.defaultdict(list)
    for length in range(capacity, 0, -1):
        missing = int(histogram[length])
        space = length
        while missing:
            # Take the pack with the least space that is enough, or begin a new one.
            while space < capacity and not open_packs.get(space):
                space += 1
            copies = missing
            lengths: tuple[int, ...] = ()
            if open_packs.get(space):
                copies, lengths = open_packs[space].pop()
            # Put the length into the pack as often as it fits and occurs.
            repeat = min(space // length, max_sequences - len(lengths), missing)
            used = min(copies, missing // repeat)
            if lengths and used < copies:
                open_packs[space].append((copies - used, lengths))
            lengths += (length,) * repeat
            remaining = capacity - sum(lengths)
            if remaining and len(lengths) < max_sequences:
                open_packs[remaining].append((used, lengths))
            else:
                full.append((used, lengths))
            missing -= used * repeat
    for space in sorted(open_packs):
        full += open_packs[space]
    return full


def put_in_rows(
    sequences: Mapping[str, np.ndarray], length: np.ndarray, packs: Packs, schema: Schema
) -> dict[str, np.ndarray]:
    """Returns the features of packed records.

    Args:
      sequences: features of B sequences as in unpacked records, each [B, n]; masks may be missing.
      length: int [B], tokens of each.
      packs: place of each; rows from 0 without gaps.

    Returns:
      name → [rows, length of the feature], whole numbers but for the weights.
    """
    width = schema.max_seq_length
    max_sequences = schema.max_sequences_per_row
    is_real = np.arange(sequences["input_ids"].shape[1]) < length[:, None]
    # [B, S]: position of each token in all rows laid end to end.
    token_slots = (packs.row * width + packs.offset)[:, None] + np.arange(is_real.shape[1])
    token_slots = token_slots[is_real]

    def spread(
        values: np.ndarray, slots: np.ndarray, size: int, dtype: DTypeLike = np.int64
    ) -> np.ndarray:
        flat: np.ndarray = np.zeros(packs.rows * size, dtype)
        flat[slots] = values
        return flat.reshape(packs.rows, size)

    sequence_slots = packs.row * max_sequences + packs.number
    sequence_weights = np.ones(len(length), np.float32)
    next_sentence_labels = sequences["next_sentence_labels"][:, 0]
    rows = {
        "input_ids": spread(sequences["input_ids"][is_real], token_slots, width),
        "input_mask": spread(np.repeat(packs.number + 1, length), token_slots, width),
        "segment_ids": spread(sequences["segment_ids"][is_real], token_slots, width),
        "next_sentence_positions": spread(packs.offset, sequence_slots, max_sequences),
        "next_sentence_labels": spread(next_sentence_labels, sequence_slots, max_sequences),
        "next_sentence_weights": spread(
            sequence_weights, sequence_slots, max_sequences, np.float32
        ),
    }
    if not schema.has_masks:
        return rows
    max_predictions = schema.max_predictions_per_seq
    used = sequences["masked_lm_weights"] > 0
    slots = _prediction_slots(used, packs, max_predictions)
    positions = (sequences["masked_lm_positions"] + packs.offset[:, None])[used]
    weights = np.ones(len(slots), np.float32)
    rows["masked_lm_positions"] = spread(positions, slots, max_predictions)
    rows["masked_lm_ids"] = spread(sequences["masked_lm_ids"][used], slots, max_predictions)
    rows["masked_lm_weights"] = spread(weights, slots, max_predictions, np.float32)
    return rows


def _prediction_slots(used: np.ndarray, packs: Packs, max_predictions: int) -> np.ndarray:
    """Returns the position of each used prediction in all rows' predictions laid end to end.

    Args:
      used: bool [B, P].
    """
    count = used.sum(1)
    order = np.lexsort((packs.number, packs.row))  # row by row
    before = np.empty_like(packs.row)
    before[order] = starts_of(count[order])
    is_first = packs.number == 0
    before_row = np.zeros(packs.rows, np.int64)
    before_row[packs.row[is_first]] = before[is_first]
    first_slot = packs.row * max_predictions + before - before_row[packs.row]
    return (first_slot[:, None] + np.arange(used.shape[1]))[used]

"""Texts and pairs of texts as sequences of ids, without padding, thousands at a time.

The rules come from `convert_single_example` and `_truncate_seq_pair` in the original's
run_classifier (paper, figure 2). Alternatively, texts of any length become overlapping windows, so
that a model sees all of them. Input: the texts of `LabeledTexts`, or any others. Output: flat
arrays, for batches of similar length.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_common import parallel
from data_gen.labeled.read_part import read_part
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.vocabulary import Vocabulary

# Number of examples encoded at a time, so that intermediate arrays stay small beside the result.
_PORTION = 10_000
# One process encodes fewer examples than this before others have started.
_MIN_EXAMPLES_FOR_WORKERS = 100_000

# The part of a text that truncation removes.
END, MIDDLE, START, START_OF_A = "end", "middle", "start", "start_of_a"


class PairFeatures(NamedTuple):
    """Sequences of E examples with T tokens in total, concatenated.

    Attributes:
      input_ids: int32 [T], [CLS] a [SEP] b [SEP], or [CLS] a [SEP] without a second text.
      segment_ids: uint8 [T], 0 up to the first [SEP], 1 after it.
      row_lengths: int64 [E], number of tokens of each example.
      is_truncated: bool [E], whether an example lost tokens.
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    row_lengths: np.ndarray
    is_truncated: np.ndarray

    @property
    def tokens(self) -> dict[str, np.ndarray]:
        """The arrays [T] by their names as features of a model."""
        return {"input_ids": self.input_ids, "segment_ids": self.segment_ids}

    @property
    def truncated(self) -> int:
        """Number of examples that lost tokens."""
        return int(np.count_nonzero(self.is_truncated))


class WindowFeatures(NamedTuple):
    """W windows of E texts, with T tokens in total.

    Attributes:
      input_ids: int32 [T], [CLS] tokens [SEP] for each window.
      row_lengths: int64 [W], number of tokens of each window.
      window_counts: int64 [E], number of windows of each text, at least 1.
    """

    input_ids: np.ndarray
    row_lengths: np.ndarray
    window_counts: np.ndarray


def encode_pairs(
    tokenizer: Tokenizer,
    text_a: Sequence[str],
    text_b: Sequence[str] | None,
    max_seq_length: int,
    num_workers: int = 1,
    truncation: str = END,
) -> PairFeatures:
    """Returns the sequences of examples, in order. A second text without tokens counts as none.

    Args:
      max_seq_length: longer examples are truncated: the longer of the two texts loses its last
        token until they fit, the second if they are equally long. At least 3.
      num_workers: number of processes for large inputs. They are forked, so that a process that
        runs TensorFlow must use 1.
      truncation: the part that truncation removes from a text: its END, as in the original; its
        MIDDLE, so that a quarter of the remaining tokens is its beginning and the rest its end
        ("How to fine-tune BERT for text classification?", arXiv 1905.05583: 128 and 382 of 510);
        its START; or START_OF_A: the first tokens of a first text.

    Raises:
      ValueError: max_seq_length is below 3, or the lists differ in length.
    """
    if max_seq_length < 3:
        raise ValueError(f"max_seq_length is {max_seq_length}: [CLS] a [SEP] alone are 3 tokens")
    if text_b is not None and len(text_a) != len(text_b):
        raise ValueError(f"{len(text_a)} first texts, but {len(text_b)} second ones")
    portions = []
    # An empty input is one empty portion, which gives the arrays their dtypes.
    for start in range(0, max(len(text_a), 1), _PORTION):
        portion = slice(start, start + _PORTION)
        portions.append((text_a[portion], text_b and text_b[portion]))
    encode = functools.partial(_encode_portion, tokenizer, max_seq_length, truncation)
    if len(text_a) < _MIN_EXAMPLES_FOR_WORKERS:
        num_workers = 1
    parts = parallel.ordered_map(encode, portions, num_workers)
    return PairFeatures(*map(np.concatenate, zip(*parts, strict=True)))


def encode_windows(
    tokenizer: Tokenizer, texts: Sequence[str], max_seq_length: int, window_stride: int
) -> WindowFeatures:
    """Returns the windows of E texts, in order.

    Args:
      max_seq_length: maximum number of tokens of a window, including [CLS] and [SEP]; at least 3.
      window_stride: number of tokens from the start of a window to the next one. The last window
        of a text ends with the text: it is as long as the others, and may overlap the one before it
        by more.

    Raises:
      ValueError: a window that can't hold a token, or a stride that leaves tokens out.
    """
    room = max_seq_length - 2
    if not 1 <= window_stride <= room:
        raise ValueError(
            f"stride is {window_stride}, it must be from 1 to {room}, the tokens of a window"
        )
    parts = []
    for first in range(0, max(len(texts), 1), _PORTION):
        ids, lengths, _ = tokenizer.encode_batch(texts[first : first + _PORTION])
        last_starts = np.maximum(lengths - room, 0)
        # The first window, and a ceiling division.
        counts = 1 + -(-last_starts // window_stride)
        text_of_window = np.repeat(np.arange(len(lengths)), counts)
        number = ragged_range(np.zeros_like(counts), counts)
        starts = np.minimum(number * window_stride, last_starts[text_of_window])
        sizes = np.minimum(lengths[text_of_window] - starts, room)
        # From positions in a text to positions in the concatenated texts.
        starts += (np.cumsum(lengths) - lengths)[text_of_window]
        window_ids = ids[ragged_range(starts, sizes)]
        input_ids = with_special_tokens(window_ids, sizes, tokenizer.vocabulary)
        parts.append((input_ids, sizes + 2, counts))
    return WindowFeatures(*map(np.concatenate, zip(*parts, strict=True)))


def with_special_tokens(ids: np.ndarray, sizes: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """Returns rows of ids as [CLS] ids [SEP], concatenated.

    Args:
      ids: int32 [T].
      sizes: int64 [R], number of ids of each row.

    Returns:
      int32 [T + 2 R].
    """
    # np.insert takes positions in the array before the insertion.
    ends = np.cumsum(sizes)
    return np.insert(
        ids,
        np.stack([ends - sizes, ends], axis=1).ravel(),
        np.tile([vocabulary.cls_id, vocabulary.sep_id], len(sizes)),
    )


def head_length(length, truncation: str, is_first: bool = True):
    """Returns how many of the tokens that truncation leaves of a text come from its beginning.

    Args:
      length: number of tokens that are left: int, array or tensor, as is the result.
      truncation: see `encode_pairs`.
      is_first: this is the first text of a pair.
    """
    keeps_start, keeps_end = _keeps(truncation, is_first)
    if keeps_start and keeps_end:
        return (length + 3) // 4
    if keeps_end:
        # Zero in the type and shape of the argument.
        return length * 0
    return length


def _keeps(truncation: str, is_first: bool = True) -> tuple[bool, bool]:
    """Returns whether truncation leaves tokens of the start of a text, and of its end."""
    if truncation == MIDDLE:
        return True, True
    reads_end = truncation == START or (truncation == START_OF_A and is_first)
    return not reads_end, reads_end


def _encode_portion(
    tokenizer: Tokenizer,
    max_seq_length: int,
    truncation: str,
    texts: tuple[list[str], list[str] | None],
) -> PairFeatures:
    text_a, text_b = texts
    # One token more than fits shows that a text loses some.
    read = functools.partial(read_part, tokenizer, tokens=max_seq_length)
    keeps_start, keeps_end = _keeps(truncation)
    a_ids, a_length, _ = tokenizer.encode_batch(
        [read(text, keep_start=keeps_start, keep_end=keeps_end) for text in text_a]
    )
    if text_b is None:
        b_ids = np.zeros(0, np.int32)
        b_length = np.zeros_like(a_length)
    else:
        keeps_start, keeps_end = _keeps(truncation, is_first=False)
        b_ids, b_length, _ = tokenizer.encode_batch(
            [read(text, keep_start=keeps_start, keep_end=keeps_end) for text in text_b]
        )
    # The result of the original's loop in `_truncate_seq_pair`: a text has the room that the other
    # one leaves, and at least half of it; the first text has the larger half.
    room = max_seq_length - 2 - (b_length > 0)
    a_size = np.minimum(a_length, np.maximum(room - b_length, (room + 1) // 2))
    b_size = np.minimum(b_length, np.maximum(room - a_length, room // 2))
    # An example has five parts: [CLS], a, [SEP], b, [SEP]. `parts` has the number of the part of
    # every token.
    ones = np.ones_like(a_size)
    sizes = np.stack([ones, a_size, ones, b_size, b_size > 0], axis=1)
    parts = np.repeat(np.tile(np.arange(5, dtype=np.uint8), len(sizes)), sizes.ravel())
    # All tokens that are not written below are [SEP].
    input_ids = np.full(len(parts), tokenizer.vocabulary.sep_id, np.int32)
    input_ids[parts == 0] = tokenizer.vocabulary.cls_id
    a_head = head_length(a_size, truncation)
    input_ids[parts == 1] = _truncate_rows(a_ids, a_length, a_size, a_head)
    b_head = head_length(b_size, truncation, is_first=False)
    input_ids[parts == 3] = _truncate_rows(b_ids, b_length, b_size, b_head)
    return PairFeatures(
        input_ids=input_ids,
        segment_ids=(parts >= 3).astype(np.uint8),
        row_lengths=sizes.sum(axis=1),
        is_truncated=(a_size < a_length) | (b_size < b_length),
    )


def _truncate_rows(
    ids: np.ndarray, row_lengths: np.ndarray, sizes: np.ndarray, heads: np.ndarray
) -> np.ndarray:
    """Returns `sizes` [E] ids of each row: the first `heads` [E] of it, and the rest from its
    end."""
    # Most portions of short texts lose nothing, and then no copy is needed.
    if np.array_equal(row_lengths, sizes):
        return ids
    # Each row consists of a head, the ids that are lost, and a tail.
    parts = np.stack([heads, row_lengths - sizes, sizes - heads], axis=1)
    return ids[np.repeat(np.tile([True, False, True], len(sizes)), parts.ravel())]

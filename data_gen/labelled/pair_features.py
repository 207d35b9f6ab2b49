"""Texts and pairs of texts as sequences of ids, without padding: thousands at a time.

The rules are those of `convert_single_example` and `_truncate_seq_pair` of the original's
run_classifier (paper, figure 2); or texts of any length become windows that overlap, so that a
model sees all of them. Input: the texts of `LabelledTexts`, or any others. Output: flat arrays, of
which batches of similar length are made.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_common import parallel
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.vocabulary import Vocabulary

# Examples encoded at a time: what is computed on the way stays small beside the result.
_PORTION = 10_000
# With fewer examples, one process is done before others have started.
_WORTH_WORKERS = 100_000

# Which tokens of a text that is too long are lost.
END, MIDDLE, START_OF_A = "end", "middle", "start_of_a"


class PairFeatures(NamedTuple):
    """Sequences of E examples, T tokens in all, concatenated.

    Attributes:
      input_ids: int32 [T], [CLS] a [SEP] b [SEP], or [CLS] a [SEP] where there is no second text.
      segment_ids: uint8 [T], 0 up to the first [SEP], 1 after it.
      row_lengths: int64 [E], number of tokens of each example.
      is_truncated: bool [E], whether an example lost tokens.
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    row_lengths: np.ndarray
    is_truncated: np.ndarray

    @property
    def truncated(self) -> int:
        """Number of examples that lost tokens."""
        return int(np.count_nonzero(self.is_truncated))


class WindowFeatures(NamedTuple):
    """Windows of E texts, W in all with T tokens.

    Attributes:
      input_ids: int32 [T], [CLS] tokens [SEP] for each window.
      row_lengths: int64 [W], number of tokens of each window.
      window_counts: int64 [E], windows of each text, at least 1.
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
    lose: str = END,
) -> PairFeatures:
    """The sequences of examples, in order. A second text without any token counts as none.

    Args:
      max_seq_length: longer examples are truncated: the longer of the two texts loses its last
        token until they fit, the second if they are equally long. At least 3.
      num_workers: processes for large inputs. They are forked: 1 is the choice in a process that
        runs TensorFlow.
      lose: which tokens a text that is truncated loses: its last ones (END, as in the original);
        those in the MIDDLE, so that the first quarter of what is kept is its beginning and the rest
        its end ("How to fine-tune BERT for text classification?", arXiv 1905.05583: 128 and 382 of
        510); or START_OF_A: a first text loses its first tokens.

    Raises:
      ValueError: max_seq_length is below 3, or the lists differ in length.
    """
    if max_seq_length < 3:
        raise ValueError(f"max_seq_length is {max_seq_length}: [CLS] a [SEP] alone are 3 tokens")
    if text_b is not None and len(text_a) != len(text_b):
        raise ValueError(f"{len(text_a)} first texts, but {len(text_b)} second ones")
    encode = functools.partial(_encode_portion, tokenizer, max_seq_length, lose)
    workers = num_workers if len(text_a) >= _WORTH_WORKERS else 1
    starts = range(0, max(len(text_a), 1), _PORTION)
    parts = parallel.ordered_map(
        encode,
        (
            (text_a[start : start + _PORTION], text_b and text_b[start : start + _PORTION])
            for start in starts
        ),
        workers,
    )
    return PairFeatures(*map(np.concatenate, zip(*parts, strict=True)))


def encode_windows(
    tokenizer: Tokenizer, texts: Sequence[str], max_seq_length: int, stride: int
) -> WindowFeatures:
    """The windows of E texts, in order.

    Args:
      max_seq_length: of a window, [CLS] and [SEP] included; at least 3.
      stride: tokens between the beginnings of two windows. The last window of a text ends where the
        text does, so it is as long as the others and may overlap the one before it by more.

    Raises:
      ValueError: a window that can't hold a token, or a stride that leaves tokens out.
    """
    room = max_seq_length - 2
    if not 1 <= stride <= room:
        raise ValueError(f"stride is {stride}, it must be from 1 to {room}, the tokens of a window")
    parts = []
    for first in range(0, max(len(texts), 1), _PORTION):
        ids, lengths, _ = tokenizer.encode_batch(texts[first : first + _PORTION])
        # Tokens beyond the first window, in strides.
        counts = 1 + -(-np.maximum(lengths - room, 0) // stride)
        text_of_window = np.repeat(np.arange(len(lengths)), counts)
        number = ragged_range(np.zeros_like(counts), counts)
        starts = np.minimum(number * stride, np.maximum(lengths - room, 0)[text_of_window])
        sizes = np.minimum(lengths[text_of_window] - starts, room)
        starts += (np.cumsum(lengths) - lengths)[text_of_window]
        input_ids = with_special_tokens(
            ids[ragged_range(starts, sizes)], sizes, tokenizer.vocabulary
        )
        parts.append((input_ids, sizes + 2, counts))
    return WindowFeatures(*map(np.concatenate, zip(*parts, strict=True)))


def with_special_tokens(ids: np.ndarray, sizes: np.ndarray, vocabulary: Vocabulary) -> np.ndarray:
    """[CLS] tokens [SEP] of rows, concatenated; int32 [T + 2 R] of ids, int32 [T], and sizes of
    rows, int64 [R]."""
    ends = np.cumsum(sizes)
    return np.insert(
        ids,
        np.stack([ends - sizes, ends], axis=1).ravel(),
        np.tile([vocabulary.cls_id, vocabulary.sep_id], len(sizes)),
    )


def head_length(kept, lose: str, is_first: bool = True):
    """The number of the `kept` tokens of a truncated text that come from its beginning: int, array
    or tensor, as `kept`.

    Args:
      lose: as for `encode_pairs`.
      is_first: whether it is the first text of a pair.
    """
    if lose == MIDDLE:
        return (kept + 3) // 4
    return kept * 0 if lose == START_OF_A and is_first else kept


def _encode_portion(
    tokenizer: Tokenizer, max_seq_length: int, lose: str, texts: tuple[list[str], list[str] | None]
) -> PairFeatures:
    text_a, text_b = texts
    a_ids, a_length, _ = tokenizer.encode_batch(text_a)
    if text_b is None:
        b_ids, b_length = np.zeros(0, np.int32), np.zeros_like(a_length)
    else:
        b_ids, b_length, _ = tokenizer.encode_batch(text_b)
    # As `_truncate_seq_pair` of the original: a text keeps what the other leaves, but never gets
    # less than half of what there is for both if it has as much; the first text's half is the
    # larger one.
    longest = max_seq_length - 2 - (b_length > 0)
    a_kept = np.minimum(a_length, np.maximum(longest - b_length, (longest + 1) // 2))
    b_kept = np.minimum(b_length, np.maximum(longest - a_length, longest // 2))
    # Parts of an example: [CLS], a, [SEP], b, [SEP]; their sizes, and for every token the part it
    # belongs to.
    sizes = np.stack(
        [np.ones_like(a_kept), a_kept, np.ones_like(a_kept), b_kept, b_kept > 0], axis=1
    )
    parts = np.repeat(np.tile(np.arange(5, dtype=np.uint8), len(sizes)), sizes.ravel())
    vocabulary = tokenizer.vocabulary
    input_ids = np.full(len(parts), vocabulary.sep_id, np.int32)
    input_ids[parts == 0] = vocabulary.cls_id
    input_ids[parts == 1] = _kept_of_rows(a_ids, a_length, a_kept, head_length(a_kept, lose))
    input_ids[parts == 3] = _kept_of_rows(
        b_ids, b_length, b_kept, head_length(b_kept, lose, is_first=False)
    )
    return PairFeatures(
        input_ids,
        (parts >= 3).astype(np.uint8),
        sizes.sum(axis=1),
        (a_kept < a_length) | (b_kept < b_length),
    )


def _kept_of_rows(
    ids: np.ndarray, row_lengths: np.ndarray, kept: np.ndarray, head: np.ndarray
) -> np.ndarray:
    """`kept` [E] ids of each row: the first `head` [E] of them from its beginning, the others from
    its end."""
    if np.array_equal(row_lengths, kept):
        return ids
    sizes = np.stack([head, row_lengths - kept, kept - head], axis=1)
    return ids[np.repeat(np.tile([True, False, True], len(kept)), sizes.ravel())]

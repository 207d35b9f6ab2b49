"""Texts that are longer than the model takes: cut, or read in several windows.

Input: texts or pairs. Output: their sequences; and one value per text from the values of its
windows.

Letters: E texts, W sequences (a long text may have several), C classes.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bert_common.errors import UserError
from bert_tf.tasks.classification.options import LONG_TEXTS
from bert_tf.training.examples import Examples
from data_gen.labeled.pair_features import END, MIDDLE, START, encode_pairs, encode_windows
from data_gen.tokenization.tokenizer import Tokenizer

TRUNCATE, HEAD_TAIL, WINDOWS = LONG_TEXTS


@dataclasses.dataclass(frozen=True)
class LongTexts:
    """Rule for texts of more than `max_seq_length` tokens, [CLS] and [SEP] included.

    Attributes:
      how: one of `LONG_TEXTS`.
      window_stride: tokens from one window to the next; None without windows.
      side: "left" if truncation keeps the end of a text; else it keeps the beginning.
    """

    how: str
    max_seq_length: int
    window_stride: int | None = None
    side: str | None = None

    def __post_init__(self):
        room = self.max_seq_length - 2
        if self.is_windows and not 1 <= self.window_stride <= room:
            raise UserError(
                f"--window_stride is {self.window_stride}: it must be from 1 to {room}, the tokens "
                f"of a window of --max_seq_length={self.max_seq_length}"
            )

    @classmethod
    def choose(
        cls,
        how: str | None,
        max_seq_length: int,
        window_stride: int | None,
        task: Mapping,
        side: str | None = None,
    ) -> "LongTexts":
        """Returns the rule given by options, else by `task.json`, else truncation.

        Windows overlap by half by default.
        """
        # Training gets options, predictions get `task.json`: both must cut texts in the same way.
        how = how or task.get("long_texts", TRUNCATE)
        if how != WINDOWS:
            if window_stride:
                raise UserError(
                    f"--window_stride={window_stride} has no effect without "
                    f"--long_texts={WINDOWS}: leave it out, or set that too"
                )
            return cls(how, max_seq_length, side=side)
        if not window_stride:
            # The stride in task.json belongs to the length there: shorter windows must not leave
            # gaps between them.
            room = max_seq_length - 2
            window_stride = min(task.get("window_stride", max(room // 2, 1)), room)
        return cls(how, max_seq_length, window_stride)

    @property
    def is_windows(self) -> bool:
        """Whether a text may have several sequences."""
        return self.how == WINDOWS

    @property
    def truncation(self) -> str:
        """Which tokens of a text that is too long are lost, see `encode_pairs`."""
        if self.how == HEAD_TAIL:
            return MIDDLE
        return START if self.side == "left" else END

    def encode(
        self, tokenizer: Tokenizer, text_a: Sequence[str], text_b: Sequence[str] | None
    ) -> tuple[Examples, np.ndarray | None, int]:
        """Encodes E texts or pairs.

        Returns:
          W sequences; int64 [E], the number of sequences of each text, or None if each has one;
          and the number of texts that lost tokens.
        """
        if self.is_windows:
            windows = encode_windows(tokenizer, text_a, self.max_seq_length, self.window_stride)
            # Windows have a single text: all tokens are of segment 0.
            tokens = {
                "input_ids": windows.input_ids,
                "segment_ids": np.zeros(len(windows.input_ids), np.uint8),
            }
            return Examples(tokens, windows.row_lengths), windows.window_counts, 0
        features = encode_pairs(
            tokenizer, text_a, text_b, self.max_seq_length, truncation=self.truncation
        )
        return Examples(features.tokens, features.row_lengths), None, features.truncated


def per_window(values: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """Repeats values of texts, [E, ...], for each of their sequences: [W, ...]."""
    if window_counts is None:
        return values
    return np.repeat(values, window_counts, axis=0)


def pool(logits: np.ndarray, window_counts: np.ndarray | None) -> np.ndarray:
    """Averages logits over the sequences of each text: [W, C] → [E, C]."""
    if window_counts is None:
        return logits
    # Windows of a text are side by side: sum from its first one to the next text's. Float64 keeps
    # the rounding errors of the sum far below the model's.
    first_windows = np.cumsum(window_counts) - window_counts
    sums = np.add.reduceat(logits.astype(np.float64), first_windows, axis=0)
    return (sums / window_counts[:, None]).astype(logits.dtype)

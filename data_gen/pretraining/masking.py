"""Masked language model: which tokens are hidden, and by what; thousands of sequences at a time.

The original has the same rules in `create_masked_lm_predictions` (paper, section 3.1, "Task #1";
whole-word masking came in 2019). Input: unmasked sequences. Output: `Masked`, which
`record_writer.py` writes. Data generation masks once; with --dynamic_masking training does it, by
the same rule, in every pass.
"""

import dataclasses

import numpy as np

from bert_common.errors import UserError

# Percentages of the paper: [MASK], a random token, the same token.
DEFAULT_RATIOS = "80,10,10"


@dataclasses.dataclass(frozen=True)
class MaskingRatios:
    """Probabilities of each replacement of a token that is to be predicted; they add up to 1."""

    mask: float
    random: float
    same: float

    @classmethod
    def parse(cls, text: str) -> "MaskingRatios":
        """Reads percentages, e.g. "80,10,10".

        Raises:
          UserError: not three numbers, a negative one, or they do not add up to 100.
        """
        try:
            percentages = [float(part) for part in text.split(",")]
        except ValueError:
            percentages = []
        if len(percentages) != 3:
            raise UserError(
                f"--masking={text}: three percentages are expected (mask,random,same), e.g. "
                "80,10,10"
            )
        mask, random, same = percentages
        # NaN must be refused, too: no comparison with it is true.
        is_valid = min(percentages) >= 0 and abs(sum(percentages) - 100) <= 1e-6
        if not is_valid:
            raise UserError(
                f"--masking={text}: the three percentages (mask,random,same) must be 0 or more and "
                "add up to 100"
            )
        return cls(mask / 100, random / 100, same / 100)


@dataclasses.dataclass(frozen=True)
class Masking:
    """Parameters of the masking.

    Attributes:
      max_predictions_per_seq: P.
      masked_lm_prob: share of the tokens, [CLS] and [SEP] included, that are predicted; float64 [B]
        for a share per sequence.
      vocab_size: exclusive bound of random tokens.
      is_continuation: bool [vocab_size], tokens that start with "##"; None to mask single tokens
        instead of words.
    """

    max_predictions_per_seq: int
    masked_lm_prob: float | np.ndarray
    ratios: MaskingRatios
    vocab_size: int
    mask_id: int
    is_continuation: np.ndarray | None = None


@dataclasses.dataclass
class Masked:
    """Masked sequences.

    Attributes:
      input_ids: int32 [B, S].
      positions: int32 [B, P], sorted, 0 from `count` on.
      labels: int32 [B, P], the original ids, 0 from `count` on.
      count: int64 [B].
      kind_counts: number of predicted tokens that became [MASK], a different token, or show the
        original.
    """

    input_ids: np.ndarray
    positions: np.ndarray
    labels: np.ndarray
    count: np.ndarray
    kind_counts: dict[str, int]


def predictions_of(
    length: np.ndarray, masked_lm_prob: float | np.ndarray, max_predictions_per_seq: int
) -> np.ndarray:
    """Returns the number of tokens to predict in sequences of these lengths, int64 [B].

    It is an upper bound, as short sequences may have fewer candidates.
    """
    # numpy rounds halves to even, as Python does.
    rounded = np.rint(length * masked_lm_prob).astype(np.int64)
    return np.minimum(np.maximum(rounded, 1), max_predictions_per_seq)


class Draws:
    """Random numbers for masking, from one generator for all sequences: for data generation."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def integers(self, shape: tuple[int, int], kind: type) -> np.ndarray:
        """Returns unsigned integers of the type `kind`, [B, n]."""
        return self._rng.integers(0, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)

    def uniform(self, used: np.ndarray) -> np.ndarray:
        """Returns a float64 from 0 to 1 for each used prediction; `used` is bool [B, P]."""
        return self._rng.random(int(used.sum()))

    def tokens(self, used: np.ndarray, is_random: np.ndarray, vocab_size: int) -> np.ndarray:
        """Returns token ids for the used predictions in `is_random`, bool [number used]."""
        return self._rng.integers(0, vocab_size, int(is_random.sum()))


class KeyedDraws:
    """`Draws` in which the numbers of a sequence depend on its key alone, not on its batch.

    Each sequence has the first numbers of its own counter-based generator (Philox 4x64).

    Args:
      passes, keys: uint64 [B], numbers of the pass over the data, and keys of the sequences.
      width: S.
      max_predictions: P.
    """

    def __init__(
        self, seed: int, passes: np.ndarray, keys: np.ndarray, width: int, max_predictions: int
    ):
        # Philox takes a key of 128 bits: 32 of the seed, 32 of the pass and 64 of the sequence.
        first = np.uint64(seed % 2**32) << np.uint64(32) | passes & np.uint64(0xFFFFFFFF)
        # A word for each token's order, and two for each prediction: its kind and its random token.
        num_words = width + 2 * max_predictions
        self._words = np.empty((len(keys), num_words), np.uint64)
        for row, key in enumerate(zip(first, keys, strict=True)):
            self._words[row] = np.random.Philox(key=key).random_raw(num_words)
        self._width = width
        self._max_predictions = max_predictions

    def integers(self, shape: tuple[int, int], kind: type) -> np.ndarray:
        return (self._words[:, : shape[1]] >> np.uint64(64 - np.iinfo(kind).bits)).astype(kind)

    def uniform(self, used: np.ndarray) -> np.ndarray:
        begin = self._width
        words = self._words[:, begin : begin + self._max_predictions][used]
        # A float64 has 53 bits of precision: more would round up to 1, which is excluded.
        return (words >> np.uint64(11)) * 2.0**-53

    def tokens(self, used: np.ndarray, is_random: np.ndarray, vocab_size: int) -> np.ndarray:
        begin = self._width + self._max_predictions
        words = self._words[:, begin:][used][is_random]
        # The remainder favors small ids by a share of 1e-14 at most, which nobody can measure.
        return (words % np.uint64(vocab_size)).astype(np.int64)


def mask(
    input_ids: np.ndarray,
    length: np.ndarray,
    second_sep: np.ndarray,
    masking: Masking,
    draws: Draws | KeyedDraws,
    limits: np.ndarray | None = None,
) -> Masked:
    """Hides min(P, max(1, round(length * masked_lm_prob))) tokens of each sequence.

    Args:
      input_ids: int32 [B, S]: [CLS] A [SEP] B [SEP], then zeros.
      length: [B], number of real tokens.
      second_sep: [B], position of the [SEP] after A (length - 1 if there is no B).
      limits: int [B], maximum number of predictions of each sequence; None for P.

    Examples:
        The paper's sentence, of which the fourth word is chosen (appendix A.1).

        >>> words = np.array("[PAD] [CLS] [SEP] [MASK] my dog is hairy apple".split())
        >>> ids = np.array([[1, 4, 5, 6, 7, 2]], np.int32)
        >>> for ratios in ("100,0,0", "0,100,0", "0,0,100"):
        ...     masking = Masking(1, 0.15, MaskingRatios.parse(ratios), len(words), mask_id=3)
        ...     draws = Draws(np.random.default_rng(49))
        ...     masked = mask(ids, np.array([6]), np.array([5]), masking, draws)
        ...     print(*words[masked.input_ids[0]])
        [CLS] my dog is [MASK] [SEP]
        [CLS] my dog is apple [SEP]
        [CLS] my dog is hairy [SEP]
    """
    batch, width = input_ids.shape
    column = np.arange(width, dtype=np.uint16)
    candidate = column < (length - 1).astype(np.uint16)[:, None]
    # The last [SEP] is already excluded by the comparison with length - 1.
    candidate[:, 0] = False
    candidate[np.arange(batch), second_sep] = False
    max_predictions = masking.max_predictions_per_seq
    goal = np.minimum(
        predictions_of(length, masking.masked_lm_prob, max_predictions),
        candidate.sum(1, dtype=np.int64),
    )
    if limits is not None:
        goal = np.minimum(goal, limits)
    if masking.is_continuation is None:
        # All candidates are equally probable. Sorting puts the first `goal` of them into the order
        # of the text.
        count = goal
        columns = _columns(_random_order(candidate, draws), max_predictions)
        # The surplus gets the largest value, so that sorting leaves it at the end.
        columns[np.arange(max_predictions) >= goal[:, None]] = width
        columns.sort(axis=1)
    else:
        starts = candidate & ~masking.is_continuation.take(input_ids)
        columns, count = _choose_words(candidate, starts, goal, max_predictions, draws)
    rows = np.arange(batch)[:, None]
    used = np.arange(max_predictions) < count[:, None]
    positions = np.where(used, columns, 0).astype(np.int32)
    # Unused places read position 0, which always exists.
    labels = np.where(used, input_ids[rows, positions], 0)
    used_rows, used_columns = np.nonzero(used)
    label = labels[used_rows, used_columns]
    draw = draws.uniform(used)
    ratios = masking.ratios
    replacements = np.where(draw < ratios.mask, masking.mask_id, label)
    is_random = (draw >= ratios.mask) & (draw < ratios.mask + ratios.random)
    replacements[is_random] = draws.tokens(used, is_random, masking.vocab_size)
    # The caller's array stays whole: masking several times starts from the same tokens.
    masked_ids = input_ids.copy()
    masked_ids[used_rows, positions[used_rows, used_columns]] = replacements
    # A random token may happen to be [MASK] or the original: the counts are what a reader sees.
    is_mask = replacements == masking.mask_id
    is_same = (replacements == label) & ~is_mask
    kinds = {"mask": int(is_mask.sum()), "same": int(is_same.sum())}
    kinds["random"] = len(replacements) - kinds["mask"] - kinds["same"]
    return Masked(masked_ids, positions, labels, count, kinds)


def _choose_words(
    candidate: np.ndarray,
    starts: np.ndarray,
    goal: np.ndarray,
    max_predictions: int,
    draws: Draws | KeyedDraws,
) -> tuple[np.ndarray, np.ndarray]:
    """Chooses whole words in random order, except those that exceed the rest of `goal`.

    Returns columns, sorted, [B, max_predictions], and the number of valid ones in each row.

    As in the original a word is a token and the "##" tokens after it. A "##" token that truncation
    left at the front of B therefore counts with the last word of A.
    """
    batch, width = candidate.shape
    # A row may begin with a "##" token: it is a word of its own.
    starts = starts.copy()
    starts[np.arange(batch), candidate.argmax(1)] = candidate.any(1)
    word = np.cumsum(starts, axis=1) - 1
    words = word[:, -1] + 1
    max_words = int(words.max(initial=0))
    # One count over (row, word) replaces a loop over the rows.
    flat = (np.arange(batch)[:, None] * max_words + word)[candidate]
    size = np.bincount(flat, minlength=batch * max_words).reshape(batch, max_words)
    order = _random_order(np.arange(max_words) < words[:, None], draws)
    is_chosen = np.zeros((batch, max_words), bool)
    rest = goal.copy()
    # The rows take turns: each considers its next word, until its goal is reached.
    active = np.arange(batch)
    for rank in range(max_words):
        active = active[(rest[active] > 0) & (rank < words[active])]
        if not len(active):
            break
        which = order[active, rank]
        fits = size[active, which] <= rest[active]
        is_chosen[active[fits], which[fits]] = True
        rest[active[fits]] -= size[active[fits], which[fits]]
    # Columns before the first word have the number -1; they are no candidates, but the index must
    # be valid.
    hidden = candidate & is_chosen[np.arange(batch)[:, None], np.maximum(word, 0)]
    columns = np.where(hidden, np.arange(width), width)
    columns.sort(axis=1)
    return _columns(columns, max_predictions), goal - rest


def _columns(values: np.ndarray, count: int) -> np.ndarray:
    """Returns the first `count` columns of [B, n]; missing ones are zero."""
    missing = count - values.shape[1]
    if missing <= 0:
        return values[:, :count]
    return np.pad(values, ((0, 0), (0, missing)))


def _random_order(valid: np.ndarray, draws: Draws | KeyedDraws) -> np.ndarray:
    """Returns the columns of each row in random order, the invalid ones last; int32 [B, n].

    They are sorted by random numbers whose last digits are the column, which needs no indirect
    sort. For up to 1024 columns 32 bits are enough: they leave 21 random bits, so that equal ones
    practically never matter.

    Args:
      valid: bool [B, n].
    """
    num_columns = valid.shape[1]
    kind = np.uint32 if num_columns <= 1024 else np.uint64
    column_bits = max(num_columns - 1, 1).bit_length()
    digits = kind((1 << column_bits) - 1)
    # The highest bit marks invalid columns.
    highest_bit = np.iinfo(kind).max // 2 + 1
    random_bits = np.iinfo(kind).max // 2 & ~digits
    key = draws.integers(valid.shape, kind)
    key &= random_bits
    key |= np.arange(num_columns, dtype=kind)
    key[~valid] |= highest_bit
    key.sort(axis=1)
    return (key & digits).astype(np.int32)

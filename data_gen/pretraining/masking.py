"""Masked language model: which tokens are hidden, and by what. Thousands of sequences at a time.

The rules are those of `create_masked_lm_predictions` of the original (paper, section 3.1, "Task
#1"; whole-word masking came in 2019). Input: unmasked sequences. Output: `Masked`, which
`record_writer.py` writes. Data generation masks once; with --dynamic_masking training does it, by
the same rule, in every pass.
"""

import dataclasses

import numpy as np

from bert_common.errors import UserError

# Of the paper, as percentages.
DEFAULT_RATIOS = "80,10,10"


@dataclasses.dataclass(frozen=True)
class MaskingRatios:
    """Masking ratios: the probabilities of each replacement of a token that is to be predicted;
    they add up to 1."""

    mask: float = 0.8
    random: float = 0.1
    same: float = 0.1

    @classmethod
    def parse(cls, text: str) -> "MaskingRatios":
        """Reads percentages, e.g. "80,10,10".

        Raises:
          UserError: not three numbers, a negative one, or they do not add up to 100.
        """
        try:
            mask, random, same = (float(part) for part in text.split(","))
        except ValueError:
            raise UserError(
                f"--masking={text}: three percentages are expected (mask,random,same), e.g. 80,10,10"
            ) from None
        # Not the other way round: a comparison with NaN is never true.
        if not (min(mask, random, same) >= 0 and abs(mask + random + same - 100) <= 1e-6):
            raise UserError(
                f"--masking={text}: the three percentages (mask,random,same) must add up to 100"
            )
        return cls(mask / 100, random / 100, same / 100)


@dataclasses.dataclass(frozen=True)
class Masking:
    """Parameters of the masking.

    Attributes:
      max_predictions_per_seq: P.
      masked_lm_prob: share of the tokens, [CLS] and [SEP] counted, that are predicted; float64 [B]
        for one a sequence.
      vocab_size: random tokens are below it.
      is_continuation: bool [vocab_size], tokens that start with "##"; None where single tokens are
        masked, not words.
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
    """The number of tokens to predict in sequences of these lengths, [B]: int64 [B], where there
    are as many."""
    # numpy rounds halves to even, as Python does.
    return np.minimum(
        np.maximum(np.rint(length * masked_lm_prob).astype(np.int64), 1), max_predictions_per_seq
    )


class Draws:
    """The random numbers that masking needs, from one generator for all sequences: what data
    generation takes."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def integers(self, shape: tuple[int, int], kind: type) -> np.ndarray:
        """Any unsigned integers of the type `kind`, [B, n]."""
        return self._rng.integers(0, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)

    def uniform(self, used: np.ndarray) -> np.ndarray:
        """float64 from 0 to 1 for each place that is True, bool [B, P]."""
        return self._rng.random(int(used.sum()))

    def tokens(self, used: np.ndarray, chosen: np.ndarray, vocab_size: int) -> np.ndarray:
        """Token ids for those of the used places that are chosen, bool [number used]."""
        return self._rng.integers(0, vocab_size, int(chosen.sum()))


class KeyedDraws:
    """`Draws` where the numbers of a sequence depend on its key alone: whichever others are masked
    beside it.

    Each sequence has the first numbers of its own counter-based generator (Philox 4x64).

    Args:
      passes, keys: uint64 [B], which pass over the data it is, and which sequence.
      width: S.
      max_predictions: P.
    """

    def __init__(
        self, seed: int, passes: np.ndarray, keys: np.ndarray, width: int, max_predictions: int
    ):
        first = np.uint64(seed % 2**32) << np.uint64(32) | passes & np.uint64(0xFFFFFFFF)
        words = width + 2 * max_predictions
        self._words = np.array(
            [np.random.Philox(key=key).random_raw(words) for key in zip(first, keys, strict=True)],
            np.uint64,
        ).reshape(len(keys), words)
        self._width, self._predictions = width, max_predictions

    def integers(self, shape: tuple[int, int], kind: type) -> np.ndarray:
        return (self._words[:, : shape[1]] >> np.uint64(64 - np.iinfo(kind).bits)).astype(kind)

    def uniform(self, used: np.ndarray) -> np.ndarray:
        words = self._words[:, self._width : self._width + self._predictions][used]
        return (words >> np.uint64(11)) * 2.0**-53

    def tokens(self, used: np.ndarray, chosen: np.ndarray, vocab_size: int) -> np.ndarray:
        return (
            self._words[:, self._width + self._predictions :][used][chosen] % np.uint64(vocab_size)
        ).astype(np.int64)


def mask(
    input_ids: np.ndarray,
    length: np.ndarray,
    second_sep: np.ndarray,
    masking: Masking,
    draws: Draws | KeyedDraws,
    most: np.ndarray | None = None,
) -> Masked:
    """Chooses min(P, max(1, round(length * masked_lm_prob))) tokens of each sequence and hides
    them.

    Args:
      input_ids: int32 [B, S]: [CLS] A [SEP] B [SEP], then zeros.
      length: [B], number of real tokens.
      second_sep: [B], position of the [SEP] after A (length - 1 where there is no B).
      most: int [B], predictions of each sequence at most; None for P.
    """
    batch, width = input_ids.shape
    column = np.arange(width, dtype=np.uint16)
    candidate = column < (length - 1).astype(np.uint16)[:, None]
    candidate[:, 0] = False
    candidate[np.arange(batch), second_sep] = False
    goal = np.minimum(
        predictions_of(length, masking.masked_lm_prob, masking.max_predictions_per_seq),
        candidate.sum(1, dtype=np.int64),
    )
    if most is not None:
        goal = np.minimum(goal, most)
    if masking.is_continuation is None:
        # All candidates are equally probable; in the order of the text.
        chosen, count = (
            _columns(_random_order(candidate, draws), masking.max_predictions_per_seq),
            goal,
        )
        chosen[np.arange(masking.max_predictions_per_seq) >= goal[:, None]] = width
        chosen.sort(axis=1)
    else:
        starts = candidate & ~masking.is_continuation.take(input_ids)
        chosen, count = _choose_words(
            candidate, starts, goal, masking.max_predictions_per_seq, draws
        )
    rows = np.arange(batch)[:, None]
    used = np.arange(masking.max_predictions_per_seq) < count[:, None]
    positions = np.where(used, chosen, 0).astype(np.int32)
    labels = np.where(used, input_ids[rows, positions], 0)
    at = np.nonzero(used)
    label = labels[at]
    draw = draws.uniform(used)
    shown = np.where(draw < masking.ratios.mask, masking.mask_id, label)
    by_random = (draw >= masking.ratios.mask) & (draw < masking.ratios.mask + masking.ratios.random)
    shown[by_random] = draws.tokens(used, by_random, masking.vocab_size)
    out = input_ids.copy()
    out[at[0], positions[at]] = shown
    is_mask, same = shown == masking.mask_id, shown == label
    kinds = {"mask": int(is_mask.sum()), "same": int((same & ~is_mask).sum())}
    kinds["random"] = len(shown) - kinds["mask"] - kinds["same"]
    return Masked(out, positions, labels, count, kinds)


def _choose_words(
    candidate: np.ndarray,
    starts: np.ndarray,
    goal: np.ndarray,
    most: int,
    draws: Draws | KeyedDraws,
) -> tuple[np.ndarray, np.ndarray]:
    """Whole words in random order, leaving out those that do not fit into what is left of `goal`.

    As in the original a word is a token and the "##" tokens after it. A "##" token that truncation
    left at the front of B therefore counts with the last word of A.
    """
    batch, width = candidate.shape
    # A row may begin with a "##" token: it is a word of its own.
    starts = starts.copy()
    starts[np.arange(batch), candidate.argmax(1)] = candidate.any(1)
    word = np.cumsum(starts, axis=1) - 1
    words = word[:, -1] + 1
    most_words = int(words.max(initial=0))
    flat = (np.arange(batch)[:, None] * most_words + word)[candidate]
    size = np.bincount(flat, minlength=batch * most_words).reshape(batch, most_words)
    order = _random_order(np.arange(most_words) < words[:, None], draws)
    taken = np.zeros((batch, most_words), bool)
    left = goal.copy()
    active = np.arange(batch)
    for rank in range(most_words):
        active = active[(left[active] > 0) & (rank < words[active])]
        if not len(active):
            break
        which = order[active, rank]
        fits = size[active, which] <= left[active]
        taken[active[fits], which[fits]] = True
        left[active[fits]] -= size[active[fits], which[fits]]
    hidden = candidate & taken[np.arange(batch)[:, None], np.maximum(word, 0)]
    chosen = np.where(hidden, np.arange(width), width)
    chosen.sort(axis=1)
    return _columns(chosen, most), goal - left


def _columns(values: np.ndarray, count: int) -> np.ndarray:
    """The first `count` columns of [B, n], filled up with zeros where there are fewer."""
    return (
        values[:, :count]
        if values.shape[1] >= count
        else np.pad(values, ((0, 0), (0, count - values.shape[1])))
    )


def _random_order(valid: np.ndarray, draws: Draws | KeyedDraws) -> np.ndarray:
    """The columns of each row of `valid`, [B, n], in random order, those that are not valid last;
    int32 [B, n].

    They are sorted by random numbers whose last digits are the column: that needs no indirect sort.
    Up to 1024 columns 32 bits are enough, which leaves 21 for chance; that two of them are equal
    where it matters is next to impossible.
    """
    kind = np.uint32 if valid.shape[1] <= 1024 else np.uint64
    digits = kind((1 << max(valid.shape[1] - 1, 1).bit_length()) - 1)
    largest = np.iinfo(kind).max
    key = draws.integers(valid.shape, kind)
    # The highest bit is kept for those that are not valid.
    key &= largest // 2 & ~digits
    key |= np.arange(valid.shape[1], dtype=kind)
    key[~valid] |= largest // 2 + 1
    key.sort(axis=1)
    return (key & digits).astype(np.int32)

"""Sentences of words → windows of at most S tokens in which every word is scored: sub-tokens and
document context.

    pieces = encode_words(tokenizer, words)
    windows = make_windows(pieces, row_lengths, documents, vocabulary, max_seq_length=128)

    # words:      Jim      Henson              .       a word is scored at its first sub-token
    # tokens:     [CLS] …  jim hen ##son .  …  [SEP]   … is what stands before and after the
    sentence in its document # scored:              x   x         x

A window scores a few consecutive sentences; what is left of its length is filled with their
context (section 5.3 of the paper: "the maximal document context"). Packed like this every sentence
is scored once, and few tokens are computed twice. Without documents, or on demand, a sentence is
its own context. A sentence that does not fit is scored in parts, each with context on both sides.

With votes, sentences are scored at several places of several windows.

Input: words as strings, e.g. of `tagged_files.py`. Output: flat arrays, for batches. Letters: W
words, S sentences in lists of them and tokens of a window elsewhere, N windows, T tokens of all
windows, K places that are scored.
"""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from bert_common.errors import UserError
from data_gen.labelled.pair_features import with_special_tokens
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.vocabulary import Vocabulary

# [CLS] and [SEP].
_SPECIAL_TOKENS = 2


@dataclasses.dataclass(frozen=True)
class WordPieces:
    """The sub-tokens of W words, concatenated.

    Attributes:
      ids: int32 [pieces].
      row_lengths: int64 [W], at least 1: a word that the tokenizer makes nothing of is one [UNK].
      num_without: words of which it makes nothing.
    """

    ids: np.ndarray
    row_lengths: np.ndarray
    num_without: int


@dataclasses.dataclass(frozen=True)
class WordWindows:
    """[CLS] words [SEP], window by window; the tokens of all N windows, concatenated.

    Attributes:
      input_ids: int32 [T].
      row_lengths: int64 [N].
      positions: int64 [K], the tokens among the T at which words are scored, rising.
      words: int64 [K], the words that are scored there: every word once, with votes at least once.
      num_unknown_words: words of which the tokenizer makes nothing.
      num_shortened_words: words of which a window does not hold all sub-tokens.
      num_split_sentences: sentences that are scored in parts.
    """

    input_ids: np.ndarray
    row_lengths: np.ndarray
    positions: np.ndarray
    words: np.ndarray
    num_words: int
    num_unknown_words: int
    num_shortened_words: int
    num_split_sentences: int

    def __len__(self) -> int:
        return len(self.row_lengths)

    def label_ids(self, labels: np.ndarray) -> np.ndarray:
        """The labels of words, int [W], where they are scored, and -1 elsewhere: int32 [T]."""
        result = np.full(len(self.input_ids), -1, np.int32)
        result[self.positions] = labels[self.words]
        return result

    def of_words(self, values: np.ndarray) -> np.ndarray:
        """Values of tokens, float [T, ...], as those of words, [W, ...]: the mean of the places
        where a word is scored."""
        scored = values[self.positions]
        if len(self.words) == self.num_words:
            result = np.empty_like(scored)
            result[self.words] = scored
            return result
        sums = np.zeros((self.num_words, *values.shape[1:]), values.dtype)
        np.add.at(sums, self.words, scored)
        counts = np.bincount(self.words, minlength=self.num_words)
        return sums / counts.reshape(-1, *[1] * (values.ndim - 1)).astype(values.dtype)


def encode_words(tokenizer: Tokenizer, words: Sequence[str]) -> WordPieces:
    """The sub-tokens of words; each word is tokenized on its own, and every different word once."""
    numbers: dict[str, int] = {}
    places = np.fromiter(
        (numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words)
    )
    ids, lengths, _ = tokenizer.encode_batch(list(numbers))
    is_empty = lengths == 0
    starts = np.cumsum(lengths) - lengths
    if is_empty.any():
        starts[is_empty] = len(ids)
        ids = np.append(ids, np.int32(tokenizer.vocabulary.unk_id))
        lengths = np.maximum(lengths, 1)
    row_lengths = lengths[places]
    return WordPieces(
        ids[ragged_range(starts[places], row_lengths)], row_lengths, int(is_empty[places].sum())
    )


def make_windows(
    pieces: WordPieces,
    row_lengths: np.ndarray,
    documents: np.ndarray | None,
    vocabulary: Vocabulary,
    *,
    max_seq_length: int,
    min_context: int = 64,
    sentences_per_window: int | None = None,
    votes: int = 1,
) -> WordWindows:
    """The windows of sentences, in their order.

    Args:
      row_lengths: int64 [S], words of each sentence.
      documents: int [S], rising: sentences of the same number are context for each other; None for
        sentences alone.
      max_seq_length: most tokens of a window, at least 3.
      min_context: tokens that stand on either side of what is scored, as far as the document has
        them; at most a quarter of a window.
      sentences_per_window: most sentences that a window scores; None for as many as fit.
      votes: windows begin every 1/votes of their length, and score all sentences that are whole in
        them; 1: a sentence is scored once.

    Raises:
      UserError: no token fits beside [CLS] and [SEP].
    """
    room = max_seq_length - _SPECIAL_TOKENS
    if room < 1:
        raise UserError(
            f"--max_seq_length={max_seq_length} must be at least 3: [CLS], a token, [SEP]"
        )
    kept = np.minimum(pieces.row_lengths, room)
    # The place of each word's first token in all sentences, concatenated; the first word of each
    # sentence.
    token_starts, sentences = (
        np.concatenate([[0], np.cumsum(sizes)]) for sizes in (kept, row_lengths)
    )
    starts, num_split = token_starts.tolist(), 0
    plan: list[tuple] = []
    streams = np.arange(len(row_lengths)) if documents is None else np.asarray(documents)
    borders = (
        np.flatnonzero(np.diff(streams, prepend=-1, append=-1) != 0)
        if len(streams)
        else np.zeros(1, np.int64)
    )
    for first, last in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        windows, split = _windows_of(
            starts,
            sentences[first : last + 1].tolist(),
            room,
            min(min_context, room // 4),
            sentences_per_window,
            votes,
        )
        plan += windows
        num_split += split
    begin, end, scored_begin, scored_end = np.array(plan, np.int64).reshape(-1, 4).T

    lengths = token_starts[end] - token_starts[begin] + _SPECIAL_TOKENS
    row_starts = np.cumsum(lengths) - lengths
    words_of = ragged_range(begin, end - begin)
    piece_starts = np.cumsum(pieces.row_lengths) - pieces.row_lengths
    input_ids = with_special_tokens(
        pieces.ids[ragged_range(piece_starts[words_of], kept[words_of])],
        lengths - _SPECIAL_TOKENS,
        vocabulary,
    )
    words = ragged_range(scored_begin, scored_end - scored_begin)
    shift = np.repeat(row_starts + 1 - token_starts[begin], scored_end - scored_begin)
    return WordWindows(
        input_ids,
        lengths,
        token_starts[words] + shift,
        words,
        len(kept),
        pieces.num_without,
        int((pieces.row_lengths > room).sum()),
        num_split,
    )


def _windows_of(
    starts: list[int], sentences: list[int], room: int, margin: int, most: int | None, votes: int
) -> tuple[dict[tuple[int, int, int, int], None], int]:
    """The windows of sentences that are each other's context, and how many of these are scored in
    parts.

    Args:
      starts: the place of each word's first token in all sentences, concatenated.
      sentences: the first word of each sentence, and the end (exclusive) of the last one.
      room, margin, most, votes: tokens of a window, `min_context`, `sentences_per_window` and
        `votes` of `make_windows`.

    Returns:
      (first word shown, end (exclusive), first word scored, end (exclusive)) of the windows, each
      once.
    """
    begin, end = sentences[0], sentences[-1]
    if begin == end:
        return {}, 0
    if starts[end] - starts[begin] <= room and (most is None or len(sentences) - 1 <= most):
        return {(begin, end, begin, end): None}, 0
    # Borders of what is scored together, sentences and the words of those that no window holds; and
    # the numbers of sentences begun before each border.
    borders, counts, num_split = list[int](), list[int](), 0
    for sentence, (word, next_word) in enumerate(itertools.pairwise(sentences)):
        is_split = starts[next_word] - starts[word] > room
        num_split += is_split
        units = range(word, next_word if is_split else min(word + 1, next_word))
        borders += units
        counts += [sentence] * len(units)
    borders, counts = [*borders, end], [*counts, len(sentences) - 1]
    windows, place = [], 0
    while place < len(borders) - 1:
        # As many units as fit beside the context.
        token, stop = starts[borders[place]], place + 1
        space = room - min(margin, token - starts[begin])
        while stop < len(borders) - 1 and (most is None or counts[stop] - counts[place] < most):
            after = starts[borders[stop + 1]]
            if after - token + min(margin, starts[end] - after) > space:
                break
            stop += 1
        scored = borders[place], borders[stop]
        # As many words on both sides, and more on one where the other has no more.
        rest = room - (starts[scored[1]] - token)
        left = min(token - starts[begin], max(rest // 2, rest - (starts[end] - starts[scored[1]])))
        shown = _words_from(starts, token - left, room, end)
        windows.append((*shown, *(_whole(borders, *shown) if votes > 1 else scored)))
        place = stop
    if votes > 1:
        step = max(room // votes, 1)
        for token in range(starts[begin], starts[end] - room + step, step):
            shown = _words_from(starts, token, room, end)
            scored = _whole(borders, *shown)
            if scored[0] < scored[1]:
                windows.append((*shown, *scored))
    return dict.fromkeys(windows), num_split


def _words_from(starts: list[int], token: int, room: int, end: int) -> tuple[int, int]:
    """The words, before `end`, of a window that begins at a token or after it."""
    first = bisect.bisect_left(starts, token)
    return first, min(bisect.bisect_right(starts, starts[first] + room) - 1, end)


def _whole(borders: list[int], begin: int, end: int) -> tuple[int, int]:
    """The units that are whole in the words `begin` … `end` - 1."""
    first = borders[min(bisect.bisect_left(borders, begin), len(borders) - 1)]
    return first, max(borders[max(bisect.bisect_right(borders, end) - 1, 0)], first)

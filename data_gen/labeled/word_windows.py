"""Sentences of words → windows of at most S tokens, with document context, in which every word is
scored.

    pieces = encode_words(tokenizer, words)
    windows = make_windows(pieces, row_lengths, documents, vocabulary, max_seq_length=128)

    # words:      Jim      Henson              .       a word is scored at its first sub-token
    # tokens:     [CLS] …  jim hen ##son .  …  [SEP]   … is the document before and after
    # scored:              x   x         x

A window scores a few consecutive sentences; the rest of its length is filled with their context
(section 5.3 of the paper: "the maximal document context"). With this packing every sentence is
scored once, and few tokens are computed twice. Without documents, or on demand, a sentence is its
only context. A sentence that does not fit is scored in parts, each with context on both sides.

With votes, a sentence is scored at several positions of several windows.

Input: words as strings, e.g. of `tagged_files.py`. Output: flat arrays, for batches. Letters: W
words, S sentences in lists of them and tokens of a window elsewhere, N windows, T tokens of all
windows, K scored positions.
"""

import bisect
import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from data_gen.labeled.pair_features import with_special_tokens
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range
from data_gen.tokenization.vocabulary import Vocabulary

# [CLS] and [SEP].
_NUM_SPECIAL_TOKENS = 2


@dataclasses.dataclass(frozen=True)
class WordPieces:
    """The sub-tokens of W words, concatenated.

    Attributes:
      ids: int32 [pieces].
      row_lengths: int64 [W], at least 1: a word for which the tokenizer returns no token is [UNK].
      num_without: number of such words.
    """

    ids: np.ndarray
    row_lengths: np.ndarray
    num_without: int


@dataclasses.dataclass(frozen=True)
class WordWindows:
    """N windows of [CLS] words [SEP], concatenated.

    Attributes:
      input_ids: int32 [T].
      row_lengths: int64 [N].
      positions: int64 [K], ascending, the tokens among the T at which words are scored.
      words: int64 [K], the words that are scored there: each word once, with votes at least once.
      num_unknown_words: number of words for which the tokenizer returns no token.
      num_shortened_words: number of words with more sub-tokens than a window holds.
      num_split_sentences: number of sentences that are scored in parts.
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
        """Returns labels of words, int [W], at the scored tokens, and -1 elsewhere: int32 [T]."""
        # The loss ignores -1, so context and later sub-tokens are not trained on.
        result = np.full(len(self.input_ids), -1, np.int32)
        result[self.positions] = labels[self.words]
        return result

    def to_words(self, values: np.ndarray) -> np.ndarray:
        """Returns values of tokens, float [T, ...], as values of words, [W, ...].

        A word that is scored several times gets the mean.
        """
        scored = values[self.positions]
        if len(self.words) == self.num_words:
            result = np.empty_like(scored)
            result[self.words] = scored
            return result
        sums = np.zeros((self.num_words, *values.shape[1:]), values.dtype)
        # np.add.at counts repeated words, which an indexed += would not.
        np.add.at(sums, self.words, scored)
        counts = np.bincount(self.words, minlength=self.num_words).astype(values.dtype)
        # Add axes of size 1 so that the counts broadcast over the values of a word.
        return sums / np.expand_dims(counts, tuple(range(1, values.ndim)))


class _Window(NamedTuple):
    """A window as ranges of words, with exclusive ends: those it holds, and those it scores."""

    begin: int
    end: int
    scored_begin: int
    scored_end: int


def encode_words(tokenizer: Tokenizer, words: Sequence[str]) -> WordPieces:
    """Returns the sub-tokens of words. Words are tokenized one by one, equal ones only once."""
    number_of_word: dict[str, int] = {}
    # A text has far fewer different words than words, so that each is tokenized once.
    numbers = np.fromiter(
        (number_of_word.setdefault(word, len(number_of_word)) for word in words),
        np.int64,
        len(words),
    )
    ids, lengths, _ = tokenizer.encode_batch(list(number_of_word))
    is_empty = lengths == 0
    starts = np.cumsum(lengths) - lengths
    if is_empty.any():
        # All words without a token share one [UNK] at the end.
        starts[is_empty] = len(ids)
        ids = np.append(ids, np.int32(tokenizer.vocabulary.unk_id))
        lengths = np.maximum(lengths, 1)
    row_lengths = lengths[numbers]
    return WordPieces(
        # The pieces of repeated words are copied to every place, which flat arrays need.
        ids=ids[ragged_range(starts[numbers], row_lengths)],
        row_lengths=row_lengths,
        num_without=int(is_empty[numbers].sum()),
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
    """Returns the windows of sentences, in the order of the sentences.

    Args:
      row_lengths: int64 [S], number of words of each sentence.
      documents: int [S], ascending: sentences with equal numbers are context for each other; None
        for sentences without context.
      max_seq_length: maximum number of tokens of a window, at least 3.
      min_context: number of context tokens on either side of what is scored, as far as the document
        has them; at most a quarter of a window.
      sentences_per_window: maximum number of sentences that a window scores; None for as many as
        fit.
      votes: windows begin every 1/votes of their length, and score all sentences that are complete
        in them; 1: a sentence is scored once.

    Raises:
      UserError: no token fits beside [CLS] and [SEP].
    """
    room = max_seq_length - _NUM_SPECIAL_TOKENS
    if room < 1:
        raise UserError(
            f"--max_seq_length={max_seq_length} must be at least 3: [CLS], a token, [SEP]"
        )
    # A word with more sub-tokens than a window holds loses the last ones.
    num_pieces = np.minimum(pieces.row_lengths, room)
    # Token at which each word starts when all sentences are concatenated, and the end.
    token_starts = np.concatenate([[0], np.cumsum(num_pieces)])
    token_starts_list = token_starts.tolist()
    plan: list[_Window] = []
    num_split = 0
    for sentences in _streams(row_lengths, documents):
        windows, split = _plan_windows(
            token_starts_list,
            sentences,
            room=room,
            min_context=min(min_context, room // 4),
            max_sentences=sentences_per_window,
            votes=votes,
        )
        plan += windows
        num_split += split
    begin, end, scored_begin, scored_end = np.array(plan, np.int64).reshape(-1, 4).T

    # Gather the sub-tokens of the words of all windows.
    num_tokens = token_starts[end] - token_starts[begin]
    window_words = ragged_range(begin, end - begin)
    piece_starts = np.cumsum(pieces.row_lengths) - pieces.row_lengths
    tokens = ragged_range(piece_starts[window_words], num_pieces[window_words])
    input_ids = with_special_tokens(pieces.ids[tokens], num_tokens, vocabulary)

    # Shift positions in the concatenated sentences to positions in the concatenated windows.
    window_lengths = num_tokens + _NUM_SPECIAL_TOKENS
    window_starts = np.cumsum(window_lengths) - window_lengths
    words = ragged_range(scored_begin, scored_end - scored_begin)
    shift = np.repeat(window_starts + 1 - token_starts[begin], scored_end - scored_begin)
    return WordWindows(
        input_ids=input_ids,
        row_lengths=window_lengths,
        positions=token_starts[words] + shift,
        words=words,
        num_words=len(num_pieces),
        num_unknown_words=pieces.num_without,
        num_shortened_words=int((pieces.row_lengths > room).sum()),
        num_split_sentences=num_split,
    )


def _streams(row_lengths: np.ndarray, documents: np.ndarray | None) -> list[list[int]]:
    """Returns a list for each run of sentences that are context for each other.

    It holds the first word of each sentence, and the end (exclusive) of the last one.
    """
    if not len(row_lengths):
        return []
    if documents is None:
        documents = np.arange(len(row_lengths))
    word_starts = np.concatenate([[0], np.cumsum(row_lengths)]).tolist()
    borders = np.flatnonzero(np.diff(documents, prepend=-1, append=-1) != 0).tolist()
    return [word_starts[first : last + 1] for first, last in itertools.pairwise(borders)]


def _plan_windows(
    starts: list[int],
    sentences: list[int],
    *,
    room: int,
    min_context: int,
    max_sentences: int | None,
    votes: int,
) -> tuple[list[_Window], int]:
    """Returns the windows of sentences that are each other's context, and the number of sentences
    that are scored in parts.

    Args:
      starts: first token of each word when all sentences are concatenated, and the end (exclusive).
      sentences: an item of `_streams`.
      room: maximum number of tokens of a window, without special tokens.
      min_context, max_sentences, votes: see `make_windows`.
    """
    begin = sentences[0]
    end = sentences[-1]
    # Sentences without words need no window.
    if begin == end:
        return [], 0
    # A short document is one window.
    if starts[end] - starts[begin] <= room:
        if max_sentences is None or len(sentences) - 1 <= max_sentences:
            return [_Window(begin, end, begin, end)], 0
    units, sentence_of_unit, num_split = _split_units(starts, sentences, room)
    windows = []
    first = 0
    while first < len(units) - 1:
        last = _last_unit(starts, units, sentence_of_unit, first, room, min_context, max_sentences)
        scored_begin = units[first]
        scored_end = units[last]
        # Center what is scored; a side without enough words leaves its room to the other one.
        rest = room - (starts[scored_end] - starts[scored_begin])
        num_after = starts[end] - starts[scored_end]
        num_before = starts[scored_begin] - starts[begin]
        left = min(num_before, max(rest // 2, rest - num_after))
        words = _words_from(starts, starts[scored_begin] - left, room, end)
        # If several windows vote, a window scores all it can, not only what it was packed for.
        if votes > 1:
            scored_begin, scored_end = _complete_units(units, *words)
        windows.append(_Window(*words, scored_begin, scored_end))
        first = last
    if votes > 1:
        step = max(room // votes, 1)
        for token in range(starts[begin], starts[end] - room + step, step):
            words = _words_from(starts, token, room, end)
            scored_begin, scored_end = _complete_units(units, *words)
            if scored_begin < scored_end:
                windows.append(_Window(*words, scored_begin, scored_end))
    # Windows at regular distances may equal packed ones; dict.fromkeys keeps the first of each.
    return list(dict.fromkeys(windows)), num_split


def _split_units(
    starts: list[int], sentences: list[int], room: int
) -> tuple[list[int], list[int], int]:
    """Returns the units that are scored together: sentences, or words of those too long for a
    window.

    Returns:
      First word of each unit, and the end (exclusive) of the last one; number of the sentence of
      each unit, and the number of sentences; number of sentences that are split into words.
    """
    units: list[int] = []
    sentence_of_unit: list[int] = []
    num_split = 0
    for number, (word, next_word) in enumerate(itertools.pairwise(sentences)):
        words = range(word, next_word)
        if starts[next_word] - starts[word] > room:
            num_split += 1
        else:
            # One unit; none for a sentence without words.
            words = words[:1]
        units += words
        sentence_of_unit += [number] * len(words)
    units.append(sentences[-1])
    sentence_of_unit.append(len(sentences) - 1)
    return units, sentence_of_unit, num_split


def _last_unit(
    starts: list[int],
    units: list[int],
    sentence_of_unit: list[int],
    first: int,
    room: int,
    min_context: int,
    max_sentences: int | None,
) -> int:
    """Returns the end (exclusive) of the units from `first` that fit into a window beside their
    context, at least one."""
    token = starts[units[first]]
    space = room - min(min_context, token - starts[units[0]])
    last = first + 1
    while last < len(units) - 1:
        if max_sentences is not None:
            # Units of a split sentence count as one sentence.
            if sentence_of_unit[last] - sentence_of_unit[first] >= max_sentences:
                break
        next_token = starts[units[last + 1]]
        # The context after a unit shrinks at the end of the document.
        context_after = min(min_context, starts[units[-1]] - next_token)
        if next_token - token + context_after > space:
            break
        last += 1
    return last


def _words_from(starts: list[int], token: int, room: int, end: int) -> tuple[int, int]:
    """Returns the words (first, end), before `end`, of a window that begins at or after a token."""
    first = bisect.bisect_left(starts, token)
    return first, min(bisect.bisect_right(starts, starts[first] + room) - 1, end)


def _complete_units(units: list[int], begin: int, end: int) -> tuple[int, int]:
    """Returns the words (first, end) of the units that the words `begin` to `end` - 1 contain."""
    first = units[min(bisect.bisect_left(units, begin), len(units) - 1)]
    last = units[max(bisect.bisect_right(units, end) - 1, 0)]
    return first, max(last, first)

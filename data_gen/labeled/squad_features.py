"""Questions and contexts → windows of at most S tokens for the model, as the original's
`convert_examples_to_features`.

    lengths = {"max_seq_length": 384, "doc_stride": 128, "max_query_length": 64}
    contexts, windows = make_windows(data, tokenizer, **lengths, training=True)

    # tokens:      [CLS] who was jim hen ##son ? [SEP] jim hen ##son was a pup ##pet ##eer [SEP]
    # segment ids:   0    0   0   0   0    0   0   0    1   1    1    1  1  1    1     1     1

A context that does not fit is read through a window that slides by `doc_stride` tokens. Each
context is tokenized once, as a whole, with the offsets of every token, so that answers can be cut
from the text (paper, section 4.2).

For training the tokens of an answer are found as in the original: from characters to words (as
separated by its own definition of white space), from these to all their tokens, and then the tokens
of the answer's text are searched among these (`_improve_answer_span`):

    # context: … John Smith (1895-1943).    answer: 1895
    # words:     John Smith (1895-1943).  → (1895-1943).  → ( 1895 - 1943 ) .  → 1895

Input: `squad.SquadData`. Output: `ContextTokens` and `Windows`, flat arrays, for batches;
`bert_tf/evaluation/squad_answers.py` turns the model's outputs for the windows into answers.

Letters: Q questions, W windows, T tokens.
"""

import dataclasses
import functools
import itertools
import re
from bisect import bisect_left

import numpy as np

from bert_common.errors import UserError
from bert_common.options import Options, option, option_class
from data_gen.labeled.squad import SquadData
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range

# The white space of `read_squad_examples` except the blank; others, e.g. U+00A0, are inside words.
_WHITE_SPACE = re.compile("[\t\r\n\u202f]")
# Number of context tokens processed at a time, which bounds the memory of intermediate arrays.
_TOKENS_AT_ONCE = 1 << 18


@dataclasses.dataclass(frozen=True)
class ContextTokens:
    """The tokens of all contexts, concatenated.

    Attributes:
      ids: int32 [T].
      offsets: int32 [T, 2]; a token is text[start:end] of its context, in characters.
      row_starts: int64 [contexts + 1]; context c has the tokens row_starts[c] to row_starts[c + 1].
    """

    ids: np.ndarray
    offsets: np.ndarray
    row_starts: np.ndarray


@dataclasses.dataclass(frozen=True)
class Windows:
    """W windows of [CLS] question [SEP] part of its context [SEP], in the order of the questions,
    concatenated.

    Attributes:
      input_ids: int32 [T].
      segment_ids: uint8 [T]; 1 from the first context token on.
      row_lengths: int64 [W], number of tokens of each window.
      question_index: int32 [W], into `SquadData.questions`.
      doc_token_start: int32 [W], position in the window of its first context token.
      first_context_token: int32 [W], the number of that token in its context.
      num_context_tokens: int32 [W].
      start_positions, end_positions: int32 [W], position in the window of the first and last token
        of the answer, 0 if the window does not contain it or there is none; None unless made for
        training. As in the original, an answer without tokens ends one position before it starts.
      doc_stride: number of tokens from the start of a window to the start of the next one of the
        same question.
      num_truncated_questions: number of questions with more than `max_query_length` tokens.
      num_unanswerable_questions: number of questions with an answer that no window contains; 0
        unless made for training.
      num_questions_without_window: number of questions whose context has no token.
      num_cut_contexts: number of questions whose context was not read to its end (`max_windows`).
    """

    input_ids: np.ndarray
    segment_ids: np.ndarray
    row_lengths: np.ndarray
    question_index: np.ndarray
    doc_token_start: np.ndarray
    first_context_token: np.ndarray
    num_context_tokens: np.ndarray
    start_positions: np.ndarray | None
    end_positions: np.ndarray | None
    doc_stride: int
    num_truncated_questions: int
    num_unanswerable_questions: int
    num_questions_without_window: int
    num_cut_contexts: int = 0

    def __len__(self) -> int:
        return len(self.row_lengths)

    def max_context(self) -> np.ndarray:
        """Returns which window is the best for each context token: `_check_is_max_context`.

        Of the windows that contain a token, it is the one with the most context on both sides. The
        score of a window is the smaller number of tokens to the left and to the right, plus 0.01 x
        its length; the first of the best counts.

        Returns:
          bool [sum of `num_context_tokens`]: for every context token of every window whether this
            is its best window.
        """
        is_first = np.flatnonzero(np.diff(self.question_index, prepend=-1))
        ends = np.cumsum(self.num_context_tokens, dtype=np.int64)
        # A portion holds all windows of its questions.
        borders = is_first[np.diff(ends[is_first] // _TOKENS_AT_ONCE, prepend=-1) != 0]
        portions = [np.zeros(0, bool)]
        for begin, end in itertools.pairwise([*borders.tolist(), len(self)]):
            portions.append(self._max_context_of_portion(begin, end))
        return np.concatenate(portions)

    def _max_context_of_portion(self, begin: int, end: int) -> np.ndarray:
        """Returns `max_context` of the windows `begin` to `end` - 1."""
        first = self.first_context_token[begin:end]
        counts = self.num_context_tokens[begin:end]
        lengths = np.repeat(counts, counts)
        left = ragged_range(np.zeros(len(counts), np.int64), counts)
        # In the precision and order of operations of the original: scores of windows of different
        # lengths may be equal but for rounding.
        score = np.minimum(left, lengths - 1 - left) + 0.01 * lengths
        # Number the tokens of the questions' contexts consecutively, as far as windows reach.
        is_last = np.diff(self.question_index[begin:end], append=-1) != 0
        sizes = (first + counts)[is_last].astype(np.int64)
        question = np.cumsum(is_last) - is_last
        context_starts = (np.cumsum(sizes) - sizes)[question]
        token = left + np.repeat(first + context_starts, counts)
        best = np.zeros(sizes.sum())
        np.maximum.at(best, token, score)
        # numpy keeps the last value of equal indices; in reverse order it is the first window's.
        candidates = np.flatnonzero(score == best[token])[::-1]
        winner = np.empty(len(best), np.int64)
        winner[token[candidates]] = candidates
        return winner[token] == np.arange(len(token))


@option_class
class WindowOptions(Options):
    """Windows over contexts.

    For prediction they default to the values of the trained model.
    """

    max_seq_length: int = option(
        384,
        "Maximum number of tokens of a window: [CLS] question [SEP] part of the context [SEP].",
        minimum=1,
        common=True,
    )
    doc_stride: int = option(
        128,
        "Number of tokens by which the window slides over a context that does not fit.",
        minimum=1,
        common=True,
    )
    max_query_length: int = option(
        64, "Maximum number of tokens of a question; longer ones are truncated.", minimum=1
    )
    max_windows: int = option(
        0,
        "Maximum number of windows per context. The text after them is not read, and the log says "
        "how often. 0 means no limit.",
        minimum=0,
    )

    def check_room(self) -> None:
        """Raises `UserError` if a window has no room for context beside the longest question, or if
        the stride leaves out text between windows."""
        # Special tokens are [CLS] and two [SEP].
        room = self.max_seq_length - self.max_query_length - 3
        if room < 1:
            raise UserError(
                f"--max_query_length={self.max_query_length} and three special tokens leave no "
                f"room for context in --max_seq_length={self.max_seq_length}: at most "
                f"{max(self.max_seq_length - 4, 0)}"
            )
        if self.doc_stride > room:
            raise UserError(
                f"--doc_stride={self.doc_stride} is more than the {room} tokens of context in a "
                f"window of --max_seq_length={self.max_seq_length} with a question of "
                f"--max_query_length={self.max_query_length}: at most {room}"
            )

    def lengths(self) -> dict[str, int]:
        """Returns arguments of `make_windows`; logits belong to windows of these lengths."""
        return {
            "max_seq_length": self.max_seq_length,
            "doc_stride": self.doc_stride,
            "max_query_length": self.max_query_length,
            "max_windows": self.max_windows,
        }


def make_windows(
    data: SquadData,
    tokenizer: Tokenizer,
    *,
    max_seq_length: int,
    doc_stride: int,
    max_query_length: int,
    training: bool,
    max_windows: int = 0,
) -> tuple[ContextTokens, Windows]:
    """Tokenizes contexts and questions and cuts the windows; all fields equal the original's.

    Args:
      data: for training, the result of `squad.check_training`: the first answer of a question
        counts, and none of a question that is marked as impossible.
      doc_stride: number of tokens by which the window slides over a context that does not fit.
      max_query_length: longer questions keep this many tokens.
      max_windows: maximum number of windows per question; 0 for no limit.

    Raises:
      UserError: see `WindowOptions`.
    """
    options = WindowOptions(
        max_seq_length=max_seq_length, doc_stride=doc_stride, max_query_length=max_query_length
    )
    # The options have the ranges of the lengths.
    options.check()
    options.check_room()
    # The original tokenizes word by word. Words end at white space, which the tokenizer never looks
    # across, so that the tokens of the whole text are the same.
    ids, context_sizes, offsets = tokenizer.encode_batch(data.contexts, offsets=True)
    row_starts = np.concatenate([[0], np.cumsum(context_sizes)])
    contexts = ContextTokens(ids, np.asarray(offsets), row_starts)
    question_texts = [question.text for question in data.questions]
    question_ids, question_lengths, _ = tokenizer.encode_batch(question_texts)
    question_starts = np.cumsum(question_lengths) - question_lengths
    query_lengths = np.minimum(question_lengths, max_query_length)
    context = np.array([question.context for question in data.questions])
    context_starts = contexts.row_starts[context]
    context_lengths = contexts.row_starts[context + 1] - context_starts
    room = max_seq_length - query_lengths - 3
    needed = _count_windows(context_lengths, room, doc_stride)
    if max_windows:
        counts = np.minimum(needed, max_windows)
    else:
        counts = needed

    # From here on there is one item per window; `owner` is its question.
    owner = np.repeat(np.arange(len(counts)), counts)
    first = ragged_range(np.zeros_like(counts), counts) * doc_stride
    num_tokens = np.minimum(room[owner], context_lengths[owner] - first)
    doc_token_start = query_lengths[owner] + 2
    row_lengths = doc_token_start + num_tokens + 1
    row_starts = np.cumsum(row_lengths) - row_lengths
    input_ids = np.full(row_lengths.sum(), tokenizer.vocabulary.sep_id, np.int32)
    input_ids[row_starts] = tokenizer.vocabulary.cls_id
    _copy_ranges(
        question_ids, question_starts[owner], input_ids, row_starts + 1, query_lengths[owner]
    )
    _copy_ranges(
        contexts.ids,
        context_starts[owner] + first,
        input_ids,
        row_starts + doc_token_start,
        num_tokens,
    )
    # Segment 0 is [CLS] question [SEP], segment 1 is the context and its [SEP].
    segment_ids = np.repeat(
        np.tile(np.array([0, 1], np.uint8), len(owner)),
        np.stack([doc_token_start, num_tokens + 1], axis=1).ravel(),
    )
    windows = Windows(
        input_ids=input_ids,
        segment_ids=segment_ids,
        row_lengths=row_lengths,
        question_index=owner.astype(np.int32),
        doc_token_start=doc_token_start.astype(np.int32),
        first_context_token=first.astype(np.int32),
        num_context_tokens=num_tokens.astype(np.int32),
        start_positions=None,
        end_positions=None,
        doc_stride=doc_stride,
        num_truncated_questions=int((question_lengths > max_query_length).sum()),
        num_unanswerable_questions=0,
        num_questions_without_window=int((counts == 0).sum()),
        num_cut_contexts=int((counts < needed).sum()),
    )
    if training:
        windows = _with_answers(windows, *find_answer_tokens(data, tokenizer, contexts))
    return contexts, windows


def _count_windows(context_lengths: np.ndarray, room: np.ndarray, doc_stride: int) -> np.ndarray:
    """Returns the number of windows that each question needs, int64 [Q]; 0 without context tokens.

    Args:
      context_lengths: int64 [Q], tokens of the question's context.
      room: int64 [Q], context tokens in a window of the question.
    """
    num_further = -(np.minimum(room - context_lengths, 0) // doc_stride)
    return np.where(context_lengths > 0, 1 + num_further, 0)


def _with_answers(
    windows: Windows, has_answer: np.ndarray, first: np.ndarray, last: np.ndarray
) -> Windows:
    """Returns the windows with the positions of the answers; for arguments see
    `find_answer_tokens`."""
    owner = windows.question_index
    begin = windows.first_context_token
    end = begin + windows.num_context_tokens
    contains = has_answer[owner] & (first[owner] >= begin) & (last[owner] < end)
    # From positions in the context to positions in the window.
    shift = windows.doc_token_start - begin
    return dataclasses.replace(
        windows,
        start_positions=np.where(contains, first[owner] + shift, 0).astype(np.int32),
        end_positions=np.where(contains, last[owner] + shift, 0).astype(np.int32),
        num_unanswerable_questions=int(has_answer.sum() - len(np.unique(owner[contains]))),
    )


def _copy_ranges(
    ids: np.ndarray,
    starts: np.ndarray,
    output: np.ndarray,
    output_starts: np.ndarray,
    lengths: np.ndarray,
) -> None:
    """Copies ranges of `ids` into `output`; all other arguments are int [ranges]."""
    # Slices are faster than index arrays of the size of the output.
    for start, output_start, length in zip(
        starts.tolist(), output_starts.tolist(), lengths.tolist(), strict=True
    ):
        output[output_start : output_start + length] = ids[start : start + length]


def find_answer_tokens(
    data: SquadData, tokenizer: Tokenizer, contexts: ContextTokens
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the first and the last token of each question's first answer.

    These are the first match of the answer's tokens among the tokens of the words that it touches,
    or without a match all tokens of these words.

    Args:
      data: its answers stand where they start, as `check_training` returns them.

    Returns:
      has_answer: bool [Q]; False if the question is impossible or has no answer.
      first, last: int64 [Q], numbers of tokens in the context, from 0, `last` included; -1 without
        an answer. If the words of the answer have no token, `last` is one less than `first`.
    """
    has_answer = np.array(
        [bool(question.answers) and not question.is_impossible for question in data.questions]
    )
    first = np.full(len(data.questions), -1, np.int64)
    last = first.copy()
    numbers = np.flatnonzero(has_answer).tolist()
    if not numbers:
        return has_answer, first, last
    answer_texts = [data.questions[number].answers[0].text for number in numbers]
    answer_ids, lengths, _ = tokenizer.encode_batch(answer_texts)
    # The end of the last answer is no place to split at.
    answer_tokens = np.split(answer_ids, np.cumsum(lengths)[:-1])

    # Questions about a context follow each other, so that one entry is enough.
    @functools.lru_cache(maxsize=1)
    def context_of(number: int) -> tuple[str, list[int], list[int]]:
        tokens = slice(*contexts.row_starts[number : number + 2])
        text = _WHITE_SPACE.sub(" ", data.contexts[number])
        return text, contexts.offsets[tokens, 0].tolist(), contexts.ids[tokens].tolist()

    for number, tokens in zip(numbers, answer_tokens, strict=True):
        question = data.questions[number]
        answer = question.answers[0]
        text, token_starts, ids = context_of(question.context)
        # From characters to words: text[begin:end] are all words that the answer touches. White
        # space belongs to the word before it. An answer that begins with the white space before
        # the first word begins with that word.
        begin = text[: answer.start + 1].rstrip(" ").rfind(" ") + 1
        end = text.find(" ", answer.start + len(answer.text) - 1)
        if end < 0:
            end = len(text)
        # From words to tokens.
        low = bisect_left(token_starts, begin)
        high = bisect_left(token_starts, end)
        position = _find_sublist(ids[low:high], tokens.tolist())
        if position is not None:
            low += position
            high = low + len(tokens)
        first[number] = low
        last[number] = high - 1
    return has_answer, first, last


def _find_sublist(ids: list[int], searched: list[int]) -> int | None:
    """Returns the first position of a sublist, or None; an empty one has no position."""
    if not searched:
        return None
    for position in range(len(ids) - len(searched) + 1):
        if ids[position : position + len(searched)] == searched:
            return position
    return None

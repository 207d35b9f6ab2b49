"""Questions and contexts → windows of at most S tokens that the model sees:
`convert_examples_to_features`.

    contexts, windows = make_windows(data, tokenizer, max_seq_length=384, doc_stride=128,
    max_query_length=64,
                                     training=True)

    # tokens:      [CLS] who was jim hen ##son ? [SEP] jim hen ##son was a pup ##pet ##eer [SEP]
    # segment ids:   0    0   0   0   0    0   0   0    1   1    1    1  1  1    1     1     1

A context that does not fit is read through a window that slides by `doc_stride` tokens. Each
context is tokenized once, as a whole, with the place of every token in it, so answers can be cut
out of the text (paper, section 4.2).

For training the tokens of the answers are found as the original does: from characters to words
(what its own white space delimits), from these to all their tokens, and then the tokens of the
answer's text are looked for among these (`_improve_answer_span`):

    # context: … John Smith (1895-1943).    answer: 1895
    # words:     John Smith (1895-1943).  → (1895-1943).  → ( 1895 - 1943 ) .  → 1895

Input: `squad.SquadData`. Output: `ContextTokens` and `Windows`, flat arrays, for batches;
`bert_tf/evaluation/squad_answers.py` makes answers of what the model says about the windows.

Letters: Q questions, W windows, T tokens.
"""

import dataclasses
import functools
import itertools
import re
from bisect import bisect_left

import numpy as np

from bert_common.errors import UserError
from bert_common.options import Options, option
from data_gen.labelled.squad import SquadData
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range

# The white space of `read_squad_examples` beside the blank; others, e.g. U+00A0, are inside words.
_WHITE_SPACE = re.compile("[\t\r\n\u202f]")
# Context tokens of windows looked at together, so that what is computed on the way stays small.
_TOKENS_AT_ONCE = 1 << 18


@dataclasses.dataclass(frozen=True)
class ContextTokens:
    """The tokens of all contexts, concatenated.

    Attributes:
      ids: int32 [T].
      offsets: int32 [T, 2]; the token is context[start:end] of its own context, in characters.
      row_starts: int64 [contexts + 1]; context c has the tokens row_starts[c] to row_starts[c + 1].
    """

    ids: np.ndarray
    offsets: np.ndarray
    row_starts: np.ndarray


@dataclasses.dataclass(frozen=True)
class Windows:
    """[CLS] question [SEP] part of its context [SEP], question by question; the tokens of all
    windows, concatenated.

    Attributes:
      input_ids: int32 [T].
      segment_ids: uint8 [T]; 1 from the first context token on.
      row_lengths: int64 [W], tokens of each window.
      question_index: int32 [W], into `SquadData.questions`.
      doc_token_start: int32 [W], position in the window of its first context token.
      first_context_token: int32 [W], the number of that token in its context.
      num_context_tokens: int32 [W].
      start_positions, end_positions: int32 [W], position in the window of the first and last token
        of the answer, 0 where the window does not hold it or there is none; None unless made for
        training. As in the original, an answer without a token of its own ends one position before
        it starts.
      doc_stride: tokens from the start of a window to that of the next one of the same question.
      num_truncated_questions: questions of more than `max_query_length` tokens, which lost the
        rest.
      num_unanswerable_questions: questions that have an answer which no window holds; 0 unless made
        for training.
      num_questions_without_window: questions whose context has no token.
      num_cut_contexts: questions whose context was not read to its end (`max_windows`).
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
        """Of the windows that hold a token, the one with the most context on both sides of it:
        `_check_is_max_context`.

        The score of a window is the smaller number of tokens to the left and to the right, plus
        0.01 x its length; the first of the best counts.

        Returns:
          bool [sum of `num_context_tokens`]: for every context token of every window whether this
            is its best window.
        """
        is_first = np.flatnonzero(np.diff(self.question_index, prepend=-1))
        ends = np.cumsum(self.num_context_tokens, dtype=np.int64)
        # All windows of a question are looked at together.
        borders = is_first[np.diff(ends[is_first] // _TOKENS_AT_ONCE, prepend=-1) != 0]
        found = [np.zeros(0, bool)]
        for begin, end in itertools.pairwise([*borders.tolist(), len(self)]):
            first, counts = self.first_context_token[begin:end], self.num_context_tokens[begin:end]
            lengths = np.repeat(counts, counts)
            left = ragged_range(np.zeros(len(counts), np.int64), counts)
            # In the precision and order of the original: scores of windows of different lengths may
            # tie but for the rounding.
            score = np.minimum(left, lengths - 1 - left) + 0.01 * lengths
            # The contexts of the questions, as far as they are read, laid end to end.
            is_last = np.diff(self.question_index[begin:end], append=-1) != 0
            sizes = (first + counts)[is_last].astype(np.int64)
            place = left + np.repeat(
                first + (np.cumsum(sizes) - sizes)[np.cumsum(is_last) - is_last], counts
            )
            best = np.zeros(sizes.sum())
            np.maximum.at(best, place, score)
            candidates = np.flatnonzero(score == best[place])[::-1]
            winner = np.empty(len(best), np.int64)
            winner[place[candidates]] = (
                candidates  # Of equal indices numpy keeps the last value: that of the first window.
            )
            found.append(winner[place] == np.arange(len(place)))
        return np.concatenate(found)


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowOptions(Options):
    """Windows over contexts; where one is not given, a trained model's own is used for
    predicting."""

    max_seq_length: int = option(
        384,
        "Most tokens of a window: [CLS] question [SEP] part of the context [SEP].",
        minimum=1,
        common=True,
    )
    doc_stride: int = option(
        128,
        "How many tokens the window slides over a context that does not fit into one.",
        minimum=1,
        common=True,
    )
    max_query_length: int = option(
        64, "Longer questions are truncated to so many tokens.", minimum=1
    )
    max_windows: int = option(
        0,
        "Most windows of a context: what comes after them is not read, which is reported. 0 for all.",
        minimum=0,
    )

    def check_room(self) -> None:
        """Raises `UserError` for no room for context beside the longest question, or text left out
        between windows."""
        # [CLS] and two [SEP].
        room = self.max_seq_length - self.max_query_length - 3
        if room < 1:
            raise UserError(
                f"--max_query_length={self.max_query_length} and three special tokens leave no room for context in "
                f"--max_seq_length={self.max_seq_length}: at most {max(self.max_seq_length - 4, 0)}"
            )
        if self.doc_stride > room:
            raise UserError(
                f"--doc_stride={self.doc_stride} is more than the {room} tokens of context in a window of "
                f"--max_seq_length={self.max_seq_length} with a question of --max_query_length={self.max_query_length}: "
                f"at most {room}"
            )

    def lengths(self) -> dict[str, int]:
        """Arguments of `make_windows`; logits belong to windows of these."""
        return {
            name: getattr(self, name)
            for name in ("max_seq_length", "doc_stride", "max_query_length", "max_windows")
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
    """Tokenizes contexts and questions and cuts the windows; all fields equal those of the
    original.

    Args:
      data: for training, that of `squad.check_training`: the first answer of a question counts, and
        none if the question is marked as impossible.
      doc_stride: how far the window slides over a context that does not fit.
      max_query_length: longer questions keep this many tokens.
      max_windows: of a question; 0 for as many as its context needs.

    Raises:
      UserError: see `WindowOptions`.
    """
    options = WindowOptions(
        max_seq_length=max_seq_length, doc_stride=doc_stride, max_query_length=max_query_length
    )
    options.check()
    options.check_room()
    # The original tokenizes word by word; the words' boundaries are white space for the tokenizer,
    # too, and it never looks beyond white space, so the tokens are the same.
    ids, context_sizes, offsets = tokenizer.encode_batch(data.contexts, offsets=True)
    contexts = ContextTokens(
        ids, np.asarray(offsets), np.concatenate([[0], np.cumsum(context_sizes)])
    )
    question_ids, question_lengths, _ = tokenizer.encode_batch(
        [question.text for question in data.questions]
    )
    question_starts = np.cumsum(question_lengths) - question_lengths
    kept = np.minimum(question_lengths, max_query_length)

    context = np.array([question.context for question in data.questions])
    context_starts = contexts.row_starts[context]
    context_lengths = contexts.row_starts[context + 1] - context_starts
    space = max_seq_length - kept - 3
    needed = np.where(
        context_lengths > 0, 1 - np.minimum(space - context_lengths, 0) // doc_stride, 0
    )
    counts = np.minimum(needed, max_windows) if max_windows else needed

    owner = np.repeat(np.arange(len(counts)), counts)
    first = ragged_range(np.zeros_like(counts), counts) * doc_stride
    num_tokens = np.minimum(space[owner], context_lengths[owner] - first)
    doc_token_start = kept[owner] + 2
    row_lengths = doc_token_start + num_tokens + 1

    row_starts = np.cumsum(row_lengths) - row_lengths
    input_ids = np.full(row_lengths.sum(), tokenizer.vocabulary.sep_id, np.int32)
    input_ids[row_starts] = tokenizer.vocabulary.cls_id
    for ids, targets, sources, lengths in (
        (question_ids, row_starts + 1, question_starts[owner], kept[owner]),
        (contexts.ids, row_starts + doc_token_start, context_starts[owner] + first, num_tokens),
    ):
        for target, source, length in zip(
            targets.tolist(), sources.tolist(), lengths.tolist(), strict=True
        ):
            input_ids[target : target + length] = ids[source : source + length]
    segment_ids = np.repeat(
        np.tile(np.array([0, 1], np.uint8), len(owner)),
        np.stack([doc_token_start, num_tokens + 1], axis=1).ravel(),
    )
    start_positions = end_positions = None
    num_unanswerable = 0
    if training:
        has_answer, starts, ends = find_answer_tokens(data, tokenizer, contexts)
        holds = has_answer[owner] & (starts[owner] >= first) & (ends[owner] < first + num_tokens)
        shift = doc_token_start - first
        start_positions = np.where(holds, starts[owner] + shift, 0).astype(np.int32)
        end_positions = np.where(holds, ends[owner] + shift, 0).astype(np.int32)
        num_unanswerable = int(has_answer.sum() - len(np.unique(owner[holds])))
    return contexts, Windows(
        input_ids=input_ids,
        segment_ids=segment_ids,
        row_lengths=row_lengths,
        question_index=owner.astype(np.int32),
        doc_token_start=doc_token_start.astype(np.int32),
        first_context_token=first.astype(np.int32),
        num_context_tokens=num_tokens.astype(np.int32),
        start_positions=start_positions,
        end_positions=end_positions,
        doc_stride=doc_stride,
        num_truncated_questions=int((question_lengths > max_query_length).sum()),
        num_unanswerable_questions=num_unanswerable,
        num_questions_without_window=int((counts == 0).sum()),
        num_cut_contexts=int((counts < needed).sum()),
    )


# -------------------------------------------------------------------------------- from an answer's
# characters to tokens


def find_answer_tokens(
    data: SquadData, tokenizer: Tokenizer, contexts: ContextTokens
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first and last token of each question's first answer.

    Returns:
      has_answer: bool [Q]; not if it is marked as impossible or has no answer.
      first, last: int64 [Q], numbers of tokens in the context, -1 where there is no answer. Where
        the words of the answer have no token, `last` is one less than `first`.
    """
    has_answer = np.array(
        [bool(question.answers) and not question.is_impossible for question in data.questions]
    )
    first, last = np.full((2, len(data.questions)), -1, np.int64)
    questions = [data.questions[number] for number in np.flatnonzero(has_answer)]
    if not questions:
        return has_answer, first, last
    answer_ids, lengths, _ = tokenizer.encode_batch(
        [question.answers[0].text for question in questions]
    )
    answers, answer_ends = answer_ids.tolist(), np.cumsum(lengths)
    # Text, beginnings and ids of the tokens of a context: the questions about one follow each
    # other.
    of_context = functools.lru_cache(maxsize=1)(
        lambda number: (
            _WHITE_SPACE.sub(" ", data.contexts[number]),
            *(
                values[slice(*contexts.row_starts[number : number + 2])].tolist()
                for values in (contexts.offsets[:, 0], contexts.ids)
            ),
        )
    )
    for number, question, *piece in zip(
        np.flatnonzero(has_answer).tolist(),
        questions,
        (answer_ends - lengths).tolist(),
        answer_ends.tolist(),
        strict=True,
    ):
        text, starts, ids = of_context(question.context)
        start, stop = (
            question.answers[0].start,
            question.answers[0].start + len(question.answers[0].text),
        )
        # White space belongs to the word before it. Before the first word there is none; the answer
        # can only begin with it.
        begin = text[: start + 1].rstrip(" ").rfind(" ") + 1
        end = text.find(" ", stop - 1)
        low, high = bisect_left(starts, begin), bisect_left(starts, end if end >= 0 else len(text))
        # The first place where the answer's tokens stand, if any: of equal tokens only one length
        # can be right.
        wanted, there = answers[slice(*piece)], ids[low:high]
        place = next(
            (
                place
                for place in range(len(there) - len(wanted) + 1)
                if wanted and there[place : place + len(wanted)] == wanted
            ),
            None,
        )
        if place is not None:
            low, high = low + place, low + place + len(wanted)
        first[number], last[number] = low, high - 1
    return has_answer, first, last

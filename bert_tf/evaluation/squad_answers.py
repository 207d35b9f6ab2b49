"""From the logits of windows to the n best answers of each question: `write_predictions` of the
original.

    results = find_answers(data, contexts, windows, start_logits, end_logits, AnswerOptions())
    results[0].choose().text

The score of the span from token i to token j ≥ i is S·T_i + E·T_j; "no answer" has the score of
[CLS] (paper, sections 4.2 and 4.3). An answer is the part of the context from the first
character of token i to the last of token j, never put together again from tokens. docs/squad.md
lists the differences to the original's text.

Input: the windows of `data_gen/labeled/squad_features.py` and the model's logits for them. Output:
`QuestionAnswers`, for `squad_scores.py` and `bert_tf/tasks/question_answering/`.

Letters: Q questions, W windows, T tokens of all windows, S tokens of the longest window at hand, K
positions tried as the start and as the end of an answer, C candidate answers.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from bert_common.options import Options, option, option_class
from data_gen.labeled.squad import SquadData
from data_gen.labeled.squad_features import ContextTokens, Windows
from data_gen.ragged import bounds_of

# Number of windows that are handled together, in arrays of some 10 MB.
_WINDOWS_AT_ONCE = 1024
# The original's answer if no span can be one, and version 1.1 expects an answer.
_NO_SPAN = "empty"


@option_class
class AnswerOptions(Options):
    """Choice of answers; by default as a trained model was tuned."""

    n_best_size: int = option(
        20,
        "Number of answers that are kept for a question, and of starts and ends that are tried in "
        "each window.",
        minimum=1,
    )
    max_answer_length: int = option(30, "Maximum number of tokens of an answer.", minimum=1)
    version_2_with_negative: bool = option(
        False, "Questions may have no answer, as in SQuAD v2.0.", common=True
    )
    null_score_diff_threshold: float = option(
        0.0,
        "Threshold for no answer: its score minus that of the best answer must be above this. By "
        "default it is tuned on a --predict_file with answers, and kept.",
    )


class Candidate(NamedTuple):
    """A possible answer.

    Attributes:
      text: context[start:end]; "" for "no answer"; "empty" in version 1.1 if no span can be an
        answer.
      start, end: characters of the context; None if the text is no part of it.
      probability: softmax of the scores of the question's n best candidates.
      start_logit, end_logit: of the first and the last token; their sum is the score.
    """

    text: str
    start: int | None
    end: int | None
    probability: float
    start_logit: float
    end_logit: float


@dataclasses.dataclass(frozen=True)
class QuestionAnswers:
    """Answers to a question.

    Attributes:
      nbest: at least one candidate, the best first, of different texts. With
        `version_2_with_negative` "no answer" is always among them, after `n_best_size` others if
        need be.
      null_odds: score of "no answer" - score of the best span; without a span as if its score were
        0. None without `version_2_with_negative`.
    """

    id: str
    nbest: list[Candidate]
    null_odds: float | None

    @property
    def best_span(self) -> Candidate | None:
        """Best candidate that is a part of the context; None if no span can be an answer."""
        for candidate in self.nbest:
            if candidate.start is not None:
                return candidate
        return None

    def choose(self, null_score_diff_threshold: float = 0.0) -> Candidate:
        """Returns the answer: the best span, unless `null_odds` is above the threshold; the best
        candidate in version 1.1."""
        if self.null_odds is None:
            return self.nbest[0]
        span = self.best_span
        if span is not None and self.null_odds <= null_score_diff_threshold:
            return span
        # "No answer" is the only candidate that is no part of the context.
        return min(self.nbest, key=lambda candidate: candidate.start is not None)


class _Spans(NamedTuple):
    """Candidates of windows, arrays [C].

    Attributes:
      window: row of the logits.
      first, last: context tokens of the window, from 0.
      start_logit, end_logit: float64.
    """

    window: np.ndarray
    first: np.ndarray
    last: np.ndarray
    start_logit: np.ndarray
    end_logit: np.ndarray


class _Candidates(NamedTuple):
    """Candidates of questions, arrays [C].

    Attributes:
      question: number of the question.
      start, end: characters of the context; -1 for "no answer".
      start_logit, end_logit: float64.
    """

    question: np.ndarray
    start: np.ndarray
    end: np.ndarray
    start_logit: np.ndarray
    end_logit: np.ndarray


def find_answers(
    data: SquadData,
    contexts: ContextTokens,
    windows: Windows,
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    options: AnswerOptions,
) -> list[QuestionAnswers]:
    """Returns the n best answers of every question, in the order of the questions.

    In each window the `n_best_size` most probable starts and ends (the first of equals) are paired.
    Both must be tokens of the context, the start in the window where it has the most context, the
    end not before it, the length at most `max_answer_length`. Of the pairs of all windows, best
    first and otherwise in the order of windows and ranks, the first `n_best_size` of different text
    remain. The null score is the smallest of all windows.

    Args:
      contexts, windows: of `make_windows` for `data`. `windows.row_lengths` are the numbers of
        logits; other fields of that shape are ignored.
      start_logits, end_logits: float32 [T], the logits of all windows, concatenated.

    Raises:
      ValueError: the logits are not as many as the windows' tokens.
      UserError: a logit is not a finite number.
    """
    expected = (int(windows.row_lengths.sum()),)
    if start_logits.shape != expected or end_logits.shape != expected:
        raise ValueError(
            f"logits of shape {start_logits.shape} and {end_logits.shape}, expected {expected}"
        )
    if not (np.isfinite(start_logits).all() and np.isfinite(end_logits).all()):
        raise UserError(
            "the model's outputs are not all finite numbers: its weights are damaged, or its "
            "training diverged; take another checkpoint"
        )
    num_questions = len(data.questions)
    # Windows of question q: window_bounds[q] to window_bounds[q + 1]; likewise tokens of windows.
    window_bounds = np.searchsorted(windows.question_index, np.arange(num_questions + 1))
    token_bounds = bounds_of(windows.row_lengths)
    context_bounds = bounds_of(windows.num_context_tokens)
    max_context = windows.max_context()
    question_contexts = np.array([question.context for question in data.questions])
    results: list[QuestionAnswers] = []
    while len(results) < num_questions:
        # Take the questions that have about `_WINDOWS_AT_ONCE` windows, at least one of them.
        first = len(results)
        limit = window_bounds[first] + _WINDOWS_AT_ONCE
        last = max(first + 1, int(np.searchsorted(window_bounds, limit, side="right")) - 1)
        rows = slice(window_bounds[first], window_bounds[last])
        tokens = slice(token_bounds[rows.start], token_bounds[rows.stop])
        context_tokens = slice(context_bounds[rows.start], context_bounds[rows.stop])
        spans = _find_spans(
            _pad(start_logits[tokens], windows.row_lengths[rows]),
            _pad(end_logits[tokens], windows.row_lengths[rows]),
            windows.doc_token_start[rows],
            windows.num_context_tokens[rows],
            max_context[context_tokens],
            options,
        )
        question = windows.question_index[rows][spans.window]
        token = contexts.row_starts[question_contexts[question]]
        token += windows.first_context_token[rows][spans.window]
        first_offsets = contexts.offsets[token + spans.first]
        last_offsets = contexts.offsets[token + spans.last]
        # Minimum and maximum, as two tokens of one letter's marks may be in NFD's order, not the
        # text's.
        candidates = _Candidates(
            question,
            np.minimum(first_offsets[:, 0], last_offsets[:, 0]),
            np.maximum(first_offsets[:, 1], last_offsets[:, 1]),
            spans.start_logit,
            spans.end_logit,
        )
        if options.version_2_with_negative:
            cls = token_bounds[rows]
            nulls = _null_candidates(
                np.arange(first, last),
                windows.question_index[rows],
                start_logits[cls].astype(np.float64),
                end_logits[cls].astype(np.float64),
            )
            pairs = zip(candidates, nulls, strict=True)
            candidates = _Candidates(*(np.concatenate(pair) for pair in pairs))
        # Best first, equals in their order.
        scores = candidates.start_logit + candidates.end_logit
        order = np.lexsort((-scores, candidates.question))
        ends = np.searchsorted(candidates.question[order], np.arange(first, last + 1)).tolist()
        columns = [column[order].tolist() for column in candidates[1:]]
        for index in range(first, last):
            begin, end = ends[index - first : index - first + 2]
            candidate_rows = zip(*(column[begin:end] for column in columns), strict=True)
            entry = data.questions[index]
            context = data.contexts[entry.context]
            results.append(_choose_nbest(entry.id, context, candidate_rows, options))
    return results


def best_spans(results: Sequence[QuestionAnswers]) -> dict[str, str]:
    """Returns id → the best answer that is a part of the context; "" for none."""
    spans = {}
    for result in results:
        span = result.best_span
        spans[result.id] = "" if span is None else span.text
    return spans


def collect_null_odds(results: Sequence[QuestionAnswers]) -> dict[str, float] | None:
    """Returns id → null odds; None in version 1.1."""
    odds = {}
    for result in results:
        if result.null_odds is not None:
            odds[result.id] = result.null_odds
    return odds if odds else None


def _pad(logits: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the logits of rows as [W, S], padded with a value worse than any logit."""
    padded = np.full((len(lengths), lengths.max(initial=1)), -np.inf, np.float32)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = logits
    return padded


def _null_candidates(
    questions: np.ndarray, owners: np.ndarray, start_logits: np.ndarray, end_logits: np.ndarray
) -> _Candidates:
    """Returns "no answer" for each question: the [CLS] of the window with the lowest score, 0 + 0
    without any window.

    Args:
      questions: consecutive numbers of the questions.
      owners: number of the question of each window [W], ascending.
      start_logits, end_logits: of [CLS], float64 [W].
    """
    order = np.lexsort((start_logits + end_logits, owners))
    # After sorting, the first window of each question is the one with the lowest score.
    present, firsts = np.unique(owners, return_index=True)
    lowest = order[firsts]
    logits = np.zeros((2, len(questions)))
    logits[0, present - questions[0]] = start_logits[lowest]
    logits[1, present - questions[0]] = end_logits[lowest]
    nowhere = np.full(len(questions), -1)
    return _Candidates(questions, nowhere, nowhere, logits[0], logits[1])


def _find_spans(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    doc_token_start: np.ndarray,
    num_tokens: np.ndarray,
    max_context: np.ndarray,
    options: AnswerOptions,
) -> _Spans:
    """Returns the candidates of windows, in their order, then by the rank of the start, then by
    the rank of the end.

    Logits are float32 [W, S]; the context tokens begin at `doc_token_start`, `num_tokens` of them,
    [W] each; an answer may begin where `max_context`, bool [sum of `num_tokens`], is true.
    """
    starts = _best_positions(start_logits, options.n_best_size)  # [W, K]
    ends = _best_positions(end_logits, options.n_best_size)
    first = starts - doc_token_start[:, None]
    last = ends - doc_token_start[:, None]
    limit = num_tokens[:, None]
    may_end = (last >= 0) & (last < limit)
    may_start = (first >= 0) & (first < limit)
    position = bounds_of(num_tokens)[:-1, None] + first
    # Positions outside of the context would belong to other windows.
    may_start[may_start] = max_context[position[may_start]]
    # All pairs of a start and an end of a window.
    length = last[:, None, :] - first[:, :, None] + 1  # [W, K, K]
    allowed = may_start[:, :, None] & may_end[:, None, :]
    allowed &= (length >= 1) & (length <= options.max_answer_length)
    window, i, j = np.nonzero(allowed)
    return _Spans(
        window=window,
        first=first[window, i],
        last=last[window, j],
        start_logit=start_logits[window, starts[window, i]].astype(np.float64),
        end_logit=end_logits[window, ends[window, j]].astype(np.float64),
    )


def _best_positions(logits: np.ndarray, count: int) -> np.ndarray:
    """Returns the positions of the `count` largest logits of each row, largest first, the first of
    equals first; int64 [W, K]."""
    # A key holds the bits of a float, turned so that unsigned integers are in the falling order of
    # the floats, and the position below them. No two keys are equal, so a partition is enough for a
    # stable order. Adding 0 makes -0 equal to 0.
    bits = (logits + np.float32(0)).view(np.uint32)
    falling = np.where(bits >> 31, bits, ~(bits | np.uint32(1 << 31)))
    positions = np.arange(logits.shape[1], dtype=np.uint64)
    keys = (falling.astype(np.uint64) << np.uint64(32)) | positions
    count = min(count, logits.shape[1])
    best = np.partition(keys, count - 1, axis=1)[:, :count]
    return (np.sort(best, axis=1) & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _choose_nbest(
    id: str, context: str, rows: Iterable[tuple[int, int, float, float]], options: AnswerOptions
) -> QuestionAnswers:
    """Returns the best of the candidates, of different texts, with their probabilities.

    Args:
      rows: (start, end, start logit, end logit), sorted.
    """
    best = _best_of_each_text(context, rows, options)
    scores = [start_logit + end_logit for _, _, start_logit, end_logit in best.values()]
    highest = max(scores)
    # Exponents are at most 0, so that none overflows.
    weights = [math.exp(score - highest) for score in scores]
    total = sum(weights)
    nbest = []
    for (text, row), weight in zip(best.items(), weights, strict=True):
        start, end, start_logit, end_logit = row
        borders: tuple[int | None, int | None] = (None, None) if start < 0 else (start, end)
        nbest.append(Candidate(text, *borders, weight / total, start_logit, end_logit))
    result = QuestionAnswers(id, nbest, None)
    if not options.version_2_with_negative:
        return result
    _, _, null_start, null_end = best[""]
    odds = null_start + null_end
    span = result.best_span
    if span is not None:
        # Subtracted one by one, as the original does: the rounding counts if scores tie.
        odds = odds - span.start_logit - span.end_logit
    return dataclasses.replace(result, null_odds=odds)


def _best_of_each_text(
    context: str, rows: Iterable[tuple[int, int, float, float]], options: AnswerOptions
) -> dict[str, tuple[int, int, float, float]]:
    """Returns text → row of the `n_best_size` best candidates of different texts; in version 2
    "no answer" is always among them."""
    best: dict[str, tuple[int, int, float, float]] = {}
    null = None
    for row in rows:
        start, end, *_ = row
        if start < 0:
            null = row
        if len(best) < options.n_best_size:
            best.setdefault(context[start:end] if start >= 0 else "", row)
        elif not options.version_2_with_negative or null:
            break
    if null:
        # "No answer" may come after the n best. The best span never does: with a single place it
        # is not below [CLS] in its window.
        best.setdefault("", null)
    if not best:
        best[_NO_SPAN] = (-1, -1, 0.0, 0.0)
    return best

"""From the logits of windows to the n best answers of each question: `write_predictions` of the
original.

    results = find_answers(data, contexts, windows, start_logits, end_logits, AnswerOptions())
    results[0].choose().text

The score of the span from token i to token j ≥ i is S·T_i + E·T_j; that of "no answer" is the score
of [CLS] (paper, sections 4.2 and 4.3). An answer is what stands in the context from the first
character of token i to the last of token j, never put together again from tokens. docs/squad.md
lists where this differs from the original's text.

Input: the windows of `data_gen/labelled/squad_features.py` and the model's logits for them. Output:
`QuestionAnswers`, for `squad_scores.py` and `squad_files.py`.

Letters: Q questions, W windows, T tokens of all windows, S tokens of the longest window at hand, K
positions tried as the start and as the end of an answer, C candidate answers.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bert_common.errors import UserError
from bert_common.options import Options, option
from data_gen.labelled.squad import SquadData
from data_gen.labelled.squad_features import ContextTokens, Windows

# Windows looked at together: what is computed on the way then takes some 10 MB.
_WINDOWS_AT_ONCE = 1024
# The answer where no span can be one and version 1.1 expects an answer, as in the original.
_NO_SPAN = "empty"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerOptions(Options):
    """Choice of answers; where one is not given, a trained model's own is used for predicting."""

    n_best_size: int = option(
        20,
        "How many answers of a question are kept, and how many starts and ends of each window are considered.",
        minimum=1,
    )
    max_answer_length: int = option(30, "Most tokens of an answer.", minimum=1)
    version_2_with_negative: bool = option(
        False, "There may be no answer, as in SQuAD v2.0.", common=True
    )
    null_score_diff_threshold: float = option(
        0.0,
        "There is no answer if its score minus that of the best answer is above this. Where it is not given, it is "
        "tuned on a --predict_file with answers, and kept.",
    )


class Candidate(NamedTuple):
    """A possible answer.

    Attributes:
      text: context[start:end]; "" for "no answer"; "empty" in version 1.1 where no span can be an
        answer.
      start, end: characters of the context; None where the text is no part of it.
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
      null_odds: score of "no answer" - score of the best span; where there is no span, as if its
        score were 0. None without `version_2_with_negative`.
    """

    id: str
    nbest: list[Candidate]
    null_odds: float | None

    @property
    def best_span(self) -> Candidate | None:
        """The best candidate that is a part of the context; None if no span can be an answer."""
        return next((candidate for candidate in self.nbest if candidate.start is not None), None)

    def choose(self, null_score_diff_threshold: float = 0.0) -> Candidate:
        """The answer: the best span, unless `null_odds` is above the threshold; the best candidate
        in version 1.1."""
        if self.null_odds is None:
            return self.nbest[0]
        span = self.best_span
        if span is not None and self.null_odds <= null_score_diff_threshold:
            return span
        return next(candidate for candidate in self.nbest if candidate.start is None)


class _Candidates(NamedTuple):
    """Arrays [C]: question, characters of the context (-1 for "no answer"), logits as float64."""

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
    """The n best answers of every question, in the order of the questions.

    In each window the `n_best_size` most probable starts and ends (the first of equals) are paired.
    Both must be tokens of the context, the start in the window where it has the most context, the
    end not before it, the length at most `max_answer_length`. Of the pairs of all windows, best
    first and otherwise in the order of windows and ranks, the first `n_best_size` of different text
    remain. The null score is the smallest of all windows.

    Args:
      contexts, windows: of `make_windows` for `data`. `windows.row_lengths` are those of the
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
            "the model's outputs are not all finite numbers: its weights are damaged, or its training "
            "diverged; take another checkpoint"
        )
    bounds = np.searchsorted(windows.question_index, np.arange(len(data.questions) + 1))
    row_starts = np.concatenate([[0], np.cumsum(windows.row_lengths)])
    max_context = windows.max_context()
    context_starts = np.concatenate([[0], np.cumsum(windows.num_context_tokens, dtype=np.int64)])
    question_contexts = np.array([question.context for question in data.questions])
    results: list[QuestionAnswers] = []
    while len(results) < len(data.questions):
        # The questions that have about `_WINDOWS_AT_ONCE` windows.
        first = len(results)
        last = max(
            first + 1,
            int(np.searchsorted(bounds, bounds[first] + _WINDOWS_AT_ONCE, side="right")) - 1,
        )
        rows = slice(bounds[first], bounds[last])
        flat = slice(row_starts[rows.start], row_starts[rows.stop])
        lengths = windows.row_lengths[rows]
        # [W, S], with what is worse than any logit after the windows' ends.
        padded = np.full((2, len(lengths), lengths.max(initial=1)), -np.inf, np.float32)
        padded[:, np.arange(padded.shape[2]) < lengths[:, None]] = (
            start_logits[flat],
            end_logits[flat],
        )
        window, first_token, last_token, *logits = _find_spans(
            *padded,
            windows.doc_token_start[rows],
            windows.num_context_tokens[rows],
            max_context[context_starts[rows.start] : context_starts[rows.stop]],
            options,
        )
        question = windows.question_index[rows][window]
        token = (
            contexts.row_starts[question_contexts[question]]
            + windows.first_context_token[rows][window]
        )
        offsets = contexts.offsets[token + first_token], contexts.offsets[token + last_token]
        # Not simply the start of the first: two tokens of one letter's marks may stand in NFD's
        # order, not the text's.
        found = _Candidates(
            question,
            np.minimum(offsets[0][:, 0], offsets[1][:, 0]),
            np.maximum(offsets[0][:, 1], offsets[1][:, 1]),
            *logits,
        )
        if options.version_2_with_negative:
            # "No answer" for each question: the [CLS] of the window where it scores least, 0 + 0
            # without any window.
            null_logits = [
                logits[row_starts[rows]].astype(np.float64) for logits in (start_logits, end_logits)
            ]
            owners, has_window = (
                windows.question_index[rows] - first,
                np.diff(bounds[first : last + 1]) > 0,
            )
            least = np.lexsort((sum(null_logits), owners))[
                (bounds[first:last] - rows.start)[has_window]
            ]
            nulls = np.zeros((2, last - first))
            nulls[:, has_window] = [logits[least] for logits in null_logits]
            nowhere = np.full(last - first, -1)
            null = _Candidates(np.arange(first, last), nowhere, nowhere, *nulls)
            found = _Candidates(*map(np.concatenate, zip(found, null, strict=True)))
        # Best first, equals in their order.
        order = np.lexsort((-(found.start_logit + found.end_logit), found.question))
        ends = np.searchsorted(found.question[order], np.arange(first, last + 1)).tolist()
        columns = [column[order].tolist() for column in found[1:]]
        for answered, begin, end in zip(
            data.questions[first:last], ends[:-1], ends[1:], strict=True
        ):
            candidates = zip(*(column[begin:end] for column in columns), strict=True)
            results.append(
                _choose_nbest(answered.id, data.contexts[answered.context], candidates, options)
            )
    return results


def best_spans(results: Sequence[QuestionAnswers]) -> dict[str, str]:
    """id → the best answer that is a part of the context; "" where there is none."""
    return {result.id: result.best_span.text if result.best_span else "" for result in results}


def collect_null_odds(results: Sequence[QuestionAnswers]) -> dict[str, float] | None:
    """id → null odds; None in version 1.1."""
    return {
        result.id: result.null_odds for result in results if result.null_odds is not None
    } or None


def _find_spans(
    start_logits: np.ndarray,
    end_logits: np.ndarray,
    doc_token_start: np.ndarray,
    num_tokens: np.ndarray,
    max_context: np.ndarray,
    options: AnswerOptions,
) -> tuple[np.ndarray, ...]:
    """The candidates of windows, in their order, then by the rank of the start, then by that of the
    end.

    Logits are float32 [W, S]; the context tokens begin at `doc_token_start`, `num_tokens` of them,
    [W] each; an answer may begin where `max_context`, bool [sum of `num_tokens`], is true.

    Returns:
      arrays [C]: row, first and last token (0 is the first context token of the window), logits as
        float64.
    """
    starts = _best_positions(start_logits, options.n_best_size)  # [W, K]
    ends = _best_positions(end_logits, options.n_best_size)
    first = starts - doc_token_start[:, None]
    last = ends - doc_token_start[:, None]
    limit = num_tokens[:, None]
    may_end = (last >= 0) & (last < limit)
    may_start = (first >= 0) & (first < limit)
    place = (np.cumsum(num_tokens, dtype=np.int64) - num_tokens)[:, None] + first
    may_start[may_start] = max_context[place[may_start]]
    length = last[:, None, :] - first[:, :, None] + 1  # [W, K, K]
    allowed = (
        may_start[:, :, None]
        & may_end[:, None, :]
        & (length >= 1)
        & (length <= options.max_answer_length)
    )
    window, i, j = np.nonzero(allowed)
    return (
        window,
        first[window, i],
        last[window, j],
        start_logits[window, starts[window, i]].astype(np.float64),
        end_logits[window, ends[window, j]].astype(np.float64),
    )


def _best_positions(logits: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` largest logits of each row, largest first, the first of equals
    first; int64 [W, K]."""
    # The bits of a float, turned so that unsigned integers are in the falling order of the floats,
    # and the position below them: no two keys are equal, so that a partition does for a stable
    # sort. Adding 0 makes -0 equal to 0.
    bits = (logits + np.float32(0)).view(np.uint32)
    falling = np.where(bits >> 31, bits, ~(bits | np.uint32(1 << 31)))
    keys = (falling.astype(np.uint64) << np.uint64(32)) | np.arange(
        logits.shape[1], dtype=np.uint64
    )
    if count < logits.shape[1]:
        keys = np.partition(keys, count - 1, axis=1)[:, :count]
    return (np.sort(keys, axis=1) & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _choose_nbest(
    id: str, context: str, rows: Iterable[tuple[int, int, float, float]], options: AnswerOptions
) -> QuestionAnswers:
    """The best of the candidates, of different texts, with their probabilities.

    Args:
      rows: (start, end, start logit, end logit), sorted.
    """
    chosen: dict[str, tuple[int, int, float, float]] = {}
    null = None
    for row in rows:
        start, end, *_ = row
        if start < 0:
            null = row
        if len(chosen) < options.n_best_size:
            chosen.setdefault(context[start:end] if start >= 0 else "", row)
        elif not options.version_2_with_negative or null:
            break
    if null:
        # It may come too late. The best span never does: with a single place, it is not below [CLS]
        # in its window.
        chosen.setdefault("", null)
    if not chosen:
        chosen[_NO_SPAN] = (-1, -1, 0.0, 0.0)
    scores = [start_logit + end_logit for _, _, start_logit, end_logit in chosen.values()]
    highest = max(scores)
    weights = [math.exp(score - highest) for score in scores]
    total = sum(weights)
    nbest = [
        Candidate(
            text,
            start if start >= 0 else None,
            end if start >= 0 else None,
            weight / total,
            start_logit,
            end_logit,
        )
        for (text, (start, end, start_logit, end_logit)), weight in zip(
            chosen.items(), weights, strict=True
        )
    ]
    found = QuestionAnswers(id, nbest, None)
    if not options.version_2_with_negative:
        return found
    _, _, null_start, null_end = chosen[""]
    span = found.best_span
    odds = null_start + null_end
    # Subtracted one by one, as the original does: the rounding counts where scores tie.
    return dataclasses.replace(
        found, null_odds=odds if span is None else odds - span.start_logit - span.end_logit
    )

"""Questions and contexts → windows of at most S tokens that the network sees: `convert_examples_to_features`.

    contexts, windows = make_windows(data, tokenizer, max_seq_length=384, doc_stride=128, max_query_length=64,
                                     training=True)

    # tokens:      [CLS] who was jim hen ##son ? [SEP] jim hen ##son was a pup ##pet ##eer [SEP]
    # segment ids:   0    0   0   0   0    0   0   0    1   1    1    1  1  1    1     1     1

A context that does not fit is read through a window that slides by `doc_stride` tokens. Each context is tokenized
once, as a whole, with the place of every token in it, so answers can be cut out of the text (paper, section 4.2).

Before this: `data_gen/labelled/squad.py`, for training also `data_gen/labelled/squad_check.py`. After it: batches for the network;
`evaluation/squad_answers.py` makes answers of what the network says about the windows.

Letters: Q questions, W windows, T tokens.
"""

import dataclasses

import numpy as np

from common.errors import UserError
from common.options import Options, option
from data_gen.labelled.squad import SquadData
from data_gen.labelled.squad_spans import find_answer_tokens
from data_gen.tokenization.tokenizer import Tokenizer

# Context tokens of windows looked at together, so that what is computed on the way stays small.
_TOKENS_AT_ONCE = 1 << 18


@dataclasses.dataclass(frozen=True)
class ContextTokens:
  """The tokens of all contexts, one context behind the other.

  Attributes:
    ids: int32 [T].
    spans: int32 [T, 2]; the token is context[start:end] of its own context, in characters.
    row_starts: int64 [contexts + 1]; context c has the tokens row_starts[c] to row_starts[c + 1].
  """

  ids: np.ndarray
  spans: np.ndarray
  row_starts: np.ndarray


@dataclasses.dataclass(frozen=True)
class Windows:
  """[CLS] question [SEP] piece of its context [SEP], question by question, all windows' tokens one behind the other.

  Attributes:
    input_ids: int32 [T].
    segment_ids: uint8 [T]; 1 from the first context token on.
    row_lengths: int64 [W], tokens of each window.
    question_index: int32 [W], into `SquadData.questions`.
    doc_token_start: int32 [W], position in the window of its first context token.
    first_context_token: int32 [W], the number of that token in its context.
    num_context_tokens: int32 [W].
    start_positions, end_positions: int32 [W], position in the window of the first and last token of the answer, 0
      where the window does not hold it or there is none; None unless made for training. As in the original, an
      answer without a token of its own ends one position before it starts.
    doc_stride: tokens from the start of a window to that of the next one of the same question.
    num_truncated_questions: questions of more than `max_query_length` tokens, which lost the rest.
    num_unanswerable_questions: questions that have an answer which no window holds; 0 unless made for training.
    num_questions_without_window: questions whose context has no token.
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

  def __len__(self) -> int:
    return len(self.row_lengths)

  def max_context(self) -> np.ndarray:
    """Of the windows that hold a token, the one with the most context on both sides of it: `_check_is_max_context`.

    Returns:
      bool [sum of `num_context_tokens`]: for every context token of every window whether this is its best window.
    """
    is_first = np.diff(self.question_index, prepend=-1) != 0
    number = np.cumsum(is_first) - 1
    first_window = np.flatnonzero(is_first)
    # Of the question that each window belongs to.
    last_window = (np.append(first_window[1:], len(self)) - 1)[number]
    first_window = first_window[number]
    best = np.empty(self.num_context_tokens.sum(), bool)
    ends = np.cumsum(self.num_context_tokens, dtype=np.int64)
    start = 0
    while start < len(self):
      before = ends[start - 1] if start else 0
      end = max(start + 1, int(np.searchsorted(ends, before + _TOKENS_AT_ONCE)))
      part = slice(start, end)
      best[before:ends[end - 1]] = _is_best_window(
        np.arange(start, end) - first_window[part], last_window[part] - first_window[part], self.doc_stride,
        self.num_context_tokens[first_window[part]], self.num_context_tokens[last_window[part]],
        self.num_context_tokens[part])
      start = end
    return best


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowOptions(Options):
  """Windows over contexts; where one is not given, a trained model's own is used for predicting."""

  max_seq_length: int = option(
      384, "Most tokens of a window: [CLS] question [SEP] part of the context [SEP].", minimum=1)
  doc_stride: int = option(
      128, "How many tokens the window slides over a context that does not fit into one.", minimum=1)
  max_query_length: int = option(64, "Longer questions are truncated to so many tokens.", minimum=1)

  def check_room(self) -> None:
    """Raises `UserError` for no room for context beside the longest question, or text left out between windows."""
    # [CLS] and two [SEP].
    room = self.max_seq_length - self.max_query_length - 3
    if room < 1:
      raise UserError(
          f"--max_query_length={self.max_query_length} and three special tokens leave no room for context in "
          f"--max_seq_length={self.max_seq_length}: at most {max(self.max_seq_length - 4, 0)}")
    if self.doc_stride > room:
      raise UserError(
          f"--doc_stride={self.doc_stride} is more than the {room} tokens of context in a window of "
          f"--max_seq_length={self.max_seq_length} with a question of --max_query_length={self.max_query_length}: "
          f"at most {room}")

  def lengths(self) -> dict[str, int]:
    """What `make_windows` takes; logits belong to windows of these."""
    return {name: getattr(self, name) for name in ("max_seq_length", "doc_stride", "max_query_length")}


def make_windows(data: SquadData, tokenizer: Tokenizer, *, max_seq_length: int, doc_stride: int, max_query_length: int,
                 training: bool) -> tuple[ContextTokens, Windows]:
  """Tokenizes contexts and questions and cuts the windows; all fields equal those of the original.

  Args:
    data: for training, that of `data_gen.squad_check.check_training`: the first answer of a question counts, and
      none if the question is marked as impossible.
    tokenizer: of the vocabulary of the network.
    max_seq_length: S, most tokens of a window.
    doc_stride: how far the window slides over a context that does not fit.
    max_query_length: longer questions keep this many tokens.
    training: also find the answers' tokens.

  Raises:
    UserError: see `WindowOptions`.
  """
  lengths = WindowOptions(max_seq_length=max_seq_length, doc_stride=doc_stride, max_query_length=max_query_length)
  lengths.check()
  lengths.check_room()
  contexts = _tokenize_contexts(data.contexts, tokenizer)
  question_ids, question_lengths, _ = tokenizer.encode_batch([question.text for question in data.questions])
  question_starts = np.cumsum(question_lengths) - question_lengths
  kept = np.minimum(question_lengths, max_query_length)

  context = np.array([question.context for question in data.questions])
  context_starts = contexts.row_starts[context]
  context_lengths = contexts.row_starts[context + 1] - context_starts
  room = max_seq_length - kept - 3
  counts = np.where(context_lengths > 0, 1 - np.minimum(room - context_lengths, 0) // doc_stride, 0)

  owner = np.repeat(np.arange(len(counts)), counts)
  first = (np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)) * doc_stride
  num_tokens = np.minimum(room[owner], context_lengths[owner] - first)
  doc_token_start = kept[owner] + 2
  row_lengths = doc_token_start + num_tokens + 1

  input_ids = _fill(question_ids, question_starts[owner], kept[owner], contexts.ids, context_starts[owner] + first,
                    num_tokens, tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id)
  segment_ids = np.repeat(np.tile(np.array([0, 1], np.uint8), len(owner)),
                          np.stack([doc_token_start, num_tokens + 1], axis=1).ravel())
  start_positions = end_positions = None
  num_unanswerable = 0
  if training:
    has_answer, starts, ends = find_answer_tokens(data, tokenizer, contexts.ids, contexts.spans, contexts.row_starts)
    holds = has_answer[owner] & (starts[owner] >= first) & (ends[owner] < first + num_tokens)
    shift = doc_token_start - first
    start_positions = np.where(holds, starts[owner] + shift, 0).astype(np.int32)
    end_positions = np.where(holds, ends[owner] + shift, 0).astype(np.int32)
    num_unanswerable = int(has_answer.sum() - len(np.unique(owner[holds])))
  return contexts, Windows(
    input_ids=input_ids, segment_ids=segment_ids, row_lengths=row_lengths, question_index=owner.astype(np.int32),
    doc_token_start=doc_token_start.astype(np.int32), first_context_token=first.astype(np.int32),
    num_context_tokens=num_tokens.astype(np.int32), start_positions=start_positions, end_positions=end_positions,
    doc_stride=doc_stride, num_truncated_questions=int((question_lengths > max_query_length).sum()),
    num_unanswerable_questions=num_unanswerable, num_questions_without_window=int((counts == 0).sum()))


def _tokenize_contexts(contexts: list[str], tokenizer: Tokenizer) -> ContextTokens:
  """The original tokenizes word by word; the words' boundaries are white space for the tokenizer, too, and it never
  looks beyond white space, so the tokens are the same."""
  ids, row_lengths, spans = tokenizer.encode_batch(contexts, spans=True)
  return ContextTokens(ids, spans, np.concatenate([[0], np.cumsum(row_lengths)]))


def _fill(question_ids: np.ndarray, question_starts: np.ndarray, question_lengths: np.ndarray, context_ids: np.ndarray,
          context_starts: np.ndarray, context_lengths: np.ndarray, cls_id: int, sep_id: int) -> np.ndarray:
  """The tokens of the windows; starts and lengths, [W], say which tokens of the two arrays go into each."""
  row_lengths = question_lengths + context_lengths + 3
  row_ends = np.cumsum(row_lengths)
  row_starts = row_ends - row_lengths
  ids = np.empty(row_lengths.sum(), np.int32)
  ids[row_starts] = cls_id
  ids[row_starts + question_lengths + 1] = sep_id
  ids[row_ends - 1] = sep_id
  for position, source, length in zip((row_starts + 1).tolist(), question_starts.tolist(), question_lengths.tolist(),
                                      strict=True):
    ids[position:position + length] = question_ids[source:source + length]
  for end, source, length in zip((row_ends - 1).tolist(), context_starts.tolist(), context_lengths.tolist(),
                                 strict=True):
    ids[end - length:end] = context_ids[source:source + length]
  return ids


def _is_best_window(number: np.ndarray, last: np.ndarray, stride: int, full_length: np.ndarray,
                    last_length: np.ndarray, lengths: np.ndarray) -> np.ndarray:
  """Whether windows are the best of their question for each of their tokens; bool [sum of `lengths`].

  The score of a window is the smaller number of tokens to the left and to the right, plus 0.01 x its length; the
  first of the best counts. All windows but the last are equally long, so the best of these is one of the two whose
  middles are nearest, and is compared with the last.

  Args:
    number: [W], number of the window among those of its question.
    last: [W], number of the last window of the question.
    stride: tokens from window to window.
    full_length, last_length: [W], tokens in the windows of the question before the last one, and in the last.
    lengths: [W], tokens of the windows.
  """
  position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths - number * stride, lengths)
  number, last, full_length, last_length = (
    np.repeat(values, lengths) for values in (number, last, full_length, last_length))
  # The windows, but for the last, that hold the token: from `lowest` to `highest`, if any.
  lowest = np.maximum(-((full_length - 1 - position) // stride), 0)
  highest = np.minimum(position // stride, last - 1)
  nearest = (2 * position - full_length + 1) // (2 * stride)
  best, best_score = last, np.full(len(position), -1.0)
  for candidate in (nearest, nearest + 1):
    candidate = np.clip(candidate, lowest, highest)
    score = _score(position - candidate * stride, full_length)
    better = (lowest <= highest) & (score > best_score)
    best, best_score = np.where(better, candidate, best), np.where(better, score, best_score)
  in_last = position >= last * stride
  best = np.where(in_last & (_score(position - last * stride, last_length) > best_score), last, best)
  return best == number


def _score(left: np.ndarray, length: np.ndarray) -> np.ndarray:
  # In the precision and order of the original: scores of windows of different lengths may tie but for the rounding.
  return np.minimum(left, length - 1 - left) + 0.01 * length

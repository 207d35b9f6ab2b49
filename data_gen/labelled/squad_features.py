"""Questions and contexts → windows of at most S tokens that the model sees: `convert_examples_to_features`.

    contexts, windows = make_windows(data, tokenizer, max_seq_length=384, doc_stride=128, max_query_length=64,
                                     training=True)

    # tokens:      [CLS] who was jim hen ##son ? [SEP] jim hen ##son was a pup ##pet ##eer [SEP]
    # segment ids:   0    0   0   0   0    0   0   0    1   1    1    1  1  1    1     1     1

A context that does not fit is read through a window that slides by `doc_stride` tokens. Each context is tokenized
once, as a whole, with the place of every token in it, so answers can be cut out of the text (paper, section 4.2).

For training the tokens of the answers are found as the original does: from characters to words (what its own white
space delimits), from these to all their tokens, and then the tokens of the answer's text are looked for among these
(`_improve_answer_span`):

    # context: … John Smith (1895-1943).    answer: 1895
    # words:     John Smith (1895-1943).  → (1895-1943).  → ( 1895 - 1943 ) .  → 1895

Input: `squad.SquadData`. Output: `ContextTokens` and `Windows`, flat arrays, for batches;
`bert_tf/evaluation/squad_answers.py` makes answers of what the model says about the windows.

Letters: Q questions, W windows, T tokens.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from bert_common.errors import UserError
from bert_common.options import Options, option
from bert_common.parallel import portions
from data_gen.labelled.squad import SquadData
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vectorized import ragged_range

# The white space of `read_squad_examples`; others, e.g. U+00A0, are inside words.
_WHITE_SPACE = " \t\r\n\u202f"
# Characters looked at together.
_CHARACTERS_AT_ONCE = 1 << 20
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
  """[CLS] question [SEP] part of its context [SEP], question by question; the tokens of all windows, concatenated.

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
      384, "Most tokens of a window: [CLS] question [SEP] part of the context [SEP].", minimum=1, common=True)
  doc_stride: int = option(
      128, "How many tokens the window slides over a context that does not fit into one.", minimum=1, common=True)
  max_query_length: int = option(64, "Longer questions are truncated to so many tokens.", minimum=1)
  max_windows: int = option(
      0, "Most windows of a context: what comes after them is not read, which is reported. 0 for all.", minimum=0)

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
    """Arguments of `make_windows`; logits belong to windows of these."""
    return {name: getattr(self, name) for name in ("max_seq_length", "doc_stride", "max_query_length", "max_windows")}


def make_windows(data: SquadData, tokenizer: Tokenizer, *, max_seq_length: int, doc_stride: int, max_query_length: int,
                 training: bool, max_windows: int = 0) -> tuple[ContextTokens, Windows]:
  """Tokenizes contexts and questions and cuts the windows; all fields equal those of the original.

  Args:
    data: for training, that of `squad.check_training`: the first answer of a question counts, and
      none if the question is marked as impossible.
    tokenizer: of the vocabulary of the model.
    max_seq_length: S, most tokens of a window.
    doc_stride: how far the window slides over a context that does not fit.
    max_query_length: longer questions keep this many tokens.
    training: also find the answers' tokens.
    max_windows: of a question; 0 for as many as its context needs.

  Raises:
    UserError: see `WindowOptions`.
  """
  lengths = WindowOptions(max_seq_length=max_seq_length, doc_stride=doc_stride, max_query_length=max_query_length)
  lengths.check()
  lengths.check_room()
  # The original tokenizes word by word; the words' boundaries are white space for the tokenizer, too, and it never
  # looks beyond white space, so the tokens are the same.
  ids, context_sizes, offsets = tokenizer.encode_batch(data.contexts, offsets=True)
  contexts = ContextTokens(ids, np.asarray(offsets), np.concatenate([[0], np.cumsum(context_sizes)]))
  question_ids, question_lengths, _ = tokenizer.encode_batch([question.text for question in data.questions])
  question_starts = np.cumsum(question_lengths) - question_lengths
  kept = np.minimum(question_lengths, max_query_length)

  context = np.array([question.context for question in data.questions])
  context_starts = contexts.row_starts[context]
  context_lengths = contexts.row_starts[context + 1] - context_starts
  space = max_seq_length - kept - 3
  needed = np.where(context_lengths > 0, 1 - np.minimum(space - context_lengths, 0) // doc_stride, 0)
  counts = np.minimum(needed, max_windows) if max_windows else needed

  owner = np.repeat(np.arange(len(counts)), counts)
  first = ragged_range(np.zeros_like(counts), counts) * doc_stride
  num_tokens = np.minimum(space[owner], context_lengths[owner] - first)
  doc_token_start = kept[owner] + 2
  row_lengths = doc_token_start + num_tokens + 1

  input_ids = _fill(question_ids, question_starts[owner], kept[owner], contexts.ids, context_starts[owner] + first,
                    num_tokens, tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id)
  segment_ids = np.repeat(np.tile(np.array([0, 1], np.uint8), len(owner)),
                          np.stack([doc_token_start, num_tokens + 1], axis=1).ravel())
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
    input_ids=input_ids, segment_ids=segment_ids, row_lengths=row_lengths, question_index=owner.astype(np.int32),
    doc_token_start=doc_token_start.astype(np.int32), first_context_token=first.astype(np.int32),
    num_context_tokens=num_tokens.astype(np.int32), start_positions=start_positions, end_positions=end_positions,
    doc_stride=doc_stride, num_truncated_questions=int((question_lengths > max_query_length).sum()),
    num_unanswerable_questions=num_unanswerable, num_questions_without_window=int((counts == 0).sum()),
    num_cut_contexts=int((counts < needed).sum()))


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
  for starts, source_ids, sources, lengths in (
      (row_starts + 1, question_ids, question_starts, question_lengths),
      (row_ends - 1 - context_lengths, context_ids, context_starts, context_lengths)):
    for start, source, length in zip(starts.tolist(), sources.tolist(), lengths.tolist(), strict=True):
      ids[start:start + length] = source_ids[source:source + length]
  return ids


def _is_best_window(number: np.ndarray, last: np.ndarray, stride: int, full_length: np.ndarray,
                    last_length: np.ndarray, lengths: np.ndarray) -> np.ndarray:
  """Whether windows, of these numbers [W] in their question, are the best for each of their tokens; bool [tokens].

  The score of a window is the smaller number of tokens to the left and to the right, plus 0.01 x its length; the
  first of the best counts. All windows but the last are equally long (`full_length`), so the best of these is one of
  the two whose middles are nearest, and is compared with the last.
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


# -------------------------------------------------------------------------------- from an answer's characters to tokens


def find_answer_tokens(data: SquadData, tokenizer: Tokenizer, contexts: ContextTokens
                       ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The first and last token of each question's first answer.

  Args:
    data: Q questions.
    tokenizer: for the answers' texts.
    contexts: their tokens.

  Returns:
    has_answer: bool [Q]; not if it is marked as impossible or has no answer.
    first, last: int64 [Q], numbers of tokens in the context, -1 where there is no answer. Where the words of the
      answer have no token, `last` is one less than `first`.
  """
  has_answer = np.array([bool(question.answers) and not question.is_impossible for question in data.questions])
  first, last = np.full((2, len(data.questions)), -1, np.int64)
  questions = [data.questions[number] for number in np.flatnonzero(has_answer)]
  if not questions:
    return has_answer, first, last
  context = np.array([question.context for question in questions])
  start = np.array([question.answers[0].start for question in questions])
  length = np.array([len(question.answers[0].text) for question in questions])

  # Everything in positions in the joined contexts and numbers among all words and all tokens.
  row_starts = contexts.row_starts
  text_starts = np.concatenate([[0], np.cumsum([len(text) for text in data.contexts])])
  word_starts = np.concatenate([*_find_word_starts(data.contexts), np.zeros(0, np.int64)])
  token_starts = contexts.offsets[:, 0] + np.repeat(text_starts[:-1], np.diff(row_starts))
  token_words = _words_at(token_starts, word_starts)
  # Before the first word of a context there is none; the answer can only begin with it.
  first_words = np.searchsorted(word_starts, text_starts[context])
  first_word = np.maximum(_words_at(text_starts[context] + start, word_starts), first_words)
  last_word = _words_at(text_starts[context] + start + length - 1, word_starts)
  low = np.searchsorted(token_words, first_word)
  high = np.searchsorted(token_words, last_word, side="right") - 1

  answer_ids, answer_lengths, _ = tokenizer.encode_batch([question.answers[0].text for question in questions])
  low, high = _narrow(contexts.ids, low, high, answer_ids, answer_lengths)
  first[has_answer] = low - row_starts[context]
  last[has_answer] = high - row_starts[context]
  return has_answer, first, last


def _find_word_starts(contexts: list[str]) -> Iterator[np.ndarray]:
  """Positions in the joined contexts at which words begin; no word goes over the end of a context."""
  offset = 0
  for texts in portions(contexts, len, _CHARACTERS_AT_ONCE):
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    is_white = np.zeros(len(codes), bool)
    for character in _WHITE_SPACE:
      is_white |= codes == ord(character)
    begins = ~is_white
    begins[1:] &= is_white[:-1]
    lengths = np.array([len(text) for text in texts])
    text_starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    begins[text_starts] = ~is_white[text_starts]
    yield np.flatnonzero(begins) + offset
    offset += len(codes)


def _words_at(positions: np.ndarray, word_starts: np.ndarray) -> np.ndarray:
  """The word that each position is in or after, -1 before the first."""
  return np.searchsorted(word_starts, positions, side="right") - 1


def _narrow(ids: np.ndarray, low: np.ndarray, high: np.ndarray, answer_ids: np.ndarray, answer_lengths: np.ndarray
            ) -> tuple[np.ndarray, np.ndarray]:
  """The first occurrence of the answer's tokens in ids[low] … ids[high], or (low, high) where there is none.

  What the two nested loops of `_improve_answer_span` find: of equal tokens only one length can be right.
  """
  answer_starts = np.cumsum(answer_lengths) - answer_lengths
  counts = np.where(answer_lengths > 0, np.maximum(high - low + 2 - answer_lengths, 0), 0)
  # All places where an answer might be, tried token after token.
  owner = np.repeat(np.arange(len(low)), counts)
  place = ragged_range(low, counts)
  found = np.full(len(low), -1, np.int64)
  offset = 0
  while len(owner):
    equal = ids[place + offset] == answer_ids[answer_starts[owner] + offset]
    owner, place = owner[equal], place[equal]
    offset += 1
    is_whole = answer_lengths[owner] == offset
    owners, firsts = np.unique(owner[is_whole], return_index=True)
    found[owners] = place[is_whole][firsts]
    owner, place = owner[~is_whole], place[~is_whole]
  is_found = found >= 0
  return np.where(is_found, found, low), np.where(is_found, found + answer_lengths - 1, high)

"""From the characters of an answer to its tokens, as the original finds them for training.

The original goes from characters to words (what its own white space delimits), from these to all their tokens, and
then looks among these for the tokens of the answer's text (`_improve_answer_span`):

    # context: … John Smith (1895-1943).    answer: 1895
    # words:     John Smith (1895-1943).  → (1895-1943).  → ( 1895 - 1943 ) .  → 1895

Used by `data_gen/labelled/squad_features.py`. Letters: Q questions, T tokens.
"""

from collections.abc import Iterator

import numpy as np

from common.parallel import portions
from data_gen.labelled.squad import SquadData
from data_gen.tokenization.tokenizer import Tokenizer

# The white space of `read_squad_examples`; others, e.g. U+00A0, are inside words.
_WHITE_SPACE = " \t\r\n\u202f"
# Characters looked at together.
_CHARACTERS_AT_ONCE = 1 << 20


def find_answer_tokens(data: SquadData, tokenizer: Tokenizer, ids: np.ndarray, spans: np.ndarray,
                       row_starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The first and last token of each question's first answer.

  Args:
    data: Q questions.
    tokenizer: for the answers' texts.
    ids, spans, row_starts: the tokens of the contexts, as in `data_gen.squad_features.ContextTokens`.

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
  text_starts = np.concatenate([[0], np.cumsum([len(text) for text in data.contexts])])
  word_starts = np.concatenate([*_find_word_starts(data.contexts), np.zeros(0, np.int64)])
  token_starts = spans[:, 0] + np.repeat(text_starts[:-1], np.diff(row_starts))
  token_words = _words_at(token_starts, word_starts)
  # Before the first word of a context there is none; the answer can only begin with it.
  first_words = np.searchsorted(word_starts, text_starts[context])
  first_word = np.maximum(_words_at(text_starts[context] + start, word_starts), first_words)
  last_word = _words_at(text_starts[context] + start + length - 1, word_starts)
  low = np.searchsorted(token_words, first_word)
  high = np.searchsorted(token_words, last_word, side="right") - 1

  answer_ids, answer_lengths, _ = tokenizer.encode_batch([question.answers[0].text for question in questions])
  low, high = _narrow(ids, low, high, answer_ids, answer_lengths)
  first[has_answer] = low - row_starts[context]
  last[has_answer] = high - row_starts[context]
  return has_answer, first, last


def find_token_words(contexts: list[str], spans: np.ndarray, row_starts: np.ndarray) -> np.ndarray:
  """Which word of its context each token belongs to (`tok_to_orig_index` of the original), int64 [T]."""
  text_starts = np.concatenate([[0], np.cumsum([len(text) for text in contexts])])
  word_starts = np.concatenate([*_find_word_starts(contexts), np.zeros(0, np.int64)])
  lengths = np.diff(row_starts)
  token_words = _words_at(spans[:, 0] + np.repeat(text_starts[:-1], lengths), word_starts)
  return token_words - np.repeat(np.searchsorted(word_starts, text_starts[:-1]), lengths)


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
  """The word that each position is in or behind, -1 before the first."""
  return np.searchsorted(word_starts, positions, side="right") - 1


def _narrow(ids: np.ndarray, low: np.ndarray, high: np.ndarray, answer_ids: np.ndarray, answer_lengths: np.ndarray
            ) -> tuple[np.ndarray, np.ndarray]:
  """Where the answer's tokens first stand among ids[low] … ids[high], or (low, high) where they don't.

  What the two nested loops of `_improve_answer_span` find: of equal tokens only one length can be right.
  """
  answer_starts = np.cumsum(answer_lengths) - answer_lengths
  counts = np.where(answer_lengths > 0, np.maximum(high - low + 2 - answer_lengths, 0), 0)
  # All places where an answer might be, tried token after token.
  owner = np.repeat(np.arange(len(low)), counts)
  place = np.arange(len(owner)) + np.repeat(low - np.cumsum(counts) + counts, counts)
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

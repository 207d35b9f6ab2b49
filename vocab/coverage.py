"""How well a vocabulary fits a text, as the tokenizer sees it; used by `build_vocab.py`."""

import dataclasses
from collections.abc import Mapping

from data_gen.tokenization.vocabulary import UNK, Vocabulary
from data_gen.tokenization.wordpiece import ID_BYTES, WordPiece


@dataclasses.dataclass(frozen=True)
class Coverage:
  """How well a vocabulary fits a text.

  Attributes:
    words: words and punctuation marks of the text.
    tokens: WordPiece tokens it becomes.
    unknown: words that become [UNK].
    whole: words that are a token of their own.
  """

  words: int
  tokens: int
  unknown: int
  whole: int

  @property
  def pieces_per_word(self) -> float:
    return self.tokens / max(1, self.words)

  @property
  def unknown_share(self) -> float:
    """[UNK] among the tokens."""
    return self.unknown / max(1, self.tokens)

  @property
  def whole_share(self) -> float:
    return self.whole / max(1, self.words)


def measure_coverage(vocabulary: Vocabulary, word_counts: Mapping[str, int]) -> Coverage:
  """Tokenizes words with the tokenizer that training will use.

  Args:
    vocabulary: the vocabulary.
    word_counts: words of `basic_tokenize` and how often each occurs.
  """
  wordpiece = WordPiece(vocabulary)
  unk = wordpiece.id_bytes(UNK)
  words = tokens = unknown = whole = 0
  for word, count in word_counts.items():
    ids = wordpiece.ids(word)
    words += count
    tokens += count * (len(ids) // ID_BYTES)
    unknown += count * (ids == unk)
    whole += count * (len(ids) == ID_BYTES and ids != unk)
  return Coverage(words, tokens, unknown, whole)


def coverage_table(vocabulary: Vocabulary, texts: Mapping[str, Mapping[str, int]]) -> str:
  """A row for each text that is not empty.

  Args:
    vocabulary: the vocabulary.
    texts: name → word counts.
  """
  rows = [f"{'':<10} {'words':>12} {'tokens':>12} {'pieces/word':>12} {'whole words':>12} {'[UNK]':>9}"]
  for name, words in texts.items():
    if words:
      coverage = measure_coverage(vocabulary, words)
      rows.append(f"{name:<10} {coverage.words:>12,} {coverage.tokens:>12,} {coverage.pieces_per_word:>12.3f} "
                  f"{coverage.whole_share:>12.2%} {coverage.unknown_share:>9.4%}")
  return "\n".join(rows)

"""Sentence splitting.

The boundaries come from nupunkt, a maintained implementation of Punkt (Kiss & Strunk 2006, "Unsupervised
Multilingual Sentence Boundary Detection") whose English model comes with the package: no download, 50 ms to
load, more than 10 MB/s on one core. Two things are added here: corrections to its list of abbreviations, and
the sentence ends of scripts that do not use the Latin full stop.

`docs/corpus.md` shows what it does with hard cases, and where it fails.
"""

import functools
import re

from nupunkt import PunktSentenceTokenizer
from nupunkt.models import load_default_model

# What novels and documentation are full of, and the legal texts the model was trained on are not.
_MORE_ABBREVIATIONS = ("lt", "mlle", "mme", "mdme", "w.r.t")

# Everyday words that the model takes for abbreviations because its texts cut them short somewhere: in prose,
# a full stop after them nearly always ends a sentence.
_NOT_ABBREVIATIONS = (
    "aloud", "am", "at", "axe", "backs", "bank", "bed", "black", "bold", "book", "call", "can", "car", "chest",
    "cliff", "coal", "code", "cold", "crazy", "drunk", "farce", "fish", "fist", "flag", "found", "hall", "hand",
    "hard", "hers", "human", "in", "int", "knees", "lack", "laughter", "lead", "leg", "lock", "luck", "mankind",
    "me", "month", "pen", "penny", "rest", "rich", "row", "sand", "sat", "sick", "sir", "sleep", "so", "south",
    "stake", "stars", "stock", "story", "sum", "sun", "tables", "tale", "ten", "tread", "vain", "walk", "wall",
    "west", "wheel", "will", "win", "wings", "yard")

# Full stops of Chinese and Japanese, the danda of the scripts of India, the Arabic question mark and the Urdu
# full stop, with the closing quotes and brackets that belong to the sentence.
_OTHER_END = re.compile("[。！？｡।॥؟۔]+[」』”’）】\"')]*\\s*")


def split_sentences(paragraph: str) -> list[str]:
  """Splits a paragraph into sentences.

  Args:
    paragraph: text; line breaks in it count as spaces.

  Returns:
    The sentences in order, without white space around them, every run of white space inside them (all kinds of
    line separators included) made one space. Nothing but white space is lost or added. Empty for a paragraph
    of white space only.
  """
  text = " ".join(paragraph.split())
  if text.isascii():
    return _tokenizer().tokenize(text) if text else []
  sentences, start = [], 0
  for end in [match.end() for match in _OTHER_END.finditer(text)] + [len(text)]:
    if end > start:
      sentences += _tokenizer().tokenize(text[start:end])
    start = end
  return [sentence.strip() for sentence in sentences]


@functools.cache
def _tokenizer() -> PunktSentenceTokenizer:
  # A tokenizer of our own: the package's shared one would show the corrections to everybody in the process.
  tokenizer = load_default_model()
  tokenizer.add_abbreviations(list(_MORE_ABBREVIATIONS))
  for word in _NOT_ABBREVIATIONS:
    tokenizer.remove_abbreviation(word)
  return tokenizer

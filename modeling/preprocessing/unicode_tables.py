"""Properties of characters for the tokenizer, as arrays that a graph can look up.

Made from the `unicodedata` of the running Python when a model is exported: an export keeps the Unicode version it was
made with. Used by `modeling/preprocessing/graph_tokenizer.py`.
"""

import functools
import sys
import unicodedata
from typing import NamedTuple

import numpy as np

from data_gen.tokenization.wordpiece import WHITE_SPACE, find_chunk_starts

# Properties of a character, one bit each.
DELETED, SPACE, IDEOGRAPH, PUNCTUATION, CASED, CASE_IGNORABLE, ACCENT = (1 << bit for bit in range(7))
# The number of the character's expansion, 0 for none, is counted in these.
EXPANSION_UNIT = 1 << 7

CAPITAL_SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2

# Characters in a page.
PAGE_SIZE = 128
_CODES = sys.maxunicode + 1


class UnicodeTables(NamedTuple):
  """Two levels of arrays, as most pages of characters are like another one.

  Attributes:
    page_of: int32 [0x110000 / PAGE_SIZE], the page that describes a page of characters.
    pages: int32 [pages * PAGE_SIZE], properties and number of the expansion of each character.
    expansion_starts, expansion_counts: int32 [expansions], the position of each in `expanded`.
    expanded: int32, what characters become by lower-casing and NFD, accents included.
  """

  page_of: np.ndarray
  pages: np.ndarray
  expansion_starts: np.ndarray
  expansion_counts: np.ndarray
  expanded: np.ndarray


@functools.cache
def build_tables(do_lower_case: bool) -> UnicodeTables:
  """Looks at every character there is, which takes about a second.

  Args:
    do_lower_case: lower-case, decompose, and mark accents to be dropped.
  """
  values = np.zeros(_CODES, np.int32)
  # Ideographs are words by themselves: a letter after one begins a chunk, though there is no white space.
  starts = find_chunk_starts("".join(chr(code) + "a" for code in range(_CODES)))
  values[starts[starts % 2 == 1] // 2] = IDEOGRAPH
  values[[ord(character) for character in WHITE_SPACE]] = SPACE
  expansions: list[list[int]] = [[]]
  for code in range(_CODES):
    character = chr(code)
    category = unicodedata.category(character)
    if category in ("Cn", "Co", "Cs"):
      continue
    if not values[code]:
      if category in ("Cc", "Cf") or code == 0xFFFD:
        values[code] = DELETED
      # ASCII symbols such as "$", "^" and "~" are punctuation here though not in Unicode.
      elif category[0] == "P" or (code < 128 and category[0] == "S"):
        values[code] = PUNCTUATION
    if not do_lower_case:
      continue
    # What the lower case of a capital sigma after them depends on: Python has no function for these two properties of
    # Unicode, but its `str.lower()` knows them.
    if f"{character}Σ".lower().endswith("ς"):
      values[code] |= CASED
    elif f"A{character}Σ".lower().endswith("ς"):
      values[code] |= CASE_IGNORABLE
    values[code] |= ACCENT if category == "Mn" else 0
    expansion = unicodedata.normalize("NFD", character.lower())
    if expansion != character:
      values[code] |= len(expansions) * EXPANSION_UNIT
      expansions.append([*map(ord, expansion)])
  pages, page_of = np.unique(values.reshape(-1, PAGE_SIZE), axis=0, return_inverse=True)
  counts = np.array([*map(len, expansions)], np.int32)
  return UnicodeTables(
      page_of=page_of.astype(np.int32).ravel(), pages=pages.ravel(),
      expansion_starts=np.cumsum(counts, dtype=np.int32) - counts, expansion_counts=counts,
      expanded=np.array([code for expansion in expansions for code in expansion], np.int32))

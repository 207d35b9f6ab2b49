"""Finds special and added tokens in texts, before these are split into words.

Input: a text. Output: its parts, each an ordinary one or a token. Hugging Face's tokenizers have
the same rules: of the tokens at a position the longest counts; tokens that are normalized are
found afterwards, in the lower-cased text without its accents.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from data_gen.tokenization.settings import AddedToken
from data_gen.tokenization.wordpiece import CLEANING, strips_accents

# Characters of words that are no letters by their category: joiners, and letters in circles and
# squares.
_match_other_word_character = re.compile(
    "[\u200c\u200d\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]"
).match


class Part(NamedTuple):
    """Characters start to end of a text: the token with this id, or ordinary text for None."""

    start: int
    end: int
    id: int | None


class AddedTokens:
    """Finds tokens in the texts of a tokenizer."""

    def __init__(
        self, tokens: Iterable[AddedToken], do_lower_case: bool, strip_accents: bool | None
    ):
        self._normalization = Normalization(
            do_lower_case, strips_accents(do_lower_case, strip_accents)
        )
        literal = {}
        normalized = {}
        for token in tokens:
            if token.normalized:
                normalized[token.content.translate(self._normalization)] = token
            else:
                literal[token.content] = token
        self._literal = literal
        self._normalized = normalized
        self._search_literal = _pattern(literal)
        self._search_normalized = _pattern(normalized)

    def split(self, text: str) -> list[Part]:
        """Returns the parts of a text, in order; a single one for a text without tokens."""
        parts = []
        # Literal tokens come first: normalization would change the letters that they are found by.
        for part in _split(text, self._search_literal, self._literal):
            if part.id is None and self._search_normalized is not None:
                parts += self._split_normalized(text[part.start : part.end], part.start)
            else:
                parts.append(part)
        return parts

    def _split_normalized(self, text: str, shift: int) -> list[Part]:
        """Returns the parts of an ordinary part that begins at `shift`."""
        normalized = text.translate(self._normalization)
        found = _split(normalized, self._search_normalized, self._normalized)
        if len(found) == 1 and found[0].id is None:
            return [Part(shift, shift + len(text), None)]
        # The character of the text that each normalized one comes from.
        origins = []
        for index, character in enumerate(text):
            origins += [index] * len(character.translate(self._normalization))
        # A part may end with the text, so the end needs an origin as well.
        origins.append(len(text))
        parts = []
        end = 0
        for part in found:
            start = end if part.id is None else origins[part.start]
            if part.id is None or not part.end:
                end = origins[part.end]
            else:
                # One character may become several, and a token may end among them: it then covers
                # that character.
                end = origins[part.end - 1] + 1
            if part.id is not None or end > start:
                parts.append(Part(start + shift, end + shift, part.id))
        return parts


class Normalization(dict):
    """Table for str.translate: character → the text that normalized tokens are found in.

    Lower-casing looks at one character at a time, as in Hugging Face's tokenizers.
    """

    def __init__(self, do_lower_case: bool, strips: bool):
        super().__init__()
        self._do_lower_case = do_lower_case
        self._strips = strips

    def __missing__(self, code: int) -> str:
        text = chr(code).translate(CLEANING)
        if self._strips:
            decomposed = unicodedata.normalize("NFD", text)
            kept = [letter for letter in decomposed if unicodedata.category(letter) != "Mn"]
            text = "".join(kept)
        if self._do_lower_case:
            text = text.lower()
        # `str.translate` looks up every character, so each one is normalized once.
        self[code] = text
        return text


def _pattern(tokens: dict[str, AddedToken]) -> re.Pattern | None:
    """Returns the expression that finds tokens, the longest first; None without tokens."""
    # Alternatives of a regular expression are tried in order, so a shorter token would hide a
    # longer one.
    contents = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, contents))) if contents else None


def _split(text: str, pattern: re.Pattern | None, tokens: dict[str, AddedToken]) -> list[Part]:
    """Returns the parts of a text between and at the matches of a pattern."""
    parts = []
    end = 0
    if pattern is not None:
        for match in pattern.finditer(text):
            token = tokens[match[0]]
            # A match inside of a word is ordinary text to its end: no shorter token is looked for
            # in it, nor one that begins in it.
            if token.single_word and _is_inside_word(match):
                continue
            if match.start() > end:
                parts.append(Part(end, match.start(), None))
            end = match.end()
            parts.append(Part(match.start(), end, token.id))
    # An empty text has one part, since callers count rows by parts.
    if end < len(text) or not parts:
        parts.append(Part(end, len(text), None))
    return parts


def _is_inside_word(match: re.Match) -> bool:
    """Whether a character of a word stands beside a match, by Unicode's definition.

    Python's `\\w` has no vowel signs and accents, which most letters of Hindi have, but fractions
    and raised digits. https://www.unicode.org/reports/tr18/#word
    """
    text = match.string
    beside = text[max(match.start() - 1, 0) : match.start()] + text[match.end() : match.end() + 1]
    for character in beside:
        category = unicodedata.category(character)
        if category[0] in "LM" or category in ("Nd", "Nl", "Pc"):
            return True
        if _match_other_word_character(character):
            return True
    return False

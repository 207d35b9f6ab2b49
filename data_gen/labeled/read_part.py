"""The part of a text that a model reads, found before the text is tokenized.

A line may have megabytes, of which a model reads some hundred tokens.
"""

import re

from data_gen.tokenization.tokenizer import Tokenizer

# More than most tokens have, so that the first cut mostly suffices.
_CHARACTERS_PER_TOKEN = 8
# Characters per token up to which a text is tokenized whole: a cut part is tokenized twice.
_SHORTEST_TO_CUT = 4 * _CHARACTERS_PER_TOKEN
# A text is cut before these characters: no token, and no rule that makes one, reaches across.
_BORDER = re.compile(r"[ \t\n\u4e00-\u9fff]")


def read_part(
    tokenizer: Tokenizer, text: str, tokens: int, keep_start: bool, keep_end: bool
) -> str:
    """Returns a part of a text, with at least its first or last `tokens` tokens, or both.

    The tokens of the part are the first and the last ones of the whole text. A text that is not
    much longer, or that can't be cut, is returned whole.

    Args:
      keep_start, keep_end: which of them the model reads; at least one is True.
    """
    # An added token may have any characters, also those at which a text is cut.
    if len(text) <= _SHORTEST_TO_CUT * tokens or tokenizer.vocabulary.added_tokens:
        return text
    parts = []
    if keep_start:
        parts.append(_start(tokenizer, text, tokens))
    if keep_end:
        parts.append(_end(tokenizer, text, tokens))
    if sum(len(part) for part in parts) >= len(text):
        return text
    return " ".join(parts)


def _start(tokenizer: Tokenizer, text: str, tokens: int) -> str:
    size = _CHARACTERS_PER_TOKEN * tokens
    while size < len(text):
        border = _BORDER.search(text, size)
        if border is None:
            break
        size = border.start()
        if len(tokenizer.encode(text[:size])) >= tokens:
            return text[:size]
        size *= 2
    return text


def _end(tokenizer: Tokenizer, text: str, tokens: int) -> str:
    size = _CHARACTERS_PER_TOKEN * tokens
    while size < len(text):
        # Borders can only be searched for forward: in the next part of as many characters.
        borders = list(_BORDER.finditer(text, max(len(text) - 2 * size, 0), len(text) - size))
        if borders:
            part = text[borders[-1].start() :]
            if len(tokenizer.encode(part)) >= tokens:
                return part
        size *= 2
    return text

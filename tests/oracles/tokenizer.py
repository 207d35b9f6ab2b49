"""The tokenizer of the BERT paper's code as it is usually written in Python: one character after
the other.

The baseline of `benchmarks/tokenization.py` and of the tests of
`data_gen/tokenization/tokenizer.py`: every step of the algorithm is a function over the whole text,
nothing is remembered between calls and nothing is shared with `data_gen/`. Verified against the
output of the original code (tests/data_gen/tokenization/test_tokenizer.py).
"""

import unicodedata


class ReferenceTokenizer:
    """Clean, space out Chinese characters, split at white space, lower and strip accents, split at
    punctuation, then the longest pieces from the left.

    Args:
      tokens: list of str, the vocabulary in the order of the ids.
      do_lower_case: lower-case and strip accents.
    """

    def __init__(self, tokens: list[str], do_lower_case: bool = True):
        self.ids = {token: index for index, token in enumerate(tokens)}
        self.do_lower_case = do_lower_case

    def tokenize(self, text: str) -> list[str]:
        pieces = []
        for word in self.basic_tokenize(text):
            pieces.extend(self.split_word(word))
        return pieces

    def encode(self, text: str) -> list[int]:
        return [self.ids[token] for token in self.tokenize(text)]

    def basic_tokenize(self, text: str) -> list[str]:
        words = []
        for word in _space_out_chinese(_clean(text)).split():
            if self.do_lower_case:
                word = _strip_accents(word.lower())
            words.extend(_split_at_punctuation(word))
        return " ".join(words).split()

    def split_word(self, word: str) -> list[str]:
        if len(word) > 200:
            return ["[UNK]"]
        pieces = []
        start = 0
        while start < len(word):
            end = len(word)
            while end > start:
                piece = word[start:end]
                if start > 0:
                    piece = "##" + piece
                if piece in self.ids:
                    break
                end -= 1
            else:
                return ["[UNK]"]
            pieces.append(piece)
            start = end
        return pieces


def _clean(text: str) -> str:
    output = []
    for character in text:
        if character in "\0\ufffd" or _is_control(character):
            continue
        output.append(" " if _is_white_space(character) else character)
    return "".join(output)


def _space_out_chinese(text: str) -> str:
    output = []
    for character in text:
        output.append(f" {character} " if _is_chinese(ord(character)) else character)
    return "".join(output)


def _strip_accents(text: str) -> str:
    output = []
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.category(character) != "Mn":
            output.append(character)
    return "".join(output)


def _split_at_punctuation(word: str) -> list[str]:
    words = []
    begins_word = True
    for character in word:
        if _is_punctuation(character):
            words.append(character)
            begins_word = True
        elif begins_word:
            words.append(character)
            begins_word = False
        else:
            words[-1] += character
    return words


def _is_white_space(character: str) -> bool:
    return character in " \t\n\r" or unicodedata.category(character) == "Zs"


def _is_control(character: str) -> bool:
    if character in "\t\n\r":
        return False
    return unicodedata.category(character) in ("Cc", "Cf")


def _is_punctuation(character: str) -> bool:
    code = ord(character)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def _is_chinese(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2B73F
        or 0x2B740 <= code <= 0x2B81F
        or 0x2B820 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )

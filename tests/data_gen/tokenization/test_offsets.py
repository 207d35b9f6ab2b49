import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.wordpiece import basic_tokenize_with_offsets
from tests.data_gen.tokenization import common


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("é", [("e", "é")]),
        ("abe\u0301", [("ab", "ab"), ("##e", "e\u0301")]),
        ("e\u0301\u0323aff", [("e", "e\u0301\u0323"), ("##aff", "aff")]),
        ("\u0301ab", [("ab", "ab")]),
        ("a.\u0301b", [("a", "a"), (".", "."), ("b", "b")]),
        ("中\u0301b≠\u0301", [("中", "中"), ("b", "b"), ("[UNK]", "≠")]),
        ("\u200bab\u200b", [("ab", "ab")]),
        ("un\xadaff", [("un", "un"), ("##aff", "aff")]),
        ("a\xadb", [("ab", "a\xadb")]),
        ("e\u200b\u0301", [("e", "e\u200b\u0301")]),
        ("한a", [("\u1112\u1161", "한"), ("##\u11ab", "한"), ("##a", "a")]),
        ("中a本", [("中", "中"), ("a", "a"), ("本", "本")]),
        ("zzz xa.", [("[UNK]", "zzz"), ("[UNK]", "xa"), (".", ".")]),
        ("z\u0301\u200bz", [("[UNK]", "z\u0301\u200bz")]),
        ("İ", [("i", "İ")]),
        ("ΟΣ", [("[UNK]", "ΟΣ")]),
        ("ΑΣ", [("α", "Α"), ("##ς", "Σ")]),
        ("a" * 201 + "é a", [("[UNK]", "a" * 201 + "é"), ("a", "a")]),
        ("\x0b\x0c \u2028", []),
    ],
)
@pytest.mark.usefixtures("way")
def test_offsets_of_awkward_characters(text, expected):
    assert common.tokens_and_texts(common.TOKENIZERS[True], text) == expected
    assert common.tokens_and_texts(Tokenizer(common.VOCABULARY), f"ab {text}")[1:] == expected


def test_offsets_where_decomposition_reorders_marks():
    """U+302E (class 224) and U+1D165 (216), both kept, change places."""
    ((word, starts, ends),) = basic_tokenize_with_offsets("a\u302e\U0001d165", do_lower_case=True)
    assert word == "a\U0001d165\u302e"
    assert (list(starts), list(ends)) == ([0, 2, 1], [1, 3, 2])


def plain_offsets(text, lower):
    """Spans by carrying every character's place through the plain algorithm; None where NFD
    reorders characters."""
    reference = common.REFERENCES[lower]
    places = []  # the text with U+E000 between words: [character, start, end]
    for index, character in enumerate(text):
        cleaned = reference.basic_tokenize(f"a{character}a")
        if cleaned == ["aa"] and unicodedata.category(character) in ("Cc", "Cf", "So"):
            continue
        if cleaned == ["a", "a"]:
            places.append([" ", index, index + 1])
        elif len(reference.basic_tokenize(f"a{character}")) == 2 and _is_ideograph(character):
            places += [[" ", index, index], [character, index, index + 1], [" ", index, index]]
        else:
            places.append([character, index, index + 1])
    chunks, chunk = [], []
    for place in [*places, [" ", 0, 0]]:
        if place[0] != " ":
            chunk.append(place)
        elif chunk:
            chunks.append(chunk)
            chunk = []
    offsets = []
    for chunk in chunks:
        if lower:
            chunk = _plain_lower(chunk)
            if chunk is None:
                return None
        word = []
        for place in [*chunk, None]:
            mark = place is not None and _is_mark(place[0])
            if (place is None or mark) and word:
                offsets += _plain_word(word, reference)
                word = []
            if mark:
                offsets += _plain_word([place], reference)
            elif place is not None:
                word.append(place)
    return offsets


def _is_mark(character):
    return common.REFERENCES[False].basic_tokenize(f"a{character}a") == ["a", character, "a"]


def _is_ideograph(character):
    letter = unicodedata.category(character) in ("Lo", "Cn")
    return letter and len(common.REFERENCES[False].basic_tokenize(character * 2)) == 2


def _plain_lower(chunk):
    text = "".join(place[0] for place in chunk).lower()
    if unicodedata.normalize("NFD", text) != "".join(
        unicodedata.normalize("NFD", character) for character in text
    ):
        return None
    output, position = [], 0
    for character, start, end in chunk:
        size = len(character.lower())
        for part in unicodedata.normalize("NFD", text[position : position + size]):
            if unicodedata.category(part) != "Mn":
                output.append([part, start, end])
            elif output and not _is_mark(output[-1][0]):
                output[-1][2] = end
        position += size
    return output


def _plain_word(word, reference):
    pieces = reference.split_word("".join(place[0] for place in word))
    if pieces == ["[UNK]"]:
        return [(word[0][1], word[-1][2])]
    offsets, first = [], 0
    for index, piece in enumerate(pieces):
        last = first + len(piece) - (2 if index else 0)
        offsets.append((word[first][1], word[last - 1][2]))
        first = last
    return offsets


@common.thorough
@given(st.one_of(common.TEXTS, common.ENGLISH), common.LOWER, common.WAY)
def test_offsets_equal_those_of_the_plain_algorithm(text, lower, way):
    expected = plain_offsets(text, lower)
    encoding = common.encode(way, common.TOKENIZERS[lower], [text], offsets=True)
    assert encoding.offsets.dtype == np.int32 and encoding.offsets.shape == (len(encoding.ids), 2)
    if expected is not None:
        assert [tuple(pair) for pair in encoding.offsets.tolist()] == expected

import numpy as np
import pytest

from data_gen.tokenization import vectorized
from data_gen.tokenization.vectorized import WordTable


def columns(words):
    keys = np.frombuffer(b"".join(word.ljust(16, b"\0") for word in words), "<u8").reshape(-1, 2)
    return keys[:, 0].copy(), keys[:, 1].copy()


def pieces_of(words):
    """Of each word as many pieces as its last digit says."""
    return [np.full(int(word[-1:]), int(word), np.int32).tobytes() for word in words]


def found(table, words):
    first, count = table.find(*columns(words))
    return [
        table.pieces[start : start + size].tolist()
        for start, size in zip(first, count, strict=True)
    ]


def expected(words):
    return [np.frombuffer(pieces, np.int32).tolist() for pieces in pieces_of(words)]


@pytest.mark.parametrize("bits", [4, 17])
def test_equals_a_dict(monkeypatch, bits):
    monkeypatch.setattr(vectorized, "_MIN_BITS", bits)
    table = WordTable(pieces_of, np.int32, [b"1", b"12", b"123456789"])
    random = np.random.default_rng(0)
    for digits in (2, 5, 9, 9):
        words = [b"%d" % number for number in random.integers(10**digits, size=2000)]
        assert found(table, words) == expected(words)


def test_words_that_collide(monkeypatch):
    monkeypatch.setattr(vectorized, "_LOW_FACTOR", np.uint64(0))
    monkeypatch.setattr(vectorized, "_HIGH_FACTOR", np.uint64(0))
    table = WordTable(pieces_of, np.int32)
    words = [b"%d" % number for number in [*range(100), *range(50, 150)]]
    assert found(table, words) == expected(words)


def test_full_table_is_emptied_and_filled_again(monkeypatch):
    monkeypatch.setattr(vectorized, "_MAX_WORDS", 100)
    table = WordTable(pieces_of, np.int32, [b"7"])
    for start in range(0, 1000, 50):
        words = [b"7", *(b"%d" % number for number in range(start + 30, start + 100))]
        assert found(table, words) == expected(words)
    assert len(table.pieces) < 2**17

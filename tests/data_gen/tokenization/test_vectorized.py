import zlib

import numpy as np
import pytest

from data_gen.tokenization import vectorized
from data_gen.tokenization.vectorized import UnitTable


def units_of(words):
    sizes = np.array([len(word) for word in words])
    starts = np.cumsum(sizes + 1) - sizes - 1
    return vectorized.read_units(b" ".join(words), starts, sizes)


def pieces_of(words):
    """Of each word as many pieces as its last byte says, equal to no other word's."""
    return [np.full(word[-1] % 10, zlib.crc32(word), np.uint32).tobytes() for word in words]


def found(table, words):
    first, count = table.find(units_of(words))
    return [
        table.pieces[start : start + size].tolist()
        for start, size in zip(first, count, strict=True)
    ]


def expected(words):
    return [np.frombuffer(pieces, np.int32).tolist() for pieces in pieces_of(words)]


@pytest.mark.parametrize("bits", [4, 17])
def test_equals_a_dict(monkeypatch, bits):
    monkeypatch.setattr(vectorized, "_MIN_BITS", bits)
    table = UnitTable(pieces_of, np.int32, [b"1", b"12", b"123456789"])
    random = np.random.default_rng(0)
    for digits in (2, 5, 9, 9):
        words = [b"%d" % number for number in random.integers(10**digits, size=2000)]
        assert found(table, words) == expected(words)


def test_words_that_collide(monkeypatch):
    monkeypatch.setattr(vectorized, "_LOW_FACTOR", np.uint64(0))
    monkeypatch.setattr(vectorized, "_HIGH_FACTOR", np.uint64(0))
    table = UnitTable(pieces_of, np.int32)
    words = [b"%d" % number for number in [*range(100), *range(50, 150)]]
    assert found(table, words) == expected(words)


def test_full_table_is_emptied_and_filled_again(monkeypatch):
    monkeypatch.setattr(vectorized, "_MAX_UNITS", 100)
    table = UnitTable(pieces_of, np.int32, [b"7"])
    for start in range(0, 1000, 50):
        words = [b"7", *(b"%d" % number for number in range(start + 30, start + 100))]
        assert found(table, words) == expected(words)
    assert len(table.pieces) < 2**17


def test_units_of_up_to_16_bytes_and_longer_ones():
    table = UnitTable(pieces_of, np.int32)
    words = [b"1" * 7 + b"2", b"1" * 8, b"1" * 8 + b"2", b"1" * 9]
    words += [b"0" * size + b"3" for size in (14, 15, 16, 17, 40)]
    assert found(table, words) == expected(words)
    assert found(table, words[::-1]) == expected(words[::-1])

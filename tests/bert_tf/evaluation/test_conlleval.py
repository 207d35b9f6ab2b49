import gzip
import json
from collections import Counter

import numpy as np
import pytest

from bert_tf.evaluation import conlleval
from data_gen.labeled.tag_schemes import Chunks, find_chunks, parse_names
from tests.oracles.conlleval import count_chunks, read_rows


def arrays_of(rows) -> tuple[Chunks, Chunks, int]:
    """Right and found chunks, and the number of right tags, of rows as of `read_rows`."""
    rows = [*rows, None]
    pairs = [row for row in rows if row]
    lengths = np.diff([number for number, row in enumerate([None, *rows]) if row is None]) - 1
    names = sorted({tag for pair in pairs for tag in pair} | {"O"})
    return *(
        find_chunks(
            np.array([names.index(pair[side]) for pair in pairs], np.int32),
            parse_names(names),
            lengths,
        )
        for side in (0, 1)
    ), sum(gold == guess for gold, guess in pairs)


@pytest.mark.golden
def test_reports_equal_those_of_the_script_byte_for_byte(golden_set):
    folder = golden_set / "conlleval"
    # The others have tags that no file here may have, such as [-A and B-.
    cases = [
        case
        for case in json.loads((folder / "index.json").read_text())
        if "iobes_raw" not in case["name"]
    ]
    assert len(cases) >= 7
    for case in cases:
        text = gzip.decompress((folder / f"{case['name']}.conll.gz").read_bytes()).decode()
        given = dict(zip(case["options"][-2::2], case["options"][-1::2], strict=True))
        rows = [
            *read_rows(text, given.get("-d", " "), "-r" in case["options"], given.get("-o", "O"))
        ]
        counts = conlleval.count_chunks(*arrays_of(rows))
        assert (counts.gold, counts.guessed, counts.correct) == count_chunks(rows), case["name"]
        assert (
            conlleval.report(counts).encode()
            == (folder / f"{case['name']}.expected.txt").read_bytes()
        ), case["name"]


@pytest.mark.parametrize(("chunks", "shown"), [(32, "3.12"), (160, "0.62"), (800, "0.12")])
def test_a_share_between_two_roundings_goes_the_way_of_perl(chunks, shown):
    # 1 of 32 is 3.125 % exactly: C's printf, and perl with it, take the even digit. Half up would
    # be 3.13.
    counts = conlleval.ChunkCounts(
        chunks, 1, *map(Counter, ({"X": chunks}, {"X": chunks}, {"X": 1}))
    )
    assert f"precision:   {shown}%; recall:   {shown}%; FB1:   {shown}" in conlleval.report(counts)


NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-X", "I-X"]


def chunks_of(sentences):
    tags = np.array([NAMES.index(tag) for sentence in sentences for tag in sentence], np.int32)
    return find_chunks(tags, parse_names(NAMES), np.array(list(map(len, sentences))))


GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC"], ["B-LOC", "O"], ["O", "O"]]
GUESS = [["B-X", "I-X", "O", "O"], ["O", "B-LOC"], ["B-LOC", "O"], ["B-PER", "O"]]
WORDS = ["Jane", "Austen", "in", "Bath", "in", "Bath", "bath", "!", "Hm", "?"]


def test_surface_forms_count_once():
    """Right: Jane Austen, Bath, bath; found: another type for the first, Bath, bath, and Hm."""
    precision, recall, f1 = conlleval.surface_scores(WORDS, chunks_of(GOLD), chunks_of(GUESS))
    assert (precision, recall) == (50.0, pytest.approx(200 / 3))
    assert f1 == pytest.approx(2 * 50 * 200 / 3 / (50 + 200 / 3))
    nothing = chunks_of([["O"] * 10])
    assert conlleval.surface_scores(WORDS, nothing, nothing) == (0.0, 0.0, 0.0)


def test_confusions_of_types():
    matrix, names = conlleval.type_confusion(chunks_of(GOLD), chunks_of(GUESS))
    assert names == ["LOC", "PER", "X", "(none)"]
    assert matrix.tolist() == [[2, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]

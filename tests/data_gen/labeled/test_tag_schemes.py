import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.labeled import tag_schemes
from data_gen.labeled.tag_schemes import (
    IOB1,
    IOB2,
    IOBES,
    PLAIN,
    Chunks,
    find_chunks,
    interpret,
    write_tags,
)
from tests.oracles.conlleval import count_chunks

TAGS = [*(f"{prefix}-{kind}" for prefix in "BIES" for kind in ("X", "Y-Z")), "O"]
IOB_TAGS = [tag for tag in TAGS if tag[0] in "BIO"]
SENTENCES = st.lists(st.lists(st.sampled_from(IOB_TAGS), max_size=8), max_size=5)


def arrays(sentences: list[list[str]]) -> tuple[np.ndarray, tag_schemes.TagNames, np.ndarray]:
    names = tag_schemes.parse_names(TAGS)
    tags = np.array([TAGS.index(tag) for sentence in sentences for tag in sentence], np.int32)
    return tags, names, np.array(list(map(len, sentences)), np.int64)


def chunks_of(sentences: list[list[str]]) -> Chunks:
    return find_chunks(*arrays(sentences))


def written(chunks: Chunks, scheme: str) -> list[str]:
    tags, names = write_tags(chunks, scheme)
    return [names[tag] for tag in tags]


def cut(flat: list[str], sentences: list[list[str]]) -> list[list[str]]:
    rest = iter(flat)
    return [[next(rest) for _ in sentence] for sentence in sentences]


@settings(max_examples=150, deadline=None)
@given(SENTENCES)
def test_chunks_are_those_that_conlleval_counts(sentences):
    spans = chunks_of(sentences).spans()
    rows = [row for sentence in sentences for row in [*((tag, tag) for tag in sentence), None]]
    gold, _, correct = count_chunks(rows)
    assert len(spans) == gold.total() == correct.total()
    names = tag_schemes.parse_names(TAGS).type_names
    assert np.bincount(spans[:, 2], minlength=2).tolist() == [gold[name] for name in names]


@settings(max_examples=150, deadline=None)
@given(SENTENCES, st.sampled_from([IOB1, IOB2, IOBES]))
def test_every_scheme_keeps_the_chunks_and_is_recognized(sentences, scheme):
    chunks = chunks_of(sentences)
    converted = cut(written(chunks, scheme), sentences)
    again = chunks_of(converted)
    np.testing.assert_array_equal(again.spans(), chunks.spans())
    tags, _, row_lengths = arrays(converted)
    assert interpret(tags, TAGS, row_lengths, scheme) == (scheme, {})
    found, _ = interpret(tags, TAGS, row_lengths, "auto")
    assert found == scheme or written(again, found) == written(again, scheme)


def test_the_schemes_as_they_are_in_the_papers():
    sentence = ["O", "B-X", "I-X", "B-X", "I-Y-Z", "I-Y-Z", "O"]
    chunks = chunks_of([sentence, ["B-X"]])
    assert written(chunks, IOB2) == ["O", "B-X", "I-X", "B-X", "B-Y-Z", "I-Y-Z", "O", "B-X"]
    assert written(chunks, IOB1) == ["O", "I-X", "I-X", "B-X", "I-Y-Z", "I-Y-Z", "O", "I-X"]
    assert written(chunks, IOBES) == ["O", "B-X", "E-X", "S-X", "B-Y-Z", "E-Y-Z", "O", "S-X"]
    # A chunk ends with its sentence.
    assert chunks_of([["B-X", "I-X"], ["I-X"], [], ["I-X"]]).spans().tolist() == [
        [0, 2, 0],
        [2, 3, 0],
        [3, 4, 0],
    ]
    assert written(chunks_of([["I-X"], ["I-X"]]), IOB1) == ["I-X", "I-X"]


@pytest.mark.parametrize(
    ("sentences", "word", "message"),
    [
        (
            [["B-X", "I-X"], ["B-X", "O", "B-X"], ["O", "I-X"]],
            6,
            "I-X after the tag O is wrong in IOB2",
        ),
        (
            [["B-X", "O", "B-X", "I-Y-Z"]],
            3,
            "I-Y-Z after the tag B-X is wrong in IOB2.*: B-Y-Z is expected",
        ),
        ([["I-X", "O", "I-X"], ["I-X", "O", "B-X"]], 5, "B-X after the tag O is wrong in IOB1"),
        (
            [["S-X", "B-X", "E-X"], ["S-X", "B-X", "O"]],
            4,
            "B-X after the tag S-X is wrong in IOBES.*: S-X is expected",
        ),
        ([["I-X", "I-X", "S-X"]], 0, "I-X after the start of the sentence is wrong in IOBES"),
    ],
)
def test_tags_that_follow_no_scheme_are_named(sentences, word, message):
    tags, _, row_lengths = arrays(sentences)
    _, faults = interpret(tags, TAGS, row_lengths, "auto")
    assert next(iter(faults)) == word and re.match(message, faults[word])


def test_a_scheme_that_is_given_is_checked_and_tags_that_are_no_chunks():
    tags, _, row_lengths = arrays([["I-X", "O"]])
    assert interpret(tags, TAGS, row_lengths, IOB1) == (IOB1, {})
    assert interpret(tags, TAGS, row_lengths, IOB2)[1][0].endswith("wrong in IOB2: B-X is expected")
    names = ["O", "B-X", "x"]
    _, faults = interpret(np.array([0, 1, 2]), names, np.array([3]), "auto")
    assert list(faults) == [2] and faults[2].startswith("the tag 'x' is in none of the schemes")
    assert (
        "--tag_scheme=plain"
        in interpret(np.array([0, 1]), ["NOUN", "O"], np.array([2]), IOB2)[1][0]
    )
    assert interpret(np.array([0, 1, 2]), names, np.array([3]), PLAIN) == (PLAIN, {})
    assert interpret(np.array([0, 1]), ["NOUN", "O"], np.array([2]), "auto") == (PLAIN, {})

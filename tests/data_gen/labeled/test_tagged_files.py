import gzip
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.labeled import tagged_files
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.tagged_files import TaggedSentences
from tests.data_gen.labeled.common import json_lines


def read_tagged_file(path, flag, file_format="auto", **options):
    return tagged_files.read_tagged_file(SourceFile(path, flag, file_format), **options)


def sentences(read: TaggedSentences) -> list[list[tuple[str, str | None]]]:
    tags = (
        [None] * len(read.words)
        if read.tags is None
        else [read.tag_names[tag] for tag in read.tags]
    )
    pairs = iter(zip(read.words, tags, strict=True))
    return [[next(pairs) for _ in range(length)] for length in read.row_lengths]


CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP I-ORG
rejects VBZ B-VP O

Peter NNP B-NP I-PER
Blackburn NNP I-NP I-PER

-DOCSTART- -X- -X- O

BRUSSELS NNP B-NP I-LOC
"""


def test_the_official_layout_of_conll(write):
    read = read_tagged_file(write(CONLL), "train_file")
    assert sentences(read) == [
        [("EU", "I-ORG"), ("rejects", "O")],
        [("Peter", "I-PER"), ("Blackburn", "I-PER")],
        [("BRUSSELS", "I-LOC")],
    ]
    assert read.documents.tolist() == [0, 0, 1]
    assert read.where(2) == f"{read.path}:6"
    by_number = read_tagged_file(read.path, "train_file", label_column="1")
    assert [read.tag_names[tag] for tag in read.tags[:1]] == ["I-ORG"]
    assert [by_number.tag_names[tag] for tag in by_number.tags] == [
        "NNP",
        "VBZ",
        "NNP",
        "NNP",
        "NNP",
    ]


def test_gzip_byte_order_mark_crlf_tabs_and_no_line_end(tmp_path):
    path = tmp_path / "file.txt.gz"
    path.write_bytes(gzip.compress("\ufeffNew\u00a0York\tB-LOC\r\n \t\r\nx\tO".encode()))
    read = read_tagged_file(str(path), "train_file")
    assert len(read) == 2
    assert read.words == ["New\u00a0York", "x"]
    assert read.documents is None


def test_words_without_tags(write):
    path = write("Peter\nsleeps\n")
    assert read_tagged_file(path, "test_file", needs_tags=False).tags is None
    with pytest.raises(UserError, match="--dev_file: .* has no labels"):
        read_tagged_file(path, "dev_file")


def test_objects_without_the_usual_key_of_tags_are_told_which_it_is(write):
    path = write('{"tokens": ["Oslo"], "tags": ["B-LOC"]}\n', "tags.jsonl")
    with pytest.raises(UserError, match="has no labels: .* 'ner_tags' .*--label_column"):
        read_tagged_file(path, "train_file")
    assert read_tagged_file(path, "train_file", label_column="tags").tag_names == ("B-LOC",)


def test_json_lines_with_tokens(write):
    path = write(
        json_lines(
            {"tokens": ["a", "b c"], "ner_tags": [0, 1], "document": "x"},
            {"tokens": []},
            {"tokens": ["d"], "ner_tags": [1], "document": "y"},
        ),
        "file.jsonl",
    )
    read = read_tagged_file(path, "train_file", label_names=("O", "B-X"))
    assert sentences(read) == [[("a", "O"), ("b c", "B-X")], [("d", "B-X")]]
    assert read.documents.tolist() == [0, 1]
    with pytest.raises(
        UserError, match=": lines 1, 3: the tag 1 is a number without a name.*--label_names=O,"
    ):
        read_tagged_file(path, "train_file", label_names=("O",))


def test_json_lines_with_offsets_and_what_does_not_fall_on_words(write):
    text = "Zoë met O'Neil, 北京 ."
    path = write(
        json_lines(
            {
                "text": text,
                "entities": [
                    [8, 14, "PER"],
                    {"start": 0, "end": 3, "label": "PER"},
                    [16, 18, "LOC"],
                ],
            },
            {"text": "Parisian", "entities": [[0, 5, "LOC"]]},
            {"text": "a  b", "entities": [[1, 2, "X"]]},
        ),
        "file.jsonl",
    )
    read = read_tagged_file(path, "train_file")
    assert sentences(read)[0] == [
        ("Zoë", "B-PER"),
        ("met", "O"),
        ("O", "B-PER"),
        ("'", "I-PER"),
        ("Neil", "I-PER"),
        (",", "O"),
        ("北", "B-LOC"),
        ("京", "I-LOC"),
        (".", "O"),
    ]
    assert sentences(read)[1] == [("Parisian", "B-LOC")]
    assert all(
        read.texts[0][start:end] == word
        for word, (start, end) in zip(read.words, read.offsets[:9], strict=False)
    )
    (note,) = read.notes
    assert note.startswith(
        f"{path}:2: 'Paris' [0, 5] does not fall on the borders of words and 1 more"
    )


ROW = st.tuples(
    st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=4),
    st.sampled_from(["O", "B-X", "I-X"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, rows):
    # Beside numbers a column of I-X alone may be the words.
    assume(any(tag != "I-X" for sentence in rows for _, tag in sentence))
    path = tmp_path_factory.mktemp("round") / "file"
    for file_format, text in (
        (
            "auto",
            "\n\n".join(
                "\n".join(f"{word} x {tag}" for word, tag in sentence) for sentence in rows
            ),
        ),
        (
            "conll",
            "\n\n".join("\n".join(f"{word}\t{tag}" for word, tag in sentence) for sentence in rows),
        ),
        (
            "jsonl",
            json_lines(
                *(
                    {
                        "tokens": [word for word, _ in sentence],
                        "ner_tags": [tag for _, tag in sentence],
                    }
                    for sentence in rows
                )
            ),
        ),
    ):
        path.write_bytes(text.encode())
        assert sentences(read_tagged_file(str(path), "train_file", file_format)) == rows


BAD = {
    "ragged": (
        "conll",
        "a O\nb x O\n",
        ":2: 2 columns expected, as in the first line, but 3 found",
    ),
    "empty": ("conll", "", "holds no word"),
    "blank": ("conll", "\n \n-DOCSTART- O\n", "holds no word"),
    "no json": ("jsonl", "x\n", ":1: not JSON"),
    "no words": ("jsonl", '{"tokens": "a b"}\n', ":1: 'tokens' must be a list of words"),
    "number of tags": (
        "jsonl",
        '\n{"tokens": ["a"], "ner_tags": []}\n',
        ":2: 'ner_tags' must be a list of 1 tags",
    ),
    "kind of tag": (
        "jsonl",
        '{"tokens": ["a"], "ner_tags": [null]}\n',
        ":1: a tag must be a string, or a number from 0, not None",
    ),
    "mixed": (
        "jsonl",
        '{"tokens": ["a"], "ner_tags": ["O"]}\n{"tokens": ["a"]}\n',
        ":2: this line ",
    ),
    "mixed forms": (
        "jsonl",
        '{"tokens": ["a"]}\n{"text": "a"}\n',
        ":2: lines with tokens and lines with a text",
    ),
    "outside": (
        "jsonl",
        '{"text": "a", "entities": [[0, 2, "X"]]}\n',
        r":1: the entity \[0, 2, 'X'\] is not in its",
    ),
    "entity": ("jsonl", '{"text": "a", "entities": [[0, "X"]]}\n', ":1: .* is no entity"),
    "overlap": (
        "jsonl",
        '{"text": "a b", "entities": [[0, 3, "X"], [2, 3, "Y"]]}\n',
        ":1: entities overlap at 'b'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_by_file_and_line(write, name):
    file_format, text, message = BAD[name]
    path = write(text)
    with pytest.raises(UserError, match=re.escape(path) + " ?" + message):
        read_tagged_file(path, "train_file", file_format)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label_column": "7"}, ":1: no column 7"),
        ({"label_column": "-3"}, ":1: no column -3"),
        ({"label_column": "2"}, ":1: no column 2 .*there are 2, counted from 0"),
        ({"word_column": "x"}, "--word_column=x: a number is expected"),
    ],
)
def test_columns_that_are_not_there(write, columns, message):
    with pytest.raises(UserError, match=message):
        read_tagged_file(write("a O\n"), "train_file", **columns)


def test_wnut17_has_the_published_numbers_of_sentences(real_data):
    for split, number in (("train", 3394), ("dev", 1009), ("test", 1287)):
        read = read_tagged_file(str(real_data / "ner" / f"wnut17_{split}.conll"), "train_file")
        assert len(read) == number
        assert np.all(read.row_lengths > 0)
        assert len(read.tag_names) == 13


def test_texts_without_a_word_are_counted(write):
    lines = [{"text": "Ada"}, {"text": ""}, {"text": "b"}, {"text": " "}]
    path = write(json_lines(*({**line, "entities": []} for line in lines)), "a.jsonl")
    read = read_tagged_file(path, "test_file")
    assert read.texts == ["Ada", "b"]
    (note,) = read.notes
    assert "out, also of predictions: 2, the first is line 2" in note

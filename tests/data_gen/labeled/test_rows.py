import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.labeled.glue import GLUE_TASKS, read_split
from data_gen.labeled.labeled_texts import LabeledTexts, read_labeled_file
from data_gen.labeled.multiple_choice import ChoiceColumns, read_custom
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.sentence_pairs import SentencePairs, read_columns
from data_gen.labeled.squad import read_squad
from data_gen.labeled.tagged_files import read_tagged_file


def read_texts(path, skip):
    return read_labeled_file(
        SourceFile(path, "train_file", skip_bad_rows=skip),
        text_a_column="text",
        label_column="label",
    )


def read_choices(path, skip):
    return read_custom(
        SourceFile(path, "train_file", skip_bad_rows=skip),
        ChoiceColumns(choices=("a", "b"), question="q", label="y"),
        label_kind="index",
    )


def read_pairs(path, skip):
    return read_columns(
        SourceFile(path, "train_file", skip_bad_rows=skip),
        [("a", "text_a_column"), ("b", "text_b_column")],
        ("s", "label_column"),
    )


# Name: (contents, reader, bad lines → what is wrong, texts of what is left).
FILES = {
    "train.csv": (
        b'text,label\ngood day,pos\n,pos\nbad,day,neg\ncaf\xe9,pos\n"two\nlines",neg\nfine,\n',
        read_texts,
        {
            3: "the text is empty",
            4: "2 columns expected",
            5: "the byte 0xe9 is not UTF-8",
            8: "the label is empty",
        },
        ["good day", "two\nlines"],
    ),
    "train.jsonl": (
        b'{"text": "a", "label": 1}\n[]\n{"text": "b"}\n{"text": 5, "label": 1}\n'
        b'{"text": "c", "label": 0}\n{',
        read_texts,
        {
            2: "one JSON object per line",
            3: "no column 'label'",
            4: "'text' must be a string",
            6: "not JSON",
        },
        ["a", "c"],
    ),
    "choices.tsv": (
        "q\ta\tb\ty\none\tx\ty\t0\ntwo\tx\t\t0\nthree\tx\ty\t٣\nfour\tx\ty\t\nfive\tx\ty\t1\n".encode(),
        read_choices,
        {
            3: "1 choice found",
            4: "the label '٣' is none of the 2 choices",
            5: "the label '' is none of the 2 choices",
        },
        ["one", "five"],
    ),
    "pairs.tsv": (
        "a\tb\ts\none\tx\t0.5\ntwo\tx\t1_0\nthree\tx\t٣\nfour\tx\t7\n".encode(),
        read_pairs,
        {
            3: "the score '1_0' is not a finite number",
            4: "the score '٣' is not a finite number",
            5: "the score is '7', at most 1 is expected",
        },
        ["one"],
    ),
    "tags.conll": (
        b"Ada B-PER\n\nin O\nRome I-LOC\n\nnew O x\n\nat O\nhome O\n\nan I-PER\n",
        lambda path, skip: read_tagged_file(
            SourceFile(path, "train_file", skip_bad_rows=skip), tag_scheme="iob2"
        ),
        {
            4: "I-LOC after the tag O is wrong in IOB2",
            6: "2 columns expected",
            11: "I-PER after the start of the sentence",
        },
        ["Ada", "at", "home"],
    ),
}


def texts_of(found) -> list[str]:
    return (
        next(
            getattr(found, name)
            for name in ("text_a", "questions", "words")
            if hasattr(found, name)
        )
        if not isinstance(found, SentencePairs)
        else found.columns[0]
    )


@pytest.mark.parametrize("name", FILES)
def test_all_bad_rows_are_reported_together_and_can_be_left_out(tmp_path, name):
    contents, read, bad, left = FILES[name]
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(UserError) as refused:
        read(str(path), False)
    message = str(refused.value)
    assert (
        f"{path}: {len(bad)} of {len(bad) + len(left) - (name == 'tags.conll')} rows are bad"
        in message
    )
    # So many rows have a cause that is worth mending.
    assert "--skip_bad_rows" not in message
    with pytest.raises(UserError, match=f"may be left out: .*--skip_bad_rows={len(bad)}: line"):
        read(str(path), True)
    found = read(str(path), len(bad))
    assert texts_of(found) == left and "left out" in found.notes[-1]
    assert [row["line"] for row in found.left_out] == list(bad)
    for line, what in bad.items():
        assert f"line {line}: {what}" in message and f"line {line}: {what}" in found.notes[-1]
    with pytest.raises(UserError) as refused:
        read(str(path), None)
    assert "--skip_bad_rows" not in str(refused.value)


def test_five_rows_are_named_and_equal_faults_once(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\n" + "a\tx\nb\ty\n" + "\tx\n" * 6 + "c\n")
    with pytest.raises(
        UserError,
        match=r"train.tsv: 7 of 9 rows are bad: lines 4, 5, 6, 7, 8: the text is empty "
        r".*; and 2 more$",
    ):
        read_texts(str(path), False)
    path.write_text("text\tlabel\n" + "a\tx\nb\ty\n" * 20 + "\tx\n" + "c\n")
    with pytest.raises(UserError, match=r"2 of 42 rows are bad \(fix them, or .*--skip_bad_rows\)"):
        read_texts(str(path), False)
    assert len(read_texts(str(path), True)) == 40
    # Equal faults have one cause: the advice would spoil the training.
    path.write_text("text\tlabel\n" + "a\tx\nb\ty\n" * 20 + "\tx\n" * 2)
    with pytest.raises(UserError, match="2 of 42 rows are bad: lines 42, 43: the text is empty"):
        read_texts(str(path), False)
    path.write_text("text\tlabel\na\tx\nb\ty\n\tx\n")
    with pytest.raises(
        UserError, match="train.tsv:4: the text is empty .*; or leave it out with --skip_bad_rows$"
    ):
        read_texts(str(path), False)
    path.write_text("text\tlabel\n\tx\n\ty\n")
    with pytest.raises(UserError, match="train.tsv: 2 of 2 rows are bad"):
        read_texts(str(path), True)


def test_files_of_glue(tmp_path):
    (tmp_path / "train.tsv").write_text("sentence\tlabel\na\t1\nb\t2\nc\nd\t0\n")
    task = GLUE_TASKS["sst-2"]
    with pytest.raises(
        UserError,
        match="2 of 4 rows are bad: line 3: the label '2' is not known.*; line 4: 2 columns",
    ):
        read_split(task, str(tmp_path), "train", skip_bad_rows=False)
    found = read_split(task, str(tmp_path), "train", skip_bad_rows=2)
    assert (found.text_a, found.labels.tolist()) == (["a", "d"], [1, 0])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), min_size=30, max_size=120),
    st.sampled_from([0.1, 0.3]),
    st.integers(0, 5),
)
def test_a_split_keeps_groups_together_and_classes_alike(rows, fraction, seed):
    texts = [f"text {number}" for number, _ in rows]
    label_of: dict[str, int] = {}
    labels = np.array(
        [label_of.setdefault(text, label) for text, (_, label) in zip(texts, rows, strict=True)],
        np.int32,
    )
    whole = LabeledTexts("train.csv", list(map(str, range(len(rows)))), texts, None, labels)
    if len(label_of) == len(set(label_of.values())):
        return
    train, dev = whole.split(fraction, seed)
    assert sorted(map(int, train.ids + dev.ids)) == list(range(len(rows)))
    assert not set(train.text_a) & set(dev.text_a)
    assert set(train.labels.tolist()) == set(labels.tolist())
    largest = max(Counter(texts).values())
    assert len(dev) <= fraction * len(rows) + largest
    again = whole.split(fraction, seed)
    assert (again[0].ids, again[1].ids, again[0].notes) == (train.ids, dev.ids, train.notes)


def test_a_split_is_stratified_and_seeded():
    labels = np.repeat(np.array([0, 1, 2], np.int32), [700, 250, 50])
    whole = LabeledTexts(
        "train.csv", list(map(str, range(1000))), list(map(str, range(1000))), None, labels
    )
    train, dev = whole.split(0.1, 12345)
    assert np.bincount(dev.labels).tolist() == [70, 25, 5]
    assert whole.split(0.1, 1)[1].ids != dev.ids
    assert train.notes == (
        "train.csv: 100 of 1,000 examples are held out as the development set (--dev_fraction=0.1, "
        "--split_seed=12345; SHA-256 of their numbers d2961f045c9e…)",
    )
    with pytest.raises(
        UserError, match="--dev_fraction=0.1 of 1 examples, of which 1 can be told apart, is none"
    ):
        whole.first(1).split(0.1, 1)


def test_articles_documents_contexts_and_paragraphs_stay_together(tmp_path):
    path = tmp_path / "train.json"
    path.write_text(
        json.dumps(
            {
                "data": [
                    {
                        "paragraphs": [
                            {
                                "context": f"article {a}, {p}",
                                "qas": [{"id": f"{a} {p}", "question": "?", "answers": []}],
                            }
                            for p in range(3)
                        ]
                    }
                    for a in range(10)
                ]
            }
        )
    )
    train, dev = read_squad(str(path), "train_file").split(0.2, 1)
    articles = [
        {data.contexts[question.context][:9] for question in data.questions}
        for data in (train, dev)
    ]
    assert (len(train), len(dev), len(dev.contexts)) == (24, 6, 6) and not articles[0] & articles[1]
    path = tmp_path / "train.conll"
    path.write_text("\n".join(f"-DOCSTART-\n\na{d} O\nb B-X\n\nc{d} I-X\n" for d in range(10)))
    train, dev = read_tagged_file(SourceFile(str(path), "train_file")).split(0.3, 1)
    assert (len(train), len(dev), len(dev.words)) == (14, 6, 9) and len(
        set(dev.documents.tolist())
    ) == 3
    assert [dev.tag_names[tag] for tag in dev.tags[:3]] == ["O", "B-X", "I-X"]
    path = tmp_path / "train.tsv"
    path.write_text(
        "q\tc\ta\tb\ty\n" + "".join(f"q{n}\tcontext {n // 4}\tx\ty\t0\n" for n in range(40))
    )
    train, dev = read_custom(
        SourceFile(str(path), "train_file"),
        ChoiceColumns(choices=("a", "b"), question="q", context="c", label="y"),
    ).split(0.2, 1)
    assert len(dev) == 8 and not set(train.contexts) & set(dev.contexts)
    pairs = SentencePairs(
        "", [[f"question {n}" for n in range(20)], [f"paragraph {n // 2}" for n in range(20)]]
    )
    train, dev = pairs.split(0.2, 1)
    assert len(dev) == 4 and not set(train.columns[1]) & set(dev.columns[1])

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.labeled.labeled_texts import read_labeled_file
from data_gen.labeled.rows import SourceFile
from tests.data_gen.labeled.common import json_lines, refusal

LABELS = ["bad", "good"]
TSV = "text\tlabel\nA fine day.\tgood\nA dull one.\tbad\n"


def read(
    path, labels=LABELS, label="label", text_a="text", text_b=None, file_format="auto", **options
):
    return read_labeled_file(
        SourceFile(path, "train_file", file_format),
        text_a_column=text_a,
        text_b_column=text_b,
        label_column=label,
        labels=labels,
        **options,
    )


def labels_of_file(path, label="label", text_a="text", **options):
    return list(read(path, None, label, text_a, **options).label_names)


def test_the_three_formats(write):
    contents = {
        "train.tsv": 'label\ttext\tsecond\nbad\tsay "no", or\t\ngood\t"yes\tthen\n',
        "train.csv": 'label,text,second\nbad,"say ""no"", or",\ngood,"""yes",then\n',
        "train.jsonl": json_lines(
            {"label": "bad", "text": 'say "no", or', "second": "", "more": [1]},
            {"text": '"yes', "second": "then", "label": "good"},
        ),
    }
    for name, content in contents.items():
        path = write(content, name)
        found = read(path, text_b="second")
        assert (found.path, found.ids, len(found)) == (path, ["0", "1"], 2)
        assert found.text_a == ['say "no", or', '"yes']
        assert found.text_b == ["", "then"]
        np.testing.assert_array_equal(found.labels, np.array([0, 1], np.int32), strict=True)
        unlabeled = read(path, None, label=None)
        assert (unlabeled.text_a, unlabeled.text_b, unlabeled.labels) == (
            found.text_a,
            None,
            None,
        )
        assert labels_of_file(path, "label") == LABELS
    assert read(write("text,label\nfine,good\n", "train.data"), file_format="csv").text_a == [
        "fine"
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TSV.encode(),
        TSV.replace("\n", "\r\n"),
        TSV.rstrip("\n"),
        f"{TSV}\n\n",
        f"\n{TSV}",
        TSV.replace("label\n", "label\n\n"),
        TSV.replace("\tlabel", "\t label ").replace("good", " good "),
    ],
    ids=[
        "BOM",
        "CRLF",
        "no last line end",
        "blank lines at the end",
        "at the beginning",
        "between",
        "spaces",
    ],
)
def test_harmless_oddities(write, content):
    for name, separator in (("train.tsv", b"\t"), ("train.csv", b",")):
        data = (content if isinstance(content, bytes) else content.encode()).replace(
            b"\t", separator
        )
        found = read(write(data, name))
        assert found.text_a == ["A fine day.", "A dull one."]
        assert found.labels.tolist() == [1, 0]


def test_only_line_feeds_end_a_row(write):
    text = "one\x85two\u2028three\x0cfour\x1dfive"
    assert read(write(f"text\tlabel\n{text}\tgood\n")).text_a == [text]


def test_columns_by_number_in_a_file_without_header(write):
    path = write("7\tfine\t1\n8\tdull\t0\n")
    found = read(path, ["0", "1"], text_a="1", label="2")
    assert (found.text_a, found.labels.tolist()) == (["fine", "dull"], [1, 0])
    assert labels_of_file(path, "2", "1") == ["0", "1"]


@pytest.mark.parametrize("name", ["train.tsv", "train.csv", "train.jsonl"])
def test_empty_and_missing_files(write, tmp_path, name):
    for content in ("", "\n\n", b"\xef\xbb\xbf"):
        path = write(content, name)
        assert refusal(read, path).startswith(f"{path} is empty")
        assert refusal(labels_of_file, path, "label").startswith(f"{path} is empty")
    assert refusal(read, f"{path}x", file_format="tsv") == (
        f"--train_file: {path}x does not exist: did you mean {name}?"
    )
    assert refusal(read, str(tmp_path), file_format="csv").startswith(
        f"--train_file: {tmp_path} is a directory"
    )


def test_scores(write):
    path = write("text\tlabel\na\t1.5\nb\t -2e1 \n")
    np.testing.assert_array_equal(
        read(path, None, regression=True).labels, np.array([1.5, -20], np.float32), strict=True
    )
    for value in ("high", "", "nan", "inf", "1e40", "1,5"):
        path = write(f"text\tlabel\na\t1.5\nb\t{value}\n")
        assert (
            refusal(read, path, None, regression=True)
            == f"{path}:3: the score {value!r} is not a finite number"
        )
    path = write(
        json_lines(
            {"text": "a", "label": 3}, {"text": "b", "label": 0.25}, {"text": "c", "label": "1"}
        ),
        "train.jsonl",
    )
    assert read(path, None, regression=True).labels.tolist() == [3, 0.25, 1]
    for value in (None, True, [1], float("nan")):
        path = write(json_lines({"text": "a", "label": value}), "train.jsonl")
        assert refusal(read, path, None, regression=True).startswith(f"{path}:1: the score ")


def test_long_fields(write):
    text = "word " * 40_000
    limit = csv.field_size_limit()
    assert read(write(f'text,label\n"{text}",good\n', "train.csv")).text_a == [text]
    assert csv.field_size_limit() == limit
    path = write(f"text\tlabel\na\t{text}\n")
    assert len(refusal(read, path)) < len(path) + 200


def test_labels_in_order(write):
    def labels(*values):
        path = write("text\tlabel\n" + "".join(f"a\t{value}\n" for value in values))
        return labels_of_file(path, "label")

    assert labels("b", "a", "C", "b") == ["C", "a", "b"]
    assert labels(10, 9, -1, 10) == ["-1", "9", "10"]
    assert labels(10, 9, "x") == ["10", "9", "x"]
    assert labels("1", "01", "1") == ["01", "1"]
    path = write(
        json_lines(*({"text": "a", "label": label} for label in (2, True, "2", False))),
        "train.jsonl",
    )
    assert labels_of_file(path, "label") == ["2", "false", "true"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(LABELS)), min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory, examples):
    path = tmp_path_factory.mktemp("written") / "train.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "other", "label"), *examples])
    expected = [list(column) for column in zip(*examples, strict=True)]
    found = read(str(path), text_b="other")
    assert [found.text_a, found.text_b, [LABELS[number] for number in found.labels]] == expected
    path = path.with_suffix(".jsonl")
    path.write_text(
        json_lines(
            *(dict(zip(("text", "other", "label"), example, strict=True)) for example in examples)
        )
    )
    found = read(str(path), text_b="other")
    assert [found.text_a, found.text_b] == expected[:2]


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.tsv", "text\tlabel\none\tnew,good\ntwo\t\nthree\t good, ,good\n"),
        ("a.csv", 'text,label\none,"new,good"\ntwo,\nthree,good\n'),
        (
            "a.jsonl",
            '{"text": "one", "label": ["new", "good"]}\n{"text": "two", "label": []}\n'
            '{"text": "three", "label": "good"}\n',
        ),
    ],
)
def test_several_labels(write, name, content):
    path = write(content, name)
    assert labels_of_file(path, "label", separator=",") == ["good", "new"]
    found = read(path, ["good", "new"], separator=",").labels
    assert found.dtype == np.uint8 and found.tolist() == [[1, 1], [0, 0], [1, 0]]


OTHER, OF_FILE, SEVERAL = (
    {"text_b": "other"},
    {"labels": None},
    {"labels": ["new"], "separator": "|"},
)
NO_COLUMN = "PATH:1: no column 'other' (--text_b_column); the columns are 'text', 'label'"
MIXED = "the label 'mixed' is not known; the labels are 'bad', 'good'"


@pytest.mark.parametrize(
    "name, content, options, message",
    [
        (
            "a.data",
            TSV,
            {},
            "--train_file: the extension of PATH ",
        ),
        (
            "a.tsv",
            "a\t1\n",
            {"text_a": "0", "label": "2"},
            "PATH:1: no column number 2 (--label_column): the first row ",
        ),
        # A header where none is expected.
        (
            "a.tsv",
            "x\tlabel\na\tgood\nb\tbad\nc\tgood\nd\tbad\n",
            {"labels": None, "text_a": "0", "label": "1"},
            "PATH:1: the label 'label' occurs nowhere else: this looks like a header. Name the columns as it does, or ",
        ),
        (
            "a.tsv",
            "x\tlabel\na\tgood\n",
            {"text_a": "0", "label": "1"},
            "PATH:1: the label 'label' is not known",
        ),
        ("a.tsv", TSV, OTHER, f"{NO_COLUMN}. If this is no header, give"),
        ("a.csv", TSV.replace("\t", ","), OTHER, f"{NO_COLUMN}. If this is no header, give"),
        ("a.jsonl", json_lines({"text": "a", "label": "good"}), OTHER, NO_COLUMN),
        ("a.tsv", f"\n{TSV}so so\tmixed\n", {}, f"PATH:5: {MIXED}"),
        (
            "a.csv",
            'text,label\n"two\nlines",good\n\n"more\n\nlines",mixed\n',
            {},
            f"PATH:5: {MIXED}",
        ),
        (
            "a.jsonl",
            json_lines({"text": "a", "label": "good"}, {"text": "b", "label": "mixed"}),
            {},
            f"PATH:2: {MIXED}",
        ),
        (
            "a.tsv",
            "text\tlabel\nfine\tgood\n\nfine\n",
            {},
            "PATH:4: 2 columns expected, as in the first row, but 1 found: texts must not hold tabs or line breaks",
        ),
        (
            "a.csv",
            'text,label\n"fine\nday",good\nwell, then,bad\n',
            {},
            "PATH:4: 2 columns expected, as in the first row, but 3 found: quote fields",
        ),
        (
            "a.csv",
            "text,label\na,good\ntext,label\nb,bad\n",
            OF_FILE,
            "PATH:3: it repeats the header",
        ),
        # A blank line of a single column is an empty text.
        ("a.tsv", "text\na\n\nb\n\n", {"labels": None, "label": None}, "PATH:3: the text is empty"),
        ("a.csv", "text\na\n\nb\n\n", {"labels": None, "label": None}, "PATH:3: the text is empty"),
        (
            "a.csv",
            'text,label\na,good\n"b,bad\nc,good\n',
            {},
            "PATH:3: not CSV: a quotation mark is not closed (inside quotes, a quotation mark is written twice)",
        ),
        ("a.csv", 'text,label\n"a" b,good\n', {}, "PATH:2: not CSV: "),
        (
            "a.tsv",
            "text\tlabel\na\tgood\nb\tgood\n",
            OF_FILE,
            "PATH: every example has the label 'good': at least two classes are expected (column 'label')",
        ),
        (
            "a.tsv",
            "text\tlabel\none\tnew\ntwo\todd|new\n",
            SEVERAL,
            "PATH:3: the label 'odd' is not known; the labels are",
        ),
        (
            "a.jsonl",
            '{"text": "a", "label": ["new", 0.5]}\n',
            SEVERAL,
            "PATH:1: a label must be a string or a whole ",
        ),
        (
            "a.jsonl",
            '{"text": "a", "label": ["new", "good"]}\n',
            {},
            "PATH:1: a label must be a string or a whole number, not ['new', 'good']",
        ),
        (
            "a.tsv",
            "text\tlabel\none\t\n",
            {**OF_FILE, "separator": ","},
            "PATH: no example has a label (column 'label')",
        ),
    ],
)
def test_what_is_refused(write, name, content, options, message):
    path = write(content, name)
    assert refusal(read, path, **options).startswith(message.replace("PATH", path))


@pytest.mark.parametrize(
    ("name", "text", "columns", "expected"),
    [
        (
            "f.csv",
            "id,text\n1,a\n",
            ["text"],
            "2 columns separated by ','; a header, columns 'text'",
        ),
        ("f.csv", "id;text\n1;a\n", ["text"], "separated by ';'"),
        ("f.csv", "1,a\n", ["1"], "no header, columns 1 (from 0)"),
        ("f.tsv", '"id"\t"text"\n1\t"a ""b"""\n', ["text"], "fields in quotation marks"),
    ],
)
def test_what_was_guessed_about_a_file_is_said(tmp_path, name, text, columns, expected):
    path = tmp_path / name
    path.write_text(text)
    texts = read_labeled_file(SourceFile(str(path), "train_file"), text_a_column=columns[0])
    assert len(texts.notes) == 1 and expected in texts.notes[0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["0", "1", "-1"] * 9, "the label -1 means that there is none"),
        (["pos", "neg", "-1"] * 9, "the label -1 means that there is none"),
        (["0", "1", "-100"] * 9, "the label -100 means that there is none"),
        (["pos", "neg", "nan"] * 9, "the label nan means that there is none"),
        (["neutral", "entailment", "-"] * 9, "the label - means that there is none"),
        (["+", "-"] * 9, None),
        (["x", "-"] * 9, None),
        (["2,3", "0,5", "4"] * 9, "such as 2,3 .* --regression for scores .also with decimal comm"),
        (["3.5", "4"] * 15 + ["n/a"], "the labels are numbers such as 3.5"),
        (["-1", "1"] * 9, None),
        (["1.0", "0.0"] * 9, None),
    ],
)
def test_what_is_no_class(write, labels, message):
    path = write(
        "text;label\n" + "".join(f"a {row};{y}\n" for row, y in enumerate(labels)), "a.csv"
    )
    columns = {"text_a_column": "text", "label_column": "label"}
    if message is None:
        assert len(read_labeled_file(SourceFile(path, "train_file"), **columns).label_names) == 2
        return
    with pytest.raises(UserError, match=message):
        read_labeled_file(SourceFile(path, "train_file"), **columns)
    if "-1" in labels:
        texts = read_labeled_file(SourceFile(path, "train_file", skip_bad_rows=9), **columns)
        assert len(texts) == 18 and "-1" not in texts.label_names


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (["2,3", "0,25", "4"], [2.3, 0.25, 4]),
        (["1,234", "2,345"], None),
        (["2,3", "0.5"], None),
    ],
)
def test_scores_with_decimal_commas(write, scores, expected):
    path = write("text;y\n" + "".join(f"a {row};{y}\n" for row, y in enumerate(scores)), "a.csv")
    arguments = {"text_a_column": "text", "label_column": "y", "regression": True}
    if expected is None:
        assert "is not a finite number" in refusal(
            read_labeled_file, SourceFile(path, "x"), **arguments
        )
        return
    found = read_labeled_file(SourceFile(path, "train_file"), **arguments)
    assert np.allclose(found.labels, expected)
    assert any("decimal commas" in note for note in found.notes)


def test_inner_marks_with_a_backslash(write):
    """As Spark writes TSV."""
    rows = [(f'"he said \\"cold {row}\\" and left"', "ab"[row % 2]) for row in range(4)]
    path = write("text\tlabel\n" + "".join(f"{text}\t{y}\n" for text, y in rows), "a.tsv")
    columns = {"text_a_column": "text", "label_column": "label"}
    found = read_labeled_file(SourceFile(path, "train_file"), **columns)
    assert found.text_a[0] == 'he said "cold 0" and left'
    # Other backslashes and marks are characters.
    path = write('text\tlabel\n"a" \\n b\tx\n5" \\" c\ty\n', "b.tsv")
    assert read_labeled_file(SourceFile(path, "x"), **columns).text_a == ['"a" \\n b', '5" \\" c']


@pytest.mark.parametrize("pair", [("Pos", "pos"), ("caf\u00e9", "cafe\u0301")])
def test_classes_that_look_alike_are_said(write, pair):
    path = write("text,label\n" + f"a,{pair[0]}\nb,{pair[1]}\nc,neg\n" * 3, "a.csv")
    texts = read_labeled_file(
        SourceFile(path, "train_file"), text_a_column="text", label_column="label"
    )
    expected = "3 classes differ in their case only, or in how accents are written"
    assert any(expected in note for note in texts.notes)

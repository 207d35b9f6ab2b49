"""Rows of a test file that can't be predicted keep their place in the predictions."""

import json

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.runs.evaluation import write_test_results
from bert_tf.tasks.classification.data import (
    CLASSES,
    SCORES,
    SEVERAL_CLASSES,
    ClassificationData,
)
from bert_tf.tasks.classification.task import _with_gaps, write_predictions
from data_gen.labeled.labeled_texts import read_labeled_file
from data_gen.labeled.rows import SourceFile

# Rows 0, 2 and 5 have no text; the last row has a column too many.
ROWS = ["a,", "b,one", "c,", "d,two", "e,three", "f, ", "g,four,five"]


def read(tmp_path, rows=ROWS):
    path = tmp_path / "test.csv"
    path.write_text("\n".join(["key,text", *rows]) + "\n")
    return read_labeled_file(
        SourceFile(str(path), "test_file"),
        text_a_column="text",
        id_column="key",
        keep_unusable=True,
    )


def make_data(kind):
    labels = () if kind == SCORES else ("x", "y")
    return ClassificationData(
        glue=None,
        kind=kind,
        labels=labels,
        metrics=(),
        train=None,
        dev={},
        test={},
        positive_weights=None,
        notes=[],
        description={},
    )


@pytest.mark.parametrize(
    ("kind", "answer", "empty"),
    [(CLASSES, "label", ""), (SEVERAL_CLASSES, "labels", None), (SCORES, "score", None)],
)
def test_every_row_has_a_line(tmp_path, kind, answer, empty):
    texts = read(tmp_path)
    assert texts.ids == ["b", "d", "e"] and texts.text_a == ["one", "two", "three"]
    data = make_data(kind)
    values = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    if kind == SCORES:
        values = values[:, 0]
    write_predictions(str(tmp_path / "p.jsonl"), data, texts, values)
    records = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert [record["id"] for record in records] == list("abcdefg")
    for number, record in enumerate(records):
        assert ("reason" in record) == (number not in (1, 3, 4))
        assert (record[answer] == empty) == ("reason" in record)
    assert "line 2" in records[0]["reason"] and "columns" in records[6]["reason"]
    write_test_results(str(tmp_path / "r.tsv"), _with_gaps(values, texts))
    lines = (tmp_path / "r.tsv").read_text().splitlines()
    assert [bool(line.strip()) for line in lines] == [n in (1, 3, 4) for n in range(7)]
    assert len({line.count("\t") for line in lines}) == 1


def test_the_first_examples_keep_the_rows_before_them(tmp_path):
    texts = read(tmp_path)
    for count, rows in ((1, "ab"), (2, "abcd"), (3, "abcdefg"), (None, "abcdefg")):
        part = texts.first(count)
        shown = [part.ids[row] if isinstance(row, int) else row.id for row in part.in_file_order()]
        assert "".join(shown) == rows


@pytest.mark.parametrize("rows", [["a,"], ["a,", "b, ", "c,"]])
def test_a_file_without_any_text_is_refused(tmp_path, rows):
    with pytest.raises(UserError, match="empty"):
        read(tmp_path, rows)

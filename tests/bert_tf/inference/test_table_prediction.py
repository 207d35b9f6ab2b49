import csv
import gzip
import io
import json

import pytest

from bert_common.errors import UserError
from bert_tf.inference.options import PredictOptions
from bert_tf.inference.predictor import Predictor, run
from tests.bert_tf.inference.test_predictor import CLASSES
from tests.tiny import write_tiny

SINGLE = {**CLASSES, "pair": False}
SEVERAL = {**SINGLE, "kind": "multi_label_classification"}
SCORE = {**SINGLE, "kind": "regression", "labels": []}
TABLE = 'key,text,label\nA,the array,no\nB, ,yes\nC,"lists, ""sorted"" .\n?",no\nD,who\n'


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """kind → path of a checkpoint."""
    paths = {}
    for name, head, task in (
        ("class", "classification", SINGLE),
        ("pair", "classification", CLASSES),
        ("several", "classification", SEVERAL),
        ("score", "regression", SCORE),
    ):
        paths[name] = write_tiny(tmp_path_factory.mktemp(name), head, task=task)
    paths["encoder"] = write_tiny(tmp_path_factory.mktemp("encoder"))
    return paths


def predict(checkpoint, tmp_path, text, name="in.csv", output="out.csv", **flags):
    """Returns what is written for a file of this text."""
    (tmp_path / name).write_text(text)
    values = {
        "init_checkpoint": str(checkpoint),
        "input_file": str(tmp_path / name),
        "output_file": str(tmp_path / output),
        "text_a_column": "text",
        **flags,
    }
    options = PredictOptions(**values, given=frozenset(values))
    options.check()
    run(options)
    content = (tmp_path / output).read_bytes()
    return (gzip.decompress(content) if output.endswith(".gz") else content).decode()


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_csv_file_comes_back_with_the_predictions(checkpoints, tmp_path):
    rows = rows_of(predict(checkpoints["class"], tmp_path, TABLE))
    predictor = Predictor.from_checkpoint(checkpoints["class"])
    expected = predictor(["the array", 'lists, "sorted" .\n?'])
    # All rows in their order, the unusable ones too, and the true labels under their own name.
    assert [row["key"] for row in rows] == ["A", "B", "C", "D"]
    assert [row["label"] for row in rows] == ["no", "yes", "no", ""]
    for row, result in zip((rows[0], rows[2]), expected, strict=True):
        assert row["predicted_label"] == result["label"] and row["reason"] == ""
        assert float(row["probability"]) == max(result["probabilities"].values())
    assert rows[2]["text"] == 'lists, "sorted" .\n?'
    for row, reason in ((rows[1], "empty"), (rows[3], "columns")):
        assert row["predicted_label"] == row["probability"] == "" and reason in row["reason"]


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("class", ["label", "probability"]),
        ("several", ["labels", "probability"]),
        ("score", ["score"]),
    ],
)
def test_each_kind_has_its_columns_and_keys(checkpoints, tmp_path, kind, columns):
    table = "text\na\n\nthe array is returned .\n"
    written = rows_of(predict(checkpoints[kind], tmp_path, table))
    assert list(written[0]) == ["text", *columns, "reason"]
    lines = predict(checkpoints[kind], tmp_path, table, output="out.jsonl").splitlines()
    records = [json.loads(line) for line in lines]
    # A blank line of a single column is a row without a text, as spreadsheets save an empty cell.
    assert [row["reason"] for row in written] == ["", "the text is empty", ""]
    del written[1], records[1]
    for row, record in zip(written, records, strict=True):
        value = record[columns[0]]
        assert row[columns[0]] == (",".join(value) if kind == "several" else str(value))
    assert [record["id"] for record in records] == ["0", "2"]


@pytest.mark.parametrize("name", ["in.tsv", "in.jsonl"])
def test_ids_of_other_formats_and_pairs(checkpoints, tmp_path, name):
    text = "key\ttext\tb\nA\tthe\tlist\nB\t\tlist\n"
    if name == "in.jsonl":
        text = '{"key": 7, "text": "the", "b": "list"}\n{"key": 8, "text": 1, "b": ""}\n[]\n'
    flags = {"id_column": "key", "text_b_column": "b", "output": "out.jsonl"}
    lines = predict(checkpoints["pair"], tmp_path, text, name, **flags).splitlines()
    records = [json.loads(line) for line in lines]
    assert list(records[0]) == ["id", "label", "probability", "probabilities"]
    assert [record["id"] for record in records][:2] == (["A", "B"] if "tsv" in name else [7, 8])
    for record in records[1:]:
        assert record["label"] == "" and record["reason"]


def test_repeated_ids_are_counted(checkpoints, tmp_path, capfd):
    predict(checkpoints["class"], tmp_path, "key,text\n1,a\n2,b\n1,c\n", id_column="key")
    assert (
        "1 rows have the id of an earlier one, the first is '1' in line 4" in capfd.readouterr().err
    )


@pytest.mark.parametrize("output", ["out.csv", "out.jsonl"])
def test_rows_that_could_not_be_read_have_their_line(checkpoints, tmp_path, capfd, output):
    table = 'key,text\n1,a\n"2,open\n3,b,c\n4,d\n'
    written = predict(checkpoints["class"], tmp_path, table, output=output)
    assert "line 3: not CSV" in written and "line 4: 2 columns expected" in written
    error = capfd.readouterr().err
    assert "the first is line 3: not CSV" in error and "line 3: line" not in error


def test_a_compressed_name_is_answered_in_its_format(checkpoints, tmp_path):
    expected = predict(checkpoints["class"], tmp_path, TABLE)
    assert predict(checkpoints["class"], tmp_path, TABLE, output="out.csv.gz") == expected


def test_parquet_comes_back_as_csv(checkpoints, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"key": [1, 2], "text": ["the array", None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "in.parquet")
    options = PredictOptions(
        init_checkpoint=str(checkpoints["class"]),
        input_file=str(tmp_path / "in.parquet"),
        output_file=str(tmp_path / "out.csv"),
        text_a_column="text",
    )
    run(options)
    rows = rows_of((tmp_path / "out.csv").read_text())
    assert [row["key"] for row in rows] == ["1", "2"]
    assert rows[0]["label"] and not rows[1]["label"] and rows[1]["reason"]


def test_a_file_without_a_header_gets_none(checkpoints, tmp_path):
    text = predict(checkpoints["class"], tmp_path, "A,the\nB,list\n", text_a_column="1")
    assert [line.split(",")[0] for line in text.splitlines()] == ["A", "B"]


@pytest.mark.parametrize(
    ("kind", "text", "flags", "message"),
    [
        ("class", TABLE, {"text_a_column": "txt"}, "txt"),
        ("class", TABLE, {"text_a_column": None}, "--text_a_column"),
        ("class", "text,label,predicted_label\na,b,c\n", {}, "predicted_label"),
        ("class", "text\n \n", {}, "no row"),
        ("class", '{"text": "a"}\n', {"name": "in.jsonl"}, "jsonl"),
        ("class", '{"text": "a"}\n', {"name": "in.jsonl", "text_a_column": "b"}, "no column"),
        ("pair", TABLE, {}, "pairs"),
        ("class", TABLE, {"text_b_column": "label"}, "single texts"),
        ("encoder", TABLE, {}, "--text_a_column"),
        ("class", "text\na\n", {"name": "in.txt"}, "in.txt"),
    ],
)
def test_what_is_refused(checkpoints, tmp_path, kind, text, flags, message):
    with pytest.raises(UserError, match=message):
        predict(checkpoints[kind], tmp_path, text, **flags)
    assert not (tmp_path / "out.csv").exists()


def test_memory_does_not_grow_with_the_table(checkpoints, tmp_path, monkeypatch):
    """Portions of rows are written before the next ones are read."""
    from bert_tf.inference import table_prediction
    from data_gen.labeled.row_stream import RowStream
    from data_gen.labeled.rows import SourceFile

    monkeypatch.setattr(table_prediction, "_ROWS_AT_ONCE", 2)
    path = tmp_path / "in.csv"
    path.write_text("text\n" + "a\n" * 9)
    options = PredictOptions(
        init_checkpoint="x", input_file=str(path), output_file="o.csv", text_a_column="text"
    )
    events = []

    class Watched(RowStream):
        def __iter__(self):
            for row in super().__iter__():
                events.append("read")
                yield row

    inference = Predictor.from_checkpoint(checkpoints["class"]).inference
    source = SourceFile(str(path), "input_file")
    table = Watched(source, [("text", "text_a_column")])
    table_prediction.predict_table(inference, table, options, lambda data: events.append("write"))
    assert events[:6] == ["read", "read", "write", "read", "read", "write"]
    assert len(events) == 14


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("key;text", "1;a list, sorted", "key;text;label;probability;reason\n1;a list, sorted;"),
        ('"key","text"', '"1","a list"', '"key","text","label","probability","reason"\n"1","a l'),
    ],
)
def test_a_table_comes_back_with_its_separator_mark_and_quoting(
    checkpoints, tmp_path, header, row, expected
):
    predict(checkpoints["class"], tmp_path, f"\ufeff{header}\n{row}\n")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("\ufeff" + expected)

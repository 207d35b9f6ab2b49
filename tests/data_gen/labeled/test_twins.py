"""What is there twice in a file, and should be there once: refused, or counted and said."""

import json

import pytest

from bert_common import json_files
from bert_common.errors import UserError
from data_gen.labeled.glue import find_task, read_split
from data_gen.labeled.labeled_texts import read_labeled_file
from data_gen.labeled.multiple_choice import read_swag
from data_gen.labeled.row_stream import RowStream
from data_gen.labeled.rows import SourceFile

TWIN = '{"text": "a", "label": "x", "label": "y"}'


def test_a_key_is_refused_wherever_json_is_read(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"model": {"size": 1, "size": 2}}')
    for read in (json_files.read, json_files.read_object):
        with pytest.raises(UserError, match=r"settings.json: not JSON: the key 'size' is .* twice"):
            read(str(path))
    path.write_text(f"{TWIN}\n")
    with pytest.raises(UserError, match=r"settings.json:1: not JSON"):
        json_files.read_objects(str(path))


def test_a_key_costs_its_row(tmp_path):
    path = tmp_path / "rows.jsonl"
    good = '{"text": "b", "label": "x"}\n{"text": "c", "label": "y"}\n'
    path.write_text(f"{good}{TWIN}\n")
    columns = {"text_a_column": "text", "label_column": "label"}
    with pytest.raises(UserError, match=r"rows.jsonl:3: not JSON: the key 'label' is .* twice"):
        read_labeled_file(SourceFile(str(path), "train_file"), **columns)
    texts = read_labeled_file(SourceFile(str(path), "train_file", skip_bad_rows=True), **columns)
    assert list(texts.text_a) == ["b", "c"] and texts.left_out[0]["line"] == 3
    faults = [
        row.fault
        for row in RowStream(SourceFile(str(path), "input_file"), [("text", "text_a_column")])
    ]
    assert faults[:2] == [None, None] and "twice" in faults[2]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("twin", ["text", "note"])
def test_columns(tmp_path, ending, twin):
    """One that is read; of one that is not, both are kept where a table is written back."""
    path = tmp_path / f"rows.{ending}"
    header = ["text", "label", "note", twin]
    rows = [["a", "x", "1", "2"], ["b", "y", "3", "4"]]
    if ending == "parquet":
        pytest.importorskip("pyarrow")
        from tests.fuzz.workspace import write_parquet

        write_parquet(path, [header, *rows])
    else:
        sign = "," if ending == "csv" else "\t"
        path.write_text("".join(sign.join(row) + "\n" for row in (header, *rows)))

    def read():
        return read_labeled_file(
            SourceFile(str(path), "train_file"), text_a_column="text", label_column="label"
        )

    def stream():
        return list(RowStream(SourceFile(str(path), "input_file"), [("text", "text_a_column")]))

    if twin == "text":
        with pytest.raises(UserError, match="2 columns are called 'text'"):
            read()
    else:
        assert list(read().text_a) == ["a", "b"]
    if twin == "text" or ending == "parquet":
        with pytest.raises(UserError, match=f"2 columns are called '{twin}'"):
            stream()
    else:
        assert [row.cells for row in stream()] == rows


def test_columns_of_official_files(tmp_path):
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\tlabel\n" + "a\t1\t0\n" * 3)
    with pytest.raises(UserError, match=r"dev.tsv:1: 2 columns are called 'label'"):
        read_split(find_task("sst-2"), str(tmp_path), "dev")
    header = ",sent1,sent2,ending0,ending1,label,sent2,,\n"
    (tmp_path / "swag.csv").write_text(header + "0,a,b,c,d,1,e,,\n")
    with pytest.raises(UserError, match="2 columns are called 'sent2'"):
        read_swag(SourceFile(str(tmp_path / "swag.csv"), "train_file"))
    # The commas at the ends are of no column.
    (tmp_path / "swag.csv").write_text(
        header.replace("label,sent2", "label,x") + "7,a,b,c,d,1,,,\n"
    )
    assert read_swag(SourceFile(str(tmp_path / "swag.csv"), "train_file")).ids == ["7"]


def test_ids_are_counted(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("id,text\n1,a\n2,b\n1,c\n1,d\n")
    texts = read_labeled_file(
        SourceFile(str(path), "test_file"), text_a_column="text", id_column="id"
    )
    assert len(texts) == 4
    (note,) = [note for note in texts.notes if "id of an earlier" in note]
    assert "2 rows have the id of an earlier one, the first is '1' in line 4" in note


def test_names_of_classes(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feature = {"names": ["bad", "bad"], "_type": "ClassLabel"}
    table = pyarrow.table({"text": ["a", "b"], "label": [0, 1]})
    info = {"huggingface": json.dumps({"info": {"features": {"label": feature}}})}
    parquet.write_table(table.replace_schema_metadata(info), tmp_path / "rows.parquet")
    with pytest.raises(UserError, match="two classes of column 'label' have one name"):
        read_labeled_file(
            SourceFile(str(tmp_path / "rows.parquet"), "train_file"),
            text_a_column="text",
            label_column="label",
        )

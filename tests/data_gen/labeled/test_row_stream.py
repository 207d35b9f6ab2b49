"""Rows for predictions: a wrong row costs that row, and what a file unpacks to is limited."""

import pytest

from bert_common.errors import UserError
from data_gen.labeled.row_formats import ARROW_FORMATS
from data_gen.labeled.row_stream import RowStream
from data_gen.labeled.rows import SourceFile


def rows(path, name="text"):
    return list(RowStream(SourceFile(str(path), "input_file"), [(name, "text_a_column")]))


@pytest.mark.parametrize("position", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "bad", ['"a film that never ends,good', 'a,"b"c', '"x"y,good', '"open\n"closed"again,good']
)
def test_a_quotation_mark_that_is_not_closed_costs_its_row(tmp_path, position, bad):
    lines = ["one,good", "two,bad", "three,good"]
    lines.insert(position, bad)
    (tmp_path / "t.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    found = rows(tmp_path / "t.csv")
    usable = [row.values[0] for row in found if row.fault is None]
    assert [text for text in usable if text in ("one", "two", "three")] == ["one", "two", "three"]
    faulty = [row for row in found if row.fault is not None]
    assert faulty and faulty[0].line == position + 2 and "not CSV" in faulty[0].fault
    assert [row.number for row in found] == list(range(len(found)))


@pytest.mark.parametrize("form", ["parquet", "parquet dictionary", "arrow dictionary"])
def test_a_table_that_unpacks_to_more_than_memory_should_hold(tmp_path, form):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    texts = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 100, pyarrow.int32()), pyarrow.array(["film " * 200_000])
    )
    if form == "parquet":
        texts = texts.cast(pyarrow.string())
    table = pyarrow.table({"text": texts, "label": ["good", "bad"] * 50})
    path = tmp_path / f"t.{form.split()[0]}"
    if form.startswith("parquet"):
        parquet.write_table(table, str(path), compression="zstd")
    else:
        with pyarrow.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    if form == "arrow dictionary":
        # Not compressed: a hundred times its size is what it holds.
        assert len(rows(path)) == 100
        return
    with pytest.raises(UserError, match=r"t.parquet unpacks to more than 64 MiB"):
        rows(path)


def test_values_that_python_lacks_are_texts_and_wrong_descriptions_are_none(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = pyarrow.table(
        {"text": ["a", "b"], "when": pyarrow.array([2**62, 1], pyarrow.timestamp("us"))}
    )
    for names in (b"5", b"[1, 2]", b'{"a": 1}'):
        info = b'{"info": {"features": {"text": {"_type": "ClassLabel", "names": %s}}}}' % names
        described = table.replace_schema_metadata({b"huggingface": info})
        parquet.write_table(described, str(tmp_path / "t.parquet"))
        assert [row.values[0] for row in rows(tmp_path / "t.parquet")] == ["a", "b"]


@pytest.mark.parametrize("kind", ["binary", "large_binary"])
def test_bytes_that_are_texts(tmp_path, kind):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    values = pyarrow.array(["größer".encode(), b"b", None], getattr(pyarrow, kind)())
    image = pyarrow.array([b"\xff\xd8\xff", b"", None])
    table = {"text": values, "shared": values.dictionary_encode(), "image": image}
    parquet.write_table(pyarrow.table(table), tmp_path / "a.parquet")
    rows = list(ARROW_FORMATS.load("parquet")(str(tmp_path / "a.parquet")).rows())
    assert [row["text"] for row in rows] == ["größer", "b", None]
    assert [row["shared"] for row in rows] == ["größer", "b", None]
    # What is no text stays as it is.
    assert [row["image"] for row in rows] == [b"\xff\xd8\xff", b"", None]

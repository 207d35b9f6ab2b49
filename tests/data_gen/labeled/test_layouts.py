"""Data as people have it: each kind of file is read as it is meant, or refused in one line."""

import bz2
import gzip
import json
import lzma

import pytest

from bert_common.errors import UserError
from data_gen.labeled.glue import find_task, read_split
from data_gen.labeled.labeled_texts import read_labeled_file
from data_gen.labeled.multiple_choice import ChoiceColumns, read_custom, read_swag
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.squad import check_training, read_squad
from data_gen.labeled.tagged_files import read_tagged_file
from tests.data_gen.labeled.common import json_lines, refusal

ROWS = [{"text": f'a "{word}" film; no. {n}', "label": n % 2} for n, word in enumerate("abcdef")]
LINES = json_lines(*ROWS).encode()


def separated(delimiter: str, quotes: bool = True) -> str:
    lines = [delimiter.join(("text", "label"))]
    for row in ROWS:
        text = row["text"]
        if quotes:
            text = '"' + text.replace('"', '""') + '"'
        lines.append(f"{text}{delimiter}{row['label']}")
    return "\n".join(lines) + "\n"


def read(path, **options):
    columns = {"text_a_column": "text", "label_column": "label"} | options
    source = SourceFile(
        path, "train_file", skip_bad_rows=False, delimiter=columns.pop("delimiter", None)
    )
    return read_labeled_file(source, **columns)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps(ROWS, indent=2)),
        ("a.json", json.dumps({"version": 1, "data": ROWS})),
        ("a.json", json.dumps([{**row, "label": [row["label"]]} for row in ROWS])),
        ("a.jsonl.gz", gzip.compress(LINES)),
        ("a.jsonl.bz2", bz2.compress(LINES)),
        ("a.jsonl.xz", lzma.compress(LINES)),
        ("a.csv", separated(";")),
        ("a.csv", separated("\t")),
        ("a.tsv", separated("|")),
        # As R's write.csv2 writes it, and pandas with QUOTE_ALL.
        ("a.csv", separated(";").replace("text;label", '"text";"label"')),
        ("a.csv", separated("\t").replace("text\tlabel", '"text"\t"label"')),
        ("a.csv", separated(",").encode("utf-16")),
        ("a.tsv", separated("\t", quotes=False)),
        ("a.csv", separated(",").replace("\n", "\r")),
        ("a.tsv", separated("\t", quotes=False).replace("\n", "\r")),
        # Excel's way to tell the separator.
        ("a.csv", f"sep=;\n{separated(';')}"),
        ("a.csv", f'\ufeff"SEP=|"\n{separated("|")}'),
        # As pandas writes it.
        ("a.tsv", separated("\t")),
        ("a.csv", "".join(f",{line}" for line in separated(",").splitlines(True))),
    ],
)
def test_tables_are_read_as_they_are_meant(write, name, content):
    found = read(write(content, name))
    assert found.text_a == [row["text"] for row in ROWS]
    assert found.labels.tolist() == [0, 1] * 3 and found.label_names == ("0", "1")


def test_a_separator_can_be_given_for_a_file_without_a_header(write):
    path = write("fine;good\ndull;bad\n", "a.csv")
    columns = {"text_a_column": "0", "label_column": "1"}
    assert read(path, **columns, delimiter=";").text_a == ["fine", "dull"]
    assert "no column number 1" in refusal(read, path, **columns)
    assert "--delimiter=;;: one character" in refusal(read, path, **columns, delimiter=";;")
    # Marks of quotation show it.
    path = write('"fine, or: not";"good"\n"dull";"bad"\n', "b.csv")
    assert read(path, **columns).text_a == ["fine, or: not", "dull"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "PK", "is a spreadsheet: save it as CSV (UTF-8)"),
        ("a.zip", "PK", "is an archive: unpack it"),
        ("a.csv", b"PK\3\4rest", "is a ZIP archive or a spreadsheet"),
        ("a.csv", '"text";"name"\n"a";"b"\n', "no column 'label'"),
        ("a.csv", "text;name\na;b\n", "no column 'label'"),
        ("a.tsv", "text,name\na,b\n", "the columns are 'text', 'name'"),
        ("a.csv", "name;text;te/xt\na;b;c\n", "the columns are 'name', 'text', 'te/xt'"),
        ("a.csv", "name,te/x/t\na,b\n", "The columns are 'name', 'te/x/t'"),
        # A sign inside of a text that is not closed is no separator.
        ("a.csv", '1,"He said "hi"; then left"\n0,"bad; dull"\n', ":1: not CSV: ',' expected"),
        ("a.csv", '"te"xt;label\n"a";"b"\n', ":1: not CSV"),
        ("a.csv", b"%PDF-1.7\n%\xe2", "is a PDF file: save its text as UTF-8"),
        ("a.csv", b"PAR1\x15\x04", "is a Parquet file, no text: the name of a table must end in"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        ("a.csv", b"\x09\3" + bytes(6) + b"rest", "is a file of records (TFRecord) or weights"),
        ("a.csv", "text,label\n" + "a,1\rb,2\r", "lines end with CR alone"),
        ("a.csv", "text,label\ncaf\xe9,1\n".encode("latin1"), "0xe9 is not UTF-8"),
        ("a.json", json.dumps({"train": ROWS, "test": ROWS}), "one object, with 'train', 'test'"),
        ("a.json", json.dumps({"text": {"0": "a"}, "label": {"0": 1}}), 'orient="records"'),
        ("a.csv", "text,label\na,4.8\nb,0.0\nc,3.6\n", "give --regression for scores"),
        ("a.jsonl", "[]\n{}\n", ":2: not JSON"),
    ],
)
def test_other_files_are_refused_in_one_line(write, name, content, message):
    path = write(content, name)
    assert message in refusal(read, path) and path in refusal(read, path)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.csv", "text,x,y\na,1,0\nb,1,1\nc,0,0\n", {"label_columns": ("x", "y")}),
        ("a.jsonl", json_lines(*({"text": t, "label": v} for t, v in
                                 zip("abc", ([1, 0], [1, 1], [0, 0]), strict=True))), {}),
        ("a.csv", 'text,label\na,"[1, 0]"\nb,"[1, 1]"\nc,"[0, 0]"\n', {}),
        ("a.csv", "text,label\na,\"['x']\"\nb,\"['x', 'y']\"\nc,[]\n", {}),
    ],
)  # fmt: skip
def test_several_labels_as_columns_and_as_lists(write, name, content, options):
    if options:
        options = {"label_column": None, **options}
    found = read(write(content, name), separator=",", **options)
    assert found.labels.tolist() == [[1, 0], [1, 1], [0, 0]]


def test_a_column_of_a_label_holds_0_and_1(write):
    path = write("text,x,y\na,1,2\n", "a.csv")
    message = refusal(read, path, label_column=None, label_columns=("x", "y"))
    assert ":2: 0 or 1 is expected, not '2' (column y)" in message


def arrow_module(name: str):
    return pytest.importorskip(name)


def test_parquet_arrow_and_zstandard(write, tmp_path):
    pyarrow = arrow_module("pyarrow")
    parquet = arrow_module("pyarrow.parquet")
    table = pyarrow.table({"text": [row["text"] for row in ROWS], "label": [0, 1] * 3})
    # What `datasets` keeps beside a column of classes.
    features = {"label": {"names": ["bad", "good"], "_type": "ClassLabel"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.replace_schema_metadata(metadata), tmp_path / "named.parquet")
    with pyarrow.OSFile(str(tmp_path / "a.arrow"), "wb") as file:
        with pyarrow.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    with pyarrow.OSFile(str(tmp_path / "file.arrow"), "wb") as file:
        with pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    compressed = pyarrow.compress(LINES, "zstd", asbytes=True)
    write(compressed, "a.jsonl.zst")
    for name in ("a.parquet", "named.parquet", "a.arrow", "file.arrow", "a.jsonl.zst"):
        found = read(str(tmp_path / name))
        assert found.text_a == [row["text"] for row in ROWS] and found.labels.tolist() == [0, 1] * 3
        expected = ("bad", "good") if name == "named.parquet" else ("0", "1")
        assert found.label_names == expected
    assert "no column 'story' (--text_a_column)" in refusal(
        read, str(tmp_path / "a.parquet"), text_a_column="story"
    )
    assert "can't be read as Parquet or Arrow" in refusal(read, write("text\n", "b.parquet"))
    assert "Truncated" in refusal(read, write(compressed[:-20], "b.jsonl.zst"))


@pytest.mark.parametrize("rows_in_a_batch", [700, 3000])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_rows_of_arrow_come_in_order_whatever_the_batches_are(tmp_path, kind, rows_in_a_batch):
    pyarrow = arrow_module("pyarrow")
    table = pyarrow.table({"number": list(range(3000)), "text": ["x"] * 3000})
    path = str(tmp_path / "a.arrow")
    with pyarrow.OSFile(path, "wb") as file:
        with getattr(pyarrow.ipc, f"new_{kind}")(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows_in_a_batch)
    from data_gen.labeled.arrow_files import ArrowFile

    assert [row["number"] for row in ArrowFile(path).rows()] == list(range(3000))
    assert next(ArrowFile(path).rows(["text"])) == {"text": "x"}


def test_glue_in_the_layout_of_the_hub(write, tmp_path):
    rows = [{"premise": "a", "hypothesis": "b", "label": n, "idx": 7 + n} for n in range(3)]
    write(json_lines(*rows), "train.jsonl")
    found = read_split(find_task("mnli"), str(tmp_path), "train")
    names = [found.label_names[label] for label in found.labels]
    assert names == ["entailment", "neutral", "contradiction"] and found.ids == ["7", "8", "9"]
    write(json_lines({"sentence1": "a", "sentence2": "b", "label": 1}), "validation.jsonl")
    assert read_split(find_task("mrpc"), str(tmp_path), "dev").labels.tolist() == [1]


def words_and_tags(found) -> list[tuple[str, str]]:
    return list(zip(found.words, (found.tag_names[tag] for tag in found.tags), strict=True))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O B I", "O B-ENTITY I-ENTITY"),
        ("O B_PER I_PER", "O B-PER I-PER"),
        ("O PER-B PER-I", "O B-PER I-PER"),
        ("o b-per i-per", "O B-per I-per"),
        ("O B-PER L-PER U-LOC", "O B-PER E-PER S-LOC"),
        ("O B-PER M-PER E-PER S-LOC", "O B-PER I-PER E-PER S-LOC"),
        ("O O O person-actor person-actor", "O O O I-person-actor I-person-actor"),
        # Plain tags stay as they are.
        ("NOUN VERB X", "NOUN VERB X"),
        ("B NOUN S", "B NOUN S"),
        ("O NOUN VERB", "O NOUN VERB"),
    ],
)
def test_tags_of_other_customs(write, tags, expected):
    path = write("".join(f"w {tag}\n" for tag in tags.split()))
    found = read_tagged_file(SourceFile(path, "train_file"), tag_scheme="auto")
    assert [tag for _, tag in words_and_tags(found)] == expected.split()
    assert bool(found.notes) == (tags != expected)
    plain = read_tagged_file(SourceFile(path, "train_file"), tag_scheme="plain")
    assert [tag for _, tag in words_and_tags(plain)] == tags.split()


@pytest.mark.parametrize(
    "content",
    [
        "1 Ada NN B-PER\n2 met VB O\n\n1 2 CD O\n",
        "#\thttp://x.org/a b\n1\tAda\tNN\tB-PER\n2\tmet\tVB\tO\n\n# c\n1\t2\tCD\tO\n",
        "# text = Ada met 2\n1-2 Adamet _ _\n1 Ada NN B-PER\n2 met VB O\n2.1 x _ _\n\n1 2 CD O\n",
        "Ada NN B-PER\nmet VB O\n\n2 CD O\n",
    ],
)
def test_numbers_of_words_and_comments_are_no_words(write, content):
    found = read_tagged_file(SourceFile(write(content), "train_file"), tag_scheme="auto")
    assert words_and_tags(found) == [("Ada", "B-PER"), ("met", "O"), ("2", "O")]
    assert found.row_lengths.tolist() == [2, 1]


def test_columns_of_tags_that_say_nothing_and_tags_that_are_numbers(write):
    path = write("a X _\nb Y _\n\n" * 11)
    assert "every word has the tag _: --label_column" in refusal(
        read_tagged_file, SourceFile(path, "train_file"), tag_scheme="auto"
    )
    path = write(json_lines({"tokens": ["a", "b"], "ner_tags": ["1", "0"]}), "a.jsonl")
    found = read_tagged_file(SourceFile(path, "train_file"), label_names=("O", "B-PER"))
    assert words_and_tags(found) == [("a", "B-PER"), ("b", "O")]
    # A word may begin with the sign of comments.
    found = read_tagged_file(SourceFile(write("#ada B-PER\n# O\n"), "train_file"))
    assert found.words == ["#ada", "#"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-8"])
def test_positions_in_other_units_are_converted(write, encoding):
    text = "😀😀 Ada met Bo"
    width = 2 if encoding == "utf-16-le" else 1

    def position(character):
        return len(text[:character].encode(encoding)) // width

    entities = [[position(3), position(6), "PER"], [position(11), position(13), "PER"]]
    path = write(json_lines({"text": text, "entities": entities}), "a.jsonl")
    found = read_tagged_file(SourceFile(path, "train_file"))
    assert [word for word, tag in words_and_tags(found) if tag == "B-PER"] == ["Ada", "Bo"]
    assert "entities of 1 texts counted" in found.notes[0]
    # Farther away than repairs by search reach.
    context = "é😀" * 200 + " Oslo and Bergen"
    start = len(context[:401].encode(encoding)) // width
    path = write({"data": [{"paragraphs": [{"context": context, "qas": [
        {"id": 1, "question": "Where?", "answers": [{"text": "Oslo", "answer_start": start}]},
    ]}]}]}, "b.json")  # fmt: skip
    checked = check_training(read_squad(path, "train_file"), version_2_with_negative=False)
    assert checked.questions[0].answers[0].start == 401 and "repaired" in checked.notes[0]


@pytest.mark.parametrize("start, end", [(2, 4), (1, 2), (4, 6), (0, 3)])
def test_a_position_inside_of_a_character_is_no_conversion(write, start, end):
    """In no unit do these begin and end words: an entity is not moved to one that it may fit."""
    path = write(json_lines({"text": "😀 Bob x", "entities": [[start, end, "P"]]}), "a.jsonl")
    found = read_tagged_file(SourceFile(path, "train_file"))
    assert "counted" not in found.notes[0]
    other = write(json_lines({"text": "a Bob x", "entities": [[start, end, "P"]]}), "b.jsonl")
    assert len(found.notes) == len(read_tagged_file(SourceFile(other, "train_file")).notes)


CONTEXT = "Ada Lind was born in Oslo."
QUESTIONS = [
    {"id": 1, "title": "t", "context": CONTEXT, "question": "Where?",
     "answers": {"text": ["Oslo"], "answer_start": [21]}},
    {"id": 2, "title": "t", "context": CONTEXT, "question": "Why?",
     "answers": {"text": [], "answer_start": []}},
]  # fmt: skip
ARTICLE = {"paragraphs": [{"context": CONTEXT, "qas": [
    {"id": "1", "question": "Where?", "answers": [{"text": "Oslo", "answer_start": "21"}]},
    {"id": "2", "question": "Why?", "answers": []},
]}]}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json_lines(*QUESTIONS)),
        ("a.json", json.dumps(QUESTIONS)),
        ("a.json", json.dumps({"data": QUESTIONS}, indent=1)),
        ("a.json", json.dumps([ARTICLE])),
        ("a.json", json.dumps({"version": "v2.0", "data": [ARTICLE]})),
    ],
)
def test_questions_of_the_hub_and_of_annotation_tools(write, name, content):
    data = read_squad(write(content, name), "train_file")
    assert data.contexts == [CONTEXT]
    assert [question.id for question in data.questions] == ["1", "2"]
    assert data.questions[0].answers[0].start == 21
    checked = check_training(data, version_2_with_negative=True)
    assert [question.is_impossible for question in checked.questions] == [False, True]
    assert "there is no is_impossible: 1 questions" in checked.notes[0]
    with pytest.raises(UserError, match="for SQuAD 2.0 give --version_2_with_negative"):
        check_training(data, version_2_with_negative=False)


def test_questions_without_positions_are_refused(write):
    row = {**QUESTIONS[0], "answers": {"text": ["Oslo"]}}
    message = refusal(read_squad, write(json_lines(row, row), "a.jsonl"), "train_file")
    assert "answer_start' is null" in message and "layout of SQuAD" in message


def choices(path, label_kind="auto"):
    return read_custom(
        SourceFile(path, "train_file"),
        ChoiceColumns(question="q", choices=("a", "b", "c"), label="y"),
        label_kind=label_kind,
    )


@pytest.mark.parametrize(
    ("labels", "numbers", "kind"),
    [("123", [0, 1, 2], "number"), ("012", [0, 1, 2], "index"), ("12", [1, 2], "index")],
)
def test_right_choices_counted_from_1(write, labels, numbers, kind):
    path = write("q,a,b,c,y\n" + "".join(f"Q?,x,y,z,{y}\n" for y in labels), "a.csv")
    found = choices(path)
    assert (found.labels.tolist(), found.label_kind) == (numbers, kind)
    is_said = any("are counted from 1" in note for note in found.notes)
    assert is_said == (kind == "number")


def test_right_choices_that_may_be_counted_from_1(write):
    path = write("q,a,b,c,y\n" + "Q?,x,y,z,1\nQ?,x,y,z,2\n" * 6, "a.csv")
    assert "no label is 0" in refusal(choices, path)
    assert choices(path, "index").labels.tolist() == [1, 2] * 6
    # Another file of the run has shown it.
    assert choices(path, "number").labels.tolist() == [0, 1] * 6


def test_swag_in_other_formats(write):
    rows = [
        {"sent1": "He", "sent2": "He", "ending0": "a", "ending1": "b", "label": n, "video-id": 3}
        for n in range(2)
    ]
    assert read_swag(
        SourceFile(write(json_lines(*rows), "a.jsonl"), "train_file")
    ).labels.tolist() == [0, 1]
    header = "sent1,sent2,gold-ending,distractor-0\n"
    message = refusal(
        read_swag, SourceFile(write(f"{header}He,He,a,b\n", "train_full.csv"), "train_file")
    )
    assert "take train.csv" in message

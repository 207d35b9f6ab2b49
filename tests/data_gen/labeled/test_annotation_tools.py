"""Files of annotation tools: texts with entities as each tool writes them."""

import json

import pytest

from bert_common.errors import UserError
from data_gen.labeled.labeled_texts import read_labeled_file
from data_gen.labeled.rows import SourceFile
from data_gen.labeled.tagged_files import read_tagged_file

TEXT = "Ada Byron wrote in London ."
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
SPANS = [(0, 9, "PER"), (19, 25, "LOC")]
OBJECTS = [{"start": start, "end": end, "label": label} for start, end, label in SPANS]
LABELED = [{"start": start, "end": end, "labels": [label]} for start, end, label in SPANS]
RESULTS = [
    *({"type": "labels", "value": {**entity, "text": "…"}} for entity in LABELED),
    {"type": "choices", "value": {"choices": ["letter"]}},
    # Of one entity.
    {"type": "choices", "value": {"start": 0, "end": 9, "text": "…", "choices": ["sure"]}},
    {"type": "relation", "from_id": "a", "to_id": "b"},
]
DOCCANO = [{"id": 1, "start_offset": a, "end_offset": b, "label": label} for a, b, label in SPANS]
PRODIGY = {"_input_hash": 1, "_task_hash": 2}
TOKENS = [{"text": "Ada", "start": 0, "end": 3, "id": 0}]


def label_studio(*annotations):
    return {"id": 1, "data": {"text": TEXT}, "annotations": list(annotations), "predictions": []}


def read(write, rows, name="a.jsonl"):
    content = "\n".join(map(json.dumps, rows)) if isinstance(rows, list) else rows
    return read_tagged_file(SourceFile(write(content, name), "train_file", skip_bad_rows=False))


@pytest.mark.parametrize(
    "row",
    [
        {"id": 1, "text": TEXT, "label": [list(span) for span in SPANS], "Comments": []},
        {"text": TEXT, "entities": DOCCANO, "relations": []},
        {**PRODIGY, "text": TEXT, "tokens": TOKENS, "spans": OBJECTS, "answer": "accept"},
        {"text": TEXT, "spans": OBJECTS},
        label_studio({"was_cancelled": True, "result": []}, {"result": RESULTS}),
        {"id": 1, "text": TEXT, "label": [{**entity, "text": "…"} for entity in LABELED]},
        [TEXT, {"entities": [list(span) for span in SPANS]}],
        {"text": TEXT, "ents": OBJECTS, "sents": [{"start": 0, "end": 27}], "tokens": TOKENS},
        {"text": TEXT, "label": {"PER": {"Ada Byron": [[0, 8]]}, "LOC": {"London": [[19, 24]]}}},
        {"tokenized_text": TEXT.split(), "ner": [[0, 1, "PER"], [4, 4, "LOC"]]},
    ],
    ids=[
        "doccano",
        "doccano 1.8",
        "Prodigy",
        "spans",
        "Label Studio",
        "JSON-MIN",
        "spaCy",
        "Doc.to_json",
        "CLUENER",
        "GLiNER",
    ],
)
def test_entities_of_every_tool(write, row):
    found = read(write, [row, row])
    assert [found.tag_names[tag] for tag in found.tags] == 2 * TAGS
    # A list of objects in one file is another way to write them.
    found = read(write, json.dumps([row]), "a.json")
    assert [found.tag_names[tag] for tag in found.tags] == TAGS


@pytest.mark.parametrize(
    "row",
    [
        {"text": TEXT, "tokenized_text": TEXT.lower(), "entities": SPANS},
        {"text": TEXT, "tokenized_text": TEXT.split(), "entities": SPANS},
        {"tokens": TEXT.split(), "ner_tags": TAGS, "tokenized_text": [*"ada"]},
    ],
)
def test_a_key_of_gliner_in_another_file_is_a_column(write, row):
    found = read(write, [row])
    assert [found.tag_names[tag] for tag in found.tags] == TAGS


@pytest.mark.parametrize("entities", [[[0, 1, "PER"], [4, 4, "LOC"]], TAGS])
def test_keys_of_gliner_are_named_as_columns(write, entities):
    path = write(json.dumps({"tokenized_text": TEXT.split(), "ner": entities}), "a.jsonl")
    found = read_tagged_file(
        SourceFile(path, "train_file"), word_column="tokenized_text", label_column="ner"
    )
    assert [found.tag_names[tag] for tag in found.tags] == TAGS


def test_a_file_of_ner_annotator(write):
    row = [TEXT, {"entities": [list(span) for span in SPANS]}]
    content = {"classes": ["PER", "LOC"], "annotations": [row, row]}
    found = read(write, json.dumps(content), "a.json")
    assert [found.tag_names[tag] for tag in found.tags] == 2 * TAGS


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**PRODIGY, "text": TEXT, "spans": OBJECTS, "answer": "reject"}, "'reject'"),
        (label_studio({"result": RESULTS}, {"result": []}), "2 annotators"),
        ({"text": TEXT, "label": ["good"]}, "'good' is no entity"),
        ({"text": TEXT, "label": [{**LABELED[0], "labels": ["A", "B"]}]}, "is no entity"),
        ({"text": TEXT, "label": {"PER": {"Ada": [[1, 3]]}}}, r"'Ada' is not at \[1, 3\]"),
        ({"text": TEXT, "label": {"PER": {"Ada": [[0]]}}}, r"'Ada' is not at \[0\]"),
        ({"text": TEXT, "label": {"PER": {"Ada": [[]]}}}, r"'Ada' is not at \[\]"),
        ({"text": TEXT, "label": {"PER": ["Ada"]}}, "'label'"),
        ([TEXT, SPANS], "object"),
        ({"tokenized_text": TEXT, "ner": []}, "'tokens' must be a list of words"),
        ({"tokenized_text": ["Ada"], "ner": [[False, False, "PER"]]}, "no entity of 1 words"),
        ({"tokenized_text": ["Ada"], "ner": [{"start": 0}]}, "no entity of 1 words"),
        ({"tokenized_text": ["Ada"], "ner": [[0, 1, "PER"]]}, "no entity of 1 words"),
        ({"tokenized_text": ["Ada"], "ner": [[0, "PER"]]}, "no entity of 1 words"),
        ({"tokenized_text": ["Ada"], "ner": [[0, 0, "A"], [0, 0, "B"]]}, "overlap"),
    ],
)
def test_what_is_no_annotation_of_one_text(write, row, message):
    with pytest.raises(UserError, match=message):
        read(write, [row])


def test_a_text_that_nobody_has_annotated_has_no_tags(write):
    assert (
        read_tagged_file(
            SourceFile(write(json.dumps(label_studio()), "a.jsonl"), "test_file"), needs_tags=False
        ).words
        == TEXT.split()
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("#FORMAT=WebAnno TSV 3.3\n\n#Text=Ada\n1-1\t0-3\tAda\t*\tPER\t\n", "CoNLL 2003"),
        ("T1\tPER 0 9\tAda Byron\nT2\tLOC 19 25;30 31\tLondon\n", "anntoconll"),
    ],
)
def test_tools_whose_lines_are_no_words_are_named(write, content, message):
    with pytest.raises(UserError, match=message):
        read(write, content, "a.tsv")


@pytest.mark.parametrize(
    "row",
    [
        {"text": TEXT, "entities": [list(span) for span in SPANS]},
        {"text": TEXT, "spans": OBJECTS},
        {"text": TEXT, "tokens": TEXT.split(), "ner_tags": TAGS},
    ],
)
def test_an_object_under_label_beside_entities_or_tags_is_something_else(write, row):
    found = read(write, [{**row, "label": {"kind": "letter"}}])
    assert [found.tag_names[tag] for tag in found.tags] == TAGS


@pytest.mark.parametrize("key", ["label", "names"])
def test_json_min_has_no_key_where_there_is_no_entity(write, key):
    rows = [
        {"id": 1, "text": "Nobody wrote .", "annotation_id": 1},
        {"id": 2, "text": TEXT, key: LABELED, "annotation_id": 2},
    ]
    found = read_tagged_file(
        SourceFile(write(json.dumps(rows), "a.json"), "train_file"),
        label_column=None if key == "label" else key,
    )
    assert [found.tag_names[tag] for tag in found.tags] == ["O", "O", "O", *TAGS]


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_a_class_that_was_not_accepted(write, answer):
    rows = [
        {**PRODIGY, "text": "one", "accept": ["good"], "answer": "accept"},
        {**PRODIGY, "text": "two", "accept": ["bad"], "answer": answer},
        {**PRODIGY, "text": "three", "accept": ["bad"], "answer": "accept"},
    ]
    path = write("\n".join(map(json.dumps, rows)), "a.jsonl")
    columns = {"text_a_column": "text", "label_column": "accept"}
    with pytest.raises(UserError, match=rf"a.jsonl:2: .*{answer}"):
        read_labeled_file(SourceFile(path, "train_file", skip_bad_rows=False), **columns)
    found = read_labeled_file(SourceFile(path, "train_file", skip_bad_rows=1), **columns)
    assert found.text_a == ["one", "three"] and found.label_names == ("bad", "good")
    # The answer of another file is a column like any other.
    rows = [{"text": "one", "answer": answer}, {"text": "two", "answer": "accept"}]
    path = write("\n".join(map(json.dumps, rows)), "b.jsonl")
    columns = {"text_a_column": "text", "label_column": "answer"}
    found = read_labeled_file(SourceFile(path, "train_file", skip_bad_rows=False), **columns)
    assert found.label_names == ("accept", answer)

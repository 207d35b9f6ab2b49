"""A corpus that is no plain text is read by its field, or refused by who reads prepared text."""

import json

import pytest

from bert_common.errors import UserError
from bert_tf.vocabulary.building import VocabularyOptions
from bert_tf.vocabulary.building import run as build_vocabulary
from data_gen.options import CorpusOptions
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.text.corpus_readers import ReadingNotes, read_documents

TEXTS = ["Anna went home, late.\nIt was cold.", 'She said "no".']
ROWS = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
TABLE = 'id,text\n0,"Anna went home, late.\nIt was cold."\n1,"She said ""no""."\n'
KINDS = {
    "corpus.csv": TABLE,
    "corpus.txt": TABLE,
    "corpus.tsv": "id\ttext\n0\tAnna went home.\n1\tShe said no.\n",
    "corpus.json": json.dumps(ROWS, indent=1),
    "corpus.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "list.txt": json.dumps(ROWS),
}


@pytest.mark.parametrize("name", KINDS)
def test_texts_are_read_by_their_field(tmp_path, name):
    path = tmp_path / name
    path.write_text(KINDS[name])
    check = pytest.raises(UserError, match=f"{name} is .*: make that of it with data_gen/prepare_c")
    documents = read_documents(str(path), CorpusOptions(), ReadingNotes())
    found = [" ".join(document) for document in documents]
    assert len(found) == 2 and found[0].startswith("Anna went home")
    assert not any(mark in "".join(found) for mark in ("{", '""', "text"))
    with check:
        check_plain_text(str(path), "input_file")
    with check:
        build_vocabulary(VocabularyOptions(input_file=str(path), output_dir=f"{tmp_path}/v"))


def test_another_field_is_named(tmp_path):
    path = tmp_path / "corpus.csv"
    path.write_text("id,body\n1,Anna went home.\n")
    with pytest.raises(UserError, match=r"no column 'text' \(--text_field\)"):
        list(read_documents(str(path), CorpusOptions(), ReadingNotes()))
    options = CorpusOptions(text_field="body")
    (document,) = map(list, read_documents(str(path), options, ReadingNotes()))
    assert document == ["Anna went home."]


@pytest.mark.parametrize("text", ["text, image and sound\n", "[Anna] went.\n", "", "<b>\n"])
def test_sentences_are_plain_text(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    check_plain_text(str(tmp_path / "a.txt"), "input_file")

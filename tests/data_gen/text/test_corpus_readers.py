import gzip
import html
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bert_common.errors import UserError
from data_gen.options import CorpusOptions
from data_gen.text import corpus_readers
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.text.corpus_readers import ReadingNotes, TextLayout, detect_layout, read_documents


def _read(path, notes=None, **options) -> list[list[str]]:
    return [
        list(document)
        for document in read_documents(str(path), CorpusOptions(**options), notes or ReadingNotes())
    ]


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "input.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# A paragraph a line, as in a book with chapters.
_CHAPTERS = "It was late. He left.\nShe stayed.\n\n\nMorning came.\nThe end.\n"
# Lines of about equal length that end anywhere.
_WRAPPED = (
    "It was a dark and stormy night, and the rain\nfell in torrents, except at occasional\n"
    "intervals. It was\nchecked by wind.\n\nIn London a lamp\nflickered against the\ndark.\n"
)


class TestPlainText:
    def test_blank_line_between_documents(self, file):
        assert _read(file(_CHAPTERS)) == [
            ["It was late. He left.", "She stayed."],
            ["Morning came.", "The end."],
        ]

    def test_hard_wrapped_paragraphs_of_one_document(self, file):
        assert _read(file(_WRAPPED)) == [
            [
                "It was a dark and stormy night, and the rain fell in torrents, except at occasional intervals. It was "
                "checked by wind.",
                "In London a lamp flickered against the dark.",
            ]
        ]

    def test_blank_line_after_every_line_is_not_a_document(self, file):
        text = "".join(
            f"Paragraph number {number}. It has two sentences.\n\n" for number in range(5)
        )
        assert len(_read(file(text))) == 1
        assert len(_read(file(text), document_separator="blank_line")) == 5

    @pytest.mark.parametrize(
        "options, documents",
        [
            ({"document_separator": "blank_line"}, [["a b", "c."], ["d e", "f."]]),
            (
                {"document_separator": "blank_line", "hard_wrapped": "true"},
                [["a b c."], ["d e f."]],
            ),
            ({"document_separator": "file", "hard_wrapped": "true"}, [["a b c.", "d e f."]]),
            ({"document_separator": "file"}, [["a b", "c.", "d e", "f."]]),
            ({"document_separator": "line"}, [["a b"], ["c."], ["d e"], ["f."]]),
        ],
    )
    def test_layout_as_told(self, file, options, documents):
        options = {"hard_wrapped": "false", **options}
        assert _read(file("a b\nc.\n\nd e\nf.\n"), **options) == documents

    def test_document_that_is_not_read_to_its_end_does_not_leak_into_the_next(self, file):
        documents = read_documents(str(file(_CHAPTERS)), CorpusOptions(), ReadingNotes())
        assert [next(document) for document in documents] == [
            "It was late. He left.",
            "Morning came.",
        ]

    def test_long_lines_are_cut_at_spaces(self, file, monkeypatch):
        monkeypatch.setattr(corpus_readers, "_MAX_TEXT_LINE_BYTES", 16)
        [paragraphs] = _read(
            file("one two three four five six seven eight nine ten"), hard_wrapped="false"
        )
        assert len(paragraphs) > 2
        assert " ".join(paragraphs) == "one two three four five six seven eight nine ten"

    def test_long_lines_without_spaces_are_cut_between_characters(self, file, monkeypatch):
        monkeypatch.setattr(corpus_readers, "_MAX_TEXT_LINE_BYTES", 16)
        text = "日本語の文章は空白を含まないので切る所がない。"
        [paragraphs] = _read(file(text), hard_wrapped="false")
        assert len(paragraphs) > 2
        assert "".join(paragraphs) == text

    def test_one_sentence_a_line_is_not_taken_for_wrapped(self):
        lines = [
            "He came in.",
            '"Well?" she said.',
            "Nobody answered!",
            "",
            "A new chapter.",
            "It began.",
        ]
        assert detect_layout(lines, CorpusOptions()) == TextLayout("blank_line", False)


class TestJsonLines:
    def test_field_title_and_blank_lines(self, file):
        path = file(
            '\n{"text": "One.\\nTwo."}\n\n{"title": "Cats", "text": "Cats\\n\\nThey purr."}\n{"text": " "}\n'
        )
        assert _read(path) == [["One.", "Two."], ["They purr."]]

    def test_whether_strings_are_wrapped_is_found_out_for_the_whole_file(self, file):
        # The second alone could be a heading with a text below it.
        path = file(
            json.dumps({"text": _WRAPPED})
            + "\n"
            + json.dumps({"text": "It began\nwith a word."})
            + "\n"
        )
        assert _read(path)[1] == ["It began with a word."]
        assert _read(path, hard_wrapped="false")[1] == ["It began", "with a word."]
        long = {"text": "Heading\n" + "A paragraph of some length in a line of its own. " * 5}
        path = file(
            "".join(
                json.dumps(record) + "\n"
                for record in [long] * 9 + [{"text": "Heading\nA short text."}]
            )
        )
        assert _read(path)[-1] == ["Heading", "A short text."]

    def test_half_a_surrogate_pair_and_nul(self, file):
        [[paragraph]] = _read(file('{"text": "a\\ud800b\\u0000c"}'))
        assert paragraph == "a?bc"

    @pytest.mark.parametrize(
        "line, message",
        [
            ('{"text": "x"', r"input.txt:2: not JSON: Expecting ',' delimiter at column 13"),
            (
                '{"body": "x", "id": 3}',
                r"input.txt:2: no field 'text', only body, id: --text_field names the one",
            ),
            ('["x"]', r"input.txt:2: one JSON object per line is expected"),
            ('{"text": 5}', r"input.txt:2: field 'text' holds a int, not a string"),
        ],
    )
    def test_bad_line(self, file, line, message):
        with pytest.raises(UserError, match=message):
            _read(file('{"text": "fine"}\n' + line + "\n"))

    def test_long_line(self, file, monkeypatch):
        monkeypatch.setattr(corpus_readers, "_MAX_TEXT_LINE_BYTES", 16)
        text = "one two three " * 20
        assert _read(file(json.dumps({"text": text}))) == [[text.strip()]]


def _record(kind: str, text: str) -> str:
    return (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://example.org/\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}\r\n\r\n"
    )


class TestWet:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_texts_of_pages_without_their_headers(self, file, pack):
        records = (
            _record("warcinfo", "Software-Info: a"),
            _record("conversion", "Cats purr.\n\nThey sleep."),
            _record("conversion", ""),
            _record("conversion", "WARC-Type: conversion\nIt barks."),
        )
        # Every record of Common Crawl's files is a member of its own.
        found = _read(file(b"".join(pack(record.encode()) for record in records)))
        assert found == [["Cats purr.", "They sleep."], ["WARC-Type: conversion", "It barks."]]

    def test_pages_about_the_format(self, file):
        records = (
            _record(
                "conversion",
                "Cats purr.\nWARC/1.0 is old.\nWARC/1.0\nWARC-Type: response\nIt barks.",
            ),
            _record("conversion", "They sleep.\n\nWARC/1.1\nWARC-Type: response"),
            _record("conversion", "It is late."),
        )
        assert _read(file("".join(records))) == [
            [
                "Cats purr.",
                "WARC/1.0 is old.",
                "WARC/1.0",
                "WARC-Type: response",
                "It barks.",
            ],
            ["They sleep."],
            ["It is late."],
        ]

    def test_pages_as_html_are_named(self, file):
        with pytest.raises(UserError, match=r"input.txt:9: a WARC file with the HTML of pages"):
            _read(file(_record("warcinfo", "a") + _record("response", "<html>")))

    def test_programs_that_read_plain_text_name_it(self, file):
        with pytest.raises(UserError, match="is Common Crawl's WET, one sentence per line"):
            check_plain_text(str(file(_record("warcinfo", "a"))), "input_file")


class TestWikiExtractor:
    _ARTICLES = (
        '<doc id="1" url="https://x.org/?id=1" title="Cats">\nCats\n\nCats purr. They sleep.\n\nFood.\n</doc>\n'
        '<doc id="2" url="u" title="The "Dog" > others">\nThe "Dog" > others\n\nIt barks.\n</doc>\n\n'
        '<doc id="3" url="u" title="Empty">\nEmpty\n</doc>\n'
    )

    def test_articles_without_their_titles(self, file):
        assert _read(file(self._ARTICLES)) == [["Cats purr. They sleep.", "Food."], ["It barks."]]

    @pytest.mark.parametrize(
        "text, message",
        [
            (
                '<doc id="1" title="A">\nA\nb\n',
                r"input.txt:1: this <doc> has no </doc>: the file is cut short",
            ),
            (
                '<doc id="1" title="A">\nb\n<doc id="2" title="B">\n',
                r"input.txt:3: <doc> inside the <doc> of line 1",
            ),
            (
                '<doc id="1" title="A">\nb\n</doc>\nstray\n',
                r"input.txt:4: a line outside <doc …> … </doc>",
            ),
        ],
    )
    def test_bad_structure(self, file, text, message):
        with pytest.raises(UserError, match=message):
            _read(file(text))

    def test_document_that_is_not_read_to_its_end_does_not_leak_into_the_next(self, file):
        documents = read_documents(str(file(self._ARTICLES)), CorpusOptions(), ReadingNotes())
        assert [next(document) for document in documents] == ["Cats purr. They sleep.", "It barks."]


class TestBytes:
    def test_gzip_cut_short(self, file):
        packed = gzip.compress("".join(f"{number} sentences.\n" for number in range(9999)).encode())
        with pytest.raises(UserError, match="damaged or cut off"):
            _read(file(packed[:-100]))

    def test_gzip_cut_short_within_a_document_that_was_handed_out(self, file):
        lines = [f"{number} sentences.\n" for number in range(99999)]
        path = file(gzip.compress("".join(lines).encode())[:-100])
        options = CorpusOptions(document_separator="file")
        documents = read_documents(str(path), options, ReadingNotes())
        document = next(documents)
        with pytest.raises(UserError, match=r"can't read .*input.txt: damaged or cut off"):
            list(document)

    def test_not_utf8_names_line_and_byte(self, file):
        path = file(b"Fine here.\nCaf\xe9 is not.\n")
        with pytest.raises(
            UserError,
            match=r"input.txt:2: not UTF-8 at byte 14 of the file \(0xe9\).*--on_bad_utf8",
        ):
            _read(path)
        notes = ReadingNotes()
        assert _read(path, notes, on_bad_utf8="replace") == [["Fine here.", "Caf\ufffd is not."]]
        assert notes.bad_utf8_lines == 1

    def test_byte_order_marks(self, file):
        assert _read(file(b"\xef\xbb\xbfHello there.\n")) == [["Hello there."]]
        with pytest.raises(UserError, match="not UTF-8 at byte 0 .*convert the file"):
            _read(file("Hello.".encode("utf-16")))
        with pytest.raises(UserError, match=r"input.txt:1: not UTF-8 at byte 4 "):
            _read(file(b"\xef\xbb\xbfa\xff\n"))

    @pytest.mark.parametrize(
        "content, message",
        [
            (b"\x09" + bytes(7) + b"{}", r"a file of records \(TFRecord\) or weights"),
            (b"%PDF-1.7\n", "a PDF file: save its text"),
            (b"\n<!DOCTYPE html>\n<html>\n", "HTML or XML: take the text out of it"),
            (b"<mediawiki xmlns='x'>\n", "by WikiExtractor for a dump"),
        ],
    )
    def test_files_of_other_kinds_are_named(self, file, content, message):
        with pytest.raises(UserError, match=f"input.txt is .*{message}"):
            _read(file(content))
        with pytest.raises(UserError, match=f"input.txt is .*{message}"):
            check_plain_text(str(file(content)), "input_file")

    def test_nul_characters_are_removed_and_counted(self, file):
        notes = ReadingNotes()
        assert _read(file("a\0b c\0.\n"), notes) == [["ab c."]]
        assert notes.nul_characters == 2

    @pytest.mark.parametrize("content", ["", "\n \n\t\r\n", "\0\n"])
    def test_file_without_text(self, file, content):
        notes = ReadingNotes()
        path = file(content)
        assert _read(path, notes) == []
        assert notes.empty_files == [str(path)]

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_progress_adds_up_to_the_size_on_disk(self, file, pack):
        path = file(pack("".join(f"{number} sentences.\n" for number in range(99_999)).encode()))
        steps = []
        for document in read_documents(str(path), CorpusOptions(), ReadingNotes(), steps.append):
            list(document)
        assert sum(steps) == path.stat().st_size
        assert len(steps) > 1


_PARAGRAPH = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]),
    min_size=1,
    max_size=30,
).filter(lambda text: not text.startswith(("<", "{", "\ufeff")))


def _escaped(paragraphs: list[str], separator: str) -> str:
    """Text as WikiExtractor writes it by default."""
    return html.escape(separator.join(paragraphs), quote=False)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(_PARAGRAPH, min_size=1, max_size=4), min_size=1, max_size=5))
@example([["AT&T is < 3 > 2, which HTML writes as &lt; and &amp;lt;."]])
def test_every_format_gives_the_same_documents(tmp_path_factory, documents):
    folder = tmp_path_factory.mktemp("formats")
    (folder / "text").write_text("\n\n".join("\n".join(document) for document in documents))
    (folder / "json").write_text(
        "".join(json.dumps({"text": "\n".join(document)}) + "\n" for document in documents)
    )
    (folder / "wiki").write_text(
        "".join(
            f'<doc id="{number}" title="">\n\n' + _escaped(document, "\n\n") + "\n</doc>\n"
            for number, document in enumerate(documents)
        )
    )
    (folder / "wiki.json").write_text(
        "".join(
            json.dumps({"id": "1", "revid": "2", "text": _escaped(document, "\n")}) + "\n"
            for document in documents
        )
    )
    for name in ("text", "json", "wiki", "wiki.json"):
        found = _read(folder / name, document_separator="blank_line", hard_wrapped="false")
        assert found == documents, name


def test_a_column_of_a_parquet_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "corpus.parquet"
    texts = ["One line.\nAnother.", None, "  ", "A\0 last one."]
    parquet.write_table(pyarrow.table({"body": texts, "n": [1, 2, 3, 4]}), path)
    notes = ReadingNotes()
    documents = _read(path, notes, text_field="body")
    assert documents == [["One line.", "Another."], ["A last one."]]
    assert notes.layouts == {"Parquet": 1}
    with pytest.raises(UserError, match="no column 'text', only body, n: --text_column"):
        _read(path)
    with pytest.raises(UserError, match="row 1: column 'n' holds a int"):
        _read(path, text_field="n")

import gzip
import json
import os

import pytest

from bert_common.errors import UserError
from data_gen.options import FolderOptions
from data_gen.text.folders import find_documents, run
from data_gen.text.markup import html_paragraphs, markdown_paragraphs

PAGE = """<!DOCTYPE html><html><head><title>No text</title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><h1>The list</h1><p>It is <b>sorted</b>,&nbsp;see
<a href="x">the&amp;rules</a>.<br>Then it ends.<pre>code()</pre><script>if (a<b) c()</script>
<ul><li>One <code>item</code><li>Two</ul></body></html>"""
MARKDOWN = """---
title: no text
---
# The list

It is **sorted**, see [the rules](x.html "why") and snake_case_names;
the second line. <!-- no text -->

```python
code()
```

- One `item`
  goes on
- [ ] Two ![picture](a.png)

    indented code

| a | table |
|---|---|

> A quotation
> goes on.

Below
-----
[x]: http://nowhere
"""


def test_the_paragraphs_of_a_page():
    expected = ["The list", "It is sorted, see the&rules.", "Then it ends.", "One item", "Two"]
    assert html_paragraphs(PAGE) == expected
    # An element that nobody closes hides no more than the head.
    assert html_paragraphs("<head><title>a<body>The text.") == ["The text."]


def test_the_paragraphs_of_markdown():
    assert markdown_paragraphs(MARKDOWN) == [
        "The list",
        "It is sorted, see the rules and snake_case_names; the second line.",
        "One item goes on",
        "Two",
        "A quotation goes on.",
        "Below",
    ]


def test_a_folder_of_all_formats(tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "sub/.hidden").mkdir(parents=True)
    (folder / "a.html").write_text(PAGE)
    (folder / "sub/b.MD").write_bytes(b"One \xff two.\n")
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"First text.\nIts end.\n\nSecond text.\n"))
    (folder / "d.jsonl").write_text('{"body": "Third text.\\nIts end."}\n')
    (folder / "e.htm").write_text("<script>nothing</script>")
    (folder / "f.pdf").write_text("%PDF")
    (folder / "sub/.hidden/g.txt").write_text("hidden")
    os.mkfifo(folder / "pipe.txt")
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "sub/up").symlink_to("..")
    (folder / os.fsdecode(b"\xff.txt")).write_text("Last text.")
    options = {"input_dir": str(folder), "output_file": str(tmp_path / "out/documents.jsonl")}
    with pytest.raises(UserError, match=r"b\.MD: not UTF-8 at byte 4 \(0xff\)"):
        run(FolderOptions(**options, text_field="body"))
    run(FolderOptions(**options, text_field="body", on_bad_utf8="replace"))
    lines = (tmp_path / "out/documents.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"file": "a.html", "text": "\n".join(html_paragraphs(PAGE))},
        {"file": "c.txt.gz", "text": "First text.\nIts end."},
        {"file": "c.txt.gz", "text": "Second text."},
        {"file": "d.jsonl", "text": "Third text.\nIts end."},
        {"file": "sub/b.MD", "text": "One \ufffd two."},
        {"file": "\\udcff.txt", "text": "Last text."},
    ]
    printed = capsys.readouterr().out
    assert "wrote 6 documents of 28 words, from 6 files" in printed and ".pdf (1)" in printed
    assert "pipes and broken links (2)" in printed and "links to folders (1)" in printed
    assert "no text in 1 files" in printed and "replaced in 1 lines" in printed
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="has no document: one of .txt"):
        run(FolderOptions(input_dir=str(tmp_path / "empty"), output_file=options["output_file"]))


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.html.gz", gzip.compress(bytes(65 << 20)), r"a\.html\.gz unpacks to more than 64 MiB"),
        ("a.parquet", b"no table", r"a\.parquet can't be read as Parquet"),
    ],
)
def test_what_is_no_document(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        run(FolderOptions(input_dir=str(tmp_path), output_file=f"{tmp_path}.jsonl"))


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    """Its path is longer than any that the system opens."""
    monkeypatch.chdir(tmp_path)
    for _ in range(20):
        os.mkdir("x" * 250)
        os.chdir("x" * 250)
    with pytest.raises(UserError, match="--documents_dir: can't read .*x: File name too long: "):
        find_documents(str(tmp_path), "documents_dir")

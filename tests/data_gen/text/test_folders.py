import gzip
import json

import pytest

from bert_common.errors import UserError
from data_gen.options import FolderOptions
from data_gen.text.folders import run
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
    ]
    printed = capsys.readouterr().out
    assert "wrote 5 documents of 26 words, from 5 files" in printed and ".pdf (1)" in printed
    assert "no text in 1 files" in printed and "replaced in 1 lines" in printed
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="has no document: one of .txt"):
        run(FolderOptions(input_dir=str(tmp_path / "empty"), output_file=options["output_file"]))

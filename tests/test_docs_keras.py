"""The programs of docs/keras.md, run in order in one directory, print what the page says."""

import contextlib
import io
import pathlib
import re
import warnings

import pytest

_PAGE = (pathlib.Path(__file__).resolve().parent.parent / "docs/keras.md").read_text(
    encoding="utf-8"
)
PROGRAMS = re.findall(
    r"^## (\d\. .*?)\n.*?```python\n(.*?)```\n\n```text\n(.*?)```", _PAGE, re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize(
    ("program", "output"), [part[1:] for part in PROGRAMS], ids=[part[0] for part in PROGRAMS]
)
def test_a_program_prints_what_the_page_says(program, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "docs/keras.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == output


def test_the_page_has_six_short_programs():
    assert len(PROGRAMS) == _PAGE.split("\n## Optimizer\n")[0].count("```python") == 6
    for title, program, _ in PROGRAMS:
        assert len(program.splitlines()) <= 35, title


BESIDE = re.findall(
    r"```python\n(.*?)```", _PAGE.split("\n## Beside KerasHub\n")[1].split("\n## ")[0], re.DOTALL
)


@pytest.mark.parametrize(
    ("package", "program"), zip(("modeling", "keras_hub"), BESIDE, strict=True)
)
def test_the_same_program_with_each_library(package, program, tmp_path, monkeypatch):
    pytest.importorskip(package, reason="pip install --group peers")
    monkeypatch.chdir(tmp_path)
    assert len(program.splitlines()) <= 15
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "docs/keras.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == "[1 1 0 0]\n"

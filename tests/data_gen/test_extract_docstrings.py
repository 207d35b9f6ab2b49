import json
import pathlib
import subprocess
import sys

import pytest

from bert_common.errors import UserError
from data_gen.options import DocstringOptions
from data_gen.text import docstrings
from data_gen.text.docstrings import docstring_paragraphs
from tests.data_gen.commands import run_command
from tests.refusals import assert_refused

_SCRIPT = str(pathlib.Path(docstrings.__file__).parents[1].joinpath("extract_docstrings.py"))

_NUMPYDOC = """Return the sum of the elements along a given axis.

    This is a longer description that goes over
    two lines, with ``code``, a role :func:`~numpy.add`, *emphasis*,
    a `link <https://example.org>`_ and a citation [1]_ in it.

    Parameters
    ----------
    values : array_like, optional
        The elements that are to be summed up, in any
        order whatsoever.
    axis, other : int

    Returns
    -------
    total : ndarray
        An array with the specified axis removed.

    .. versionadded:: 1.7
        The keyword was added for reasons of symmetry.

    .. code-block:: python

        import numpy as np
        not_prose = np.sum([1, 2])

    =====  =======================
    name   what the column means here
    =====  =======================

    The following example shows how to use it::

        total = sum_up([1, 2, 3])

    Examples
    --------
    >>> sum_up([1, 2])
    3
    That is the result of the example.

    More prose follows after the example.
    """


class TestProse:
    def test_numpydoc(self):
        assert docstring_paragraphs(_NUMPYDOC) == [
            "Return the sum of the elements along a given axis.",
            "This is a longer description that goes over two lines, with code, a role numpy.add, emphasis, a link and a "
            "citation in it.",
            "The elements that are to be summed up, in any order whatsoever.",
            "An array with the specified axis removed.",
            "The keyword was added for reasons of symmetry.",
            "The following example shows how to use it:",
            "More prose follows after the example.",
        ]

    @pytest.mark.parametrize(
        "docstring",
        [
            "",
            "Too short.",
            "x = f(y) + g(z) - h(w) ** 2 / 3",
            "int, float, str, bool",
            ">>> run()\nIt is what it prints out.",
            "+-----+-----+\n| a column | of a table with words |\n+-----+-----+",
        ],
    )
    def test_no_prose(self, docstring):
        assert docstring_paragraphs(docstring) == []


def test_every_docstring_of_a_file(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('''
"""The module."""
if True:
  class Thing:
    """The class, with \\ud800 half a pair."""
    def walk(self):
      """The method."""
      text = """This string is not a docstring."""
  async def wait():
    r"""Waits."""
''')
    assert docstrings.read_docstrings(str(path)) == [
        "The module.",
        "The class, with ? half a pair.",
        "Waits.",
        "The method.",
    ]
    path.write_text('def broken(:\n  """It does not even parse, so there is nothing to read."""\n')
    assert docstrings.read_docstrings(str(path)) == []


def test_installed_packages():
    sources = docstrings.find_source_files(["absl", "stdlib"])
    assert [package for package, _, _ in sources] == sorted(package for package, _, _ in sources)
    assert {package for package, _, _ in sources} == {"absl", "stdlib"}
    assert not any(
        "site-packages" in path or "/tests/" in path
        for package, path, _ in sources
        if package == "stdlib"
    )
    with pytest.raises(UserError, match="--packages: no_such_thing not installed in "):
        docstrings.find_source_files(["absl", "no_such_thing"])


def test_a_paragraph_of_a_docstring_that_is_too_short_is_written_where_it_comes_again(
    tmp_path, monkeypatch
):
    paragraph = "This paragraph is repeated in the files of the package."
    (tmp_path / "a.py").write_text(f'"""{paragraph}"""\n')
    (tmp_path / "b.py").write_text(f'"""{paragraph}\n\nOnly here there is more to be read."""\n')
    sources = [docstrings._Source("p", str(tmp_path / name), 1) for name in ("a.py", "b.py")]
    monkeypatch.setattr(docstrings, "find_source_files", lambda packages: sources)
    output = tmp_path / "out.jsonl"
    run_command(DocstringOptions, docstrings.run, output_file=output, min_words=12)
    (record,) = map(json.loads, output.read_text().splitlines())
    assert record["text"].splitlines()[0] == paragraph


def test_same_output_for_any_number_of_workers(tmp_path):
    for workers in (1, 3):
        done = subprocess.run(
            [
                sys.executable,
                _SCRIPT,
                "--packages=absl,numpy",
                f"--output_file=out{workers}",
                f"--num_workers={workers}",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    first, second = ((tmp_path / name).read_text() for name in ("out1", "out3"))
    assert first == second
    records = [json.loads(line) for line in first.splitlines()]
    assert len(records) > 300
    assert {record["package"] for record in records} == {"absl", "numpy"}
    assert len({record["text"] for record in records}) == len(records)
    assert ">>>" not in first
    assert f"{len(records):,}" in done.stdout


@pytest.mark.parametrize(
    "flags, message",
    [
        ({"output_file": "."}, "--output_file: . is a directory"),
        (
            {"output_file": "out", "packages": "six", "min_words": 100_000},
            "no docstring of --min_words or more",
        ),
    ],
)
def test_user_errors(tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    assert_refused(
        lambda: run_command(DocstringOptions, docstrings.run, num_workers=1, **flags), message
    )
    assert list(tmp_path.iterdir()) == []

"""Promises have tests, and a run of all tests is red where one of them shows nothing."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests import promises
from tests.promises import Promise

_PROMISES = [promise for path in promises.PAGES for promise in promises.read(path)]


def test_every_promise_has_tests_that_assert():
    assert len(_PROMISES) > 120
    for promise in _PROMISES:
        assert promise.tests, f"no test shows {promise.name!r}"
        for test in promise.tests:
            path, name = promises.place(test)
            assert path.exists(), f"{promise.name}: {test} is gone"
            # A method has the name of its class before its own.
            indent = "    " if test.count("::") == 2 else ""
            is_there = re.search(rf"^{indent}def {name}\(", path.read_text("utf-8"), re.M)
            assert is_there, f"{promise.name}: {test} is no node id"
            assert promises.asserts(path, name), f"{promise.name}: {test} asserts nothing"


def test_a_promise_is_given_once():
    names = [promise.name for promise in _PROMISES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("tests", "reasons", "expected"),
    [
        (("t.py::a", "t.py::b", "t.py::b[1]"), ("no torch",), []),
        (("t.py::gone",), (), ["x: t.py::gone was not run"]),
        (("t.py::b[2]",), (), ["x: t.py::b[2] was not run"]),
        (("t.py::b",), ("no jax",), ["x: t.py::b was skipped (Skipped: no torch)"]),
    ],
)
def test_outcomes_are_held_against_the_page(tests, reasons, expected):
    outcomes = {
        "t.py::a": [("passed", "")],
        "t.py::b": [("passed", ""), ("skipped", "Skipped: no torch")],
        "t.py::b[1]": [("passed", "")],
    }
    assert promises.broken([Promise("x", tests, reasons)], outcomes) == expected


_MODULE = """
from tests.helper import check

def test_a():
    check(1)
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("module", "status", "printed"),
    [
        (_MODULE, 0, "1 passed"),
        (_MODULE.replace("test_a", "test_b"), 1, "test_it.py::test_a was not run"),
        (
            _MODULE.replace("def", "import pytest\n\n@pytest.mark.skip('later')\ndef"),
            1,
            "test_it.py::test_a was skipped (Skipped: later)",
        ),
        (_MODULE.replace("check(1)", "print(1)"), 1, "test_a asserts nothing"),
        # A part of the tests shows nothing about the rest.
        (_MODULE.replace("test_a", "test_b"), 0, "1 passed"),
    ],
    ids=["kept", "renamed", "skipped", "emptied", "in part"],
)
def test_a_whole_run_is_red_where_a_promise_shows_nothing(
    project, tmp_path, module, status, printed, request
):
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copyfile(project / "tests/promises.py", tests / "promises.py")
    (tests / "__init__.py").touch()
    (tests / "helper.py").write_text("def check(value):\n    assert value\n")
    (tests / "test_it.py").write_text(module)
    (tests / "conftest.py").write_text("from tests.promises import pytest_configure\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\naddopts = -m 'not pages'\n")
    (tmp_path / "docs").mkdir()
    # In two parts: this file names no other one.
    test = "tests/" + "test_it.py::test_a"
    (tmp_path / "docs/promises.md").write_text(
        f"| promise | tests |\n|---|---|\n| it holds | `{test}` |\n"
    )
    part = ["tests"] if request.node.callspec.id == "in part" else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *part],
        cwd=tmp_path,
        # Other plug-ins take seconds to import.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status and printed in done.stdout

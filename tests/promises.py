"""Holds the outcomes of a whole run of the tests against docs/promises.md.

Each row of a table there, or on another page, whose last column has the title "tests" names the
tests that show a promise. A run of all tests is red where one of them was not run, was skipped for
a reason that the row does not quote, or asserts nothing.
"""

import ast
import collections
import dataclasses
import functools
import pathlib
import re

import pytest

PROJECT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((PROJECT / "docs").glob("*.md"))
# Reasons for which a test of any row may be skipped, where others of its parameters have run.
_OWN_DATA = "which is not part of the project"
TEST = re.compile(r"`(tests/[\w/]+\.py::(?:\w+::)?\w+(?:\[[^`]*\])?)`")
_QUOTED = re.compile(r"skipped: “([^”]+)”")


@dataclasses.dataclass(frozen=True)
class Promise:
    """One row of the page.

    Attributes:
      name: what is promised, the row's first cell.
      tests: node ids; without a parameter's id they stand for all parameters.
      reasons: parts of the reasons for which a test of the row may be skipped.
    """

    name: str
    tests: tuple[str, ...]
    reasons: tuple[str, ...]


def read(page: pathlib.Path) -> list[Promise]:
    """Returns the rows of all tables of a page that have a column of tests."""
    promises = []
    is_table = False
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            is_table = False
        elif line.endswith("| tests |"):
            is_table = True
        elif is_table and not line.startswith("|---"):
            name = line.split("|")[1].strip()
            promises.append(Promise(name, tuple(TEST.findall(line)), tuple(_QUOTED.findall(line))))
    return promises


def broken(promises: list[Promise], outcomes: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Returns a line for every test of a row that does not show what the row promises.

    Args:
      outcomes: node id, with and without the id of its parameter → (outcome, reason of a skip) of
        each call.
    """
    lines = []
    for promise in promises:
        for test in promise.tests:
            calls = outcomes.get(test, [])
            reasons = {reason for outcome, reason in calls if outcome == "skipped"}
            if not calls:
                lines.append(f"{promise.name}: {test} was not run")
            for reason in sorted(reasons):
                is_partial = _OWN_DATA in reason and len(calls) > 1
                if not is_partial and not any(quoted in reason for quoted in promise.reasons):
                    lines.append(f"{promise.name}: {test} was skipped ({reason})")
            path, name = place(test)
            if calls and path.exists() and not asserts(path, name):
                lines.append(f"{promise.name}: {test} asserts nothing")
    return lines


def place(test: str) -> tuple[pathlib.Path, str]:
    """Returns the file and the function of a node id."""
    name = test.partition("[")[0]
    path = name.partition("::")[0]
    # A test may be in a class.
    return PROJECT / path, name.rpartition("::")[2]


class Outcomes:
    """Plug-in of pytest: notes the outcome of every test and compares them with the pages."""

    def __init__(self):
        self._outcomes: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
        self._broken: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test is skipped in its setup, and never called, or in its call.
        if report.when != "call" and not report.skipped:
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        for name in {report.nodeid, report.nodeid.partition("[")[0]}:
            self._outcomes[name].append((report.outcome, reason))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # A module that skips itself: its tests are never collected.
        if report.skipped and isinstance(report.longrepr, tuple):
            path = PROJECT / report.nodeid
            for name in _names(path)[0]:
                self._outcomes[f"{report.nodeid}::{name}"].append(("skipped", report.longrepr[2]))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        for page in PAGES:
            self._broken += broken(read(page), self._outcomes)
        # `tests.again` reads it: repeating a test does not keep another promise.
        session.config.cache.set("promises/broken", self._broken)
        if self._broken:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter) -> None:
        if self._broken:
            terminalreporter.section("promises that no test shows (docs/promises.md)")
            for line in self._broken:
                terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    if _is_whole_run(config):
        config.pluginmanager.register(Outcomes())


def _is_whole_run(config: pytest.Config) -> bool:
    """Whether all tests are asked for, by the process that gets the reports of all of them."""
    option = config.option
    return (
        config.args_source == pytest.Config.ArgsSource.TESTPATHS
        and not option.keyword
        and option.markexpr == "not pages"
        and not option.collectonly
        and not option.deselect
        and not option.lf
        and not option.maxfail
        and not hasattr(config, "workerinput")
    )


def asserts(path: pathlib.Path, name: str, callers: frozenset = frozenset()) -> bool:
    """Whether a function asserts something, itself or by a function of the tests that it calls."""
    functions, imported = _names(path)
    if name not in functions or (path, name) in callers:
        return False
    callers |= {(path, name)}
    for node in ast.walk(functions[name]):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            # np.testing.assert_allclose, pytest.raises; subprocess.run(…, check=True).
            if re.search(r"\bassert_|\braises$", called) or _checks_status(node):
                return True
            module, _, function = called.rpartition(".")
            if module in imported:
                path_of_module = (imported[module] / module).with_suffix(".py")
            elif called in imported:
                path_of_module = imported[called].with_suffix(".py")
            elif called in functions:
                path_of_module = path
            else:
                # A fixture of the folder.
                path_of_module = path.with_name("conftest.py")
            if path_of_module.exists() and asserts(path_of_module, function, callers):
                return True
    return False


def _checks_status(node: ast.Call) -> bool:
    for keyword in node.keywords:
        if keyword.arg == "check" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value is True
    return False


@functools.cache
def _names(path: pathlib.Path) -> tuple[dict[str, ast.FunctionDef], dict[str, pathlib.Path]]:
    """Returns name → function of a module, and name → module or package of tests it is from."""
    functions = {}
    imported = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "tests":
            for alias in node.names:
                imported[alias.name] = PROJECT / str(node.module).replace(".", "/")
    return functions, imported

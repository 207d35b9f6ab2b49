"""The paths that documentation and docstrings name exist; tables of results follow from the numbers
of every run.

These are kept beside the pages, a comment names the file of a table: `<!-- docs/results/table5.json
-->`. The files are in the format that the reports of `experiments/` write, without the jobs.
"""

import ast
import json
import pathlib
import re

import pytest

from bert_tf.evaluation.significance import difference, holm
from bert_tf.tables import show_mean

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_PACKAGES = sorted({path.parent.name for path in _PROJECT.glob("*/__init__.py")} | {"vocab"})
_PAGES = sorted(
    path for folder in (".", "docs", *_PACKAGES) for path in (_PROJECT / folder).glob("*.md")
)
_MODULES = sorted(
    path
    for folder in (".", *(f"{package}/**" for package in _PACKAGES))
    for path in _PROJECT.glob(f"{folder}/*.py")
)
# data_gen/text/docstrings.py wherever it is written; in backticks also `bert_common/`, or a module
# as `bert_tf/runs/run`.
_NAMED = re.compile(
    rf"(?<![\w/.-])((?:{'|'.join(_PACKAGES)}|docs)/[\w/.-]+\.(?:py|md))\b"
    rf"|`((?:{'|'.join(_PACKAGES)}|docs)/[\w/.-]*)`"
)
_COMMANDS = re.compile(r"python ((?:[\w-]+/)*[\w-]+\.py)\b")


def _headings(page: pathlib.Path) -> set[str]:
    titles = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _name(path: pathlib.Path) -> str:
    return str(path.relative_to(_PROJECT))


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/interruptions.md"])
def test_the_tests_that_show_a_promise_exist(page):
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", (_PROJECT / page).read_text("utf-8"))
    assert named
    for path, test in named:
        assert f"\ndef {test}(" in (_PROJECT / path).read_text("utf-8"), f"{path}::{test}"


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_links_lead_somewhere(page):
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists() or anchor and anchor not in _headings(target):
                dead.append(link)
    assert not dead


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_pages_name_files_that_exist(page):
    commands = set(_COMMANDS.findall(page.read_text("utf-8")))
    assert not _missing(page) + sorted(name for name in commands if not (_PROJECT / name).exists())


def test_docstrings_and_comments_name_files_that_exist():
    assert len(_MODULES) > 100
    assert not {_name(path): missing for path in _MODULES if (missing := _missing(path))}


@pytest.mark.parametrize(
    "package",
    sorted(
        path
        for root in ("bert_common", "modeling", "data_gen", "bert_tf")
        for path in (_PROJECT / root).rglob("__init__.py")
    ),
    ids=_name,
)
def test_docstrings_of_packages_list_their_modules(package):
    """All of them, or none where the directory is clear. One row per module: its name, then a
    phrase."""
    docstring = ast.get_docstring(ast.parse(package.read_text("utf-8")), clean=False)
    rows = re.findall(r"^ {4}(\w+)(?:\.py|/) {2,}\S", docstring, re.M)
    modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__"}
    packages = {path.parent.name for path in package.parent.glob("*/__init__.py")}
    assert sorted(rows) in ([], sorted(modules | packages))


def _missing(path: pathlib.Path) -> list[str]:
    named = {first or second for first, second in _NAMED.findall(path.read_text("utf-8"))}
    return sorted(
        name
        for name in named
        if not (_PROJECT / name).exists() and not list(_PROJECT.glob(f"{name}.py"))
    )


def test_a_token_can_be_followed():
    """Every file of the section is imported by one that is named before it; commands are where a
    way begins."""
    page = (_PROJECT / "docs/architecture.md").read_text("utf-8")
    section = re.search(r"^## Following a token through the code\n(.*?)^## ", page, re.M | re.S)[1]
    named = re.findall(r"`([\w/]+\.py)`", section)
    assert len(named) > 25 and len(set(named)) == len(named)
    reached: set[str] = set()
    for name in named:
        assert name in reached or name.rpartition("/")[2].startswith(("run_", "create_")), name
        reached |= _imported(_PROJECT / name)


def _imported(path: pathlib.Path) -> set[str]:
    """Files of the project that a file imports or, as "module:function", has imported later."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"[\w.]+:\w+", node.value)
        ):
            modules.add(node.value.partition(":")[0])
    return {f"{module.replace('.', '/')}.py" for module in modules}


_TABLE = re.compile(r"<!-- (docs/results/\w+\.json) -->\n((?:\|.*\n)+)")
_TABLES = [
    (_name(page), *match.groups())
    for page in _PAGES
    for match in _TABLE.finditer(page.read_text("utf-8"))
]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _seeds(cell: dict) -> dict[int, float]:
    return {int(seed): value for seed, value in cell["seeds"].items()}


@pytest.mark.parametrize(
    ("page", "file", "table"), _TABLES, ids=[f"{page} {file}" for page, file, _ in _TABLES]
)
def test_means_and_deviations_are_those_of_the_runs(page, file, table):
    found = json.loads((_PROJECT / file).read_text("utf-8"))
    header, _, *lines = map(_cells, table.splitlines())
    rows = {row["name"]: row["columns"] for row in found["rows"]}
    titles = {title: name for name, title in found["columns"].items()}
    assert [line[0] for line in lines] == list(rows)
    for name, *cells in lines:
        for title, cell in zip(header[1:], cells, strict=True):
            values = list(_seeds(rows[name][titles[title]]).values())
            assert cell.startswith(show_mean(values, found["decimals"])), (page, name, title)


@pytest.mark.parametrize(("page", "file"), sorted({(page, file) for page, file, _ in _TABLES}))
def test_p_values_are_those_of_the_runs(page, file):
    found = json.loads((_PROJECT / file).read_text("utf-8"))
    rows = {row["name"]: row["columns"] for row in found["rows"]}
    pairs = [tuple(pair) for pair in found["compared"]]
    values = holm(
        [
            difference(_seeds(rows[one][column]), _seeds(rows[other][column])).p
            for one, other, column in pairs
        ]
    )
    text = (_PROJECT / page).read_text("utf-8")
    for pair, value in zip(pairs, values, strict=True):
        assert f"p = {value:.2g}" in text, pair


def test_there_are_tables():
    assert _TABLES

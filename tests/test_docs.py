"""The paths that documentation and docstrings name exist."""

import ast
import pathlib
import re

import pytest

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
_PACKAGES = sorted({path.parent.name for path in _PROJECT.glob("*/__init__.py")} | {"vocab"})
_PAGES = sorted(path for folder in (".", "docs", *_PACKAGES) for path in (_PROJECT / folder).glob("*.md"))
_MODULES = sorted(path for folder in (".", *(f"{package}/**" for package in _PACKAGES))
                  for path in _PROJECT.glob(f"{folder}/*.py"))
# data_gen/text/docstrings.py wherever it is written; in backticks also `bert_common/`, or a module as
# `bert_tf/tasks/run`.
_NAMED = re.compile(rf"(?<![\w/.-])((?:{'|'.join(_PACKAGES)}|docs)/[\w/.-]+\.(?:py|md))\b"
                    rf"|`((?:{'|'.join(_PACKAGES)}|docs)/[\w/.-]*)`")
_COMMANDS = re.compile(r"python ((?:[\w-]+/)*[\w-]+\.py)\b")


def _headings(page: pathlib.Path) -> set[str]:
  """The anchors of a page, as GitHub makes them."""
  titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
  return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _name(path: pathlib.Path) -> str:
  return str(path.relative_to(_PROJECT))


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


@pytest.mark.parametrize("package", sorted(path for root in ("bert_common", "modeling", "data_gen", "bert_tf")
                                           for path in (_PROJECT / root).rglob("__init__.py")), ids=_name)
def test_docstrings_of_packages_list_their_modules(package):
  """One row per module: its name, then a phrase."""
  docstring = ast.get_docstring(ast.parse(package.read_text("utf-8")), clean=False)
  rows = re.findall(r"^ {4}(\w+)(?:\.py|/) {2,}\S", docstring, re.M)
  modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__"}
  packages = {path.parent.name for path in package.parent.glob("*/__init__.py")}
  assert sorted(rows) == sorted(modules | packages)


def _missing(path: pathlib.Path) -> list[str]:
  named = {first or second for first, second in _NAMED.findall(path.read_text("utf-8"))}
  return sorted(name for name in named if not (_PROJECT / name).exists() and not list(_PROJECT.glob(f"{name}.py")))


def test_a_token_can_be_followed():
  """Every file of the section is imported by one that is named before it; commands are where a way begins."""
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
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.]+:\w+", node.value):
      modules.add(node.value.partition(":")[0])
  return {f"{module.replace('.', '/')}.py" for module in modules}

"""The size and the shape of the project: every line is paid for again by those who read, test and
change it.

Raising a number here is a change that somebody has to defend.
"""

import ast
import collections
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
# Lines of Python, docstrings and blank lines included, by package.
LINES = {
    "bert_common": 2_070,
    "modeling": 6_650,
    "data_gen": 7_140,
    "bert_tf": 680,
    "bert_tf/training": 2_690,
    "bert_tf/evaluation": 1_220,
    "bert_tf/tasks": 7_060,
    "bert_tf/inference": 1_400,
    "bert_tf/vocabulary": 490,
    "bert_tf/extras": 2_130,
    "experiments": 1_880,
    "benchmarks": 1_820,
    "root": 430,
    "docs": 80,
    "vocab": 30,
}
ALL_LINES, TEST_LINES, FILES = 35_720, 28_960, 235
# Of 1,000 lines of code without comments, docstrings and blank lines; and lines of the longest one.
FUNCTIONS, LONGEST = 81, 80
PAGES, WORDS = 32, 45_000
SCRIPTS = 14
# What is imported, outside functions, where a file is: files and lines.
ROADS = {
    "modeling/encoder.py": (10, 1_780),
    "bert_tf/tasks/question_answering/task.py": (62, 11_620),
}
# A package → what it may not import, inside functions neither.
UPWARD = {
    "bert_common": ("data_gen", "modeling", "bert_tf"),
    "data_gen": ("modeling", "bert_tf"),
    "modeling": ("bert_tf",),
}
_PRIVATE = re.compile(
    r"\b(?:gradient_registry|ops\.uid|tensorflow\.python\.[\w.]+|_create_device_dataset)\b"
)


class Project:
    """The files that git knows, and who imports whom.

    Attributes:
      files: name → text, of Python files outside tests/.
      tests: the same of tests/.
      outside, everywhere: file → files that it imports outside functions, and anywhere.
    """

    def __init__(self):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "*.py", "docs/*.md"],
            cwd=_PROJECT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\0")
        texts = {
            name: (_PROJECT / name).read_text("utf-8")
            for name in listed
            if name and (_PROJECT / name).exists()
        }
        self.pages = {name: text for name, text in texts.items() if name.endswith(".md")}
        self.tests = {name: text for name, text in texts.items() if name.startswith("tests/")}
        self.files = {
            name: texts[name] for name in texts.keys() - self.pages.keys() - self.tests.keys()
        }
        self.trees = {name: ast.parse(text) for name, text in self.files.items()}
        self._modules = {
            name.removesuffix(".py").replace("/", ".").removesuffix(".__init__"): name
            for name in self.files
        }
        self.outside = {name: self._imports(name, inside=False) for name in self.files}
        self.everywhere = {name: self._imports(name, inside=True) for name in self.files}

    def _imports(self, path: str, inside: bool) -> set[str]:
        names, waiting, package = (
            set(),
            list(self.trees[path].body),
            path.removesuffix(".py").split("/"),
        )
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(
                    [*package[: len(package) - node.level], *filter(None, [node.module])]
                    if node.level
                    else [node.module]
                )
                names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.FunctionDef | ast.Lambda) and not inside:
                continue
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and not inside:
                continue
            waiting += ast.iter_child_nodes(node)
        found = {
            self._modules[parent]
            for name in names
            for parent in _parents(name)
            if parent in self._modules
        }
        return found - {path}

    def reached(self, start: str, edges: dict[str, set[str]]) -> set[str]:
        """What is imported by way of a file, itself included."""
        seen, waiting = set(), [start]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += edges[name]
        return seen


def _parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


@pytest.fixture(scope="module")
def house() -> Project:
    if not (_PROJECT / ".git").exists():
        pytest.skip("counts the files that git knows: this is no checkout")
    return Project()


def test_lines(house):
    lines = collections.Counter()
    for name, text in house.files.items():
        parts = name.split("/")
        depth = 2 if parts[0] == "bert_tf" and len(parts) > 2 else 1
        package = "root" if len(parts) == 1 else "/".join(parts[:depth])
        lines[package] += text.count("\n")
    assert not {package: count for package, count in lines.items() if count > LINES.get(package, 0)}
    assert lines.total() <= ALL_LINES
    assert sum(text.count("\n") for text in house.tests.values()) <= TEST_LINES
    assert len(house.files) <= FILES and sum("/" not in name for name in house.files) <= SCRIPTS


def test_functions(house):
    code = functions = 0
    longest = {}
    for name, tree in house.trees.items():
        documented = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                functions += 1
                longest[f"{name}:{node.name}"] = node.end_lineno - node.lineno + 1
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(
                node, clean=False
            ):
                documented |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        code += sum(
            bool(line.strip()) and number not in documented and not line.strip().startswith("#")
            for number, line in enumerate(house.files[name].split("\n"), 1)
        )
    assert 1000 * functions / code <= FUNCTIONS
    assert not {name: lines for name, lines in longest.items() if lines > LONGEST}


def test_pages(house):
    assert (
        len(house.pages) <= PAGES
        and sum(len(text.split()) for text in house.pages.values()) <= WORDS
    )


@pytest.mark.parametrize("start", ROADS)
def test_what_a_file_imports(house, start):
    files = house.reached(start, house.outside)
    assert (
        len(files) <= ROADS[start][0],
        sum(house.files[name].count("\n") for name in files) <= ROADS[start][1],
    ) == (True, True), (len(files), sum(house.files[name].count("\n") for name in files))


def test_nothing_is_imported_upward(house):
    assert not [
        f"{name} -> {other}"
        for name, others in house.everywhere.items()
        for other in others
        if other.partition("/")[0] in UPWARD.get(name.partition("/")[0], ())
    ]


def test_no_circles(house):
    """Files that import each other, imports inside functions included; a package is no circle with
    its modules."""
    edges = {
        name: {other for other in others if not other.endswith("__init__.py")}
        for name, others in house.everywhere.items()
    }
    reached = {
        name: set().union(*(house.reached(other, edges) for other in others))
        for name, others in edges.items()
    }
    assert not sorted(name for name, others in reached.items() if name in others)


def test_no_private_names_of_tensorflow(house):
    assert not {
        name: found for name, text in house.files.items() if (found := _PRIVATE.findall(text))
    }

"""The size and the shape of the project: code that is small because it does fewer things, and that
a stranger can read.

Nothing here counts lines, files or functions: the formatter decides about lines, and an ordinary
change, such as a flag, a file format or an optimizer with its test, meets no ceiling.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests import density

# Code tokens of the whole project: of what docs/promises.md lists and nothing else. The number rises
# in the commit that adds a row there.
TOTAL = 365_720
# Code tokens by package. Within the total a package may have 3 % or 500 tokens more than this.
TOKENS = {
    "benchmarks": 16_200,
    "bert_common": 19_200,
    "bert_tf": 4_900,
    "bert_tf/evaluation": 9_200,
    "bert_tf/extras": 24_800,
    "bert_tf/inference": 12_600,
    "bert_tf/report": 8_000,
    "bert_tf/runs": 21_800,
    "bert_tf/tasks": 51_400,
    "bert_tf/training": 20_100,
    "bert_tf/vocabulary": 3_100,
    "root": 1_500,
    "data_gen": 88_420,
    "docs": 720,
    "experiments": 12_700,
    # To be read beside the paper, whatever else the project holds.
    "experiments/minibert.py": 1_800,
    "modeling": 63_430,
    "vocab": 60,
}
# Highest rate over all packages, per 10,000 tokens or in %; one package may have half as much more.
RATES = {
    "conditional expressions": 14.0,
    # Many were calls of map.
    "comprehensions": 28.0,
    "nested comprehensions": 0.8,
    "tuple assignments": 4.0,
    "unpacked comprehensions": 0.0,
    "walrus": 1.5,
    "deep expressions": 0.6,
    "statements of many names": 18.0,
    "riddles among comments, %": 1.0,
    "riddles among docstrings, %": 0.5,
    "vague names, %": 0.3,
    "values assigned and replaced": 4.0,
    "map and filter": 2.0,
    "and, or as values": 5.0,
    "that of, ‰ of words": 0.3,
}
# In a package of a few thousand tokens a single statement is a high rate.
_SMALL_PACKAGE = 4_000
_LONGEST_FUNCTION = 100
# File → the number of files that are imported, directly or not and outside functions, with it.
ROADS = {"modeling/encoder.py": 13, "bert_tf/tasks/question_answering/task.py": 89}
# Package → packages that it may not import, not even inside functions.
UPWARD = {
    "bert_common": ("data_gen", "modeling", "bert_tf"),
    "data_gen": ("modeling", "bert_tf"),
    "modeling": ("bert_tf",),
}
_PRIVATE_NAMES = re.compile(
    r"\b(?:gradient_registry|ops\.uid|tensorflow\.python\.[\w.]+|_create_device_dataset)\b"
)

_SAMPLE = '''"""A docstring is no code, f"{either}"."""

name = "x"  # nor a comment
if name:
    name = f"{name!r:>{len(name)}} and {f'{name}' + '}'}" f"{1}"

def join(words):
    """Joins."""
    total = sum(map(len, words)) or 1.5
    return rf"""{total}
    {{}}"""
'''


class Project:
    """The files that git knows, without tests, and their imports of each other.

    Attributes:
      texts: path → text.
      outside, everywhere: path → files that it imports outside functions, and anywhere.
    """

    def __init__(self):
        self.texts = {}
        for path, text in density.tracked_files():
            if not path.startswith("tests/"):
                self.texts[path] = text
        self._paths = {}
        for path in self.texts:
            module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            self._paths[module] = path
        self.outside = {path: self._imports(path, is_inside=False) for path in self.texts}
        self.everywhere = {path: self._imports(path, is_inside=True) for path in self.texts}

    def _imports(self, path: str, is_inside: bool) -> set[str]:
        """Returns the files that a file imports; `is_inside` counts imports inside functions."""
        names: set[str] = set()
        waiting: list[ast.AST] = list(ast.parse(self.texts[path]).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path}: imports are absolute"
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                continue
            elif is_inside or not isinstance(node, ast.FunctionDef | ast.Lambda):
                waiting += ast.iter_child_nodes(node)
        imported = set()
        for name in names:
            imported.update(
                self._paths[parent] for parent in _parents(name) if parent in self._paths
            )
        return imported - {path}


def _parents(name: str) -> Iterator[str]:
    """Yields a module's name and the names of the packages around it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _reached(start: str, imports: dict[str, set[str]]) -> set[str]:
    """Returns the files that importing a file imports, itself included."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += imports[path]
    return reached


@pytest.fixture(scope="module")
def project() -> Project:
    if not (density.PROJECT / ".git").exists():
        pytest.skip("counts the files that git knows: this is no checkout")
    return Project()


@pytest.fixture(scope="module")
def packages(project) -> dict[str, density.Density]:
    return density.packages()


def test_tokens(packages):
    too_large = []
    for package, measured in packages.items():
        ceiling = TOKENS.get(package, 0)
        ceiling += max(500, int(0.03 * ceiling))
        if measured.tokens > ceiling:
            too_large.append(
                f"{package} has {measured.tokens:,} code tokens, more than {ceiling:,}"
            )
    total = sum(
        measured.tokens
        for package, measured in packages.items()
        if package != "experiments/minibert.py"
    )
    if total > TOTAL:
        too_large.append(f"all packages have {total:,} code tokens, more than {TOTAL:,}")
    assert not too_large, (
        f"{'; '.join(too_large)}. Look for something that is there twice or that no row of "
        "docs/promises.md needs and remove it; a number rises only with a new row there. Shorter "
        "names or denser statements don't help: RATES sees them."
    )


def test_code_counts_alike_on_every_python():
    """An f-string is one token here; tokenize splits it from Python 3.12 on."""
    measured = density.measure("sample.py", _SAMPLE)
    assert (measured.tokens, measured.rates()["map and filter"]) == (31, 10_000 / 31)


def test_density(packages):
    total = density.Density()
    for measured in packages.values():
        total.add(measured)
    too_dense = []
    for name, rate in total.rates().items():
        if rate > RATES[name]:
            too_dense.append(f"all packages: {name} {rate:.1f}, at most {RATES[name]}")
    for package, measured in packages.items():
        if measured.tokens < _SMALL_PACKAGE:
            continue
        for name, rate in measured.rates().items():
            if rate > 1.5 * RATES[name]:
                too_dense.append(f"{package}: {name} {rate:.1f}, at most {1.5 * RATES[name]:.1f}")
    assert not too_dense, (
        f"{'; '.join(too_dense)}. `python -m tests.density` lists the densest statements: write "
        "them out with loops, names and sentences."
    )


def test_longest_function(packages):
    longest = max(measured.longest for measured in packages.values())
    assert longest[0] <= _LONGEST_FUNCTION, (
        f"{longest[1]} has {longest[0]} lines: give its parts names and make functions of them"
    )


@pytest.mark.parametrize("start", ROADS)
def test_number_of_files_that_a_file_imports(project, start):
    assert len(_reached(start, project.outside)) <= ROADS[start]


def test_nothing_is_imported_upward(project):
    upward = []
    for path, imported in project.everywhere.items():
        forbidden = UPWARD.get(path.partition("/")[0], ())
        upward += [
            f"{path} -> {other}" for other in imported if other.partition("/")[0] in forbidden
        ]
    assert not upward


def test_no_circles(project):
    """No two files import each other, imports inside functions included."""
    imports = {}
    for path, imported in project.everywhere.items():
        # A package is no circle with its modules.
        imports[path] = {other for other in imported if not other.endswith("__init__.py")}
    in_circles = []
    for path, imported in imports.items():
        if any(path in _reached(other, imports) for other in imported):
            in_circles.append(path)
    assert not in_circles


def test_no_private_names_of_tensorflow(project):
    assert not [path for path, text in project.texts.items() if _PRIVATE_NAMES.search(text)]

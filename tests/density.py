"""Measures how densely code is written, independently of how a formatter breaks its lines.

Rates are per 10,000 code tokens: names, operators, numbers and strings outside docstrings and
comments. `tests/test_budget.py` holds the ceilings;
`python -m tests.density` prints the densest statements, which are the first to be written out.
"""

import ast
import collections
import dataclasses
import io
import itertools
import pathlib
import re
import subprocess
import tokenize
from collections.abc import Iterator

PROJECT = pathlib.Path(__file__).resolve().parent.parent
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.Assert)
# An attribute, a keyword argument or a part of an f-string is no deeper than what it stands in.
_FLAT = (
    ast.Attribute,
    ast.keyword,
    ast.comprehension,
    ast.Starred,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Slice,
)
_INSIDE_EXPRESSIONS = (
    ast.expr,
    ast.keyword,
    ast.comprehension,
    ast.arguments,
    ast.FormattedValue,
)
# Python 3.12 and newer split an f-string into parts, between these tokens.
_STRING_OPENS = getattr(tokenize, "FSTRING_START", -1)
_STRING_CLOSES = getattr(tokenize, "FSTRING_END", -1)
_CODE_TOKENS = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING, _STRING_OPENS}
_DEEP = 8
_MANY_NAMES = 12
# Names that could mean anything.
VAGUE_NAMES = set(
    "one found own there known given what others kept of shown made chosen asked now taken least "
    "most whole".split()
)
# First words of a clause that only makes sense together with the code below it.
_RIDDLE = re.compile(
    r"^(Of|Where|Those|Without|With|As|What|That|Whatever|Which|How|Beside|Also|There)\b"
)
_DOCSTRING_RIDDLE = re.compile(r"^(What|How|Where|Of|Those|As|That|Beside)\b")

_THAT_OF = re.compile(r"\b(?:that|those) of\b")
_BOOLEAN_NAME = re.compile(r"(?:^|\.)_?(?:is|has|can|do)_\w+$")
_BOOLEAN_FUNCTIONS = ("isinstance", "bool", "any", "all", "callable", "hasattr")


@dataclasses.dataclass
class Density:
    """Counts of one or several files.

    Attributes:
      tokens: code tokens.
      counts: name of a construct → how often it occurs; names are those of `rates`.
      longest: (lines, name) of the longest function.
    """

    tokens: int = 0
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    longest: tuple[int, str] = (0, "")

    def add(self, other: "Density") -> None:
        self.tokens += other.tokens
        self.counts += other.counts
        self.longest = max(self.longest, other.longest)

    def rates(self) -> dict[str, float]:
        """Returns the rates that `tests/test_budget.py` bounds, per 10,000 tokens or in %."""
        rates = {}
        for name in (
            "conditional expressions",
            "comprehensions",
            "nested comprehensions",
            "tuple assignments",
            "unpacked comprehensions",
            "walrus",
            "deep expressions",
            "statements of many names",
            "values assigned and replaced",
            "map and filter",
            "and, or as values",
        ):
            rates[name] = 10_000 * self.counts[name] / max(self.tokens, 1)
        for name, part, total in (
            ("riddles among comments, %", "comment riddles", "comments"),
            ("riddles among docstrings, %", "docstring riddles", "docstrings"),
            ("vague names, %", "vague names", "names"),
        ):
            rates[name] = 100 * self.counts[part] / max(self.counts[total], 1)
        num_words = max(self.counts["words"], 1)
        rates["that of, ‰ of words"] = 1_000 * self.counts["that of"] / num_words
        return rates


def measure(path: str, text: str) -> Density:
    """Counts the constructs of one file."""
    tree = ast.parse(text)
    density = Density()
    docstring_lines = _count_docstrings(tree, density.counts)
    _count_comments(text, docstring_lines, density.counts)
    density.tokens = _count_tokens(text, docstring_lines)
    _count_boolean_values(tree, density.counts)
    for node in ast.walk(tree):
        _count_node(node, density.counts)
        _count_replaced_values(node, density.counts)
        if isinstance(node, _FUNCTIONS):
            lines = node.end_lineno - node.lineno + 1
            density.longest = max(density.longest, (lines, f"{path}:{node.name}"))
    return density


def packages() -> dict[str, Density]:
    """Returns package → its density, without tests, of the files that git knows."""
    measured: dict[str, Density] = collections.defaultdict(Density)
    for path, text in tracked_files():
        if not path.startswith("tests/"):
            measured[package_of(path)].add(measure(path, text))
    return dict(measured)


def tracked_files(*patterns: str) -> Iterator[tuple[str, str]]:
    """Yields (path, text) of the files that git knows; by default those of Python."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *(patterns or ("*.py",))],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for path in listed.split("\0"):
        if path and (PROJECT / path).exists():
            yield path, (PROJECT / path).read_text("utf-8")


def package_of(path: str) -> str:
    """Returns the package of a file: the first folder, in bert_tf the first two.

    The paper in one file is a package of its own.
    """
    if path == "experiments/minibert.py":
        return path
    folders = path.split("/")[:-1]
    if not folders:
        return "root"
    return "/".join(folders[:2]) if folders[0] == "bert_tf" else folders[0]


def densest_statements(path: str, text: str) -> list[tuple[int, str]]:
    """Returns (score, position) of the statements of a file; the highest score is the densest."""
    scores = []
    for node in ast.walk(ast.parse(text)):
        expressions = _expressions(node)
        parts = [part for expression in expressions for part in ast.walk(expression)]
        branches = 0
        for part in parts:
            branches += isinstance(part, ast.IfExp | ast.Lambda | ast.NamedExpr | ast.BoolOp)
            branches += 2 * isinstance(part, _COMPREHENSIONS)
        depth = max(map(_depth, expressions), default=0)
        scores.append((6 * branches + 3 * depth, f"{path}:{getattr(node, 'lineno', 0)}"))
    return scores


def _count_docstrings(tree: ast.Module, counts: collections.Counter) -> set[int]:
    """Counts docstrings; returns the numbers of their lines."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, _DOCUMENTED):
            continue
        docstring = ast.get_docstring(node)
        if docstring:
            counts["docstrings"] += 1
            counts["docstring riddles"] += bool(_DOCSTRING_RIDDLE.match(docstring))
            _count_words(docstring, counts)
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def _count_words(text: str, counts: collections.Counter) -> None:
    counts["words"] += len(text.split())
    counts["that of"] += len(_THAT_OF.findall(text))


def _count_tokens(text: str, docstring_lines: set[int]) -> int:
    """Returns the number of code tokens; an f-string is one, whatever the version of Python."""
    num_tokens = 0
    nesting = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_outside = nesting == 0 and token.start[0] not in docstring_lines
        num_tokens += is_outside and token.type in _CODE_TOKENS
        nesting += token.type == _STRING_OPENS
        nesting -= token.type == _STRING_CLOSES
    return num_tokens


def _count_comments(text: str, docstring_lines: set[int], counts: collections.Counter) -> None:
    comment = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("#") and number not in docstring_lines:
            comment += line.strip(" #") + " "
        elif comment:
            counts["comments"] += 1
            counts["comment riddles"] += bool(_RIDDLE.match(comment))
            _count_words(comment, counts)
            comment = ""


def _count_replaced_values(node: ast.AST, counts: collections.Counter) -> None:
    """Counts `x = a` that is followed by `if …: x = b`: the reader has to take the first back."""
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if not isinstance(statements, list):
            continue
        for first, second in itertools.pairwise(statements):
            if isinstance(second, ast.If) and not second.orelse and len(second.body) == 1:
                target = _target(first)
                is_replaced = target is not None and target == _target(second.body[0])
                counts["values assigned and replaced"] += is_replaced


def _target(statement: ast.stmt) -> str | None:
    """Returns what a statement assigns to, None if it is no assignment to one target."""
    if isinstance(statement, ast.AnnAssign):
        return ast.unparse(statement.target)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return ast.unparse(statement.targets[0])
    return None


def _count_boolean_values(tree: ast.Module, counts: collections.Counter) -> None:
    """Counts `a or b` and `a and b` that choose a value, not those that decide a condition."""
    conditions: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            conditions.add(node.test)
        elif isinstance(node, ast.comprehension):
            conditions.update(node.ifs)
        elif isinstance(node, ast.UnaryOp):
            conditions.add(node.operand)
        elif isinstance(node, ast.BoolOp):
            # The whole counts once.
            conditions.update(node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and node not in conditions:
            is_condition = any(_is_boolean(value) for value in node.values)
            counts["and, or as values"] += not is_condition


def _is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in _BOOLEAN_FUNCTIONS
    if isinstance(node, ast.Name | ast.Attribute):
        return _BOOLEAN_NAME.search(ast.unparse(node)) is not None
    return isinstance(node, ast.Compare)


def _count_node(node: ast.AST, counts: collections.Counter) -> None:
    counts["conditional expressions"] += isinstance(node, ast.IfExp)
    counts["walrus"] += isinstance(node, ast.NamedExpr)
    if isinstance(node, ast.Call):
        counts["map and filter"] += ast.unparse(node.func) in ("map", "filter")
    if isinstance(node, _COMPREHENSIONS):
        inner = [child for child in ast.walk(node) if isinstance(child, _COMPREHENSIONS)]
        counts["comprehensions"] += 1
        counts["nested comprehensions"] += len(node.generators) > 1 or len(inner) > 1
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        is_swap = isinstance(node.value, ast.Tuple) and _names(node.targets[0]) == _names(
            node.value
        )
        counts["tuple assignments"] += isinstance(node.value, ast.Tuple) and not is_swap
        counts["unpacked comprehensions"] += isinstance(node.value, _COMPREHENSIONS)
    if isinstance(node, ast.arg) or (
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ):
        name = node.arg if isinstance(node, ast.arg) else node.id
        counts["names"] += 1
        counts["vague names"] += name in VAGUE_NAMES
    expressions = _expressions(node)
    if expressions:
        counts["deep expressions"] += max(map(_depth, expressions)) >= _DEEP
        parts = [part for expression in expressions for part in ast.walk(expression)]
        num_names = sum(isinstance(part, ast.Name | ast.Attribute) for part in parts)
        counts["statements of many names"] += num_names >= _MANY_NAMES


def _names(node: ast.Tuple) -> list[str]:
    return sorted(map(ast.unparse, node.elts))


def _expressions(node: ast.AST) -> list[ast.expr]:
    """Returns the expressions of a statement itself, without those of statements inside it."""
    if isinstance(node, ast.If | ast.While):
        return [node.test]
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.With):
        return [item.context_expr for item in node.items]
    if isinstance(node, _STATEMENTS):
        return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return []


def _depth(node: ast.AST) -> int:
    """Returns the depth of an expression."""
    children = [
        child for child in ast.iter_child_nodes(node) if isinstance(child, _INSIDE_EXPRESSIONS)
    ]
    below = max(map(_depth, children), default=0)
    return below if isinstance(node, _FLAT) else below + 1


if __name__ == "__main__":
    statements = []
    for file, content in tracked_files():
        if not file.startswith("tests/"):
            statements += densest_statements(file, content)
    for score, position in sorted(statements, reverse=True)[:40]:
        print(score, position)

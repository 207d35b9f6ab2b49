"""The examples in the docstrings of the public classes run, and give what their comments say."""

import ast
import inspect
import re
import textwrap

import numpy as np
import pytest

import modeling
from data_gen.tokenization.vocabulary import Vocabulary

PUBLIC = {
    name: getattr(modeling, name)
    for name in modeling.__all__
    if inspect.isclass(getattr(modeling, name))
}


def example_of(cls: type) -> str:
    """The code below `Examples:`, which is the last section."""
    found = re.search(r"\n *Examples:\n(.*)\Z", cls.__doc__, re.DOTALL)
    return textwrap.dedent(found[1]) if found else ""


def expected_values(code: str) -> list[tuple[ast.stmt, object]]:
    """(statement, value of the comment behind it) where the comment is a literal, perhaps with
    words after a colon."""
    lines, found = code.splitlines(), []
    for statement in ast.parse(code).body:
        comment = lines[statement.end_lineno - 1].partition("  # ")[2].partition(":")[0]
        try:
            found.append((statement, ast.literal_eval(comment)))
        except (SyntaxError, ValueError):
            found.append((statement, None))
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_an_example_runs_and_gives_what_it_says(name):
    code = example_of(PUBLIC[name])
    assert 2 <= len(code.strip().splitlines()) <= 8, code
    names = {
        "np": np,
        "Vocabulary": Vocabulary,
        **{name: getattr(modeling, name) for name in modeling.__all__},
    }
    for statement, expected in expected_values(code):
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), name, "exec"), names)
            continue
        found = eval(compile(ast.Expression(statement.value), name, "eval"), names)
        if (
            isinstance(expected, float | int)
            or isinstance(expected, tuple)
            and isinstance(expected[0], float | int)
        ):
            np.testing.assert_allclose(found, expected, rtol=0.02, atol=1e-8)
        elif expected is not None:
            assert tuple(found) == tuple(expected)


def test_every_public_class_has_one():
    assert len(PUBLIC) >= 15 and all(map(example_of, PUBLIC.values()))

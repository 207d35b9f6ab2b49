"""Every command that a page or a script's `--help` shows is one that the script takes."""

import ast
import itertools
import re
import shlex

import pytest

from tests.page_commands import PROJECT, parse_command

# At the start of a line, after a prompt, a pipe or variables; not what a sentence mentions.
_COMMAND = re.compile(
    r"^ *(?:\$ |[^`]*\| )?(?:\w+=\S+ )*(?:\S*/)?python "
    r"(?P<script>[\w/]+\.py|-m bert_tf\.extras\.\w+) (?P<arguments>[^`\n]+)",
    re.MULTILINE,
)
# Of a page's loops.
_VARIABLES = {"$task": "mrpc", "$rate": "1e-3"}
# Left out by the page, or different for every reader: what stands there is no command line.
_NO_COMMAND = ("…", "RUN...", "PARENT")


def _texts() -> list[tuple[str, str]]:
    """(file, its prose): the pages, the recipes' comments, and the scripts' docstrings, which are
    their help."""
    found = [
        (str(path.relative_to(PROJECT)), path.read_text("utf-8"))
        for path in (
            PROJECT / "README.md",
            *sorted(PROJECT.glob("docs/*.md")),
            PROJECT / "samples/README.md",
        )
    ]
    found += [
        (
            str(path.relative_to(PROJECT)),
            re.sub(r"^# ?", "", path.read_text("utf-8"), flags=re.MULTILINE),
        )
        for path in sorted(PROJECT.glob("recipes/*.yaml"))
    ]
    scripts = [
        path
        for folder in (".", "data_gen", "vocab", "experiments", "benchmarks")
        for path in sorted((PROJECT / folder).glob("*.py"))
    ]
    return found + [
        (
            str(path.relative_to(PROJECT)),
            ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "",
        )
        for path in scripts
    ]


def _commands() -> list[tuple[str, str, str]]:
    """(file, script, arguments) of each command that is written in full, each once a file."""
    found = {}
    for name, text in _texts():
        for match in _COMMAND.finditer(re.sub(r"\\\n\s*", "", text)):
            script, arguments = match["script"], match["arguments"]
            if script.startswith("-m "):
                script = f"{script[3:].replace('.', '/')}.py"
            # What is below tests/ is a tool of this project, with argparse.
            if not (
                script.startswith("tests/")
                or "--help" in arguments
                or any(mark in arguments for mark in _NO_COMMAND)
            ):
                found[name, script, arguments] = None
    return list(found)


def _words(arguments: str) -> list[str]:
    """The words of a command, up to a pipe, a redirection or a comment."""
    for variable, value in _VARIABLES.items():
        arguments = arguments.replace(variable, value)
    words = shlex.shlex(arguments, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    return list(itertools.takewhile(lambda word: word[0] not in "|<>&;", words))


_COMMANDS = _commands()
# The run.yaml of the pages.
_CONFIGURATION = re.search(
    r"^```yaml\n(.*?)^```",
    (PROJECT / "docs/fine_tuning.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)[1]


@pytest.mark.parametrize(("page", "script", "arguments"), _COMMANDS)
def test_a_command_is_understood(page, script, arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    # Options of predictions read the kind of their input from the file.
    for name in ("lines.txt", "tickets.csv", "new.csv"):
        (tmp_path / name).touch()
    (tmp_path / "run.yaml").write_text(_CONFIGURATION)
    parse_command(script, _words(arguments), monkeypatch)


def test_commands_are_found():
    assert len(_COMMANDS) > 150
    # A former name only leads on.
    scripts = {path.name for path in PROJECT.glob("run_*.py")} - {"run_classifier_with_tfhub.py"}
    assert {script for _, script, _ in _COMMANDS} >= scripts


def test_a_recipe_shows_how_it_is_used():
    """Every recipe has its own command, which the test above has understood, so its settings are
    right."""
    recipes = sorted(path.name for path in PROJECT.glob("recipes/*.yaml"))
    used = {page for page, script, arguments in _COMMANDS if f"--config={page}" in arguments}
    assert len(recipes) >= 10 and {f"recipes/{name}" for name in recipes} == {
        page for page in used if page.startswith("recipes/")
    }

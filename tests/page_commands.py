"""The commands of a page of documentation, run in order in one process, at small sizes."""

import contextlib
import io
import pathlib
import re
import runpy
import shlex
import sys
from collections.abc import Sequence

import pytest
from absl import flags

from bert_common import cli

PROJECT = pathlib.Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, title: str = "") -> list[tuple[str, str]]:
    """(language, content) of the blocks of a page, or of its section with that title, that are to
    be run."""
    text = (PROJECT / page).read_text("utf-8")
    return _BLOCK.findall(text.split(f"\n## {title}\n")[1].split("\n## ")[0] if title else text)


def programs(page: str, title: str) -> list[str]:
    return [content for language, content in blocks(page, title) if language == "python"]


def commands(block: str) -> list[list[str]]:
    """The words of each command of a bash block; lines that end with a backslash go on."""
    lines = block.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run_page(page: str, sizes: dict[str, str], title: str = "") -> list[str]:
    """Runs the blocks of a page in the current directory.

    Args:
      page: path below the project.
      sizes: flag → value in place of the page's own, wherever the flag is given.
      title: of the section whose blocks are run; the whole page by default.

    Returns:
      the commands that were run, as they stand on the page.
    """
    done = []
    for language, content in blocks(page, title):
        if language == "python":
            exec(compile(content, page, "exec"), {"__name__": "__main__"})
            continue
        for words in commands(content):
            done.append(shlex.join(words))
            run_command(words, sizes)
    return done


def run_command(words: list[str], sizes: dict[str, str]) -> str:
    """Runs a command of this project, `mkdir`, or `echo TEXT | python …`, and returns what it
    printed."""
    given = ""
    if "|" in words:
        assert words[0] == "echo", words
        given, words = " ".join(words[1 : words.index("|")]) + "\n", words[words.index("|") + 1 :]
    if words[:2] == ["mkdir", "-p"]:
        pathlib.Path(words[2]).mkdir(parents=True, exist_ok=True)
        return ""
    assert words[0] == "python", words
    if words[1] == "-m":
        words = ["python", f"{words[2].replace('.', '/')}.py", *words[3:]]
    arguments = [_resized(word, sizes) for word in words[2:]]
    return run_script(str(PROJECT / words[1]), arguments, given)


def _resized(word: str, sizes: dict[str, str]) -> str:
    name, equals, _ = word.partition("=")
    return (
        f"{name}={sizes[name.removeprefix('--')]}"
        if equals and name.removeprefix("--") in sizes
        else word
    )


def run_script(path: str, arguments: list[str], given: str = "") -> str:
    """The script as Python runs it, without a process of its own: importing TensorFlow takes
    seconds."""
    known, before = set(flags.FLAGS), (sys.argv, sys.stdin)
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    sys.argv, sys.stdin = [path, *arguments], io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        assert not end.code, (path, arguments, end.code)
    finally:
        sys.argv, sys.stdin = before
        for name in set(flags.FLAGS) - known:
            delattr(flags.FLAGS, name)
        flags.FLAGS.unparse_flags()
    return printed.buffer.getvalue().decode()


class _ParsedError(Exception):
    """Ends a script where its work would begin."""


def parse_command(script: str, words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a script up to where its options are checked; raises `UserError` where they are
    wrong."""

    def parse(options, target, positional=None):
        cli.parse(options, [script, *words], positional)
        raise _ParsedError

    with monkeypatch.context() as patched:
        patched.setattr(cli, "run", parse)
        patched.setattr(sys, "argv", [str(PROJECT / script)])
        with pytest.raises(_ParsedError):
            runpy.run_path(str(PROJECT / script), run_name="__main__")

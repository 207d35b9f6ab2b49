"""The commands of a page of documentation, run in order in one process, at small sizes."""

import contextlib
import io
import os
import pathlib
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Sequence

import pytest
from absl import flags

from bert_common import cli

PROJECT = pathlib.Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ANY_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Lines of a progress bar in a log file, and how long a training takes on a slow machine.
_PROGRESS = re.compile(
    r"^(?:[a-z][a-z ]*: +(?:\d+% |[\d.]+\w* \[)|time     about ).*\n", re.MULTILINE
)
# What of an output may differ: times, speeds, sizes of files, numbers with decimals.
_VARYING = re.compile(
    r"(?P<any>\d[\d.,]*(?= (?:ms|s|min|h|days|[kMG]?B/s|[kMG]B|GFLOP/s)\b))|"
    r"(?P<number>-?\d+\.\d+(?:e-?\d+)?)|(?P<blank>\s+)|(?P<other>\S)"
)


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


def differences(shown: str, printed: str) -> list[str]:
    """Returns where a page shows other lines than a program prints.

    Shares may differ by .02, percentages by 2, losses by 5 %, times by anything; "…" stands for any
    text, also at the ends: no line is left out without it.
    """
    printed = _PROGRESS.sub("", printed).strip()
    pieces = shown.strip().split("…")
    problems = []
    position = 0
    for index, piece in enumerate(pieces):
        pattern, numbers = _pattern(piece.strip())
        # The first piece is the beginning of the output, and the last one its end.
        start = "" if index else r"\A"
        end = "" if index + 1 < len(pieces) else r"\Z"
        found = re.compile(f"{start}{pattern}{end}").search(printed, position)
        if found is None:
            problems.append(f"not printed, or not here: {piece.strip()}")
            continue
        position = found.end()
        for (before, number, after), text in zip(numbers, found.groups(), strict=True):
            if abs(float(text) - float(number)) > _tolerance(before, float(number), after):
                problems.append(f"{before}{number} is {text}")
    return problems


def _pattern(piece: str) -> tuple[str, list[tuple[str, str, str]]]:
    """A pattern for a piece of output, and (text before, number, text after) of its groups."""
    pattern = []
    numbers = []
    for match in _VARYING.finditer(piece):
        if match["any"]:
            pattern.append(r"\d[\d.,]*")
        elif match["number"]:
            pattern.append(r"(-?\d+\.\d+(?:e-?\d+)?)")
            start = piece.rfind("\n", 0, match.start()) + 1
            numbers.append((piece[start : match.start()], match[0], piece[match.end() :][:1]))
        else:
            pattern.append(r"\s*" if match["blank"] else re.escape(match[0]))
    return "".join(pattern), numbers


def _tolerance(before: str, number: float, after: str) -> float:
    if re.search(r"loss\s+$", before):
        return 0.05 * abs(number)
    # Percentages, and SQuAD's scores.
    if after == "%" or re.search(r"(?:exact|f1|total)\s+$", before) and number > 1:
        return 2.0
    return 0.02 if abs(number) <= 1 else 0.05 * abs(number)


def outputs_of_page(page: str) -> list[tuple[str, str]]:
    """Runs the blocks of a page in the current directory, in full size, each command in a process
    of its own as a reader does.

    Returns:
      (output as the page shows it, what the block before it prints) of each output.
    """
    outputs = []
    printed = ""
    for language, content in _ANY_BLOCK.findall((PROJECT / page).read_text("utf-8")):
        if language == "bash":
            # The scripts of a checkout lie in the current directory.
            script = re.sub(r"\bpython (?=[\w/]+\.py)", f"python {PROJECT}/", content)
            script = re.sub(r"\bpython ", f"{shlex.quote(sys.executable)} ", script)
            printed = subprocess.run(
                ["bash", "-ec", script],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=True,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            ).stdout
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(content, page, "exec"), {"__name__": "__main__"})
            printed = stream.getvalue()
        elif not language and not content.startswith("$"):
            outputs.append((content, printed))
    return outputs


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

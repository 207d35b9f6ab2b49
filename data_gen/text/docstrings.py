"""The prose of the docstrings of installed packages, for `extract_docstrings.py`: English text
without a download.

Input: Python files, read as text. Output: documents, each a list of paragraphs without code, tables
and markup, as far as the surface of a line shows what it is.
"""

import ast
import inspect
import json
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Sequence

from bert_common import files, outputs, parallel
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.options import DocstringOptions

_SKIPPED_DIRECTORIES = (
    "__pycache__",
    "test",
    "tests",
    "testing",
    "site-packages",
    "dist-packages",
    "idlelib",
)
_PORTION_BYTES = 1 << 20
# Lines that are no prose: examples and what they print, directives, tables and underlines, types,
# code, titles.
_NO_PROSE = re.compile(
    r">>>|\.\. |:(?:r?type|meta|ref)\b|[|+]|([=\-~^\"'`#*.])\1{2,}|[@%#$]|(?:import|from|def|class) .*|\w[\w., *]* : |"
    r"[\w.\[\], ]+ [-+*/]?= |[\w.]+\(.*\)[,;]?$|\w+(?: \w+)?:?$"
)
# What stands before the prose of an item: ":param float alpha:", "alpha (float):", a bullet.
_ITEM = re.compile(
    r":\w+[^:]*: *|(?:[-*+•]|\(?\w{1,2}[.)]) +|[`*]*[\w.]+[`*]*(?: ?\([^)]*\))?: +(?=\S)"
)
# Roles and links, literals and emphasis.
_MARKUP = (
    (
        re.compile(
            r":[\w:]+:`[~!]?([^`<]*?)(?: *<[^`>]*>)?`|`([^`<]+?) *<[^`>]+>`_*|!?\[([^\]]+)\]\([^)]*\)"
        ),
        r"\1\2\3",
    ),
    (re.compile(r" ?\[[\w#*]+\]_|[`*]{1,2}(?=\S)|(?<=\S)[`*]{1,2}_*"), ""),
)
_WORD = re.compile(r"[(\"']*[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\"']*[.,;:!?]*[)\"']*$")


def run(options: DocstringOptions) -> None:
    """The command: writes JSON lines with the fields package and text; each paragraph, wherever it
    is repeated, once."""
    outputs.prepare_output_file(options.output_file, "output_file", {})
    sources = find_source_files(options.packages)
    portions = list(parallel.portions(sources, lambda source: source[2], _PORTION_BYTES))
    seen: set[str] = set()
    documents = words = 0
    with (
        files.atomic_write(options.output_file) as file,
        Progress("docstrings", len(portions), "MB") as progress,
    ):
        for found in parallel.ordered_map(_read_portion, portions, options.workers):
            progress.advance(1)
            for package, paragraphs in found:
                new = [
                    paragraph
                    for paragraph in dict.fromkeys(paragraphs)
                    if paragraph.casefold() not in seen
                ]
                seen.update(map(str.casefold, new))
                count = sum(len(paragraph.split()) for paragraph in new)
                if count >= options.min_words:
                    file.write(
                        json.dumps({"package": package, "text": "\n".join(new)}, ensure_ascii=False)
                        + "\n"
                    )
                    documents, words = documents + 1, words + count
        if not documents:
            raise UserError("--packages: no docstring of --min_words or more was found")
    print(f"wrote {documents:,} documents of {words:,} words, from {len(sources):,} files")


def find_source_files(packages: Sequence[str] = ()) -> list[tuple[str, str, int]]:
    """(package, path, bytes) of the Python files of the environment, sorted; of these top-level
    packages, or all."""
    roots = {"stdlib": sysconfig.get_path("stdlib")}
    for directory in (sysconfig.get_path("platlib"), sysconfig.get_path("purelib")):
        roots |= {
            name: os.path.join(directory, entry)
            for entry in os.listdir(directory)
            if (name := entry.removesuffix(".py")).isidentifier()
        }
    if missing := [name for name in packages if name not in roots]:
        raise UserError(
            f"--packages: {', '.join(missing)} not installed in {sys.prefix}: top-level names are expected"
        )
    found = []
    for package in sorted(packages or roots):
        paths = [roots[package]] if os.path.isfile(roots[package]) else []
        for directory, subdirectories, names in os.walk(roots[package]):
            subdirectories[:] = [
                name for name in subdirectories if name not in _SKIPPED_DIRECTORIES
            ]
            paths += [os.path.join(directory, name) for name in names if name.endswith(".py")]
        found += [(package, path, os.path.getsize(path)) for path in sorted(paths)]
    return found


def _read_portion(sources: Sequence[tuple[str, str, int]]) -> list[tuple[str, list[str]]]:
    """The package and the paragraphs of prose of each docstring; runs in the workers."""
    return [
        (package, docstring_paragraphs(text))
        for package, path, _ in sources
        for text in read_docstrings(path)
    ]


def read_docstrings(path: str) -> list[str]:
    """The docstrings of a Python file; none if it can't be parsed."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    try:
        with open(path, "rb") as file, warnings.catch_warnings(action="ignore"):
            nodes = [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, kinds)]
    except (SyntaxError, ValueError, RecursionError):
        return []
    # An escape in it can stand for half a surrogate pair, which can't be written as UTF-8.
    return [
        text.encode(errors="replace").decode()
        for node in nodes
        if (text := ast.get_docstring(node, clean=False))
    ]


def docstring_paragraphs(docstring: str) -> list[str]:
    """The paragraphs of prose in a docstring, without line breaks and markup; empty if there is
    none."""
    paragraphs: list[str] = []
    lines: list[str] = []
    code_from = (
        None  # Inside of a literal block or a fence: what is indented so far, or more, is code.
    )
    is_example = False
    for line in [*inspect.cleandoc(docstring).splitlines(), ""]:
        text, indent = line.strip(), len(line) - len(line.lstrip())
        is_fence = text.startswith(("```", "~~~"))
        if code_from is not None and (is_fence if code_from == 0 else text and indent < code_from):
            code_from = None
        elif is_fence:
            code_from = 0
        is_example = bool(text) and (is_example or text.startswith(">>>"))
        if not text or is_example or is_fence or code_from is not None or _NO_PROSE.match(text):
            paragraphs.append(" ".join(lines))
            lines = []
        else:
            if item := _ITEM.match(text):
                paragraphs.append(" ".join(lines))
                lines, text = [], text[item.end() :]
            lines.append(text.replace("::", ":"))
        if text.endswith("::") and code_from is None:
            code_from = indent + 1
    for pattern, replacement in _MARKUP:
        paragraphs = [pattern.sub(replacement, text) for text in paragraphs]
    # Four words at least, and not much else between the spaces.
    return [
        " ".join(parts)
        for parts in map(str.split, paragraphs)
        if parts
        and parts[-1][-1] in ".!?:)\"'"
        and sum(map(bool, map(_WORD.match, parts))) >= max(4, 0.7 * len(parts))
    ]

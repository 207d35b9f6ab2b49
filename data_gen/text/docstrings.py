"""The prose in the docstrings of installed packages, for `extract_docstrings.py`: English text
without a download.

Input: Python files, read as text. Output: documents, each a list of paragraphs. Code, tables and
markup are removed as far as the surface of a line shows them.
"""

import ast
import inspect
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from bert_common import files, json_files, outputs, parallel
from bert_common.errors import UserError, say
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
# Bytes of source files that a worker gets at a time.
_PORTION_BYTES = 1 << 20
# Lines that are not prose: examples and their output, directives, tables and underlines, types,
# code, titles.
_NO_PROSE = re.compile(
    r">>>|\.\. |:(?:r?type|meta|ref)\b|[|+]|([=\-~^\"'`#*.])\1{2,}|[@%#$]|"
    r"(?:import|from|def|class) .*|\w[\w., *]* : |"
    r"[\w.\[\], ]+ [-+*/]?= |[\w.]+\(.*\)[,;]?$|\w+(?: \w+)?:?$"
)
# Markup in front of the prose of an item: ":param float alpha:", "alpha (float):", a bullet.
_ITEM = re.compile(
    r":\w+[^:]*: *|(?:[-*+•]|\(?\w{1,2}[.)]) +|[`*]*[\w.]+[`*]*(?: ?\([^)]*\))?: +(?=\S)"
)
# Roles and links, literals and emphasis.
_MARKUP = (
    (
        re.compile(
            r":[\w:]+:`[~!]?([^`<]*?)(?: *<[^`>]*>)?`|`([^`<]+?) *<[^`>]+>`_*|"
            r"!?\[([^\]]+)\]\([^)]*\)"
        ),
        r"\1\2\3",
    ),
    (re.compile(r" ?\[[\w#*]+\]_|[`*]{1,2}(?=\S)|(?<=\S)[`*]{1,2}_*"), ""),
)
_WORD = re.compile(r"[(\"']*[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\"']*[.,;:!?]*[)\"']*$")


class _Source(NamedTuple):
    """A Python file of a top-level package, and its size in bytes."""

    package: str
    path: str
    size: int


def run(options: DocstringOptions) -> None:
    """Runs the command: writes JSON lines with the fields package and text.

    A paragraph that is repeated anywhere is written once.
    """
    sources = find_source_files(options.packages)
    for source in sources:
        files.register.note(source.path, "packages")
    outputs.prepare_output_file(options.output_file, "output_file")
    # The list makes the number of portions known for the progress bar; it holds names only.
    portions = list(parallel.portions(sources, lambda source: source.size, _PORTION_BYTES))
    seen: set[str] = set()
    num_documents = 0
    num_words = 0
    with (
        files.atomic_write(options.output_file) as file,
        Progress("docstrings", len(portions), "MB") as progress,
    ):
        for docstrings in parallel.ordered_map(_read_portion, portions, options.workers):
            # Results come in the order of the portions: the first of equal paragraphs is kept.
            progress.advance(1)
            for package, paragraphs in docstrings:
                # A dict drops repetitions and keeps the order, which a set would not.
                unique = dict.fromkeys(paragraphs)
                new = [paragraph for paragraph in unique if paragraph.casefold() not in seen]
                text = "\n".join(new)
                words = len(text.split())
                # Words are counted after the repetitions are gone, or licenses would pass the limit
                # each time.
                if words >= options.min_words:
                    seen.update(paragraph.casefold() for paragraph in new)
                    file.write(json_files.line_of({"package": package, "text": text}))
                    num_documents += 1
                    num_words += words
        if not num_documents:
            raise UserError("--packages: no docstring of --min_words or more was found")
    say(f"wrote {num_documents:,} documents of {num_words:,} words, from {len(sources):,} files")


def find_source_files(packages: Sequence[str] = ()) -> list[_Source]:
    """Returns the Python files of these top-level packages of the environment, or of all, sorted.

    Raises:
      UserError: a package is not installed.
    """
    # Name of a top-level package or module → its folder or file.
    roots = {"stdlib": sysconfig.get_path("stdlib")}
    for directory in (sysconfig.get_path("platlib"), sysconfig.get_path("purelib")):
        for entry in os.listdir(directory):
            name = entry.removesuffix(".py")
            if name.isidentifier():
                roots[name] = os.path.join(directory, entry)
    # The packages are searched before any work begins.
    missing = [name for name in packages if name not in roots]
    if missing:
        raise UserError(
            f"--packages: {', '.join(missing)} not installed in {sys.prefix}: top-level names are "
            "expected"
        )
    if not packages:
        packages = list(roots)
    sources = []
    for package in sorted(packages):
        # File systems list names in any order, and the output must not depend on it.
        for path in sorted(_python_files(roots[package])):
            sources.append(_Source(package, path, os.path.getsize(path)))
    return sources


def _python_files(root: str) -> list[str]:
    """Returns the Python files below a directory, without tests; a file itself."""
    if os.path.isfile(root):
        return [root]
    paths = []
    for directory, subdirectories, names in os.walk(root):
        # os.walk only descends into the directories that are left in the list.
        subdirectories[:] = [name for name in subdirectories if name not in _SKIPPED_DIRECTORIES]
        for name in names:
            if name.endswith(".py"):
                paths.append(os.path.join(directory, name))
    return paths


def _read_portion(sources: Sequence[_Source]) -> list[tuple[str, list[str]]]:
    """Returns (package, paragraphs of prose) of each docstring; runs in the workers."""
    docstrings = []
    for source in sources:
        for docstring in read_docstrings(source.path):
            docstrings.append((source.package, docstring_paragraphs(docstring)))
    return docstrings


def read_docstrings(path: str) -> list[str]:
    """Returns the docstrings of a Python file; none if it can't be parsed."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings(action="ignore"):
            # Old sources contain escapes that the parser warns about.
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, RecursionError):
        return []
    docstrings = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text:
                # An escape can stand for half a surrogate pair, which UTF-8 can't encode.
                docstrings.append(text.encode(errors="replace").decode())
    return docstrings


def docstring_paragraphs(docstring: str) -> list[str]:
    """Returns the paragraphs of prose in a docstring, without line breaks and markup."""
    paragraphs: list[str] = []
    lines: list[str] = []
    # In a literal block: the smallest indentation of its lines. In a fence: 0. Else None.
    code_indent = None
    is_example = False
    # The blank line at the end finishes the last paragraph.
    for line in [*inspect.cleandoc(docstring).splitlines(), ""]:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        is_fence = text.startswith(("```", "~~~"))
        if code_indent == 0:
            is_end = is_fence
        else:
            is_end = code_indent is not None and bool(text) and indent < code_indent
        if is_end:
            code_indent = None
        elif is_fence:
            code_indent = 0
        is_example = bool(text) and (is_example or text.startswith(">>>"))
        is_code = is_example or is_fence or code_indent is not None
        if not text or is_code or _NO_PROSE.match(text):
            paragraphs.append(" ".join(lines))
            lines = []
        else:
            item = _ITEM.match(text)
            if item:
                paragraphs.append(" ".join(lines))
                lines = []
                text = text[item.end() :]
            lines.append(text.replace("::", ":"))
        if text.endswith("::") and code_indent is None:
            # A literal block follows, which is indented more than this line.
            code_indent = indent + 1
    # Markup may span lines, so it is removed after they are joined.
    for pattern, replacement in _MARKUP:
        paragraphs = [pattern.sub(replacement, text) for text in paragraphs]
    paragraphs = [" ".join(text.split()) for text in paragraphs]
    return [paragraph for paragraph in paragraphs if _is_prose(paragraph)]


def _is_prose(paragraph: str) -> bool:
    """Returns whether a paragraph ends like a sentence and mostly consists of words, at least
    four."""
    parts = paragraph.split()
    if not paragraph.endswith((".", "!", "?", ":", ")", '"', "'")):
        return False
    num_words = sum(_WORD.match(part) is not None for part in parts)
    return num_words >= max(4, 0.7 * len(parts))

"""Finds the docstrings of the installed packages and takes the prose out of them; for `extract_docstrings.py`.

Input: Python files, read as text. Output: documents, each a list of paragraphs without code, tables and markup. The
common styles (numpydoc, Google, reStructuredText fields, Markdown) are known by their surface only; what can't be told
from prose stays in.
"""

import ast
import dataclasses
import gc
import hashlib
import inspect
import json
import os
import re
import sys
import sysconfig
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_common import files, parallel
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.options import DocstringOptions

STANDARD_LIBRARY = "stdlib"

# Python files of tests hold docstrings for the test runner; the others are programs, not packages.
_SKIPPED_DIRECTORIES = frozenset(
    ("__pycache__", "test", "tests", "testing", "site-packages", "dist-packages", "idlelib", "lib2to3", "turtledemo",
     "ensurepip"))
_PORTION_BYTES = 1 << 20
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NESTING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try, ast.With)

# Directives whose indented block is not prose; the blocks of all others ("note", "versionadded") are.
_CODE_DIRECTIVE = re.compile(
    r"\.\. +(?:code|code-block|sourcecode|math|plot|image|figure|index|autosummary|automodule|autoclass|autofunction|"
    r"toctree|table|csv-table|list-table|ipython|testcode|testoutput|testsetup|parsed-literal|raw|include|"
    r"literalinclude|doctest|highlight|currentmodule|module|contents|graphviz|jupyter-execute|bokeh-plot|"
    r"minigallery)\b.*")
_DIRECTIVE = re.compile(r"\.\. +[\w:.-]+::\s*[\d.]*\s*")
_FOOTNOTE = re.compile(r"\.\. *\[[^\]]+\]\s*|\.\. +_[^:]+:.*")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.])\1{2,}$")
_TABLE = re.compile(r"[=\-+| :]*(?:={2,}|-{2,}|\+|\|)[=\-+| :]*$|\|.*\||\+[-=+]+\+?")
_FENCE = re.compile(r"(?:```|~~~)")
_SECTION = re.compile(
    r"(?:args|arguments|parameters|params|keyword args|keyword arguments|kwargs|other parameters|returns?|yields?|"
    r"raises|raised|warns|attributes|methods|examples?|usage|notes?|references?|see also|call arguments|inputs?|"
    r"outputs?|input shape|output shape|warnings?|todo|exceptions?|reference|tips?):?$", re.IGNORECASE)
# "alpha : float, optional" of numpydoc: a name, or several, then a type.
_NUMPYDOC_ITEM = re.compile(r"\*{0,2}[\w.\[\]]+(?:, *\*{0,2}[\w.]+)* ?: .*$")
# "alpha: The learning rate." or "alpha (float): …" of Google style, ":param float alpha: …" of Sphinx.
_GOOGLE_ITEM = re.compile(r"(?:[-*] +)?`{0,2}\*{0,2}[\w.]+`{0,2}(?: ?\([^)]*\))?: +(?=\S)")
_SPHINX_FIELD = re.compile(r":(?:param|parameter|arg|keyword|key|raises?|returns?|ivar|cvar|var|yields?)\b[^:]*: *")
_SPHINX_DROPPED = re.compile(r":(?:type|rtype|vartype|meta|ref)\b[^:]*:")
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)]|\(?[a-z]\)) +")
_CODE_LINE = re.compile(
    r"(?:import \w|from [\w.]+ import |def \w+\(|class \w+[(:]|return\b.*[()\[\]=]|@\w+|"
    r"(?:for|with|if|while|try)\b.*:$|print\(|[\w.\[\], ]+ [-+*/]?= \S|[\w.]+\(.*\)[,;]?$|\$ |%|"
    r"[\])}]+[,;]?$|#|\d+ +[-\d])")

# Roles, links, links of Markdown, citations, literals, emphasis, dotted paths.
_MARKUP = tuple((re.compile(pattern), replacement) for pattern, replacement in (
    (r":[\w:+.-]+:`[~!]?([^`<]*?)(?: *<[^`>]*>)?`", r"\1"), (r"`([^`<]+?) *<[^`>]+>`_*", r"\1"),
    (r"!?\[([^\]]+)\]\([^)]*\)", r"\1"), (r" ?\[[\w#*+-]+\]_", ""), (r"``?([^`]*)``?_*", r"\1"),
    (r"(?<![\w*`])(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])", r"\2"), (r"(?<![\w.])~(?=\w)", "")))

# A paragraph is prose if most of what stands between its spaces are words, and there are enough of them.
_MIN_PARAGRAPH_WORDS = 4
_MIN_WORD_SHARE = 0.7
_WORD = re.compile(r"[(\"'“]*[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\"'”]*[.,;:!?]*[)\"'”]*$")
_ENDS_SENTENCE = re.compile(r"[.!?:][)\"'”]*$")


class SourceFile(NamedTuple):
  """A Python file of a package; size in bytes."""

  package: str
  path: str
  size: int


@dataclasses.dataclass
class PackageCounts:
  """Docstrings of a package.

  Attributes:
    files: Python files read.
    docstrings: docstrings in them.
    words: words of these docstrings, as they stand there.
    documents: docstrings with enough new prose.
    kept_words: words of the documents.
  """

  files: int = 0
  docstrings: int = 0
  words: int = 0
  documents: int = 0
  kept_words: int = 0


def run(options: DocstringOptions) -> None:
  """The command: writes JSON lines with the fields package and text, prints the table.

  Raises:
    UserError: a package is not installed, the output can't be written, or no docstring is long enough.
  """
  files.prepare_output_file(options.output_file, "output_file", {})
  sources = find_source_files(options.packages)
  counts: dict[str, PackageCounts] = defaultdict(PackageCounts)
  with files.atomic_write(options.output_file) as file:
    for package, paragraphs in extract_documents(sources, options.workers, options.min_words, counts):
      json.dump({"package": package, "text": "\n".join(paragraphs)}, file, ensure_ascii=False)
      file.write("\n")
    if not any(count.documents for count in counts.values()):
      raise UserError("--packages: no docstring of --min_words or more was found")
  print(report(counts))


def find_source_files(packages: Sequence[str] | None = None) -> list[SourceFile]:
  """The Python files of the running environment, sorted by package and path.

  Args:
    packages: top-level names in site-packages; "stdlib" is the standard library. None: all of them.

  Raises:
    UserError: one of the packages is not there.
  """
  roots = {STANDARD_LIBRARY: sysconfig.get_path("stdlib")}
  for directory in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))):
    for entry in sorted(os.listdir(directory)):
      path = os.path.join(directory, entry)
      if entry.endswith(".py") or (entry.isidentifier() and os.path.isdir(path)):
        roots.setdefault(entry.removesuffix(".py"), path)
  if packages:
    missing = [name for name in packages if name not in roots]
    if missing:
      raise UserError(f"--packages: {', '.join(missing)} not installed in {sys.prefix}; top-level names are expected, "
                      f"such as numpy or sklearn, or {STANDARD_LIBRARY} for the standard library")
    roots = {name: roots[name] for name in packages}
  return [source for name in sorted(roots) for source in _python_files(name, roots[name])]


def _python_files(package: str, root: str) -> Iterator[SourceFile]:
  if os.path.isfile(root):
    yield SourceFile(package, root, os.path.getsize(root))
    return
  for directory, subdirectories, names in os.walk(root):
    subdirectories[:] = sorted(name for name in subdirectories if name not in _SKIPPED_DIRECTORIES)
    for name in sorted(names):
      path = os.path.join(directory, name)
      if name.endswith(".py") and os.path.isfile(path):
        yield SourceFile(package, path, os.path.getsize(path))


def read_docstrings(path: str) -> list[str]:
  """The docstrings of a Python file, in the order of the file; none if it can't be read or parsed."""
  try:
    with open(path, "rb") as file:
      source = file.read()
    if b'"""' not in source and b"'''" not in source:
      return []
    with warnings.catch_warnings():
      warnings.simplefilter("ignore")  # Other people's invalid escape sequences.
      tree = ast.parse(source)
  except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
    return []
  return list(_docstrings(tree))


def _docstrings(node: ast.AST) -> Iterator[str]:
  if isinstance(node, _DOCUMENTED):
    docstring = ast.get_docstring(node, clean=False)
    if docstring:
      # An escape in it can stand for half a surrogate pair, which can't be written down as UTF-8.
      yield docstring.encode("utf-8", errors="replace").decode("utf-8")
  for child in getattr(node, "body", ()):
    if isinstance(child, _NESTING):
      yield from _docstrings(child)


def docstring_paragraphs(docstring: str) -> list[str]:
  """The prose of a docstring.

  Args:
    docstring: as it stands in the source.

  Returns:
    Paragraphs without line breaks and markup; empty if there is no prose.
  """
  paragraphs: list[list[str]] = [[]]
  for starts, text in _prose_lines(inspect.cleandoc(docstring).splitlines()):
    if starts or not text:
      paragraphs.append([])
    if text:
      paragraphs[-1].append(text)
  joined = (_without_markup(" ".join(lines)) for lines in paragraphs if lines)
  return [paragraph for paragraph in joined if _is_prose(paragraph)]


def _prose_lines(lines: list[str]) -> list[tuple[bool, str]]:
  """(whether a new paragraph starts here, text) for each line that may be prose; text "" ends a paragraph."""
  kept: list[tuple[bool, str]] = []
  skipped_deeper_than = None  # Inside a literal block: skip what is indented more than this.
  in_fence = in_doctest = False
  for number, raw in enumerate(lines):
    text = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    if _FENCE.match(text):
      in_fence = not in_fence
      kept.append((False, ""))
      continue
    if in_fence:
      continue
    if not text:
      in_doctest = False
      kept.append((False, ""))
      continue
    if skipped_deeper_than is not None:
      if indent > skipped_deeper_than:
        continue
      skipped_deeper_than = None
    if text.startswith(">>>") or in_doctest:
      in_doctest = True
      continue
    if _CODE_DIRECTIVE.match(text) or text == "::":
      skipped_deeper_than = indent
      continue
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    if _UNDERLINE.match(text) or _TABLE.match(text) or _UNDERLINE.match(following):
      kept.append((False, ""))
      continue
    if text.endswith("::") and not _DIRECTIVE.fullmatch(text):
      # A literal block follows, after a blank line or at once.
      skipped_deeper_than = indent
      text = text[:-1]
    kept.append(_prose_line(text))
  return kept


def _prose_line(text: str) -> tuple[bool, str]:
  if _SPHINX_DROPPED.match(text) or _SECTION.match(text) or _CODE_LINE.match(text):
    return False, ""
  for opening in (_SPHINX_FIELD, _FOOTNOTE, _DIRECTIVE, _BULLET):
    match = opening.match(text)
    if match:
      rest = text[match.end():]
      return True, _GOOGLE_ITEM.sub("", rest, count=1) if _GOOGLE_ITEM.match(rest) else rest
  match = _GOOGLE_ITEM.match(text)
  if match:
    return True, text[match.end():]
  if _NUMPYDOC_ITEM.match(text):
    return False, ""
  return False, text


def _without_markup(text: str) -> str:
  for pattern, replacement in _MARKUP:
    text = pattern.sub(replacement, text)
  return " ".join(text.split())


def _is_prose(paragraph: str) -> bool:
  parts = paragraph.split()
  words = sum(bool(_WORD.match(part)) for part in parts)
  return (words >= _MIN_PARAGRAPH_WORDS and words >= _MIN_WORD_SHARE * len(parts)
          and (bool(_ENDS_SENTENCE.search(paragraph)) or words >= 3 * _MIN_PARAGRAPH_WORDS))


def read_portion(sources: list[SourceFile]) -> list[list[tuple[int, list[str]]]]:
  """For each file its docstrings: (number of words as they stand there, paragraphs of prose). Runs in the workers."""
  # A syntax tree is made of a million objects without cycles: collecting garbage costs a third of the time.
  gc.disable()
  try:
    return [[(len(docstring.split()), docstring_paragraphs(docstring)) for docstring in read_docstrings(source.path)]
            for source in sources]
  finally:
    gc.enable()


def extract_documents(
    sources: Sequence[SourceFile], num_workers: int, min_words: int, counts: dict[str, PackageCounts],
) -> Iterator[tuple[str, list[str]]]:
  """The prose of the docstrings as (package, paragraphs), the same for any number of workers.

  Args:
    sources: files to read.
    num_workers: processes.
    min_words: documents with fewer words are left out.
    counts: package → counts, added to.
  """
  seen: set[bytes] = set()
  portions = list(parallel.portions(sources, lambda source: source.size, _PORTION_BYTES))
  with Progress("docstrings", total=sum(source.size for source in sources), unit="B") as progress:
    for portion, results in zip(portions, parallel.ordered_map(read_portion, portions, num_workers), strict=True):
      for source, docstrings in zip(portion, results, strict=True):
        package = counts[source.package]
        package.files += 1
        for num_words, paragraphs in docstrings:
          package.docstrings += 1
          package.words += num_words
          new = []
          for paragraph in paragraphs:
            digest = hashlib.blake2b(paragraph.casefold().encode("utf-8", errors="replace"), digest_size=12).digest()
            if digest not in seen:
              seen.add(digest)
              new.append(paragraph)
          kept_words = sum(len(paragraph.split()) for paragraph in new)
          if kept_words >= min_words:
            package.documents += 1
            package.kept_words += kept_words
            yield source.package, new
      progress.advance(sum(source.size for source in portion))


def report(counts: dict[str, PackageCounts], num_shown: int = 15) -> str:
  """The table at the end: the largest packages, the rest in one line, the total."""
  ordered = sorted(counts.items(), key=lambda item: (-item[1].kept_words, item[0]))
  rows = ordered[:num_shown]
  if ordered[num_shown:]:
    rows.append((f"{len(ordered) - num_shown} more", _sum([count for _, count in ordered[num_shown:]])))
  rows.append(("all", _sum(list(counts.values()))))
  lines = [f"{'package':<24} {'files':>7} {'docstrings':>11} {'words':>11} {'documents':>10} {'words kept':>11}"]
  lines += [f"{name:<24} {count.files:>7,} {count.docstrings:>11,} {count.words:>11,} {count.documents:>10,} "
            f"{count.kept_words:>11,}" for name, count in rows]
  return "\n".join(lines)


def _sum(counts: Sequence[PackageCounts]) -> PackageCounts:
  return PackageCounts(*(sum(getattr(count, field.name) for count in counts)
                         for field in dataclasses.fields(PackageCounts)))

"""Finds the docstrings of the installed packages and takes the prose out of them; behind `extract_docstrings.py`."""

import ast
import dataclasses
import gc
import hashlib
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence

from common import parallel
from common.errors import UserError
from common.progress import Progress
from data_gen.text.docstring_text import docstring_paragraphs

STANDARD_LIBRARY = "stdlib"

# Python files of tests hold docstrings for the test runner; the others are programs, not packages.
_SKIPPED_DIRECTORIES = frozenset(
    ("__pycache__", "test", "tests", "testing", "site-packages", "dist-packages", "idlelib", "lib2to3", "turtledemo",
     "ensurepip"))
_CHUNK_BYTES = 1 << 20
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NESTING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try, ast.With)


@dataclasses.dataclass(frozen=True)
class SourceFile:
  """A Python file of a package."""

  package: str
  path: str
  size: int


@dataclasses.dataclass
class PackageCounts:
  """What was found in a package.

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
      raise UserError(f"--packages: {', '.join(missing)} not installed in {sys.prefix}; top-level names are wanted, "
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


def read_chunk(sources: list[SourceFile]) -> list[list[tuple[int, list[str]]]]:
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
  chunks = list(parallel.portions(sources, lambda source: source.size, _CHUNK_BYTES))
  with Progress("docstrings", total=sum(source.size for source in sources), unit="B") as progress:
    for chunk, results in zip(chunks, parallel.ordered_map(read_chunk, chunks, num_workers), strict=True):
      for source, docstrings in zip(chunk, results, strict=True):
        package = counts[source.package]
        package.files += 1
        for num_words, paragraphs in docstrings:
          package.docstrings += 1
          package.words += num_words
          new = [paragraph for paragraph in paragraphs if not _seen_before(paragraph, seen)]
          kept_words = sum(len(paragraph.split()) for paragraph in new)
          if kept_words >= min_words:
            package.documents += 1
            package.kept_words += kept_words
            yield source.package, new
      progress.advance(sum(source.size for source in chunk))


def _seen_before(paragraph: str, seen: set[bytes]) -> bool:
  digest = hashlib.blake2b(paragraph.casefold().encode("utf-8", errors="replace"), digest_size=12).digest()
  if digest in seen:
    return True
  seen.add(digest)
  return False


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

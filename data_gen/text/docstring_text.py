"""From a docstring to paragraphs of prose: code, tables and markup out, sentences kept.

Knows the common styles (numpydoc, Google, reStructuredText fields, Markdown) by their surface only; what it can't
tell from prose stays in. Used by `extract_docstrings.py`.
"""

import inspect
import re

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

_ROLE = re.compile(r":[\w:+.-]+:`[~!]?([^`<]*?)(?: *<[^`>]*>)?`")
_LINK = re.compile(r"`([^`<]+?) *<[^`>]+>`_*")
_MARKDOWN_LINK = re.compile(r"!?\[([^\]]+)\]\([^)]*\)")
_CITATION = re.compile(r" ?\[[\w#*+-]+\]_")
_EMPHASIS = re.compile(r"(?<![\w*`])(\*{1,2})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])")
_LITERAL = re.compile(r"``?([^`]*)``?_*")
_DOTTED_PATH = re.compile(r"(?<![\w.])~(?=\w)")

# A paragraph is prose if most of what stands between its spaces are words, and there are enough of them.
_MIN_PARAGRAPH_WORDS = 4
_MIN_WORD_SHARE = 0.7
_WORD = re.compile(r"[(\"'“]*[^\W\d_]+(?:[-'’/][^\W\d_]+)*[)\"'”]*[.,;:!?]*[)\"'”]*$")
_ENDS_SENTENCE = re.compile(r"[.!?:][)\"'”]*$")


def docstring_paragraphs(docstring: str) -> list[str]:
  """The prose of a docstring.

  Args:
    docstring: as it stands in the source.

  Returns:
    Paragraphs without line breaks and markup; empty if there is no prose.
  """
  paragraphs: list[list[str]] = [[]]
  for line in _prose_lines(inspect.cleandoc(docstring).splitlines()):
    starts, text = line
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
  text = _ROLE.sub(r"\1", text)
  text = _LINK.sub(r"\1", text)
  text = _MARKDOWN_LINK.sub(r"\1", text)
  text = _CITATION.sub("", text)
  text = _LITERAL.sub(r"\1", text)
  text = _EMPHASIS.sub(r"\2", text)
  text = _DOTTED_PATH.sub("", text)
  return " ".join(text.split())


def _is_prose(paragraph: str) -> bool:
  parts = paragraph.split()
  words = sum(bool(_WORD.match(part)) for part in parts)
  return (words >= _MIN_PARAGRAPH_WORDS and words >= _MIN_WORD_SHARE * len(parts)
          and (bool(_ENDS_SENTENCE.search(paragraph)) or words >= 3 * _MIN_PARAGRAPH_WORDS))

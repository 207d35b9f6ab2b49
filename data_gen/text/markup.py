"""Paragraphs of HTML and Markdown, for `folders.py`.

Input: the text of a file. Output: its paragraphs, without tags, navigation and code. A heading or
an item of a list is a paragraph of its own.
"""

import re
from html.parser import HTMLParser

# Elements without prose.
_SKIPPED = frozenset(
    ("head", "script", "style", "template", "svg", "nav", "pre", "textarea", "select", "button")
)
# Elements inside a line of text; every other one ends a paragraph.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)
_FRONT_MATTER = re.compile(r"\A\ufeff?---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
# Comments, tags, images, reference definitions.
_NO_TEXT = re.compile(
    r"<!--.*?-->|</?[a-zA-Z][^<>]*>|!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])", re.DOTALL
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]: .*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^)]*\)|\[[^\[\]]*\])|<(?:https?|mailto):[^<>\s]*>")
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~|`+)(?=\S)(.+?)(?<=\S)\1(?!\w)", re.DOTALL)
# Rows of a table, rules and underlines of headings, code by its indentation.
_NO_PROSE = re.compile(r"\s*\||\s*[-=*_]{3,}\s*$|\t| {4}")
# Marks of headings, quotations, and items, which begin a paragraph.
_MARK = re.compile(r"\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")


class _HtmlText(HTMLParser):
    """Collects the paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: list[str] = []
        self._parts: list[str] = []
        self._skipped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        if tag in _SKIPPED:
            self._skipped.append(tag)
        # HTML allows a page without </head>.
        elif tag == "body":
            self._skipped.clear()
        self._end_unless_inline(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            # What was left open inside ends as well.
            del self._skipped[self._skipped.index(tag) :]
        self._end_unless_inline(tag)

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._parts.append(data)

    def end_paragraph(self) -> None:
        """Ends the paragraph that was begun, if any."""
        text = " ".join("".join(self._parts).split())
        if text:
            self.paragraphs.append(text)
        self._parts.clear()

    def _end_unless_inline(self, tag: str) -> None:
        if tag not in _INLINE:
            self.end_paragraph()


def html_paragraphs(text: str) -> list[str]:
    """Returns the paragraphs of an HTML page."""
    page = _HtmlText()
    page.feed(text)
    page.close()
    page.end_paragraph()
    return page.paragraphs


def markdown_paragraphs(text: str) -> list[str]:
    """Returns the paragraphs of a Markdown document."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    text = _NO_TEXT.sub("", _FENCED.sub("", text))
    text = _LINK.sub(r"\1", _DEFINITION.sub("", text))
    paragraphs: list[str] = []
    is_open = False
    for line in text.split("\n"):
        # Indented lines go on with an item that is open; without one they are code.
        if not line.strip() or (_NO_PROSE.match(line) and not (is_open and line.startswith(" "))):
            is_open = False
            continue
        mark = _MARK.match(line)
        line = line[mark.end() :] if mark else line
        if is_open and (mark is None or mark[0].strip() == ">"):
            paragraphs[-1] += f" {line.strip()}"
        else:
            paragraphs.append(line.strip())
        is_open = mark is None or not mark[0].strip().startswith("#")
    plain = [_EMPHASIS.sub(r"\2", paragraph) for paragraph in paragraphs]
    return [paragraph for paragraph in plain if paragraph]

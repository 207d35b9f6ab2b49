"""What `mkdocs` asks while it makes the site: pages that lie outside docs/ become pages of the site."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
# File of the project → page of the site.
_PAGES = {"README.md": "install.md", "samples/README.md": "samples.md", "vocab/README.md": "english_vocabulary.md",
          "tests/golden/README.md": "golden_values.md", "CHANGELOG.md": "changelog.md",
          "CONTRIBUTING.md": "contributing.md"}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files, config):
  for path, page in _PAGES.items():
    content = (_PROJECT / path).read_text("utf-8")
    files.append(File.generated(config, page, content=_with_links_of_the_site(content, posixpath.dirname(path))))
  return files


def on_page_markdown(markdown, page, config, files):
  return _with_links_of_the_site(markdown, "docs") if page.file.src_uri not in _PAGES.values() else markdown


def _with_links_of_the_site(markdown: str, folder: str) -> str:
  """Links of a page in `folder` of the project, as links among the pages of the site; others lose their target."""
  def link(match: re.Match) -> str:
    target = posixpath.normpath(posixpath.join(folder, match[1]))
    page = _PAGES.get(target, target.removeprefix("docs/") if target.startswith("docs/") else None)
    return f"]({page}{match[2] or ''})" if page else "]"
  return _LINK.sub(link, markdown)

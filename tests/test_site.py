import ast
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

import pytest

from tests.page_commands import PROJECT

_LOADED_FROM_ELSEWHERE = re.compile(
    r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//|<link[^>]*rel="stylesheet"[^>]*href="(?:https?:)?//'
)


class _Links(html.parser.HTMLParser):
    """What a page links to, and the anchors it has."""

    def __init__(self, page: pathlib.Path):
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.targets += [attributes[name] for name in ("href", "src") if attributes.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [pathlib.Path(sys.executable).parent / "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 'not included in the "nav"' not in done.stderr, done.stderr
    return folder


def test_links_lead_somewhere(site):
    pages = {page: _Links(page) for page in site.glob("*.html") if page.name != "404.html"}
    assert len(pages) > 30
    dead = []
    for page, links in pages.items():
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            other = page.parent / urllib.parse.unquote(parts.path) if parts.path else page
            if (
                not other.exists()
                or parts.fragment
                and other in pages
                and parts.fragment not in pages[other].anchors
            ):
                dead.append((page.name, target))
    assert not dead


def test_no_page_asks_another_host_for_anything(site):
    pages = list(site.glob("*.html"))
    assert pages
    for page in pages:
        assert not _LOADED_FROM_ELSEWHERE.search(page.read_text("utf-8")), page.name


def test_the_reference_has_every_public_name_with_its_docstring(site):
    stub = ast.parse((PROJECT / "modeling/__init__.pyi").read_text("utf-8"))
    names = {
        name.asname for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names
    }
    page = (site / "api.html").read_text("utf-8")
    anchors = {anchor.rpartition(".")[2] for anchor in _Links(site / "api.html").anchors}
    assert len(names) > 15 and not names - anchors
    assert "The part of the model that every task shares." in page and "Examples:" in page
    # What mkdocstrings says of every argument in **kwargs.
    assert "<em>required</em>" not in page


def test_the_reference_shows_groups_and_no_values_of_constants(site):
    page = (site / "api.html").read_text("utf-8")
    groups = re.findall(r'<h2 id="([^"]+)"', page)
    assert groups[:2] == ["models", "layers"] and len(groups) == 5
    assert "'tiny'" not in page and "&#39;tiny&#39;" not in page


def test_search_works_on_files(site):
    """Browsers load neither JSON nor workers for a page that is a file: both come as scripts."""
    assert "masked_lm" in (site / "search/search_index.js").read_text("utf-8")
    assert '<script src="iframe-worker.js">' in (site / "index.html").read_text("utf-8")


def test_flags_in_commands_are_not_broken(site):
    assert '<span class="flag">--task_name</span>' in (site / "index.html").read_text("utf-8")


def test_notebooks_are_on_the_site(site):
    notebooks = list((PROJECT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for notebook in notebooks:
        assert (site / "notebooks" / notebook.name).exists()

"""Hooks of `mkdocs`: pages from outside docs/, the API reference, redirects of moved pages."""

import ast
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
# File of the project → page of the site.
_PAGES = {
    "README.md": "index.md",
    "samples/README.md": "samples.md",
    "vocab/README.md": "english_vocabulary.md",
    "tests/golden/README.md": "golden_values.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# Documented beside the names of `from modeling import …`; `Tokenizer` is one of these, defined
# elsewhere.
_MORE = (
    "data_gen.tokenization.tokenizer.Tokenizer",
    "bert_tf.inference.predictor.Predictor",
    "modeling.checkpoints.load.read_checkpoint",
    "modeling.checkpoints.load.load_weights",
    "modeling.checkpoints.convert.convert",
)
_REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}">'
    '<a href="{0}">{0}</a>\n'
)


def on_files(files, config):
    for path, page in _PAGES.items():
        content = (_PROJECT / path).read_text("utf-8")
        files.append(
            File.generated(
                config, page, content=_with_links_of_the_site(content, posixpath.dirname(path))
            )
        )
    files.append(File.generated(config, "api.md", content=_reference()))
    return files


def on_post_build(config):
    """Pages of the site that lead from former addresses to those of today."""
    for name, address in config.extra["moved"].items():
        pathlib.Path(config.site_dir, name).write_text(_REDIRECT.format(address), "utf-8")


def _reference() -> str:
    """The public names of `modeling`, in the order of its stub, and some others, for
    mkdocstrings."""
    stub = ast.parse((_PROJECT / "modeling/__init__.pyi").read_text("utf-8"))
    names = [
        f"modeling.{node.module}.{name.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name != "Tokenizer"
    ]
    return "\n".join(
        [
            "# API reference\n",
            "From the docstrings of the public names; [Keras](keras.md) uses them.\n",
            *(f"::: {name}" for name in (*names, *_MORE)),
        ]
    )


def on_page_markdown(markdown, page, config, files):
    return markdown if page.file.generated_by else _with_links_of_the_site(markdown, "docs")


def _with_links_of_the_site(markdown: str, folder: str) -> str:
    """Links of a page in `folder` of the project, as links among the pages of the site; others lose
    their target."""

    def link(match: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        page = _PAGES.get(
            target, target.removeprefix("docs/") if target.startswith("docs/") else None
        )
        return f"]({page}{match[2] or ''})" if page else "]"

    return _LINK.sub(link, markdown)

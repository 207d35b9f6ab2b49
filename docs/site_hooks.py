"""Hooks of `mkdocs`: pages from outside docs/, the API reference, redirects of moved pages."""

import ast
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
# Pages of the site by their file in the project.
_PAGES = {
    "README.md": "index.md",
    "samples/README.md": "samples.md",
    "vocab/README.md": "english_vocabulary.md",
    "tests/golden/README.md": "golden_values.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
# Files that pages link to and that the site offers as they are.
_DOWNLOADS = ("notebooks/fine_tuning.ipynb", "notebooks/pretraining.ipynb")
# A relative link of Markdown: its target and its anchor.
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# Module below `modeling` → the group of its names in the API reference, in the order of the page.
_GROUPS = {
    "fine_tuning": "Models",
    "pretraining": "Models",
    "sentence_embedding": "Models",
    "encoder": "Layers",
    "preprocessing.preprocessor": "Layers",
    "optimizer": "Optimizer and losses",
    "losses": "Optimizer and losses",
    "config": "Configuration",
}
_FILES_GROUP = "Files and text"
# `Tokenizer` is a public name of `modeling` that is defined in another package.
_DEFINED_ELSEWHERE = ("Tokenizer",)
# Documented in addition to the names of `from modeling import …`.
_FURTHER_NAMES = (
    "data_gen.tokenization.tokenizer.Tokenizer",
    "bert_tf.inference.predictor.Predictor",
    "modeling.checkpoints.load.read_checkpoint",
    "modeling.checkpoints.load.load_weights",
    "modeling.checkpoints.convert.convert",
)
# The commands of a page, and the names of flags in them, as HTML.
_COMMANDS = re.compile(r'<div class="language-(?:bash|shell).*?</pre>', re.DOTALL)
_FLAG = re.compile(r"(?<=[>\s])--?[a-z][\w-]*")
_REDIRECT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}">'
    '<a href="{0}">{0}</a>\n'
)


def on_files(files, config):
    """Adds the pages and notebooks from outside docs/, and the API reference."""
    for path, page in _PAGES.items():
        content = (_PROJECT / path).read_text("utf-8")
        content = _with_site_links(content, posixpath.dirname(path))
        files.append(File.generated(config, page, content=content))
    for path in _DOWNLOADS:
        files.append(File.generated(config, path, content=(_PROJECT / path).read_text("utf-8")))
    files.append(File.generated(config, "api.md", content=_reference()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Changes the links of the pages in docs/; `on_files` has changed the links of the others."""
    if page.file.generated_by:
        return markdown
    return _with_site_links(markdown, "docs")


def on_page_content(html, page, config, files):
    """Marks the flags in commands: browsers break lines after a hyphen unless CSS forbids it."""
    return _COMMANDS.sub(
        lambda match: _FLAG.sub(r'<span class="flag">\g<0></span>', match[0]), html
    )


def on_post_build(config):
    """Writes pages at former addresses that lead to today's."""
    for name, address in config.extra["moved"].items():
        pathlib.Path(config.site_dir, name).write_text(_REDIRECT.format(address), "utf-8")


def _reference() -> str:
    """Returns a page for mkdocstrings: the public names of `modeling`, and some others, in
    groups."""
    paths: dict[str, list[str]] = {}
    stub = ast.parse((_PROJECT / "modeling/__init__.pyi").read_text("utf-8"))
    for node in stub.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name not in _DEFINED_ELSEWHERE:
                    group = _GROUPS[node.module]
                    paths.setdefault(group, []).append(f"modeling.{node.module}.{alias.name}")
    paths[_FILES_GROUP] = list(_FURTHER_NAMES)
    lines = [
        "# API reference\n",
        "From the docstrings of the public names; [Keras](keras.md) shows how to use them.\n",
    ]
    for group in dict.fromkeys([*_GROUPS.values(), _FILES_GROUP]):
        lines.append(f"## {group}\n")
        lines += [f"::: {path}" for path in paths[group]]
    return "\n".join(lines) + "\n"


def _with_site_links(markdown: str, folder: str) -> str:
    """Changes links of a page in `folder` to links between pages of the site.

    Links to files that are not on the site lose their target.
    """

    def site_link(match: re.Match) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        anchor = match[2] or ""
        if target in _PAGES:
            return f"]({_PAGES[target]}{anchor})"
        if target.startswith("docs/"):
            return f"]({target.removeprefix('docs/')}{anchor})"
        if target in _DOWNLOADS:
            return f"]({target})"
        return "]"

    return _LINK.sub(site_link, markdown)

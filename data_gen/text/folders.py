"""A folder of documents in different formats → JSON lines, for `read_folder.py`.

Input: text, Markdown, HTML, JSON lines and lists, tables, Parquet, also compressed, in any
sub-folder. Output: {"file", "text"} of each document, a paragraph a line.
"""

import collections
import os
from collections.abc import Iterator

from bert_common import files, json_files, outputs
from bert_common.errors import UserError, listed, say, visible
from bert_common.progress import Progress
from data_gen.options import CorpusOptions, FolderOptions
from data_gen.text.corpus_readers import ReadingNotes, read_documents
from data_gen.text.markup import html_paragraphs, markdown_paragraphs

_MARKUP = {
    ".html": html_paragraphs,
    ".htm": html_paragraphs,
    ".xhtml": html_paragraphs,
    ".md": markdown_paragraphs,
    ".markdown": markdown_paragraphs,
}
# Read by the readers of `prepare_corpus.py`.
_TEXTS = (".txt", ".text", ".rst", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def run(options: FolderOptions) -> None:
    """Runs the command.

    Raises:
      UserError: no document was found, or a file can't be read.
    """
    paths, left_out = find_documents(options.input_dir)
    for path in paths:
        files.register.note(path, "input_dir")
    outputs.prepare_output_file(options.output_file, "output_file")
    notes = ReadingNotes()
    num_documents: collections.Counter[str] = collections.Counter()
    num_words = 0
    with (
        files.atomic_write(options.output_file) as file,
        Progress("files", len(paths), "files") as progress,
    ):
        for path in paths:
            for paragraphs in _documents(path, options, notes):
                text = "\n".join(paragraphs)
                # Names may have bytes that are no text.
                name = visible(os.path.relpath(path, options.input_dir))
                record = {"file": name, "text": text}
                file.write(json_files.line_of(record))
                num_documents[extension(path)] += 1
                num_words += len(text.split())
            progress.advance(1)
        if not num_documents:
            raise UserError(f"--input_dir: the files in {options.input_dir} have no text")
    parts = [f"{count:,} of {kind}" for kind, count in sorted(num_documents.items())]
    say(
        f"wrote {num_documents.total():,} documents of {num_words:,} words, from {len(paths):,} "
        f"files: {', '.join(parts)}"
    )
    if left_out:
        kinds = [f"{kind or 'no extension'} ({count:,})" for kind, count in left_out.most_common()]
        say(
            f"note: {left_out.total():,} other files were left out: {listed(kinds)}; save texts of "
            "other formats as .txt (PDF: pdftotext, Word and EPUB: pandoc)"
        )
    if notes.empty_files:
        say(f"warning: no text in {len(notes.empty_files):,} files: {listed(notes.empty_files)}")
    if notes.bad_utf8_lines:
        say(f"warning: bytes that are not UTF-8 were replaced in {notes.bad_utf8_lines:,} lines")


def extension(path: str) -> str:
    """Returns the extension that shows the format of a file, in lower case: ".md" of "a.MD.gz"."""
    name = path.lower()
    for suffix in files.COMPRESSED:
        name = name.removesuffix(suffix)
    return os.path.splitext(name)[1]


def find_documents(
    directory: str, flag: str = "input_dir"
) -> tuple[list[str], collections.Counter]:
    """Returns the documents below a directory, sorted, and extension → number of other files.

    Hidden files and folders are not looked at. Links to folders are not followed, as they may lead
    around in circles.

    Args:
      flag: name of the flag that names the directory.

    Raises:
      UserError: there is no document, or a folder can't be read.
    """

    def refuse(error: OSError) -> None:
        raise UserError(
            f"--{flag}: can't read {error.filename}: {error.strerror}: allow it, or move the "
            "folder away"
        )

    paths = []
    left_out: collections.Counter[str] = collections.Counter()
    for folder, subfolders, names in os.walk(directory, onerror=refuse):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in subfolders:
            left_out["links to folders"] += os.path.islink(os.path.join(folder, name))
        for name in names:
            path = os.path.join(folder, name)
            kind = extension(name)
            if name.startswith("."):
                continue
            if not os.path.isfile(path):
                # A pipe would be waited for, and a broken link leads nowhere.
                left_out["pipes and broken links"] += 1
            elif kind in _MARKUP or kind in _TEXTS:
                paths.append(path)
            else:
                left_out[kind] += 1
    left_out = +left_out
    if not paths:
        raise UserError(
            f"--{flag}: {directory} has no document: one of {', '.join([*_TEXTS, *_MARKUP])} is "
            "expected"
        )
    return sorted(paths), left_out


def _documents(path: str, options: FolderOptions, notes: ReadingNotes) -> Iterator[list[str]]:
    """Yields the paragraphs of each document of a file."""
    paragraphs_of = _MARKUP.get(extension(path))
    if paragraphs_of is None:
        corpus_options = CorpusOptions(
            input_file=path,
            output_file=options.output_file,
            text_field=options.text_field,
            on_bad_utf8=options.on_bad_utf8,
        )
        for document in read_documents(path, corpus_options, notes):
            yield list(document)
        return
    data = files.read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if options.on_bad_utf8 == "error":
            raise UserError(
                f"{path}: not UTF-8 at byte {error.start} (0x{data[error.start]:02x}): convert the "
                "file, or --on_bad_utf8=replace"
            ) from None
        text = data.decode("utf-8-sig", errors="replace")
        notes.bad_utf8_lines += text.count("\ufffd")
    paragraphs = paragraphs_of(text.replace("\0", ""))
    if paragraphs:
        yield paragraphs
    else:
        notes.empty_files.append(path)

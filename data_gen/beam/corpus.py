"""Raw text → a corpus, for `prepare_corpus.py --beam_pipeline_options`.

    input files ─▶ texts ──────────────────────────────────────────────(by text)─▶ sentences
                     └─▶ fingerprints ─(by range of them)─▶ first texts ─┘             │
    corpus and report ◀────────────────────────────────(all, in order)─────────────────┘

A *text* is a stretch of a file's documents, 4 million characters: what a worker holds. A document
or paragraph is a duplicate if its fingerprint occurs in an earlier text, or earlier in its own. One
process writes the output, as it is one file.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_common import files, parallel
from bert_common.errors import UserError
from data_gen.beam import pipelines
from data_gen.beam.pipelines import ALL, RESULT, Flow, Job
from data_gen.options import CorpusOptions
from data_gen.text import corpus_preparation
from data_gen.text.corpus_preparation import SplitPart
from data_gen.text.corpus_readers import ReadingNotes, read_documents
from data_gen.text.duplicates import DocumentPart, DuplicateFilter, digests_of

_TEXT_CHARACTERS = 4 << 20
# A document's number is that in its file, behind the number of the file.
_DOCUMENTS_OF_A_FILE = 1 << 40


class Fingerprints(NamedTuple):
    """Fingerprints of a text in one group; `digests` are different uint64, as bytes."""

    file: int
    text: int
    digests: bytes


class Sentences(NamedTuple):
    """The sentences of a text, in a file of the work directory."""

    file: int
    text: int
    path: str
    notes: ReadingNotes


class _FirstHere:
    """Hashes of a text as `DuplicateFilter` needs them: new ones are new once."""

    def __init__(self, new: set[int]):
        self._new = new

    def add(self, digest: int) -> bool:
        """Returns whether the hash occurred before, in this text or an earlier one."""
        if digest not in self._new:
            return True
        self._new.remove(digest)
        return False


def prepare(options: CorpusOptions, input_files: Sequence[str]) -> str:
    """Writes the corpus, and returns the report.

    Raises `UserError` as `corpus_preparation.prepare_corpus`, and `pipelines.run`.
    """
    paths: dict[str, Any] = {}
    for flag in ("output_file", "held_out_file"):
        path = getattr(options, flag)
        if path and files.is_special(path):
            raise UserError(f"--{flag}: {path} is on this machine alone: name a file")
        # A worker has another working directory.
        paths[flag] = path and files.absolute(path)
    job = pipelines.new_job(
        dataclasses.replace(options, **paths),
        input_files,
        options.output_file,
        names=list(input_files),
        output_names={paths[flag]: getattr(options, flag) for flag in paths},
        groups=pipelines.num_groups(input_files),
    )
    return pipelines.run(job, _build)


def _build(input_files: Flow) -> None:
    read = input_files.through(read_texts)
    first = read.only("fingerprints").grouped("fingerprints").through(find_first)
    split = read.only("texts").grouped("texts", first).through(split_texts)
    split.grouped("all texts", read.only("notes")).through(write)


def read_texts(job: Job, file: tuple[int, str]) -> Iterator[tuple]:
    """(number of a file, path) → its texts, their fingerprints, notes."""
    number, path = file
    if not path:
        return
    options = job.options
    notes = ReadingNotes()
    documents = read_documents(path, options, notes)
    parts = corpus_preparation.make_parts(documents, options.held_out_fraction, options.seed)
    texts = parallel.portions(parts, corpus_preparation.num_characters, _TEXT_CHARACTERS)
    for text, text_parts in enumerate(texts):
        numbered = []
        for part in text_parts:
            document = number * _DOCUMENTS_OF_A_FILE + part.document
            numbered.append(part._replace(document=document))
        yield "texts", ((number, text), numbered)
        digests = np.unique(np.fromiter(_all_digests(text_parts), np.uint64))
        groups = digests % np.uint64(job.facts["groups"])
        for group in np.unique(groups).tolist():
            selected = digests[groups == group]
            yield "fingerprints", (group, Fingerprints(number, text, selected.tobytes()))
    if notes.empty_files:
        notes.empty_files = [job.facts["names"][number]]
    yield "notes", (ALL, Sentences(number, -1, "", notes))


def _all_digests(parts: Iterable[DocumentPart]) -> Iterator[int]:
    for part in parts:
        digests = digests_of(part)
        yield digests.document
        for digest in digests.paragraphs:
            if digest is not None:
                yield digest


def find_first(job: Job, group: tuple[int, Iterable[Fingerprints]]) -> Iterator[tuple]:
    """(group, fingerprints) → (text, those that occur in no text before it)."""
    in_order = sorted(group[1])
    digests = []
    ends = []
    end = 0
    for entry in in_order:
        digests.append(np.frombuffer(entry.digests, np.uint64))
        end += len(digests[-1])
        ends.append(end)
    # The index of the first of equal ones.
    different, first = np.unique(np.concatenate(digests), return_index=True)
    texts = np.searchsorted(ends, first, side="right")
    for text in np.unique(texts).tolist():
        entry = in_order[text]
        yield (entry.file, entry.text), different[texts == text].tobytes()


def split_texts(job: Job, group: tuple[tuple[int, int], Iterable[Any]]) -> Iterator[tuple]:
    """(text, its documents, and new fingerprints) → (all, its sentences)."""
    (file, text), values = group
    new: set[int] = set()
    parts: list[DocumentPart] = []
    for value in values:
        if isinstance(value, bytes):
            new.update(np.frombuffer(value, np.uint64).tolist())
        else:
            parts = value
    notes = ReadingNotes()
    remaining = DuplicateFilter(job.options.remove_duplicates, notes, _FirstHere(new)).apply(parts)
    path = job.new_file(f"text-{file:06d}-{text:06d}")
    with files.user_error(f"can't write {path}"), files.open_file(path, "wb") as target:
        for part in corpus_preparation.split_portion(list(remaining)):
            line = json.dumps([*part[:2], part.text.decode(), *part[3:]])
            target.write(f"{line}\n".encode())
    yield ALL, Sentences(file, text, path, notes)


def write(job: Job, group: tuple[int, Iterable[Sentences]]) -> Iterator[str]:
    """(all, sentences of texts, and notes about files) → the output file."""
    options = job.options
    in_order = sorted(group[1], key=_place)
    notes = ReadingNotes()
    for sentences in in_order:
        notes.add(sentences.notes)
    written = {}
    for path, writer in corpus_preparation.write_corpus(_split_parts(in_order), options).items():
        written[job.facts["output_names"][path]] = writer
    report = corpus_preparation.report(
        len(job.input_files), written, notes, options.held_out_fraction
    )
    job.keep(RESULT, report)
    yield options.output_file


def _place(sentences: Sentences) -> tuple[int, int]:
    return sentences.file, sentences.text


def _split_parts(texts: list[Sentences]) -> Iterator[SplitPart]:
    for sentences in texts:
        if sentences.path:
            with files.open_file(sentences.path, "rb") as file:
                for line in file:
                    document, held_out, text, *counts = json.loads(line)
                    yield SplitPart(document, held_out, text.encode(), *counts)

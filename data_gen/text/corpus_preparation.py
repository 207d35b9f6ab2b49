"""Documents → sentences on all cores → the prepared corpus and its statistics; for
`prepare_corpus.py`.

Input: the documents of `corpus_readers.py`. Output: one sentence per line, a blank line between
documents. A long document is processed in parts; documents and parts go to the workers in portions.

The boundaries of sentences come from nupunkt, a maintained implementation of Punkt (Kiss & Strunk
2006, "Unsupervised Multilingual Sentence Boundary Detection"). Its English model comes with the
package: no download, 50 ms to load, more than 10 MB/s on one core. This file adds corrections to
its list of abbreviations, and the sentence ends of scripts without the Latin full stop.
`docs/corpus.md` shows the result for hard cases, and where it fails.
"""

import collections
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from nupunkt import PunktSentenceTokenizer
from nupunkt.models import load_default_model

from bert_common import files, outputs, parallel
from bert_common.errors import UserError, in_one_line, say
from bert_common.options import declared_options
from bert_common.progress import Progress
from data_gen.options import PIPELINES, CorpusOptions
from data_gen.pretraining.external_shuffle import (
    disk_errors,
    file_checksum,
    read_facts,
    write_facts,
)
from data_gen.pretraining.work_directory import PREPARED, WRITTEN, WorkDirectory, all_prepared
from data_gen.text.corpus_readers import ReadingNotes, read_documents
from data_gen.text.duplicates import Digests, DocumentPart, DuplicateFilter, digests_of

# Number of characters that a worker gets at a time: some 50 ms of work.
_PORTION_CHARACTERS = 1 << 18
# A longer document is processed in parts of this size.
_PART_CHARACTERS = 1 << 20
# A document of one sentence with more words than this gets a warning.
_WORDS_WITHOUT_BREAK = 100
# A sentence with more words than this gets a warning.
_WORDS_IN_LONG_SENTENCE = 512

# Frequent in novels and documentation, but not in the legal texts that the model was trained on.
_MORE_ABBREVIATIONS = ("lt", "mlle", "mme", "mdme", "w.r.t")

# Everyday words that the model takes for abbreviations because its texts abbreviate them somewhere:
# in prose, a full stop after them nearly always ends a sentence.
_NOT_ABBREVIATIONS = (
    "aloud",
    "am",
    "at",
    "axe",
    "backs",
    "bank",
    "bed",
    "black",
    "bold",
    "book",
    "call",
    "can",
    "car",
    "chest",
    "cliff",
    "coal",
    "code",
    "cold",
    "crazy",
    "drunk",
    "farce",
    "fish",
    "fist",
    "flag",
    "found",
    "hall",
    "hand",
    "hard",
    "hers",
    "human",
    "in",
    "int",
    "knees",
    "lack",
    "laughter",
    "lead",
    "leg",
    "lock",
    "luck",
    "mankind",
    "me",
    "month",
    "pen",
    "penny",
    "rest",
    "rich",
    "row",
    "sand",
    "sat",
    "sick",
    "sir",
    "sleep",
    "so",
    "south",
    "stake",
    "stars",
    "stock",
    "story",
    "sum",
    "sun",
    "tables",
    "tale",
    "ten",
    "tread",
    "vain",
    "walk",
    "wall",
    "west",
    "wheel",
    "will",
    "win",
    "wings",
    "yard",
)

# Full stops of Chinese and Japanese, the danda of the scripts of India, the Arabic question mark
# and the Urdu full stop, with the closing quotes and brackets that belong to the sentence.
_OTHER_END = re.compile("[。！？｡।॥؟۔]+[」』”’）】\"')]*\\s*")


class SplitPart(NamedTuple):
    """A document part as it is written: `text` is UTF-8, one sentence per line."""

    document: int
    held_out: bool
    text: bytes
    num_sentences: int
    num_words: int
    num_long_sentences: int


def make_parts(
    documents: Iterator[Iterator[str]], held_out_fraction: float, seed: int
) -> Iterator[DocumentPart]:
    """Cuts documents into parts and decides which documents are held out.

    The decision depends on the first million characters of a document and the seed only: not on its
    position, nor on the other documents. Copies of a document are all on the same side.
    """
    key = str(seed).encode()[:64]
    for number, document in enumerate(documents):
        # Nothing is hashed if no document is held out.
        held_out = None if held_out_fraction else False
        for paragraphs in parallel.portions(document, len, _PART_CHARACTERS):
            # The first part decides for the whole document.
            if held_out is None:
                digest = hashlib.blake2b("".join(paragraphs).encode(), digest_size=8, key=key)
                position = int.from_bytes(digest.digest(), "big")
                held_out = position < held_out_fraction * 2**64
            yield DocumentPart(number, held_out, paragraphs)


def split_portion(portion: list[DocumentPart]) -> list[SplitPart]:
    """Splits each document part into sentences; runs in the workers."""
    split_parts = []
    for part in portion:
        sentences: list[str] = []
        for paragraph in part.paragraphs:
            sentences += split_sentences(paragraph)
        split_parts.append(split_part(part.document, part.held_out, sentences))
    return split_parts


def split_part(document: int, held_out: bool, sentences: Sequence[str]) -> SplitPart:
    """Returns a document part as it is written."""
    # Words of a sentence are separated by single spaces.
    word_counts = [sentence.count(" ") + 1 for sentence in sentences]
    return SplitPart(
        document=document,
        held_out=held_out,
        text="".join(f"{sentence}\n" for sentence in sentences).encode(),
        num_sentences=len(sentences),
        num_words=sum(word_counts),
        num_long_sentences=sum(count > _WORDS_IN_LONG_SENTENCE for count in word_counts),
    )


def split_sentences(paragraph: str) -> list[str]:
    """Splits a paragraph into sentences; each run of white space, such as a line break, becomes one
    space.

    Nothing but white space is lost or added. Returns no sentence for a blank paragraph.
    """
    text = " ".join(paragraph.split())
    if not text:
        return []
    if text.isascii():
        return _tokenizer().tokenize(text)
    # Split at the ends that the model does not know, then let it split the pieces.
    ends = [match.end() for match in _OTHER_END.finditer(text)]
    # The pattern includes the white space after an end.
    sentences: list[str] = []
    for start, end in itertools.pairwise([0, *ends, len(text)]):
        if end > start:
            sentences += _tokenizer().tokenize(text[start:end])
    return [sentence.strip() for sentence in sentences]


@functools.cache
def _tokenizer() -> PunktSentenceTokenizer:
    # The package's shared tokenizer would pass the corrections to other code in the process.
    tokenizer = load_default_model()
    tokenizer.add_abbreviations(list(_MORE_ABBREVIATIONS))
    for word in _NOT_ABBREVIATIONS:
        tokenizer.remove_abbreviation(word)
    return tokenizer


@dataclasses.dataclass
class CorpusWriter:
    """Writes document parts with a blank line between documents, and counts them.

    Attributes:
      documents, sentences, words, bytes: totals; words are separated by white space.
      unbroken_documents: number of documents of one sentence with more than 100 words.
      long_sentences: number of sentences with more than 512 words.
    """

    file: IO[bytes]
    documents: int = 0
    sentences: int = 0
    words: int = 0
    bytes: int = 0
    one_sentence_documents: int = 0
    unbroken_documents: int = 0
    long_sentences: int = 0
    # Number of the last document, and its sentences and words so far.
    _document: int | None = None
    _document_sentences: int = 0
    _document_words: int = 0

    def write(self, part: SplitPart) -> None:
        """Appends a part; the parts of a document come one after another."""
        # A part without sentences must not begin a document.
        if not part.num_sentences:
            return
        text = part.text
        if part.document != self._document:
            self.finish_document()
            if self.documents:
                text = b"\n" + text
            self._document = part.document
        self._document_sentences += part.num_sentences
        self._document_words += part.num_words
        self.long_sentences += part.num_long_sentences
        self.file.write(text)
        self.bytes += len(text)

    def finish_document(self) -> None:
        """Counts the last document; must be called at the end."""
        is_one_sentence = self._document_sentences == 1
        self.documents += self._document_sentences > 0
        self.sentences += self._document_sentences
        self.words += self._document_words
        self.one_sentence_documents += is_one_sentence
        self.unbroken_documents += is_one_sentence and self._document_words > _WORDS_WITHOUT_BREAK
        self._document_sentences = 0
        self._document_words = 0


def run(options: CorpusOptions) -> None:
    """Runs the command: checks, prepares, and prints the table and the warnings."""
    input_files = files.expand_patterns(options.input_file, "input_file")
    # Wrong paths are refused before hours of work.
    for path in input_files:
        files.check_readable(path, "input_file")
    for flag in ("output_file", "held_out_file"):
        path = getattr(options, flag)
        if path:
            outputs.prepare_output_file(path, flag)
    if options.held_out_file and files.same_file(options.held_out_file, options.output_file):
        raise UserError(
            f"--held_out_file: {options.held_out_file} is also --output_file, which would be lost: "
            "give it another name"
        )
    if options.beam_pipeline_options is not None:
        say(PIPELINES.load("a corpus")(options, input_files))
        return
    result = prepare_corpus(input_files, options)
    if result is not None:
        written, notes = result
        say(report(len(input_files), written, notes, options.held_out_fraction))


def prepare_corpus(
    input_files: Sequence[str], options: CorpusOptions
) -> tuple[dict[str, CorpusWriter], ReadingNotes] | None:
    """Reads, splits and writes the corpus.

    With --part one of several machines does its next step: it splits its share of the files or,
    when all have been split, writes the output if it is the first of them.

    Returns:
      What `write_corpus` returns, and notes about the input; None if the output is to come, or is
      written by another machine.

    Raises:
      UserError: as `write_corpus`, or an input can't be read; with --part, another share is not
        prepared, or was prepared with other settings.
    """
    notes = ReadingNotes()
    if options.part is not None:
        return _next_step(input_files, options, notes)
    total = sum(files.file_size(path) for path in input_files)
    with Progress("sentences", total=total, unit="B") as progress:
        documents = itertools.chain.from_iterable(
            read_documents(path, options, notes, progress.advance) for path in input_files
        )
        parts = make_parts(documents, options.held_out_fraction, options.seed)
        parts = DuplicateFilter(options.remove_duplicates, notes).apply(parts)
        portions = parallel.portions(parts, num_characters, _PORTION_CHARACTERS)
        # Closing ends the workers if an output can't be written.
        with contextlib.closing(
            parallel.ordered_map(split_portion, portions, options.workers)
        ) as split:
            written = write_corpus(itertools.chain.from_iterable(split), options)
    return written, notes


def _next_step(
    input_files: Sequence[str], options: CorpusOptions, notes: ReadingNotes
) -> tuple[dict[str, CorpusWriter], ReadingNotes] | None:
    """Does the next step of a share; see `prepare_corpus`."""
    share = options.share
    identity = _identity(input_files, options)
    shares = []
    for name in share.names():
        shares.append(WorkDirectory(options.output_file, identity, resume=True, share=name))
    with shares[share.number] as work:
        if work.read_step(PREPARED) is None:
            _split_share(input_files, options, work)
            work.write_step(PREPARED, {"files": len(input_files)})
            say(
                f"--part={options.part} is prepared: when all {share.machines} are, give the same "
                "commands again to write the output"
            )
            return None
        if share.number:
            facts = work.read_step(WRITTEN)
            if facts is not None and facts["written"]:
                work.keep = False
                say(f"{options.output_file} is written")
                return None
            all_prepared(shares, str(options.part))
            work.write_step(WRITTEN, {"written": False})
            say(f"--part=1/{share.machines} writes the output")
            return None
        all_prepared(shares, str(options.part))
        prepared = _prepared_parts(len(input_files), shares, options, notes)
        written = write_corpus(prepared, options)
        work.keep = False
        for other in shares[1:]:
            # Its second command was given, or is to come and must find that all is done.
            if other.read_step(WRITTEN) is not None:
                other.remove()
            else:
                other.leave_note(WRITTEN, {"written": True})
    return written, notes


def _identity(input_files: Sequence[str], options: CorpusOptions) -> dict:
    """Returns all that the output depends on."""
    identity: dict[str, Any] = {}
    for declared in declared_options(CorpusOptions):
        if declared.name not in ("num_workers", "part", "beam_pipeline_options"):
            identity[declared.name] = getattr(options, declared.name)
    identity["input_file"] = [files.state(path) for path in input_files]
    for name in ("output_file", "held_out_file"):
        identity[name] = identity[name] and os.path.abspath(identity[name])
    return identity


class _PreparedPart(NamedTuple):
    """A document part before its duplicates are known; `sentences` are those of each paragraph."""

    document: int
    held_out: bool
    digests: Digests
    sentences: list[list[str]]


def _prepare_portion(portion: list[DocumentPart]) -> list[_PreparedPart]:
    """Splits each document part into sentences; runs in the workers."""
    prepared = []
    for part in portion:
        sentences = [split_sentences(paragraph) for paragraph in part.paragraphs]
        prepared.append(_PreparedPart(part.document, part.held_out, digests_of(part), sentences))
    return prepared


def _split_share(input_files: Sequence[str], options: CorpusOptions, work: WorkDirectory) -> None:
    """Splits the files of a share, into a file of the work directory for each.

    A line of it is a portion; the last one has the notes. Its facts are the checksum.
    """
    own_files = options.share.of(len(input_files))
    total = sum(files.file_size(input_files[number]) for number in own_files)
    with Progress("sentences", total=total, unit="B") as progress:
        for number in own_files:
            path = work.text_path(number)
            if read_facts(path) is not None:
                progress.advance(files.file_size(input_files[number]))
                continue
            notes = ReadingNotes()
            documents = read_documents(input_files[number], options, notes, progress.advance)
            parts = make_parts(documents, options.held_out_fraction, options.seed)
            portions = parallel.portions(parts, num_characters, _PORTION_CHARACTERS)
            temporary = files.unshared_name(path)
            with disk_errors(path), open(temporary, "w", encoding="utf-8") as file:
                for prepared in parallel.ordered_map(_prepare_portion, portions, options.workers):
                    file.write(json.dumps(prepared) + "\n")
                file.write(json.dumps(vars(notes)) + "\n")
            os.replace(temporary, path)
            write_facts(path, {"crc32c": file_checksum(path)})


def _prepared_parts(
    num_files: int, shares: Sequence[WorkDirectory], options: CorpusOptions, notes: ReadingNotes
) -> Iterator[SplitPart]:
    """Yields the parts of all shares without duplicates, if these are left out, and adds to the
    notes.

    Raises:
      UserError: the file of a share is damaged, cut off or missing.
    """
    duplicates = DuplicateFilter(options.remove_duplicates, notes)
    for number in range(num_files):
        path = shares[number % len(shares)].text_path(number)
        try:
            if read_facts(path) != {"crc32c": file_checksum(path)}:
                raise ValueError("its checksum is another one")
            with open(path, encoding="utf-8") as file:
                for line in file:
                    content: Any = json.loads(line)
                    if isinstance(content, dict):
                        layouts: collections.Counter = collections.Counter(content.pop("layouts"))
                        notes.add(ReadingNotes(layouts=layouts, **content))
                        continue
                    for document, held_out, digests, sentences in content:
                        stays = duplicates.select(Digests(*digests))
                        if stays is not None:
                            remaining = itertools.compress(sentences, stays)
                            # Each file counts its documents from 0.
                            yield split_part(
                                document * num_files + number,
                                held_out,
                                list(itertools.chain.from_iterable(remaining)),
                            )
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} is damaged or missing ({in_one_line(error)}): delete its directory, "
                "prepare that share again, and give this command again"
            ) from None


def write_corpus(parts: Iterable[SplitPart], options: CorpusOptions) -> dict[str, CorpusWriter]:
    """Writes the parts of all documents, in order.

    Returns:
      Path → its writer, of the output and, if there is one, the held-out output.

    Raises:
      UserError: there is no text at all, or an output can't be written. No output exists then.
    """
    with contextlib.ExitStack() as stack:
        main = CorpusWriter(stack.enter_context(files.atomic_write(options.output_file, "wb")))
        written = {options.output_file: main}
        # No document is held out without the file, see `CorpusOptions.check`.
        held_out = main
        if options.held_out_file:
            held_out = CorpusWriter(
                stack.enter_context(files.atomic_write(options.held_out_file, "wb"))
            )
            written[options.held_out_file] = held_out
        for part in parts:
            writer = held_out if part.held_out else main
            writer.write(part)
        # A document is only counted when the next one begins.
        main.finish_document()
        held_out.finish_document()
        if not main.documents and held_out.documents:
            raise UserError("all documents were held out: lower --held_out_fraction")
        if not main.documents:
            raise UserError("--input_file: there is no text in the input")
    return written


def num_characters(part: DocumentPart) -> int:
    """Returns the size of a part."""
    return sum(len(paragraph) for paragraph in part.paragraphs)


def report(
    num_files: int,
    written: Mapping[str, CorpusWriter],
    notes: ReadingNotes,
    held_out_fraction: float = 0.0,
) -> str:
    """Returns the table and the warnings that the command prints at the end."""
    lines = []
    for layout, count in sorted(notes.layouts.items()):
        lines.append(f"read as {layout}: {count:,} of {num_files:,} files")
    width = max(len(path) for path in written)
    lines.append(
        f"{'':<{width}} {'documents':>10} {'sentences':>11} {'words':>12} {'bytes':>14} "
        f"{'words/sentence':>15}"
    )
    for path, writer in written.items():
        lines.append(
            f"{path:<{width}} {writer.documents:>10,} {writer.sentences:>11,} "
            f"{writer.words:>12,} {writer.bytes:>14,} "
            f"{writer.words / max(1, writer.sentences):>15.1f}"
        )
    # The held-out output may be absent.
    main, *others = written.values()
    warnings = _warnings(main, notes)
    for writer in others:
        # Documents are drawn, whose lengths differ.
        share = writer.words / max(writer.words + main.words, 1)
        lines.append(f"held out: {share:.2%} of the words")
        if not writer.documents:
            warnings.append("no document was held out: raise --held_out_fraction")
        elif not 0.5 <= share / held_out_fraction <= 2.0:
            warnings.append(
                f"{share:.2%} of the words were held out, not {held_out_fraction:.2%}: few "
                "documents have most of the words; another --seed draws others"
            )
    line = (
        f"exact duplicates: {notes.duplicate_documents:,} documents and "
        f"{notes.duplicate_paragraphs:,} paragraphs of others"
    )
    if notes.removes_duplicates:
        line += ", left out"
    elif notes.duplicate_documents or notes.duplicate_paragraphs:
        warnings.append(f"{line}: --remove_duplicates leaves them out")
        line = ""
    if line:
        lines.append(line)
    lines += [f"warning: {warning}" for warning in warnings]
    return "\n".join(lines)


def _warnings(main: CorpusWriter, notes: ReadingNotes) -> list[str]:
    """Returns warnings about a corpus whose pre-training data would be poor, and about its
    input."""
    warnings = []
    if main.documents == 1:
        warnings.append(
            "the whole corpus is one document, so a random next segment can't come from another "
            "one: see --document_separator"
        )
    elif main.one_sentence_documents > 0.5 * main.documents:
        warnings.append(
            f"{main.one_sentence_documents / main.documents:.0%} of the documents are a single "
            "sentence, which has no next one in a pair: see --document_separator"
        )
    if main.unbroken_documents:
        warnings.append(
            f"{main.unbroken_documents:,} document(s) of more than {_WORDS_WITHOUT_BREAK} words "
            "without a sentence break: is there punctuation in the text?"
        )
    if main.long_sentences:
        warnings.append(
            f"{main.long_sentences:,} sentence(s) of more than {_WORDS_IN_LONG_SENTENCE} words "
            "(tables, lists or text without punctuation); the records will cut them"
        )
    if notes.bad_utf8_lines:
        warnings.append(f"bytes that are not UTF-8 were replaced in {notes.bad_utf8_lines:,} lines")
    if notes.nul_characters:
        warnings.append(f"{notes.nul_characters:,} NUL characters were removed")
    if notes.empty_files:
        named = notes.empty_files[:3]
        if len(notes.empty_files) > len(named):
            named.append("…")
        warnings.append(f"{len(notes.empty_files):,} files hold no text: {', '.join(named)}")
    return warnings

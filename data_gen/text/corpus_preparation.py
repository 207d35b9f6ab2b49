"""Documents → sentences on all cores → the prepared corpus and its statistics; for
`prepare_corpus.py`.

Input: the documents of `corpus_readers.py`. Output: one sentence per line, a blank line between
documents. A long document is worked on in parts; documents and parts go to the workers in portions.

The boundaries of sentences come from nupunkt, a maintained implementation of Punkt (Kiss & Strunk
2006, "Unsupervised Multilingual Sentence Boundary Detection") whose English model comes with the
package: no download, 50 ms to load, more than 10 MB/s on one core. Two things are added here:
corrections to its list of abbreviations, and the sentence ends of scripts that do not use the Latin
full stop. `docs/corpus.md` shows what it does with hard cases, and where it fails.
"""

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import itertools
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from nupunkt import PunktSentenceTokenizer
from nupunkt.models import load_default_model

from bert_common import files, outputs, parallel
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.options import CorpusOptions
from data_gen.text.corpus_readers import ReadingNotes, read_documents

# Characters given to a worker at a time: some 50 ms of work.
_PORTION_CHARACTERS = 1 << 18
# A longer document is worked on in parts of this size.
_PART_CHARACTERS = 1 << 20
# A document of one sentence is suspicious if it has more words than this, a sentence if it has more
# than that.
_WORDS_WITHOUT_BREAK = 100
_WORDS_IN_LONG_SENTENCE = 512

# What novels and documentation are full of, and the legal texts the model was trained on are not.
_MORE_ABBREVIATIONS = ("lt", "mlle", "mme", "mdme", "w.r.t")

# Everyday words that the model takes for abbreviations because its texts cut them short somewhere:
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


class DocumentPart(NamedTuple):
    """A document, or a part of a long one, on its way to a worker."""

    document: int
    held_out: bool
    paragraphs: list[str]


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
    """Cuts documents into parts and says which of them are held out.

    Whether a document is held out depends on its first million characters and the seed only: not on
    its place, nor on the other documents, and copies of a document all fall on the same side.
    """
    for number, document in enumerate(documents):
        held_out = False if not held_out_fraction else None
        for paragraphs in parallel.portions(document, len, _PART_CHARACTERS):
            if held_out is None:
                digest = hashlib.blake2b(
                    "".join(paragraphs).encode(), digest_size=8, key=str(seed).encode()[:64]
                )
                held_out = int.from_bytes(digest.digest(), "big") < held_out_fraction * 2**64
            yield DocumentPart(number, held_out, paragraphs)


def split_portion(portion: list[DocumentPart]) -> list[SplitPart]:
    """Splits each document part into sentences; runs in the workers."""
    found = []
    for part in portion:
        sentences = [
            sentence for paragraph in part.paragraphs for sentence in split_sentences(paragraph)
        ]
        # A sentence holds single spaces only, so they count its words.
        words = [sentence.count(" ") + 1 for sentence in sentences]
        found.append(
            SplitPart(
                part.document,
                part.held_out,
                "".join(f"{sentence}\n" for sentence in sentences).encode(),
                len(sentences),
                sum(words),
                sum(count > _WORDS_IN_LONG_SENTENCE for count in words),
            )
        )
    return found


def split_sentences(paragraph: str) -> list[str]:
    """Splits a paragraph into sentences; every run of white space, line breaks included, becomes
    one space.

    Nothing but white space is lost or added. Empty for a paragraph of white space only.
    """
    text = " ".join(paragraph.split())
    if text.isascii():
        return _tokenizer().tokenize(text) if text else []
    sentences, start = [], 0
    for end in [match.end() for match in _OTHER_END.finditer(text)] + [len(text)]:
        if end > start:
            sentences += _tokenizer().tokenize(text[start:end])
        start = end
    return [sentence.strip() for sentence in sentences]


@functools.cache
def _tokenizer() -> PunktSentenceTokenizer:
    # A tokenizer of our own: the package's shared one would show the corrections to everybody in
    # the process.
    tokenizer = load_default_model()
    tokenizer.add_abbreviations(list(_MORE_ABBREVIATIONS))
    for word in _NOT_ABBREVIATIONS:
        tokenizer.remove_abbreviation(word)
    return tokenizer


@dataclasses.dataclass
class CorpusWriter:
    """Writes document parts as they come, with a blank line between documents, and counts them.

    Attributes:
      documents, sentences, words, bytes: totals; words are what white space separates.
      unbroken_documents: documents of one sentence with more than 100 words.
      long_sentences: sentences of more than 512 words.
    """

    file: IO[bytes]
    documents: int = 0
    sentences: int = 0
    words: int = 0
    bytes: int = 0
    one_sentence_documents: int = 0
    unbroken_documents: int = 0
    long_sentences: int = 0
    # The document written last; its sentences and words.
    _document: int | None = None
    _open: tuple[int, int] = (0, 0)

    def write(self, part: SplitPart) -> None:
        """Appends a part; those of one document come one after another, and have its number."""
        if not part.num_sentences:
            return
        text = part.text
        if part.document != self._document:
            self.finish_document()
            text = b"\n" + text if self.documents else text
            self._document = part.document
        self._open = self._open[0] + part.num_sentences, self._open[1] + part.num_words
        self.long_sentences += part.num_long_sentences
        self.file.write(text)
        self.bytes += len(text)

    def finish_document(self) -> None:
        """Counts the document written last; call it at the end, and where numbers begin again."""
        sentences, words = self._open
        self.documents += sentences > 0
        self.sentences += sentences
        self.words += words
        self.one_sentence_documents += sentences == 1
        self.unbroken_documents += sentences == 1 and words > _WORDS_WITHOUT_BREAK
        self._document, self._open = None, (0, 0)


def run(options: CorpusOptions) -> None:
    """The command: checks, prepares, prints the table and the warnings."""
    input_files = files.expand_patterns(options.input_file, "input_file")
    for path in input_files:
        files.check_readable(path, "input_file")
    known = {"input_file": input_files}
    for flag in ("output_file", "held_out_file"):
        if path := getattr(options, flag):
            outputs.prepare_output_file(path, flag, known)
            known[flag] = [path]
    written, notes = prepare_corpus(input_files, options)
    print(report(len(input_files), written, notes))


def prepare_corpus(
    input_files: Sequence[str], options: CorpusOptions
) -> tuple[dict[str, CorpusWriter], ReadingNotes]:
    """Reads, splits and writes the corpus.

    Returns:
      Path → what was written, of the output and, if there is one, the held-out output; and notes
      about the input.

    Raises:
      UserError: an input can't be read or holds no text at all, or an output can't be written. No
        output exists then.
    """
    notes = ReadingNotes()
    total = sum(map(files.file_size, input_files))
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("sentences", total=total, unit="B"))
        written = {}
        for path in filter(None, (options.output_file, options.held_out_file)):
            file: Any = stack.enter_context(files.atomic_write(path, "wb"))
            if path.endswith(".gz"):
                # Without name and time, so always the same bytes.
                file = stack.enter_context(gzip.GzipFile("", "wb", 6, file, mtime=0))
            written[path] = CorpusWriter(file)
        main, held_out = (*written.values(), *written.values())[:2]
        split = stack.enter_context(
            contextlib.closing(_split(input_files, options, notes, progress.advance))
        )
        for part in itertools.chain.from_iterable(split):
            (held_out if part.held_out else main).write(part)
        main.finish_document()
        held_out.finish_document()
        if not main.documents:
            raise UserError(
                "all documents were held out: lower --held_out_fraction"
                if held_out.documents
                else "--input_file: there is no text in the input"
            )
    return written, notes


def _split(
    input_files: Iterable[str],
    options: CorpusOptions,
    notes: ReadingNotes,
    progress: Callable[[int], None],
) -> Generator[list[SplitPart], None, None]:
    """The parts of the documents of files, split into sentences, in order."""
    documents = itertools.chain.from_iterable(
        read_documents(path, options, notes, progress) for path in input_files
    )
    parts = make_parts(documents, options.held_out_fraction, options.seed)
    portions = parallel.portions(
        parts, lambda part: sum(map(len, part.paragraphs)), _PORTION_CHARACTERS
    )
    return parallel.ordered_map(split_portion, portions, options.workers)


def report(num_files: int, written: Mapping[str, CorpusWriter], notes: ReadingNotes) -> str:
    """The table and the warnings at the end."""
    lines = [
        f"read as {layout}: {count:,} of {num_files:,} files"
        for layout, count in sorted(notes.layouts.items())
    ]
    width = max(map(len, written))
    lines.append(
        f"{'':<{width}} {'documents':>10} {'sentences':>11} {'words':>12} {'bytes':>14} {'words/sentence':>15}"
    )
    for path, one in written.items():
        lines.append(
            f"{path:<{width}} {one.documents:>10,} {one.sentences:>11,} {one.words:>12,} {one.bytes:>14,} "
            f"{one.words / max(1, one.sentences):>15.1f}"
        )
    main, *others = written.values()
    some = ", ".join(notes.empty_files[:3]) + (", …" if len(notes.empty_files) > 3 else "")
    warnings = {
        "the whole corpus is one document, so a random next segment can't come from another one: see "
        "--document_separator": main.documents == 1,
        f"{main.one_sentence_documents / main.documents:.0%} of the documents are a single sentence, from which no "
        "next-sentence pair can be made: see --document_separator": main.documents > 1
        and main.one_sentence_documents > 0.5 * main.documents,
        f"{main.unbroken_documents:,} document(s) of more than {_WORDS_WITHOUT_BREAK} words without a sentence break: is "
        "there punctuation in the text?": main.unbroken_documents,
        f"{main.long_sentences:,} sentence(s) of more than {_WORDS_IN_LONG_SENTENCE} words (tables, lists or text "
        "without punctuation); what is too long will be cut off in the records": main.long_sentences,
        "no document was held out: raise --held_out_fraction": not all(
            one.documents for one in others
        ),
        f"bytes that are not UTF-8 were replaced in {notes.bad_utf8_lines:,} lines": notes.bad_utf8_lines,
        f"{notes.nul_characters:,} NUL characters were removed": notes.nul_characters,
        f"{len(notes.empty_files):,} files hold no text: {some}": notes.empty_files,
    }
    return "\n".join(
        lines + [f"warning: {warning}" for warning, applies in warnings.items() if applies]
    )

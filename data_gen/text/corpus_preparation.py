"""Documents → sentences on all cores → the prepared corpus and its statistics; for `prepare_corpus.py`.

Input: the documents of `corpus_readers.py`, which `sentences.py` splits. Output: one sentence per line, a blank line
between documents. A long document is worked on in parts; documents and parts go to the workers in portions. With an
engine for data (`options.ENGINES`) whole files go to its workers, each of which does there what the command does here.
"""

import contextlib
import dataclasses
import functools
import gzip
import hashlib
import itertools
import os
import pickle
import socket
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import IO, Any

from bert_common import files, outputs, parallel
from bert_common.errors import UserError
from bert_common.progress import Progress
from data_gen.options import CorpusOptions
from data_gen.pretraining.work_directory import WorkDirectory, engine_directory
from data_gen.text.corpus_readers import ReadingNotes, read_documents
from data_gen.text.sentences import split_sentences

# Characters given to a worker at a time: some 50 ms of work.
_PORTION_CHARACTERS = 1 << 18
# Bytes of files given to a worker of an engine at a time; a file is never divided.
_FILES_BYTES = 32 << 20
# A longer document is worked on in parts of this size.
_PART_CHARACTERS = 1 << 20
# A document of one sentence is suspicious if it has more words than this, a sentence if it has more than that.
_WORDS_WITHOUT_BREAK = 100
_WORDS_IN_LONG_SENTENCE = 512


@dataclasses.dataclass(frozen=True)
class DocumentPart:
  """A document, or a part of a long one, on its way to a worker."""

  document: int
  held_out: bool
  paragraphs: list[str]


@dataclasses.dataclass(frozen=True)
class SplitPart:
  """A document part as it is written: `text` is UTF-8, one sentence per line."""

  document: int
  held_out: bool
  text: bytes
  num_sentences: int
  num_words: int
  num_long_sentences: int


@dataclasses.dataclass
class CorpusStatistics:
  """Counts of one output file.

  Attributes:
    documents, sentences, words, bytes: totals; words are what white space separates.
    one_sentence_documents: documents of one sentence only.
    unbroken_documents: those of them with more than 100 words.
    long_sentences: sentences of more than 512 words.
  """

  documents: int = 0
  sentences: int = 0
  words: int = 0
  bytes: int = 0
  one_sentence_documents: int = 0
  unbroken_documents: int = 0
  long_sentences: int = 0


def make_parts(documents: Iterator[Iterator[str]], held_out_fraction: float, seed: int) -> Iterator[DocumentPart]:
  """Cuts documents into parts and says which of them are held out.

  Whether a document is held out depends on its first million characters and the seed only: not on its place, nor
  on the other documents, and copies of a document all fall on the same side.

  Args:
    documents: iterators over paragraphs.
    held_out_fraction: expected share of the documents that are held out, 0 to 1.
    seed: other seeds hold out other documents.
  """
  for number, document in enumerate(documents):
    held_out = False if not held_out_fraction else None
    for paragraphs in parallel.portions(document, len, _PART_CHARACTERS):
      if held_out is None:
        digest = hashlib.blake2b("".join(paragraphs).encode(), digest_size=8, key=str(seed).encode()[:64])
        held_out = int.from_bytes(digest.digest(), "big") < held_out_fraction * 2**64
      yield DocumentPart(number, held_out, paragraphs)


def split_portion(portion: list[DocumentPart]) -> list[SplitPart]:
  """Splits each document part into sentences; runs in the workers."""
  found = []
  for part in portion:
    sentences = [sentence for paragraph in part.paragraphs for sentence in split_sentences(paragraph)]
    # A sentence holds single spaces only, so they count its words.
    words = [sentence.count(" ") + 1 for sentence in sentences]
    found.append(SplitPart(part.document, part.held_out, "".join(f"{sentence}\n" for sentence in sentences).encode(),
                           len(sentences), sum(words), sum(count > _WORDS_IN_LONG_SENTENCE for count in words)))
  return found


class CorpusWriter:
  """Writes document parts as they come, with a blank line between documents, and counts them."""

  def __init__(self, file: IO[bytes]):
    self.statistics = CorpusStatistics()
    self._file = file
    self._document: int | None = None
    self._sentences = 0
    self._words = 0

  def write(self, part: SplitPart) -> None:
    """Appends a part; those of one document come one after another, and have its number."""
    if not part.num_sentences:
      return
    if part.document != self._document:
      self.finish_document()
      if self.statistics.documents:
        self._file.write(b"\n")
        self.statistics.bytes += 1
      self._document = part.document
    self._sentences += part.num_sentences
    self._words += part.num_words
    self.statistics.long_sentences += part.num_long_sentences
    self._file.write(part.text)
    self.statistics.bytes += len(part.text)

  def finish_document(self) -> None:
    """Counts the document written last; call it at the end, and where numbers begin again."""
    if not self._sentences:
      return
    statistics = self.statistics
    statistics.documents += 1
    statistics.sentences += self._sentences
    statistics.words += self._words
    if self._sentences == 1:
      statistics.one_sentence_documents += 1
      statistics.unbroken_documents += self._words > _WORDS_WITHOUT_BREAK
    self._sentences = self._words = 0
    self._document = None


@contextlib.contextmanager
def open_output(path: str) -> Iterator[Any]:
  """A file for bytes that appears when it is complete; gzipped, always in the same way, if its name ends in .gz."""
  with files.atomic_write(path, "wb") as file, contextlib.ExitStack() as stack:
    yield file if not path.endswith(".gz") else stack.enter_context(
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0))


def run(options: CorpusOptions) -> None:
  """The command: checks, prepares, prints the table and the warnings.

  Raises:
    UserError: an input can't be read or an output can't be written, or the engine is at fault.
  """
  input_files = files.expand_patterns(options.input_file, "input_file")
  for path in input_files:
    files.check_readable(path, "input_file")
  known = {"input_file": input_files}
  for flag in ("output_file", "held_out_file"):
    if path := getattr(options, flag):
      outputs.prepare_output_file(path, flag, known)
      known[flag] = [path]
  statistics, held_out, notes = prepare_corpus(input_files, options)
  found = warnings(statistics, held_out, notes, bool(options.held_out_file))
  paths = filter(None, (options.output_file, options.held_out_file))
  print(report(len(input_files), list(zip(paths, (statistics, held_out), strict=False)), notes, found))


def prepare_corpus(
    input_files: Sequence[str], options: CorpusOptions) -> tuple[CorpusStatistics, CorpusStatistics, ReadingNotes]:
  """Reads, splits and writes the corpus.

  Args:
    input_files: in the order in which their documents are written.
    options: everything else.

  Returns:
    Statistics of the output, of the held-out output, and notes about the input.

  Raises:
    UserError: an input can't be read or holds no text at all, an output can't be written, or the engine is at
      fault. No output exists then.
  """
  notes = ReadingNotes()
  total = sum(map(files.file_size, input_files))
  with contextlib.ExitStack() as stack:
    work = stack.enter_context(engine_directory(options, options.output_file, "output_file"))
    progress = stack.enter_context(Progress("sentences", total=total, unit="B"))
    main = held_out = CorpusWriter(stack.enter_context(open_output(options.output_file)))
    if options.held_out_file:
      held_out = CorpusWriter(stack.enter_context(open_output(options.held_out_file)))
    groups = (_split_elsewhere(input_files, options, notes, progress.advance, work) if work else
              [_split(input_files, options, notes, progress.advance, options.workers)])
    for group in groups:
      with contextlib.closing(group) as splits:
        for part in itertools.chain.from_iterable(splits):
          (held_out if part.held_out else main).write(part)
      main.finish_document()
      held_out.finish_document()
    if not main.statistics.documents:
      raise UserError("all documents were held out: lower --held_out_fraction" if held_out.statistics.documents
                      else "--input_file: there is no text in the input")
  return main.statistics, held_out.statistics if options.held_out_file else CorpusStatistics(), notes


def _split(input_files: Iterable[str], options: CorpusOptions, notes: ReadingNotes, progress: Callable[[int], None],
           num_workers: int) -> Generator[list[SplitPart], None, None]:
  """The parts of the documents of files, split into sentences, in order."""
  documents = itertools.chain.from_iterable(read_documents(path, options, notes, progress) for path in input_files)
  parts = make_parts(documents, options.held_out_fraction, options.seed)
  portions = parallel.portions(parts, lambda part: sum(map(len, part.paragraphs)), _PORTION_CHARACTERS)
  return parallel.ordered_map(split_portion, portions, num_workers)


def _split_elsewhere(input_files: Sequence[str], options: CorpusOptions, notes: ReadingNotes,
                     progress: Callable[[int], None], work: WorkDirectory
                     ) -> Iterator[Generator[list[SplitPart], None, None]]:
  """`_split` on the workers of an engine, for some files after others."""
  given = {files.absolute(path): path for path in input_files}
  groups = [(paths, work.text_path(number)) for number, paths in enumerate(
      parallel.portions(map(files.absolute, input_files), files.file_size, _FILES_BYTES))]
  for (paths, target), found in zip(
      groups, options.ordered_map(functools.partial(split_files, options), groups, work.path), strict=True):
    notes.add(dataclasses.replace(found, empty_files=[given[path] for path in found.empty_files]))
    yield _read_split(target)
    progress(sum(map(files.file_size, paths)))


def split_files(options: CorpusOptions, group: tuple[list[str], str]) -> ReadingNotes:
  """Splits files into sentences and writes what `_read_split` reads into another; runs in the workers of an engine.

  Raises:
    UserError: a file can't be read; the disk is full.
  """
  paths, target = group
  notes = ReadingNotes()
  temporary = files.unshared_name(target)
  with files.user_error(f"can't write {target} on {socket.gethostname()}"):
    with open(temporary, "wb") as file:
      for parts in _split(paths, options, notes, lambda read: None, 1):
        pickle.dump(parts, file)
    os.replace(temporary, target)
  return notes


def _read_split(path: str) -> Generator[list[SplitPart], None, None]:
  """What `split_files` has written, which is removed then."""
  with open(path, "rb") as file:
    while file.peek(1):
      yield pickle.load(file)
  os.unlink(path)


def warnings(statistics: CorpusStatistics, held_out: CorpusStatistics, notes: ReadingNotes,
             has_held_out_file: bool) -> list[str]:
  """Warnings about the corpus, one per line."""
  found = []
  if statistics.documents == 1:
    found.append("the whole corpus is one document, so a random next segment can't come from another one: "
                 "see --document_separator")
  if statistics.documents > 1 and statistics.one_sentence_documents > 0.5 * statistics.documents:
    found.append(f"{statistics.one_sentence_documents / statistics.documents:.0%} of the documents are a single "
                 "sentence, from which no next-sentence pair can be made: see --document_separator")
  if statistics.unbroken_documents:
    found.append(f"{statistics.unbroken_documents:,} document(s) of more than {_WORDS_WITHOUT_BREAK} words without a "
                 "sentence break: is there punctuation in the text?")
  if statistics.long_sentences:
    found.append(f"{statistics.long_sentences:,} sentence(s) of more than {_WORDS_IN_LONG_SENTENCE} words "
                 "(tables, lists or text without punctuation); what is too long will be cut off in the records")
  if has_held_out_file and not held_out.documents:
    found.append("no document was held out: raise --held_out_fraction")
  if notes.bad_utf8_lines:
    found.append(f"bytes that are not UTF-8 were replaced in {notes.bad_utf8_lines:,} lines")
  if notes.nul_characters:
    found.append(f"{notes.nul_characters:,} NUL characters were removed")
  if notes.empty_files:
    some = ", ".join(notes.empty_files[:3]) + (", …" if len(notes.empty_files) > 3 else "")
    found.append(f"{len(notes.empty_files):,} files hold no text: {some}")
  return found


def report(num_files: int, outputs: Sequence[tuple[str, CorpusStatistics]], notes: ReadingNotes,
           found: Sequence[str]) -> str:
  """The table at the end."""
  lines = [f"read as {layout}: {count:,} of {num_files:,} files" for layout, count in sorted(notes.layouts.items())]
  width = max(len(path) for path, _ in outputs)
  lines.append(f"{'':<{width}} {'documents':>10} {'sentences':>11} {'words':>12} {'bytes':>14} {'words/sentence':>15}")
  for path, statistics in outputs:
    lines.append(
        f"{path:<{width}} {statistics.documents:>10,} {statistics.sentences:>11,} {statistics.words:>12,} "
        f"{statistics.bytes:>14,} {statistics.words / max(1, statistics.sentences):>15.1f}")
  return "\n".join(lines + [f"warning: {warning}" for warning in found])

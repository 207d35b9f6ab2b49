"""A corpus of any size, read in pieces: where its documents are, and the tokens of a piece.

The corpus is one sentence a line with a blank line between documents (`data_gen/prepare_corpus.py` writes such
files). `scan` passes over it once and cuts it into blocks of some hundred kB at document ends; `make_chunks` deals
the blocks, in random order, into chunks, the units of work; `load` tokenizes one chunk. The cuts depend on the
text alone, never on the number of workers. After this comes `data_gen/instances.py`.
"""

import dataclasses
import gzip
import re
import shutil
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from common.errors import UserError
from data_gen.tokenization import Tokenizer

_BLANK_LINE = re.compile(rb"\n[ \t\r\f\v]*\n")
_STARTS_BLANK = re.compile(rb"[ \t\r\f\v]*\n")
# Chunks of a small corpus are small, so that all workers have something to do; those of a large one are as large
# as a worker's memory takes comfortably, because random next segments come from the documents of the same chunk.
_CHUNKS_WANTED = 64
_SMALLEST_CHUNK = 1 << 20
_LARGEST_CHUNK = 8 << 20
_BLOCKS_A_CHUNK = 16
_BLOCKS_TO_DRAW_FROM = 4


@dataclasses.dataclass(frozen=True)
class Block:
  """Bytes of one file, from a line's start to a line's end; mostly whole documents.

  Attributes:
    path: the file.
    start, end: offsets in bytes.
    first_document, last_document: numbers of the documents of its first and last line. A document that is too long
      for a block goes on in the next one, under the same number.
    continues: the first line belongs to the last document of the block before.
  """

  path: str
  start: int
  end: int
  first_document: int
  last_document: int
  continues: bool


@dataclasses.dataclass
class Documents:
  """Tokens of some documents. Sentences without a token, and documents without a sentence, are left out.

  Attributes:
    ids: int32 [T], all tokens.
    sentence_offsets: int64 [sentences + 1], where each sentence starts in `ids`.
    document_offsets: int64 [documents + 1], where each document starts among the sentences.
    document_ids: int64 [documents]; pieces of one long document have the same.
    counts: what was read, by name; see `load`.
  """

  ids: np.ndarray
  sentence_offsets: np.ndarray
  document_offsets: np.ndarray
  document_ids: np.ndarray
  counts: dict[str, int]

  @property
  def size(self) -> int:
    """Number of documents."""
    return len(self.document_ids)


@dataclasses.dataclass(frozen=True)
class Corpus:
  """Blocks in the order of the text.

  Attributes:
    blocks: all of them.
    size: bytes of text.
    chunk_size: bytes of text that a chunk should have.
    nul_bytes: number of NUL bytes.
  """

  blocks: list[Block]
  size: int
  chunk_size: int
  nul_bytes: int


def unzip(path: str, target: str) -> str:
  """Returns `path`, or `target` after unzipping into it where the content is gzip.

  Raises:
    UserError: damaged or cut off; the disk is full.
  """
  try:
    with open(path, "rb") as file:
      if file.read(2) != b"\x1f\x8b":
        return path
    with gzip.open(path, "rb") as source, open(target, "wb") as copy:
      shutil.copyfileobj(source, copy, 1 << 20)
  except (EOFError, zlib.error, gzip.BadGzipFile):
    raise UserError(f"{path}: damaged or cut off (gzip): copy it again") from None
  except OSError as error:
    raise UserError(f"can't unzip {path} into {target}: {error.strerror}") from None
  return target


def chunk_bytes(corpus_bytes: int) -> int:
  """Bytes of text a chunk of a corpus of this size should have."""
  return min(max(corpus_bytes // _CHUNKS_WANTED, _SMALLEST_CHUNK), _LARGEST_CHUNK)


def scan(paths: Sequence[str], names: Sequence[str], chunk_size: int, on_bad_utf8: str = "error",
         advance: Callable[[int], None] = lambda read: None) -> Corpus:
  """Passes over plain files and finds the blocks. A file's end is a document's end.

  Args:
    paths: files to read.
    names: what to call them in errors (the file the user gave, where `paths` has an unzipped copy).
    chunk_size: see `chunk_bytes`.
    on_bad_utf8: "error" or "replace".
    advance: is told the bytes read.

  Raises:
    UserError: a file can't be read, or is not UTF-8 (names file, line and byte).
  """
  blocks: list[Block] = []
  size = nul_bytes = 0
  for path, name in zip(paths, names, strict=True):
    line = 1
    ended = True
    for start, data, ends_document in _cut(path, name, max(chunk_size // _BLOCKS_A_CHUNK, 1)):
      if on_bad_utf8 == "error":
        _check_utf8(data, name, start, line)
      line += data.count(b"\n")
      nul_bytes += data.count(b"\0")
      advance(len(data))
      size += len(data)
      text = data.strip()
      if not text:
        ended = True
        continue
      continues = not ended and not _STARTS_BLANK.match(data)
      before = blocks[-1].last_document if blocks else -1
      first = before if continues else before + 1
      last = first + 1 if _BLANK_LINE.search(text) else first
      blocks.append(Block(path, start, start + len(data), first, last, continues))
      ended = ends_document
  return Corpus(blocks, size, chunk_size, nul_bytes)


def _cut(path: str, name: str, block_bytes: int):
  """Yields (offset, bytes, whether a document ends there) of the blocks of a file."""
  limit = 2 * block_bytes
  try:
    with open(path, "rb") as file:
      data, start, position = b"", 0, 0
      while True:
        # Enough for a decision that does not depend on how much was read at a time.
        if len(data) - position < limit + 1:
          data, start, position = data[position:] + file.read(max(8 * limit, 1 << 20)), start + position, 0
        if position == len(data):
          return
        end, ends_document = _block_end(data, position, block_bytes, limit)
        yield start + position, data[position:end], ends_document
        position = end
  except OSError as error:
    raise UserError(f"can't read {name}: {error.strerror}") from None


def _block_end(data: bytes, position: int, block_bytes: int, limit: int) -> tuple[int, bool]:
  """Where the block that starts at `position` ends, and whether a document ends there."""
  blank = _BLANK_LINE.search(data, position + block_bytes, position + limit)
  if blank:
    return blank.end(), True
  if len(data) - position <= limit:
    return len(data), True
  # A document longer than a block is cut at a line's end, a line longer than that at a space or, at last, anywhere.
  for separator in (b"\n", b" "):
    found = data.rfind(separator, position, position + limit)
    if found >= position:
      return found + 1, False
  end = position + limit
  while end > position + 1 and data[end] & 0xC0 == 0x80:
    end -= 1
  return end, False


def _check_utf8(data: bytes, name: str, start: int, line: int) -> None:
  try:
    data.decode()
  except UnicodeDecodeError as error:
    line += data.count(b"\n", 0, error.start)
    hint = ""
    if start == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
      hint = " (it looks like UTF-16)"
    raise UserError(f"{name}:{line}: byte {start + error.start} (0x{data[error.start]:02x}) is not UTF-8{hint}: "
                    "convert the file, or give --on_bad_utf8=replace") from None


def make_chunks(corpus: Corpus, rng: np.random.Generator) -> list[list[Block]]:
  """Deals the blocks at random into chunks of about `chunk_size` bytes, so that each is a sample of the whole."""
  count = min(max(round(corpus.size / corpus.chunk_size), 1), len(corpus.blocks))
  order = rng.permutation(len(corpus.blocks))
  return [[corpus.blocks[index] for index in sorted(part)] for part in np.array_split(order, count)]


def find_other_documents(blocks: Sequence[Block], chunk: Sequence[Block]) -> list[Block]:
  """Blocks with documents for a chunk to draw random segments from, if all of its own are the same document.

  Returns:
    The next few blocks behind the chunk's first one (and round the end) that hold another document; none where
    the chunk has several documents, or the corpus only one.
  """
  document = chunk[0].first_document
  if any((block.first_document, block.last_document) != (document, document) for block in chunk):
    return []
  others = [block for block in blocks if (block.first_document, block.last_document) != (document, document)]
  begin = sum(block.first_document < document for block in others)
  return [*others[begin:], *others[:begin]][:_BLOCKS_TO_DRAW_FROM]


def load(blocks: Sequence[Block], tokenizer: Tokenizer, on_bad_utf8: str = "error") -> Documents:
  """Reads and tokenizes blocks.

  The counts of the result: documents (a continued one counts where it starts), sentences, tokens, unknown_tokens,
  lines_without_tokens, one_sentence_documents, longest_sentence.

  Raises:
    UserError: a file has changed or gone since it was scanned.
  """
  ids, lengths, documents = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
  continued = lines_without_tokens = 0
  # Numbers for the documents that begin and end inside a block; the scan's numbers are not negative.
  inner = -1
  for block in blocks:
    lines = _read_lines(block, on_bad_utf8)
    encoding = tokenizer.encode_batch(lines)
    without = np.flatnonzero(encoding.row_lengths == 0)
    blank = without[[not lines[index].strip() for index in without.tolist()]]
    lines_without_tokens += len(without) - len(blank)
    is_blank = np.zeros(len(lines), np.int64)
    is_blank[blank] = 1
    used = encoding.row_lengths > 0
    paragraph = np.cumsum(is_blank)[used]
    numbers = inner - paragraph
    numbers[paragraph == is_blank.sum()] = block.last_document
    numbers[paragraph == 0] = block.first_document
    continued += bool(block.continues and len(paragraph) and paragraph[0] == 0)
    inner -= len(blank) + 1
    ids.append(encoding.ids)
    lengths.append(encoding.row_lengths[used])
    documents.append(numbers)
  all_ids, all_lengths, all_documents = map(np.concatenate, (ids, lengths, documents))
  starts = np.flatnonzero(np.diff(all_documents, prepend=np.iinfo(np.int64).min))
  sentences = np.diff(starts, append=len(all_documents))
  return Documents(
      ids=all_ids, sentence_offsets=np.concatenate([[0], np.cumsum(all_lengths)]),
      document_offsets=np.concatenate([starts, [len(all_documents)]]), document_ids=all_documents[starts],
      counts={"documents": len(starts) - continued, "sentences": len(all_lengths), "tokens": len(all_ids),
              "unknown_tokens": int((all_ids == tokenizer.vocabulary.unk_id).sum()),
              "lines_without_tokens": lines_without_tokens,
              "one_sentence_documents": int((sentences == 1).sum()),
              "longest_sentence": int(all_lengths.max(initial=0))})


def _read_lines(block: Block, on_bad_utf8: str) -> list[str]:
  try:
    with open(block.path, "rb") as file:
      file.seek(block.start)
      data = file.read(block.end - block.start)
    text = data.decode(errors="strict" if on_bad_utf8 == "error" else "replace")
  except OSError as error:
    raise UserError(f"can't read {block.path}: {error.strerror}") from None
  except UnicodeDecodeError:
    data = b""
  if len(data) < block.end - block.start:
    raise UserError(f"{block.path} has changed while it was read: start again")
  # Only "\n" ends a line, as in the original; str.splitlines() would also take U+2028 and others.
  return text.removesuffix("\n").split("\n")

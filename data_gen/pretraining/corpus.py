"""A corpus of any size, read block by block: where its documents are, and the tokens of blocks.

Input: one sentence per line with a blank line between documents (`data_gen/prepare_corpus.py`
writes such files). Output: `Documents`, the tokens of which `instances.py` makes pairs.

`scan` passes over a file once and cuts it into blocks of some hundred kB at document ends, `join`
makes a corpus of files; `make_portions` deals the blocks, in random order, into portions, the units
of work; `load` tokenizes one portion. The cuts depend on the text alone, never on the number of
workers.
"""

import dataclasses
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, NamedTuple

import google_crc32c
import numpy as np

from bert_common import files
from bert_common.errors import UserError
from data_gen.ragged import bounds_of
from data_gen.tokenization.tokenizer import Tokenizer

_BLANK_LINE = re.compile(rb"\n[ \t\r\f\v]*\n")
_STARTS_BLANK = re.compile(rb"[ \t\r\f\v]*\n")
# Portions of a small corpus are small, so that all workers have something to do. Portions of a
# large one are as large as a worker's memory takes comfortably, because random next segments come
# from the documents of the same portion.
_TARGET_PORTIONS = 64
_SMALLEST_PORTION = 1 << 20
_LARGEST_PORTION = 8 << 20
# Bytes of a portion per token of a sequence: short sequences make more instances of a text.
_LARGEST_PORTION_PER_TOKEN = 64 << 10
_BLOCKS_PER_PORTION = 16
_BLOCKS_TO_DRAW_FROM = 4


@dataclasses.dataclass(frozen=True)
class Block:
    """Bytes of one file, from a line's start to a line's end; mostly whole documents.

    Attributes:
      number: position of the block in the corpus.
      start, end: offsets in bytes.
      first_document, last_document: numbers of the documents of its first and last line. A document
        that is too long for a block continues in the next one, under the same number.
      continues: the first line belongs to the last document of the previous block.
      inside_line: the block begins inside a line, which was too long for one block.
      checksum: CRC-32C of the bytes.
    """

    number: int
    path: str
    start: int
    end: int
    first_document: int
    last_document: int
    continues: bool
    inside_line: bool
    checksum: int

    def after(self, blocks: int, documents: int) -> "Block":
        """Returns the block as it is numbered after so many blocks and documents of other
        files."""
        return dataclasses.replace(
            self,
            number=self.number + blocks,
            first_document=self.first_document + documents,
            last_document=self.last_document + documents,
        )


@dataclasses.dataclass
class Documents:
    """Tokens of some documents, without empty sentences and documents.

    Attributes:
      ids: int32 [T], all tokens.
      sentence_offsets: int64 [sentences + 1], the start of each sentence in `ids`.
      document_offsets: int64 [documents + 1], the start of each document among the
        sentences.
      document_ids: int64 [documents]; parts of one long document have the same id.
      counts: numbers of documents, tokens and others by name; see `load`.
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

    @property
    def is_single(self) -> bool:
        """Whether all are parts of one document."""
        return len(np.unique(self.document_ids)) == 1


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Blocks of a text.

    Attributes:
      blocks: in the order of the text.
      size: bytes of the text.
      portion_size: bytes that a portion should have.
      nul_bytes: number of NUL bytes.
    """

    blocks: list[Block]
    size: int
    portion_size: int
    nul_bytes: int


def plain_file(path: str, target: str) -> str:
    """Returns `path`; a gzipped or remote file is copied to `target`, which is returned instead."""
    with (
        files.user_error(f"can't copy {path} to {target}"),
        files.open_unzipped(path) as (raw, source),
    ):
        # Workers seek to offsets in bytes, which compressed and remote files allow only slowly or
        # not at all.
        if source is raw and not files.is_remote(path):
            return path
        with open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    return target


def portion_bytes(corpus_bytes: int, max_seq_length: int) -> int:
    """Returns the bytes of text that a portion of a corpus of this size should have."""
    largest = min(_LARGEST_PORTION, _LARGEST_PORTION_PER_TOKEN * max_seq_length)
    return min(max(corpus_bytes // _TARGET_PORTIONS, _SMALLEST_PORTION), largest)


def _ignore_progress(num_bytes: int) -> None:
    pass


def scan(
    path: str,
    name: str,
    portion_size: int,
    on_bad_utf8: str = "error",
    advance: Callable[[int], None] = _ignore_progress,
) -> Corpus:
    """Passes over a plain file and finds its blocks.

    Args:
      name: of the file in errors (the user's file, if `path` is a copy).

    Raises:
      UserError: the file can't be read, or is not UTF-8 (names file, line and byte).
    """
    blocks: list[Block] = []
    size = 0
    nul_bytes = 0
    with files.user_error(f"can't read {name}"), open(path, "rb") as file:
        for block, data in scan_file(file, path, name, portion_size, on_bad_utf8):
            nul_bytes += data.count(b"\0")
            # Blank pieces count as well: the progress bar must reach the size of the files.
            advance(len(data))
            size += len(data)
            if block is not None:
                blocks.append(block)
    return Corpus(blocks, size, portion_size, nul_bytes)


def join(texts: Sequence[Corpus]) -> Corpus:
    """Returns the corpus of files, one or more, in this order. A file's end is a document's
    end."""
    blocks: list[Block] = []
    size = 0
    nul_bytes = 0
    for text in texts:
        num_blocks = len(blocks)
        num_documents = blocks[-1].last_document + 1 if blocks else 0
        for block in text.blocks:
            blocks.append(block.after(num_blocks, num_documents))
        size += text.size
        nul_bytes += text.nul_bytes
    return Corpus(blocks, size, texts[0].portion_size, nul_bytes)


def scan_file(
    file: IO[bytes], path: str, name: str, portion_size: int, on_bad_utf8: str = "error"
) -> Iterator[tuple[Block | None, bytes]]:
    """Yields the blocks of an open file with their bytes; None for pieces of blank lines alone.

    Blocks and documents are numbered from 0.

    Args:
      path, name: the file in the blocks and in errors.

    Raises:
      UserError: the file is not UTF-8.
    """
    number = 0
    last_document = -1
    line = 1
    # Whether the last document has ended, and whether the next block begins inside a line.
    has_ended = True
    inside_line = False
    for piece in _cut(file, block_bytes(portion_size)):
        data = piece.data
        if on_bad_utf8 == "error":
            _check_utf8(piece, name, line)
        line += data.count(b"\n")
        if not inside_line and _STARTS_BLANK.match(data):
            has_ended = True
        # Inside of a line a leading line break ends that line, and a blank line after it must still
        # be found below.
        text = data.rstrip() if inside_line else data.strip()
        block = None
        if text:
            first = last_document
            if has_ended:
                first += 1
            last_document = first
            if _BLANK_LINE.search(text):
                # Several documents end in the block; only the last one may continue, so the numbers
                # of the others are not needed.
                last_document += 1
            block = Block(
                number=number,
                path=path,
                start=piece.start,
                end=piece.start + len(data),
                first_document=first,
                last_document=last_document,
                continues=not has_ended,
                inside_line=inside_line,
                checksum=google_crc32c.value(data),
            )
            number += 1
            # Pieces of blank lines make no block, so an end that they contain counts for the next
            # block.
            has_ended = False
        yield block, data
        if piece.ends_document or _BLANK_LINE.search(data, len(data.rstrip())):
            has_ended = True
        inside_line = not data.endswith(b"\n")


def block_bytes(portion_size: int) -> int:
    """Returns about how many bytes the blocks have of which portions of this size are made."""
    return max(portion_size // _BLOCKS_PER_PORTION, 1)


class _Piece(NamedTuple):
    """Bytes of a file for a block.

    Attributes:
      start: their offset.
      ends_document: a document ends with them.
    """

    start: int
    data: bytes
    ends_document: bool


def _check_utf8(piece: _Piece, name: str, line: int) -> None:
    """Raises `UserError` if a piece that begins in this line is not UTF-8."""
    try:
        piece.data.decode()
    except UnicodeDecodeError as error:
        line += piece.data.count(b"\n", 0, error.start)
        raise UserError(
            f"{name}:{line}: byte {piece.start + error.start} (0x{piece.data[error.start]:02x}) is "
            "not UTF-8: convert the file, or give --on_bad_utf8=replace"
        ) from None


def _cut(file: IO[bytes], num_bytes: int) -> Iterator[_Piece]:
    """Cuts a file into pieces of about `num_bytes`, at most twice as many."""
    limit = 2 * num_bytes
    data = b""
    # Offset of the data in the file, and of the next piece in the data.
    start = 0
    position = 0
    while True:
        # The decision must not depend on how much was read at a time: a whole piece and one byte
        # more must be there.
        if len(data) - position < limit + 1:
            data = data[position:] + file.read(max(8 * limit, 1 << 20))
            start += position
            position = 0
        if position == len(data):
            return
        blank = _BLANK_LINE.search(data, position + num_bytes, position + limit)
        ends_document = blank is not None or len(data) - position <= limit
        if blank is not None:
            end = blank.end()
        elif ends_document:
            end = len(data)
        else:
            end = _cut_inside_document(data, position, limit)
        yield _Piece(start + position, data[position:end], ends_document)
        position = end


def _cut_inside_document(data: bytes, position: int, limit: int) -> int:
    """Returns where to cut a document that is longer than a block.

    That is a line's end, in a longer line a space, or at last anywhere between two characters.
    """
    for separator in (b"\n", b" "):
        # The separator stays with the piece before it. `rfind` gives -1 if there is none, hence 0.
        end = data.rfind(separator, position, position + limit) + 1
        if end:
            return end
    end = position + limit
    # Bytes 10xxxxxx continue a character of UTF-8.
    while end > position + 1 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def make_portions(corpus: Corpus, rng: np.random.Generator) -> list[list[Block]]:
    """Deals the blocks at random into portions of about `portion_size` bytes, so that each is a
    sample of the whole."""
    portions = []
    for numbers in deal(len(corpus.blocks), corpus.size, corpus.portion_size, rng):
        portions.append([corpus.blocks[number] for number in numbers])
    return portions


def deal(
    num_blocks: int, size: int, portion_size: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Returns the numbers of the blocks of each portion, see `make_portions`."""
    # `array_split` would make empty portions of a corpus with fewer blocks than portions.
    count = min(max(round(size / portion_size), 1), num_blocks)
    order = rng.permutation(num_blocks)
    # In the order of the text, parts of a document that was cut join again in `load`.
    return [np.sort(part) for part in np.array_split(order, count)]


def find_other_documents(blocks: Sequence[Block], portion: Sequence[Block]) -> list[Block]:
    """Returns blocks for random segments of a portion that is a single document.

    These are the next few blocks after its first one, and from the beginning again, that contain
    another document.
    """
    first = portion[0].number
    following = (blocks[(first + step) % len(blocks)] for step in range(1, len(blocks)))
    return list(other_documents(following, portion))


def other_documents(following: Iterable[Block], portion: Sequence[Block]) -> Iterator[Block]:
    """Yields those of `find_other_documents` out of the blocks after its first one, to the end and
    from the beginning again."""
    own_numbers = {block.number for block in portion}
    document = portion[0].last_document
    missing = _BLOCKS_TO_DRAW_FROM
    for block in following:
        is_same = block.first_document == document and block.last_document == document
        if block.number not in own_numbers and not is_same:
            yield block
            missing -= 1
            if not missing:
                return


def read_block(block: Block) -> bytes:
    """Returns the bytes of a block of a plain local file."""
    with files.user_error(f"can't read {block.path}"), open(block.path, "rb") as file:
        file.seek(block.start)
        return file.read(block.end - block.start)


def load(
    blocks: Sequence[Block],
    tokenizer: Tokenizer,
    on_bad_utf8: str = "error",
    read: Callable[[Block], bytes] = read_block,
) -> Documents:
    """Reads and tokenizes blocks.

    The counts of the result: documents (a continued one counts where it starts), sentences, tokens,
    unknown_tokens, lines_without_tokens, one_sentence_documents, longest_sentence.

    Raises:
      UserError: a file was changed or removed after the scan.
    """
    # The empty first arrays let `concatenate` work on a portion without text, and fix the types.
    ids = [np.empty(0, np.int32)]
    lengths = [np.empty(0, np.int64)]
    # Number of the document of each sentence: by its position in this portion, and by its number in
    # the corpus if other blocks may contain more of it, else negative.
    paragraphs = [np.empty(0, np.int64)]
    documents = [np.empty(0, np.int64)]
    num_continued = 0
    lines_without_tokens = 0
    number = -1
    previous_block = None
    for block in blocks:
        lines = _lines_of(block, read(block), on_bad_utf8)
        # Blank lines are tokenized as well: their positions then need no second index.
        encoding = tokenizer.encode_batch(lines)
        has_tokens = encoding.row_lengths > 0
        blank = _blank_lines(lines, np.flatnonzero(~has_tokens), block)
        lines_without_tokens += int((~has_tokens).sum()) - len(blank)
        paragraph = np.searchsorted(blank, np.arange(len(lines)))[has_tokens]
        follows = block.continues and previous_block == block.number - 1
        previous_block = block.number
        if not follows:
            number += 1
            if block.continues and len(paragraph) and paragraph[0] == 0:
                # The document was counted in the portion where it starts.
                num_continued += 1
        # Negative numbers can't collide with the numbers of documents in the corpus.
        document = -1 - number - paragraph
        document[paragraph == len(blank)] = block.last_document
        # A block of a single paragraph has a single number: both assignments give it the same one.
        document[paragraph == 0] = block.first_document
        ids.append(encoding.ids)
        lengths.append(encoding.row_lengths[has_tokens])
        paragraphs.append(number + paragraph)
        documents.append(document)
        number += len(blank)
    all_ids = np.concatenate(ids)
    all_lengths = np.concatenate(lengths)
    all_paragraphs = np.concatenate(paragraphs)
    # Paragraphs count from 0, so the -1 makes the first sentence the start of a document.
    starts = np.flatnonzero(np.diff(all_paragraphs, prepend=-1))
    sentences = np.diff(starts, append=len(all_paragraphs))
    return Documents(
        ids=all_ids,
        sentence_offsets=bounds_of(all_lengths),
        document_offsets=np.concatenate([starts, [len(all_paragraphs)]]),
        document_ids=np.concatenate(documents)[starts],
        counts={
            "documents": len(starts) - num_continued,
            "sentences": len(all_lengths),
            "tokens": len(all_ids),
            "unknown_tokens": int((all_ids == tokenizer.vocabulary.unk_id).sum()),
            "lines_without_tokens": lines_without_tokens,
            "one_sentence_documents": int((sentences == 1).sum()),
            "longest_sentence": int(all_lengths.max(initial=0)),
        },
    )


def _lines_of(block: Block, data: bytes, on_bad_utf8: str) -> list[str]:
    """Returns the lines of a block; raises `UserError` if its bytes have changed since the scan."""
    # A text that changes while it is read would give records that no second run could reproduce.
    if google_crc32c.value(data) != block.checksum:
        raise UserError(f"{block.path} was changed while it was read: start again")
    text = data.decode(errors="strict" if on_bad_utf8 == "error" else "replace")
    # Only "\n" ends a line, as in the original; str.splitlines() also splits at U+2028 and others.
    return text.removesuffix("\n").split("\n")


def _blank_lines(lines: Sequence[str], without_tokens: np.ndarray, block: Block) -> np.ndarray:
    """Returns which of the lines without tokens are blank, and so end a document."""
    blank = []
    for index in without_tokens.tolist():
        # The rest of a line that was cut is no blank line.
        is_rest = block.inside_line and index == 0
        if not lines[index].strip() and not is_rest:
            blank.append(index)
    return np.array(blank, np.int64)

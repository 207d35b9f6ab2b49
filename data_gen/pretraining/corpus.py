"""A corpus of any size, read block by block: where its documents are, and the tokens of some
blocks.

Input: one sentence per line with a blank line between documents (`data_gen/prepare_corpus.py`
writes such files). Output: `Documents`, the tokens that `instances.py` makes pairs of. `scan`
passes over the text once and cuts it into blocks of some hundred kB at document ends;
`make_portions` deals the blocks, in random order, into portions, the units of work; `load`
tokenizes one portion. The cuts depend on the text alone, never on the number of workers.
"""

import dataclasses
import itertools
import re
import shutil
import socket
from collections.abc import Callable, Sequence

import google_crc32c
import numpy as np

from bert_common import files
from bert_common.errors import UserError
from data_gen.tokenization.tokenizer import Tokenizer

_BLANK_LINE = re.compile(rb"\n[ \t\r\f\v]*\n")
_STARTS_BLANK = re.compile(rb"[ \t\r\f\v]*\n")
# Portions of a small corpus are small, so that all workers have something to do; those of a large
# one are as large as a worker's memory takes comfortably, because random next segments come from
# the documents of the same portion.
_PORTIONS_AIMED_AT = 64
_SMALLEST_PORTION = 1 << 20
_LARGEST_PORTION = 8 << 20
# The shorter the sequences, the more instances a text makes.
_LARGEST_PORTION_PER_TOKEN = 64 << 10
_BLOCKS_A_PORTION = 16
_BLOCKS_TO_DRAW_FROM = 4


@dataclasses.dataclass(frozen=True)
class Block:
    """Bytes of one file, from a line's start to a line's end; mostly whole documents.

    Attributes:
      number: its place in the corpus.
      start, end: offsets in bytes.
      first_document, last_document: numbers of the documents of its first and last line. A document
        that is too long for a block is continued in the next one, under the same number.
      continues: the first line belongs to the last document of the block before.
      inside_line: it begins inside a line, which was too long for one block.
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


@dataclasses.dataclass
class Documents:
    """Tokens of some documents. Sentences without a token, and documents without a sentence, are
    left out.

    Attributes:
      ids: int32 [T], all tokens.
      sentence_offsets: int64 [sentences + 1], where each sentence starts in `ids`.
      document_offsets: int64 [documents + 1], where each document starts among the sentences.
      document_ids: int64 [documents]; parts of one long document have the same.
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
    """Blocks in the order of the text; bytes of it, and those that a portion should have; number of
    NUL bytes."""

    blocks: list[Block]
    size: int
    portion_size: int
    nul_bytes: int


def plain_file(path: str, target: str) -> str:
    """Returns `path`, or `target` after copying into it what is gzipped or not on a local disk."""
    with (
        files.user_error(f"can't copy {path} to {target}"),
        files.open_unzipped(path) as (raw, source),
    ):
        if source is raw and not files.is_remote(path):
            return path
        with open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
    return target


def portion_bytes(corpus_bytes: int, max_seq_length: int) -> int:
    """Bytes of text that a portion of a corpus of this size should have."""
    largest = min(_LARGEST_PORTION, _LARGEST_PORTION_PER_TOKEN * max_seq_length)
    return min(max(corpus_bytes // _PORTIONS_AIMED_AT, _SMALLEST_PORTION), largest)


def scan(
    paths: Sequence[str],
    names: Sequence[str],
    portion_size: int,
    on_bad_utf8: str = "error",
    advance: Callable[[int], None] = lambda read: None,
) -> Corpus:
    """Passes over plain files and finds the blocks. A file's end is a document's end.

    Args:
      names: what to call the files in errors (the file the user gave, where `paths` has a copy).

    Raises:
      UserError: a file can't be read, or is not UTF-8 (names file, line and byte).
    """
    blocks: list[Block] = []
    size = nul_bytes = 0
    for path, name in zip(paths, names, strict=True):
        line = 1
        ended, inside_line = True, False
        for start, data, ends_document in _cut(
            path, name, max(portion_size // _BLOCKS_A_PORTION, 1)
        ):
            if on_bad_utf8 == "error":
                try:
                    data.decode()
                except UnicodeDecodeError as error:
                    line += data.count(b"\n", 0, error.start)
                    raise UserError(
                        f"{name}:{line}: byte {start + error.start} (0x{data[error.start]:02x}) is not UTF-8: "
                        "convert the file, or give --on_bad_utf8=replace"
                    ) from None
            line += data.count(b"\n")
            nul_bytes += data.count(b"\0")
            advance(len(data))
            size += len(data)
            if not inside_line and _STARTS_BLANK.match(data):
                ended = True
            text = data.rstrip() if inside_line else data.strip()
            if text:
                before = blocks[-1].last_document if blocks else -1
                first = before + ended
                last = first + 1 if _BLANK_LINE.search(text) else first
                blocks.append(
                    Block(
                        len(blocks),
                        path,
                        start,
                        start + len(data),
                        first,
                        last,
                        not ended,
                        inside_line,
                        google_crc32c.value(data),
                    )
                )
                ended = False
            ended = ended or ends_document or bool(_BLANK_LINE.search(data, len(data.rstrip())))
            inside_line = not data.endswith(b"\n")
    return Corpus(blocks, size, portion_size, nul_bytes)


def _cut(path: str, name: str, block_bytes: int):
    """Yields (offset, bytes, whether a document ends there) of the blocks of a file."""
    limit = 2 * block_bytes
    with files.user_error(f"can't read {name}"), open(path, "rb") as file:
        data, start, position = b"", 0, 0
        while True:
            # Enough for a decision that does not depend on how much was read at a time.
            if len(data) - position < limit + 1:
                data, start, position = (
                    data[position:] + file.read(max(8 * limit, 1 << 20)),
                    start + position,
                    0,
                )
            if position == len(data):
                return
            blank = _BLANK_LINE.search(data, position + block_bytes, position + limit)
            ends_document = blank is not None or len(data) - position <= limit
            if ends_document:
                end = blank.end() if blank else len(data)
            else:
                # A document longer than a block is cut at a line's end, a line longer than that at
                # a space or, at last, anywhere.
                end = (
                    data.rfind(b"\n", position, position + limit) + 1
                    or data.rfind(b" ", position, position + limit) + 1
                    or position + limit
                )
                while (
                    data[end - 1] not in b"\n " and end > position + 1 and data[end] & 0xC0 == 0x80
                ):
                    end -= 1
            yield start + position, data[position:end], ends_document
            position = end


def make_portions(corpus: Corpus, rng: np.random.Generator) -> list[list[Block]]:
    """Deals the blocks at random into portions of about `portion_size` bytes, so that each is a
    sample of the whole."""
    count = min(max(round(corpus.size / corpus.portion_size), 1), len(corpus.blocks))
    order = rng.permutation(len(corpus.blocks))
    return [
        [corpus.blocks[index] for index in sorted(part)] for part in np.array_split(order, count)
    ]


def find_other_documents(blocks: Sequence[Block], portion: Sequence[Block]) -> list[Block]:
    """Blocks for a portion to draw random segments from, should all its own text be one document:
    the next few after its first one, and round the end, that hold another document."""
    own, document = {block.number for block in portion}, portion[0].last_document
    following = (blocks[(portion[0].number + step) % len(blocks)] for step in range(1, len(blocks)))
    others = (
        block
        for block in following
        if block.number not in own
        and (block.first_document, block.last_document) != (document, document)
    )
    return list(itertools.islice(others, _BLOCKS_TO_DRAW_FROM))


def load(blocks: Sequence[Block], tokenizer: Tokenizer, on_bad_utf8: str = "error") -> Documents:
    """Reads and tokenizes blocks.

    The counts of the result: documents (a continued one counts where it starts), sentences, tokens,
    unknown_tokens, lines_without_tokens, one_sentence_documents, longest_sentence.

    Raises:
      UserError: a file has changed or gone since it was scanned.
    """
    ids, lengths, paragraphs, documents = (
        [np.empty(0, kind)] for kind in (np.int32, np.int64, np.int64, np.int64)
    )
    continued = lines_without_tokens = 0
    number = -1
    before = None
    for block in blocks:
        with (
            files.user_error(f"can't read {block.path} on {socket.gethostname()}"),
            open(block.path, "rb") as file,
        ):
            file.seek(block.start)
            data = file.read(block.end - block.start)
        if google_crc32c.value(data) != block.checksum:
            raise UserError(
                f"{block.path} has changed while it was read, or is another file on {socket.gethostname()}: "
                "start again"
            )
        # Only "\n" ends a line, as in the original; str.splitlines() would also take U+2028 and
        # others.
        lines = (
            data.decode(errors="strict" if on_bad_utf8 == "error" else "replace")
            .removesuffix("\n")
            .split("\n")
        )
        encoding = tokenizer.encode_batch(lines)
        without = np.flatnonzero(encoding.row_lengths == 0)
        # The rest of a line that was cut is not a blank line.
        blank = without[
            [
                not lines[index].strip() and not (block.inside_line and index == 0)
                for index in without.tolist()
            ]
        ]
        lines_without_tokens += len(without) - len(blank)
        used = encoding.row_lengths > 0
        paragraph = np.searchsorted(blank, np.arange(len(lines)))[used]
        follows = block.continues and before == block.number - 1
        before = block.number
        number += not follows
        continued += bool(block.continues and not follows and len(paragraph) and paragraph[0] == 0)
        # The scan's numbers for the documents that may continue elsewhere, negative ones for those
        # that don't.
        numbers = -1 - number - paragraph
        numbers[paragraph == len(blank)] = block.last_document
        numbers[paragraph == 0] = block.first_document
        ids.append(encoding.ids)
        lengths.append(encoding.row_lengths[used])
        paragraphs.append(number + paragraph)
        documents.append(numbers)
        number += len(blank)
    all_ids, all_lengths, all_paragraphs, all_documents = map(
        np.concatenate, (ids, lengths, paragraphs, documents)
    )
    starts = np.flatnonzero(np.diff(all_paragraphs, prepend=-1))
    sentences = np.diff(starts, append=len(all_paragraphs))
    return Documents(
        ids=all_ids,
        sentence_offsets=np.concatenate([[0], np.cumsum(all_lengths)]),
        document_offsets=np.concatenate([starts, [len(all_paragraphs)]]),
        document_ids=all_documents[starts],
        counts={
            "documents": len(starts) - continued,
            "sentences": len(all_lengths),
            "tokens": len(all_ids),
            "unknown_tokens": int((all_ids == tokenizer.vocabulary.unk_id).sum()),
            "lines_without_tokens": lines_without_tokens,
            "one_sentence_documents": int((sentences == 1).sum()),
            "longest_sentence": int(all_lengths.max(initial=0)),
        },
    )

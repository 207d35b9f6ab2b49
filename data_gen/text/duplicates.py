"""Exact duplicates among the documents and paragraphs of a corpus: counted, and left out on demand.

Input: document parts, in order. Output: the same, or those that did not occur before. A hash of
eight bytes is kept for each document and paragraph, in a table of at most 256 MiB.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from data_gen.text.corpus_readers import ReadingNotes

# Hashes in a bucket of the table, and its first and its greatest number of buckets: 256 MiB for 34
# million documents and paragraphs.
_HASHES_PER_BUCKET = 8
_FIRST_BUCKETS = 1 << 12
_MOST_BUCKETS = 1 << 22


class DocumentPart(NamedTuple):
    """A document, or a part of a long one, for a worker; `document` is its number."""

    document: int
    held_out: bool
    paragraphs: list[str]


class HashTable:
    """Set of 64-bit hashes that doubles its size when needed, up to a limit.

    Beyond the limit, a hash takes the place of an earlier one in a full bucket. So a repetition may
    be overlooked, but nothing new is ever taken for known, except for two texts with the same hash.
    """

    def __init__(self, most_buckets: int = _MOST_BUCKETS):
        self._most_buckets = most_buckets
        self._allocate(min(_FIRST_BUCKETS, most_buckets))

    def _allocate(self, num_buckets: int) -> None:
        # Empty places hold 0.
        self._hashes = np.zeros((num_buckets, _HASHES_PER_BUCKET), np.uint64)
        # Place of the next hash in each bucket.
        self._next = np.zeros(num_buckets, np.uint8)

    def add(self, digest: int) -> bool:
        """Adds a hash; returns whether it was there already."""
        # Zero marks an empty place, so the hash 0 takes the value 1.
        if digest == 0:
            digest = 1
        bucket = digest % len(self._hashes)
        # A list of eight numbers is searched faster than an array of them.
        hashes = self._hashes[bucket].tolist()
        if digest in hashes:
            return True
        # A hash that finds no empty place would replace another one, which is forgotten.
        while 0 not in hashes and len(self._hashes) < self._most_buckets:
            self._grow()
            bucket = digest % len(self._hashes)
            hashes = self._hashes[bucket].tolist()
        place = int(self._next[bucket])
        self._hashes[bucket, place] = digest
        self._next[bucket] = (place + 1) % _HASHES_PER_BUCKET
        return False

    def _grow(self) -> None:
        hashes = self._hashes
        num_buckets = len(hashes)
        self._allocate(2 * num_buckets)
        # The remainder by twice the number of buckets is that by the number, or as much more.
        moves = hashes % np.uint64(2 * num_buckets) >= num_buckets
        for part, is_in_part in (
            (slice(None, num_buckets), ~moves),
            (slice(num_buckets, None), moves),
        ):
            remaining = np.where(is_in_part, hashes, 0)
            # Sorted from the largest, so that the empty places come last.
            self._hashes[part] = np.sort(remaining, axis=1)[:, ::-1]
            self._next[part] = np.count_nonzero(remaining, axis=1) % _HASHES_PER_BUCKET


class Digests(NamedTuple):
    """Hashes of a document part: of all of it, and of each paragraph, None for a blank one."""

    document: int
    paragraphs: list[int | None]


def digests_of(part: DocumentPart) -> Digests:
    """Returns the hashes by which a part is compared, 64 bits each."""
    texts = [paragraph.strip().encode() for paragraph in part.paragraphs]
    paragraphs: list[int | None] = []
    for text in texts:
        # Blank lines are no text that could repeat.
        paragraphs.append(_digest(text, b"paragraph") if text else None)
    return Digests(_digest(b"\n".join(texts), b"document"), paragraphs)


def _digest(text: bytes, kind: bytes) -> int:
    # The kind makes a document of one paragraph differ from that paragraph.
    digest = hashlib.blake2b(text, digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "big")


class Table(Protocol):
    """A set of hashes."""

    def add(self, digest: int) -> bool:
        """Adds a hash; returns whether it was there already."""


class DuplicateFilter:
    """Counts the documents and paragraphs that occurred before, word for word.

    A document of more than a million characters is compared in parts. White space at the ends of
    paragraphs is irrelevant.

    Args:
      remove: leave them out.
      notes: counts them.
    """

    def __init__(self, remove: bool, notes: ReadingNotes, table: Table | None = None):
        self._remove = remove
        self._notes = notes
        notes.removes_duplicates = remove
        self._table: Table = HashTable() if table is None else table

    def apply(self, parts: Iterable[DocumentPart]) -> Iterator[DocumentPart]:
        """Yields the parts, without duplicates if these are left out."""
        for part in parts:
            stays = self.select(digests_of(part))
            if stays is not None:
                yield part._replace(paragraphs=list(itertools.compress(part.paragraphs, stays)))

    def select(self, digests: Digests) -> list[bool] | None:
        """Returns which paragraphs of the next part stay; None if it is left out."""
        if not any(digest is not None for digest in digests.paragraphs):
            return None
        if self._table.add(digests.document):
            self._notes.duplicate_documents += 1
            return None if self._remove else [True] * len(digests.paragraphs)
        stays = []
        for digest in digests.paragraphs:
            is_known = digest is not None and self._table.add(digest)
            self._notes.duplicate_paragraphs += is_known
            stays.append(not (is_known and self._remove))
        return stays

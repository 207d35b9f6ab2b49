"""Exact duplicates among the documents and paragraphs of a corpus: counted, and left out on demand.

Input: document parts, in order. Output: the same, or those that did not occur before. A hash of
eight bytes is kept for each document and paragraph, in a table of bounded size.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from data_gen.text.corpus_readers import ReadingNotes

# Buckets of the table, and hashes in each: 256 MiB for 34 million documents and paragraphs. Pages
# that are never written take no memory, so a small corpus needs little.
_BUCKETS = 1 << 22
_HASHES_PER_BUCKET = 8


class DocumentPart(NamedTuple):
    """A document, or a part of a long one, for a worker; `document` is its number."""

    document: int
    held_out: bool
    paragraphs: list[str]


class HashTable:
    """Set of 64-bit hashes of bounded size: in a full bucket the oldest one is forgotten.

    Nothing new is ever taken for known, but for two texts with the same hash (one of 500 billion
    pairs in a table of 34 million).
    """

    def __init__(self, num_buckets: int = _BUCKETS):
        self._hashes = np.zeros((num_buckets, _HASHES_PER_BUCKET), np.uint64)
        # Number of hashes ever added to each bucket, modulo its size: the next one's place.
        self._next = np.zeros(num_buckets, np.uint8)

    def add(self, digest: int) -> bool:
        """Adds a hash; returns whether it was there already."""
        # Empty places hold 0.
        digest = digest or 1
        bucket = digest % len(self._hashes)
        hashes = self._hashes[bucket]
        if digest in hashes.tolist():
            return True
        place = int(self._next[bucket])
        hashes[place] = digest
        self._next[bucket] = (place + 1) % _HASHES_PER_BUCKET
        return False


class DuplicateFilter:
    """Counts the documents and paragraphs that occurred before, word for word.

    A document of more than a million characters is compared in parts. White space at the ends of
    paragraphs is irrelevant.

    Args:
      remove: leave them out.
      notes: counts them.
    """

    def __init__(self, remove: bool, notes: ReadingNotes, table: HashTable | None = None):
        self._remove = remove
        self._notes = notes
        notes.removes_duplicates = remove
        self._table = table or HashTable()

    def apply(self, parts: Iterable[DocumentPart]) -> Iterator[DocumentPart]:
        """Yields the parts, without duplicates if these are left out."""
        for part in parts:
            texts = [paragraph.strip().encode() for paragraph in part.paragraphs]
            if not any(texts):
                continue
            if self._is_known(b"\n".join(texts), b"document"):
                self._notes.duplicate_documents += 1
                if not self._remove:
                    yield part
                continue
            remaining = []
            for paragraph, text in zip(part.paragraphs, texts, strict=True):
                # Blank lines are no text that could repeat.
                is_known = bool(text) and self._is_known(text, b"paragraph")
                self._notes.duplicate_paragraphs += is_known
                if not (is_known and self._remove):
                    remaining.append(paragraph)
            yield part._replace(paragraphs=remaining)

    def _is_known(self, text: bytes, kind: bytes) -> bool:
        # The kind makes a document of one paragraph differ from that paragraph.
        digest = hashlib.blake2b(text, digest_size=8, person=kind).digest()
        return self._table.add(int.from_bytes(digest, "big"))

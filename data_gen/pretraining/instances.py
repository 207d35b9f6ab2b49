"""Instances: segment pairs for next sentence prediction, or full-length segments.

Input: the tokens of a portion of the corpus (`corpus.Documents`). Output: `SegmentPairs`. Nothing
is copied: an instance is a handful of numbers that point into the tokens, until
`SegmentPairs.input_ids` builds the sequences, some hundred at a time. The rules come from
`create_instances_from_document` and `truncate_seq_pair` of the original (paper, section 3.1 and
appendix A.2).
"""

import dataclasses
import itertools
from bisect import bisect_left

import numpy as np

from data_gen.pretraining.corpus import Documents

# Random numbers are drawn in blocks: one by one they would cost more than all the rest.
_DRAWN_AT_ONCE = 1 << 14


@dataclasses.dataclass
class SegmentPairs:
    """Instances as ranges of the tokens of a portion; all arrays int32 or int64 [B].

    Attributes:
      a_start, a_length: segment A is ids[a_start:a_start + a_length].
      b_start, b_length: segment B; length 0 if there is none.
      random_next: 1 if B does not follow A.
    """

    a_start: np.ndarray
    a_length: np.ndarray
    b_start: np.ndarray
    b_length: np.ndarray
    random_next: np.ndarray

    def __len__(self) -> int:
        return len(self.a_start)

    def take(self, index: np.ndarray | slice) -> "SegmentPairs":
        """Returns the instances with these indices."""
        return SegmentPairs(
            a_start=self.a_start[index],
            a_length=self.a_length[index],
            b_start=self.b_start[index],
            b_length=self.b_length[index],
            random_next=self.random_next[index],
        )

    @classmethod
    def concatenate(cls, parts: list["SegmentPairs"]) -> "SegmentPairs":
        """Returns the instances of all parts."""
        arrays = {}
        for field in dataclasses.fields(cls):
            arrays[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
        return cls(**arrays)

    def length(self) -> np.ndarray:
        """Returns [B], the numbers of real tokens, [CLS] and [SEP] included."""
        return self.a_length + self.b_length + np.where(self.b_length > 0, 3, 2)

    def input_ids(
        self, ids: np.ndarray, max_seq_length: int, cls_id: int, sep_id: int
    ) -> np.ndarray:
        """Returns [CLS] A [SEP] B [SEP], or [CLS] A [SEP], and zeros: [B, S], of the type of `ids`.

        Args:
          ids: integers [T], the tokens of the portion.
          max_seq_length: S.
          cls_id, sep_id: ids of the special tokens.
        """
        rows = np.arange(len(self))
        # Narrow integers make the comparison of a whole batch cheaper in memory.
        column = np.arange(max_seq_length, dtype=np.uint16)
        first_sep = self.a_length + 1
        source = np.where(
            column < first_sep.astype(np.uint16)[:, None],
            (self.a_start - 1)[:, None],
            (self.b_start - first_sep - 1)[:, None],
        )
        # Positions beyond the sequence may point outside of the tokens: "clip" makes them harmless,
        # and the product with the mask zeroes them.
        source += np.arange(max_seq_length)
        out = ids.take(source, mode="clip")
        out *= column < self.length().astype(np.uint16)[:, None]
        out[:, 0] = cls_id
        out[rows, first_sep] = sep_id
        out[rows, self.length() - 1] = sep_id
        return out


def segment_pairs(
    documents: Documents,
    num_own: int,
    max_seq_length: int,
    short_seq_prob: float,
    rng: np.random.Generator,
) -> SegmentPairs:
    """Makes sentence-aligned pairs (A, B) of at most max_seq_length - 3 tokens in one pass.

    Consecutive sentences are taken until they fill the target length. A is a random number of them,
    at least one; B is the rest or, half of the time and whenever there is no rest, sentences from a
    random place of another document, and then the rest is used again. The target is drawn once per
    document: max_seq_length - 3 or, with `short_seq_prob`, anything from 2 to that.

    Args:
      documents: tokens; those from number `num_own` on are only drawn from for random segments.
      num_own: number of documents that instances are made of.
      max_seq_length: S, at least 5.
      short_seq_prob: share of documents (and passes) with a shorter target.

    Returns:
      The instances, in the order of the documents. If all documents are one and the same, random
      segments come from another part of it.
    """
    longest = max_seq_length - 3
    # `iter` with the sentinel None never ends, as no list equals None.
    blocks = iter(lambda: rng.random(_DRAWN_AT_ONCE).tolist(), None)
    draw = itertools.chain.from_iterable(blocks).__next__
    # Python's loop below reads lists several times as fast as single elements of arrays.
    tokens_before = documents.sentence_offsets.tolist()
    offsets = documents.document_offsets.tolist()
    names = documents.document_ids.tolist()
    count = documents.size
    # The search for another document would never end if all are one and the same.
    alone = len(set(names)) < 2
    rows: list[tuple[int, int, int, int, bool]] = []
    for document in range(num_own):
        sentence = offsets[document]
        end = offsets[document + 1]
        if draw() < short_seq_prob:
            target = 2 + int(draw() * (longest - 1))
        else:
            target = longest
        name = names[document]
        while sentence < end:
            start = tokens_before[sentence]
            # At least one sentence is taken, even if it is longer than the target.
            stop = bisect_left(tokens_before, start + target, sentence + 1, end)
            a_end = sentence + 1
            if stop - sentence > 2:
                a_end += int(draw() * (stop - sentence - 1))
            middle = tokens_before[a_end]
            if stop == a_end or draw() < 0.5:
                other = int(draw() * count)
                # Names are compared, not positions: a long document may be in the list in several
                # parts.
                while not alone and names[other] == name:
                    other = int(draw() * count)
                first = offsets[other]
                last = offsets[other + 1]
                begin = first + int(draw() * (last - first))
                b_target = target - (middle - start)
                b_end = bisect_left(tokens_before, tokens_before[begin] + b_target, begin + 1, last)
                rows.append((start, middle, tokens_before[begin], tokens_before[b_end], True))
                # The sentences that B would have had are used again, as in the original.
                sentence = a_end
            else:
                rows.append((start, middle, middle, tokens_before[stop], False))
                sentence = stop
    # The shape is given for the sake of no rows, whose array has a single axis.
    bounds = np.array(rows, np.int64).reshape(-1, 5).T
    return _truncate(bounds, longest, rng)


def _truncate(bounds: np.ndarray, longest: int, rng: np.random.Generator) -> SegmentPairs:
    """Shortens pairs to `longest` tokens.

    Tokens are removed one by one from the longer segment (B if equal), at its front or back.
    """
    a_start, a_end, b_start, b_end, random_next = bounds
    a_length = a_end - a_start
    b_length = b_end - b_start
    excess = np.maximum(a_length + b_length - longest, 0)
    # The longer segment shrinks to the length of the other one, then both shrink in turn.
    to_equal = np.minimum(excess, np.abs(a_length - b_length))
    in_turn = excess - to_equal
    from_a = np.where(a_length > b_length, to_equal, 0) + in_turn // 2
    from_b = excess - from_a
    return SegmentPairs(
        # Each removed token is at the front or the back with equal chance, so the number at the
        # front is binomial.
        a_start=a_start + rng.binomial(from_a, 0.5),
        a_length=a_length - from_a,
        b_start=b_start + rng.binomial(from_b, 0.5),
        b_length=b_length - from_b,
        random_next=random_next,
    )


def full_length_segments(
    documents: Documents,
    num_own: int,
    max_seq_length: int,
    short_seq_prob: float,
    rng: np.random.Generator,
) -> SegmentPairs:
    """Makes single segments of max_seq_length - 2 consecutive tokens in one pass.

    Sentences play no part. The segments of a document cover all of it. Their phase is random, so
    that several passes cut differently; the first and the last overlap their neighbors instead of
    being short. Only a document shorter than the target makes a short segment. The target is drawn
    once per document: max_seq_length - 2 or, with `short_seq_prob`, anything from 2.

    Args and result as for `segment_pairs`; `b_length` and `random_next` are 0.
    """
    longest = max_seq_length - 2
    bounds = documents.sentence_offsets[documents.document_offsets]
    starts = [np.empty(0, np.int64)]
    lengths = [np.empty(0, np.int64)]
    target = np.where(
        rng.random(num_own) < short_seq_prob, rng.integers(2, longest + 1, num_own), longest
    )
    phase = (rng.random(num_own) * target).astype(np.int64)
    for document in range(num_own):
        begin = bounds[document]
        end = bounds[document + 1]
        length = target[document]
        if end - begin <= length:
            start = np.array([begin])
        else:
            start = np.arange(begin + phase[document], end, length)
            # The start is part of every pass; the minimum moves the last segment back to full
            # length.
            start = np.unique(np.concatenate([[begin], np.minimum(start, end - length)]))
        starts.append(start)
        lengths.append(np.full(len(start), min(length, end - begin)))
    a_start = np.concatenate(starts)
    nothing = np.zeros(len(a_start), np.int64)
    return SegmentPairs(a_start, np.concatenate(lengths), nothing, nothing, nothing)

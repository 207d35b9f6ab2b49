"""The work of a process in each half of the job: `make_run` and `make_part`.

    portion of the corpus ─▶ tokens ─▶ segment pairs of all passes ─▶ run, sorted by random key
    bucket out of all runs ─▶ masked ─▶ packed ─▶ serialized records of one part of a shard

Input: the options and one unit of work. Output: files of the work directory, and facts about them.
`generation.py` explains the words and decides what is to be done.
"""

import functools
import gzip
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bert_common import files
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, instances, packing, statistics
from data_gen.pretraining.masking import Draws, Masking, MaskingRatios, mask, predictions_of
from data_gen.pretraining.record_writer import RecordWriter, sequence_features
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary

# Purposes of random generators.
PORTIONS = 0
PAIRS = 1
KEYS = 2
MASKS = 3
PACKS = 4
# Number of tokens of the sequences in work at a time: few enough to stay in the processor's cache.
_TOKENS_AT_ONCE = 1 << 17
# A worker's calls mostly use the same tokenizer and the same writer: the last ones are kept.
load_tokenizer = functools.lru_cache(maxsize=1)(Tokenizer.from_file)
_writer = functools.lru_cache(maxsize=1)(RecordWriter)


def tokenizer_of(options: PretrainingDataOptions) -> Tokenizer:
    """Returns the tokenizer of the options."""
    return load_tokenizer(options.vocab_file, options.do_lower_case, options.strip_accents)


def make_run(
    options: PretrainingDataOptions, work: tuple[int, list[corpus.Block], list[corpus.Block], str]
) -> dict:
    """Tokenizes a portion, makes the instances of all passes over it, and writes them sorted by
    random key.

    Args:
      work: (number of the portion, its blocks, blocks with other documents to draw random segments
        from if the portion is a single document, path of the run without extension).

    Returns:
      Facts: counts (of `corpus.load`), instances, text_bytes, peak_bytes.
    """
    number, blocks, other_blocks, path = work
    tokenizer = tokenizer_of(options)
    documents = corpus.load(blocks, tokenizer, options.on_bad_utf8)
    # Instances are made of the portion's own documents only.
    num_own = documents.size
    counts = documents.counts
    if other_blocks and documents.is_single:
        documents = corpus.load(blocks + other_blocks, tokenizer, options.on_bad_utf8)
    keys, rows = make_instances(options, tokenizer, number, documents, num_own)
    facts = {
        "counts": counts,
        "instances": len(keys),
        "text_bytes": sum(block.end - block.start for block in blocks),
        "peak_bytes": peak_bytes(),
    }
    external_shuffle.write_run(path, keys, rows, facts)
    return facts | {"peak_bytes": peak_bytes()}


def make_instances(
    options: PretrainingDataOptions,
    tokenizer: Tokenizer,
    number: int,
    documents: corpus.Documents,
    num_own: int,
) -> tuple[np.ndarray, Iterator[np.ndarray]]:
    """Makes the instances of all passes over a portion.

    Args:
      number: number of the portion.
      documents: its documents, and after these others to draw random segments from.
      num_own: number of its documents.

    Returns:
      Their random keys, uint64, sorted; their rows in that order, see `_make_rows`.
    """
    if options.next_sentence_prediction:
        make_segments = instances.segment_pairs
    else:
        make_segments = instances.full_length_segments
    passes = []
    for dupe in range(options.passes):
        # A generator per portion and pass makes the result independent of the worker and its
        # history.
        rng = options.generator(PAIRS, number, dupe)
        passes.append(
            make_segments(documents, num_own, options.max_seq_length, options.short_seq_prob, rng)
        )
    pairs = instances.SegmentPairs.concatenate(passes)
    # Sorting by independent random keys is a uniform shuffle; 64 bits make equal keys negligible.
    keys = options.generator(KEYS, number).integers(0, 2**64, len(pairs), dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    return keys[order], _make_rows(pairs, order, documents.ids, options.max_seq_length, tokenizer)


def _make_rows(
    pairs: instances.SegmentPairs,
    order: np.ndarray,
    ids: np.ndarray,
    max_seq_length: int,
    tokenizer: Tokenizer,
) -> Iterator[np.ndarray]:
    """Yields instances as rows of `external_shuffle.row_type`, in the given order, some at a
    time."""
    vocabulary = tokenizer.vocabulary
    dtype = external_shuffle.row_type(max_seq_length, vocabulary.size)
    # The tokens are narrowed once, so that building the sequences moves half of the bytes.
    ids = ids.astype(dtype["input_ids"].base)
    batch = max(_TOKENS_AT_ONCE // max_seq_length, 1)
    for begin in range(0, len(order), batch):
        part = pairs.take(order[begin : begin + batch])
        rows = np.empty(len(part), dtype)
        rows["input_ids"] = part.input_ids(
            ids, max_seq_length, vocabulary.cls_id, vocabulary.sep_id
        )
        rows["a_length"] = part.a_length
        rows["b_length"] = part.b_length
        rows["random_next"] = part.random_next
        yield rows


def make_part(
    options: PretrainingDataOptions,
    runs: list[str],
    bucket_bits: int,
    work: tuple[external_shuffle.ShardPart, str],
) -> dict:
    """Reads a bucket out of all runs; masks, packs and serializes the instances of a part.

    Args:
      runs: paths without extension.
      bucket_bits: binary logarithm of the number of buckets.
      work: (the part, path of its records).

    Returns:
      Facts: counts (of `statistics.count_instances`), bytes, peak_bytes.
    """
    part, path = work
    tokenizer = tokenizer_of(options)
    dtype = external_shuffle.row_type(options.max_seq_length, tokenizer.vocabulary.size)
    rows, order = external_shuffle.read_bucket(runs, part.bucket, bucket_bits, dtype)
    temporary = files.unshared_name(path)
    with external_shuffle.disk_errors(path):
        with open(temporary, "wb") as raw:
            counts = write_part(options, tokenizer, part, rows[order[part.first : part.last]], raw)
            size = raw.tell()
        facts = {"counts": counts, "bytes": size, "peak_bytes": peak_bytes()}
        # The facts come last: a part counts only with them, so a kill in between makes it again.
        os.replace(temporary, path)
        external_shuffle.write_facts(path, facts)
    return facts


def write_part(
    options: PretrainingDataOptions,
    tokenizer: Tokenizer,
    part: external_shuffle.ShardPart,
    rows: np.ndarray,
    raw: Any,
) -> dict[str, int]:
    """Masks, packs and serializes the instances of a part into an open file; returns counts of
    `statistics.count_instances`."""
    masks = options.generator(MASKS, part.shard, part.number)
    packs = options.generator(PACKS, part.shard, part.number)
    counts: dict[str, int] = {}
    file: Any = raw
    if options.is_gzipped:
        # Parts are complete gzip members, and concatenated members are a gzip file.
        file = gzip.GzipFile("", "wb", files.GZIP_LEVEL, raw, mtime=0)
    for data, batch_counts in _serialize(rows, options, tokenizer.vocabulary, masks, packs):
        file.write(data)
        statistics.add(counts, batch_counts)
    if file is not raw:
        file.close()
    return counts


def _serialize(
    rows: np.ndarray,
    options: PretrainingDataOptions,
    vocabulary: Vocabulary,
    masks: np.random.Generator,
    packs: np.random.Generator,
) -> Iterator[tuple[bytes, dict[str, int]]]:
    """Masks instances, packs them if the options say so, and yields their records and counts, some
    at a time."""
    batch = max(_TOKENS_AT_ONCE // options.max_seq_length, 1)
    schema = options.schema
    if not options.packed:
        for begin in range(0, len(rows), batch):
            features, _, counts = _features(rows[begin : begin + batch], options, vocabulary, masks)
            yield _writer(schema, vocabulary.size).encode(features), counts
        return
    packed = _pack(rows, options, packs)
    order = np.lexsort((packed.number, packed.row))  # row by row
    row_of = packed.row[order]
    for first in range(0, packed.rows, batch):
        last = min(first + batch, packed.rows)
        begin, end = np.searchsorted(row_of, (first, last))
        selected = order[begin:end]
        features, length, counts = _features(rows[selected], options, vocabulary, masks)
        part = packing.Packs(
            row=packed.row[selected] - first,
            number=packed.number[selected],
            offset=packed.offset[selected],
            rows=last - first,
        )
        features = packing.put_in_rows(features, length, part, schema)
        counts["rows"] = last - first
        counts["positions"] = (last - first) * options.max_seq_length
        yield _writer(schema, vocabulary.size).encode(features), counts


def _pack(
    rows: np.ndarray, options: PretrainingDataOptions, rng: np.random.Generator
) -> packing.Packs:
    """Chooses which instances share a row."""
    length = _lengths(rows).total
    predictions = predictions_of(length, options.masked_lm_prob, options.max_predictions_per_seq)
    space = packing.space_needed(
        length, predictions, options.max_seq_length, options.max_predictions_per_seq
    )
    max_sequences = options.schema.max_sequences_per_row
    return packing.pack(length, space, options.max_seq_length, max_sequences, rng)


class _Lengths(NamedTuple):
    """Numbers of tokens of instances and of their segments, each int64 [B]."""

    total: np.ndarray
    a: np.ndarray
    b: np.ndarray


def _lengths(rows: np.ndarray) -> _Lengths:
    a_length = rows["a_length"].astype(np.int64)
    b_length = rows["b_length"].astype(np.int64)
    # [CLS], and a [SEP] after each segment.
    num_special = np.where(b_length > 0, 3, 2)
    return _Lengths(a_length + b_length + num_special, a_length, b_length)


def _features(
    rows: np.ndarray,
    options: PretrainingDataOptions,
    vocabulary: Vocabulary,
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, int]]:
    """Returns features of unpacked records, lengths [B] and counts of instances.

    The features are masked, unless training masks them.
    """
    length, a_length, b_length = _lengths(rows)
    # The conversion also copies the field out of the rows, in which it is a view with gaps.
    input_ids = rows["input_ids"].astype(np.int32)
    if options.dynamic_masking:
        masked = None
    else:
        masked = mask(input_ids, length, a_length + 1, _masking(options, vocabulary), Draws(rng))
    features = sequence_features(input_ids, length, a_length + 2, rows["random_next"], masked)
    counts = statistics.count_instances(
        masked, options.max_seq_length, length, a_length, b_length, rows["random_next"]
    )
    return features, length, counts


def _masking(options: PretrainingDataOptions, vocabulary: Vocabulary) -> Masking:
    return Masking(
        options.max_predictions_per_seq,
        options.masked_lm_prob,
        MaskingRatios.parse(options.masking),
        vocabulary.size,
        vocabulary.mask_id,
        vocabulary.is_continuation if options.do_whole_word_mask else None,
    )


def peak_bytes() -> int:
    """Returns the largest resident memory of this process so far; 0 on Windows, where Python does
    not know it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, Linux kibibytes.
    if sys.platform == "darwin":
        return peak
    return peak * 1024

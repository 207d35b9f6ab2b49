"""The work of a process in each half of the job: `make_run` and `make_part`.

    portion of the corpus ─▶ tokens ─▶ segment pairs of all passes ─▶ run, sorted by random key
    first half bucket out of all runs ─▶ masked ─▶ packed ─▶ serialized records of one part of a
    shard           second half

Input: the options and one unit of work. Output: files of the work directory, and facts about them.
The words are explained in `generation.py`, which decides what is to be done.
"""

import functools
import gzip
import os
import sys
from collections.abc import Iterator

import numpy as np

from bert_common import files
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, instances, packing, statistics
from data_gen.pretraining.masking import Draws, Masking, MaskingRatios, mask, predictions_of
from data_gen.pretraining.record_writer import RecordWriter, sequence_features
from data_gen.tokenization.tokenizer import Tokenizer

# What a random generator is for.
PORTIONS, PAIRS, KEYS, MASKS, PACKS = range(5)
GZIP_LEVEL = 6
# Tokens of sequences worked on at a time: few enough to stay in the processor's cache.
_TOKENS_AT_ONCE = 1 << 17
# The tokenizer and the writer of the last call are kept for the next one, if that is the same.
load_tokenizer = functools.lru_cache(maxsize=1)(Tokenizer.from_file)
_writer = functools.lru_cache(maxsize=1)(RecordWriter)


def make_run(
    options: PretrainingDataOptions, work: tuple[int, list[corpus.Block], list[corpus.Block], str]
) -> dict:
    """Tokenizes a portion, makes the instances of all passes over it, and writes them sorted by
    random key.

    Args:
      work: (the portion's place among all, its text, blocks with other documents to draw from if it
        is all one document, path of the run without extension).

    Returns:
      Facts: counts (of `corpus.load`), instances, text_bytes, and `_process_facts`.
    """
    number, blocks, more, path = work
    tokenizer = load_tokenizer(options.vocab_file, options.do_lower_case)
    documents = corpus.load(blocks, tokenizer, options.on_bad_utf8)
    own, counts = documents.size, documents.counts
    if more and len(np.unique(documents.document_ids)) == 1:
        documents = corpus.load(blocks + more, tokenizer, options.on_bad_utf8)
    make = (
        instances.segment_pairs
        if options.next_sentence_prediction
        else instances.full_length_segments
    )
    pairs = instances.SegmentPairs.concatenate(
        [
            make(
                documents,
                own,
                options.max_seq_length,
                options.short_seq_prob,
                options.generator(PAIRS, number, dupe),
            )
            for dupe in range(options.passes)
        ]
    )
    keys = options.generator(KEYS, number).integers(0, 2**64, len(pairs), dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    dtype = external_shuffle.row_type(options.max_seq_length, tokenizer.vocabulary.size)
    batch = max(_TOKENS_AT_ONCE // options.max_seq_length, 1)
    ids = documents.ids.astype(dtype["input_ids"].base)
    rows = (
        _make_rows(pairs.take(order[begin : begin + batch]), ids, dtype, tokenizer)
        for begin in range(0, len(order), batch)
    )
    size = sum(block.end - block.start for block in blocks)
    facts = {"counts": counts, "instances": len(keys), "text_bytes": size, **_process_facts()}
    external_shuffle.write_run(path, keys[order], rows, facts)
    return {**facts, **_process_facts()}


def _make_rows(
    pairs: instances.SegmentPairs, ids: np.ndarray, dtype: np.dtype, tokenizer: Tokenizer
) -> np.ndarray:
    """The instances as they are kept between the halves; `dtype` is that of
    `external_shuffle.row_type`."""
    rows = np.empty(len(pairs), dtype)
    width = dtype["input_ids"].shape[0]
    rows["input_ids"] = pairs.input_ids(
        ids, width, tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id
    )
    rows["a_length"], rows["b_length"], rows["random_next"] = (
        pairs.a_length,
        pairs.b_length,
        pairs.random_next,
    )
    return rows


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
      Facts: counts (of `statistics.count_instances`), bytes, and `_process_facts`.
    """
    part, path = work
    vocab_size = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary.size
    dtype = external_shuffle.row_type(options.max_seq_length, vocab_size)
    rows, order = external_shuffle.read_bucket(runs, part.bucket, bucket_bits, dtype)
    counts: dict[str, int] = {}
    temporary = files.unshared_name(path)
    with external_shuffle.disk_errors(path):
        with open(temporary, "wb") as raw:
            # Parts are complete gzip members, and concatenated members are a gzip file.
            file = (
                gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) if options.gzip_compress else raw
            )
            generators = (
                options.generator(purpose, part.shard, part.number) for purpose in (MASKS, PACKS)
            )
            for data, found in _serialize(
                rows[order[part.first : part.last]], options, *generators
            ):
                file.write(data)
                statistics.add(counts, found)
            if file is not raw:
                file.close()
            size = raw.tell()
        facts = {"counts": counts, "bytes": size, **_process_facts()}
        os.replace(temporary, path)
        external_shuffle.write_facts(path, facts)
    return facts


def _serialize(
    rows: np.ndarray,
    options: PretrainingDataOptions,
    masks: np.random.Generator,
    packs: np.random.Generator,
) -> Iterator[tuple[bytes, dict[str, int]]]:
    """Masks instances, packs them where that is asked for, and yields their records and counts,
    some at a time."""
    batch = max(_TOKENS_AT_ONCE // options.max_seq_length, 1)
    vocab_size = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary.size
    if not options.packed:
        for begin in range(0, len(rows), batch):
            features, _, counts = _features(rows[begin : begin + batch], options, masks)
            yield _writer(options.schema, vocab_size).encode(features), counts
        return
    schema, (length, _, _) = options.schema, _lengths(rows)
    predictions = predictions_of(length, options.masked_lm_prob, options.max_predictions_per_seq)
    placed = packing.pack(
        length,
        packing.space_needed(
            length, predictions, options.max_seq_length, options.max_predictions_per_seq
        ),
        options.max_seq_length,
        schema.max_sequences_per_row,
        packs,
    )
    order = np.lexsort((placed.number, placed.row))  # row by row
    row = placed.row[order]
    for first in range(0, placed.rows, batch):
        last = min(first + batch, placed.rows)
        chosen = order[slice(*np.searchsorted(row, (first, last)))]
        features, length, counts = _features(rows[chosen], options, masks)
        chosen_packs = packing.Packs(
            placed.row[chosen] - first, placed.number[chosen], placed.offset[chosen], last - first
        )
        features = packing.put_in_rows(features, length, chosen_packs, schema)
        counts |= {"rows": last - first, "positions": (last - first) * options.max_seq_length}
        yield _writer(schema, vocab_size).encode(features), counts


def _lengths(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens of instances, of their segments A and of their segments B, each int64 [B]."""
    a_length, b_length = rows["a_length"].astype(np.int64), rows["b_length"].astype(np.int64)
    return a_length + b_length + np.where(b_length > 0, 3, 2), a_length, b_length


def _features(
    rows: np.ndarray, options: PretrainingDataOptions, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, int]]:
    """Features of unpacked records, lengths [B] and counts of instances; masked unless training
    does that."""
    length, a_length, b_length = _lengths(rows)
    input_ids = rows["input_ids"].astype(np.int32)
    masked = None
    if not options.dynamic_masking:
        vocabulary = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary
        masking = Masking(
            options.max_predictions_per_seq,
            options.masked_lm_prob,
            MaskingRatios.parse(options.masking),
            vocabulary.size,
            vocabulary.mask_id,
            vocabulary.is_continuation if options.do_whole_word_mask else None,
        )
        masked = mask(input_ids, length, a_length + 1, masking, Draws(rng))
    features = sequence_features(input_ids, length, a_length + 2, rows["random_next"], masked)
    return (
        features,
        length,
        statistics.count_instances(
            masked, options.max_seq_length, length, a_length, b_length, rows["random_next"]
        ),
    )


def _process_facts() -> dict:
    """The largest resident memory of this process so far, `peak_bytes`, and which one it is,
    `process`.

    The memory is 0 on Windows, where Python does not know it.
    """
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        peak = 0
    return {"peak_bytes": peak if sys.platform == "darwin" else peak * 1024}

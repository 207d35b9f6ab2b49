"""What a worker process does in each half of the job: `make_run` and `make_part`.

    portion of the corpus ─▶ tokens ─▶ segment pairs of all passes ─▶ run, sorted by random key       first half
    bucket out of all runs ─▶ masked ─▶ serialized records of one part of a shard                     second half

Input: the options and one unit of work. Output: files of the work directory, and facts about them. The words are
explained in `generation.py`, which decides what is to be done.
"""

import dataclasses
import functools
import gzip
import os
import resource
import sys

import numpy as np

from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, instances, statistics
from data_gen.pretraining.masking import Masking, MaskingRatios, mask
from data_gen.pretraining.records import RecordWriter
from data_gen.tokenization.tokenizer import Tokenizer

# What a random generator is for.
PORTIONS, PAIRS, KEYS, MASKS = range(4)
GZIP_LEVEL = 6
# Tokens of sequences worked on at a time: few enough to stay in the processor's cache.
_TOKENS_AT_ONCE = 1 << 17


@dataclasses.dataclass(frozen=True)
class Portion:
  """Work of the first half.

  Attributes:
    path: of the run to write, without extension.
    number: its place among the portions.
    blocks: the text.
    more: blocks with other documents, to draw from if the portion is all one document.
    size: bytes of the text.
  """

  path: str
  number: int
  blocks: list[corpus.Block]
  more: list[corpus.Block]
  size: int


def make_run(options: PretrainingDataOptions, portion: Portion) -> dict:
  """Tokenizes a portion, makes the instances of all passes over it, and writes them sorted by random key.

  Returns:
    Facts: counts (of `corpus.load`), instances, text_bytes, peak_bytes (memory of the process).
  """
  tokenizer = load_tokenizer(options.vocab_file, options.do_lower_case)
  documents = corpus.load(portion.blocks, tokenizer, options.on_bad_utf8)
  own, counts = documents.size, documents.counts
  if portion.more and len(np.unique(documents.document_ids)) == 1:
    documents = corpus.load(portion.blocks + portion.more, tokenizer, options.on_bad_utf8)
  pairs = instances.SegmentPairs.concatenate([
      make_pairs(documents, own, options, options.generator(PAIRS, portion.number, dupe))
      for dupe in range(options.dupe_factor)])
  keys = options.generator(KEYS, portion.number).integers(0, 2**64, len(pairs), dtype=np.uint64)
  order = np.argsort(keys, kind="stable")
  dtype = external_shuffle.row_type(options.max_seq_length, tokenizer.vocabulary.size)
  batch = max(_TOKENS_AT_ONCE // options.max_seq_length, 1)
  ids = documents.ids.astype(dtype["input_ids"].base)
  rows = (make_rows(pairs.take(order[begin:begin + batch]), ids, dtype, tokenizer)
          for begin in range(0, len(order), batch))
  facts = {"counts": counts, "instances": len(keys), "text_bytes": portion.size, "peak_bytes": _peak_bytes()}
  external_shuffle.write_run(portion.path, keys[order], rows, facts)
  return {**facts, "peak_bytes": _peak_bytes()}


def make_pairs(documents: corpus.Documents, own: int, options: PretrainingDataOptions,
               rng: np.random.Generator) -> instances.SegmentPairs:
  """The instances of one pass; see `instances.py`."""
  make = instances.segment_pairs if options.next_sentence_prediction else instances.full_length_segments
  return make(documents, own, options.max_seq_length, options.short_seq_prob, rng)


def make_rows(pairs: instances.SegmentPairs, ids: np.ndarray, dtype: np.dtype, tokenizer: Tokenizer) -> np.ndarray:
  """The instances as they are kept between the halves; `dtype` is that of `external_shuffle.row_type`."""
  rows = np.empty(len(pairs), dtype)
  width = dtype["input_ids"].shape[0]
  rows["input_ids"] = pairs.input_ids(ids, width, tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id)
  rows["a_length"], rows["b_length"], rows["random_next"] = pairs.a_length, pairs.b_length, pairs.random_next
  return rows


def make_part(options: PretrainingDataOptions, runs: list[str], bucket_bits: int,
              work: tuple[external_shuffle.ShardPart, str]) -> dict:
  """Reads a bucket out of all runs, masks and serializes the instances of a part.

  Args:
    options: of the job.
    runs: paths without extension.
    bucket_bits: binary logarithm of the number of buckets.
    work: (the part, path of its records).

  Returns:
    Facts: counts (of `statistics.count_instances`), bytes, peak_bytes (memory of the process).

  Raises:
    UserError: the disk is full.
  """
  part, path = work
  vocab_size = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary.size
  dtype = external_shuffle.row_type(options.max_seq_length, vocab_size)
  rows, order = external_shuffle.read_bucket(runs, part.bucket, bucket_bits, dtype)
  rng = options.generator(MASKS, part.shard, part.number)
  batch = max(_TOKENS_AT_ONCE // options.max_seq_length, 1)
  counts: dict[str, int] = {}
  try:
    with open(f"{path}.tmp", "wb") as raw:
      # Parts are complete gzip members, and concatenated members are a gzip file.
      file = gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) if options.gzip_compress else raw
      for begin in range(part.first, part.last, batch):
        data, found = serialize(rows[order[begin:min(begin + batch, part.last)]], options, rng)
        file.write(data)
        statistics.add(counts, found)
      if file is not raw:
        file.close()
      size = raw.tell()
    facts = {"counts": counts, "bytes": size, "peak_bytes": _peak_bytes()}
    os.replace(f"{path}.tmp", path)
    external_shuffle.write_facts(path, facts)
  except OSError as error:
    raise external_shuffle.disk_error(path, error) from None
  return facts


def serialize(rows: np.ndarray, options: PretrainingDataOptions, rng: np.random.Generator
              ) -> tuple[bytes, dict[str, int]]:
  """Masks instances; returns their records and counts."""
  a_length, b_length = rows["a_length"].astype(np.int64), rows["b_length"].astype(np.int64)
  length = a_length + b_length + np.where(b_length > 0, 3, 2)
  vocabulary = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary
  is_continuation = None
  if options.do_whole_word_mask:
    is_continuation = _continuations(options.vocab_file, options.do_lower_case)
  masking = Masking(options.max_predictions_per_seq, options.masked_lm_prob, MaskingRatios.parse(options.masking),
                    vocabulary.size, vocabulary.mask_id, is_continuation)
  masked = mask(rows["input_ids"].astype(np.int32), length, a_length + 1, masking, rng)
  writer = _writer(options.max_seq_length, options.max_predictions_per_seq, vocabulary.size)
  data = writer.encode(masked.input_ids, length, a_length + 2, masked.positions, masked.labels, masked.count,
                       rows["random_next"])
  return data, statistics.count_instances(masked, length, a_length, b_length, rows["random_next"])


# What a worker makes once and keeps.


@functools.lru_cache(maxsize=1)
def load_tokenizer(vocab_file: str, do_lower_case: bool) -> Tokenizer:
  """Reads the vocabulary, or returns the tokenizer of the last call if that was the same."""
  return Tokenizer.from_file(vocab_file, do_lower_case)


@functools.lru_cache(maxsize=1)
def _writer(max_seq_length: int, max_predictions_per_seq: int, vocab_size: int) -> RecordWriter:
  return RecordWriter(max_seq_length, max_predictions_per_seq, vocab_size)


@functools.lru_cache(maxsize=1)
def _continuations(vocab_file: str, do_lower_case: bool) -> np.ndarray:
  """bool [vocab_size], the tokens that start with "##"."""
  return np.array([token.startswith("##") for token in load_tokenizer(vocab_file, do_lower_case).vocabulary.tokens])


def _peak_bytes() -> int:
  """Largest resident memory of this process so far."""
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024

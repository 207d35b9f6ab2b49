"""The whole job: corpus → pre-training records, on all cores, in bounded memory, resumable at any moment.

    scan ─▶ blocks ─▶ chunks ─(each in a worker: tokenize, make pairs, sort)─▶ runs      first half
    runs ─(each bucket in a worker: read, mask, serialize)─▶ pieces ─▶ shards            second half

Everything is made in a work directory beside the first output, `.NAME.partial`. A file there has its final name only
when it is complete, and the shards move out when all of them are. Every random choice comes from a generator of its
own, keyed by the seed and by what it is for, so that neither the workers nor interruptions can change a byte.

This file knows the order of things; the things are in `corpus.py`, `instances.py`, `external_shuffle.py`,
`masking.py`, `records.py` and `statistics.py`.
"""

import dataclasses
import functools
import gzip
import hashlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence

import numpy as np

from common import files, parallel
from common.errors import UserError
from common.progress import Progress
from data_gen.pretraining import corpus, external_shuffle, instances, statistics
from data_gen.pretraining.masking import Masking, MaskingRatios, mask
from data_gen.pretraining.records import RecordWriter
from data_gen.pretraining.settings import Settings
from data_gen.pretraining.work_directory import WorkDirectory
from data_gen.tokenization.tokenizer import Tokenizer

# Tokens of sequences worked on at a time: few enough to stay in the processor's cache.
_TOKENS_AT_ONCE = 1 << 17
# Bytes of text that the projection of the output size looks at.
_SAMPLE_BYTES = 1 << 19
_GZIP_LEVEL = 6
# What a random generator is for.
_CHUNKS, _PAIRS, _KEYS, _MASKS = range(4)


@dataclasses.dataclass(frozen=True)
class Projection:
  """What a sample of the corpus says about the output.

  Attributes:
    instances: number of instances.
    output_bytes: size of all shards.
    temporary_bytes: what the work directory holds besides the shards.
    share_unknown: share of [UNK] among the tokens.
  """

  instances: int
  output_bytes: int
  temporary_bytes: int
  share_unknown: float


def generate(input_files: Sequence[str], output_files: Sequence[str], stats_file: str, settings: Settings,
             num_workers: int, resume: bool = False) -> dict:
  """Writes the records and their statistics.

  Args:
    input_files: one sentence a line, a blank line between documents; gzip is seen by content.
    output_files: the shards; instances are dealt evenly.
    stats_file: JSON of what is returned.
    settings: see there; checked by the caller.
    num_workers: processes; does not change the output.
    resume: go on with what an interrupted call with the same arguments left.

  Returns:
    The settings, counts, shares, warnings and shards.

  Raises:
    UserError: the input or the disk is at fault, or there is nothing to resume or something in the way.
  """
  identity = _identity(input_files, output_files, settings)
  if resume and (finished := _read_finished(output_files, stats_file, identity)):
    return finished
  started = time.monotonic()
  tokenizer = load_tokenizer(settings.vocab_file, settings.do_lower_case)
  with WorkDirectory(output_files[0], identity, resume) as work:
    text = _scan(input_files, work, settings)
    projection = project(text, settings, tokenizer)
    _announce(text, projection, len(output_files))
    work.check_room(projection.output_bytes + projection.temporary_bytes)
    chunks = corpus.make_chunks(text, settings.generator(_CHUNKS))
    counts = {"nul_bytes": text.nul_bytes}
    peaks = []
    for facts in _make_runs(work, settings, text, chunks, num_workers):
      statistics.add(counts, facts["counts"])
      peaks.append(facts["peak_bytes"])
    if not counts.get("tokens"):
      work.discard()
      raise UserError(f"--input_file: no text in {_name_some(input_files)}")
    runs = [work.run_path(number) for number in range(len(chunks))]
    plan = _plan(runs, len(output_files))
    if work.resumed:
      work.check_shards(plan.shards, output_files)
    for facts in _make_pieces(work, settings, runs, plan, num_workers):
      statistics.add(counts, facts["counts"])
      peaks.append(facts["peak_bytes"])
    files_of_shards = [{"file": os.path.basename(path), "instances": sum(piece.last - piece.first for piece in pieces)}
                       for path, pieces in zip(output_files, plan.shards, strict=True)]
    result = _describe(identity, settings, tokenizer, counts, files_of_shards)
    result["run"] = {"seconds": round(time.monotonic() - started, 2), "num_workers": num_workers, "resumed": resume,
                     "text_bytes": text.size, "peak_mib_per_worker": round(max(peaks) / 2**20)}
    work.publish(output_files, stats_file, result)
  return result


# ------------------------------------------------------------------------------------------------ before the work


def _identity(input_files: Sequence[str], output_files: Sequence[str], settings: Settings) -> dict:
  """What must be the same for `resume`."""
  inputs = [[os.path.abspath(path), os.path.getsize(path), os.stat(path).st_mtime_ns] for path in input_files]
  return {**dataclasses.asdict(settings), "vocab_file": os.path.abspath(settings.vocab_file),
          "vocab_sha256": _sha256(settings.vocab_file), "input_file": inputs,
          "output_file": [os.path.abspath(path) for path in output_files]}


def _read_finished(output_files: Sequence[str], stats_file: str, identity: dict) -> dict | None:
  """The result of an earlier call with these arguments that came to its end, or None."""
  if not all(map(os.path.exists, [stats_file, *output_files])):
    return None
  found = files.read_json(stats_file)
  same = all(found.get(name) == value for name, value in json.loads(json.dumps(identity)).items())
  return found if same else None


def _scan(input_files: Sequence[str], work: WorkDirectory, settings: Settings) -> corpus.Corpus:
  paths = [corpus.unzip(path, work.unzipped_path(number)) for number, path in enumerate(input_files)]
  for path, name in zip(paths, input_files, strict=True):
    if not os.path.getsize(path):
      print(f"note: {name} is empty", file=sys.stderr)
  size = sum(os.path.getsize(path) for path in paths)
  with Progress("scanning", total=size, unit="B") as progress:
    text = corpus.scan(paths, input_files, corpus.chunk_bytes(size, settings.max_seq_length), settings.on_bad_utf8,
                       progress.advance)
  if not text.blocks:
    raise UserError(f"--input_file: no text in {_name_some(input_files)}")
  return text


def project(text: corpus.Corpus, settings: Settings, tokenizer: Tokenizer) -> Projection:
  """Estimates the output from blocks taken evenly from the whole corpus."""
  block_bytes = text.size / len(text.blocks)
  wanted = min(max(int(_SAMPLE_BYTES / block_bytes), 1), len(text.blocks))
  sample = [text.blocks[int(index)] for index in np.linspace(0, len(text.blocks) - 1, wanted)]
  documents = corpus.load(sample, tokenizer, settings.on_bad_utf8)
  spans = _spans(documents, documents.size, settings, settings.generator(_PAIRS))
  factor = settings.dupe_factor * text.size / max(sum(block.end - block.start for block in sample), 1)
  dtype = external_shuffle.row_type(settings.max_seq_length, tokenizer.vocabulary.size)
  few = _rows(spans.take(slice(0, 500)), documents.ids, dtype, tokenizer)
  data, _ = _serialize(few, settings, settings.generator(_MASKS))
  if settings.gzip_compress:
    data = gzip.compress(data, _GZIP_LEVEL, mtime=0)
  count = int(len(spans) * factor)
  return Projection(
      instances=count, output_bytes=int(count * len(data) / max(len(few), 1)), temporary_bytes=count * dtype.itemsize,
      share_unknown=documents.counts["unknown_tokens"] / max(documents.counts["tokens"], 1))


def _announce(text: corpus.Corpus, projection: Projection, shards: int) -> None:
  print(f"{text.size / 1e6:,.1f} MB of text → about {projection.instances:,} instances, "
        f"{projection.output_bytes / 1e6:,.1f} MB in {shards} file{'s' if shards > 1 else ''} "
        f"(and {projection.temporary_bytes / 1e6:,.1f} MB while it runs)", file=sys.stderr)
  if projection.share_unknown > 0.05:
    print(f"warning: {projection.share_unknown:.0%} of a sample's tokens are [UNK]: is this the right --vocab_file, "
          "and --do_lower_case?", file=sys.stderr)


# ---------------------------------------------------------------------------------------------------- first half


@dataclasses.dataclass(frozen=True)
class _Chunk:
  """Work for `_make_run`; `more` are blocks with other documents, to draw from if the chunk is all one document."""

  path: str
  number: int
  blocks: list[corpus.Block]
  more: list[corpus.Block]
  size: int


def _make_runs(work: WorkDirectory, settings: Settings, text: corpus.Corpus, chunks: list[list[corpus.Block]],
               num_workers: int) -> Iterator[dict]:
  """Yields the facts of all runs, after making those that are not there."""
  missing = []
  with Progress("instances", total=text.size, unit="B") as progress:
    done = 0
    for number, blocks in enumerate(chunks):
      path, size = work.run_path(number), sum(block.end - block.start for block in blocks)
      facts = external_shuffle.read_complete_run(path) if work.resumed else None
      if facts is None:
        more = corpus.find_other_documents(text.blocks, blocks)
        missing.append(_Chunk(path, number, blocks, more, size))
      else:
        done += facts["instances"]
        progress.advance(size, instances=f"{done:,}")
        yield facts
    for facts in parallel.ordered_map(functools.partial(_make_run, settings), missing, num_workers):
      done += facts["instances"]
      progress.advance(facts["text_bytes"], instances=f"{done:,}")
      yield facts


def _make_run(settings: Settings, chunk: _Chunk) -> dict:
  """In a worker: tokenizes a chunk, makes the instances of all passes over it, and writes them sorted by random key."""
  tokenizer = load_tokenizer(settings.vocab_file, settings.do_lower_case)
  documents = corpus.load(chunk.blocks, tokenizer, settings.on_bad_utf8)
  own, counts = documents.size, documents.counts
  if chunk.more and len(np.unique(documents.document_ids)) == 1:
    documents = corpus.load(chunk.blocks + chunk.more, tokenizer, settings.on_bad_utf8)
  spans = instances.Spans.concatenate([
      _spans(documents, own, settings, settings.generator(_PAIRS, chunk.number, dupe))
      for dupe in range(settings.dupe_factor)])
  keys = settings.generator(_KEYS, chunk.number).integers(0, 2**64, len(spans), dtype=np.uint64)
  order = np.argsort(keys, kind="stable")
  dtype = external_shuffle.row_type(settings.max_seq_length, tokenizer.vocabulary.size)
  batch = max(_TOKENS_AT_ONCE // settings.max_seq_length, 1)
  ids = documents.ids.astype(dtype["input_ids"].base)
  rows = (_rows(spans.take(order[begin:begin + batch]), ids, dtype, tokenizer)
          for begin in range(0, len(order), batch))
  facts = {"counts": counts, "instances": len(keys), "text_bytes": chunk.size, "peak_bytes": _peak_bytes()}
  external_shuffle.write_run(chunk.path, keys[order], rows, facts)
  return {**facts, "peak_bytes": _peak_bytes()}


def _spans(documents: corpus.Documents, own: int, settings: Settings, rng: np.random.Generator) -> instances.Spans:
  make = instances.segment_pairs if settings.next_sentence_prediction else instances.full_length_segments
  return make(documents, own, settings.max_seq_length, settings.short_seq_prob, rng)


def _rows(spans: instances.Spans, ids: np.ndarray, dtype: np.dtype, tokenizer: Tokenizer) -> np.ndarray:
  """The instances as they are kept between the halves."""
  rows = np.empty(len(spans), dtype)
  width = dtype["input_ids"].shape[0]
  rows["input_ids"] = spans.input_ids(ids, width, tokenizer.vocabulary.cls_id, tokenizer.vocabulary.sep_id)
  rows["a_length"], rows["b_length"], rows["random_next"] = spans.a_length, spans.b_length, spans.random_next
  return rows


# --------------------------------------------------------------------------------------------------- second half


@dataclasses.dataclass(frozen=True)
class _Plan:
  """How the sorted instances become shards."""

  bucket_bits: int
  shards: list[list[external_shuffle.Piece]]


def _plan(runs: Sequence[str], shards: int) -> _Plan:
  bits = external_shuffle.choose_bucket_bits(sum(os.path.getsize(f"{run}.rows") for run in runs))
  return _Plan(bits, external_shuffle.plan_pieces(external_shuffle.count_buckets(runs, bits), shards))


def _make_pieces(work: WorkDirectory, settings: Settings, runs: Sequence[str], plan: _Plan,
                 num_workers: int) -> Iterator[dict]:
  """Yields the facts of all pieces, in order, after making those that are not there and adding them to the shards."""
  pieces = [piece for shard in plan.shards for piece in shard]
  total = sum(piece.last - piece.first for piece in pieces)
  with Progress("records", total=total, unit=" records") as progress:
    done = {piece: facts for piece in pieces if work.resumed and (facts := work.read_piece(piece))}
    make = functools.partial(_make_piece, settings, list(runs), plan.bucket_bits)
    missing = ((piece, work.piece_path(piece)) for piece in pieces if piece not in done)
    made = parallel.ordered_map(make, missing, num_workers)
    for piece in pieces:
      facts = done.get(piece) or next(made)
      work.append_piece(piece, facts)
      progress.advance(piece.last - piece.first)
      yield facts


def _make_piece(settings: Settings, runs: list[str], bucket_bits: int,
                work: tuple[external_shuffle.Piece, str]) -> dict:
  """In a worker: reads a bucket out of all runs, masks and serializes the instances of the piece."""
  piece, path = work
  tokenizer = load_tokenizer(settings.vocab_file, settings.do_lower_case)
  dtype = external_shuffle.row_type(settings.max_seq_length, tokenizer.vocabulary.size)
  rows, order = external_shuffle.read_bucket(runs, piece.bucket, bucket_bits, dtype)
  rng = settings.generator(_MASKS, piece.shard, piece.number)
  batch = max(_TOKENS_AT_ONCE // settings.max_seq_length, 1)
  counts: dict[str, int] = {}
  try:
    with open(f"{path}.tmp", "wb") as raw:
      # Pieces are complete gzip members, and members one behind the other are a gzip file.
      file = gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) if settings.gzip_compress else raw
      for begin in range(piece.first, piece.last, batch):
        data, part = _serialize(rows[order[begin:min(begin + batch, piece.last)]], settings, rng)
        file.write(data)
        statistics.add(counts, part)
      if file is not raw:
        file.close()
      size = raw.tell()
    facts = {"counts": counts, "bytes": size, "peak_bytes": _peak_bytes()}
    os.replace(f"{path}.tmp", path)
    external_shuffle.write_facts(path, facts)
  except OSError as error:
    raise external_shuffle.disk_error(path, error) from None
  return facts


def _serialize(rows: np.ndarray, settings: Settings, rng: np.random.Generator) -> tuple[bytes, dict[str, int]]:
  """Masks instances; returns their records and counts."""
  a_length, b_length = rows["a_length"].astype(np.int64), rows["b_length"].astype(np.int64)
  length = a_length + b_length + np.where(b_length > 0, 3, 2)
  masked = mask(rows["input_ids"].astype(np.int32), length, a_length + 1, _masking(settings), rng)
  writer = _writer(settings.max_seq_length, settings.max_predictions_per_seq, _vocab_size(settings))
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
def _masking(settings: Settings) -> Masking:
  vocabulary = load_tokenizer(settings.vocab_file, settings.do_lower_case).vocabulary
  words = np.array([token.startswith("##") for token in vocabulary.tokens]) if settings.do_whole_word_mask else None
  return Masking(settings.max_predictions_per_seq, settings.masked_lm_prob, MaskingRatios.parse(settings.masking),
                 vocabulary.size, vocabulary.mask_id, words)


def _vocab_size(settings: Settings) -> int:
  return load_tokenizer(settings.vocab_file, settings.do_lower_case).vocabulary.size


def _peak_bytes() -> int:
  """Largest resident memory of this process so far."""
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024


# ------------------------------------------------------------------------------------------------- after the work


def _describe(identity: dict, settings: Settings, tokenizer: Tokenizer, counts: dict[str, int],
              shards: list[dict]) -> dict:
  """What the statistics file holds."""
  return {
      **identity,
      "vocab_size": tokenizer.vocabulary.size,
      "instances": counts["instances"],
      "shards": shards,
      "counts": counts,
      "statistics": statistics.summarize(counts),
      "warnings": statistics.find_warnings(counts, settings.max_seq_length, settings.next_sentence_prediction,
                                            len(shards)),
  }


def _sha256(path: str) -> str:
  with open(path, "rb") as file:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _name_some(paths: Sequence[str]) -> str:
  return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"

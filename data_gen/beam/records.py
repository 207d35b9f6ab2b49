"""A corpus → records, for `create_pretraining_data.py --beam_pipeline_options`.

    input files ─▶ sizes ─▶ blocks, counted ─▶ blocks, read ─(by portion)─▶ instances
    instances ─(by bucket)─▶ records of the parts ─(by shard)─▶ shards ─▶ statistics

The words are those of data_gen/pretraining/generation.py, and so is the result, to the byte. There,
a process knows all blocks and all runs. Here, three numbers that depend on the whole are sent to
all who need them: the size of the text, from which follows where blocks are cut; the number of
blocks and documents before each file, from which follows the portion of a block; the number of
instances, from which follows the bucket of each. A worker holds one portion, or one bucket.
"""

import contextlib
import functools
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.beam import pipelines
from data_gen.beam.pipelines import ALL, RESULT, Flow, Job
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, generation, statistics, workers
from data_gen.pretraining.external_shuffle import ShardPart
from data_gen.tokenization.settings import AddedToken
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import Vocabulary

# Names of what is kept for all steps.
_VOCABULARY = "vocabulary"
_PLACES = "places"
# Groups in which counts are added up before they are brought together.
_SUMS = 64
_COPY_BYTES = 1 << 20


class FileFacts(NamedTuple):
    """An input file: its number among the files, and numbers of what is in it.

    Attributes:
      checksums: sum of the blocks' checksums.
    """

    number: int
    blocks: int
    documents: int
    nul_bytes: int
    bytes: int
    checksums: int


class Place(NamedTuple):
    """Place of a file in the corpus.

    Attributes:
      before: sums over the files before it.
      file: the file.
      total: sums over all files.
    """

    before: FileFacts
    file: FileFacts
    total: FileFacts


class PlacedBlock(NamedTuple):
    """A block, and its bytes, on the way to a portion."""

    block: corpus.Block
    data: bytes


class Rows(NamedTuple):
    """Instances in the order of their random keys: those of a portion, or of a bucket in it.

    Attributes:
      portion, number: of these rows in the portion.
      keys: uint64, as bytes.
      rows: of `external_shuffle.row_type`, as bytes.
    """

    portion: int
    number: int
    keys: bytes
    rows: bytes


class Facts(NamedTuple):
    """Counts of `statistics`, of portions or parts, and of the processes that made them.

    Attributes:
      peak_bytes: greatest memory of a process.
      processes: names of the processes.
    """

    counts: dict[str, int]
    peak_bytes: int
    processes: frozenset[str]


class PortionFacts(NamedTuple):
    """A portion."""

    instances: int
    facts: Facts


class Part(NamedTuple):
    """The records of a part, in a file of the work directory; `number` is that in its shard."""

    number: int
    path: str
    bytes: int
    facts: Facts


class ShardFacts(NamedTuple):
    """A shard in the work directory; `instances` are those of the plan."""

    shard: int
    path: str
    bytes: int
    instances: int
    facts: Facts


def generate(options: PretrainingDataOptions) -> dict:
    """Writes the records and their statistics, as `generation.generate` without an engine.

    Returns the content of the statistics file. Raises `UserError` as it does, and
    `pipelines.run`.
    """
    input_files, output_files, stats_file = generation.check_files(options)
    job = pipelines.new_job(
        options,
        input_files,
        output_files[0],
        names=input_files,
        identity=generation.identity_of(options, input_files, output_files),
        output_files=[files.absolute(path) for path in output_files],
        stats_file=files.absolute(stats_file),
    )
    vocabulary = workers.tokenizer_of(options).vocabulary
    settings = (vocabulary.strip_accents, vocabulary.added_tokens, options.do_lower_case)
    job.keep(_VOCABULARY, [vocabulary.tokens, *settings])
    return pipelines.run(job, _build)


def _tokenizer(job: Job) -> Tokenizer:
    return job.recall(_VOCABULARY, _make_tokenizer)


def _make_tokenizer(kept: list) -> Tokenizer:
    tokens, strip_accents, added_tokens, do_lower_case = kept
    added = [AddedToken(*token) for token in added_tokens]
    return Tokenizer(Vocabulary(tokens, None, strip_accents, added), do_lower_case)


def _places(job: Job) -> list[Place]:
    return job.recall(_PLACES, _make_places)


def _make_places(kept: list) -> list[Place]:
    places = []
    for before, file, total in kept:
        places.append(Place(FileFacts(*before), FileFacts(*file), FileFacts(*total)))
    return places


def _build(input_files: Flow) -> None:
    sizes = input_files.through(measure).grouped("sizes")
    scanned = sizes.through(tell_size).grouped("files to scan").through(scan).grouped("scanned")
    blocks = scanned.through(place_files).grouped("files to read").through(read)
    instances = blocks.grouped("portions").through(make)
    plan_of_buckets = instances.only("facts").grouped("all facts").through(tell_bits)
    split = (
        instances.only("rows")
        .grouped("rows of portions", plan_of_buckets.only("bits"))
        .through(split_rows)
    )
    counted = split.only("counts").grouped("counts of buckets").through(add_counts)
    planned = counted.grouped("all counts").through(plan)
    pieces = split.only("rows", "split ").grouped("buckets", planned.only("parts"))
    parts = pieces.through(write_parts).grouped("parts of shards", planned.only("shards"))
    shards = parts.through(write_shard)
    shards.grouped("shards", plan_of_buckets.only("prepared")).through(publish)


def measure(job: Job, file: tuple[int, str]) -> Iterator[tuple]:
    """(number, path) → (all, bytes of the text)."""
    _, path = file
    if not path:
        return
    with files.user_error(f"can't read {path}"), files.open_unzipped(path) as (raw, text):
        size = files.file_size(path)
        if text is not raw:
            size = 0
            for data in iter(functools.partial(text.read, _COPY_BYTES), b""):
                size += len(data)
    yield ALL, size


def tell_size(job: Job, sizes: tuple[int, Iterable[int]]) -> Iterator[tuple]:
    """(all, sizes) → (number of a file, size of all) for each file."""
    total = sum(sizes[1])
    for number in range(len(job.input_files)):
        yield number, total


def _scan(job: Job, number: int, size: int) -> Iterator[tuple[corpus.Block | None, bytes]]:
    """Yields blocks and bytes as `corpus.scan_file`, of a file of a corpus of so many bytes."""
    options = job.options
    path = job.input_files[number]
    name = job.facts["names"][number]
    portion_size = corpus.portion_bytes(size, options.max_seq_length)
    with files.user_error(f"can't read {name}"), files.open_unzipped(path) as (_, file):
        yield from corpus.scan_file(file, path, name, portion_size, options.on_bad_utf8)


def scan(job: Job, file: tuple[int, Iterable[int]]) -> Iterator[tuple]:
    """(number of a file, [size of all]) → (all, facts of the file)."""
    number, (size,) = file
    nul_bytes = 0
    num_bytes = 0
    checksums = 0
    last = None
    for block, data in _scan(job, number, size):
        nul_bytes += data.count(b"\0")
        num_bytes += len(data)
        if block is not None:
            checksums += block.checksum
            last = block
    blocks = 0 if last is None else last.number + 1
    documents = 0 if last is None else last.last_document + 1
    yield ALL, FileFacts(number, blocks, documents, nul_bytes, num_bytes, checksums)


def place_files(job: Job, scanned: tuple[int, Iterable[FileFacts]]) -> Iterator[tuple]:
    """(all, facts of files) → (number of a file, its place)."""
    table = sorted(scanned[1])
    total = functools.reduce(_sum, table)
    if not total.blocks:
        raise generation.no_text(job.facts["names"])
    before = FileFacts(-1, 0, 0, 0, 0, 0)
    places = []
    for file in table:
        places.append(Place(before, file, total))
        before = _sum(before, file)
    job.keep(_PLACES, places)
    for place in places:
        yield place.file.number, place


def _sum(a: FileFacts, b: FileFacts) -> FileFacts:
    return FileFacts(
        -1,
        a.blocks + b.blocks,
        a.documents + b.documents,
        a.nul_bytes + b.nul_bytes,
        a.bytes + b.bytes,
        a.checksums + b.checksums,
    )


def _placed_blocks(job: Job, place: Place) -> Iterator[tuple[corpus.Block, bytes]]:
    """Yields the blocks of a file, as they are numbered in the corpus, and their bytes.

    Raises:
      UserError: the file is not what was scanned.
    """
    checksums = 0
    for block, data in _scan(job, place.file.number, place.total.bytes):
        if block is not None:
            yield block.after(place.before.blocks, place.before.documents), data
            checksums += block.checksum
    if checksums != place.file.checksums:
        path = job.input_files[place.file.number]
        raise UserError(f"{path} was changed while it was read: start again")


def read(job: Job, file: tuple[int, Iterable[Place]]) -> Iterator[tuple]:
    """(number of a file, [its place]) → (portion, block)."""
    _, (place,) = file
    portion_of = _portions_of_blocks(job.options, place.total.blocks, place.total.bytes)
    for block, data in _placed_blocks(job, place):
        yield int(portion_of[block.number]), PlacedBlock(block, data)


def _portions_of_blocks(options: PretrainingDataOptions, blocks: int, size: int) -> np.ndarray:
    """Returns the portion of each block, int64."""
    portion_of = np.empty(blocks, np.int64)
    portion_size = corpus.portion_bytes(size, options.max_seq_length)
    dealt = corpus.deal(blocks, size, portion_size, options.generator(workers.PORTIONS))
    for portion, numbers in enumerate(dealt):
        portion_of[numbers] = portion
    return portion_of


def make(job: Job, group: tuple[int, Iterable[PlacedBlock]]) -> Iterator[tuple]:
    """(portion, blocks) → (portion, rows); facts of the portion."""
    portion, values = group
    placed = sorted(values, key=_number)
    documents = _load(job, placed)
    # Instances are made of the portion's own documents only.
    num_own = documents.size
    counts = documents.counts
    if documents.is_single:
        documents = _load(job, [*placed, *_others(job, [value.block for value in placed])])
    keys, batches = workers.make_instances(
        job.options, _tokenizer(job), portion, documents, num_own
    )
    end = 0
    for number, rows in enumerate(batches):
        begin = end
        end += len(rows)
        chunk = Rows(portion, number, keys[begin:end].tobytes(), rows.tobytes())
        yield "rows", (portion, chunk)
    yield "facts", (ALL, PortionFacts(len(keys), _facts(counts)))


def _number(value: PlacedBlock) -> int:
    return value.block.number


def _load(job: Job, placed: list[PlacedBlock]) -> corpus.Documents:
    """Returns the tokens of blocks."""
    data = {value.block.number: value.data for value in placed}
    return corpus.load(
        [value.block for value in placed],
        _tokenizer(job),
        job.options.on_bad_utf8,
        lambda block: data[block.number],
    )


def _others(job: Job, portion: list[corpus.Block]) -> Iterator[PlacedBlock]:
    """Yields the blocks of `corpus.find_other_documents`; the files are read again for them."""
    places = _places(job)
    if places[0].total.documents == 1:
        return
    latest: list[bytes] = []
    following = _blocks_after(job, places, portion[0].number, latest)
    for block in corpus.other_documents(following, portion):
        yield PlacedBlock(block, latest[-1])


def _facts(counts: dict[str, int]) -> Facts:
    return Facts(counts, workers.peak_bytes(), frozenset([pipelines.process_name()]))


def _joined(facts: Iterable[Facts]) -> Facts:
    counts: dict[str, int] = {}
    peak_bytes = 0
    processes: frozenset[str] = frozenset()
    for part in facts:
        statistics.add(counts, part.counts)
        peak_bytes = max(peak_bytes, part.peak_bytes)
        processes |= part.processes
    return Facts(counts, peak_bytes, processes)


def _blocks_after(
    job: Job, places: list[Place], first: int, latest: list[bytes]
) -> Iterator[corpus.Block]:
    """Yields the blocks after a number, and from the beginning again; `latest` gets their bytes."""
    start = 0
    while places[start].before.blocks + places[start].file.blocks <= first:
        start += 1
    # The file of the block is read from there to its end, and last from its beginning.
    for step in range(len(places) + 1):
        place = places[(start + step) % len(places)]
        for block, data in _placed_blocks(job, place):
            if step == len(places) and block.number == first:
                return
            if step or block.number > first:
                latest[:] = [data]
                yield block


def tell_bits(job: Job, group: tuple[int, Iterable[PortionFacts]]) -> Iterator[tuple]:
    """(all, facts of portions) → (portion, bits of its buckets); facts of all."""
    portions = 0
    instances = 0
    facts = Facts({}, 0, frozenset())
    for part in group[1]:
        portions += 1
        instances += part.instances
        facts = _joined((facts, part.facts))
    size = _places(job)[0].total
    counts = {"nul_bytes": size.nul_bytes}
    statistics.add(counts, facts.counts)
    if not counts["tokens"]:
        raise generation.no_text(job.facts["names"])
    bits = external_shuffle.bucket_bits_for(instances * _row_type(job).itemsize)
    for portion in range(portions):
        yield "bits", (portion, bits)
    prepared = {
        "text_bytes": size.bytes,
        "counts": counts,
        "peak_bytes": facts.peak_bytes,
        "seconds": 0.0,
        "processes": facts.processes,
    }
    yield "prepared", (ALL, prepared)


def _row_type(job: Job) -> np.dtype:
    return external_shuffle.row_type(job.options.max_seq_length, _tokenizer(job).vocabulary.size)


def split_rows(job: Job, group: tuple[int, Iterable[Any]]) -> Iterator[tuple]:
    """(portion, rows, and bits of the buckets) → (bucket, rows); instances of each bucket."""
    portion, values = group
    bits = next(value for value in values if isinstance(value, int))
    row_type = _row_type(job)
    counts = np.zeros(1 << bits, np.int64)
    for value in values:
        if isinstance(value, int):
            continue
        keys = np.frombuffer(value.keys, np.uint64)
        rows = np.frombuffer(value.rows, row_type)
        buckets = external_shuffle.buckets_of(keys, bits)
        counts += np.bincount(buckets, minlength=len(counts))
        # The keys are sorted, so the rows of a bucket are beside each other.
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        for begin, end in itertools.pairwise([*starts.tolist(), len(keys)]):
            piece = Rows(
                portion, value.number, keys[begin:end].tobytes(), rows[begin:end].tobytes()
            )
            yield "rows", (int(buckets[begin]), piece)
    yield "counts", (portion % _SUMS, counts.tobytes())


def add_counts(job: Job, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple]:
    """(group of portions, instances of each bucket) → (all, their sum)."""
    yield ALL, _sum_of_arrays(group[1]).tobytes()


def _sum_of_arrays(arrays: Iterable[bytes]) -> np.ndarray:
    return functools.reduce(np.add, (np.frombuffer(array, np.int64) for array in arrays))


def plan(job: Job, group: tuple[int, Iterable[bytes]]) -> Iterator[tuple]:
    """(all, instances of each bucket) → (bucket, its parts) and (shard, its instances)."""
    num_shards = len(job.facts["output_files"])
    parts_of: dict[int, list[ShardPart]] = {}
    for shard, parts in enumerate(
        external_shuffle.plan_shards(_sum_of_arrays(group[1]), num_shards)
    ):
        for part in parts:
            parts_of.setdefault(part.bucket, []).append(part)
        yield "shards", (shard, sum(part.last - part.first for part in parts))
    for bucket, parts in parts_of.items():
        yield "parts", (bucket, parts)


def write_parts(job: Job, group: tuple[int, Iterable[Any]]) -> Iterator[tuple]:
    """(bucket, rows, and its parts) → (shard, records of a part)."""
    pieces = []
    for value in group[1]:
        if isinstance(value, Rows):
            pieces.append(value)
        else:
            parts = value
    pieces.sort()
    row_type = _row_type(job)
    pieces_of_keys = []
    pieces_of_rows = []
    for piece in pieces:
        pieces_of_keys.append(np.frombuffer(piece.keys, np.uint64))
        pieces_of_rows.append(np.frombuffer(piece.rows, row_type))
    rows = np.concatenate(pieces_of_rows)
    # Equal keys keep the order of the portions, as in `external_shuffle.read_bucket`.
    order = np.argsort(np.concatenate(pieces_of_keys), kind="stable")
    del pieces, pieces_of_keys, pieces_of_rows
    for part in parts:
        path = job.new_file(f"part-{part.shard:05d}-{part.number:06d}")
        with files.user_error(f"can't write {path}"), files.open_file(path, "wb") as file:
            selected = rows[order[part.first : part.last]]
            counts = workers.write_part(job.options, _tokenizer(job), part, selected, file)
        yield part.shard, Part(part.number, path, files.file_size(path), _facts(counts))


def write_shard(job: Job, group: tuple[int, Iterable[Any]]) -> Iterator[tuple]:
    """(shard, its parts, and its instances) → (all, the shard)."""
    shard, values = group
    parts = []
    for value in values:
        if isinstance(value, Part):
            parts.append(value)
        else:
            instances = value
    parts.sort()
    if len(parts) == 1:
        path = parts[0].path
    else:
        path = job.new_file(f"shard-{shard:05d}")
        with files.user_error(f"can't write {path}"), files.open_file(path, "wb") as target:
            for part in parts:
                with files.open_file(part.path, "rb") as source:
                    shutil.copyfileobj(source, target, _COPY_BYTES)
    size = sum(part.bytes for part in parts)
    facts = _joined(part.facts for part in parts)
    yield ALL, ShardFacts(shard, path, size, instances, facts)


def publish(job: Job, group: tuple[int, Iterable[Any]]) -> Iterator[str]:
    """(all, shards, and facts of the text) → the file of statistics, written after the shards."""
    output_files = job.facts["output_files"]
    stats_file = job.facts["stats_file"]
    shards = []
    for value in group[1]:
        if isinstance(value, ShardFacts):
            shards.append(value)
        else:
            prepared = value
    with contextlib.suppress(FileNotFoundError):
        files.remove(stats_file)
    entries = {}
    for shard in sorted(shards):
        path = output_files[shard.shard]
        pipelines.move(shard.path, path, shard.bytes)
        entries[str(shard.shard)] = {
            "file": os.path.basename(path),
            "bytes": shard.bytes,
            "instances": shard.instances,
            "rows": shard.facts.counts.get("rows", 0),
        }
    facts = _joined(shard.facts for shard in shards)
    written = {
        "counts": facts.counts,
        "peak_bytes": facts.peak_bytes,
        "seconds": time.time() - job.started,
        "shards": entries,
    }
    result = generation.statistics_of(
        job.options,
        _tokenizer(job),
        job.facts["identity"],
        [prepared],
        [written],
        output_files,
    )
    result["run"]["num_workers"] = len(prepared["processes"] | facts.processes)
    json_files.write(stats_file, result)
    job.keep(RESULT, result)
    yield stats_file

"""The whole job: corpus → pre-training records, on all cores, in bounded memory, resumable at any
moment.

    scan ─▶ blocks ─▶ portions ─(each in a worker: tokenize, make pairs, sort)─▶ runs     first half
    runs ─(each bucket in a worker: read, mask, pack, serialize)─▶ parts ─▶ shards        second
    half

Input: a prepared corpus and a vocabulary. Output: the records and their statistics. The words, each
with one meaning:

    block    stretch of a file's text, cut at a document's end where possible; some hundred kB
    (`corpus.py`) portion  blocks dealt at random, so a sample of the corpus; what a worker
    tokenizes at a time, 1 to 8 MB run      the instances of a portion, in a file, sorted by random
    key (`external_shuffle.py`) bucket   range of keys; what it holds in all runs fits into memory
    part     the instances of a bucket that go into one shard; what a worker masks, packs and
    serializes at a time shard    output file

Everything is made in a work directory beside the first output, `.NAME.partial`. A file there has
its final name only when it is complete, and the shards move out when all of them are. Every random
choice comes from a generator of its own, keyed by the seed and by what it is for, so that neither
the workers nor interruptions can change a byte.

This file knows the order of things; what a worker does is in `workers.py`.
"""

import dataclasses
import functools
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence

from bert_common import files, json_files, outputs, parallel
from bert_common.errors import UserError
from bert_common.options import declared_options
from bert_common.progress import Progress, painter
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, records, statistics, workers
from data_gen.pretraining.work_directory import WorkDirectory
from data_gen.pretraining.workers import PORTIONS, load_tokenizer
from data_gen.tokenization.vocabulary import check_beside

_EXAMPLES_SHOWN = 3
# Options that the bytes of the records do not depend on; the names of the files are compared in
# their own way.
_NOT_OF_THE_RECORDS = (
    "input_file",
    "output_file",
    "num_workers",
    "resume",
)


def run(options: PretrainingDataOptions) -> None:
    """The command: generates, then prints a few examples, the statistics and the warnings."""
    vocabulary = load_tokenizer(
        files.check_readable(options.vocab_file, "vocab_file"), options.do_lower_case
    ).vocabulary
    # Allowed, but it looks like a mistake.
    given, needed = (
        options.max_predictions_per_seq,
        round(options.max_seq_length * options.masked_lm_prob),
    )
    if not needed <= given <= 1.5 * needed + 1:
        print(
            f"note: --max_predictions_per_seq={given} "
            + (
                f"lets only {given / options.max_seq_length:.1%} of a full sequence be masked; "
                f"--masked_lm_prob={options.masked_lm_prob} needs {needed}"
                if given < needed
                else f"is never reached: --masked_lm_prob={options.masked_lm_prob} masks at most {max(needed, 1)} tokens of a "
                "sequence"
            ),
            file=sys.stderr,
        )
    result = generate(options)
    output_files, stats_file = options.output_files()
    paint = painter(sys.stdout)
    print("The first examples; {…} is a masked token:")
    for example in itertools.islice(records.read_examples(output_files[0]), _EXAMPLES_SHOWN):
        print(f"  {statistics.format_example(example, vocabulary.tokens, paint=paint)}")
    print(statistics.format_table(result["counts"], options.next_sentence_prediction))
    job = result["run"]
    print(
        f"{job['text_bytes'] / 1e6:,.1f} MB of text in {job['seconds']:,.1f} s: "
        f"{job['text_bytes'] / 1e6 / max(job['seconds'], 1e-9):,.2f} MB/s with {job['num_workers']} workers, "
        f"{job['peak_mib_per_worker']} MiB each at most"
    )
    print(f"wrote {len(output_files)} file{'s' if len(output_files) > 1 else ''} and {stats_file}")
    for warning in result["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)


def generate(options: PretrainingDataOptions) -> dict:
    """Writes the records; returns what their statistics file holds: options, counts, shares,
    warnings, shards, time.

    Raises:
      UserError: the input, an output or the disk is at fault, there is nothing to
        resume or something in the way, or the vocabulary contradicts the `tokenizer_config.json`
        beside it.
    """
    check_beside(
        load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary, options.do_lower_case
    )
    input_files = files.expand_patterns(options.input_file, "input_file")
    for path in input_files:
        files.check_readable(path, "input_file")
    output_files, stats_file = options.output_files()
    for path in (*output_files, stats_file):
        outputs.check_output_file(
            path, "output_file", {"input_file": input_files, "vocab_file": [options.vocab_file]}
        )
        if files.is_special(path):
            raise UserError(
                f"--output_file: {path} is a device or a pipe: records are put together in files"
            )
    for path in output_files:
        files.make_output_directory(os.path.dirname(path) or ".", "output_file")
    # Options that must be the same for --resume: all that the bytes of the records depend on.
    fingerprint = load_tokenizer(options.vocab_file, options.do_lower_case).vocabulary.fingerprint
    identity = {
        one.name: getattr(options, one.name)
        for one in declared_options(type(options))
        if one.name not in _NOT_OF_THE_RECORDS
    }
    identity |= {
        "dupe_factor": options.passes,
        "vocab_file": files.absolute(options.vocab_file),
        "vocab_sha256": fingerprint,
        "input_file": [files.state(path) for path in input_files],
        "output_file": [os.path.abspath(path) for path in output_files],
    }
    if options.resume and all(map(os.path.exists, [stats_file, *output_files])):
        finished = json_files.read_object(stats_file)
        if finished == finished | json.loads(json.dumps(identity)):
            work = WorkDirectory(output_files[0], identity, resume=True)
            # What a kill has left of the work.
            if os.path.isdir(work.path):
                with work:
                    work.keep = False
            return finished
    options = dataclasses.replace(options, vocab_file=files.absolute(options.vocab_file))
    with WorkDirectory(output_files[0], identity, options.resume) as work:
        result = _generate(options, work, identity, input_files, output_files)
        work.publish(output_files, stats_file, result)
    return result


def _generate(
    options: PretrainingDataOptions,
    work: WorkDirectory,
    identity: dict,
    input_files: Sequence[str],
    output_files: Sequence[str],
) -> dict:
    """Fills the work directory with all shards; returns what the statistics file is to hold."""
    started = time.monotonic()
    tokenizer = load_tokenizer(options.vocab_file, options.do_lower_case)
    # Absolute, as workers need not be where this process is.
    paths = [
        files.absolute(corpus.plain_file(path, work.text_path(number)))
        for number, path in enumerate(input_files)
    ]
    for path, name in zip(paths, input_files, strict=True):
        if not os.path.getsize(path):
            print(f"note: {name} is empty", file=sys.stderr)
    size = sum(map(os.path.getsize, paths))
    with Progress("scanning", total=size, unit="B") as progress:
        text = corpus.scan(
            paths,
            input_files,
            corpus.portion_bytes(size, options.max_seq_length),
            options.on_bad_utf8,
            progress.advance,
        )
    portions = corpus.make_portions(text, options.generator(PORTIONS)) if text.blocks else []
    counts = {"nul_bytes": text.nul_bytes}
    made: tuple[list[dict], list[dict]] = [], []
    for facts in _make_runs(work, options, text, portions):
        statistics.add(counts, facts["counts"])
        made[0].append(facts)
    if not counts.get("tokens"):
        work.keep = False
        raise UserError(
            f"--input_file: no text in {', '.join(input_files[:3])}{', …' if input_files[3:] else ''}"
        )
    runs = [work.run_path(number) for number in range(len(portions))]
    bits = external_shuffle.choose_bucket_bits(runs)
    plan = external_shuffle.plan_parts(runs, bits, len(output_files))
    if work.resumed:
        work.check_shards(plan, output_files)
    for facts in _make_parts(work, options, runs, bits, list(itertools.chain.from_iterable(plan))):
        statistics.add(counts, facts["counts"])
        made[1].append(facts)
    made_parts = iter(made[1])
    shards = [
        {
            "file": os.path.basename(path),
            "bytes": work.shard_sizes.get(number, 0),
            "instances": sum(part.last - part.first for part in parts),
            "rows": sum(next(made_parts)["counts"].get("rows", 0) for _ in parts),
        }
        for number, (path, parts) in enumerate(zip(output_files, plan, strict=True))
    ]
    return {
        **identity,
        "vocab_size": tokenizer.vocabulary.size,
        "instances": counts["instances"],
        "shards": shards,
        "counts": counts,
        "statistics": statistics.summarize(counts),
        "warnings": statistics.find_warnings(
            counts, options.max_seq_length, options.next_sentence_prediction, len(shards)
        ),
        "run": {
            "seconds": round(time.monotonic() - started, 2),
            "resumed": options.resume,
            "text_bytes": text.size,
            "num_workers": options.workers,
            "peak_mib_per_worker": round(
                max(facts["peak_bytes"] for facts in itertools.chain(*made)) / 2**20
            ),
        },
    }


def _make_runs(
    work: WorkDirectory,
    options: PretrainingDataOptions,
    text: corpus.Corpus,
    portions: list[list[corpus.Block]],
) -> Iterator[dict]:
    """Yields the facts of all runs, after making those that are not there."""
    missing, done = [], 0
    with Progress("instances", total=text.size, unit="B") as progress:
        for number, blocks in enumerate(portions):
            path, size = work.run_path(number), sum(block.end - block.start for block in blocks)
            facts = external_shuffle.read_complete_run(path) if work.resumed else None
            if facts is None:
                missing.append(
                    (number, blocks, corpus.find_other_documents(text.blocks, blocks), path)
                )
            else:
                done += facts["instances"]
                progress.advance(size, instances=f"{done:,}")
                yield facts
        make = functools.partial(workers.make_run, options)
        for facts in parallel.ordered_map(make, missing, options.workers):
            done += facts["instances"]
            progress.advance(facts["text_bytes"], instances=f"{done:,}")
            yield facts


def _make_parts(
    work: WorkDirectory,
    options: PretrainingDataOptions,
    runs: list[str],
    bucket_bits: int,
    parts: list[external_shuffle.ShardPart],
) -> Iterator[dict]:
    """Yields the facts of all parts, in order, after making those that are not there and adding
    them to the shards."""
    total = sum(part.last - part.first for part in parts)
    with Progress("records", total=total, unit=" records") as progress:
        done = {part: facts for part in parts if work.resumed and (facts := work.read_part(part))}
        make = functools.partial(workers.make_part, options, runs, bucket_bits)
        missing = ((part, work.part_path(part)) for part in parts if part not in done)
        made = parallel.ordered_map(make, missing, options.workers)
        for part in parts:
            facts = done[part] = done.get(part) or next(made)
            work.append_part(part, facts)
            progress.advance(part.last - part.first)
            yield facts

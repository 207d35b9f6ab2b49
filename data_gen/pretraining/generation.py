"""Generation of pre-training records: on all cores, in bounded memory, resumable at any moment.

    scan ─▶ blocks ─▶ portions ─(worker: tokenize, make pairs, sort)─▶ runs         first half
    runs ─(worker, a bucket each: read, mask, pack, serialize)─▶ parts ─▶ shards    second half

Input: a prepared corpus and a vocabulary. Output: the records and their statistics. The words, each
with one meaning:

    block    stretch of a file's text, cut at a document's end where possible; some hundred kB
             (`corpus.py`)
    portion  blocks dealt at random, so a sample of the corpus; the text that a worker tokenizes at
             a time, 1 to 8 MB
    run      the instances of a portion, in a file, sorted by random key (`external_shuffle.py`)
    bucket   range of keys; its instances in all runs fit into memory
    part     the instances of a bucket that go into one shard; a worker masks, packs and serializes
             a part at a time
    shard    output file

Everything is made in a work directory beside the first output, `.NAME.partial`. A file there has
its final name only when it is complete, and the shards move out when all of them are complete.
Every random choice comes from a generator of its own, keyed by the seed and its purpose, so that
neither the number of workers nor interruptions can change a byte.

This file has the order of the steps; the work of a process is in `workers.py`.
"""

import dataclasses
import functools
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from bert_common import files, json_files, outputs, parallel
from bert_common.errors import UserError, say
from bert_common.options import declared_options
from bert_common.progress import Progress, painter
from data_gen.options import PIPELINES, PretrainingDataOptions
from data_gen.pretraining import corpus, external_shuffle, records, statistics, workers
from data_gen.pretraining.work_directory import (
    PREPARED,
    WRITTEN,
    WorkDirectory,
    all_prepared,
    facts_of,
)
from data_gen.pretraining.workers import PORTIONS, tokenizer_of
from data_gen.text.corpus_kinds import check_plain_text
from data_gen.tokenization import nanotoken_engine
from data_gen.tokenization.tokenizer import Tokenizer
from data_gen.tokenization.vocabulary import check_beside

_NUM_PRINTED_EXAMPLES = 3
# Options that do not change the bytes of the records, and the names of files, which are compared
# separately.
_NOT_COMPARED = (
    "input_file",
    "output_file",
    "num_workers",
    "resume",
    "part",
    "beam_pipeline_options",
)


def run(options: PretrainingDataOptions) -> None:
    """Runs the command: generates, then prints some examples, the statistics and the warnings."""
    make: Callable[[PretrainingDataOptions], dict | None] = generate
    if options.beam_pipeline_options is not None:
        make = PIPELINES.load("records")
    files.check_readable(options.vocab_file, "vocab_file")
    tokenizer = tokenizer_of(options)
    # Nothing but the flag says the casing of a vocabulary that stands alone.
    entry = tokenizer.vocabulary.upper_case_entry
    if options.do_lower_case and entry is not None:
        say(
            f"WARNING: {options.vocab_file} has upper-case entries such as {entry}, which text "
            "that is lower-cased never has: --do_lower_case=false for a cased vocabulary",
            file=sys.stderr,
        )
    note = _predictions_note(options)
    if note is not None:
        say(note, file=sys.stderr)
    result = make(options)
    if result is None:
        return
    output_files, stats_file = options.output_files()
    paint = painter(sys.stdout)
    say("The first examples; {…} is a masked token:")
    examples = records.read_examples(output_files[0])
    for example in itertools.islice(examples, _NUM_PRINTED_EXAMPLES):
        text = statistics.format_example(example, tokenizer.vocabulary.tokens, paint=paint)
        print(f"  {text}")
    say(statistics.format_table(result["counts"], options.next_sentence_prediction))
    job = result["run"]
    megabytes = job["text_bytes"] / 1e6
    say(
        f"{megabytes:,.1f} MB of text in {job['seconds']:,.1f} s: "
        f"{megabytes / max(job['seconds'], 1e-9):,.2f} MB/s with {job['num_workers']} workers, "
        f"{job['peak_mib_per_worker']} MiB each at most"
    )
    plural = "s" if len(output_files) > 1 else ""
    say(f"wrote {len(output_files)} file{plural} and {stats_file}")
    for warning in result["warnings"]:
        say(f"warning: {warning}", file=sys.stderr)


def _predictions_note(options: PretrainingDataOptions) -> str | None:
    """Returns a note if --max_predictions_per_seq does not fit --masked_lm_prob.

    Such a value is allowed, but it is probably a mistake.
    """
    limit = options.max_predictions_per_seq
    needed = round(options.max_seq_length * options.masked_lm_prob)
    if limit < needed:
        return (
            f"note: --max_predictions_per_seq={limit} lets only "
            f"{limit / options.max_seq_length:.1%} of a full sequence be masked; "
            f"--masked_lm_prob={options.masked_lm_prob} needs {needed}"
        )
    if limit > 1.5 * needed + 1:
        return (
            f"note: --max_predictions_per_seq={limit} is never reached: "
            f"--masked_lm_prob={options.masked_lm_prob} masks at most {max(needed, 1)} tokens of a "
            "sequence"
        )
    return None


def generate(options: PretrainingDataOptions) -> dict | None:
    """Writes the records and their statistics.

    With --part one of several machines does its next step: it makes its share of the runs or, when
    all have been made, of the shards. The bytes are those of the command without it.

    Returns:
      The content of the statistics file: options, counts, shares, warnings, shards, time. None if
      other steps or machines are still to come.

    Raises:
      UserError: the input, an output or the disk is at fault, there is nothing to resume or
        something in the way, or the vocabulary contradicts the `tokenizer_config.json` beside it;
        with --part, another share is not prepared, or was prepared with other settings.
    """
    input_files, output_files, stats_file = check_files(options)
    identity = identity_of(options, input_files, output_files)
    continues = options.resume or options.part is not None
    if continues and all(os.path.exists(path) for path in [stats_file, *output_files]):
        finished = json_files.read_object(stats_file)
        # The detour by JSON turns tuples into lists, as they are in the file that it is compared
        # with.
        if finished == finished | json.loads(json.dumps(identity)):
            work = WorkDirectory(output_files[0], identity, resume=True)
            # A kill between the last rename and the end leaves the work directory behind.
            if os.path.isdir(work.path):
                with work:
                    work.keep = False
            return finished
    options = dataclasses.replace(options, vocab_file=files.absolute(options.vocab_file))
    if options.part is not None:
        return _next_step(options, identity, input_files, output_files, stats_file)
    with WorkDirectory(output_files[0], identity, options.resume) as work:
        prepared = _prepare(options, work, [work], input_files)
        _check_text(work, [prepared], input_files)
        runs = [work.run_path(number) for number in range(prepared["portions"])]
        written = _write(options, work, runs, output_files)
        result = statistics_of(
            options, tokenizer_of(options), identity, [prepared], [written], output_files
        )
        work.publish(dict(enumerate(output_files)), stats_file)
        work.finish(stats_file, result)
    return result


def check_files(options: PretrainingDataOptions) -> tuple[list[str], list[str], str]:
    """Checks all paths and the vocabulary, before hours of work; see `generate`.

    Returns:
      (input files, output files, file of the statistics).
    """
    tokenizer = tokenizer_of(options)
    check_beside(tokenizer.vocabulary, options.do_lower_case, options.strip_accents)
    # A vocabulary without [MASK] is refused here.
    _ = tokenizer.vocabulary.mask_id
    input_files = files.expand_patterns(options.input_file, "input_file")
    for path in input_files:
        check_plain_text(files.check_readable(path, "input_file"), "input_file")
    output_files, stats_file = options.output_files()
    for path in (*output_files, stats_file):
        outputs.check_output_file(path, "output_file")
        if files.is_special(path):
            raise UserError(
                f"--output_file: {path} is a device or a pipe: records are assembled in files"
            )
    for path in output_files:
        # A message names it as it was given.
        folder = os.path.dirname(path) or "."
        if files.is_remote(path):
            folder = files.parent_directory(path)
        files.make_output_directory(folder, "output_file")
    return input_files, output_files, stats_file


def _next_step(
    options: PretrainingDataOptions,
    identity: dict,
    input_files: Sequence[str],
    output_files: Sequence[str],
    stats_file: str,
) -> dict | None:
    """Does the next step of a share; see `generate`."""
    share = options.share
    shares = []
    for name in share.names():
        shares.append(WorkDirectory(output_files[0], identity, resume=True, share=name))
    with shares[share.number] as work:
        if work.read_step(PREPARED) is None:
            work.write_step(PREPARED, _prepare(options, work, shares, input_files))
            say(
                f"--part={options.part} is prepared: when all {share.machines} are, give the same "
                "commands again to write the files"
            )
            return None
        prepared = all_prepared(shares, str(options.part))
        _check_text(work, prepared, input_files)
        if work.read_step(WRITTEN) is None:
            runs = []
            for number in range(prepared[0]["portions"]):
                runs.append(shares[number % share.machines].run_path(number))
            external_shuffle.check_runs(runs)
            facts = _write(options, work, runs, output_files)
            own_files = {number: output_files[number] for number in share.of(len(output_files))}
            work.publish(own_files, stats_file)
            work.write_step(WRITTEN, facts)
        written = facts_of(shares, WRITTEN)
        missing = [str(number) for number in range(1, share.machines + 1) if number not in written]
        if missing:
            say(f"--part={options.part} has written its files; to come: {', '.join(missing)}")
            return None
        result = statistics_of(
            options, tokenizer_of(options), identity, prepared, list(written.values()), output_files
        )
        work.finish(stats_file, result)
        for other in shares:
            if other is not work:
                other.remove()
    return result


def identity_of(
    options: PretrainingDataOptions, input_files: Sequence[str], output_files: Sequence[str]
) -> dict:
    """Returns all that the bytes of the records depend on, which --resume compares."""
    identity = {}
    # Options are compared unless they are excluded, so that a new one can't be forgotten.
    for declared in declared_options(type(options)):
        if declared.name not in _NOT_COMPARED:
            identity[declared.name] = getattr(options, declared.name)
    tokenizer = tokenizer_of(options)
    identity["dupe_factor"] = options.passes
    identity["vocab_file"] = files.absolute(options.vocab_file)
    identity["vocab_sha256"] = tokenizer.vocabulary.fingerprint
    # The effective setting: the one beside the vocabulary may change between two starts.
    identity["strip_accents"] = tokenizer.strip_accents
    # Size and time stand for the content: hashing a large corpus would cost as much as a scan.
    identity["input_file"] = [files.state(path) for path in input_files]
    identity["output_file"] = [files.absolute(path) for path in output_files]
    return identity


def _prepare(
    options: PretrainingDataOptions,
    work: WorkDirectory,
    shares: Sequence[WorkDirectory],
    input_files: Sequence[str],
) -> dict:
    """Makes the runs of a share of the text, all of it without --part.

    Args:
      shares: the work directories of all machines.

    Returns:
      Facts: portions and text_bytes of the whole text; counts, peak_bytes, seconds of the share.
    """
    started = time.monotonic()
    text = _scan(options, work, shares, input_files)
    if text.blocks:
        portions = corpus.make_portions(text, options.generator(PORTIONS))
    else:
        # A corpus of blank lines has no blocks to deal; the error about it comes below.
        portions = []
    counts = {}
    if options.share.number == 0:
        counts["nul_bytes"] = text.nul_bytes
    peak_bytes = 0
    for facts in _make_runs(work, options, text, portions):
        statistics.add(counts, facts["counts"])
        peak_bytes = max(peak_bytes, facts["peak_bytes"])
    return {
        "portions": len(portions),
        "text_bytes": text.size,
        "counts": counts,
        "peak_bytes": peak_bytes,
        "seconds": time.monotonic() - started,
    }


def _check_text(work: WorkDirectory, prepared: Sequence[dict], input_files: Sequence[str]) -> None:
    """Raises `UserError` if there are no tokens in all of the text."""
    if not any(facts["counts"].get("tokens") for facts in prepared):
        work.keep = False
        raise no_text(input_files)


def no_text(input_files: Sequence[str]) -> UserError:
    """Returns the error of files without any token."""
    names = ", ".join(input_files[:3]) + (", …" if len(input_files) > 3 else "")
    return UserError(f"--input_file: no text in {names}")


def _write(
    options: PretrainingDataOptions,
    work: WorkDirectory,
    runs: list[str],
    output_files: Sequence[str],
) -> dict:
    """Makes a share of the shards from all runs, without --part all shards.

    Returns:
      Facts: counts, peak_bytes, seconds; shards, number of a shard → bytes, instances and rows.
    """
    started = time.monotonic()
    bits = external_shuffle.choose_bucket_bits(runs)
    plan = external_shuffle.plan_parts(runs, bits, len(output_files))
    own_shards = options.share.of(len(output_files))
    # Shards are checked after the runs, because the plan follows from the keys of all runs.
    if work.resumed:
        work.check_shards({number: plan[number] for number in own_shards}, output_files)
    counts: dict[str, int] = {}
    peak_bytes = 0
    rows = dict.fromkeys(own_shards, 0)
    own_parts = [part for number in own_shards for part in plan[number]]
    made_parts = _make_parts(work, options, runs, bits, own_parts)
    for part, facts in zip(own_parts, made_parts, strict=True):
        statistics.add(counts, facts["counts"])
        peak_bytes = max(peak_bytes, facts["peak_bytes"])
        rows[part.shard] += facts["counts"].get("rows", 0)
    shards = {}
    for number in own_shards:
        shards[str(number)] = {
            "file": os.path.basename(output_files[number]),
            "bytes": work.shard_sizes.get(number, 0),
            "instances": sum(part.last - part.first for part in plan[number]),
            "rows": rows[number],
        }
    seconds = time.monotonic() - started
    return {"counts": counts, "peak_bytes": peak_bytes, "seconds": seconds, "shards": shards}


def statistics_of(
    options: PretrainingDataOptions,
    tokenizer: Tokenizer,
    identity: dict,
    prepared: Sequence[dict],
    written: Sequence[dict],
    output_files: Sequence[str],
) -> dict:
    """Returns the content of the statistics file from the facts of all shares."""
    counts: dict[str, int] = {}
    shards: dict[str, dict] = {}
    steps = [*prepared, *written]
    for facts in steps:
        statistics.add(counts, facts["counts"])
    for facts in written:
        shards.update(facts["shards"])
    return {
        **identity,
        "vocab_size": tokenizer.vocabulary.size,
        "instances": counts["instances"],
        "shards": [shards[str(number)] for number in range(len(output_files))],
        "counts": counts,
        "statistics": statistics.summarize(counts),
        "warnings": statistics.find_warnings(
            counts, options.max_seq_length, options.next_sentence_prediction, len(shards)
        ),
        "run": {
            "seconds": round(sum(facts["seconds"] for facts in steps), 2),
            "resumed": options.resume,
            "text_bytes": prepared[0]["text_bytes"],
            "num_workers": options.workers,
            "tokenizer": nanotoken_engine.installed() or "numpy",
            "peak_mib_per_worker": round(max(facts["peak_bytes"] for facts in steps) / 2**20),
        },
    }


def _scan(
    options: PretrainingDataOptions,
    work: WorkDirectory,
    shares: Sequence[WorkDirectory],
    input_files: Sequence[str],
) -> corpus.Corpus:
    """Finds the blocks of the input; gzipped and remote files are copied to the work directory."""
    paths = []
    for number, name in enumerate(input_files):
        # Workers may have another working directory.
        path = files.absolute(corpus.plain_file(name, work.text_path(number)))
        paths.append(path)
        if not os.path.getsize(path):
            say(f"note: {name} is empty", file=sys.stderr)
    # The size is measured after unpacking, since the portions are cut from the plain text.
    size = sum(os.path.getsize(path) for path in paths)
    portion_size = corpus.portion_bytes(size, options.max_seq_length)
    texts: dict[int, corpus.Corpus] = {}
    first = options.share.number
    with Progress("scanning", total=size, unit="B") as progress:
        # Machines that begin together begin with different files.
        for number in sorted(range(len(paths)), key=lambda file: (file - first) % len(shares)):
            # The blocks of a file follow from these.
            source = [files.state(input_files[number]), portion_size, options.on_bad_utf8]
            text = None
            for other in shares:
                text = text or other.read_scan(number, source, paths[number])
            if text is None:
                text = corpus.scan(
                    paths[number],
                    input_files[number],
                    portion_size,
                    options.on_bad_utf8,
                    progress.advance,
                )
                work.write_scan(number, source, text)
            else:
                progress.advance(text.size)
            texts[number] = text
    return corpus.join([texts[number] for number in range(len(paths))])


def _make_runs(
    work: WorkDirectory,
    options: PretrainingDataOptions,
    text: corpus.Corpus,
    portions: list[list[corpus.Block]],
) -> Iterator[dict]:
    """Makes the runs of a share that are missing; yields the facts of all of the share."""
    missing = []
    num_instances = 0
    numbers = options.share.of(len(portions))
    sizes = {}
    for number in numbers:
        sizes[number] = sum(block.end - block.start for block in portions[number])
    with Progress("instances", total=sum(sizes.values()), unit="B") as progress:
        for number in numbers:
            blocks = portions[number]
            path = work.run_path(number)
            facts = external_shuffle.read_complete_run(path) if work.resumed else None
            if facts is None:
                other_blocks = corpus.find_other_documents(text.blocks, blocks)
                # Missing runs are collected first: the finished ones then move the progress bar at
                # once.
                missing.append((number, blocks, other_blocks, path))
                continue
            num_instances += facts["instances"]
            progress.advance(sizes[number], instances=f"{num_instances:,}")
            yield facts
        make = functools.partial(workers.make_run, options)
        for facts in parallel.ordered_map(make, missing, options.workers):
            num_instances += facts["instances"]
            progress.advance(facts["text_bytes"], instances=f"{num_instances:,}")
            yield facts


def _make_parts(
    work: WorkDirectory,
    options: PretrainingDataOptions,
    runs: list[str],
    bucket_bits: int,
    parts: list[external_shuffle.ShardPart],
) -> Iterator[dict]:
    """Makes the parts that are missing and adds all of them to the shards, in order; yields their
    facts."""
    finished = {}
    if work.resumed:
        for part in parts:
            facts = work.read_part(part)
            if facts:
                finished[part] = facts
    missing = [(part, work.part_path(part)) for part in parts if part not in finished]
    make = functools.partial(workers.make_part, options, runs, bucket_bits)
    total = sum(part.last - part.first for part in parts)
    with Progress("records", total=total, unit=" records") as progress:
        # The results keep the order of the parts, so each shard is written from front to back.
        made_parts = parallel.ordered_map(make, missing, options.workers)
        for part in parts:
            facts = finished[part] if part in finished else next(made_parts)
            work.append_part(part, facts)
            progress.advance(part.last - part.first)
            yield facts

"""A corpus → counts of its words, for `build_vocab.py --beam_pipeline_options`.

    input files ─▶ words of stretches of text ─(by range of words)─▶ counts ─(all)─▶ the most common

The counts are those of data_gen/text/word_counts.py, which drops rare words on its way where there
are too many; here they are dropped at the end, so that all counts are exact. A worker holds the
words of some portions of 4 MB, or one range of them.
"""

import collections
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import google_crc32c

from bert_common import json_files
from data_gen.beam import pipelines
from data_gen.beam.pipelines import ALL, RESULT, Flow, Job
from data_gen.text import word_counts
from data_gen.text.word_counts import MAX_COUNTED_WORDS, CorpusCounts

# Different words that a worker counts before it sends them on.
_MOST_WORDS = 1 << 20
# Two kinds of words, those to learn from and those held out.
_WORDS, _HELD_OUT = 0, 1


class Range(NamedTuple):
    """Counts of a range of words, in a file of the work directory: word → occurrences.

    Attributes:
      by_count: number of occurrences → number of words that have it.
    """

    kind: int
    path: str
    by_count: dict[int, int]


def count(options: Any, input_files: Sequence[str], held_out_fraction: float) -> CorpusCounts:
    """Counts the words of files, as `word_counts.count_words`.

    Args:
      options: of `build_vocab.py`.

    Raises:
      UserError: as it does, and `pipelines.run`.
    """
    job = pipelines.new_job(
        options,
        input_files,
        os.path.join(options.output_dir, "vocab.txt"),
        held_out_fraction=held_out_fraction,
        ranges=pipelines.num_groups(input_files),
    )
    counts = CorpusCounts(**pipelines.run(job, _build))
    # JSON has kept them as dictionaries.
    counts.words = collections.Counter(counts.words)
    counts.held_out = collections.Counter(counts.held_out)
    return counts


def _build(input_files: Flow) -> None:
    counted = input_files.through(count_file)
    ranges = counted.only("words").grouped("words").through(add)
    ranges.grouped("ranges", counted.only("bytes")).through(collect)


def count_file(job: Job, file: tuple[int, str]) -> Iterator[tuple]:
    """(number, path) → (range, word → occurrences); bytes of the text."""
    _, path = file
    options = job.options
    counts = CorpusCounts(collections.Counter(), collections.Counter())
    for portion in word_counts.portions([path] if path else []):
        words, held_out, num_bytes, _ = word_counts.count_portion(
            options.do_lower_case,
            job.facts["held_out_fraction"],
            options.on_bad_utf8,
            portion,
            options.strip_accents,
        )
        counts.words.update(words)
        counts.held_out.update(held_out)
        counts.num_bytes += num_bytes
        if len(counts.words) + len(counts.held_out) > _MOST_WORDS:
            yield from _ranges_of(job, counts)
            counts.words.clear()
            counts.held_out.clear()
    yield from _ranges_of(job, counts)
    yield "bytes", (ALL, counts.num_bytes)


def _ranges_of(job: Job, counts: CorpusCounts) -> Iterator[tuple]:
    for kind, words in ((_WORDS, counts.words), (_HELD_OUT, counts.held_out)):
        ranges: dict[int, dict[str, int]] = collections.defaultdict(dict)
        for word, occurrences in words.items():
            number = google_crc32c.value(word.encode()) % job.facts["ranges"]
            ranges[number][word] = occurrences
        for number, part in ranges.items():
            yield "words", ((kind, number), part)


def add(job: Job, group: tuple[tuple[int, int], Iterable[dict[str, int]]]) -> Iterator[tuple]:
    """(range, counts of its words) → (all, their sums)."""
    (kind, number), parts = group
    words: collections.Counter = collections.Counter()
    for part in parts:
        words.update(part)
    path = job.new_file(f"words-{kind}-{number:05d}")
    json_files.write(path, words)
    yield ALL, Range(kind, path, dict(collections.Counter(words.values())))


def collect(job: Job, group: tuple[int, Iterable[Any]]) -> Iterator[str]:
    """(all, ranges, and bytes of the files) → the counts of the corpus."""
    counts = CorpusCounts(collections.Counter(), collections.Counter())
    ranges = []
    by_count: tuple[collections.Counter, ...] = (collections.Counter(), collections.Counter())
    for value in group[1]:
        if isinstance(value, Range):
            ranges.append(value)
            by_count[value.kind].update(value.by_count)
        else:
            counts.num_bytes += value
    kept = (counts.words, counts.held_out)
    # Words of so few occurrences are dropped, of each kind.
    limits = [0, 0]
    for kind, found in enumerate(by_count):
        if found.total() > MAX_COUNTED_WORDS:
            limits[kind] = word_counts.limit_of(found, MAX_COUNTED_WORDS // 2)
    for part in ranges:
        for word, occurrences in json_files.read(part.path).items():
            if occurrences > limits[part.kind]:
                kept[part.kind][word] = occurrences
    for occurrences in range(1, limits[_WORDS] + 1):
        counts.pruned_words += by_count[_WORDS][occurrences]
        counts.pruned_occurrences += occurrences * by_count[_WORDS][occurrences]
    job.keep(RESULT, vars(counts))
    yield job.work

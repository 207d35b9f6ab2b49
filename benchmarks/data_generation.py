r"""How fast pre-training records are made, against the original algorithm on the same text; and in how much memory.

  python benchmarks/data_generation.py
  python benchmarks/data_generation.py --corpus_file=corpus.txt --vocab_file=vocab.txt --repetitions=5
  python benchmarks/data_generation.py --corpus_mb=4 --memory_factor=0        # a quick look

Without --corpus_file the text is what `data_gen/extract_docstrings.py` and `data_gen/prepare_corpus.py` make of the
installed packages. Both sides read the same file, with the same flags (128 tokens, 20 predictions, 5 passes), and
write records to the same disk. Start-up is left out on both sides: importing, and reading the vocabulary; starting
our worker processes is counted. The reference (tests/oracles/data_generation.py) is timed once, for a minute
or two; ours several times, half of them before and half after it, and the median counts. On a busy machine the
seconds of CPU time say more than those of the clock: both are shown.
"""

import concurrent.futures
import contextlib
import dataclasses
import glob
import io
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks import machine, texts
from bert_common import cli, files, parallel
from bert_common.options import option
from bert_tf.tables import print_table
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from data_gen.pretraining.workers import load_tokenizer
from data_gen.tokenization.vocabulary import Vocabulary
from tests.oracles.data_generation import ReferenceGenerator
from tests.oracles.tokenizer import ReferenceTokenizer

_DUPE_FACTOR = 5
_MAX_SEQ_LENGTH, _MAX_PREDICTIONS_PER_SEQ = 128, 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataGenerationOptions(texts.VocabularyOptions):
  """Options of the benchmark."""

  corpus_file: str | None = option(
      None, "A sentence a line, a blank line between documents.",
      default_text="the docstrings of the installed packages")
  corpus_mb: float = option(20, "Text used of the corpus.", above=0)
  repetitions: int = option(3, "Timed runs of ours.", minimum=1)
  memory_factor: int = option(10, "Memory is also measured on this many times the text; 0: not at all.", minimum=0)


class Timing(NamedTuple):
  """Seconds by the clock and of all cores together; what was made in them (tokens without padding)."""

  seconds: float
  cpu_seconds: float
  instances: int
  tokens: int


def time_reference(corpus: str, vocab_file: str, output: str) -> Timing:
  import tensorflow as tf

  # TensorFlow's own start-up happens at the first use.
  with tf.io.TFRecordWriter(output) as writer:
    writer.write(tf.train.Example().SerializeToString())
  generator = ReferenceGenerator(
      ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens), dupe_factor=_DUPE_FACTOR,
      max_seq_length=_MAX_SEQ_LENGTH, max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ)
  before = _clocks()
  with open(corpus, encoding="utf-8") as file:
    instances = generator.instances(file)
  generator.write(instances, output)
  return _timing(before, len(instances), sum(len(instance.tokens) for instance in instances))


def time_ours(corpus: str, vocab_file: str, output: str, num_workers: int) -> Timing:
  options = PretrainingDataOptions(
      input_file=glob.escape(corpus), output_file=output, vocab_file=vocab_file, dupe_factor=_DUPE_FACTOR,
      max_seq_length=_MAX_SEQ_LENGTH, max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ, num_workers=num_workers)
  # A new one each time: the last run's has its words in a cache.
  load_tokenizer.cache_clear()
  load_tokenizer(vocab_file, options.do_lower_case)
  before = _clocks()
  with contextlib.redirect_stderr(io.StringIO()):
    result = generate(options)
  return _timing(before, result["instances"], result["counts"]["real_tokens"])


def command_peak_mib(corpus: str, vocab_file: str, output: str) -> float:
  """Largest resident memory of any process of the command with two workers, in MiB. For a process of its own."""
  texts.run_script("data_gen/create_pretraining_data.py", f"--input_file={corpus}", f"--output_file={output}",
                   f"--vocab_file={vocab_file}", f"--dupe_factor={_DUPE_FACTOR}", "--num_workers=2")
  return machine.peak_mib(resource.RUSAGE_CHILDREN)


def main(options: DataGenerationOptions) -> None:
  vocab_file = files.check_readable(options.vocab_file, "vocab_file")
  worker_counts = sorted({1, 2, parallel.default_num_workers()})
  with tempfile.TemporaryDirectory() as folder:
    corpus, larger, output = (os.path.join(folder, name) for name in ("corpus.txt", "larger.txt", "records.tfrecord"))
    source = options.corpus_file and files.check_readable(options.corpus_file, "corpus_file")
    size = texts.cut(source or texts.docstring_corpus(folder), corpus, options.corpus_mb)
    print(f"{source or 'docstrings of the installed packages'}: {size / 1e6:.1f} MB of text, "
          f"{Vocabulary.from_file(vocab_file).size:,} word pieces, {_MAX_SEQ_LENGTH} tokens, "
          f"{_MAX_PREDICTIONS_PER_SEQ} predictions, {_DUPE_FACTOR} passes, {parallel.default_num_workers()} cores")
    timed: dict[int, list[Timing]] = {workers: [] for workers in worker_counts}
    for repetition in range(options.repetitions):
      if repetition == options.repetitions // 2:
        # Apart, as TensorFlow's memory would be copied into every worker of ours.
        reference = _in_new_process(time_reference, corpus, vocab_file, output)
      for workers, timings in timed.items():
        timings.append(time_ours(corpus, vocab_file, output, workers))
    print_table([("", "seconds", "CPU s", "MB/s", "instances/s", "tokens/s", "ratio", "CPU ratio", ""),
                 _row("original algorithm", size, [reference], reference),
                 *(_row(f"ours, {workers} worker{'s' * (workers > 1)}", size, timings, reference)
                   for workers, timings in timed.items())])
    if options.memory_factor:
      with open(corpus, "rb") as one, open(larger, "wb") as several:
        several.write((one.read() + b"\n\n") * options.memory_factor)
      for path in (corpus, larger):
        peak = _in_new_process(command_peak_mib, path, vocab_file, output)
        print(f"peak memory of a process, {os.path.getsize(path) / 1e6:6.1f} MB of text, 2 workers: {peak:.0f} MiB")


def _clocks() -> tuple[float, float]:
  """Seconds by the clock, and of the processor: all threads, and the processes that were started and have ended."""
  children = resource.getrusage(resource.RUSAGE_CHILDREN)
  return time.perf_counter(), time.process_time() + children.ru_utime + children.ru_stime


def _timing(before: tuple[float, float], instances: int, tokens: int) -> Timing:
  seconds, cpu_seconds = (now - then for now, then in zip(_clocks(), before, strict=True))
  return Timing(seconds, cpu_seconds, instances, tokens)


def _in_new_process(function: Callable, *arguments: object):
  """Calls the function in a new process that is not forked from this one, so that nothing here counts there."""
  with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
    return pool.submit(function, *arguments).result()


def _row(name: str, size: int, timings: Sequence[Timing], reference: Timing) -> tuple[str, ...]:
  seconds, cpu_seconds = (statistics.median(column) for column in list(zip(*timings, strict=True))[:2])
  _, _, instances, tokens = timings[0]
  several = f"({min(timings).seconds:.2f} to {max(timings).seconds:.2f} s)" if len(timings) > 1 else ""
  return (name, f"{seconds:.2f}", f"{cpu_seconds:.2f}", f"{size / 1e6 / seconds:.3f}", f"{instances / seconds:,.0f}",
          f"{tokens / seconds:,.0f}", f"{reference.seconds / seconds:.1f}",
          f"{reference.cpu_seconds / cpu_seconds:.1f}", several)


if __name__ == "__main__":
  cli.run(DataGenerationOptions, main)

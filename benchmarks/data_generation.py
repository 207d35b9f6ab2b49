r"""How fast pre-training records are made, against the original algorithm on the same text; and in how much memory.

  python benchmarks/data_generation.py
  python benchmarks/data_generation.py --corpus_file=corpus.txt --vocab_file=vocab.txt --repetitions=5
  python benchmarks/data_generation.py --reference_mb=4 --memory_factor=0     # a quick look

Without --corpus_file the text is what `data_gen/extract_docstrings.py` and `data_gen/prepare_corpus.py` make of the
installed packages. Both sides read the same file, with the same flags (128 tokens, 20 predictions, 5 passes), and
write records to the same disk. Start-up is left out on both sides: importing, and reading the vocabulary; starting
our worker processes is counted. The reference (benchmarks/reference_data_generation.py) is timed once, for a minute
or two; ours several times, half of them before and half after it, and the median counts. On a busy machine the
seconds of CPU time say more than those of the clock: both are shown.
"""

import concurrent.futures
import contextlib
import dataclasses
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

from benchmarks import texts
from benchmarks.reference_data_generation import ReferenceGenerator
from benchmarks.reference_tokenizer import ReferenceTokenizer
from bert_tf.common import cli, files, parallel
from bert_tf.common.options import Options, option
from data_gen.options import PretrainingDataOptions
from data_gen.pretraining.generation import generate
from data_gen.pretraining.workers import load_tokenizer
from data_gen.tokenization.vocabulary import Vocabulary

_DUPE_FACTOR = 5
_MAX_SEQ_LENGTH, _MAX_PREDICTIONS_PER_SEQ = 128, 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataGenerationOptions(Options):
  """Options of the benchmark."""

  corpus_file: str | None = option(
      None, "A sentence a line, a blank line between documents.",
      default_text="the docstrings of the installed packages")
  vocab_file: str = option(texts.READY_VOCABULARY, "WordPiece vocabulary, uncased.",
                           default_text="vocab/english_uncased/vocab.txt")
  corpus_mb: float = option(20, "Text used of the corpus.", above=0)
  reference_mb: float | None = option(None, "Text given to the reference, if less than all.", above=0)
  repetitions: int = option(3, "Timed runs of ours.", minimum=1)
  memory_factor: int = option(10, "Memory is also measured on this many times the text; 0: not at all.", minimum=0)


def cut(source: str, target: str, megabytes: float) -> int:
  """Copies about this much of the text, up to a document's end; returns the bytes."""
  with open(source, "rb") as file:
    data = file.read(int(megabytes * 1e6))
    if file.read(1):
      data = data[:data.rfind(b"\n\n") + 2 or len(data)]
  with open(target, "wb") as file:
    file.write(data)
  return len(data)


def make_docstring_corpus(folder: str) -> str:
  """The default text."""
  documents, corpus = os.path.join(folder, "docstrings.jsonl"), os.path.join(folder, "docstrings.txt")
  for script, source, target in (("extract_docstrings", None, documents), ("prepare_corpus", documents, corpus)):
    command = [sys.executable, os.path.join(PROJECT, "data_gen", f"{script}.py"), f"--output_file={target}"]
    subprocess.run(command + ([f"--input_file={source}"] if source else []), check=True, stdout=subprocess.DEVNULL)
  return corpus


class Timing(NamedTuple):
  """Seconds by the clock and of all cores together; what was made in them (tokens without padding)."""

  seconds: float
  cpu_seconds: float
  instances: int
  tokens: int


def time_reference(corpus: str, vocab_file: str, output: str) -> Timing:
  """Runs the reference, in a process of its own (TensorFlow's memory would be copied into every worker of ours)."""
  import tensorflow as tf

  # TensorFlow's own start-up happens at the first use.
  with tf.io.TFRecordWriter(output) as writer:
    writer.write(tf.train.Example().SerializeToString())
  generator = ReferenceGenerator(
      ReferenceTokenizer(Vocabulary.from_file(vocab_file).tokens), dupe_factor=_DUPE_FACTOR,
      max_seq_length=_MAX_SEQ_LENGTH, max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ)
  begin = _clocks()
  with open(corpus, encoding="utf-8") as file:
    instances = generator.instances(file)
  generator.write(instances, output)
  return Timing(*_since(begin), len(instances), sum(len(instance.tokens) for instance in instances))


def time_ours(corpus: str, vocab_file: str, output: str, num_workers: int) -> Timing:
  """Runs ours."""
  options = PretrainingDataOptions(
      input_file=files.escape_pattern(corpus), output_file=output, vocab_file=vocab_file, dupe_factor=_DUPE_FACTOR,
      max_seq_length=_MAX_SEQ_LENGTH, max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ, num_workers=num_workers)
  # A new one each time: the last run's has its words in a cache.
  load_tokenizer.cache_clear()
  load_tokenizer(vocab_file, options.do_lower_case)
  begin = _clocks()
  with _quiet():
    result = generate(options)
  return Timing(*_since(begin), result["instances"], result["counts"]["real_tokens"])


def _clocks() -> tuple[float, float]:
  times = os.times()
  return time.perf_counter(), times.user + times.system + times.children_user + times.children_system


def _since(begin: tuple[float, float]) -> tuple[float, float]:
  now = _clocks()
  return now[0] - begin[0], now[1] - begin[1]


def peak_mib(corpus: str, vocab_file: str, output: str, num_workers: int) -> float:
  """Largest resident memory of any process of the command, in MiB."""
  process = subprocess.Popen([
      sys.executable, os.path.join(PROJECT, "data_gen", "create_pretraining_data.py"), f"--input_file={corpus}",
      f"--output_file={output}", f"--vocab_file={vocab_file}", f"--dupe_factor={_DUPE_FACTOR}",
      f"--num_workers={num_workers}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
  # The usage of a process takes in its children.
  _, status, usage = os.wait4(process.pid, 0)
  if status:
    raise RuntimeError("create_pretraining_data.py failed")
  return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def repeat(source: str, target: str, times: int) -> int:
  """Writes the text several times over; returns the bytes."""
  with open(source, "rb") as file:
    data = file.read()
  with open(target, "wb") as file:
    for _ in range(times):
      file.write(data + b"\n\n")
  return (len(data) + 2) * times


def main(options: DataGenerationOptions) -> None:
  vocab_file = files.check_readable(options.vocab_file, "vocab_file")
  with tempfile.TemporaryDirectory() as folder:
    corpus, output = os.path.join(folder, "corpus.txt"), os.path.join(folder, "records.tfrecord")
    source = options.corpus_file and files.check_readable(options.corpus_file, "corpus_file")
    size = cut(source or make_docstring_corpus(folder), corpus, options.corpus_mb)
    print(f"{source or 'docstrings of the installed packages'}: {size / 1e6:.1f} MB of text, "
          f"{Vocabulary.from_file(vocab_file).size:,} word pieces, {_MAX_SEQ_LENGTH} tokens, "
          f"{_MAX_PREDICTIONS_PER_SEQ} predictions, {_DUPE_FACTOR} passes, {parallel.default_num_workers()} cores")
    reference_corpus = os.path.join(folder, "reference.txt")
    reference_size = cut(corpus, reference_corpus, options.reference_mb or size / 1e6 + 1)
    worker_counts = sorted({1, 2, parallel.default_num_workers()})
    timed: dict[int, list[Timing]] = {workers: [] for workers in worker_counts}
    reference = None
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
      for repetition in range(options.repetitions):
        if repetition == options.repetitions // 2:
          reference = apart.submit(time_reference, reference_corpus, vocab_file, output).result()
        for workers in worker_counts:
          timed[workers].append(time_ours(corpus, vocab_file, output, workers))
    print(f"{'':<20}{'seconds':>9}{'CPU s':>8}{'MB/s':>8}{'instances/s':>13}{'tokens/s':>12}{'ratio':>8}"
          f"{'CPU ratio':>11}")
    rates = reference_size / reference.seconds, reference_size / reference.cpu_seconds
    print(_format("original algorithm", reference_size, [reference], rates))
    for workers, timings in timed.items():
      print(_format(f"ours, {workers} worker{'s' * (workers > 1)}", size, timings, rates))
    for line in _measure_memory(folder, corpus, size, vocab_file, output, options.memory_factor):
      print(line)


def _format(name: str, size: int, timings: Sequence[Timing], rates: tuple[float, float]) -> str:
  """One line of the table; `rates` are the bytes a second of the reference, by the clock and by CPU time."""
  seconds, cpu_seconds = (statistics.median(column) for column in list(zip(*timings, strict=True))[:2])
  several = f"   ({min(timings).seconds:.2f} to {max(timings).seconds:.2f} s)" if len(timings) > 1 else ""
  return (f"{name:<20}{seconds:9.2f}{cpu_seconds:8.2f}{size / 1e6 / seconds:8.3f}"
          f"{timings[0].instances / seconds:13,.0f}{timings[0].tokens / seconds:12,.0f}{size / seconds / rates[0]:8.1f}"
          f"{size / cpu_seconds / rates[1]:11.1f}{several}")


def _measure_memory(folder: str, corpus: str, size: int, vocab_file: str, output: str, factor: int) -> Iterator[str]:
  if not factor:
    return
  larger = os.path.join(folder, "larger.txt")
  larger_size = repeat(corpus, larger, factor)
  for path, text_bytes in ((corpus, size), (larger, larger_size)):
    peak = peak_mib(path, vocab_file, output, 2)
    yield f"peak memory of a process, {text_bytes / 1e6:6.1f} MB of text, 2 workers: {peak:.0f} MiB"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
  with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
    yield


if __name__ == "__main__":
  cli.run(DataGenerationOptions, main)

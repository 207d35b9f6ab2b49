r"""How fast pre-training records are made, against the original algorithm on the same text; and in how much memory.

  python benchmarks/data_generation.py
  python benchmarks/data_generation.py --corpus_file=corpus.txt --vocab_file=vocab.txt --repetitions=5
  python benchmarks/data_generation.py --reference_mb=4 --memory_factor=0     # a quick look

Without --corpus_file the text is what `data_gen/extract_docstrings.py` and `data_gen/prepare_corpus.py` make of the
installed packages. Both sides read the same file, with the same flags (128 tokens, 20 predictions, 5 passes), and
write records to the same disk. Start-up is left out on both sides: importing, and reading the vocabulary; starting
our worker processes is counted. The reference (benchmarks/reference_data_generation.py) is timed once, for a minute
or two; ours several times, and the median counts.
"""

import contextlib
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

from absl import flags

from benchmarks.reference_data_generation import ReferenceGenerator
from benchmarks.reference_tokenizer import ReferenceTokenizer
from common import cli, files, parallel
from common.errors import UserError
from data_gen.generation import generate
from data_gen.generation_settings import Settings
from data_gen.vocabulary import Vocabulary

_CORPUS_FILE = flags.DEFINE_string("corpus_file", None, "A sentence a line, a blank line between documents.")
_VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "Default: the first vocabulary in vocab/.")
_CORPUS_MB = flags.DEFINE_float("corpus_mb", 20, "Text used of the corpus.")
_REFERENCE_MB = flags.DEFINE_float("reference_mb", None, "Text given to the reference, if less than all.")
_REPETITIONS = flags.DEFINE_integer("repetitions", 3, "Timed runs of ours.", lower_bound=1)
_MEMORY_FACTOR = flags.DEFINE_integer(
    "memory_factor", 10, "Memory is also measured on this many times the text; 0: not at all.")

_DUPE_FACTOR = 5
_MAX_SEQ_LENGTH, _MAX_PREDICTIONS_PER_SEQ = 128, 20


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


def time_reference(corpus: str, vocabulary: Vocabulary, output: str) -> tuple[float, int, int]:
  """Seconds, instances and tokens (of the output, without padding) of the reference."""
  import tensorflow as tf

  # TensorFlow's own start-up happens at the first use.
  with tf.io.TFRecordWriter(output) as writer:
    writer.write(tf.train.Example().SerializeToString())
  generator = ReferenceGenerator(
      ReferenceTokenizer(vocabulary.tokens), dupe_factor=_DUPE_FACTOR, max_seq_length=_MAX_SEQ_LENGTH,
      max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ)
  started = time.perf_counter()
  with open(corpus, encoding="utf-8") as file:
    instances = generator.instances(file)
  generator.write(instances, output)
  return time.perf_counter() - started, len(instances), sum(len(instance.tokens) for instance in instances)


def time_ours(corpus: str, vocab_file: str, output: str, num_workers: int) -> tuple[float, int, int]:
  """Seconds, instances and tokens of ours."""
  settings = Settings(vocab_file, dupe_factor=_DUPE_FACTOR, max_seq_length=_MAX_SEQ_LENGTH,
                      max_predictions_per_seq=_MAX_PREDICTIONS_PER_SEQ)
  started = time.perf_counter()
  with _quiet():
    result = generate([corpus], [output], f"{output}.stats.json", settings, num_workers)
  return time.perf_counter() - started, result["instances"], result["counts"]["real_tokens"]


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


def main(argv: Sequence[str]) -> None:
  cli.refuse_arguments(argv)
  ready = sorted(glob.glob(os.path.join(PROJECT, "vocab", "*.txt")))
  vocab_file = _VOCAB_FILE.value or (ready[0] if ready else None)
  if not vocab_file:
    raise UserError("--vocab_file must be given: there is none in vocab/")
  vocabulary = Vocabulary.from_file(files.check_readable(vocab_file, "vocab_file"))
  with tempfile.TemporaryDirectory() as folder:
    corpus, output = os.path.join(folder, "corpus.txt"), os.path.join(folder, "records.tfrecord")
    source = _CORPUS_FILE.value and files.check_readable(_CORPUS_FILE.value, "corpus_file")
    size = cut(source or make_docstring_corpus(folder), corpus, _CORPUS_MB.value)
    print(f"{source or 'docstrings of the installed packages'}: {size / 1e6:.1f} MB of text, {vocabulary.size:,} "
          f"word pieces, {_MAX_SEQ_LENGTH} tokens, {_MAX_PREDICTIONS_PER_SEQ} predictions, {_DUPE_FACTOR} passes, "
          f"{parallel.default_num_workers()} cores")
    counts = sorted({1, 2, parallel.default_num_workers()})
    # In turns, so that a busy moment of the machine hits all alike; before TensorFlow is imported for the reference,
    # because it would be copied into every worker.
    timed = [[time_ours(corpus, vocab_file, output, workers) for workers in counts] for _ in range(_REPETITIONS.value)]
    memory = list(_measure_memory(folder, corpus, size, vocab_file, output))
    reference_corpus = os.path.join(folder, "reference.txt")
    reference_size = cut(corpus, reference_corpus, _REFERENCE_MB.value or size / 1e6 + 1)
    seconds, instances, tokens = time_reference(reference_corpus, vocabulary, output)
  rate = reference_size / 1e6 / seconds
  print(f"{'':<22}{'seconds':>9}{'MB/s':>8}{'instances/s':>13}{'tokens/s':>12}{'ratio':>8}")
  print(f"{'original algorithm':<22}{seconds:9.2f}{rate:8.3f}{instances / seconds:13,.0f}{tokens / seconds:12,.0f}"
        f"{1:8.1f}")
  for workers, runs in zip(counts, zip(*timed, strict=True), strict=True):
    seconds = statistics.median(run[0] for run in runs)
    _, instances, tokens = runs[0]
    print(f"{f'ours, {workers} worker' + 's' * (workers > 1):<22}{seconds:9.2f}{size / 1e6 / seconds:8.3f}"
          f"{instances / seconds:13,.0f}{tokens / seconds:12,.0f}{size / 1e6 / seconds / rate:8.1f}"
          f"   ({min(run[0] for run in runs):.2f} to {max(run[0] for run in runs):.2f} s)")
  for line in memory:
    print(line)


def _measure_memory(folder: str, corpus: str, size: int, vocab_file: str, output: str) -> Iterator[str]:
  if not _MEMORY_FACTOR.value:
    return
  larger = os.path.join(folder, "larger.txt")
  larger_size = repeat(corpus, larger, _MEMORY_FACTOR.value)
  for path, text_bytes in ((corpus, size), (larger, larger_size)):
    peak = peak_mib(path, vocab_file, output, 2)
    yield f"peak memory of a process, {text_bytes / 1e6:6.1f} MB of text, 2 workers: {peak:.0f} MiB"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
  with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
    yield


if __name__ == "__main__":
  cli.run(main)

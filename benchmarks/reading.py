r"""What reading pre-training records costs one of many hosts, with and without groups of files; slow storage.

  python benchmarks/reading.py --input_file='records/*.tfrecord'
  python benchmarks/reading.py --input_file='records/*.tfrecord' --hosts=2 --latency_ms=50

The other hosts are simulated: the pipeline of the first one is read, as if there were so many; files are listed several
times where there are fewer than hosts. The cost is that of a step of all hosts together: bytes read and processor time
of the first host, its parsing included. It is held against the time that a step takes, by --examples_per_second of a
host. With a latency every read takes so much longer (a small library, compiled by cc), and what counts is how long
a step that takes its time waits for its batch.
"""

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.resources import Stopwatch
from bert_common import cli
from bert_common.options import FILES, Options, option
from bert_common.tables import print_table

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_reads.c")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadingOptions(Options):
  """Options of the benchmark."""

  input_file: str = option(None, "Records of one schema.", required=True, path=FILES)
  hosts: tuple[int, ...] = option((1, 2, 8, 64, 256), "How many hosts there are.")
  replicas: int = option(8, "Replicas of a host.", minimum=1)
  host_batch_size: int = option(2048, "Examples of a step, a host.", minimum=1)
  steps: int = option(8, "Steps measured.", minimum=1)
  warm_up_records: int = option(
      20_000, "Read before, so that the shuffle buffer is full.", minimum=0)
  examples_per_second: float = option(
      27_000, "What a host trains: 8 GPUs of the 3,400 measured for BERT-Base at 128 tokens on an H100.", above=0)
  latency_ms: int = option(0, "How much longer every read takes.", minimum=0)


def main(options: ReadingOptions) -> None:
  if options.latency_ms and "SLOW_READS_MS" not in os.environ:
    _start_with_latency(options)
    return
  print_table([("hosts", "groups", "MB/step", "ms of processor time/step", "of a core while a step computes",
                "ms that a step waits"),
               *(_measure(options, hosts, groups) for hosts in options.hosts for groups in dict.fromkeys((1, hosts)))])


def _start_with_latency(options: ReadingOptions) -> None:
  with tempfile.TemporaryDirectory() as folder:
    library = os.path.join(folder, "slow_reads.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl"], check=True)
    directory = os.path.dirname(os.path.realpath(options.input_file.split(",")[0]))
    subprocess.run([sys.executable, *sys.orig_argv[1:]], check=True, env={
        **os.environ, "LD_PRELOAD": library, "SLOW_READS_DIR": directory, "SLOW_READS_MS": str(options.latency_ms)})


def _measure(options: ReadingOptions, hosts: int, groups: int) -> tuple[str, ...]:
  import tensorflow as tf

  from bert_tf.tasks.pretraining.data import check_records, parser
  from bert_tf.training.inputs import RecordFiles, training_dataset
  from data_gen.pretraining.record_files import find_records
  from data_gen.pretraining.records import inspect_first_record
  from modeling.config import BertConfig

  schema = inspect_first_record(find_records(options.input_file, "input_file")[0]).schema
  config = BertConfig(vocab_size=1 << 20, max_position_embeddings=max(512, schema.max_seq_length))
  files = check_records(options.input_file, "input_file", config, schema.max_seq_length,
                        schema.max_predictions_per_seq).files
  times = -(-hosts // len(files.paths))
  files = RecordFiles(files.paths * times, files.counts * times, files.gzipped * times)
  parse = parser(schema, config)
  batches = iter(training_dataset(
      files, lambda records, passes: parse(records, passes), hosts * options.host_batch_size, 0, 0,
      tf.distribute.InputContext(hosts, 0, hosts * options.replicas), groups))
  step_seconds = options.host_batch_size / options.examples_per_second
  read = options.host_batch_size * hosts // groups
  for _ in range(max(2, options.warm_up_records // read) * options.replicas):
    next(batches)
  watch, before, waits = Stopwatch(), _bytes_read(), []
  for _ in range(options.steps):
    began = time.perf_counter()
    for _ in range(options.replicas):
      next(batches)
    waits.append(time.perf_counter() - began)
    # Only where waiting is what counts: sleeping would let the pipeline read ahead of what is measured.
    if options.latency_ms:
      time.sleep(max(step_seconds - waits[-1], 0))
  _, processor = watch.read()
  return (f"{hosts}", f"{groups}", f"{(_bytes_read() - before) / options.steps / 1e6:,.1f}",
          f"{1000 * processor / options.steps:,.1f}", f"{processor / options.steps / step_seconds:.0%}",
          f"{1000 * statistics.median(waits):,.1f}")


def _bytes_read() -> int:
  with open("/proc/self/io") as file:
    return int(file.readline().split()[1])


if __name__ == "__main__":
  cli.run(ReadingOptions, main)

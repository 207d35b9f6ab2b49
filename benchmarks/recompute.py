"""Memory and time of a training step with and without `--recompute`.

  python benchmarks/recompute.py                                   # BERT-Base, batch 8, 384 tokens
  python benchmarks/recompute.py --size=large --batch_size=4 --max_seq_length=512

A pre-training step (forward, backward, clipping, AdamW; dropout on, float32) on a random batch. Each measurement is a
process of its own; the two ways take turns. CPU seconds are those of all threads, which another program on the machine
changes less than the time that passes. "Activations" is what the process has needed at most beyond what it held
before the first step, when weights and optimizer slots were there.
"""

import dataclasses
import resource
import statistics

from benchmarks import resources
from benchmarks.interleaved import find_program
from benchmarks.pretraining_step import find_config, random_batch
from bert_tf.common import cli
from bert_tf.common.options import Options, option
from bert_tf.common.tables import print_table

_PROGRAMS = ("kept", "recomputed")
_WARM_UP_STEPS = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecomputeOptions(Options):
  """Options of the benchmark."""

  size: str = option("base", "L<layers>-H<hidden>, or base or large.")
  batch_size: int = option(8, "Examples of a step.", minimum=1)
  max_seq_length: int = option(384, "Tokens of an example.", minimum=32)
  vocab_size: int = option(30522, "Entries of the vocabulary.", minimum=1)
  repetitions: int = option(3, "Processes of each way.", minimum=1)
  steps: int = option(3, "Steps of a process that are timed.", minimum=1)
  jit_compile: bool = option(False, "With XLA.")


def main(options: RecomputeOptions) -> None:
  config = find_config(options.size, options.vocab_size)
  results: dict[str, list[dict]] = {name: [] for name in _PROGRAMS}
  for _ in range(options.repetitions):
    for name, measured in results.items():
      measured.append(resources.in_new_process(_measure, options, name == _PROGRAMS[1]))
  print(f"{options.size}, {config.num_hidden_layers} layers of {config.hidden_size} units, batch {options.batch_size}, "
        f"{options.max_seq_length} tokens, float32{', XLA' if options.jit_compile else ''}; medians of "
        f"{options.repetitions} processes")
  medians = {name: {key: statistics.median(one[key] for one in ones) for key in ones[0]}
             for name, ones in results.items()}
  print_table([("activations", "MiB", "process, MiB", "s/step", "CPU s/step"),
               *((name, f"{one['activations']:,.0f}", f"{one['peak']:,.0f}", f"{one['seconds']:.2f}",
                  f"{one['cpu']:.2f}") for name, one in medians.items())])
  kept, again = medians["kept"], medians["recomputed"]
  print(f"recomputed: {again['activations'] / kept['activations']:.2f} of the memory for activations, "
        f"{again['seconds'] / kept['seconds']:.2f} of the time, {again['cpu'] / kept['cpu']:.2f} of the CPU time")


def _measure(options: RecomputeOptions, recompute: bool) -> dict[str, float]:
  """MiB of activations and of the process, seconds and CPU seconds of a step."""
  config = find_config(options.size, options.vocab_size)
  batch = random_batch(options.batch_size, options.max_seq_length, options.max_seq_length * 15 // 100,
                       options.vocab_size)
  step = find_program("ours.pretraining")(
      config, batch, "float32", options.jit_compile, recompute=recompute)
  before = _memory_now()
  for _ in range(_WARM_UP_STEPS):
    step()
  timings = []
  for _ in range(options.steps):
    watch = resources.Stopwatch()
    step()
    timings.append(watch.read())
  seconds, cpu = (statistics.median(column) for column in zip(*timings, strict=True))
  peak = resources.peak_mib()
  return {"activations": peak - before, "peak": peak, "seconds": seconds, "cpu": cpu}


def _memory_now() -> float:
  """MiB that the process holds; Linux."""
  with open("/proc/self/statm") as file:
    return int(file.read().split()[1]) * resource.getpagesize() / 2**20


if __name__ == "__main__":
  cli.run(RecomputeOptions, main)

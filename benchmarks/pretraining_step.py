"""Speed of one full pre-training step (forward, backward, clipping, AdamW) beside the peers', in one run.

  python benchmarks/pretraining_step.py                          # L4-H256, batch 32
  python benchmarks/pretraining_step.py --size=base --batch_size=8

Same random batch (128 tokens, 20 predictions), dropout on, float32. Compared: this project with and without XLA, the
Model Garden's BertPretrainerV2 with its AdamW, and Hugging Face's BertForPreTraining on PyTorch where it is installed
(requirements-peers.txt).
"""

import dataclasses
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks import interleaved
from common import cli
from common.errors import UserError
from common.options import option

SEQUENCE_LENGTH, PREDICTIONS = 128, 20
_MATMUL_SIZE, _MATMULS = 2048, 20
_PROGRAMS = ("ours", "ours_xla", "model_garden", "model_garden_xla", "pytorch")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingStepOptions(interleaved.TurnsOptions):
  """Options of the benchmark."""

  size: str = option("L4-H256", "L<layers>-H<hidden>, or base or large.")
  batch_size: int = option(32, "Examples of a step.", minimum=1)
  vocab_size: int = option(30522, "Entries of the vocabulary.", minimum=1)
  repetitions: int = option(7, "Turns of each program.", minimum=1)
  steps: int = option(3, "Steps of a turn.", minimum=1)
  programs: tuple[str, ...] = option(_PROGRAMS, "What is measured.", choices=_PROGRAMS)
  precision: str = option("float32", "Of all of them.", choices=("float32", "bfloat16"))


def main(options: PretrainingStepOptions) -> None:
  if options.worker:
    return _work(options)
  # Before the programs start, so that a wrong --size is one error and not one of each.
  config = find_config(options.size, options.vocab_size)
  seconds = interleaved.take_turns(
      interleaved.worker_commands(__file__, options, ("matmul", *options.programs)), options.repetitions)
  from training.throughput import training_flops

  peak = _MATMULS * 2.0 * _MATMUL_SIZE**3 / statistics.median(seconds.pop("matmul"))
  flops = options.batch_size * training_flops(config, SEQUENCE_LENGTH, PREDICTIONS)
  ours = min((name for name in seconds if name.startswith("ours")), key=lambda name: statistics.median(seconds[name]))
  print(f"{options.size}, batch {options.batch_size}, {SEQUENCE_LENGTH} tokens, {PREDICTIONS} predictions, vocabulary "
        f"{options.vocab_size:,}, {options.precision}: {flops / 1e9:.0f} GFLOP a step; "
        f"float32 matrix product {peak / 1e9:.0f} GFLOP/s; medians of {options.repetitions} turns")
  print(f"{'program':18} {'ms/step':>8} {'seq/s':>8} {'of peak':>8} {'ours is faster by':>18}")
  for name, turns in seconds.items():
    step = statistics.median(turns) / options.steps
    print(f"{name:18} {step * 1e3:8.0f} {options.batch_size / step:8.1f} {flops / step / peak:8.0%} "
          f"{interleaved.median_ratio(turns, seconds[ours]):17.2f}x")
  return None


def find_config(size: str, vocab_size: int):
  """The configuration of --size, with so many entries of the vocabulary.

  Raises:
    UserError: there is no such size.
  """
  from modeling.config import BertConfig
  from modeling.presets import PRESETS

  name = size if size in PRESETS else f"bert-{size}"
  if name not in PRESETS:
    raise UserError(f"--size={size} is unknown: use one of {', '.join(sorted(PRESETS))}")
  return BertConfig.from_dict({**PRESETS[name].to_dict(), "vocab_size": vocab_size})


def random_batch(size: int, length: int, predictions: int, vocab_size: int) -> dict:
  """Features of `size` pre-training examples, int64 [size, ...] each, without padding."""
  import numpy as np

  generator = np.random.default_rng(0)
  shape, predicted = (size, length), (size, predictions)
  return {
      "input_ids": generator.integers(0, vocab_size, shape),
      "input_mask": np.ones(shape, np.int64),
      "segment_ids": np.sort(generator.integers(0, 2, shape)),
      "masked_lm_positions": np.sort(generator.integers(1, length, predicted)),
      "masked_lm_ids": generator.integers(0, vocab_size, predicted),
      "next_sentence_labels": generator.integers(0, 2, (size, 1)),
  }


def _work(options: PretrainingStepOptions) -> None:
  from benchmarks import pretraining_programs

  if options.worker == "matmul":
    step, steps = pretraining_programs.matmul(_MATMUL_SIZE), _MATMULS
  else:
    config = find_config(options.size, options.vocab_size)
    batch = random_batch(options.batch_size, SEQUENCE_LENGTH, PREDICTIONS, options.vocab_size)
    step = getattr(pretraining_programs, options.worker)(config, batch, options.precision)
    steps = options.steps
  for _ in range(3):
    step()
  interleaved.serve(lambda: [step() for _ in range(steps)])


if __name__ == "__main__":
  cli.run(PretrainingStepOptions, main)

"""Speed of one full pre-training step (forward, backward, clipping, AdamW) beside the peers', in one run.

  python benchmarks/pretraining_step.py                          # L4-H256, batch 32
  python benchmarks/pretraining_step.py --size=base --batch_size=8

Same random batch (128 tokens, 20 predictions), dropout on, float32. Compared: this project with and without XLA, the
Model Garden's BertPretrainerV2 with its AdamW, and Hugging Face's BertForPreTraining on PyTorch where it is installed
(requirements-peers.txt).
"""

import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from absl import flags

from benchmarks import interleaved
from common import cli
from common.errors import UserError

FLAGS = flags.FLAGS
flags.DEFINE_string("size", "L4-H256", "L<layers>-H<hidden>, or base or large.")
flags.DEFINE_integer("batch_size", 32, "Examples of a step.")
flags.DEFINE_integer("vocab_size", 30522, "Entries of the vocabulary.")
flags.DEFINE_integer("repetitions", 7, "Turns of each program.")
flags.DEFINE_integer("steps", 3, "Steps of a turn.")
flags.DEFINE_list("programs", ["ours", "ours_xla", "model_garden", "model_garden_xla", "pytorch"], "What is measured.")
flags.DEFINE_string("precision", "float32", "float32 or bfloat16, for all of them.")
flags.DEFINE_string("worker", None, "Used by the benchmark itself.")

SEQUENCE_LENGTH, PREDICTIONS = 128, 20


def main(argv) -> None:
  cli.refuse_arguments(argv)
  if FLAGS.worker:
    return _work()
  # Before the programs start, so that a wrong --size is one error and not one of each.
  config = _config()
  common = [f"--{name}={FLAGS[name].value}" for name in ("size", "batch_size", "vocab_size", "steps", "precision")]
  commands = {name: [sys.executable, os.path.abspath(__file__), f"--worker={name}", *common]
              for name in ("matmul", *FLAGS.programs)}
  seconds = interleaved.take_turns(commands, FLAGS.repetitions)
  from training.throughput import training_flops

  peak = _MATMULS * 2.0 * _MATMUL_SIZE**3 / statistics.median(seconds.pop("matmul"))
  flops = FLAGS.batch_size * training_flops(config, SEQUENCE_LENGTH, PREDICTIONS)
  ours = min((name for name in seconds if name.startswith("ours")), key=lambda name: statistics.median(seconds[name]))
  print(f"{FLAGS.size}, batch {FLAGS.batch_size}, {SEQUENCE_LENGTH} tokens, {PREDICTIONS} predictions, vocabulary "
        f"{FLAGS.vocab_size:,}, {FLAGS.precision}: {flops / 1e9:.0f} GFLOP a step; "
        f"float32 matrix product {peak / 1e9:.0f} GFLOP/s; medians of {FLAGS.repetitions} turns")
  print(f"{'program':18} {'ms/step':>8} {'seq/s':>8} {'of peak':>8} {'ours is faster by':>18}")
  for name, turns in seconds.items():
    step = statistics.median(turns) / FLAGS.steps
    print(f"{name:18} {step * 1e3:8.0f} {FLAGS.batch_size / step:8.1f} {flops / step / peak:8.0%} "
          f"{interleaved.median_ratio(turns, seconds[ours]):17.2f}x")
  return None


_MATMUL_SIZE, _MATMULS = 2048, 20


def _config():
  from modeling.config import BertConfig
  from modeling.presets import PRESETS

  name = FLAGS.size if FLAGS.size in PRESETS else f"bert-{FLAGS.size}"
  if name not in PRESETS:
    raise UserError(f"--size={FLAGS.size} is unknown: use one of {', '.join(sorted(PRESETS))}")
  return BertConfig.from_dict({**PRESETS[name].to_dict(), "vocab_size": FLAGS.vocab_size})


def _work() -> None:
  import numpy as np

  from benchmarks import pretraining_programs

  if FLAGS.worker == "matmul":
    step, steps = pretraining_programs.matmul(_MATMUL_SIZE), _MATMULS
  else:
    config = _config()
    generator = np.random.default_rng(0)
    shape, predicted = (FLAGS.batch_size, SEQUENCE_LENGTH), (FLAGS.batch_size, PREDICTIONS)
    batch = {
        "input_ids": generator.integers(0, FLAGS.vocab_size, shape),
        "input_mask": np.ones(shape, np.int64),
        "segment_ids": np.sort(generator.integers(0, 2, shape)),
        "masked_lm_positions": np.sort(generator.integers(1, SEQUENCE_LENGTH, predicted)),
        "masked_lm_ids": generator.integers(0, FLAGS.vocab_size, predicted),
        "next_sentence_labels": generator.integers(0, 2, (FLAGS.batch_size, 1)),
    }
    step = getattr(pretraining_programs, FLAGS.worker)(config, batch, FLAGS.precision)
    steps = FLAGS.steps
  for _ in range(3):
    step()
  interleaved.serve(lambda: [step() for _ in range(steps)])


if __name__ == "__main__":
  cli.run(main)

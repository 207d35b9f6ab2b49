"""Fine-tuning a classifier, in examples per second over an epoch of MRPC, beside the peers, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # a whole epoch, in four turns
  python benchmarks/finetuning.py --max_steps=8                 # the shape of MRPC's lengths, the first 8 steps a turn

The same network (6 layers, 384 units), batch 32, at most 128 tokens, dropout on, float32: forward, backward, clipping,
AdamW, and the making of the batches. Compared: this project, the Model Garden's BertClassifier padded to 128, and,
where PyTorch is installed (requirements-peers.txt), Hugging Face's BertForSequenceClassification padded to 128, padded
to the longest of each batch, and batched by similar length. Compilation is not counted: ours compiles some functions
for each of the lengths that batches are padded to, before it is measured.

Without --data_dir the lengths are drawn from a normal distribution like MRPC's, and the tokens are random.
"""

import os
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

import numpy as np
from absl import flags

from benchmarks import interleaved
from benchmarks.finetuning_examples import VOCAB_SIZE, full_batches, synthetic_examples, turn_steps
from common import cli

FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", None, "Where MRPC/train.tsv is; None for synthetic examples.")
flags.DEFINE_string("vocab_file", os.path.join(PROJECT, "vocab", "english_uncased", "vocab.txt"),
                    "Vocabulary for --data_dir; the published one of BERT makes 53 tokens an example of MRPC.")
flags.DEFINE_integer("batch_size", 32, "Examples of a step.", lower_bound=1)
flags.DEFINE_integer("max_seq_length", 128, "Longer pairs are truncated.", lower_bound=3)
flags.DEFINE_integer("layers", 6, "L of the network.", lower_bound=1)
flags.DEFINE_integer("hidden_size", 384, "H of the network; heads of 32 units, 4 H in the feed-forward layers.",
                     lower_bound=32)
flags.DEFINE_integer("turns", 4, "Turns that the epoch is cut into.", lower_bound=1)
flags.DEFINE_integer("max_steps", None, "Steps of a turn, at most.", lower_bound=1)
flags.DEFINE_list("programs", ["ours", "model_garden", "pytorch", "pytorch_dynamic", "pytorch_grouped"],
                  "What is measured; there is also ours_padded.")
flags.DEFINE_string("worker", None, "Used by the benchmark itself.")

_SHARED = ("data_dir", "vocab_file", "batch_size", "max_seq_length", "layers", "hidden_size")


def main(argv) -> None:
  cli.refuse_arguments(argv)
  # Before the programs start, so that a wrong flag is one error and not one of each.
  examples = full_batches(_read_examples(), FLAGS.batch_size)
  steps = turn_steps(len(examples) // FLAGS.batch_size, FLAGS.turns, FLAGS.max_steps)
  if FLAGS.worker:
    return _work(examples, steps)
  common = [f"--{name}={FLAGS[name].value}" for name in (*_SHARED, "turns", "max_steps")
            if FLAGS[name].value is not None]
  seconds = interleaved.take_turns(
      {name: [sys.executable, os.path.abspath(__file__), f"--worker={name}", *common] for name in FLAGS.programs},
      len(steps))
  lengths = examples.row_lengths
  print(f"L{FLAGS.layers}-H{FLAGS.hidden_size}, batch {FLAGS.batch_size}, limit {FLAGS.max_seq_length}, "
        f"{len(examples):,} examples of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  first = next(iter(seconds))
  print(f"{'program':18} {'examples/s':>10}  {'slowest and fastest turn':>24}  {first} is faster by")
  for name, turns in seconds.items():
    rates = [FLAGS.batch_size * number / turn for number, turn in zip(steps, turns, strict=True)]
    print(f"{name:18} {FLAGS.batch_size * sum(steps) / sum(turns):10.1f}  "
          f"{f'{min(rates):.1f} to {max(rates):.1f}':>24}  "
          f"{sum(turns) / sum(seconds[first]):.2f}x (median of turns "
          f"{interleaved.median_ratio(turns, seconds[first]):.2f}x)")
  return None


def _read_examples():
  if FLAGS.data_dir is None:
    return synthetic_examples(FLAGS.max_seq_length)
  from data_gen.labelled.glue import find_task, read_split
  from data_gen.labelled.pair_features import encode_pairs
  from data_gen.tokenization.tokenizer import Tokenizer
  from training.examples import Examples

  texts = read_split(find_task("mrpc"), FLAGS.data_dir, "train")
  features = encode_pairs(Tokenizer.from_file(FLAGS.vocab_file, True), texts.text_a, texts.text_b,
                          FLAGS.max_seq_length)
  return Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                  {"label_ids": np.asarray(texts.labels, np.int32)})


def _work(examples, steps: list[int]) -> None:
  from benchmarks import finetuning_programs
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=VOCAB_SIZE, hidden_size=FLAGS.hidden_size, num_hidden_layers=FLAGS.layers,
      num_attention_heads=FLAGS.hidden_size // 32, intermediate_size=4 * FLAGS.hidden_size)
  run = getattr(finetuning_programs, FLAGS.worker)(config, examples, FLAGS.batch_size, FLAGS.max_seq_length)
  remaining = iter(steps)
  interleaved.serve(lambda: run(next(remaining)))


if __name__ == "__main__":
  cli.run(main)

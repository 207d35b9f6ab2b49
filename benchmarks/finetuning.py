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

import dataclasses
import os
import sys
import types
from collections.abc import Mapping

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

import numpy as np

from benchmarks import interleaved, texts
from common import cli
from common.options import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(interleaved.TurnsOptions):
  """Options of the benchmark."""

  data_dir: str | None = option(None, "Where MRPC/train.tsv is.", default_text="synthetic examples")
  vocab_file: str = option(
      texts.READY_VOCABULARY,
      "Vocabulary for --data_dir; the published one of BERT makes 53 tokens an example of MRPC.",
      default_text="vocab/english_uncased/vocab.txt")
  batch_size: int = option(32, "Examples of a step.", minimum=1)
  max_seq_length: int = option(128, "Longer pairs are truncated.", minimum=3)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; heads of 32 units, 4 H in the feed-forward layers.", minimum=32)
  turns: int = option(4, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(
      ("ours", "model_garden", "pytorch", "pytorch_dynamic", "pytorch_grouped"), "What is measured.",
      choices=("ours", "ours_padded", "model_garden", "pytorch", "pytorch_dynamic", "pytorch_grouped"))


def main(options: FinetuningOptions) -> None:
  from benchmarks.finetuning_examples import full_batches, turn_steps

  # Before the programs start, so that a wrong flag is one error and not one of each.
  examples = full_batches(_read_examples(options), options.batch_size)
  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)
  if options.worker:
    from benchmarks import finetuning_programs

    return work(finetuning_programs, options, examples, steps)
  seconds = interleaved.take_turns(interleaved.worker_commands(__file__, options, options.programs), len(steps))
  lengths = examples.row_lengths
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} examples of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  print_rates(seconds, [options.batch_size * number for number in steps])
  return None


def print_rates(seconds: Mapping[str, list[float]], examples: list[int]) -> None:
  """A table of the examples per second of programs, and how much faster the first one is.

  Args:
    seconds: program → time of each turn.
    examples: of each turn.
  """
  first = next(iter(seconds))
  print(f"{'program':18} {'examples/s':>10}  {'slowest and fastest turn':>24}  {first} is faster by")
  for name, turns in seconds.items():
    rates = [number / turn for number, turn in zip(examples, turns, strict=True)]
    print(f"{name:18} {sum(examples) / sum(turns):10.1f}  {f'{min(rates):.1f} to {max(rates):.1f}':>24}  "
          f"{sum(turns) / sum(seconds[first]):.2f}x (median of turns "
          f"{interleaved.median_ratio(turns, seconds[first]):.2f}x)")


def _read_examples(options: FinetuningOptions):
  if options.data_dir is None:
    from benchmarks.finetuning_examples import synthetic_examples

    return synthetic_examples(options.max_seq_length)
  from data_gen.labelled.glue import find_task, read_split
  from data_gen.labelled.pair_features import encode_pairs
  from data_gen.tokenization.tokenizer import Tokenizer
  from training.examples import Examples

  split = read_split(find_task("mrpc"), options.data_dir, "train")
  features = encode_pairs(Tokenizer.from_file(options.vocab_file, True), split.text_a, split.text_b,
                          options.max_seq_length)
  return Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                  {"label_ids": np.asarray(split.labels, np.int32)})


def work(programs: types.ModuleType, options, examples, steps: list[int]) -> None:
  """The program `options.worker` of `programs`: runs a turn of so many steps whenever it is told to.

  Args:
    options: also `hidden_size`, `layers`, `batch_size` and `max_seq_length`.
  """
  from benchmarks.finetuning_examples import VOCAB_SIZE
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=VOCAB_SIZE, hidden_size=options.hidden_size, num_hidden_layers=options.layers,
      num_attention_heads=options.hidden_size // 32, intermediate_size=4 * options.hidden_size)
  run = getattr(programs, options.worker)(config, examples, options.batch_size, options.max_seq_length)
  remaining = iter(steps)
  interleaved.serve(lambda: run(next(remaining)))


if __name__ == "__main__":
  cli.run(FinetuningOptions, main)

"""Fine-tuning a classifier, in examples per second over an epoch of MRPC, beside the peers, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # a whole epoch, in five turns
  python benchmarks/finetuning.py --max_steps=8                 # the shape of MRPC's lengths, the first 8 steps a turn

The same network (6 layers, 384 units), batch 32, at most 128 tokens, dropout on, float32: forward, backward, clipping,
AdamW, and the making of the batches. Compared: this project; the Model Garden's BertClassifier padded to 128, and in
batches of similar length; and, where PyTorch is installed (requirements-peers.txt), Hugging Face's
BertForSequenceClassification padded to 128, padded to the longest of each batch, and in batches of similar length.
Compilation is not counted: every program has seen all the shapes that are measured.

Without --data_dir the lengths are drawn from a normal distribution like MRPC's, and the tokens are random.
"""

import dataclasses
import types
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import interleaved, texts
from bert_tf.common import cli
from bert_tf.common.options import option

_PROGRAMS = ("ours", "model_garden", "model_garden_grouped", "pytorch", "pytorch_dynamic", "pytorch_grouped")


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
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(
      _PROGRAMS, "What is measured.", choices=(*_PROGRAMS, "ours_padded"))


def main(options: FinetuningOptions) -> None:
  from benchmarks import finetuning_programs
  from benchmarks.finetuning_examples import full_batches

  # Before the programs start, so that a wrong flag is one error and not one of each.
  compare(__file__, options, options.programs, finetuning_programs,
          full_batches(_read_examples(options), options.batch_size), "examples")


def compare(script: str, options, programs: Sequence[str], module: types.ModuleType, examples, unit: str) -> None:
  """Measures programs that go through the same examples, and prints how fast they are; or is one of them.

  Args:
    script: path of the benchmark.
    options: its options; also `hidden_size`, `layers`, `batch_size`, `max_seq_length`, `turns` and `max_steps`.
    programs: their names, functions of `module`.
    module: see `benchmarks/finetuning_programs.py`.
    examples: `Examples` in whole batches.
    unit: what they are, plural.
  """
  from benchmarks.finetuning_examples import turn_steps

  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)

  def build(name: str) -> Callable[[], None]:
    run = getattr(module, name)(_config(options), examples, options.batch_size, options.max_seq_length, sum(steps))
    remaining = iter(steps)
    return lambda: run(next(remaining))

  if options.worker:
    return interleaved.serve(build(options.worker), options.clock)
  seconds = interleaved.take_turns(script, options, programs, len(steps), build)
  lengths = examples.row_lengths
  sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  interleaved.print_rates(seconds, [options.batch_size * number for number in steps], unit)
  return None


def _config(options):
  from benchmarks.finetuning_examples import VOCAB_SIZE
  from modeling.config import BertConfig

  return BertConfig(
      vocab_size=VOCAB_SIZE, hidden_size=options.hidden_size, num_hidden_layers=options.layers,
      num_attention_heads=options.hidden_size // 32, intermediate_size=4 * options.hidden_size)


def _read_examples(options: FinetuningOptions):
  if options.data_dir is None:
    from benchmarks.finetuning_examples import synthetic_examples

    return synthetic_examples(options.max_seq_length)
  from bert_tf.training.examples import Examples
  from data_gen.labelled.glue import find_task, read_split
  from data_gen.labelled.pair_features import encode_pairs
  from data_gen.tokenization.tokenizer import Tokenizer

  split = read_split(find_task("mrpc"), options.data_dir, "train")
  features = encode_pairs(Tokenizer.from_file(options.vocab_file, True), split.text_a, split.text_b,
                          options.max_seq_length)
  return Examples({"input_ids": features.input_ids, "segment_ids": features.segment_ids}, features.row_lengths,
                  {"label_ids": np.asarray(split.labels, np.int32)})


if __name__ == "__main__":
  cli.run(FinetuningOptions, main)

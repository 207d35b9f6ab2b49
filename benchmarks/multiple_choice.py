"""Fine-tuning on questions with four choices, in questions per second over an epoch of CODAH, beside the peers.

  python benchmarks/multiple_choice.py --train_file=train.csv --vocab_file=vocab.txt   # a whole epoch, in four turns
  python benchmarks/multiple_choice.py --max_steps=8            # the shape of CODAH's lengths, the first 8 steps a turn

The same network (6 layers, 384 units), batch 16, at most 128 tokens, dropout on, float32: forward, backward, clipping,
AdamW, and the making of the batches, all in one run. Compared: this project; the Model Garden's encoder with the same
head; and, where PyTorch is installed (requirements-peers.txt), Hugging Face's BertForMultipleChoice with fused AdamW
and tanh GELU as one kernel. The peers pad each batch to its longest sequence; `pytorch_grouped` also has batches of
similar length. Compilation is not counted.

Without --train_file the lengths are drawn from normal distributions like CODAH's, and the tokens are random.
"""

import dataclasses
import os
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PROJECT)

from benchmarks import finetuning, interleaved, texts
from common import cli
from common.options import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoiceBenchmarkOptions(interleaved.TurnsOptions):
  """Options of the benchmark."""

  train_file: str | None = option(None, "Questions in SWAG's columns.", default_text="synthetic questions")
  vocab_file: str = option(
      texts.READY_VOCABULARY, "Vocabulary for --train_file.", default_text="vocab/english_uncased/vocab.txt")
  batch_size: int = option(16, "Questions of a step.", minimum=1)
  max_seq_length: int = option(128, "Longer sequences are truncated.", minimum=3)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; heads of 32 units, 4 H in the feed-forward layers.", minimum=32)
  turns: int = option(4, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(
      ("ours", "model_garden", "pytorch", "pytorch_grouped"), "What is measured.",
      choices=("ours", "model_garden", "pytorch", "pytorch_grouped"))


def main(options: MultipleChoiceBenchmarkOptions) -> None:
  from benchmarks import multiple_choice_programs
  from benchmarks.finetuning_examples import turn_steps

  # Before the programs start, so that a wrong flag is one error and not one of each.
  examples = multiple_choice_programs.full_batches(_read_examples(options), options.batch_size)
  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)
  if options.worker:
    return finetuning.work(multiple_choice_programs, options, examples, steps)
  seconds = interleaved.take_turns(interleaved.worker_commands(__file__, options, options.programs), len(steps))
  lengths = examples.row_lengths
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} questions, {len(lengths):,} choices of {lengths.mean():.1f} tokens (longest "
        f"{lengths.max()}); {sum(steps)} steps in {len(steps)} turns")
  finetuning.print_rates(seconds, [options.batch_size * number for number in steps])
  return None


def _read_examples(options: MultipleChoiceBenchmarkOptions):
  if options.train_file is None:
    from benchmarks.multiple_choice_programs import synthetic_questions

    return synthetic_questions(options.max_seq_length)
  from data_gen.labelled.multiple_choice import read_swag
  from data_gen.tokenization.tokenizer import Tokenizer
  from tasks.multiple_choice.data import encode

  return encode(Tokenizer.from_file(options.vocab_file, True), read_swag(options.train_file, "train_file"),
                options.max_seq_length, False)[0]


if __name__ == "__main__":
  cli.run(MultipleChoiceBenchmarkOptions, main)

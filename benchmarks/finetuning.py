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
from collections.abc import Callable, Mapping, Sequence

from benchmarks import interleaved, texts
from bert_tf.common import cli
from bert_tf.common.options import option

# What a batch is padded to: the limit, its longest sequence, or that with sequences of similar length in a batch.
LIMIT, LONGEST, GROUPED = "limit", "longest", "grouped"


@dataclasses.dataclass(frozen=True)
class Program:
  """A program of a benchmark of fine-tuning.

  Attributes:
    framework: whose it is.
    padding: one of the three above.
    predicts: it predicts, and does not train.
  """

  framework: str
  padding: str = GROUPED
  predicts: bool = False


_PROGRAMS = {
    "ours": Program("ours"), "model_garden": Program("model_garden", LIMIT),
    "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", LIMIT),
    "pytorch_dynamic": Program("pytorch", LONGEST), "pytorch_grouped": Program("pytorch"),
    "ours_padded": Program("ours", LIMIT)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EpochOptions(texts.VocabularyOptions, interleaved.TurnsOptions):
  """Options of every benchmark of fine-tuning."""

  batch_size: int = option(32, "Examples of a step.", minimum=1)
  max_seq_length: int = option(128, "Longer sequences are cut.", minimum=3)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; heads of 32 units, 4 H in the feed-forward layers.", minimum=32)
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(EpochOptions):
  """Options of the benchmark."""

  data_dir: str | None = option(None, "Where MRPC/train.tsv is; the published vocabulary of BERT makes 53 tokens an "
                                "example.", default_text="synthetic examples")
  programs: tuple[str, ...] = option(tuple(_PROGRAMS)[:-1], "What is measured.", choices=tuple(_PROGRAMS))


def main(options: FinetuningOptions) -> None:
  measure(options, "classification", {name: _PROGRAMS[name] for name in options.programs}, _read_examples,
          "examples")


def measure(options: EpochOptions, task: str, programs: Mapping[str, Program], read_examples: Callable,
            unit: str) -> None:
  """Measures programs that go through the same examples, and prints how fast they are.

  Args:
    options: its options.
    task: one of `examples.CLASSES`.
    programs: by name.
    read_examples: the options → `Examples`.
    unit: what they are, plural.
  """
  from benchmarks.examples import full_batches

  # Before the programs start, so that a wrong flag is one error and not one of each.
  examples = full_batches(read_examples(options), options.batch_size)
  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)

  seconds = interleaved.take_turns(
      options, tuple(programs), len(steps), _build, options, task, programs, examples, steps)
  lengths = examples.row_lengths
  sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  interleaved.print_rates(seconds, [options.batch_size * number for number in steps], unit)


def turn_steps(steps_per_epoch: int, turns: int, max_steps: int | None) -> list[int]:
  """How many steps each turn has: an epoch in equal parts, or less."""
  turns = min(turns, steps_per_epoch)
  parts = [steps_per_epoch // turns + (turn < steps_per_epoch % turns) for turn in range(turns)]
  return [min(part, max_steps or part) for part in parts]


def _build(options: EpochOptions, task: str, programs: Mapping[str, Program], examples, steps: Sequence[int], name: str
           ) -> Callable[[], None]:
  """The next turn of the program, which has seen every shape that there will be."""
  run = _make(options, task, programs[name], examples, sum(steps))
  remaining = iter(steps)
  return lambda: run(next(remaining))


def _make(options: EpochOptions, task: str, program: Program, examples, steps: int) -> Callable[[int], None]:
  """A function of a number of steps, which has seen every shape that `steps` steps will have."""
  from benchmarks.examples import VOCAB_SIZE
  from bert_tf.training.examples import lengths_for, padded_lengths
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=VOCAB_SIZE, hidden_size=options.hidden_size, num_hidden_layers=options.layers,
      num_attention_heads=options.hidden_size // 32, intermediate_size=4 * options.hidden_size)
  limit, is_padded = options.max_seq_length, program.padding == LIMIT
  if program.framework == "ours":
    from benchmarks import ours

    lengths = padded_lengths(limit, 1) if is_padded else lengths_for(limit, jit_compile=False)
    if program.predicts:
      return ours.tagging(config, examples, options.batch_size, lengths)
    return ours.fine_tuning(task, config, examples, options.batch_size, lengths)
  if program.framework == "pytorch":
    from benchmarks.pytorch_peers import PyTorch as Peer
  else:
    from benchmarks.tensorflow_peers import ModelGarden as Peer
  from benchmarks.loops import EpochLoop

  peer = Peer(task, config)
  return EpochLoop(peer.predict if program.predicts else peer.train, examples, options.batch_size,
                   [limit] if is_padded else range(1, limit + 1), steps, grouped=program.padding == GROUPED)


def _read_examples(options: FinetuningOptions):
  if options.data_dir is None:
    from benchmarks.examples import synthetic_pairs

    return synthetic_pairs(options.max_seq_length)
  import numpy as np

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

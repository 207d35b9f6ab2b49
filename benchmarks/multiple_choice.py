"""Fine-tuning on questions with four choices, in questions per second over an epoch of CODAH, beside the peers.

  python benchmarks/multiple_choice.py --train_file=train.csv --vocab_file=vocab.txt   # a whole epoch, in five turns
  python benchmarks/multiple_choice.py --max_steps=8            # the shape of CODAH's lengths, the first 8 steps a turn

The same network (6 layers, 384 units), batch 16, at most 128 tokens, dropout on, float32: forward, backward, clipping,
AdamW, and the making of the batches, all in one run. Compared: this project; the Model Garden's encoder with the same
head; and, where PyTorch is installed (requirements-peers.txt), Hugging Face's BertForMultipleChoice with fused AdamW
and tanh GELU as one kernel. The peers pad each batch to its longest sequence, with and without batches of similar
length. Compilation is not counted: every program has seen all the shapes that are measured.

Without --train_file the lengths are drawn from normal distributions like CODAH's, and the tokens are random.
"""

import dataclasses

from benchmarks.finetuning import LONGEST, EpochOptions, Program, measure
from bert_tf.common import cli
from bert_tf.common.options import option

_PROGRAMS = {
    "ours": Program("ours"), "model_garden": Program("model_garden", LONGEST),
    "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", LONGEST),
    "pytorch_grouped": Program("pytorch")}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MultipleChoiceBenchmarkOptions(EpochOptions):
  """Options of the benchmark."""

  train_file: str | None = option(None, "Questions in SWAG's columns.", default_text="synthetic questions")
  batch_size: int = option(16, "Questions of a step.", minimum=1)
  programs: tuple[str, ...] = option(tuple(_PROGRAMS), "What is measured.", choices=tuple(_PROGRAMS))


def main(options: MultipleChoiceBenchmarkOptions) -> None:
  measure(options, "multiple_choice", {name: _PROGRAMS[name] for name in options.programs}, _read_examples,
          "questions")


def _read_examples(options: MultipleChoiceBenchmarkOptions):
  if options.train_file is None:
    from benchmarks.examples import synthetic_questions

    return synthetic_questions(options.max_seq_length)
  from bert_tf.tasks.multiple_choice.data import encode
  from data_gen.labelled.multiple_choice import read_swag
  from data_gen.tokenization.tokenizer import Tokenizer

  return encode(Tokenizer.from_file(options.vocab_file, True), read_swag(options.train_file, "train_file"),
                options.max_seq_length, False)[0]


if __name__ == "__main__":
  cli.run(MultipleChoiceBenchmarkOptions, main)

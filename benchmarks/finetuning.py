"""Fine-tuning and tagging, in examples per second over an epoch, beside the peers, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # MRPC: a whole epoch, in five turns
  python benchmarks/finetuning.py --max_steps=8                 # the shape of MRPC's lengths, the first 8 steps a turn
  python benchmarks/finetuning.py --task=multiple_choice --train_file=train.csv --vocab_file=vocab.txt
  python benchmarks/finetuning.py --task=token_classification --train_file=wnut17_train.conll --vocab_file=vocab.txt
  python benchmarks/finetuning.py --task=token_classification --predict            # tagging instead of training
  python benchmarks/finetuning.py --device=gpu --layers=12 --hidden_size=768 --head_size=64

The same model (6 layers, 384 units), at most 128 tokens, dropout on, float32 (on a GPU bfloat16): forward, backward,
clipping, AdamW, and the making of the batches. Compared: this project; the Model Garden's BertClassifier,
BertTokenClassifier, or encoder with the head of multiple choice; and, where PyTorch is installed
(requirements-peers.txt), Hugging Face's BertForSequenceClassification, BertForTokenClassification or
BertForMultipleChoice with fused AdamW and tanh GELU as one kernel. Peers are measured as they are usually run, with all
sequences padded to the limit or each batch to its longest, and (_grouped) in batches of similar length as ours.
Compilation is not counted: every program has seen all the shapes that are measured.

Without a file the lengths are drawn from distributions like those of MRPC, of CODAH's first fold, or of WNUT-17, and
the tokens are random.
"""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence

from benchmarks import interleaved, texts
from benchmarks.devices import DeviceOptions, set_up_device
from bert_tf.common import cli, gpus
from bert_tf.common.errors import UserError
from bert_tf.common.options import option

# What a batch is padded to: the limit, its longest sequence, or that with sequences of similar length in a batch.
_LIMIT, _LONGEST, _GROUPED = "limit", "longest", "grouped"


@dataclasses.dataclass(frozen=True)
class Program:
  """A program that is measured.

  Attributes:
    framework: whose it is.
    padding: one of the three above.
    predicts: it predicts, and does not train.
    is_extra: it is measured where it is named.
    jit_compile: with XLA.
  """

  framework: str
  padding: str = _GROUPED
  predicts: bool = False
  is_extra: bool = False
  jit_compile: bool = False


_PROGRAMS = {
    "classification": {
        "ours": Program("ours"), "model_garden": Program("model_garden", _LIMIT),
        "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", _LIMIT),
        "pytorch_dynamic": Program("pytorch", _LONGEST), "pytorch_grouped": Program("pytorch"),
        "ours_padded": Program("ours", _LIMIT, is_extra=True),
        "ours_xla": Program("ours", is_extra=True, jit_compile=True)},
    "multiple_choice": {
        "ours": Program("ours"), "model_garden": Program("model_garden", _LONGEST),
        "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", _LONGEST),
        "pytorch_grouped": Program("pytorch")},
    "token_classification": {
        "ours": Program("ours"), "model_garden": Program("model_garden", _LIMIT),
        "model_garden_grouped": Program("model_garden"), "pytorch": Program("pytorch", _LONGEST),
        "pytorch_grouped": Program("pytorch"), "ours_predict": Program("ours", predicts=True),
        "model_garden_predict": Program("model_garden", _LIMIT, predicts=True),
        "model_garden_grouped_predict": Program("model_garden", predicts=True),
        "pytorch_predict": Program("pytorch", predicts=True)}}
_UNITS = {"classification": "examples", "multiple_choice": "questions", "token_classification": "sentences"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(texts.VocabularyOptions, DeviceOptions):
  """Options of the benchmark."""

  task: str = option("classification", "What is trained.", choices=tuple(_PROGRAMS))
  data_dir: str | None = option(None, "Of classification: where MRPC/train.tsv is; the published vocabulary of BERT "
                                "makes 53 tokens an example.", default_text="synthetic pairs")
  train_file: str | None = option(None, "Of the other tasks: questions in SWAG's columns, or tagged sentences as "
                                  "run_ner.py reads them.", default_text="synthetic ones")
  predict: bool = option(False, "Measure tagging, with --task=token_classification.")
  batch_size: int | None = option(None, "Examples of a step.", minimum=1,
                                  default_text="32, or 16 questions of multiple choice")
  max_seq_length: int = option(128, "Longer pairs are truncated, longer sentences read in parts.", minimum=3)
  layers: int = option(6, "L of the model.", minimum=1)
  hidden_size: int = option(384, "H of the model; 4 H in the feed-forward layers.", minimum=32)
  head_size: int = option(32, "Units of an attention head.", minimum=1)
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(
      (), "What is measured.", choices=tuple(dict.fromkeys(name for names in _PROGRAMS.values() for name in names)),
      default_text="all of the task but ours_padded and ours_xla")

  def check(self) -> None:
    super().check()
    if unknown := [name for name in self.programs if name not in _PROGRAMS[self.task]]:
      raise UserError(f"--programs: --task={self.task} has no {', '.join(unknown)}: use some of "
                      f"{', '.join(_PROGRAMS[self.task])}")
    if self.predict and self.task != "token_classification":
      raise UserError("--predict is for --task=token_classification")

  def chosen(self) -> dict[str, Program]:
    """The programs that are measured, by name."""
    known = _PROGRAMS[self.task]
    names = self.programs or [name for name, program in known.items()
                              if program.predicts == self.predict and not program.is_extra]
    return {name: known[name] for name in names}


def main(options: FinetuningOptions) -> None:
  from benchmarks.examples import full_batches

  # Before the programs start, so that a wrong flag is one error and not one of each; they inherit the variables.
  set_up_device(options.device, gpus.read_driver(), os.environ)
  options = options.replace(batch_size=options.batch_size or (16 if options.task == "multiple_choice" else 32))
  examples = full_batches(_read_examples(options), options.batch_size)
  steps = turn_steps(len(examples) // options.batch_size, options.turns, options.max_steps)
  programs, unit = options.chosen(), _UNITS[options.task]
  seconds = interleaved.take_turns(options, tuple(programs), len(steps), _build, options, programs, examples, steps)
  lengths = examples.row_lengths
  sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
  print(f"L{options.layers}-H{options.hidden_size}, batch {options.batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  interleaved.print_rates(options, seconds, [options.batch_size * number for number in steps], unit)


def turn_steps(steps_per_epoch: int, turns: int, max_steps: int | None) -> list[int]:
  """How many steps each turn has: an epoch in equal parts, or less."""
  turns = min(turns, steps_per_epoch)
  parts = [steps_per_epoch // turns + (turn < steps_per_epoch % turns) for turn in range(turns)]
  return [min(part, max_steps or part) for part in parts]


def _build(options: FinetuningOptions, programs: Mapping[str, Program], examples, steps: Sequence[int], name: str
           ) -> Callable[[], None]:
  """The next turn of the program, which has seen every shape that there will be."""
  run = _make(options, programs[name], examples, sum(steps))
  remaining = iter(steps)
  return lambda: run(next(remaining))


def _make(options: FinetuningOptions, program: Program, examples, steps: int) -> Callable[[int], None]:
  """A function of a number of steps, which has seen every shape that `steps` steps will have."""
  from benchmarks.examples import VOCAB_SIZE
  from bert_tf.training.examples import lengths_for, padded_lengths
  from modeling.config import BertConfig

  config = BertConfig(
      vocab_size=VOCAB_SIZE, hidden_size=options.hidden_size, num_hidden_layers=options.layers,
      num_attention_heads=options.hidden_size // options.head_size, intermediate_size=4 * options.hidden_size)
  limit, is_padded = options.max_seq_length, program.padding == _LIMIT
  if program.framework == "ours":
    from benchmarks import ours

    lengths = padded_lengths(limit, 1) if is_padded else lengths_for(limit, few=options.device == "gpu")
    if program.predicts:
      return ours.tagging(config, examples, options.batch_size, lengths, options.chosen_precision)
    return ours.fine_tuning(options.task, config, examples, options.batch_size, lengths, options.chosen_precision,
                            program.jit_compile)
  if program.framework == "pytorch":
    from benchmarks.pytorch_peers import PyTorch as Peer
  else:
    from benchmarks.tensorflow_peers import ModelGarden as Peer
  from benchmarks.loops import EpochLoop

  peer = Peer(options.task, config, options.chosen_precision)
  return EpochLoop(peer.predict if program.predicts else peer.train, examples, options.batch_size,
                   [limit] if is_padded else range(1, limit + 1), steps, grouped=program.padding == _GROUPED)


def _read_examples(options: FinetuningOptions):
  """`Examples` of the file, or synthetic ones."""
  from benchmarks import examples
  from data_gen.tokenization.tokenizer import Tokenizer

  synthetic, read = {"classification": (examples.synthetic_pairs, examples.read_mrpc),
                     "multiple_choice": (examples.synthetic_questions, examples.read_questions),
                     "token_classification": (examples.synthetic_sentences, examples.read_sentences)}[options.task]
  path = options.data_dir if options.task == "classification" else options.train_file
  if path is None:
    return synthetic(options.max_seq_length)
  return read(path, Tokenizer.from_file(options.vocab_file, True), options.max_seq_length)


if __name__ == "__main__":
  cli.run(FinetuningOptions, main)

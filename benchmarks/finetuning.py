"""Fine-tuning and tagging, in examples per second over an epoch, beside the peers, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # MRPC: a whole epoch, in five turns
  python benchmarks/finetuning.py --max_steps=8                 # the shape of MRPC's lengths, the first 8 steps a turn
  python benchmarks/finetuning.py --task=multiple_choice --train_file=train.csv --vocab_file=vocab.txt
  python benchmarks/finetuning.py --task=token_classification --train_file=wnut17_train.conll --vocab_file=vocab.txt
  python benchmarks/finetuning.py --task=token_classification --predict            # tagging instead of training
  python benchmarks/finetuning.py --task=sentence_embedding --data_dir=glue        # in-batch negatives, STS-B's pairs
  python benchmarks/finetuning.py --device=gpu --size=base

The same model (6 layers, 384 units), at most 128 tokens, dropout on, float32 (on a GPU bfloat16): forward, backward,
clipping, AdamW, and the making of the batches. Compared: this project; the Model Garden's BertClassifier,
BertTokenClassifier, or encoder with the head of multiple choice; and, where PyTorch is installed
(pip install --group peers), Hugging Face's BertForSequenceClassification, BertForTokenClassification or
BertForMultipleChoice with fused AdamW and tanh GELU as one kernel; for vectors of sentences its BertModel with
sentence-transformers' pooling and loss. Peers are measured as they are usually run, with all
sequences padded to the limit or each batch to its longest, and (_grouped) in batches of similar length as ours.
Compilation is not counted: every program has seen all the shapes that are measured.

Without a file the lengths are drawn from distributions like those of MRPC, of CODAH's first fold, or of WNUT-17, and
the tokens are random.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from benchmarks import interleaved, texts
from benchmarks.machine import DeviceOptions, find_config
from bert_common import cli
from bert_common.errors import UserError
from bert_common.options import option

# What a batch is padded to: the limit, its longest sequence, or that with sequences of similar length in a batch.
_LIMIT, _LONGEST, _GROUPED = "limit", "longest", "grouped"
_OURS, _MODEL_GARDEN, _PYTORCH = "ours", "tensorflow_peers.ModelGarden", "pytorch_peers.PyTorch"


@dataclasses.dataclass(frozen=True)
class Program:
  """A program that is measured.

  Attributes:
    framework: "ours", or where the class of a peer is.
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
        "ours": Program(_OURS), "model_garden": Program(_MODEL_GARDEN, _LIMIT),
        "model_garden_grouped": Program(_MODEL_GARDEN), "pytorch": Program(_PYTORCH, _LIMIT),
        "pytorch_dynamic": Program(_PYTORCH, _LONGEST), "pytorch_grouped": Program(_PYTORCH),
        "ours_padded": Program(_OURS, _LIMIT, is_extra=True),
        "ours_xla": Program(_OURS, is_extra=True, jit_compile=True)},
    "multiple_choice": {
        "ours": Program(_OURS), "model_garden": Program(_MODEL_GARDEN, _LONGEST),
        "model_garden_grouped": Program(_MODEL_GARDEN), "pytorch": Program(_PYTORCH, _LONGEST),
        "pytorch_grouped": Program(_PYTORCH)},
    "token_classification": {
        "ours": Program(_OURS), "model_garden": Program(_MODEL_GARDEN, _LIMIT),
        "model_garden_grouped": Program(_MODEL_GARDEN), "pytorch": Program(_PYTORCH, _LONGEST),
        "pytorch_grouped": Program(_PYTORCH), "ours_predict": Program(_OURS, predicts=True),
        "model_garden_predict": Program(_MODEL_GARDEN, _LIMIT, predicts=True),
        "model_garden_grouped_predict": Program(_MODEL_GARDEN, predicts=True),
        "pytorch_predict": Program(_PYTORCH, predicts=True)},
    "sentence_embedding": {
        "ours": Program(_OURS), "sentence_transformers": Program(_PYTORCH, _LONGEST),
        "sentence_transformers_grouped": Program(_PYTORCH)}}
_UNITS = {"classification": "examples", "multiple_choice": "questions", "token_classification": "sentences",
          "sentence_embedding": "pairs"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(texts.VocabularyOptions, DeviceOptions):
  """Options of the benchmark."""

  task: str = option("classification", "What is trained.", choices=tuple(_PROGRAMS))
  data_dir: str | None = option(None, "Where MRPC/train.tsv is; of sentence_embedding STS-B/train.tsv.",
                                default_text="synthetic pairs")
  train_file: str | None = option(None, "Of the other tasks: questions in SWAG's columns, or tagged sentences as "
                                  "run_ner.py reads them.", default_text="synthetic ones")
  predict: bool = option(False, "Measure tagging, with --task=token_classification.")
  batch_size: int | None = option(None, "Examples of a step.", minimum=1,
                                  default_text="32, or 16 questions of multiple choice")
  max_seq_length: int = option(128, "Longer pairs are truncated, longer sentences read in parts.", minimum=3)
  size: str = option("L6-H384", "L<layers>-H<hidden>, base or large.")
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
    if self.task == "sentence_embedding" and not self.data_dir:
      raise UserError("--task=sentence_embedding needs --data_dir, where STS-B/train.tsv is")

  def chosen(self) -> dict[str, Program]:
    """The programs that are measured, by name."""
    known = _PROGRAMS[self.task]
    names = self.programs or [name for name, program in known.items()
                              if program.predicts == self.predict and not program.is_extra]
    return {name: known[name] for name in names}


def main(options: FinetuningOptions) -> None:
  from benchmarks import examples as data

  # Before the programs start, so that a wrong flag is one error and not one of each; they inherit the variables.
  options.set_up_device()
  config = find_config(options.size, data.VOCAB_SIZE)
  batch_size = options.batch_size or (16 if options.task == "multiple_choice" else 32)
  path = options.train_file if options.task in ("multiple_choice", "token_classification") else options.data_dir
  examples = data.full_batches(
      data.read(options.task, path, options.vocab_file, options.max_seq_length), batch_size)
  steps = turn_steps(len(examples) // batch_size, options.turns, options.max_steps)
  programs, unit = options.chosen(), _UNITS[options.task]
  seconds = interleaved.take_turns(
      options, tuple(programs), len(steps), _build, options, programs, config, examples, batch_size, steps)
  lengths = examples.row_lengths
  sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
  print(f"{options.size}, batch {batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  interleaved.print_rates(options, seconds, [batch_size * number for number in steps], unit)


def turn_steps(steps_per_epoch: int, turns: int, max_steps: int | None) -> list[int]:
  """How many steps each turn has: an epoch in equal parts, or less."""
  turns = min(turns, steps_per_epoch)
  parts = [steps_per_epoch // turns + (turn < steps_per_epoch % turns) for turn in range(turns)]
  return [min(part, max_steps or part) for part in parts]


def _build(options: FinetuningOptions, programs: Mapping[str, Program], config, examples, batch_size: int,
           steps: Sequence[int], name: str) -> Callable[[], None]:
  """The next turn of the program, which has seen every shape that there will be."""
  program, limit, precision = programs[name], options.max_seq_length, options.chosen_precision
  is_padded = program.padding == _LIMIT
  if program.framework == _OURS:
    from benchmarks import ours
    from bert_tf.training.examples import lengths_for, padded_lengths

    lengths = padded_lengths(limit, 1) if is_padded else lengths_for(limit, few=options.device == "gpu")
    run = (ours.tagging(config, examples, batch_size, lengths, precision) if program.predicts else ours.fine_tuning(
        options.task, config, examples, batch_size, lengths, precision, program.jit_compile))
  else:
    from benchmarks.examples import EpochLoop

    peer = interleaved.find_program(program.framework)(options.task, config, precision)
    run = EpochLoop(peer.predict if program.predicts else peer.train, examples, batch_size,
                    [limit] if is_padded else range(1, limit + 1), sum(steps), grouped=program.padding == _GROUPED)
  remaining = iter(steps)
  return lambda: run(next(remaining))


if __name__ == "__main__":
  cli.run(FinetuningOptions, main)

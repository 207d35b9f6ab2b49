"""Fine-tuning in examples per second over an epoch, beside PyTorch, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # MRPC: a whole epoch, in five turns
  python benchmarks/finetuning.py --task=multiple_choice --train_file=train.csv --vocab_file=vocab.txt
  python benchmarks/finetuning.py --task=token_classification --train_file=wnut17_train.conll --max_steps=4
  python benchmarks/finetuning.py --task=sentence_embedding --data_dir=glue        # in-batch negatives, STS-B's pairs
  python benchmarks/finetuning.py --data_dir=glue --device=gpu --size=base

The same model (6 layers, 384 units), at most 128 tokens, dropout on, float32 (on a GPU bfloat16): forward, backward,
clipping, AdamW, and the making of the batches. Compared: this project and Hugging Face's model of the task with fused
AdamW and tanh GELU as one kernel (pip install --group peers); for vectors of sentences its BertModel with
sentence-transformers' pooling and loss. `pytorch` pads each batch to its longest sequence, as it is usually run,
`pytorch_padded` all to the limit, `pytorch_grouped` has batches of similar length, as ours. Compilation is not counted:
every program has seen all the shapes that are measured.
"""

import dataclasses
import os
import tempfile
from collections.abc import Callable, Sequence

from benchmarks import batches, interleaved, texts
from benchmarks.machine import DeviceOptions, find_config
from bert_common import cli
from bert_common.options import option
from data_gen.tokenization.vocabulary import Vocabulary

_PROGRAMS = ("ours", "pytorch", "pytorch_grouped", "pytorch_padded", "ours_padded", "ours_xla")
_UNITS = {"classification": "examples", "multiple_choice": "questions", "token_classification": "sentences",
          "sentence_embedding": "pairs", "question_answering": "windows"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(batches.TaskOptions, texts.VocabularyOptions, DeviceOptions):
  """Options of the benchmark."""

  max_seq_length: int = option(128, "Longer pairs are truncated, longer sentences read in parts.", minimum=3)
  size: str = option("L6-H384", "L<layers>-H<hidden>, base or large.")
  turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
  max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
  programs: tuple[str, ...] = option(_PROGRAMS[:3], "What is measured.", choices=_PROGRAMS)


def main(options: FinetuningOptions) -> None:
  # Before the programs start, so that a wrong flag is one error and not one of each; they inherit the variables.
  options.set_up_device()
  with tempfile.TemporaryDirectory() as folder:
    config = find_config(options.size, Vocabulary.from_file(options.vocab_file).size)
    config.to_file(os.path.join(folder, "config.json"))
    task = read_task(options, folder)
    examples, batch_size, unit = task.train_examples, task.options.train_batch_size, _UNITS[options.task]
    steps = turn_steps(len(examples) // batch_size, options.turns, options.max_steps)
    seconds = interleaved.take_turns(options, options.programs, len(steps), _build, options, folder, steps)
  lengths = examples.row_lengths
  sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
  print(f"{options.size}, batch {batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns")
  interleaved.print_rates(seconds, [batch_size * number for number in steps], unit)


def read_task(options: FinetuningOptions, folder: str):
  """The task with random weights, and as many examples as fill whole batches."""
  values = {"bert_config_file": os.path.join(folder, "config.json"), "vocab_file": options.vocab_file}
  task = options.read_task(os.path.join(folder, "unused"), **values)
  count = len(task.train_examples) // task.options.train_batch_size * task.options.train_batch_size
  return options.read_task(os.path.join(folder, "unused"), **values, max_train_examples=max(count, 1))


def turn_steps(steps_per_epoch: int, turns: int, max_steps: int | None) -> list[int]:
  """How many steps each turn has: an epoch in equal parts, or less."""
  turns = min(turns, steps_per_epoch)
  parts = [steps_per_epoch // turns + (turn < steps_per_epoch % turns) for turn in range(turns)]
  return [min(part, max_steps or part) for part in parts]


def _build(options: FinetuningOptions, folder: str, steps: Sequence[int], name: str) -> Callable[[], None]:
  """The next turn of the program, which has seen every shape that there will be."""
  from benchmarks import ours
  from bert_tf.training.examples import lengths_for, padded_lengths

  task, limit, is_padded = read_task(options, folder), options.max_seq_length, name.endswith("_padded")
  if name.startswith("ours"):
    lengths = padded_lengths(limit, 1) if is_padded else lengths_for(limit, few=options.device == "gpu")
    run = ours.fine_tuning(task, lengths, options.chosen_precision, name == "ours_xla")
  else:
    train = interleaved.find_program("pytorch_peers.fine_tuning")(task, options.task, options.chosen_precision)
    run = batches.epoch_loop(train, task.train_examples, task.options.train_batch_size,
                             [limit] if is_padded else range(1, limit + 1), sum(steps), name.endswith("_grouped"))
  remaining = iter(steps)
  return lambda: run(next(remaining))


if __name__ == "__main__":
  cli.run(FinetuningOptions, main)

"""Fine-tuning in examples per second over an epoch, beside PyTorch, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # MRPC: a whole epoch, in five turns
  python benchmarks/finetuning.py --task=multiple_choice --train_file=train.csv
  --vocab_file=vocab.txt python benchmarks/finetuning.py --task=token_classification
  --train_file=wnut17_train.conll --max_steps=4 python benchmarks/finetuning.py
  --task=sentence_embedding --data_dir=glue        # in-batch negatives, STS-B's pairs python
  benchmarks/finetuning.py --data_dir=glue --device=gpu --size=base

The same model (6 layers, 384 units), at most 128 tokens, dropout on, float32 (on a GPU bfloat16):
forward, backward, clipping, AdamW, and the making of the batches. Compared: this project and
Hugging Face's model of the task with fused AdamW and tanh GELU as one kernel (pip install --group
peers); for vectors of sentences its BertModel with sentence-transformers' pooling and loss.
`pytorch` pads each batch to its longest sequence, as it is usually run, `pytorch_grouped` has
batches of similar length, as ours. Compilation is not counted: every program has seen all the
shapes that are measured.
"""

import dataclasses
import itertools
import os
import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks import interleaved
from bert_common import cli
from bert_common.options import declared_options, option
from bert_tf.tasks.question_answering.options import SquadSettings
from data_gen.tokenization.vocabulary import Vocabulary

_PROGRAMS = ("ours", "pytorch", "pytorch_grouped")
# Task → what its examples are.
_UNITS = {
    "classification": "examples",
    "multiple_choice": "questions",
    "token_classification": "sentences",
    "sentence_embedding": "pairs",
    "question_answering": "windows",
}
TASKS = tuple(_UNITS)
_AS_THE_SCRIPT = "as the run script of the task has it"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskOptions(SquadSettings):
    """What is fine-tuned on what; files as the run script of the task takes them."""

    task: str = option("classification", "What a model is fine-tuned for.", choices=TASKS)
    task_name: str | None = option(
        None,
        "Of classification: one of GLUE's tasks; of sentence_embedding what its files have.",
        default_text="mrpc, sts-b",
    )
    data_dir: str | None = option(None, "Where GLUE's folders are, or the task's own folder.")
    train_file: str | None = option(None, "What is trained on.")
    train_batch_size: int | None = option(
        None, "Examples of a step.", minimum=1, default_text=_AS_THE_SCRIPT
    )
    max_seq_length: int | None = option(
        None, "Longer sequences are cut, or read in parts.", minimum=3, default_text=_AS_THE_SCRIPT
    )

    def read_task(self, output_dir: str, **values: object):
        """The `FineTuningTask` as its run script makes it, with its data: what is set here, and the
        script's defaults."""
        from bert_tf.extras.token_id_formats import RUNS, run_classes

        options, task = run_classes(self.task, RUNS[self.task][0])
        names = {one.name for one in declared_options(options)} & {
            one.name for one in declared_options(type(self))
        }
        chosen = {
            one: value for one in names - {"seed"} if (value := getattr(self, one)) is not None
        }
        by_default = {
            "classification": {"task_name": "mrpc"},
            "sentence_embedding": {"task_name": "sts-b"},
        }
        made = options(
            **by_default.get(self.task, {}) | chosen | values, do_train=True, output_dir=output_dir
        )
        made.check()
        return task(made)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinetuningOptions(TaskOptions, interleaved.VocabularyOptions, interleaved.DeviceOptions):
    """Options of the benchmark."""

    max_seq_length: int = option(
        128, "Longer pairs are truncated, longer sentences read in parts.", minimum=3
    )
    size: str = option("L6-H384", "L<layers>-H<hidden>, base or large.")
    turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
    max_steps: int | None = option(None, "Steps of a turn, at most.", minimum=1)
    programs: tuple[str, ...] = option(_PROGRAMS, "What is measured.", choices=_PROGRAMS)


def main(options: FinetuningOptions) -> None:
    options.set_up_device()
    with tempfile.TemporaryDirectory() as folder:
        config = interleaved.find_config(
            options.size, Vocabulary.from_file(options.vocab_file).size
        )
        config.to_file(os.path.join(folder, "config.json"))
        task = read_task(options, folder)
        examples, batch_size, unit = (
            task.train_examples,
            task.options.train_batch_size,
            _UNITS[options.task],
        )
        # An epoch in equal parts, or less.
        per_epoch = len(examples) // batch_size
        turns = min(options.turns, per_epoch)
        parts = [per_epoch // turns + (turn < per_epoch % turns) for turn in range(turns)]
        steps = [min(part, options.max_steps or part) for part in parts]
        seconds = interleaved.take_turns(
            options, options.programs, len(steps), _build, options, folder, steps
        )
    lengths = examples.row_lengths
    sequences = f"{len(lengths):,} sequences" if len(lengths) > len(examples) else "sequences"
    print(
        f"{options.size}, batch {batch_size}, limit {options.max_seq_length}, "
        f"{len(examples):,} {unit}, {sequences} of {lengths.mean():.1f} tokens (longest {lengths.max()}); "
        f"{sum(steps)} steps in {len(steps)} turns"
    )
    interleaved.print_rates(seconds, [batch_size * number for number in steps], unit)


def read_task(options: FinetuningOptions, folder: str):
    """The task with random weights, and as many examples as fill whole batches."""
    values = {
        "bert_config_file": os.path.join(folder, "config.json"),
        "vocab_file": options.vocab_file,
    }
    task = options.read_task(os.path.join(folder, "unused"), **values)
    count = (
        len(task.train_examples) // task.options.train_batch_size * task.options.train_batch_size
    )
    return options.read_task(
        os.path.join(folder, "unused"), **values, max_train_examples=max(count, 1)
    )


def _build(
    options: FinetuningOptions, folder: str, steps: Sequence[int], name: str
) -> Callable[[], None]:
    """The next turn of the program, which has seen every shape that there will be."""
    from bert_tf.training.examples import assemble, epoch_batches, lengths_for

    task, limit = read_task(options, folder), options.max_seq_length
    examples, size = task.train_examples, task.options.train_batch_size
    lengths = (
        lengths_for(limit, few=options.device == "gpu")
        if name == "ours"
        else np.arange(1, limit + 1)
    )
    epochs = (
        np.random.default_rng([0, epoch]).permutation(len(examples.lengths)).reshape(-1, size)
        if name == "pytorch"
        else epoch_batches(examples.lengths, size, 0, epoch)
        for epoch in itertools.count()
    )
    planned = list(itertools.islice(itertools.chain.from_iterable(epochs), sum(steps)))
    batches = (assemble(examples, chosen, size, lengths) for chosen in planned)
    # Those of several texts are cut to the lengths of the texts.
    warm_up = list(
        {
            (batch["input_ids"].shape, tuple(batch.get("text_lengths", [()])[0])): batch
            for batch in (assemble(examples, chosen, size, lengths) for chosen in planned)
        }.values()
    )
    if name == "ours":
        from benchmarks import tensorflow_programs

        run = tensorflow_programs.fine_tuning(task, lengths, options.chosen_precision, warm_up)
    else:
        from benchmarks import pytorch_peers

        train = pytorch_peers.fine_tuning(task, options.task, options.chosen_precision)

        def run(count: int) -> None:
            for batch in itertools.islice(batches, count):
                train(batch)

        for batch in (*warm_up, warm_up[0]):
            train(batch)
    remaining = iter(steps)
    return lambda: run(next(remaining))


if __name__ == "__main__":
    cli.run(FinetuningOptions, main)

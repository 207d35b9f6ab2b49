"""Measures fine-tuning in examples per second over an epoch, beside PyTorch, in one run.

  python benchmarks/finetuning.py --data_dir=glue               # MRPC: a whole epoch, in five turns
  python benchmarks/finetuning.py --task=multiple_choice --train_file=train.csv
  python benchmarks/finetuning.py --task=token_classification --train_file=wnut17_train.conll
  python benchmarks/finetuning.py --data_dir=glue --device=gpu --size=base

The same model (6 layers, 384 units), at most 128 tokens, dropout on, float32 (bfloat16 on a GPU):
forward, backward, clipping, AdamW, and making the batches. Compared: this project and Hugging
Face's model of the task with fused AdamW and tanh GELU as one kernel (pip install --group peers).
`pytorch` pads each batch to its longest sequence, as it is usually run, `pytorch_grouped` has
batches of similar length, as ours. Compilation is not counted: every program has seen all the
shapes that are measured.
"""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks import interleaved
from bert_common import cli
from bert_common.options import option, option_class
from data_gen.tokenization.vocabulary import Vocabulary

_PROGRAMS = ("ours", "pytorch", "pytorch_grouped")
_TASKS = ("classification", "multiple_choice", "token_classification")


@option_class
class FinetuningOptions(interleaved.VocabularyOptions, interleaved.DeviceOptions):
    """Options of the benchmark."""

    task: str = option("classification", "Task to fine-tune for.", choices=_TASKS)
    data_dir: str | None = option(None, "Directory with GLUE's folders, or of the task's files.")
    train_file: str | None = option(
        None, "Training examples, in a format that the run script of the task reads."
    )
    train_batch_size: int | None = option(
        None, "Examples per step.", minimum=1, default_text="the run script's"
    )
    max_seq_length: int = option(
        128, "Maximum number of tokens: longer pairs are truncated.", minimum=3
    )
    size: str = option("L6-H384", "Model size: L<layers>-H<hidden>, base or large.")
    turns: int = option(5, "Turns that the epoch is cut into.", minimum=1)
    max_steps: int | None = option(None, "Maximum number of steps per turn.", minimum=1)
    programs: tuple[str, ...] = option(_PROGRAMS, "Programs to measure.", choices=_PROGRAMS)


def main(options: FinetuningOptions) -> None:
    options.set_up_device()
    with tempfile.TemporaryDirectory() as folder:
        vocab_size = Vocabulary.from_file(options.vocab_file).size
        config = interleaved.find_config(options.size, vocab_size)
        config.to_file(os.path.join(folder, "config.json"))
        task = read_task(options, folder)
        examples = task.train_examples
        batch_size = task.options.train_batch_size
        steps = _steps_of_turns(len(examples) // batch_size, options)
        seconds = interleaved.take_turns(
            options, options.programs, len(steps), _build, options, folder, steps
        )
    lengths = examples.row_lengths
    print(
        f"{options.size}, batch {batch_size}, limit {options.max_seq_length}, {len(examples):,} "
        f"examples, {len(lengths):,} sequences of {lengths.mean():.1f} tokens (longest "
        f"{lengths.max()}); {sum(steps)} steps in {len(steps)} turns"
    )
    interleaved.print_rates(seconds, [batch_size * count for count in steps], "examples")
    setting = f"{options.task}, {options.size}, {options.device}, {options.precision}"
    options.record("fine-tuning", setting, seconds)


def _steps_of_turns(steps_per_epoch: int, options: FinetuningOptions) -> list[int]:
    """Returns the steps of each turn: an epoch in nearly equal parts, or less."""
    num_turns = min(options.turns, steps_per_epoch)
    steps = []
    for turn in range(num_turns):
        part = steps_per_epoch // num_turns
        if turn < steps_per_epoch % num_turns:
            part += 1
        steps.append(part if options.max_steps is None else min(part, options.max_steps))
    return steps


def read_task(options: FinetuningOptions, folder: str):
    """Returns the `FineTuningTask`, with random weights and only whole batches of examples."""
    from bert_tf.extras.token_id_formats import RUNS, run_classes

    options_class, task_class = run_classes(options.task, RUNS[options.task][0])
    values = {
        "do_train": True,
        "output_dir": os.path.join(folder, "unused"),
        "bert_config_file": os.path.join(folder, "config.json"),
        "vocab_file": options.vocab_file,
        "max_seq_length": options.max_seq_length,
    }
    if options.task == "classification":
        values["task_name"] = "mrpc"
    # The defaults of the task's script stay where an option is not given.
    for name in ("data_dir", "train_file", "train_batch_size"):
        value = getattr(options, name)
        if value is not None:
            values[name] = value
    run_options = options_class(**values)
    run_options.check()
    # A last partial batch would count as a whole one, and have a shape of its own in PyTorch.
    num_examples = len(task_class(run_options).train_examples)
    batch_size = run_options.train_batch_size
    num_whole = num_examples // batch_size * batch_size
    return task_class(options_class(**values, max_train_examples=max(num_whole, 1)))


def _build(
    options: FinetuningOptions, folder: str, steps: Sequence[int], name: str
) -> Callable[[], None]:
    """Returns the function of a turn of a program, which has seen every shape of its batches."""
    from bert_tf.training.examples import assemble, lengths_for

    task = read_task(options, folder)
    examples = task.train_examples
    batch_size = task.options.train_batch_size
    if name == "ours":
        lengths = lengths_for(options.max_seq_length, few=options.device == "gpu")
    else:
        # PyTorch has no shapes to compile: batches are padded to their longest sequence.
        lengths = np.arange(1, options.max_seq_length + 1)
    # Each shape is compiled, or allocated for, before the first turn.
    planned = list(itertools.islice(_batches(task, name), sum(steps)))
    warm_up = {}
    for indices in planned:
        batch = assemble(examples, indices, batch_size, lengths)
        warm_up[batch["input_ids"].shape] = batch
    warm_up_batches = list(warm_up.values())
    if name == "ours":
        from benchmarks import tensorflow_programs

        run = tensorflow_programs.fine_tuning(task, lengths, options.precision, warm_up_batches)
    else:
        from benchmarks import pytorch_peers

        train = pytorch_peers.fine_tuning(task, options.task, options.precision)
        remaining_batches = iter(planned)

        def run(count: int) -> None:
            for indices in itertools.islice(remaining_batches, count):
                train(assemble(examples, indices, batch_size, lengths))

        # The optimizer's slots are made in the first step, so that one shape comes twice.
        for batch in (*warm_up_batches, warm_up_batches[0]):
            train(batch)
    remaining_steps = iter(steps)
    return lambda: run(next(remaining_steps))


def _batches(task, name: str) -> Iterator[np.ndarray]:
    """Yields the indices of each batch's examples, epoch after epoch."""
    from bert_tf.training.examples import epoch_batches

    examples = task.train_examples
    batch_size = task.options.train_batch_size
    for epoch in itertools.count():
        if name == "pytorch":
            # `read_task` leaves only whole batches.
            order = np.random.default_rng([0, epoch]).permutation(len(examples.lengths))
            yield from order.reshape(-1, batch_size)
        else:
            yield from epoch_batches(examples.lengths, batch_size, 0, epoch)


if __name__ == "__main__":
    cli.run(FinetuningOptions, main)

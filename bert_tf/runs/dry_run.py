"""Requirements, files and data statistics of a run, for --dry_run.

Input: a task, and its model as the driver has made it. Output: lines for the user, beside
`Task.plan`.
"""

from collections.abc import Iterable

import numpy as np

from bert_tf.runs.fine_tuning import InMemoryTask
from bert_tf.runs.task import Run, Task, count_parameters
from bert_tf.training.examples import Dataset, Datasets
from bert_tf.training.phases import flops_ahead
from bert_tf.training.speed import describe_time
from modeling import costs
from modeling.checkpoints.weights import original_names


def describe(task: Task, trainer: Run, plan: str | None, results: str) -> str:
    """Describes time and memory, the files that are read and those that are written.

    Args:
      plan: of the training; None if nothing is trained.
      results: files of a run that does not train.

    Returns:
      one subject per line.
    """
    options = task.options
    if plan is not None:
        rows = describe_training(task, trainer)
        outputs = f"{options.output_dir}: {_describe_checkpoints(task, trainer)}"
    else:
        rows = [("devices", str(trainer.devices)), ("model", trainer.weights.describe())]
        outputs = results
    if isinstance(task, InMemoryTask):
        rows += describe_data(task.data)
    rows += [("reads", text) for text in _input_files(task)]
    rows.append(("writes", outputs))
    return "\n".join(f"{name:12} {text}" for name, text in rows)


def describe_training(task: Task, trainer: Run) -> list[tuple[str, str]]:
    """Returns (subject, text) on time and memory of the training."""
    rows = []
    devices = trainer.devices
    flops = flops_ahead(trainer.phases, trainer.step)
    time = None
    # The operations of a tagger on fixed activations are unknown.
    if flops:
        time = describe_time(flops, devices)
    if time:
        rows.append(("time", f"{time}; starting and evaluations come on top"))
    needed = max(task.step_memory(phase, devices) for phase in trainer.phases)
    text = f"at least {costs.shown(needed)} for a training step on a device"
    if devices.kind == "CPU":
        text += f"; this machine has {costs.shown(costs.machine_memory())}"
    rows.append(("memory", text))
    return rows


def _describe_checkpoints(task: Task, trainer: Run) -> str:
    options = task.options
    variables = original_names(trainer.weights.model).values()
    trained = [variable for variable in variables if variable.trainable]
    # A checkpoint also holds Adam's two moments of each trained weight.
    size = costs.BYTES_PER_FLOAT * (count_parameters(variables) + 2 * count_parameters(trained))
    if options.keep_checkpoint_max:
        number = f"the last {options.keep_checkpoint_max}"
    else:
        number = "all"
    parts = [
        f"a checkpoint of about {costs.shown(size)} every {options.save_checkpoints_steps} steps "
        "and at the end",
        f"{number} kept",
    ]
    if task.main_metric:
        parts.append("the best weights")
    return ", ".join([*parts, "results"])


def _input_files(task: Task) -> Iterable[str]:
    """Yields the paths that are read: the paths of options, then of sets found by the task."""
    # A task may find files beside the ones that options name, such as the sets of a GLUE folder.
    paths = set()
    for name, path in task.options.path_options().items():
        if name == "output_dir":
            continue
        paths.add(path)
        text = ",".join(path) if isinstance(path, tuple) else path
        yield f"--{name}={text}"
    if isinstance(task, InMemoryTask):
        for split, path in task.data.files().items():
            if path not in paths:
                yield f"{path} ({split})"


def describe_data(data: Datasets) -> list[tuple[str, str]]:
    """Returns (subject, text) on the lengths of the labeled examples."""
    rows = []
    for name, split in data.nonempty().items():
        rows.append((name, _describe_lengths(split)))
    return rows


def _describe_lengths(split: Dataset) -> str:
    lengths = split.examples.row_lengths
    low, median, high = np.quantile(lengths, (0.05, 0.5, 0.95), method="inverted_cdf")
    if split.truncated:
        truncated = f"{split.truncated / len(lengths):.1%} are"
    else:
        truncated = "none is"
    # Quantiles show what a shorter --max_seq_length would cut.
    return (
        f"{len(split):,} examples in {len(lengths):,} sequences, 5 % of them have at most {low} "
        f"tokens, half {median}, 95 % {high}, the longest {lengths.max()}; {truncated} cut"
    )

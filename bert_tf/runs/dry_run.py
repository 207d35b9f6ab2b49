"""What a run would need, read and write, and what is in its data, for --dry_run.

Input: a task, and its model as the driver has made it. Output: lines for the user, beside
`Task.plan`.
"""

import collections

import numpy as np

from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import RunningModel, Task, count_parameters
from bert_tf.training.examples import TaskData
from bert_tf.training.speed import describe_time
from modeling import costs
from modeling.checkpoints.weights import original_names

# Classes that are named, and with fewer examples than this a class is hardly learnt.
_MOST_CLASSES, _FEW = 20, 5


def describe(task: Task, run: RunningModel, plan: str | None) -> str:
    """What is known of time and memory, the files that are read, and what is written; one subject
    per line.

    Args:
      plan: that of the training; None where nothing is trained.
    """
    options, devices = task.options, run.devices
    if plan is None:
        rows = [("devices", str(devices)), ("model", run.describe_model())]
        writes = (
            "nothing, answers are printed" if options.asks else f"{options.output_dir}: results"
        )
    else:
        workload, variables, rows = task.workload(devices), original_names(run.model).values(), []
        flops = workload.flops_ahead(run.step)
        if flops and "\ntime " not in plan and (time := describe_time(flops, devices)):
            rows.append(("time", f"{time}; starting and evaluations come on top"))
        there = (
            f"; this machine has {costs.shown(costs.machine_memory())}"
            if devices.kind == "CPU"
            else ""
        )
        needed = max(stage.least_bytes for stage in workload.stages)
        rows.append(
            ("memory", f"at least {costs.shown(needed)} for a training step on a device{there}")
        )
        # Of a weight that is trained a checkpoint has Adam's two moments, too.
        numbers = count_parameters(variables) + 2 * count_parameters(
            one for one in variables if one.trainable
        )
        kept = f"the last {options.keep_checkpoint_max}" if options.keep_checkpoint_max else "all"
        writes = (
            f"{options.output_dir}: a checkpoint of about {costs.shown(costs.BYTES_PER_FLOAT * numbers)} every "
            f"{options.save_checkpoints_steps} steps and at the end, {kept} kept"
            f"{', the best weights' if task.main_metric else ''}, results"
        )
    given, found = (
        {name: path for name, path in options.path_options().items() if name != "output_dir"},
        {},
    )
    if isinstance(task, FineTuningTask):
        rows += describe_data(task.data)
        found = task.data.files()
    reads = [
        *(
            f"--{name}={','.join(path) if isinstance(path, tuple) else path}"
            for name, path in given.items()
        ),
        *(f"{path} ({split})" for split, path in found.items() if path not in given.values()),
    ]
    rows += [*(("reads", one) for one in reads), ("writes", writes)]
    return "\n".join(f"{name:12} {text}" for name, text in rows)


def describe_data(data: TaskData) -> list[tuple[str, str]]:
    """(subject, text) on the labelled files: lengths, how much is cut, classes, and classes that
    look like mistakes."""
    rows = []
    for name, split in {"train": data.train, **data.dev, **data.test}.items():
        if split is None or not len(split.examples.row_lengths):
            continue
        lengths, cut = split.examples.row_lengths, split.truncated / len(split.examples.row_lengths)
        few, half, most = np.quantile(lengths, (0.05, 0.5, 0.95), method="inverted_cdf")
        rows.append(
            (
                name,
                f"{len(split):,} examples in {len(lengths):,} sequences, 5 % of them have at most {few} tokens, "
                f"half {half}, 95 % {most}, the longest {lengths.max()}; "
                f"{f'{cut:.1%} are' if cut else 'none is'} cut",
            )
        )
        if split.classes:
            shown = sorted(split.classes.items(), key=lambda one: -one[1])
            more = f" and {len(shown) - _MOST_CLASSES:,} more" if len(shown) > _MOST_CLASSES else ""
            rows.append(
                (
                    "",
                    "classes: "
                    + ", ".join(f"{label} {count:,}" for label, count in shown[:_MOST_CLASSES])
                    + more,
                )
            )
    classes = data.train.classes if data.train else {}
    alike = collections.defaultdict(list)
    for label in classes:
        alike["".join(label.split()).lower()].append(label)
    problems = [
        f"{' and '.join(map(repr, labels))} differ in case or blanks only"
        for labels in alike.values()
        if len(labels) > 1
    ]
    rare = [label for label, count in classes.items() if count < _FEW]
    if rare:
        problems.append(
            f"fewer than {_FEW} examples to train on: {', '.join(map(repr, rare[:_MOST_CLASSES]))}"
        )
    return rows + [("look here", problem) for problem in problems]

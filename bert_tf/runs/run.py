"""The way of every run: check → devices → model → restore or initialise → train → evaluate →
predict → write.

Input: a task (`bert_tf/runs/task.py`) and its options. Output: a run directory.
`bert_tf/training/loop.py` has the steps in between.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence

import tensorflow as tf

from bert_common import files
from bert_common.errors import UserError, in_one_line
from bert_common.gpus import cache_problem
from bert_tf.runs.evaluation import RunOutcome
from bert_tf.runs.options import DeviceOptions, TrainingOptions
from bert_tf.runs.task import Task
from bert_tf.runs.trainer import Run
from bert_tf.training import run_directory
from bert_tf.training.devices import Devices, set_up
from bert_tf.training.signals import Interrupted


def run(make_task: Callable[[TrainingOptions], Task], options: TrainingOptions) -> int:
    """The process's exit status after `start`: 0, also when the run was interrupted and can be
    resumed."""
    start(make_task, options)
    return 0


def start(
    make_task: Callable[[TrainingOptions], Task], options: TrainingOptions
) -> RunOutcome | None:
    """Checks everything, then trains, evaluates and predicts; several values of an option are a
    selection.

    Returns:
      what the run came to, of a selection the best one; None where it was interrupted and can be
      resumed, and where a selection neither evaluates nor predicts.
    """
    options.check()
    combinations = options.combinations()
    task = make_task(options)
    if len(combinations) > 1:
        from bert_tf.runs import sweep

        sweep.check(task)
    if (
        options.do_train
        and options.early_stopping_patience
        and not (task.can_evaluate and task.main_metric)
    ):
        raise UserError(
            "--early_stopping_patience needs something with labels to evaluate on while training"
        )
    if not options.asks:
        from bert_common import outputs

        outputs.check_run_directory(options.output_dir, "output_dir")
        if not options.dry_run:
            files.make_output_directory(options.output_dir, "output_dir")
    devices = set_up_devices(options, options.paths())
    tasks = (
        [task.with_options(combination) for combination in combinations]
        if options.sweep
        else [task]
    )
    for one in tasks:
        one.check_devices(devices)
    log = functools.partial(print, flush=True) if devices.is_chief else lambda text: None
    if options.dry_run:
        show_plan(task, tasks, devices, log)
        return None
    # The chief writes for all processes of a cluster.
    held = (
        run_directory.writing(options.output_dir)
        if devices.is_chief and not options.asks
        else contextlib.nullcontext()
    )
    with held:
        for note in task.notes:
            log(note)
        try:
            if len(tasks) == 1:
                return run_once(tasks[0], devices, log)
            return sweep.select(make_task, task, tasks, devices, log, run_once)
        except Interrupted as interruption:
            log(
                f"{interruption}; run the same command again{' to resume' if options.do_train else ''}"
            )
            return None
        except (tf.errors.OpError, UnicodeDecodeError) as error:
            # The latter: an error whose text quotes bytes of the data.
            # Another process of the cluster does not answer.
            if devices.num_workers > 1 and (
                "Collective ops is aborted" in str(error)
                or isinstance(error, tf.errors.UnavailableError)
            ):
                raise UserError(
                    f"another process has gone, see what it printed ({in_one_line(error)}): run the same command "
                    "again on all machines to resume from the last checkpoint"
                ) from None
            problem = cache_problem(str(error))
            if problem:
                raise UserError(problem) from None
            task.explain(error, log)
            raise


def show_plan(
    task: Task, tasks: Sequence[Task], devices: Devices, log: Callable[[str], None]
) -> None:
    """Says what a run would do, or the first of a selection's, after all that would refuse it;
    writes nothing."""
    for note in task.notes:
        log(note)
    if len(tasks) > 1:
        from bert_tf.runs import sweep

        runs = sweep.read_results(task, tasks, is_chief=True)
        log(f"{len(runs)} runs, one after the other: {', '.join(runs)}; the first:")
    # Only the chief of a cluster writes.
    one = Run(tasks[0], dataclasses.replace(devices, is_chief=False), log)
    plan = one.describe_training() if one.task.options.do_train else None
    if plan is not None:
        log(plan)
    from bert_tf.runs import dry_run

    log(dry_run.describe(one.task, one, None if plan is None or one.is_finished() else plan))
    log("nothing was written: --dry_run")


def set_up_devices(options: DeviceOptions, paths: tuple[str, ...] = ()) -> Devices:
    """The devices that the options ask for, see `devices.set_up`."""
    # Fused attention is compiled, however short the run is.
    jit_compile = (
        "true" if options.do_train and options.fused_attention == "on" else options.jit_compile
    )
    return set_up(
        options.strategy_kind,
        options.precision,
        jit_compile,
        options.tpu_name,
        options.tpu_zone,
        options.gcp_project,
        paths,
        options.deterministic,
    )


def run_once(
    task: Task, devices: Devices, log: Callable[[str], None], is_of_many: bool = False
) -> RunOutcome:
    """One run, from its options to its files; one of many is evaluated at any rate, and leaves no
    weights in memory."""
    options = task.options
    if devices.compiles_by_work:
        from bert_tf.training.speed import compiled_for

        devices = compiled_for(devices, task.workload(devices), task.config.num_hidden_layers)
    changes = (
        run_directory.changed_flags(options.output_dir, options.values())
        if options.do_train
        else []
    )
    for change in changes:
        log(f"changed since the last run in {options.output_dir}: {change}")
    # Of the weights, which training would have changed.
    unused = run_directory.changed_flags(options.output_dir, options.relevant()) if changes else []
    one = Run(task, devices, log)
    if devices.is_chief and not options.asks:
        run_directory.note_start(options.output_dir, str(devices))
    with one.observers.following(one):
        if options.do_train and one.train() and unused:
            log(
                f"nothing was trained with {', '.join(unused)}: to do so, choose another --output_dir"
            )
        with one.stop.listening(log):
            if is_of_many or options.do_eval:
                one.evaluation()
            if options.do_eval and devices.is_chief:
                task.write_evaluation(one, one.evaluation())
            test_metrics = task.predict(one) if options.do_predict or options.asks else None
        one.outcome = RunOutcome(one.known_evaluation, test_metrics)
    if one.outcome.evaluation is not None and one.outcome.evaluation.degenerate:
        log(f"warning: {one.outcome.evaluation.degenerate}")
    if is_of_many:
        # TensorFlow keeps custom gradients of all programs for good, and these name the variables:
        # only their memory goes.
        for variable in one.model.variables:
            for part in devices.strategy.experimental_local_results(variable.value):
                tf.raw_ops.AssignVariableOp(resource=part.handle, value=tf.zeros([0], part.dtype))
    return one.outcome

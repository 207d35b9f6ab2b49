"""Driver of every run: check → devices → model → restore or initialize → train → evaluate →
predict → write.

Input: a task (`bert_tf/runs/task.py`) and its options. Output: a run directory.
`bert_tf/runs/trainer.py` has the training loop.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import tensorflow as tf

from bert_common.errors import UserError, in_one_line, say
from bert_common.gpus import cache_problem
from bert_common.progress import lasting_output
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import DeviceOptions, TrainingOptions
from bert_tf.runs.record import RunRecord
from bert_tf.runs.task import Run, Task
from bert_tf.runs.trainer import Trainer
from bert_tf.training import run_directory
from bert_tf.training.callbacks import RunEnd, RunStart
from bert_tf.training.devices import Devices, TpuAddress, set_up
from bert_tf.training.phases import flops_ahead
from bert_tf.training.signals import Interrupted

MakeTask = Callable[[TrainingOptions], Task]
Log = Callable[[str], None]


def run(
    make_task: MakeTask,
    options: TrainingOptions,
    make_record: Callable[[TrainingOptions], RunRecord] = RunRecord,
) -> int:
    """Runs `start` and returns the exit status: 0, also if the run was interrupted."""
    with contextlib.ExitStack() as stack:
        # A run has all that it prints in its files, but an answer is only printed.
        if make_record is RunRecord:
            stack.enter_context(lasting_output())
        start(make_task, options, make_record)
    return 0


def start(
    make_task: MakeTask,
    options: TrainingOptions,
    make_record: Callable[[TrainingOptions], RunRecord] = RunRecord,
) -> Run | None:
    """Checks everything, then trains, evaluates and predicts.

    Several values of an option are a sweep.

    Args:
      make_record: `RunRecord`, or `NoRecord` for a start that leaves no files.

    Returns:
      the run, for a sweep the best one; None if it was interrupted and can
      be resumed, or if a sweep neither evaluates nor predicts.
    """
    # Contradictory options are found before any file is opened.
    options.check()
    combinations = options.combinations()
    # The task reads and checks its data before any device is touched: a mistake should be found
    # within seconds, not after a TPU or a cluster is connected.
    record = make_record(options)
    task = make_task(options)
    _check_evaluations(task, is_sweep=len(combinations) > 1)
    record.prepare(options)
    devices = set_up_devices(options, options.paths())
    # Default batch sizes give way to the number of devices, which is known only now.
    fitting = options.fit_devices(devices.strategy.num_replicas_in_sync)
    if fitting is not options:
        options = fitting
        task = task.with_options(options)
    tasks = _members(task, options, devices)

    def log(line: str) -> None:
        # The chief prints and writes for all processes of a cluster.
        if devices.is_chief:
            # Labels and names of files are anybody's.
            say(line)

    if options.dry_run:
        show_plan(task, tasks, devices, log, record)
        return None
    lock: contextlib.AbstractContextManager = contextlib.nullcontext()
    # Only the chief writes into the directory, so the other processes must not hold it.
    if devices.is_chief:
        lock = record.writing(options.output_dir)
    with lock, _explaining(task, devices, log):
        for line in task.notes:
            log(line)
        if devices.is_chief:
            record.write_left_out(task)
        if len(tasks) == 1:
            return run_once(tasks[0], devices, log, record)
        from bert_tf.runs import sweep

        return sweep.select(
            make_task, task, tasks, devices, log, functools.partial(run_once, record=record)
        )
    return None


def _members(task: Task, options: TrainingOptions, devices: Devices) -> list[Task]:
    """Returns the tasks of a sweep, or the only one, each checked against the devices."""
    # Every combination is checked before the first one trains, which may take hours.
    if options.sweep:
        tasks = [task.with_options(combination) for combination in options.combinations()]
    else:
        tasks = [task]
    for member in tasks:
        member.check_devices(devices)
    return tasks


@contextlib.contextmanager
def _explaining(task: Task, devices: Devices, log: Log) -> Iterator[None]:
    """Ends the block quietly after a signal, and turns known TensorFlow errors into `UserError`."""
    try:
        yield
    except Interrupted as interruption:
        command = "run the same command again"
        if task.options.do_train:
            command += " to resume"
        log(f"{interruption}; {command}")
    # UnicodeDecodeError: TensorFlow's message quotes raw bytes of a damaged record.
    except (tf.errors.OpError, UnicodeDecodeError) as error:
        _explain(error, task, devices, log)
        raise


def _check_evaluations(task: Task, is_sweep: bool) -> None:
    """Raises `UserError` for options that need evaluations, if there are none."""
    if is_sweep:
        from bert_tf.runs import sweep

        sweep.check(task)
    options = task.options
    chooses_weights = task.can_evaluate and task.main_metric
    if options.do_train and options.early_stopping_patience and not chooses_weights:
        raise UserError(
            "--early_stopping_patience needs something with labels to evaluate on while training"
        )


def _explain(error: Exception, task: Task, devices: Devices, log: Log) -> None:
    """Raises a `UserError` if the cause of TensorFlow's error is known."""
    # The survivors of a cluster see one of these two errors, whatever ended the other process.
    is_worker_lost = "Collective ops is aborted" in str(error) or isinstance(
        error, tf.errors.UnavailableError
    )
    if devices.num_workers > 1 and is_worker_lost:
        raise UserError(
            f"another process has gone, see what it printed ({in_one_line(error)}): run the same "
            "command again on all machines to resume from the last checkpoint"
        ) from None
    problem = cache_problem(str(error))
    if problem:
        raise UserError(problem) from None
    task.explain(error, log)


def show_plan(
    task: Task, tasks: Sequence[Task], devices: Devices, log: Log, record: RunRecord
) -> None:
    """Prints the plan of a run, or of the first one of a sweep, and writes nothing."""
    for line in task.notes:
        log(line)
    if len(tasks) > 1:
        from bert_tf.runs import sweep

        runs = sweep.read_results(task, tasks, is_chief=True)
        log(f"{len(runs)} runs, one after the other: {', '.join(runs)}; the first:")
    # Only the chief of a cluster writes, so this trainer must not be one.
    trainer = Trainer(tasks[0], dataclasses.replace(devices, is_chief=False), log, record)
    plan = None
    if trainer.task.options.do_train:
        description = trainer.describe_training()
        log(description)
        if not trainer.is_finished():
            plan = description
    from bert_tf.runs import dry_run

    results = record.describe_results(trainer.task.options)
    log(dry_run.describe(trainer.task, trainer, plan, results))
    log("nothing was written: --dry_run")


def set_up_devices(options: DeviceOptions, paths: tuple[str, ...] = ()) -> Devices:
    """Returns the devices that the options ask for, see `devices.set_up`."""
    jit_compile = options.jit_compile
    # Fused attention exists in compiled form only, however short the run is.
    if options.do_train and options.fused_attention == "on":
        jit_compile = "true"
    return set_up(
        options.strategy_kind,
        options.precision,
        jit_compile,
        TpuAddress(options.tpu_name, options.tpu_zone, options.gcp_project),
        paths,
        options.deterministic,
    )


def run_once(
    task: Task, devices: Devices, log: Log, record: RunRecord, is_of_many: bool = False
) -> Trainer:
    """Makes one run, from its options to its files.

    Args:
      record: of the start.
      is_of_many: a run of a sweep is evaluated in any case, and leaves no weights in memory.

    Returns:
      the trainer, with the evaluation and the test metrics.
    """
    options = task.options
    if devices.compiles_by_work:
        devices = _choose_compilation(task, devices)
    # The trainer writes the flags of this run over the flags of the last one.
    unused = _changed_flags(options, log)
    trainer = Trainer(task, devices, log, record)
    if devices.is_chief:
        record.note_start(options.output_dir, devices)
    with trainer.callbacks.following(_start_of(trainer), functools.partial(_end_of, trainer)):
        if options.do_train:
            was_finished = trainer.train()
            if was_finished and unused:
                log(
                    f"nothing was trained with {', '.join(unused)}: to do so, choose another "
                    "--output_dir"
                )
        # The training loop listens by itself, to save when a signal comes.
        with trainer.stop.listening(log):
            if is_of_many or options.do_eval:
                evaluation = trainer.current_evaluation()
            if options.do_eval:
                _finish_evaluation(trainer, evaluation, record)
            if options.predicts:
                trainer.test_metrics = task.predict(trainer)
                record.note_results(task, "predict", devices)
    # Repeated at the end, where it is read.
    if trainer.evaluation is not None and trainer.evaluation.degenerate:
        log(f"warning: {trainer.evaluation.degenerate}")
    # The next run of a sweep builds its own model, and two may not fit into a GPU.
    if is_of_many:
        trainer.weights.free_memory()
    return trainer


def _finish_evaluation(trainer: Trainer, evaluation: Evaluation, record: RunRecord) -> None:
    """Completes the final evaluation on all processes, and writes its files on the chief."""
    task = trainer.task
    evaluation = task.complete_evaluation(trainer, evaluation)
    if trainer.devices.is_chief:
        task.write_evaluation(trainer, evaluation)
        record.note_results(task, "eval", trainer.devices)


def _start_of(trainer: Trainer) -> RunStart:
    options = trainer.task.options
    is_training = options.do_train and not trainer.is_finished()
    return RunStart(
        options, options.output_dir, is_training, trainer.step, trainer.log, trainer.task.notes
    )


def _end_of(trainer: Trainer, error: BaseException | None) -> RunEnd:
    if trainer.evaluation is not None:
        metrics: Mapping[str, float] = trainer.evaluation.metrics
    else:
        metrics = {}
    return RunEnd(
        trainer.weights.step,
        metrics,
        ({} if trainer.test_metrics is None else trainer.test_metrics),
        error,
    )


def _changed_flags(options: TrainingOptions, log: Log) -> list[str]:
    """Reports the flags that differ from the flags of the last run in the directory.

    Returns:
      those that would change the weights; they do nothing if the training is finished.
    """
    if not options.do_train:
        return []
    changed = run_directory.changed_flags(options.output_dir, options.values())
    for change in changed:
        log(f"changed since the last run in {options.output_dir}: {change}")
    if not changed:
        return []
    return run_directory.changed_flags(options.output_dir, options.relevant())


def _choose_compilation(task: Task, devices: Devices) -> Devices:
    """Returns the devices with XLA if it saves more time than its compilation takes.

    The whole run counts, also if it resumes: XLA rounds differently, which must not change on the
    way.
    """
    from bert_tf.training.speed import compiled_for

    return compiled_for(
        devices,
        flops_ahead(task.phases(), 0),
        num_shapes=len(task.padded_lengths(devices)),
        num_layers=task.config.num_hidden_layers,
    )

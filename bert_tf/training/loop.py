"""The training loop: inner loops of steps, reports, checkpoints, evaluations, interruption, in the
order they happen.

Input: a `TrainingStep` (`bert_tf/training/step.py`) and a stream of batches. Output: checkpoints,
`metrics.jsonl` and TensorBoard in a run directory (`bert_tf/training/checkpoints.py`,
`bert_tf/training/reports.py`).
"""

import dataclasses
import os
from collections.abc import Callable

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.checkpoints import CheckpointManager
from bert_tf.training.devices import Devices
from bert_tf.training.reports import Reports
from bert_tf.training.signals import Interrupted, StopSignal
from bert_tf.training.step import TrainingState, TrainingStep

# How long an inner loop should take where --iterations_per_loop is not given: a report and a chance
# to stop that often.
_SECONDS_PER_LOOP = 5.0
_LOOP_LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclasses.dataclass(frozen=True)
class LoopOptions:
    """How far and how often.

    Attributes:
      stage_ends: steps at which the batches become of another kind.
      last_step: where this stage ends; None for the end of training.
      eval_steps: steps between evaluations, besides the one at the end; 0 for none at all.
      iterations_per_loop: steps of an inner loop; None to aim at a few seconds.
      tokens_per_example, flops_per_example: for the reports of speed, see `StageWork`.
      profile_steps: (first, last) steps that the TensorFlow profiler records; None for none.
    """

    num_train_steps: int
    save_checkpoints_steps: int
    eval_steps: int = 0
    iterations_per_loop: int | None = None
    tokens_per_example: float = 1.0
    flops_per_example: float = 0.0
    profile_steps: tuple[int, int] | None = None
    stage_ends: tuple[int, ...] = ()
    last_step: int | None = None

    @property
    def end(self) -> int:
        """The step at which the loop returns."""
        return self.num_train_steps if self.last_step is None else self.last_step


@dataclasses.dataclass(frozen=True)
class Trainer:
    """What training needs.

    Attributes:
      make_dataset: () → distributed dataset that starts at the state's place in the stream.
      checkpoints: None in processes that write nothing.
      evaluate: evaluates at the state's step and writes whatever belongs to it; None for no
        evaluation.
      ends_early: whether the evaluations so far are a reason to end; the chief's answer counts.
        None for no such reason.
    """

    step: TrainingStep
    make_dataset: Callable
    state: TrainingState
    devices: Devices
    options: LoopOptions
    checkpoints: CheckpointManager | None
    reports: Reports
    stop: StopSignal
    evaluate: Callable[[], None] | None = None
    ends_early: Callable[[], bool] | None = None

    def is_due(self, step: int) -> bool:
        """Whether an evaluation belongs to this step."""
        options = self.options
        return (
            self.evaluate is not None
            and bool(options.eval_steps)
            and step > 0
            and (
                step % options.eval_steps == 0
                or step in (options.num_train_steps, *options.stage_ends)
            )
        )

    def save(self, check_interval: bool = True) -> None:
        """Saves a checkpoint, with `check_interval` where one is due."""
        if self.checkpoints is not None:
            self.checkpoints.save(check_interval=check_interval)

    def report(
        self, steps: int, metrics: dict[str, float], seconds_per_step: float, is_first: bool
    ) -> None:
        """Reports an inner loop of `steps` steps; the first one contains tracing and
        compilation."""
        options, examples_per_second = self.options, metrics["examples_per_second"]
        metrics["tokens_per_second"] = examples_per_second * options.tokens_per_example
        if is_first:
            self.reports.log(
                f"first loop, of {steps} step{'s' if steps > 1 else ''}, took {steps * seconds_per_step:.1f} s "
                "with tracing and compiling"
            )
        elif options.flops_per_example and self.devices.is_chief:
            from bert_tf.training.speed import utilisation

            metrics |= utilisation(examples_per_second * options.flops_per_example, self.devices)
        self.reports.training(self.state.step_number, steps, metrics, compiled=is_first)


def train(trainer: Trainer) -> None:
    """Trains to the end, with evaluations and checkpoints on the way; raises `Interrupted`, saved,
    when a signal came."""
    state, options, reports, stop = trainer.state, trainer.options, trainer.reports, trainer.stop
    agreement, length = Agreement(trainer.devices), LoopLength(options)
    agreement.check_same_step(state.step_number, reports.directory)
    profile_steps, is_recording = options.profile_steps if trainer.devices.is_chief else None, False
    iterator = None
    with (
        reports.progress("training", options.num_train_steps, state.step_number),
        stop.listening(reports.log),
    ):
        try:
            # An evaluation that was due when an earlier run was stopped.
            if trainer.is_due(state.step_number) and agreement.chief_says(
                state.step_number not in reports.evaluated
            ):
                trainer.evaluate()
            while state.step_number < options.end and not (
                trainer.ends_early and agreement.chief_says(trainer.ends_early())
            ):
                # 1. Steps.
                is_first = iterator is None
                if is_first:
                    iterator = iter(trainer.make_dataset())
                steps = length(state.step_number)
                metrics = trainer.step.run(iterator, steps)

                # 2. Report.
                seconds_per_step = agreement.mean_seconds(1.0 / metrics["steps_per_second"], stop)
                if not is_first:
                    length.adapt(seconds_per_step)
                trainer.report(steps, metrics, seconds_per_step, is_first)
                if profile_steps is not None:
                    is_recording = _record(reports, profile_steps, state.step_number, is_recording)

                # 3. Checkpoint.
                trainer.save()
                agreement.check(stop)

                # 4. Evaluation.
                if trainer.is_due(state.step_number):
                    trainer.evaluate()
        except Interrupted:
            trainer.save(check_interval=False)
            raise
        finally:
            if is_recording:
                tf.profiler.experimental.stop()
        trainer.save(check_interval=False)


class LoopLength:
    """How many steps the next inner loop has: never past a checkpoint, an evaluation or the end.

    Where not fixed: about `_SECONDS_PER_LOOP`, ending at round numbers.
    """

    def __init__(self, options: LoopOptions):
        self._length = options.iterations_per_loop or 1
        self._fixed = options.iterations_per_loop is not None
        intervals = [options.save_checkpoints_steps, options.eval_steps]
        self._intervals = [interval for interval in intervals if interval]
        self._ends = [*(options.profile_steps or ()), options.end]

    def __call__(self, step: int) -> int:
        ends = [(step // interval + 1) * interval for interval in (*self._intervals, self._length)]
        return min(end for end in (*ends, *self._ends) if end > step) - step

    def adapt(self, seconds_per_step: float) -> None:
        """Chooses the length by the speed of the last loop."""
        if not self._fixed:
            fitting = [
                length for length in _LOOP_LENGTHS if length * seconds_per_step <= _SECONDS_PER_LOOP
            ]
            self._length = max(fitting, default=1)


class Agreement:
    """What all processes of a cluster must decide alike; with one process it decides by itself."""

    def __init__(self, devices: Devices):
        self._devices, self._stops, strategy = devices, False, devices.strategy
        # The identity has the replica's device, which the reduction needs to know.
        self._sum = tf.function(
            lambda values: strategy.experimental_local_results(
                strategy.run(
                    lambda: tf.distribute.get_replica_context().all_reduce(
                        tf.distribute.ReduceOp.SUM, tf.identity(values)
                    )
                )
            )[0],
            autograph=False,
        )

    def check_same_step(self, step: int, directory: str) -> None:
        """Raises `UserError` unless all processes have restored the same checkpoint."""
        if self._devices.num_workers > 1:
            mean, mean_square = self._means([float(step), float(step) * step])
            if mean_square > mean * mean:
                raise UserError(
                    f"this process starts at step {step}, another one elsewhere: --output_dir={directory} must be "
                    "the same directory on all machines"
                )

    def chief_says(self, value: bool) -> bool:
        """The chief's value, in every process."""
        if self._devices.num_workers == 1:
            return value
        return self._means([float(value and self._devices.is_chief)])[0] > 0

    def mean_seconds(self, seconds_per_step: float, stop: StopSignal) -> float:
        """The mean over all processes, so that all choose the same loop length; signals are shared
        on the way."""
        if self._devices.num_workers == 1:
            return seconds_per_step
        seconds, signals = self._means([seconds_per_step, 1.0 if stop.received else 0.0])
        self._stops = signals > 0
        if self._stops and not stop.received:
            stop.received = "a signal to another process"
        return seconds

    def check(self, stop: StopSignal) -> None:
        """Raises `Interrupted` if a signal has come of which all processes know: later ones are for
        the next loop."""
        if self._stops or self._devices.num_workers == 1:
            stop.check()

    def _means(self, values: list[float]) -> list[float]:
        # float64 holds the squares of steps exactly.
        summed = self._sum(tf.constant(values, tf.float64))
        return [float(value) / self._devices.strategy.num_replicas_in_sync for value in summed]


def _record(reports: Reports, steps: tuple[int, int], step: int, is_recording: bool) -> bool:
    """Begins or ends, between inner loops, the recording of `steps` by the TensorFlow profiler;
    whether it goes on."""
    first, last = steps
    if is_recording and step >= last:
        tf.profiler.experimental.stop()
        reports.log(f"profile of steps {first} to {last} written: tensorboard, page Profile")
        return False
    if not is_recording and first <= step < last:
        tf.profiler.experimental.start(os.path.join(reports.directory, "train"))
        return True
    return is_recording

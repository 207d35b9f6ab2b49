"""Trainer: the training loop of a run, with evaluation and prediction.

Input: a task (`bert_tf/runs/task.py`) and the devices. Output: weights, metrics and evaluations in
the run directory. `bert_tf/runs/run.py` drives it.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from bert_common.errors import UserError
from bert_common.gpus import is_out_of_memory
from bert_tf.runs.evaluation import Evaluation
from bert_tf.runs.options import CALLBACKS, TrainingOptions
from bert_tf.runs.record import RunRecord
from bert_tf.runs.task import Task
from bert_tf.runs.weights import RunWeights, TrainedWeights
from bert_tf.training.callbacks import CallbackList
from bert_tf.training.consensus import WorkerConsensus
from bert_tf.training.devices import Devices
from bert_tf.training.examples import Examples
from bert_tf.training.loop import (
    TimeLeft,
    choose_loop_length,
    is_evaluation_due,
    is_over_early,
    steps_until_next_event,
)
from bert_tf.training.metrics import MetricsLogger, duration
from bert_tf.training.phases import Phase, flops_ahead, phase_at
from bert_tf.training.prediction import Prediction
from bert_tf.training.profiler import Profiler
from bert_tf.training.signals import Interrupted, StopSignal
from bert_tf.training.step import TrainingStep
from modeling.checkpoints.companion_files import RUN_ID
from modeling.checkpoints.tensorflow_files import latest_checkpoint


class Trainer:
    """Trains, evaluates and predicts with the weights of a run.

    Args:
      record: of the start.

    Attributes:
      task, devices: of the run.
      log: prints a line for the user.
      weights: the model with its weights.
      phases: of the training.
      stop: signals to the process.
      callbacks: TensorBoard, report, model card and trackers.
      test_metrics: scores of the predictions; None if there are none.
    """

    def __init__(self, task: Task, devices: Devices, log: Callable[[str], None], record: RunRecord):
        options = task.options
        self.task = task
        self.devices = devices
        self.log = log
        self.phases = task.phases()
        self.stop = StopSignal()
        self.test_metrics: Mapping[str, float] | None = None
        self._record = record
        self._consensus = WorkerConsensus(devices)
        # Step → the last evaluation, and the best one, so that the best weights need not be
        # evaluated again after the training.
        self._last_evaluation: dict[int, Evaluation] = {}
        self._best_evaluation: dict[int, Evaluation] = {}
        self._has_warned = False
        self._time_left: TimeLeft | None = None
        inputs, number = record.check(task, log)
        run_id = inputs.get(RUN_ID, "")
        if options.do_train:
            self._trained = TrainedWeights(task, devices, number, run_id, log)
            self.weights: RunWeights = self._trained
        else:
            self.weights = RunWeights(task, devices, number, run_id, log)
        # The data and the weights have been read by now, so a change until here would be recorded
        # wrongly.
        record.check_inputs()
        # The chief writes for all processes of a cluster. A callback whose package is missing ends
        # the run before that.
        self.callbacks = CallbackList(
            CALLBACKS, record.callbacks(options) if devices.is_chief else ()
        )
        if devices.is_chief:
            if options.do_train:
                self.weights.write_description(options.output_dir)
            if self.weights.state.id:
                inputs[RUN_ID] = self.weights.state.id
            # Written last: it says that the run began with these files.
            record.write_inputs(options.output_dir, inputs)

    @property
    def step(self) -> int:
        """Updates made."""
        return self.weights.state.step_number

    @functools.cached_property
    def metrics(self) -> MetricsLogger:
        """The log of metrics.

        It is made when it is first needed, as it drops the lines of steps after the current one.
        """
        directory = self.task.options.output_dir
        return MetricsLogger(directory, self.devices.is_chief, self.step, self.log, self.callbacks)

    @property
    def evaluation(self) -> Evaluation | None:
        """Evaluation of the current weights; None if there has been none."""
        evaluations = self._best_evaluation | self._last_evaluation
        return evaluations.get(self.weights.step)

    def train(self) -> bool:
        """Trains to the end and takes the best weights, if evaluations have chosen some.

        Returns:
          whether there was nothing left to train.

        Raises:
          Interrupted: a signal came; the last step is saved.
        """
        directory = self.task.options.output_dir
        num_steps = self.task.schedule().steps
        was_finished = self.is_finished()
        self.log(self.describe_training())
        progress = self.metrics.progress("training", num_steps, self.step)
        try:
            with progress, self.stop.listening(self.metrics.log):
                self._train_phases()
        except Interrupted as interruption:
            raise Interrupted(f"{interruption}: saved step {self.step} in {directory}") from None
        if not was_finished:
            self.log(f"trained to step {self.step}: {latest_checkpoint(directory)}")
        if self.step < num_steps:
            self.log(
                f"early stopping at step {self.step} of {num_steps}: {self.task.main_metric} was "
                f"best at step {self._trained.best_step}"
            )
        self._trained.load_best()
        return was_finished

    def _train_phases(self) -> None:
        """Trains the phases that are left, and evaluates and saves on the way."""
        options = self.task.options
        phases = self.phases
        # Only the chief writes into the run directory.
        profiled_steps = options.profile_steps if self.devices.is_chief else None
        profiler = Profiler(profiled_steps, options.output_dir, self.metrics.log)
        # Processes that restored different checkpoints would train different models.
        self._consensus.check_same_step(self.step, options.output_dir)
        try:
            # A run that was stopped between a checkpoint and its evaluation makes it up: its best
            # weights then equal the weights of a run that was not stopped.
            if is_evaluation_due(self.step, self.task.evaluation_interval(), phases):
                if self._consensus.chief_says(self.step not in self.metrics.evaluated):
                    self.evaluate()
            for number in range(phase_at(phases, self.step), len(phases)):
                if len(phases) > 1:
                    self.metrics.log(
                        f"phase {number + 1} of {len(phases)}: {phases[number].describe()}"
                    )
                with _out_of_memory(_batch_advice(options, phases[number])):
                    self._train_phase(phases[number], profiler)
                self._save(check_interval=False)
                # Evaluations have stopped improving: the later phases are left out, too.
                if self.step < phases[number].last_step:
                    return
        except Interrupted:
            self._save(check_interval=False)
            raise
        finally:
            profiler.stop()

    def _train_phase(self, phase: Phase, profiler: Profiler) -> None:
        """The training loop, to the end of a phase or until evaluations stop improving."""
        options = self.task.options
        training_step = _make_training_step(self.task, self.devices, self._trained, phase)
        iterator = None
        loop_length = options.iterations_per_loop or 1
        evaluation_interval = self.task.evaluation_interval()
        intervals = (options.save_checkpoints_steps, evaluation_interval)
        ends = (*(() if options.profile_steps is None else options.profile_steps), phase.last_step)
        while self.step < phase.last_step and not self._all_end_early():
            # 1. Steps.
            is_first = iterator is None
            if is_first:
                # Made as late as possible: a finished or stopped run reads no data.
                iterator = iter(self.task.make_dataset(self, phase))
            steps = steps_until_next_event(self.step, (*intervals, loop_length), ends)
            metrics = training_step.run(iterator, steps)

            # 2. Report.
            seconds = self._consensus.mean_seconds(1.0 / metrics["steps_per_second"], self.stop)
            self._report(phase, steps, metrics, seconds, is_first)
            # The first loop contains tracing and compilation, so it does not show the speed.
            if not is_first and options.iterations_per_loop is None:
                loop_length = choose_loop_length(seconds)
            profiler.update(self.step)

            # 3. Save. An evaluation may take long, so the checkpoint comes before it; a run that is
            # killed in between makes the evaluation up when it resumes.
            self._save()
            self._consensus.check(self.stop)

            # 4. Evaluate.
            if is_evaluation_due(self.step, evaluation_interval, self.phases):
                self.evaluate()

    def describe_training(self) -> str:
        """Returns the plan of the training, or that it is finished."""
        if not self.is_finished():
            return self.task.plan(self)
        options = self.task.options
        steps = self.task.schedule().steps
        # Pre-training counts steps, fine-tuning epochs.
        if "num_train_steps" in options.values():
            flag = "num_train_steps"
        else:
            flag = "num_train_epochs"
        if self.step > steps:
            end = f"and {steps} are asked for"
        else:
            end = f"of {steps}"
        return (
            f"training is finished: {options.output_dir} is at step {self.step} {end}; to train "
            f"further, raise --{flag} (the learning rate then follows the longer schedule)"
        )

    def is_finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.step >= self.task.schedule().steps or self._ends_early()

    def evaluate(self, is_recorded: bool = True) -> None:
        """Evaluates the current weights.

        Args:
          is_recorded: whether to keep the weights if they are the best so far, and to report.
        """
        with _out_of_memory(_prediction_advice(self.task.options)):
            evaluation = self.task.evaluate(self)
        self._last_evaluation = {evaluation.step: evaluation}
        if not is_recorded:
            return
        is_best = self.weights.keep_if_best(evaluation)
        self.metrics.evaluation(self.step, evaluation.metrics)
        # Several processes must all evaluate or none, and only the chief knows which are the best.
        if is_best and self.devices.num_workers == 1:
            self._best_evaluation = self._last_evaluation
        if evaluation.degenerate and not self._has_warned:
            self._has_warned = True
            self.metrics.log(f"step {self.step}: {evaluation.degenerate}")

    def current_evaluation(self) -> Evaluation:
        """Returns the evaluation of the current weights; makes it if there has been none."""
        if self.evaluation is None:
            # The final evaluation is part of the record if no metric chooses weights.
            self.evaluate(is_recorded=self.task.main_metric is None)
        return self.evaluation

    def predict(
        self, examples: Examples, advance: Callable[[int], None] = lambda count: None
    ) -> dict[str, np.ndarray]:
        """Returns the task's outputs for examples in memory, see `Prediction`."""
        with _out_of_memory(_prediction_advice(self.task.options)):
            return self._prediction(examples, advance)

    @functools.cached_property
    def _prediction(self) -> Prediction:
        """One object for all sets, so that the model is traced once for each length."""
        task = self.task
        return Prediction(
            lambda features: task.outputs(self.weights.model, features),
            task.options.predict_batch_size,
            task.padded_lengths(self.devices),
            self.devices.strategy,
            self.devices.jit_compile,
            task.token_outputs,
            self.check_stop,
        )

    def check_stop(self) -> None:
        """Raises `Interrupted` if a signal has come."""
        # Several processes would have to agree first: the others would wait forever for this one.
        if self.devices.num_workers == 1:
            self.stop.check()

    def _report(
        self,
        phase: Phase,
        steps: int,
        metrics: dict[str, float],
        seconds_per_step: float,
        is_first: bool,
    ) -> None:
        """Reports an inner loop; the first one contains tracing and compilation."""
        metrics["tokens_per_second"] = metrics["examples_per_second"] * phase.tokens
        if is_first:
            seconds = steps * seconds_per_step
            self.metrics.log(
                f"first loop, steps: {steps}, took {seconds:.1f} s with tracing and compiling"
            )
        elif phase.flops and self.devices.is_chief:
            from bert_tf.training.speed import utilization

            rate = metrics["examples_per_second"] * phase.flops
            metrics.update(utilization(rate, self.devices))
        self.metrics.training(self.step, steps, metrics, compiled=is_first)
        self._report_time_left(is_first)

    def _report_time_left(self, is_first: bool) -> None:
        """Prints how long the training still takes, once that is known, and if it changes."""
        # Steps of a later phase take longer; the operations of some models are not known.
        work = flops_ahead(self.phases, self.step)
        if not work:
            work = self.task.schedule().steps - self.step
        now = time.monotonic()
        if self._time_left is None:
            self._time_left = TimeLeft(work, now)
        elif is_first:
            self._time_left.restart(work, now)
        else:
            seconds = self._time_left.announcement(work, now)
            if seconds is not None:
                self.metrics.log(f"time     about {duration(seconds)} left, by the latest steps")

    def _save(self, check_interval: bool = True) -> None:
        """Saves a checkpoint, with `check_interval` only at multiples of the interval."""
        if self.devices.is_chief:
            # Records are read during the whole training.
            if self.task.reads_while_training:
                self._record.check_inputs(contents=False)
            self._trained.checkpoints.save(check_interval=check_interval)

    def _ends_early(self) -> bool:
        """Early-stopping test, of the chief.

        It reads what is on disk, so a run that was stopped ends where it would have ended.
        """
        patience = self.task.options.early_stopping_patience
        if not patience:
            return False
        return is_over_early(patience, self._trained.best_step, self.metrics.evaluated)

    def _all_end_early(self) -> bool:
        """Early-stopping test of all processes; only the chief's result is used."""
        if not self.task.options.early_stopping_patience:
            return False
        return self._consensus.chief_says(self._ends_early())


def _make_training_step(
    task: Task, devices: Devices, weights: TrainedWeights, phase: Phase
) -> TrainingStep:
    options = task.options

    def forward(features: dict, dropout: object) -> object:
        return task.forward(weights.model, features, dropout)

    return TrainingStep(
        forward,
        task.loss(weights.model),
        weights.optimizer,
        task.schedule(),
        weights.state,
        devices.strategy,
        phase.batch_size,
        jit_compile=devices.jit_compile,
        gradient_accumulation_steps=options.gradient_accumulation_steps,
        loss_scaling=devices.dtype == "mixed_float16",
        deterministic=options.deterministic,
        seed=options.seed,
        batch_sizes=phase.batch_sizes(devices),
    )


def _batch_advice(options: TrainingOptions, phase: Phase) -> str:
    parts = 2 * options.gradient_accumulation_steps
    return (
        f"a step of --train_batch_size={phase.batch_size} does not fit into the device. Lower it; "
        f"or keep it with --gradient_accumulation_steps={parts} or --recompute, the results are "
        "the same; or shorten --max_seq_length. Other programs may use the memory, too "
        "(nvidia-smi)"
    )


def _prediction_advice(options: TrainingOptions) -> str:
    values = options.values()
    # Pre-training evaluates batches of records, fine-tuning predicts.
    if "predict_batch_size" in values:
        name = "predict_batch_size"
    else:
        name = "eval_batch_size"
    return f"a batch of --{name}={values[name]} does not fit into the device: lower it"


@contextlib.contextmanager
def _out_of_memory(advice: str) -> Iterator[None]:
    """Raises a `UserError` with the advice if a device's memory does not suffice."""
    try:
        yield
    except tf.errors.OpError as error:
        if not is_out_of_memory(str(error)):
            raise
        # TensorFlow's message has the shape of a tensor, which says nothing to a user.
        raise UserError(f"out of memory: {advice}") from None

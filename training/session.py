"""One training session in a run directory: loops, evaluations, checkpoints, reports, interruption.

Comes after `training/loop.py` and `training/run_directory.py`; the tasks call `Session.train` and `Session.evaluate`.
"""

import contextlib
import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import orbit
import orbit.controller
import tensorflow as tf
from absl import logging

from common.errors import UserError
from common.progress import Progress
from training.devices import Devices
from training.loop import Evaluator, Trainer, TrainingState
from training.run_directory import CheckpointManager, MetricsLog

# Orbit prints a dictionary after every loop; the progress report takes its place.
orbit.controller._log = logging.info

# How long an inner loop should take where --iterations_per_loop is not given: a report and a chance to stop that often.
_SECONDS_PER_LOOP = 5.0
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Some supervisors send a signal to the process and to its group: these are one.
_SECONDS_BETWEEN_SIGNALS = 1.0
_LOOP_LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Interrupted(Exception):
  """SIGTERM or SIGINT came; raised between two inner loops."""


@dataclasses.dataclass(frozen=True)
class SessionOptions:
  """How far and how often.

  Attributes:
    num_train_steps: where training ends.
    save_checkpoints_steps: steps between checkpoints.
    eval_steps: steps between evaluations; 0 for none while training.
    iterations_per_loop: steps of an inner loop; None to aim at a few seconds.
    tokens_per_example: for the report of tokens/s.
    profile_steps: (first, last) steps that the TensorFlow profiler records; None for none.
    shown_metric: name of the metric shown beside the loss.
  """

  num_train_steps: int
  save_checkpoints_steps: int
  eval_steps: int = 0
  iterations_per_loop: int | None = None
  tokens_per_example: int = 1
  profile_steps: tuple[int, int] | None = None
  shown_metric: str = "accuracy"


class StopSignal:
  """Notes SIGTERM and SIGINT; a second one ends the process at once.

  A thread takes them: Python's own handlers wait while TensorFlow computes, which may be minutes.
  """

  def __init__(self):
    self.received: str | None = None
    self._received_at = 0.0

  @contextlib.contextmanager
  def listening(self, say: Callable[[str], None]) -> Iterator[None]:
    """Takes the signals over and gives them back at the end; `say` shows a line to the user."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    thread = threading.Thread(target=self._listen, args=(reader, say), daemon=True)
    thread.start()
    old_handlers = {number: signal.signal(number, lambda *unused: None) for number in _STOP_SIGNALS}
    old_descriptor = signal.set_wakeup_fd(writer)
    try:
      yield
    finally:
      signal.set_wakeup_fd(old_descriptor)
      for number, handler in old_handlers.items():
        signal.signal(number, handler)
      os.close(writer)
      thread.join()
      os.close(reader)

  def check(self) -> None:
    """Raises `Interrupted` if a signal has come."""
    if self.received:
      raise Interrupted(self.received)

  def _listen(self, reader: int, say: Callable[[str], None]) -> None:
    while byte := os.read(reader, 1):
      if byte[0] not in _STOP_SIGNALS:
        continue
      now = time.monotonic()
      if self.received is None:
        self.received, self._received_at = signal.Signals(byte[0]).name, now
        say(f"{self.received}: finishing the current loop, then saving; once more stops at once, without saving")
      elif now - self._received_at > _SECONDS_BETWEEN_SIGNALS:
        os._exit(128 + byte[0])


class LoopLength:
  """How many steps the next inner loop has.

  Where not fixed: about `_SECONDS_PER_LOOP`, ending at round numbers. Never past a checkpoint, an evaluation or the
  end.
  """

  def __init__(self, options: SessionOptions):
    self._length = options.iterations_per_loop or 1
    self._fixed = options.iterations_per_loop is not None
    intervals = [options.save_checkpoints_steps, options.eval_steps]
    self._intervals = [interval for interval in intervals if interval]
    self._ends = [*(options.profile_steps or ()), options.num_train_steps]

  def __call__(self, step: int) -> int:
    step = int(step)
    ends = [(step // interval + 1) * interval for interval in (*self._intervals, self._length)]
    return min(end for end in (*ends, *self._ends) if end > step) - step

  def adapt(self, seconds_per_step: float) -> None:
    """Chooses the length by the speed of the last loop."""
    if not self._fixed:
      fitting = [length for length in _LOOP_LENGTHS if length * seconds_per_step <= _SECONDS_PER_LOOP]
      self._length = max(fitting, default=1)


class Session:
  """Trains and evaluates in a run directory.

  Args:
    directory: the run directory.
    devices: what it runs on.
    state: counters.
    manager: checkpoints; restored already. None in processes that write nothing.
    trainer, evaluator: what is run; either may be None.
    options: how far and how often; None where there is no trainer.
    stop: the signals.
    evaluated: called with the metrics after every evaluation, in this process; what it writes with `tf.summary` goes to
      the evaluation's part of TensorBoard.
  """

  def __init__(self, directory: str, devices: Devices, state: TrainingState, manager: CheckpointManager | None,
               trainer: Trainer | None, evaluator: Evaluator | None, options: SessionOptions | None,
               stop: StopSignal, evaluated: Callable[[dict[str, float]], None] | None = None):
    self._devices = devices
    self._state = state
    self._manager = manager
    self._trainer = trainer
    self._options = options
    self._stop = stop
    self._evaluated = evaluated
    self._directory = directory
    self._progress: Progress | None = None
    self._loop_length = LoopLength(options) if options else None
    self._profiling = False
    writes = devices.is_chief
    self._log = MetricsLog(directory, self.step) if writes else None
    self._controller = orbit.Controller(
        global_step=state.step, trainer=trainer, evaluator=evaluator, strategy=devices.strategy,
        train_actions=[self._after_loop], eval_actions=[self._after_evaluation],
        steps_per_loop=self._loop_length, checkpoint_manager=manager,
        summary_dir=os.path.join(directory, "train") if writes else None,
        eval_summary_dir=os.path.join(directory, "eval") if writes else None)
    self._sum_over_replicas = tf.function(self._all_reduce)
    self._first_loop = True
    self._reported_step = self.step

  @property
  def step(self) -> int:
    return int(self._state.step.numpy())

  def write_text(self, name: str, markdown: str) -> None:
    """Shows a text in TensorBoard."""
    if self._devices.is_chief:
      summaries = self._controller.summary_manager if self._trainer else self._controller.eval_summary_manager
      with summaries.summary_writer().as_default():
        tf.summary.text(name, markdown, step=self._state.step)

  def train(self) -> dict[str, float] | None:
    """Trains to the end, with evaluations and checkpoints on the way.

    Returns:
      the metrics of an evaluation at the last step, None where there was none.

    Raises:
      Interrupted: a signal came; what was trained is saved.
      UserError: a loss that is not finite, a checkpoint that can't be saved, processes that start at different steps.
    """
    options = self._options
    metrics = None
    self._check_same_step()
    self._progress = Progress("training", options.num_train_steps, "step", initial=self.step)
    try:
      with self._stop.listening(self._progress.write):
        while self.step < options.num_train_steps:
          self._controller.train(self.step + self._loop_length(self.step), checkpoint_at_completion=False)
          self._stop.check()
          # The last step's evaluation is the caller's business where none is wanted while training.
          if options.eval_steps and (self.step % options.eval_steps == 0 or self.step == options.num_train_steps):
            metrics = self.evaluate()
        if self._manager is not None:
          self._controller.save_checkpoint()
    except Interrupted:
      if self._manager is not None:
        self._controller.save_checkpoint()
      raise
    finally:
      self._progress.close()
      self._progress = None
      if self._profiling:
        tf.profiler.experimental.stop()
    return metrics

  def evaluate(self) -> dict[str, float]:
    """One pass over the evaluation set; reported to TensorBoard and `metrics.jsonl`."""
    return {name: float(value) for name, value in self._controller.evaluate().items()}

  def _after_loop(self, metrics: dict) -> None:
    options = self._options
    steps = self.step - self._reported_step
    self._reported_step = self.step
    seconds_per_step = self._agree(self._trainer.seconds_of_loop / steps)
    tokens_per_second = metrics["examples_per_second"] * options.tokens_per_example
    metrics["tokens_per_second"] = tokens_per_second
    if self._first_loop:
      # The first loop contains tracing and compilation.
      self._first_loop = False
      self._progress.restart_clock()
      self._progress.write(f"first loop, of {steps} step{'s' if steps > 1 else ''}, took "
                           f"{self._trainer.seconds_of_loop:.1f} s with tracing and compiling")
    else:
      self._loop_length.adapt(seconds_per_step)
    if self._log:
      self._log.append(self.step, "train", metrics)
    self._progress.advance(
        steps, loss=f"{metrics['loss']:.4f}",
        **{options.shown_metric.rpartition("masked_lm_")[2]: f"{metrics[options.shown_metric]:.3f}"},
        examples_per_s=f"{metrics['examples_per_second']:.1f}", tokens_per_s=f"{tokens_per_second:.0f}")
    self._profile()

  def _agree(self, seconds_per_step: float) -> float:
    """The mean over all processes, so that all choose the same loop length; signals are shared on the way."""
    if self._devices.num_workers == 1:
      return seconds_per_step
    seconds, signals = self._mean_over_replicas([seconds_per_step, 1.0 if self._stop.received else 0.0])
    if signals > 0 and not self._stop.received:
      self._stop.received = "a signal to another process"
    return seconds

  def _check_same_step(self) -> None:
    """All processes must have restored the same checkpoint.

    Raises:
      UserError: they have not.
    """
    if self._devices.num_workers > 1:
      step = float(self.step)
      mean, mean_square = self._mean_over_replicas([step, step * step])
      if mean_square > mean * mean:
        raise UserError(f"this process starts at step {self.step}, another one elsewhere: --output_dir="
                        f"{self._directory} must be the same directory on all machines")

  def _mean_over_replicas(self, values: list[float]) -> list[float]:
    # float64 holds the squares of steps exactly.
    summed = self._sum_over_replicas(tf.constant(values, tf.float64))
    return [float(value) / self._devices.strategy.num_replicas_in_sync for value in summed]

  def _all_reduce(self, values: tf.Tensor) -> tf.Tensor:
    strategy = self._devices.strategy
    # The identity has the replica's device, which the reduction wants to know.
    summed = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce(
        tf.distribute.ReduceOp.SUM, tf.identity(values)))
    return strategy.experimental_local_results(summed)[0]

  def _after_evaluation(self, metrics: dict) -> None:
    if self._log:
      self._log.append(self.step, "eval", metrics)
    if self._evaluated is not None:
      if not self._devices.is_chief:
        self._evaluated(metrics)
      else:
        with self._controller.eval_summary_manager.summary_writer().as_default(self.step):
          self._evaluated(metrics)
    if self._progress is not None:
      shown = ", ".join(f"{name} {value:.4f}" for name, value in sorted(metrics.items()))
      self._progress.write(f"step {self.step}: evaluation: {shown}")

  def _profile(self) -> None:
    """Starts and stops the profiler at the steps that were asked for."""
    if self._options.profile_steps is None or not self._devices.is_chief:
      return
    first, last = self._options.profile_steps
    if self._profiling and self.step >= last:
      tf.profiler.experimental.stop()
      self._profiling = False
      self._progress.write(f"profile of steps {first} to {last} written: tensorboard, page Profile "
                           "(needs the package tensorboard-plugin-profile)")
    elif not self._profiling and first <= self.step < last:
      tf.profiler.experimental.start(os.path.join(self._directory, "train"))
      self._profiling = True

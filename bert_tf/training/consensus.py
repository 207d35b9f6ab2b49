"""Decisions that all processes of a cluster must take alike.

TensorFlow's collective operations hang if one process leaves the loop, evaluates or chooses another
loop length while the others do not.
"""

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.devices import Devices
from bert_tf.training.signals import StopSignal


class WorkerConsensus:
    """Agrees on decisions over all processes; a single process decides by itself."""

    def __init__(self, devices: Devices):
        self._devices = devices
        self._all_know_of_signal = False
        self._sum = tf.function(self._sum_over_workers, autograph=False)

    def check_same_step(self, step: int, directory: str) -> None:
        """Raises `UserError` unless all processes have restored the same checkpoint."""
        if self._devices.num_workers > 1:
            mean, mean_square = self._means([float(step), float(step) * step])
            # The variance is 0 only if all steps are equal.
            if mean_square > mean * mean:
                raise UserError(
                    f"this process starts at step {step}, another one elsewhere: "
                    f"--output_dir={directory} must be the same directory on all machines"
                )

    def chief_says(self, value: bool) -> bool:
        """Returns the chief's value, in every process."""
        if self._devices.num_workers == 1:
            return value
        return self._means([float(value and self._devices.is_chief)])[0] > 0

    def mean_seconds(self, seconds_per_step: float, stop: StopSignal) -> float:
        """Returns the mean over all processes, so that all choose the same loop length.

        Signals are shared in the same message, which saves another one per loop.
        """
        if self._devices.num_workers == 1:
            return seconds_per_step
        seconds, signals = self._means([seconds_per_step, 1.0 if stop.received else 0.0])
        self._all_know_of_signal = signals > 0
        if self._all_know_of_signal and not stop.received:
            stop.received = "a signal to another process"
        return seconds

    def check(self, stop: StopSignal) -> None:
        """Raises `Interrupted` if a signal has come of which all processes know.

        A later signal waits for the next loop.
        """
        if self._all_know_of_signal or self._devices.num_workers == 1:
            stop.check()

    def _means(self, values: list[float]) -> list[float]:
        # float64 holds the squares of steps exactly.
        sums = self._sum(tf.constant(values, tf.float64))
        return [float(value) / self._devices.strategy.num_replicas_in_sync for value in sums]

    def _sum_over_workers(self, values: tf.Tensor) -> tf.Tensor:
        strategy = self._devices.strategy

        def replica_sum():
            replica = tf.distribute.get_replica_context()
            # The identity places the values on the replica's device, which the reduction needs.
            return replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(values))

        return strategy.experimental_local_results(strategy.run(replica_sum))[0]

"""Recording of training steps with the TensorFlow profiler, between inner loops."""

import os
from collections.abc import Callable

import tensorflow as tf

from bert_common import locks
from bert_tf.training.run_directory import TRAIN


class Profiler:
    """Records steps into a run directory.

    Args:
      steps: first and last step to record; None for none.
      directory: the run directory.
      log: prints a line for the user.
    """

    def __init__(self, steps: tuple[int, ...] | None, directory: str, log: Callable[[str], None]):
        self._steps = steps
        self._directory = directory
        self._log = log
        self._is_recording = False

    def update(self, step: int) -> None:
        """Begins or ends the recording at a step."""
        if self._steps is None:
            return
        first, last = self._steps
        if self._is_recording and step >= last:
            self.stop()
            self._log(f"profile of steps {first} to {last}: tensorboard, page Profile")
        elif not self._is_recording and first <= step < last:
            tf.profiler.experimental.start(os.path.join(self._directory, TRAIN))
            self._is_recording = True

    def stop(self) -> None:
        """Ends the recording, if there is one."""
        if self._is_recording:
            # The steps are written at the end, into the run directory.
            tf.profiler.experimental.stop(save=locks.lost_directory() is None)
            self._is_recording = False

"""Callbacks of a run, as Keras has them: TensorBoard, model card and experiment trackers.

`CALLBACKS` in `bert_tf/runs/options.py` lists them by name.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bert_common import locks
from bert_common.errors import in_one_line
from bert_common.plugins import Plugins

if TYPE_CHECKING:
    from bert_tf.runs.trainer import Trainer


class Callback:
    """Follows a run; a subclass overrides the methods of the events that it needs."""

    def on_run_begin(self, trainer: "Trainer") -> None:
        """Called when the model is restored or initialized, before any training."""

    def on_report(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called with the metrics of training steps."""

    def on_evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called with the metrics of an evaluation while training."""

    def on_run_end(self, trainer: "Trainer", error: BaseException | None) -> None:
        """Called at the end; `error` ended the run early, or is None."""


class CallbackList(Callback):
    """Passes events on to the callbacks of a run.

    A callback that fails must not end a training: its error is a warning, and it gets no more
    events.

    Args:
      table: the known callbacks.
      names: those to make; none in processes that write nothing.
    """

    def __init__(self, table: Plugins, names: tuple[str, ...]):
        self._callbacks: dict[str, Callback] = {name: table.load(name)() for name in names}

    def on_run_begin(self, trainer: "Trainer") -> None:
        for name, callback in list(self._callbacks.items()):
            with self._removed_on_error(name):
                callback.on_run_begin(trainer)

    def on_report(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, callback in list(self._callbacks.items()):
            with self._removed_on_error(name):
                callback.on_report(step, metrics)

    def on_evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, callback in list(self._callbacks.items()):
            with self._removed_on_error(name):
                callback.on_evaluation(step, metrics)

    def on_run_end(self, trainer: "Trainer", error: BaseException | None) -> None:
        for name, callback in list(self._callbacks.items()):
            with self._removed_on_error(name):
                callback.on_run_end(trainer, error)

    @contextlib.contextmanager
    def following(self, trainer: "Trainer") -> Iterator[None]:
        """Sends the begin and the end of a run, which is the block."""
        self.on_run_begin(trainer)
        try:
            yield
        except BaseException as error:
            self.on_run_end(trainer, error)
            raise
        self.on_run_end(trainer, None)

    @contextlib.contextmanager
    def _removed_on_error(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # A run that has lost its directory ends.
            locks.check_held()
            del self._callbacks[name]
            print(
                f"warning: {name} is left out from here on, the run continues: "
                f"{in_one_line(error)}",
                file=sys.stderr,
                flush=True,
            )

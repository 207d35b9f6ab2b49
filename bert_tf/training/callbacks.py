"""Callbacks of a run, as Keras has them: TensorBoard, report, model card and experiment trackers.

`CALLBACKS` in `bert_tf/runs/options.py` lists them by name.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from bert_common import locks
from bert_common.errors import in_one_line, say
from bert_common.options import Options
from bert_common.plugins import Plugins


@dataclasses.dataclass(frozen=True)
class RunStart:
    """A run whose model is restored or initialized.

    Attributes:
      options, directory: of the run.
      is_training: whether there is something left to train.
      step: updates made.
      log: prints a line for the user.
      notes: lines on the data of the run.
    """

    options: Options
    directory: str
    is_training: bool
    step: int
    log: Callable[[str], None]
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class RunEnd:
    """A run that has ended.

    Attributes:
      step: updates that its weights have seen.
      metrics, test_metrics: of these weights; empty if there are none.
      error: ended the run early; None if nothing did.
    """

    step: int
    metrics: Mapping[str, float]
    test_metrics: Mapping[str, float]
    error: BaseException | None


class Callback:
    """Follows a run; a subclass overrides the methods of the events that it needs."""

    def on_run_begin(self, start: RunStart) -> None:
        """Called before any training."""

    def on_report(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called with the metrics of training steps."""

    def on_evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Called with the metrics of an evaluation while training."""

    def on_run_end(self, end: RunEnd) -> None:
        """Called at the end, whatever it is."""


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

    def on_run_begin(self, start: RunStart) -> None:
        self._send("on_run_begin", start)

    def on_report(self, step: int, metrics: Mapping[str, float]) -> None:
        self._send("on_report", step, metrics)

    def on_evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        self._send("on_evaluation", step, metrics)

    def on_run_end(self, end: RunEnd) -> None:
        self._send("on_run_end", end)

    @contextlib.contextmanager
    def following(
        self, start: RunStart, end_of: Callable[[BaseException | None], RunEnd]
    ) -> Iterator[None]:
        """Sends the begin and the end of a run, which is the block.

        Args:
          end_of: returns the end, with the error that was the reason.
        """
        self.on_run_begin(start)
        try:
            yield
        except BaseException as error:
            self.on_run_end(end_of(error))
            raise
        self.on_run_end(end_of(None))

    def _send(self, event: str, *arguments: object) -> None:
        for name, callback in list(self._callbacks.items()):
            try:
                getattr(callback, event)(*arguments)
            except Exception as error:
                # A run that has lost its directory ends.
                locks.check_held()
                del self._callbacks[name]
                say(
                    f"warning: {name} is left out from here on, the run continues: "
                    f"{in_one_line(error)}",
                    file=sys.stderr,
                )

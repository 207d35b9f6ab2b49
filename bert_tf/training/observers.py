"""Observers of a run: what follows it beside `metrics.jsonl`, as Keras' callbacks follow `fit`.

`OBSERVERS` in `bert_tf/tasks/options.py` names them; each is imported when a run asks for it.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping

import numpy as np

from bert_common.errors import in_one_line
from bert_common.plugins import Plugins


class Observer:
  """Follows a run, `bert_tf/tasks/running.py:Run`; an event that a subclass does not override is ignored.

  Any error is a warning, after which the run continues without the observer.
  """

  def begin(self, run) -> None:
    """The model stands: restored or initialised, nothing is trained yet."""

  def report(self, step: int, metrics: Mapping[str, float]) -> None:
    """Metrics of the training."""

  def evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
    """Metrics of an evaluation while training."""

  def picture(self, name: str, pixels: np.ndarray, step: int) -> None:
    """A picture, uint8 [height, width, 4], RGBA."""

  def end(self, run, error: BaseException | None) -> None:
    """`run.outcome` has what the run came to; `error` is what ended it early."""


class Observers:
  """The observers of a run, those that work.

  Args:
    names: of `table`; none in processes that write nothing.
  """

  def __init__(self, table: Plugins, names: tuple[str, ...]):
    self._running: dict[str, Observer] = {name: table.load(name)() for name in names}

  def notify(self, event: str, *values) -> None:
    """Calls a method of all of them."""
    for name, observer in list(self._running.items()):
      try:
        getattr(observer, event)(*values)
      except Exception as error:
        del self._running[name]
        print(f"warning: {name} is left out from here on, the run continues: {in_one_line(error)}", file=sys.stderr,
              flush=True)

  @contextlib.contextmanager
  def following(self, run) -> Iterator[None]:
    """Has them follow the block, which is the run."""
    self.notify("begin", run)
    try:
      yield
    except BaseException as error:
      self.notify("end", run, error)
      raise
    self.notify("end", run, None)

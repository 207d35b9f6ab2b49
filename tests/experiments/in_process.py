"""Jobs run in this process, one after the other: TensorFlow is imported once, and not by every job."""

import contextlib
import dataclasses
import pkgutil
import traceback

from bert_common import cli
from tests.fuzz.workspace import Command


@dataclasses.dataclass(frozen=True)
class Ended:
  """A command that has ended."""

  status: int

  def poll(self) -> int:
    return self.status

  def terminate(self) -> None:
    """It has ended."""

  def kill(self) -> None:
    """It has ended."""


def launch(command: list[str], log_file: str) -> Ended:
  """Does what the process would do, whose output goes to the log."""
  with open(log_file, "a") as log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
    try:
      options, target, _ = Command(command[0], {}, ()).entry
      status = cli.status_of(lambda: pkgutil.resolve_name(target)(cli.parse(options, command)))
    except Exception:
      traceback.print_exc()
      status = 1
  if command[0].startswith("run_"):
    import keras

    keras.backend.clear_session()
  return Ended(status)

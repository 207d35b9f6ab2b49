"""A progress bar, which in a log file is a plain line now and then; colors for terminals; output
that may lose its reader.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from tqdm import tqdm

from bert_common.errors import say, visible

# Interval of the lines in a log file.
_SECONDS_BETWEEN_LINES = 15.0
# ANSI styles of tokens: left as they were, masked, replaced at random.
RIGHT = "32"
HIDDEN = "1;33"
RANDOM = "35"


class Progress(contextlib.AbstractContextManager):
    """Shows the progress of a job, with rate and time left, on standard error.

    Args:
      total: amount at the end of the job; None if it is not known.
      unit: "B" shows kB and MB; any other word is shown unchanged.
      initial: amount done by an earlier process (a resumed job), which does not count in the rate.
    """

    def __init__(self, description: str, total: float | None, unit: str, initial: float = 0):
        self._terminal = sys.stderr.isatty()
        self._status: dict[str, object] = {}
        self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
        # If there is no terminal, tqdm only does the arithmetic, and `_print_line` prints.
        self._output: IO[str]
        if self._terminal:
            self._output = sys.stderr
        else:
            self._output = open(os.devnull, "w", encoding="utf-8")
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=description,
            unit=unit,
            unit_scale=unit == "B",
            dynamic_ncols=True,
            mininterval=0.2,
            smoothing=0.1,
            leave=True,
            file=self._output,
        )

    def advance(self, amount: float, **status: object) -> None:
        """Adds to the amount done; `status` (`loss="2.31"`) is shown at the end of the line."""
        self._status.update(status)
        if status:
            self._bar.set_postfix(self._status, refresh=False)
        self._bar.update(amount)
        if not self._terminal and time.monotonic() >= self._next_line:
            self._print_line()

    def restart_clock(self, amount: float) -> None:
        """Adds to the amount done, but leaves the amount and its time out of the rate.

        Used for steps that include compiling.
        """
        self._bar.unpause()
        self._bar.initial += amount
        self._bar.n += amount
        self._bar.last_print_n = self._bar.n

    def write(self, line: str) -> None:
        """Prints a separate line without breaking the bar."""
        if self._terminal:
            self._bar.write(visible(line, unescaped="\n\t"), file=sys.stderr)
        else:
            say(line, file=sys.stderr)

    def close(self) -> None:
        """Shows the last state and ends the bar. Calling it again does nothing."""
        if not self._bar.disable:
            if not self._terminal:
                self._print_line()
            # tqdm sets `disable` here.
            self._bar.close()
            if not self._terminal:
                self._output.close()

    def __exit__(self, *unused_exception) -> None:
        self.close()

    def _print_line(self) -> None:
        self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
        state = dict(self._bar.format_dict)
        state["ncols"] = None
        state["ascii"] = True
        if state["total"]:
            # The format is tqdm's, without the bar itself.
            state["bar_format"] = (
                "{desc}: {percentage:3.0f}% {n_fmt}/{total_fmt} "
                "[{elapsed}<{remaining}, {rate_fmt}{postfix}]"
            )
        else:
            state["bar_format"] = None
        print(self._bar.format_meter(**state), file=sys.stderr, flush=True)


class _Lasting:
    """A text stream that goes on when nobody takes its text any more."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._unread():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._unread():
            self._stream.flush()

    @contextlib.contextmanager
    def _unread(self) -> Iterator[None]:
        try:
            yield
        # A closed pipe, a terminal that is gone, a full disk behind `>`.
        except OSError:
            # The buffers still hold text, and libraries write there as well.
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self._stream.fileno())
            os.close(nothing)


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Lets the block go on without printing once nobody reads standard output or error."""
    stdout = sys.stdout
    stderr = sys.stderr
    streams: tuple[Any, Any] = (_Lasting(stdout), _Lasting(stderr))
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout = stdout
        sys.stderr = stderr


def painter(stream: IO[str]) -> Callable[[str, str], str]:
    """Returns a function (text, style) → colored text.

    The text is unchanged unless the stream is a terminal, without NO_COLOR.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return lambda text, style: text
    return lambda text, style: f"\033[{style}m{text}\033[0m"

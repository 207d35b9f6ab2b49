"""Output on a terminal: a progress bar, which in a log file is a plain line now and then, and
colours."""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import IO

from tqdm import tqdm

# Seconds between the lines that are printed where there is no terminal.
_LINE_EVERY_SECONDS = 15.0
# Styles of what is right, wrong, hidden, put there at random, or only needs to be found.
RIGHT, WRONG, HIDDEN, RANDOM, MARKED = "32", "31", "1;33", "35", "1"


class Progress(contextlib.AbstractContextManager):
    """Shows how far a job is, with rate and time left, on standard error.

    Args:
      total: what `advance` adds up to; None where it is not known.
      unit: "B" shows kB/MB; any other word is shown as it is.
      initial: what was done before (a resumed job); does not count in the rate.
    """

    def __init__(self, what: str, total: float | None, unit: str, initial: float = 0):
        self._terminal = sys.stderr.isatty()
        self._status: dict[str, object] = {}
        self._next_line = time.monotonic() + _LINE_EVERY_SECONDS
        # Where there is no terminal tqdm only does the arithmetic (`format_dict`), we print.
        self._bar = tqdm(
            total=total,
            initial=initial,
            desc=what,
            unit=unit,
            unit_scale=unit == "B",
            dynamic_ncols=True,
            mininterval=0.2,
            smoothing=0.1,
            leave=True,
            file=sys.stderr if self._terminal else open(os.devnull, "w", encoding="utf-8"),
        )

    def advance(self, amount: float, **status: object) -> None:
        """Adds `amount` to what is done; `status` (`loss="2.31"`) is shown at the end of the
        line."""
        self._status.update(status)
        if status:
            self._bar.set_postfix(self._status, refresh=False)
        self._bar.update(amount)
        if not self._terminal and time.monotonic() >= self._next_line:
            self._print_line()

    def restart_clock(self, amount: float) -> None:
        """Leaves what was done since the last `advance`, and its time, out of the rate, such as
        that of compiling."""
        self._bar.unpause()
        self._bar.initial += amount
        self._bar.n += amount
        self._bar.last_print_n = self._bar.n

    def write(self, line: str) -> None:
        """Prints a line of its own without breaking the bar."""
        if self._terminal:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Shows the last state and ends the bar. Calling it again does nothing."""
        if not self._bar.disable:
            if not self._terminal:
                self._print_line()
            self._bar.close()
            self._bar.disable = True

    def __exit__(self, *unused_exception) -> None:
        self.close()

    def _print_line(self) -> None:
        self._next_line = time.monotonic() + _LINE_EVERY_SECONDS
        state = self._bar.format_dict
        print(
            self._bar.format_meter(
                **{
                    **state,
                    "ncols": None,
                    "ascii": True,
                    "bar_format": "{desc}: {percentage:3.0f}% {n_fmt}/{total_fmt} "
                    "[{elapsed}<{remaining}, {rate_fmt}{postfix}]"
                    if state["total"]
                    else None,
                }
            ),
            file=sys.stderr,
            flush=True,
        )


def painter(stream: IO[str]) -> Callable[[str, str], str]:
    """A function that colours a text, (text, one of the styles above) → text: for a terminal
    without NO_COLOR only."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return lambda text, style: text
    return lambda text, style: f"\033[{style}m{text}\033[0m"

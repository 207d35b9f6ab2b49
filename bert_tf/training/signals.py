"""SIGTERM, SIGINT and SIGHUP while training: finish the inner loop, save, end.

A second signal ends the process at once.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator

_STOP_SIGNALS = [signal.SIGTERM, signal.SIGINT]
# The end of a terminal. With `nohup` it is ignored, and Windows has none.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
    _STOP_SIGNALS.append(signal.SIGHUP)
# Some supervisors send a signal to the process and to its group: these two count as one.
_SECONDS_BETWEEN_SIGNALS = 1.0
# Signals that came while nobody listened, see `hold`.
_held: list[int] = []


def hold() -> None:
    """Keeps signals until the next call of `StopSignal.listening`."""
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda number, frame: _held.append(number))


class Interrupted(Exception):
    """A signal came; raised between two inner loops."""


class StopSignal:
    """Notes SIGTERM, SIGINT and SIGHUP; a second one ends the process at once.

    A thread takes them: Python's own handlers wait while TensorFlow computes, which may be minutes.

    Attributes:
      received: name of the first signal; None before it.
    """

    def __init__(self):
        self.received: str | None = None
        self._received_at = 0.0

    @contextlib.contextmanager
    def listening(self, log: Callable[[str], None]) -> Iterator[None]:
        """Takes the signals over and gives them back at the end; `log` shows a line to the user."""
        # These are sockets, as Windows knows no other descriptors that do not block.
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        thread = threading.Thread(target=self._listen, args=(reader, log), daemon=True)
        thread.start()
        old_handlers = {}
        for number in _STOP_SIGNALS:
            # The handler does nothing, but without one the signal would end the process.
            old_handlers[number] = signal.signal(number, lambda *unused: None)
        # Python writes the number of each signal to this descriptor, even while TensorFlow
        # computes.
        old_descriptor = signal.set_wakeup_fd(writer.fileno())
        while _held:
            writer.send(bytes([_held.pop()]))
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_descriptor)
            for number, handler in old_handlers.items():
                signal.signal(number, handler)
            # Closing this end is what ends the thread.
            writer.close()
            thread.join()
            reader.close()

    def check(self) -> None:
        """Raises `Interrupted` if a signal has come."""
        if self.received:
            raise Interrupted(self.received)

    def _listen(self, reader: socket.socket, log: Callable[[str], None]) -> None:
        while True:
            received = reader.recv(1)
            if not received:
                return
            number = received[0]
            if number not in _STOP_SIGNALS:
                continue
            received_at = time.monotonic()
            if self.received is None:
                self.received = signal.Signals(number).name
                self._received_at = received_at
                log(
                    f"{self.received}: finishing the current loop, then saving; "
                    "a second signal stops at once, without saving"
                )
            elif received_at - self._received_at > _SECONDS_BETWEEN_SIGNALS:
                os._exit(128 + number)

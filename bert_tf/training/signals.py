"""SIGTERM and SIGINT while training: finish the inner loop, save, end; a second one ends at
once."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Some supervisors send a signal to the process and to its group: these are one.
_SECONDS_BETWEEN_SIGNALS = 1.0
# Signals that nobody listened to, see `hold`.
_held: list[int] = []


def hold() -> None:
    """Keeps signals for whoever listens next."""
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda number, frame: _held.append(number))


class Interrupted(Exception):
    """SIGTERM or SIGINT came; raised between two inner loops."""


class StopSignal:
    """Notes SIGTERM and SIGINT; a second one ends the process at once.

    A thread takes them: Python's own handlers wait while TensorFlow computes, which may be minutes.
    """

    def __init__(self):
        self.received: str | None = None
        self._received_at = 0.0

    @contextlib.contextmanager
    def listening(self, log: Callable[[str], None]) -> Iterator[None]:
        """Takes the signals over and gives them back at the end; `log` shows a line to the user."""
        # Sockets, as Windows knows no other descriptors that do not block.
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        thread = threading.Thread(target=self._listen, args=(reader, log), daemon=True)
        thread.start()
        old_handlers = {
            number: signal.signal(number, lambda *unused: None) for number in _STOP_SIGNALS
        }
        old_descriptor = signal.set_wakeup_fd(writer.fileno())
        while _held:
            writer.send(bytes([_held.pop()]))
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_descriptor)
            for number, handler in old_handlers.items():
                signal.signal(number, handler)
            writer.close()
            thread.join()
            reader.close()

    def check(self) -> None:
        """Raises `Interrupted` if a signal has come."""
        if self.received:
            raise Interrupted(self.received)

    def _listen(self, reader: socket.socket, log: Callable[[str], None]) -> None:
        while byte := reader.recv(1):
            if byte[0] not in _STOP_SIGNALS:
                continue
            now = time.monotonic()
            if self.received is None:
                self.received, self._received_at = signal.Signals(byte[0]).name, now
                log(
                    f"{self.received}: finishing the current loop, then saving; a second signal stops at once, without saving"
                )
            elif now - self._received_at > _SECONDS_BETWEEN_SIGNALS:
                os._exit(128 + byte[0])

"""A disk that is full, as this process sees it."""

import contextlib
import resource
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def full_disk(most_bytes: int) -> Iterator[None]:
    """No file of this process can grow beyond so many bytes."""
    with disk_that_fills_up(most_bytes) as fill:
        fill()
        yield


@contextlib.contextmanager
def disk_that_fills_up(most_bytes: int) -> Iterator[Callable[[], None]]:
    """The same from when the function is called that this gives."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limits[1]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

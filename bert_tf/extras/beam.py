"""Work on the machines of an Apache Beam runner: an engine for data, with the results of the local
one.

    items ─▶ Create ─▶ Reshuffle ─▶ call, on a worker ─▶ outcome, a file in a directory that all
    machines see
                                                                │
    results in the order of the items ◀─ this process ◀─────────┘

Input: a function, its items, and the pipeline options as TensorFlow Datasets spells them. Output:
what the function returns. A pipeline has no way of its own to return results to the process that
started it; files have, on all runners. An outcome has a name of its own until it is complete, so an
item that a runner gives to two workers, or again to another one after the first has died, is
harmless as long as the function itself is. Beam is imported when it is used.
"""

import contextlib
import functools
import importlib.metadata
import importlib.util
import io
import logging
import os
import pickle
import platform
import socket
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bert_common import files
from bert_common.errors import UserError
from bert_tf import __version__

_FLAG = "--beam_pipeline_options"
# What decides on results beside this package and Python, which knows Unicode's characters and their
# classes.
_PACKAGES = ("numpy", "nupunkt")
# Beam's own timeout, 300 s, also ends the stream of states that it follows a pipeline by, and with
# it the pipeline.
_DEFAULTS = ("--job_server_timeout=2592000", "--default_sdk_harness_log_level=WARNING")
_SECONDS_BETWEEN_LOOKS = 0.05
# For an outcome to be seen here when the pipeline has ended, as network file systems keep lists of
# names for a while; and for the pipeline to end after its last outcome, which a runner that misses
# a worker may not do.
_SECONDS_TO_END = 60.0
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class BeamEngine:
    """`parallel.ordered_map` on the workers of a pipeline; `text` is a list such as
    `runner=FlinkRunner,streaming`."""

    def __init__(self, text: str):
        """Raises `UserError` for what is no list of NAME=VALUE."""
        words = [word.strip() for word in text.split(",")]
        for word in words:
            if not word.split("=")[0].isidentifier():
                raise UserError(
                    f"{_FLAG}={text}: {word!r} is no option: name=value,name=value is expected, e.g. "
                    "runner=FnApiRunner,direct_num_workers=2"
                )
        self._flags = [f"--{word}" for word in words]

    def check(self) -> None:
        """Raises `UserError` for what can be known to be wrong before the work begins: Beam, its
        runner or its server."""
        if importlib.util.find_spec("apache_beam") is None:
            raise UserError(
                f"{_FLAG}: Apache Beam is not installed: pip install --only-binary apache-beam "
                "--group beam (of an installed package: pip install 'bert-tf[beam]')"
            )
        _, options = _runner_and_options(self._flags)
        # Beam would wait for a job server that is not there.
        endpoint = options.get_all_options()["job_endpoint"]
        if endpoint and endpoint != "embed":
            host, _, port = endpoint.rpartition(":")
            try:
                socket.create_connection((host, int(port)), timeout=10).close()
            except (ValueError, OSError, OverflowError) as error:
                raise UserError(
                    f"{_FLAG}: there is no job server at job_endpoint={endpoint}, a HOST:PORT ({error}): start it "
                    "first"
                ) from None

    def ordered_map(self, function: Callable, items: Iterable, directory: str) -> Iterator:
        """`map(function, items)` on the workers: the same results in the same order.

        Args:
          function: a top-level function, or a `functools.partial` of one; may be called twice with
            an item, or at a time.
          items: all are kept in memory.
          directory: for the outcomes, absolute; all machines see it under this name.

        Raises:
          UserError: the pipeline failed, a worker has another version of what results depend on or
            does not see the directory; whatever of that kind `function` raises, at the place of its
            item.
        """
        work = list(items)
        if not work:
            return
        name = os.path.join(directory, f"outcome-{os.urandom(4).hex()}")
        paths = [f"{name}-{number:07d}" for number in range(len(work))]
        # As bytes, for a worker of another version, which may have no such function, to get as far
        # as saying so.
        call = functools.partial(_call, pickle.dumps(function), _versions())
        pipeline = _start(call, list(zip(paths, map(pickle.dumps, work), strict=True)), self._flags)
        try:
            for path in paths:
                looks, found = _SECONDS_TO_END / _SECONDS_BETWEEN_LOOKS, None
                while found is None:
                    # Looked at first: what was written before the end is there after it.
                    has_ended = not pipeline.thread.is_alive()
                    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
                        found = pickle.load(file)
                        break
                    looks -= has_ended
                    if has_ended and (pipeline.error or looks < 0):
                        raise UserError(
                            f"{_FLAG}: the pipeline failed: {_in_one_line(pipeline.error)}"
                        )
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                succeeded, outcome = found
                if not succeeded:
                    raise outcome
                yield outcome
            pipeline.thread.join(_SECONDS_TO_END)
        finally:
            # What still runs is stopped, where the runner can; local workers end with this process.
            if pipeline.thread.is_alive() and pipeline.result is not None:
                with contextlib.suppress(Exception):
                    pipeline.result.cancel()
            for path in paths:
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _runner_and_options(flags: Sequence[str]) -> tuple[Any, Any]:
    """Beam's objects; raises `UserError` for an option of a wrong value, or a runner that is not
    there."""
    from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
    from apache_beam.runners.runner import create_runner

    # It warns of Google's clients that are missing, whatever the runner.
    logging.getLogger("apache_beam.io.gcp.internal.clients").setLevel(logging.ERROR)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            options = PipelineOptions([*_DEFAULTS, *flags])
            options.get_all_options()
    except SystemExit:
        # argparse, which has printed how it is used, and what is wrong in the end.
        reason = (
            printed.getvalue().rstrip().rpartition(": error: ")[2]
            or f"{flags[-1]} is no option of a pipeline"
        )
        raise UserError(f"{_FLAG}: {reason}") from None
    name = options.view_as(StandardOptions).runner or StandardOptions.DEFAULT_RUNNER
    try:
        # Beam knows the first under its whole name only.
        whole = (
            "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
            if name == "FnApiRunner"
            else name
        )
        return create_runner(whole), options
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(
            f"{_FLAG}: runner={name} is unknown or not installed ({_in_one_line(error)}): FnApiRunner on this "
            "machine, or DataflowRunner, FlinkRunner, SparkRunner, PortableRunner"
        ) from None


@functools.cache
def _versions() -> dict[str, str]:
    return {
        "bert-tf": __version__,
        "Python": platform.python_version().rpartition(".")[0],
        **{package: importlib.metadata.version(package) for package in _PACKAGES},
    }


def _call(function: bytes, versions: dict[str, str], item: tuple[str, bytes]) -> None:
    """Calls the function, in a worker, and writes what it returns, or the user's error; others are
    the pipeline's."""
    path, argument = item
    host, directory = socket.gethostname(), os.path.dirname(path)
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{host} does not see {directory}: it must have the same name on all machines"
        )
    try:
        for package, version in _versions().items():
            if (ours := versions.get(package)) != version:
                raise UserError(
                    f"{_FLAG}: the worker on {host} has {package} {version}, this command {ours}: install that one"
                )
        outcome = True, pickle.loads(function)(pickle.loads(argument))
    except UserError as error:
        outcome = False, error
    temporary = files.unshared_name(path)
    with open(temporary, "wb") as file:
        pickle.dump(outcome, file)
    os.replace(temporary, path)


def _start(function: Callable, items: Sequence, flags: Sequence[str]) -> types.SimpleNamespace:
    """Runs a pipeline in a thread of its own, as some runners return only when it has ended:
    thread, result, error."""
    import apache_beam as beam

    # Local workers are started with the environment of this process, not with its import path.
    paths = dict.fromkeys([_ROOT, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    pipeline = beam.Pipeline(*_runner_and_options(flags))
    # Without the reshuffle the items would stay in one bundle, with one worker.
    _ = pipeline | beam.Create(items) | beam.Reshuffle() | "Work" >> beam.Map(function)

    def run() -> None:
        try:
            started.result = pipeline.run()
            started.result.wait_until_finish()
        except BaseException as error:
            started.error = error

    started = types.SimpleNamespace(
        thread=threading.Thread(target=run, daemon=True), result=None, error=None
    )
    started.thread.start()
    return started


def _in_one_line(error: BaseException | None) -> str:
    """An error's kind and message; where Beam puts a worker's traceback before these, the last
    line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        return lines[-1]
    return (
        f"{type(error).__name__}: {' '.join(lines)}"
        if error
        else "results are missing: the runner's logs may say why"
    )

"""Work spread over machines by Apache Beam: `parallel.ordered_map` for any runner.

    items ─▶ Create ─▶ Reshuffle ─▶ call, on a worker ─▶ outcome, a file in a directory that all machines see
                                                                │
    results in the order of the items ◀─ this process ◀─────────┘

Input: a function, its items, and the pipeline options as TensorFlow Datasets spells them. Output: what the function
returns. A pipeline has no way of its own to return results to the process that started it; files have, on all runners.
An outcome has a name of its own until it is complete, so an item that a runner gives to two workers, or again to
another one after the first has died, is harmless as long as the function itself is. While a worker is at it, it touches
that file now and then: some runners wait for ever for workers that have died, and this process does not. Beam is
imported when it is used.
"""

import contextlib
import functools
import importlib.metadata
import importlib.util
import io
import logging
import math
import os
import pickle
import platform
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from bert_common import files
from bert_common.errors import UserError, did_you_mean
from bert_tf import __version__

Item = TypeVar("Item")
Result = TypeVar("Result")

_FLAG = "--beam_pipeline_options"
_FN_API_RUNNER = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
# What decides on results beside this package and Python, which knows Unicode's characters and their classes.
_PACKAGES = ("numpy", "nupunkt")
_SECONDS_TO_CONNECT = 10.0
_SECONDS_OF_A_PIPELINE = 30 * 86400
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_BEFORE_NOTE = 60.0
# A runner that misses a worker may not come to the end of a pipeline whose results are all there.
_SECONDS_TO_FINISH = 60.0
_SECONDS_BETWEEN_SIGNS = 10.0
# So long a runner may take to replace workers that have died. Before the first sign it may take any time.
_SECONDS_WITHOUT_SIGN = 300.0
# For an outcome to be seen here when the pipeline has ended: network file systems keep lists of names for a while.
_SECONDS_TO_APPEAR = 60.0
# Where our packages are; local workers are started with the environment of this process, not with its import path.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def check_options(text: str) -> None:
  """Raises `UserError` for what is no list of NAME=VALUE."""
  _as_flags(text)


def check_runner(text: str) -> None:
  """Refuses what can be known to be wrong before the work begins.

  Raises:
    UserError: Apache Beam is not installed, the runner is unknown or not installed, or its job server is not there.
  """
  if importlib.util.find_spec("apache_beam") is None:
    raise UserError(f"{_FLAG}: Apache Beam is not installed: pip install --only-binary apache-beam -r "
                    "requirements-beam.txt (of an installed package: pip install 'bert-tf[beam]')")
  # It warns of Google's clients that are missing, whatever the runner.
  logging.getLogger("apache_beam.io.gcp.internal.clients").setLevel(logging.ERROR)
  options = _pipeline_options(_as_flags(text))
  _runner(options)
  _check_job_server(options)


def _check_job_server(options: Any) -> None:
  """Raises `UserError` where nobody listens, or another kind of server: Beam would wait for it."""
  import grpc
  from apache_beam.options.pipeline_options import PortableOptions

  endpoint = options.view_as(PortableOptions).job_endpoint
  if not endpoint or endpoint == "embed":
    return
  host, _, port = endpoint.rpartition(":")
  try:
    socket.create_connection((host, int(port)), _SECONDS_TO_CONNECT).close()
  except ValueError:
    raise UserError(f"{_FLAG}: job_endpoint={endpoint} is no HOST:PORT") from None
  except (OSError, OverflowError) as error:
    raise UserError(f"{_FLAG}: there is no job server at job_endpoint={endpoint} "
                    f"({getattr(error, 'strerror', None) or error}): start it first") from None
  with grpc.insecure_channel(endpoint) as channel:
    try:
      grpc.channel_ready_future(channel).result(_SECONDS_TO_CONNECT)
    except grpc.FutureTimeoutError:
      raise UserError(f"{_FLAG}: what listens at job_endpoint={endpoint} is no job server") from None


def _pipeline_options(flags: Sequence[str]) -> Any:
  from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions, WorkerOptions

  said = io.StringIO()
  try:
    with contextlib.redirect_stderr(said):
      options = PipelineOptions(list(flags))
      given = options.get_all_options(drop_default=True, retain_unknown_options=True)
  except SystemExit:
    # argparse, which has printed how it is used, and what is wrong in the end.
    reason = said.getvalue().rstrip().rpartition(": error: ")[2] or f"{flags[-1]} is no option of a pipeline"
    raise UserError(f"{_FLAG}: {reason}") from None
  _check_known(options, given)
  if "job_server_timeout" not in given:
    # Beam's own, 300 s, also ends the stream of states that it follows a pipeline by, and with it the pipeline.
    options.view_as(PortableOptions).job_server_timeout = _SECONDS_OF_A_PIPELINE
  harness = options.view_as(WorkerOptions)
  harness.default_sdk_harness_log_level = harness.default_sdk_harness_log_level or "WARNING"
  return options


def _check_known(options: Any, given: Iterable[str]) -> None:
  """Raises `UserError` for an option that nobody reads: a runner of another program might."""
  from apache_beam.options.pipeline_options import StandardOptions

  runner = options.view_as(StandardOptions).runner or StandardOptions.DEFAULT_RUNNER
  logger = logging.getLogger("apache_beam.options.pipeline_options")
  # It warns of those that it leaves out.
  level = logger.level
  logger.setLevel(logging.ERROR)
  known = options.get_all_options()
  logger.setLevel(level)
  unknown = sorted(set(given) - known.keys())
  if unknown and runner in ("DirectRunner", "FnApiRunner"):
    raise UserError(f"{_FLAG}: {runner} has no option {unknown[0]}{did_you_mean(unknown[0], known)}")


def _runner(options: Any) -> Any:
  from apache_beam.options.pipeline_options import StandardOptions
  from apache_beam.runners.runner import create_runner

  name = options.view_as(StandardOptions).runner or StandardOptions.DEFAULT_RUNNER
  try:
    # Beam knows it under its whole name only.
    return create_runner(_FN_API_RUNNER if name == "FnApiRunner" else name)
  except (ImportError, AttributeError) as error:
    raise UserError(f"{_FLAG}: runner={name} is not installed: {_in_one_line(error)}") from None
  except (TypeError, ValueError):
    # The former: a name of Python's that is no class.
    raise UserError(f"{_FLAG}: runner={name} is unknown: FnApiRunner on this machine, or DataflowRunner, FlinkRunner, "
                    "SparkRunner, PortableRunner, apache_beam.runners.dask.dask_runner.DaskRunner") from None


def _as_flags(text: str) -> list[str]:
  """`runner=X,streaming` as ["--runner=X", "--streaming"]."""
  words = [word.strip() for word in text.split(",")]
  for word in words:
    if not word.split("=")[0].isidentifier():
      raise UserError(f"{_FLAG}={text}: {word!r} is no option: name=value,name=value is expected, e.g. "
                      "runner=FnApiRunner,direct_num_workers=2")
  return [f"--{word}" for word in words]


def ordered_map(function: Callable[[Item], Result], items: Iterable[Item], pipeline_options: str,
                directory: str) -> Iterator[Result]:
  """`map(function, items)` on the workers of a Beam pipeline: the same results in the same order.

  Args:
    function: a top-level function, or a `functools.partial` of one. It may be called twice with the same item, at the
      same time too.
    items: what it is called with; all are kept in memory.
    pipeline_options: comma-separated, `runner=FlinkRunner,flink_master=HOST:8081`.
    directory: where the outcomes are written, absolute; all machines see it under this name.

  Raises:
    UserError: the runner is unknown or not installed, the pipeline failed, a worker has another version of what
      results depend on or does not see the directory; whatever of that kind `function` raises, at the place of its
      item.
  """
  work = list(items)
  if not work:
    return
  token = os.urandom(4).hex()
  paths = [os.path.join(directory, f"outcome-{token}-{number:07d}") for number in range(len(work))]
  # As bytes, for a worker of another version, which may have no such function, to get as far as saying so.
  call = functools.partial(_call, pickle.dumps(function), _versions())
  pipeline = _Pipeline(call, list(zip(paths, map(pickle.dumps, work), strict=True)), pipeline_options)
  try:
    for path in paths:
      succeeded, outcome = pipeline.wait_for(path)
      if not succeeded:
        raise outcome
      yield outcome
    pipeline.finish()
  except BaseException:
    pipeline.cancel()
    raise
  finally:
    for path in paths:
      with contextlib.suppress(OSError):
        os.unlink(path)


@functools.cache
def _versions() -> dict[str, str]:
  return {"bert-tf": __version__, "Python": platform.python_version().rpartition(".")[0],
          **{package: importlib.metadata.version(package) for package in _PACKAGES}}


def _call(function: bytes, versions: dict[str, str], item: tuple[str, bytes]) -> None:
  """Calls the function, pickled as its item is, and writes what it returns, or the user's error; runs in the workers.

  Any other error is the pipeline's, which may try again elsewhere.
  """
  path, argument = item
  if not os.path.isdir(os.path.dirname(path)):
    raise FileNotFoundError(f"{socket.gethostname()} does not see {os.path.dirname(path)}: the directory of the output "
                            "must have the same name on all machines")
  temporary = files.unshared_name(path)
  try:
    outcome = _outcome(function, versions, argument, temporary)
    with open(temporary, "wb") as file:
      pickle.dump(outcome, file)
    os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(OSError):
      os.unlink(temporary)
    raise


def _outcome(function: bytes, versions: dict[str, str], argument: bytes, touched: str) -> tuple[bool, Any]:
  try:
    for package, version in _versions().items():
      if versions.get(package) != version:
        raise UserError(f"{_FLAG}: the worker on {socket.gethostname()} has {package} {version}, this command "
                        f"{versions.get(package)}: install the same one")
    with _signs_of_life(touched):
      return True, pickle.loads(function)(pickle.loads(argument))
  except UserError as error:
    return False, error


@contextlib.contextmanager
def _signs_of_life(path: str) -> Iterator[None]:
  """Touches a file now and then while the block runs."""
  ended = threading.Event()

  def touch() -> None:
    while not ended.is_set():
      with contextlib.suppress(OSError), open(path, "ab"):
        os.utime(path)
      ended.wait(_SECONDS_BETWEEN_SIGNS)

  thread = threading.Thread(target=touch, daemon=True)
  thread.start()
  try:
    yield
  finally:
    ended.set()
    thread.join()


def _read_signs(directory: str) -> frozenset[tuple[str, int]]:
  """Names of outcomes and, of those in the making, when they were touched, by whatever clock."""
  found = set()
  with os.scandir(directory) as entries:
    for entry in entries:
      if entry.name.startswith("outcome-"):
        with contextlib.suppress(FileNotFoundError):
          found.add((entry.name, entry.stat().st_mtime_ns if entry.name.endswith(".tmp") else 0))
  return frozenset(found)


class _Pipeline:
  """A pipeline that runs in a thread of its own, as some runners return only when it has ended."""

  def __init__(self, function: Callable, items: Sequence, text: str):
    self._error: BaseException | None = None
    self._result: Any = None
    self._ended_at: float | None = None
    self._begun = False
    self._signs: frozenset = frozenset()
    self._signs_changed_at = self._signs_read_at = time.monotonic()
    self._pipeline = _build(function, items, text)
    self._thread = threading.Thread(target=self._run, daemon=True)
    self._thread.start()

  def _run(self) -> None:
    try:
      self._result = self._pipeline.run()
      self._result.wait_until_finish()
    except BaseException as error:
      self._error = error
    self._ended_at = time.monotonic()

  def wait_for(self, path: str) -> tuple[bool, Any]:
    """An outcome, as soon as it is there; while it is not, a note says so, and whether workers live is looked at."""
    note_at = time.monotonic() + _SECONDS_BEFORE_NOTE
    while True:
      # Looked at first: what was written before the end is there after it.
      ended_at = self._ended_at
      with contextlib.suppress(FileNotFoundError):
        with open(path, "rb") as file:
          outcome = pickle.load(file)
        os.unlink(path)
        self._begun = True
        return outcome
      if ended_at is not None and (self._error or time.monotonic() > ended_at + _SECONDS_TO_APPEAR):
        raise UserError(f"{_FLAG}: the pipeline failed: {_in_one_line(self._error)}") from None
      if time.monotonic() > note_at:
        note_at = math.inf
        print(f"\nnote: {_SECONDS_BEFORE_NOTE:.0f} s without the next result: do the runner's workers live, and see "
              f"{os.path.dirname(path)}? Its logs say; Ctrl-C stops", file=sys.stderr)
      self._check_signs(os.path.dirname(path))
      time.sleep(_SECONDS_BETWEEN_LOOKS)

  def _check_signs(self, directory: str) -> None:
    """Raises `UserError` where workers have begun, and for minutes none has touched or finished anything."""
    now = time.monotonic()
    if now < self._signs_read_at + _SECONDS_BETWEEN_SIGNS:
      return
    self._signs_read_at = now
    signs = _read_signs(directory)
    if signs != self._signs:
      self._signs, self._signs_changed_at, self._begun = signs, now, True
    elif self._begun and now > self._signs_changed_at + _SECONDS_WITHOUT_SIGN:
      raise UserError(f"{_FLAG}: no worker has given a sign of life for {_SECONDS_WITHOUT_SIGN:.0f} s, and the runner "
                      "has not replaced those that have died: start it and them again, then this command")

  def finish(self) -> None:
    """Waits for the end, to which a pipeline comes a moment after its last outcome."""
    self._thread.join(_SECONDS_TO_FINISH)
    self.cancel()

  def cancel(self) -> None:
    """Stops what still runs, where the runner can; local workers end with this process."""
    if self._ended_at is None and self._result is not None:
      with contextlib.suppress(Exception):
        self._result.cancel()


def _build(function: Callable, items: Sequence, text: str) -> Any:
  """The pipeline, not yet running."""
  import apache_beam as beam

  paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
  if _ROOT not in paths:
    os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *filter(None, paths)])
  options = _pipeline_options(_as_flags(text))
  try:
    pipeline = beam.Pipeline(_runner(options), options)
  except (ValueError, TypeError) as error:
    raise UserError(f"{_FLAG}: {_in_one_line(error)}") from None
  # Without the reshuffle the items would stay in one bundle, with one worker.
  _ = pipeline | beam.Create(items) | beam.Reshuffle() | "Work" >> beam.Map(function)
  return pipeline


def _in_one_line(error: BaseException | None) -> str:
  """An error's kind and message; where Beam puts a worker's traceback before these, the last line."""
  if error is None:
    return "it has ended, and results are missing: the runner's logs may say why"
  lines = [line.strip() for line in str(error).splitlines() if line.strip()]
  if any(line.startswith("Traceback") for line in lines):
    return lines[-1]
  return f"{type(error).__name__}: {' '.join(lines)}"

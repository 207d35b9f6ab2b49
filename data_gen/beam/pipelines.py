"""Common parts of the pipelines: options and runners, errors in one line, files, steps.

A pipeline is a chain of *steps*, functions that take an element and yield elements, and of
GroupByKeys. It has no side inputs and no tagged outputs, which Dask's runner computes again or
mixes up: what all elements of a step need, such as the number of all instances, is made of a group
with one key, and sent to the key of each of them. Keys are integers, or tuples of them, whose hash
is the same in every process.
"""

import contextlib
import dataclasses
import functools
import glob
import io
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.runners.runner import create_runner

from bert_common import files, json_files, remote_files
from bert_common.errors import UserError, in_one_line

_FLAG = "--beam_pipeline_options"
# Runners that Beam knows under their whole names only. Its default, Prism, is a program that it
# downloads.
_WHOLE_NAMES = {
    "FnApiRunner": "apache_beam.runners.portability.fn_api_runner.FnApiRunner",
    "DaskRunner": "apache_beam.runners.dask.dask_runner.DaskRunner",
}
# After 300 s, Beam's own value, the stream of states ends by which it follows a pipeline.
_DEFAULTS = ("--job_server_timeout=2592000", "--default_sdk_harness_log_level=CRITICAL")
# Of a worker's traceback, which some runners send as a text, the message for the user.
_USER_ERROR = re.compile(r"\bUserError: (.+?)(?: \[while running|\\n|\n|$)")
# Dask's bags keep as many partitions as they begin with: the most processes that work at a time.
_FEWEST_BEGINNINGS = 64
# Stored bytes of input for a group of fingerprints or words.
_GROUP_BYTES = 64 << 20
_FEWEST_GROUPS = 16
# Name of what a pipeline keeps for the process that has started it.
RESULT = "result"
# Key of what is brought together in one place.
ALL = 0
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

Step = Callable[[Any, Any], Iterator[Any]]


class _Status(NamedTuple):
    """Size and time of a file, under TensorFlow's names."""

    length: int
    mtime_nsec: int


class BeamFiles:
    """Beam's file systems with the functions of `tf.io.gfile` that `bert_common/files.py` calls."""

    def exists(self, path: str) -> bool:
        return FileSystems.exists(path)

    def isdir(self, path: str) -> bool:
        return bool(self._children(path))

    def makedirs(self, path: str) -> None:
        # Beam refuses a directory that exists; an object store has none.
        with contextlib.suppress(OSError):
            FileSystems.mkdirs(path)

    def remove(self, path: str) -> None:
        FileSystems.delete([path])

    def rmtree(self, path: str) -> None:
        paths = self._children(path)
        if paths:
            FileSystems.delete(paths)
        # An object store has no directories.
        with contextlib.suppress(OSError):
            FileSystems.delete([path])

    def listdir(self, path: str) -> list[str]:
        return [os.path.basename(name) for name in self._children(path)]

    def stat(self, path: str) -> _Status:
        matches = self._match(glob.escape(path))
        if not matches:
            raise FileNotFoundError(2, "No such file or directory", path)
        seconds = matches[0].last_updated_in_seconds
        return _Status(matches[0].size_in_bytes, int(seconds * 10**9))

    def glob(self, pattern: str) -> list[str]:
        return [match.path for match in self._match(pattern)]

    def _children(self, path: str) -> list[str]:
        return self.glob(f"{glob.escape(path.rstrip('/'))}/*")

    def _match(self, pattern: str) -> list[Any]:
        try:
            return FileSystems.match([pattern])[0].metadata_list
        except ValueError as error:
            # The scheme is unknown, or its client is not installed.
            raise OSError(5, in_one_line(error), pattern) from None

    def rename(self, source: str, target: str, overwrite: bool) -> None:
        FileSystems.rename([source], [target])

    def GFile(self, path: str, mode: str) -> "_BeamFile":
        return _BeamFile(path, mode)


class _BeamFile:
    """An open file of Beam with the methods of a `GFile`."""

    def __init__(self, path: str, mode: str):
        open_it = FileSystems.create if mode == "wb" else FileSystems.open
        # Beam would unpack by the name; `files.open_unzipped` looks at the content.
        self._file = open_it(path, compression_type=CompressionTypes.UNCOMPRESSED)
        self._path = path

    def size(self) -> int:
        return BeamFiles().stat(self._path).length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


# In every process of a pipeline, that of the command and those of the workers.
remote_files.stand_in = BeamFiles()


@dataclasses.dataclass(frozen=True)
class Job:
    """Facts that all steps know; it travels to the workers with the pipeline.

    Attributes:
      options: of the script.
      input_files: absolute paths.
      work: directory beside the output for files on their way; each has a name of its own, so
        workers that do the same never meet.
      started: time of the start, in seconds.
      facts: more that the steps of one pipeline need.
    """

    options: Any
    input_files: list[str]
    work: str
    started: float = dataclasses.field(default_factory=time.time)
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    def keep(self, name: str, value: Any) -> None:
        """Keeps a value of JSON that is too large to travel with each step, for `recall`."""
        json_files.write(f"{self.work}/{name}", value)

    def recall(self, name: str, make: Callable[[Any], Any] | None = None) -> Any:
        """Returns what `keep` has kept, or what `make` makes of it."""
        return _recalled(f"{self.work}/{name}", make)

    def new_file(self, name: str) -> str:
        """Returns a path in the work directory that nobody else uses."""
        return f"{self.work}/{name}.{os.urandom(8).hex()}"


@functools.lru_cache(maxsize=2)
def _recalled(path: str, make: Callable[[Any], Any] | None) -> Any:
    value = json_files.read(path)
    return value if make is None else make(value)


def new_job(options: Any, input_files: Sequence[str], output_file: str, **facts: Any) -> Job:
    """Makes the work directory and returns the job."""
    folder, _, name = files.absolute(output_file).rpartition("/")
    work = f"{folder}/.{name}.beam-{os.urandom(4).hex()}"
    files.make_directories(work)
    return Job(options, [files.absolute(path) for path in input_files], work, facts=facts)


def num_groups(input_files: Sequence[str]) -> int:
    """Returns a number of groups for what is gathered from files: some megabytes in each."""
    stored = sum(files.file_size(path) for path in input_files)
    return max(stored // _GROUP_BYTES, _FEWEST_GROUPS)


class _Function(beam.DoFn):
    """A step with its job."""

    def __init__(self, function: Step, job: Job):
        self._function = function
        self._job = job

    def process(self, element: Any) -> Iterator[Any]:
        yield from self._function(self._job, element)


class _Only(beam.DoFn):
    """Takes the elements of a kind out of pairs (kind, element)."""

    def __init__(self, kind: str):
        self._kind = kind

    def process(self, pair: tuple[str, Any]) -> Iterator[Any]:
        kind, element = pair
        if kind == self._kind:
            yield element


class Flow:
    """A PCollection of a job, and what the pipelines here do with it."""

    def __init__(self, job: Job, elements: Any):
        self._job = job
        self._elements = elements

    @classmethod
    def of_files(cls, job: Job, pipeline: Any) -> "Flow":
        """Returns (number, path) of the input files, and (number, "") for no file."""
        paths = [*job.input_files]
        paths += [""] * (_FEWEST_BEGINNINGS - len(paths))
        return cls(job, pipeline | "input files" >> beam.Create(list(enumerate(paths))))

    def through(self, function: Step, name: str = "") -> "Flow":
        """Returns what a step yields for the elements."""
        label = name or function.__name__
        return Flow(self._job, self._elements | label >> beam.ParDo(_Function(function, self._job)))

    def only(self, kind: str, name: str = "") -> "Flow":
        """Returns the elements of a kind, of pairs (kind, element)."""
        return Flow(self._job, self._elements | f"only {name}{kind}" >> beam.ParDo(_Only(kind)))

    def grouped(self, name: str, *flows: "Flow") -> "Flow":
        """Returns (key, values) of these pairs and others."""
        elements = self._elements
        if flows:
            all_elements = [elements]
            for flow in flows:
                all_elements.append(flow._elements)
            elements = all_elements | f"join {name}" >> beam.Flatten()
        return Flow(self._job, elements | name >> beam.GroupByKey())


def move(source: str, target: str, size: int) -> None:
    """Moves a complete file of the work directory to its final path; may be repeated."""
    if not files.exists(source) and files.exists(target) and files.file_size(target) == size:
        return
    with files.user_error(f"can't write {target}"):
        if files.parent_directory(source).rpartition("/")[0] != files.parent_directory(target):
            files.copy(source, target)
        elif files.is_remote(target):
            files.rename(source, target)
        else:
            files.take_the_place_of(source, target)


def process_name() -> str:
    """Returns a name of this process among those of all machines."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run(job: Job, build: Callable[[Flow], Any]) -> Any:
    """Runs a pipeline to its end, and removes the work directory.

    Returns what the last step has kept as `RESULT`.

    Args:
      build: makes the steps behind `Flow.of_files`. The last one must depend on all others: Dask's
        runner computes no more.

    Raises:
      UserError: an option of the pipeline, a runner or what a step met is at fault.
    """
    try:
        runner, options = _runner_and_options(job.options.beam_pipeline_options)
        # Workers of this machine are started with its environment, not with its import path.
        paths = dict.fromkeys([_ROOT, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        pipeline = beam.Pipeline(runner, options)
        build(Flow.of_files(job, pipeline))
        try:
            pipeline.run().wait_until_finish()
        except Exception as error:
            raise _user_error(error) from error
        return job.recall(RESULT)
    finally:
        with contextlib.suppress(OSError):
            files.remove_tree(job.work)


def _user_error(error: Exception) -> UserError:
    """Returns the error of a pipeline that failed: what a worker said, or the last line of its
    traceback."""
    match = _USER_ERROR.search(f"{type(error).__name__}: {error}")
    if match:
        return UserError(match[1])
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    is_traceback = any(line.startswith("Traceback") for line in lines)
    reason = lines[-1] if is_traceback else in_one_line(error)
    return UserError(f"{_FLAG}: the pipeline failed: {type(error).__name__}: {reason}")


def _runner_and_options(text: str) -> tuple[Any, PipelineOptions]:
    """Returns Beam's objects for a list such as "runner=FlinkRunner,streaming".

    Raises:
      UserError: no list of NAME=VALUE, an option unknown to Beam or of a wrong value, no runner or
        one that is not installed, or a job server that does not answer.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not word.split("=")[0].isidentifier():
            raise UserError(
                f"{_FLAG}={text}: {word!r} is no option: name=value,name=value is expected, e.g. "
                "runner=FnApiRunner,direct_num_workers=2"
            )
    # Beam prints tracebacks of errors that are also raised.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            options = PipelineOptions([*_DEFAULTS, *(f"--{word}" for word in words)])
            values = options.get_all_options()
    except SystemExit:
        # argparse, which has printed how it is used, and in the end what is wrong.
        reason = printed.getvalue().rstrip().rpartition(": error: ")[2]
        raise UserError(f"{_FLAG}: {reason}") from None
    _check_job_server(values["job_endpoint"])
    name = options.view_as(StandardOptions).runner
    if not name:
        raise UserError(
            f"{_FLAG}={text}: no runner is named: runner=FnApiRunner is this machine, "
            "docs/many_machines.md has others"
        )
    try:
        return create_runner(_WHOLE_NAMES.get(name, name)), options
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UserError(
            f"{_FLAG}: runner={name} is unknown or not installed ({in_one_line(error)}): "
            "FnApiRunner on this machine, or DaskRunner, FlinkRunner, SparkRunner, DataflowRunner"
        ) from None


def _check_job_server(endpoint: str | None) -> None:
    """Raises `UserError` if there is no job server, for which Beam would wait."""
    if not endpoint or endpoint == "embed":
        return
    host, _, port = endpoint.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (ValueError, OSError, OverflowError) as error:
        raise UserError(
            f"{_FLAG}: there is no job server at job_endpoint={endpoint}, a HOST:PORT ({error}): "
            "start it first"
        ) from None

"""Scripts of the project run as a user runs them: real processes that are stopped, killed and
started again.

What is only compared with them, and what resumes from the disk what a process has left there, runs
in this process by `run_here`: TensorFlow takes longer to start than all the steps of such a run.
"""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from bert_common import cli, json_files
from bert_common.options import Options
from bert_tf.training.run_directory import read_metrics

_PROJECT = pathlib.Path(__file__).resolve().parent.parent


# Runs one script for every further argument, a command line each.
_SCRIPT_AGAIN = """
import os, runpy, sys
from absl import app, flags

known = set(flags.FLAGS)
script, *commands = sys.argv[1:]
sys.path[0] = os.path.dirname(script)
for command in commands:
    sys.argv = [script, *command.split()]
    for name in set(flags.FLAGS) - known:
        delattr(flags.FLAGS, name)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, (command, end.code)
"""


def run_commands(script: str, folder: pathlib.Path, *commands: str) -> str:
    """The output of a script that a process runs once for each command line."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT_AGAIN, str(_PROJECT / script), *commands],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TF_")}


class Script:
    """A running script with its output in files beside `log`."""

    def __init__(
        self,
        script: str,
        log: pathlib.Path,
        *arguments: str,
        variables: Mapping[str, str] | None = None,
    ):
        environment = {**_environment(), **(variables or {})}
        self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
        with open(self._out, "w") as out, open(self._err, "w") as err:
            self.process = subprocess.Popen(
                [sys.executable, str(_PROJECT / script), *arguments],
                stdout=out,
                stderr=err,
                env=environment,
                cwd=log.parent,
            )

    def end(self) -> tuple[int, str, str]:
        """Waits; (exit status, output, errors)."""
        try:
            status = self.process.wait()
        finally:
            self.process.kill()
        return status, self._out.read_text(), self._err.read_text()

    def signal_at_step(self, number: int, directory: pathlib.Path, step: int) -> None:
        while not any(line["step"] >= step for line in read_metrics(str(directory))):
            assert self.process.poll() is None, self._err.read_text()
            time.sleep(0.005)
        self.process.send_signal(number)


@contextlib.contextmanager
def cluster_variables(processes: int = 2) -> Iterator[list[dict[str, str]]]:
    """The environment variables of the processes of one run, whose ports nobody else gets
    meanwhile.

    They are bound here, without listening, and TensorFlow's servers share them.
    """
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(processes)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(("", 0))
        workers = [f"localhost:{one.getsockname()[1]}" for one in sockets]
        yield [
            {
                "TF_GRPC_REUSE_PORT": "1",
                "TF_CONFIG": json.dumps(
                    {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
                ),
            }
            for index in range(processes)
        ]


@contextlib.contextmanager
def started_two(script: str, log: pathlib.Path, *arguments: str) -> Iterator[list[Script]]:
    """Two processes of one run, the chief first; the names of their logs end with their numbers."""
    with cluster_variables() as variables:
        scripts = [
            Script(script, log.with_name(f"{log.name}{index}"), *arguments, variables=one)
            for index, one in enumerate(variables)
        ]
        try:
            yield scripts
        finally:
            for one in scripts:
                one.process.kill()


def run_here(options: type[Options], run: Callable[[Options], int], *arguments: str) -> None:
    """What a script does with these arguments, in this process."""
    assert run(cli.parse(options, ["script.py", *arguments])) == 0


def tensors(directory) -> dict[str, np.ndarray]:
    reader = tf.train.load_checkpoint(str(directory))
    keys = reader.get_variable_to_shape_map()
    # The number of checkpoints that were written is none of the training's business, and every run
    # has an id of its own.
    return {
        key: reader.get_tensor(key)
        for key in keys
        if not any(other in key for other in ("OBJECT_GRAPH", "save_counter", "run_id"))
    }


def best_record(directory) -> dict:
    """The record of the best weights, without the id that every run has of its own."""
    record = json_files.read_object(f"{directory}/best/best.json")
    record.pop("run_id", None)
    return record


def curve(directory) -> list[dict]:
    """What was reported, without speeds."""
    speeds = ("input_wait_share", "peak_share")
    return [
        {
            name: value
            for name, value in line.items()
            if "per_second" not in name and name not in speeds
        }
        for line in read_metrics(str(directory))
    ]

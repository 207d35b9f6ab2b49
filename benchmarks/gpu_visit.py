"""What the measurements of gpu.py share: commands of the project, which end with the time; records; configurations."""

import functools
import math
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks.sizes import find_config
from benchmarks.texts import PROJECT, VOCABULARY
from bert_common import json_files, parallel
from bert_common.errors import UserError
from data_gen.pretraining.record_files import find_records
from data_gen.pretraining.records import inspect_first_record
from data_gen.pretraining.schema import Schema

VOCAB_SIZE = 30522
_SECONDS_TO_LOOK_AGAIN = 0.02


class Visit:
  """The time on a device.

  Args:
    device: "gpu" or "cpu".
    seconds: until it is over; None for never.
    folder: where everything is written.
    input_file, eval_file: records of pre-training; None for ours.

  Attributes:
    command: the last one that was run, as it is typed.
  """

  def __init__(self, device: str, seconds: float | None, folder: str, input_file: str | None, eval_file: str | None):
    self.device, self.command = device, ""
    self._folder, self._end = folder, time.monotonic() + (seconds or math.inf)
    self._given = input_file and [absolute(input_file), absolute(eval_file or input_file)]
    self._environment = os.environ | ({"CUDA_VISIBLE_DEVICES": "-1"} if device == "cpu" else {}) | {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))}

  @property
  def is_over(self) -> bool:
    """Whether nothing more is to be started."""
    return time.monotonic() >= self._end

  @property
  def output(self) -> str:
    """What the last command has printed."""
    return pathlib.Path(self._folder, "log").read_text("utf-8", "replace")

  def path(self, name: str) -> str:
    """The path of a new file or directory of this name."""
    return f"{tempfile.mkdtemp(dir=self._folder)}/{name}"

  def run(self, *command: str, until: Callable[[], bool] = lambda: False, statuses: tuple[int, ...] = (0,)) -> float:
    """Runs Python with this command in the project's directory; returns its seconds.

    Args:
      until: the process is killed when this is true.
      statuses: exit statuses that are no failure.

    Raises:
      UserError: the last line of what failed; or the time is over.
    """
    self.command, parent, began = shlex.join(["python", *command]), os.getpid(), time.monotonic()
    with open(os.path.join(self._folder, "log"), "wb") as log:
      process = subprocess.Popen(
          [sys.executable, *command], cwd=PROJECT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log,
          stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: parallel.end_with_parent(parent))
    try:
      while process.poll() is None and not until():
        if self.is_over:
          raise UserError("not finished when --seconds were over")
        time.sleep(_SECONDS_TO_LOOK_AGAIN)
      seconds = time.monotonic() - began
      self._check(process.poll(), statuses)
      return seconds
    finally:
      if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

  def _check(self, status: int | None, statuses: tuple[int, ...]) -> None:
    """Raises `UserError` for another exit status, or where a run has not used the GPU; None was killed by us."""
    unused = re.search(r"warning: (.* is not used, the CPU is.*)", self.output)
    if self.device == "gpu" and unused:
      raise UserError(unused[1])
    if status is not None and status not in statuses:
      lines = self.output.strip().splitlines()
      raise UserError(lines[-1].removeprefix("error: ") if status > 0 and lines else f"exit status {status}")

  def benchmark(self, script: str, *flags: str) -> dict[str, object]:
    """Results of a benchmark: "programs", and what of them could not be measured as "error"."""
    path = self.path("results.jsonl")
    self.run(f"benchmarks/{script}", *flags, f"--device={self.device}", "--one_at_a_time", f"--json_file={path}")
    programs: dict[str, dict] = {}
    for line in json_files.read_objects(path, {"program": str}):
      programs.setdefault(line.pop("program"), {}).update(line)
    errors = [f"{name}: {error}" for name, found in programs.items() if (error := found.pop("error"))]
    return {"programs": programs, "error": "; ".join(errors) or None}

  def pretraining(self, model: str, length: int, batch_size: int, steps: int) -> list[str]:
    """A command of run_pretraining.py without its output directory; records that were given have their own length."""
    train, held_out = self._given or self._records(length)
    schema = inspect_first_record(find_records(train, "input_file")[0]).schema if self._given else _schema(length)
    return ["run_pretraining.py", "--do_train", f"--input_file={train}", f"--eval_file={held_out}",
            f"--bert_config_file={self.config_file(model)}", *_flags(schema), f"--train_batch_size={batch_size}",
            f"--num_train_steps={steps}", f"--num_warmup_steps={steps // 10}", "--learning_rate=5e-4"]

  def config_file(self, model: str) -> str:
    """Of a published size, with the vocabulary that its records have."""
    path = self.path("bert_config.json")
    find_config(model, VOCAB_SIZE).to_file(path)
    return path

  @functools.cache  # noqa: B019 (there is one visit)
  def _records(self, length: int) -> list[str]:
    """Records of so many tokens to train on, and held-out ones."""
    train, held_out = self.path("train.txt"), self.path("held_out.txt")
    self.run("data_gen/prepare_corpus.py", "--input_file=samples/corpus.txt.gz", f"--output_file={train}",
             "--held_out_fraction=0.1", f"--held_out_file={held_out}")
    for text in (train, held_out):
      self.run("data_gen/create_pretraining_data.py", f"--input_file={text}", f"--output_file={text}.records",
               f"--vocab_file={VOCABULARY}", *_flags(_schema(length)))
    return [f"{train}.records", f"{held_out}.records"]


def absolute(paths: str) -> str:
  """The same paths, separated by commas, from any working directory."""
  return ",".join(map(os.path.abspath, paths.split(",")))


def _schema(length: int) -> Schema:
  return Schema(length, math.ceil(0.15 * length))


def _flags(schema: Schema) -> list[str]:
  return [f"--max_seq_length={schema.max_seq_length}", f"--max_predictions_per_seq={schema.max_predictions_per_seq}"]

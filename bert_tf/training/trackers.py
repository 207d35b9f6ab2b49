"""Trackers of experiments, MLflow and Weights & Biases: metrics, flags, pictures and files of a run.

Input: what `reports.py` and the driver report. Output: a run of each tracker, which a resumed run continues: its id is
kept in `trackers.json` of the run directory. A tracker that fails is one warning, and the run continues without it.
"""

import contextlib
import importlib.util
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from bert_common import files, json_files
from bert_common.errors import in_one_line
from bert_tf.training.signals import Interrupted

TRACKERS_FILE = "trackers.json"
# What runs are put under where the variables of the trackers name nothing else.
_PROJECT = "bert-tf"
# How a run has ended, in MLflow's words.
_FINISHED, _INTERRUPTED, _FAILED = "FINISHED", "KILLED", "FAILED"
# MLflow's variables, unless they are set. A server that does not answer would hold up the training for minutes. A
# file store must be allowed, and is one only where MLFLOW_TRACKING_URI names it.
_MLFLOW_DEFAULTS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
                    "MLFLOW_ALLOW_FILE_STORE": "true"}
# MLflow takes so many parameters at a time, and so long texts.
_MOST_PARAMETERS, _LONGEST_PARAMETER = 100, 500
# Seconds that Weights & Biases may take to begin a run, and to send the rest of it at the end.
_WANDB_SECONDS = 60.0
# What MLflow refuses in the name of a metric, such as those that contain a label.
_NOT_IN_NAMES = re.compile(r"[^\w\-. /]")
_LONGEST_NAME = 250


class Tracker(Protocol):
  """A run of a tracker; its methods may raise anything.

  Attributes:
    id: of the tracker's run, by which it is resumed.
    place: where it is shown, for the user.
  """

  id: str
  place: str

  def metrics(self, step: int, values: Mapping[str, float]) -> None:
    """Adds values of a step."""

  def picture(self, name: str, pixels: np.ndarray, step: int) -> None:
    """Adds a picture, uint8 [height, width, 4], RGBA."""

  def files(self, paths: Sequence[str], folder: str | None) -> None:
    """Adds files of this machine, in place of earlier ones of the same name."""

  def end(self, status: str) -> None:
    """Sends what is left."""


class MlflowTracker:
  """A run of MLflow, in the store that MLFLOW_TRACKING_URI names."""

  def __init__(self, directory: str, run_id: str | None, flags: Mapping[str, object]):
    for name, value in _MLFLOW_DEFAULTS.items():
      os.environ.setdefault(name, value)
    import mlflow

    # Its own default is a database, whose driver only the whole package brings.
    if not mlflow.is_tracking_uri_set() and importlib.util.find_spec("sqlalchemy") is None:
      raise RuntimeError("set MLFLOW_TRACKING_URI to a server or a directory, or `pip install mlflow` for a database")
    self._client = mlflow.MlflowClient()
    self.id = (run_id if run_id and self._is_there(run_id) else None) or self._create(_name(directory))
    self._client.update_run(self.id, status="RUNNING")
    self._set_flags({name: str(value)[:_LONGEST_PARAMETER] for name, value in flags.items() if value is not None})
    self.place = f"run {self.id} in {mlflow.get_tracking_uri()}"

  def _is_there(self, run_id: str) -> bool:
    """Whether the store has the run of an earlier start: it may be another store."""
    import mlflow

    try:
      return self._client.get_run(run_id).info.lifecycle_stage == "active"
    except mlflow.MlflowException as error:
      if error.error_code == "RESOURCE_DOES_NOT_EXIST":
        return False
      raise

  def _create(self, name: str) -> str:
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", _PROJECT)
    found = self._client.get_experiment_by_name(experiment)
    number = self._client.create_experiment(experiment) if found is None else found.experiment_id
    return self._client.create_run(number, run_name=name).info.run_id

  def _set_flags(self, values: Mapping[str, str]) -> None:
    """Parameters, which can't be changed; what a resumed run has changed becomes a tag."""
    from mlflow.entities import Param, RunTag

    there = self._client.get_run(self.id).data.params
    new = [Param(name, value) for name, value in values.items() if name not in there]
    changed = [RunTag(name, value) for name, value in values.items() if there.get(name, value) != value]
    for first in range(0, len(new), _MOST_PARAMETERS):
      self._client.log_batch(self.id, params=new[first:first + _MOST_PARAMETERS])
    self._client.log_batch(self.id, tags=changed)

  def metrics(self, step: int, values: Mapping[str, float]) -> None:
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    self._client.log_batch(self.id, [Metric(name, value, now, step) for name, value in values.items()])

  def picture(self, name: str, pixels: np.ndarray, step: int) -> None:
    self._client.log_image(self.id, pixels, key=name, step=step)

  def files(self, paths: Sequence[str], folder: str | None) -> None:
    for path in paths:
      self._client.log_artifact(self.id, path, folder)

  def end(self, status: str) -> None:
    self._client.set_terminated(self.id, status)


class WandbTracker:
  """A run of Weights & Biases, below the run directory unless WANDB_DIR is set; offline with WANDB_MODE=offline."""

  def __init__(self, directory: str, run_id: str | None, flags: Mapping[str, object]):
    import wandb

    self._wandb = wandb
    is_online = wandb.setup().settings.mode == "online"
    # It would ask for a key, and wait.
    if is_online and not wandb.login(prompt=False):
      raise RuntimeError("not logged in: `wandb login` once, or set WANDB_MODE=offline")
    place = os.environ.get("WANDB_DIR") or (None if files.is_remote(directory) else directory)
    self._run = wandb.init(
        project=os.environ.get("WANDB_PROJECT", _PROJECT), name=_name(directory), id=run_id or uuid.uuid4().hex,
        resume="allow", dir=place, settings=wandb.Settings(
            console="off", silent=True, init_timeout=_WANDB_SECONDS, finish_timeout=_WANDB_SECONDS))
    self._run.config.update(dict(flags), allow_val_change=True)
    # Steps before that of the last report are accepted, too: those between the checkpoint and the end of a start.
    self._run.define_metric("*", step_metric="step")
    self.id = self._run.id
    self.place = self._run.url if is_online else f"{self._run.settings.sync_dir}, for `wandb sync`"

  def metrics(self, step: int, values: Mapping[str, float]) -> None:
    self._run.log({**values, "step": step})

  def picture(self, name: str, pixels: np.ndarray, step: int) -> None:
    self._run.log({name: self._wandb.Image(pixels), "step": step})

  def files(self, paths: Sequence[str], folder: str | None) -> None:
    if folder is None:
      # What is there is sent when the run ends.
      for path in paths:
        files.copy(path, os.path.join(self._run.dir, os.path.basename(path)))
      return
    artifact = self._wandb.Artifact(f"{folder}-{self.id}", "model")
    for path in paths:
      artifact.add_file(path)
    self._run.log_artifact(artifact)

  def end(self, status: str) -> None:
    self._run.finish(exit_code=int(status != _FINISHED))


_TRACKERS = {"mlflow": MlflowTracker, "wandb": WandbTracker}


class Trackers:
  """The trackers of a run, those that work; none in processes that are not the chief, and until `tracked` begins."""

  def __init__(self):
    self._running: dict[str, Tracker] = {}

  def begin(self, names: Sequence[str], directory: str, flags: Mapping[str, object], log: Callable[[str], None]
            ) -> None:
    """Begins or resumes a run of each of the trackers; the other names are ignored."""
    for name in filter(_TRACKERS.__contains__, names):
      with self._never_in_the_way(name):
        path = os.path.join(directory, TRACKERS_FILE)
        known = json_files.read_object(path, {name: str | None})
        tracker = self._running[name] = _TRACKERS[name](directory, known.get(name), flags)
        json_files.write(path, {**known, name: tracker.id})
        log(f"{name}: {tracker.place}")

  def metrics(self, kind: str, step: int, values: Mapping[str, float]) -> None:
    """Reports metrics as `<kind>/<name>`, e.g. of training, evaluation, or the weights that the run ends with."""
    named = {_NOT_IN_NAMES.sub("_", f"{kind}/{name}")[:_LONGEST_NAME]: float(value) for name, value in values.items()}
    self._each(lambda tracker: tracker.metrics(step, named))

  def picture(self, name: str, pixels: np.ndarray, step: int) -> None:
    """Reports a picture, uint8 [height, width, 4]."""
    self._each(lambda tracker: tracker.picture(name, pixels, step))

  def files(self, find: Callable[[], Sequence[str]], folder: str | None = None) -> None:
    """Hands over the files that `find` names, those that exist, from any file system."""
    self._each(lambda tracker: tracker.files(
        [files.local_copy(path, self) for path in find() if files.exists(path)], folder))

  def end(self, status: str) -> None:
    """Ends the trackers' runs."""
    self._each(lambda tracker: tracker.end(status))
    self._running.clear()

  def _each(self, report: Callable[[Tracker], None]) -> None:
    for name, tracker in list(self._running.items()):
      with self._never_in_the_way(name):
        report(tracker)

  @contextlib.contextmanager
  def _never_in_the_way(self, name: str) -> Iterator[None]:
    """Prints a warning for any error, after which the tracker gets no more reports."""
    try:
      yield
    except Exception as error:
      self._running.pop(name, None)
      print(f"warning: {name} is left out from here on, the run continues: {in_one_line(error)}", file=sys.stderr,
            flush=True)


@contextlib.contextmanager
def tracked(trackers: Trackers, names: Sequence[str], directory: str, flags: Mapping[str, object],
            log: Callable[[str], None]) -> Iterator[None]:
  """Has trackers follow the block, which is a run, and tells them how it ends."""
  trackers.begin(names, directory, flags, log)
  status = _FAILED
  try:
    yield
    status = _FINISHED
  except Interrupted:
    status = _INTERRUPTED
    raise
  finally:
    trackers.end(status)


def _name(directory: str) -> str:
  """The name of a run, and of the directory that it shares with others of a selection."""
  return "/".join(os.path.abspath(directory).split(os.sep)[-2:])

"""MLflow and Weights & Biases as callbacks of a run (`--report_to`): metrics, flags and files.

A resumed run continues the tracker's run, whose id is kept in `trackers.json` of the run directory.
"""

import abc
import contextlib
import importlib.util
import os
import re
import time
import uuid
from collections.abc import Mapping

from bert_common import files, json_files
from bert_common.errors import without_passwords, without_secrets
from bert_tf.training.callbacks import Callback
from bert_tf.training.signals import Interrupted

_PROJECT = "bert-tf"
# Files of a run directory that are kept with the tracker's run.
_FILES = ("README.md", "flags.json", "task.json", "eval_results.json", "test_results.json")
# MLflow's defaults would hold up a training for minutes if the server does not answer, and refuse a
# file store even if it is named.
_MLFLOW = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ALLOW_FILE_STORE": "true",
}


class _Tracker(Callback, abc.ABC):
    """Follows a run: its flags at the begin, its metrics, and its files at the end.

    Attributes:
      id: identifier of the tracker's run, which `open` sets.
    """

    id: str | None = None

    @abc.abstractmethod
    def open(self, title: str, run_id: str | None, flags: Mapping[str, object]) -> str:
        """Begins the tracker's run, or continues the one with `run_id`; returns its address."""

    @abc.abstractmethod
    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Records metrics of a step."""

    @abc.abstractmethod
    def close(self, paths: list[str], status: str) -> None:
        """Hands files over, and ends the tracker's run: FINISHED, KILLED or FAILED."""

    def on_run_begin(self, start):
        self._directory = start.directory
        path = os.path.join(self._directory, "trackers.json")
        name = type(self).__name__.lower()
        run_ids = json_files.read_object(path, {name: str | None})
        # A sweep has runs of the same names as others, so the title has the directory above, too.
        title = "/".join(os.path.abspath(self._directory).split(os.sep)[-2:])
        flags = without_secrets(start.options.values())
        address = self.open(title, run_ids.get(name), flags)
        json_files.write(path, {**run_ids, name: self.id})
        start.log(f"{name}: {without_passwords(address)}")

    def on_report(self, step, metrics):
        self._log(step, metrics, "train")

    def on_evaluation(self, step, metrics):
        self._log(step, metrics, "eval")

    def on_run_end(self, end):
        paths = []
        status = "FINISHED"
        if end.error is not None:
            status = "KILLED" if isinstance(end.error, Interrupted) else "FAILED"
        else:
            for kind, metrics in (("final", end.metrics), ("test", end.test_metrics)):
                if metrics:
                    self._log(end.step, metrics, kind)
            for name in _FILES:
                path = os.path.join(self._directory, name)
                if files.exists(path):
                    # Trackers read local files only.
                    paths.append(files.local_copy(path, self))
        self.close(paths, status)

    def _log(self, step: int, metrics: Mapping[str, float], kind: str) -> None:
        values = {}
        for name, value in metrics.items():
            # MLflow refuses other characters, which a label in the name of a metric may have.
            key = re.sub(r"[^\w\-. /]", "_", f"{kind}/{name}")
            values[key[:250]] = float(value)
        self.log(step, values)


class Mlflow(_Tracker):
    """A run of MLflow, in the store that MLFLOW_TRACKING_URI names."""

    def open(self, title, run_id, flags):
        for name, value in _MLFLOW.items():
            os.environ.setdefault(name, value)
        import mlflow
        from mlflow.entities import Param

        # The package of the extra has no database, which MLflow takes by default.
        needs_database = mlflow.get_tracking_uri().startswith("sqlite:")
        if needs_database and importlib.util.find_spec("alembic") is None:
            os.environ.setdefault("MLFLOW_TRACKING_URI", "./mlruns")
        self._client = client = mlflow.MlflowClient()
        self.id = None
        # The run of an earlier start may be in another store, or deleted.
        with contextlib.suppress(mlflow.MlflowException):
            if run_id and client.get_run(run_id).info.lifecycle_stage == "active":
                self.id = run_id
        if self.id is None:
            project = os.environ.get("MLFLOW_EXPERIMENT_NAME", _PROJECT)
            experiment = client.get_experiment_by_name(project)
            if experiment is None:
                experiment_id = client.create_experiment(project)
            else:
                experiment_id = experiment.experiment_id
            self.id = client.create_run(experiment_id, run_name=title).info.run_id
        client.update_run(self.id, status="RUNNING")
        # Parameters can't be changed: the values of the first start stay.
        existing = client.get_run(self.id).data.params
        params = []
        for name, value in flags.items():
            if value is not None and name not in existing:
                params.append(Param(name, str(value)[:500]))
        # MLflow takes at most 100 at a time.
        for first in range(0, len(params), 100):
            client.log_batch(self.id, params=params[first : first + 100])
        return f"run {self.id} in {mlflow.get_tracking_uri()}"

    def log(self, step, values):
        from mlflow.entities import Metric

        milliseconds = int(time.time() * 1000)
        metrics = [Metric(name, value, milliseconds, step) for name, value in values.items()]
        self._client.log_batch(self.id, metrics)

    def close(self, paths, status):
        for path in paths:
            self._client.log_artifact(self.id, path)
        self._client.set_terminated(self.id, status)


class Wandb(_Tracker):
    """A run of Weights & Biases, below the run directory unless WANDB_DIR is set; offline with
    WANDB_MODE=offline."""

    def open(self, title, run_id, flags):
        import wandb

        self._wandb = wandb
        is_online = wandb.setup().settings.mode == "online"
        # `prompt=True` would ask for a key, and wait.
        if is_online and not wandb.login(prompt=False):
            raise RuntimeError("not logged in: `wandb login` once, or set WANDB_MODE=offline")
        directory = os.environ.get("WANDB_DIR")
        if not directory and not files.is_remote(self._directory):
            directory = self._directory
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", _PROJECT),
            name=title,
            id=run_id or uuid.uuid4().hex,
            resume="allow",
            dir=directory,
            settings=wandb.Settings(console="off", silent=True, init_timeout=60, finish_timeout=60),
        )
        self._run.config.update(dict(flags), allow_val_change=True)
        # A resumed run repeats the steps after its checkpoint; W&B accepts them only with a step
        # metric.
        self._run.define_metric("*", step_metric="step")
        self.id = self._run.id
        return self._run.url if is_online else f"{self._run.settings.sync_dir}, for `wandb sync`"

    def log(self, step, values):
        self._run.log({**values, "step": step})

    def close(self, paths, status):
        if paths:
            artifact = self._wandb.Artifact(f"record-{self.id}", "record")
            for path in paths:
                artifact.add_file(path)
            self._run.log_artifact(artifact)
        self._run.finish(exit_code=int(status != "FINISHED"))

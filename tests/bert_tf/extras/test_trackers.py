import importlib.util
import pathlib
import types

import numpy as np
import pytest

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.runs.options import CALLBACKS
from bert_tf.tasks.classification import task as classification
from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.training.callbacks import CallbackList, RunEnd, RunStart
from bert_tf.training.signals import Interrupted
from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model

_MISSING = "is optional, and not installed here"
_SECRET = "https://me:secret@host/x?sig=key"
_VARIABLES = {
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
}


@pytest.fixture(autouse=True)
def variables(tmp_path, monkeypatch):
    for name in ("MLFLOW_EXPERIMENT_NAME", "WANDB_PROJECT", "WANDB_DIR", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in _VARIABLES.items():
        monkeypatch.setenv(name, value)
    # A client of an earlier test keeps its own.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", str(tmp_path / "store"))


def options(folder, **changes) -> ClassificationOptions:
    made = ClassificationOptions(
        **{
            **dict(
                task_name="custom",
                train_file=f"{folder}/train.csv",
                dev_file=f"{folder}/dev.csv",
                text_a_column="review",
                label_column="verdict",
                output_dir=f"{folder}/all/run",
                bert_config_file=f"{folder}/bert_config.json",
                max_seq_length=16,
                train_batch_size=8,
                learning_rate=0.003,
                num_train_epochs=1,
                seed=1,
                do_train=True,
                do_eval=True,
            ),
            **changes,
        }
    )
    made.check()
    return made


def write_data(folder) -> None:
    write_model(folder)
    write_csv(folder / "train.csv", 40, 1)
    write_csv(folder / "dev.csv", 16, 2)


def test_mlflow_has_a_run_and_its_resumption_in_one(tmp_path, capsys):
    mlflow = pytest.importorskip("mlflow", reason=f"mlflow {_MISSING}")
    write_data(tmp_path)
    one = options(tmp_path, report_to=("mlflow",), tpu_zone=_SECRET)
    assert classification.run(one) == 0
    assert classification.run(one.replace(num_train_epochs=2)) == 0
    directory = tmp_path / "all/run"
    assert not (directory / "train").exists() and "TensorBoard" not in capsys.readouterr().out
    client = mlflow.MlflowClient()
    (found,) = client.search_runs([client.get_experiment_by_name("bert-tf").experiment_id])
    assert (found.info.run_name, found.info.status) == ("all/run", "FINISHED")
    assert json_files.read(str(directory / "trackers.json")) == {"mlflow": found.info.run_id}
    assert (found.data.params["num_train_epochs"], found.data.params["learning_rate"]) == (
        "1",
        "0.003",
    )
    assert found.data.params["tpu_zone"] == "https://***@host/x?***"
    lines = json_files.read_objects(str(directory / "metrics.jsonl"))
    for split in ("train", "eval"):
        history = client.get_metric_history(found.info.run_id, f"{split}/loss")
        expected = [(line["step"], line["loss"]) for line in lines if line["split"] == split]
        assert [(one.step, float(f"{one.value:.7g}")) for one in history] == expected and len(
            expected
        ) > 1
    results = json_files.read(str(directory / "eval_results.json"))
    assert found.data.metrics["final/accuracy"] == pytest.approx(results["eval_accuracy"])
    handed = {one.path for one in client.list_artifacts(found.info.run_id)}
    assert handed == {"README.md", "eval_results.json", "flags.json", "task.json"}


def test_wandb_has_a_run_and_its_resumption_under_one_id(tmp_path):
    wandb = pytest.importorskip("wandb", reason=f"wandb {_MISSING}")
    write_data(tmp_path)
    one = options(tmp_path, report_to=("tensorboard", "wandb"), tpu_zone=_SECRET)
    assert classification.run(one) == 0
    assert classification.run(one.replace(num_train_epochs=2)) == 0
    # Its process writes the last of the log when it ends.
    wandb.teardown()
    directory = tmp_path / "all/run"
    assert (directory / "train").is_dir()
    run_id = json_files.read(str(directory / "trackers.json"))["wandb"]
    logs = sorted(directory.glob(f"wandb/offline-run-*/run-{run_id}.wandb"))
    assert len(logs) == 2
    for name in (b"train/loss", b"eval/accuracy", b"final/accuracy", b"num_train_epochs"):
        assert all(name in path.read_bytes() for path in logs)
    # Nothing else that this run has written shows it either.
    for path in filter(pathlib.Path.is_file, (tmp_path / "all").rglob("*")):
        assert b"me:secret" not in path.read_bytes() and b"sig=key" not in path.read_bytes(), path


def following(callbacks: CallbackList, directory, lines: list[str]):
    """Follows a run as the driver does."""
    options = types.SimpleNamespace(values=lambda: {"seed": 1})
    start = RunStart(options, str(directory), True, 0, lines.append)
    return callbacks.following(start, lambda error: RunEnd(3, {"loss": 0.5}, {}, error))


def test_a_tracker_that_fails_is_one_warning(tmp_path, monkeypatch, capsys):
    pytest.importorskip("mlflow", reason=f"mlflow {_MISSING}")
    lines: list[str] = []
    # A file where the store is to be.
    (tmp_path / "store").touch()
    callbacks = CallbackList(CALLBACKS, ("mlflow",))
    with following(callbacks, tmp_path, lines):
        for step in range(3):
            callbacks.on_report(step, {"loss": 1.0})
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith(
        "warning: mlflow is left out from here on, the run continues: "
    )
    assert not lines and not (tmp_path / "trackers.json").exists()


def test_how_a_run_ends_and_names_that_mlflow_refuses(tmp_path, capsys):
    mlflow = pytest.importorskip("mlflow", reason=f"mlflow {_MISSING}")
    client = mlflow.MlflowClient()
    for error, status in (
        (Interrupted("SIGTERM"), "KILLED"),
        (UserError("the disk is full"), "FAILED"),
    ):
        callbacks = CallbackList(CALLBACKS, ("mlflow",))
        with pytest.raises(type(error)), following(callbacks, tmp_path, []):
            callbacks.on_evaluation(3, {"f1 of (a|b)": np.float32(0.5), "loss": float("nan")})
            raise error
        run_id = json_files.read(str(tmp_path / "trackers.json"))["mlflow"]
        assert client.get_run(run_id).info.status == status
    assert client.get_run(run_id).data.metrics["eval/f1 of _a_b_"] == 0.5
    # A run that is in no store, or was deleted, is not resumed.
    client.delete_run(run_id)
    with following(CallbackList(CALLBACKS, ("mlflow",)), tmp_path, []):
        pass
    assert json_files.read(str(tmp_path / "trackers.json"))["mlflow"] != run_id
    assert not capsys.readouterr().err


def test_mlflow_without_a_database_writes_files(tmp_path, monkeypatch, capsys):
    mlflow = pytest.importorskip("mlflow", reason=f"mlflow {_MISSING}")
    if importlib.util.find_spec("alembic") is not None:
        pytest.skip("MLflow has its database here, which is its default")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    callbacks = CallbackList(CALLBACKS, ("mlflow",))
    with following(callbacks, tmp_path, []):
        callbacks.on_evaluation(3, {"f1": np.float32(0.5)})
    run_id = json_files.read(str(tmp_path / "trackers.json"))["mlflow"]
    client = mlflow.MlflowClient(str(tmp_path / "mlruns"))
    assert client.get_run(run_id).data.metrics["eval/f1"] == 0.5
    assert not capsys.readouterr().err


def test_wandb_without_a_key_is_a_warning_and_asks_for_none(tmp_path, monkeypatch, capsys):
    wandb = pytest.importorskip("wandb", reason=f"wandb {_MISSING}")
    wandb.teardown()
    for name, value in {
        "WANDB_MODE": "online",
        "NETRC": str(tmp_path / "none"),
        "HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    with following(CallbackList(CALLBACKS, ("wandb",)), tmp_path, []):
        pass
    wandb.teardown()
    assert "the run continues: not logged in: `wandb login`" in capsys.readouterr().err

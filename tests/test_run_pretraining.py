"""run_pretraining.py as a user starts it: real processes that are stopped, killed and started again."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from tests.training.common import LENGTH, ONE_LAYER, PREDICTIONS, write_records
from training.run_directory import read_metrics

STEPS = 600
SECONDS_TO_WAIT = 400


class Script:
  """A running run_pretraining.py with its output in files."""

  def __init__(self, project, log: pathlib.Path, *arguments: str, tf_config: dict | None = None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    if tf_config:
      environment["TF_CONFIG"] = json.dumps(tf_config)
    self._out, self._err = log.with_suffix(".out"), log.with_suffix(".err")
    with open(self._out, "w") as out, open(self._err, "w") as err:
      self.process = subprocess.Popen([sys.executable, str(project / "run_pretraining.py"), *arguments], stdout=out,
                                      stderr=err, env=environment, cwd=log.parent)

  def end(self) -> tuple[int, str, str]:
    """Waits; (exit status, output, errors)."""
    try:
      status = self.process.wait(SECONDS_TO_WAIT)
    finally:
      self.process.kill()
    return status, self._out.read_text(), self._err.read_text()

  def signal_at_step(self, number: int, directory: pathlib.Path, step: int) -> None:
    """Sends a signal when the run has reported that step."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while not any(line["step"] >= step for line in read_metrics(str(directory))):
      assert self.process.poll() is None and time.monotonic() < deadline, self._err.read_text()
      time.sleep(0.005)
    self.process.send_signal(number)


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
  """A run of 600 steps of a tiny network, with dropout and several epochs."""
  folder = tmp_path_factory.mktemp("data")
  for number in range(3):
    write_records(folder / f"train-{number}.tfrecord", 100, 100 * number)
  write_records(folder / "dev.tfrecord", 30, 300)
  ONE_LAYER.to_file(str(folder / "bert_config.json"))
  return ["--do_train", "--do_eval", f"--input_file={folder}/train-*", f"--eval_file={folder}/dev.tfrecord",
          f"--bert_config_file={folder}/bert_config.json", f"--max_seq_length={LENGTH}",
          f"--max_predictions_per_seq={PREDICTIONS}", "--train_batch_size=8", "--learning_rate=1e-3",
          f"--num_train_steps={STEPS}", "--num_warmup_steps=20", "--save_checkpoints_steps=50", "--eval_steps=200",
          "--iterations_per_loop=2"]


@pytest.fixture(scope="module")
def uninterrupted(project, arguments, tmp_path_factory) -> pathlib.Path:
  folder = tmp_path_factory.mktemp("uninterrupted")
  status, output, errors = Script(project, folder / "log", *arguments, f"--output_dir={folder}/run").end()
  assert status == 0, errors
  assert f"trained to step {STEPS}: {folder}/run/ckpt-{STEPS}" in output
  assert "Traceback" not in errors
  return folder / "run"


def tensors(directory) -> dict[str, np.ndarray]:
  """The newest checkpoint."""
  reader = tf.train.load_checkpoint(str(directory))
  keys = reader.get_variable_to_shape_map()
  # The number of checkpoints that were written is none of the training's business.
  return {key: reader.get_tensor(key) for key in keys if "OBJECT_GRAPH" not in key and "save_counter" not in key}


def curve(directory) -> list[dict]:
  """What was reported, without speeds."""
  return [{name: value for name, value in line.items() if "per_second" not in name and name != "input_wait_share"}
          for line in read_metrics(str(directory))]


def test_a_run_that_is_stopped_and_killed_ends_with_the_same_weights(project, arguments, uninterrupted, tmp_path):
  run = tmp_path / "run"
  command = [*arguments, f"--output_dir={run}"]
  script = Script(project, tmp_path / "first", *command)
  script.signal_at_step(signal.SIGTERM, run, 40)
  status, output, errors = script.end()
  assert status == 0, errors
  stopped = int(tf.train.latest_checkpoint(str(run)).rpartition("-")[2])
  assert 40 <= stopped < STEPS
  assert f"SIGTERM: saved step {stopped} in {run}; run the same command again to go on from there" in output
  assert "SIGTERM: finishing the current loop, then saving" in errors
  assert not (run / "eval_results.txt").exists()

  script = Script(project, tmp_path / "second", *command)
  script.signal_at_step(signal.SIGKILL, run, stopped + 60)
  assert script.end()[0] == -signal.SIGKILL

  status, output, errors = Script(project, tmp_path / "third", *command).end()
  assert status == 0, errors
  saved = int(output.partition(", step ")[2].split()[0])
  assert stopped < saved < STEPS and saved % 50 == 0
  assert f"resuming from {run}/ckpt-{saved}, step {saved}" in output

  found, expected = tensors(run), tensors(uninterrupted)
  assert set(found) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(found[name], value, err_msg=name)
  assert (run / "eval_results.txt").read_text() == (uninterrupted / "eval_results.txt").read_text()
  steps = [(line["split"], line["step"]) for line in curve(run)]
  assert len(steps) == len(set(steps)) and steps == sorted(steps, key=lambda pair: (pair[1], pair[0] == "eval"))
  by_step = {(line["split"], line["step"]): line for line in curve(uninterrupted)}
  # The lengths of loops differ only where a run began.
  same = [line for line in curve(run) if (line["split"], line["step"]) in by_step]
  assert len(same) > len(by_step) / 2
  assert [line for line in same if line["split"] == "eval"] == [
      line for line in by_step.values() if line["split"] == "eval"]


def test_two_processes_train_as_one_and_stop_together(project, arguments, uninterrupted, tmp_path):
  run = tmp_path / "run"
  command = [*arguments, f"--output_dir={run}"]

  def start(name: str) -> list[Script]:
    with socket.socket() as first, socket.socket() as second:
      first.bind(("localhost", 0))
      second.bind(("localhost", 0))
      workers = [f"localhost:{port.getsockname()[1]}" for port in (first, second)]
    return [Script(project, tmp_path / f"{name}{index}", *command, tf_config={
        "cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}) for index in range(2)]

  chief, worker = start("first")
  worker.signal_at_step(signal.SIGTERM, run, 40)
  results = [chief.end(), worker.end()]
  assert [status for status, _, _ in results] == [0, 0], results
  stopped = int(tf.train.latest_checkpoint(str(run)).rpartition("-")[2])
  assert 40 <= stopped < STEPS
  assert f"a signal to another process: saved step {stopped}" in results[0][1]
  assert "2 x CPU (MultiWorkerMirroredStrategy, 2 processes)" in results[0][1]
  # Only the chief reports; the other one says why it stops.
  assert results[1][1] == ""
  assert "SIGTERM: finishing the current loop" in results[1][2]

  results = [script.end() for script in start("second")]
  assert [status for status, _, _ in results] == [0, 0], results
  assert results[1][1] == ""
  assert sorted(os.listdir(run)) == sorted(os.listdir(uninterrupted))
  assert len(list(run.glob("train/events*"))) == 2
  found, expected = tensors(run), tensors(uninterrupted)
  assert set(found) == set(expected)
  for name, value in expected.items():
    np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-3, err_msg=name)
  losses = {line["step"]: line["loss"] for line in curve(run) if line["split"] == "eval"}
  assert losses == pytest.approx(
      {line["step"]: line["loss"] for line in curve(uninterrupted) if line["split"] == "eval"}, rel=1e-4)


@pytest.mark.parametrize(("changed", "message"), [
    ("--num_train_step=5x", "num_train_step"), ("--input_file=nowhere/*", "--input_file: no file matches 'nowhere/*'")])
def test_what_a_user_can_mend_is_one_line_and_status_2(project, arguments, tmp_path, changed, message):
  status, output, errors = Script(project, tmp_path / "log", *arguments, f"--output_dir={tmp_path}/run", changed).end()
  assert status == 2
  assert output == ""
  assert errors.startswith("error: ") and message in errors and errors.count("\n") == 1
  assert not (tmp_path / "run").exists()

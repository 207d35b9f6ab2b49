"""run_classifier.py as a user starts it: killed, resumed; several processes; wrong command
lines."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bert_tf.tasks.classification.options import ClassificationOptions
from bert_tf.tasks.classification.task import run as classify
from bert_tf.training.run_directory import read_metrics
from modeling.checkpoints.tensorflow_files import saved_steps
from tests.bert_tf.tasks.classification.toy_task import write_csv, write_model
from tests.page_commands import PROJECT
from tests.processes import Script, best_record, curve, run_here, started_two, tensors

pytestmark = pytest.mark.processes
STEPS = 5 * 38


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    """38 steps an epoch, the last one with 4 examples."""
    folder = tmp_path_factory.mktemp("data")
    config = write_model(folder)
    train, dev = write_csv(folder / "train.csv", 300, 1), write_csv(folder / "dev.csv", 30, 2)
    return [
        "--task_name=custom",
        f"--train_file={train}",
        f"--dev_file={dev}",
        "--text_a_column=review",
        "--label_column=verdict",
        f"--bert_config_file={config}",
        "--do_train",
        "--do_eval",
        "--max_seq_length=16",
        "--train_batch_size=8",
        "--learning_rate=1e-3",
        "--num_train_epochs=5",
        "--save_checkpoints_steps=20",
        "--iterations_per_loop=2",
    ]


def test_a_run_that_is_killed_ends_with_the_same_weights_and_results(arguments, tmp_path, capsys):
    """Its evaluations and best weights, too. Signals that end a run with a checkpoint are in
    `test_run_pretraining.py` and `test_run_squad.py`."""
    run = tmp_path / "run"
    command = [*arguments, f"--output_dir={run}"]
    script = Script("run_classifier.py", tmp_path / "log", *command)
    script.signal_at_step(signal.SIGKILL, run, 90)
    assert script.end()[0] == -signal.SIGKILL
    assert not (run / "eval_results.txt").exists()
    run_here(ClassificationOptions, classify, *arguments, f"--output_dir={tmp_path}/whole")
    assert f"trained to step {STEPS}: {tmp_path}/whole/ckpt-{STEPS}" in capsys.readouterr().out
    run_here(ClassificationOptions, classify, *command)
    assert f"resuming from {run}/ckpt-" in capsys.readouterr().out
    expected, found = tensors(tmp_path / "whole"), tensors(run)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    evaluations = [
        [line for line in curve(folder) if line["split"] == "eval"]
        for folder in (tmp_path / "whole", run)
    ]
    assert evaluations[0] == evaluations[1]
    name = "eval_results.txt"
    assert (run / name).read_text() == (tmp_path / "whole" / name).read_text()
    assert best_record(run) == best_record(tmp_path / "whole")


@pytest.mark.parametrize("before", [[], ["nohup"]])
def test_a_run_outlives_its_reader_and_its_terminal(arguments, tmp_path, before):
    """`… | head -1`, and a window that is closed: with nohup the run goes on, else it saves."""
    script = str(PROJECT / "run_classifier.py")
    # The run that is to be stopped must not end by itself before the signal.
    epochs = "--num_train_epochs=5" if before else "--num_train_epochs=1000"
    process = subprocess.Popen(
        [*before, sys.executable, script, *arguments, epochs, f"--output_dir={tmp_path}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        # The tests themselves may run under nohup.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        assert process.stdout.readline()
        process.stdout.close()
        process.stderr.close()
        while not any(line["step"] >= 20 for line in read_metrics(str(tmp_path))):
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGHUP)
        assert process.wait() == 0
    finally:
        process.kill()
    steps = saved_steps(str(tmp_path))
    assert steps[-1] == STEPS if before else 20 <= steps[-1] < 1000 * 38


def test_a_run_with_a_configuration_file(arguments, tmp_path, capsys):
    """What is recorded are the effective flags, those that were given, and the command; and the run
    can be made again."""
    lines = [
        f"{name}: {value or 'yes'}"
        for name, _, value in (part.removeprefix("--").partition("=") for part in arguments)
    ]
    (tmp_path / "run.yaml").write_text("\n".join([*lines, "output_dir: nowhere"]))
    command = [
        f"--config={tmp_path}/run.yaml",
        f"--output_dir={tmp_path}/run",
        "--num_train_epochs=1",
    ]
    status, _, errors = Script("run_classifier.py", tmp_path / "log", *command).end()
    assert status == 0, errors
    recorded = json.loads((tmp_path / "run/flags.json").read_text())
    assert (recorded["flags"]["output_dir"], recorded["flags"]["num_train_epochs"]) == (
        f"{tmp_path}/run",
        1,
    )
    assert recorded["flags"]["learning_rate"] == 1e-3 and recorded["flags"]["do_train"] is True
    assert "config" not in recorded["flags"] and recorded["starts"][0]["command"].endswith(
        " ".join(command)
    )
    given = {part.removeprefix("--").split("=")[0] for part in arguments} | {"output_dir"}
    assert recorded["given"] == sorted(given)
    assert "| `--learning_rate` | `0.001` | `5e-05` |" in (tmp_path / "run/README.md").read_text()
    run_here(ClassificationOptions, classify, f"--config={tmp_path}/run/flags.json")
    assert f"training is finished: {tmp_path}/run is at step 38 of 38" in capsys.readouterr().out
    assert json.loads((tmp_path / "run/flags.json").read_text())["flags"] == recorded["flags"]


def test_two_processes_train_evaluate_and_predict_as_one(arguments, tmp_path):
    """30 development examples in batches of 4 a process: padding examples in the last one."""
    dev_file = next(part for part in arguments if part.startswith("--dev_file="))
    few = [
        *arguments,
        "--num_train_epochs=1",
        "--do_predict",
        "--predict_batch_size=8",
        dev_file.replace("--dev_file", "--test_file"),
    ]
    with started_two(
        "run_classifier.py", tmp_path / "log", *few, f"--output_dir={tmp_path}/two"
    ) as both:
        results = [script.end() for script in both]
    assert [status for status, _, _ in results] == [0, 0], results
    run_here(ClassificationOptions, classify, *few, f"--output_dir={tmp_path}/alone")
    expected, found = tensors(tmp_path / "alone"), tensors(tmp_path / "two")
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-4, err_msg=name)
    probabilities = [np.loadtxt(tmp_path / name / "test_results.tsv") for name in ("two", "alone")]
    np.testing.assert_allclose(*probabilities, atol=1e-3)

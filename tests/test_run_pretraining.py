"""run_pretraining.py as a user starts it: real processes that are stopped, killed and started
again."""

import dataclasses
import os
import pathlib
import signal

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.tasks.pretraining.options import PretrainingOptions
from bert_tf.tasks.pretraining.task import run as pretrain
from data_gen.pretraining.record_writer import RecordWriter
from data_gen.tokenization.vocabulary import SPECIAL_TOKENS
from tests.bert_tf.training.common import LENGTH, ONE_LAYER, write_records
from tests.bert_tf.training.packed import pack_features, sequences_of
from tests.processes import Script, curve, run_here, started_two, tensors

pytestmark = pytest.mark.processes
STEPS = 150
# Tokens of the records of the first phase.
SHORT = 12


@pytest.fixture(scope="module")
def arguments(tmp_path_factory) -> list[str]:
    """150 steps of a tiny model, with dropout and several epochs, first on packed rows that are
    masked on the way."""
    folder = tmp_path_factory.mktemp("data")
    lengths = np.random.default_rng(0).integers(4, SHORT + 1, 200)
    schema, rows = pack_features(sequences_of(lengths, SHORT, 2, ONE_LAYER.vocab_size), 3)
    schema = dataclasses.replace(schema, max_predictions_per_seq=0)
    (folder / "short").write_bytes(RecordWriter(schema, ONE_LAYER.vocab_size).encode(rows))
    (folder / "vocab.txt").write_text(
        "\n".join([*SPECIAL_TOKENS, *(f"w{n}" for n in range(ONE_LAYER.vocab_size - 5))])
    )
    for number in range(3):
        write_records(folder / f"train-{number}.tfrecord", 100, 100 * number)
    write_records(folder / "dev.tfrecord", 30, 300)
    ONE_LAYER.to_file(str(folder / "bert_config.json"))
    return [
        "--do_train",
        "--do_eval",
        f"--phases={SHORT}x12:0.4:{folder}/short,{LENGTH}:0.6:{folder}/train-*",
        f"--eval_file={folder}/dev.tfrecord,{folder}/short",
        f"--bert_config_file={folder}/bert_config.json",
        f"--vocab_file={folder}/vocab.txt",
        "--train_batch_size=8",
        "--learning_rate=1e-3",
        f"--num_train_steps={STEPS}",
        "--num_warmup_steps=10",
        "--save_checkpoints_steps=25",
        "--eval_steps=100",
        "--iterations_per_loop=2",
    ]


@pytest.fixture(scope="module")
def uninterrupted(arguments, tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    run_here(PretrainingOptions, pretrain, *arguments, f"--output_dir={folder}/run")
    assert [line["step"] for line in curve(folder / "run") if line["split"] == "eval"] == [
        60,
        100,
        150,
    ]
    return folder / "run"


def test_a_run_that_is_stopped_and_killed_ends_with_the_same_weights(
    arguments, uninterrupted, tmp_path, capsys
):
    run = tmp_path / "run"
    command = [*arguments, f"--output_dir={run}"]
    # On a CPU all is deterministic without it.
    script = Script("run_pretraining.py", tmp_path / "first", *command, "--deterministic")
    script.signal_at_step(signal.SIGTERM, run, 20)
    status, output, errors = script.end()
    assert status == 0, errors
    stopped = int(tf.train.latest_checkpoint(str(run)).rpartition("-")[2])
    assert 20 <= stopped < STEPS
    assert f"SIGTERM: saved step {stopped} in {run}; run the same command again to resume" in output
    assert "SIGTERM: finishing the current loop, then saving" in errors
    assert not (run / "eval_results.txt").exists()

    script = Script("run_pretraining.py", tmp_path / "second", *command, "--deterministic")
    script.signal_at_step(signal.SIGKILL, run, stopped + 30)
    assert script.end()[0] == -signal.SIGKILL

    capsys.readouterr()
    run_here(PretrainingOptions, pretrain, *command)
    output = capsys.readouterr().out
    assert f"trained to step {STEPS}: {run}/ckpt-{STEPS}" in output
    saved = int(output.partition(", step ")[2].split()[0])
    assert stopped < saved < STEPS and saved % 25 == 0
    assert f"resuming from {run}/ckpt-{saved}, step {saved}" in output

    found, expected = tensors(run), tensors(uninterrupted)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    assert (run / "eval_results.txt").read_text() == (
        uninterrupted / "eval_results.txt"
    ).read_text()
    steps = [(line["split"], line["step"]) for line in curve(run)]
    assert len(steps) == len(set(steps)) and steps == sorted(
        steps, key=lambda pair: (pair[1], pair[0] == "eval")
    )
    by_step = {(line["split"], line["step"]): line for line in curve(uninterrupted)}
    # The lengths of loops differ only where a run began.
    same = [line for line in curve(run) if (line["split"], line["step"]) in by_step]
    assert len(same) > len(by_step) / 2
    assert [line for line in same if line["split"] == "eval"] == [
        line for line in by_step.values() if line["split"] == "eval"
    ]


def test_two_processes_train_as_one_and_stop_together(arguments, uninterrupted, tmp_path):
    run = tmp_path / "run"
    command = [*arguments, f"--output_dir={run}"]

    with started_two("run_pretraining.py", tmp_path / "first", *command) as (chief, worker):
        worker.signal_at_step(signal.SIGTERM, run, 20)
        results = [chief.end(), worker.end()]
    assert [status for status, _, _ in results] == [0, 0], results
    stopped = int(tf.train.latest_checkpoint(str(run)).rpartition("-")[2])
    assert 20 <= stopped < STEPS
    assert f"a signal to another process: saved step {stopped}" in results[0][1]
    assert "2 x CPU (MultiWorkerMirroredStrategy, 2 processes)" in results[0][1]
    # Only the chief reports; the other one says why it stops.
    assert results[1][1] == ""
    assert "SIGTERM: finishing the current loop" in results[1][2]

    # Resumed with two devices in each process.
    command = [
        "tests/bert_tf/training/on_two_cpus.py",
        tmp_path / "second",
        "run_pretraining.py",
        *command,
    ]
    with started_two(*command) as scripts:
        results = [script.end() for script in scripts]
    assert [status for status, _, _ in results] == [0, 0], results
    assert "4 x CPU (MultiWorkerMirroredStrategy, 2 processes)" in results[0][1]
    assert results[1][1] == ""
    assert sorted(os.listdir(run)) == sorted(os.listdir(uninterrupted))
    # One of each start, and one that tells TensorBoard to forget the steps after the checkpoint.
    assert len(list(run.glob("train/events*"))) == 3
    found, expected = tensors(run), tensors(uninterrupted)
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-3, err_msg=name)
    losses = {line["step"]: line["loss"] for line in curve(run) if line["split"] == "eval"}
    assert losses == pytest.approx(
        {line["step"]: line["loss"] for line in curve(uninterrupted) if line["split"] == "eval"},
        rel=1e-4,
    )

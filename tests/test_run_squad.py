"""run_squad.py as a user starts it: real processes, stopped and started again, on one device and on
two."""

import signal

import numpy as np

from bert_common import json_files
from bert_tf.tasks.question_answering.options import SquadOptions
from bert_tf.tasks.question_answering.task import run
from tests.bert_tf.tasks.question_answering.toy_squad import LENGTHS, write_files
from tests.processes import Script, curve, run_here, tensors

EPOCHS = 8


def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path, capsys):
    write_files(tmp_path)
    flags = dict(
        train_file=f"{tmp_path}/train2.json",
        predict_file=f"{tmp_path}/dev2.json",
        bert_config_file=f"{tmp_path}/bert_config.json",
        train_batch_size=16,
        learning_rate=0.003,
        num_train_epochs=EPOCHS,
        iterations_per_loop=2,
    )
    given = {**LENGTHS, "version_2_with_negative": True}
    arguments = [
        "--do_train",
        "--do_predict",
        f"--output_dir={tmp_path}/stopped",
        *(
            f"--{name}={str(value).lower() if value is True else value}"
            for name, value in {**flags, **given}.items()
        ),
    ]
    first = Script("run_squad.py", tmp_path / "first", *arguments)
    first.signal_at_step(signal.SIGTERM, tmp_path / "stopped", 40)
    status, out, err = first.end()
    assert (status, "SIGTERM: saved step" in out) == (0, True), err
    run_here(SquadOptions, run, *arguments)
    assert "resuming from" in capsys.readouterr().out
    whole = SquadOptions(
        output_dir=f"{tmp_path}/whole", do_train=True, do_predict=True, **given, **flags
    )
    assert run(whole) == 0
    stopped, whole = (tensors(tmp_path / name) for name in ("stopped", "whole"))
    assert stopped.keys() == whole.keys()
    for key, value in whole.items():
        np.testing.assert_array_equal(stopped[key], value, err_msg=key)
    assert curve(tmp_path / "stopped") == curve(tmp_path / "whole")
    for name in (
        "task.json",
        "best/best.json",
        "predictions.json",
        "null_odds.json",
        "eval_results.json",
    ):
        found, expected = (
            json_files.read(f"{tmp_path}/{run}/{name}") for run in ("stopped", "whole")
        )
        # Every run has an id of its own.
        assert {**found, "run_id": ""} == {**expected, "run_id": ""}, name

import dataclasses

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.training.consensus import WorkerConsensus
from bert_tf.training.signals import Interrupted, StopSignal
from tests.bert_tf.training.common import default_devices


@pytest.mark.parametrize(
    ("steps", "agree"),
    [
        ((7, 7), True),
        ((1_000_000, 1_000_000), True),
        ((4, 6), False),
        ((999_999, 1_000_000), False),
    ],
)
def test_processes_that_have_restored_different_checkpoints_do_not_begin(monkeypatch, steps, agree):
    agreement = WorkerConsensus(dataclasses.replace(default_devices(), num_workers=2))
    monkeypatch.setattr(
        agreement, "_means", lambda values: [np.mean(steps), np.mean(np.square(steps))]
    )
    if agree:
        agreement.check_same_step(steps[0], "out")
    else:
        with pytest.raises(UserError, match="must be the same directory on all machines"):
            agreement.check_same_step(steps[0], "out")


def test_a_process_of_a_cluster_leaves_only_when_all_know_why(monkeypatch):
    agreement, stop = (
        WorkerConsensus(dataclasses.replace(default_devices(), num_workers=2)),
        StopSignal(),
    )
    signals = iter([0.0, 0.5])
    monkeypatch.setattr(agreement, "_means", lambda values: [values[0], next(signals)])
    agreement.mean_seconds(1.0, stop)
    # It came after the processes had agreed to go on.
    stop.received = "SIGTERM"
    agreement.check(stop)
    agreement.mean_seconds(1.0, stop)
    with pytest.raises(Interrupted, match="SIGTERM"):
        agreement.check(stop)
    with pytest.raises(Interrupted):
        WorkerConsensus(default_devices()).check(stop)

import dataclasses

import numpy as np
import pytest

from bert_common.errors import UserError
from bert_tf.training.loop import Agreement, LoopLength, LoopOptions
from bert_tf.training.signals import Interrupted, StopSignal
from tests.bert_tf.training.common import default_devices


def ends(length: LoopLength, last: int) -> list[int]:
    """The steps at which inner loops end."""
    found = [0]
    while found[-1] < last:
        found.append(found[-1] + length(found[-1]))
    return found[1:]


def test_loops_end_at_checkpoints_evaluations_and_the_end():
    length = LoopLength(
        LoopOptions(
            num_train_steps=25,
            save_checkpoints_steps=10,
            eval_steps=8,
            iterations_per_loop=1000,
            profile_steps=(3, 5),
        )
    )
    assert ends(length, 25) == [3, 5, 8, 10, 16, 20, 24, 25]
    length.adapt(0.001)
    assert ends(length, 25) == [3, 5, 8, 10, 16, 20, 24, 25]


@pytest.mark.parametrize(
    ("seconds_per_step", "expected"), [(60.0, 1), (2.0, 2), (0.3, 10), (0.01, 500), (1e-6, 1000)]
)
def test_a_loop_takes_a_few_seconds_where_its_length_is_not_given(seconds_per_step, expected):
    length = LoopLength(LoopOptions(num_train_steps=10**6, save_checkpoints_steps=10**5))
    assert length(0) == 1
    length.adapt(seconds_per_step)
    assert length(0) == expected
    # They end at round numbers, whatever they began at.
    assert (1003 + length(1003)) % expected == 0


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
    agreement = Agreement(dataclasses.replace(default_devices(), num_workers=2))
    monkeypatch.setattr(
        agreement, "_means", lambda values: [np.mean(steps), np.mean(np.square(steps))]
    )
    if agree:
        agreement.check_same_step(steps[0], "out")
    else:
        with pytest.raises(UserError, match="must be the same directory on all machines"):
            agreement.check_same_step(steps[0], "out")


def test_a_process_of_a_cluster_leaves_only_when_all_know_why(monkeypatch):
    agreement, stop = Agreement(dataclasses.replace(default_devices(), num_workers=2)), StopSignal()
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
        Agreement(default_devices()).check(stop)

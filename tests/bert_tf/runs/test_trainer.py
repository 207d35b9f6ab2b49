import pytest

from bert_tf.runs.fine_tuning import FineTuningTask
from bert_tf.runs.task import Task
from bert_tf.training.loop import choose_loop_length, steps_until_next_event


def test_loops_end_at_checkpoints_evaluations_and_the_end():
    steps = [0]
    while steps[-1] < 25:
        steps.append(steps[-1] + steps_until_next_event(steps[-1], (10, 8, 0, 1000), (3, 5, 25)))
    assert steps == [0, 3, 5, 8, 10, 16, 20, 24, 25]


@pytest.mark.parametrize(
    ("seconds_per_step", "expected"), [(60.0, 1), (2.0, 2), (0.3, 10), (0.01, 500), (1e-6, 1000)]
)
def test_a_loop_takes_a_few_seconds_and_ends_at_a_round_number(seconds_per_step, expected):
    length = choose_loop_length(seconds_per_step)
    assert length == expected
    assert (1003 + steps_until_next_event(1003, (10**5, length), (10**6,))) % expected == 0


@pytest.mark.parametrize("base", [Task, FineTuningTask])
def test_a_task_without_its_methods_can_not_be_made(base):
    incomplete = type("Incomplete", (base,), {"make_model": lambda self, dtype: None})
    with pytest.raises(TypeError, match="abstract"):
        incomplete()

import random

import pytest

from bert_tf.training.loop import TimeLeft


def announcements(seconds_of_steps: list[float]) -> list[tuple[float, float]]:
    """(said, true) seconds that are left, of a training whose steps take so long."""
    left = sum(seconds_of_steps)
    estimate = TimeLeft(len(seconds_of_steps), 0.0)
    now = 0.0
    pairs = []
    for done, seconds in enumerate(seconds_of_steps, 1):
        now += seconds
        left -= seconds
        said = estimate.announcement(len(seconds_of_steps) - done, now)
        if said is not None:
            pairs.append((said, left))
    return pairs


@pytest.mark.parametrize("seed", range(20))
def test_one_estimate_within_half_as_much_on_a_busy_machine(seed):
    rng = random.Random(seed)
    # Every step takes up to three times as long as without other programs.
    pairs = announcements([rng.uniform(1, 3) for _ in range(600)])
    assert len(pairs) == 1 and all(1 / 1.5 < said / true < 1.5 for said, true in pairs)


def test_it_is_said_again_when_the_machine_becomes_slower_or_faster():
    first, second = announcements([1.0] * 300 + [3.0] * 300)
    assert first[0] == pytest.approx(580) and second[1] / 1.5 < second[0] < 1.5 * second[1]
    first, second = announcements([4.0] * 300 + [1.0] * 300)
    assert first[0] == pytest.approx(2380) and second[1] / 1.5 < second[0] < 1.5 * second[1]


def test_short_trainings_need_none_and_compiling_does_not_count():
    assert announcements([0.5] * 60) == []
    estimate = TimeLeft(100, 0.0)
    estimate.restart(99, 50.0)
    assert estimate.announcement(97, 52.0) is None
    assert estimate.announcement(79, 70.0) == pytest.approx(79)

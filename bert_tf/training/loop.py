"""Decisions of the training loop: length of an inner loop, evaluations, early stopping, when to say
how long it takes."""

import collections
from collections.abc import Iterable, Sequence

from bert_tf.training.phases import Phase

# An inner loop should take about so many seconds if --iterations_per_loop is not given. A report
# and a chance to stop come that often.
_SECONDS_PER_LOOP = 5.0
_LOOP_LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# The speed is that of the latest minute, and known after 20 s of it. Trainings that are nearly
# over need no estimate.
_SECONDS_MEASURED = 60.0
_SECONDS_UNTIL_ESTIMATE = 20.0
_SECONDS_NEED_ESTIMATE = 30.0
# An estimate is corrected if the training takes so many times as long, or a fraction of that.
_WRONG_ESTIMATE = 1.5


def steps_until_next_event(step: int, intervals: Iterable[int], ends: Iterable[int]) -> int:
    """Returns the steps of the next inner loop, which must not pass an event.

    Args:
      step: updates made.
      intervals: events at their multiples, such as checkpoints and evaluations; 0 for none.
      ends: single events.
    """
    # An event lies after the last step that was made, so at least one step is left.
    events = [end for end in ends if end > step]
    for interval in intervals:
        if interval:
            events.append((step // interval + 1) * interval)
    return min(events) - step


def choose_loop_length(seconds_per_step: float) -> int:
    """Returns the largest round number of steps that takes a few seconds at most."""
    loop_length = 1
    # Round numbers let loops end at multiples of the usual intervals.
    for length in _LOOP_LENGTHS:
        if length * seconds_per_step <= _SECONDS_PER_LOOP:
            loop_length = length
    return loop_length


def is_evaluation_due(step: int, interval: int, phases: Sequence[Phase]) -> bool:
    """Whether there is to be an evaluation at a step: at multiples of the interval, and at the ends
    of phases. An interval of 0 is for none."""
    if not interval or step == 0:
        return False
    return step % interval == 0 or any(step == phase.last_step for phase in phases)


def is_over_early(
    early_stopping_patience: int, best_step: int | None, evaluated: Iterable[int]
) -> bool:
    """Early-stopping test: as many evaluations after the best one as the patience.

    Args:
      best_step: step of the best evaluation; None before the first.
      evaluated: steps of all evaluations.
    """
    if best_step is None:
        return False
    # All evaluations after the best one are worse, or they would be the best.
    return sum(step > best_step for step in evaluated) >= early_stopping_patience


class TimeLeft:
    """Time that a training still takes, measured by its latest steps, evaluations included.

    A measured speed of matrix products can't show it: other programs come and go.

    Args:
      work: what is left to do, in any unit, such as steps.
      now: of a clock, seconds.
    """

    def __init__(self, work: float, now: float):
        self._begun = now
        self._announced = 0.0
        self._is_doubted = False
        self.restart(work, now)

    def restart(self, work: float, now: float) -> None:
        """Leaves the time until now, in which something was compiled, out of the speed."""
        self._latest = collections.deque([(now, work)])

    def announcement(self, work: float, now: float) -> float | None:
        """Returns the seconds that are left, if nothing or something wrong was said before."""
        while len(self._latest) > 1 and now - self._latest[1][0] >= _SECONDS_MEASURED:
            self._latest.popleft()
        then, work_then = self._latest[0]
        self._latest.append((now, work))
        if now - then < _SECONDS_UNTIL_ESTIMATE:
            return None
        left = work * (now - then) / (work_then - work)
        total = now - self._begun + left
        is_right = total / _WRONG_ESTIMATE <= self._announced <= total * _WRONG_ESTIMATE
        if not is_right and self._announced and not self._is_doubted:
            # The speed has changed amid these steps: measure it by the next ones alone.
            self._is_doubted = True
            self.restart(work, now)
            return None
        self._is_doubted = False
        if is_right or left < _SECONDS_NEED_ESTIMATE:
            return None
        self._announced = total
        return left

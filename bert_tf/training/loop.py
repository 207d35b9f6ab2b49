"""Decisions of the training loop: length of an inner loop, evaluations, early stopping."""

from collections.abc import Iterable, Sequence

from bert_tf.training.phases import Phase

# An inner loop should take about so many seconds if --iterations_per_loop is not given. A report
# and a chance to stop come that often.
_SECONDS_PER_LOOP = 5.0
_LOOP_LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


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


def is_over_early(patience: int, best_step: int | None, evaluated: Iterable[int]) -> bool:
    """Early-stopping test: as many evaluations after the best one as the patience.

    Args:
      best_step: step of the best evaluation; None before the first.
      evaluated: steps of all evaluations.
    """
    if best_step is None:
        return False
    # All evaluations after the best one are worse, or they would be the best.
    return sum(step > best_step for step in evaluated) >= patience

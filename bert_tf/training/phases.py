"""Phases of a training: steps whose batches are of one kind.

Fine-tuning has one phase. Pre-training has one for each sequence length, as the paper trains 90 %
of its steps on 128 tokens and the rest on 512 (section A.2).
"""

import dataclasses
from collections.abc import Sequence

from bert_tf.training.batches import BatchSizes
from bert_tf.training.devices import Devices


@dataclasses.dataclass(frozen=True)
class Phase:
    """Steps that train on batches of one kind.

    Attributes:
      first_step, last_step: updates made before it, and at its end.
      batch_size: examples of a step, on all devices together.
      tokens: tokens of an example, on average.
      flops: floating-point operations of the training for an example; 0 if unknown.
    """

    first_step: int
    last_step: int
    batch_size: int
    tokens: float
    flops: float

    def batch_sizes(self, devices: Devices) -> BatchSizes:
        """Returns the number of records of each step."""
        return BatchSizes((self.batch_size,))

    def describe(self) -> str:
        """Returns a description for the user."""
        return f"steps {self.first_step} to {self.last_step}"


def phase_at(phases: Sequence[Phase], step: int) -> int:
    """Returns the index of the phase that trains after `step` updates; at the end the last one."""
    for index, phase in enumerate(phases):
        if step < phase.last_step:
            return index
    return len(phases) - 1


def flops_ahead(phases: Sequence[Phase], step: int) -> float:
    """Returns the floating-point operations from a step to the end; 0 if unknown."""
    flops = 0.0
    for phase in phases:
        steps = max(phase.last_step - max(step, phase.first_step), 0)
        flops += steps * phase.batch_size * phase.flops
    return flops

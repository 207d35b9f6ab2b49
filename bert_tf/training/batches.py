"""Batches of training steps: how many records each takes, and how they are cut into micro-batches
and shared.

Input: what `bert_tf/training/inputs.py` or `bert_tf/training/examples.py` reads. Output: what
`bert_tf/training/step.py` takes.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Steps after which records that hold several examples have been dealt out evenly.
_STEPS_PER_CYCLE = 256


@dataclasses.dataclass(frozen=True)
class BatchSizes:
    """How many records each step takes.

    A record of packed sequences holds several examples. So the numbers of records differ from step
    to step, in a cycle, and their mean is what the batch size asks for. They are a function of the
    place in the stream.

    Attributes:
      sizes: records of the steps of a cycle.
      padded: records of every batch after filling up with copies that count nothing; None where
        that is not needed.
      first: place in the run's stream at which the first cycle begins.
    """

    sizes: tuple[int, ...]
    padded: int | None = None
    first: int = 0

    @classmethod
    def packed(
        cls,
        batch_size: int,
        records: int,
        sequences: int,
        multiple: int | None = None,
        first: int = 0,
        groups: int = 1,
    ) -> "BatchSizes":
        """Sizes for which a step has `batch_size` sequences on average.

        Args:
          batch_size: at least the sequences of a record.
          records, sequences: how many sequences so many records hold.
          multiple: every batch is filled up to the same number of records, which can be divided by
            this; None where batches may differ in size.
          groups: every size can be divided by this, as that of each group's share is the same.
        """
        total = round(_STEPS_PER_CYCLE * batch_size * records / sequences / groups)
        ends = [total * step // _STEPS_PER_CYCLE for step in range(_STEPS_PER_CYCLE + 1)]
        sizes = tuple(groups * int(size) for size in np.diff(ends))
        if groups > 1:
            multiple = math.lcm(multiple or 1, groups)
        return cls(sizes, -(-max(sizes) // multiple) * multiple if multiple else None, first)

    @property
    def is_constant(self) -> bool:
        """Whether every step takes as many."""
        return len(self.sizes) == 1

    @property
    def largest(self) -> int:
        """Records of a batch at most, copies counted."""
        return self.padded or max(self.sizes)

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """int64 [steps of a cycle], records of the cycle up to the end of each step."""
        return np.cumsum(self.sizes)

    def after(self, place):
        """The place in the stream after the step that begins at `place`: both int64 [], tensors."""
        if self.is_constant:
            return place + self.sizes[0]
        total = int(self.ends[-1])
        begun = place - self.first
        step = tf.searchsorted(self.ends, [begun % total], side="right")[0]
        return place - begun % total + tf.gather(tf.constant(self.ends, tf.int64), step)

    def place(self, steps: int) -> int:
        """The place in the stream after so many steps."""
        cycles, rest = divmod(steps, len(self.sizes))
        return self.first + cycles * int(self.ends[-1]) + sum(self.sizes[:rest])


def stack_parts(features: dict, parts: int) -> tuple[dict, int]:
    """[b, ...] each → [parts, b / parts, ...], and b / parts."""
    rows = next(iter(features.values())).shape[0] // parts
    return {
        name: tf.reshape(value, tf.concat([[parts, rows], tf.shape(value)[1:]], axis=0))
        for name, value in features.items()
    }, rows


def sum_of_parts(of_part: Callable, parts: int):
    """The sums of what the micro-batches give, a nested structure of tensors; one after the
    other."""
    return tf.while_loop(
        lambda part, _: part < parts,
        lambda part, totals: (part + 1, tf.nest.map_structure(tf.add, totals, of_part(part))),
        (tf.constant(1), of_part(0)),
        parallel_iterations=1,
    )[1]


def sum_over_replicas(values):
    """A nested structure of tensors, in the replica context, summed over all replicas."""
    replica = tf.distribute.get_replica_context()
    if replica.num_replicas_in_sync == 1:
        return values
    flat = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.nest.flatten(values))
    return tf.nest.pack_sequence_as(values, flat)


def without_auto_sharding(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The dataset with its order kept, and left alone by `tf.distribute`: it is cut up already."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.deterministic = True
    # The end of an iterator would wait for the thread that adapts AUTOTUNE's numbers, which sleeps
    # up to a minute at a time. Without it they stay at what they begin with, 16 threads at most,
    # and buffers still grow when they were empty.
    options.autotune.enabled = False
    return dataset.with_options(options)

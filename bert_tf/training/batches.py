"""Batches of training steps: how many records each takes, and micro-batches.

Input: records of `bert_tf/training/inputs.py` or examples of `bert_tf/training/examples.py`.
Output: the batches of `bert_tf/training/step.py`.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Steps of a cycle, after which records that hold several examples have been dealt out evenly.
_STEPS_PER_CYCLE = 256


@dataclasses.dataclass(frozen=True)
class BatchSizes:
    """Number of records of each step.

    A record of packed sequences holds several examples. The numbers of records therefore differ
    from step to step, in a cycle whose mean gives the batch size. They are a function of the
    position in the stream, so that a resumed run needs that position only.

    Attributes:
      sizes: records of the steps of a cycle.
      padded: records of every batch after filling up with padding examples; None for no filling.
      first: position in the run's stream at which the first cycle begins.
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
        """Returns sizes for which a step has `batch_size` sequences on average.

        Args:
          batch_size: at least the sequences of a record.
          records, sequences: a sample: so many records hold so many sequences.
          multiple: all batches are filled up to the same multiple of this number of records; None
            if batches may differ in size.
          groups: every size is a multiple of it, as each group of files has the same share.
        """
        # Rounding the ends of the steps, not their sizes, keeps the mean exact.
        total = round(_STEPS_PER_CYCLE * batch_size * records / sequences / groups)
        ends = [total * step // _STEPS_PER_CYCLE for step in range(_STEPS_PER_CYCLE + 1)]
        sizes = tuple(groups * int(size) for size in np.diff(ends))
        # Each group of files fills its own share of the batch.
        if groups > 1:
            multiple = math.lcm(multiple or 1, groups)
        if multiple is not None:
            padded = -(-max(sizes) // multiple) * multiple
        else:
            padded = None
        return cls(sizes, padded, first)

    @property
    def is_constant(self) -> bool:
        """Whether every step takes the same number of records."""
        return len(self.sizes) == 1

    @property
    def largest(self) -> int:
        """Upper bound of the records of a batch, padding examples included."""
        return self.padded or max(self.sizes)

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """int64 [steps of a cycle], records of the cycle up to the end of each step."""
        return np.cumsum(self.sizes)

    def after(self, place):
        """Returns the position after the step that begins at `place`: both int64 [], tensors."""
        # Most runs have batches of one size, for which no lookup is needed.
        if self.is_constant:
            return place + self.sizes[0]
        total = int(self.ends[-1])
        in_cycle = (place - self.first) % total
        step = tf.searchsorted(self.ends, [in_cycle], side="right")[0]
        return place - in_cycle + tf.gather(tf.constant(self.ends, tf.int64), step)

    def place(self, steps: int) -> int:
        """Returns the position in the stream after so many steps."""
        cycles, rest = divmod(steps, len(self.sizes))
        return self.first + cycles * int(self.ends[-1]) + sum(self.sizes[:rest])


def stack_parts(features: dict, parts: int) -> tuple[dict, int]:
    """Returns [b, ...] features as [parts, b / parts, ...], and the rows b / parts of a part."""
    rows = next(iter(features.values())).shape[0] // parts
    stacked = {}
    for name, value in features.items():
        shape = tf.concat([[parts, rows], tf.shape(value)[1:]], axis=0)
        stacked[name] = tf.reshape(value, shape)
    return stacked, rows


def take_part(stacked: dict, part) -> dict:
    """Returns the features of one micro-batch, from those of `stack_parts`."""
    return {name: value[part] for name, value in stacked.items()}


def sum_of_parts(compute: Callable, parts: int):
    """Sums the results of the micro-batches, computed one after the other.

    Args:
      compute: index of a part → a nested structure of tensors.
    """

    def add_part(part, totals):
        return part + 1, tf.nest.map_structure(tf.add, totals, compute(part))

    _, totals = tf.while_loop(
        lambda part, totals: part < parts,
        add_part,
        (tf.constant(1), compute(0)),
        # Two micro-batches at once would need twice the memory.
        parallel_iterations=1,
    )
    return totals


def without_auto_sharding(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the dataset with options for `tf.distribute`: already sharded, in a fixed order."""
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.deterministic = True
    # Autotuning would let the end of an iterator wait for its thread, which sleeps up to a minute
    # at a time. Without it AUTOTUNE means at most 16 threads, and empty buffers still grow.
    options.autotune.enabled = False
    return dataset.with_options(options)

"""From record files to the batches of every replica.

The stream of examples is a pure function of (files, seed, position). The position is the number of
examples read so far, so a resumed run continues with the very next one, and the number of devices
does not change the content of a global batch. Every host reads the serialized records of the whole
global batch and parses its own share. For many hosts the files are dealt into groups: each group
has its own stream, every batch takes an equal share from each group, and a host reads only the
groups of its share. The number of hosts still changes nothing.

Input: TFRecord files, whose schema `data_gen/pretraining/records.py` knows. Output: parsed batches
for `bert_tf/training/step.py`.
"""

import dataclasses
import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.training.batches import BatchSizes, without_auto_sharding

# Number of records in the shuffle buffer. The records of data_gen are shuffled already; the buffer
# serves the files of other programs.
_SHUFFLE_BUFFER = 8192
# The seed that TensorFlow uses when a program has set no global seed.
_GRAPH_SEED = 87654321
# `uses` of a record is the step that it is for << STEP_SHIFT | the pass over the files. In an
# evaluation both are -1.
STEP_SHIFT = 32
_EVALUATION = -1
# Number of files read at the same time, and of bytes read from each at once.
_INTERLEAVED_FILES = 16
_READ_BYTES = 1 << 20


class RecordBatch(NamedTuple):
    """Serialized records of one batch.

    tf.data hands a NamedTuple to a mapped function as one argument, and unpacks plain tuples.

    Attributes:
      records: string [b].
      passes: int64 [b], the pass over the files that each record belongs to; once the step is
        known, step << STEP_SHIFT | pass, by which masks are drawn.
      is_real: int32 [b], 0 for copies that fill the batch up; None if there are none.
    """

    records: tf.Tensor
    passes: tf.Tensor
    is_real: tf.Tensor | None


@dataclasses.dataclass(frozen=True)
class RecordFiles:
    """TFRecord files and how many records each of them holds."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    gzipped: tuple[bool, ...]

    @property
    def num_examples(self) -> int:
        return sum(self.counts)

    @property
    def encoded_paths(self) -> list[bytes]:
        """The paths as TensorFlow takes them, including those that are not UTF-8.

        AutoGraph can't convert `os.fsencode` and warns about it; it leaves properties alone.
        """
        return [os.fsencode(path) for path in self.paths]

    def deal(self, groups: int) -> list["RecordFiles"]:
        """Deals the files into groups with about equal numbers of records.

        There are at most as many groups as files.
        """
        shares: list[list[int]] = [[] for _ in range(groups)]
        totals = [0] * groups
        # The largest files come first, each into the group that has the fewest records.
        for file in sorted(range(len(self.paths)), key=lambda file: -self.counts[file]):
            smallest = totals.index(min(totals))
            shares[smallest].append(file)
            totals[smallest] += self.counts[file]
        return [self._select(sorted(share)) for share in shares]

    def _select(self, indices: list[int]) -> "RecordFiles":
        return RecordFiles(
            paths=tuple(self.paths[index] for index in indices),
            counts=tuple(self.counts[index] for index in indices),
            gzipped=tuple(self.gzipped[index] for index in indices),
        )


def training_dataset(
    files: RecordFiles,
    parse: Callable,
    batch_sizes: int | BatchSizes,
    seed: int,
    start_example: int,
    context: tf.distribute.InputContext,
    groups: int = 1,
    start_step: int = 0,
) -> tf.data.Dataset:
    """Returns endless shuffled batches, one for each replica of a host in turn.

    Copies that fill a batch up have "is_real_example" 0, int32 [b].

    Args:
      parse: (serialized records, string [b]; uses, int64 [b]: the step << `STEP_SHIFT` | which pass
        over the files each belongs to) → dict of dense tensors [b, ...].
      batch_sizes: records of a step on all replicas together.
      seed: seed for the order of files and records, which differs from epoch to epoch.
      start_example: number of records of the stream already used, including those before
        `batch_sizes.first`.
      context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).
      groups: number of groups of files; the number of hosts divides it, and it divides the records
        of a step.
      start_step: updates made before the first batch.
    """
    if isinstance(batch_sizes, int):
        batch_sizes = BatchSizes((batch_sizes,))
    rows = batch_sizes.largest
    if groups == 1:
        batches = _batches(files, batch_sizes, seed, start_example)
    else:
        batches = _batches_of_groups(files, batch_sizes, seed, start_example, context, groups)
        # The batches hold this host's share only, as if it were the only host.
        hosts = context.num_input_pipelines
        rows //= hosts
        context = tf.distribute.InputContext(1, 0, context.num_replicas_in_sync // hosts)

    def add_step(step: tf.Tensor, batch: RecordBatch) -> RecordBatch:
        return batch._replace(passes=batch.passes + tf.bitwise.left_shift(step, STEP_SHIFT))

    batches = batches.enumerate(start_step).map(add_step)
    if batch_sizes.is_constant or batch_sizes.padded:
        dataset = _for_replicas(batches, parse, rows, context)
    else:

        def parse_real(batch: RecordBatch) -> dict[str, tf.Tensor]:
            num_real = tf.reduce_sum(batch.is_real)
            return parse(batch.records[:num_real], batch.passes[:num_real])

        dataset = _parsed(batches, parse_real)
    # If a dataset may end, processes ask each other before every step, and batches lose their
    # static size.
    return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    files: RecordFiles,
    parse: Callable,
    global_batch_size: int,
    context: tf.distribute.InputContext,
    max_batches: int | None = None,
) -> tf.data.Dataset:
    """Returns one pass over all records in file order, or the first `max_batches` global batches.

    The last batch is filled up with copies of its first record; the feature "is_real_example",
    int32 [b], separates the real ones (1) from the copies (0).
    """

    def fill_up(records: tf.Tensor) -> RecordBatch:
        num_real = tf.size(records)
        copies = tf.repeat(records[:1], global_batch_size - num_real)
        return RecordBatch(
            records=tf.concat([records, copies], axis=0),
            passes=tf.fill([global_batch_size], tf.constant(_EVALUATION, tf.int64)),
            is_real=tf.sequence_mask(num_real, global_batch_size, dtype=tf.int32),
        )

    stream = _read(files, tf.range(len(files.paths)))
    batches = stream.batch(global_batch_size).map(fill_up)
    if max_batches is not None:
        batches = batches.take(max_batches)
    return _for_replicas(batches, parse, global_batch_size, context)


def _batches_of_groups(
    files: RecordFiles,
    batch_sizes: BatchSizes,
    seed: int,
    start_example: int,
    context: tf.distribute.InputContext,
    groups: int,
) -> tf.data.Dataset:
    """Returns this host's share of endless `RecordBatch`es, from the groups of files it reads.

    The number of hosts divides the number of groups.
    """
    groups_per_host = groups // context.num_input_pipelines
    first_group = context.input_pipeline_id * groups_per_host
    # The number of groups divides all sizes, so that each group gives an equal share.
    share = BatchSizes(
        tuple(size // groups for size in batch_sizes.sizes),
        padded=batch_sizes.padded // groups if batch_sizes.padded else None,
        first=batch_sizes.first // groups,
    )
    datasets = [
        _batches(group, share, seed, start_example // groups)
        for group in files.deal(groups)[first_group : first_group + groups_per_host]
    ]

    def concatenate(*batches: RecordBatch) -> RecordBatch:
        if not batch_sizes.is_constant:
            is_real = tf.concat([batch.is_real for batch in batches], axis=0)
        else:
            is_real = None
        return RecordBatch(
            records=tf.concat([batch.records for batch in batches], axis=0),
            passes=tf.concat([batch.passes for batch in batches], axis=0),
            is_real=is_real,
        )

    return tf.data.Dataset.zip(tuple(datasets)).map(concatenate)


def _batches(
    files: RecordFiles, batch_sizes: BatchSizes, seed: int, start_example: int
) -> tf.data.Dataset:
    """Returns endless `RecordBatch`es of the steps from a position in the stream on."""
    num_examples = files.num_examples
    cycle_size = int(batch_sizes.ends[-1])
    position = max(start_example - batch_sizes.first, 0)
    begin = position
    if not batch_sizes.is_constant:
        # Unequal steps are cut from whole cycles: start at the beginning of the current one and
        # skip its finished steps.
        begin = position // cycle_size * cycle_size
    first_epoch, num_used = divmod(begin, num_examples)
    epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
    stream = epochs.flat_map(lambda epoch: _shuffled_epoch(files, seed, epoch)).skip(num_used)
    # The pass of a record follows from its position: carrying it along from record to record costs
    # half as much as reading.
    positions = begin + tf.range(cycle_size, dtype=tf.int64)

    def add_passes(number: tf.Tensor, records: tf.Tensor) -> RecordBatch:
        return RecordBatch(records, (positions + number * cycle_size) // num_examples, None)

    cycles = stream.batch(cycle_size, drop_remainder=True).enumerate().map(add_passes)
    if batch_sizes.is_constant:
        # A cycle of one step is its batch.
        return cycles

    # The rows of each step in a cycle, int64 [steps, largest]; missing ones repeat the first.
    column = np.arange(batch_sizes.largest)
    is_real = column < np.array(batch_sizes.sizes)[:, None]
    first_rows = (batch_sizes.ends - batch_sizes.sizes)[:, None]
    rows = np.where(is_real, first_rows + column, first_rows)

    def cut_into_steps(cycle: RecordBatch) -> RecordBatch:
        return RecordBatch(
            records=tf.gather(cycle.records, rows),
            passes=tf.gather(cycle.passes, rows),
            is_real=tf.constant(is_real, tf.int32),
        )

    num_finished = int(np.searchsorted(batch_sizes.ends, position - begin, side="right"))
    return cycles.map(cut_into_steps).unbatch().skip(num_finished)


def _shuffled_epoch(files: RecordFiles, seed: int, epoch: tf.Tensor) -> tf.data.Dataset:
    """Returns the records of one epoch in an order that follows from (files, seed, epoch)."""
    order = tf.random.experimental.stateless_shuffle(
        tf.range(len(files.paths)), seed=tf.stack([tf.constant(seed, tf.int64), epoch])
    )
    stream = _read(files, order)
    # Sets the seed of the graph of this function alone. The order must not depend on a global seed,
    # which some library may have set.
    tf.random.set_seed(_GRAPH_SEED)
    # The epoch is in the upper bits, so that runs with neighboring seeds never share the order of
    # an epoch.
    return stream.shuffle(
        _SHUFFLE_BUFFER, seed=seed + epoch * (1 << 32), reshuffle_each_iteration=False
    )


def _read(files: RecordFiles, order: tf.Tensor) -> tf.data.Dataset:
    """Returns the serialized records of the files in an order, int32 [files], interleaved."""

    def open_file(path: tf.Tensor, is_gzipped: tf.Tensor) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(
            path, compression_type=tf.where(is_gzipped, "GZIP", ""), buffer_size=_READ_BYTES
        )

    ordered = (tf.gather(files.encoded_paths, order), tf.gather(files.gzipped, order))
    return tf.data.Dataset.from_tensor_slices(ordered).interleave(
        open_file,
        cycle_length=_INTERLEAVED_FILES,
        block_length=8,
        num_parallel_calls=_INTERLEAVED_FILES,
        deterministic=True,
    )


def _for_replicas(
    batches: tf.data.Dataset,
    parse: Callable,
    global_batch_size: int,
    context: tf.distribute.InputContext,
) -> tf.data.Dataset:
    """Cuts `RecordBatch`es into parsed batches of this host's replicas, in order."""
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    size = global_batch_size // context.num_replicas_in_sync
    first = context.input_pipeline_id * replicas * size

    def cut(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(values[first : first + replicas * size], [replicas, size])

    def cut_batch(batch: RecordBatch) -> RecordBatch:
        if batch.is_real is not None:
            is_real = cut(batch.is_real)
        else:
            is_real = None
        return RecordBatch(cut(batch.records), cut(batch.passes), is_real)

    def parse_batch(batch: RecordBatch) -> dict[str, tf.Tensor]:
        features = dict(parse(batch.records, batch.passes))
        if batch.is_real is not None:
            features["is_real_example"] = batch.is_real
        return features

    return _parsed(batches.map(cut_batch).unbatch(), parse_batch)


def _parsed(batches: tf.data.Dataset, parse: Callable) -> tf.data.Dataset:
    """Maps `parse` over batches on all cores, keeping their order."""
    parsed = batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    return without_auto_sharding(parsed.prefetch(tf.data.AUTOTUNE))

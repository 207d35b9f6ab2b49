"""From record files to the batches of every replica.

The stream of examples is a pure function of (files, seed, place in the stream): the place is the
number of examples seen so far, so a resumed run continues with the very next one, and the number of
devices does not change what a global batch holds. Every host reads the serialized records of the
whole global batch and parses its own share. For many hosts the files are dealt into groups: each
has a stream of its own, every batch takes an equal share from each, and a host reads the groups of
its share only. The number of hosts still changes nothing.

Input: TFRecord files, whose schema `data_gen/pretraining/records.py` knows. Output: parsed batches
for `bert_tf/training/step.py`.
"""

import dataclasses
import os
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_tf.training.batches import BatchSizes, without_auto_sharding

# Records in the shuffle buffer. Records of data_gen are shuffled already; this serves those of
# other programs.
_SHUFFLE_BUFFER = 8192
# TensorFlow's own where a program has set no global seed.
_GRAPH_SEED = 87654321
# `uses` of a record: the step that it is for << STEP_SHIFT | the pass over the files; in an
# evaluation both are -1.
STEP_SHIFT = 32
_EVALUATION = -1
# Files read at the same time, and bytes read from each at once.
_INTERLEAVED_FILES = 16
_READ_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class RecordFiles:
    """TFRecord files and how many records each of them holds."""

    paths: tuple[str, ...]
    counts: tuple[int, ...]
    gzipped: tuple[bool, ...]

    @property
    def num_examples(self) -> int:
        return sum(self.counts)

    def dealt(self, groups: int) -> list["RecordFiles"]:
        """The files in groups whose numbers of records are about equal; at most as many groups as
        files."""
        shares: list[list[int]] = [[] for _ in range(groups)]
        totals = [0] * groups
        for file in sorted(range(len(self.paths)), key=lambda file: -self.counts[file]):
            least = totals.index(min(totals))
            shares[least].append(file)
            totals[least] += self.counts[file]
        return [
            RecordFiles(
                *(
                    tuple(values[file] for file in sorted(share))
                    for values in (self.paths, self.counts, self.gzipped)
                )
            )
            for share in shares
        ]


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
    """Endless shuffled batches, for one replica of a host after the other; copies have
    "is_real_example" 0, int32 [b].

    Args:
      parse: (serialized records, string [b]; uses, int64 [b]: the step << `STEP_SHIFT` | which pass
        over the files each belongs to) → dict of dense tensors [b, ...].
      batch_sizes: records of a step on all replicas together.
      seed: of the order of files and records; each epoch has another one.
      start_example: how many records of the stream are already used, those before
        `batch_sizes.first` included.
      context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).
      groups: into how many the files are dealt; the hosts divide it, and it divides the records of
        a step.
      start_step: updates made before the first batch.
    """
    if isinstance(batch_sizes, int):
        batch_sizes = BatchSizes((batch_sizes,))
    rows = batch_sizes.largest
    if groups == 1:
        batches = _batches(files, batch_sizes, seed, start_example)
    else:
        # Those of this host, as if it were alone with them.
        hosts = context.num_input_pipelines
        own = groups // hosts
        first = context.input_pipeline_id * own
        # The share of each group, which divides all sizes.
        share = BatchSizes(
            tuple(size // groups for size in batch_sizes.sizes),
            batch_sizes.padded and batch_sizes.padded // groups,
            batch_sizes.first // groups,
        )
        batches = tf.data.Dataset.zip(
            tuple(
                _batches(group, share, seed, start_example // groups)
                for group in files.dealt(groups)[first : first + own]
            )
        ).map(
            lambda *parts: tuple(
                None if values[0] is None else tf.concat(values, axis=0)
                for values in zip(*parts, strict=True)
            )
        )
        rows, context = (
            rows // hosts,
            tf.distribute.InputContext(1, 0, context.num_replicas_in_sync // hosts),
        )
    batches = batches.enumerate(start_step).map(
        lambda step, batch: (batch[0], batch[1] + tf.bitwise.left_shift(step, STEP_SHIFT), batch[2])
    )
    if batch_sizes.is_constant or batch_sizes.padded:
        dataset = _for_replicas(batches, parse, rows, context)
    else:
        # Without the copies.
        dataset = _parsed(
            batches.map(
                lambda records, passes, is_real: (
                    records[: tf.reduce_sum(is_real)],
                    passes[: tf.reduce_sum(is_real)],
                )
            ),
            parse,
        )
    # Where a dataset may end, processes ask each other before every step, and batches lose their
    # static size.
    return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    files: RecordFiles,
    parse: Callable,
    global_batch_size: int,
    context: tf.distribute.InputContext,
    max_batches: int | None = None,
) -> tf.data.Dataset:
    """One pass over all records in file order, or over the first `max_batches` global batches.

    The last batch is filled up with copies of its first record; the feature "is_real_example",
    int32 [b], separates the real ones (1) from the copies (0).
    """
    stream = _read(files, tf.range(len(files.paths)))
    batches = stream.batch(global_batch_size).map(lambda records: _fill(records, global_batch_size))
    if max_batches is not None:
        batches = batches.take(max_batches)
    return _for_replicas(batches, parse, global_batch_size, context)


def _batches(
    files: RecordFiles, batch_sizes: BatchSizes, seed: int, start_example: int
) -> tf.data.Dataset:
    """Endless (records, passes, is_real or None) of the steps from a place in the stream on, copies
    filled up."""
    cycle = int(batch_sizes.ends[-1])
    start_example = max(start_example - batch_sizes.first, 0)
    # In the middle of a cycle of unequal steps the cycle is read from its beginning.
    begin = start_example if batch_sizes.is_constant else start_example // cycle * cycle
    first_epoch, used = divmod(begin, files.num_examples)
    epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
    stream = epochs.flat_map(lambda epoch: _shuffled_epoch(files, seed, epoch)).skip(used)
    # The pass of a record follows from its place: carried along from record to record it costs half
    # as much as reading.
    places = begin + tf.range(cycle, dtype=tf.int64)
    batches = (
        stream.batch(cycle, drop_remainder=True)
        .enumerate()
        .map(lambda number, records: (records, (places + number * cycle) // files.num_examples))
    )
    if batch_sizes.is_constant:
        batches = batches.map(lambda records, passes: (records, passes, None))
    else:
        done = int(np.searchsorted(batch_sizes.ends, start_example - begin, side="right"))
        # A cycle of records → (records, passes, is_real) of its steps, [steps, largest]; missing
        # ones are copies.
        column = np.arange(batch_sizes.largest)
        is_real = column < np.array(batch_sizes.sizes)[:, None]
        begins = (batch_sizes.ends - batch_sizes.sizes)[:, None]
        index = np.where(is_real, begins + column, begins)
        batches = (
            batches.map(
                lambda *elements: (
                    *(tf.gather(element, index) for element in elements),
                    tf.constant(is_real, tf.int32),
                )
            )
            .unbatch()
            .skip(done)
        )
    return batches


def _shuffled_epoch(files: RecordFiles, seed: int, epoch: tf.Tensor) -> tf.data.Dataset:
    order = tf.random.experimental.stateless_shuffle(
        tf.range(len(files.paths)), seed=tf.stack([tf.constant(seed, tf.int64), epoch])
    )
    stream = _read(files, order)
    # Of the graph of this function alone. The order must not depend on a global seed, which some
    # library may have set.
    tf.random.set_seed(_GRAPH_SEED)
    # The epoch is in the upper bits: runs whose seeds are neighbours must not share the order of an
    # epoch.
    return stream.shuffle(
        _SHUFFLE_BUFFER, seed=seed + epoch * (1 << 32), reshuffle_each_iteration=False
    )


def _read(files: RecordFiles, order: tf.Tensor) -> tf.data.Dataset:
    # Paths as TensorFlow takes them, also those that are not UTF-8.
    chosen = (
        tf.gather([os.fsencode(path) for path in files.paths], order),
        tf.gather(files.gzipped, order),
    )
    return tf.data.Dataset.from_tensor_slices(chosen).interleave(
        lambda path, is_gzipped: tf.data.TFRecordDataset(
            path, compression_type=tf.where(is_gzipped, "GZIP", ""), buffer_size=_READ_BYTES
        ),
        cycle_length=_INTERLEAVED_FILES,
        block_length=8,
        num_parallel_calls=_INTERLEAVED_FILES,
        deterministic=True,
    )


def _fill(records: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    is_real = tf.sequence_mask(tf.size(records), size, dtype=tf.int32)
    records = tf.concat([records, tf.repeat(records[:1], size - tf.size(records))], axis=0)
    return records, tf.fill([size], tf.constant(_EVALUATION, tf.int64)), is_real


def _for_replicas(
    batches: tf.data.Dataset,
    parse: Callable,
    global_batch_size: int,
    context: tf.distribute.InputContext,
) -> tf.data.Dataset:
    """Cuts (records, passes, is_real or None) of global batches into parsed batches of this host's
    replicas, in order."""
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    size = global_batch_size // context.num_replicas_in_sync
    first = context.input_pipeline_id * replicas * size
    shares = batches.map(
        lambda *parts: tuple(
            tf.reshape(values[first : first + replicas * size], [replicas, size])
            for values in parts
            if values is not None
        )
    )
    return _parsed(
        shares.unbatch(),
        lambda records, passes, *is_real: {
            **parse(records, passes),
            **({"is_real_example": is_real[0]} if is_real else {}),
        },
    )


def _parsed(batches: tf.data.Dataset, parse: Callable) -> tf.data.Dataset:
    """Parsing is spread over the cores; the order is kept."""
    return without_auto_sharding(
        batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(
            tf.data.AUTOTUNE
        )
    )

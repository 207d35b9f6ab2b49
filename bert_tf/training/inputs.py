"""From record files to the batches of every replica.

The stream of examples is a pure function of (files, seed, place in the stream): the place is the number of examples
seen so far, so a resumed run continues with the very next one, and the number of devices does not change what a global
batch holds. Every host reads the serialized records of the whole global batch, which costs little where there are few
hosts, and parses its own share of it, in batches. For many hosts the files are dealt into groups (`groups`): each has a
stream of its own, every batch takes an equal share from each, and a host reads the groups of its share only. What a
global batch holds is then a function of (files, seed, place, number of groups), still not of the number of hosts.

Input: TFRecord files, whose schema `data_gen/pretraining/records.py` knows. Output: parsed batches for
`bert_tf/training/step.py`.
"""

import dataclasses
import functools
import math
import os
from collections.abc import Callable

import numpy as np
import tensorflow as tf

# Records in the shuffle buffer. Records of data_gen are shuffled already; this serves those of other programs.
_SHUFFLE_BUFFER = 8192
# Steps after which records that hold several examples have been dealt out evenly.
_STEPS_PER_CYCLE = 256
# TensorFlow's own where a program has set no global seed.
_GRAPH_SEED = 87654321
# `uses` of a record: the step that it is for << STEP_SHIFT | the pass over the files; in an evaluation both are -1.
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
  def names(self) -> list[bytes]:
    """The paths as TensorFlow takes them, also those that are not UTF-8."""
    return [os.fsencode(path) for path in self.paths]

  @property
  def num_examples(self) -> int:
    return sum(self.counts)

  def dealt(self, groups: int) -> list["RecordFiles"]:
    """The files in groups whose numbers of records are about equal; at most as many groups as files."""
    shares: list[list[int]] = [[] for _ in range(groups)]
    totals = [0] * groups
    for file in sorted(range(len(self.paths)), key=lambda file: -self.counts[file]):
      least = totals.index(min(totals))
      shares[least].append(file)
      totals[least] += self.counts[file]
    return [RecordFiles(*(tuple(values[file] for file in sorted(share))
                          for values in (self.paths, self.counts, self.gzipped))) for share in shares]


@dataclasses.dataclass(frozen=True)
class BatchSizes:
  """How many records each step takes.

  A record of packed sequences holds several examples, and a batch has a number of examples. So the numbers of records
  differ from step to step, in a cycle, and their mean is what the batch size asks for. They are a function of the place
  in the stream.

  Attributes:
    sizes: records of the steps of a cycle.
    padded: records of every batch after filling up with copies that count nothing; None where that is not needed.
    first: place in the run's stream at which the first cycle begins.
  """

  sizes: tuple[int, ...]
  padded: int | None = None
  first: int = 0

  @classmethod
  def packed(cls, batch_size: int, records: int, sequences: int, multiple: int | None = None,
             first: int = 0, groups: int = 1) -> "BatchSizes":
    """Sizes for which a step has `batch_size` sequences on average.

    Args:
      batch_size: at least the sequences of a record.
      records, sequences: how many sequences so many records hold.
      multiple: every batch is filled up to the same number of records, which can be divided by this; None where
        batches may differ in size.
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


def training_dataset(
    files: RecordFiles, parse: Callable, batch_sizes: int | BatchSizes, seed: int, start_example: int,
    context: tf.distribute.InputContext, groups: int = 1, start_step: int = 0) -> tf.data.Dataset:
  """Endless shuffled batches for the replicas of one host.

  Args:
    parse: (serialized records, string [b]; uses, int64 [b]: the step << `STEP_SHIFT` | which pass over the files each
      belongs to) → dict of dense tensors [b, ...].
    batch_sizes: records of a step on all replicas together.
    seed: of the order of files and records; each epoch has another one.
    start_example: how many records of the stream are already used, those before `batch_sizes.first` included.
    context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).
    groups: into how many the files are dealt; the hosts divide it, and it divides the records of a step.
    start_step: updates made before the first batch.

  Returns:
    dicts for one replica after the other, each with its share of the records of a step. Where batches are filled up,
    "is_real_example", int32 [b], is 0 for the copies.
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
    share = BatchSizes(tuple(size // groups for size in batch_sizes.sizes),
                       batch_sizes.padded and batch_sizes.padded // groups, batch_sizes.first // groups)
    batches = tf.data.Dataset.zip(tuple(
        _batches(group, share, seed, start_example // groups)
        for group in files.dealt(groups)[first:first + own])).map(lambda *parts: tuple(
            None if values[0] is None else tf.concat(values, axis=0) for values in zip(*parts, strict=True)))
    rows, context = rows // hosts, tf.distribute.InputContext(1, 0, context.num_replicas_in_sync // hosts)
  batches = batches.enumerate(start_step).map(
      lambda step, batch: (batch[0], batch[1] + tf.bitwise.left_shift(step, STEP_SHIFT), batch[2]))
  if batch_sizes.is_constant or batch_sizes.padded:
    dataset = _for_replicas(batches, parse, rows, context)
  else:
    # Without the copies.
    dataset = _parsed(batches.map(lambda records, passes, is_real: (
        records[:tf.reduce_sum(is_real)], passes[:tf.reduce_sum(is_real)])), parse)
  # Where a dataset may end, processes ask each other before every step, and batches lose their static size.
  return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    files: RecordFiles, parse: Callable, global_batch_size: int,
    context: tf.distribute.InputContext, max_batches: int | None = None) -> tf.data.Dataset:
  """One pass over all records in file order, or over the first `max_batches` global batches.

  The last batch is filled up with copies of its first record; the feature "is_real_example", int32 [b], separates the
  real ones (1) from the copies (0).
  """
  stream = _read(tf.constant(files.names), tf.constant(files.gzipped))
  batches = stream.batch(global_batch_size).map(lambda records: _fill(records, global_batch_size))
  if max_batches is not None:
    batches = batches.take(max_batches)
  return _for_replicas(batches, parse, global_batch_size, context)


def _batches(files: RecordFiles, batch_sizes: BatchSizes, seed: int, start_example: int) -> tf.data.Dataset:
  """Endless (records, passes, is_real or None) of the steps from a place in the stream on, copies filled up."""
  cycle = int(batch_sizes.ends[-1])
  start_example = max(start_example - batch_sizes.first, 0)
  # In the middle of a cycle of unequal steps the cycle is read from its beginning.
  begin = start_example if batch_sizes.is_constant else start_example // cycle * cycle
  first_epoch, used = divmod(begin, files.num_examples)
  epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
  stream = epochs.flat_map(lambda epoch: _shuffled_epoch(files, seed, epoch)).skip(used)
  # The pass of a record follows from its place: carried along from record to record it costs half as much as reading.
  places = begin + tf.range(cycle, dtype=tf.int64)
  batches = stream.batch(cycle, drop_remainder=True).enumerate().map(
      lambda number, records: (records, (places + number * cycle) // files.num_examples))
  if batch_sizes.is_constant:
    batches = batches.map(lambda records, passes: (records, passes, None))
  else:
    done = int(np.searchsorted(batch_sizes.ends, start_example - begin, side="right"))
    batches = batches.map(lambda *elements: _deal(elements, batch_sizes)).unbatch().skip(done)
  return batches


def _shuffled_epoch(files: RecordFiles, seed: int, epoch: tf.Tensor) -> tf.data.Dataset:
  order = tf.random.experimental.stateless_shuffle(
      tf.range(len(files.paths)), seed=tf.stack([tf.constant(seed, tf.int64), epoch]))
  stream = _read(tf.gather(files.names, order), tf.gather(files.gzipped, order))
  # Of the graph of this function alone. The order must not depend on a global seed, which some library may have set.
  tf.random.set_seed(_GRAPH_SEED)
  # The epoch is in the upper bits: runs whose seeds are neighbours must not share the order of an epoch.
  return stream.shuffle(_SHUFFLE_BUFFER, seed=seed + epoch * (1 << 32), reshuffle_each_iteration=False)


def _deal(elements: tuple[tf.Tensor, ...], batch_sizes: BatchSizes) -> tuple[tf.Tensor, ...]:
  """A cycle of records → (records, passes, is_real) of its steps, [steps, largest]; missing ones are copies."""
  column = np.arange(batch_sizes.largest)
  is_real = column < np.array(batch_sizes.sizes)[:, None]
  begins = batch_sizes.ends - batch_sizes.sizes
  index = np.where(is_real, begins[:, None] + column, begins[:, None])
  return (*(tf.gather(element, index) for element in elements), tf.constant(is_real, tf.int32))


def _read(paths: tf.Tensor, gzipped: tf.Tensor) -> tf.data.Dataset:
  def read_file(path, is_gzipped):
    return tf.data.TFRecordDataset(
        path, compression_type=tf.where(is_gzipped, "GZIP", ""), buffer_size=_READ_BYTES)

  return tf.data.Dataset.from_tensor_slices((paths, gzipped)).interleave(
      read_file, cycle_length=_INTERLEAVED_FILES, block_length=8, num_parallel_calls=_INTERLEAVED_FILES,
      deterministic=True)


def _fill(records: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
  is_real = tf.sequence_mask(tf.size(records), size, dtype=tf.int32)
  records = tf.concat([records, tf.repeat(records[:1], size - tf.size(records))], axis=0)
  return records, tf.fill([size], tf.constant(_EVALUATION, tf.int64)), is_real


def _for_replicas(batches: tf.data.Dataset, parse: Callable, global_batch_size: int,
                  context: tf.distribute.InputContext) -> tf.data.Dataset:
  """Cuts (records, passes, is_real or None) of global batches into parsed batches of this host's replicas, in order."""
  replicas = context.num_replicas_in_sync // context.num_input_pipelines
  size = global_batch_size // context.num_replicas_in_sync
  first = context.input_pipeline_id * replicas * size

  def share(records, passes, is_real):
    parts = (records, passes) if is_real is None else (records, passes, is_real)
    return tuple(tf.reshape(values[first:first + replicas * size], [replicas, size]) for values in parts)

  return _parsed(batches.map(share).unbatch(), lambda records, passes, *is_real: {
      **parse(records, passes), **({"is_real_example": is_real[0]} if is_real else {})})


def _parsed(batches: tf.data.Dataset, parse: Callable) -> tf.data.Dataset:
  """Parsing is spread over the cores; the order is kept."""
  return without_auto_sharding(batches.map(
      parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(tf.data.AUTOTUNE))


def stack_parts(features: dict, parts: int) -> tuple[dict, int]:
  """[b, ...] each → [parts, b / parts, ...], and b / parts."""
  rows = next(iter(features.values())).shape[0] // parts
  return {name: tf.reshape(value, tf.concat([[parts, rows], tf.shape(value)[1:]], axis=0))
          for name, value in features.items()}, rows


def sum_of_parts(of_part: Callable, parts: int):
  """The sums of what the micro-batches give, a nested structure of tensors; one after the other."""
  def add_part(part, totals):
    return part + 1, tf.nest.map_structure(tf.add, totals, of_part(part))

  return tf.while_loop(lambda part, _: part < parts, add_part, (tf.constant(1), of_part(0)), parallel_iterations=1)[1]


def without_auto_sharding(dataset: tf.data.Dataset) -> tf.data.Dataset:
  """The dataset with its order kept, and left alone by `tf.distribute`: it is cut up already."""
  options = tf.data.Options()
  options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
  options.deterministic = True
  # The end of an iterator would wait for the thread that adapts AUTOTUNE's numbers, which sleeps up to a minute at a
  # time. Without it they stay at what they begin with, 16 threads at most, and buffers still grow when they were empty.
  options.autotune.enabled = False
  return dataset.with_options(options)

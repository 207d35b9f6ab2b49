"""From record files to the batches of every replica.

The stream of examples is a pure function of (files, seed, place in the stream): the place is the number of examples
seen so far, so a resumed run continues with the very next one, and the number of devices does not change what a global
batch holds. Every host reads the serialized records of the whole global batch, which costs little, and parses its own
share of it, in batches.

Input: TFRecord files, whose schema `data_gen/pretraining/records.py` knows. Output: parsed batches for
`training/step.py`.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

# Records in the shuffle buffer. Records of data_gen are shuffled already; this serves those of other programs.
_SHUFFLE_BUFFER = 8192
# Files read at the same time, and bytes read from each at once.
_INTERLEAVED_FILES = 16
_READ_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class RecordFiles:
  """TFRecord files and how many records each of them holds.

  Attributes:
    paths: the files, plain or gzip.
    counts: number of records of each.
    gzipped: whether each is compressed.
  """

  paths: tuple[str, ...]
  counts: tuple[int, ...]
  gzipped: tuple[bool, ...]

  @property
  def num_examples(self) -> int:
    return sum(self.counts)


def training_dataset(
    files: RecordFiles, parse: Callable, global_batch_size: int, seed: int, start_example: int,
    context: tf.distribute.InputContext) -> tf.data.Dataset:
  """Endless shuffled batches for the replicas of one host.

  Args:
    files: what to read.
    parse: string [b] of serialized records → dict of dense tensors [b, ...].
    global_batch_size: examples of a step on all replicas together.
    seed: of the order of files and records; each epoch has another one.
    start_example: how many examples of the stream are already used.
    context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).

  Returns:
    dicts for one replica after the other, each with global_batch_size / number of replicas rows.
  """
  first_epoch, used = divmod(start_example, files.num_examples)
  epochs = tf.data.Dataset.range(first_epoch, tf.int64.max)
  stream = epochs.flat_map(lambda epoch: _shuffled_epoch(files, seed, epoch)).skip(used)
  batches = stream.batch(global_batch_size, drop_remainder=True).map(lambda records: (records, None))
  dataset = _for_replicas(batches, parse, global_batch_size, context)
  # Where a dataset may end, processes ask each other before every step, and batches lose their static size.
  return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    files: RecordFiles, parse: Callable, global_batch_size: int,
    context: tf.distribute.InputContext, max_batches: int | None = None) -> tf.data.Dataset:
  """One pass over all records in file order.

  The last batch is filled up with copies of its first record; the feature "is_real_example", int32 [b], tells the
  real ones (1) from the copies (0).

  Args:
    max_batches: stop after so many global batches.
    others: as for `training_dataset`.
  """
  stream = _read(tf.constant(files.paths), tf.constant(files.gzipped))
  batches = stream.batch(global_batch_size).map(lambda records: _fill(records, global_batch_size))
  if max_batches is not None:
    batches = batches.take(max_batches)
  return _for_replicas(batches, parse, global_batch_size, context)


def _shuffled_epoch(files: RecordFiles, seed: int, epoch: tf.Tensor) -> tf.data.Dataset:
  order = tf.random.experimental.stateless_shuffle(
      tf.range(len(files.paths)), seed=tf.stack([tf.constant(seed, tf.int64), epoch]))
  stream = _read(tf.gather(files.paths, order), tf.gather(files.gzipped, order))
  # The epoch is in the upper bits: runs whose seeds are neighbours must not share the order of an epoch.
  return stream.shuffle(_SHUFFLE_BUFFER, seed=seed + epoch * (1 << 32), reshuffle_each_iteration=False)


def _read(paths: tf.Tensor, gzipped: tf.Tensor) -> tf.data.Dataset:
  def read_file(path, is_gzipped):
    return tf.data.TFRecordDataset(
        path, compression_type=tf.where(is_gzipped, "GZIP", ""), buffer_size=_READ_BYTES)

  return tf.data.Dataset.from_tensor_slices((paths, gzipped)).interleave(
      read_file, cycle_length=_INTERLEAVED_FILES, block_length=8, num_parallel_calls=tf.data.AUTOTUNE,
      deterministic=True)


def _fill(records: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
  missing = size - tf.size(records)
  is_real = tf.sequence_mask(tf.size(records), size, dtype=tf.int32)
  return tf.concat([records, tf.repeat(records[:1], missing)], axis=0), is_real


def _for_replicas(batches: tf.data.Dataset, parse: Callable, global_batch_size: int,
                  context: tf.distribute.InputContext) -> tf.data.Dataset:
  """Cuts (records, is_real or None) of global batches into parsed batches of this host's replicas, in order."""
  replicas = context.num_replicas_in_sync // context.num_input_pipelines
  size = global_batch_size // context.num_replicas_in_sync
  first = context.input_pipeline_id * replicas * size

  def share(records, is_real):
    parts = {"records": tf.reshape(records[first:first + replicas * size], [replicas, size])}
    if is_real is not None:
      parts["is_real_example"] = tf.reshape(is_real[first:first + replicas * size], [replicas, size])
    return parts

  def parse_part(part):
    features = parse(part["records"])
    if "is_real_example" in part:
      features["is_real_example"] = part["is_real_example"]
    return features

  # Parsing is spread over the cores; the order is kept.
  dataset = batches.map(share).unbatch().map(
      parse_part, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(tf.data.AUTOTUNE)
  return without_auto_sharding(dataset)


def without_auto_sharding(dataset: tf.data.Dataset) -> tf.data.Dataset:
  """The dataset with its order kept, and left alone by `tf.distribute`: it is cut up already."""
  options = tf.data.Options()
  options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
  options.deterministic = True
  return dataset.with_options(options)

"""Sums over the replicas of `tf.distribute`: of `fit`, and of the training step of the scripts.

Input and output: tensors of one replica. Without a strategy, and on Keras' other backends, there is
one replica, and nothing changes.
"""

import keras

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def num_replicas() -> int:
    """Returns the number of replicas of the current strategy."""
    if keras.backend.backend() != "tensorflow":
        return 1
    return tf.distribute.get_strategy().num_replicas_in_sync


def is_on_several_replicas() -> bool:
    """Whether this is the function of one of several replicas; false where a model is built."""
    return num_replicas() > 1 and not tf.distribute.in_cross_replica_context()


def sum_over_replicas(values):
    """Sums a nested structure of tensors over all replicas, in the replica context.

    Elsewhere, as where Keras builds a model, it returns the values as they are.
    """
    if not is_on_several_replicas():
        return values
    replica = tf.distribute.get_replica_context()
    # One reduction of a flat list lets TensorFlow pack small tensors together.
    flat = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.nest.flatten(values))
    return tf.nest.pack_sequence_as(values, flat)


def rows_before(rows):
    """Returns int64 [], the rows of the global batch that the replicas before this one have.

    Args:
      rows: int [], of this replica.
    """
    rows = tf.cast(rows, tf.int64)
    if not is_on_several_replicas():
        return tf.zeros([], tf.int64)
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    of_replicas = sum_over_replicas(tf.one_hot(replica, num_replicas(), dtype=tf.int64) * rows)
    # The last batch of a data set may have fewer rows on the last replicas.
    is_before = tf.range(num_replicas()) < replica
    return tf.reduce_sum(tf.where(is_before, of_replicas, 0))

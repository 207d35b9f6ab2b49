"""Objects at paths, as `tf.train.Checkpoint` names what it saves."""

import tensorflow as tf


def attach(root: tf.Module, path: str, value: tf.Module | tf.Variable) -> None:
  """Makes `value` the attribute at `path` below `root`, with modules on the way where there are none.

  Args:
    path: attributes joined by "/"; "|" stands for a slash that belongs to a name.
  """
  *nodes, leaf = (part.replace("|", "/") for part in path.split("/"))
  for node in nodes:
    if not hasattr(root, node):
      setattr(root, node, tf.Module())
    root = getattr(root, node)
  setattr(root, leaf, value)

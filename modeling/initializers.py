"""Initial weights that depend on the seed and the variable's name only."""

import hashlib

import keras


def truncated_normal(standard_deviation: float, seed: int, name: str) -> keras.initializers.Initializer:
  """Normal distribution without what lies beyond two standard deviations, as the original initialises.

  Neither the order in which variables are made nor the number of devices changes what a variable starts from.

  Args:
    standard_deviation: of the distribution before it is truncated.
    seed: the run's seed.
    name: the variable's name, unique in the network.
  """
  digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
  return keras.initializers.TruncatedNormal(
      mean=0.0, stddev=standard_deviation, seed=int.from_bytes(digest[:4], "little") >> 1)

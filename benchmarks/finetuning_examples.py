"""What the programs of benchmarks/finetuning.py train on, and in how many turns."""

import numpy as np

from bert_tf.training.examples import Examples

VOCAB_SIZE = 30522
# Of MRPC's training set, with the published uncased vocabulary.
_EXAMPLES, _MEAN, _DEVIATION, _SHORTEST, _LONGEST = 3668, 53.2, 13.0, 19, 103


def turn_steps(steps_per_epoch: int, turns: int, max_steps: int | None) -> list[int]:
  """How many steps each turn has: an epoch in equal parts, or less."""
  parts = [len(part) for part in np.array_split(np.arange(steps_per_epoch), min(turns, steps_per_epoch))]
  return [min(part, max_steps or part) for part in parts]


def full_batches(examples: Examples, batch_size: int) -> Examples:
  """The first examples, as many as fill whole batches, so that all programs have steps of one size."""
  count = max(len(examples) // batch_size, 1) * batch_size
  tokens = examples.row_lengths[:count].sum()
  return Examples({name: values[:tokens] for name, values in examples.tokens.items()}, examples.row_lengths[:count],
                  {name: values[:count] for name, values in examples.values.items()})


def synthetic_examples(limit: int) -> Examples:
  """As many examples as MRPC has, of like lengths."""
  random = np.random.default_rng(0)
  row_lengths = random.normal(_MEAN, _DEVIATION, _EXAMPLES).round().clip(_SHORTEST, min(_LONGEST, limit)).astype(int)
  tokens = row_lengths.sum()
  behind_middle = np.concatenate([np.arange(length) > length // 2 for length in row_lengths])
  return Examples({"input_ids": random.integers(1000, VOCAB_SIZE, tokens, np.int32),
                   "segment_ids": behind_middle.astype(np.uint8)},
                  row_lengths, {"label_ids": random.integers(0, 2, _EXAMPLES, np.int32)})

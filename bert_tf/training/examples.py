"""Examples in memory and their batches, each only as long as its longest sequence needs.

A batch consists of sequences of similar length and is padded to one of a few lengths, so that
little is computed for padding and the graph is compiled for few shapes. The batches of an epoch are
a function of (lengths, batch size, seed, epoch): a run resumes with the very next batch, for any
number of devices.

Input: flat arrays of ids, as the readers in `data_gen/labeled/` make them. Output: padded batches
for `bert_tf/training/step.py` and `bert_tf/training/prediction.py`.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf.training.batches import without_auto_sharding

# Number of batches whose examples are sorted by length together. More would give a little less
# padding, but batches that differ more from each other: if a pool were the epoch, all its short
# sequences would meet again in every epoch.
_BATCHES_PER_POOL = 50
# Number of lengths that batches are padded to. A new length costs the functions of
# `modeling/layers.py` half a second.
_LENGTHS = 32
_FEW_LENGTHS = 4
# Most tokens in a batch of predictions on a CPU. With more, a layer's activations leave the caches,
# which costs up to a quarter of the time in small models and nothing in BERT-Base.
CPU_TOKENS = 1536


@dataclasses.dataclass(frozen=True)
class Examples:
    """E examples with T tokens in all, concatenated.

    A subclass whose examples have several sequences each overrides `__len__`, `lengths` and
    `select`, the only members that batches are made from. If a sequence may belong to several
    examples, it overrides `sequence_lengths` as well.

    Attributes:
      tokens: name → [T, ...], values per token: "input_ids" int32, "segment_ids" of any integer
        type, vectors of floats. Batches have integers as int32 and floats unchanged.
      row_lengths: int64 [E], tokens of each example.
      values: name → [E] or [E, C], values per example, e.g. "label_ids"; batches have integers as
        int32, others as float32.
    """

    tokens: Mapping[str, np.ndarray]
    row_lengths: np.ndarray
    values: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row_lengths)

    @functools.cached_property
    def row_starts(self) -> np.ndarray:
        """int64 [number of sequences], where each begins in `tokens`."""
        return np.cumsum(self.row_lengths) - self.row_lengths

    @property
    def lengths(self) -> np.ndarray:
        """int64 [E], tokens of the longest sequence of each example."""
        return self.row_lengths

    @property
    def sequence_lengths(self) -> np.ndarray:
        """int64 [number of sequences], tokens of the sequences of all examples."""
        return self.row_lengths

    @property
    def sequences(self) -> "Examples":
        """Examples with one sequence each, without values."""
        return Examples(self.tokens, self.row_lengths)

    def describe(self) -> str:
        """Returns number, mean length and greatest length of the sequences, for the log."""
        mean = self.row_lengths.mean()
        longest = self.row_lengths.max()
        return f"{len(self.row_lengths):,}, mean {mean:.1f} tokens, max {longest}"

    def select(
        self, indices: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Selects the sequences and values of a batch.

        Args:
          indices: int64 [B], the examples.
          num_real: how many of them are real; those after them are padding examples.

        Returns:
          int64 [B, ...], where the sequences begin in `tokens`; their lengths, 0 for none; and
          values [B, ...] each.
        """
        values = {name: values[indices] for name, values in self.values.items()}
        return self.row_starts[indices], self.row_lengths[indices], values


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A labeled file and its examples. Tasks extend this class.

    Attributes:
      source: the rows of the file, as a reader in `data_gen/labeled/` returns them.
      examples: the examples made of them.
      classes: class → number of its examples, if the labels are classes.
      truncated: number of sequences that lost tokens.
    """

    source: Any
    examples: Examples
    classes: Mapping[str, int] = dataclasses.field(default_factory=dict, kw_only=True)
    truncated: int = dataclasses.field(default=0, kw_only=True)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def is_labeled(self) -> bool:
        """Whether the file contains the right answers."""
        return self.source.labels is not None


def sets_by_role(splits: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments "train", "dev" and "test" of `Datasets`.

    Args:
      splits: "train", "test" and names of development sets → set.
    """
    dev = {name: split for name, split in splits.items() if name not in ("train", "test")}
    test = {}
    if "test" in splits:
        test["test"] = splits["test"]
    return {"train": splits.get("train"), "dev": dev, "test": test}


@dataclasses.dataclass(frozen=True)
class Datasets:
    """Training, development and test sets of a run. Tasks extend this class.

    Attributes:
      train: the training set, or None.
      dev, test: name → set.
      description: content of `task.json`.
      notes: messages about the data for the user.
      metrics: names of the metrics that may choose the best weights, the default first.
    """

    train: Any
    dev: Mapping[str, Any]
    test: Mapping[str, Any]
    description: dict
    notes: list[str]
    metrics: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)

    def files(self) -> dict[str, str]:
        """Returns split → path of the training and development files."""
        splits = {"train": self.train, **self.dev}
        return {name: split.source.path for name, split in splits.items() if split is not None}

    def nonempty(self) -> dict[str, Any]:
        """Returns name → set of all sets that have examples."""
        sets = {}
        for name, split in {"train": self.train, **self.dev, **self.test}.items():
            if split is not None and len(split.examples.row_lengths):
                sets[name] = split
        return sets

    def left_out(self) -> list[dict]:
        """Returns the bad rows of all files that were left out, each once."""
        rows = []
        for split in (self.train, *self.dev.values(), *self.test.values()):
            # Questions of --question and queries come from no labeled file.
            for row in getattr(getattr(split, "source", None), "left_out", ()):
                # The parts of a divided file have the same rows.
                if row not in rows:
                    rows.append(row)
        return rows

    def first(self, answers: Mapping[str, Any]) -> tuple[Any, Any]:
        """Returns the development set that chooses the best weights, and its answers."""
        name, split = next(iter(self.dev.items()))
        return split, answers[name]


def concatenated(parts: Sequence[Examples]) -> Examples:
    """Concatenates sets of examples that have the same tokens and values."""
    tokens = {}
    for name in parts[0].tokens:
        tokens[name] = np.concatenate([part.tokens[name] for part in parts])
    values = {}
    for name in parts[0].values:
        values[name] = np.concatenate([part.values[name] for part in parts])
    return Examples(tokens, np.concatenate([part.row_lengths for part in parts]), values)


def lengths_for(longest: int, few: bool) -> np.ndarray:
    """Returns `padded_lengths`; few of them if each costs seconds, see `Devices.has_few_shapes`."""
    return padded_lengths(longest, _FEW_LENGTHS if few else _LENGTHS)


def padded_lengths(longest: int, number: int) -> np.ndarray:
    """Returns the lengths that batches are padded to, int64, ascending.

    They are about `number` multiples of a step, then `longest`.
    """
    # All devices compute faster if lengths are multiples of four at least.
    step = -(-longest // number)
    step = min(-(-step // 4) * 4, longest)
    return np.unique(np.minimum(np.arange(1, number + 1) * step, longest))


def epoch_batches(
    row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> list[np.ndarray]:
    """Returns the examples of every batch of an epoch, int64 [<= batch_size], in random order.

    Every example is in one batch.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(row_lengths))
    pool_size = batch_size * _BATCHES_PER_POOL
    batches = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        # The sort is stable, so that examples of the same length stay in random order.
        pool = pool[np.argsort(row_lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    return [batches[index] for index in random.permutation(len(batches))]


def consecutive_batch(num_examples: int, batch_size: int, seed: int, step: int) -> np.ndarray:
    """Returns the examples of a step, int64 [batch_size], as the original cuts batches.

    Batches are cut from a stream of shuffled epochs and may span the end of one.
    """
    positions = np.arange(step * batch_size, (step + 1) * batch_size)
    epochs, rows = np.divmod(positions, num_examples)
    parts = []
    for epoch in np.unique(epochs):
        order = _epoch_order(num_examples, seed, int(epoch))
        parts.append(order[rows[epochs == epoch]])
    return np.concatenate(parts)


@functools.lru_cache(maxsize=2)
def _epoch_order(num_examples: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(num_examples)


def sorted_batches(
    row_lengths: np.ndarray,
    batch_size: int,
    lengths: np.ndarray | None = None,
    tokens: int | None = None,
) -> list[np.ndarray]:
    """Returns the batches of one pass, like `epoch_batches`, but the longest examples come first.

    This is for evaluation, where the order is irrelevant. With `tokens`, a batch padded to one of
    `lengths` has at most that many tokens, and at least one example.
    """
    # The longest come first, so that memory runs out at once if it does.
    order = np.argsort(-row_lengths, kind="stable")
    batches = []
    while len(order):
        rows = batch_size
        if tokens is not None:
            # The first example is the longest, so it decides the padded length.
            length = int(lengths[np.searchsorted(lengths, row_lengths[order[0]])])
            rows = min(max(tokens // length, 1), batch_size)
        batches.append(order[:rows])
        order = order[rows:]
    return batches


def assemble(
    examples: Examples, indices: np.ndarray, batch_size: int, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """Assembles a padded batch.

    Args:
      indices: int64 [<= batch_size], the examples.
      batch_size: B; missing rows are filled up with copies of the first.
      lengths: ascending, see `padded_lengths`; the shortest one that fits is S.

    Returns:
      tokens [B, S, ...] each, padded with 0; "input_mask" int32 [B, S]; values [B] or [B, C] each;
      "example_index" int32 [B]; "is_real_example" int32 [B], 0 for the copies. If an example has
      K sequences, [B, K, S] in place of [B, S].
    """
    num_real = len(indices)
    # Copies have lengths and values of a real example, so that they fit any model.
    rows = np.concatenate([indices, np.full(batch_size - num_real, indices[0])])
    starts, row_lengths, values = examples.select(rows, num_real)
    length = lengths[np.searchsorted(lengths, row_lengths.max())]
    positions = np.arange(length)
    mask = positions < row_lengths[..., None]  # [B, S] or [B, K, S]
    # Padding reads token 0 and is set to 0 afterwards.
    token_indices = np.where(mask, starts[..., None] + positions, 0)
    batch = {}
    for name, tokens in examples.tokens.items():
        batch[name] = tokens[token_indices].astype(_token_type(tokens), copy=False)
        batch[name][~mask] = 0
    for name, value in values.items():
        batch[name] = value.astype(_value_type(value))
    batch["input_mask"] = mask.astype(np.int32)
    batch["example_index"] = rows.astype(np.int32)
    batch["is_real_example"] = (np.arange(batch_size) < num_real).astype(np.int32)
    return batch


def training_dataset(
    examples: Examples,
    batch_size: int,
    seed: int,
    start_step: int,
    lengths: np.ndarray,
    context: tf.distribute.InputContext,
    original_batches: bool = False,
) -> tf.data.Dataset:
    """Returns endless epochs for the replicas of one host.

    Args:
      batch_size: examples of a step on all replicas together.
      start_step: steps already made; one batch a step.
      context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).
      original_batches: whether to cut batches as the original does, see `consecutive_batch`.
    """
    steps_per_epoch = -(-len(examples) // batch_size)

    # Two epochs, as batches are prefetched across the end of one.
    @functools.lru_cache(maxsize=2)
    def batches_of_epoch(epoch: int) -> list[np.ndarray]:
        return epoch_batches(examples.lengths, batch_size, seed, epoch)

    def make_batch(step: int) -> dict[str, np.ndarray]:
        if original_batches:
            indices = consecutive_batch(len(examples), batch_size, seed, step)
        else:
            epoch, number = divmod(step, steps_per_epoch)
            indices = batches_of_epoch(epoch)[number]
        return assemble(examples, indices, batch_size, lengths)

    steps = tf.data.Dataset.range(start_step, np.iinfo(np.int64).max)
    dataset = _dataset(make_batch, examples, batch_size, lengths, steps, context)
    # If a dataset may end, processes ask each other before every step.
    return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    examples: Examples,
    batch_size: int,
    lengths: np.ndarray,
    context: tf.distribute.InputContext,
    tokens: int | None = None,
) -> tf.data.Dataset:
    """Returns every example once, the longest first.

    The last batch is filled up with copies, whose "is_real_example" is 0. With `tokens`, the most
    tokens of a batch, for one replica, batches are of any size and none is filled up.
    """
    batches = sorted_batches(examples.lengths, batch_size, lengths, tokens)

    def make_batch(step: int) -> dict[str, np.ndarray]:
        indices = batches[step]
        return assemble(examples, indices, len(indices) if tokens else batch_size, lengths)

    steps = tf.data.Dataset.range(len(batches))
    size = None if tokens else batch_size
    return _dataset(make_batch, examples, size, lengths, steps, context)


def _token_type(tokens: np.ndarray) -> np.dtype:
    # Vectors keep their precision, which the cache of activations has chosen.
    if np.issubdtype(tokens.dtype, np.integer):
        return np.dtype(np.int32)
    return tokens.dtype


def _value_type(values: np.ndarray) -> np.dtype:
    return np.dtype(np.int32 if np.issubdtype(values.dtype, np.integer) else np.float32)


def _batch_signature(
    examples: Examples, replicas: int, size: int | None, lengths: np.ndarray
) -> dict[str, tf.TensorSpec]:
    """Returns name → shape and dtype of what `assemble` returns, for the replicas of a host."""
    # A TPU's program must know all sizes.
    length = int(lengths[0]) if len(lengths) == 1 else None
    # One example shows the further axes of sequences, such as the axis of choices, and of values.
    starts, _, values = examples.select(np.arange(min(len(examples), 1)), 1)
    rows = [replicas, size]
    sequence = [*rows, *starts.shape[1:], length]
    signature = {}
    for name, tokens in examples.tokens.items():
        signature[name] = tf.TensorSpec([*sequence, *tokens.shape[1:]], _token_type(tokens))
    for name, value in values.items():
        signature[name] = tf.TensorSpec([*rows, *value.shape[1:]], _value_type(value))
    signature["input_mask"] = tf.TensorSpec(sequence, tf.int32)
    signature["example_index"] = tf.TensorSpec(rows, tf.int32)
    signature["is_real_example"] = tf.TensorSpec(rows, tf.int32)
    return signature


def _dataset(
    make_batch: Callable[[int], dict[str, np.ndarray]],
    examples: Examples,
    batch_size: int | None,
    lengths: np.ndarray,
    steps: tf.data.Dataset,
    context: tf.distribute.InputContext,
) -> tf.data.Dataset:
    """Returns the batches of steps, cut into the batches of this host's replicas.

    A `batch_size` of None means any size, for one replica.
    """
    # Every host assembles the whole batch, which is cheap, and cuts its rows out.
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    size = None
    host_rows = slice(None)
    if batch_size is not None:
        size = batch_size // context.num_replicas_in_sync
        first = context.input_pipeline_id * replicas * size
        host_rows = slice(first, first + replicas * size)
    signature = _batch_signature(examples, replicas, size, lengths)

    def make_arrays(step: np.ndarray) -> list[np.ndarray]:
        batch = make_batch(int(step))
        arrays = []
        for name in signature:
            values = batch[name][host_rows]
            rows = len(values) // replicas
            arrays.append(values.reshape(replicas, rows, *values.shape[1:]))
        return arrays

    dtypes = [spec.dtype for spec in signature.values()]

    def make_tensors(step: tf.Tensor) -> dict[str, tf.Tensor]:
        tensors = tf.numpy_function(make_arrays, [step], dtypes, stateful=False)
        batch = {}
        for (name, spec), tensor in zip(signature.items(), tensors, strict=True):
            # numpy_function loses the shapes.
            batch[name] = tf.ensure_shape(tensor, spec.shape)
        return batch

    dataset = steps.map(make_tensors, num_parallel_calls=1, deterministic=True)
    return without_auto_sharding(dataset.unbatch().prefetch(2 * replicas))

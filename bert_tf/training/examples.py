"""Examples in memory and their batches, each only as long as its longest sequence needs.

A batch is put together of sequences of similar length and padded to one of a few lengths, so that
little is computed for padding and the graph is compiled for few shapes. The batches of an epoch are
a function of (lengths, batch size, seed, epoch): a run resumes with the very next batch, for any
number of devices.

Input: flat arrays of ids, as the readers in `data_gen/labelled/` make them. Output: padded batches
for `bert_tf/training/step.py` and `bert_tf/training/prediction.py`.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf.training.batches import without_auto_sharding

# Batches whose examples are sorted by length together. More would give a little less padding and
# batches that differ more from each other: all the short sequences of a pool of the whole epoch
# would meet again in every epoch.
_BATCHES_PER_POOL = 50
# Lengths that batches are padded to. A new one costs the functions of `modeling/layers.py` half a
# second.
_LENGTHS, _FEW_LENGTHS = 32, 4
# Tokens of a batch of predictions on a CPU: of more a layer's activations leave the caches, which
# costs up to a quarter of the time in small models and nothing in BERT-Base.
CPU_TOKENS = 1536


@dataclasses.dataclass(frozen=True)
class Examples:
    """E examples with T tokens in all, concatenated.

    A subclass whose examples have several sequences each overrides `__len__`, `lengths` and
    `select`: nothing else is read to make batches; and where a sequence may belong to several
    examples, `sequence_lengths`.

    Attributes:
      tokens: name → [T, ...], what a token has: "input_ids" int32, "segment_ids" of any integer
        type, vectors of floats. Integers come as int32, floats as they are.
      row_lengths: int64 [E], tokens of each example.
      values: name → [E] or [E, C], what an example has, e.g. "label_ids"; integers come as int32.
    """

    tokens: Mapping[str, np.ndarray]
    row_lengths: np.ndarray
    values: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.row_lengths)

    @functools.cached_property
    def row_starts(self) -> np.ndarray:
        """int64 [number of sequences]."""
        return np.cumsum(self.row_lengths) - self.row_lengths

    @property
    def lengths(self) -> np.ndarray:
        """int64 [E], tokens of the longest sequence of each example: what its batch is padded to at
        least."""
        return self.row_lengths

    @property
    def sequence_lengths(self) -> np.ndarray:
        """int64, tokens of the sequences of all examples."""
        return self.row_lengths

    @property
    def sequences(self) -> "Examples":
        """Every sequence as an example of its own, without values."""
        return Examples(self.tokens, self.row_lengths)

    def describe(self) -> str:
        """How many there are, and how long, for the user."""
        return (
            f"{len(self.row_lengths):,} of {self.row_lengths.mean():.1f} tokens, the longest "
            f"{self.row_lengths.max()}"
        )

    def select(
        self, chosen: np.ndarray, num_real: int
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """What a batch is made of the examples `chosen`, int64 [B]; those after the first
        `num_real` are padding examples.

        Returns:
          int64 [B, ...], where the sequences begin in `tokens`; how long they are, 0 for none; and
          values [B, ...] each.
        """
        return (
            self.row_starts[chosen],
            self.row_lengths[chosen],
            {name: values[chosen] for name, values in self.values.items()},
        )


@dataclasses.dataclass(frozen=True)
class Dataset:
    """A file, as a reader in `data_gen/labelled/` gives it, and what is made of it; tasks add to
    it.

    Attributes:
      classes, truncated: class → examples of it, where the labels are classes; how many sequences
        lost tokens.
    """

    source: Any
    examples: Examples
    classes: Mapping[str, int] = dataclasses.field(default_factory=dict, kw_only=True)
    truncated: int = dataclasses.field(default=0, kw_only=True)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def is_labelled(self) -> bool:
        """Whether the right answers are known."""
        return self.source.labels is not None


@dataclasses.dataclass(frozen=True)
class Datasets:
    """What a run reads: the training set, development and test sets by their names; tasks add to
    it.

    Attributes:
      description: `task.json`.
      notes: what the user should know about the data.
      metrics: names of those by which the best weights may be chosen, the first one by default.
    """

    train: Any
    dev: Mapping[str, Any]
    test: Mapping[str, Any]
    description: dict
    notes: list[str]
    metrics: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)

    def files(self) -> dict[str, str]:
        """Split → path, of what is trained and evaluated on."""
        splits = {"train": self.train, **self.dev}
        return {name: split.source.path for name, split in splits.items() if split is not None}

    def first(self, answers: Mapping[str, Any]) -> tuple[Any, Any]:
        """The development set that chooses the best weights, and the answers about it."""
        name, split = next(iter(self.dev.items()))
        return split, answers[name]


def concatenated(parts: Sequence[Examples]) -> Examples:
    """The examples of several, one after the other; all have the same tokens and values."""
    tokens, values = (
        {name: np.concatenate([one[name] for one in of]) for name in of[0]}
        for of in ([part.tokens for part in parts], [part.values for part in parts])
    )
    return Examples(tokens, np.concatenate([part.row_lengths for part in parts]), values)


def lengths_for(longest: int, few: bool) -> np.ndarray:
    """`padded_lengths`, as many of them as pay: few where each costs seconds, see
    `Devices.has_few_shapes`."""
    return padded_lengths(longest, _FEW_LENGTHS if few else _LENGTHS)


def padded_lengths(longest: int, number: int) -> np.ndarray:
    """The lengths that batches are padded to, int64, ascending: about `number` multiples of a step,
    then `longest`."""
    step = -(-longest // number)
    # The kernels of all devices like multiples of four at least.
    step = min(-(-step // 4) * 4, longest)
    return np.unique(np.minimum(np.arange(1, number + 1) * step, longest))


def epoch_batches(
    row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int
) -> list[np.ndarray]:
    """The examples of every batch of an epoch, int64 [<= batch_size], in random order; every
    example is in one batch."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(row_lengths))
    pool_size = batch_size * _BATCHES_PER_POOL
    batches = []
    for start in range(0, len(order), pool_size):
        pool = order[start : start + pool_size]
        # Stable: examples of the same length stay in random order.
        pool = pool[np.argsort(row_lengths[pool], kind="stable")]
        batches += [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
    return [batches[index] for index in random.permutation(len(batches))]


def consecutive_batch(num_examples: int, batch_size: int, seed: int, step: int) -> np.ndarray:
    """The examples of a step, int64 [batch_size], where batches are cut from epochs without regard
    to their ends."""
    epochs, places = np.divmod(np.arange(step * batch_size, (step + 1) * batch_size), num_examples)
    return np.concatenate(
        [
            _epoch_order(num_examples, seed, int(epoch))[places[epochs == epoch]]
            for epoch in np.unique(epochs)
        ]
    )


@functools.lru_cache(maxsize=2)
def _epoch_order(num_examples: int, seed: int, epoch: int) -> np.ndarray:
    return np.random.default_rng([seed, epoch]).permutation(num_examples)


def sorted_batches(
    row_lengths: np.ndarray,
    batch_size: int,
    lengths: np.ndarray | None = None,
    tokens: int | None = None,
) -> list[np.ndarray]:
    """All examples once, the longest first, as `epoch_batches`: for evaluation, where the order is
    irrelevant.

    A batch, padded to one of the lengths, has so many `tokens` at most, and one example at least.
    """
    order, batches = np.argsort(-row_lengths, kind="stable"), []
    while len(order):
        rows = batch_size
        if tokens is not None:
            rows = min(
                max(tokens // int(lengths[np.searchsorted(lengths, row_lengths[order[0]])]), 1),
                batch_size,
            )
        batches.append(order[:rows])
        order = order[rows:]
    return batches


def assemble(
    examples: Examples, chosen: np.ndarray, batch_size: int, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """A padded batch.

    Args:
      chosen: int64 [<= batch_size], numbers of the examples.
      batch_size: B; missing rows are filled up with copies of the first.
      lengths: ascending, see `padded_lengths`; the shortest one that fits is S.

    Returns:
      tokens [B, S, ...] each, padded with 0; "input_mask" int32 [B, S]; values [B] or [B, C] each;
      "example_index" int32 [B]; "is_real_example" int32 [B], 0 for the copies. Where an example has
      K sequences, [B, K, S] in place of [B, S].
    """
    rows = np.concatenate([chosen, np.full(batch_size - len(chosen), chosen[0])])
    starts, row_lengths, values = examples.select(rows, len(chosen))
    values = {name: value.astype(_type(value)) for name, value in values.items()}
    length = lengths[np.searchsorted(lengths, row_lengths.max())]
    positions = np.arange(length)
    mask = positions < row_lengths[..., None]  # [B, S] or [B, K, S]
    places = np.where(mask, starts[..., None] + positions, 0)
    batch = {}
    for name, tokens in examples.tokens.items():
        batch[name] = tokens[places].astype(_type(tokens, None), copy=False)
        batch[name][~mask] = 0
    return {
        **batch,
        **values,
        "input_mask": mask.astype(np.int32),
        "example_index": rows.astype(np.int32),
        "is_real_example": (np.arange(batch_size) < len(chosen)).astype(np.int32),
    }


def training_dataset(
    examples: Examples,
    batch_size: int,
    seed: int,
    start_step: int,
    lengths: np.ndarray,
    context: tf.distribute.InputContext,
    consecutive: bool = False,
) -> tf.data.Dataset:
    """Endless epochs for the replicas of one host; `consecutive` as in the original, see
    `consecutive_batch`.

    Args:
      batch_size: examples of a step on all replicas together.
      start_step: steps already made; one batch a step.
      context: which of how many hosts this is (`strategy.distribute_datasets_from_function`).
    """
    steps_per_epoch = -(-len(examples) // batch_size)
    plan = functools.lru_cache(maxsize=2)(
        lambda epoch: epoch_batches(examples.lengths, batch_size, seed, epoch)
    )

    def batch_of_step(step: int) -> dict[str, np.ndarray]:
        if consecutive:
            return assemble(
                examples,
                consecutive_batch(len(examples), batch_size, seed, int(step)),
                batch_size,
                lengths,
            )
        epoch, index = divmod(int(step), steps_per_epoch)
        return assemble(examples, plan(epoch)[index], batch_size, lengths)

    dataset = _dataset(
        batch_of_step, examples, batch_size, start_step, np.iinfo(np.int64).max, context
    )
    # Where a dataset may end, processes ask each other before every step.
    return dataset.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def evaluation_dataset(
    examples: Examples,
    batch_size: int,
    lengths: np.ndarray,
    context: tf.distribute.InputContext,
    tokens: int | None = None,
) -> tf.data.Dataset:
    """Every example once, the longest first; the last batch is filled up ("is_real_example" 0).

    With `tokens` of a batch at most, for one replica, batches are of any size, and none is filled
    up.
    """
    batches = sorted_batches(examples.lengths, batch_size, lengths, tokens)
    return _dataset(
        lambda step: assemble(
            examples, rows := batches[int(step)], len(rows) if tokens else batch_size, lengths
        ),
        examples,
        None if tokens else batch_size,
        0,
        len(batches),
        context,
    )


def _type(values: np.ndarray, of_floats: type | None = np.float32) -> np.dtype:
    """Integers come as int32; `of_floats` None leaves the others as they are."""
    return np.dtype(
        np.int32 if np.issubdtype(values.dtype, np.integer) else of_floats or values.dtype
    )


def _dataset(
    batch_of_step: Callable[[int], dict[str, np.ndarray]],
    examples: Examples,
    batch_size: int | None,
    start: int,
    stop: int,
    context: tf.distribute.InputContext,
) -> tf.data.Dataset:
    """Batches of steps start...stop-1, cut into those of this host's replicas; None is any size,
    for one replica."""
    size = batch_size and batch_size // context.num_replicas_in_sync
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    own = (
        slice(
            context.input_pipeline_id * replicas * size,
            (context.input_pipeline_id + 1) * replicas * size,
        )
        if (size)
        else slice(None)
    )
    # Of one example: what axes are between that of the examples and that of the tokens, and the
    # values.
    starts, _, values = examples.select(np.arange(min(len(examples), 1)), 1)
    types = {
        **{name: _type(tokens, None) for name, tokens in examples.tokens.items()},
        "input_mask": np.int32,
        **{name: _type(value) for name, value in values.items()},
        "example_index": np.int32,
        "is_real_example": np.int32,
    }
    of_token = {
        **{name: values.shape[1:] for name, values in examples.tokens.items()},
        "input_mask": (),
    }

    def of_step(step):
        def arrays(number):
            batch = batch_of_step(number)
            return [
                batch[name][own].reshape(replicas, size or len(batch[name]), *batch[name].shape[1:])
                for name in types
            ]

        tensors = tf.numpy_function(
            arrays, [step], [tf.as_dtype(dtype) for dtype in types.values()], stateful=False
        )
        shapes = {
            **{name: (*starts.shape[1:], None, *shape) for name, shape in of_token.items()},
            **{name: value.shape[1:] for name, value in values.items()},
        }
        return {
            name: tf.ensure_shape(tensor, [replicas, size, *shapes.get(name, ())])
            for name, tensor in zip(types, tensors, strict=True)
        }

    dataset = tf.data.Dataset.range(start, stop).map(
        of_step, num_parallel_calls=1, deterministic=True
    )
    return without_auto_sharding(dataset.unbatch().prefetch(2 * replicas))

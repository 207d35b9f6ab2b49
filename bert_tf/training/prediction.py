"""Passes of a model over a whole set: its outputs in the order of the examples, or sums that
metrics are made of.

Input: `Examples` in memory, or batches of records. Output: arrays, which tasks score while training
and afterwards, or metrics.
"""

from collections.abc import Callable, Iterable

import keras
import numpy as np
import tensorflow as tf

from bert_tf.training.batches import sum_over_replicas
from bert_tf.training.examples import (
    CPU_TOKENS,
    Examples,
    assemble,
    evaluation_dataset,
    sorted_batches,
)
from bert_tf.training.step import Objective

_SEQUENCES = ("input_ids", "input_mask", "segment_ids")


class EvaluationPass:
    """One exact pass over an evaluation set, for metrics that are made of sums.

    Args:
      make_dataset: () → distributed dataset of the pass, its batches filled up
        (`inputs.evaluation_dataset`).
      check_stop: called before every batch; may raise to break off.
    """

    def __init__(
        self,
        objective: Objective,
        make_dataset: Callable,
        batches: int,
        strategy: tf.distribute.Strategy,
        jit_compile: bool,
        check_stop: Callable[[], None] = lambda: None,
    ):
        self._objective, self._make_dataset, self._batches = objective, make_dataset, batches
        self._strategy, self._check_stop = strategy, check_stop
        sums = tf.function(
            lambda features: objective.sums(features, None),
            jit_compile=jit_compile or None,
            autograph=False,
        )
        self._next_sums = tf.function(
            lambda iterator: strategy.run(
                lambda features: sum_over_replicas(sums(features)), args=(next(iterator),)
            ),
            autograph=False,
        )

    def __call__(self) -> dict[str, float]:
        """Metrics of the whole set."""
        iterator = iter(self._make_dataset())
        totals: dict[str, float] = {}
        for _ in range(self._batches):
            self._check_stop()
            # Python floats: double precision for however many batches there are.
            totals = {
                name: totals.get(name, 0.0)
                + float(self._strategy.experimental_local_results(value)[0].numpy())
                for name, value in self._next_sums(iterator).items()
            }
        return self._objective.metrics(totals)


class Prediction:
    """A model that can be run over examples again and again.

    Args:
      model: features → dict of float32 outputs, [b, ...] with one row an example or [b, S, ...]
        with one a token.
      batch_size: examples of a batch on all replicas together; on one CPU without XLA no more of
        `CPU_TOKENS` either.
      lengths: that batches are padded to, see `examples.padded_lengths`.
      token_outputs: names of the outputs that have one row a token.
      check_stop: called before every batch; may raise to break off.
    """

    def __init__(
        self,
        model: Callable[[dict], dict],
        batch_size: int,
        lengths: np.ndarray,
        strategy: tf.distribute.Strategy,
        jit_compile: bool,
        token_outputs: tuple[str, ...] = (),
        check_stop: Callable[[], None] = lambda: None,
    ):
        self._model = tf.function(model, jit_compile=jit_compile or None, autograph=False)
        self._batch_size, self._lengths, self._token_outputs = batch_size, lengths, token_outputs
        self._strategy, self._check_stop = strategy, check_stop
        self._next = tf.function(
            lambda iterator: strategy.run(self._replica_outputs, args=(next(iterator),)),
            autograph=False,
        )
        self._tokens = (
            None if jit_compile or strategy.num_replicas_in_sync > 1 else _tokens_at_once()
        )

    def __call__(
        self, examples: Examples, advance: Callable[[int], None] = lambda count: None
    ) -> dict[str, np.ndarray]:
        """Outputs for E examples with T tokens; `advance` is called with the number of examples of
        every batch.

        Returns:
          output name → [E, ...], or [T, ...] for those with one row a token, whatever the number of
          replicas.
        """
        replicas = self._strategy.num_replicas_in_sync
        # A few examples need not wait for a whole batch.
        batch_size = min(self._batch_size, -(-len(examples) // replicas) * replicas)
        dataset = self._strategy.distribute_datasets_from_function(
            lambda context: evaluation_dataset(
                examples, batch_size, self._lengths, context, self._tokens
            )
        )
        iterator = iter(dataset)
        results: dict[str, np.ndarray] = {}
        for _ in sorted_batches(examples.lengths, batch_size, self._lengths, self._tokens):
            self._check_stop()
            outputs = {
                name: self._strategy.experimental_local_results(value)[0].numpy()
                for name, value in self._next(iterator).items()
            }
            rows = outputs.pop("example_index")
            real = outputs.pop("is_real_example") == 1
            rows = rows[real]
            for name, value in outputs.items():
                _place(results, name, value[real], rows, examples, name in self._token_outputs)
            advance(len(rows))
        return results

    def _replica_outputs(self, features: dict) -> dict:
        """Of the batch of all replicas, in the context of each."""
        outputs = {
            **self._model(features),
            "example_index": features["example_index"],
            "is_real_example": features["is_real_example"],
        }
        if self._strategy.num_replicas_in_sync == 1:
            return outputs
        replica = tf.distribute.get_replica_context()
        # The identity has the replica's device, which the gathering needs to know: what came with
        # the batch has none.
        return {
            name: replica.all_gather(tf.identity(value), axis=0) for name, value in outputs.items()
        }


def local_prediction(
    model: Callable[[dict], dict],
    batch_size: int,
    lengths: np.ndarray,
    token_outputs: tuple[str, ...] = (),
) -> Callable[[Examples], dict[str, np.ndarray]]:
    """The same for examples, at least one, whose results are waited for: on one device, no padding
    examples, one trace (under other backends than TensorFlow: none)."""
    tokens = None
    if keras.backend.backend() == "tensorflow":
        tokens = _tokens_at_once()
        model = tf.function(
            model,
            input_signature=[
                {name: tf.TensorSpec([None, None], tf.int32, name) for name in _SEQUENCES}
            ],
            autograph=False,
        )
        model.get_concrete_function()
    return lambda examples: run_batches(
        lambda batches: (
            {name: keras.ops.convert_to_numpy(value) for name, value in model(batch).items()}
            for batch in batches
        ),
        examples,
        batch_size,
        lengths,
        token_outputs,
        tokens,
    )


def _tokens_at_once() -> int | None:
    return None if tf.config.list_logical_devices("GPU") else CPU_TOKENS


def run_batches(
    outputs_of: Callable[[Iterable[dict]], Iterable[dict]],
    examples: Examples,
    batch_size: int,
    lengths: np.ndarray,
    token_outputs: tuple[str, ...] = (),
    tokens: int | None = None,
) -> dict[str, np.ndarray]:
    """Outputs for E examples with T tokens, at least one, of whatever computes them.

    Args:
      outputs_of: batches → the outputs of each, in this order; a batch is int32 "input_ids",
        "input_mask" and "segment_ids", [b, S] each.
      tokens: of a batch at most, see `sorted_batches`. The others, and what is returned, are as of
        `Prediction`.
    """
    rows_of_batches = sorted_batches(examples.lengths, batch_size, lengths, tokens)
    batches = (
        {name: batch[name] for name in _SEQUENCES}
        for rows in rows_of_batches
        for batch in [assemble(examples, rows, len(rows), lengths)]
    )
    results: dict[str, np.ndarray] = {}
    for rows, outputs in zip(rows_of_batches, outputs_of(batches), strict=True):
        for name, value in outputs.items():
            _place(results, name, value, rows, examples, name in token_outputs)
    return results


def _place(
    results: dict,
    name: str,
    value: np.ndarray,
    rows: np.ndarray,
    examples: Examples,
    by_token: bool,
) -> None:
    """Puts the output of a batch, [b, ...] or [b, S, ...], where the examples `rows` [b] have their
    places."""
    if not by_token:
        target = results.setdefault(name, np.empty((len(examples), *value.shape[1:]), value.dtype))
        target[rows] = value
        return
    target = results.setdefault(
        name, np.empty((int(examples.row_lengths.sum()), *value.shape[2:]), value.dtype)
    )
    lengths = examples.row_lengths[rows][:, None]
    positions = np.arange(value.shape[1])
    is_token = positions < lengths  # [b, S]
    target[(examples.row_starts[rows][:, None] + positions)[is_token]] = value[is_token]

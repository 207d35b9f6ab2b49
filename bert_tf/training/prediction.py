"""Passes of a model over a whole set.

Input: `Examples` in memory, or batches of records. Output: the model's outputs in the order of the
examples, which tasks score, or metrics made of sums.
"""

from collections.abc import Callable, Iterable, Iterator

import keras
import numpy as np
import tensorflow as tf

from bert_tf.training.devices import graph_function
from bert_tf.training.examples import (
    CPU_TOKENS,
    Examples,
    assemble,
    evaluation_dataset,
    sorted_batches,
)
from bert_tf.training.step import strategy_results
from modeling.losses import HeadLoss, SumOfLosses
from modeling.replicas import sum_over_replicas

_SEQUENCES = ("input_ids", "input_mask", "segment_ids")


class EvaluationPass:
    """One exact pass over an evaluation set, for metrics that are made of sums.

    Args:
      forward: features, dropout stream or None → the model's outputs.
      loss: of these outputs.
      make_dataset: makes the distributed dataset of a pass, its batches filled up
        (`inputs.evaluation_dataset`).
      batches: number of batches of a pass.
      check_stop: called before every batch; may raise to break off.
    """

    def __init__(
        self,
        forward: Callable,
        loss: HeadLoss | SumOfLosses,
        make_dataset: Callable,
        batches: int,
        strategy: tf.distribute.Strategy,
        jit_compile: bool,
        check_stop: Callable[[], None] = lambda: None,
    ):
        self._loss = loss
        self._make_dataset = make_dataset
        self._batches = batches
        self._check_stop = check_stop

        def sums(features: dict) -> dict:
            return loss.sums(forward(features, None), features)

        # The model is compiled by itself, as XLA can't compile reading from the iterator.
        compute_sums = graph_function(sums, jit_compile)

        def next_sums(iterator) -> dict:
            return strategy_results(
                strategy,
                lambda features: sum_over_replicas(compute_sums(features)),
                next(iterator),
            )

        self._next_sums = tf.function(next_sums, autograph=False)

    def __call__(self) -> dict[str, float]:
        """Returns the metrics of the whole set."""
        iterator = iter(self._make_dataset())
        totals: dict[str, float] = {}
        for _ in range(self._batches):
            self._check_stop()
            # Python floats have double precision, enough for any number of batches.
            for name, value in self._next_sums(iterator).items():
                totals[name] = totals.get(name, 0.0) + float(value.numpy())
        return self._loss.metrics(totals)


class Prediction:
    """A model that runs over sets of examples.

    Args:
      model: features → dict of float32 outputs, [b, ...] with one row per example or [b, S, ...]
        with one per token.
      batch_size: examples of a batch on all replicas together, raised to the next multiple of
        their number. On one CPU without XLA a batch has at most `CPU_TOKENS` tokens, too.
      lengths: that batches are padded to, see `examples.padded_lengths`.
      token_outputs: names of the outputs that have one row per token.
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
        self._model = graph_function(model, jit_compile)
        self._batch_size = batch_size
        self._lengths = lengths
        self._token_outputs = token_outputs
        self._strategy = strategy
        self._check_stop = check_stop
        self._next_outputs = tf.function(self._compute_next, autograph=False)
        if not jit_compile and strategy.num_replicas_in_sync == 1:
            self._max_tokens = _max_tokens()
        else:
            self._max_tokens = None

    def __call__(
        self, examples: Examples, advance: Callable[[int], None] = lambda count: None
    ) -> dict[str, np.ndarray]:
        """Returns outputs for E examples, at least one, with T tokens in all.

        Args:
          advance: called after every batch with the number of its examples, padding not counted.

        Returns:
          output name → [E, ...] in the order of the examples, or, for `token_outputs`, [T, ...]:
          the tokens of all examples in a row, without padding. Every process gets all of it.
        """
        replicas = self._strategy.num_replicas_in_sync
        # A set that is smaller than a batch makes the batch smaller. The size is rounded up to a
        # multiple of the replicas, which get equal shares.
        batch_size = -(-min(self._batch_size, len(examples)) // replicas) * replicas

        def make_dataset(context: tf.distribute.InputContext) -> tf.data.Dataset:
            return evaluation_dataset(
                examples, batch_size, self._lengths, context, self._max_tokens
            )

        iterator = iter(self._strategy.distribute_datasets_from_function(make_dataset))
        batches = sorted_batches(examples.lengths, batch_size, self._lengths, self._max_tokens)
        results: dict[str, np.ndarray] = {}
        for _ in batches:
            self._check_stop()
            outputs = {name: value.numpy() for name, value in self._next_outputs(iterator).items()}
            # These are of all replicas. Copies of an example fill up the last batch (none if
            # `_max_tokens` is set), and are dropped here.
            is_real = outputs.pop("is_real_example") == 1
            rows = outputs.pop("example_index")[is_real]
            for name, value in outputs.items():
                by_token = name in self._token_outputs
                _scatter(results, name, value[is_real], rows, examples, by_token)
            advance(len(rows))
        return results

    def _compute_next(self, iterator) -> dict:
        return strategy_results(self._strategy, self._replica_outputs, next(iterator))

    def _replica_outputs(self, features: dict) -> dict:
        """Returns the outputs of the whole batch, gathered from all replicas; runs in each."""
        outputs = dict(self._model(features))
        outputs["example_index"] = features["example_index"]
        outputs["is_real_example"] = features["is_real_example"]
        if self._strategy.num_replicas_in_sync == 1:
            return outputs
        replica = tf.distribute.get_replica_context()
        gathered = {}
        for name, value in outputs.items():
            # The identity has the replica's device, which the gathering needs to know; features
            # of the batch have none.
            gathered[name] = replica.all_gather(tf.identity(value), axis=0)
        return gathered


def local_prediction(
    model: Callable[[dict], dict],
    batch_size: int,
    lengths: np.ndarray,
    token_outputs: tuple[str, ...] = (),
) -> Callable[[Examples], dict[str, np.ndarray]]:
    """Returns a function that computes outputs for at least one example, with low latency.

    It uses one device, no padding examples and one trace (under Keras backends other than
    TensorFlow: none). The arguments are as in `Prediction`.
    """
    max_tokens = None
    if keras.backend.backend() == "tensorflow":
        max_tokens = _max_tokens()
        signature = {}
        for name in _SEQUENCES:
            signature[name] = tf.TensorSpec([None, None], tf.int32, name)
        model = tf.function(model, input_signature=[signature], autograph=False)
        # Trace now, so that the first request is as fast as the others.
        model.get_concrete_function()

    def outputs_of(batches: Iterable[dict]) -> Iterator[dict]:
        for batch in batches:
            outputs = model(batch)
            yield {name: keras.ops.convert_to_numpy(value) for name, value in outputs.items()}

    def predict(examples: Examples) -> dict[str, np.ndarray]:
        return run_batches(
            outputs_of, examples, batch_size, lengths, token_outputs, tokens=max_tokens
        )

    return predict


def _max_tokens() -> int | None:
    """Returns the largest number of tokens of a batch; None for no limit, on GPUs."""
    return None if tf.config.list_logical_devices("GPU") else CPU_TOKENS


def run_batches(
    outputs_of: Callable[[Iterable[dict]], Iterable[dict]],
    examples: Examples,
    batch_size: int,
    lengths: np.ndarray,
    token_outputs: tuple[str, ...] = (),
    tokens: int | None = None,
) -> dict[str, np.ndarray]:
    """Returns outputs for at least one example, computed by any engine.

    Args:
      outputs_of: batches → the outputs of each, in this order; a batch is int32 "input_ids",
        "input_mask" and "segment_ids", [b, S] each.
      tokens: upper bound of the tokens of a batch, see `sorted_batches`.

    The other arguments and the result are as in `Prediction`.
    """
    rows_of_batches = sorted_batches(examples.lengths, batch_size, lengths, tokens)

    def make_batches() -> Iterator[dict]:
        for rows in rows_of_batches:
            batch = assemble(examples, rows, len(rows), lengths)
            yield {name: batch[name] for name in _SEQUENCES}

    # The generator lets an engine prepare a batch while another one is computed.
    results: dict[str, np.ndarray] = {}
    for rows, outputs in zip(rows_of_batches, outputs_of(make_batches()), strict=True):
        for name, value in outputs.items():
            _scatter(results, name, value, rows, examples, name in token_outputs)
    return results


def _scatter(
    results: dict,
    name: str,
    value: np.ndarray,
    rows: np.ndarray,
    examples: Examples,
    by_token: bool,
) -> None:
    """Puts an output of the examples `rows` [b], [b, ...] or [b, S, ...], into the results."""
    if not by_token:
        shape = (len(examples), *value.shape[1:])
        target = results.setdefault(name, np.empty(shape, value.dtype))
        target[rows] = value
        return
    # Tokens of all examples are concatenated; positions of padding are left out.
    shape = (int(examples.row_lengths.sum()), *value.shape[2:])
    target = results.setdefault(name, np.empty(shape, value.dtype))
    positions = np.arange(value.shape[1])
    is_token = positions < examples.row_lengths[rows][:, None]  # [b, S]
    indices = examples.row_starts[rows][:, None] + positions
    target[indices[is_token]] = value[is_token]

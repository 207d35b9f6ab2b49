"""The training step of every task, on tf.distribute.

Input: batches of `bert_tf/training/inputs.py` or `bert_tf/training/examples.py`. Output: updated
weights, and the metrics of the steps. `bert_tf/runs/trainer.py` calls the steps, and
`bert_tf/training/optimizer.py` has the update.

The loss is a ratio of sums over the whole global batch, so the result does not depend on how the
batch is spread over devices or micro-batches.
"""

import time
from collections.abc import Callable

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.batches import (
    BatchSizes,
    stack_parts,
    sum_of_parts,
    take_part,
)
from bert_tf.training.devices import graph_function
from bert_tf.training.optimizer import Optimizer
from modeling.checkpoints.optimizer_state import INITIAL_LOSS_SCALE
from modeling.dropout import stream_key, stream_of_key
from modeling.losses import HeadLoss, InBatchLoss, SumOfLosses
from modeling.replicas import sum_over_replicas

# Dynamic loss scaling of "Mixed precision training" (arXiv 1710.03740): the scale is halved on
# overflow and doubled after so many updates without one.
_STEPS_BEFORE_DOUBLING = 2000
# Upper bound of the sums of a step. A task has 4 to 8 and the step adds 2.
_MAX_TOTALS = 32


class TrainingState:
    """Variables of a checkpoint other than weights and optimizer slots.

    Attributes:
      step: int64, updates made.
      examples: int64, examples of all steps, padding included; in pre-training the position in the
        stream of records (of packed ones, records).
      loss_scale, steps_since_overflow: state of float16 training.
      run, run_id: int64, number and id of the run that the checkpoint belongs to; 0 if unknown.
    """

    def __init__(self):
        self.run = _make_counter("run")
        self.run_id = _make_counter("run_id")
        self.step = _make_counter("step")
        self.examples = _make_counter("examples")
        self.steps_since_overflow = _make_counter("steps_since_overflow")
        self.loss_scale = tf.Variable(
            INITIAL_LOSS_SCALE,
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )

    @property
    def step_number(self) -> int:
        """Updates made, as a Python number."""
        return int(self.step.numpy())

    @property
    def id(self) -> str:
        """The id of the run as in its files; "" if unknown."""
        number = int(self.run_id.numpy())
        return f"{number:016x}" if number else ""

    @property
    def position(self) -> int:
        """Training examples of all steps, as a Python number."""
        return int(self.examples.numpy())


def _make_counter(name: str) -> tf.Variable:
    return tf.Variable(
        0,
        dtype=tf.int64,
        trainable=False,
        name=name,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


class TrainingStep:
    """Runs inner loops of training steps inside one tf.function.

    Args:
      forward: features, dropout stream → the model's outputs.
      loss: of these outputs.
      optimizer: holds the variables that are trained.
      schedule: step, int64 [] → learning rate, float32 [].
      state: advanced by every step.
      global_batch_size: examples of a step on all replicas.
      jit_compile: compile forward, backward and update with XLA.
      gradient_accumulation_steps: micro-batches that a replica's share is cut into.
      loss_scaling: multiply the loss by a dynamic factor, for float16.
      deterministic: TensorFlow's deterministic mode is on. It forbids `tf.timestamp`, so waiting
        for input is not timed.
      seed: of the dropout.
      batch_sizes: records of the steps; None if a step has as many records as examples.
    """

    def __init__(
        self,
        forward: Callable,
        loss: HeadLoss | SumOfLosses,
        optimizer: Optimizer,
        schedule: Callable,
        state: TrainingState,
        strategy: tf.distribute.Strategy,
        global_batch_size: int,
        *,
        jit_compile: bool,
        gradient_accumulation_steps: int = 1,
        loss_scaling: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        batch_sizes: BatchSizes | None = None,
    ):
        self._forward = forward
        self._loss = loss
        self._optimizer = optimizer
        self._schedule = schedule
        self._state = state
        self._strategy = strategy
        self._replicas = strategy.num_replicas_in_sync
        self._global_batch_size = global_batch_size
        self._batch_sizes = batch_sizes or BatchSizes((global_batch_size,))
        self._is_on_tpu = isinstance(strategy, tf.distribute.TPUStrategy)
        self._jit_compile = jit_compile
        self._micro_batches = gradient_accumulation_steps
        self._loss_scaling = loss_scaling
        self._deterministic = deterministic
        self._seed = seed
        self._compute_gradients = self._make_gradient_function()
        self._apply_gradients = graph_function(self._update, jit_compile)
        # AutoGraph would rewrite the source of every layer; only the loop over steps needs it.
        self._run_steps = tf.function(self._steps)
        # Sums over the steps of one inner loop; read and reset between loops. It is one variable
        # made before the function is traced, as a function that makes variables is traced and
        # optimized a second time.
        self._totals = tf.Variable(tf.zeros([_MAX_TOTALS]), trainable=False)
        self._names: tuple[str, ...] = ()
        self._seconds_waiting = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self._failed_step = tf.Variable(-1, dtype=tf.int64, trainable=False)

    def run(self, iterator, steps: int) -> dict[str, float]:
        """Runs one inner loop.

        Args:
          iterator: of a distributed dataset, at the state's position in the stream.

        Returns:
          metrics of the loop's examples; "learning_rate" of its last step; "gradient_norm", the
          mean over its updates; "examples_per_second", "steps_per_second"; "input_wait_share" of
          the time, unless `deterministic`.

        Raises:
          UserError: the loss or the gradient was not finite at one of the steps.
        """
        self._totals.assign(tf.zeros([_MAX_TOTALS]))
        self._seconds_waiting.assign(0.0)
        start = time.perf_counter()
        self._run_steps(iterator, tf.constant(steps))
        # Steps run asynchronously; reading a variable waits for them. Only here do Python and the
        # device meet, once for each inner loop.
        failed_step = int(self._failed_step.numpy())
        totals = dict(zip(self._names, self._totals.numpy().tolist(), strict=False))
        seconds = max(time.perf_counter() - start, 1e-9)
        if failed_step >= 0:
            raise UserError(
                f"the loss or its gradient was not finite at step {failed_step}: training stopped, "
                "earlier checkpoints are kept; a lower --learning_rate or a longer warm-up usually "
                "helps"
            )
        metrics = self._loss.metrics(totals)
        metrics["learning_rate"] = float(self._schedule(self._state.step - 1).numpy())
        metrics["gradient_norm"] = totals["gradient_norm"] / max(totals["updates"], 1.0)
        metrics["examples_per_second"] = steps * self._global_batch_size / seconds
        metrics["steps_per_second"] = steps / seconds
        if not self._deterministic:
            metrics["input_wait_share"] = float(self._seconds_waiting.numpy()) / seconds
        return metrics

    def _make_gradient_function(self) -> Callable:
        """Returns the function that computes a replica's gradients and sums."""
        is_in_parts = self._replicas * self._micro_batches > 1
        # On one replica without micro-batches every loss sees the whole batch anyway.
        if isinstance(self._loss, InBatchLoss) and is_in_parts:
            from bert_tf.training.joint_gradients import JointGradients

            return JointGradients(
                self._forward,
                self._loss,
                self._optimizer.variables,
                replicas=self._replicas,
                parts=self._micro_batches,
                jit_compile=self._jit_compile,
            )
        if self._micro_batches > 1:
            return graph_function(self._accumulate_gradients, self._jit_compile)
        return graph_function(self._forward_backward, self._jit_compile)

    def _steps(self, iterator, steps: tf.Tensor) -> None:
        # AutoGraph makes a loop of the graph of it, so Python is not asked between two steps.
        for _ in tf.range(steps):
            self._step(iterator)

    @tf.autograph.experimental.do_not_convert
    def _step(self, iterator) -> None:
        """Makes one update with the whole global batch (section A.2 of the paper).

        It runs in the cross-replica context.
        """
        state = self._state

        def replica_step(features: dict, step: tf.Tensor, scale: tf.Tensor) -> dict:
            # Position in the global batch of this replica's first row.
            replica_id = tf.distribute.get_replica_context().replica_id_in_sync_group
            rows = self._batch_sizes.largest // self._replicas
            first_example = tf.cast(replica_id * rows, tf.int64)
            # The denominators of the loss over the global batch, known before the model has run.
            counts = sum_over_replicas(self._loss.counts(features))
            # Dropout key and rate are inputs of the function that XLA compiles, so that runs with
            # another seed or rate find the same program in the cache.
            dropout_key = stream_key(self._seed, step)
            learning_rate = self._schedule(step)
            # 1. Forward and backward: this replica's part of the gradient of the global loss.
            gradients, sums = self._compute_gradients(
                features, counts, dropout_key, first_example, scale
            )
            # 2. Sum over the replicas.
            gradients, sums = sum_over_replicas((gradients, sums))
            # 3. Clip by the global norm, and update the weights.
            norm = self._apply_gradients(gradients, learning_rate, step)
            loss = self._loss.total(sums, counts)
            return {**sums, "gradient_norm": norm, "loss_of_step": loss}

        # Arguments of the replicas: a TPU can't read variables of the host in its program.
        step = tf.identity(state.step)
        scale = tf.constant(1.0)
        if self._loss_scaling:
            scale = tf.identity(state.loss_scale)
        features, waited = self._next_batch(iterator)
        # On a single core the time would otherwise be taken last, after all the work of the step. A
        # TPU's program would get the time as an input.
        with tf.control_dependencies([] if self._is_on_tpu else [waited]):
            results = strategy_results(self._strategy, replica_step, features, step, scale)
        # 4. Count.
        self._count(results)

    def _forward_backward(
        self,
        features: dict,
        counts: dict,
        dropout_key: tf.Tensor,
        first_example: tf.Tensor,
        scale: tf.Tensor,
    ) -> tuple[list, dict]:
        """Returns the gradients of a micro-batch's part of the global loss, and its sums."""
        variables = self._optimizer.variables
        dropout = stream_of_key(dropout_key, first_example)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            sums = self._loss.sums(self._forward(features, dropout), features)
            loss = self._loss.total(sums, counts) * scale
        gradients = tape.gradient(
            loss, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        # The scale only keeps small float16 gradients from vanishing on the way.
        if self._loss_scaling:
            gradients = [gradient / scale for gradient in gradients]
        return gradients, dict(sums)

    def _accumulate_gradients(
        self,
        features: dict,
        counts: dict,
        dropout_key: tf.Tensor,
        first_example: tf.Tensor,
        scale: tf.Tensor,
    ) -> tuple[list, dict]:
        """Returns the same as `_forward_backward`, computed micro-batch by micro-batch."""
        stacked, rows = stack_parts(features, self._micro_batches)

        def part_gradients(part) -> tuple[list, dict]:
            return self._forward_backward(
                take_part(stacked, part),
                counts,
                dropout_key,
                first_example + tf.cast(part, tf.int64) * rows,
                scale,
            )

        return sum_of_parts(part_gradients, self._micro_batches)

    def _update(self, gradients: list, learning_rate: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        return self._optimizer.update(
            gradients, learning_rate, step, skip_non_finite=self._loss_scaling
        )

    def _next_batch(self, iterator) -> tuple[dict, tf.Tensor]:
        """Returns the next batch, and an operation that ends when its waiting time is noted."""
        if self._deterministic:
            return next(iterator), tf.no_op()
        start = tf.timestamp()
        with tf.control_dependencies([start]):
            features = next(iterator)
        local_values = tf.nest.flatten(self._strategy.experimental_local_results(features))
        with tf.control_dependencies(local_values):
            return features, self._seconds_waiting.assign_add(tf.timestamp() - start)

    def _count(self, results: dict) -> None:
        """Accumulates a step's metrics, updates the loss scale and advances the step counter."""
        state = self._state
        loss = results.pop("loss_of_step")
        is_update = tf.math.is_finite(results["gradient_norm"])
        self._note_failure(loss, is_update)
        # The norm of a skipped step means nothing.
        norm = tf.where(is_update, results["gradient_norm"], 0.0)
        results = {**results, "gradient_norm": norm, "updates": tf.cast(is_update, tf.float32)}
        self._names = tuple(results)
        unused = _MAX_TOTALS - len(results)
        self._totals.assign_add(tf.pad(tf.stack(list(results.values())), [[0, unused]]))
        if self._loss_scaling:
            self._adapt_loss_scale(is_update)
        state.step.assign_add(1)
        # The position in the stream is part of every checkpoint; a resumed run reads on from there.
        state.examples.assign(self._batch_sizes.after(state.examples))

    def _note_failure(self, loss: tf.Tensor, is_update: tf.Tensor) -> None:
        """Keeps the number of the first step whose loss or gradient is not finite."""
        can_skip = False
        if self._loss_scaling:
            # A step that overflows is skipped and the scale halved. A scale of 1 can't be halved:
            # no later step would learn anything.
            can_skip = self._state.loss_scale > 1.0
        is_valid = tf.logical_and(tf.math.is_finite(loss), tf.logical_or(is_update, can_skip))
        is_first = tf.logical_and(tf.logical_not(is_valid), self._failed_step < 0)
        self._failed_step.assign(tf.where(is_first, self._state.step + 1, self._failed_step))

    def _adapt_loss_scale(self, is_update: tf.Tensor) -> None:
        state = self._state
        steps = state.steps_since_overflow + 1
        doubles = tf.logical_and(is_update, steps >= _STEPS_BEFORE_DOUBLING)
        factor = tf.where(is_update, tf.where(doubles, 2.0, 1.0), 0.5)
        state.loss_scale.assign(tf.maximum(state.loss_scale * factor, 1.0))
        continues = tf.logical_and(is_update, tf.logical_not(doubles))
        state.steps_since_overflow.assign(tf.where(continues, steps, 0))


def strategy_results(strategy: tf.distribute.Strategy, function: Callable, *arguments) -> dict:
    """Runs a function on all replicas and returns the results of the first one.

    They must be the same on all replicas, as after a reduction. Each replica gets its part of a
    distributed argument, and any other whole.
    """
    results = strategy.run(function, args=arguments)
    first_results = {}
    for name, value in results.items():
        first_results[name] = strategy.experimental_local_results(value)[0]
    return first_results

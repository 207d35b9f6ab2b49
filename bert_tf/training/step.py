"""The training step, for any task, on tf.distribute, and AdamW of the original.

Input: batches of `bert_tf/training/inputs.py` or `bert_tf/training/examples.py`. Output: updated
weights, and sums over the global batch that losses and metrics are made of.
`bert_tf/training/loop.py` runs the steps.

The loss is a ratio of sums over the whole global batch, so the result does not depend on how the
batch is spread over devices or micro-batches. AdamW is that of section A.2 of the paper and of
`optimization.py` of the original code; the learning rates are in `modeling/optimizer.py`.
"""

import dataclasses
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import tensorflow as tf

from bert_common.errors import UserError
from bert_tf.training.batches import BatchSizes, stack_parts, sum_of_parts, sum_over_replicas
from modeling.dropout import stream_key, stream_of_key
from modeling.losses import SMALLEST_COUNT, HeadLoss
from modeling.xla import jit_compile_scope

if TYPE_CHECKING:
    from modeling.task_model import BertTaskModel

NOT_DECAYED = ("LayerNorm", "layer_norm", "bias")
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-6
_LAYER = re.compile(r"^(?:bert|lora)/encoder/layer_(\d+)/")


@dataclasses.dataclass(frozen=True)
class Objective:
    """What is minimised and what is measured on the way.

    The loss is the sum over `losses` of <name>_loss_sum / <name>_count.

    Attributes:
      losses: names of its parts, e.g. ("masked_lm", "next_sentence").
      counts: features → <name>_count → float32 [], for every part of the loss: what the sums are
        divided by.
      sums: (features, dropout stream or None) → float32 scalars <name>_loss_sum, <name>_count and
        whatever else the metrics need. Sums over examples: the sum of the batches' is that of the
        whole.
      metrics: sums, floats → metrics by name, among them "loss".
      outputs: (features, dropout stream or None) → float32 [b, ...], where the loss compares the
        examples of the batch with each other, so that sums of parts do not add up; None for all
        other losses.
      sums_of_outputs: (outputs, `compared_features`) → what `sums` returns, of a batch of any
        number of parts.
      compared_features: names of the features that these sums need.
    """

    losses: tuple[str, ...]
    counts: Callable[[dict], dict]
    sums: Callable[[dict, object], dict]
    metrics: Callable[[Mapping[str, float]], dict[str, float]]
    outputs: Callable[[dict, object], object] | None = None
    sums_of_outputs: Callable[[object, dict], dict] | None = None
    compared_features: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: "BertTaskModel",
        loss: HeadLoss | None = None,
        compared_features: tuple[str, ...] = (),
        **kwargs,
    ) -> "Objective":
        """The objective of a model with one head; `loss` is another declaration than that of the
        model, and compares the examples of a batch with each other where there are
        `compared_features`."""
        loss = loss or model.head_losses[0]
        found = cls(
            (loss.name,),
            loss.counts,
            lambda features, dropout: loss.sums(
                model(features, dropout=dropout, **kwargs), features
            ),
            loss.metrics,
        )
        return (
            found
            if not compared_features
            else dataclasses.replace(
                found,
                sums_of_outputs=loss.sums,
                compared_features=compared_features,
                outputs=lambda features, dropout: model(features, dropout=dropout, **kwargs),
            )
        )


@dataclasses.dataclass(frozen=True)
class StepOptions:
    """How a step is computed.

    Attributes:
      gradient_accumulation_steps: micro-batches a step is cut into.
      loss_scaling: multiply the loss by a dynamic factor, for float16.
      deterministic: TensorFlow lets nothing be measured inside of a step then.
      batch_sizes: of batches whose numbers of records differ; None where a step has as many records
        as examples.
    """

    jit_compile: bool
    gradient_accumulation_steps: int = 1
    loss_scaling: bool = False
    deterministic: bool = False
    seed: int = 0
    batch_sizes: BatchSizes | None = None


class TrainingState:
    """What a checkpoint holds beside weights and optimizer slots.

    Attributes:
      step: int64, updates made.
      examples: int64, examples seen: the position in the stream of training examples (of packed
        ones, records seen).
      loss_scale, steps_since_overflow: of float16 training.
    """

    def __init__(self):
        self.step, self.examples, self.steps_since_overflow = (
            tf.Variable(
                0,
                dtype=tf.int64,
                trainable=False,
                name=name,
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            )
            for name in ("step", "examples", "steps_since_overflow")
        )
        self.loss_scale = tf.Variable(
            2.0**15, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
        )

    @property
    def step_number(self) -> int:
        """Updates made, as a Python number."""
        return int(self.step.numpy())


class AdamWeightDecay:
    """Adam with decoupled weight decay, in the original's form.

      m = beta_1 m + (1 - beta_1) g            g: gradient after clipping by the global norm
      v = beta_2 v + (1 - beta_2) g^2
      w = w - rate (m / (sqrt(v) + epsilon) + decay w)

    With `bias_correction`, m / (1 - beta_1^t) and v / (1 - beta_2^t) take the places of m and v, as
    in Adam's paper.

    Args:
      variables: original variable name (`bert/pooler/dense/kernel`) → variable. Slots are created
        in the current distribution scope.
      weight_decay_rate: decay of the variables in whose name none of `NOT_DECAYED` stands.
      clip_norm: largest global norm of the gradients; None for no clipping.
      rate_factors: for each variable what its learning rate is multiplied by; None for 1
        everywhere.
    """

    def __init__(
        self,
        variables: Mapping[str, tf.Variable],
        *,
        weight_decay_rate: float = 0.01,
        bias_correction: bool = False,
        clip_norm: float | None = 1.0,
        rate_factors: Sequence[float] | None = None,
    ):
        self.names, self.variables = list(variables), list(variables.values())
        self.weight_decay_rate, self.bias_correction, self.clip_norm = (
            weight_decay_rate,
            bias_correction,
            clip_norm,
        )
        self.rate_factors = [1.0] * len(self.names) if rate_factors is None else list(rate_factors)
        self.decayed = [not any(part in name for part in NOT_DECAYED) for name in self.names]
        self.m, self.v = (
            [
                tf.Variable(tf.zeros(one.shape, one.dtype), trainable=False, name="slot")
                for one in self.variables
            ]
            for _ in ("m", "v")
        )

    def slots(self) -> dict[str, dict[str, tf.Variable]]:
        """Slot name ("m", "v") → original variable name → slot variable, for checkpoints."""
        return {
            "m": dict(zip(self.names, self.m, strict=True)),
            "v": dict(zip(self.names, self.v, strict=True)),
        }

    def update(
        self,
        gradients: Sequence[tf.Tensor],
        learning_rate: tf.Tensor,
        step: tf.Tensor,
        skip_non_finite: bool = False,
    ) -> tf.Tensor:
        """Applies one update in the replica context; returns the global norm of the gradients
        before clipping, float32 [].

        Args:
          gradients: dense, one for each variable, already summed over the replicas.
          learning_rate: float32 [].
          step: int64 [], updates before this one.
          skip_non_finite: leave everything as it is when the norm is not finite (float16 loss
            scaling needs that).
        """
        norm = tf.linalg.global_norm(gradients)
        scale = (
            tf.constant(1.0)
            if self.clip_norm is None
            else self.clip_norm / tf.maximum(norm, self.clip_norm)
        )
        m_scale, v_scale = tf.constant(1.0), tf.constant(1.0)
        if self.bias_correction:
            t = tf.cast(step + 1, tf.float32)
            m_scale, v_scale = 1.0 / (1.0 - _BETA_1**t), 1.0 / (1.0 - _BETA_2**t)
        finite = tf.math.is_finite(norm)
        for variable, m, v, gradient, decayed, factor in zip(
            self.variables, self.m, self.v, gradients, self.decayed, self.rate_factors, strict=True
        ):
            rate = learning_rate if factor == 1.0 else learning_rate * factor
            changed = _changed(
                tuple(map(tf.convert_to_tensor, (variable, m, v, gradient))),
                (scale, m_scale, v_scale, rate, finite),
                self.weight_decay_rate if decayed else 0.0,
                skip_non_finite,
            )
            for one, value in zip((variable, m, v), changed, strict=True):
                one.assign(value)
        return norm


def layerwise_factors(names: Sequence[str], decay: float) -> list[float]:
    """Factors of learning rates that fall from layer to layer: of heads and pooler 1, of the last
    layer `decay`, of the one below it its square and so on, of the embeddings the smallest (Clark
    et al. 2020, ELECTRA, appendix B).
    """
    layers = [int(match[1]) if (match := _LAYER.search(name)) else None for name in names]
    count = 1 + max((layer for layer in layers if layer is not None), default=-1)
    return [
        decay ** (count - layer)
        if layer is not None
        else decay ** (count + 1)
        if name.startswith("bert/embeddings/")
        else 1.0
        for name, layer in zip(names, layers, strict=True)
    ]


# One pass over a weight and its slots instead of a dozen, whether or not the rest of the step is
# compiled; compiled once for each shape, where one function of all weights would take many seconds,
# and for all runs of a process.
@tf.function(jit_compile=True, autograph=False)
def _changed(values: tuple, rates: tuple, decay: float, skip_non_finite: bool) -> tuple:
    """A weight and its slots after an update; all but `values` and `rates` are constants of the
    graph."""
    variable, m, v, gradient = values
    scale, m_scale, v_scale, rate, finite = rates
    gradient = gradient * scale
    new_m = _BETA_1 * m + (1.0 - _BETA_1) * gradient
    new_v = _BETA_2 * v + (1.0 - _BETA_2) * tf.square(gradient)
    change = new_m * m_scale / (tf.sqrt(new_v * v_scale) + _EPSILON)
    if decay:
        change += decay * variable
    new_value = variable - rate * change
    if skip_non_finite:
        new_m, new_v = tf.where(finite, new_m, m), tf.where(finite, new_v, v)
        new_value = tf.where(finite, new_value, variable)
    return new_value, new_m, new_v


# Dynamic loss scaling of "Mixed precision training" (arXiv 1710.03740): halve on overflow, double
# after a while.
_STEPS_BEFORE_DOUBLING = 2000
# Sums of a step at most; a task has 4 to 8, the step adds 2.
_MOST_TOTALS = 32


class TrainingStep:
    """Runs inner loops of training steps inside one tf.function.

    Args:
      optimizer: holds the variables that are trained.
      schedule: step, int64 [] → learning rate, float32 [].
      global_batch_size: examples of a step on all replicas.
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: AdamWeightDecay,
        schedule: Callable,
        state: TrainingState,
        strategy: tf.distribute.Strategy,
        global_batch_size: int,
        options: StepOptions,
    ):
        self._objective, self._optimizer, self._schedule, self._state = (
            objective,
            optimizer,
            schedule,
            state,
        )
        self._strategy, self._replicas, self._options = (
            strategy,
            strategy.num_replicas_in_sync,
            options,
        )
        self._global_batch_size = global_batch_size
        self._batch_sizes = options.batch_sizes or BatchSizes((global_batch_size,))
        # AutoGraph would rewrite the source of every layer; only the loop over steps needs it.
        compiled = {"autograph": False, "jit_compile": options.jit_compile or None}
        parts = options.gradient_accumulation_steps
        self._compute_gradients = tf.function(
            self._accumulated if parts > 1 else self._forward_backward, **compiled
        )
        if objective.outputs is not None and self._replicas * parts > 1:
            from bert_tf.training.joint_gradients import JointGradients

            self._compute_gradients = JointGradients(
                objective, self._loss, optimizer.variables, self._replicas, parts, compiled
            )
        self._apply_gradients = tf.function(
            lambda gradients, rate, step: optimizer.update(
                gradients, rate, step, skip_non_finite=options.loss_scaling
            ),
            **compiled,
        )
        self._run_steps = tf.function(self._steps)
        # What the steps of one inner loop add up to; read and reset between loops. One variable
        # that exists before the function is traced: a function that creates variables is traced,
        # and optimised, a second time.
        self._totals = tf.Variable(tf.zeros([_MOST_TOTALS]), trainable=False)
        self._names: tuple[str, ...] = ()
        self._seconds_waiting = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self._failed_step = tf.Variable(-1, dtype=tf.int64, trainable=False)

    def run(self, iterator, steps: int) -> dict[str, float]:
        """One inner loop.

        Args:
          iterator: of a distributed dataset, at the state's place in the stream.

        Returns:
          metrics of the loop's examples; "learning_rate" of its last step; "gradient_norm", the
          mean over its updates; "examples_per_second", "steps_per_second"; "input_wait_share", of
          the time, unless `deterministic`.

        Raises:
          UserError: the loss or the gradient was not finite at one of the steps.
        """
        self._totals.assign(tf.zeros([_MOST_TOTALS]))
        self._seconds_waiting.assign(0.0)
        started = time.perf_counter()
        self._run_steps(iterator, tf.constant(steps))
        # Reading a variable waits for the steps.
        failed_step = int(self._failed_step.numpy())
        totals = dict(zip(self._names, self._totals.numpy().tolist(), strict=False))
        seconds = max(time.perf_counter() - started, 1e-9)
        if failed_step >= 0:
            raise UserError(
                f"the loss or its gradient was not finite at step {failed_step}: training stopped, what was saved before is "
                "kept; a lower --learning_rate or a longer warm-up usually helps"
            )
        return {
            **self._objective.metrics(totals),
            "learning_rate": float(self._schedule(self._state.step - 1).numpy()),
            "gradient_norm": totals["gradient_norm"] / max(totals["updates"], 1.0),
            "examples_per_second": steps * self._global_batch_size / seconds,
            "steps_per_second": steps / seconds,
            **(
                {}
                if self._options.deterministic
                else {"input_wait_share": float(self._seconds_waiting.numpy()) / seconds}
            ),
        }

    def _steps(self, iterator, steps: tf.Tensor) -> None:
        for _ in tf.range(steps):
            self._step(iterator)

    @tf.autograph.experimental.do_not_convert
    def _step(self, iterator) -> None:
        """One update by the whole global batch (section A.2 of the paper), in the cross-replica
        context."""
        objective, state, strategy = self._objective, self._state, self._strategy

        def replica_step(features: dict) -> dict:
            # The place in the global batch of this replica's first row.
            first_example = tf.cast(
                tf.distribute.get_replica_context().replica_id_in_sync_group
                * (self._batch_sizes.largest // self._replicas),
                tf.int64,
            )
            # The loss is a ratio of sums over the global batch. What it is divided by is known
            # before the model has run.
            counts = sum_over_replicas(objective.counts(features))
            step = tf.identity(state.step)
            scale = (
                tf.identity(state.loss_scale) if self._options.loss_scaling else tf.constant(1.0)
            )
            # Seed and rate are inputs of what XLA compiles, so that runs with others find the same
            # program.
            dropout_key, rate = stream_key(self._options.seed, step), self._schedule(step)
            # 1. Forward and backward: this replica's part of the gradient of the global loss.
            gradients, sums = self._compute_gradients(
                features, counts, dropout_key, first_example, scale
            )
            # 2. Sum over the replicas.
            gradients, sums = sum_over_replicas((gradients, sums))
            # 3. Clip by the global norm, and update with AdamW.
            norm = self._apply_gradients(gradients, rate, step)
            return {**sums, "gradient_norm": norm, "loss_of_step": self._loss(sums, counts)}

        features, waited = self._next_batch(iterator)
        # On a single core the time would otherwise be taken last, after all the work of the step.
        with tf.control_dependencies([waited]):
            results = strategy.run(replica_step, args=(features,))
        # After the reduction all replicas hold the same numbers.
        results = {
            name: strategy.experimental_local_results(value)[0] for name, value in results.items()
        }
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
        """The gradients of a micro-batch's part of the global loss, and its sums."""
        dropout = stream_of_key(dropout_key, first_example)
        with (
            jit_compile_scope(self._options.jit_compile),
            tf.GradientTape(watch_accessed_variables=False) as tape,
        ):
            tape.watch(self._optimizer.variables)
            sums = self._objective.sums(features, dropout)
            loss = self._loss(sums, counts) * scale
        gradients = tape.gradient(
            loss, self._optimizer.variables, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        # The gradient of a table that is looked up comes as rows; the norm of the clipping is that
        # of their sum.
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self._options.loss_scaling:
            gradients = [gradient / scale for gradient in gradients]
        return gradients, dict(sums)

    def _loss(self, sums: dict, counts: dict) -> tf.Tensor:
        # Where there is nothing to divide a small number takes the place of the count; the original
        # adds 1e-5 to each.
        return tf.add_n(
            [
                sums[f"{name}_loss_sum"] / tf.maximum(counts[f"{name}_count"], SMALLEST_COUNT)
                for name in self._objective.losses
            ]
        )

    def _next_batch(self, iterator) -> tuple[dict, tf.Tensor]:
        """The next batch, and an operation that is done when the time of waiting for it is
        noted."""
        if self._options.deterministic:
            return next(iterator), tf.no_op()
        began = tf.timestamp()
        with tf.control_dependencies([began]):
            features = next(iterator)
        with tf.control_dependencies(
            tf.nest.flatten(self._strategy.experimental_local_results(features))
        ):
            return features, self._seconds_waiting.assign_add(tf.timestamp() - began)

    def _accumulated(
        self,
        features: dict,
        counts: dict,
        dropout_key: tf.Tensor,
        first_example: tf.Tensor,
        scale: tf.Tensor,
    ) -> tuple[list, dict]:
        """As `_forward_backward`, micro-batch by micro-batch."""
        parts = self._options.gradient_accumulation_steps
        stacked, rows = stack_parts(features, parts)
        return sum_of_parts(
            lambda part: self._forward_backward(
                {name: value[part] for name, value in stacked.items()},
                counts,
                dropout_key,
                first_example + tf.cast(part, tf.int64) * rows,
                scale,
            ),
            parts,
        )

    def _count(self, results: dict) -> None:
        """Adds what a step gives to the sums of the inner loop, and moves the state on."""
        state, loss = self._state, results.pop("loss_of_step")
        is_update = tf.math.is_finite(results["gradient_norm"])
        # The first step whose loss or gradient is not finite has failed. With loss scaling one that
        # overflows is skipped, but a scale of 1 can't be halved: nothing would ever be learnt
        # again.
        can_skip = state.loss_scale > 1.0 if self._options.loss_scaling else False
        failed = tf.logical_not(
            tf.logical_and(tf.math.is_finite(loss), tf.logical_or(is_update, can_skip))
        )
        is_first = tf.logical_and(failed, self._failed_step < 0)
        self._failed_step.assign(tf.where(is_first, state.step + 1, self._failed_step))
        # The norm of a step that is skipped means nothing.
        results = {
            **results,
            "gradient_norm": tf.where(is_update, results["gradient_norm"], 0.0),
            "updates": tf.cast(is_update, tf.float32),
        }
        self._names = tuple(results)
        self._totals.assign_add(
            tf.pad(tf.stack(list(results.values())), [[0, _MOST_TOTALS - len(results)]])
        )
        if self._options.loss_scaling:
            grown = tf.logical_and(
                is_update, state.steps_since_overflow + 1 >= _STEPS_BEFORE_DOUBLING
            )
            factor = tf.where(is_update, tf.where(grown, 2.0, 1.0), 0.5)
            state.loss_scale.assign(tf.maximum(state.loss_scale * factor, 1.0))
            state.steps_since_overflow.assign(
                tf.where(
                    tf.logical_and(is_update, tf.logical_not(grown)),
                    state.steps_since_overflow + 1,
                    0,
                )
            )
        state.step.assign_add(1)
        state.examples.assign(self._batch_sizes.after(state.examples))

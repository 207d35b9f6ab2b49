"""The training step and the evaluation pass, for any task, on orbit and tf.distribute.

Each replica computes gradients of its share of the global loss; they are summed over the replicas, clipped by their
global norm, and applied by every replica to its own copy of the weights. The loss is a ratio of sums over the whole
global batch, so the result does not depend on how the batch is spread over devices or micro-batches.

Comes after `training/inputs.py`; `training/session.py` wires it to a run directory.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping

import orbit
import tensorflow as tf

from common.errors import UserError
from modeling.dropout import dropout_stream
from training.optimization import AdamWeightDecay


@dataclasses.dataclass(frozen=True)
class Task:
  """What the loop has to know about a task.

  The loss is the sum over `losses` of <name>_loss_sum / <name>_count.

  Attributes:
    losses: names of its parts, e.g. ("masked_lm", "next_sentence").
    counts: features → dict <name>_count → float32 [], for every part of the loss: what the sums are divided by.
    sums: (features, dropout stream or None) → dict of float32 scalars that contains <name>_loss_sum, <name>_count
      and whatever else the metrics need. Sums over examples: the sum of the batches' is that of the whole.
    metrics: summed dict of floats → dict of metric name → float; contains "loss".
  """

  losses: tuple[str, ...]
  counts: Callable[[dict], dict]
  sums: Callable[[dict, object], dict]
  metrics: Callable[[Mapping[str, float]], dict[str, float]]


@dataclasses.dataclass(frozen=True)
class StepOptions:
  """How a step is computed.

  Attributes:
    jit_compile: compile the replica's computation with XLA.
    gradient_accumulation_steps: micro-batches a step is cut into.
    loss_scaling: multiply the loss by a dynamic factor, for float16.
    seed: of the dropout masks.
  """

  jit_compile: bool
  gradient_accumulation_steps: int = 1
  loss_scaling: bool = False
  seed: int = 0


class TrainingState:
  """What a checkpoint holds beside weights and optimizer slots.

  Attributes:
    step: int64, updates made.
    examples: int64, examples seen: the position in the stream of training examples.
    loss_scale, steps_since_overflow: of float16 training.
  """

  def __init__(self):
    def counter(name: str) -> tf.Variable:
      return tf.Variable(0, dtype=tf.int64, trainable=False, name=name,
                         aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    self.step = counter("step")
    self.examples = counter("examples")
    self.loss_scale = tf.Variable(2.0**15, trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    self.steps_since_overflow = counter("steps_since_overflow")


# Dynamic loss scaling of "Mixed precision training" (arXiv 1710.03740): halve on overflow, double after a while.
_STEPS_BEFORE_DOUBLING = 2000


class Trainer(orbit.StandardTrainer):
  """Runs inner loops of training steps inside one tf.function.

  Args:
    task: the task.
    optimizer: holds the variables that are trained.
    schedule: step, int64 [] → learning rate, float32 [].
    state: counters; advanced by every step.
    make_dataset: () → distributed dataset that starts at `state.examples`; called at the first loop.
    strategy: where the steps run.
    global_batch_size: examples of a step on all replicas.
    options: how a step is computed.
  """

  def __init__(self, task: Task, optimizer: AdamWeightDecay, schedule: Callable, state: TrainingState,
               make_dataset: Callable, strategy: tf.distribute.Strategy, global_batch_size: int,
               options: StepOptions):
    super().__init__(train_dataset=None, options=orbit.StandardTrainerOptions(use_tf_while_loop=True))
    self._task = task
    self._optimizer = optimizer
    self._schedule = schedule
    self._state = state
    self._make_dataset = make_dataset
    self._strategy = strategy
    self._replicas = strategy.num_replicas_in_sync
    self._global_batch_size = global_batch_size
    self._options = options
    compiled = {"jit_compile": True} if options.jit_compile else {}
    self._compute_gradients = tf.function(self._gradients, **compiled)
    self._apply_gradients = tf.function(self._update, **compiled)
    # What the steps of one inner loop add up to; read and reset between loops.
    self._totals: dict[str, tf.Variable] = {}
    self._seconds_waiting = tf.Variable(0.0, dtype=tf.float64, trainable=False)
    self._failed_step = tf.Variable(-1, dtype=tf.int64, trainable=False)
    self.seconds_of_loop = 0.0

  def train_loop_begin(self) -> None:
    if self.train_dataset is None:
      self.train_dataset = self._make_dataset()
    for total in (*self._totals.values(), self._seconds_waiting):
      total.assign(0.0)
    self._first_step = int(self._state.step.numpy())
    self._started = time.perf_counter()

  def train_step(self, iterator) -> None:
    """One step, in the cross-replica context."""
    began = tf.timestamp()
    with tf.control_dependencies([began]):
      features = next(iterator)
    with tf.control_dependencies(tf.nest.flatten(self._strategy.experimental_local_results(features))):
      waited = self._seconds_waiting.assign_add(tf.timestamp() - began)
    # On a single core the second timestamp would otherwise be taken last, after all the work of the step.
    with tf.control_dependencies([waited]):
      results = self._strategy.run(self._replica_step, args=(features,))
    # After the reduction all replicas hold the same numbers.
    results = {name: self._strategy.experimental_local_results(value)[0] for name, value in results.items()}
    loss, norm = results.pop("loss_of_step"), results["gradient_norm"]
    is_update = tf.math.is_finite(norm)
    # With loss scaling a step that overflows is skipped, and its norm says nothing.
    results |= {"gradient_norm": tf.where(is_update, norm, 0.0), "updates": tf.cast(is_update, tf.float32)}
    if not self._totals:
      with tf.init_scope():
        self._totals = {name: tf.Variable(0.0, trainable=False, name=name) for name in results}
    for name, value in results.items():
      self._totals[name].assign_add(value)
    # A scale of 1 can't be halved: nothing would ever be learnt again.
    can_skip = self._state.loss_scale > 1.0 if self._options.loss_scaling else False
    failed = tf.logical_not(tf.logical_and(tf.math.is_finite(loss), tf.logical_or(is_update, can_skip)))
    is_first = tf.logical_and(failed, self._failed_step < 0)
    self._failed_step.assign(tf.where(is_first, self._state.step + 1, self._failed_step))
    if self._options.loss_scaling:
      self._adapt_loss_scale(is_update)
    self._state.step.assign_add(1)
    self._state.examples.assign_add(self._global_batch_size)

  def train_loop_end(self) -> dict[str, float]:
    """Metrics of the loop's examples, learning rate of its last step, mean gradient norm of its updates, speed.

    Raises:
      UserError: the loss or the gradient was not finite at one of the steps.
    """
    steps = int(self._state.step.numpy()) - self._first_step
    self.seconds_of_loop = max(time.perf_counter() - self._started, 1e-9)
    failed_step = int(self._failed_step.numpy())
    if failed_step >= 0:
      raise UserError(
          f"the loss or its gradient was not finite at step {failed_step}: training stopped, what was saved before is "
          "kept; a lower --learning_rate or a longer warm-up usually helps")
    totals = {name: float(total.numpy()) for name, total in self._totals.items()}
    last_step = self._state.step - 1
    return {
        **self._task.metrics(totals),
        "learning_rate": float(self._schedule(last_step).numpy()),
        "gradient_norm": totals["gradient_norm"] / max(totals["updates"], 1.0),
        "examples_per_second": steps * self._global_batch_size / self.seconds_of_loop,
        "input_wait_share": float(self._seconds_waiting.numpy()) / self.seconds_of_loop,
    }

  def _replica_step(self, features: dict) -> dict:
    """One step on one replica: gradients, sum over the replicas, update. Returns sums over the global batch."""
    replica = tf.distribute.get_replica_context()
    rows = self._global_batch_size // self._replicas
    first_example = tf.cast(replica.replica_id_in_sync_group * rows, tf.int64)
    counts = self._sum_over_replicas(replica, self._task.counts(features))
    step = tf.identity(self._state.step)
    scale = tf.identity(self._state.loss_scale) if self._options.loss_scaling else tf.constant(1.0)
    gradients, sums = self._compute_gradients(features, counts, step, first_example, scale)
    gradients, sums = self._sum_over_replicas(replica, (gradients, sums))
    norm = self._apply_gradients(gradients, step)
    loss = tf.add_n([sums[f"{name}_loss_sum"] / _denominator(counts[f"{name}_count"]) for name in self._task.losses])
    return {**sums, "gradient_norm": norm, "loss_of_step": loss}

  def _sum_over_replicas(self, replica, values):
    if self._replicas == 1:
      return values
    flat = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.nest.flatten(values))
    return tf.nest.pack_sequence_as(values, flat)

  def _gradients(self, features: dict, counts: dict, step: tf.Tensor, first_example: tf.Tensor,
                 scale: tf.Tensor) -> tuple[list, dict]:
    """This replica's part of the gradient of the global loss, and its sums, over all micro-batches."""
    parts = self._options.gradient_accumulation_steps
    if parts == 1:
      return self._micro_batch_gradients(features, counts, step, first_example, scale)
    rows = next(iter(features.values())).shape[0] // parts
    stacked = {name: tf.reshape(value, tf.concat([[parts, rows], tf.shape(value)[1:]], axis=0))
               for name, value in features.items()}

    def add_part(part, totals):
      micro_batch = {name: value[part] for name, value in stacked.items()}
      first = first_example + tf.cast(part, tf.int64) * rows
      results = self._micro_batch_gradients(micro_batch, counts, step, first, scale)
      return part + 1, tf.nest.map_structure(tf.add, totals, results)

    first_part = self._micro_batch_gradients(
        {name: value[0] for name, value in stacked.items()}, counts, step, first_example, scale)
    _, totals = tf.while_loop(lambda part, _: part < parts, add_part, (tf.constant(1), first_part),
                              parallel_iterations=1)
    return totals

  def _micro_batch_gradients(self, features: dict, counts: dict, step: tf.Tensor, first_example: tf.Tensor,
                             scale: tf.Tensor) -> tuple[list, dict]:
    dropout = dropout_stream(self._options.seed, step, first_example)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
      tape.watch(self._optimizer.variables)
      sums = self._task.sums(features, dropout)
      loss = tf.add_n(
          [sums[f"{name}_loss_sum"] / _denominator(counts[f"{name}_count"]) for name in self._task.losses])
      loss *= scale
    gradients = tape.gradient(loss, self._optimizer.variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    # The gradient of a table that is looked up comes as rows; the norm of the clipping is that of their sum.
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    if self._options.loss_scaling:
      gradients = [gradient / scale for gradient in gradients]
    return gradients, dict(sums)

  def _update(self, gradients: list, step: tf.Tensor) -> tf.Tensor:
    return self._optimizer.update(gradients, self._schedule(step), step, skip_non_finite=self._options.loss_scaling)

  def _adapt_loss_scale(self, finite: tf.Tensor) -> None:
    state = self._state
    grown = tf.logical_and(finite, state.steps_since_overflow + 1 >= _STEPS_BEFORE_DOUBLING)
    factor = tf.where(finite, tf.where(grown, 2.0, 1.0), 0.5)
    state.loss_scale.assign(tf.maximum(state.loss_scale * factor, 1.0))
    state.steps_since_overflow.assign(
        tf.where(tf.logical_and(finite, tf.logical_not(grown)), state.steps_since_overflow + 1, 0))


class Evaluator(orbit.StandardEvaluator):
  """One exact pass over an evaluation set.

  Args:
    task: the task.
    make_dataset: () → distributed dataset of the pass, its batches filled up (`inputs.evaluation_dataset`).
    strategy: where it runs.
    jit_compile: compile with XLA.
    check_stop: called before every batch; may raise to break off.
  """

  def __init__(self, task: Task, make_dataset: Callable, strategy: tf.distribute.Strategy, jit_compile: bool,
               check_stop: Callable[[], None] = lambda: None):
    super().__init__(eval_dataset=make_dataset())
    self._task = task
    self._strategy = strategy
    self._check_stop = check_stop
    self._sums = tf.function(lambda features: task.sums(features, None), jit_compile=jit_compile or None)

  def eval_begin(self) -> dict[str, float]:
    return {}

  def eval_step(self, iterator) -> dict:
    def replica_sums(features):
      sums = self._sums(features)
      if self._strategy.num_replicas_in_sync > 1:
        sums = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, sums)
      return sums

    sums = self._strategy.run(replica_sums, args=(next(iterator),))
    return {name: self._strategy.experimental_local_results(value)[0] for name, value in sums.items()}

  def eval_reduce(self, state: dict[str, float], step_outputs: dict) -> dict[str, float]:
    self._check_stop()
    # Python floats: double precision for however many batches there are.
    return {name: state.get(name, 0.0) + float(value.numpy()) for name, value in step_outputs.items()}

  def eval_end(self, state: dict[str, float]) -> dict[str, float]:
    return self._task.metrics(state)


def _denominator(count: tf.Tensor) -> tf.Tensor:
  """The count, or a small number where there is nothing to divide (the original adds 1e-5 to every count)."""
  return tf.maximum(count, 1e-5)

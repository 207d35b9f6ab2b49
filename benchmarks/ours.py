"""This project's programs, as its scripts run them: what benchmarks compare with those of tensorflow_peers.py and
pytorch_peers.py."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

import modeling
from benchmarks.batches import one_of_each_shape
from benchmarks.machine import POLICIES
from bert_tf.tasks.pretraining.task import make_objective
from bert_tf.training.examples import epoch_batches, training_dataset
from bert_tf.training.optimization import AdamWeightDecay
from bert_tf.training.step import Objective, StepOptions, TrainingState, TrainingStep
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.optimizer import WarmupDecay


def matmul(size: int, dtype: str = "float32") -> Callable[[], None]:
  """A product of two square matrices: what the machine can do at best."""
  multiply = tf.function(tf.matmul)
  a = tf.cast(tf.random.stateless_normal([size, size], seed=[0, 0]), dtype)
  return lambda: multiply(a, a)[0, 0].numpy()


def pretraining(config: BertConfig, batch: dict, precision: str, jit_compile: bool = False, recompute: bool = False,
                fused_attention: bool = False) -> Callable[[], None]:
  """A training step, as `run_pretraining.py` makes it."""
  model = modeling.BertForPreTraining(config, dtype=POLICIES[precision])
  model.encoder.recompute, model.encoder.fused_attention = recompute, fused_attention
  features = {name: value.astype(np.float32 if name.endswith("_weights") else np.int32)
              for name, value in batch.items()}
  step = _step(model, make_objective(model), len(batch["input_ids"]), jit_compile)
  iterator = iter(tf.data.Dataset.from_tensors(features).cache().repeat())
  return lambda: step.run(iterator, 1)


def fine_tuning(task, lengths: np.ndarray, precision: str, jit_compile: bool = False) -> Callable[[int], None]:
  """Training of any number of steps, as the run scripts do it, after one batch of every shape of an epoch.

  Args:
    task: a `FineTuningTask`.
    lengths: as `lengths_for` gives them.
  """
  examples = task.train_examples
  model, batch_size = task.make_model(POLICIES[precision]), task.options.train_batch_size
  dataset = training_dataset(examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1))
  warm_up = one_of_each_shape(examples, epoch_batches(examples.lengths, batch_size, 0, 0), lengths)
  for batch in warm_up:
    dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
  step, iterator = _step(model, task.objective(model), batch_size, jit_compile), iter(dataset)
  step.run(iterator, len(warm_up))
  return lambda steps: step.run(iterator, steps)


def _step(model, objective: Objective, batch_size: int, jit_compile: bool) -> TrainingStep:
  return TrainingStep(objective, AdamWeightDecay(raw_variables(model)), WarmupDecay(5e-5, 10**6), TrainingState(),
                      tf.distribute.get_strategy(), batch_size, StepOptions(jit_compile=jit_compile))

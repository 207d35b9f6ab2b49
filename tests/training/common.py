"""What the tests of the training side share: tiny records, a tiny network, a trainer without a run directory."""

import dataclasses
import gzip

import numpy as np
import tensorflow as tf

from data_gen.records import RecordWriter
from modeling.checkpoints.names import raw_variables
from modeling.config import BertConfig
from modeling.pretraining import BertForPreTraining
from tasks.pretraining import make_task
from training.distribution import Devices
from training.loop import StepOptions, Trainer, TrainingState
from training.optimization import AdamWeightDecay, LearningRateSchedule

LENGTH = 16
PREDICTIONS = 3
VOCAB = 120

# Small, and no two sizes alike. Dropout is on.
TINY = BertConfig(
    vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
    max_position_embeddings=20, type_vocab_size=2)

ONE_LAYER = dataclasses.replace(TINY, num_hidden_layers=1)


def instances(count: int, first: int = 0, seed: int = 0, vocab_size: int = VOCAB, length: int = LENGTH,
              predictions: int = PREDICTIONS) -> dict[str, np.ndarray]:
  """Instances as `RecordWriter.encode` takes them. Of their first two tokens (* 100 + the second) one can tell which
  one it is: `first`, `first` + 1, ..."""
  rng = np.random.default_rng([seed, first])
  numbers = np.arange(first, first + count)
  lengths = rng.integers(length // 2, length + 1, count)
  masked = rng.integers(1, predictions + 1, count)
  tokens = rng.integers(0, vocab_size, (count, length)) * (np.arange(length) < lengths[:, None])
  tokens[:, 0], tokens[:, 1] = numbers // 100, numbers % 100
  used = np.arange(predictions) < masked[:, None]
  return {
      "input_ids": tokens, "length": lengths, "segment_b_start": lengths // 2,
      "masked_lm_positions": np.sort(rng.integers(2, length // 2, (count, predictions)), axis=1) * used,
      # Learnable: the label of a position is the token beside it.
      "masked_lm_ids": rng.integers(0, vocab_size // 4, (count, predictions)) * used, "masked_count": masked,
      "next_sentence_labels": rng.integers(0, 2, count)}


def write_records(path, count: int, first: int = 0, **kwargs) -> str:
  """A TFRecord file of `instances`; gzipped if its name ends with .gz."""
  vocab_size = kwargs.get("vocab_size", VOCAB)
  writer = RecordWriter(kwargs.get("length", LENGTH), kwargs.get("predictions", PREDICTIONS), vocab_size)
  data = writer.encode(**instances(count, first, **kwargs))
  path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
  return str(path)


def numbers(features: dict) -> list[int]:
  """Which instances are in a batch."""
  ids = np.asarray(features["input_ids"])
  return (ids[:, 0] * 100 + ids[:, 1]).tolist()


def default_devices(jit_compile: bool = True, dtype: str = "float32") -> Devices:
  """The machine as it is."""
  return Devices(strategy=tf.distribute.get_strategy(), kind="CPU", description="1 x CPU", dtype=dtype,
                 jit_compile=jit_compile)


def make_trainer(model: BertForPreTraining, dataset: tf.data.Dataset, batch_size: int, schedule: LearningRateSchedule,
                 strategy: tf.distribute.Strategy | None = None, bias_correction: bool = False,
                 **step_options) -> Trainer:
  """A trainer of `model` on global batches of pre-training features."""
  strategy = strategy or tf.distribute.get_strategy()
  with strategy.scope():
    model.build_weights()
    state = TrainingState()
    optimizer = AdamWeightDecay(raw_variables(model), bias_correction=bias_correction)
  trainer = Trainer(
      make_task(model), optimizer, schedule, state, lambda: strategy.experimental_distribute_dataset(dataset), strategy,
      batch_size, StepOptions(**{"jit_compile": True, **step_options}))
  trainer.state, trainer.optimizer = state, optimizer
  return trainer


def train(trainer: Trainer, steps: int, steps_per_loop: int = 1) -> list[dict[str, float]]:
  """The reports of inner loops of `steps_per_loop` steps."""
  return [trainer.train(tf.constant(steps_per_loop)) for _ in range(steps // steps_per_loop)]


def weights(model) -> dict[str, np.ndarray]:
  """The values of all weights by their original names."""
  return {name: variable.numpy() for name, variable in raw_variables(model).items()}


def batches(features: dict[str, np.ndarray]) -> tf.data.Dataset:
  """Arrays [step, batch, ...] as a dataset of batches of static shape."""
  return tf.data.Dataset.from_tensor_slices({name: tf.constant(value) for name, value in features.items()})

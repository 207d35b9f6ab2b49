"""What the tests of the training side share: tiny records, a tiny network, a trainer without a run
directory."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from bert_tf.tasks.pretraining.task import pretraining_forward, pretraining_loss
from bert_tf.training.batches import without_auto_sharding
from bert_tf.training.devices import Devices
from bert_tf.training.optimizer import AdamWeightDecay
from bert_tf.training.step import TrainingState, TrainingStep
from modeling.checkpoints.weights import raw_variables
from modeling.config import BertConfig
from modeling.losses import HeadLoss
from modeling.optimizer import WarmupDecay
from modeling.task_model import BertTaskModel

LENGTH = 16
PREDICTIONS = 3
VOCAB = 120
# Of [MASK], which the first token to predict of every record is hidden by.
MASK = 4

# Small, and no two sizes alike. Dropout is on.
TINY = BertConfig(
    vocab_size=VOCAB,
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=20,
    type_vocab_size=2,
)

ONE_LAYER = dataclasses.replace(TINY, num_hidden_layers=1)


def instances(
    count: int,
    first: int = 0,
    vocab_size: int = VOCAB,
    length: int = LENGTH,
    predictions: int = PREDICTIONS,
) -> dict[str, np.ndarray]:
    """Features of pre-training records. Their first two tokens are its number: `first`, `first` +
    1, ..."""
    rng = np.random.default_rng([vocab_size, first])
    real = np.arange(length) < rng.integers(length // 2, length + 1, (count, 1))
    tokens = rng.integers(0, vocab_size, (count, length)) * real
    which = np.arange(first, first + count)
    tokens[:, 0], tokens[:, 1] = which // 100, which % 100
    masked = np.arange(predictions) < rng.integers(1, predictions + 1, (count, 1))
    segment_b = (np.arange(length) > length // 3) & real
    positions = np.sort(rng.integers(2, length // 2, (count, predictions)), axis=1) * masked
    np.put_along_axis(tokens, positions[:, :1], MASK, axis=1)
    return {
        "input_ids": tokens,
        "input_mask": real.astype(int),
        "segment_ids": segment_b.astype(int),
        "masked_lm_positions": positions,
        # The upper ids are never asked for: that can be learned.
        "masked_lm_ids": rng.integers(0, vocab_size // 4, (count, predictions)) * masked,
        "masked_lm_weights": masked.astype(np.float32),
        "next_sentence_labels": rng.integers(0, 2, (count, 1)),
    }


def write_records(
    path, count: int, first: int = 0, changes: dict[str, np.ndarray] | None = None, **kwargs
) -> str:
    """A TFRecord file of `instances`, written by TensorFlow; gzipped if its name ends with .gz.

    Args:
      changes: feature → what stands in its place, [count, …]; other arguments are those of
        `instances`.
    """
    features = instances(count, first, **kwargs) | (changes or {})
    with tf.io.TFRecordWriter(str(path), "GZIP" if str(path).endswith(".gz") else "") as writer:
        for row in range(count):
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(
                        feature={name: _feature(values[row]) for name, values in features.items()}
                    )
                ).SerializeToString()
            )
    return str(path)


def _feature(values: np.ndarray) -> tf.train.Feature:
    if values.dtype == np.float32:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def numbers(features: dict) -> list[int]:
    """Which instances are in a batch."""
    ids = np.asarray(features["input_ids"])
    return (ids[:, 0] * 100 + ids[:, 1]).tolist()


def default_devices(jit_compile: bool = True, dtype: str = "float32") -> Devices:
    """The machine as it is."""
    return Devices(
        strategy=tf.distribute.get_strategy(),
        kind="CPU",
        description="1 x CPU",
        dtype=dtype,
        jit_compile=jit_compile,
    )


def forward_of(model: BertTaskModel) -> Callable:
    """The forward pass of a training step."""
    return lambda features, dropout: model(features, dropout=dropout)


class Trainer:
    """A training step with the stream that it reads.

    Attributes:
      state, optimizer: what it changes.
      seconds: that the last inner loop took.
    """

    def __init__(
        self,
        training_step: TrainingStep,
        make_dataset: Callable,
        state: TrainingState,
        optimizer: AdamWeightDecay,
    ):
        self.state, self.optimizer, self.seconds = state, optimizer, 0.0
        self._training_step, self._make_dataset, self._iterator = training_step, make_dataset, None

    def run(self, steps: int) -> dict[str, float]:
        if self._iterator is None:
            self._iterator = iter(self._make_dataset())
        report = self._training_step.run(self._iterator, steps)
        self.seconds = steps / report["steps_per_second"]
        return report


def make_trainer(
    model: BertTaskModel,
    dataset: tf.data.Dataset,
    batch_size: int,
    schedule: WarmupDecay,
    strategy: tf.distribute.Strategy | None = None,
    bias_correction: bool = False,
    loss: HeadLoss | None = None,
    **step_options,
) -> Trainer:
    """A trainer of `model` on global batches of features, those of pre-training unless there is an
    `loss`."""
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        state = TrainingState()
        optimizer = AdamWeightDecay(raw_variables(model), bias_correction=bias_correction)
    training_step = TrainingStep(
        functools.partial(pretraining_forward, model) if loss is None else forward_of(model),
        loss or pretraining_loss(model),
        optimizer,
        schedule,
        state,
        strategy,
        batch_size,
        **{"jit_compile": True, **step_options},
    )
    # As the pipelines of runs, whose end waits for nothing.
    dataset = without_auto_sharding(dataset)
    return Trainer(
        training_step, lambda: strategy.experimental_distribute_dataset(dataset), state, optimizer
    )


def train(trainer: Trainer, steps: int, steps_per_loop: int = 1) -> list[dict[str, float]]:
    """The reports of inner loops of `steps_per_loop` steps."""
    return [trainer.run(steps_per_loop) for _ in range(steps // steps_per_loop)]


def weights(model) -> dict[str, np.ndarray]:
    return {name: variable.numpy() for name, variable in raw_variables(model).items()}


def batches(features: dict[str, np.ndarray]) -> tf.data.Dataset:
    """Arrays [step, batch, ...] as a dataset of batches of static shape."""
    return tf.data.Dataset.from_tensor_slices(
        {name: tf.constant(value) for name, value in features.items()}
    )

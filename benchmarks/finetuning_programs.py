"""The programs that benchmarks/finetuning.py measures: each function returns `run(steps)`, which trains so many steps.

Every program goes through epochs of the same examples in full batches, in orders of its own. What is compiled for a
shape is compiled before the function returns. `run` ends with a result on the host, so that nothing is still running.
"""

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import peers
from training.examples import Examples, assemble, epoch_batches, lengths_for, padded_lengths, training_dataset

_WARM_UP_STEPS = 2


def ours(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """This project's training, as `run_classifier.py` runs it."""
  return _ours(config, examples, batch_size, lengths_for(limit, jit_compile=False))


def ours_padded(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same with --pad_to_max_length."""
  return _ours(config, examples, batch_size, padded_lengths(limit, 1))


def _ours(config, examples: Examples, batch_size: int, lengths: np.ndarray) -> Callable[[int], None]:
  from modeling.classification import BertForClassification
  from tasks.classification.task import make_objective

  model = BertForClassification(config, 2)
  return train_ours(model, make_objective(model), examples, batch_size, lengths)


def train_ours(model, objective, examples: Examples, batch_size: int, lengths: np.ndarray) -> Callable[[int], None]:
  """This project's training of any model, after one batch of every length there is."""
  import tensorflow as tf

  from modeling.checkpoints.weights import raw_variables
  from modeling.optimizer import WarmupDecay
  from training.optimization import AdamWeightDecay
  from training.step import StepOptions, TrainingState, TrainingStep

  model.build_weights()
  dataset = training_dataset(examples, batch_size, 0, 0, lengths, tf.distribute.InputContext(1, 0, 1))
  warm_up = [assemble(examples, np.repeat(row, batch_size), batch_size, lengths)
             for row in _row_of_each_length(examples.lengths, lengths)]
  for batch in reversed(warm_up):
    dataset = tf.data.Dataset.from_tensors(batch).concatenate(dataset)
  step = TrainingStep(objective, AdamWeightDecay(raw_variables(model)), WarmupDecay(5e-5, 10**6), TrainingState(),
                      tf.distribute.get_strategy(), batch_size, StepOptions(jit_compile=False))
  iterator = iter(dataset)
  step.run(iterator, len(warm_up))
  return lambda steps: step.run(iterator, steps)


def _row_of_each_length(lengths_of_examples: np.ndarray, lengths: np.ndarray) -> np.ndarray:
  """An example for each of the padded lengths that occur."""
  return np.unique(np.searchsorted(lengths, lengths_of_examples), return_index=True)[1]


def model_garden(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The Model Garden's BertClassifier and its AdamW (tf-models-official), all padded to the limit."""
  import tensorflow as tf
  import tf_keras
  from official.modeling.optimization import legacy_adamw
  from official.nlp.modeling import models

  encoder, initializer = peers.model_garden_encoder(config)
  model = models.BertClassifier(encoder, 2, initializer=initializer)
  optimizer = legacy_adamw.AdamWeightDecay(
      learning_rate=5e-5, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=1.0,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])

  @tf.function
  def step(features, labels):
    with tf.GradientTape() as tape:
      logits = model(features, training=True)
      loss = tf.reduce_mean(tf_keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss

  def run_batch(batch: dict) -> None:
    names = {"input_word_ids": "input_ids", "input_mask": "input_mask", "input_type_ids": "segment_ids"}
    step({name: tf.constant(batch[ours]) for name, ours in names.items()}, tf.constant(batch["label_ids"])).numpy()

  return runner(run_batch, examples, batch_size, random_epoch, [limit])


def pytorch(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """Hugging Face's BertForSequenceClassification on PyTorch, all padded to the limit."""
  return _pytorch(config, examples, batch_size, random_epoch, [limit])


def pytorch_dynamic(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same, each batch padded to its longest sequence."""
  return _pytorch(config, examples, batch_size, random_epoch, range(1, limit + 1))


def pytorch_grouped(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted (`LengthGroupedSampler`)."""
  return _pytorch(config, examples, batch_size, epoch_batches, range(1, limit + 1))


def _pytorch(config, examples: Examples, batch_size: int, make_epoch: Callable, lengths) -> Callable[[int], None]:
  import torch
  import transformers

  # With its own activation, for which PyTorch has one kernel; the tanh form of transformers is slower.
  model = transformers.BertForSequenceClassification(peers.huggingface_config(config))
  model.train()
  optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01, eps=1e-6)

  def run_batch(batch: dict) -> None:
    loss = model(
        input_ids=torch.tensor(batch["input_ids"]), attention_mask=torch.tensor(batch["input_mask"]),
        token_type_ids=torch.tensor(batch["segment_ids"]), labels=torch.tensor(batch["label_ids"], dtype=torch.long),
    ).loss
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return runner(run_batch, examples, batch_size, make_epoch, lengths)


def runner(run_batch: Callable[[dict], None], examples: Examples, batch_size: int, make_epoch: Callable,
            lengths) -> Callable[[int], None]:
  """Steps over endless epochs, after a few to warm up."""
  lengths = np.asarray(lengths)

  def batches() -> Iterator[dict]:
    for epoch in itertools.count():
      for chosen in make_epoch(examples.lengths, batch_size, 0, epoch):
        yield assemble(examples, chosen, batch_size, lengths)

  for batch in itertools.islice(batches(), _WARM_UP_STEPS):
    run_batch(batch)
  stream = batches()

  def run(steps: int) -> None:
    for batch in itertools.islice(stream, steps):
      run_batch(batch)

  return run


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))

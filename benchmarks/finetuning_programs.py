"""The programs that benchmarks/finetuning.py measures: each function returns `run(steps)`, which trains so many steps.

Every program goes through epochs of the same examples in full batches, in orders of its own, and makes batches in the
background while it trains. It is told how many steps there will be in all, and before the function returns it has
trained on a batch of every shape among them. `run` ends with a result on the host, so that nothing is still running.
"""

import itertools
import queue
import threading
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import peers
from bert_tf.training.examples import Examples, assemble, epoch_batches, lengths_for, padded_lengths, training_dataset

_WARM_UP_STEPS = 2
_BATCHES_AHEAD = 2


def ours(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """This project's training, as `run_classifier.py` runs it."""
  return _ours(config, examples, batch_size, lengths_for(limit, jit_compile=False))


def ours_padded(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same with --pad_to_max_length."""
  return _ours(config, examples, batch_size, padded_lengths(limit, 1))


def _ours(config, examples: Examples, batch_size: int, lengths: np.ndarray) -> Callable[[int], None]:
  from bert_tf.tasks.classification.task import make_objective
  from modeling.classification import BertForClassification

  model = BertForClassification(config, 2)
  return train_ours(model, make_objective(model), examples, batch_size, lengths)


def train_ours(model, objective, examples: Examples, batch_size: int, lengths: np.ndarray) -> Callable[[int], None]:
  """This project's training of any model, after one batch of every length there is."""
  import tensorflow as tf

  from bert_tf.training.optimization import AdamWeightDecay
  from bert_tf.training.step import StepOptions, TrainingState, TrainingStep
  from modeling.checkpoints.weights import raw_variables
  from modeling.optimizer import WarmupDecay

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


def model_garden(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The Model Garden's BertClassifier and its AdamW (tf-models-official), all padded to the limit."""
  return Runner(_model_garden(config), examples, batch_size, random_epoch, [limit], steps)


def model_garden_grouped(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same, batches of similar length, each padded to its longest sequence."""
  return Runner(_model_garden(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def _model_garden(config) -> Callable[[dict], None]:
  import tensorflow as tf
  import tf_keras
  from official.nlp.modeling import models

  encoder, initializer = peers.model_garden_encoder(config)
  model = models.BertClassifier(encoder, 2, initializer=initializer)

  def loss_of(features, labels):
    logits = model(features, training=True)
    return tf.reduce_mean(tf_keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))

  step = model_garden_step(lambda: model.trainable_variables, loss_of, 5e-5)
  return lambda batch: step(peers.model_garden_features(batch), batch["label_ids"])


def model_garden_step(variables: Callable[[], list], loss_of: Callable, learning_rate: float
                      ) -> Callable[[dict, np.ndarray], None]:
  """A step of fine-tuning with the Model Garden's AdamW, one graph for batches of all lengths.

  Args:
    variables: returns what is trained.
    loss_of: features and labels → the loss.
    learning_rate: of the optimizer.

  Returns:
    a function of features, as `peers.model_garden_features` makes them, and labels.
  """
  import tensorflow as tf

  optimizer = peers.model_garden_optimizer(learning_rate)

  @tf.function(reduce_retracing=True)
  def step(features, labels):
    with tf.GradientTape() as tape:
      loss = loss_of(features, labels)
    trained = variables()
    gradients = tape.gradient(loss, trained)
    # What has no part in the loss, such as the pooler of a model that tags words.
    optimizer.apply_gradients([pair for pair in zip(gradients, trained, strict=True) if pair[0] is not None])
    return loss

  return lambda features, labels: step(features, tf.constant(labels)).numpy()


def pytorch(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """Hugging Face's BertForSequenceClassification on PyTorch, all padded to the limit."""
  return Runner(_pytorch(config), examples, batch_size, random_epoch, [limit], steps)


def pytorch_dynamic(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same, each batch padded to its longest sequence."""
  return Runner(_pytorch(config), examples, batch_size, random_epoch, range(1, limit + 1), steps)


def pytorch_grouped(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted (`LengthGroupedSampler`)."""
  return Runner(_pytorch(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def _pytorch(config) -> Callable[[dict], None]:
  peers.check_torch()
  import transformers

  step = pytorch_step(transformers.BertForSequenceClassification(peers.huggingface_config(config)), 5e-5)
  return lambda batch: step(batch, batch["label_ids"])


def pytorch_step(model, learning_rate: float) -> Callable[[dict, np.ndarray], None]:
  """A step of fine-tuning a model of transformers: a function of a batch of ours and its labels."""
  import torch

  model.train()
  optimizer = peers.torch_optimizer(model, learning_rate)

  def step(batch: dict, labels: np.ndarray) -> None:
    loss = model(**peers.torch_features(batch), labels=torch.tensor(labels, dtype=torch.long)).loss
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return step


class Runner:
  """Runs a peer over endless epochs, the next batches being made in a thread meanwhile.

  Args:
    run_batch: the program: what it does with a batch.
    examples, batch_size: of which batches are made.
    make_epoch: as `epoch_batches`.
    lengths: what batches are padded to, in ascending order.
    steps: how many there will be; a batch of each of their shapes is run at once.
  """

  def __init__(self, run_batch: Callable[[dict], None], examples: Examples, batch_size: int, make_epoch: Callable,
               lengths, steps: int):
    lengths = np.asarray(lengths)
    epochs = (make_epoch(examples.lengths, batch_size, 0, epoch) for epoch in itertools.count())
    planned = list(itertools.islice(itertools.chain.from_iterable(epochs), steps))
    of_shape = {np.searchsorted(lengths, examples.lengths[chosen].max()): chosen for chosen in planned}
    warm_up = list(of_shape.values())
    for chosen in warm_up * -(-_WARM_UP_STEPS // len(warm_up)):
      run_batch(assemble(examples, chosen, batch_size, lengths))
    self._run_batch = run_batch
    self._batches = _in_background(assemble(examples, chosen, batch_size, lengths) for chosen in planned)

  def __call__(self, steps: int) -> None:
    for batch in itertools.islice(self._batches, steps):
      self._run_batch(batch)


def _in_background(batches: Iterator[dict]) -> Iterator[dict]:
  """The same batches, a few of them made ahead in a thread."""
  made: queue.Queue[dict | None] = queue.Queue(_BATCHES_AHEAD)

  def make() -> None:
    for batch in batches:
      made.put(batch)
    made.put(None)

  threading.Thread(target=make, daemon=True).start()
  return iter(made.get, None)


def random_epoch(row_lengths: np.ndarray, batch_size: int, seed: int, epoch: int) -> list[np.ndarray]:
  """As `epoch_batches`, whatever the lengths."""
  order = np.random.default_rng([seed, epoch]).permutation(len(row_lengths))
  return np.split(order, range(batch_size, len(order), batch_size))

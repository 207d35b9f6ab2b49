"""The programs that benchmarks/ner.py measures, and what they train on.

Each program is a function that returns `run(steps)`, as in `benchmarks/finetuning_programs.py`; the names that end with
_predict tag sentences, the others train.
"""

import itertools
from collections.abc import Callable

import numpy as np

from benchmarks import peers
from benchmarks.finetuning_examples import VOCAB_SIZE
from benchmarks.finetuning_programs import random_epoch, runner, train_ours
from training.examples import Examples, epoch_batches, lengths_for

CLASSES = 9
# Of WNUT-17's training set, with the published uncased vocabulary: a logarithmic normal distribution of tokens.
_SENTENCES, _LOG_MEAN, _LOG_DEVIATION, _SHORTEST, _LONGEST = 3394, 3.2, 0.5, 3, 120
# What PyTorch's loss leaves out.
_IGNORED = -100


def synthetic_sentences(limit: int) -> Examples:
  """As many sentences as WNUT-17 has, of like lengths; two of three tokens are scored."""
  random = np.random.default_rng(0)
  row_lengths = np.exp(random.normal(_LOG_MEAN, _LOG_DEVIATION, _SENTENCES)).round().clip(
      _SHORTEST, min(_LONGEST, limit)).astype(np.int64)
  tokens = row_lengths.sum()
  labels = random.integers(0, CLASSES, tokens, np.int32)
  labels[random.random(tokens) < 1 / 3] = -1
  return Examples({"input_ids": random.integers(1000, VOCAB_SIZE, tokens, np.int32),
                   "segment_ids": np.zeros(tokens, np.uint8), "label_ids": labels}, row_lengths)


def ours(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """This project's training, as `run_ner.py` runs it."""
  from modeling.token_classification import BertForTokenClassification
  from tasks.token_classification.task import make_objective

  model = BertForTokenClassification(config, CLASSES)
  return train_ours(model, make_objective(model), examples, batch_size, lengths_for(limit, jit_compile=False))


def ours_predict(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """This project's evaluation: the probabilities of a turn's sentences, the longest first."""
  import tensorflow as tf

  from modeling.token_classification import BertForTokenClassification
  from training.prediction import Prediction

  model = BertForTokenClassification(config, CLASSES)
  lengths = lengths_for(limit, jit_compile=False)
  predict = Prediction(lambda features: {"probabilities": tf.nn.softmax(model(features))}, batch_size, lengths,
                       tf.distribute.get_strategy(), False, ("probabilities",))
  # One batch of every length there is comes first.
  for row in np.unique(np.searchsorted(lengths, examples.row_lengths), return_index=True)[1]:
    predict(_chosen(examples, np.repeat(row, batch_size)))
  # Batches of all lengths in every turn, as the other programs have them.
  parts = [_chosen(examples, rows) for rows in epoch_batches(examples.row_lengths, batch_size, 0, 0)]
  batches = itertools.cycle(parts)

  def run(steps: int) -> None:
    predict(_together([next(batches) for _ in range(steps)]))

  return run


def model_garden(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The Model Garden's BertTokenClassifier and its AdamW (tf-models-official), all padded to the limit."""
  import tensorflow as tf
  import tf_keras
  from official.modeling.optimization import legacy_adamw

  model = _garden_model(config)
  optimizer = legacy_adamw.AdamWeightDecay(
      learning_rate=5e-5, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=1.0,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])

  @tf.function
  def step(features, labels):
    known = tf.cast(labels >= 0, tf.float32)
    with tf.GradientTape() as tape:
      logits = model(features, training=True)["logits"]
      losses = tf_keras.losses.sparse_categorical_crossentropy(tf.maximum(labels, 0), logits, from_logits=True)
      loss = tf.reduce_sum(losses * known) / tf.reduce_sum(known)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(
        [pair for pair in zip(gradients, model.trainable_variables, strict=True) if pair[0] is not None])
    return loss

  def run_batch(batch: dict) -> None:
    step(_garden_features(batch), tf.constant(known_labels(batch))).numpy()

  return runner(run_batch, examples, batch_size, random_epoch, [limit])


def model_garden_predict(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The Model Garden's BertTokenClassifier, all padded to the limit."""
  import tensorflow as tf

  model = _garden_model(config)
  forward = tf.function(lambda features: tf.nn.softmax(model(features, training=False)["logits"]))
  return runner(lambda batch: forward(_garden_features(batch)).numpy(), examples, batch_size, random_epoch, [limit])


def pytorch(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """Hugging Face's BertForTokenClassification on PyTorch, each batch padded to its longest sequence."""
  return _pytorch(config, examples, batch_size, random_epoch, limit)


def pytorch_grouped(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted."""
  return _pytorch(config, examples, batch_size, epoch_batches, limit)


def pytorch_predict(config, examples: Examples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same model without gradients, batches of similar length, each padded to its longest sequence."""
  import torch

  model = _torch_model(config).eval()

  def run_batch(batch: dict) -> None:
    with torch.inference_mode():
      torch.softmax(model(**_torch_features(batch)).logits, -1).numpy()

  return runner(run_batch, examples, batch_size, epoch_batches, range(1, limit + 1))


def _pytorch(config, examples: Examples, batch_size: int, make_epoch: Callable, limit: int) -> Callable[[int], None]:
  import torch

  model = _torch_model(config).train()
  optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01, eps=1e-6, fused=True)

  def run_batch(batch: dict) -> None:
    labels = np.where(known_labels(batch) >= 0, batch["label_ids"], _IGNORED)
    loss = model(**_torch_features(batch), labels=torch.tensor(labels, dtype=torch.long)).loss
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return runner(run_batch, examples, batch_size, make_epoch, range(1, limit + 1))


def _torch_model(config):
  import transformers

  # Its name for the tanh form that PyTorch has one kernel for.
  return transformers.BertForTokenClassification(
      peers.huggingface_config(config, hidden_act="gelu_pytorch_tanh", num_labels=CLASSES))


def _torch_features(batch: dict) -> dict:
  import torch

  names = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
  return {theirs: torch.tensor(batch[ours]) for theirs, ours in names.items()}


def _garden_model(config):
  from official.nlp.modeling import models

  encoder, initializer = peers.model_garden_encoder(config)
  return models.BertTokenClassifier(encoder, CLASSES, initializer=initializer, output="logits")


def _garden_features(batch: dict) -> dict:
  import tensorflow as tf

  names = {"input_word_ids": "input_ids", "input_mask": "input_mask", "input_type_ids": "segment_ids"}
  return {name: tf.constant(batch[ours]) for name, ours in names.items()}


def known_labels(batch: dict) -> np.ndarray:
  """Without the zeros that batches are padded with."""
  return np.where(batch["input_mask"] == 1, batch["label_ids"], -1)


def _chosen(examples: Examples, rows: np.ndarray) -> Examples:
  places = np.concatenate([np.arange(examples.row_starts[row], examples.row_starts[row] + examples.row_lengths[row])
                           for row in rows])
  return Examples({name: examples.tokens[name][places] for name in ("input_ids", "segment_ids")},
                  examples.row_lengths[rows])


def _together(parts: list[Examples]) -> Examples:
  tokens = {name: np.concatenate([part.tokens[name] for part in parts]) for name in ("input_ids", "segment_ids")}
  return Examples(tokens, np.concatenate([part.row_lengths for part in parts]))

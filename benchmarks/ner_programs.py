"""The programs that benchmarks/ner.py measures, and what they train on.

Each program is a function that returns `run(steps)`, as in `benchmarks/finetuning_programs.py`; the names that end with
_predict tag sentences, the others train.
"""

import itertools
from collections.abc import Callable

import numpy as np

from benchmarks import peers
from benchmarks.finetuning_examples import VOCAB_SIZE
from benchmarks.finetuning_programs import Runner, model_garden_step, pytorch_step, random_epoch, train_ours
from bert_tf.training.examples import Examples, epoch_batches, lengths_for

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


def ours(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """This project's training, as `run_ner.py` runs it."""
  from bert_tf.tasks.token_classification.task import make_objective
  from modeling.token_classification import BertForTokenClassification

  model = BertForTokenClassification(config, CLASSES)
  return train_ours(model, make_objective(model), examples, batch_size, lengths_for(limit, jit_compile=False))


def ours_predict(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """This project's evaluation: the probabilities of a turn's sentences, the longest first."""
  import tensorflow as tf

  from bert_tf.training.prediction import Prediction
  from modeling.token_classification import BertForTokenClassification

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


def model_garden(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The Model Garden's BertTokenClassifier and its AdamW (tf-models-official), all padded to the limit."""
  return Runner(_model_garden(config), examples, batch_size, random_epoch, [limit], steps)


def model_garden_grouped(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same, batches of similar length, each padded to its longest sentence."""
  return Runner(_model_garden(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def model_garden_predict(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The Model Garden's BertTokenClassifier, all padded to the limit."""
  return Runner(_model_garden_predictor(config), examples, batch_size, random_epoch, [limit], steps)


def model_garden_grouped_predict(config, examples: Examples, batch_size: int, limit: int, steps: int
                                 ) -> Callable[[int], None]:
  """The same, batches of similar length, each padded to its longest sentence."""
  return Runner(_model_garden_predictor(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def _model_garden(config) -> Callable[[dict], None]:
  import tensorflow as tf
  import tf_keras

  model = _garden_model(config)

  def loss_of(features, labels):
    known = tf.cast(labels >= 0, tf.float32)
    logits = model(features, training=True)["logits"]
    losses = tf_keras.losses.sparse_categorical_crossentropy(tf.maximum(labels, 0), logits, from_logits=True)
    return tf.reduce_sum(losses * known) / tf.reduce_sum(known)

  step = model_garden_step(lambda: model.trainable_variables, loss_of, 5e-5)
  return lambda batch: step(peers.model_garden_features(batch), known_labels(batch))


def _model_garden_predictor(config) -> Callable[[dict], np.ndarray]:
  import tensorflow as tf

  model = _garden_model(config)
  forward = tf.function(lambda features: tf.nn.softmax(model(features, training=False)["logits"]),
                        reduce_retracing=True)
  return lambda batch: forward(peers.model_garden_features(batch)).numpy()


def _garden_model(config):
  from official.nlp.modeling import models

  encoder, initializer = peers.model_garden_encoder(config)
  return models.BertTokenClassifier(encoder, CLASSES, initializer=initializer, output="logits")


def pytorch(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """Hugging Face's BertForTokenClassification on PyTorch, each batch padded to its longest sequence."""
  return Runner(_pytorch(config), examples, batch_size, random_epoch, range(1, limit + 1), steps)


def pytorch_grouped(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted."""
  return Runner(_pytorch(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def pytorch_predict(config, examples: Examples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The same model without gradients, batches of similar length, each padded to its longest sequence."""
  model = _torch_model(config).eval()
  import torch

  def run_batch(batch: dict) -> None:
    with torch.inference_mode():
      torch.softmax(model(**peers.torch_features(batch)).logits, -1).numpy()

  return Runner(run_batch, examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def _pytorch(config) -> Callable[[dict], None]:
  step = pytorch_step(_torch_model(config), 5e-5)

  def run_batch(batch: dict) -> None:
    labels = known_labels(batch)
    step(batch, np.where(labels >= 0, labels, _IGNORED))

  return run_batch


def _torch_model(config):
  peers.check_torch()
  import transformers

  return transformers.BertForTokenClassification(peers.huggingface_config(config, num_labels=CLASSES))


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

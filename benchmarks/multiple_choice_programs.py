"""The programs that benchmarks/multiple_choice.py measures, and what they train on.

Each program is a function that returns `run(steps)`, as in `benchmarks/finetuning_programs.py`.
"""

from collections.abc import Callable

import numpy as np

from benchmarks import peers
from benchmarks.finetuning_examples import VOCAB_SIZE
from benchmarks.finetuning_programs import Runner, model_garden_step, pytorch_step, random_epoch, train_ours
from bert_tf.tasks.multiple_choice.examples import ChoiceExamples
from bert_tf.training.examples import epoch_batches, lengths_for

# Of CODAH's first training set, with the published uncased vocabulary: tokens of a choice's sequence, their standard
# deviation over the questions and within a question.
_QUESTIONS, _CHOICES = 1665, 4
_MEAN, _DEVIATION, _DEVIATION_WITHIN, _SHORTEST, _LONGEST = 21.7, 6.0, 2.1, 7, 69


def synthetic_questions(limit: int) -> ChoiceExamples:
  """As many questions as CODAH's first training set has, of like lengths."""
  random = np.random.default_rng(0)
  lengths = random.normal(_MEAN, _DEVIATION, (_QUESTIONS, 1)) + random.normal(
      0, _DEVIATION_WITHIN, (_QUESTIONS, _CHOICES))
  row_lengths = lengths.round().clip(_SHORTEST, min(_LONGEST, limit)).astype(np.int64).ravel()
  tokens = row_lengths.sum()
  return ChoiceExamples(
      {"input_ids": random.integers(1000, VOCAB_SIZE, tokens, np.int32),
       "segment_ids": np.concatenate([np.arange(length) > length // 2 for length in row_lengths]).astype(np.uint8)},
      row_lengths, {"label_ids": random.integers(0, _CHOICES, _QUESTIONS, np.int32)},
      num_choices=np.full(_QUESTIONS, _CHOICES, np.int64))


def full_batches(examples: ChoiceExamples, batch_size: int) -> ChoiceExamples:
  """The first questions, as many as fill whole batches, so that all programs have steps of one size."""
  count = max(len(examples) // batch_size, 1) * batch_size
  rows = examples.num_choices[:count].sum()
  tokens = examples.row_lengths[:rows].sum()
  return ChoiceExamples({name: values[:tokens] for name, values in examples.tokens.items()},
                        examples.row_lengths[:rows], {name: values[:count] for name, values in examples.values.items()},
                        num_choices=examples.num_choices[:count])


def ours(config, examples: ChoiceExamples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """This project's training, as `run_swag.py` runs it."""
  from bert_tf.tasks.multiple_choice.task import make_objective
  from modeling.multiple_choice import BertForMultipleChoice

  model = BertForMultipleChoice(config)
  return train_ours(model, make_objective(model), examples, batch_size, lengths_for(limit, jit_compile=False))


def model_garden(config, examples: ChoiceExamples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """The Model Garden's encoder and its AdamW, with dropout and a dense layer of one unit; padded to the longest."""
  return Runner(_model_garden(config, examples.most_choices), examples, batch_size, random_epoch, range(1, limit + 1),
                steps)


def model_garden_grouped(config, examples: ChoiceExamples, batch_size: int, limit: int, steps: int
                         ) -> Callable[[int], None]:
  """The same, batches of similar length."""
  return Runner(_model_garden(config, examples.most_choices), examples, batch_size, epoch_batches, range(1, limit + 1),
                steps)


def _model_garden(config, choices: int) -> Callable[[dict], None]:
  import tensorflow as tf
  import tf_keras

  encoder, initializer = peers.model_garden_encoder(config)
  dropout = tf_keras.layers.Dropout(0.1)
  head = tf_keras.layers.Dense(1, kernel_initializer=initializer)
  head.build((None, config.hidden_size))

  def loss_of(features, labels):
    pooled = encoder(features, training=True)["pooled_output"]
    logits = tf.reshape(head(dropout(pooled, training=True)), [-1, choices])
    return tf.reduce_mean(tf_keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))

  step = model_garden_step(lambda: encoder.trainable_variables + head.trainable_variables, loss_of, 2e-5)

  def run_batch(batch: dict) -> None:
    features = peers.model_garden_features(batch)  # [B, C, S]
    step({name: tf.reshape(value, [-1, value.shape[-1]]) for name, value in features.items()}, batch["label_ids"])

  return run_batch


def pytorch(config, examples: ChoiceExamples, batch_size: int, limit: int, steps: int) -> Callable[[int], None]:
  """Hugging Face's BertForMultipleChoice on PyTorch, each batch padded to its longest sequence."""
  return Runner(_pytorch(config), examples, batch_size, random_epoch, range(1, limit + 1), steps)


def pytorch_grouped(config, examples: ChoiceExamples, batch_size: int, limit: int, steps: int
                    ) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted."""
  return Runner(_pytorch(config), examples, batch_size, epoch_batches, range(1, limit + 1), steps)


def _pytorch(config) -> Callable[[dict], None]:
  peers.check_torch()
  import transformers

  step = pytorch_step(transformers.BertForMultipleChoice(peers.huggingface_config(config)), 2e-5)
  return lambda batch: step(batch, batch["label_ids"])

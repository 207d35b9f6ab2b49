"""The programs that benchmarks/multiple_choice.py measures, and what they train on.

Each program is a function that returns `run(steps)`, as in `benchmarks/finetuning_programs.py`.
"""

from collections.abc import Callable

import numpy as np

from benchmarks import peers
from benchmarks.finetuning_examples import VOCAB_SIZE
from benchmarks.finetuning_programs import random_epoch, runner, train_ours
from tasks.multiple_choice.examples import ChoiceExamples
from training.examples import epoch_batches, lengths_for

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


def ours(config, examples: ChoiceExamples, batch_size: int, limit: int) -> Callable[[int], None]:
  """This project's training, as `run_swag.py` runs it."""
  from modeling.multiple_choice import BertForMultipleChoice
  from tasks.multiple_choice.task import make_objective

  model = BertForMultipleChoice(config)
  return train_ours(model, make_objective(model), examples, batch_size, lengths_for(limit, jit_compile=False))


def model_garden(config, examples: ChoiceExamples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The Model Garden's encoder and its AdamW (tf-models-official), with dropout and a dense layer of one unit."""
  import tensorflow as tf
  import tf_keras
  from official.modeling.optimization import legacy_adamw

  encoder, initializer = peers.model_garden_encoder(config)
  dropout = tf_keras.layers.Dropout(0.1)
  head = tf_keras.layers.Dense(1, kernel_initializer=initializer)
  head.build((None, config.hidden_size))
  variables = encoder.trainable_variables + head.trainable_variables
  optimizer = legacy_adamw.AdamWeightDecay(
      learning_rate=2e-5, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=1.0,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])
  choices = examples.most_choices

  # One graph for batches of all lengths.
  @tf.function(input_signature=[[tf.TensorSpec([batch_size * choices, None], tf.int32)] * 3,
                                tf.TensorSpec([batch_size], tf.int32)])
  def step(inputs, labels):
    names = ("input_word_ids", "input_mask", "input_type_ids")
    with tf.GradientTape() as tape:
      pooled = encoder(dict(zip(names, inputs, strict=True)), training=True)["pooled_output"]
      logits = tf.reshape(head(dropout(pooled, training=True)), [-1, choices])
      loss = tf.reduce_mean(tf_keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return loss

  def run_batch(batch: dict) -> None:
    length = batch["input_ids"].shape[-1]
    inputs = [tf.constant(batch[name].reshape(-1, length)) for name in ("input_ids", "input_mask", "segment_ids")]
    step(inputs, tf.constant(batch["label_ids"])).numpy()

  return runner(run_batch, examples, batch_size, random_epoch, range(1, limit + 1))


def pytorch(config, examples: ChoiceExamples, batch_size: int, limit: int) -> Callable[[int], None]:
  """Hugging Face's BertForMultipleChoice on PyTorch, each batch padded to its longest sequence."""
  return _pytorch(config, examples, batch_size, random_epoch, limit)


def pytorch_grouped(config, examples: ChoiceExamples, batch_size: int, limit: int) -> Callable[[int], None]:
  """The same, batches of similar length: random pools of 50 batches, sorted."""
  return _pytorch(config, examples, batch_size, epoch_batches, limit)


def _pytorch(config, examples: ChoiceExamples, batch_size: int, make_epoch: Callable, limit: int
             ) -> Callable[[int], None]:
  import torch
  import transformers

  # Its name for the tanh form that PyTorch has one kernel for.
  model = transformers.BertForMultipleChoice(peers.huggingface_config(config, hidden_act="gelu_pytorch_tanh"))
  model.train()
  optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01, eps=1e-6, fused=True)

  def run_batch(batch: dict) -> None:
    loss = model(
        input_ids=torch.tensor(batch["input_ids"]), attention_mask=torch.tensor(batch["input_mask"]),
        token_type_ids=torch.tensor(batch["segment_ids"]), labels=torch.tensor(batch["label_ids"], dtype=torch.long),
    ).loss
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return runner(run_batch, examples, batch_size, make_epoch, range(1, limit + 1))

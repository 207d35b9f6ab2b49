"""The programs that benchmarks/pretraining_step.py measures: each function returns one training step to call.

Every step ends with its result on the host, so that nothing is still running when it returns.
"""

from collections.abc import Callable

import numpy as np

from benchmarks import peers


def matmul(size: int) -> Callable[[], None]:
  """A product of two square float32 matrices: what the machine can do at best."""
  import tensorflow as tf

  multiply = tf.function(tf.matmul)
  a = tf.random.stateless_normal([size, size], seed=[0, 0])
  return lambda: multiply(a, a)[0, 0].numpy()


def ours(config, batch: dict, precision: str, jit_compile: bool = False, recompute: bool = False
         ) -> Callable[[], None]:
  """This project's training step, as `run_pretraining.py` runs it."""
  import tensorflow as tf

  from modeling.checkpoints.weights import raw_variables
  from modeling.optimizer import WarmupDecay
  from modeling.pretraining import BertForPreTraining
  from tasks.pretraining.task import make_objective
  from training.optimization import AdamWeightDecay
  from training.step import StepOptions, TrainingState, TrainingStep

  model = BertForPreTraining(config, dtype={"float32": "float32", "bfloat16": "mixed_bfloat16"}[precision])
  model.build_weights()
  model.encoder.recompute = recompute
  optimizer = AdamWeightDecay(raw_variables(model))
  features = {name: value.astype(np.int32) for name, value in batch.items()}
  features["masked_lm_weights"] = np.ones(batch["masked_lm_ids"].shape, np.float32)
  iterator = iter(tf.data.Dataset.from_tensors(features).cache().repeat())
  rows = batch["input_ids"].shape[0]
  step = TrainingStep(
      make_objective(model), optimizer, WarmupDecay(1e-4, 10**6), TrainingState(),
      tf.distribute.get_strategy(), rows, StepOptions(jit_compile=jit_compile))
  return lambda: step.run(iterator, 1)


def ours_xla(config, batch: dict, precision: str) -> Callable[[], None]:
  """The same, compiled with XLA."""
  return ours(config, batch, precision, jit_compile=True)


def model_garden(config, batch: dict, precision: str, jit_compile: bool = False) -> Callable[[], None]:
  """The Model Garden's BertPretrainerV2 and its AdamW (tf-models-official)."""
  import tensorflow as tf
  import tf_keras
  from official.modeling.optimization import legacy_adamw
  from official.nlp.modeling import layers, models

  if precision == "bfloat16":
    tf_keras.mixed_precision.set_global_policy("mixed_bfloat16")

  encoder, initializer = peers.model_garden_encoder(config)
  model = models.BertPretrainerV2(
      encoder_network=encoder, mlm_activation=peers.tanh_gelu, mlm_initializer=initializer,
      classification_heads=[layers.ClassificationHead(config.hidden_size, num_classes=2, name="next_sentence")])
  features = {
      "input_word_ids": tf.constant(batch["input_ids"], tf.int32),
      "input_mask": tf.constant(batch["input_mask"], tf.int32),
      "input_type_ids": tf.constant(batch["segment_ids"], tf.int32),
      "masked_lm_positions": tf.constant(batch["masked_lm_positions"], tf.int32),
  }
  labels = tf.constant(batch["masked_lm_ids"], tf.int32)
  next_sentence = tf.constant(batch["next_sentence_labels"][:, 0], tf.int32)
  model(features)
  optimizer = legacy_adamw.AdamWeightDecay(
      learning_rate=1e-4, weight_decay_rate=0.01, epsilon=1e-6, gradient_clip_norm=1.0,
      exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"])

  @tf.function(jit_compile=jit_compile)
  def step():
    with tf.GradientTape() as tape:
      outputs = model(features, training=True)
      cross_entropy = tf_keras.losses.sparse_categorical_crossentropy
      loss = tf.reduce_mean(cross_entropy(labels, tf.cast(outputs["mlm_logits"], tf.float32), from_logits=True))
      loss += tf.reduce_mean(
          cross_entropy(next_sentence, tf.cast(outputs["next_sentence"], tf.float32), from_logits=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss

  return lambda: step().numpy()


def model_garden_xla(config, batch: dict, precision: str) -> Callable[[], None]:
  """The same, compiled with XLA."""
  return model_garden(config, batch, precision, jit_compile=True)


def pytorch(config, batch: dict, precision: str) -> Callable[[], None]:
  """Hugging Face's BertForPreTraining on PyTorch, with PyTorch's AdamW."""
  import contextlib

  import torch
  import transformers

  model = transformers.BertForPreTraining(peers.huggingface_config(config, hidden_act="gelu_new"))
  model.train()
  optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, eps=1e-6)
  labels = np.full(batch["input_ids"].shape, -100)
  np.put_along_axis(labels, batch["masked_lm_positions"], batch["masked_lm_ids"], axis=1)
  inputs = {
      "input_ids": torch.tensor(batch["input_ids"]), "attention_mask": torch.tensor(batch["input_mask"]),
      "token_type_ids": torch.tensor(batch["segment_ids"]), "labels": torch.tensor(labels),
      "next_sentence_label": torch.tensor(batch["next_sentence_labels"][:, 0]),
  }

  def step() -> None:
    lower = torch.autocast("cpu", torch.bfloat16) if precision == "bfloat16" else contextlib.nullcontext()
    with lower:
      loss = model(**inputs).loss
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return step

"""The programs that benchmarks/pretraining_step.py measures: each function returns one training step to call.

Their batches are those of `random_batch` there, or of records: features as numpy arrays, with any padding and any
weights of the predictions. Every step ends with its result on the host, so that nothing is still running when it
returns.
"""

from collections.abc import Callable

import numpy as np

from benchmarks import peers

# What PyTorch's loss leaves out.
_IGNORED = -100


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

  from bert_tf.tasks.pretraining.task import make_objective
  from bert_tf.training.optimization import AdamWeightDecay
  from bert_tf.training.step import StepOptions, TrainingState, TrainingStep
  from modeling.checkpoints.weights import raw_variables
  from modeling.optimizer import WarmupDecay
  from modeling.pretraining import BertForPreTraining

  model = BertForPreTraining(config, dtype={"float32": "float32", "bfloat16": "mixed_bfloat16"}[precision])
  model.build_weights()
  model.encoder.recompute = recompute
  optimizer = AdamWeightDecay(raw_variables(model))
  features = {name: value.astype(np.float32 if name.endswith("_weights") else np.int32)
              for name, value in batch.items()}
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
  from official.nlp.modeling import layers, models

  if precision == "bfloat16":
    tf_keras.mixed_precision.set_global_policy("mixed_bfloat16")

  encoder, initializer = peers.model_garden_encoder(config)
  model = models.BertPretrainerV2(
      encoder_network=encoder, mlm_activation=peers.tanh_gelu, mlm_initializer=initializer,
      classification_heads=[layers.ClassificationHead(config.hidden_size, num_classes=2, name="next_sentence")])
  features = {**peers.model_garden_features(batch),
              "masked_lm_positions": tf.constant(batch["masked_lm_positions"], tf.int32)}
  labels = tf.constant(batch["masked_lm_ids"], tf.int32)
  weights = tf.constant(batch["masked_lm_weights"], tf.float32)
  next_sentence = tf.constant(batch["next_sentence_labels"].ravel(), tf.int32)
  model(features)
  optimizer = peers.model_garden_optimizer(1e-4)

  @tf.function(jit_compile=jit_compile)
  def step():
    with tf.GradientTape() as tape:
      outputs = model(features, training=True)
      cross_entropy = tf_keras.losses.sparse_categorical_crossentropy
      losses = cross_entropy(labels, tf.cast(outputs["mlm_logits"], tf.float32), from_logits=True)
      loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
      loss += tf.reduce_mean(
          cross_entropy(next_sentence, tf.cast(outputs["next_sentence"], tf.float32), from_logits=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss

  return lambda: step().numpy()


def model_garden_xla(config, batch: dict, precision: str) -> Callable[[], None]:
  """The same, compiled with XLA."""
  return model_garden(config, batch, precision, jit_compile=True)


def keras_hub(config, batch: dict, precision: str, jit_compile: bool = False) -> Callable[[], None]:
  """KerasHub's BertBackbone and MaskedLMHead, a dense layer for the next sentence, and Keras' AdamW, as `fit` trains.

  The masked positions are gathered by MaskedLMHead. Keras clips by the global norm.
  """
  peers.check_keras_hub()
  import keras
  import keras_hub
  import tensorflow as tf

  policy = {"float32": "float32", "bfloat16": "mixed_bfloat16"}[precision]
  backbone = keras_hub.models.BertBackbone(
      vocabulary_size=config.vocab_size, num_layers=config.num_hidden_layers, num_heads=config.num_attention_heads,
      hidden_dim=config.hidden_size, intermediate_dim=config.intermediate_size, dropout=config.hidden_dropout_prob,
      max_sequence_length=config.max_position_embeddings, dtype=policy)
  positions = keras.Input((None,), dtype="int32", name="mask_positions")
  outputs = backbone.output
  head = keras_hub.layers.MaskedLMHead(
      vocabulary_size=config.vocab_size, token_embedding=backbone.token_embedding, dtype=policy,
      intermediate_activation=lambda x: keras.ops.gelu(x, approximate=True))
  logits = {"masked_lm": head(outputs["sequence_output"], mask_positions=positions),
            "next_sentence": keras.layers.Dense(2, dtype=policy)(outputs["pooled_output"])}
  in_float32 = {name: keras.layers.Activation("linear", dtype="float32", name=name)(value)
                for name, value in logits.items()}
  model = keras.Model({**backbone.input, "mask_positions": positions}, in_float32)
  optimizer = keras.optimizers.AdamW(1e-4, weight_decay=0.01, epsilon=1e-6, global_clipnorm=1.0)
  optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
  model.compile(
      optimizer, {name: keras.losses.SparseCategoricalCrossentropy(from_logits=True) for name in logits},
      jit_compile=jit_compile)
  names = {"token_ids": "input_ids", "padding_mask": "input_mask", "segment_ids": "segment_ids",
           "mask_positions": "masked_lm_positions"}
  inputs = {name: batch[ours].astype(np.int32) for name, ours in names.items()}
  labels = {"masked_lm": batch["masked_lm_ids"].astype(np.int32),
            "next_sentence": batch["next_sentence_labels"].ravel().astype(np.int32)}
  weights = {"masked_lm": batch["masked_lm_weights"].astype(np.float32),
             "next_sentence": np.ones(len(batch["input_ids"]), np.float32)}
  iterator = iter(tf.data.Dataset.from_tensors((inputs, labels, weights)).cache().repeat().prefetch(2))
  model.make_train_function()
  return lambda: model.train_function(iterator)["loss"].numpy()


def keras_hub_xla(config, batch: dict, precision: str) -> Callable[[], None]:
  """The same, compiled with XLA."""
  return keras_hub(config, batch, precision, jit_compile=True)


def pytorch(config, batch: dict, precision: str) -> Callable[[], None]:
  """Hugging Face's BertForPreTraining on PyTorch, which projects every position to the vocabulary."""
  import torch

  labels = np.full(batch["input_ids"].shape, _IGNORED)
  np.put_along_axis(labels, batch["masked_lm_positions"], masked_labels(batch), axis=1)
  inputs = {**peers.torch_features(batch), "labels": torch.tensor(labels),
            "next_sentence_label": torch.tensor(batch["next_sentence_labels"].ravel(), dtype=torch.long)}
  return _pytorch(config, precision, lambda model: model(**inputs).loss)


def pytorch_gathered(config, batch: dict, precision: str, compiled: bool = False) -> Callable[[], None]:
  """The same model; its encoder and its heads are called one by one, and the masked positions gathered in between."""
  import torch
  from torch.nn.functional import cross_entropy

  inputs = peers.torch_features(batch)
  positions = torch.tensor(batch["masked_lm_positions"], dtype=torch.long)[:, :, None]
  labels = torch.tensor(masked_labels(batch), dtype=torch.long).flatten()
  next_sentence = torch.tensor(batch["next_sentence_labels"].ravel(), dtype=torch.long)

  def loss_of(model):
    outputs = model.bert(**inputs)
    masked = torch.take_along_dim(outputs.last_hidden_state, positions, dim=1)
    scores, is_next = model.cls(masked, outputs.pooler_output)
    return cross_entropy(scores.flatten(0, 1).float(), labels, ignore_index=_IGNORED) + cross_entropy(
        is_next.float(), next_sentence)

  return _pytorch(config, precision, torch.compile(loss_of) if compiled else loss_of)


def pytorch_compiled(config, batch: dict, precision: str) -> Callable[[], None]:
  """The same through torch.compile."""
  return pytorch_gathered(config, batch, precision, compiled=True)


def _pytorch(config, precision: str, loss_of: Callable) -> Callable[[], None]:
  """A step of BertForPreTraining with the loss that `loss_of` computes with it."""
  peers.check_torch()
  import contextlib

  import torch
  import transformers

  model = transformers.BertForPreTraining(peers.huggingface_config(config)).train()
  optimizer = peers.torch_optimizer(model, 1e-4)

  def step() -> None:
    lower = torch.autocast("cpu", torch.bfloat16) if precision == "bfloat16" else contextlib.nullcontext()
    with lower:
      loss = loss_of(model)
    peers.torch_update(model, optimizer, loss)
    loss.item()

  return step


def masked_labels(batch: dict) -> np.ndarray:
  """int64 [B, P]: the tokens to predict, as PyTorch's loss takes them."""
  return np.where(batch["masked_lm_weights"] > 0, batch["masked_lm_ids"], _IGNORED)

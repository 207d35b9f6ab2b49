"""KerasHub's model of the same shape as ours, with Keras' AdamW, in a graph."""

from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from benchmarks.machine import POLICIES
from bert_common.errors import UserError
from modeling.config import BertConfig

try:
  import keras_hub
except ImportError:
  raise UserError("keras_hub is not installed: pip install --group peers") from None


def pretraining(config: BertConfig, batch: dict, precision: str, jit_compile: bool = False) -> Callable[[], None]:
  """A training step of BertBackbone, MaskedLMHead and a dense layer for the next sentence, as `fit` makes it.

  The masked positions are gathered by MaskedLMHead. Keras clips by the global norm.
  """
  policy = POLICIES[precision]
  backbone = keras_hub.models.BertBackbone(
      vocabulary_size=config.vocab_size, num_layers=config.num_hidden_layers, num_heads=config.num_attention_heads,
      hidden_dim=config.hidden_size, intermediate_dim=config.intermediate_size, dropout=config.hidden_dropout_prob,
      max_sequence_length=config.max_position_embeddings, dtype=policy)
  positions = keras.Input((None,), dtype="int32", name="mask_positions")
  head = keras_hub.layers.MaskedLMHead(
      vocabulary_size=config.vocab_size, token_embedding=backbone.token_embedding, dtype=policy,
      intermediate_activation=lambda x: keras.ops.gelu(x, approximate=True))
  logits = {"masked_lm": head(backbone.output["sequence_output"], mask_positions=positions),
            "next_sentence": keras.layers.Dense(2, dtype=policy)(backbone.output["pooled_output"])}
  in_float32 = {name: keras.layers.Activation("linear", dtype="float32", name=name)(value)
                for name, value in logits.items()}
  model = keras.Model({**backbone.input, "mask_positions": positions}, in_float32)
  optimizer = keras.optimizers.AdamW(5e-5, weight_decay=0.01, epsilon=1e-6, global_clipnorm=1.0)
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

"""The network as it is pre-trained, and the sums its loss and metrics are made of.

Comes after `modeling/heads.py`; the training loop comes next.
"""

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import BertEncoder
from modeling.heads import MaskedLmHead, NextSentenceHead


class BertForPreTraining(keras.Model):
  """Encoder, masked-LM head and next-sentence head.

  Args:
    config: sizes, rates, activation.
    seed: of the initial weights.
    dtype: Keras dtype or policy, see `BertEncoder`.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    self.config = config
    self.encoder = BertEncoder(config, seed=seed, name="encoder", dtype=self.dtype_policy)
    self.masked_lm = MaskedLmHead(config, seed=seed, name="masked_lm", dtype=self.dtype_policy)
    self.next_sentence = NextSentenceHead(config, seed=seed, name="next_sentence")

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    """The heads by the names they have in our checkpoints."""
    return {"masked_lm": self.masked_lm, "next_sentence": self.next_sentence}

  def build(self, unused_input_shape=None):
    for layer in (self.encoder, self.masked_lm, self.next_sentence):
      layer.build()

  def build_weights(self) -> None:
    """Creates all variables, without data; does nothing where they exist. To be called in the strategy's scope."""
    if not self.built:
      self.build()

  def call(self, features: dict, *, dropout: DropoutStream | None = None) -> dict:
    """Runs the network on a batch of pre-training records.

    Args:
      features: int "input_ids", "input_mask", "segment_ids", each [B, S], and "masked_lm_positions" [B, P]; what
        else is in it is not looked at.
      dropout: the training step's random stream; None for inference.

    Returns:
      the encoder's outputs (see `BertEncoder.call`), "masked_lm_logits" float32 [B, P, V] and
      "next_sentence_logits" float32 [B, 2].
    """
    outputs = self.encoder(
        features["input_ids"], features["input_mask"], features["segment_ids"], dropout=dropout)
    return {
        **outputs,
        "masked_lm_logits": self.masked_lm(
            outputs["sequence_output"], features["masked_lm_positions"],
            ops.convert_to_tensor(self.encoder.embeddings.word_embeddings)),
        "next_sentence_logits": self.next_sentence(outputs["pooled_output"]),
    }


def pretraining_sums(outputs: dict, features: dict) -> dict:
  """What the losses and metrics of a batch add up to.

  Sums, not means, so that batches, replicas and hosts of different numbers of predictions add up exactly. The loss of
  the paper is masked_lm_loss_sum / masked_lm_count + next_sentence_loss_sum / next_sentence_count.

  Args:
    outputs: "masked_lm_logits" float32 [B, P, V], "next_sentence_logits" float32 [B, 2].
    features: "masked_lm_ids" int [B, P], "masked_lm_weights" float [B, P] (0 where the prediction is unused),
      "next_sentence_labels" int [B] or [B, 1], and optionally "is_real_example" [B], 0 for rows that only fill
      the last batch.

  Returns:
    float32 scalars: "masked_lm_loss_sum" (nats), "masked_lm_count", "masked_lm_correct", "next_sentence_loss_sum",
    "next_sentence_count", "next_sentence_correct".
  """
  token_weights = ops.cast(features["masked_lm_weights"], "float32")  # [B, P]
  sentence_labels = ops.reshape(features["next_sentence_labels"], (-1,))  # [B]
  sentence_weights = ops.ones_like(sentence_labels, dtype="float32")
  if "is_real_example" in features:
    sentence_weights = ops.cast(ops.reshape(features["is_real_example"], (-1,)), "float32")
    token_weights = token_weights * sentence_weights[:, None]
  return {
      **_weighted_sums("masked_lm", outputs["masked_lm_logits"], features["masked_lm_ids"], token_weights),
      **_weighted_sums("next_sentence", outputs["next_sentence_logits"], sentence_labels, sentence_weights),
  }


def _weighted_sums(name: str, logits, labels, weights) -> dict:
  """Logits [..., C], labels and weights [...]."""
  losses = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
  correct = ops.cast(ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32")), "float32")
  return {
      f"{name}_loss_sum": ops.sum(weights * losses),
      f"{name}_count": ops.sum(weights),
      f"{name}_correct": ops.sum(weights * correct),
  }

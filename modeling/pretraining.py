"""The network as it is pre-trained, and the sums its loss and metrics are made of.

Comes after `modeling/heads.py`; the training loop comes next.
"""

from collections.abc import Mapping, Sequence

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.heads import MaskedLmHead, NextSentenceHead
from modeling.losses import example_weights, weighted_sums
from modeling.task_model import BertTaskModel


class BertForPreTraining(BertTaskModel):
  """Encoder, masked-LM head and next-sentence head; the arguments are those of `BertTaskModel`."""

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.masked_lm = MaskedLmHead(config, seed=seed, name="masked_lm", dtype=self.dtype_policy)
    self.next_sentence = NextSentenceHead(config, seed=seed, name="next_sentence")

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    return {"masked_lm": self.masked_lm, "next_sentence": self.next_sentence}

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
    outputs = self.encode(features, dropout)
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
  token_weights, sentence_weights = _weights(features)
  token_logits = outputs["masked_lm_logits"]
  token_logits = ops.reshape(token_logits, (-1, token_logits.shape[-1]))  # [B * P, V]
  token_labels = ops.reshape(features["masked_lm_ids"], (-1,))
  sentence_labels = ops.reshape(features["next_sentence_labels"], (-1,))  # [B]
  return {
      **weighted_sums("masked_lm", token_logits, token_labels, ops.reshape(token_weights, (-1,))),
      **weighted_sums("next_sentence", outputs["next_sentence_logits"], sentence_labels, sentence_weights),
  }


def pretraining_counts(features: dict) -> dict:
  """The denominators of the loss, from the features alone: known before the network has run.

  Args:
    features: as for `pretraining_sums`.

  Returns:
    float32 scalars "masked_lm_count" and "next_sentence_count".
  """
  token_weights, sentence_weights = _weights(features)
  return {"masked_lm_count": ops.sum(token_weights), "next_sentence_count": ops.sum(sentence_weights)}


def pretraining_metrics(sums: Mapping[str, float], losses: Sequence[str] = ("masked_lm", "next_sentence")) -> dict:
  """Means from sums over any number of batches.

  Args:
    sums: what `pretraining_sums` returned, added up.
    losses: parts of the loss; the others are not reported.

  Returns:
    floats: "loss", and for each part "<part>_loss" (nats) and "<part>_accuracy".
  """
  metrics = {}
  for part in losses:
    count = max(sums[f"{part}_count"], 1e-5)
    metrics[f"{part}_loss"] = sums[f"{part}_loss_sum"] / count
    metrics[f"{part}_accuracy"] = sums[f"{part}_correct"] / count
  return {"loss": sum(metrics[f"{part}_loss"] for part in losses), **metrics}


def _weights(features: dict) -> tuple:
  """Weights of the masked positions, float32 [B, P], and of the examples, float32 [B]."""
  sentence_weights = example_weights(features)
  return ops.cast(features["masked_lm_weights"], "float32") * sentence_weights[:, None], sentence_weights

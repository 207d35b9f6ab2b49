"""Which of several endings continues a text best (section 4.4 of the paper): the model, its head and its sums.

Input: ids [B, K, S] of every text with each of its K endings; output: logits [B, K].
"""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import encoder_inputs
from modeling.losses import Accuracy, CrossEntropy, example_weights, weighted_sums
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead


@register
class MultipleChoiceHead(LinearHead):
  """A score for every choice."""

  key = "multiple_choice"
  _arguments = ("seed", "dropout_rate")

  def __init__(self, config: BertConfig, *, seed: int = 0, dropout_rate: float = HEAD_DROPOUT, **kwargs):
    super().__init__(config, 1, seed=seed, dropout_rate=dropout_rate, **kwargs)

  def call(self, pooled_output, *, choices: int, dropout: DropoutStream | None = None, training: bool | None = None):
    """[B * choices, H], the choices of an example side by side → float32 logits [B, choices]."""
    return ops.reshape(self.scores(pooled_output, dropout, training), (-1, choices))


@register
class BertForMultipleChoice(BertTaskModel):
  """Encoder and multiple-choice head.

  Args:
    config: sizes, rates, activation.
    head_dropout: of what the head reads.
    kwargs: as in `BertTaskModel`.
  """

  _arguments = (*BertTaskModel._arguments, "head_dropout")

  def __init__(self, config: BertConfig, *, seed: int = 0, head_dropout: float = HEAD_DROPOUT, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.head_dropout = head_dropout
    self.multiple_choice = MultipleChoiceHead(config, seed=seed, dropout_rate=head_dropout)
    self.build_weights()

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    return {"multiple_choice": self.multiple_choice}

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """Scores the choices of a batch.

    Args:
      features: as for `BertForClassification`, but each input [B, K, S]: sequence k of an example is its text with
        ending k. K must be known while a graph is made.
      dropout: the stream of a step of our own training loop; its first example is counted in examples, not choices.
      training: as in `BertEncoder.call`.

    Returns:
      float32 logits [B, K].
    """
    inputs = {name: value for name, value in encoder_inputs(features).items() if value is not None}
    choices, length = ops.shape(inputs["input_ids"])[1:]
    batch = inputs["input_ids"].shape[0]
    rows = -1 if batch is None else batch * choices
    flat = {name: ops.reshape(value, (rows, length)) for name, value in inputs.items()}
    if dropout is not None:
      dropout = dataclasses.replace(dropout, first_example=dropout.first_example * choices)
    pooled = self.encode(flat, dropout, training)["pooled_output"]
    return self.multiple_choice(pooled, choices=choices, dropout=dropout, training=training)

  def compile_defaults(self) -> dict:
    """Cross-entropy over the choices; y int [B] is the number of the right one."""
    return {"loss": CrossEntropy(), "weighted_metrics": [Accuracy()]}

  @staticmethod
  def fit_batch(features: dict) -> tuple:
    """(inputs, labels, weights) as `fit` takes them, of features with "label_ids" as for `multiple_choice_sums`."""
    return features, features["label_ids"], example_weights(features)


def multiple_choice_sums(logits, features: dict) -> dict:
  """Sums of cross-entropy and correct predictions over a batch.

  Args:
    logits: float32 [B, K].
    features: "label_ids" int [B], the right choices, and optionally "is_real_example" [B], 0 for padding examples.

  Returns:
    float32 scalars "multiple_choice_loss_sum" (nats), "multiple_choice_count", "multiple_choice_correct".
  """
  return weighted_sums("multiple_choice", logits, features["label_ids"], example_weights(features))


def multiple_choice_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" and "accuracy" from sums over any number of batches."""
  count = max(sums["multiple_choice_count"], 1e-5)
  return {"loss": sums["multiple_choice_loss_sum"] / count, "accuracy": sums["multiple_choice_correct"] / count}

"""Classes and scores of sequences and pairs (section 4.1 of the paper): the model, its head and its sums.

Input: ids [B, S]; output: logits [B, C].
"""

from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import Accuracy, CrossEntropy, example_weights, weighted_sums
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead, WithClasses


@register
class ClassificationHead(LinearHead):
  """One of C classes for a sequence or a pair; one class: a number, as STS-B asks for."""

  key = "classifier"

  def call(self, pooled_output, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """[B, H] → float32 logits [B, C]."""
    return self.scores(pooled_output, dropout, training)


@register
class BertForClassification(WithClasses, BertTaskModel):
  """Encoder and classification head.

  Args:
    config: sizes, rates, activation.
    classes: C; 1 for regression.
    head_dropout: of what the head reads.
    kwargs: as in `BertTaskModel`.
  """

  _head = ClassificationHead
  _arguments = (*BertTaskModel._arguments, "classes", "head_dropout")

  def __init__(self, config: BertConfig, classes: int, *, seed: int = 0, head_dropout: float = HEAD_DROPOUT, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.classes = classes
    self.head_dropout = head_dropout
    self.classifier = ClassificationHead(config, classes, seed=seed, dropout_rate=head_dropout)
    self.build_weights()

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    return {"classifier": self.classifier}

  def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
    """Scores a batch.

    Args:
      features: a dict with int "input_ids" [B, S] and the other inputs of the encoder, other keys are ignored; or a
        tensor or list, as there.
      dropout, training: as in `BertEncoder.call`.

    Returns:
      float32 logits [B, C].
    """
    return self.classifier(self.encode(features, dropout, training)["pooled_output"], dropout=dropout,
                           training=training)

  def compile_defaults(self) -> dict:
    """Cross-entropy of y int [B]; with one class the mean squared error of y float [B]."""
    if self.classes == 1:
      return {"loss": keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"),
              "weighted_metrics": [keras.metrics.MeanAbsoluteError("mean_absolute_error")]}
    return {"loss": CrossEntropy(), "weighted_metrics": [Accuracy()]}

  @staticmethod
  def fit_batch(features: dict) -> tuple:
    """(inputs, labels, weights) as `fit` takes them, of features with "label_ids" as for `classification_sums`."""
    return features, features["label_ids"], example_weights(features)


def classification_sums(logits, features: dict) -> dict:
  """Sums of cross-entropy and correct predictions over a batch (`create_model` of the original's run_classifier).

  Args:
    logits: float32 [B, C].
    features: "label_ids" int [B] and optionally "is_real_example" [B], 0 for padding examples.

  Returns:
    float32 scalars "classification_loss_sum" (nats), "classification_count", "classification_correct".
  """
  return weighted_sums("classification", logits, features["label_ids"], example_weights(features))


def classification_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" and "accuracy" from sums over any number of batches."""
  count = max(sums["classification_count"], 1e-5)
  return {"loss": sums["classification_loss_sum"] / count, "accuracy": sums["classification_correct"] / count}


def regression_sums(logits, features: dict) -> dict:
  """Sums of squared and absolute errors over a batch.

  Args:
    logits: float32 [B, 1], the predicted scores.
    features: "label_ids" float32 [B], the expected scores; optionally "is_real_example", as for classification.

  Returns:
    float32 scalars "regression_loss_sum", "regression_count", "regression_absolute_error_sum".
  """
  weights = example_weights(features)
  errors = logits[:, 0] - ops.cast(features["label_ids"], "float32")
  return {
      "regression_loss_sum": ops.sum(weights * ops.square(errors)),
      "regression_count": ops.sum(weights),
      "regression_absolute_error_sum": ops.sum(weights * ops.absolute(errors)),
  }


def regression_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" (mean squared error) and "mean_absolute_error" from sums over any number of batches."""
  count = max(sums["regression_count"], 1e-5)
  return {"loss": sums["regression_loss_sum"] / count,
          "mean_absolute_error": sums["regression_absolute_error_sum"] / count}

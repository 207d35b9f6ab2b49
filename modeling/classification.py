"""The network for classes and scores of sequences and pairs (section 4.1 of the paper), and its sums.

Comes after `modeling/task_heads.py`; `tasks/classification/task.py` trains it.
"""

from collections.abc import Mapping

from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import example_weights, weighted_sums
from modeling.task_heads import ClassificationHead
from modeling.task_model import BertTaskModel


class BertForClassification(BertTaskModel):
  """Encoder and classification head.

  Args:
    config: sizes, rates, activation.
    classes: C; 1 for regression.
    seed: of the initial weights.
    dtype: Keras dtype or policy, see `BertEncoder`.
  """

  def __init__(self, config: BertConfig, classes: int, *, seed: int = 0, **kwargs):
    super().__init__(config, seed=seed, **kwargs)
    self.classifier = ClassificationHead(config, classes, seed=seed)

  @property
  def heads(self) -> dict:
    return {"classifier": self.classifier}

  def call(self, features: dict, *, dropout: DropoutStream | None = None):
    """Scores a batch.

    Args:
      features: int "input_ids", "input_mask", "segment_ids", each [B, S]; what else is in it is not looked at.
      dropout: the training step's random stream; None for inference.

    Returns:
      float32 logits [B, C].
    """
    return self.classifier(self.encode(features, dropout)["pooled_output"], dropout=dropout)


def classification_sums(logits, features: dict) -> dict:
  """Sums of cross-entropy and hits over a batch (`create_model` of the original's run_classifier).

  Args:
    logits: float32 [B, C].
    features: "label_ids" int [B] and optionally "is_real_example" [B], 0 for rows that only fill the batch.

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
    features: "label_ids" float32 [B], the scores wanted; optionally "is_real_example", as for classification.

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

"""Classes and scores of sequences and pairs (section 4.1 of the paper): the model, its head and its sums.

Input: ids [B, S]; output: logits [B, C].
"""

from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import DropoutStream
from modeling.losses import Accuracy, CrossEntropy, example_weights, loss_weights, softmax_cross_entropy
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
    head_dropout: dropout rate of the head's input.
    kwargs: as in `BertTaskModel`.

  Examples:
      config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
      model = BertForClassification(config, classes=3)
      features = {"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}
      model(features).shape                                             # (2, 3): logits
      model.compile(optimizer=BertAdamW(1e-4), loss=CrossEntropy(), metrics=[Accuracy()])
      model.fit(features, np.array([0, 2]), verbose=0)
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
    features: "label_ids" int [B]; optionally "is_real_example" [B], 0 for padding examples, and "loss_weight" float32
      [B], how much an example counts in the loss, 1 where it is not given.

  Returns:
    float32 scalars "classification_loss_sum" (nats), "classification_count" (what the loss is divided by),
    "classification_correct", "classification_examples".
  """
  labels = ops.cast(features["label_ids"], "int32")
  losses, predictions = softmax_cross_entropy(logits, labels)
  weights = example_weights(features)
  return {
      **_loss_sums("classification", losses, features),
      "classification_correct": ops.sum(weights * ops.cast(ops.equal(predictions, labels), "float32")),
      "classification_examples": ops.sum(weights),
  }


def classification_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" and "accuracy" from sums over any number of batches."""
  return {"loss": _mean_loss("classification", sums),
          "accuracy": sums["classification_correct"] / max(sums["classification_examples"], 1e-5)}


def multi_label_sums(logits, features: dict, positive_weights=None) -> dict:
  """Sums of binary cross-entropy and correct predictions over a batch, where several classes may apply or none.

  The loss of an example is the mean over the classes, as in PyTorch's BCEWithLogitsLoss. A class is predicted where its
  probability is at least one half.

  Args:
    logits: float32 [B, C].
    features: "label_ids" [B, C], 1 for the classes that apply and 0 for the others; the rest as for
      `classification_sums`.
    positive_weights: float32 [C], how much it counts that a class applies, against 1 where it does not; None for 1.

  Returns:
    float32 scalars "multi_label_loss_sum" (nats), "multi_label_count" (what the loss is divided by),
    "multi_label_examples", "multi_label_exact" (examples whose classes are all right), "multi_label_correct",
    "multi_label_predicted" and "multi_label_expected" (classes that were predicted, apply, or both).
  """
  labels = ops.cast(features["label_ids"], "float32")
  # log(1 + exp(-|x|)) is small whatever x is.
  rest = ops.log1p(ops.exp(-ops.absolute(logits)))
  missed, invented = rest + ops.relu(-logits), rest + ops.relu(logits)  # -log p, -log(1 - p)
  losses = labels * missed * (1.0 if positive_weights is None else positive_weights) + (1.0 - labels) * invented
  predicted = ops.cast(logits >= 0, "float32")
  weights = example_weights(features)
  exact = ops.cast(ops.all(ops.equal(predicted, labels), axis=-1), "float32")
  counted = weights[:, None]
  return {
      **_loss_sums("multi_label", ops.mean(losses, axis=-1), features),
      "multi_label_examples": ops.sum(weights),
      "multi_label_exact": ops.sum(weights * exact),
      "multi_label_correct": ops.sum(counted * predicted * labels),
      "multi_label_predicted": ops.sum(counted * predicted),
      "multi_label_expected": ops.sum(counted * labels),
  }


def multi_label_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss", "micro_f1" and "subset_accuracy" from sums over any number of batches."""
  both = max(sums["multi_label_predicted"] + sums["multi_label_expected"], 1e-5)
  return {"loss": _mean_loss("multi_label", sums), "micro_f1": 2.0 * sums["multi_label_correct"] / both,
          "subset_accuracy": sums["multi_label_exact"] / max(sums["multi_label_examples"], 1e-5)}


def regression_sums(logits, features: dict) -> dict:
  """Sums of squared and absolute errors over a batch.

  Args:
    logits: float32 [B, 1], the predicted scores.
    features: "label_ids" float32 [B], the expected scores; the rest as for `classification_sums`.

  Returns:
    float32 scalars "regression_loss_sum", "regression_count" (what the loss is divided by),
    "regression_absolute_error_sum", "regression_examples".
  """
  weights = example_weights(features)
  errors = logits[:, 0] - ops.cast(features["label_ids"], "float32")
  return {
      **_loss_sums("regression", ops.square(errors), features),
      "regression_absolute_error_sum": ops.sum(weights * ops.absolute(errors)),
      "regression_examples": ops.sum(weights),
  }


def regression_metrics(sums: Mapping[str, float]) -> dict[str, float]:
  """"loss" (mean squared error) and "mean_absolute_error" from sums over any number of batches."""
  return {"loss": _mean_loss("regression", sums),
          "mean_absolute_error": sums["regression_absolute_error_sum"] / max(sums["regression_examples"], 1e-5)}


def _loss_sums(name: str, losses, features: dict) -> dict:
  """"<name>_loss_sum" and "<name>_count" of losses [B]."""
  counted = loss_weights(features)
  return {f"{name}_loss_sum": ops.sum(counted * losses), f"{name}_count": ops.sum(counted)}


def _mean_loss(name: str, sums: Mapping[str, float]) -> float:
  return sums[f"{name}_loss_sum"] / max(sums[f"{name}_count"], 1e-5)

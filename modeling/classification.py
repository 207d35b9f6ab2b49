"""Classes and scores of sequences and pairs (section 4.1 of the paper): the model, its head and its losses.

Input: ids [B, S]; output: logits [B, C].
"""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.losses import SMALLEST_COUNT, ClassLoss, HeadLoss, RegressionLoss, example_weights
from modeling.saving import register
from modeling.task_model import BertWithClasses, LinearHead


def loss_weights(features: dict):
  """float32 [B]: how much examples count in the loss, `example_weights` times "loss_weight" [B] where that is given."""
  weights = example_weights(features)
  return weights * features["loss_weight"] if "loss_weight" in features else weights


@dataclasses.dataclass(frozen=True)
class MultiLabelLoss(HeadLoss):
  """Binary cross-entropy, in nats, micro F1 and subset accuracy: any of C classes may apply.

  Logits [B, C], labels [B, C] of 0 and 1. The loss of an example is the mean over the classes, as in PyTorch's
  BCEWithLogitsLoss. A class is predicted where its probability is at least one half.

  Attributes:
    positive_weights: C numbers, how much it counts that a class applies, against 1 where it does not; None for 1.
  """

  positive_weights: tuple[float, ...] | None = None

  def measure(self, logits, labels) -> tuple:
    labels = ops.cast(labels, "float32")
    positive = 1.0 if self.positive_weights is None else ops.convert_to_tensor(self.positive_weights, "float32")
    predicted = ops.cast(logits >= 0, "float32")
    # Classes that were predicted and apply, or one of both.
    return _binary_cross_entropy(logits, labels, positive), {
        "exact": ops.cast(ops.all(ops.equal(predicted, labels), axis=-1), "float32"),
        "correct": ops.sum(predicted * labels, axis=-1), "predicted": ops.sum(predicted, axis=-1),
        "expected": ops.sum(labels, axis=-1)}

  def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
    both = max(sums["predicted"] + sums["expected"], SMALLEST_COUNT)
    return {"micro_f1": 2.0 * sums["correct"] / both, "subset_accuracy": sums["exact"] / examples}

  def soft_labels(self, logits, temperature: float):
    """A probability for each class, [B, C], at the temperature."""
    return ops.sigmoid(logits / temperature)

  def soft_losses(self, logits, soft_labels, temperature: float):
    """Binary cross-entropy, the mean over the classes; `positive_weights` are for hard labels."""
    return temperature**2 * _binary_cross_entropy(logits / temperature, soft_labels)

  def compile_defaults(self) -> dict:
    return {"loss": keras.losses.BinaryCrossentropy(from_logits=True, reduction="mean_with_sample_weight"),
            "weighted_metrics": [keras.metrics.BinaryAccuracy("label_accuracy", threshold=0.0)]}


def _binary_cross_entropy(logits, labels, positive_weights=1.0):
  """float32 [B], the mean over C classes, of logits [B, C] and probabilities [B, C] that they apply."""
  # log(1 + exp(-|x|)) is small whatever x is.
  rest = ops.log1p(ops.exp(-ops.absolute(logits)))
  missed, invented = rest + ops.relu(-logits), rest + ops.relu(logits)  # -log p, -log(1 - p)
  return ops.mean(labels * missed * positive_weights + (1.0 - labels) * invented, axis=-1)


# "label_ids" are int [B], float [B] or, where several classes may apply, [B, C]; "loss_weight" float32 [B] is how much
# an example counts in the loss, 1 where it is not given.
CLASSES = ClassLoss("classification", loss_weights=loss_weights)
SCORES = RegressionLoss("regression", loss_weights=loss_weights)
SEVERAL_CLASSES = MultiLabelLoss("multi_label", loss_weights=loss_weights)
# As Hugging Face's configurations call the problem.
_MULTI_LABEL = "multi_label_classification"


@register
class ClassificationHead(LinearHead):
  """One of C classes for a sequence or a pair, [B, H] → [B, C]; one class: a number, as STS-B asks for."""

  key = "classifier"


@register
class BertForClassification(BertWithClasses):
  """Encoder and classification head: float32 logits [B, C] of a batch.

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

  head_losses: tuple[HeadLoss, ...] = (CLASSES,)
  _head = ClassificationHead
  _heads = {"classification": "classifier"}
  classifier: ClassificationHead

  def __init__(self, config: BertConfig, classes: int, **kwargs):
    super().__init__(config, classes, **kwargs)
    # Of several classes one applies, unless the configuration says otherwise.
    several = config.extra.get("problem_type") == _MULTI_LABEL
    self.head_losses = (SCORES if classes == 1 else SEVERAL_CLASSES if several else CLASSES,)

"""Cross-entropy, and the sums over examples that losses and metrics of our own training loop are made of.

`CrossEntropy` and `Accuracy` are the same for `compile` and `fit`.
"""

from collections.abc import Mapping

import keras
from keras import ops

from modeling.saving import register


def softmax_cross_entropy(logits, labels):
  """Negative log-likelihood of the labels, and the classes with the highest scores.

  Args:
    logits: float32 [R, C].
    labels: int [R], each from 0 to C - 1.

  Returns:
    losses float32 [R], in nats, and predictions int32 [R]; of equal scores the first is predicted.
  """
  labels = ops.cast(labels, "int32")
  if keras.backend.backend() == "tensorflow":
    return _tensorflow_cross_entropy(logits, labels)
  predictions = ops.cast(ops.argmax(logits, axis=-1), "int32")
  return ops.sparse_categorical_crossentropy(labels, logits, from_logits=True), predictions


def example_weights(features: dict):
  """float32 [B]: 1 for examples, 0 for padding examples ("is_real_example" 0)."""
  if "is_real_example" in features:
    return ops.cast(ops.reshape(features["is_real_example"], (-1,)), "float32")
  return ops.ones((ops.shape(features["input_ids"])[0],), "float32")


def loss_weights(features: dict):
  """float32 [B]: how much examples count in the loss, `example_weights` times "loss_weight" [B] where that is given."""
  weights = example_weights(features)
  return weights * features["loss_weight"] if "loss_weight" in features else weights


def weighted_sums(name: str, logits, labels, weights, parts: Mapping | None = None) -> dict:
  """What the loss and the accuracy of a classification add up to.

  Args:
    name: of the loss.
    logits: float32 [R, C].
    labels: int [R].
    weights: float32 [R].
    parts: name → weights float32 [R], of parts of the rows whose accuracy is asked for by itself; None for none.

  Returns:
    float32 scalars "<name>_loss_sum" (nats), "<name>_count", "<name>_correct", and the last two for each part.
  """
  losses, predictions = softmax_cross_entropy(logits, labels)
  correct = ops.cast(ops.equal(predictions, ops.cast(labels, "int32")), "float32")
  sums: dict = {}
  for part, part_weights in (parts or {}).items():
    sums |= {f"{part}_count": ops.sum(part_weights), f"{part}_correct": ops.sum(part_weights * correct)}
  return {
      **sums,
      f"{name}_loss_sum": ops.sum(weights * losses),
      f"{name}_count": ops.sum(weights),
      f"{name}_correct": ops.sum(weights * correct),
  }


def known_labels(logits, labels, weights=None) -> tuple:
  """Labels of any number of axes as rows, those that are to be ignored with a weight of 0.

  Args:
    logits: float [..., C].
    labels: int, of the same axes but the last, or with one of size 1 more; below 0 where there is none.
    weights: float, broadcastable to the axes of the labels; None for 1.

  Returns:
    logits float32 [R, C], labels int32 [R], weights float32 [R].
  """
  logits = ops.cast(logits, "float32")
  shape = ops.shape(logits)[:-1]
  labels = ops.cast(ops.reshape(labels, shape), "int32")
  known = ops.cast(labels >= 0, "float32")
  if weights is not None:
    weights = ops.cast(weights, "float32")
    missing = len(shape) - len(weights.shape)
    known = known * (ops.reshape(weights, (*ops.shape(weights), *[1] * missing)) if missing > 0
                     else ops.reshape(weights, shape))
  rows = ops.reshape(logits, (-1, logits.shape[-1]))
  return rows, ops.reshape(ops.maximum(labels, 0), (-1,)), ops.reshape(known, (-1,))


@register
class CrossEntropy(keras.losses.Loss):
  """Mean negative log-likelihood, in nats, of the labels that are not negative.

  y_true int [...], y_pred float [..., C] (logits). With weights the mean is over the sum of the weights, as in the
  paper and in our own loop, not over the number of labels, as in Keras.

  Examples:
      loss = CrossEntropy()
      logits = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]])
      float(loss(np.array([0, 1, -1]), logits))                         # 0.22: the third one has no label
  """

  def __init__(self, name: str = "cross_entropy", **kwargs):
    super().__init__(name=name, **kwargs)

  def call(self, y_true, y_pred):
    """float32 [R] for R labels; 0 where there is none."""
    logits, labels, weights = known_labels(y_pred, y_true)
    return weights * softmax_cross_entropy(logits, labels)[0]

  def __call__(self, y_true, y_pred, sample_weight=None):
    y_pred = ops.convert_to_tensor(y_pred)
    sums = weighted_sums("", *known_labels(y_pred, ops.convert_to_tensor(y_true), sample_weight))
    return sums["_loss_sum"] / ops.maximum(sums["_count"], 1e-5)

  def get_config(self) -> dict:
    return {"name": self.name}


@register
class Accuracy(keras.metrics.Mean):
  """Fraction of the labels that are not negative for which the highest score is that of the label.

  y_true int [...], y_pred float [..., C].

  Examples:
      accuracy = Accuracy()
      accuracy.update_state(np.array([0, 0, -1]), np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]))
      float(accuracy.result())                                          # 0.5
  """

  def __init__(self, name: str = "accuracy", **kwargs):
    super().__init__(name=name, **kwargs)

  def update_state(self, y_true, y_pred, sample_weight=None):
    logits, labels, weights = known_labels(ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true), sample_weight)
    correct = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels)
    return super().update_state(ops.cast(correct, "float32"), sample_weight=weights)


def _tensorflow_cross_entropy(logits, labels):
  """A third of the time of TensorFlow's own operation on a CPU, where R x V numbers are a lot.

  The softmax is at hand in a fast kernel, and it gives the log of the normaliser without another pass:
  log Σ exp(logits) = highest logit - log(highest probability), where the highest probability is at least 1 / C.
  """
  import tensorflow as tf

  rows = tf.range(tf.shape(logits)[0])
  predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
  at_label = tf.stack([rows, labels], axis=1)  # [R, 2]
  at_highest = tf.stack([rows, predictions], axis=1)

  @tf.custom_gradient
  def losses(scores):
    probabilities = tf.nn.softmax(scores)  # [R, C]
    log_normaliser = tf.gather_nd(scores, at_highest) - tf.math.log(tf.gather_nd(probabilities, at_highest))

    def gradient(upstream):
      return tf.tensor_scatter_nd_sub(probabilities * upstream[:, None], at_label, upstream)

    return log_normaliser - tf.gather_nd(scores, at_label), gradient

  return losses(logits), predictions

"""Classification losses, and the sums over examples that losses and metrics are made of.

Used by `modeling/pretraining.py`, `modeling/classification.py` and `modeling/question_answering.py`.
"""

import keras
from keras import ops


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
  """float32 [B]: 1 for examples, 0 for rows that only fill a batch ("is_real_example" 0)."""
  if "is_real_example" in features:
    return ops.cast(ops.reshape(features["is_real_example"], (-1,)), "float32")
  return ops.ones((ops.shape(features["input_ids"])[0],), "float32")


def weighted_sums(name: str, logits, labels, weights) -> dict:
  """What the loss and the accuracy of a classification add up to.

  Args:
    name: of the loss.
    logits: float32 [R, C].
    labels: int [R].
    weights: float32 [R].

  Returns:
    float32 scalars "<name>_loss_sum" (nats), "<name>_count", "<name>_correct".
  """
  losses, predictions = softmax_cross_entropy(logits, labels)
  correct = ops.cast(ops.equal(predictions, ops.cast(labels, "int32")), "float32")
  return {
      f"{name}_loss_sum": ops.sum(weights * losses),
      f"{name}_count": ops.sum(weights),
      f"{name}_correct": ops.sum(weights * correct),
  }


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

"""Losses and metrics of heads, each declared once: sums of a training step, Keras' losses, scores
of an evaluation.

`CrossEntropy` and `Accuracy` are what `compile` and `fit` take of it; `DistillationLoss` is that of
a student that learns from the soft labels of a teacher (arXiv 1503.02531, 1908.08962).
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from modeling.saving import register
from modeling.xla import is_jit_compiled

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# Where there is nothing to divide by (the original adds 1e-5 to every count).
SMALLEST_COUNT = 1e-5
# The perplexity of a larger loss is written as that of this one: beyond, there is no float for it.
_LARGEST_EXPONENT = 700.0


def softmax_cross_entropy(logits, labels):
    """Negative log-likelihood of the labels, and the classes with the highest scores.

    Args:
      logits: float32 [R, C].
      labels: int [R], each from 0 to C - 1.

    Returns:
      losses float32 [R], in nats, and predictions int32 [R]; of equal scores the first is
      predicted.
    """
    labels = ops.cast(labels, "int32")
    if keras.backend.backend() != "tensorflow":
        return (
            ops.sparse_categorical_crossentropy(labels, logits, from_logits=True),
            ops.cast(ops.argmax(logits, axis=-1), "int32"),
        )
    predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
    if is_jit_compiled():
        return _compiled_cross_entropy(logits, labels), predictions
    rows = tf.range(tf.shape(logits)[0])
    at_label = tf.stack([rows, labels], axis=1)  # [R, 2]
    at_highest = tf.stack([rows, predictions], axis=1)

    @tf.custom_gradient
    def losses(scores):
        # A third of the time of TensorFlow's own operation on a CPU, where R x V numbers are a lot.
        # The softmax is at hand in a fast kernel, and it gives the log of the normaliser without
        # another pass: log Σ exp(logits) = highest logit - log(highest probability), where the
        # highest probability is at least 1 / C.
        probabilities = tf.nn.softmax(scores)  # [R, C]
        log_normaliser = tf.gather_nd(scores, at_highest) - tf.math.log(
            tf.gather_nd(probabilities, at_highest)
        )

        def gradient(upstream):
            return tf.tensor_scatter_nd_sub(probabilities * upstream[:, None], at_label, upstream)

        return log_normaliser - tf.gather_nd(scores, at_label), gradient

    return losses(logits), predictions


def _compiled_cross_entropy(logits, labels):
    """float32 [R]: the same without lookups and a scatter, for which XLA would transpose and copy
    all logits."""
    is_label = tf.range(logits.shape[-1], dtype=tf.int32)[None] == labels[:, None]  # [R, C]

    @tf.custom_gradient
    def losses(scores):
        highest = tf.reduce_max(scores, axis=-1, keepdims=True)
        log_normaliser = (
            tf.math.log(tf.reduce_sum(tf.exp(scores - highest), axis=-1, keepdims=True)) + highest
        )
        at_label = tf.reduce_sum(tf.where(is_label, scores, 0.0), axis=-1)

        def gradient(upstream):
            return (tf.exp(scores - log_normaliser) - tf.cast(is_label, tf.float32)) * upstream[
                :, None
            ]

        return log_normaliser[:, 0] - at_label, gradient

    return losses(logits)


def example_weights(features: dict):
    """float32 [B]: 1 for examples, 0 for padding examples ("is_real_example" 0)."""
    if "is_real_example" in features:
        return ops.cast(ops.reshape(features["is_real_example"], (-1,)), "float32")
    return ops.ones((ops.shape(features["input_ids"])[0],), "float32")


@dataclasses.dataclass(frozen=True)
class HeadLoss:
    """Loss and metrics of a head, declared once.

    From it follow the sums and counts of a training step, the defaults of `compile`, the labels and
    weights of `fit`, and the scores of an evaluation. The loss is a ratio of sums, <name>_loss_sum
    / <name>_count, so that batches, replicas and hosts of different numbers of examples add up
    exactly. This one is of heads with logits [..., C] and int labels [...], where one of C classes
    is right: softmax cross-entropy, in nats, and accuracy. Subclasses measure other things.

    Attributes:
      name: begins the names of the sums.
      labels: features → labels [...]; each is a row, of R in all.
      weights: features → float32 [...], 0 for the rows that do not count, such as padding examples.
      loss_weights: the same for the loss, where some rows count more than others; None where it is
        the same.
      parts: name → weights, features → float32 [...], of rows whose metrics are counted by
        themselves, too.
    """

    name: str
    labels: Callable[[dict], object] = lambda features: features["label_ids"]
    weights: Callable[[dict], object] = example_weights
    loss_weights: Callable[[dict], object] | None = None
    parts: Mapping[str, Callable[[dict], object]] = dataclasses.field(default_factory=dict)

    def measure(self, logits, labels) -> tuple:
        """Scores every row.

        Args:
          logits: float32, the outputs of the head.
          labels: as `labels` gives them.

        Returns:
          the losses, float32 [R], and what else is added up: name → float32 [R].
        """
        labels = ops.cast(ops.reshape(labels, (-1,)), "int32")
        losses, predictions = softmax_cross_entropy(
            ops.reshape(logits, (-1, logits.shape[-1])), labels
        )
        return losses, {"correct": ops.cast(ops.equal(predictions, labels), "float32")}

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        """The metrics beside the loss, from sums over so many rows; `sums` has the names of
        `measure`."""
        return {"accuracy": sums["correct"] / examples}

    def soft_labels(self, logits, temperature: float):
        """What a teacher with these logits would have its student predict, see `DistillationLoss`;
        float32 [R, ...].

        Of classes it is their probabilities [R, C] at the temperature.
        """
        return ops.softmax(ops.reshape(logits, (-1, logits.shape[-1])) / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """float32 [R], against the soft labels of a teacher; of classes times the square of the
        temperature.

        There it is the cross-entropy between the probabilities of teacher and student, both at the
        temperature.
        """
        found = ops.log_softmax(ops.reshape(logits, (-1, logits.shape[-1])) / temperature)
        return -(temperature**2) * ops.sum(soft_labels * found, axis=-1)

    def compile_defaults(self) -> dict:
        """The loss and the metrics as `keras.Model.compile` takes them."""
        return {"loss": CrossEntropy(), "weighted_metrics": [Accuracy()]}

    def fit_batch(self, features: dict) -> tuple:
        """(inputs, labels, weights) as `fit` takes them."""
        return features, self.labels(features), self.weights(features)

    def counts(self, features: dict) -> dict:
        """ "<name>_count", float32 []: what the loss is divided by, known before the model has
        run."""
        return {f"{self.name}_count": ops.sum((self.loss_weights or self.weights)(features))}

    def sums(self, logits, features: dict) -> dict:
        """Adds up the loss and the metrics of a batch.

        Args:
          logits: float32, the outputs of the head.
          features: with the labels, and optionally "is_real_example" [B], 0 for padding examples.

        Returns:
          float32 scalars "<name>_loss_sum", "<name>_count", and what the metrics are made of.
        """
        counted = None if self.loss_weights is None else self.loss_weights(features)
        parts = {part: weights(features) for part, weights in self.parts.items()}
        return self.sums_of_rows(
            logits, self.labels(features), self.weights(features), counted, parts
        )

    def sums_of_rows(
        self, logits, labels, weights, loss_weights=None, parts: Mapping | None = None
    ) -> dict:
        """The same of labels and weights in place of features."""
        losses, measured = self.measure(logits, labels)
        weights = ops.reshape(weights, (-1,))
        sums: dict = {}
        for part, values in (parts or {}).items():
            values = ops.reshape(values, (-1,))
            sums |= {f"{part}_count": ops.sum(values)}
            sums |= {f"{part}_{what}": ops.sum(values * value) for what, value in measured.items()}
        if loss_weights is None:
            loss_weights = weights
        else:
            sums["examples"] = ops.sum(weights)
        sums |= {"loss_sum": ops.sum(loss_weights * losses), "count": ops.sum(loss_weights)}
        sums |= {what: ops.sum(weights * value) for what, value in measured.items()}
        return {f"{self.name}_{what}": value for what, value in sums.items()}

    def metrics(self, sums: Mapping[str, float]) -> dict[str, float]:
        """ "loss" and the metrics, from sums over any number of batches."""
        own = {
            name.removeprefix(f"{self.name}_"): value
            for name, value in sums.items()
            if name.startswith(f"{self.name}_")
        }
        count = max(own["count"], SMALLEST_COUNT)
        metrics = {
            "loss": own["loss_sum"] / count,
            **self.means(own, max(own.get("examples", count), SMALLEST_COUNT)),
        }
        for part in self.parts:
            if own[f"{part}_count"] > 0:
                of_part = {
                    name.removeprefix(f"{part}_"): value
                    for name, value in own.items()
                    if name.startswith(f"{part}_")
                }
                metrics |= {
                    f"{name}_{part}": value
                    for name, value in self.means(of_part, of_part["count"]).items()
                }
        return metrics

    def score(self, logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """`metrics` of all examples of a set in memory, which count alike; added up in float64."""
        losses, measured = self.measure(np.asarray(logits, np.float32), labels)
        sums = {
            what: np.sum(ops.convert_to_numpy(values), dtype=np.float64).item()
            for what, values in {"loss_sum": losses, **measured}.items()
        }
        return self.metrics(
            {f"{self.name}_{what}": value for what, value in {**sums, "count": len(losses)}.items()}
        )


class TokenLoss(HeadLoss):
    """That of a language model, which also has a perplexity (table 6 of the paper)."""

    def metrics(self, sums: Mapping[str, float]) -> dict[str, float]:
        metrics = super().metrics(sums)
        return {**metrics, "perplexity": math.exp(min(metrics["loss"], _LARGEST_EXPONENT))}


class RegressionLoss(HeadLoss):
    """Squared and absolute error of a score: logits [B, 1], labels float [B]."""

    def measure(self, logits, labels) -> tuple:
        errors = logits[:, 0] - ops.cast(labels, "float32")
        return ops.square(errors), {"absolute_error_sum": ops.absolute(errors)}

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        return {"mean_absolute_error": sums["absolute_error_sum"] / examples}

    def soft_labels(self, logits, temperature: float):
        """The teacher's scores, [B]: they have no temperature."""
        return logits[:, 0]

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Squared distance from the teacher's scores."""
        return ops.square(logits[:, 0] - soft_labels)

    def compile_defaults(self) -> dict:
        return {
            "loss": keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"),
            "weighted_metrics": [keras.metrics.MeanAbsoluteError("mean_absolute_error")],
        }


class SpanLoss(HeadLoss):
    """The mean of the cross-entropies, in nats, of a start and an end, and how often both are
    right.

    Logits [B, S] and [B, S], labels int [B] and [B]. As in `compute_loss` of the original's
    run_squad, padding takes part in the softmax.
    """

    def measure(self, logits, labels) -> tuple:
        starts, ends = (ops.cast(one, "int32") for one in labels)
        start_losses, best_starts = softmax_cross_entropy(logits[0], starts)
        end_losses, best_ends = softmax_cross_entropy(logits[1], ends)
        correct = ops.logical_and(ops.equal(best_starts, starts), ops.equal(best_ends, ends))
        return (start_losses + end_losses) / 2.0, {"correct": ops.cast(correct, "float32")}

    def soft_labels(self, logits, temperature: float):
        """Probabilities of the positions as start and as end, [2, B, S], at the temperature."""
        return ops.softmax(ops.stack(logits) / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """The mean of the cross-entropies of start and end."""
        found = ops.log_softmax(ops.stack(logits) / temperature)
        return -(temperature**2) * ops.mean(ops.sum(soft_labels * found, axis=-1), axis=0)

    def compile_defaults(self) -> dict:
        return {
            "loss": [CrossEntropy("start_loss"), CrossEntropy("end_loss")],
            "loss_weights": [0.5, 0.5],
            "weighted_metrics": [[Accuracy("start_accuracy")], [Accuracy("end_accuracy")]],
        }

    def fit_batch(self, features: dict) -> tuple:
        return features, self.labels(features), (self.weights(features),) * 2


def known_labels(logits, labels, weights=None) -> tuple:
    """Labels of any number of axes as rows, those that are to be ignored with a weight of 0.

    Args:
      logits: float [..., C].
      labels: int, of the same axes but the last, or with one of size 1 more; below 0 where there is
        none.
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
        known = known * (
            ops.reshape(weights, (*ops.shape(weights), *[1] * missing))
            if missing > 0
            else ops.reshape(weights, shape)
        )
    rows = ops.reshape(logits, (-1, logits.shape[-1]))
    return rows, ops.reshape(ops.maximum(labels, 0), (-1,)), ops.reshape(known, (-1,))


@register
class CrossEntropy(keras.losses.Loss):
    """Mean negative log-likelihood, in nats, of the labels that are not negative.

    y_true int [...], y_pred float [..., C] (logits). With weights the mean is over the sum of the
    weights, as in the paper and in our own loop, not over the number of labels, as in Keras.

    Examples:
        loss = CrossEntropy()
        logits = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]])
        float(loss(np.array([0, 1, -1]), logits))                         # 0.22: the third one has
        no label
    """

    def __init__(self, name: str = "cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        """float32 []; `sample_weight` is broadcast to the labels."""
        logits, labels, weights = known_labels(
            ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true), sample_weight
        )
        losses, _ = softmax_cross_entropy(logits, labels)
        return ops.sum(weights * losses) / ops.maximum(ops.sum(weights), SMALLEST_COUNT)


@register
class Accuracy(keras.metrics.Mean):
    """Fraction of the labels that are not negative for which the highest score is that of the
    label.

    y_true int [...], y_pred float [..., C].

    Examples:
        accuracy = Accuracy()
        accuracy.update_state(np.array([0, 0, -1]), np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]))
        float(accuracy.result())                                          # 0.5
    """

    def __init__(self, name: str = "accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits, labels, weights = known_labels(
            ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true), sample_weight
        )
        correct = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels)
        return super().update_state(ops.cast(correct, "float32"), sample_weight=weights)


# Names in the features: the teacher's, and whether an example has a label of its own, 1 where it is
# not given.
SOFT_LABELS, IS_LABELLED = "soft_labels", "is_labelled"


@dataclasses.dataclass(frozen=True)
class DistillationLoss(HeadLoss):
    """weight × loss against the teacher + (1 - weight) × loss of the labels, for each row; see
    `distillation_loss`.

    A row without a label ("is_labelled" 0) has the first part alone, with a weight of 1. Features
    have the teacher's "soft_labels" besides what the other loss reads. The metrics are those of the
    other loss.

    Attributes:
      hard: the loss of the labels; it says what soft labels are, and how far the student is from
        them.
      weight: of the teacher's part, from 0 to 1.
      temperature: divides the logits of both before the softmax. The gradients shrink with its
        square, by which the teacher's part is multiplied.
    """

    hard: HeadLoss = HeadLoss("")
    weight: float = 1.0
    temperature: float = 1.0

    def measure(self, logits, labels) -> tuple:
        labels, soft_labels, is_labelled = labels
        hard_losses, measured = self.hard.measure(logits, labels)
        soft_losses = self.hard.soft_losses(logits, soft_labels, self.temperature)
        share = (1.0 - self.weight) * is_labelled
        return (1.0 - share) * soft_losses + share * hard_losses, measured

    def means(self, sums, examples: float) -> dict[str, float]:
        return self.hard.means(sums, examples)


def distillation_loss(
    hard: HeadLoss,
    weight: float,
    temperature: float,
    soft_labels: Callable[[dict], object] = lambda features: features[SOFT_LABELS],
) -> DistillationLoss:
    """The loss of a head whose student has a teacher; its sums have the names of those of `hard`.

    Args:
      soft_labels: features → the teacher's, where they are not among them.
    """
    return DistillationLoss(
        hard.name,
        labels=lambda features: (
            hard.labels(features),
            soft_labels(features),
            features.get(IS_LABELLED, 1.0),
        ),
        weights=hard.weights,
        loss_weights=hard.loss_weights,
        parts=hard.parts,
        hard=hard,
        weight=weight,
        temperature=temperature,
    )


def mean_soft_labels(hard: HeadLoss, logits: Sequence, temperature: float):
    """The mean of the soft labels of several teachers: of probabilities, not of logits.

    A teacher that is sure has no more of a say than one that is not; both ways are in section 2 of
    arXiv 1503.02531.
    """
    return sum(hard.soft_labels(one, temperature) for one in logits) / len(logits)

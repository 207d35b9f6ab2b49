"""Losses and metrics of heads.

Each `HeadLoss` declares a loss once. From it follow the sums of a training step, the arguments of
`keras.Model.compile` and `fit`, and the scores of an evaluation. `CrossEntropy` and the other
`WeightedMean`s, and `Accuracy`, are the Keras forms; `DistillationLoss` is for a student with a
teacher (arXiv 1503.02531, 1908.08962).
"""

import contextlib
import dataclasses
import math
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from bert_common.errors import UserError
from modeling.layers import known_values
from modeling.replicas import sum_over_replicas
from modeling.saving import register
from modeling.xla import is_jit_compiled

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# Lower bound of a loss's denominator, so that an empty batch gives 0 (the original adds 1e-5 to
# every count).
SMALLEST_COUNT = 1e-5
# exp() of more than about 709 overflows float64, so the perplexity is capped there.
_LARGEST_EXPONENT = 700.0
# Features of distillation: the teacher's probabilities or scores, and 1 for examples that have a
# label of their own (all, if it is missing).
SOFT_LABELS = "soft_labels"
IS_LABELED = "is_labeled"
# Logits that are measured together, see `HeadLoss.score`.
_NUMBERS_AT_ONCE = 1 << 24


def softmax_cross_entropy(logits, labels):
    """Computes the negative log-likelihood of the labels, and the predicted classes.

    Args:
      logits: float32 [R, C].
      labels: int [R], each from 0 to C - 1.

    Returns:
      losses float32 [R], in nats, and predictions int32 [R], the first of equal scores. Labels that
      are no class raise an error on a CPU; with XLA, on a GPU and in JAX their loss is infinite.
    """
    labels = ops.cast(labels, "int32")
    losses, predictions = _losses_and_predictions(logits, labels)
    is_class = (labels >= 0) & (labels < ops.shape(logits)[-1])
    # The logarithm of 1 is 0.
    return losses - ops.log(ops.cast(is_class, "float32")), predictions


def weighted(losses, weights):
    """Returns weights * losses: 0 for a weight of 0, also where a label that does not count is no
    class and its loss infinite."""
    return ops.where(ops.equal(weights, 0.0), 0.0, weights * losses)


def _losses_and_predictions(logits, labels) -> tuple:
    """Returns what `softmax_cross_entropy` does, with any losses for labels that are no class."""
    # The fast forms below are written in TensorFlow.
    if keras.backend.backend() != "tensorflow":
        losses = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        return losses, ops.cast(ops.argmax(logits, axis=-1), "int32")
    predictions = tf.argmax(logits, axis=-1, output_type=tf.int32)
    if is_jit_compiled():
        return _compiled_cross_entropy(logits, labels), predictions
    rows = tf.range(tf.shape(logits)[0])
    at_label = tf.stack([rows, labels], axis=1)  # [R, 2]
    at_highest = tf.stack([rows, predictions], axis=1)

    @tf.custom_gradient
    def losses_of(scores):
        # This takes a third of the time of TensorFlow's own operation on a CPU, which matters for
        # R x V logits. The softmax has a fast kernel and gives the log of the normalizer without
        # another pass: log Σ exp(logits) = highest logit - log(highest probability). The highest
        # probability is at least 1 / C, so its logarithm is safe.
        probabilities = tf.nn.softmax(scores)  # [R, C]
        log_highest = tf.math.log(tf.gather_nd(probabilities, at_highest))
        log_normalizer = tf.gather_nd(scores, at_highest) - log_highest

        def gradient(upstream):
            # d loss / d logits = softmax - one-hot, without the one-hot matrix [R, C].
            return tf.tensor_scatter_nd_sub(probabilities * upstream[:, None], at_label, upstream)

        return log_normalizer - tf.gather_nd(scores, at_label), gradient

    return losses_of(logits), predictions


def _compiled_cross_entropy(logits, labels):
    """Returns the losses, float32 [R], in a form that XLA fuses.

    XLA would transpose and copy all logits for the gathers and the scatter of
    `softmax_cross_entropy`; comparisons with the label need neither.
    """
    # A start or an end is one of the tokens, whose number differs from batch to batch.
    classes = tf.range(tf.shape(logits)[-1])
    is_label = classes[None] == labels[:, None]  # [R, C]

    @tf.custom_gradient
    def losses_of(scores):
        # Subtracting the highest score keeps exp() from overflowing.
        highest = tf.reduce_max(scores, axis=-1, keepdims=True)
        normalizer = tf.reduce_sum(tf.exp(scores - highest), axis=-1, keepdims=True)
        log_normalizer = tf.math.log(normalizer) + highest  # [R, 1]
        at_label = tf.reduce_sum(tf.where(is_label, scores, 0.0), axis=-1)

        def gradient(upstream):
            probabilities = tf.exp(scores - log_normalizer)
            return (probabilities - tf.cast(is_label, tf.float32)) * upstream[:, None]

        return log_normalizer[:, 0] - at_label, gradient

    return losses_of(logits)


def ops_for(features: dict):
    """Returns the module whose functions compute with features: `keras.ops`.

    Where `tf.data` maps a function and Keras computes with JAX or PyTorch, which take none of its
    tensors, it is TensorFlow's functions under the same names.
    """
    if keras.backend.backend() == "tensorflow":
        return ops
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not any(map(tensorflow.is_symbolic_tensor, features.values())):
        return ops
    return types.SimpleNamespace(
        arange=lambda stop, dtype: tensorflow.range(stop, dtype=dtype),
        cast=tensorflow.cast,
        convert_to_tensor=tensorflow.convert_to_tensor,
        equal=tensorflow.equal,
        logical_and=tensorflow.logical_and,
        max=tensorflow.reduce_max,
        maximum=tensorflow.maximum,
        ones=tensorflow.ones,
        ones_like=tensorflow.ones_like,
        pad=tensorflow.pad,
        reshape=tensorflow.reshape,
        shape=tensorflow.shape,
        where=tensorflow.where,
    )


def example_weights(features: dict):
    """Returns float32 [B]: 1 for examples, 0 for padding examples ("is_real_example" 0)."""
    ops = ops_for(features)
    if "is_real_example" in features:
        return ops.cast(ops.reshape(features["is_real_example"], (-1,)), "float32")
    return ops.ones((ops.shape(features["input_ids"])[0],), "float32")


@dataclasses.dataclass(frozen=True)
class HeadLoss:
    """Loss and metrics of a head: softmax cross-entropy, in nats, and accuracy.

    The loss is a ratio of sums, <name>_loss_sum / <name>_count. Batches, replicas and hosts with
    different numbers of examples therefore add up exactly. This class is for logits [..., C] and
    int labels [...]; subclasses measure other things.

    Attributes:
      name: prefix of the names of the sums.
      labels: function of the features that returns labels [...], R rows in all.
      weights: function of the features that returns float32 [...], 0 for rows that do not count,
        such as padding examples.
      loss_weights: the same for the loss, if some rows count more there; None for `weights`.
      parts: name → function that returns weights [...] of rows whose metrics are also reported
        separately, as "<metric>_<name>".
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
          labels: as `labels` returns them.

        Returns:
          the losses, float32 [R], and the other quantities to add up: name → float32 [R].
        """
        labels = ops.cast(ops.reshape(labels, (-1,)), "int32")
        # Labels of tokens have several axes; every one of them is a row here.
        rows = ops.reshape(logits, (-1, logits.shape[-1]))
        losses, predictions = softmax_cross_entropy(rows, labels)
        return losses, {"correct": ops.cast(ops.equal(predictions, labels), "float32")}

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        """Returns the metrics other than the loss, from sums over `examples` rows.

        The sums have the names that `measure` gives.
        """
        return {"accuracy": sums["correct"] / examples}

    def soft_labels(self, logits, temperature: float):
        """Returns a teacher's prediction for its student, float32 [R, ...].

        For classes it is their probabilities [R, C] at the temperature.
        """
        return ops.softmax(ops.reshape(logits, (-1, logits.shape[-1])) / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Returns the losses against the soft labels of a teacher, float32 [R].

        For classes it is the cross-entropy between the probabilities of teacher and student at the
        temperature, times its square, as gradients shrink with it.
        """
        rows = ops.reshape(logits, (-1, logits.shape[-1]))
        log_probabilities = ops.log_softmax(rows / temperature)
        return -(temperature**2) * ops.sum(soft_labels * log_probabilities, axis=-1)

    def compile_defaults(self) -> dict:
        """Returns loss and metrics as `keras.Model.compile` takes them."""
        return {"loss": CrossEntropy(), "weighted_metrics": [Accuracy()]}

    def fit_batch(self, features: dict) -> tuple:
        """Returns (inputs, labels, weights) as `keras.Model.fit` takes them."""
        return features, self.labels(features), self.weights(features)

    def counts(self, features: dict) -> dict:
        """Returns {"<name>_count": float32 []}, the denominator of the loss.

        It is known before the model has run.
        """
        weights = self.weights if self.loss_weights is None else self.loss_weights
        return {f"{self.name}_count": ops.sum(weights(features))}

    def total(self, sums: Mapping, counts: Mapping):
        """Returns the loss, float32 []: its sum divided by the count of the global batch."""
        # The count is over all replicas and micro-batches, so their gradients simply add up.
        count = ops.maximum(counts[f"{self.name}_count"], SMALLEST_COUNT)
        return sums[f"{self.name}_loss_sum"] / count

    def sums(self, logits, features: dict) -> dict:
        """Adds up the loss and the metrics of a batch.

        Args:
          logits: float32, the outputs of the head.
          features: with the labels, and optionally "is_real_example" [B], 0 for padding examples.

        Returns:
          float32 scalars "<name>_loss_sum", "<name>_count", and the sums that metrics need.
        """
        if self.loss_weights is not None:
            loss_weights = self.loss_weights(features)
        else:
            loss_weights = None
        return self.sums_of_rows(
            logits,
            self.labels(features),
            self.weights(features),
            loss_weights,
            {part: weights(features) for part, weights in self.parts.items()},
        )

    def sums_of_rows(
        self, logits, labels, weights, loss_weights=None, parts: Mapping | None = None
    ) -> dict:
        """Adds up loss and metrics as `sums` does, from labels and weights instead of features."""
        losses, measured = self.measure(logits, labels)
        weights = ops.reshape(weights, (-1,))
        sums: dict = {}
        for part, part_weights in ({} if parts is None else parts).items():
            part_weights = ops.reshape(part_weights, (-1,))
            sums[f"{part}_count"] = ops.sum(part_weights)
            for name, values in measured.items():
                sums[f"{part}_{name}"] = ops.sum(part_weights * values)
        if loss_weights is None:
            loss_weights = weights
        else:
            # Metrics count rows alike, so they need a denominator of their own.
            sums["examples"] = ops.sum(weights)
        sums["loss_sum"] = ops.sum(weighted(losses, loss_weights))
        sums["count"] = ops.sum(loss_weights)
        for name, values in measured.items():
            sums[name] = ops.sum(weights * values)
        return {f"{self.name}_{name}": value for name, value in sums.items()}

    def metrics(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Returns "loss" and the metrics, from sums over any number of batches."""
        own_sums = _without_prefix(sums, self.name)
        count = max(own_sums["count"], SMALLEST_COUNT)
        examples = max(own_sums.get("examples", count), SMALLEST_COUNT)
        metrics = {"loss": own_sums["loss_sum"] / count, **self.means(own_sums, examples)}
        for part in self.parts:
            part_sums = _without_prefix(own_sums, part)
            # A part without rows has no mean; 0 would look like a result.
            if part_sums["count"] > 0:
                for name, value in self.means(part_sums, part_sums["count"]).items():
                    metrics[f"{name}_{part}"] = value
        return metrics

    def score(self, logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Returns the metrics of all examples of a set in memory, added up in float64.

        Args:
          logits: [E, ...]. Each example counts for itself.
          labels: [E, ...].
        """
        # The logits of 30,000 classes take gigabytes, and so would every step of the calculation.
        rows_at_once = max(1, _NUMBERS_AT_ONCE * len(logits) // max(logits.size, 1))
        parts: dict[str, list[np.ndarray]] = {}
        for start in range(0, max(len(logits), 1), rows_at_once):
            part = slice(start, start + rows_at_once)
            losses, measured = self.measure(np.asarray(logits[part], np.float32), labels[part])
            for name, values in {"loss_sum": losses, **measured}.items():
                parts.setdefault(name, []).append(ops.convert_to_numpy(values))
        sums = {f"{self.name}_count": float(len(logits))}
        for name, arrays in parts.items():
            # float32 sums over large sets would depend on the order of the examples.
            total = np.sum(np.concatenate(arrays), dtype=np.float64)
            sums[f"{self.name}_{name}"] = total.item()
        return self.metrics(sums)


def _without_prefix(sums: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Returns the sums whose names begin with the prefix, by the rest of their names."""
    start = f"{prefix}_"
    return {
        name.removeprefix(start): value for name, value in sums.items() if name.startswith(start)
    }


class InBatchLoss(HeadLoss):
    """Loss that compares the examples of a batch with each other.

    The sums of parts of a batch do not add up to the sums of the batch, so a training step must see
    the outputs of the whole global batch at once: `bert_tf/training/joint_gradients.py`.

    Attributes:
      compared_features: names of the features that `sums` reads.
    """

    compared_features: tuple[str, ...] = ("is_real_example",)

    def features_to_gather(self, features: dict) -> dict:
        """Returns the features of a replica's examples that the sums of the whole batch need."""
        return {name: features[name] for name in self.compared_features if name in features}


class SumOfLosses:
    """Sum of the losses of several heads, for models that return logits by name.

    It has the methods of `HeadLoss` that a training step and an evaluation use.

    Args:
      losses: the heads' losses; the outputs of the model have "<name>_logits" for each.
    """

    def __init__(self, losses: Sequence[HeadLoss]):
        self.losses = tuple(losses)

    def counts(self, features: dict) -> dict:
        """Returns "<name>_count", float32 [], for every loss."""
        counts: dict = {}
        for loss in self.losses:
            counts.update(loss.counts(features))
        return counts

    def total(self, sums: Mapping, counts: Mapping):
        """Returns the sum of the losses, float32 []."""
        return sum(loss.total(sums, counts) for loss in self.losses)

    def sums(self, outputs: dict, features: dict) -> dict:
        """Adds up the losses and metrics of a batch, see `HeadLoss.sums`."""
        sums: dict = {}
        for loss in self.losses:
            sums.update(loss.sums(outputs[f"{loss.name}_logits"], features))
        return sums

    def metrics(self, sums: Mapping[str, float]) -> dict[str, float]:
        """Returns "loss" and the metrics of each loss as "<name>_<metric>"."""
        metrics = {"loss": 0.0}
        for loss in self.losses:
            for name, value in loss.metrics(sums).items():
                metrics[f"{loss.name}_{name}"] = value
            metrics["loss"] += metrics[f"{loss.name}_loss"]
        return metrics


class TokenLoss(HeadLoss):
    """Loss of a language model, with its perplexity (table 6 of the paper)."""

    def metrics(self, sums: Mapping[str, float]) -> dict[str, float]:
        metrics = super().metrics(sums)
        # The exponential of the mean loss, not the mean of exponentials.
        metrics["perplexity"] = math.exp(min(metrics["loss"], _LARGEST_EXPONENT))
        return metrics


class RegressionLoss(HeadLoss):
    """Squared and absolute error of a score: logits [B, 1], labels float [B]."""

    def measure(self, logits, labels) -> tuple:
        errors = logits[:, 0] - ops.cast(labels, "float32")
        return ops.square(errors), {"absolute_error_sum": ops.absolute(errors)}

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        return {"mean_absolute_error": sums["absolute_error_sum"] / examples}

    def soft_labels(self, logits, temperature: float):
        """Returns the teacher's scores, [B]; a score has no temperature."""
        return logits[:, 0]

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Returns the squared differences from the teacher's scores, [B]."""
        return ops.square(logits[:, 0] - soft_labels)

    def compile_defaults(self) -> dict:
        return {
            "loss": SquaredError(),
            "weighted_metrics": [keras.metrics.MeanAbsoluteError("mean_absolute_error")],
        }


class SpanLoss(HeadLoss):
    """Mean of the cross-entropies, in nats, of a start and an end, and how often both are right.

    Logits [B, S] and [B, S], labels int [B] and [B]. As in `compute_loss` of the original's
    run_squad, padding takes part in the softmax.
    """

    def measure(self, logits, labels) -> tuple:
        starts = ops.cast(labels[0], "int32")
        ends = ops.cast(labels[1], "int32")
        start_losses, best_starts = softmax_cross_entropy(logits[0], starts)
        end_losses, best_ends = softmax_cross_entropy(logits[1], ends)
        correct = ops.logical_and(ops.equal(best_starts, starts), ops.equal(best_ends, ends))
        return (start_losses + end_losses) / 2.0, {"correct": ops.cast(correct, "float32")}

    def soft_labels(self, logits, temperature: float):
        """Returns probabilities of positions as start and end, [2, B, S], at the temperature."""
        return ops.softmax(ops.stack(logits) / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Returns the means of the cross-entropies of start and end, [B]."""
        log_probabilities = ops.log_softmax(ops.stack(logits) / temperature)
        cross_entropies = -ops.sum(soft_labels * log_probabilities, axis=-1)  # [2, B]
        return temperature**2 * ops.mean(cross_entropies, axis=0)

    def compile_defaults(self) -> dict:
        # Keras adds up the losses of several outputs; weights of one half make it their mean.
        return {
            "loss": [CrossEntropy("start"), CrossEntropy("end")],
            "loss_weights": [0.5, 0.5],
            "weighted_metrics": [[Accuracy("start_accuracy")], [Accuracy("end_accuracy")]],
        }

    def fit_batch(self, features: dict) -> tuple:
        weights = self.weights(features)
        return features, self.labels(features), (weights, weights)


def check_reads_logits(loss) -> None:
    """Raises `UserError` for losses of `keras.Model.compile` that take logits for probabilities."""
    of_probabilities = (
        keras.losses.binary_crossentropy,
        keras.losses.binary_focal_crossentropy,
        keras.losses.categorical_crossentropy,
        keras.losses.categorical_focal_crossentropy,
        keras.losses.categorical_generalized_cross_entropy,
        keras.losses.dice,
        keras.losses.kl_divergence,
        keras.losses.sparse_categorical_crossentropy,
        keras.losses.tversky,
    )
    for part in keras.tree.flatten(loss):
        # Keras takes names, functions, classes and objects.
        part = keras.losses.get(part)
        # A class of the user's may have attributes of these names, too.
        is_of_keras = type(part).__module__.startswith("keras.")
        function = part.fn if is_of_keras and hasattr(part, "fn") else part
        takes_logits = is_of_keras and getattr(part, "from_logits", False)
        if function in of_probabilities and not takes_logits:
            raise UserError(
                f"loss={loss}: it takes the model's logits for probabilities: leave it out, or "
                "give a cross-entropy of keras.losses with from_logits=True"
            )


def known_labels(logits, labels, weights=None) -> tuple:
    """Flattens labels of any number of axes to rows; those to ignore get a weight of 0.

    Args:
      logits: float [..., C].
      labels: int, of the same axes but the last, or with one of size 1 more; negative if there is
        no label.
      weights: float, broadcastable to the axes of the labels; None for 1.

    Returns:
      logits float32 [R, C], labels int32 [R], weights float32 [R].
    """
    check_labels(labels, logits.shape)
    logits = ops.cast(logits, "float32")
    shape = ops.shape(logits)[:-1]
    labels = ops.cast(ops.reshape(labels, shape), "int32")
    label_weights = ops.cast(labels >= 0, "float32")
    if weights is not None:
        weights = ops.cast(weights, "float32")
        # Weights per example are the same for all tokens of it.
        missing_axes = len(shape) - len(weights.shape)
        if missing_axes > 0:
            weights = ops.reshape(weights, (*ops.shape(weights), *[1] * missing_axes))
        else:
            weights = ops.reshape(weights, shape)
        label_weights = label_weights * weights
    rows = ops.reshape(logits, (-1, logits.shape[-1]))
    # A negative label would be out of range for the cross-entropy; its weight is 0 anyway.
    labels = ops.reshape(ops.maximum(labels, 0), (-1,))
    return rows, labels, ops.reshape(label_weights, (-1,))


def check_labels(labels, logits_shape: Sequence[int | None], allow_missing: bool = True) -> None:
    """Raises `UserError` for labels that are no numbers of classes, as far as they are known.

    Args:
      labels: as in `known_labels`; in graphs only their axes are known.
      logits_shape: [..., C], None for sizes that are unknown.
      allow_missing: whether a negative label stands for none.
    """
    classes = logits_shape[-1]
    # A graph may not know the number of choices.
    if classes is None:
        return
    numbers = f"whole numbers from 0 to {classes - 1} are expected"
    check_shape(
        labels,
        (logits_shape[:-1], (*logits_shape[:-1], 1)),
        f"{numbers}, of the shape {tuple(logits_shape[:-1])}. One-hot labels are made numbers by "
        "labels.argmax(-1), or compared by "
        "compile(loss=keras.losses.CategoricalCrossentropy(from_logits=True))",
    )
    values = known_values(labels)
    if values is None or not values.size:
        return
    _refuse_texts(values, numbers)
    lowest = values.min() if allow_missing else 0
    # A fraction would be cut to the class below.
    fractions = values[values != np.floor(values)]
    for value in (*fractions[:1], values.min(), values.max()):
        if fractions.size or not lowest <= value < classes:
            raise UserError(
                f"a label is {value}, but there are {classes} to choose from: {numbers}"
            )


def check_shape(labels, shapes: Sequence[Sequence[int | None]], expected: str) -> None:
    """Raises `UserError` if labels, as far as their axes are known, have none of the shapes.

    Args:
      expected: ends the message.
    """
    # Data of a Python generator may not know their axes.
    if getattr(labels.shape, "rank", 0) is None:
        return
    shape = tuple(labels.shape)
    if not any(_fits(shape, possible) for possible in shapes):
        raise UserError(f"the labels have the shape {shape}: {expected}")


def _fits(shape: Sequence[int | None], expected: Sequence[int | None]) -> bool:
    """Returns whether the axes can be those that are expected; None for sizes that are unknown."""
    if len(shape) != len(expected):
        return False
    return all(None in sizes or sizes[0] == sizes[1] for sizes in zip(shape, expected, strict=True))


def check_scores(values: np.ndarray) -> None:
    """Raises `UserError` for labels that are no numbers, or are missing."""
    _refuse_texts(values, "numbers are expected")
    if np.isnan(values).any():
        raise UserError("a label is nan: leave the rows out whose labels are missing")


def _refuse_texts(values: np.ndarray, expected: str) -> None:
    if values.dtype.kind not in "iufb":
        raise UserError(f"the labels are texts such as {str(values.flat[0])!r}: {expected}")


class _Calls(threading.local):
    """The calls of `WeightedMean`s in this thread; None if nobody asks. Replicas are threads."""

    recorded: list | None = None


_CALLS = _Calls()


@contextlib.contextmanager
def recorded_means():
    """Yields a list to which every `WeightedMean` that is called meanwhile adds a triple.

    It is the loss as returned, the sum of the weighted losses and the sum of the weights of this
    replica's rows, float32 [] each.
    """
    _CALLS.recorded = calls = []
    try:
        yield calls
    finally:
        _CALLS.recorded = None


class WeightedMean(keras.losses.Loss):
    """Base of losses that are means over the weights of the whole batch.

    On several replicas the sum of a replica's rows is divided by the weights of all replicas: the
    gradients then add up to the gradients of one device, however unequal the replicas' weights are.
    Keras' own losses are the mean of the replicas' means.
    """

    def rows(self, y_true, y_pred, sample_weight) -> tuple:
        """Returns the losses and the weights of rows, float32 [R] each."""
        raise NotImplementedError

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Returns the loss, float32 []; `sample_weight` is broadcast to the labels."""
        losses, weights = self.rows(
            ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred), sample_weight
        )
        loss_sum = ops.sum(weighted(losses, weights))
        count = ops.sum(weights)
        loss = loss_sum / ops.maximum(sum_over_replicas(count), SMALLEST_COUNT)
        if _CALLS.recorded is not None:
            _CALLS.recorded.append((loss, loss_sum, count))
        return loss


def row_weights(sample_weight, losses):
    """Returns float32 [R]: the weights of R losses, 1 if there are none."""
    if sample_weight is None:
        return ops.ones_like(losses)
    return ops.cast(ops.reshape(sample_weight, ops.shape(losses)), "float32")


@register
class CrossEntropy(WeightedMean):
    """Mean negative log-likelihood, in nats, of the labels that are not negative.

    y_true int [...], y_pred float [..., C] (logits). With weights the mean is over the sum of the
    weights, as in the paper and in the project's training loop; Keras divides by the number of
    labels.

    Examples:
        loss = CrossEntropy()
        logits = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]])
        # 0.22: the third row has no label.
        float(loss(np.array([0, 1, -1]), logits))
    """

    def __init__(self, name: str = "cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def rows(self, y_true, y_pred, sample_weight) -> tuple:
        logits, labels, weights = known_labels(y_pred, y_true, sample_weight)
        losses, _ = softmax_cross_entropy(logits, labels)
        return losses, weights


@register
class SquaredError(WeightedMean):
    """Mean squared error of scores: y_true [B], y_pred float [B, 1]; or both of one shape.

    Examples:
        loss = SquaredError()
        # 0.75: the second score, which is wrong by 1, has three quarters of the weight.
        float(loss(np.array([1.0, 2.0]), np.array([[1.0], [3.0]]), np.array([1.0, 3.0])))
    """

    def __init__(self, name: str = "squared_error", **kwargs):
        super().__init__(name=name, **kwargs)

    def rows(self, y_true, y_pred, sample_weight) -> tuple:
        # A row with several labels would be compared with one score.
        shape = tuple(y_pred.shape)
        shapes = [shape, (*shape, 1)]
        if shape[-1] == 1:
            shapes.append(shape[:-1])
        check_shape(y_true, shapes, f"one for each of the scores {shape} is expected")
        scores = ops.cast(ops.reshape(y_pred, (-1,)), "float32")
        losses = ops.square(scores - ops.cast(ops.reshape(y_true, (-1,)), "float32"))
        return losses, row_weights(sample_weight, losses)


@register
class Accuracy(keras.metrics.Mean):
    """Fraction of the labels that are not negative for which the label has the highest score.

    y_true int [...], y_pred float [..., C].

    Examples:
        accuracy = Accuracy()
        accuracy.update_state(np.array([0, 0, -1]), np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]]))
        float(accuracy.result())  # 0.5
    """

    def __init__(self, name: str = "accuracy", dtype="float32", **kwargs):
        super().__init__(name, dtype, **kwargs)
        # Callbacks such as `EarlyStopping` ask for it.
        self._direction = "up"

    def update_state(self, y_true, y_pred, sample_weight=None):
        logits, labels, weights = known_labels(
            ops.convert_to_tensor(y_pred), ops.convert_to_tensor(y_true), sample_weight
        )
        correct = ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), labels)
        return super().update_state(ops.cast(correct, "float32"), sample_weight=weights)


@dataclasses.dataclass(frozen=True)
class DistillationLoss(HeadLoss):
    """Weighted loss of a student: weight × teacher's part + (1 - weight) × loss of the labels.

    A row without a label ("is_labeled" 0) has the teacher's part alone, with a weight of 1. Labels
    are a triple of labels, soft labels and "is_labeled". The metrics come from the label loss.
    `distillation_loss` makes one.

    Attributes:
      hard: the loss of the labels; it also defines the soft labels and the loss against them.
      weight: of the teacher's part, from 0 to 1.
      temperature: divides the logits of both before the softmax.
    """

    hard: HeadLoss = HeadLoss("")
    weight: float = 1.0
    temperature: float = 1.0

    def measure(self, logits, labels) -> tuple:
        labels, soft_labels, is_labeled = labels
        hard_losses, measured = self.hard.measure(logits, labels)
        soft_losses = self.hard.soft_losses(logits, soft_labels, self.temperature)
        # A row without a label of its own learns from the teacher alone.
        hard_weight = (1.0 - self.weight) * is_labeled
        return (1.0 - hard_weight) * soft_losses + weighted(hard_losses, hard_weight), measured

    def means(self, sums, examples: float) -> dict[str, float]:
        return self.hard.means(sums, examples)


def distillation_loss(
    hard: HeadLoss,
    distillation_weight: float,
    temperature: float,
    soft_labels: Callable[[dict], object] = lambda features: features[SOFT_LABELS],
) -> DistillationLoss:
    """Returns the loss of a student's head; the names of its sums are as in `hard`.

    Args:
      hard: the loss of the labels.
      distillation_weight: of the teacher's part, from 0 to 1; the labels get the remainder.
        Features may have "is_labeled" [B], 0 for examples that learn from the teacher alone.
      temperature: divides the student's logits before the softmax.
      soft_labels: function of the features that returns the teacher's soft labels, which
        `hard.soft_labels` has made at the same temperature.
    """

    def labels(features: dict) -> tuple:
        is_labeled = features.get(IS_LABELED, 1.0)
        return hard.labels(features), soft_labels(features), is_labeled

    return DistillationLoss(
        hard.name,
        labels=labels,
        weights=hard.weights,
        loss_weights=hard.loss_weights,
        parts=hard.parts,
        hard=hard,
        weight=distillation_weight,
        temperature=temperature,
    )


def mean_soft_labels(hard: HeadLoss, logits: Sequence, temperature: float):
    """Returns the mean of the soft labels of several teachers.

    It averages probabilities, not logits, so that a confident teacher does not outweigh the others;
    section 2 of arXiv 1503.02531 has both ways.
    """
    return sum(hard.soft_labels(values, temperature) for values in logits) / len(logits)

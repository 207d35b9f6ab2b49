"""The models that are fine-tuned (section 4 of the paper): encoder, a linear head, and its loss.

- `BertForClassification` (4.1): classes or a score of a sequence or a pair,
  ids [B, S] → logits [B, C].
- `BertForQuestionAnswering` (4.2): start and end of an answer,
  ids [B, S] of question and paragraph → [B, S] each.
- `BertForMultipleChoice` (4.4): which of K endings continues a text best,
  ids [B, K, S] → logits [B, K].
- `BertForTokenClassification` (5.3): a tag for every token, such as names,
  ids [B, S] → logits [B, S, C].
"""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, Self

import keras
import numpy as np
from keras import ops

from bert_common.errors import UserError
from modeling.config import BertConfig
from modeling.dropout import DropoutStream, fit_stream
from modeling.encoder import encoder_inputs, named_inputs
from modeling.fit import labels_in_memory
from modeling.layers import known_values
from modeling.losses import (
    SMALLEST_COUNT,
    CrossEntropy,
    HeadLoss,
    RegressionLoss,
    SpanLoss,
    WeightedMean,
    check_labels,
    check_scores,
    check_shape,
    example_weights,
    ops_for,
    row_weights,
)
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead
from modeling.xla import is_jit_compiled

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


class BertWithHead(BertTaskModel):
    """Encoder and a head of C classes; `from_checkpoint` reads C from the checkpoint's head."""

    _head: type[LinearHead]
    # Whether units of the head's input are dropped in training.
    _drops = True
    _arguments = (*BertTaskModel._arguments, "classes", "head_dropout")

    def __init__(
        self,
        config: BertConfig,
        classes: int | None = None,
        *,
        seed: int = 0,
        head_dropout: float | None = None,
        **kwargs,
    ):
        classes = _required_classes(classes, kwargs)
        super().__init__(config, seed=seed, **kwargs)
        self.config = self.config.with_classifier_dropout(head_dropout)
        self.classes = classes
        self.head_dropout = self.config.classifier_dropout if self._drops else 0.0
        head = self._head(config, classes, seed=seed, dropout_rate=self.head_dropout)
        # The attribute is part of the weights' names in `.keras` files.
        setattr(self, self._head.key, head)
        self.build()

    # Editors show the arguments that are written here.
    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        *,
        bert_config_file: str | None = None,
        classes: int | None = None,
        seed: int = 0,
        dtype: Any = None,
        **kwargs,
    ) -> Self:
        """Returns a model with the weights of a checkpoint, as `Checkpointed.from_checkpoint`.

        Args:
          path, bert_config_file, seed, dtype, kwargs: see there.
          classes: C; None for that of the checkpoint's head.
        """
        if classes is not None:
            kwargs["classes"] = classes
        return cls._from_checkpoint(path, bert_config_file, seed, dtype, kwargs)

    def _logits_shape(self, inputs) -> tuple:
        """Returns the axes of the logits that a loss reads, the last one's size C; None for others.

        Args:
          inputs: of the encoder, in memory.
        """
        if self._reads == "pooled_output":
            return None, self.classes
        if not self._is_ours:
            return None, None, self.classes
        return None, _second_size(inputs), self.classes

    def _check_labels(self, inputs, labels) -> None:
        # Only values in memory are seen here; `check_labels` sees those of eager losses.
        has_classes = type(self.head_losses[0]) in (HeadLoss, SpanLoss)
        are_numbers = has_classes and _reads_numbers(self.loss)
        allow_missing = self._reads != "pooled_output"
        for values in keras.tree.flatten(labels):
            if not isinstance(values, np.ndarray) or not values.size:
                continue
            if are_numbers:
                check_labels(values, self._logits_shape(inputs), allow_missing)
            elif isinstance(self.loss, WeightedMean):
                check_scores(values)
                if isinstance(self.loss, BinaryCrossEntropy):
                    _check_probabilities(values)


def _second_size(inputs) -> int | None:
    """Returns the size of the second axis of the ids that `fit` is given, if it is known."""
    shape = tuple(getattr(named_inputs(inputs).get("input_ids"), "shape", ()))
    return shape[1] if len(shape) > 1 else None


def _reads_numbers(loss) -> bool:
    """Returns whether losses of Keras take all labels for numbers of classes, as the user's need
    not."""
    # Keras also takes a name or a class, and any of them in a list or a dict.
    for part in keras.tree.flatten(loss):
        part = keras.losses.get(part)
        reads = isinstance(part, CrossEntropy)
        if type(part) is keras.losses.SparseCategoricalCrossentropy:
            reads = part.ignore_class is None
        if not reads and part is not keras.losses.sparse_categorical_crossentropy:
            return False
    return True


def _required_classes(classes: int | None, arguments: Mapping) -> int:
    """Returns the number of classes.

    Raises `UserError` if it is missing, or given under the name of another library.
    """
    for name in ("num_classes", "num_labels"):
        if name in arguments:
            raise UserError(f"{name}={arguments[name]}: the argument is classes here")
    if classes is None:
        raise UserError("classes, the number of classes, must be given")
    if classes < 1:
        raise UserError(f"classes={classes}: a model has at least one class")
    return classes


def loss_weights(features: dict):
    """Returns float32 [B], the weight of each example in the loss.

    It is `example_weights`, times "loss_weight" [B] if that is among the features.
    """
    weights = example_weights(features)
    if "loss_weight" in features:
        weights = weights * features["loss_weight"]
    return weights


@dataclasses.dataclass(frozen=True)
class MultiLabelLoss(HeadLoss):
    """Binary cross-entropy, in nats, micro F1 and subset accuracy: any of C classes may apply.

    Logits [B, C], labels [B, C] of 0 and 1. The loss of an example is the mean over the classes, as
    in PyTorch's BCEWithLogitsLoss. A class is predicted if its probability is at least one half.

    Attributes:
      positive_weights: C weights of the loss of a class that applies, against 1 for a class that
        does not; None for 1.
    """

    positive_weights: tuple[float, ...] | None = None

    def measure(self, logits, labels) -> tuple:
        labels = ops.cast(labels, "float32")
        if self.positive_weights is not None:
            positive_weights = ops.convert_to_tensor(self.positive_weights, "float32")
        else:
            positive_weights = 1.0
        # A logit of 0 is a probability of one half.
        predicted = ops.cast(logits >= 0, "float32")
        # Sums of these counts over any batches give micro F1 exactly; a mean of F1 would not.
        is_exact = ops.all(ops.equal(predicted, labels), axis=-1)
        losses = _binary_cross_entropy(logits, labels, positive_weights)
        return losses, {
            "exact": ops.cast(is_exact, "float32"),
            "correct": ops.sum(predicted * labels, axis=-1),
            "predicted": ops.sum(predicted, axis=-1),
            "expected": ops.sum(labels, axis=-1),
        }

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        predicted_and_expected = max(sums["predicted"] + sums["expected"], SMALLEST_COUNT)
        return {
            "micro_f1": 2.0 * sums["correct"] / predicted_and_expected,
            "subset_accuracy": sums["exact"] / examples,
        }

    def soft_labels(self, logits, temperature: float):
        """Returns a probability for each class, [B, C], at the temperature."""
        return ops.sigmoid(logits / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Returns binary cross-entropies, [B]; `positive_weights` are for hard labels only."""
        return temperature**2 * _binary_cross_entropy(logits / temperature, soft_labels)

    def compile_defaults(self) -> dict:
        return {
            "loss": BinaryCrossEntropy(),
            "weighted_metrics": [keras.metrics.BinaryAccuracy("label_accuracy", threshold=0.0)],
        }


def _binary_cross_entropy(logits, labels, positive_weights=1.0):
    """Returns float32 [B], the mean over C classes.

    Args:
      logits: [B, C].
      labels: [B, C], probabilities that a class applies.
      positive_weights: [C], or one number.
    """
    # -log(sigmoid(x)) is log(1 + exp(-|x|)) + max(-x, 0), which can't overflow.
    rest = ops.log1p(ops.exp(-ops.absolute(logits)))
    positive_losses = rest + ops.relu(-logits)  # -log p
    negative_losses = rest + ops.relu(logits)  # -log(1 - p)
    losses = labels * positive_losses * positive_weights + (1.0 - labels) * negative_losses
    return ops.mean(losses, axis=-1)


# Probabilities may be beyond 0 and 1 by so much.
_ROUNDING = 1e-5


def _check_probabilities(labels) -> None:
    """Raises `UserError` for labels below 0 or above 1, where their values are known."""
    values = known_values(labels)
    if values is None:
        return
    # Means of several people's labels are rounded.
    outside = values[(values < -_ROUNDING) | (values > 1 + _ROUNDING)]
    if outside.size:
        raise UserError(f"a label is {outside[0]}: a 0 or 1 for each class is expected")


@register
class BinaryCrossEntropy(WeightedMean):
    """Mean binary cross-entropy, in nats: y_true [B, C] of 0 and 1, y_pred float [B, C] (logits).

    Examples:
        loss = BinaryCrossEntropy()
        float(loss(np.array([[1, 0]]), np.array([[2.0, -2.0]])))          # 0.127
    """

    def __init__(self, name: str = "binary_cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def rows(self, y_true, y_pred, sample_weight) -> tuple:
        classes = y_pred.shape[-1]
        # Labels of another shape would be broadcast.
        check_shape(
            y_true,
            ((None, classes),),
            f"a 0 or 1 for each of {classes} classes is expected, on 2 axes",
        )
        _check_probabilities(y_true)
        losses = _binary_cross_entropy(ops.cast(y_pred, "float32"), ops.cast(y_true, "float32"))
        return losses, row_weights(sample_weight, losses)


# "label_ids" are int [B], float [B] or, if several classes may apply, [B, C]; "loss_weight" float32
# [B] is the weight of an example in the loss, 1 by default.
CLASSIFICATION_LOSS = HeadLoss("classification", loss_weights=loss_weights)
# Squared error, for one class; its labels are numbers.
REGRESSION_LOSS = RegressionLoss("regression", loss_weights=loss_weights)
MULTI_LABEL_LOSS = MultiLabelLoss("multi_label", loss_weights=loss_weights)
# Name of the problem in Hugging Face's configurations.
_MULTI_LABEL = "multi_label_classification"


@register
class ClassificationHead(LinearHead):
    """Scores of C classes for a sequence or a pair, [B, H] → [B, C]; one class for regression."""

    key = "classifier"


@register
class BertForClassification(BertWithHead):
    """Encoder and classification head: float32 logits [B, C] of a batch.

    Args:
      config: sizes, rates, activation.
      classes: C; 1 for regression.
      head_dropout: dropout rate of the head's input; by default `config.classifier_dropout`.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForClassification(config, classes=3)
        features = {"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}
        model(features).shape                                             # (2, 3): logits
        model.compile(optimizer=BertAdamW(1e-4), loss=CrossEntropy(), metrics=[Accuracy()])
        model.fit(features, np.array([0, 2]), verbose=0)
    """

    head_losses: tuple[HeadLoss, ...] = (CLASSIFICATION_LOSS,)
    _head = ClassificationHead
    _heads = {"classification": "classifier"}
    classifier: ClassificationHead

    def __init__(self, config: BertConfig, classes: int | None = None, **kwargs):
        super().__init__(config, classes, **kwargs)
        # One output is a score, as for STS-B, like in Hugging Face's models.
        if self.classes == 1:
            self.head_losses = (REGRESSION_LOSS,)
        elif config.extra.get("problem_type") == _MULTI_LABEL:
            self.head_losses = (MULTI_LABEL_LOSS,)


def _token_labels(features: dict):
    """Returns int [B, S]: "label_ids", which are negative where there is no label.

    These are padding and all but the first piece of a word; their weight is 0.
    """
    return ops_for(features).maximum(features["label_ids"], 0)


def _token_weights(features: dict):
    ops = ops_for(features)
    # Numpy arrays and tensors are both allowed: `fit_batch` also runs outside of `tf.data`.
    is_labeled = ops.convert_to_tensor(features["label_ids"]) >= 0  # [B, S]
    return ops.cast(is_labeled, "float32") * example_weights(features)[:, None]


TOKEN_CLASSIFICATION_LOSS = HeadLoss(
    "token_classification", labels=_token_labels, weights=_token_weights
)


@register
class TokenClassificationHead(LinearHead):
    """Scores of C tags for every token, [B, S, H] → [B, S, C]."""

    key = "tagging"


@register
class BertForTokenClassification(BertWithHead):
    """Encoder and token-classification head: float32 logits [B, S, C] of a batch.

    Args:
      config: sizes, rates, activation.
      classes: C, number of tags.
      head_dropout: dropout rate of the head's input; by default `config.classifier_dropout`.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForTokenClassification(config, classes=9)
        features = {"input_ids": np.array([[2, 7, 8, 3]])}
        model(features).shape                                             # (1, 4, 9): logits
        labels = np.array([[-1, 0, 4, -1]])           # negative: no label
        float(CrossEntropy()(labels, model(features)))
    """

    head_losses = (TOKEN_CLASSIFICATION_LOSS,)
    _head = TokenClassificationHead
    _heads = {"token_classification": "tagging"}
    _reads = "sequence_output"
    tagging: TokenClassificationHead


def _span_labels(features: dict) -> tuple:
    return features["start_positions"], features["end_positions"]


SPAN_LOSS = SpanLoss("span", labels=_span_labels)


@register
class QuestionAnsweringHead(LinearHead):
    """Scores of every token as start and as end of an answer, [B, S, H] → [B, S, 2]."""

    key = "span"


@register
class BertForQuestionAnswering(BertWithHead):
    """Encoder and question-answering head: float32 logits of each position as start and as end.

    The logits of a batch are two tensors [B, S]. The arguments are as in `BertTaskModel`. The
    head's input has no dropout, as in the original.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForQuestionAnswering(config)
        ids, segments = np.array([[2, 7, 3, 8, 9, 3]]), np.array([[0, 0, 0, 1, 1, 1]])
        start_logits, end_logits = model({"input_ids": ids, "segment_ids": segments})
        start_logits.shape, end_logits.shape                              # (1, 6), (1, 6)
    """

    head_losses = (SPAN_LOSS,)
    _head = QuestionAnsweringHead
    _heads = {"question_answering": "span"}
    _reads = "sequence_output"
    _drops = False
    _arguments = BertTaskModel._arguments

    def __init__(self, config: BertConfig, **kwargs):
        super().__init__(config, 2, head_dropout=None, **kwargs)

    def _logits_shape(self, inputs) -> tuple:
        return None, _second_size(inputs)

    def _labels_in_memory(self, inputs, labels):
        if isinstance(labels, (list, tuple)) and len(labels) == 2:
            labels = (labels_in_memory(labels[0]), labels_in_memory(labels[1]))
        elif labels is not None and self._is_ours:
            raise UserError("the labels must be a pair: the starts and the ends, int [B] each")
        return super()._labels_in_memory(inputs, labels)

    def call(
        self, features, *, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> tuple:
        """Returns the start and end logits, [B, S] each; the arguments are `BertTaskModel`'s."""
        # The original transposes to [2, B, S] first; slices of the last axis give the same.
        logits = super().call(features, dropout=dropout, training=training)  # [B, S, 2]
        return logits[:, :, 0], logits[:, :, 1]


# Logit of a missing choice: its probability is 0, and so is its gradient.
MISSING = -1e9
# In training the number of sequences is rounded up to a multiple of 1 / 16 of the batch, because
# XLA compiles activations and dropout once for each number.
_SIZES = 16
# "label_ids" int [B] are the numbers of the right choices.
MULTIPLE_CHOICE_LOSS = HeadLoss("multiple_choice")


@register
class MultipleChoiceHead(LinearHead):
    """A score for every choice, [B * K, H] → [B * K, 1]."""

    key = "multiple_choice"


@register
class BertForMultipleChoice(BertWithHead):
    """Encoder and multiple-choice head.

    Args:
      config: sizes, rates, activation.
      head_dropout: dropout rate of the head's input; by default `config.classifier_dropout`.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForMultipleChoice(config)
        ids = np.array([[[2, 7, 3, 8, 3], [2, 7, 3, 9, 3]]])  # 1 example, 2 choices, 5 tokens
        model({"input_ids": ids}).shape                                   # (1, 2): logits
        float(CrossEntropy()(np.array([1]), model({"input_ids": ids})))
    """

    head_losses = (MULTIPLE_CHOICE_LOSS,)
    _head = MultipleChoiceHead
    _heads = {"multiple_choice": "multiple_choice"}
    _exported_inputs = dict.fromkeys(BertTaskModel._exported_inputs, 3)
    _arguments = (*BertTaskModel._arguments, "head_dropout")
    multiple_choice: MultipleChoiceHead

    def __init__(self, config: BertConfig, **kwargs):
        super().__init__(config, 1, **kwargs)

    def _logits_shape(self, inputs) -> tuple:
        return None, _second_size(inputs)

    def call(
        self,
        features,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
    ):
        """Scores the choices of a batch.

        Args:
          features: as for `BertForClassification`, but each input [B, K, S]: sequence k of an
            example is its text with ending k. K must be known while a graph is built. Choices
            without a token by their mask are missing; or, with "num_choices" int [B], each at least
            1, those from that number on, whatever their ids are. The latter are not computed but
            under XLA and other backends than TensorFlow, which need to know all sizes.
          dropout: the stream of a step of our own training loop; its first example is counted in
            examples, not choices.
          training: as in `BertEncoder.call`.

        Returns:
          float32 logits [B, K]; `MISSING` for missing choices.
        """
        inputs = encoder_inputs(features)
        num_choices = features.get("num_choices") if isinstance(features, Mapping) else None
        if num_choices is None:
            logits = self._all_logits(inputs, dropout, training)
            if "input_mask" not in inputs:
                return logits
            has_token = ops.any(ops.not_equal(inputs["input_mask"], 0), axis=-1)
            return ops.where(has_token, logits, MISSING)
        if dropout is None and training:
            # In `fit`, too, masks depend on the example, not on which choices others lack.
            dropout = fit_stream(
                self.encoder.embeddings.dropout.seed_generator, inputs["input_ids"]
            )
        if keras.backend.backend() == "tensorflow" and not is_jit_compiled():
            return self._existing_logits(inputs, num_choices, dropout)
        logits = self._all_logits(inputs, dropout, training)
        # A missing choice must get no gradient, and no probability in the softmax.
        choices = ops.arange(logits.shape[1], dtype="int32")
        exists = choices < ops.cast(num_choices, "int32")[:, None]
        return ops.where(exists, logits, MISSING)

    def _all_logits(self, inputs: dict, dropout, training):
        """Returns float32 logits [B, K] of all choices, missing ones included."""
        choices, length = ops.shape(inputs["input_ids"])[1:]
        batch = inputs["input_ids"].shape[0]
        rows = -1 if batch is None else batch * choices
        # The encoder sees B * K sequences.
        flat_inputs = {}
        for name, value in inputs.items():
            flat_inputs[name] = ops.reshape(value, (rows, length))
        if dropout is not None:
            # Each choice is a row of its own in the encoder's batch, and draws its own masks.
            first_row = dropout.first_example * choices
            dropout = dataclasses.replace(dropout, first_example=first_row)
        pooled = self.encode(flat_inputs, dropout, training)["pooled_output"]
        scores = self.multiple_choice(pooled, dropout=dropout, training=training)
        return ops.reshape(scores, (-1, choices))

    def _existing_logits(self, inputs: dict, num_choices, dropout):
        """Returns float32 logits [B, K]; only the sequences that exist are computed."""
        batch, choices, length = tf.unstack(tf.shape(inputs["input_ids"]))
        exists = tf.range(choices) < tf.cast(num_choices, tf.int32)[:, None]
        indices = tf.where(exists)  # [N, 2]: example and choice of the N existing sequences
        rows = tf.where(tf.reshape(exists, [-1]))[:, 0]
        count = tf.size(rows)
        if dropout is not None:
            # Few different sizes, see `_SIZES`. The added rows repeat the first ones, and their
            # scores are cut off below. A slice has a size that XLA need not know.
            step = -(-batch * choices // _SIZES)
            rows = tf.concat([rows, rows[: -count % step]], 0)
            # Each choice draws the masks that it has in `_all_logits`, where no row is left out.
            first_row = dropout.first_example * tf.cast(choices, tf.int64)
            left_out = rows - tf.range(tf.size(rows, tf.int64))
            dropout = dataclasses.replace(dropout, first_example=first_row + left_out)
        flat_inputs = {}
        for name, value in inputs.items():
            flat_inputs[name] = tf.gather(tf.reshape(value, [-1, length]), rows)
        pooled = self.encode(flat_inputs, dropout)["pooled_output"]
        scores = self.multiple_choice(pooled, dropout=dropout)[:count, 0]
        missing = tf.fill([batch, choices], MISSING)
        logits = tf.tensor_scatter_nd_update(missing, indices, scores)
        return tf.ensure_shape(logits, inputs["input_ids"].shape[:2])

    def scores(self, features):
        """Scores choices one by one; their softmax within an example gives the probabilities.

        Args:
          features: [N, S], as for `BertForClassification`.

        Returns:
          float32 [N].
        """
        return self.multiple_choice(self.encode(features)["pooled_output"])[:, 0]

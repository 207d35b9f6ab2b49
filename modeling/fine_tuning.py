"""The models that are fine-tuned (section 4 of the paper): encoder, a linear head, and the
declaration of its loss.

BertForClassification       4.1  classes or a score of a sequence or a pair: ids [B, S] → logits [B,
C] BertForTokenClassification  5.3  a tag for every token, such as names: ids [B, S] → logits [B, S,
C] BertForQuestionAnswering    4.2  start and end of an answer: ids [B, S] of question and paragraph
→ [B, S] each BertForMultipleChoice       4.4  which of K endings continues a text best: ids [B, K,
S] → logits [B, K]
"""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import encoder_inputs
from modeling.losses import SMALLEST_COUNT, HeadLoss, RegressionLoss, SpanLoss, example_weights
from modeling.saving import register
from modeling.task_model import BertTaskModel, LinearHead


class BertWithHead(BertTaskModel):
    """Encoder and a head of C classes, whose number is read from a checkpoint with that head where
    it is not given."""

    _head: type[LinearHead]
    _arguments = (*BertTaskModel._arguments, "classes", "head_dropout")

    def __init__(
        self,
        config: BertConfig,
        classes: int,
        *,
        seed: int = 0,
        head_dropout: float = HEAD_DROPOUT,
        **kwargs,
    ):
        super().__init__(config, seed=seed, **kwargs)
        self.classes = classes
        self.head_dropout = head_dropout
        setattr(
            self, self._head.key, self._head(config, classes, seed=seed, dropout_rate=head_dropout)
        )
        self.build()


def loss_weights(features: dict):
    """float32 [B]: how much examples count in the loss, `example_weights` times "loss_weight" [B]
    where that is given."""
    weights = example_weights(features)
    return weights * features["loss_weight"] if "loss_weight" in features else weights


@dataclasses.dataclass(frozen=True)
class MultiLabelLoss(HeadLoss):
    """Binary cross-entropy, in nats, micro F1 and subset accuracy: any of C classes may apply.

    Logits [B, C], labels [B, C] of 0 and 1. The loss of an example is the mean over the classes, as
    in PyTorch's BCEWithLogitsLoss. A class is predicted where its probability is at least one half.

    Attributes:
      positive_weights: C numbers, how much it counts that a class applies, against 1 where it does
        not; None for 1.
    """

    positive_weights: tuple[float, ...] | None = None

    def measure(self, logits, labels) -> tuple:
        labels = ops.cast(labels, "float32")
        positive = (
            1.0
            if self.positive_weights is None
            else ops.convert_to_tensor(self.positive_weights, "float32")
        )
        predicted = ops.cast(logits >= 0, "float32")
        # Classes that were predicted and apply, or one of both.
        return _binary_cross_entropy(logits, labels, positive), {
            "exact": ops.cast(ops.all(ops.equal(predicted, labels), axis=-1), "float32"),
            "correct": ops.sum(predicted * labels, axis=-1),
            "predicted": ops.sum(predicted, axis=-1),
            "expected": ops.sum(labels, axis=-1),
        }

    def means(self, sums: Mapping[str, float], examples: float) -> dict[str, float]:
        both = max(sums["predicted"] + sums["expected"], SMALLEST_COUNT)
        return {
            "micro_f1": 2.0 * sums["correct"] / both,
            "subset_accuracy": sums["exact"] / examples,
        }

    def soft_labels(self, logits, temperature: float):
        """A probability for each class, [B, C], at the temperature."""
        return ops.sigmoid(logits / temperature)

    def soft_losses(self, logits, soft_labels, temperature: float):
        """Binary cross-entropy, the mean over the classes; `positive_weights` are for hard
        labels."""
        return temperature**2 * _binary_cross_entropy(logits / temperature, soft_labels)

    def compile_defaults(self) -> dict:
        return {
            "loss": keras.losses.BinaryCrossentropy(
                from_logits=True, reduction="mean_with_sample_weight"
            ),
            "weighted_metrics": [keras.metrics.BinaryAccuracy("label_accuracy", threshold=0.0)],
        }


def _binary_cross_entropy(logits, labels, positive_weights=1.0):
    """float32 [B], the mean over C classes, of logits [B, C] and probabilities [B, C] that they
    apply."""
    # log(1 + exp(-|x|)) is small whatever x is.
    rest = ops.log1p(ops.exp(-ops.absolute(logits)))
    missed, invented = rest + ops.relu(-logits), rest + ops.relu(logits)  # -log p, -log(1 - p)
    return ops.mean(labels * missed * positive_weights + (1.0 - labels) * invented, axis=-1)


# "label_ids" are int [B], float [B] or, where several classes may apply, [B, C]; "loss_weight"
# float32 [B] is how much an example counts in the loss, 1 where it is not given.
CLASSIFICATION_LOSS = HeadLoss("classification", loss_weights=loss_weights)
REGRESSION_LOSS = RegressionLoss("regression", loss_weights=loss_weights)
MULTI_LABEL_LOSS = MultiLabelLoss("multi_label", loss_weights=loss_weights)
# As Hugging Face's configurations call the problem.
_MULTI_LABEL = "multi_label_classification"


@register
class ClassificationHead(LinearHead):
    """One of C classes for a sequence or a pair, [B, H] → [B, C]; one class: a number, as STS-B
    asks for."""

    key = "classifier"


@register
class BertForClassification(BertWithHead):
    """Encoder and classification head: float32 logits [B, C] of a batch.

    Args:
      config: sizes, rates, activation.
      classes: C; 1 for regression.
      head_dropout: dropout rate of the head's input.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForClassification(config, classes=3)
        features = {"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}
        model(features).shape                                             # (2, 3): logits
        model.compile(optimizer=BertAdamW(1e-4), loss=CrossEntropy(), metrics=[Accuracy()])
        model.fit(features, np.array([0, 2]), verbose=0)
    """

    head_losses: tuple[HeadLoss, ...] = (CLASSIFICATION_LOSS,)
    _head = ClassificationHead
    _heads = {"classification": "classifier"}
    classifier: ClassificationHead

    def __init__(self, config: BertConfig, classes: int, **kwargs):
        super().__init__(config, classes, **kwargs)
        # Of several classes one applies, unless the configuration says otherwise.
        several = config.extra.get("problem_type") == _MULTI_LABEL
        self.head_losses = (
            REGRESSION_LOSS
            if classes == 1
            else MULTI_LABEL_LOSS
            if several
            else CLASSIFICATION_LOSS,
        )


# "label_ids" int [B, S] are negative where there is no label (padding, all but the first piece of a
# word).
TOKEN_CLASSIFICATION_LOSS = HeadLoss(
    "token_classification",
    labels=lambda features: ops.maximum(features["label_ids"], 0),
    weights=lambda features: (
        ops.cast(ops.convert_to_tensor(features["label_ids"]) >= 0, "float32")
        * example_weights(features)[:, None]
    ),
)


@register
class TokenClassificationHead(LinearHead):
    """One of C tags for every token, [B, S, H] → [B, S, C]."""

    key = "tagging"


@register
class BertForTokenClassification(BertWithHead):
    """Encoder and token-classification head: float32 logits [B, S, C] of a batch, the tags of every
    token.

    Args:
      config: sizes, rates, activation.
      classes: C, number of tags.
      head_dropout: dropout rate of the head's input.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForTokenClassification(config, classes=9)
        features = {"input_ids": np.array([[2, 7, 8, 3]])}
        model(features).shape                                             # (1, 4, 9): logits
        float(CrossEntropy()(np.array([[-1, 0, 4, -1]]), model(features)))  # negative: no label
    """

    head_losses = (TOKEN_CLASSIFICATION_LOSS,)
    _head = TokenClassificationHead
    _heads = {"token_classification": "tagging"}
    _reads = "sequence_output"
    tagging: TokenClassificationHead


SPAN_LOSS = SpanLoss(
    "span", labels=lambda features: (features["start_positions"], features["end_positions"])
)


@register
class QuestionAnsweringHead(LinearHead):
    """Scores of every token as start and as end of an answer, [B, S, H] → [B, S, 2]."""

    key = "span"


@register
class BertForQuestionAnswering(BertWithHead):
    """Encoder and question-answering head: float32 logits of a batch, each position as start and as
    end, each [B, S].

    The arguments are those of `BertTaskModel`. Nothing that the head reads is dropped, as in the
    original.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForQuestionAnswering(config)
        features = {"input_ids": np.array([[2, 7, 3, 8, 9, 3]]), "segment_ids": np.array([[0, 0, 0,
        1, 1, 1]])} start_logits, end_logits = model(features)
        start_logits.shape, end_logits.shape                              # (1, 6), (1, 6)
    """

    head_losses = (SPAN_LOSS,)
    _head = QuestionAnsweringHead
    _heads = {"question_answering": "span"}
    _reads = "sequence_output"
    _arguments = BertTaskModel._arguments

    def __init__(self, config: BertConfig, **kwargs):
        super().__init__(config, 2, head_dropout=0.0, **kwargs)

    def call(
        self, features, *, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> tuple:
        """As in `BertTaskModel`."""
        logits = super().call(features, dropout=dropout, training=training)  # [B, S, 2]
        return logits[:, :, 0], logits[:, :, 1]


# The logit of a choice that is not there: its probability is 0, and so is its gradient.
MISSING = -1e9
# In training the number of sequences is rounded up to one of so many values: the functions that XLA
# fuses (`modeling/layers.py`) are compiled for each of them.
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
      head_dropout: dropout rate of the head's input.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForMultipleChoice(config)
        features = {"input_ids": np.array([[[2, 7, 3, 8, 3], [2, 7, 3, 9, 3]]])}  # 1 example, 2
        choices, 5 tokens model(features).shape                                             # (1,
        2): logits float(CrossEntropy()(np.array([1]), model(features)))
    """

    head_losses = (MULTIPLE_CHOICE_LOSS,)
    _head = MultipleChoiceHead
    _heads = {"multiple_choice": "multiple_choice"}
    _arguments = (*BertTaskModel._arguments, "head_dropout")
    multiple_choice: MultipleChoiceHead

    def __init__(self, config: BertConfig, **kwargs):
        super().__init__(config, 1, **kwargs)

    def call(
        self,
        features,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        skip_missing: bool = True,
    ):
        """Scores the choices of a batch.

        Args:
          features: as for `BertForClassification`, but each input [B, K, S]: sequence k of an
            example is its text with ending k. K must be known while a graph is made. Where examples
            have different numbers of choices, also "num_choices" int [B], each at least 1: those
            from that number on do not exist, whatever their ids are. With it `dropout` needs
            "first_choice" int [B], the number of choices of the examples before in the global
            batch.
          dropout: the stream of a step of our own training loop; its first example is counted in
            examples, not choices.
          training: as in `BertEncoder.call`.
          skip_missing: leave out the choices that do not exist; false where XLA compiles the model,
            which needs to know all sizes, as it does under other backends than TensorFlow. The
            logits are the same.

        Returns:
          float32 logits [B, K]; `MISSING` for choices that do not exist.
        """
        inputs = {
            name: value for name, value in encoder_inputs(features).items() if value is not None
        }
        num_choices = features.get("num_choices") if isinstance(features, Mapping) else None
        if num_choices is not None and skip_missing and keras.backend.backend() == "tensorflow":
            # The sequences that exist are taken out of [B, K, S] first.
            import tensorflow as tf

            batch, choices, length = tf.unstack(tf.shape(inputs["input_ids"]))
            places = tf.where(tf.range(choices) < tf.cast(num_choices, tf.int32)[:, None])  # [N, 2]
            rows = tf.cast(places[:, 0], tf.int32) * choices + tf.cast(places[:, 1], tf.int32)
            count = tf.shape(rows)[0]
            if dropout is not None or training:
                step = -(-batch * choices // _SIZES)
                rows = tf.concat([rows, tf.zeros([-count % step], tf.int32)], 0)
            if dropout is not None:
                dropout = dataclasses.replace(
                    dropout, first_example=tf.cast(features["first_choice"][0], tf.int64)
                )
            flat = {
                name: tf.gather(tf.reshape(value, [-1, length]), rows)
                for name, value in inputs.items()
            }
            pooled = self.encode(flat, dropout, training)["pooled_output"]
            scores = self.multiple_choice(pooled, dropout=dropout, training=training)[:count, 0]
            logits = tf.tensor_scatter_nd_update(tf.fill([batch, choices], MISSING), places, scores)
            return tf.ensure_shape(logits, inputs["input_ids"].shape[:2])
        choices, length = ops.shape(inputs["input_ids"])[1:]
        batch = inputs["input_ids"].shape[0]
        rows = -1 if batch is None else batch * choices
        flat = {name: ops.reshape(value, (rows, length)) for name, value in inputs.items()}
        if dropout is not None:
            dropout = dataclasses.replace(dropout, first_example=dropout.first_example * choices)
        pooled = self.encode(flat, dropout, training)["pooled_output"]
        logits = ops.reshape(
            self.multiple_choice(pooled, dropout=dropout, training=training), (-1, choices)
        )  # [B, K]
        if num_choices is None:
            return logits
        return ops.where(
            ops.arange(choices) < ops.cast(num_choices, "int32")[:, None], logits, MISSING
        )

    def scores(self, features):
        """Scores of choices one by one: features [N, S] as for `BertForClassification` → float32
        [N].

        The softmax of those of an example gives the probabilities of its choices.
        """
        return self.multiple_choice(self.encode(features)["pooled_output"])[:, 0]

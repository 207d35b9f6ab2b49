"""Vectors of sentences, compared by their cosine: the model, poolings and losses.

Input: ids [B, S] of texts, or [B, K, S] of examples with K texts each; output: vectors [B, D] or
[B, K, D].

The model is the encoder and nothing else: it has no head, so any checkpoint of an encoder can be
used. The losses are the cosine regression of Sentence-BERT (arXiv 1908.10084) and in-batch
negatives (arXiv 1705.00652, 2004.04906).
"""

import dataclasses
from collections.abc import Callable

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import POOLINGS, BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import encoder_inputs
from modeling.losses import HeadLoss, InBatchLoss, RegressionLoss, softmax_cross_entropy
from modeling.saving import WithArguments, register
from modeling.task_model import BertTaskModel

SCALE = 20.0
# "text_ids" of a text that is not there: a missing negative, or a padding example.
NO_TEXT = -1
# The score of candidates that do not count.
_EXCLUDED = -1e9
# Rows of the next text of an example draw their dropout so far on.
_MOST_EXAMPLES = 1 << 32


def pool(sequence_output, mask, pooling: str):
    """Makes a vector of those of a text's tokens, [CLS] and [SEP] included.

    Args:
      sequence_output: float [B, S, D].
      mask: int [B, S], 1 for tokens.
      pooling: one of `POOLINGS`.

    Returns:
      float32 [B, D].
    """
    vectors = ops.cast(sequence_output, "float32")
    if pooling == "cls":
        return vectors[:, 0]
    weights = ops.cast(mask, "float32")[:, :, None]
    if pooling == "max":
        return ops.max(vectors + (1.0 - weights) * _EXCLUDED, axis=1)
    return ops.sum(vectors * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


def unit_length(vectors):
    """float [..., D], each divided by its length; zeros stay zeros."""
    # Not of a quotient of lengths: the gradient of a root at 0 is not a number.
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squares, 1e-24))


def cosines(vectors):
    """float32 [B, K, D] → [B], between the first two texts of each example."""
    unit = unit_length(vectors)
    return ops.sum(unit[:, 0] * unit[:, 1], axis=-1)


@dataclasses.dataclass(frozen=True)
class InBatchNegatives(InBatchLoss):
    """Cross-entropy, in nats, of choosing an example's positive among all candidates of the batch,
    and accuracy.

    Vectors [B, K, D] of an anchor, its positive and K - 2 hard negatives each. Candidates are the
    positives and hard negatives of all examples; scores are cosines times `scale`. "text_ids" int
    [B, K] are the same for the same text and `NO_TEXT` where there is none. A candidate is left out
    where it is the anchor's text, the positive's, or a positive of the same anchor in another
    example. The whole batch must be seen at once, see `bert_tf/training/joint_gradients.py`.

    Attributes:
      scale: 1 / temperature.
    """

    labels: Callable[[dict], object] = lambda features: features["text_ids"]
    scale: float = SCALE
    compared_features = ("text_ids", "is_real_example")

    def measure(self, logits, labels) -> tuple:
        texts = ops.cast(labels, "int32")
        rows, columns = ops.shape(texts)
        unit = unit_length(logits)
        # The candidates of all examples: first their positives, then column by column their hard
        # negatives.
        candidate_vectors = ops.reshape(ops.swapaxes(unit[:, 1:], 0, 1), (-1, unit.shape[-1]))
        scores = self.scale * ops.matmul(
            unit[:, 0], ops.transpose(candidate_vectors)
        )  # [B, (K - 1) B]
        own = ops.arange(rows)
        anchors, positives, candidates = (
            texts[:, 0],
            texts[:, 1],
            ops.reshape(ops.transpose(texts[:, 1:]), (-1,)),
        )
        same_anchor = ops.equal(anchors[:, None], anchors[None])  # [B, B]
        excluded = ops.logical_or(
            ops.equal(candidates, positives[:, None]), ops.equal(candidates, anchors[:, None])
        )
        excluded = ops.logical_or(
            excluded, ops.logical_or((candidates == NO_TEXT)[None], (anchors == NO_TEXT)[:, None])
        )
        none = ops.zeros((rows, (columns - 2) * rows), "bool")
        excluded = ops.logical_or(excluded, ops.concatenate([same_anchor, none], axis=1))
        is_own = ops.equal(ops.arange((columns - 1) * rows)[None], own[:, None])
        excluded = ops.logical_and(
            excluded, ops.logical_not(is_own)
        )  # The candidates that do not count for each anchor.
        losses, predictions = softmax_cross_entropy(ops.where(excluded, _EXCLUDED, scores), own)
        return losses, {
            "correct": ops.cast(ops.equal(predictions, ops.cast(own, "int32")), "float32")
        }

    def compile_defaults(self) -> dict:
        return {"loss": InBatchCrossEntropy(self.scale), "weighted_metrics": []}


class CosineRegression(RegressionLoss):
    """Squared and absolute error of a cosine: vectors [B, 2, D], "label_ids" float [B], the cosine
    that is right."""

    def measure(self, logits, labels) -> tuple:
        return super().measure(cosines(logits)[:, None], labels)


IN_BATCH = InBatchNegatives("sentence_embedding")


@register
class InBatchCrossEntropy(WithArguments, keras.losses.Loss):
    """`InBatchNegatives` for `fit`: y_true int [B, K], "text_ids"; y_pred float [B, K, D],
    vectors."""

    _arguments = ("scale",)

    def __init__(self, scale: float = SCALE, name: str = "in_batch_negatives", **kwargs):
        super().__init__(name=name, **{"reduction": "mean_with_sample_weight", **kwargs})
        self.scale = scale

    def call(self, y_true, y_pred):
        """float32 [B]."""
        return InBatchNegatives(self.name, scale=self.scale).measure(y_pred, y_true)[0]


@register
class BertForSentenceEmbedding(BertTaskModel):
    """Encoder and pooling.

    Args:
      config: sizes, rates, activation.
      pooling: "mean" over all tokens, "cls" for the last layer's vector of [CLS], or "max" over all
        tokens.
      normalize: scale the vectors to length 1.
      kwargs: as in `BertTaskModel`.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) model = BertForSentenceEmbedding(config)
        model({"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}).shape      # (2, 32): a vector for
        each text pairs = {"input_ids": np.array([[[2, 7, 3], [2, 8, 3]]])}         # 1 example, 2
        texts model(pairs).shape                                                # (1, 2, 32)
    """

    head_losses: tuple[HeadLoss, ...] = (IN_BATCH,)
    _arguments = (*BertTaskModel._arguments, "pooling", "normalize")

    def __init__(
        self,
        config: BertConfig,
        *,
        seed: int = 0,
        pooling: str = "mean",
        normalize: bool = True,
        **kwargs,
    ):
        super().__init__(config, seed=seed, **kwargs)
        if pooling not in POOLINGS:
            raise UserError(
                f"pooling={pooling!r} is not known: choose one of {', '.join(POOLINGS)}"
            )
        self.pooling, self.normalize = pooling, normalize
        self.build()

    def call(
        self,
        features,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        trim: bool = True,
    ):
        """Vectors of a batch.

        Args:
          features: as for `BertForClassification`, [B, S] each, or [B, K, S] for K texts an
            example; then optionally "text_lengths" int [B, K], to which the k-th texts are cut: of
            all rows the same, at least the longest one's. The K-th of each are computed together,
            with dropout of their own.
          dropout, training: as in `BertEncoder.call`.
          trim: cut them; false where XLA compiles the model, which needs to know all sizes. Without
            dropout the vectors are the same.

        Returns:
          float32 [B, D] or [B, K, D]; D is H, after a BiLSTM 2 U.
        """
        inputs = {
            name: value for name, value in encoder_inputs(features).items() if value is not None
        }
        if len(inputs["input_ids"].shape) == 2:
            return self._vectors(inputs, dropout, training)
        # Under other backends a compiled model needs to know all sizes.
        lengths = (
            features.get("text_lengths")
            if trim and keras.backend.backend() == "tensorflow"
            else None
        )
        columns = []
        for column in range(inputs["input_ids"].shape[1]):
            of_column = {name: value[:, column] for name, value in inputs.items()}
            if lengths is not None:
                of_column = {
                    name: value[:, : lengths[0, column]] for name, value in of_column.items()
                }
            stream = dropout and dataclasses.replace(
                dropout,
                first_example=dropout.first_example + ops.cast(column * _MOST_EXAMPLES, "int64"),
            )
            columns.append(self._vectors(of_column, stream, training))
        return ops.stack(columns, axis=1)

    def _vectors(self, inputs: dict, dropout: DropoutStream | None, training: bool | None):
        """[B, S] → float32 [B, D]."""
        mask = inputs.get("input_mask", ops.ones_like(inputs["input_ids"]))
        vectors = pool(
            self.encode(inputs, dropout, training)["sequence_output"], mask, self.pooling
        )
        return unit_length(vectors) if self.normalize else vectors

"""Vectors of sentences, compared by their cosine: the model, poolings and losses.

Input: ids [B, S] of texts, or [B, K, S] of examples with K texts each; output: vectors [B, D] or
[B, K, D].

The model is the encoder and a pooling; it has no head, so any checkpoint of an encoder can be used.
The losses are the cosine regression of Sentence-BERT (arXiv 1908.10084) and in-batch negatives
(arXiv 1705.00652, 2004.04906).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.checkpoints.sentence_vectors import DenseLayer
from modeling.config import POOLINGS, BertConfig
from modeling.dropout import DropoutStream
from modeling.encoder import encoder_inputs
from modeling.losses import (
    HeadLoss,
    InBatchLoss,
    RegressionLoss,
    WeightedMean,
    check_shape,
    row_weights,
    softmax_cross_entropy,
)
from modeling.replicas import num_replicas
from modeling.saving import WithArguments, register
from modeling.task_model import BertTaskModel
from modeling.xla import is_jit_compiled

SCALE = 20.0
# "text_ids" of a missing text: a missing negative, or a padding example.
NO_TEXT = -1
# Score of excluded candidates.
_EXCLUDED = -1e9
# The k-th texts of all examples draw dropout from row k * 2^32 on, after all rows of the texts
# before.
_MAX_EXAMPLES = 1 << 32


def pool(sequence_output, mask, pooling: str):
    """Pools the vectors of a text's tokens, [CLS] and [SEP] included, to one vector.

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
    # float32 holds the sum of 512 tokens exactly enough; 16 bits would lose the last ones.
    weights = ops.expand_dims(ops.cast(mask, "float32"), axis=-1)
    if pooling == "max":
        return ops.max(vectors + (1.0 - weights) * _EXCLUDED, axis=1)
    return ops.sum(vectors * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1.0)


def unit_length(vectors):
    """Divides each vector, float [..., D], by its length; zeros stay zeros."""
    # The root is taken of the sum with its lower bound: the gradient of a root at 0 is NaN.
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squares, 1e-24))


_ACTIVATIONS = {"Tanh": ops.tanh, "Identity": lambda x: x, "ReLU": ops.relu}


def finish(vectors, dense: Sequence[DenseLayer], normalize: bool, truncate_dim: int | None):
    """Applies what follows the pooling, in the order of sentence-transformers: dense layers, the
    scaling to length 1, and the truncation, after which vectors are not scaled again.

    Args:
      vectors: float32 [..., D].
    """
    for layer in dense:
        vectors = ops.matmul(vectors, layer.kernel) + layer.bias
        vectors = _ACTIVATIONS[layer.activation](vectors)
    if normalize:
        vectors = unit_length(vectors)
    return vectors[..., :truncate_dim]


def cosines(vectors):
    """Returns the cosines of the first two texts of each example, float32 [B, K, D] → [B]."""
    unit = unit_length(vectors)
    return ops.sum(unit[:, 0] * unit[:, 1], axis=-1)


def _text_ids(features: dict):
    return features["text_ids"]


@dataclasses.dataclass(frozen=True)
class InBatchNegatives(InBatchLoss):
    """Cross-entropy, in nats, of choosing an example's positive among all candidates of the batch,
    and accuracy.

    Vectors [B, K, D] of an anchor, its positive and K - 2 hard negatives each. Candidates are the
    positives and hard negatives of all examples; scores are cosines times `scale`. "text_ids" int
    [B, K] are the same for the same text and `NO_TEXT` for a missing one. A candidate is excluded
    if it is the anchor's text, the positive's, or a positive of the same anchor in another example.
    The whole batch must be seen at once, see `bert_tf/training/joint_gradients.py`.

    Attributes:
      scale: 1 / temperature.
    """

    labels: Callable[[dict], object] = _text_ids
    scale: float = SCALE
    compared_features = ("text_ids", "is_real_example")

    def measure(self, logits, labels) -> tuple:
        unit = unit_length(logits)
        # All positives first, then column by column the hard negatives: the positive of example i
        # is candidate i.
        candidates = ops.reshape(ops.swapaxes(unit[:, 1:], 0, 1), (-1, unit.shape[-1]))
        scores = ops.matmul(unit[:, 0], ops.transpose(candidates))  # [B, (K - 1) B]
        scores = self.scale * scores
        texts = ops.cast(labels, "int32")
        positives = ops.arange(ops.shape(texts)[0], dtype="int32")
        scores = ops.where(_excluded_candidates(texts), _EXCLUDED, scores)
        losses, predictions = softmax_cross_entropy(scores, positives)
        correct = ops.equal(predictions, positives)
        return losses, {"correct": ops.cast(correct, "float32")}

    def compile_defaults(self) -> dict:
        return {"loss": InBatchCrossEntropy(self.scale), "weighted_metrics": []}


def _excluded_candidates(texts):
    """Returns bool [B, (K - 1) B], the candidates that an anchor can't be told from.

    Args:
      texts: int32 [B, K], "text_ids".
    """
    rows, columns = ops.shape(texts)
    anchors = texts[:, 0]
    positives = texts[:, 1]
    candidates = ops.reshape(ops.transpose(texts[:, 1:]), (-1,))
    is_positive = ops.equal(candidates, positives[:, None])
    is_anchor = ops.equal(candidates, anchors[:, None])
    excluded = ops.logical_or(is_positive, is_anchor)
    is_missing = ops.logical_or((candidates == NO_TEXT)[None], (anchors == NO_TEXT)[:, None])
    excluded = ops.logical_or(excluded, is_missing)
    # Only the positives of the same anchor are excluded, not its hard negatives.
    same_anchor = ops.equal(anchors[:, None], anchors[None])  # [B, B]
    negatives = ops.zeros((rows, (columns - 2) * rows), "bool")
    same_anchor = ops.concatenate([same_anchor, negatives], axis=1)
    excluded = ops.logical_or(excluded, same_anchor)
    # The example's own positive always stays.
    indices = ops.arange((columns - 1) * rows, dtype="int32")
    is_own = ops.equal(indices[None], indices[:rows, None])
    return ops.logical_and(excluded, ops.logical_not(is_own))


class CosineRegression(RegressionLoss):
    """Squared and absolute error of a cosine: vectors [B, 2, D], "label_ids" float [B]."""

    def measure(self, logits, labels) -> tuple:
        return super().measure(cosines(logits)[:, None], labels)


IN_BATCH = InBatchNegatives("sentence_embedding")


@register
class InBatchCrossEntropy(WithArguments, WeightedMean):
    """`InBatchNegatives` for `fit`: y_true int [B, K], "text_ids"; y_pred float [B, K, D].

    Raises:
      UserError: on several devices, each of which would see its part of the candidates only, or
        labels that are no numbers of texts.
    """

    _arguments = ("scale",)

    def __init__(self, scale: float = SCALE, name: str = "in_batch_negatives", **kwargs):
        super().__init__(name=name, **{"reduction": "mean_with_sample_weight", **kwargs})
        self.scale = scale

    def rows(self, y_true, y_pred, sample_weight) -> tuple:
        if num_replicas() > 1:
            raise UserError(
                "the in-batch loss compares all examples of a batch, and fit gives each device its "
                "own: train on one device, or by run_sentence_embedding.py, which gathers them"
            )
        check_shape(
            y_true,
            ((None, y_pred.shape[1]),),
            "the in-batch loss reads a number for each text, [B, K], the same for the same text",
        )
        losses, _ = InBatchNegatives(self.name, scale=self.scale).measure(y_pred, y_true)
        return losses, row_weights(sample_weight, losses)


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
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        model = BertForSentenceEmbedding(config)
        model({"input_ids": np.array([[2, 7, 3], [2, 8, 3]])}).shape      # (2, 32)
        pairs = {"input_ids": np.array([[[2, 7, 3], [2, 8, 3]]])}         # 1 example, 2 texts
        model(pairs).shape                                                # (1, 2, 32)
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
            poolings = ", ".join(POOLINGS)
            raise UserError(f"pooling={pooling!r} is not known: choose one of {poolings}")
        self.pooling = pooling
        self.normalize = normalize
        # Parts of published encoders, which predictions and exports set: they are not trained.
        self.dense: tuple[DenseLayer, ...] = ()
        self.truncate_dim: int | None = None
        self.build()

    def call(
        self,
        features,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
    ):
        """Returns the vectors of a batch.

        Args:
          features: as for `BertForClassification`, [B, S] each, or [B, K, S] for K texts per
            example; then optionally "text_lengths" int [B, K], to which the k-th texts are cut:
            the same in all rows, at least the length of the longest one. The k-th texts of all
            examples are computed together, with dropout of their own. XLA, which needs to know
            all sizes, does not cut them: without dropout the vectors are the same.
          dropout, training: as in `BertEncoder.call`.

        Returns:
          float32 [B, D] or [B, K, D]; D is H, after a BiLSTM 2 U.
        """
        inputs = encoder_inputs(features)
        if len(inputs["input_ids"].shape) == 2:
            return self._vectors(inputs, dropout, training)
        lengths = None
        # Under other backends a compiled model needs to know all sizes, too.
        can_cut = keras.backend.backend() == "tensorflow" and not is_jit_compiled()
        if can_cut and isinstance(features, Mapping):
            lengths = features.get("text_lengths")
        vectors = []
        # One column at a time: each has its own length after trimming.
        for column in range(inputs["input_ids"].shape[1]):
            column_inputs = {}
            for name, value in inputs.items():
                value = value[:, column]
                if lengths is not None:
                    value = value[:, : lengths[0, column]]
                column_inputs[name] = value
            stream = dropout
            if dropout is not None:
                offset = ops.cast(column * _MAX_EXAMPLES, "int64")
                first_example = dropout.first_example + offset
                stream = dataclasses.replace(dropout, first_example=first_example)
            vectors.append(self._vectors(column_inputs, stream, training))
        return ops.stack(vectors, axis=1)

    def _vectors(self, inputs: dict, dropout: DropoutStream | None, training: bool | None):
        """Computes [B, S] → float32 [B, D]."""
        mask = inputs.get("input_mask", ops.ones_like(inputs["input_ids"]))
        sequence_output = self.encode(inputs, dropout, training)["sequence_output"]
        vectors = pool(sequence_output, mask, self.pooling)
        return finish(vectors, self.dense, self.normalize, self.truncate_dim)

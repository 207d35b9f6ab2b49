"""Multi-head self-attention (section 3.2 of "Attention is all you need", arXiv 1706.03762) and its
mask.

Input: [B, S, H] and who may attend to whom; output: [B, S, H].
"""

import dataclasses
import functools
import math
from typing import Any

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import Dropout, DropoutStream
from modeling.layers import dense
from modeling.saving import Configured, register

# What the original adds to a forbidden score. Its exponential is 0 in float32. Where everything is
# forbidden (a row of padding only) it cancels in the softmax, and the row attends everywhere
# instead of becoming NaN.
FORBIDDEN = -10000.0


@dataclasses.dataclass(frozen=True)
class AttentionSpan:
    """Who attends to whom, as the kernel of `modeling/fused_attention.py` takes it in place of
    `attention_bias`.

    Attributes:
      lengths: int32 [B], the tokens of each row, which are its first ones.
      causal: position i attends to 0...i only.
    """

    lengths: Any
    causal: bool


def attention_bias(
    input_mask=None, *, sequence_length: int | None = None, causal: bool = False, sequence_ids=None
):
    """The additive mask of self-attention.

    Args:
      input_mask: [B, S], 1 for tokens and 0 for padding, int or float; None where there is no
        padding. Padding is never attended to; what padding itself attends to is irrelevant.
      sequence_length: S, needed for `causal`.
      causal: position i attends to 0...i only (the left-to-right model of section 5.1 of the
        paper).
      sequence_ids: int [B, S], which of several packed sequences a position belongs to; positions
        attend within their own sequence only.

    Returns:
      float32, 0 where attention is allowed and `FORBIDDEN` where not, of a shape that broadcasts to
      [B, N, S, S] (axis 2 attends, axis 3 is attended to); None where everything is allowed.
    """
    rules = []
    if input_mask is not None:
        rules.append(ops.cast(input_mask, "bool")[:, None, None, :])  # [B, 1, 1, S]
    if causal:
        positions = ops.arange(sequence_length)
        rules.append((positions[None, :] <= positions[:, None])[None, None])  # [1, 1, S, S]
    if sequence_ids is not None:
        rules.append(
            sequence_ids[:, None, :, None] == sequence_ids[:, None, None, :]
        )  # [B, 1, S, S]
    return ops.where(functools.reduce(ops.logical_and, rules), 0.0, FORBIDDEN) if rules else None


def attention_span(input_mask, batch: int, length: int, causal: bool) -> AttentionSpan:
    """The span of rows whose padding, if any, is at their end.

    `input_mask` is [B, S], 1 for tokens and 0 for padding, or None where there is no padding.
    """
    if input_mask is None:
        return AttentionSpan(ops.zeros((batch,), "int32") + length, causal)
    # A row of padding only must not become 0 / 0.
    return AttentionSpan(ops.maximum(ops.sum(ops.cast(input_mask, "int32"), axis=1), 1), causal)


@register
class SelfAttention(Configured, keras.layers.Layer):
    """Every position looks at every position the mask allows, once for each head.

    Args:
      config: sizes and the dropout rate of the probabilities.
      index: number of the encoder layer it is in, from 0; it decides the initial weights and the
        dropout site.
      seed: of the initial weights.
    """

    _arguments = ("index", "seed")

    def __init__(self, config: BertConfig, index: int = 0, seed: int = 0, **kwargs):
        # Keras must not round the bias, which is float32 for the softmax; `x` has the compute dtype
        # already.
        super().__init__(autocast=False, **kwargs)
        self.config = config
        self.index = index
        self.seed = seed
        self.query, self.key, self.value = (
            dense(
                config,
                config.hidden_size,
                seed,
                f"bert/encoder/layer_{index}/attention/self/{name}",
                name=name,
                dtype=self.dtype_policy,
            )
            for name in ("query", "key", "value")
        )
        self.dropout = Dropout(
            config.attention_probs_dropout_prob, 1 + 3 * index, seed=seed, dtype=self.dtype_policy
        )

    def build(self, input_shape=None):
        for layer in (self.query, self.key, self.value):
            layer.build((None, None, self.config.hidden_size))

    def call(
        self,
        x,
        bias=None,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
    ):
        """The context of each position, the heads side by side, before the output projection.

        Args:
          x: [B, S, H].
          bias: float32, broadcastable to [B, N, S, S], from `attention_bias`; None to attend
            everywhere; an `AttentionSpan` for the fused kernel, which drops nothing.
          dropout, training: as in `Dropout`.
          return_attention_probabilities: also return what the softmax gives, before dropout.

        Returns:
          [B, S, H]; on request a pair of it and the probabilities [B, N, S, S].
        """
        batch, length, hidden = ops.shape(x)
        head_size = self.config.head_size
        by_position = (batch, length, self.config.num_attention_heads, head_size)
        if isinstance(bias, AttentionSpan):
            from modeling.fused_attention import fused_attention

            query, key, value = (
                ops.reshape(one(x), by_position) for one in (self.query, self.key, self.value)
            )
            return ops.reshape(fused_attention(query, key, value, bias), (batch, length, hidden))
        # Scaling the queries equals scaling the scores, which are S / D times as many.
        query, key, value = (
            ops.transpose(ops.reshape(projected, by_position), axes)
            for projected, axes in (
                (self.query(x) * (1.0 / math.sqrt(head_size)), (0, 2, 1, 3)),  # [B, N, S, D]
                (self.key(x), (0, 2, 3, 1)),  # [B, N, D, S]
                (self.value(x), (0, 2, 1, 3)),
            )
        )  # [B, N, S, D]
        scores = ops.cast(ops.matmul(query, key), "float32")  # [B, N, S, S]
        if bias is not None:
            scores = scores + bias
        probabilities = ops.cast(ops.softmax(scores), self.compute_dtype)
        dropped = self.dropout(probabilities, dropout=dropout, training=training)
        context = ops.transpose(ops.matmul(dropped, value), (0, 2, 1, 3))  # [B, S, N, D]
        context = ops.reshape(context, (batch, length, hidden))
        return (context, probabilities) if return_attention_probabilities else context

"""Multi-head self-attention (section 3.2 of "Attention is all you need", arXiv 1706.03762) and its
mask.

Input: [B, S, H] and which positions may attend to which; output: [B, S, H].
"""

import dataclasses
import functools
import math
from typing import Any

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import Dropout, DropoutStream, layer_site
from modeling.layers import dense
from modeling.saving import Configured, register

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

# The value that the original adds to a forbidden score. Its exponential is 0 in float32. In a row
# of padding only, where everything is forbidden, it cancels in the softmax: the row attends
# everywhere instead of becoming NaN.
FORBIDDEN = -10000.0


# A type of its own, as the kernel computes the mask from the lengths: a bias would be [B, N, S, S]
# numbers in memory, which the kernel is there to avoid.
@dataclasses.dataclass(frozen=True)
class AttentionSpan:
    """Attention pattern for the kernel of `modeling/fused_attention.py`, in place of a bias.

    Attributes:
      lengths: int32 [B], the number of tokens in each row; padding follows them. Of packed rows
        int32 [B, M], the lengths of all sequences of the batch in their order, then zeros.
      causal: position i attends to 0...i only, of its sequence.
      starts: of packed rows int32 [B, M + 1], where those sequences start in the rows joined to
        one, in tokens, then B * S; None where rows hold one sequence each.
    """

    lengths: Any
    causal: bool
    starts: Any = None


def attention_bias(
    input_mask=None, *, sequence_length: int | None = None, causal: bool = False, sequence_ids=None
):
    """Returns the additive mask of self-attention.

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
        # LiteRT knows no slices that add axes where B or S are unknown.
        rules.append(ops.expand_dims(ops.cast(input_mask, "bool"), (1, 2)))  # [B, 1, 1, S]
    if causal:
        # The diagonal is allowed: a position always sees itself, so that no row is without scores.
        positions = ops.arange(sequence_length, dtype="int32")
        rules.append((positions[None, :] <= positions[:, None])[None, None])  # [1, 1, S, S]
    if sequence_ids is not None:
        is_same = ops.expand_dims(sequence_ids, (1, 3)) == ops.expand_dims(sequence_ids, (1, 2))
        rules.append(is_same)  # [B, 1, S, S]
    if not rules:
        return None
    is_allowed = functools.reduce(ops.logical_and, rules)
    # Numbers alone would get the type that the user's keras.json has.
    return ops.where(is_allowed, ops.cast(0.0, "float32"), ops.cast(FORBIDDEN, "float32"))


def attention_span(input_mask, batch: int, length: int, causal: bool) -> AttentionSpan:
    """Returns the span of B rows of S positions whose padding, if any, is at their end.

    `input_mask` is [B, S], 1 for tokens and 0 for padding, or None where there is no padding.
    """
    if input_mask is None:
        return AttentionSpan(ops.zeros((batch,), "int32") + length, causal)
    lengths = ops.sum(ops.cast(input_mask, "int32"), axis=1)
    # A row of padding only must not become 0 / 0 in the kernel.
    return AttentionSpan(ops.maximum(lengths, 1), causal)


def packed_span(sequence_ids, max_sequences: int, causal: bool) -> AttentionSpan:
    """Returns the span of packed rows; needs Keras' TensorFlow backend.

    Args:
      sequence_ids: int [B, S], 1...K in this order, and 0 in padding, which follows.
      max_sequences: K, the most sequences in a row.
      causal: as in `attention_bias`.
    """
    batch, length = ops.shape(sequence_ids)
    # Padding is a sequence of its own: the kernel writes nothing where there is none, and what
    # would stand there is multiplied by zero later, which is no number where memory holds NaN.
    num_sequences = max_sequences + 1
    numbers = (ops.arange(num_sequences, dtype="int32") + 1) % num_sequences  # 1...K, 0
    sequence_ids = ops.cast(sequence_ids, "int32")
    is_in_sequence = sequence_ids[:, None, :] == numbers[None, :, None]  # [B, M, S]
    lengths = ops.reshape(ops.sum(ops.cast(is_in_sequence, "int32"), axis=-1), (-1,))  # [B * M]
    # The kernel takes the sequences of all rows one after the other, and none of length 0 among
    # them.
    order = tf.argsort(ops.cast(lengths == 0, "int32"), stable=True)
    lengths = ops.take(lengths, order)
    starts = ops.concatenate([ops.zeros((1,), "int32"), ops.cumsum(lengths)], axis=0)
    # There is one more start than sequences in each row, so that shapes are JAX's.
    starts = ops.pad(starts, ((0, batch - 1),), constant_values=batch * length)
    return AttentionSpan(
        ops.reshape(lengths, (batch, num_sequences)),
        causal,
        ops.reshape(starts, (batch, num_sequences + 1)),
    )


@register
class SelfAttention(Configured, keras.layers.Layer):
    """Self-attention: each head lets every position attend to the positions that the mask allows.

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
        self.query = self._projection("query")
        self.key = self._projection("key")
        self.value = self._projection("value")
        rate = config.attention_probs_dropout_prob
        self.dropout = Dropout(rate, layer_site(index, 0), seed=seed, dtype=self.dtype_policy)

    def _projection(self, name: str) -> keras.layers.Layer:
        return dense(
            self.config,
            self.config.hidden_size,
            self.seed,
            f"bert/encoder/layer_{self.index}/attention/self/{name}",
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, input_shape=None):
        for layer in (self.query, self.key, self.value):
            layer.build((None, None, self.config.hidden_size))

    def call(
        self,
        x,
        bias=None,
        *,
        span: AttentionSpan | None = None,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
    ):
        """Returns the context of each position, heads concatenated, before the output projection.

        Args:
          x: [B, S, H].
          bias: float32, broadcastable to [B, N, S, S], from `attention_bias`; None to attend
            everywhere.
          span: attend by the fused kernel, which takes a span in place of the bias, drops nothing
            and returns no probabilities.
          dropout, training: as in `Dropout`.
          return_attention_probabilities: also return the output of the softmax, before dropout.

        Returns:
          [B, S, H]; on request a pair of it and the probabilities [B, N, S, S].
        """
        if span is not None:
            return self._fused(x, span)
        batch, length, hidden = ops.shape(x)
        head_size = self.config.head_size
        heads = (batch, length, self.config.num_attention_heads, head_size)
        # Scaling the queries equals scaling the scores, which are S / D times as many.
        scaled = self.query(x) * (1.0 / math.sqrt(head_size))
        query = ops.transpose(ops.reshape(scaled, heads), (0, 2, 1, 3))  # [B, N, S, D]
        key = ops.transpose(ops.reshape(self.key(x), heads), (0, 2, 3, 1))  # [B, N, D, S]
        value = ops.transpose(ops.reshape(self.value(x), heads), (0, 2, 1, 3))  # [B, N, S, D]
        scores = ops.cast(ops.matmul(query, key), "float32")  # [B, N, S, S]
        if bias is not None:
            scores = scores + bias
        # The softmax is in float32 under every policy: 16 bits lose the small probabilities of long
        # rows.
        probabilities = ops.cast(ops.softmax(scores), self.compute_dtype)
        dropped = self.dropout(probabilities, dropout=dropout, training=training)
        context = ops.transpose(ops.matmul(dropped, value), (0, 2, 1, 3))  # [B, S, N, D]
        context = ops.reshape(context, (batch, length, hidden))
        if return_attention_probabilities:
            return context, probabilities
        return context

    def _fused(self, x, span: AttentionSpan):
        """Returns the context [B, S, H] by cuDNN's kernel, which reads and writes [B, S, N, D]."""
        from modeling.fused_attention import fused_attention

        batch, length, hidden = ops.shape(x)
        heads = (batch, length, self.config.num_attention_heads, self.config.head_size)
        query = ops.reshape(self.query(x), heads)
        key = ops.reshape(self.key(x), heads)
        value = ops.reshape(self.value(x), heads)
        return ops.reshape(fused_attention(query, key, value, span), (batch, length, hidden))

"""Multi-head self-attention (section 3.2 of "Attention is all you need", arXiv 1706.03762).

Comes after `modeling/masks.py`; used by `modeling/encoder.py`.
"""

import math

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dense import Dense
from modeling.dropout import DropoutStream
from modeling.dropout import dropout as apply_dropout
from modeling.initializers import truncated_normal


class SelfAttention(keras.layers.Layer):
  """Every position looks at every position the mask allows, once for each head.

  Args:
    config: sizes and the dropout rate of the probabilities.
    seed, path: of the initial weights, see `truncated_normal`.
  """

  def __init__(self, config: BertConfig, seed: int, path: str, **kwargs):
    # Keras must not round the bias, which is float32 for the softmax; `x` has the compute dtype already.
    super().__init__(autocast=False, **kwargs)
    self._config = config

    def projection(name: str) -> Dense:
      initializer = truncated_normal(config.initializer_range, seed, f"{path}/{name}/kernel")
      return Dense(config.hidden_size, config.hidden_size, initializer, name=name, dtype=self.dtype_policy)

    self.query = projection("query")
    self.key = projection("key")
    self.value = projection("value")

  def build(self, unused_input_shape=None):
    for layer in (self.query, self.key, self.value):
      layer.build()

  def call(self, x, bias=None, *, dropout: DropoutStream | None = None, dropout_site: int = 0):
    """What each position gathers, the heads side by side, before the output projection.

    Args:
      x: [B, S, H].
      bias: float32, broadcastable to [B, N, S, S], from `masks.attention_bias`; None to attend everywhere.
      dropout: None for inference.
      dropout_site: number of the place where the probabilities are dropped.

    Returns:
      [B, S, H].
    """
    batch, length, hidden = ops.shape(x)
    heads, head_size = self._config.num_attention_heads, self._config.head_size

    def split(projected, axes):
      return ops.transpose(ops.reshape(projected, (batch, length, heads, head_size)), axes)

    # Scaling the queries equals scaling the scores, which are S / D times as many.
    query = split(self.query(x) * (1.0 / math.sqrt(head_size)), (0, 2, 1, 3))  # [B, N, S, D]
    key = split(self.key(x), (0, 2, 3, 1))  # [B, N, D, S]
    value = split(self.value(x), (0, 2, 1, 3))  # [B, N, S, D]
    scores = ops.cast(ops.matmul(query, key), "float32")  # [B, N, S, S]
    if bias is not None:
      scores = scores + bias
    probabilities = ops.cast(ops.softmax(scores), self.compute_dtype)
    probabilities = apply_dropout(probabilities, self._config.attention_probs_dropout_prob, dropout_site, dropout)
    context = ops.matmul(probabilities, value)  # [B, N, S, D]
    return ops.reshape(ops.transpose(context, (0, 2, 1, 3)), (batch, length, hidden))

"""What stands on the encoder in pre-training (section 3.1 of the paper): masked LM and next sentence.

Comes after `modeling/encoder.py`; `modeling/pretraining.py` joins them.
"""

import keras
from keras import ops

from modeling.activations import activation
from modeling.config import BertConfig
from modeling.dense import Dense
from modeling.initializers import truncated_normal
from modeling.linear import add_bias, matmul_transposed
from modeling.normalization import LayerNorm


class MaskedLmHead(keras.layers.Layer):
  """Predicts the tokens at the masked positions.

  Variables: `dense`, `layer_norm`, output_bias [V]. The projection to the vocabulary is the word embedding table.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    self._config = config
    self._activation = activation(config.hidden_act)
    self.dense = Dense(
        config.hidden_size, config.hidden_size,
        truncated_normal(config.initializer_range, seed, "cls/predictions/transform/dense/kernel"),
        name="dense", dtype=self.dtype_policy)
    self.layer_norm = LayerNorm(
        config.hidden_size, config.layer_norm_epsilon, name="LayerNorm", dtype=self.dtype_policy)

  def build(self, unused_input_shape=None):
    self.dense.build()
    self.layer_norm.build()
    self.output_bias = self.add_weight(
        shape=(self._config.vocab_size,), initializer="zeros", name="output_bias", autocast=False)

  def call(self, sequence_output, positions, word_embeddings):
    """Scores of the vocabulary at the masked positions.

    Args:
      sequence_output: [B, S, H].
      positions: int [B, P], each from 0 to S - 1; unused ones may hold anything in that range.
      word_embeddings: float [V, H], the encoder's table.

    Returns:
      float32 logits [B, P, V].
    """
    batch, length, hidden = ops.shape(sequence_output)
    predictions = ops.shape(positions)[1]
    # P of S positions are wanted: gathering them first saves S / P of the largest product of the network.
    rows = ops.cast(positions, "int32") + ops.arange(batch, dtype="int32")[:, None] * length  # [B, P]
    x = ops.take(ops.reshape(sequence_output, (-1, hidden)), ops.reshape(rows, (-1,)), axis=0)  # [B * P, H]
    x = self.layer_norm(self._activation(self.dense(x)))
    logits = matmul_transposed(x, word_embeddings)  # [B * P, V]
    logits = add_bias(ops.cast(logits, "float32"), self.output_bias)
    return ops.reshape(logits, (batch, predictions, self._config.vocab_size))


class NextSentenceHead(keras.layers.Layer):
  """Tells whether segment B follows segment A in the text. Computes in float32 whatever the policy says.

  Variables: output_weights [2, H], output_bias [2].
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(dtype="float32", **kwargs)
    self._config = config
    self._initializer = truncated_normal(config.initializer_range, seed, "cls/seq_relationship/output_weights")

  def build(self, unused_input_shape=None):
    self.output_weights = self.add_weight(
        shape=(2, self._config.hidden_size), initializer=self._initializer, name="output_weights")
    self.output_bias = self.add_weight(shape=(2,), initializer="zeros", name="output_bias")

  def call(self, pooled_output):
    """[B, H] → float32 logits [B, 2]: column 0 "is the next", column 1 "is a random one"."""
    return add_bias(matmul_transposed(pooled_output, self.output_weights), self.output_bias)

"""The input layer: word, segment and position embeddings (figure 2 of the paper).

Input: ids [B, S]; output: [B, S, H].
"""

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import Dropout, DropoutStream
from modeling.layers import LayerNorm, truncated_normal
from modeling.saving import Configured, register

_DROPOUT_SITE = 0


@register
class Embeddings(Configured, keras.layers.Layer):
  """Sum of the three embeddings, normalised.

  Variables: word_embeddings [V, H], token_type_embeddings [segments, H], position_embeddings
  [max_position_embeddings, H], and those of `layer_norm`.

  Args:
    config: sizes and the dropout rate.
    seed: of the initial weights.
  """

  def __init__(self, config: BertConfig, seed: int = 0, **kwargs):
    # The sum is taken in float32, as the LayerNorm that follows expects it.
    super().__init__(autocast=False, **kwargs)
    self.config = config
    self.seed = seed
    self.layer_norm = LayerNorm(config.layer_norm_epsilon, name="LayerNorm", dtype=self.dtype_policy)
    self.dropout = Dropout(config.hidden_dropout_prob, _DROPOUT_SITE, seed=seed, dtype=self.dtype_policy)

  def build(self, input_shape=None):
    self.word_embeddings = self._table("word_embeddings", self.config.vocab_size)
    self.token_type_embeddings = self._table("token_type_embeddings", self.config.type_vocab_size)
    self.position_embeddings = self._table("position_embeddings", self.config.max_position_embeddings)
    self.layer_norm.build((None, None, self.config.hidden_size))

  def _table(self, name: str, rows: int) -> keras.Variable:
    initializer = truncated_normal(self.config.initializer_range, self.seed, f"bert/embeddings/{name}")
    return self.add_weight(
        shape=(rows, self.config.hidden_size), initializer=initializer, name=name, autocast=False)

  def call(self, input_ids, segment_ids=None, position_ids=None, *, dropout: DropoutStream | None = None,
           training: bool | None = None):
    """Embeds a batch.

    Args:
      input_ids: int [B, S].
      segment_ids: int [B, S]; None means 0 everywhere.
      position_ids: int [B, S]; None means 0...S-1 in every row.
      dropout, training: as in `Dropout`.

    Returns:
      [B, S, H].

    Raises:
      UserError: S is known and larger than the position table.
    """
    length = ops.shape(input_ids)[1]
    if isinstance(length, int):
      self.config.check_sequence_length(length)
    total = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, S, H]
    total = total + self._segments(segment_ids)
    if position_ids is None:
      total = total + self.position_embeddings[:length]
    else:
      total = total + ops.take(self.position_embeddings, position_ids, axis=0)
    return self.dropout(self.layer_norm(total), dropout=dropout, training=training)

  def _segments(self, segment_ids):
    """[B, S, H], or [H] where all are of segment 0."""
    if segment_ids is None:
      return self.token_type_embeddings[0]
    # With a handful of rows a product is faster than a lookup, above all in its gradient.
    one_hot = ops.one_hot(ops.reshape(segment_ids, (-1,)), self.config.type_vocab_size, dtype="float32")
    chosen = ops.matmul(one_hot, self.token_type_embeddings)  # [B * S, H]
    return ops.reshape(chosen, (*ops.shape(segment_ids), self.config.hidden_size))

"""The bidirectional encoder: embeddings, L post-norm transformer layers, pooler (section 3 of the paper).

Comes after `modeling/embeddings.py` and `modeling/attention.py`; what is built on top of it is in `modeling/heads.py`.
"""

import keras
from keras import ops

from modeling.activations import activation
from modeling.attention import SelfAttention
from modeling.config import BertConfig
from modeling.dense import Dense
from modeling.dropout import DropoutStream
from modeling.dropout import dropout as apply_dropout
from modeling.embeddings import Embeddings
from modeling.initializers import truncated_normal
from modeling.masks import attention_bias
from modeling.normalization import LayerNorm


class EncoderLayer(keras.layers.Layer):
  """Self-attention and a feed-forward layer, each added to its input and then normalised.

  Args:
    config: sizes, rates, activation.
    index: number of the layer, from 0.
    seed: of the initial weights.
  """

  def __init__(self, config: BertConfig, index: int, seed: int, **kwargs):
    # Keras must not round the attention bias on its way to the softmax; `x` has the compute dtype already.
    super().__init__(autocast=False, **kwargs)
    self._config = config
    self._first_dropout_site = 1 + 3 * index
    self._activations = {training: activation(config.hidden_act, training) for training in (False, True)}
    path = f"bert/encoder/layer_{index}"

    def dense(name: str, inputs: int, outputs: int) -> Dense:
      initializer = truncated_normal(config.initializer_range, seed, f"{path}/{name}/dense/kernel")
      return Dense(inputs, outputs, initializer, name=name.replace("/", "_"), dtype=self.dtype_policy)

    def layer_norm(name: str) -> LayerNorm:
      return LayerNorm(config.hidden_size, config.layer_norm_epsilon, name=name, dtype=self.dtype_policy)

    self.attention = SelfAttention(config, seed, f"{path}/attention/self", name="attention", dtype=self.dtype_policy)
    self.attention_output = dense("attention/output", config.hidden_size, config.hidden_size)
    self.attention_layer_norm = layer_norm("attention_LayerNorm")
    self.intermediate = dense("intermediate", config.hidden_size, config.intermediate_size)
    self.output_dense = dense("output", config.intermediate_size, config.hidden_size)
    self.output_layer_norm = layer_norm("output_LayerNorm")

  def build(self, unused_input_shape=None):
    for layer in (self.attention, self.attention_output, self.attention_layer_norm,
                  self.intermediate, self.output_dense, self.output_layer_norm):
      layer.build()

  def call(self, x, bias=None, *, dropout: DropoutStream | None = None):
    """[B, S, H] → [B, S, H]; `bias` as in `SelfAttention`, `dropout` None for inference."""
    rate, place = self._config.hidden_dropout_prob, self._first_dropout_site
    attended = self.attention_output(self.attention(x, bias, dropout=dropout, dropout_site=place))
    x = self.attention_layer_norm(x + apply_dropout(attended, rate, place + 1, dropout))
    activate = self._activations[dropout is not None]
    transformed = self.output_dense(activate(self.intermediate(x)))  # [B, S, I] in between
    return self.output_layer_norm(x + apply_dropout(transformed, rate, place + 2, dropout))


class BertEncoder(keras.layers.Layer):
  """The part of the network that every task shares.

  Args:
    config: sizes, rates, activation.
    seed: of the initial weights. The same seed gives the same weights for any number of devices.
    dtype: Keras dtype or policy; under "mixed_bfloat16" and "mixed_float16" variables, LayerNorm and softmax stay
      in float32.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    self.config = config
    self.embeddings = Embeddings(config, seed, name="embeddings", dtype=self.dtype_policy)
    self.layers = [EncoderLayer(config, index, seed, name=f"layer_{index}", dtype=self.dtype_policy)
                   for index in range(config.num_hidden_layers)]
    self.pooler = Dense(
        config.hidden_size, config.hidden_size,
        truncated_normal(config.initializer_range, seed, "bert/pooler/dense/kernel"),
        name="pooler", dtype=self.dtype_policy)

  def build(self, unused_input_shape=None):
    for layer in (self.embeddings, *self.layers, self.pooler):
      layer.build()

  def build_weights(self) -> None:
    """Creates all variables, without data; does nothing where they exist."""
    if not self.built:
      self.build()

  def call(self, input_ids, input_mask=None, segment_ids=None, *, position_ids=None, causal: bool = False,
           sequence_ids=None, dropout: DropoutStream | None = None) -> dict:
    """Encodes a batch.

    Args:
      input_ids: int [B, S].
      input_mask: [B, S], 1 for tokens and 0 for padding; None means no padding.
      segment_ids: int [B, S], 0 for the first segment and 1 for the second; None means 0.
      position_ids: int [B, S]; None means 0...S-1. Packed sequences start again at 0.
      causal: attend to the left only.
      sequence_ids: int [B, S], numbers of the sequences packed in a row; each attends to itself only.
      dropout: the training step's random stream; None for inference.

    Returns:
      "embedding_output", "encoder_layer_0" ... "encoder_layer_{L-1}" and "sequence_output" (the last layer's),
      each [B, S, H], and "pooled_output" [B, H], from position 0.

    Raises:
      UserError: S is known and larger than the position table.
    """
    bias = attention_bias(
        input_mask, sequence_length=ops.shape(input_ids)[1], causal=causal, sequence_ids=sequence_ids)
    x = self.embeddings(input_ids, segment_ids, position_ids, dropout=dropout)  # [B, S, H]
    outputs = {"embedding_output": x}
    for index, layer in enumerate(self.layers):
      x = layer(x, bias, dropout=dropout)
      outputs[f"encoder_layer_{index}"] = x
    outputs["sequence_output"] = x
    outputs["pooled_output"] = ops.tanh(self.pooler(x[:, 0]))
    return outputs

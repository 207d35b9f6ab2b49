"""Tags of words from fixed activations: the feature-based half of section 5.3 of the paper, table 7.

    vectors [B, W, N, H] of N layers → one vector a word → two-layer BiLSTM → logits [B, W, C]

Input: activations of an encoder that is not trained. Output: logits. The BiLSTM is Keras' own, randomly initialised.
"""

import keras
from keras import ops

from modeling.bilstm import bidirectional_lstm


class FeatureTagger(keras.Model):
  """Combined layers, BiLSTM, linear layer.

  Args:
    classes: C, number of tags.
    num_layers: N, layers of the encoder that are combined.
    combine: "concat", "sum" or "weighted_sum": with learned weights, softmax(w), and a learned factor, as in ELMo.
    units: of each direction of each layer of the BiLSTM.
    depth: layers of the BiLSTM.
    dropout: of the inputs of each layer of the BiLSTM and of the linear layer.
    seed: of weights and dropout.
  """

  def __init__(self, classes: int, num_layers: int, combine: str, *, units: int = 768, depth: int = 2,
               dropout: float = 0.1, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    self.num_layers = num_layers
    if combine not in ("concat", "sum", "weighted_sum"):
      raise ValueError(f"{combine} is none of concat, sum and weighted_sum")
    self.combine = combine
    if combine == "weighted_sum":
      self.layer_weights = self.add_weight(shape=(num_layers,), initializer="zeros", name="layer_weights")
      self.factor = self.add_weight(shape=(), initializer="ones", name="factor")
    self.drops = [keras.layers.Dropout(dropout, seed=seed + number) for number in range(depth + 1)]
    seeds = [(seed + 10 + number, seed + 20 + number) for number in range(depth)]
    self.lstms = [bidirectional_lstm(units, forward_seeds=both, backward_seeds=both) for both in seeds]
    self.logits = keras.layers.Dense(classes, kernel_initializer=keras.initializers.GlorotUniform(seed + 30))

  def build_weights(self, hidden_size: int) -> None:
    """Creates all variables for activations of H units."""
    width = hidden_size * (self.num_layers if self.combine == "concat" else 1)
    for lstm in self.lstms:
      lstm.build((None, None, width))
      width = 2 * lstm.forward_layer.units
    self.logits.build((None, None, width))

  @property
  def named_weights(self) -> dict[str, keras.Variable]:
    """The variables by the names that they have in a checkpoint; they must exist."""
    named = {f"lstm_{number}/{direction}/{variable.name}": variable for number, lstm in enumerate(self.lstms)
             for direction, layer in (("forward", lstm.forward_layer), ("backward", lstm.backward_layer))
             for variable in layer.cell.weights}
    if self.combine == "weighted_sum":
      named |= {"layer_weights": self.layer_weights, "factor": self.factor}
    return {**named, "output_weights": self.logits.kernel, "output_bias": self.logits.bias}

  def call(self, vectors, mask, training: bool | None = None):
    """Scores the tags of every word.

    Args:
      vectors: float32 [B, W, N, H], activations of N layers at the words' first sub-tokens.
      mask: bool [B, W], whether there is a word; padding follows the words.
      training: whether to drop.

    Returns:
      float32 logits [B, W, C].
    """
    if self.combine == "weighted_sum":
      weights = self.factor * ops.softmax(self.layer_weights)
      x = ops.sum(vectors * weights[:, None], axis=2)
    elif self.combine == "sum":
      x = ops.sum(vectors, axis=2)
    else:
      shape = ops.shape(vectors)
      x = ops.reshape(vectors, (shape[0], shape[1], vectors.shape[2] * vectors.shape[3]))
    for drop, lstm in zip(self.drops, self.lstms, strict=False):
      x = lstm(drop(x, training=training), mask=mask)
    return self.logits(self.drops[-1](x, training=training))

"""What stands on the encoder in fine-tuning (section 4 of the paper): one matrix, one bias.

Comes after `modeling/encoder.py`, beside `modeling/heads.py`. Every head has the variables output_weights [C, H] and
output_bias [C], as in the original, and computes in float32 whatever the policy of the encoder.
"""

import keras
from keras import ops

from modeling.config import BertConfig
from modeling.dropout import DropoutStream, dropout
from modeling.initializers import truncated_normal
from modeling.linear import add_bias, matmul_transposed

# Of what a head reads, whatever `hidden_dropout_prob` says: a constant of the original's scripts.
HEAD_DROPOUT = 0.1


class LinearHead(keras.layers.Layer):
  """Scores of C classes.

  Args:
    config: sizes and initialisation.
    classes: C.
    name: also the key in `model.heads`, which gives the place in checkpoints.
    seed: of the initial weights.
    dropout_rate: share of the input's units dropped in training.
  """

  def __init__(self, config: BertConfig, classes: int, *, name: str, seed: int = 0, dropout_rate: float = HEAD_DROPOUT):
    super().__init__(name=name, dtype="float32")
    self.classes = classes
    self._hidden_size = config.hidden_size
    self._initializer = truncated_normal(config.initializer_range, seed, f"heads/{name}/output_weights")
    self._dropout_rate = dropout_rate
    # The encoder's places are numbered 0...3 L.
    self._dropout_site = 3 * config.num_hidden_layers + 1

  def build(self, unused_input_shape=None):
    self.output_weights = self.add_weight(
        shape=(self.classes, self._hidden_size), initializer=self._initializer, name="output_weights")
    self.output_bias = self.add_weight(shape=(self.classes,), initializer="zeros", name="output_bias")

  def scores(self, x, dropout_stream: DropoutStream | None):
    """[..., H] → float32 [..., C]."""
    x = dropout(x, self._dropout_rate, self._dropout_site, dropout_stream)
    flat = matmul_transposed(ops.reshape(x, (-1, self._hidden_size)), self.output_weights)
    return ops.reshape(add_bias(flat, self.output_bias), (*ops.shape(x)[:-1], self.classes))


class ClassificationHead(LinearHead):
  """One of C classes for a sequence or a pair (section 4.1 of the paper; one class: a number, as STS-B wants it)."""

  def __init__(self, config: BertConfig, classes: int, *, seed: int = 0, dropout_rate: float = HEAD_DROPOUT):
    super().__init__(config, classes, name="classifier", seed=seed, dropout_rate=dropout_rate)

  def call(self, pooled_output, *, dropout: DropoutStream | None = None):
    """[B, H] → float32 logits [B, C]."""
    return self.scores(pooled_output, dropout)


class QuestionAnsweringHead(LinearHead):
  """Start and end of an answer (sections 4.2 and 4.3). Nothing is dropped, as in the original."""

  def __init__(self, config: BertConfig, *, seed: int = 0):
    super().__init__(config, 2, name="span", seed=seed, dropout_rate=0.0)

  def call(self, sequence_output, *, dropout: DropoutStream | None = None):
    """[B, S, H] → float32 logits of the start and of the end, each [B, S]."""
    logits = self.scores(sequence_output, dropout)  # [B, S, 2]
    return logits[:, :, 0], logits[:, :, 1]


class TokenClassificationHead(LinearHead):
  """One of C tags for every token (section 5.3)."""

  def __init__(self, config: BertConfig, classes: int, *, seed: int = 0, dropout_rate: float = HEAD_DROPOUT):
    super().__init__(config, classes, name="tagging", seed=seed, dropout_rate=dropout_rate)

  def call(self, sequence_output, *, dropout: DropoutStream | None = None):
    """[B, S, H] → float32 logits [B, S, C]."""
    return self.scores(sequence_output, dropout)


class MultipleChoiceHead(LinearHead):
  """Which of several endings goes on best (section 4.4)."""

  def __init__(self, config: BertConfig, *, seed: int = 0, dropout_rate: float = HEAD_DROPOUT):
    super().__init__(config, 1, name="multiple_choice", seed=seed, dropout_rate=dropout_rate)

  def call(self, pooled_output, *, choices: int, dropout: DropoutStream | None = None):
    """[B * choices, H], the choices of an example one behind the other → float32 logits [B, choices]."""
    return ops.reshape(self.scores(pooled_output, dropout), (-1, choices))

"""An encoder and the heads on it: what all the networks of the project have in common.

Comes after `modeling/encoder.py`; `modeling/pretraining.py`, `modeling/classification.py` and `modeling/question_answering.py` build
on it.
"""

import keras

from modeling.config import BertConfig
from modeling.encoder import BertEncoder


class BertTaskModel(keras.Model):
  """A `BertEncoder` as `encoder`; subclasses add layers and name them in `heads`.

  Args:
    config: sizes, rates, activation.
    seed: of the initial weights.
    dtype: Keras dtype or policy, see `BertEncoder`.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**kwargs)
    self.config = config
    self.encoder = BertEncoder(config, seed=seed, name="encoder", dtype=self.dtype_policy)

  @property
  def heads(self) -> dict[str, keras.layers.Layer]:
    """The heads by the names they have in our checkpoints."""
    raise NotImplementedError

  def build(self, unused_input_shape=None):
    for layer in (self.encoder, *self.heads.values()):
      layer.build()

  def build_weights(self) -> None:
    """Creates all variables, without data; does nothing where they exist. To be called in the strategy's scope."""
    if not self.built:
      self.build()

  def encode(self, features: dict, dropout=None) -> dict:
    """The encoder's outputs for a batch of features, see `BertEncoder.call`."""
    return self.encoder(features["input_ids"], features["input_mask"], features["segment_ids"], dropout=dropout)

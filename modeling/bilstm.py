"""Bidirectional LSTMs of random initial weights: between encoder and head in fine-tuning ("+ BiLSTM" in table 5 of the
paper), and on fixed activations (`feature_tagger.py`).

Input: [B, S, H]; output: [B, S, 2 U], the two directions side by side.
"""


import keras
from keras import ops

from modeling.config import BertConfig
from modeling.layers import at_last_token, derived_seed
from modeling.saving import Configured, register


def bidirectional_lstm(units: int, seed: int, name: str, **kwargs) -> keras.layers.Bidirectional:
  """One layer, Keras' own; every matrix starts from a seed of its own (kernels: Glorot, recurrent ones: orthogonal).

  Args:
    units: U, of each direction.
    seed: of the run.
    name: of the layer, unique in the model.
    kwargs: of both LSTMs.
  """
  def direction(which: str, go_backwards: bool) -> keras.layers.LSTM:
    return keras.layers.LSTM(
        units, return_sequences=True, go_backwards=go_backwards,
        kernel_initializer=keras.initializers.GlorotUniform(derived_seed(seed, f"{name}/{which}/kernel")),
        recurrent_initializer=keras.initializers.Orthogonal(
            seed=derived_seed(seed, f"{name}/{which}/recurrent_kernel")), **kwargs)

  return keras.layers.Bidirectional(direction("forward", False), backward_layer=direction("backward", True),
                                    dtype=kwargs.get("dtype"))


@register
class BiLstm(Configured, keras.layers.Layer):
  """The layer between encoder and head where the configuration has `bilstm_units`. Computes in float32.

  Variables, of each direction: kernel [H, 4 U], recurrent_kernel [U, 4 U], bias [4 U].

  Args:
    config: sizes.
    seed: of the initial weights.
  """

  def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
    super().__init__(**{"name": "bilstm", **kwargs, "dtype": "float32"})
    self.config = config
    self.seed = seed
    # XLA, which compiles the step on GPUs, can't compile cuDNN's.
    self.lstm = bidirectional_lstm(config.bilstm_units, seed, "bilstm", dtype="float32", use_cudnn=False)

  def build(self, input_shape=None):
    self.lstm.build((None, None, self.config.hidden_size))

  def call(self, sequence_output, input_mask=None) -> dict:
    """Outputs that take the place of the encoder's.

    Args:
      sequence_output: [B, S, H].
      input_mask: [B, S], 1 for tokens and 0 for padding, which follows them; None where there is none.

    Returns:
      float32 "sequence_output" [B, S, 2 U], and "pooled_output" [B, 2 U]: of each direction what it gives when it has
      read the whole sequence.
    """
    mask = None if input_mask is None else ops.cast(input_mask, "bool")
    # Not by __call__, which would hand the mask on to layers that know nothing of masks.
    outputs = self.lstm.call(sequence_output, mask=mask)
    units = self.config.bilstm_units
    pooled = ops.concatenate([at_last_token(outputs, input_mask)[:, :units], outputs[:, 0, units:]], axis=-1)
    return {"sequence_output": outputs, "pooled_output": pooled}

"""Bidirectional LSTMs with random initial weights: below a head, and on fixed activations.

The first is "+ BiLSTM" in table 5 of the paper, [B, S, H] → [B, S, 2 U]; the second is the
feature-based approach of section 5.3, table 7:

    states [B, W, N, H] of N layers → one vector per word → two-layer BiLSTM → logits [B, W, C]
"""

from collections.abc import Mapping, Sequence

import keras
from keras import ops

from modeling.checkpoints.weights import FEATURE_TAGGER
from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import Dropout, DropoutStream, layer_site
from modeling.encoder import BertEncoder
from modeling.layers import at_last_token, derived_seed
from modeling.saving import Configured, needs_tensorflow, register


def bidirectional_lstm(units: int, seed: int, name: str, **kwargs) -> keras.layers.Bidirectional:
    """Returns Keras' layer of U units in each direction.

    Every matrix has a seed of its own (kernels: Glorot, recurrent kernels: orthogonal).
    """
    # Keras would copy the forward layer for the backward one, initial weights and seeds included.
    lstms = []
    for direction in ("forward", "backward"):
        path = f"{name}/{direction}"
        kernel_seed = derived_seed(seed, f"{path}/kernel")
        recurrent_seed = derived_seed(seed, f"{path}/recurrent_kernel")
        lstm = keras.layers.LSTM(
            units,
            return_sequences=True,
            go_backwards=direction == "backward",
            kernel_initializer=keras.initializers.GlorotUniform(kernel_seed),
            recurrent_initializer=keras.initializers.Orthogonal(seed=recurrent_seed),
            **kwargs,
        )
        lstms.append(lstm)
    return keras.layers.Bidirectional(lstms[0], backward_layer=lstms[1], dtype=kwargs.get("dtype"))


@register
class BiLstm(Configured, keras.layers.Layer):
    """BiLSTM between encoder and head, for `bilstm_units` in the configuration.

    Computes in float32.

    Variables, of each direction: kernel [H, 4 U], recurrent_kernel [U, 4 U], bias [4 U].

    Args:
      config: sizes.
      seed: of the initial weights.
    """

    def __init__(self, config: BertConfig, *, seed: int = 0, **kwargs):
        # LSTM cells add up over the sequence: float32 keeps their states exact in mixed precision.
        super().__init__(**{"name": "bilstm", **kwargs, "dtype": "float32"})
        self.config = config
        self.seed = seed
        # XLA, which compiles the step on GPUs, can't compile cuDNN's kernel.
        self.lstm = bidirectional_lstm(
            config.bilstm_units, seed, "bilstm", dtype="float32", use_cudnn=False
        )

    def build(self, input_shape=None):
        self.lstm.build((None, None, self.config.hidden_size))

    def call(self, sequence_output, input_mask=None) -> dict:
        """Returns outputs that replace the encoder's.

        Args:
          sequence_output: [B, S, H].
          input_mask: [B, S], 1 for tokens and 0 for padding, which follows them; None where there
            is none.

        Returns:
          float32 "sequence_output" [B, S, 2 U], and "pooled_output" [B, 2 U]: the last state of
          each direction, after it has read the whole sequence.
        """
        # A mask lets the backward direction start at the last token, not in the padding.
        mask = None if input_mask is None else ops.cast(input_mask, "bool")
        # `__call__` would hand the mask on to layers that do not support masks.
        outputs = self.lstm.call(sequence_output, mask=mask)
        units = self.config.bilstm_units
        forward = at_last_token(outputs, input_mask)[:, :units]
        # The backward direction ends at the first token.
        backward = outputs[:, 0, units:]
        pooled = ops.concatenate([forward, backward], axis=-1)
        return {"sequence_output": outputs, "pooled_output": pooled}


class FeatureTagger(keras.layers.Layer):
    """Combined layers, BiLSTM, linear layer. Computes in float32.

    Every weight has a seed of its own, derived from `seed` and its name.

    Args:
      config: of the encoder.
      classes: C, number of tags.
      num_layers: N, layers of the encoder that are combined.
      combine: "concat", "sum" or "weighted_sum", with learned weights, softmax(w), and a learned
        factor, as in ELMo.
      units: of each direction of each layer of the BiLSTM.
      depth: layers of the BiLSTM.
      dropout: rate for the inputs of each layer of the BiLSTM and of the linear layer.
      seed: of weights and dropout.
      use_cudnn: as in `keras.layers.LSTM`; XLA can't compile cuDNN's kernel.
    """

    def __init__(
        self,
        config: BertConfig,
        classes: int,
        num_layers: int,
        combine: str,
        *,
        units: int = 768,
        depth: int = 2,
        dropout: float = HEAD_DROPOUT,
        seed: int = 0,
        use_cudnn: bool | str = "auto",
    ):
        super().__init__(name=FEATURE_TAGGER, dtype="float32", autocast=False)
        self.combine = combine
        self.depth = depth
        self._input_size = config.hidden_size * (num_layers if combine == "concat" else 1)
        if combine == "weighted_sum":
            self.layer_weights = self.add_weight(
                shape=(num_layers,), initializer="zeros", name="layer_weights"
            )
            self.factor = self.add_weight(shape=(), initializer="ones", name="factor")
        self.drops = [
            Dropout(
                dropout, layer_site(config.num_hidden_layers, number), seed=seed, dtype="float32"
            )
            for number in range(depth + 1)
        ]
        lstms = []
        width = self._input_size
        for number in range(depth):
            name = f"{FEATURE_TAGGER}/lstm_{number}"
            lstm = bidirectional_lstm(units, seed, name, dtype="float32", use_cudnn=use_cudnn)
            lstm.build((None, None, width))
            lstms.append(lstm)
            width = 2 * units
        self.lstms = lstms
        # Keras' dense layer, not `Dense`: the tagger has no original to agree with, and no LoRA.
        logits_seed = derived_seed(seed, f"{FEATURE_TAGGER}/output_weights")
        self.logits = keras.layers.Dense(
            classes,
            dtype="float32",
            kernel_initializer=keras.initializers.GlorotUniform(logits_seed),
        )
        self.logits.build((None, None, width))
        self.built = True

    def call(
        self, states, mask, *, dropout: DropoutStream | None = None, training: bool | None = None
    ):
        """Scores the tags of every word.

        Args:
          states: float [B, W, N, H], activations of N layers at the words' first sub-tokens.
          mask: bool [B, W], whether there is a word; padding is after the words.
          dropout, training: as in `Dropout`.

        Returns:
          float32 logits [B, W, C].
        """
        # Stored activations may be float16, to halve the cache.
        x = ops.cast(states, "float32")
        if self.combine == "weighted_sum":
            # All weights start equal: softmax(0) is the mean of the layers.
            weights = self.factor * ops.softmax(self.layer_weights)
            x = ops.sum(x * weights[:, None], axis=2)
        elif self.combine == "sum":
            x = ops.sum(x, axis=2)
        elif self.combine == "concat":
            x = ops.reshape(x, (*ops.shape(x)[:2], self._input_size))
        else:
            raise ValueError(f"combine={self.combine!r} is unknown")
        for drop, lstm in zip(self.drops, self.lstms, strict=False):
            # `__call__` would hand the mask on to layers that do not support masks.
            x = lstm.call(drop(x, dropout=dropout, training=training), mask=mask)
        return self.logits(self.drops[-1](x, dropout=dropout, training=training))


class BertForFeatureTagging(keras.Model):
    """A frozen encoder, and the tagger on its activations.

    The weights exist as soon as the model is made.

    Args:
      config: of the encoder.
      classes: C, number of tags.
      layers: numbers of the layers that the tagger reads: 0 for the embeddings, 1 for the first
        layer.
      combine, kwargs: of `FeatureTagger`.
      seed: of the initial weights and of dropout.
      dtype: Keras dtype or policy of the encoder.
    """

    def __init__(
        self,
        config: BertConfig,
        classes: int,
        layers: Sequence[int],
        combine: str,
        *,
        seed: int = 0,
        dtype=None,
        **kwargs,
    ):
        needs_tensorflow("a tagger on fixed activations")
        super().__init__(autocast=False, dtype=dtype)
        self.config = config
        self.layer_numbers = tuple(layers)
        self.encoder = BertEncoder(config, seed=seed, name="encoder", dtype=dtype)
        self.tagger = FeatureTagger(config, classes, len(layers), combine, seed=seed, **kwargs)
        # Only the tagger is trained: the encoder's activations are computed once and stored.
        self.encoder.trainable = False
        self.built = True

    @property
    def heads(self) -> dict[str, keras.layers.Layer]:
        """The tagger by the name it has in our checkpoints."""
        return {FEATURE_TAGGER: self.tagger}

    def call(
        self,
        features: Mapping[str, object],
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
    ):
        """Scores the tags of words as `FeatureTagger` does.

        Args:
          features: "states" float [B, W, N, H] and "input_mask" int [B, W], 1 for words.
          dropout, training: as in `Dropout`.

        Returns:
          float32 logits [B, W, C].
        """
        mask = ops.cast(features["input_mask"], "bool")
        return self.tagger(features["states"], mask, dropout=dropout, training=training)


def encoder_states(encoder: BertEncoder, features: Mapping[str, object], layers: Sequence[int]):
    """Returns the activations of N layers, [B, S, N, H].

    Args:
      encoder: of the model.
      features: int [B, S] "input_ids", "input_mask" and "segment_ids".
      layers: numbers of the layers: 0 for the embeddings, 1 for the first layer.
    """
    outputs = encoder(features["input_ids"], features["input_mask"], features["segment_ids"])
    states = []
    for layer in layers:
        name = "embedding_output" if layer == 0 else f"encoder_layer_{layer - 1}"
        states.append(outputs[name])
    return ops.stack(states, axis=2)

"""Bidirectional LSTMs of random initial weights: between encoder and head, and on fixed
activations.

The first is "+ BiLSTM" in table 5 of the paper, [B, S, H] → [B, S, 2 U]; the second the
feature-based half of section 5.3, table 7:

    states [B, W, N, H] of N layers → one vector a word → two-layer BiLSTM → logits [B, W, C]
"""

from collections.abc import Mapping, Sequence

import keras
from keras import ops

from modeling.checkpoints.weights import FEATURE_TAGGER
from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import Dropout, DropoutStream
from modeling.encoder import BertEncoder
from modeling.layers import at_last_token, derived_seed
from modeling.saving import Configured, needs_tensorflow, register


def bidirectional_lstm(units: int, seed: int, name: str, **kwargs) -> keras.layers.Bidirectional:
    """One layer, Keras' own, of U units in each direction; every matrix starts from a seed of its
    own (kernels: Glorot, recurrent ones: orthogonal)."""
    forward, backward = (
        keras.layers.LSTM(
            units,
            return_sequences=True,
            go_backwards=direction == "backward",
            kernel_initializer=keras.initializers.GlorotUniform(
                derived_seed(seed, f"{name}/{direction}/kernel")
            ),
            recurrent_initializer=keras.initializers.Orthogonal(
                seed=derived_seed(seed, f"{name}/{direction}/recurrent_kernel")
            ),
            **kwargs,
        )
        for direction in ("forward", "backward")
    )
    return keras.layers.Bidirectional(forward, backward_layer=backward, dtype=kwargs.get("dtype"))


@register
class BiLstm(Configured, keras.layers.Layer):
    """The layer between encoder and head where the configuration has `bilstm_units`. Computes in
    float32.

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
        self.lstm = bidirectional_lstm(
            config.bilstm_units, seed, "bilstm", dtype="float32", use_cudnn=False
        )

    def build(self, input_shape=None):
        self.lstm.build((None, None, self.config.hidden_size))

    def call(self, sequence_output, input_mask=None) -> dict:
        """Outputs that take the place of the encoder's.

        Args:
          sequence_output: [B, S, H].
          input_mask: [B, S], 1 for tokens and 0 for padding, which follows them; None where there
            is none.

        Returns:
          float32 "sequence_output" [B, S, 2 U], and "pooled_output" [B, 2 U]: of each direction
          what it gives when it has read the whole sequence.
        """
        mask = None if input_mask is None else ops.cast(input_mask, "bool")
        # Not by __call__, which would hand the mask on to layers that know nothing of masks.
        outputs = self.lstm.call(sequence_output, mask=mask)
        units = self.config.bilstm_units
        pooled = ops.concatenate(
            [at_last_token(outputs, input_mask)[:, :units], outputs[:, 0, units:]], axis=-1
        )
        return {"sequence_output": outputs, "pooled_output": pooled}


class FeatureTagger(keras.layers.Layer):
    """Combined layers, BiLSTM, linear layer. Computes in float32.

    Every weight starts from a seed of its own, derived from `seed` and its name.

    Args:
      config: of the encoder.
      classes: C, number of tags.
      num_layers: N, layers of the encoder that are combined.
      combine: "concat", "sum" or "weighted_sum": with learned weights, softmax(w), and a learned
        factor, as in ELMo.
      units: of each direction of each layer of the BiLSTM.
      depth: layers of the BiLSTM.
      dropout: of the inputs of each layer of the BiLSTM and of the linear layer.
      seed: of weights and dropout.
      use_cudnn: as in `keras.layers.LSTM`; XLA can't compile cuDNN's.

    Raises:
      ValueError: `combine` is something else.
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
        if combine not in ("concat", "sum", "weighted_sum"):
            raise ValueError(f"{combine} is none of concat, sum and weighted_sum")
        self.combine, self.depth = combine, depth
        self._input_size = config.hidden_size * (num_layers if combine == "concat" else 1)
        if combine == "weighted_sum":
            self.layer_weights = self.add_weight(
                shape=(num_layers,), initializer="zeros", name="layer_weights"
            )
            self.factor = self.add_weight(shape=(), initializer="ones", name="factor")
        # The encoder's sites are numbered 0...3 L.
        first_site = 3 * config.num_hidden_layers + 1
        self.drops = [
            Dropout(dropout, first_site + number, seed=seed, dtype="float32")
            for number in range(depth + 1)
        ]
        self.lstms = [
            bidirectional_lstm(
                units, seed, f"{FEATURE_TAGGER}/lstm_{number}", dtype="float32", use_cudnn=use_cudnn
            )
            for number in range(depth)
        ]
        self.logits = keras.layers.Dense(
            classes,
            dtype="float32",
            kernel_initializer=keras.initializers.GlorotUniform(
                derived_seed(seed, f"{FEATURE_TAGGER}/output_weights")
            ),
        )
        for layer, width in zip(
            [*self.lstms, self.logits], [self._input_size, *depth * [2 * units]], strict=True
        ):
            layer.build((None, None, width))
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
        x = ops.cast(states, "float32")
        if self.combine == "weighted_sum":
            x = ops.sum(x * (self.factor * ops.softmax(self.layer_weights))[:, None], axis=2)
        elif self.combine == "sum":
            x = ops.sum(x, axis=2)
        else:
            x = ops.reshape(x, (*ops.shape(x)[:2], self._input_size))
        for drop, lstm in zip(self.drops, self.lstms, strict=False):
            # Not by __call__, which would hand the mask on to layers that know nothing of masks.
            x = lstm.call(drop(x, dropout=dropout, training=training), mask=mask)
        return self.logits(self.drops[-1](x, dropout=dropout, training=training))


class BertForFeatureTagging(keras.Model):
    """An encoder that stays as it is, and the tagger on its activations.

    The weights exist as soon as the model is made.

    Args:
      config: of the encoder.
      classes: C, number of tags.
      layers: whose activations the tagger reads: 0 for the embeddings, 1 for the first layer.
      combine: see `FeatureTagger`, as for kwargs.
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
        self.config, self.layer_numbers = config, tuple(layers)
        self.encoder = BertEncoder(config, seed=seed, name="encoder", dtype=self.dtype_policy)
        self.tagger = FeatureTagger(config, classes, len(layers), combine, seed=seed, **kwargs)
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
        """Scores the tags of words from "states" float [B, W, N, H] and "input_mask" int [B, W],
        whether there is a word, as `FeatureTagger` does: float32 logits [B, W, C]."""
        return self.tagger(
            features["states"],
            ops.cast(features["input_mask"], "bool"),
            dropout=dropout,
            training=training,
        )


def encoder_states(encoder: BertEncoder, features: Mapping[str, object], layers: Sequence[int]):
    """Activations of layers, [B, S, N, H], for int [B, S] features: 0 are the embeddings, 1 is the
    first layer."""
    outputs = encoder(features["input_ids"], features["input_mask"], features["segment_ids"])
    return ops.stack(
        [
            outputs["embedding_output" if layer == 0 else f"encoder_layer_{layer - 1}"]
            for layer in layers
        ],
        axis=2,
    )

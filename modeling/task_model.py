"""What all models have in common: an encoder, the heads on it, and the ways of Keras to train and
save them.

`modeling/pretraining.py`, `fine_tuning.py` and `sentence_embedding.py` build on it: models, their
heads and the declarations of their losses.
"""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import Dropout, DropoutStream
from modeling.encoder import BertEncoder, encoder_inputs, known_inputs
from modeling.layers import add_bias, matmul_transposed, truncated_normal
from modeling.losses import HeadLoss
from modeling.optimizer import BertAdamW
from modeling.saving import Checkpointed, Configured


class BertTaskModel(Checkpointed, keras.Model):
    """A `BertEncoder` as `encoder`; subclasses add layers and name them in `heads`.

    Where the configuration has `bilstm_units` there is also a `bilstm`, whose outputs take the
    place of the encoder's.

    The weights exist as soon as the model is made.

    Args:
      config: sizes, rates, activation.
      seed: of the initial weights and of Keras' dropout.
      causal: attend to the left only: the same as `causal` in the configuration, and then there,
        too.
      encoder: an encoder to build on, e.g. one that is shared or has LoRA; None for a new one.
        Whether it is causal holds for the model.
      dtype: Keras dtype or policy, see `BertEncoder`.
    """

    def __init__(
        self,
        config: BertConfig,
        *,
        seed: int = 0,
        causal: bool = False,
        encoder: BertEncoder | None = None,
        **kwargs,
    ):
        trainable = kwargs.pop("trainable", True)
        # Keras must not round ids and labels that come as floats.
        super().__init__(autocast=False, **kwargs)
        self._made_trainable = trainable
        self.seed = seed
        self.encoder = encoder or BertEncoder(
            config, seed=seed, causal=causal, name="encoder", dtype=self.dtype_policy
        )
        if (causal or config.causal) and not self.encoder.causal:
            raise UserError(
                "the encoder attends to both sides and the model is causal: make the encoder "
                "of a configuration with causal=True"
            )
        # A checkpoint must say what the encoder is.
        self.config = dataclasses.replace(config, causal=self.encoder.causal)
        self.bilstm = None
        if config.bilstm_units:
            from modeling.bilstm import BiLstm

            self.bilstm = BiLstm(self.config, seed=seed)

    # Name of a head, see `modeling/checkpoints/weights.py`, → the attribute that it is.
    _heads: Mapping[str, str] = {}

    # The encoder's output that the head reads, of a model with one head.
    _reads = "pooled_output"

    @property
    def heads(self) -> dict[str, keras.layers.Layer]:
        """The heads by their names."""
        return {name: getattr(self, attribute) for name, attribute in self._heads.items()}

    # The loss and metrics of each head that is trained, see `HeadLoss`: the loss of the model is
    # their sum.
    head_losses: tuple[HeadLoss, ...]

    @classmethod
    def fit_batch(cls, features: dict) -> tuple:
        """(inputs, labels, weights) as `fit` takes them: `dataset.map(Model.fit_batch)`.

        Args:
          features: the inputs of the model and the labels that `head_losses` read.
        """
        return cls.head_losses[0].fit_batch(features)

    def compile_defaults(self) -> dict:
        """The losses and metrics that `compile` takes by default: arguments of
        `keras.Model.compile`."""
        return self.head_losses[0].compile_defaults()

    def build(self, input_shape=None):
        """Creates all variables, without data; does nothing where they exist. Constructors end with
        it."""
        if self.built:
            return
        for layer in (*self.heads.values(), *([self.bilstm] if self.bilstm else [])):
            layer.build()
        if not self._made_trainable:
            self.trainable = False

    def encode(
        self, features, dropout: DropoutStream | None = None, training: bool | None = None
    ) -> dict:
        """The encoder's outputs for a batch of features, see `BertEncoder.call`; with a BiLSTM, its
        outputs among them.

        Args:
          features: a dict of the encoder's inputs, see `BertEncoder.call`; or whatever else the
            encoder takes.
          dropout, training: as there.

        Raises:
          UserError: several sequences are packed in a row, which a BiLSTM would read as one.
        """
        if isinstance(features, Mapping):
            features = known_inputs(features)
        outputs = self.encoder(features, dropout=dropout, training=training)
        if self.bilstm is None:
            return outputs
        inputs = encoder_inputs(features)
        if inputs["sequence_ids"] is not None:
            raise UserError(
                "a BiLSTM reads a row from end to end: packed rows (sequence_ids) can't be given to this model"
            )
        return {**outputs, **self.bilstm(outputs["sequence_output"], inputs["input_mask"])}

    def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """What the head computes of a batch: float32 logits, of the shape that the model's class
        names.

        Args:
          features: a dict with int "input_ids" [B, S] and the other inputs of the encoder, other
            keys are ignored; or a tensor or list, as there.
          dropout, training: as in `BertEncoder.call`.
        """
        (head,) = self.heads.values()
        return head(
            self.encode(features, dropout, training)[self._reads],
            dropout=dropout,
            training=training,
        )

    def compile(
        self, optimizer="auto", loss="auto", *, metrics=None, weighted_metrics="auto", **kwargs
    ) -> None:
        """As `keras.Model.compile`; what is left out is what fine-tuning BERT needs.

        Args:
          optimizer: "auto" for `BertAdamW()`.
          loss: "auto" for that of the task, see `compile_defaults`.
          metrics, weighted_metrics: as in Keras; "auto" for those of the task where the loss is
            "auto" and there are no `metrics`, else none.
          kwargs: the other arguments of `keras.Model.compile`.
        """
        defaults = self.compile_defaults() if loss == "auto" else {"loss": loss}
        default_metrics = defaults.pop("weighted_metrics", None)
        if weighted_metrics == "auto":
            weighted_metrics = default_metrics if metrics is None else None
        super().compile(
            BertAdamW() if optimizer == "auto" else optimizer,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            **{**defaults, **kwargs},
        )

    def compile_from_config(self, config: dict) -> None:
        """Compiles as it was when it was saved; `keras.models.load_model` calls this."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "encoder": keras.saving.serialize_keras_object(self.encoder),
        }

    @classmethod
    def from_config(cls, config: dict):
        return super().from_config(
            {**config, "encoder": keras.saving.deserialize_keras_object(config["encoder"])}
        )


class LinearHead(Configured, keras.layers.Layer):
    """Scores of C classes: one matrix, one bias, as on every task of section 4 of the paper.

    Variables: output_weights [C, H] and output_bias [C], as in the original; H is 2 U after a
    BiLSTM. Computes in float32 whatever the policy of the encoder. A subclass gives its `key`, the
    directory below `heads/` in our checkpoints; the initial weights depend on it, too.

    Args:
      config: sizes and initialisation.
      classes: C.
      seed: of the initial weights.
      dropout_rate: fraction of the input's units dropped in training; None for a head without
        dropout.
    """

    key: str
    # Where the initial weights do not depend on the key.
    _seeded_as: str | None = None
    _arguments: tuple[str, ...] = ("classes", "seed", "dropout_rate")

    def __init__(
        self,
        config: BertConfig,
        classes: int,
        *,
        seed: int = 0,
        dropout_rate: float | None = HEAD_DROPOUT,
        **kwargs,
    ):
        super().__init__(**{"name": self.key, **kwargs, "dtype": "float32"})
        self.config = config
        self.classes = classes
        self.seed = seed
        self.dropout_rate = dropout_rate
        # The encoder's sites are numbered 0...3 L.
        self.dropout = (
            None
            if dropout_rate is None
            else Dropout(dropout_rate, 3 * config.num_hidden_layers + 1, seed=seed, dtype="float32")
        )

    def build(self, input_shape=None):
        path = f"{self._seeded_as or f'heads/{self.key}'}/output_weights"
        initializer = truncated_normal(self.config.initializer_range, self.seed, path)
        self.output_weights = self.add_weight(
            shape=(self.classes, self.config.head_input_size),
            initializer=initializer,
            name="output_weights",
        )
        self.output_bias = self.add_weight(
            shape=(self.classes,), initializer="zeros", name="output_bias"
        )

    def call(self, x, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """[..., H] → float32 [..., C]; `dropout` and `training` as in `Dropout`."""
        if self.dropout is not None:
            x = self.dropout(x, dropout=dropout, training=training)
        flat = matmul_transposed(
            ops.reshape(x, (-1, self.config.head_input_size)), self.output_weights
        )
        return ops.reshape(add_bias(flat, self.output_bias), (*ops.shape(x)[:-1], self.classes))

"""Base class of the models: an encoder, the heads on it, and Keras' ways to train and save them.

`modeling/pretraining.py`, `fine_tuning.py` and `sentence_embedding.py` build on it: models, their
heads and the declarations of their losses.
"""

import contextlib
import dataclasses
import warnings
from collections.abc import Iterable, Mapping

import keras
import numpy as np
from keras import ops

from bert_common.errors import UserError
from modeling.config import HEAD_DROPOUT, BertConfig
from modeling.dropout import Dropout, DropoutStream, layer_site
from modeling.encoder import BertEncoder, check_ids, encoder_inputs, named_inputs
from modeling.fit import (
    AddedLosses,
    LossReport,
    UntunedInputs,
    check_compilation,
    check_compiled,
    check_optimizer,
    devices_of,
    labels_in_memory,
    shapes_of,
)
from modeling.layers import add_bias, matmul_transposed, truncated_normal
from modeling.losses import HeadLoss, check_reads_logits, recorded_means
from modeling.optimizer import BertAdamW, ReplicatedLossScale
from modeling.saving import Checkpointed, Configured, check_config
from modeling.xla import jit_compile_scope

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

_NO_GRADIENTS_OF_POOLER = (
    r"Gradients do not exist for variables \['[^']*pooler/kernel', '[^']*pooler/bias'\]"
)


class BertTaskModel(Checkpointed, keras.Model):
    """A model with a `BertEncoder` as `encoder`; subclasses add heads and name them in `_heads`.

    If the configuration has `bilstm_units`, there is also a `bilstm`, whose outputs replace the
    encoder's. The weights exist as soon as the model is made.

    Args:
      config: sizes, rates, activation.
      seed: of the initial weights and of Keras' dropout.
      encoder: an encoder to build on, e.g. one that is shared or has LoRA; None for a new one. The
        model is causal if it is.
      dtype: Keras dtype or policy, see `BertEncoder`.
    """

    # Name of each head, see `modeling/checkpoints/weights.py` → its attribute.
    _heads: Mapping[str, str] = {}
    # Name of the encoder's output that the head of a model with one head reads.
    _reads = "pooled_output"
    # Inputs of an export by Keras and their axes.
    _exported_inputs = {"input_ids": 2, "input_mask": 2, "segment_ids": 2}
    # The loss and metrics of each head that is trained; the loss of the model is their sum.
    head_losses: tuple[HeadLoss, ...]
    # Of the losses that the model was compiled with, since they were first computed.
    _report: LossReport | None = None
    # Paths of the weights that the function of a training step was made for.
    _trained: tuple[str, ...] = ()
    # Keras sets it in `compile`.
    optimizer: keras.optimizers.Optimizer | None

    def __init__(
        self,
        config: BertConfig,
        *,
        seed: int = 0,
        encoder: BertEncoder | None = None,
        **kwargs,
    ):
        check_config(type(self), config)
        # Kept for `build`, which freezes the heads, too.
        is_trainable = kwargs.pop("trainable", True)
        # Keras must not round ids and labels that come as floats.
        super().__init__(autocast=False, **kwargs)
        self._is_made_trainable = is_trainable
        self.seed = seed
        if encoder is None:
            encoder = BertEncoder(config, seed=seed, name="encoder", dtype=self.dtype_policy)
        self.encoder = encoder
        if config.causal and not self.encoder.causal:
            raise UserError(
                "the encoder attends to both sides and the model is causal: make the encoder "
                "of a configuration with causal=True"
            )
        # Keep the encoder's `causal` in the config: checkpoints are written from it.
        self.config = dataclasses.replace(config, causal=self.encoder.causal)
        self.bilstm = None
        if config.bilstm_units:
            from modeling.bilstm import BiLstm

            self.bilstm = BiLstm(self.config, seed=seed)

    @property
    def heads(self) -> dict[str, keras.layers.Layer]:
        """The heads by their names."""
        return {name: getattr(self, attribute) for name, attribute in self._heads.items()}

    @classmethod
    def fit_batch(cls, features: dict) -> tuple:
        """Returns (inputs, labels, weights) as `fit` takes them: `dataset.map(Model.fit_batch)`.

        Args:
          features: the inputs of the model and the labels that `head_losses` read.
        """
        return cls.head_losses[0].fit_batch(features)

    def compile_defaults(self) -> dict:
        """Returns the default losses and metrics: arguments of `keras.Model.compile`."""
        return self.head_losses[0].compile_defaults()

    def build(self, input_shape=None):
        """Creates all variables, without data, at the end of constructors."""
        # Keras calls it again when the model is loaded or called.
        if self.built:
            return
        for head in self.heads.values():
            head.build()
        if self.bilstm is not None:
            self.bilstm.build()
        if not self._is_made_trainable:
            self.trainable = False

    def encode(
        self,
        features,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        max_sequences: int | None = None,
    ) -> dict:
        """Returns the encoder's outputs for a batch, see `BertEncoder.call`, or the BiLSTM's.

        Args:
          features: a dict of the encoder's inputs, other keys are ignored; or a tensor or list, see
            `BertEncoder.call`.
          dropout, training, max_sequences: as in `BertEncoder.call`.

        Raises:
          UserError: several sequences are packed in a row, which a BiLSTM would read as one.
        """
        inputs = encoder_inputs(features)
        # Keras would apply masks of logits to the losses, which have weights for that.
        outputs = self.encoder(
            inputs,
            dropout=dropout,
            training=training,
            mark_padding=False,
            max_sequences=max_sequences,
        )
        if self.bilstm is None:
            return outputs
        if "sequence_ids" in inputs:
            raise UserError(
                "a BiLSTM reads a row from end to end: packed rows (sequence_ids) can't be given "
                "to this model"
            )
        bilstm_outputs = self.bilstm(outputs["sequence_output"], inputs.get("input_mask"))
        return {**outputs, **bilstm_outputs}

    def call(self, features, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """Returns the float32 logits of the head, of the shape that the model's class names.

        Args:
          features: a dict with int "input_ids" [B, S] and the other inputs of the encoder, other
            keys are ignored; or a tensor or list, see `BertEncoder.call`.
          dropout, training: as in `BertEncoder.call`.
        """
        (head,) = self.heads.values()
        x = self.encode(features, dropout, training)[self._reads]
        return head(x, dropout=dropout, training=training)

    def compile(
        self, optimizer="auto", loss="auto", *, metrics=None, weighted_metrics="auto", **kwargs
    ) -> None:
        """Compiles the model as `keras.Model.compile`, with defaults for fine-tuning BERT.

        Args:
          optimizer: "auto" for `BertAdamW()`.
          loss: "auto" for the task's, see `compile_defaults`.
          metrics, weighted_metrics: as in Keras; "auto" for those of the task if the loss is "auto"
            and there are no `metrics`, else none.
          kwargs: the other arguments of `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = BertAdamW()
        if loss == "auto":
            defaults = self.compile_defaults()
        else:
            defaults = {"loss": loss}
        default_metrics = defaults.pop("weighted_metrics", None)
        if weighted_metrics == "auto":
            weighted_metrics = default_metrics if metrics is None else None
        arguments = {**defaults, **kwargs}
        self._report = None
        # Keras would keep the metrics of an earlier call where this one has none.
        self._compile_metrics = None
        super().compile(optimizer, metrics=metrics, weighted_metrics=weighted_metrics, **arguments)
        # Keras has put its own around the optimizer if the precision is float16.
        if devices_of(self) > 1 and isinstance(self.optimizer, keras.optimizers.LossScaleOptimizer):
            self.optimizer = ReplicatedLossScale.from_scaled(self.optimizer)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """Computes the loss of a batch, of several devices this one's part, and reports it.

        The gradients of the parts add up to the gradients of the whole batch's loss. Raises
        `UserError` for a cross-entropy of Keras that takes logits for probabilities.
        """
        # Not in `compile`, by which Keras loads models that were saved with such a loss.
        if self._is_ours:
            check_reads_logits(self.loss)
        self._check_has_labels(y)
        with recorded_means() as recorded:
            loss = super().compute_loss(x, y, y_pred, sample_weight, training)
        if self._report is None:
            self._report = LossReport(self._compile_loss)
        rows = ops.shape(keras.tree.flatten(y_pred)[0])[0]
        return self._report.update(loss, recorded, rows, has_added_losses=bool(self.losses))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Computes metrics as Keras does, on JAX and PyTorch before the first loss."""
        # A subclass without metrics may have a loss that needs no labels.
        if self._compile_metrics is not None:
            self._check_has_labels(y)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def _check_has_labels(self, labels) -> None:
        if labels is None and self._compile_loss is not None:
            raise UserError(
                "the labels are missing: fit(inputs, labels), or a dataset of both, as `fit_batch` "
                "makes it of records"
            )

    @property
    def metrics(self) -> list:
        """The metrics of the model, the losses first."""
        metrics = super().metrics
        if self._report is None:
            return metrics
        return self._report.replace(metrics, self._loss_tracker)

    @property
    def distribute_strategy(self):
        """The `tf.distribute` strategy of the model; Keras makes its datasets by it.

        Raises:
          AttributeError: Keras' backend is not TensorFlow.
        """
        strategy = super().distribute_strategy
        if self._distribute_strategy is not None or tf.distribute.has_strategy():
            return strategy
        return UntunedInputs(strategy)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        # Keras calls it before the first step. Under a strategy it would read a batch, which a
        # generator gives only once, and take the mean of the devices' rows, which fails where they
        # have different numbers.
        strategy = self.distribute_strategy
        if iterator is not None and self._distribute_strategy is not None:
            data_batch = shapes_of(iterator.data_adapter.get_tf_dataset(), strategy)
            iterator = None
            if strategy.num_replicas_in_sync > 1:
                for layer in self._flatten_layers():
                    layer._losses = AddedLosses()
        super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)
        check_compiled(self, self._compile_loss)

    def make_train_function(self, force: bool = False):
        """Makes the function of a step, again if other weights are to be trained than before."""
        # Keras keeps the first one until `compile`: it would train what is frozen since, and no
        # LoRA that is new.
        trained = tuple(variable.path for variable in self.trainable_variables)
        super().make_train_function(force=force or trained != self._trained)
        self._trained = trained

    def train_step(self, *arguments):
        """Trains on a batch as `keras.Model.train_step`, in XLA's forms where Keras compiles it."""
        is_compiled = keras.backend.backend() == "tensorflow" and not tf.executing_eagerly()
        with jit_compile_scope(is_compiled and self.jit_compile), warnings.catch_warnings():
            # Models that read each token's vector do not read the pooler. Keras would warn of it,
            # and ask whether a loss was forgotten.
            warnings.filterwarnings("ignore", _NO_GRADIENTS_OF_POOLER)
            return super().train_step(*arguments)

    def fit(self, x=None, y=None, *args, **kwargs):
        """Trains the model as `keras.Model.fit`.

        Raises:
          UserError: strings, ids that the vocabulary lacks, missing or impossible labels, class
            weights for labels that are no classes, or what several devices would not do as one
            does.
        """
        self._check_training(x, kwargs.get("class_weight"))
        y = self._labels_in_memory(x, y)
        validation = kwargs.get("validation_data")
        if isinstance(validation, tuple) and len(validation) > 1:
            inputs, labels, *weights = validation
            kwargs["validation_data"] = (inputs, self._labels_in_memory(inputs, labels), *weights)
        with self._ready_again():
            return super().fit(x, y, *args, **kwargs)

    def train_on_batch(
        self, x, y=None, sample_weight=None, class_weight=None, return_dict: bool = False
    ):
        """Trains on a batch as `keras.Model.train_on_batch`; `UserError` as in `fit`, but for
        labels, which are as a loss of the user's takes them."""
        self._check_training(x, class_weight)
        with self._ready_again():
            return super().train_on_batch(x, y, sample_weight, class_weight, return_dict)

    def test_on_batch(self, x, *args, **kwargs):
        """Evaluates the model on a batch as `keras.Model.test_on_batch`; `UserError` as in
        `train_on_batch`."""
        self._check_inputs(x)
        with self._ready_again():
            return super().test_on_batch(x, *args, **kwargs)

    def evaluate(self, x=None, y=None, *args, **kwargs):
        """Evaluates the model as `keras.Model.evaluate`; `UserError` for strings, ids that the
        vocabulary lacks and labels that are no classes."""
        self._check_inputs(x)
        y = self._labels_in_memory(x, y)
        with self._ready_again():
            return super().evaluate(x, y, *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Computes the outputs as `keras.Model.predict`; `UserError` for strings and for ids that
        the vocabulary lacks."""
        self._check_inputs(x)
        check_compilation(self)
        return super().predict(x, *args, **kwargs)

    def predict_on_batch(self, x):
        """Computes the outputs as `keras.Model.predict_on_batch`; `UserError` as in `predict`."""
        self._check_inputs(x)
        return super().predict_on_batch(x)

    def export(
        self,
        filepath,
        format: str = "tf_saved_model",
        verbose=None,
        input_signature=None,
        **kwargs,
    ) -> None:
        """Exports the model as `keras.Model.export`.

        Args:
          filepath, format, verbose, kwargs: as for Keras.
          input_signature: as for Keras; None for a dict of "input_ids", "input_mask" and
            "segment_ids", int32 [B, S] of any sizes, or [B, N, S] for N choices, and what else the
            model reads.
        """
        # Keras would take the shapes of the first call, which these models are built without.
        if input_signature is None:
            inputs = {}
            for name, axes in self._exported_inputs.items():
                shape = (None,) * axes
                inputs[name] = keras.layers.InputSpec("int32", shape, name=name)
            input_signature = [inputs]
        super().export(filepath, format, verbose, input_signature, **kwargs)

    @contextlib.contextmanager
    def _ready_again(self):
        """Lets the model be used once more after an error or an interruption.

        A function of TensorFlow that ended while it was traced makes no variables afterwards.
        """
        try:
            yield
        except BaseException:
            self.train_function = None
            self.test_function = None
            raise

    def _check_training(self, x, class_weight: Mapping | None) -> None:
        """Raises `UserError` for what no step can train on."""
        self._check_inputs(x)
        check_optimizer(self)
        has_classes = type(self.head_losses[0]) is HeadLoss and self._reads == "pooled_output"
        # Keras takes the position of the largest label for the class of an example.
        if class_weight is not None and not has_classes:
            raise UserError(
                "class_weight: Keras weights examples by the one class of each, which tags, "
                "several labels and scores are not: give sample_weight, of tags one for each token"
            )

    @property
    def _is_ours(self) -> bool:
        """Whether the class is one of this package: a subclass of it may read inputs and labels of
        other forms."""
        return type(self).__module__.startswith("modeling.")

    def _check_inputs(self, x) -> None:
        """Raises `UserError` for strings, and for ids in memory that the tables do not have."""
        _refuse_strings(x)
        if self._is_ours:
            check_ids(named_inputs(x), self.config)

    def _labels_in_memory(self, inputs, labels):
        """Returns the labels as `labels_in_memory`; raises `UserError` as `_check_labels`."""
        labels = labels_in_memory(labels)
        self._check_labels(inputs, labels)
        return labels

    def _check_labels(self, inputs, labels) -> None:
        """Raises `UserError` for labels that no class has, where they can be seen."""

    def quantize(self, *args, **kwargs):
        """Raises `UserError`: Keras would quantize no layer of these models."""
        raise UserError(
            "quantize: Keras quantizes none of these layers: export_model.py --quantize=int8 makes "
            "models of 8 bits"
        )

    def get_compile_config(self) -> dict:
        """Returns Keras' configuration, with the positions in `weights` of what the optimizer
        trained: layers may have been frozen after its first step."""
        config = super().get_compile_config()
        if config and self.optimizer is not None and self.optimizer.built:
            positions = {id(weight): position for position, weight in enumerate(self.weights)}
            trained = self.optimizer._trainable_variables
            # An optimizer may have been built for other weights by its user.
            if all(id(variable) in positions for variable in trained):
                config["trained"] = [positions[id(variable)] for variable in trained]
        return config

    def compile_from_config(self, config: dict) -> None:
        """Compiles the model as it was saved; called by `keras.models.load_model`."""
        config = keras.saving.deserialize_keras_object(config)
        trained = config.pop("trained", ())
        self.compile(**config)
        # A built optimizer has its variables, so that their saved values can be loaded.
        if self.optimizer is not None:
            weights = self.trainable_variables
            earlier = [self.weights[position] for position in trained]
            # JAX's steps take an optimizer of just the weights that train.
            if keras.backend.backend() != "jax" and _ids(weights) <= _ids(earlier):
                weights = earlier
            self.optimizer.build(weights)

    def get_config(self) -> dict:
        # The encoder may have LoRA, which the configuration alone does not contain, and several
        # models may share it: within a file what Keras serializes a second time has a number.
        keras.saving.serialize_keras_object(self.encoder)
        encoder = keras.saving.serialize_keras_object(self.encoder)
        return {**super().get_config(), "encoder": encoder}

    @classmethod
    def from_config(cls, config: dict):
        encoder = keras.saving.deserialize_keras_object(config["encoder"])
        return super().from_config({**config, "encoder": encoder})


def _ids(values: Iterable) -> set[int]:
    return {id(value) for value in values}


def _refuse_strings(x) -> None:
    """Raises `UserError` if the inputs of `fit` are strings."""
    first = x
    while isinstance(first, (list, tuple)) and len(first):
        first = first[0]
    is_text = isinstance(first, (str, bytes))
    if isinstance(first, np.ndarray):
        is_text = first.dtype.kind in "OUS"
    if is_text:
        raise UserError(
            "the inputs are strings: BertPreprocessor turns strings into ids, docs/keras.md has a "
            "program"
        )


class LinearHead(Configured, keras.layers.Layer):
    """Scores of C classes: one matrix, one bias, as for every task of section 4 of the paper.

    Variables: output_weights [C, H] and output_bias [C], as in the original; H is 2 U after a
    BiLSTM. Computes in float32 under every policy of the encoder. A subclass gives its `key`, the
    directory below `heads/` in our checkpoints; the initial weights depend on it, too.

    Args:
      config: sizes and initialization.
      classes: C.
      seed: of the initial weights.
      dropout_rate: fraction of the input's units dropped in training; None for a head without
        dropout.
    """

    key: str
    # Prefix of the name that the initial weights depend on; None for the one made of the key.
    _seed_path: str | None = None
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
        # Logits are float32 under every policy: the softmax of 16-bit logits loses accuracy.
        super().__init__(**{"name": self.key, **kwargs, "dtype": "float32"})
        self.config = config
        self.classes = classes
        self.seed = seed
        self.dropout_rate = dropout_rate
        self.dropout = None
        if dropout_rate is not None:
            site = layer_site(config.num_hidden_layers, 0)
            self.dropout = Dropout(dropout_rate, site, seed=seed, dtype="float32")

    def build(self, input_shape=None):
        path = f"{self._seed_path or f'heads/{self.key}'}/output_weights"
        self.output_weights = self.add_weight(
            shape=(self.classes, self.config.head_input_size),
            initializer=truncated_normal(self.config.initializer_range, self.seed, path),
            name="output_weights",
        )
        self.output_bias = self.add_weight(
            shape=(self.classes,), initializer="zeros", name="output_bias"
        )

    def call(self, x, *, dropout: DropoutStream | None = None, training: bool | None = None):
        """Computes [..., H] → float32 [..., C]; `dropout` and `training` as in `Dropout`."""
        if self.dropout is not None:
            x = self.dropout(x, dropout=dropout, training=training)
        rows = ops.reshape(x, (-1, self.config.head_input_size))
        scores = add_bias(matmul_transposed(rows, self.output_weights), self.output_bias)
        return ops.reshape(scores, (*ops.shape(x)[:-1], self.classes))

"""The encoder: embeddings (figure 2 of the paper), L post-norm transformer layers, pooler (section
3).

Input: ids [B, S], or a dict or list of inputs; output: a dict of the outputs of every layer,
[B, S, H], and of the pooler, [B, H].
"""

import operator
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.attention import (
    AttentionSpan,
    SelfAttention,
    attention_bias,
    attention_span,
    packed_span,
)
from modeling.config import LORA_LAYERS, BertConfig
from modeling.costs import check_model
from modeling.dropout import Dropout, DropoutStream, fit_stream, layer_site
from modeling.layers import (
    LayerNorm,
    activation,
    at_last_token,
    dense,
    derived_seed,
    known_values,
    lookup,
    truncated_normal,
)
from modeling.recompute import recomputed
from modeling.saving import KEPT_BY_LORA, Checkpointed, Configured, check_config, register

_DROPOUT_SITE = 0


@register
class Embeddings(Configured, keras.layers.Layer):
    """Sum of the three embeddings, normalized.

    Variables: word_embeddings [V, H], token_type_embeddings [segments, H], position_embeddings
    [max_position_embeddings, H], and the variables of `layer_norm`.

    Args:
      config: sizes and the dropout rate.
      seed: of the initial weights.
    """

    def __init__(self, config: BertConfig, seed: int = 0, **kwargs):
        # The sum is taken in float32, as the LayerNorm that follows expects it.
        super().__init__(autocast=False, **kwargs)
        self.config = config
        self.seed = seed
        self.layer_norm = LayerNorm(
            config.layer_norm_epsilon, name="LayerNorm", dtype=self.dtype_policy
        )
        self.dropout = Dropout(
            config.hidden_dropout_prob, _DROPOUT_SITE, seed=seed, dtype=self.dtype_policy
        )

    def build(self, input_shape=None):
        config = self.config
        self.word_embeddings = self._add_table("word_embeddings", config.vocab_size)
        self.token_type_embeddings = self._add_table(
            "token_type_embeddings", config.type_vocab_size
        )
        self.position_embeddings = self._add_table(
            "position_embeddings", config.max_position_embeddings
        )
        self.layer_norm.build((None, None, config.hidden_size))

    def _add_table(self, name: str, rows: int) -> keras.Variable:
        path = f"bert/embeddings/{name}"
        return self.add_weight(
            shape=(rows, self.config.hidden_size),
            name=name,
            autocast=False,
            initializer=truncated_normal(self.config.initializer_range, self.seed, path),
        )

    def call(
        self,
        input_ids,
        segment_ids=None,
        position_ids=None,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
    ):
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
        # The table is float32, so the sum is exact before LayerNorm in mixed precision, too.
        total = lookup(self.word_embeddings, input_ids)  # [B, S, H]
        if training or dropout is not None:
            total = total + self._missing_rows(input_ids, segment_ids, position_ids)
        # With a single row there is nothing to tell apart, whatever a tokenizer numbers.
        if segment_ids is None or self.config.type_vocab_size == 1:
            total = total + self.token_type_embeddings[0]
        else:
            # For a handful of rows a product is faster than a lookup, above all in its gradient.
            flat_ids = ops.reshape(segment_ids, (-1,))
            one_hot = ops.one_hot(flat_ids, self.config.type_vocab_size, dtype="float32")
            segments = ops.matmul(one_hot, self.token_type_embeddings)  # [B * S, H]
            shape = (*ops.shape(segment_ids), self.config.hidden_size)
            total = total + ops.reshape(segments, shape)
        if position_ids is None and keras.backend.backend() != "jax":
            total = total + self.position_embeddings[:length]
        else:
            # JAX gives a slice of a symbolic length S min(S, rows) rows, which does not match S:
            # look the rows up instead.
            positions = ops.arange(length, dtype="int32") if position_ids is None else position_ids
            total = total + lookup(self.position_embeddings, positions)
        return self.dropout(self.layer_norm(total), dropout=dropout, training=training)

    def _missing_rows(self, input_ids, segment_ids, position_ids):
        """Returns float32 [B, S, 1]: 0, and -infinity where a table has no such row.

        A CPU raises an error for unknown ids and positions; XLA and GPUs would give them some row,
        and segments have none anywhere; a negative one is left to padding. Exports have theirs
        from a tokenizer.
        """
        is_known = (input_ids >= 0) & (input_ids < self.config.vocab_size)
        if segment_ids is not None and self.config.type_vocab_size > 1:
            is_known &= segment_ids < self.config.type_vocab_size
        if position_ids is not None:
            is_known &= (position_ids >= 0) & (position_ids < self.config.max_position_embeddings)
        return ops.log(ops.cast(is_known, "float32"))[:, :, None]


@register
class EncoderLayer(Configured, keras.layers.Layer):
    """Self-attention and a feed-forward layer, each added to its input and then normalized.

    Args:
      config: sizes, rates, activation.
      index: number of the layer, from 0; it decides the initial weights and the dropout sites.
      seed: of the initial weights.
    """

    _arguments = ("index", "seed")

    def __init__(self, config: BertConfig, index: int = 0, seed: int = 0, **kwargs):
        # Keras must not round the attention bias on its way to the softmax; `x` has the compute
        # dtype already.
        super().__init__(autocast=False, **kwargs)
        self.config = config
        self.index = index
        self.seed = seed
        self._activation = activation(config.hidden_act)
        self._training_activation = activation(config.hidden_act, training=True)
        self.attention = SelfAttention(
            config, index, seed, name="attention", dtype=self.dtype_policy
        )
        # The dense layers have the names of the original's variables, which initial weights and
        # checkpoints depend on.
        self.attention_output = self._dense("attention/output", config.hidden_size)
        self.attention_dropout = self._dropout(1)
        self.attention_layer_norm = self._layer_norm("attention_LayerNorm")
        self.intermediate = self._dense("intermediate", config.intermediate_size)
        self.output_dense = self._dense("output", config.hidden_size)
        self.output_dropout = self._dropout(2)
        self.output_layer_norm = self._layer_norm("output_LayerNorm")

    def _dense(self, name: str, outputs: int) -> keras.layers.Layer:
        path = f"bert/encoder/layer_{self.index}/{name}/dense"
        keras_name = name.replace("/", "_")
        return dense(
            self.config, outputs, self.seed, path, name=keras_name, dtype=self.dtype_policy
        )

    def _dropout(self, number: int) -> Dropout:
        rate = self.config.hidden_dropout_prob
        return Dropout(
            rate, layer_site(self.index, number), seed=self.seed, dtype=self.dtype_policy
        )

    def _layer_norm(self, name: str) -> LayerNorm:
        return LayerNorm(self.config.layer_norm_epsilon, name=name, dtype=self.dtype_policy)

    def build(self, input_shape=None):
        hidden_shape = (None, None, self.config.hidden_size)
        self.attention.build(hidden_shape)
        self.attention_output.build(hidden_shape)
        self.attention_layer_norm.build(hidden_shape)
        self.intermediate.build(hidden_shape)
        self.output_dense.build((None, None, self.config.intermediate_size))
        self.output_layer_norm.build(hidden_shape)

    def call(
        self,
        x,
        bias=None,
        *,
        span: AttentionSpan | None = None,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
    ):
        """Transforms [B, S, H] → [B, S, H]; the arguments are as in `SelfAttention`.

        Returns:
          [B, S, H]; on request a pair of it and the attention probabilities [B, N, S, S].
        """
        attended = self.attention(
            x,
            bias=bias,
            span=span,
            dropout=dropout,
            training=training,
            return_attention_probabilities=return_attention_probabilities,
        )
        if return_attention_probabilities:
            attended, probabilities = attended
        attended = self.attention_output(attended)
        attended = self.attention_dropout(attended, dropout=dropout, training=training)
        # Post-norm, as in the paper: LayerNorm follows the residual sum.
        x = self.attention_layer_norm(x + attended)
        # XLA compiles the activation where gradients are taken.
        is_compiled = bool(training) if dropout is None else dropout.is_compiled
        activate = self._training_activation if is_compiled else self._activation
        expanded = self.intermediate(x, activation=activate)  # [B, S, I]
        transformed = self.output_dense(expanded)
        transformed = self.output_dropout(transformed, dropout=dropout, training=training)
        x = self.output_layer_norm(x + transformed)
        if return_attention_probabilities:
            return x, probabilities
        return x


@register
class WithMask(keras.layers.Layer):
    """Returns the first of two inputs with the second, int [B, S], attached as Keras' mask."""

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        # Also where an encoder never gets a mask: Keras quantizes built layers only.
        self.built = True

    def call(self, inputs):
        return inputs[0]

    def compute_mask(self, inputs, previous_mask=None):
        # Keras attaches the result to the output.
        return ops.cast(inputs[1], "bool")


@register
class BertEncoder(Checkpointed, keras.layers.Layer):
    """The part of the model that every task shares. Its weights exist as soon as it is made.

    `layers` are the transformer layers: `for layer in encoder.layers[:4]: layer.trainable = False`
    freezes four of them.

    Args:
      config: sizes, rates, activation.
      seed: of the initial weights and of Keras' dropout. The same seed gives the same weights for
        any number of devices.
      dtype: Keras dtype or policy; under "mixed_bfloat16" and "mixed_float16" variables, LayerNorm
        and softmax stay in float32.
      lora, frozen: arguments of `enable_lora` and names of frozen parts, as in `get_config`; not
        meant for users.

    Attributes:
      recompute: in a step with a dropout stream, as in our own training loop, keep only the outputs
        of the layers and compute the rest again for the gradients. May be set at any time.
      fused_attention: in such a step attend by cuDNN's kernel: on GPUs, compiled by XLA, in 16
        bits, without dropout of the probabilities; packed rows need `max_sequences`. May be set at
        any time.

    Raises:
      UserError: a policy that keeps weights in another type than float32, such as "bfloat16"; or
        weights that do not fit into this machine's memory.

    Examples:
        config = BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
        encoder = BertEncoder(config)
        ids = np.array([[2, 7, 3, 0]])
        outputs = encoder({"input_ids": ids, "input_mask": np.array([[1, 1, 1, 0]])})
        outputs["sequence_output"].shape                                  # (1, 4, 32)
        outputs["pooled_output"].shape                                    # (1, 32)
        encoder.enable_lora(rank=4)                   # trains low-rank updates only
    """

    _arguments = ("seed", "lora")

    def __init__(
        self,
        config: BertConfig,
        *,
        seed: int = 0,
        lora: Mapping | None = None,
        frozen: tuple[str, ...] = (),
        **kwargs,
    ):
        trainable = kwargs.pop("trainable", True)
        # Keras must not round ids that come as floats.
        super().__init__(autocast=False, **kwargs)
        policy = self.dtype_policy
        # LayerNorm and AdamW need float32 weights: lower precision rounds small updates away.
        if policy.variable_dtype != "float32":
            raise UserError(
                f"the dtype policy {policy.name!r} keeps the weights in {policy.variable_dtype}: "
                "use 'float32', 'mixed_bfloat16' or 'mixed_float16', which keep them in float32"
            )
        check_config(type(self), config)
        check_model(config)
        self.config = config
        self.seed = seed
        self._drops = max(config.hidden_dropout_prob, config.attention_probs_dropout_prob) > 0
        # Set by the training loop before a step is traced: they decide how its graph is built.
        self.recompute = False
        self.fused_attention = False
        self.lora: dict[str, Any] | None = None
        self.embeddings = Embeddings(config, seed, name="embeddings", dtype=policy)
        self.layers = [
            EncoderLayer(config, index, seed, name=f"layer_{index}", dtype=policy)
            for index in range(config.num_hidden_layers)
        ]
        # TensorFlow's checkpoints see attributes only, not the layers of a list.
        for layer in self.layers:
            setattr(self, layer.name, layer)
        self.pooler = dense(
            config, config.hidden_size, seed, "bert/pooler/dense", name="pooler", dtype=policy
        )
        self._with_mask = WithMask(name="with_mask", dtype=policy)
        self.build()
        if lora is not None:
            self.enable_lora(**lora)
        for name in frozen:
            getattr(self, name).trainable = False
        if not trainable:
            self.trainable = False

    def build(self, input_shape=None):
        # Keras calls `build` again when a saved model is loaded.
        if not self.built:
            for layer in (self.embeddings, *self.layers, self.pooler):
                layer.build((None, None, self.config.hidden_size))

    def __call__(self, *args, **kwargs):
        """Calls the layer; inputs given by name may have the names of other libraries."""
        named = named_inputs(kwargs)
        _check_names(named)
        return super().__call__(*args, **named)

    def call(
        self,
        input_ids,
        input_mask=None,
        segment_ids=None,
        *,
        position_ids=None,
        sequence_ids=None,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
        mark_padding: bool = True,
        max_sequences: int | None = None,
    ) -> dict:
        """Encodes a batch.

        Args:
          input_ids: int [B, S]; or a dict of the tensors by the names of these arguments, or by
            those of Hugging Face (`attention_mask`, `token_type_ids`), the Model Garden
            (`input_word_ids`, `input_type_ids`) or KerasHub (`token_ids`, `padding_mask`), other
            keys are ignored unless they look like inputs; or a list of `input_ids` and, optionally,
            `input_mask` and `segment_ids`.
          input_mask: [B, S], 1 for tokens and 0 for padding; None means no padding.
          segment_ids: int [B, S], 0 for the first segment and 1 for the second; None means 0.
          position_ids: int [B, S]; None means 0...S-1. Packed sequences start again at 0.
          sequence_ids: int [B, S], numbers of the sequences packed in a row; each attends to itself
            only.
          dropout: the stream of a step of our own training loop; `training` is then ignored.
          training: without a stream, whether to drop.
          return_attention_probabilities: see below.
          mark_padding: whether the outputs of layers carry `input_mask` as Keras' mask, by which
            layers such as `GlobalAveragePooling1D` leave padding out.
          max_sequences: the most sequences in a packed row, whose ids are then 1, 2, ... in this
            order and 0 in padding; only fused attention needs it.

        Returns:
          "embedding_output", "encoder_layer_0" ... "encoder_layer_{L-1}" and "sequence_output" (the
          last layer's), each [B, S, H], and "pooled_output" [B, H], from position 0, or where
          attention is causal from the last token (of the first sequence of a packed row), which
          alone has seen all others. On request "attention_probabilities", a tuple of [B, N, S, S]
          for each layer: how much position i (axis 2) attends to position j (axis 3), before
          dropout.

        Raises:
          UserError: inputs of another shape, name or range, as far as these are known.
        """
        inputs = encoder_inputs(
            input_ids,
            input_mask=input_mask,
            segment_ids=segment_ids,
            position_ids=position_ids,
            sequence_ids=sequence_ids,
        )
        _check_inputs(inputs, self.config)
        # Probabilities are returned for plots, outside of training: neither the kernel nor a
        # recomputed layer has them.
        is_training_step = dropout is not None and not return_attention_probabilities
        arguments = self._attention_arguments(inputs, is_training_step, max_sequences)
        if dropout is None and training and self._drops:
            # One stream for all sites: several devices have to agree on their rows for it.
            generator = self.embeddings.dropout.seed_generator
            dropout = fit_stream(generator, inputs["input_ids"])
        x = self.embeddings(
            inputs["input_ids"],
            inputs.get("segment_ids"),
            inputs.get("position_ids"),
            dropout=dropout,
            training=training,
        )  # [B, S, H]
        outputs = {"embedding_output": x}
        attentions = []
        for index, layer in enumerate(self.layers):
            if self.recompute and is_training_step and dropout is not None:
                x = recomputed(layer, x, dropout, **arguments)
            else:
                x = layer(
                    x,
                    **arguments,
                    dropout=dropout,
                    training=training,
                    return_attention_probabilities=return_attention_probabilities,
                )
            if return_attention_probabilities:
                x, probabilities = x
                attentions.append(probabilities)
            outputs[f"encoder_layer_{index}"] = x
        outputs["sequence_output"] = x
        if self.causal:
            summary = at_last_token(x, inputs.get("input_mask"), inputs.get("sequence_ids"))
        else:
            summary = x[:, 0]
        # After all layers, which need no mask of Keras' and would warn about it.
        input_mask = inputs.get("input_mask")
        if mark_padding and input_mask is not None:
            for name, value in outputs.items():
                outputs[name] = self._with_mask([value, input_mask])
        outputs["pooled_output"] = self.pool(summary)  # [B, H]
        if return_attention_probabilities:
            outputs["attention_probabilities"] = tuple(attentions)
        return outputs

    def _attention_arguments(
        self, inputs: dict, is_training_step: bool, max_sequences: int | None
    ) -> dict:
        """Returns the `span` (for the fused kernel) or the `bias` of every `SelfAttention`."""
        batch, length = ops.shape(inputs["input_ids"])
        input_mask = inputs.get("input_mask")
        sequence_ids = inputs.get("sequence_ids")
        if self.fused_attention and is_training_step:
            if sequence_ids is None:
                return {"span": attention_span(input_mask, batch, length, self.causal)}
            if max_sequences is not None:
                return {"span": packed_span(sequence_ids, max_sequences, self.causal)}
        bias = attention_bias(
            input_mask, sequence_length=length, causal=self.causal, sequence_ids=sequence_ids
        )
        return {"bias": bias}

    def pool(self, x):
        """Computes the pooled output, [..., H] → [..., H].

        Args:
          x: the last layer's output for [CLS], or of a causal model for the last token.
        """
        return self.pooler(x, activation=ops.tanh)

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        layers: tuple[str, ...] = ("query", "value"),
    ) -> None:
        """Freezes the encoder and adds low-rank updates to dense layers: only these train (arXiv
        2106.09685).

        `dense.kernel` is then the merged kernel, which checkpoints of all formats get; `.keras`
        files keep the update apart. To be called once, after the weights are loaded.

        Args:
          rank: of the updates.
          lora_alpha: an update is scaled by lora_alpha / rank; None for a scale of 1.
          layers: which of "query", "key", "value", "attention_output", "intermediate" and
            "output_dense" get one; "all" for all of them.

        Raises:
          UserError: a layer of another name.
          ValueError: LoRA is enabled already.
        """
        # A list, as JSON has no tuples: the configuration must survive saving unchanged.
        names = list(LORA_LAYERS) if layers == "all" else list(layers)
        for name in names:
            if name not in LORA_LAYERS:
                raise UserError(
                    f"layers={name!r}: LoRA can be given to {', '.join(LORA_LAYERS)}, "
                    'or to "all" of them'
                )
        # No variable of a frozen layer trains, LoRA matrices included: unfreeze the layers, then
        # freeze every variable.
        self.trainable = True
        for variable in self.weights:
            variable.trainable = False
            setattr(variable, KEPT_BY_LORA, True)
        for index, layer in enumerate(self.layers):
            for name in names:
                seed = derived_seed(self.seed, f"lora/layer_{index}/{name}")
                dense_layer = operator.attrgetter(LORA_LAYERS[name])(layer)
                dense_layer.enable_lora(
                    rank,
                    lora_alpha=lora_alpha,
                    a_initializer=keras.initializers.HeUniform(seed=seed),
                )
        self.lora = {"rank": rank, "lora_alpha": lora_alpha, "layers": names}

    @staticmethod
    def get_layout_map(device_mesh, model_parallel_dim_name: str = "model"):
        """Returns the layout of the weights on several devices, for
        `keras.distribution.ModelParallel`.

        Each device computes some of the heads and of the intermediate units (arXiv 1909.08053,
        section 3), and holds their weights, its part of the embeddings, and the moments of both.
        What heads of a task add is on every device.

        Args:
          device_mesh: `keras.distribution.DeviceMesh`; the size of the axis below divides the
            hidden and the intermediate size, and better the number of heads as well.
          model_parallel_dim_name: the axis of the mesh that shares the weights.

        Examples:
            mesh = keras.distribution.DeviceMesh(
                (4, 2), ["batch", "model"], keras.distribution.list_devices())
            keras.distribution.set_distribution(keras.distribution.ModelParallel(
                layout_map=BertEncoder.get_layout_map(mesh), batch_dim_name="batch"))
        """
        columns = (None, model_parallel_dim_name)
        layout = keras.distribution.LayoutMap(device_mesh)
        layout[r".*embeddings/(word|position)_embeddings"] = columns
        layout[r".*layer_\d+/(attention/(query|key|value)|intermediate)/kernel"] = columns
        layout[r".*layer_\d+/(attention/(query|key|value)|intermediate)/bias"] = columns[1:]
        layout[r".*layer_\d+/(attention_output|output)/kernel"] = columns[::-1]
        return layout

    def get_config(self) -> dict:
        frozen = []
        # A frozen encoder has only frozen parts: Keras saves its own `trainable`.
        parts: tuple[keras.layers.Layer, ...] = (self.embeddings, *self.layers, self.pooler)
        if self.trainable:
            for layer in parts:
                if not layer.trainable:
                    frozen.append(layer.name)
        return {**super().get_config(), "frozen": frozen}


# Inputs of the encoder: keys of a dict, and the order of a list.
INPUTS = ("input_ids", "input_mask", "segment_ids", "position_ids", "sequence_ids")
# Names of inputs in Hugging Face's library, the Model Garden and KerasHub → ours.
_OTHER_NAMES = {
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "input_word_ids": "input_ids",
    "input_type_ids": "segment_ids",
    "token_ids": "input_ids",
    "padding_mask": "input_mask",
}
# Parts of the names of inputs. A key with one of them that is neither an input nor a label is an
# input under a name that is not known here, and ignoring it would change the outputs.
_INPUT_PARTS = ("mask", "ids", "type")
_LABELS = ("label_ids", "masked_lm_", "text_ids")


def named_inputs(features) -> Mapping:
    """Returns what is given to `BertEncoder.call` or `fit` by our names, unchecked; labels stay."""
    if isinstance(features, Mapping):
        return {_OTHER_NAMES.get(key, key): value for key, value in features.items()}
    if isinstance(features, (list, tuple)):
        return dict(zip(INPUTS, features, strict=False))
    return {"input_ids": features}


def encoder_inputs(features, **arguments) -> dict:
    """Returns the inputs of the encoder that are given, by their names in `INPUTS`.

    Args:
      features: a tensor, list or dict, as `input_ids` of `BertEncoder.call`.
      arguments: the other inputs of it; those that are not None replace values of a list or dict.

    Raises:
      UserError: there are no input ids, they are strings or ragged, or a key looks like an input
        but is none.
    """
    features = named_inputs(features)
    _check_names(features)
    # Other keys of a dict, such as labels, are ignored.
    inputs = {}
    for name in INPUTS:
        value = arguments.get(name)
        if value is None:
            value = features.get(name)
        if value is None:
            continue
        if "str" in str(getattr(value, "dtype", type(value))) or isinstance(value, str):
            raise UserError(
                f'"{name}" are strings: BertPreprocessor turns strings into ids, docs/keras.md '
                "has a program"
            )
        if hasattr(value, "to_tensor"):
            raise UserError(
                f'"{name}" is ragged: pad it with `to_tensor()`, and give an "input_mask" that is '
                "1 for each of its tokens"
            )
        # A `keras.Input` without a dtype makes ids floats, and files hold them in 16 bits: tables
        # are read at int32 and int64. The mask may stay as it is.
        dtype = keras.backend.standardize_dtype(value.dtype)
        if name != "input_mask" and dtype not in ("int32", "int64"):
            value = ops.cast(value, "int32")
        inputs[name] = value
    if "input_ids" not in inputs:
        raise UserError(
            'the encoder needs "input_ids": give them as a tensor, as the first of a list or in a '
            "dict"
        )
    return inputs


def _check_inputs(inputs: Mapping, config: BertConfig) -> None:
    """Raises `UserError` for inputs that are not [B, S], and as `check_ids`."""
    shape = tuple(inputs["input_ids"].shape)
    for name, value in inputs.items():
        if len(value.shape) != 2:
            raise UserError(
                f'"{name}" has the shape {tuple(value.shape)}: [B, S] is expected, a row of ids '
                "for each text"
            )
        for size, expected in zip(value.shape, shape, strict=True):
            # A single row or column stands for all.
            if None not in (size, expected) and size not in (1, expected):
                raise UserError(
                    f'"{name}" has the shape {tuple(value.shape)}, "input_ids" {shape}: both must '
                    "have a value for each token"
                )
    check_ids(inputs, config)


def check_ids(inputs: Mapping, config: BertConfig) -> None:
    """Raises `UserError` for values without an entry in the tables, as far as they are known:
    graphs have no values.

    Args:
      inputs: by our names, of any shapes.
    """
    sizes = {
        "input_ids": config.vocab_size,
        "segment_ids": config.type_vocab_size,
        "position_ids": config.max_position_embeddings,
    }
    for name, size in sizes.items():
        values = known_values(inputs.get(name))
        # A table with one row gives it to every segment.
        if values is None or not values.size or (name == "segment_ids" and size == 1):
            continue
        # Texts and ragged rows are refused elsewhere.
        if values.dtype.kind not in "iuf":
            continue
        for value in (values.min(), values.max()):
            if not 0 <= value < size:
                raise UserError(
                    f'"{name}" contains {value}: values from 0 to {size - 1} are expected; padding '
                    'is any of them where "input_mask" is 0'
                )


def _check_names(features: Mapping) -> None:
    """Raises `UserError` for an unknown key that looks like an input."""
    for name in features:
        is_known = name in INPUTS or str(name).startswith(_LABELS)
        if not is_known and any(part in str(name) for part in _INPUT_PARTS):
            raise UserError(
                f'"{name}" is no input: {", ".join(INPUTS)} are, also under the names '
                f"{', '.join(_OTHER_NAMES)}; leave it out if it is no input"
            )


def freeze_layers(model, count: int) -> None:
    """Freezes the first `count` transformer layers; the embeddings are not among them.

    Args:
      model: a `BertEncoder`, or a model with an `encoder`.

    Raises:
      UserError: there are fewer layers.
    """
    encoder = getattr(model, "encoder", model)
    if not 0 <= count <= len(encoder.layers):
        raise UserError(f"{count} layers can't be frozen: the model has {len(encoder.layers)}")
    for layer in encoder.layers[:count]:
        layer.trainable = False


def freeze_embeddings(model) -> None:
    """Freezes the embeddings, their LayerNorm included, also where a masked-LM head projects to
    them.

    Args:
      model: a `BertEncoder`, or a model with an `encoder`.
    """
    getattr(model, "encoder", model).embeddings.trainable = False

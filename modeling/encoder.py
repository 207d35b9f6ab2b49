"""The encoder: embeddings (figure 2 of the paper), L post-norm transformer layers, pooler (section
3).

Input: ids [B, S], or a dict or list of them; output: a dict of what every layer gives, [B, S, H],
and [B, H].
"""

import dataclasses
import difflib
import operator
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from bert_common.errors import UserError
from modeling.attention import SelfAttention, attention_bias, attention_span
from modeling.config import BertConfig
from modeling.costs import check_model
from modeling.dropout import Dropout, DropoutStream, recomputed
from modeling.layers import (
    LayerNorm,
    activation,
    at_last_token,
    dense,
    derived_seed,
    truncated_normal,
)
from modeling.saving import Checkpointed, Configured, register

_DROPOUT_SITE = 0


@register
class Embeddings(Configured, keras.layers.Layer):
    """Sum of the three embeddings, normalised.

    Variables: word_embeddings [V, H], token_type_embeddings [segments, H], position_embeddings
    [max_position_embeddings, H], and those of `layer_norm`.

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
        self.word_embeddings, self.token_type_embeddings, self.position_embeddings = (
            self.add_weight(
                shape=(rows, config.hidden_size),
                name=name,
                autocast=False,
                initializer=truncated_normal(
                    config.initializer_range, self.seed, f"bert/embeddings/{name}"
                ),
            )
            for name, rows in (
                ("word_embeddings", config.vocab_size),
                ("token_type_embeddings", config.type_vocab_size),
                ("position_embeddings", config.max_position_embeddings),
            )
        )
        self.layer_norm.build((None, None, config.hidden_size))

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
        total = ops.take(self.word_embeddings, input_ids, axis=0)  # [B, S, H]
        if segment_ids is None:
            total = total + self.token_type_embeddings[0]
        else:
            # With a handful of rows a product is faster than a lookup, above all in its gradient.
            one_hot = ops.one_hot(
                ops.reshape(segment_ids, (-1,)), self.config.type_vocab_size, dtype="float32"
            )
            chosen = ops.matmul(one_hot, self.token_type_embeddings)  # [B * S, H]
            total = total + ops.reshape(chosen, (*ops.shape(segment_ids), self.config.hidden_size))
        if position_ids is None and keras.backend.backend() != "jax":
            total = total + self.position_embeddings[:length]
        else:
            # A slice of an unknown length may be shorter to JAX.
            positions = ops.arange(length) if position_ids is None else position_ids
            total = total + ops.take(self.position_embeddings, positions, axis=0)
        return self.dropout(self.layer_norm(total), dropout=dropout, training=training)


# Keys of a dict of features that the encoder reads; in a list the first three come in this order.
INPUTS = ("input_ids", "input_mask", "segment_ids", "position_ids", "sequence_ids")
# What Hugging Face and the Model Garden call them.
_OTHER_NAMES = {
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "input_word_ids": "input_ids",
    "input_type_ids": "segment_ids",
}
# The dense layers of an `EncoderLayer` by the names that LoRA chooses them by.
_LORA_LAYERS = {
    name: operator.attrgetter(path)
    for name, path in (
        ("query", "attention.query"),
        ("key", "attention.key"),
        ("value", "attention.value"),
        ("attention_output", "attention_output"),
        ("intermediate", "intermediate"),
        ("output_dense", "output_dense"),
    )
}
# How alike a key must be to one of these names to be a misspelt one, from 0 to 1.
_MISSPELT = 0.85


@register
class EncoderLayer(Configured, keras.layers.Layer):
    """Self-attention and a feed-forward layer, each added to its input and then normalised.

    Args:
      config: sizes, rates, activation.
      index: number of the layer, from 0; it decides the initial weights and the dropout sites.
      seed: of the initial weights.

    Attributes:
      fuses_activation: have XLA compile the activation in training. May be set at any time; a graph
        that others are to train does without, as not every device has XLA.
    """

    _arguments = ("index", "seed")
    fuses_activation = True

    def __init__(self, config: BertConfig, index: int = 0, seed: int = 0, **kwargs):
        # Keras must not round the attention bias on its way to the softmax; `x` has the compute
        # dtype already.
        super().__init__(autocast=False, **kwargs)
        self.config = config
        self.index = index
        self.seed = seed
        self._activations = {
            training: activation(config.hidden_act, training) for training in (False, True)
        }
        dtype = {"dtype": self.dtype_policy}

        def dense_layer(name: str, outputs: int):
            path = f"bert/encoder/layer_{index}/{name}/dense"
            return dense(config, outputs, seed, path, name=name.replace("/", "_"), **dtype)

        self.attention = SelfAttention(config, index, seed, name="attention", **dtype)
        self.attention_output = dense_layer("attention/output", config.hidden_size)
        self.attention_layer_norm = LayerNorm(
            config.layer_norm_epsilon, name="attention_LayerNorm", **dtype
        )
        self.intermediate = dense_layer("intermediate", config.intermediate_size)
        self.output_dense = dense_layer("output", config.hidden_size)
        # The first of a layer's three sites is that of its attention probabilities.
        self.attention_dropout, self.output_dropout = (
            Dropout(config.hidden_dropout_prob, 3 * index + site, seed=seed, **dtype)
            for site in (2, 3)
        )
        self.output_layer_norm = LayerNorm(
            config.layer_norm_epsilon, name="output_LayerNorm", **dtype
        )

    def build(self, input_shape=None):
        hidden, inner = (
            (None, None, self.config.hidden_size),
            (None, None, self.config.intermediate_size),
        )
        for layer in (
            self.attention,
            self.attention_output,
            self.attention_layer_norm,
            self.intermediate,
            self.output_layer_norm,
        ):
            layer.build(hidden)
        self.output_dense.build(inner)

    def call(
        self,
        x,
        bias=None,
        *,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
    ):
        """[B, S, H] → [B, S, H], or a pair of it and the probabilities; the arguments are those of
        `SelfAttention`."""
        options = {"dropout": dropout, "training": training}
        attended = self.attention(
            x, bias=bias, return_attention_probabilities=return_attention_probabilities, **options
        )
        if return_attention_probabilities:
            attended, probabilities = attended
        x = self.attention_layer_norm(
            x + self.attention_dropout(self.attention_output(attended), **options)
        )
        activate = self._activations[
            self.fuses_activation and (dropout is not None or bool(training))
        ]
        transformed = self.output_dense(activate(self.intermediate(x)))  # [B, S, I] in between
        x = self.output_layer_norm(x + self.output_dropout(transformed, **options))
        return (x, probabilities) if return_attention_probabilities else x


@register
class BertEncoder(Checkpointed, keras.layers.Layer):
    """The part of the model that every task shares. Its weights exist as soon as it is made.

    `layers` are the transformer layers: `for layer in encoder.layers[:4]: layer.trainable = False`
    freezes four of them.

    Args:
      config: sizes, rates, activation.
      seed: of the initial weights and of Keras' dropout. The same seed gives the same weights for
        any number of devices.
      causal: attend to the left only, unless `call` says otherwise: the same as `causal` in the
        configuration, and then there, too.
      dtype: Keras dtype or policy; under "mixed_bfloat16" and "mixed_float16" variables, LayerNorm
        and softmax stay in float32.
      lora, frozen: what `get_config` contains of `enable_lora` and of frozen parts; not meant for
        users.

    Attributes:
      recompute: where a step has a dropout stream, as in our own training loop, keep only the
        outputs of the layers and compute the rest again for the gradients. May be set at any time.
      fused_attention: in such a step, where rows hold one sequence each, attend by cuDNN's kernel:
        on GPUs, compiled by XLA, in 16 bits, without dropout of the probabilities. May be set at
        any time.

    Raises:
      UserError: a policy that keeps weights in another type than float32, such as "bfloat16"; or
        weights that do not fit into this machine's memory.

    Examples:
        config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4) encoder = BertEncoder(config)
        outputs = encoder({"input_ids": np.array([[2, 7, 3, 0]]), "input_mask": np.array([[1, 1, 1,
        0]])}) outputs["sequence_output"].shape                                  # (1, 4, 32)
        outputs["pooled_output"].shape                                    # (1, 32)
        encoder.enable_lora(rank=4)                                       # trains low-rank updates
        only
    """

    _arguments = ("seed", "lora")
    recompute = False
    fused_attention = False

    def __init__(
        self,
        config: BertConfig,
        *,
        seed: int = 0,
        causal: bool = False,
        lora: Mapping | None = None,
        frozen: tuple[str, ...] = (),
        **kwargs,
    ):
        trainable = kwargs.pop("trainable", True)
        # Keras must not round ids that come as floats.
        super().__init__(autocast=False, **kwargs)
        policy = self.dtype_policy
        # With less LayerNorm and the optimizer would lose what makes them work.
        if policy.variable_dtype != "float32":
            raise UserError(
                f"the dtype policy {policy.name!r} keeps the weights in {policy.variable_dtype}: use 'float32', "
                "'mixed_bfloat16' or 'mixed_float16', which keep them in float32"
            )
        check_model(config)
        self.config = config = dataclasses.replace(config, causal=True) if causal else config
        self.seed = seed
        self.lora: dict[str, Any] | None = None
        dtype = {"dtype": self.dtype_policy}
        self.embeddings = Embeddings(config, seed, name="embeddings", **dtype)
        self.layers = [
            EncoderLayer(config, index, seed, name=f"layer_{index}", **dtype)
            for index in range(config.num_hidden_layers)
        ]
        # TensorFlow's checkpoints see attributes only: without these the layers of the list would
        # be left out of them.
        for layer in self.layers:
            setattr(self, layer.name, layer)
        self.pooler = dense(
            config, config.hidden_size, seed, "bert/pooler/dense", name="pooler", **dtype
        )
        self.build()
        if lora is not None:
            self.enable_lora(**lora)
        for part in frozen:
            getattr(self, part).trainable = False
        if not trainable:
            self.trainable = False

    def build(self, input_shape=None):
        if not self.built:
            for layer in (self.embeddings, *self.layers, self.pooler):
                layer.build((None, None, self.config.hidden_size))

    def __call__(self, *args, **kwargs):
        """As `call`; Hugging Face's and the Model Garden's names of the inputs are understood,
        too."""
        return super().__call__(*args, **_with_our_names(kwargs))

    def call(
        self,
        input_ids,
        input_mask=None,
        segment_ids=None,
        *,
        position_ids=None,
        causal: bool | None = None,
        sequence_ids=None,
        dropout: DropoutStream | None = None,
        training: bool | None = None,
        return_attention_probabilities: bool = False,
    ) -> dict:
        """Encodes a batch.

        Args:
          input_ids: int [B, S]; or a dict of the tensors by the names of these arguments, or by
            those of Hugging Face (`attention_mask`, `token_type_ids`) or the Model Garden
            (`input_word_ids`, `input_type_ids`), other keys are ignored; or a list of `input_ids`
            and, as far as given, `input_mask` and `segment_ids`.
          input_mask: [B, S], 1 for tokens and 0 for padding; None means no padding.
          segment_ids: int [B, S], 0 for the first segment and 1 for the second; None means 0.
          position_ids: int [B, S]; None means 0...S-1. Packed sequences start again at 0.
          causal: attend to the left only; None for what the configuration says.
          sequence_ids: int [B, S], numbers of the sequences packed in a row; each attends to itself
            only.
          dropout: the stream of a step of our own training loop; it decides, whatever `training`
            says.
          training: whether to drop by `keras.random`.
          return_attention_probabilities: see below.

        Returns:
          "embedding_output", "encoder_layer_0" ... "encoder_layer_{L-1}" and "sequence_output" (the
          last layer's), each [B, S, H], and "pooled_output" [B, H], from position 0, or where
          attention is causal from the last token (of the first sequence of a packed row), which
          alone has seen all others. On request "attention_probabilities", a
          tuple of [B, N, S, S] for each layer: how much position i (axis 2) attends to position j
            (axis 3), before dropout.

        Raises:
          UserError: S is known and larger than the position table, there are no input ids, or a key
            of a dict is nearly the name of an input.
        """
        inputs = encoder_inputs(
            input_ids,
            input_mask=input_mask,
            segment_ids=segment_ids,
            position_ids=position_ids,
            sequence_ids=sequence_ids,
        )
        input_ids = inputs["input_ids"]
        causal = self.causal if causal is None else causal
        batch, length = ops.shape(input_ids)
        is_fused = (
            self.fused_attention
            and dropout is not None
            and inputs["sequence_ids"] is None
            and not return_attention_probabilities
        )
        bias = (
            attention_span(inputs["input_mask"], batch, length, causal)
            if is_fused
            else attention_bias(
                inputs["input_mask"],
                sequence_length=length,
                causal=causal,
                sequence_ids=inputs["sequence_ids"],
            )
        )
        options = {"dropout": dropout, "training": training}
        x = self.embeddings(
            input_ids, inputs["segment_ids"], inputs["position_ids"], **options
        )  # [B, S, H]
        outputs = {"embedding_output": x}
        attentions = []
        is_recomputed = self.recompute and not return_attention_probabilities
        for index, layer in enumerate(self.layers):
            if is_recomputed and dropout is not None:
                x = recomputed(layer, x, bias, dropout)
            else:
                x = layer(
                    x,
                    bias=bias,
                    return_attention_probabilities=return_attention_probabilities,
                    **options,
                )
            if return_attention_probabilities:
                x, probabilities = x
                attentions.append(probabilities)
            outputs[f"encoder_layer_{index}"] = x
        outputs["sequence_output"] = x
        outputs["pooled_output"] = self.pool(
            at_last_token(x, inputs["input_mask"], inputs["sequence_ids"]) if causal else x[:, 0]
        )  # [B, H]
        if return_attention_probabilities:
            outputs["attention_probabilities"] = tuple(attentions)
        return outputs

    def pool(self, x):
        """[..., H], the last layer's output for [CLS] (left to right: for the last token) → [...,
        H], the pooled output."""
        return ops.tanh(self.pooler(x))

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        layers: tuple[str, ...] = ("query", "value"),
    ) -> None:
        """Freezes the encoder and adds low-rank updates to dense layers: only these train (arXiv
        2106.09685).

        `dense.kernel` is then the merged kernel, and that is what checkpoints of all formats get;
        `.keras` files keep the update apart. To be called once, after the weights are loaded.

        Args:
          rank: of the updates.
          lora_alpha: an update is scaled by lora_alpha / rank; None for a scale of 1.
          layers: which of "query", "key", "value", "attention_output", "intermediate" and
            "output_dense" get one; "all" for all of them.

        Raises:
          UserError: a layer of another name, or LoRA is enabled already.
        """
        if self.lora is not None:
            raise UserError("enable_lora was called twice: it can be done once for an encoder")
        chosen = tuple(_LORA_LAYERS) if layers == "all" else tuple(layers)
        unknown = [name for name in chosen if name not in _LORA_LAYERS]
        if unknown:
            raise UserError(
                f'layers={unknown[0]!r}: LoRA can be given to {", ".join(_LORA_LAYERS)}, or to "all" of them'
            )
        self.trainable = True
        for variable in self.weights:
            variable.trainable = False
        for index, layer in enumerate(self.layers):
            for name in chosen:
                initializer = keras.initializers.HeUniform(
                    seed=derived_seed(self.seed, f"lora/layer_{index}/{name}")
                )
                _LORA_LAYERS[name](layer).enable_lora(
                    rank, lora_alpha=lora_alpha, a_initializer=initializer
                )
        self.lora = {"rank": rank, "lora_alpha": lora_alpha, "layers": list(chosen)}

    def get_config(self) -> dict:
        parts: tuple[keras.layers.Layer, ...] = (self.embeddings, *self.layers, self.pooler)
        frozen = [layer.name for layer in parts if not layer.trainable] if self.trainable else []
        return {**super().get_config(), "frozen": frozen}


def encoder_inputs(input_ids, **others) -> dict:
    """Inputs of the encoder, by the names in `INPUTS`; None where one is not given.

    Args:
      input_ids: as in `BertEncoder.call`.
      others: the other arguments of it; those that are not None win over what a dict or list holds.

    Raises:
      UserError: there are no input ids, or see `known_inputs`.
    """
    if isinstance(input_ids, Mapping):
        given = known_inputs(input_ids)
    elif isinstance(input_ids, (list, tuple)):
        given = dict(zip(INPUTS, input_ids, strict=False))
    else:
        given = {"input_ids": input_ids}
    given |= {name: value for name, value in others.items() if value is not None}
    if given.get("input_ids") is None:
        raise UserError(
            'the encoder needs "input_ids": give them as a tensor, as the first of a list or in a dict'
        )
    # Ids may come as floats, as from a `keras.Input` without a dtype.
    return {
        name: ops.cast(value, "int32")
        if name != "input_mask"
        and value is not None
        and "float" in keras.backend.standardize_dtype(value.dtype)
        else value
        for name, value in ((name, given.get(name)) for name in INPUTS)
    }


def known_inputs(features: Mapping) -> dict:
    """The inputs of the encoder among features, by the names in `INPUTS`; other keys are ignored.

    Raises:
      UserError: an input is there under two names, or a key is nearly the name of one.
    """
    found = {name: value for name, value in _with_our_names(features).items() if name in INPUTS}
    names = (*INPUTS, *_OTHER_NAMES)
    for key in features:
        if key not in names and (near := difflib.get_close_matches(str(key), names, 1, _MISSPELT)):
            raise UserError(f"{key!r} is no input of the encoder: did you mean {near[0]!r}?")
    return found


def _with_our_names(features: Mapping) -> dict:
    renamed: dict = {}
    for key, value in features.items():
        name = _OTHER_NAMES.get(key, key)
        if name in renamed:
            raise UserError(
                f"{key!r} and another key both are the encoder's {name!r}: give one of them"
            )
        renamed[name] = value
    return renamed


def freeze_layers(model, count: int) -> None:
    """Makes the first `count` transformer layers keep their weights; the embeddings are not among
    them.

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
    """Makes the embeddings, their LayerNorm included, keep their weights: also where a masked-LM
    head projects to them.

    Args:
      model: a `BertEncoder`, or a model with an `encoder`.
    """
    getattr(model, "encoder", model).embeddings.trainable = False

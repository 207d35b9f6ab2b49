"""The table of the weights and the table of the heads: their names, places and shapes in every
format.

Names of the original are the common language: readers translate to them, writers from them, and
variables of our models have the shapes of the original's. Readers, writers, checks and loaders read
the two tables; no other module knows the name of a weight. A further head is one more row of
`HEADS`. What a configuration asks for, and whether a checkpoint has it, is checked at the end,
before any model is built.
"""

import dataclasses
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bert_common.errors import UserError
from modeling.config import BertConfig

# The letters of shapes, as in modeling/__init__.py. C, the number of a head's classes, is in no
# configuration.
SIZES = {
    "V": "vocab_size",
    "H": "hidden_size",
    "I": "intermediate_size",
    "N": "num_attention_heads",
    "D": "head_size",
    "M": "max_position_embeddings",
    "T": "type_vocab_size",
}
# The names of a weight: the columns of the table that have prefixes.
_NAMES = ("original", "attribute", "huggingface", "garden", "keras_hub")


@dataclasses.dataclass(frozen=True)
class Weight:
    """A row of the table of weights. In the rows of a layer, {layer} in the names stands for its
    number, from 0.

    Attributes:
      original: name in the original's checkpoints.
      attribute: path of attributes from our `BertEncoder`, or from the head's layer, to the
        variable.
      huggingface: name in Hugging Face's files.
      garden: path of attributes from the Model Garden's `networks.BertEncoderV2`, or from the
        object of the head; a | stands for a slash in an attribute's name.
      keras_hub: path of the data set in KerasHub's HDF5 files, below the layers of the backbone or
        of the model.
      shape: the original's, a letter for each axis.
      garden_shape: the shape in the Model Garden, where attention heads are an axis of their own.
      huggingface_transposed: whether a matrix is transposed in Hugging Face's files; all else has
        the original's shape.
      garden_transposed: whether a matrix is transposed in the Model Garden's checkpoints.
    """

    original: str
    attribute: str
    huggingface: str
    garden: str
    keras_hub: str
    shape: str
    garden_shape: str
    huggingface_transposed: bool = False
    garden_transposed: bool = False

    def sizes(self, config: BertConfig, classes: int = 0) -> tuple[int, ...]:
        """The shape under a configuration, for a head of so many classes."""
        # Of what stands on the encoder: U units of a BiLSTM, G gates of its cells, F what a head
        # reads, H or 2 U.
        after_it = {
            "C": classes,
            "U": config.bilstm_units,
            "G": 4 * config.bilstm_units,
            "F": config.head_input_size,
        }
        return tuple(
            after_it[letter] if letter in after_it else getattr(config, SIZES[letter])
            for letter in self.shape
        )


def _below(prefixes: tuple[str, str, str, str, str], *rows: list[Weight]) -> list[Weight]:
    """Rows with a prefix before each of the names."""
    return [
        dataclasses.replace(
            weight,
            **{
                name: prefix + getattr(weight, name)
                for name, prefix in zip(_NAMES, prefixes, strict=True)
            },
        )
        for weights in rows
        for weight in weights
    ]


def _layer_norm(
    original: str, attribute: str, huggingface: str, garden: str, hub: str
) -> list[Weight]:
    return _below(
        (f"{original}/", f"{attribute}/", f"{huggingface}.", f"{garden}/", f"{hub}/vars/"),
        [
            Weight("beta", "beta", "bias", "beta", "1", "H", "H"),
            Weight("gamma", "gamma", "weight", "gamma", "0", "H", "H"),
        ],
    )


def _dense(
    original: str,
    attribute: str,
    huggingface: str,
    garden: str,
    hub: str,
    shape: str,
    garden_shapes: str = "",
) -> list[Weight]:
    """Kernel and bias of a dense layer; `garden_shapes` of both, e.g. "HND ND"."""
    kernel, bias = garden_shapes.split() or (shape, shape[-1])
    return _below(
        (f"{original}/", f"{attribute}/", f"{huggingface}.", f"{garden}/", f"{hub}/vars/"),
        [
            Weight(
                "kernel",
                "kernel",
                "weight",
                "kernel",
                "0",
                shape,
                kernel,
                huggingface_transposed=True,
            ),
            Weight("bias", "bias", "bias", "bias", "1", shape[-1], bias),
        ],
    )


# The order is the original's.
EMBEDDINGS = _below(
    ("bert/embeddings/", "embeddings/", "bert.embeddings.", "", ""),
    [
        Weight(name, name, f"{name}.weight", f"{garden}/embeddings", f"{hub}/vars/0", shape, shape)
        for name, garden, hub, shape in (
            ("word_embeddings", "_embedding_layer", "reversible_embedding", "VH"),
            ("token_type_embeddings", "_type_embedding_layer", "embedding", "TH"),
            ("position_embeddings", "_position_embedding_layer", "position_embedding", "MH"),
        )
    ],
    _layer_norm(
        "LayerNorm", "layer_norm", "LayerNorm", "_embedding_norm_layer", "layer_normalization"
    ),
)
LAYER = _below(
    (
        "bert/encoder/layer_{layer}/",
        "layers/{layer}/",
        "bert.encoder.layer.{layer}.",
        "_transformer_layers/{layer}/",
        "transformer_encoder_{layer}/",
    ),
    *(
        _dense(
            f"attention/self/{name}",
            f"attention/{name}",
            f"attention.self.{name}",
            f"_attention_layer/_{name}_dense",
            f"_self_attention_layer/{name}_dense",
            "HH",
            "HND ND",
        )
        for name in ("query", "key", "value")
    ),
    _dense(
        "attention/output/dense",
        "attention_output",
        "attention.output.dense",
        "_attention_layer/_output_dense",
        "_self_attention_layer/output_dense",
        "HH",
        "NDH H",
    ),
    _layer_norm(
        "attention/output/LayerNorm",
        "attention_layer_norm",
        "attention.output.LayerNorm",
        "_attention_layer_norm",
        "_self_attention_layer_norm",
    ),
    _dense(
        "intermediate/dense",
        "intermediate",
        "intermediate.dense",
        "_intermediate_dense",
        "_feedforward_intermediate_dense",
        "HI",
    ),
    _dense(
        "output/dense",
        "output_dense",
        "output.dense",
        "_output_dense",
        "_feedforward_output_dense",
        "IH",
    ),
    _layer_norm(
        "output/LayerNorm",
        "output_layer_norm",
        "output.LayerNorm",
        "_output_layer_norm",
        "_feedforward_layer_norm",
    ),
)
POOLER = _dense("bert/pooler/dense", "pooler", "bert.pooler.dense", "_pooler_layer", "dense", "HH")

# Between encoder and head in fine-tuning; no other format has it.
BILSTM = [
    Weight(
        f"bilstm/{direction}/{name}",
        f"lstm/{direction}_layer/cell/{name}",
        "",
        "",
        "",
        shape,
        shape,
    )
    for direction in ("forward", "backward")
    for name, shape in (("kernel", "HG"), ("recurrent_kernel", "UG"), ("bias", "G"))
]

ENCODER_PREFIX = "bert/"
# The head of a tagger on fixed activations: its layers are the user's choice, so it is no row of
# `HEADS`.
FEATURE_TAGGER = "feature_tagger"
FEATURE_TAGGER_PREFIX = f"{FEATURE_TAGGER}/"
# Of what LoRA adds, see modeling/checkpoints/tensorflow_files.py: here and in our checkpoints.
LORA_PREFIX = "lora/"
WORD_EMBEDDINGS = EMBEDDINGS[0]


@dataclasses.dataclass(frozen=True)
class Head:
    """A row of the table of heads.

    Attributes:
      name: key of `model.heads`: the name of the task, or of a head of pre-training.
      directory: below `heads/` in our checkpoints.
      title: what messages call it.
      original: what the names of its weights begin with in the original's checkpoints. Those of
        tagging and multiple choice, which the original has not, follow the others.
      huggingface_layer: its dense layer there, where its weights are one such layer; several heads
        may share a name.
      huggingface_classes: the classes there that have this head, first the one that has no other.
      garden: path of the object that holds it in the Model Garden's models.
      garden_dense: path of its dense layer in that object.
      keras_hub: its layer in KerasHub's model with that head; "" where KerasHub has no such model.
      reads: the encoder's output that it stands on.
      classes: C where it is the same for all such heads; None where it is free, or where there are
        no classes.
      parts: rows of the head's own parts, where it is more than output_weights [C, H] and
        output_bias [C] (after a BiLSTM: [C, 2 U]).
      is_of_pretraining: always directly on the encoder.
      signature: the weight whose presence means that the head is there.
    """

    name: str
    directory: str
    title: str
    original: str
    huggingface_layer: str
    huggingface_classes: tuple[str, ...]
    garden: str
    garden_dense: str
    keras_hub: str
    reads: str
    classes: int | None = None
    parts: tuple[Weight, ...] = ()
    signature: str = "output_weights"
    is_of_pretraining: bool = False

    @property
    def signature_name(self) -> str:
        """Original name of the signature weight."""
        return self.original + self.signature

    @property
    def weights(self) -> list[Weight]:
        """Its rows of the table of weights."""
        inputs = "H" if self.is_of_pretraining else "F"
        return (
            _below((self.original, "", "", "", f"{self.keras_hub}/"), [*self.parts])
            if self.parts
            else [
                Weight(
                    f"{self.original}output_weights",
                    "output_weights",
                    f"{self.huggingface_layer}.weight",
                    f"{self.garden_dense}kernel",
                    f"{self.keras_hub}/vars/0",
                    f"C{inputs}",
                    f"{inputs}C",
                    garden_transposed=True,
                ),
                Weight(
                    f"{self.original}output_bias",
                    "output_bias",
                    f"{self.huggingface_layer}.bias",
                    f"{self.garden_dense}bias",
                    f"{self.keras_hub}/vars/1",
                    "C",
                    "C",
                ),
            ]
        )


HEADS = {
    head.name: head
    for head in (
        Head(
            "masked_lm",
            "masked_lm",
            "masked-LM head",
            "cls/predictions/",
            "",
            ("BertForMaskedLM", "BertForPreTraining", "BertLMHeadModel"),
            "masked_lm",
            "",
            "masked_lm_head",
            "sequence_output",
            signature="output_bias",
            is_of_pretraining=True,
            parts=(
                *_dense(
                    "transform/dense",
                    "dense",
                    "cls.predictions.transform.dense",
                    "dense",
                    "_intermediate_dense",
                    "HH",
                ),
                *_layer_norm(
                    "transform/LayerNorm",
                    "layer_norm",
                    "cls.predictions.transform.LayerNorm",
                    "layer_norm",
                    "_intermediate_layer_norm",
                ),
                Weight(
                    "output_bias",
                    "output_bias",
                    "cls.predictions.bias",
                    "output_bias|bias",
                    "vars/0",
                    "V",
                    "V",
                ),
            ),
        ),
        Head(
            "next_sentence",
            "next_sentence",
            "next-sentence head",
            "cls/seq_relationship/",
            "cls.seq_relationship",
            ("BertForNextSentencePrediction", "BertForPreTraining"),
            "classification_heads/0",
            "out_proj/",
            "",
            "pooled_output",
            classes=2,
            is_of_pretraining=True,
        ),
        Head(
            "classification",
            "classifier",
            "classification head",
            "",
            "classifier",
            ("BertForSequenceClassification",),
            "classifier",
            "out_proj/",
            "dense",
            "pooled_output",
        ),
        Head(
            "question_answering",
            "span",
            "question-answering head",
            "cls/squad/",
            "qa_outputs",
            ("BertForQuestionAnswering",),
            "span_labeling",
            "layer_with_weights-0/",
            "",
            "sequence_output",
            classes=2,
        ),
        Head(
            "token_classification",
            "tagging",
            "token-classification head",
            "cls/tagging/",
            "classifier",
            ("BertForTokenClassification",),
            "classifier",
            "",
            "",
            "sequence_output",
        ),
        Head(
            "multiple_choice",
            "multiple_choice",
            "multiple-choice head",
            "cls/multiple_choice/",
            "classifier",
            ("BertForMultipleChoice",),
            "multiple_choice",
            "",
            "",
            "pooled_output",
            classes=1,
        ),
    )
}


# Prefixes in the original and in our checkpoints; an empty one matches every name, so it comes
# last.
_PREFIXES = sorted(
    [
        (ENCODER_PREFIX, "encoder/"),
        (LORA_PREFIX, LORA_PREFIX),
        ("bilstm/", "heads/bilstm/"),
        (FEATURE_TAGGER_PREFIX, f"heads/{FEATURE_TAGGER_PREFIX}"),
        *((head.original, f"heads/{head.directory}/") for head in HEADS.values()),
    ],
    key=lambda prefixes: not prefixes[0],
)


def encoder_weights(layers: Iterable[int]) -> list[Weight]:
    """The rows of an encoder with the layers of these numbers, in the original's order."""
    of_layers = [
        dataclasses.replace(
            weight,
            **{field: getattr(weight, field).replace("{layer}", str(layer)) for field in _NAMES},
        )
        for layer in layers
        for weight in LAYER
    ]
    return [*EMBEDDINGS, *of_layers, *POOLER]


def all_weights(layers: int) -> dict[str, Weight]:
    """The rows of an encoder with so many layers and of all heads, by original names."""
    rows = [
        *encoder_weights(range(layers)),
        *(weight for head in HEADS.values() for weight in head.weights),
    ]
    return {weight.original: weight for weight in rows}


def native_path(name: str) -> str:
    """Path in our checkpoints of a variable of the original, e.g. bert/pooler/dense/bias →
    encoder/pooler/dense/bias."""
    original, native = next(prefixes for prefixes in _PREFIXES if name.startswith(prefixes[0]))
    return native + name.removeprefix(original)


def original_name(path: str) -> str:
    """The inverse of `native_path`; the path itself for heads that this version does not know."""
    return next(
        (
            original + path.removeprefix(native)
            for original, native in _PREFIXES
            if path.startswith(native)
        ),
        path,
    )


# The weights of a model.


def original_names(model) -> dict:
    """Every weight of a model under the name it has in the original's checkpoints.

    Args:
      model: a `BertEncoder`, or a model with an `encoder` and `heads` by name. Its variables must
        exist.

    Returns:
      name → `keras.Variable`, in the original's order.
    """
    # Of a layer with LoRA the attribute gives a sum: the variable itself is meant.
    return {
        name: value
        if hasattr(value := getattr(layer, attribute), "assign")
        else layer.unmerged_kernel
        for name, (layer, attribute) in places(model).items()
    }


def raw_variables(model) -> dict:
    """`original_names` with the backend's own variables (`tf.Variable`), for optimizers and
    checkpoints."""
    return {name: variable.value for name, variable in original_names(model).items()}


def weight_values(model) -> dict[str, np.ndarray]:
    """The values of a model's weights, to be written.

    Args:
      model: as for `original_names`.

    Returns:
      original name → float32 array. Where a layer's `kernel` is its variable with LoRA's product
      added, as in Keras' own layers, it is that sum.
    """
    from keras import ops

    return {
        name: np.asarray(ops.convert_to_numpy(getattr(layer, attribute)), np.float32)
        for name, (layer, attribute) in places(model).items()
    }


def places(model) -> dict[str, tuple]:
    """Original name → (layer, name of the attribute that holds the weight)."""
    encoder = getattr(model, "encoder", model)
    rows = [
        (encoder, weight) for weight in encoder_weights(range(encoder.config.num_hidden_layers))
    ]
    if encoder is not model:
        if getattr(model, "bilstm", None) is not None:
            rows += [(model.bilstm, weight) for weight in BILSTM]
        for head, layer in model.heads.items():
            if head != FEATURE_TAGGER:
                rows += [(layer, weight) for weight in HEADS[head].weights]
                continue
            # No other format has it.
            attributes = {
                f"lstm_{number}/{direction}/{name}": f"lstms/{number}/{direction}_layer/cell/{name}"
                for number in range(layer.depth)
                for direction in ("forward", "backward")
                for name in ("kernel", "recurrent_kernel", "bias")
            }
            attributes |= {
                name: name
                for name in ("layer_weights", "factor")
                if layer.combine == "weighted_sum"
            }
            attributes |= {"output_weights": "logits/kernel", "output_bias": "logits/bias"}
            rows += [
                (layer, Weight(FEATURE_TAGGER_PREFIX + name, attribute, "", "", "", "", ""))
                for name, attribute in attributes.items()
            ]
    places = {}
    for layer, weight in rows:
        *parts, leaf = weight.attribute.split("/")
        for part in parts:
            layer = layer[int(part)] if part.isdigit() else getattr(layer, part)
        places[weight.original] = (layer, leaf)
    return places


_LAYER_PREFIX = f"{ENCODER_PREFIX}encoder/layer_"
# Tensors named in an error before it says how many more there are.
_NAMED_TENSORS = 6


def model_shapes(
    config: BertConfig, tensors: Mapping[str, tuple[int, ...]] = types.MappingProxyType({})
) -> dict[str, tuple[int, ...]]:
    """Original name → shape of every weight of the encoder, in the original's order, then of every
    head that a checkpoint has a tensor of, and of the BiLSTM if it has one.

    Args:
      tensors: name → shape of what is there; the number of classes is taken from it where it is not
        fixed.
    """
    rows = [
        *encoder_weights(range(config.num_hidden_layers)),
        *(BILSTM if any(weight.original in tensors for weight in BILSTM) else ()),
    ]
    shapes = {weight.original: weight.sizes(config) for weight in rows}
    for head in HEADS.values():
        there = [weight.original for weight in head.weights if tensors.get(weight.original)]
        if there:
            classes = (
                tensors[there[0]][0]
                if head.classes is None and not head.parts
                else head.classes or 0
            )
            shapes |= {weight.original: weight.sizes(config, classes) for weight in head.weights}
    return shapes


def heads_of(tensors: Iterable[str]) -> list[str]:
    """The heads that a checkpoint has, by the keys of `model.heads`."""
    return [head.name for head in HEADS.values() if head.signature_name in tensors]


def pooled_weights(tensors: Iterable[str]) -> list[str]:
    """The weights in a checkpoint of the pooler and of the heads that stand on it."""
    heads = [HEADS[name] for name in heads_of(tensors) if HEADS[name].reads == "pooled_output"]
    pooled = {
        weight.original
        for weight in (*POOLER, *(weight for head in heads for weight in head.weights))
    }
    return [name for name in tensors if name in pooled]


def missing_from_encoder(
    expected: Mapping[str, tuple[int, ...]], tensors: Mapping[str, object]
) -> list[str]:
    """Weights of the encoder that a checkpoint should have and has not, with their shapes.

    Hugging Face's models for masked LM, question answering and token classification have no pooler:
    their heads read the sequence, not the pooled output.
    """
    heads, pooler = heads_of(tensors), [weight.original for weight in POOLER]
    reads_sequence = bool(heads) and all(HEADS[head].reads == "sequence_output" for head in heads)
    excused = pooler if reads_sequence and not {*pooler} & {*tensors} else ()
    return [
        f"{name} {show_shape(shape)}"
        for name, shape in expected.items()
        if name.startswith(ENCODER_PREFIX) and name not in tensors and name not in excused
    ]


def check_fits(
    config: BertConfig,
    tensors: Mapping[str, tuple[int, ...]],
    description: str,
    encoder_only: bool = False,
) -> None:
    """Refuses a configuration that contradicts the shapes of tensors, by original names, of the
    checkpoint that is described so; heads and further layers are not looked at if `encoder_only`,
    as the model may be without them."""
    if config.num_hidden_layers > len(tensors):
        # Not worth listing what is missing of a million layers.
        raise UserError(
            f"{description}: the configuration contradicts the tensors: num_hidden_layers is "
            f"{config.num_hidden_layers}, but there are only {len(tensors)} tensors"
        )
    expected = model_shapes(config, {} if encoder_only else tensors)
    wrong = [
        f"{name} is {show_shape(shape)} and would be {show_shape(expected[name])}"
        for name, shape in tensors.items()
        if name in expected and tuple(shape) != expected[name]
    ]
    wrong += [
        f"{name} is there, but num_hidden_layers is {config.num_hidden_layers}"
        for name in tensors
        if not encoder_only and name.startswith(_LAYER_PREFIX) and name not in expected
    ]
    if wrong:
        raise UserError(
            f"{description}: the configuration contradicts the tensors: {some(wrong)}. "
            "Use the configuration that belongs to the checkpoint"
        )


def config_from_shapes(
    shapes: Mapping[str, tuple[int, ...]], letters: Mapping[str, str], source: str
) -> BertConfig | None:
    """The configuration that follows from shapes as they are in a file, and their letters, both by
    original names; activation and rates are the defaults. None where they do not determine all of
    it."""
    sizes = {
        letter: size
        for name, shape in shapes.items()
        for letter, size in zip(letters[name], shape, strict=True)
    }
    known: dict[str, Any] = {
        SIZES[letter]: size for letter, size in sizes.items() if letter in SIZES
    }
    head_size = known.pop("head_size", None)
    layers = {match[1] for name in shapes if (match := re.match(rf"{_LAYER_PREFIX}(\d+)/", name))}
    if head_size is None or len(known) < len(SIZES) - 1:
        return None
    return BertConfig.from_dict({"num_hidden_layers": len(layers), **known}, source)


def show_shape(shape) -> str:
    """A shape as messages show it, e.g. [2, 768]."""
    return f"[{', '.join(map(str, shape))}]"


def some(parts: list[str]) -> str:
    """The first few, and how many more there are."""
    more = len(parts) - _NAMED_TENSORS
    return "; ".join(parts[:_NAMED_TENSORS]) + (f"; and {more} more" if more > 0 else "")

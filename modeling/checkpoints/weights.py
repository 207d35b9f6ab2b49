"""Tables of the weights, of the heads and of the configuration's keys: names, shapes and limits in
every format.

The names of the original are the common language: readers translate to them and writers from them,
and variables of our models have the shapes of the original's. No other module knows the name of a
weight. A further head is one more row of `HEADS`, a further key of `BertConfig` one more row of
`CONFIG_KEYS`.

    EMBEDDINGS, LAYER, POOLER, HEADS   rows: names and shapes of a weight in every format
    CONFIG_KEYS                        rows: formats that can't hold a value of the configuration
    weight_slots(model)                original name → layer and attribute of a model
    check_fits(config, shapes, …)      refuses a configuration that contradicts the tensors

Input: names and shapes of tensors, models, configurations. Output: rows, names, shapes. Nothing
here opens a file.
"""

import dataclasses
import re
import types
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bert_common.errors import UserError
from modeling.config import BertConfig

# Formats that checkpoints can be written in.
ORIGINAL = "original"
HUGGINGFACE = "huggingface"
MODEL_GARDEN = "model_garden"
NATIVE = "native"
SENTENCE_TRANSFORMERS = "sentence_transformers"
FORMATS = (ORIGINAL, HUGGINGFACE, MODEL_GARDEN, NATIVE, SENTENCE_TRANSFORMERS)

# Letters of shapes, as in modeling/__init__.py, and the sizes of a configuration.
SIZES = {
    "V": "vocab_size",
    "H": "hidden_size",
    "I": "intermediate_size",
    "N": "num_attention_heads",
    "D": "head_size",
    "M": "max_position_embeddings",
    "T": "type_vocab_size",
}
_LAYER_NAMES = ("original", "attribute", "huggingface", "garden", "keras_hub")


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
      garden_shape: shape in the Model Garden, where attention heads are an axis of their own (ND
        for H) and the matrices of the heads are transposed.
      huggingface_transposed: whether a matrix is transposed in Hugging Face's files; all else has
        the original's shape.
    """

    original: str
    attribute: str
    huggingface: str
    garden: str
    keras_hub: str
    shape: str
    garden_shape: str
    huggingface_transposed: bool = False

    def sizes(self, config: BertConfig, classes: int = 0) -> tuple[int, ...]:
        """Returns the shape under a configuration, for a head of `classes` classes."""
        # U units of a BiLSTM and the G gates of its cells; a head reads F units, H or 2 U.
        sizes = {
            "U": config.bilstm_units,
            "G": 4 * config.bilstm_units,
            "F": config.head_input_size,
            "C": classes,
        }
        for letter, field in SIZES.items():
            sizes[letter] = getattr(config, field)
        return tuple(sizes[letter] for letter in self.shape)

    def is_transposed(self, layout: str) -> bool:
        """Whether a matrix is transposed in a layout, `HUGGINGFACE`, `MODEL_GARDEN` or
        `ORIGINAL`."""
        if layout == ORIGINAL:
            return False
        if layout == HUGGINGFACE:
            return self.huggingface_transposed
        return self.garden_shape != self.shape and "ND" not in self.garden_shape

    def original_shape(self, shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
        """Returns the original's shape of a tensor with a shape as in a layout."""
        if self.is_transposed(layout):
            return shape[::-1]
        # The two axes of the attention heads are one in the original.
        axis = self.garden_shape.find("ND")
        if layout == MODEL_GARDEN and axis >= 0:
            return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
        return shape

    def to_original(self, values: np.ndarray, layout: str) -> np.ndarray:
        """Returns a tensor of a layout in the original's shape."""
        if self.is_transposed(layout):
            return np.ascontiguousarray(values.T)
        return values.reshape(self.original_shape(values.shape, layout))

    def from_original(self, values: np.ndarray, layout: str, num_heads: int) -> np.ndarray:
        """Returns a tensor of the original's shape as a layout has it: the inverse of
        `to_original`."""
        axis = self.garden_shape.find("ND")
        if self.is_transposed(layout):
            values = values.T
        elif layout == MODEL_GARDEN and axis >= 0:
            shape = values.shape
            head_size = shape[axis] // num_heads
            values = values.reshape(*shape[:axis], num_heads, head_size, *shape[axis + 1 :])
        return np.ascontiguousarray(values)


def _layer_norm(
    original: str, attribute: str, huggingface: str, garden: str, keras_hub: str
) -> list[Weight]:
    """Returns the rows of a LayerNorm, from the names of its layer."""
    return [
        Weight(
            original + "/beta",
            attribute + "/beta",
            huggingface + ".bias",
            garden + "/beta",
            keras_hub + "/vars/1",
            shape="H",
            garden_shape="H",
        ),
        Weight(
            original + "/gamma",
            attribute + "/gamma",
            huggingface + ".weight",
            garden + "/gamma",
            keras_hub + "/vars/0",
            shape="H",
            garden_shape="H",
        ),
    ]


def _dense(
    original: str,
    attribute: str,
    huggingface: str,
    garden: str,
    keras_hub: str,
    shape: str,
    garden_shape: str = "",
    garden_bias: str = "",
) -> list[Weight]:
    """Returns the rows of kernel and bias of a dense layer, from the names of the layer and the
    shape of the kernel."""
    return [
        Weight(
            original + "/kernel",
            attribute + "/kernel",
            huggingface + ".weight",
            garden + "/kernel",
            keras_hub + "/vars/0",
            shape=shape,
            garden_shape=garden_shape or shape,
            huggingface_transposed=True,
        ),
        Weight(
            original + "/bias",
            attribute + "/bias",
            huggingface + ".bias",
            garden + "/bias",
            keras_hub + "/vars/1",
            shape=shape[-1],
            garden_shape=garden_bias or shape[-1],
        ),
    ]


# Columns of the tables: original, our attribute, Hugging Face, Model Garden, KerasHub, shapes. The
# order of the rows is the original's.
EMBEDDINGS = [
    Weight(
        "bert/embeddings/word_embeddings",
        "embeddings/word_embeddings",
        "bert.embeddings.word_embeddings.weight",
        "_embedding_layer/embeddings",
        "reversible_embedding/vars/0",
        "VH",
        "VH",
    ),
    Weight(
        "bert/embeddings/token_type_embeddings",
        "embeddings/token_type_embeddings",
        "bert.embeddings.token_type_embeddings.weight",
        "_type_embedding_layer/embeddings",
        "embedding/vars/0",
        "TH",
        "TH",
    ),
    Weight(
        "bert/embeddings/position_embeddings",
        "embeddings/position_embeddings",
        "bert.embeddings.position_embeddings.weight",
        "_position_embedding_layer/embeddings",
        "position_embedding/vars/0",
        "MH",
        "MH",
    ),
    *_layer_norm(
        "bert/embeddings/LayerNorm",
        "embeddings/layer_norm",
        "bert.embeddings.LayerNorm",
        "_embedding_norm_layer",
        "layer_normalization",
    ),
]
LAYER = [
    *_dense(
        "bert/encoder/layer_{layer}/attention/self/query",
        "layers/{layer}/attention/query",
        "bert.encoder.layer.{layer}.attention.self.query",
        "_transformer_layers/{layer}/_attention_layer/_query_dense",
        "transformer_encoder_{layer}/_self_attention_layer/query_dense",
        "HH",
        "HND",
        "ND",
    ),
    *_dense(
        "bert/encoder/layer_{layer}/attention/self/key",
        "layers/{layer}/attention/key",
        "bert.encoder.layer.{layer}.attention.self.key",
        "_transformer_layers/{layer}/_attention_layer/_key_dense",
        "transformer_encoder_{layer}/_self_attention_layer/key_dense",
        "HH",
        "HND",
        "ND",
    ),
    *_dense(
        "bert/encoder/layer_{layer}/attention/self/value",
        "layers/{layer}/attention/value",
        "bert.encoder.layer.{layer}.attention.self.value",
        "_transformer_layers/{layer}/_attention_layer/_value_dense",
        "transformer_encoder_{layer}/_self_attention_layer/value_dense",
        "HH",
        "HND",
        "ND",
    ),
    *_dense(
        "bert/encoder/layer_{layer}/attention/output/dense",
        "layers/{layer}/attention_output",
        "bert.encoder.layer.{layer}.attention.output.dense",
        "_transformer_layers/{layer}/_attention_layer/_output_dense",
        "transformer_encoder_{layer}/_self_attention_layer/output_dense",
        "HH",
        "NDH",
    ),
    *_layer_norm(
        "bert/encoder/layer_{layer}/attention/output/LayerNorm",
        "layers/{layer}/attention_layer_norm",
        "bert.encoder.layer.{layer}.attention.output.LayerNorm",
        "_transformer_layers/{layer}/_attention_layer_norm",
        "transformer_encoder_{layer}/_self_attention_layer_norm",
    ),
    *_dense(
        "bert/encoder/layer_{layer}/intermediate/dense",
        "layers/{layer}/intermediate",
        "bert.encoder.layer.{layer}.intermediate.dense",
        "_transformer_layers/{layer}/_intermediate_dense",
        "transformer_encoder_{layer}/_feedforward_intermediate_dense",
        "HI",
    ),
    *_dense(
        "bert/encoder/layer_{layer}/output/dense",
        "layers/{layer}/output_dense",
        "bert.encoder.layer.{layer}.output.dense",
        "_transformer_layers/{layer}/_output_dense",
        "transformer_encoder_{layer}/_feedforward_output_dense",
        "IH",
    ),
    *_layer_norm(
        "bert/encoder/layer_{layer}/output/LayerNorm",
        "layers/{layer}/output_layer_norm",
        "bert.encoder.layer.{layer}.output.LayerNorm",
        "_transformer_layers/{layer}/_output_layer_norm",
        "transformer_encoder_{layer}/_feedforward_layer_norm",
    ),
]
POOLER = _dense("bert/pooler/dense", "pooler", "bert.pooler.dense", "_pooler_layer", "dense", "HH")


def _native_weight(name: str, attribute: str, shape: str = "") -> Weight:
    """Returns the row of a weight that only our own checkpoints have."""
    return Weight(
        name, attribute, huggingface="", garden="", keras_hub="", shape=shape, garden_shape=shape
    )


def _bilstm_weights() -> list[Weight]:
    """Returns the rows of the BiLSTM between encoder and head."""
    rows = []
    for direction in ("forward", "backward"):
        for name, shape in (("kernel", "HG"), ("recurrent_kernel", "UG"), ("bias", "G")):
            attribute = f"lstm/{direction}_layer/cell/{name}"
            rows.append(_native_weight(f"bilstm/{direction}/{name}", attribute, shape))
    return rows


BILSTM = _bilstm_weights()

ENCODER_PREFIX = "bert/"
# The layers of a tagger on fixed activations are the user's choice, so it is no row of `HEADS`.
FEATURE_TAGGER = "feature_tagger"
FEATURE_TAGGER_PREFIX = f"{FEATURE_TAGGER}/"
# Prefix of the tensors that LoRA adds to our checkpoints, see tensorflow_files.py.
LORA_PREFIX = "lora/"
WORD_EMBEDDINGS = EMBEDDINGS[0]


@dataclasses.dataclass(frozen=True)
class Head:
    """A row of the table of heads.

    Attributes:
      name: key of `model.heads`: the name of the task, or of a head of pre-training.
      directory: below `heads/` in our checkpoints.
      title: name in messages.
      original: prefix of its weights in the original's checkpoints. The original has no tagging and
        no multiple choice: their names follow the others.
      huggingface_layer: its dense layer there, where its weights are one such layer; several heads
        may share a name.
      huggingface_classes: the classes there that have this head, first the one that has no other.
      garden: path of the object that holds it in the Model Garden's models.
      garden_dense: path of its dense layer in that object.
      keras_hub: its layer in KerasHub's model with that head; "" where KerasHub has no such model.
      reads: output of the encoder that it takes, "sequence_output" or "pooled_output".
      classes: C where it is the same for all such heads; None where it is free, or where there are
        no classes.
      parts: rows of the head's weights, where it is more than output_weights [C, H] and output_bias
        [C] (after a BiLSTM: [C, 2 U]).
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
    def has_free_classes(self) -> bool:
        """Whether the number of classes follows from the shapes alone."""
        return self.classes is None and not self.parts

    @property
    def weights(self) -> list[Weight]:
        """Its rows of the table of weights."""
        if self.parts:
            return list(self.parts)
        # Heads of fine-tuning may read a BiLSTM, heads of pre-training never do.
        inputs = "H" if self.is_of_pretraining else "F"
        return [
            Weight(
                self.original + "output_weights",
                "output_weights",
                self.huggingface_layer + ".weight",
                self.garden_dense + "kernel",
                self.keras_hub + "/vars/0",
                shape="C" + inputs,
                garden_shape=inputs + "C",
            ),
            Weight(
                self.original + "output_bias",
                "output_bias",
                self.huggingface_layer + ".bias",
                self.garden_dense + "bias",
                self.keras_hub + "/vars/1",
                shape="C",
                garden_shape="C",
            ),
        ]


# The signature of the masked-LM head is its bias: its projection is the table of embeddings, which
# every checkpoint has.
_HEAD_ROWS = (
    Head(
        name="masked_lm",
        directory="masked_lm",
        title="masked-LM head",
        original="cls/predictions/",
        huggingface_layer="",
        huggingface_classes=("BertForMaskedLM", "BertForPreTraining", "BertLMHeadModel"),
        garden="masked_lm",
        garden_dense="",
        keras_hub="masked_lm_head",
        reads="sequence_output",
        signature="output_bias",
        is_of_pretraining=True,
        parts=(
            *_dense(
                "cls/predictions/transform/dense",
                "dense",
                "cls.predictions.transform.dense",
                "dense",
                "masked_lm_head/_intermediate_dense",
                "HH",
            ),
            *_layer_norm(
                "cls/predictions/transform/LayerNorm",
                "layer_norm",
                "cls.predictions.transform.LayerNorm",
                "layer_norm",
                "masked_lm_head/_intermediate_layer_norm",
            ),
            Weight(
                "cls/predictions/output_bias",
                "output_bias",
                "cls.predictions.bias",
                "output_bias|bias",
                "masked_lm_head/vars/0",
                "V",
                "V",
            ),
        ),
    ),
    Head(
        name="next_sentence",
        directory="next_sentence",
        title="next-sentence head",
        original="cls/seq_relationship/",
        huggingface_layer="cls.seq_relationship",
        huggingface_classes=("BertForNextSentencePrediction", "BertForPreTraining"),
        garden="classification_heads/0",
        garden_dense="out_proj/",
        keras_hub="",
        reads="pooled_output",
        classes=2,
        is_of_pretraining=True,
    ),
    Head(
        name="classification",
        directory="classifier",
        title="classification head",
        original="",
        huggingface_layer="classifier",
        huggingface_classes=("BertForSequenceClassification",),
        garden="classifier",
        garden_dense="out_proj/",
        keras_hub="dense",
        reads="pooled_output",
    ),
    Head(
        # `networks.SpanLabeling` is a functional model, hence the number.
        name="question_answering",
        directory="span",
        title="question-answering head",
        original="cls/squad/",
        huggingface_layer="qa_outputs",
        huggingface_classes=("BertForQuestionAnswering",),
        garden="span_labeling",
        garden_dense="layer_with_weights-0/",
        keras_hub="",
        reads="sequence_output",
        classes=2,
    ),
    Head(
        name="token_classification",
        directory="tagging",
        title="token-classification head",
        original="cls/tagging/",
        huggingface_layer="classifier",
        huggingface_classes=("BertForTokenClassification",),
        garden="classifier",
        garden_dense="",
        keras_hub="",
        reads="sequence_output",
    ),
    Head(
        name="multiple_choice",
        directory="multiple_choice",
        title="multiple-choice head",
        original="cls/multiple_choice/",
        huggingface_layer="classifier",
        huggingface_classes=("BertForMultipleChoice",),
        garden="multiple_choice",
        garden_dense="",
        keras_hub="",
        reads="pooled_output",
        classes=1,
    ),
)
HEADS = {head.name: head for head in _HEAD_ROWS}


class ConfigKey(NamedTuple):
    """A row of the table of configuration keys.

    Attributes:
      portable: values that every format can hold; empty where that is true of all values.
      title: name in messages of a model with any other value.
      refused_by: formats that have no place for such a model.
      notes: format → how programs that read it treat such a model, for a user who writes it
        nevertheless; {} stands for the value.
    """

    portable: tuple[object, ...] = ()
    title: str = ""
    refused_by: tuple[str, ...] = ()
    notes: Mapping[str, str] = types.MappingProxyType({})


# Field of `BertConfig` → where it has a place. A field without a row fails the tests.
CONFIG_KEYS = {
    "vocab_size": ConfigKey(),
    "hidden_size": ConfigKey(),
    "num_hidden_layers": ConfigKey(),
    "num_attention_heads": ConfigKey(),
    "intermediate_size": ConfigKey(),
    "hidden_act": ConfigKey(
        portable=("gelu", "gelu_new", "relu", "tanh", "linear"),
        notes={
            ORIGINAL: "hidden_act is {}: the original's code has only the tanh form of GELU and "
            "refuses it",
            MODEL_GARDEN: "hidden_act is {}: set it in the Model Garden's encoder, whose default "
            "is the tanh form of GELU",
        },
    ),
    "hidden_dropout_prob": ConfigKey(),
    "attention_probs_dropout_prob": ConfigKey(),
    "max_position_embeddings": ConfigKey(),
    "type_vocab_size": ConfigKey(),
    "initializer_range": ConfigKey(),
    "layer_norm_epsilon": ConfigKey(
        portable=(1e-12,),
        notes={
            ORIGINAL: "layer_norm_eps is {}: the original's code ignores it and takes 1e-12",
            MODEL_GARDEN: "layer_norm_eps is {}: the Model Garden's encoders always take 1e-12",
        },
    ),
    "causal": ConfigKey(
        portable=(False,),
        title="a left-to-right model",
        refused_by=(ORIGINAL, MODEL_GARDEN, SENTENCE_TRANSFORMERS),
    ),
    "bilstm_units": ConfigKey(
        portable=(0,),
        title="a BiLSTM between encoder and head",
        refused_by=(
            ORIGINAL,
            HUGGINGFACE,
            MODEL_GARDEN,
            SENTENCE_TRANSFORMERS,
            "onnx",
            "litert",
            "hub",
        ),
    ),
    # Other keys of a file are carried along in every format.
    "extra": ConfigKey(),
}


def missing_place(config: BertConfig, output_format: str) -> str | None:
    """Returns the title of a part of the model that a format has no place for; None without such a
    part."""
    for field, key in CONFIG_KEYS.items():
        is_portable = not key.portable or getattr(config, field) in key.portable
        if not is_portable and output_format in key.refused_by:
            return key.title
    return None


def format_notes(config: BertConfig, output_format: str) -> list[str]:
    """Returns a line for each value that the programs of a format treat differently."""
    notes = []
    for field, key in CONFIG_KEYS.items():
        value = getattr(config, field)
        if key.portable and value not in key.portable and output_format in key.notes:
            notes.append(key.notes[output_format].format(value))
    return notes


def _name_prefixes() -> list[tuple[str, str]]:
    """Returns pairs of prefixes, in the original and in our checkpoints."""
    prefixes = [
        (ENCODER_PREFIX, "encoder/"),
        (LORA_PREFIX, LORA_PREFIX),
        ("bilstm/", "heads/bilstm/"),
        (FEATURE_TAGGER_PREFIX, f"heads/{FEATURE_TAGGER_PREFIX}"),
    ]
    for head in HEADS.values():
        prefixes.append((head.original, f"heads/{head.directory}/"))
    # An empty prefix matches every name, so it must be tried last.
    return sorted(prefixes, key=lambda pair: pair[0] == "")


_PREFIXES = _name_prefixes()


def encoder_weights(layers: Iterable[int]) -> list[Weight]:
    """Returns the rows of an encoder with the layers of these numbers, in the original's order."""
    rows = list(EMBEDDINGS)
    for layer in layers:
        for weight in LAYER:
            names = {}
            for column in _LAYER_NAMES:
                names[column] = getattr(weight, column).replace("{layer}", str(layer))
            rows.append(dataclasses.replace(weight, **names))
    return rows + POOLER


def names_of(rows: Iterable[Weight]) -> list[str]:
    """Returns the original names of rows."""
    return [weight.original for weight in rows]


def all_weights(layers: int) -> dict[str, Weight]:
    """Returns original name → row of an encoder with so many layers and of all heads."""
    rows = encoder_weights(range(layers))
    for head in HEADS.values():
        rows += head.weights
    return {weight.original: weight for weight in rows}


def native_path(name: str) -> str:
    """Returns the path in our checkpoints of a variable of the original, e.g.
    bert/pooler/dense/bias → encoder/pooler/dense/bias."""
    # The last row takes every name: the classifier's have no prefix.
    for original, native in _PREFIXES:
        if name.startswith(original):
            return native + name.removeprefix(original)
    raise AssertionError(f"{name} has no path in our checkpoints")


def original_name(path: str) -> str:
    """Returns the inverse of `native_path`; the path itself for heads that this version does not
    know."""
    for original, native in _PREFIXES:
        if path.startswith(native):
            return original + path.removeprefix(native)
    return path


class WeightSlot(NamedTuple):
    """Layer of a model, and the attribute of it that holds a weight."""

    layer: Any
    attribute: str


def weight_slots(model) -> dict[str, WeightSlot]:
    """Returns original name → slot of every weight of a model, in the original's order.

    Args:
      model: a `BertEncoder`, or a model with an `encoder` and `heads` by name. Its variables must
        exist.
    """
    # An encoder alone is its own model.
    encoder = getattr(model, "encoder", model)
    slots: dict[str, WeightSlot] = {}
    _add_slots(slots, encoder, encoder_weights(range(encoder.config.num_hidden_layers)))
    if encoder is model:
        return slots
    if getattr(model, "bilstm", None) is not None:
        _add_slots(slots, model.bilstm, BILSTM)
    for name, layer in model.heads.items():
        if name == FEATURE_TAGGER:
            _add_slots(slots, layer, _tagger_weights(layer))
        else:
            _add_slots(slots, layer, HEADS[name].weights)
    return slots


def _add_slots(slots: dict[str, WeightSlot], root, rows: Iterable[Weight]) -> None:
    """Adds the slots of these rows, whose attribute paths begin at `root`."""
    for weight in rows:
        # A path leads from layer to layer; its last part is the attribute.
        layer = root
        *parts, attribute = weight.attribute.split("/")
        for part in parts:
            # A list of layers, or a layer with parts.
            layer = layer[int(part)] if part.isdigit() else getattr(layer, part)
        slots[weight.original] = WeightSlot(layer, attribute)


def _tagger_weights(layer) -> list[Weight]:
    """Returns the rows of a tagger on fixed activations, a `FeatureTagger`."""
    rows = []
    # Names and paths are as in the first version, whose checkpoints have them.
    for number in range(layer.depth):
        for direction in ("forward", "backward"):
            for name in ("kernel", "recurrent_kernel", "bias"):
                original = f"{FEATURE_TAGGER_PREFIX}lstm_{number}/{direction}/{name}"
                attribute = f"lstms/{number}/{direction}_layer/cell/{name}"
                rows.append(_native_weight(original, attribute))
    if layer.combine == "weighted_sum":
        for name in ("layer_weights", "factor"):
            rows.append(_native_weight(FEATURE_TAGGER_PREFIX + name, name))
    rows.append(_native_weight(FEATURE_TAGGER_PREFIX + "output_weights", "logits/kernel"))
    rows.append(_native_weight(FEATURE_TAGGER_PREFIX + "output_bias", "logits/bias"))
    return rows


def original_names(model) -> dict:
    """Returns original name → `keras.Variable` of every weight of a model, in the original's order.

    Args:
      model: as for `weight_slots`.
    """
    variables = {}
    for name, slot in weight_slots(model).items():
        value = getattr(slot.layer, slot.attribute)
        # A kernel with LoRA is a sum, computed from the variable that training leaves alone.
        variables[name] = value if hasattr(value, "assign") else slot.layer.unmerged_kernel
    return variables


def raw_variables(model) -> dict:
    """Returns `original_names` with the backend's own variables (`tf.Variable`), for optimizers
    and checkpoints."""
    return {name: variable.value for name, variable in original_names(model).items()}


def weight_values(model) -> dict[str, np.ndarray]:
    """Returns original name → float32 array of every weight of a model, to be written.

    A kernel with LoRA is merged: its variable plus the product of the two matrices, as in Keras'
    own layers.

    Args:
      model: as for `weight_slots`.
    """
    # Imported here: names and shapes need no Keras.
    from keras import ops

    values = {}
    for name, slot in weight_slots(model).items():
        array = ops.convert_to_numpy(getattr(slot.layer, slot.attribute))
        values[name] = np.asarray(array, np.float32)
    return values


_LAYER_PREFIX = f"{ENCODER_PREFIX}encoder/layer_"
# Tensors named in an error before it says how many more there are.
_NAMED_TENSORS = 6


def model_shapes(
    config: BertConfig, tensors: Mapping[str, tuple[int, ...]] = types.MappingProxyType({})
) -> dict[str, tuple[int, ...]]:
    """Returns original name → shape of every weight of the encoder, in the original's order, then
    of the BiLSTM and of every head that a checkpoint has a tensor of.

    Args:
      tensors: name → shape in the checkpoint; the number of classes is taken from it where it is
        free.
    """
    shapes = {}
    for weight in encoder_weights(range(config.num_hidden_layers)):
        shapes[weight.original] = weight.sizes(config)
    if not set(tensors).isdisjoint(names_of(BILSTM)):
        for weight in BILSTM:
            shapes[weight.original] = weight.sizes(config)
    for head in HEADS.values():
        # A tensor without axes, in a damaged file, has no number of classes.
        existing = [name for name in names_of(head.weights) if tensors.get(name)]
        if existing:
            if head.has_free_classes:
                classes = tensors[existing[0]][0]
            else:
                classes = 0 if head.classes is None else head.classes
            for weight in head.weights:
                shapes[weight.original] = weight.sizes(config, classes)
    return shapes


def heads_of(tensors: Iterable[str]) -> list[str]:
    """Returns the heads in a checkpoint, by the keys of `model.heads`."""
    return [head.name for head in HEADS.values() if head.signature_name in tensors]


def pooled_weights(tensors: Iterable[str]) -> list[str]:
    """Returns the weights in a checkpoint of the pooler and of the heads that read it."""
    rows = list(POOLER)
    # The next-sentence head counts, too: it reads the pooler.
    for name in heads_of(tensors):
        if HEADS[name].reads == "pooled_output":
            rows += HEADS[name].weights
    pooled = names_of(rows)
    return [name for name in tensors if name in pooled]


def unread_pooler(model) -> list[str]:
    """Returns the weights of the pooler if no head of the model reads it; empty for an encoder
    alone, whose outputs include the pooled one."""
    if not hasattr(model, "heads"):
        return []
    for name in model.heads:
        if name in HEADS and HEADS[name].reads == "pooled_output":
            return []
    return names_of(POOLER)


def missing_from_encoder(
    expected: Mapping[str, tuple[int, ...]], tensors: Mapping[str, object]
) -> list[str]:
    """Returns the weights of the encoder that a checkpoint lacks, with their shapes.

    A checkpoint without any head that reads the pooler may lack it: Hugging Face's models for
    masked LM, question answering and token classification, and encoders alone that were saved
    without one. Who reads the pooler finds it among the newly initialized weights.
    """
    pooler = names_of(POOLER)
    # Half a pooler, or a head without the pooler it was trained on, is a damaged file.
    needs_pooler = bool(pooled_weights(tensors))
    missing = []
    for name, shape in expected.items():
        is_needed = name.startswith(ENCODER_PREFIX) and (needs_pooler or name not in pooler)
        if is_needed and name not in tensors:
            missing.append(f"{name} {show_shape(shape)}")
    return missing


def check_fits(
    config: BertConfig,
    tensors: Mapping[str, tuple[int, ...]],
    description: str,
    encoder_only: bool = False,
) -> None:
    """Raises `UserError` for a configuration that contradicts the shapes of tensors.

    Args:
      tensors: original name → shape.
      description: of the checkpoint, for the message.
      encoder_only: ignore heads, as the model may be without them.
    """
    contradiction = f"{description}: the configuration contradicts the tensors:"
    if config.num_hidden_layers > len(tensors):
        # A wrong number may be a million, whose layers would take minutes to list.
        raise UserError(
            f"{contradiction} num_hidden_layers is {config.num_hidden_layers}, but there are only "
            f"{len(tensors)} tensors"
        )
    expected = model_shapes(config, {} if encoder_only else tensors)
    wrong = []
    # Tensors that are in no BERT, and further layers, are ignored: they are reported as unused.
    for name, shape in tensors.items():
        if name in expected and tuple(shape) != expected[name]:
            wrong.append(f"{name} is {show_shape(shape)} and would be {show_shape(expected[name])}")
    if wrong:
        raise UserError(
            f"{contradiction} {first_few(wrong)}. Use the configuration that belongs to the "
            "checkpoint"
        )


def config_from_shapes(
    shapes: Mapping[str, tuple[int, ...]], rows: Mapping[str, Weight], source: str
) -> BertConfig | None:
    """Returns the configuration that follows from shapes in the Model Garden's layout, with
    default activation and rates; None where they do not determine all sizes.

    Args:
      shapes, rows: original name → shape in the file, and row of the table.
      source: named in errors.

    Raises:
      UserError: the tensors have two values of a size, as of factorized embeddings.
    """
    values: dict[str, Any] = {}
    layers = set()
    for name, shape in shapes.items():
        for letter, size in zip(rows[name].garden_shape, shape, strict=True):
            if letter not in SIZES:
                continue
            other = values.setdefault(SIZES[letter], size)
            if other != size:
                raise UserError(
                    f"{source}: {SIZES[letter]} is {other} in other tensors and {size} in {name}: "
                    "models with two are not read (factorized embeddings, a head of its own size)"
                )
        if match := re.match(rf"{_LAYER_PREFIX}(\d+)/", name):
            layers.add(match[1])
    # A configuration would be a guess if, say, the position table is missing.
    if len(values) < len(SIZES):
        return None
    del values["head_size"]
    return BertConfig.from_dict({"num_hidden_layers": len(layers), **values}, source)


def show_shape(shape) -> str:
    """Returns a shape as messages show it, e.g. [2, 768]."""
    return f"[{', '.join(str(size) for size in shape)}]"


def first_few(parts: list[str]) -> str:
    """Returns the first few parts, and how many more there are."""
    text = "; ".join(parts[:_NAMED_TENSORS])
    if len(parts) > _NAMED_TENSORS:
        text += f"; and {len(parts) - _NAMED_TENSORS} more"
    return text

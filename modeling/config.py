"""The shape of a model: `bert_config.json` as the original reads and writes it, and the published
sizes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from bert_common.errors import UserError

# What may be called `hidden_act`; `modeling/layers.py` computes them.
ACTIVATION_NAMES = ("gelu", "gelu_new", "gelu_erf", "relu", "tanh", "linear")

# Tensors have no more rows.
_LARGEST_SIZE = 2**31 - 1
_MOST_LAYERS = 10_000
# What is kept is scaled by 1 / (1 - rate): beyond, training is noise, and at last a division by
# zero.
LARGEST_DROPOUT = 0.99
# How the learning rate falls after the warm-up; `modeling/optimizer.py` computes it.
DECAYS = ("linear", "cosine", "constant", "wsd")
# Dropout rate of a head's input, whatever `hidden_dropout_prob` is: a constant of the original's
# scripts.
HEAD_DROPOUT = 0.1
# How the vectors of a text's tokens become one, see `modeling/sentence_embedding.py`.
POOLINGS = ("mean", "cls", "max")

# Keys that the original does not have: written only where they differ from what it does.
_OURS = ("layer_norm_epsilon", "causal", "bilstm_units")
# Attribute → its key in JSON, where they differ.
_JSON_KEYS = {"layer_norm_epsilon": "layer_norm_eps", "causal": "is_decoder"}
# Type of a field → what messages call one.
_TYPES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
}
# Where Hugging Face keeps the names of a head's classes, and what kind of problem it solves.
_LABEL_KEYS = ("id2label", "label2id", "problem_type")


@dataclasses.dataclass(frozen=True)
class BertConfig:
    """Sizes and rates of a model, with the original's names and defaults.

    Attributes:
      vocab_size: V, entries of the vocabulary.
      hidden_size: H, a multiple of `num_attention_heads`.
      num_hidden_layers: L.
      num_attention_heads: N.
      intermediate_size: I, units of the feed-forward layers.
      hidden_act: one of `ACTIVATION_NAMES`. "gelu" is the tanh form, as the original computes it
        ("gelu_new" is another name of it), "gelu_erf" the exact one.
      hidden_dropout_prob: dropout after the embeddings and after each dense layer that ends in a
        residual sum.
      attention_probs_dropout_prob: dropout of the attention probabilities.
      max_position_embeddings: rows of the position table, i.e. the longest sequence.
      type_vocab_size: rows of the segment table.
      initializer_range: standard deviation of the truncated normal that initialises kernels and
        embeddings.
      layer_norm_epsilon: added to the variance in every LayerNorm; "layer_norm_eps" in JSON, where
        the original has no such key, so it is written only if it differs from the original's 1e-12.
      causal: position i attends to 0...i only: a left-to-right model (section 5.1 of the paper).
        Its pooler reads the last token, as the first one sees nothing but itself. "is_decoder" in
        JSON, as Hugging Face calls it; written only if true.
      bilstm_units: U, of each direction of a BiLSTM between encoder and head, of fine-tuned models;
        0 for none.
      extra: what else the file held, kept and written back; "problem_type" chooses the loss of a
        classifier.

    Raises:
      UserError: a value of the wrong type, a size below 1 or of more than 31 bits, a rate outside
        [0, 0.99], an unknown activation, or heads that do not divide the hidden size.

    Examples:
        config = BertConfig(vocab_size=30522, hidden_size=128, num_hidden_layers=2,
        num_attention_heads=2) config.head_size                                                  #
        64 BertConfig.from_dict({"vocab_size": 100, "hidden_act": "gelu_erf"}).hidden_act
        config.to_dict()["max_position_embeddings"]                       # 512
    """

    vocab_size: int
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 16
    initializer_range: float = 0.02
    layer_norm_epsilon: float = 1e-12
    causal: bool = False
    bilstm_units: int = 0
    extra: Mapping[str, object] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        for field in dataclasses.fields(self):
            key, value, kind = (
                _JSON_KEYS.get(field.name, field.name),
                getattr(self, field.name),
                field.type,
            )
            if field.name == "extra":
                continue
            # bool is an int in Python, but `true` is never meant as a size.
            if not isinstance(value, (int, float) if kind is float else kind) or isinstance(
                value, bool
            ) != (kind is bool):
                raise UserError(f"{key} is {value!r}, {_TYPES[kind]} is expected")
            smallest = 0 if field.name == "bilstm_units" else 1
            if kind is int and value < smallest:
                raise UserError(f"{key} is {value}, it must be at least {smallest}")
            largest = _MOST_LAYERS if field.name == "num_hidden_layers" else _LARGEST_SIZE
            if kind is int and value > largest:
                raise UserError(f"{key} is {value}, it must be at most {largest}")
            if field.name.endswith("_prob") and not 0 <= value <= LARGEST_DROPOUT:
                raise UserError(
                    f"{key} is {value}, it must be at least 0 and at most {LARGEST_DROPOUT}"
                )
            if field.name in ("initializer_range", "layer_norm_epsilon") and not 0 < value < 1:
                raise UserError(f"{key} is {value}, it must lie between 0 and 1")
        if self.hidden_size % self.num_attention_heads:
            raise UserError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads "
                f"{self.num_attention_heads}: every head takes an equal share of the hidden units"
            )
        if self.hidden_act not in ACTIVATION_NAMES:
            raise UserError(
                f"hidden_act {self.hidden_act!r} is unknown: use one of {', '.join(ACTIVATION_NAMES)}"
            )

    @property
    def head_size(self) -> int:
        """D, units of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def head_input_size(self) -> int:
        """Units that the head of a fine-tuned model reads."""
        return 2 * self.bilstm_units or self.hidden_size

    def check_sequence_length(self, length: int, what: str = "sequence length") -> None:
        """Raises `UserError` for sequences that are longer than the position table; `what` names
        their length, e.g. a flag."""
        if length > self.max_position_embeddings:
            raise UserError(
                f"{what} {length} is longer than the model's position table: "
                f"max_position_embeddings is {self.max_position_embeddings}"
            )

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], source: str = "the configuration"
    ) -> "BertConfig":
        """A configuration from the keys of `bert_config.json`.

        Args:
          values: keys as in JSON; the unknown ones go to `extra`.
          source: named in errors, usually the file.

        Raises:
          UserError: `vocab_size` is missing, or a value is wrong (see the class).
        """
        if not isinstance(values, Mapping):
            raise UserError(
                f'{source}: a JSON object is expected, e.g. {{"vocab_size": 30522, ...}}'
            )
        fields = {
            _JSON_KEYS.get(field.name, field.name): field.name
            for field in dataclasses.fields(cls)
            if field.name != "extra"
        }
        if "vocab_size" not in values:
            raise UserError(f'{source}: "vocab_size" is missing (is it a bert_config.json?)')
        known = {fields[key]: value for key, value in values.items() if key in fields}
        extra = {key: value for key, value in values.items() if key not in fields}
        try:
            return cls(**known, extra=extra)
        except UserError as error:
            raise UserError(f"{source}: {error}") from None

    @classmethod
    def from_file(cls, path: str) -> "BertConfig":
        """Reads a `bert_config.json`; raises `UserError` that names it where it is missing, not
        JSON or wrong."""
        from bert_common import json_files

        return cls.from_dict(json_files.read(path), path)

    def to_dict(self) -> dict[str, object]:
        """The keys and values of `bert_config.json`, with those of `extra` at the end."""
        values = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "extra" and (field.name not in _OURS or value != field.default):
                values[_JSON_KEYS.get(field.name, field.name)] = value
        return {**values, **self.extra}

    def to_file(self, path: str) -> None:
        """Writes a `bert_config.json`, whole or not at all."""
        from bert_common import json_files

        json_files.write(path, self.to_dict())


# Entries of the vocabularies of English models.
_UNCASED, _CASED = 30522, 28996


def _size(layers: int, hidden_size: int, vocab_size: int = _UNCASED) -> BertConfig:
    """All published sizes have heads of 64 units and feed-forward layers of four times the hidden
    size."""
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=hidden_size // 64,
        intermediate_size=4 * hidden_size,
        type_vocab_size=2,
    )


PRESETS: dict[str, BertConfig] = {
    f"bert-L{layers}-H{hidden_size}": _size(layers, hidden_size)
    for layers in range(2, 14, 2)
    for hidden_size in (128, 256, 512, 768)
} | {
    "bert-base-uncased": _size(12, 768),
    "bert-base-cased": _size(12, 768, _CASED),
    "bert-large-uncased": _size(24, 1024),
    "bert-large-cased": _size(24, 1024, _CASED),
    "tiny": _size(2, 128),
    "mini": _size(4, 256),
    "small": _size(4, 512),
    "medium": _size(8, 512),
    "base": _size(12, 768),
    "large": _size(24, 1024),
}


def with_label_names(
    config: BertConfig, names: Sequence[str], problem_type: object = None
) -> BertConfig:
    """The configuration with these names of a head's classes in place of any others.

    Args:
      problem_type: what Hugging Face calls the kind of a problem that is not one class of several;
        None for that.
    """
    extra = {key: value for key, value in config.extra.items() if key not in _LABEL_KEYS}
    if problem_type is not None:
        extra["problem_type"] = problem_type
    extra["id2label"] = {str(number): name for number, name in enumerate(names)}
    extra["label2id"] = {name: number for number, name in enumerate(names)}
    return dataclasses.replace(config, extra=extra)


def label_names(config: BertConfig) -> list[str]:
    """The names by number; empty where there are none, or none that are numbered."""
    names = config.extra.get("id2label")
    if not isinstance(names, dict) or not all(str(key).isdecimal() for key in names):
        return []
    return [str(names[key]) for key in sorted(names, key=int)]

"""Sizes of a model: `bert_config.json` as the original reads and writes it, and published sizes."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from bert_common.errors import UserError

# Values of `hidden_act`; `modeling/layers.py` computes them.
ACTIVATION_NAMES = ("gelu", "gelu_new", "gelu_erf", "relu", "tanh", "linear")
# Kept units are scaled by 1 / (1 - rate): at higher rates training is noise, and at 1 a division by
# zero.
LARGEST_DROPOUT = 0.99
# Decays of the learning rate after the warm-up; `modeling/optimizer.py` computes them.
DECAYS = ("linear", "cosine", "constant", "wsd")
# Dropout rate of a head's input, independent of `hidden_dropout_prob`: a constant of the original's
# scripts.
HEAD_DROPOUT = 0.1
# Ways to make one vector of a text's tokens, see `modeling/sentence_embedding.py`.
POOLINGS = ("mean", "cls", "max")
# Names that LoRA chooses the dense layers of an `EncoderLayer` by → their attributes.
LORA_LAYERS = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "attention_output": "attention_output",
    "intermediate": "intermediate",
    "output_dense": "output_dense",
}

# Smallest and largest values of the fields; other sizes start at 1. Tensors have no more than 2^31
# rows.
_LARGEST_SIZE = 2**31 - 1
_LIMITS = {
    "num_hidden_layers": (1, 10_000),
    "bilstm_units": (0, _LARGEST_SIZE),
    "hidden_dropout_prob": (0, LARGEST_DROPOUT),
    "attention_probs_dropout_prob": (0, LARGEST_DROPOUT),
    "classifier_dropout": (0, LARGEST_DROPOUT),
}
# Keys that the original does not have: written only if they differ from its behavior.
_ADDED_FIELDS = ("layer_norm_epsilon", "causal", "bilstm_units")
# Attribute → its key in JSON, where they differ.
_JSON_KEYS = {"layer_norm_epsilon": "layer_norm_eps", "causal": "is_decoder"}
# Type of a field → its description in messages.
_TYPES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
}
# Hugging Face's keys for the names of a head's classes and the kind of its problem, and two keys of
# sentence-transformers for the activation of a re-ranker's score.
_LABEL_KEYS = (
    "id2label",
    "label2id",
    "problem_type",
    "sentence_transformers",
    "sbert_ce_default_activation_function",
)


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
      initializer_range: standard deviation of the truncated normal that initializes kernels and
        embeddings.
      layer_norm_epsilon: added to the variance in every LayerNorm; "layer_norm_eps" in JSON, where
        the original has no such key, so it is written only if it differs from the original's 1e-12.
      causal: position i attends to 0...i only: a left-to-right model (section 5.1 of the paper).
        Its pooler reads the last token, as the first one sees nothing but itself. "is_decoder" in
        JSON, as Hugging Face calls it; written only if true.
      bilstm_units: U, of each direction of a BiLSTM between encoder and head, of fine-tuned models;
        0 for none.
      extra: other keys of the file, kept and written back; "problem_type" chooses the loss of a
        classifier.

    Raises:
      UserError: a value of the wrong type, a size below 1 or of more than 31 bits, more than 10,000
        layers, a dropout rate outside [0, 0.99], an initializer range or an epsilon outside (0, 1),
        an unknown activation, or heads that do not divide the hidden size.

    Examples:
        config = BertConfig(
            vocab_size=30522, hidden_size=128, num_hidden_layers=2, num_attention_heads=2)
        config.head_size                                                  # 64
        BertConfig.from_dict({"vocab_size": 100, "hidden_act": "gelu_erf"}).hidden_act
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
            if field.name != "extra":
                _check_value(field.name, field.type, getattr(self, field.name))
        if self.hidden_size % self.num_attention_heads:
            raise UserError(
                f"hidden_size {self.hidden_size} is not a multiple of num_attention_heads "
                f"{self.num_attention_heads}: every head takes an equal share of the hidden units"
            )
        if self.hidden_act not in ACTIVATION_NAMES:
            names = ", ".join(ACTIVATION_NAMES)
            raise UserError(f"hidden_act {self.hidden_act!r} is unknown: use one of {names}")

    @property
    def head_size(self) -> int:
        """D, units of one attention head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def head_input_size(self) -> int:
        """Units of the input of a fine-tuned model's head."""
        return 2 * self.bilstm_units if self.bilstm_units else self.hidden_size

    @property
    def classifier_dropout(self) -> float:
        """Dropout rate of a head's input: of Hugging Face's key, if the file has it."""
        rate: float = self._stated_classifier_dropout()
        _check_value("classifier_dropout", float, rate)
        return rate

    def with_classifier_dropout(self, rate: float | None) -> "BertConfig":
        """Returns the configuration with another rate of a head's input; None keeps it."""
        # A rate in the file that no head could have does not matter here.
        if rate is None or rate == self._stated_classifier_dropout():
            return self
        return dataclasses.replace(self, extra={**self.extra, "classifier_dropout": float(rate)})

    def _stated_classifier_dropout(self) -> Any:
        """Returns the rate of a head's input, unchecked."""
        rate = self.extra.get("classifier_dropout")
        return HEAD_DROPOUT if rate is None else rate

    def without_classifier_dropout(self) -> "BertConfig":
        """Returns what models have in common that differ in the rate of a head's input only."""
        extra = {key: value for key, value in self.extra.items() if key != "classifier_dropout"}
        return dataclasses.replace(self, extra=extra)

    def check_sequence_length(self, length: int, length_name: str = "sequence length") -> None:
        """Raises `UserError` for sequences that are longer than the position table.

        Args:
          length: tokens of the longest sequence.
          length_name: the name of the length in the message, e.g. a flag.
        """
        if length > self.max_position_embeddings:
            raise UserError(
                f"{length_name} {length} is longer than the model's position table: "
                f"max_position_embeddings is {self.max_position_embeddings}"
            )

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], source: str = "the configuration"
    ) -> "BertConfig":
        """Returns a configuration with the keys of `bert_config.json`.

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
        if "vocab_size" not in values:
            raise UserError(f'{source}: "vocab_size" is missing (is it a bert_config.json?)')
        extra = dict(values)
        arguments = {}
        for field in dataclasses.fields(cls):
            key = _JSON_KEYS.get(field.name, field.name)
            if field.name != "extra" and key in extra:
                arguments[field.name] = extra.pop(key)
        try:
            return cls(**arguments, extra=extra)
        except UserError as error:
            raise UserError(f"{source}: {error}") from None

    @classmethod
    def from_file(cls, path: str) -> "BertConfig":
        """Reads a `bert_config.json`; errors name the file.

        Raises:
          UserError: it is missing, not JSON, or has a wrong value.
        """
        from bert_common import json_files

        return cls.from_dict(json_files.read(path), path)

    def to_dict(self) -> dict[str, object]:
        """Returns the keys and values of `bert_config.json`, with `extra` at the end."""
        values = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            is_default = field.name in _ADDED_FIELDS and value == field.default
            if field.name != "extra" and not is_default:
                values[_JSON_KEYS.get(field.name, field.name)] = value
        return {**values, **self.extra}

    def to_file(self, path: str) -> None:
        """Writes a `bert_config.json` atomically."""
        from bert_common import json_files

        json_files.write(path, self.to_dict())


def _check_value(name: str, kind: Any, value: Any) -> None:
    """Raises `UserError` for a field of the wrong type or an out-of-range value."""
    key = _JSON_KEYS.get(name, name)
    kinds = (int, float) if kind is float else kind
    # bool is an int in Python, but `true` is never meant as a size.
    is_bool = isinstance(value, bool)
    if not isinstance(value, kinds) or is_bool != (kind is bool):
        raise UserError(f"{key} is {value!r}, {_TYPES[kind]} is expected")
    if kind is int or name in _LIMITS:
        smallest, largest = _LIMITS.get(name, (1, _LARGEST_SIZE))
        # NaN is not within the limits, either.
        if not smallest <= value <= largest:
            raise UserError(
                f"{key} is {value}, it must be at least {smallest} and at most {largest}"
            )
    elif kind is float and not 0 < value < 1:
        raise UserError(f"{key} is {value}, it must lie between 0 and 1")


# Entries of the vocabularies of English models.
_UNCASED = 30522
_CASED = 28996


def _size(layers: int, hidden_size: int, vocab_size: int = _UNCASED) -> BertConfig:
    """Returns a published size: heads of 64 units, feed-forward layers of four times the hidden
    size."""
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=hidden_size // 64,
        intermediate_size=4 * hidden_size,
        type_vocab_size=2,
    )


PRESETS: dict[str, BertConfig] = {}
# The miniatures of Turc et al. 2019 (arXiv 1908.08962).
for _layers in range(2, 14, 2):
    for _hidden_size in (128, 256, 512, 768):
        PRESETS[f"bert-L{_layers}-H{_hidden_size}"] = _size(_layers, _hidden_size)
PRESETS.update(
    {
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
)


def with_label_names(
    config: BertConfig, names: Sequence[str], problem_type: object = None
) -> BertConfig:
    """Returns the configuration with these names of a head's classes in place of any others.

    Args:
      config: of the model.
      names: in the order of the classes.
      problem_type: Hugging Face's name of a problem that is not single-label classification; None
        for that.
    """
    extra = {}
    for key, value in config.extra.items():
        if key not in _LABEL_KEYS:
            extra[key] = value
    if problem_type is not None:
        extra["problem_type"] = problem_type
    extra["id2label"] = {str(number): name for number, name in enumerate(names)}
    extra["label2id"] = {name: number for number, name in enumerate(names)}
    return dataclasses.replace(config, extra=extra)


def label_names(config: BertConfig) -> list[str]:
    """Returns the names of the classes by number; empty if there are none, or no numbers.

    Raises `UserError` if two classes have one name, or one is no name.
    """
    names = config.extra.get("id2label")
    if not isinstance(names, dict) or not all(str(key).isdecimal() for key in names):
        return []
    if not all(isinstance(name, str | int | float) for name in names.values()):
        raise UserError(f"id2label has names that are no texts: {list(names.values())[:5]}")
    found = [str(names[key]) for key in sorted(names, key=int)]
    if len(set(found)) < len(found):
        raise UserError(f"id2label: two classes have one name: {', '.join(found[:20])}")
    return found

"""Hugging Face's `config.json` and our `BertConfig`: the same sizes, other names of the activations, other defaults."""

from collections.abc import Iterable, Mapping

from bert_common import json_files
from bert_common.errors import UserError
from modeling.checkpoints.weight_shapes import heads_of
from modeling.checkpoints.weights import HEADS
from modeling.config import BertConfig

# Theirs → ours: there "gelu" is the exact form, in the original and here it is the tanh form.
_ACTIVATIONS = {
    "gelu": "gelu_erf", "gelu_python": "gelu_erf",
    "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu", "gelu_accurate": "gelu",
    "relu": "relu", "tanh": "tanh", "linear": "linear",
}
_ACTIVATIONS_BACK = {"gelu_erf": "gelu", "gelu": "gelu_new", "gelu_new": "gelu_new"}

# What BertConfig of transformers assumes where a key is missing.
_DEFAULTS = {**BertConfig(vocab_size=30522, type_vocab_size=2).to_dict(), "layer_norm_eps": 1e-12}
# Kept in `BertConfig.extra`: what a task needs to know. The rest is about files, or about other models.
_KEPT = ("id2label", "label2id", "classifier_dropout", "problem_type")
# Without cross-attention, a decoder is a model that attends to the left only.
_CAUSAL = "is_decoder"
# Class there → its heads, by the keys of `model.heads`.
ARCHITECTURES = {name: tuple(head.name for head in HEADS.values() if name in head.huggingface_classes)
                 for row in HEADS.values() for name in row.huggingface_classes} | {"BertModel": ()}
# The class that predicts the next token.
_CAUSAL_LM = "BertLMHeadModel"
# The class whose heads are not those of a task.
_PRETRAINING = "BertForPreTraining"
# Key → the only value that leaves BERT what it is.
_REQUIRED = {"model_type": "bert", "position_embedding_type": "absolute", "add_cross_attention": False}


def read_config(path: str) -> tuple[BertConfig, str | None]:
  """Reads a `config.json`.

  Returns:
    the configuration, with label names in `extra`, and the class of the model, or None where it is not told.

  Raises:
    UserError: it is not JSON, a value is wrong, or it describes another model than BERT.
  """
  values = json_files.read(path)
  if not isinstance(values, Mapping):
    raise UserError(f"{path}: a JSON object is expected")
  for key, required in _REQUIRED.items():
    if values.get(key, required) not in (required, None):
      raise UserError(f"{path}: {key} is {values[key]!r}: only BERT can be read, where it is {required!r}")
  activation = values.get("hidden_act", _DEFAULTS["hidden_act"])
  if not isinstance(activation, str) or activation not in _ACTIVATIONS:
    raise UserError(f"{path}: hidden_act {activation!r} is unknown: it may be {', '.join(_ACTIVATIONS)}")
  kept = {key: values[key] for key in (*_KEPT, _CAUSAL) if values.get(key) is not None}
  sizes = {key: values.get(key, default) for key, default in _DEFAULTS.items()}
  config = BertConfig.from_dict({**sizes, "hidden_act": _ACTIVATIONS[activation], **kept}, path)
  architectures = values.get("architectures")
  first = architectures[0] if isinstance(architectures, list) and architectures else None
  # It is shown to users: a name of a class has no line breaks.
  return config, first if isinstance(first, str) and first.isidentifier() else None


def read_either_config(path: str) -> BertConfig:
  """Reads a `config.json` of Hugging Face or a `bert_config.json` of the original, told apart by their keys.

  It matters: "gelu" means the exact form in the one and the tanh form in the other.

  Raises:
    UserError: as for `read_config` and `BertConfig.from_file`.
  """
  values = json_files.read(path)
  if isinstance(values, Mapping) and ("model_type" in values or "architectures" in values):
    return read_config(path)[0]
  return BertConfig.from_dict(values, path)


def config_values(config: BertConfig, tensors: Mapping[str, tuple[int, ...]]) -> dict[str, object]:
  """The keys of a `config.json` that makes transformers compute what we compute.

  Args:
    tensors: original name → shape; they tell the architecture and the number of labels.
  """
  values = {
      "architectures": [architecture_of(tensors, config.causal)],
      "model_type": "bert",
      **config.to_dict(),
      "hidden_act": _ACTIVATIONS_BACK.get(config.hidden_act, config.hidden_act),
      "layer_norm_eps": config.layer_norm_epsilon,
      "pad_token_id": 0,
      "tie_word_embeddings": True,
      "dtype": "float32",
  }
  classes = _classes(tensors)
  if classes is not None and "id2label" not in values:
    # Without it transformers assumes two labels.
    values["id2label"] = {str(index): f"LABEL_{index}" for index in range(classes)}
    values["label2id"] = {f"LABEL_{index}": index for index in range(classes)}
  return values


def architecture_of(tensors: Iterable[str], causal: bool = False) -> str:
  """The class that reads these weights: that of the task's head, else of the pre-training heads, else the bare one."""
  heads = tuple(heads_of(tensors))
  if causal and heads == ARCHITECTURES[_CAUSAL_LM]:
    return _CAUSAL_LM
  for architecture, its_heads in ARCHITECTURES.items():
    if heads == its_heads:
      return architecture
  task_heads = [head for head in heads if head not in ARCHITECTURES[_PRETRAINING]]
  return HEADS[task_heads[0]].huggingface_classes[0]


def check_labels(config: BertConfig, tensors: Mapping[str, tuple[int, ...]], path: str) -> None:
  """Refuses label names of another number than the head's classes.

  Raises:
    UserError: names both numbers.
  """
  classes = _classes(tensors)
  labels = config.extra.get("id2label")
  if classes is not None and labels is not None and (not isinstance(labels, Mapping) or len(labels) != classes):
    count = len(labels) if isinstance(labels, Mapping) else repr(labels)
    raise UserError(f"{path}: id2label contradicts the tensors: {count} labels, but the head has {classes} classes")


def _classes(tensors: Mapping[str, tuple[int, ...]]) -> int | None:
  """Classes of the head whose number of classes is free; None where there is none."""
  return next((tensors[head.signature_name][0] for head in HEADS.values()
               if head.has_free_classes and tensors.get(head.signature_name)), None)

"""The names that weights have in Hugging Face's files.

Kernels lie the other way round there, [outputs, inputs]; everything else has the original's shape.
"""

import re
from collections.abc import Iterable, Mapping

from modeling.checkpoints.names import LINEAR_HEADS
from modeling.checkpoints.shapes import encoder_shapes, heads_of
from modeling.config import BertConfig

# Hugging Face's class → its heads, by the keys of `model.heads`.
ARCHITECTURES = {
    "BertForPreTraining": ("masked_lm", "next_sentence"),
    "BertForMaskedLM": ("masked_lm",),
    "BertLMHeadModel": ("masked_lm",),
    "BertForNextSentencePrediction": ("next_sentence",),
    "BertForSequenceClassification": ("classifier",),
    "BertForQuestionAnswering": ("span",),
    "BertForTokenClassification": ("tagging",),
    "BertForMultipleChoice": ("multiple_choice",),
    "BertModel": (),
}

# Head → its layer there. Three heads have the same name: the architecture tells them apart.
_LINEAR_LAYERS = {
    "next_sentence": "cls.seq_relationship",
    "classifier": "classifier",
    "span": "qa_outputs",
    "tagging": "classifier",
    "multiple_choice": "classifier",
}
_LINEAR_NAMES = {
    f"{prefix}output_{ours}": f"{_LINEAR_LAYERS[head]}.{theirs}"
    for head, prefix in LINEAR_HEADS.items() for ours, theirs in (("weights", "weight"), ("bias", "bias"))
}
_LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias"}
CLASSIFIERS = ("classifier", "tagging", "multiple_choice")
_WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
_HEAD_WEIGHTS = ("cls/predictions/transform/dense/kernel", "cls/predictions/transform/dense/bias",
                 "cls/predictions/transform/LayerNorm/gamma", "cls/predictions/transform/LayerNorm/beta",
                 "cls/predictions/output_bias")


def huggingface_name(name: str) -> str:
  """The name there of a weight of the original, e.g. bert/pooler/dense/kernel → bert.pooler.dense.weight."""
  if name in _LINEAR_NAMES:
    return _LINEAR_NAMES[name]
  if name == "cls/predictions/output_bias":
    return "cls.predictions.bias"
  *path, leaf = re.sub(r"/layer_(\d+)/", r"/layer/\1/", name).split("/")
  if leaf.endswith("_embeddings"):
    return ".".join([*path, leaf, "weight"])
  return ".".join([*path, _LEAVES.get(leaf, leaf)])


def is_transposed(name: str) -> bool:
  """Whether the weight of this original name lies the other way round there."""
  return name.endswith("/kernel")


def original_names_of(keys: Iterable[str], architecture: str | None) -> dict[str, str]:
  """The original names of what a file holds.

  Args:
    keys: of one file or all its shards, in plain form (see `plain_keys`).
    architecture: Hugging Face's class, or None where nothing tells.

  Returns:
    original name → key, for the keys that are weights of ours.
  """
  keys = set(keys)
  layers = {match[1] for key in keys if (match := re.match(r"bert\.encoder\.layer\.(\d{1,6})\.", key))}
  # Only names matter here; one layer stands for all.
  encoder = encoder_shapes(BertConfig(vocab_size=1, hidden_size=1, num_hidden_layers=1, num_attention_heads=1))
  names = [*_HEAD_WEIGHTS]
  for name in encoder:
    names += [name.replace("/layer_0/", f"/layer_{layer}/") for layer in sorted(layers, key=int)
              ] if "/layer_0/" in name else [name]
  for head, prefix in LINEAR_HEADS.items():
    if head not in CLASSIFIERS or head == _classifier(keys, architecture):
      names += [f"{prefix}output_weights", f"{prefix}output_bias"]
  return {name: huggingface_name(name) for name in names if huggingface_name(name) in keys}


def encoder_prefixes(keys: Iterable[str]) -> list[str]:
  """What the names of each encoder begin with: one in a BERT, two in a model of two towers."""
  return sorted(key.removesuffix(_WORD_EMBEDDINGS) for key in keys
                if key == _WORD_EMBEDDINGS or key.endswith("." + _WORD_EMBEDDINGS))


def plain_keys(keys: Iterable[str]) -> dict[str, list[str]]:
  """Names as Hugging Face's classes with heads write them today.

  Prefixes differ ("bert.", "model.", "model.bert.", none), and gamma and beta were called so at first.

  Args:
    keys: of one file or all its shards, with one encoder.

  Returns:
    plain name → the keys that mean it: more than one is a contradiction, none of word embeddings is another network.
  """
  keys = list(keys)
  body = next(iter(encoder_prefixes(keys)), "bert.")
  outer = body.removesuffix("bert.")
  plain: dict[str, list[str]] = {}
  for key in keys:
    name = key
    if key.startswith(tuple(body + part for part in ("embeddings.", "encoder.", "pooler."))):
      name = "bert." + key.removeprefix(body)
    elif outer and key.startswith(outer):
      name = key.removeprefix(outer)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))
    plain.setdefault(name, []).append(key)
  return plain


def architecture_of(tensors: Mapping[str, object]) -> str:
  """The class that reads these weights: that of the task's head, else of the pre-training heads, else the bare one."""
  heads = heads_of(tensors)
  for architecture, its_heads in ARCHITECTURES.items():
    if heads and tuple(heads) == its_heads:
      return architecture
  task_heads = tuple(head for head in heads if head not in ("masked_lm", "next_sentence"))
  return next(architecture for architecture, its_heads in ARCHITECTURES.items() if its_heads == task_heads[:1])


def _classifier(keys: set[str], architecture: str | None) -> str:
  """Which head "classifier" is; without an architecture the pooler tells a classifier from a tagger."""
  heads = ARCHITECTURES.get(architecture or "", ())
  if heads and heads[0] in CLASSIFIERS:
    return heads[0]
  return "classifier" if "bert.pooler.dense.weight" in keys else "tagging"

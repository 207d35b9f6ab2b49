"""Where the weights are in the Model Garden's object graph, and which shapes they have there.

Heads of attention are an axis of their own there: [H, N, D] for queries, keys and values, [N, D, H] for what comes
after; the matrices of classes lie the other way round.
"""

import re

import numpy as np

from modeling.checkpoints.names import LINEAR_HEADS

# Original name → attribute path in `layers.MaskedLM`; a | stands for a slash in an attribute's name.
MASKED_LM = {
    "cls/predictions/transform/dense/kernel": "dense/kernel",
    "cls/predictions/transform/dense/bias": "dense/bias",
    "cls/predictions/transform/LayerNorm/gamma": "layer_norm/gamma",
    "cls/predictions/transform/LayerNorm/beta": "layer_norm/beta",
    "cls/predictions/output_bias": "output_bias|bias",
}
NEXT_SENTENCE_POOLER = {"bert/pooler/dense/kernel": "kernel", "bert/pooler/dense/bias": "bias"}
_LAYER = {
    "attention/self/query": "_attention_layer/_query_dense",
    "attention/self/key": "_attention_layer/_key_dense",
    "attention/self/value": "_attention_layer/_value_dense",
    "attention/output/dense": "_attention_layer/_output_dense",
    "attention/output/LayerNorm": "_attention_layer_norm",
    "intermediate/dense": "_intermediate_dense",
    "output/dense": "_output_dense",
    "output/LayerNorm": "_output_layer_norm",
}
_HEADS_LAST = re.compile(r"/attention/self/(query|key|value)/(kernel|bias)$")
_HEADS_FIRST = re.compile(r"/attention/output/dense/kernel$")


def encoder_layout(layers: int) -> dict[str, str]:
  """Original name → attribute path in `networks.BertEncoderV2` with so many layers."""
  layout = {
      "bert/embeddings/word_embeddings": "_embedding_layer/embeddings",
      "bert/embeddings/token_type_embeddings": "_type_embedding_layer/embeddings",
      "bert/embeddings/position_embeddings": "_position_embedding_layer/embeddings",
      "bert/embeddings/LayerNorm/beta": "_embedding_norm_layer/beta",
      "bert/embeddings/LayerNorm/gamma": "_embedding_norm_layer/gamma",
  }
  for index in range(layers):
    for ours, theirs in _LAYER.items():
      for leaf in ("beta", "gamma") if ours.endswith("LayerNorm") else ("kernel", "bias"):
        layout[f"bert/encoder/layer_{index}/{ours}/{leaf}"] = f"_transformer_layers/{index}/{theirs}/{leaf}"
  return layout | {name: f"_pooler_layer/{leaf}" for name, leaf in NEXT_SENTENCE_POOLER.items()}


def first_encoder_parts(layers: int) -> dict[str, str]:
  """Path of each part of `networks.BertEncoderV2` → what the older, functional `networks.BertEncoder` calls it."""
  parts = ["_embedding_layer", "_position_embedding_layer", "_type_embedding_layer", "_embedding_norm_layer",
           *(f"_transformer_layers/{index}" for index in range(layers)), "_pooler_layer"]
  return {part: f"layer_with_weights-{number}" for number, part in enumerate(parts)}


def first_encoder_layout(layers: int) -> dict[str, str]:
  """Original name → attribute path in the older `networks.BertEncoder`."""
  parts = first_encoder_parts(layers)
  layout = {}
  for name, path in encoder_layout(layers).items():
    part = next(part for part in parts if path.startswith(part + "/"))
    layout[name] = parts[part] + path.removeprefix(part)
  return layout


def linear_layout(head: str, prefix: str) -> dict[str, str]:
  """Original name → attribute path of a head that is a dense layer at `prefix`."""
  name = LINEAR_HEADS[head]
  return {f"{name}output_weights": f"{prefix}kernel", f"{name}output_bias": f"{prefix}bias"}


def garden_rank(name: str) -> int:
  """Dimensions of a weight there."""
  plain = 2 if name.endswith(("kernel", "_embeddings", "output_weights")) else 1
  return plain + (1 if _HEADS_LAST.search(name) or _HEADS_FIRST.search(name) else 0)


def original_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
  """The original's shape of a weight, from the one there."""
  if _HEADS_LAST.search(name):
    return (*shape[:-2], shape[-2] * shape[-1])
  if _HEADS_FIRST.search(name):
    return (shape[0] * shape[1], shape[2])
  return shape[::-1] if name.endswith("output_weights") else shape


def from_garden(name: str, values: np.ndarray) -> np.ndarray:
  """A weight in the original's shape."""
  if name.endswith("output_weights"):
    return np.ascontiguousarray(values.T)
  return values.reshape(original_shape(name, values.shape))


def to_garden(name: str, values: np.ndarray, heads: int) -> np.ndarray:
  """The inverse of `from_garden`, for N heads."""
  if _HEADS_LAST.search(name):
    return values.reshape(*values.shape[:-1], heads, values.shape[-1] // heads)
  if _HEADS_FIRST.search(name):
    return values.reshape(heads, values.shape[0] // heads, values.shape[1])
  return np.ascontiguousarray(values.T) if name.endswith("output_weights") else values

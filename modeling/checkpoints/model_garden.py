"""Checkpoints of the TensorFlow Model Garden: `tf.train.Checkpoint` of its BERT encoders and the models on them.

Their keys depend on how a model was wrapped, so they are not read by key: the object graph in the checkpoint tells
which variable is which attribute of which layer, and that is what `model_garden_layout` lists.

Its pre-training model does not use the encoder's own pooler, but one in its next-sentence head: where that head is,
it is the pooler.
"""

import os
import re

import numpy as np
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from common.errors import UserError
from modeling.checkpoints.companion_files import Checkpoint
from modeling.checkpoints.tensorflow_files import Bundle
from modeling.checkpoints.weights import LINEAR_HEADS, check_fits, show_shape
from modeling.config import BertConfig

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


_NOT_WEIGHTS = re.compile(r"\.OPTIMIZER_SLOT|^(optimizer|save_counter|global_step|step|_CHECKPOINTABLE)\b|/optimizer/")
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


def read_model_garden(bundle: Bundle) -> Checkpoint | None:
  """The weights of a Model Garden checkpoint; None if it is of another kind.

  Raises:
    UserError: it holds several encoders, its object graph is damaged, a tensor has too few or too many dimensions, or
      the `bert_config.json` beside it contradicts the tensors.
  """
  graph = bundle.object_graph()
  if graph is None:
    return None
  nodes = _Nodes(bundle, graph)
  encoders = nodes.encoders()
  if not encoders:
    return None
  if len(encoders) > 1:
    raise UserError(f"{bundle.prefix} holds {len(encoders)} encoders: save the one that is meant by itself, with "
                    "tf.train.Checkpoint(encoder=...)")
  keys = _encoder_keys(nodes, encoders[0]) | _head_keys(nodes)
  description = f"{bundle.prefix} (Model Garden)"
  for name, key in keys.items():
    if len(bundle.shapes[key]) != garden_rank(name):
      raise UserError(f"{description}: {key} is {show_shape(bundle.shapes[key])}, which has not {garden_rank(name)} "
                      "dimensions")
  tensors = {name: original_shape(name, bundle.shapes[key]) for name, key in keys.items()}
  read_keys = {*keys.values(), *_copies(bundle, nodes, encoders[0], keys)}
  unused = {key.removesuffix(_VALUE): bundle.shapes[key] for key in sorted(bundle.shapes)
               if key not in read_keys and key.endswith(_VALUE) and not _NOT_WEIGHTS.search(key)}

  def read(name: str) -> np.ndarray:
    return from_garden(name, bundle.read(keys[name])) if name in keys else bundle.read(name + _VALUE)

  return Checkpoint(description=description, tensors=tensors | unused, read=read,
                config=_config(bundle, tensors, keys, description))


class _Nodes:
  """The object graph, for looking things up by attribute names.

  Attributes:
    children: for each node attribute → node.
    keys: for each node the key of its value in the checkpoint, or None.
  """

  def __init__(self, bundle: Bundle, serialized: bytes):
    try:
      graph = TrackableObjectGraph.FromString(serialized)
    except (DecodeError, TypeError) as error:
      raise UserError(f"{bundle.prefix}: its object graph is damaged: {error}") from None
    count = len(graph.nodes)
    self.children = [{child.local_name: child.node_id for child in node.children if 0 <= child.node_id < count}
                     for node in graph.nodes]
    self.keys = [next((attribute.checkpoint_key for attribute in node.attributes
                       if attribute.name == "VARIABLE_VALUE" and attribute.checkpoint_key in bundle.shapes), None)
                 for node in graph.nodes]

  def key(self, node: int, path: str) -> str | None:
    """Key of the variable that an attribute path leads to from a node."""
    found = self.node(node, path)
    return None if found is None else self.keys[found]

  def node(self, node: int, path: str) -> int | None:
    for part in path.split("/"):
      if node is None:
        return None
      # The path of the masked-LM bias has an attribute with a slash in its name.
      node = self.children[node].get(part.replace("|", "/"))
    return node

  def named(self, attribute: str) -> list[int]:
    """Nodes that some other node calls so, each once, in the order of the file."""
    return list(dict.fromkeys(children[attribute] for children in self.children if attribute in children))

  def encoders(self) -> list[int]:
    every = range(len(self.children))
    attributes = {"_position_embedding_layer", "_transformer_layers"}
    second = [node for node in every if attributes <= set(self.children[node])]
    return second or [node for node in every if self.node(node, "layer_with_weights-4/_attention_layer") is not None]


def _encoder_keys(nodes: _Nodes, encoder: int) -> dict[str, str]:
  """Original name → key of the encoder's weights that are there."""
  layers = 0
  is_second = "_transformer_layers" in nodes.children[encoder]
  while nodes.node(encoder, f"_transformer_layers/{layers}" if is_second else
                   f"layer_with_weights-{4 + layers}/_attention_layer") is not None:
    layers += 1
  layout = encoder_layout(layers) if is_second else first_encoder_layout(layers)
  return {name: key for name, path in layout.items() if (key := nodes.key(encoder, path)) is not None}


def _head_keys(nodes: _Nodes) -> dict[str, str]:
  """Original name → key of the heads' weights, and of the pooler where a head has one."""
  wanted: list[tuple[int, dict[str, str]]] = []
  wanted += [(node, MASKED_LM) for node in nodes.named("masked_lm")]
  wanted += [(node, NEXT_SENTENCE_POOLER) for node in nodes.named("next_sentence.pooler_dense")]
  for heads in nodes.named("classification_heads"):
    # Any heads can be put there; that of next sentence is a single one of two classes.
    if set(nodes.children[heads]) == {"0"}:
      wanted += _classification_head(nodes, nodes.children[heads]["0"], "next_sentence")
  for node in nodes.named("classifier"):
    if "out_proj" in nodes.children[node]:
      wanted += _classification_head(nodes, node, "classifier")
    else:
      wanted.append((node, linear_layout("tagging", "")))
  wanted += [(node, linear_layout("span", "layer_with_weights-0/")) for node in nodes.named("span_labeling")]
  wanted += [(node, linear_layout(head, "")) for head in ("tagging", "multiple_choice") for node in nodes.named(head)]
  return {name: key for node, layout in wanted for name, path in layout.items()
          if (key := nodes.key(node, path)) is not None}


def _classification_head(nodes: _Nodes, node: int, head: str) -> list[tuple[int, dict[str, str]]]:
  pooler = {name: f"dense/{path}" for name, path in NEXT_SENTENCE_POOLER.items()}
  return [(node, linear_layout(head, "out_proj/")), (node, pooler)]


def _copies(bundle: Bundle, nodes: _Nodes, encoder: int, keys: dict[str, str]) -> list[str]:
  """Keys of an encoder's own pooler that is the same as the one of the next-sentence head."""
  own = {name: key for name, key in _encoder_keys(nodes, encoder).items() if keys[name] != key}
  return [key for name, key in own.items() if np.array_equal(bundle.read(key), bundle.read(keys[name]))]


def _config(bundle: Bundle, tensors: dict, keys: dict[str, str], description: str) -> BertConfig | None:
  """What lies beside, or else what the shapes tell; activation and rates are then the Model Garden's defaults."""
  words = tensors.get("bert/embeddings/word_embeddings")
  positions = tensors.get("bert/embeddings/position_embeddings")
  types = tensors.get("bert/embeddings/token_type_embeddings")
  query = keys.get("bert/encoder/layer_0/attention/self/query/bias")
  inner = tensors.get("bert/encoder/layer_0/intermediate/dense/bias")
  if not (words and positions and types and query and inner):
    return None
  heads = bundle.shapes[query][0]
  beside = os.path.join(os.path.dirname(bundle.prefix), "bert_config.json")
  if os.path.exists(beside):
    config = BertConfig.from_file(beside)
    if config.num_attention_heads != heads:
      raise UserError(f"{description}: {beside} contradicts the tensors: num_attention_heads is "
                      f"{config.num_attention_heads} there and {heads} in the tensors")
  else:
    layers = {name.split("/")[2] for name in tensors if name.startswith("bert/encoder/layer_")}
    config = BertConfig(vocab_size=words[0], hidden_size=words[1], num_hidden_layers=len(layers),
                        num_attention_heads=heads, intermediate_size=inner[0], max_position_embeddings=positions[0],
                        type_vocab_size=types[0])
  check_fits(config, tensors, description)
  return config

"""Checkpoints of the TensorFlow Model Garden: `tf.train.Checkpoint` of its BERT encoders and the
models on them.

Their keys depend on how a model was wrapped, so they are not read by key: the object graph in the
checkpoint shows which variable is which attribute of which layer, and the table of weights has the
paths of attributes.

The pre-training model there does not use the encoder's own pooler, but one in its next-sentence
head: in a checkpoint with that head, this one is the pooler.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from bert_common import files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import CONFIG_FILE, SUFFIX
from modeling.checkpoints.reader import CheckpointReader, stored_weights
from modeling.checkpoints.tensorflow_files import TensorBundle, attach
from modeling.checkpoints.weights import (
    EMBEDDINGS,
    HEADS,
    LAYER,
    MODEL_GARDEN,
    POOLER,
    WORD_EMBEDDINGS,
    Head,
    Weight,
    all_weights,
    encoder_weights,
    heads_of,
)
from modeling.config import BertConfig

# In checkpoints of TensorFlow 2 this tensor ties the keys together.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# Attributes of `networks.BertEncoderV2`, and of one of its layers.
_WORDS, _TYPES, _POSITIONS, _NORM = dict.fromkeys(
    weight.garden.partition("/")[0] for weight in EMBEDDINGS
)
_LAYERS, _, _ATTENTION = LAYER[0].garden.split("/")[:3]
_POOLER = POOLER[0].garden.partition("/")[0]
# The dense layer of its `layers.ClassificationHead`, which can have a pooler beside it.
_CLASSIFICATION_HEAD = "out_proj/"
_OWN_POOLER = "dense"
# Keras numbers the parts of functional models.
_NUMBERED = "layer_with_weights-"
# Number of the first layer among the parts of the older, functional `networks.BertEncoder`.
_FIRST_LAYER = 4
_NOT_WEIGHTS = re.compile(
    r"\.OPTIMIZER_SLOT|^(optimizer|save_counter|global_step|step|_CHECKPOINTABLE)\b|/optimizer/"
)


def read_model_garden(bundle: TensorBundle) -> CheckpointReader | None:
    """Returns the weights of a Model Garden checkpoint; None if it is of another kind.

    Raises:
      UserError: it holds several encoders, or configuration and tensors contradict each other.
    """
    if OBJECT_GRAPH not in bundle.shapes:
        return None
    # Our own checkpoints have a graph, too, but none with an encoder of these attributes.
    graph = ObjectGraph(bundle)
    encoder = _find_encoder(graph, bundle.prefix)
    if encoder is None:
        return None
    encoder_keys = graph.keys_of(encoder.node, encoder.paths)
    # A pooler in a head replaces the encoder's own.
    keys = dict(encoder_keys)
    for head in HEADS.values():
        keys |= _head_keys(graph, head)
    # Tensors of other names are reported as unused, except copies and optimizer slots.
    used = set(keys.values())
    for name, key in encoder_keys.items():
        # The encoder's own pooler may be a copy of the next-sentence head's.
        if keys[name] != key and np.array_equal(bundle.read(key), bundle.read(keys[name])):
            used.add(key)
    unused = {}
    for key in sorted(bundle.shapes):
        if key not in used and key.endswith(SUFFIX) and not _NOT_WEIGHTS.search(key):
            unused[key.removesuffix(SUFFIX)] = (bundle, key)
    rows = all_weights(encoder.layers)
    config = None
    config_file = os.path.join(os.path.dirname(bundle.prefix), CONFIG_FILE)
    if files.exists(config_file):
        config = BertConfig.from_file(config_file)
    return stored_weights(
        f"{bundle.prefix} (Model Garden)",
        {name: (rows[name], bundle, key) for name, key in keys.items()},
        unused,
        config,
    )


class _Encoder(NamedTuple):
    """Node of an encoder, its number of layers, and original name → attribute path."""

    node: int
    layers: int
    paths: dict[str, str]


def _find_encoder(graph: "ObjectGraph", prefix: str) -> _Encoder | None:
    """Returns the encoder in a checkpoint; None without one. Raises `UserError` for several."""
    before_number, after_number = f"{_LAYERS}/", ""
    first = 0
    # No other object there has both attributes.
    encoders = graph.nodes_with(_POSITIONS, _LAYERS)
    is_older = not encoders
    if is_older:
        before_number, after_number = _NUMBERED, f"/{_ATTENTION}"
        first = _FIRST_LAYER
        encoders = graph.nodes_with(f"{before_number}{first}{after_number}")
    # Weights of a Funnel Transformer, and of an ALBERT's one layer, have the places of a BERT's.
    names = graph.names.values()
    query = "self_attention/query/kernel"
    is_albert = f"transformer/{query}" in names and f"transformer_1/{query}" not in names
    if not encoders or is_albert or graph.nodes_with("_pool_strides"):
        return None
    if len(encoders) > 1:
        raise UserError(
            f"{prefix} holds {len(encoders)} encoders: save the one that is meant by itself, with "
            "tf.train.Checkpoint(encoder=...)"
        )
    layers = 0
    while graph.node(encoders[0], f"{before_number}{first + layers}{after_number}") is not None:
        layers += 1
    paths = _garden_paths(encoder_weights(range(layers)))
    if is_older:
        for part, number in _older_names(layers).items():
            for name, path in paths.items():
                if path.startswith(part + "/"):
                    paths[name] = number + path.removeprefix(part)
    return _Encoder(encoders[0], layers, paths)


def _garden_paths(rows: Iterable[Weight]) -> dict[str, str]:
    """Returns original name → attribute path of these rows of the table of weights."""
    return {weight.original: weight.garden for weight in rows}


def _head_keys(graph: "ObjectGraph", head: Head) -> dict[str, str]:
    """Returns original name → key of the weights of a head, and of a pooler in it."""
    keys: dict[str, str] = {}
    for node in graph.nodes_at(f"{head.directory}.pooler_dense"):
        keys |= graph.keys_of(node, _pooler_paths())
    # Our own files call the second `classifier` by its directory, see `write_model_garden`.
    paths = _garden_paths(head.weights)
    for path in (head.garden, head.directory):
        for node in graph.nodes_at(path):
            head_keys = graph.keys_of(node, paths)
            keys |= head_keys
            if head_keys and head.garden_dense == _CLASSIFICATION_HEAD:
                keys |= graph.keys_of(node, _pooler_paths(_OWN_POOLER + "/"))
    return keys


def write_model_garden(
    directory: str, weights: Mapping[str, np.ndarray], config: BertConfig
) -> None:
    """Writes one graph in which every way the Model Garden saves and restores these models finds
    its objects.

    `encoder` and `model/encoder_network` are the same object, as are `classifier` and
    `layer_with_weights-1` of the functional models.
    """
    rows = all_weights(config.num_hidden_layers)
    variables = {}
    for name, value in weights.items():
        value = rows[name].from_original(value, MODEL_GARDEN, config.num_attention_heads)
        variables[name] = tf.Variable(value)
    encoder_rows = encoder_weights(range(config.num_hidden_layers))
    encoder = _module(variables, _garden_paths(encoder_rows))
    # The older, functional encoder finds the same layers by their numbers.
    for part, number in _older_names(config.num_hidden_layers).items():
        module = encoder
        for attribute in part.split("/"):
            module = getattr(module, attribute, None)
        if module is not None:
            setattr(encoder, number, module)
    model = tf.Module()
    # Names of the encoder in the pre-training model, in the tasks and in functional models.
    for attribute in ("encoder_network", "_network", "layer_with_weights-0"):
        setattr(model, attribute, encoder)
    items = {}
    numbered = 0
    for name in heads_of(weights):
        head = HEADS[name]
        module = _module(variables, _garden_paths(head.weights))
        if head.parts:
            # `layers.MaskedLM` refers to the table and has its bias twice.
            module.embedding_table = variables[WORD_EMBEDDINGS.original]
            module.bias = variables[head.signature_name]
            items[head.garden] = module
            setattr(model, head.garden, module)
        elif "/" in head.garden:
            pooler = _pooler_copy(weights)
            if pooler is not None:
                setattr(module, _OWN_POOLER, pooler)
                items[f"{head.directory}.pooler_dense"] = pooler
            attach(model, head.garden, module)
        else:
            numbered += 1
            setattr(model, f"{_NUMBERED}{numbered}", module)
            # Two heads share the name `classifier` there: the second one gets ours.
            attribute = head.directory if hasattr(model, head.garden) else head.garden
            setattr(model, attribute, module)
    checkpoint = tf.train.Checkpoint(encoder=encoder, model=model, **items)
    # Reading this attribute makes it; the Model Garden's export_tfhub.py fails without it.
    _ = checkpoint.save_counter
    checkpoint.write(os.path.join(directory, "bert_model.ckpt"))
    config.to_file(os.path.join(directory, CONFIG_FILE))


def _pooler_copy(weights: Mapping[str, np.ndarray]) -> tf.Module | None:
    """Returns the pooler of the next-sentence head, whose variables are not the encoder's; None if
    the encoder has no pooler."""
    variables = {}
    for weight in POOLER:
        if weight.original not in weights:
            return None
        variables[weight.original] = tf.Variable(weights[weight.original])
    return _module(variables, _pooler_paths())


class ObjectGraph:
    """The object graph of a checkpoint by attribute names.

    Attributes:
      children: for each node, attribute → number of the child.
      keys: for each node, the key of its value in the checkpoint, or None.
      names: key of a value → name of its variable.
    """

    def __init__(self, bundle: TensorBundle):
        try:
            graph = TrackableObjectGraph.FromString(bundle.raw(OBJECT_GRAPH))
        except (DecodeError, TypeError) as error:
            raise UserError(f"{bundle.prefix}: its object graph is damaged: {error}") from None
        self.children: list[dict[str, int]] = []
        self.keys: list[str | None] = []
        self.names: dict[str, str] = {}
        for node in graph.nodes:
            children = {}
            # A damaged file may name nodes that do not exist.
            for child in node.children:
                if 0 <= child.node_id < len(graph.nodes):
                    children[child.local_name] = child.node_id
            self.children.append(children)
            value_key = None
            for attribute in node.attributes:
                key = attribute.checkpoint_key
                if attribute.name == "VARIABLE_VALUE" and key in bundle.shapes:
                    value_key = key
                    self.names[key] = attribute.full_name
            self.keys.append(value_key)

    def node(self, node: int | None, path: str) -> int | None:
        """Returns the node that an attribute path leads to from another; None without one."""
        for part in path.split("/"):
            if node is None:
                return None
            # The path of the masked-LM bias has an attribute with a slash in its name.
            node = self.children[node].get(part.replace("|", "/"))
        return node

    def keys_of(self, node: int, paths: Mapping[str, str]) -> dict[str, str]:
        """Returns name → key of the variables that exist, from name → attribute path."""
        keys = {}
        for name, path in paths.items():
            variable = self.node(node, path)
            key = None if variable is None else self.keys[variable]
            if key is not None:
                keys[name] = key
        return keys

    def nodes_with(self, *paths: str) -> list[int]:
        """Returns the nodes from which all these attribute paths lead somewhere."""
        nodes = []
        for node in range(len(self.children)):
            if None not in [self.node(node, path) for path in paths]:
                nodes.append(node)
        return nodes

    def nodes_at(self, path: str) -> list[int]:
        """Returns the nodes at a path, `name` or `name/item`, from some other node, each once, in
        the order of the file."""
        attribute, _, item = path.partition("/")
        nodes: dict[int, None] = {}
        for children in self.children:
            if attribute not in children:
                continue
            node = children[attribute]
            # A list of heads may hold any heads: only one with a single item is unambiguous.
            if item and set(self.children[node]) == {item}:
                node = self.children[node][item]
            elif item:
                continue
            nodes[node] = None
        return list(nodes)


def _older_names(layers: int) -> dict[str, str]:
    """Returns path of each part of `networks.BertEncoderV2` → its name in the older, functional
    `networks.BertEncoder`."""
    parts = [_WORDS, _POSITIONS, _TYPES, _NORM]
    for layer in range(layers):
        parts.append(f"{_LAYERS}/{layer}")
    parts.append(_POOLER)
    return {part: f"{_NUMBERED}{number}" for number, part in enumerate(parts)}


def _pooler_paths(prefix: str = "") -> dict[str, str]:
    """Returns original name → attribute path of a pooler, from its dense layer, or with a prefix
    from the object that holds it."""
    return {weight.original: prefix + weight.garden.rpartition("/")[2] for weight in POOLER}


def _module(variables: Mapping[str, tf.Variable], paths: Mapping[str, str]) -> tf.Module:
    """Returns nested modules with the variables at their paths, from original name → path."""
    root = tf.Module()
    for name, path in paths.items():
        if name in variables:
            attach(root, path, variables[name])
    return root

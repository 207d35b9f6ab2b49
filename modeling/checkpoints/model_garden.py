"""Checkpoints of the TensorFlow Model Garden: `tf.train.Checkpoint` of its BERT encoders and the
models on them.

Their keys depend on how a model was wrapped, so they are not read by key: the object graph in the
checkpoint shows which variable is which attribute of which layer, and those are in the table of
weights.

Its pre-training model does not use the encoder's own pooler, but one in its next-sentence head:
where that head is, it is the pooler.
"""

import functools
import os
import re
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from bert_common import files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import CONFIG_FILE, SUFFIX, StoredWeights, TensorFile
from modeling.checkpoints.tensorflow_files import Bundle, attach
from modeling.checkpoints.weights import (
    EMBEDDINGS,
    HEADS,
    LAYER,
    POOLER,
    WORD_EMBEDDINGS,
    Weight,
    all_weights,
    check_fits,
    config_from_shapes,
    encoder_weights,
    heads_of,
)
from modeling.config import BertConfig

# What ties the keys together in checkpoints of TensorFlow 2.
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# The attributes of `networks.BertEncoderV2`, and of one of its layers.
_WORDS, _TYPES, _POSITIONS, _NORM = dict.fromkeys(
    weight.garden.partition("/")[0] for weight in EMBEDDINGS
)
_LAYERS, _, _ATTENTION = LAYER[0].garden.split("/")[:3]
_POOLER = POOLER[0].garden.partition("/")[0]
# The dense layer of its `layers.ClassificationHead`, which can have a pooler of its own beside it.
_CLASSIFICATION_HEAD, _OWN_POOLER = "out_proj/", "dense"
# What Keras calls the parts of functional models, by numbers.
_NUMBERED = "layer_with_weights-"
# The number of the first layer among the parts of the older, functional `networks.BertEncoder`.
_FIRST_LAYER = 4
_NOT_WEIGHTS = re.compile(
    r"\.OPTIMIZER_SLOT|^(optimizer|save_counter|global_step|step|_CHECKPOINTABLE)\b|/optimizer/"
)


def read_model_garden(bundle: Bundle) -> StoredWeights | None:
    """The weights of a Model Garden checkpoint; None if it is of another kind. Raises `UserError`
    where it holds several encoders, or configuration and tensors contradict each other."""
    if _OBJECT_GRAPH not in bundle.shapes:
        return None
    nodes = _Nodes(bundle)
    encoders = [
        node for node, children in enumerate(nodes.children) if {_POSITIONS, _LAYERS} <= {*children}
    ]
    is_older = not encoders
    if is_older:
        encoders = [
            node
            for node in range(len(nodes.children))
            if nodes.node(node, f"{_NUMBERED}{_FIRST_LAYER}/{_ATTENTION}") is not None
        ]
    if not encoders:
        return None
    if len(encoders) > 1:
        raise UserError(
            f"{bundle.prefix} holds {len(encoders)} encoders: save the one that is meant by itself, with "
            "tf.train.Checkpoint(encoder=...)"
        )
    layers = 0
    while (
        nodes.node(
            encoders[0],
            f"{_NUMBERED}{_FIRST_LAYER + layers}/{_ATTENTION}"
            if is_older
            else f"{_LAYERS}/{layers}",
        )
        is not None
    ):
        layers += 1
    paths = {weight.original: weight.garden for weight in encoder_weights(range(layers))}
    for part, number in _first_encoder_parts(layers).items() if is_older else ():
        paths = {
            name: number + path.removeprefix(part) if path.startswith(f"{part}/") else path
            for name, path in paths.items()
        }
    encoder_keys = nodes.keys_of(encoders[0], paths)
    # Those of the heads, and of the pooler where a head has one.
    keys = dict(encoder_keys)
    for head in HEADS.values():
        for node in nodes.named(f"{head.directory}.pooler_dense"):
            keys |= nodes.keys_of(node, _pooler_paths())
        for node in (
            node
            for place in dict.fromkeys((head.garden, head.directory))
            for node in nodes.named(place)
        ):
            found = nodes.keys_of(node, {weight.original: weight.garden for weight in head.weights})
            if found and head.garden_dense == _CLASSIFICATION_HEAD:
                found |= nodes.keys_of(node, _pooler_paths(f"{_OWN_POOLER}/"))
            keys |= found
    rows = all_weights(layers)
    # The encoder's own pooler may be a copy of that of the next-sentence head.
    copies = [
        key
        for name, key in encoder_keys.items()
        if keys[name] != key and np.array_equal(bundle.read(key), bundle.read(keys[name]))
    ]
    read_already = {*keys.values(), *copies}
    others = {
        key.removesuffix(SUFFIX): (bundle, key)
        for key in sorted(bundle.shapes)
        if key not in read_already and key.endswith(SUFFIX) and not _NOT_WEIGHTS.search(key)
    }
    beside = os.path.join(os.path.dirname(bundle.prefix), CONFIG_FILE)
    return stored_weights(
        f"{bundle.prefix} (Model Garden)",
        {name: (rows[name], bundle, key) for name, key in keys.items()},
        others,
        BertConfig.from_file(beside) if files.exists(beside) else None,
    )


def stored_weights(
    description: str,
    placed: Mapping[str, tuple[Weight, TensorFile, str]],
    others: Mapping[str, tuple[TensorFile, str]],
    config: BertConfig | None,
) -> StoredWeights:
    """Weights in files, in the shapes of the Model Garden, which are those of KerasHub, too.

    Args:
      placed: original name → row of the table of weights, file and key in it.
      others: name → file and key of what is in no BERT.
      config: what lies beside them; None for what follows from the shapes, with the Model Garden's
        activation and rates.
    """
    shapes = {name: file.shapes[key] for name, (_, file, key) in placed.items()}
    tensors = {}
    for name, (row, _, _) in placed.items():
        tensors[name] = shape = shapes[name]
        first = row.garden_shape.find("ND")
        if row.garden_transposed:
            tensors[name] = shape[::-1]
        elif first >= 0:
            tensors[name] = (*shape[:first], shape[first] * shape[first + 1], *shape[first + 2 :])
    found = config_from_shapes(
        shapes, {name: row.garden_shape for name, (row, _, _) in placed.items()}, description
    )
    # The number of attention heads shows in the shapes of these formats only.
    if config and found and config.num_attention_heads != found.num_attention_heads:
        raise UserError(
            f"{description}: the configuration contradicts the tensors: num_attention_heads is "
            f"{config.num_attention_heads} there and {found.num_attention_heads} in the tensors"
        )
    config = config or found
    if config is not None:
        check_fits(config, tensors, description)

    def read(name: str) -> np.ndarray:
        if name not in placed:
            file, key = others[name]
            return file.read(key)
        row, file, key = placed[name]
        values = file.read(key)
        return (
            np.ascontiguousarray(values.T)
            if row.garden_transposed
            else values.reshape(tensors[name])
        )

    return StoredWeights(
        description=description,
        read=read,
        config=config,
        tensors=tensors | {name: file.shapes[key] for name, (file, key) in others.items()},
    )


def write_model_garden(
    directory: str, weights: Mapping[str, np.ndarray], config: BertConfig
) -> None:
    """One graph in which every way the Model Garden saves and restores these models finds its
    objects.

    `encoder` and `model/encoder_network` are the same object, as are `classifier` and
    `layer_with_weights-1` of the functional models.
    """
    rows, heads, variables = all_weights(config.num_hidden_layers), config.num_attention_heads, {}
    for name, value in weights.items():
        shape, first = value.shape, rows[name].garden_shape.find("ND")
        if rows[name].garden_transposed:
            value = np.ascontiguousarray(value.T)
        elif first >= 0:
            value = value.reshape(*shape[:first], heads, shape[first] // heads, *shape[first + 1 :])
        variables[name] = tf.Variable(value)
    layers = range(config.num_hidden_layers)
    encoder = _module(
        variables, {weight.original: weight.garden for weight in encoder_weights(layers)}
    )
    for part, number in _first_encoder_parts(config.num_hidden_layers).items():
        module = functools.reduce(
            lambda root, name: getattr(root, name, None), part.split("/"), encoder
        )
        if module is not None:
            setattr(encoder, number, module)
    model, items = tf.Module(), {}
    for attribute in ("encoder_network", "_network", "layer_with_weights-0"):
        setattr(model, attribute, encoder)
    numbered = 0
    for head in (HEADS[name] for name in heads_of(weights)):
        module = _module(variables, {weight.original: weight.garden for weight in head.weights})
        if head.parts:
            # `layers.MaskedLM` refers to the table and has its bias twice.
            module.embedding_table = variables[WORD_EMBEDDINGS.original]
            module.bias = variables[head.signature_name]
            items[head.garden] = module
            setattr(model, head.garden, module)
        elif "/" in head.garden:
            if all(weight.original in weights for weight in POOLER):
                # Variables of its own: in the Model Garden's model they are not the encoder's.
                pooler = _module(
                    {weight.original: tf.Variable(weights[weight.original]) for weight in POOLER},
                    _pooler_paths(),
                )
                setattr(module, _OWN_POOLER, pooler)
                items[f"{head.directory}.pooler_dense"] = pooler
            attach(model, head.garden, module)
        else:
            numbered += 1
            setattr(model, f"{_NUMBERED}{numbered}", module)
            setattr(model, head.directory if hasattr(model, head.garden) else head.garden, module)
    checkpoint = tf.train.Checkpoint(encoder=encoder, model=model, **items)
    # Made by being read; the Model Garden's export_tfhub.py misses it in a checkpoint without it.
    _ = checkpoint.save_counter
    checkpoint.write(os.path.join(directory, "bert_model.ckpt"))
    config.to_file(os.path.join(directory, CONFIG_FILE))


class _Nodes:
    """The object graph by attribute names: for each node its children, and the key of its value in
    the checkpoint."""

    def __init__(self, bundle: Bundle):
        try:
            graph = TrackableObjectGraph.FromString(bundle.raw(_OBJECT_GRAPH))
        except (DecodeError, TypeError) as error:
            raise UserError(f"{bundle.prefix}: its object graph is damaged: {error}") from None
        count = len(graph.nodes)
        self.children = [
            {
                child.local_name: child.node_id
                for child in node.children
                if 0 <= child.node_id < count
            }
            for node in graph.nodes
        ]
        self.keys = [
            next(
                (
                    attribute.checkpoint_key
                    for attribute in node.attributes
                    if attribute.name == "VARIABLE_VALUE"
                    and attribute.checkpoint_key in bundle.shapes
                ),
                None,
            )
            for node in graph.nodes
        ]

    def node(self, node: int | None, path: str) -> int | None:
        """The node that an attribute path leads to from another."""
        for part in path.split("/"):
            if node is None:
                return None
            # The path of the masked-LM bias has an attribute with a slash in its name.
            node = self.children[node].get(part.replace("|", "/"))
        return node

    def keys_of(self, node: int, paths: Mapping[str, str]) -> dict[str, str]:
        """Name → key of the variables that are there, from name → attribute path."""
        found = {name: self.node(node, path) for name, path in paths.items()}
        return {
            name: key
            for name, place in found.items()
            if place is not None and (key := self.keys[place])
        }

    def named(self, path: str) -> list[int]:
        """Nodes at this path from some other node, each once, in the order of the file."""
        attribute, _, item = path.partition("/")
        found = dict.fromkeys(
            children[attribute] for children in self.children if attribute in children
        )
        if not item:
            return list(found)
        # Anything can be in such a list: what is meant is its only item.
        return [self.children[node][item] for node in found if set(self.children[node]) == {item}]


def _first_encoder_parts(layers: int) -> dict[str, str]:
    """Path of each part of `networks.BertEncoderV2` → what the older, functional
    `networks.BertEncoder` calls it."""
    parts = [
        _WORDS,
        _POSITIONS,
        _TYPES,
        _NORM,
        *(f"{_LAYERS}/{layer}" for layer in range(layers)),
        _POOLER,
    ]
    return {part: f"{_NUMBERED}{number}" for number, part in enumerate(parts)}


def _pooler_paths(prefix: str = "") -> dict[str, str]:
    """Original name → attribute path of a pooler, from the dense layer itself or from what holds
    it."""
    return {weight.original: prefix + weight.garden.rpartition("/")[2] for weight in POOLER}


def _module(variables: Mapping[str, tf.Variable], paths: Mapping[str, str]) -> tf.Module:
    """Original name → attribute path, as nested modules."""
    root = tf.Module()
    for name, path in paths.items():
        if name in variables:
            attach(root, path, variables[name])
    return root

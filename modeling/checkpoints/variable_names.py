"""Weights by the names of variables, as programs of Keras 2 save them, in SavedModels and in `.h5`
files.

- bert-for-tf2: `PREFIX/encoder/layer_0/attention/self/query/kernel:0`, the original's names but
  for the embeddings and the intermediate layer
- keras-bert: `Encoder-1-MultiHeadSelfAttention/Encoder-1-MultiHeadSelfAttention_Wq:0`
- the Model Garden, and the encoders on TF-Hub: `transformer/layer_0/self_attention/query/kernel`
- this project's `export_model.py --api=tfhub`: the original's names

Input: a `TensorFile` whose keys are such names. Output: `CheckpointReader`. Variables of other
names, such as a user's own layers, are reported as unused.
"""

import re
from collections.abc import Iterable

from bert_common.errors import UserError
from modeling.checkpoints.reader import CheckpointReader, TensorFile, stored_weights
from modeling.checkpoints.weights import (
    MODEL_GARDEN,
    ORIGINAL,
    WORD_EMBEDDINGS,
    all_weights,
)

_EMBEDDINGS = "bert/embeddings"
_LAYER = "bert/encoder/layer_"
# The original's names with any prefix in place of "bert", and what bert-for-tf2 has in their place.
_ORIGINAL = re.compile(
    r"(?:^|/)(?P<name>embeddings/(?:\w+_embeddings|LayerNorm/\w+)|encoder/layer_\d+/.+|"
    r"pooler/dense/\w+)$"
)
# Layer of keras-bert → its weights by the last part of their names.
_KERAS_BERT = {
    "Embedding-Token": {"embeddings": f"{_EMBEDDINGS}/word_embeddings"},
    "Embedding-Segment": {"embeddings": f"{_EMBEDDINGS}/token_type_embeddings"},
    "Embedding-Position": {"embeddings": f"{_EMBEDDINGS}/position_embeddings"},
    "Embedding-Norm": {
        "gamma": f"{_EMBEDDINGS}/LayerNorm/gamma",
        "beta": f"{_EMBEDDINGS}/LayerNorm/beta",
    },
    "MultiHeadSelfAttention": {
        "Wq": "attention/self/query/kernel",
        "bq": "attention/self/query/bias",
        "Wk": "attention/self/key/kernel",
        "bk": "attention/self/key/bias",
        "Wv": "attention/self/value/kernel",
        "bv": "attention/self/value/bias",
        "Wo": "attention/output/dense/kernel",
        "bo": "attention/output/dense/bias",
    },
    "MultiHeadSelfAttention-Norm": {
        "gamma": "attention/output/LayerNorm/gamma",
        "beta": "attention/output/LayerNorm/beta",
    },
    "FeedForward": {
        "W1": "intermediate/dense/kernel",
        "b1": "intermediate/dense/bias",
        "W2": "output/dense/kernel",
        "b2": "output/dense/bias",
    },
    "FeedForward-Norm": {"gamma": "output/LayerNorm/gamma", "beta": "output/LayerNorm/beta"},
    # The pooler is a part of its next-sentence head.
    "NSP-Dense": {"kernel": "bert/pooler/dense/kernel", "bias": "bert/pooler/dense/bias"},
    "MLM-Dense": {
        "kernel": "cls/predictions/transform/dense/kernel",
        "bias": "cls/predictions/transform/dense/bias",
    },
    "MLM-Norm": {
        "gamma": "cls/predictions/transform/LayerNorm/gamma",
        "beta": "cls/predictions/transform/LayerNorm/beta",
    },
    "MLM-Sim": {"bias": "cls/predictions/output_bias"},
}
_KERAS_BERT_LAYER = re.compile(r"Encoder-(\d+)-(.+)")
# Layers of the Model Garden's encoders → their names in the original.
_GARDEN = {
    "self_attention/query": "attention/self/query",
    "self_attention/key": "attention/self/key",
    "self_attention/value": "attention/self/value",
    "self_attention/attention_output": "attention/output/dense",
    "self_attention_layer_norm": "attention/output/LayerNorm",
    "intermediate": "intermediate/dense",
    "output": "output/dense",
    "output_layer_norm": "output/LayerNorm",
}
_GARDEN_LAYER = re.compile(r"(?:^|/)transformer/layer_(\d+)/(.+)/(\w+)$")
_GARDEN_OTHERS = {
    "word_embeddings/embeddings": f"{_EMBEDDINGS}/word_embeddings",
    "type_embeddings/embeddings": f"{_EMBEDDINGS}/token_type_embeddings",
    "position_embedding/embeddings": f"{_EMBEDDINGS}/position_embeddings",
    "layer_norm/gamma": f"{_EMBEDDINGS}/LayerNorm/gamma",
    "layer_norm/beta": f"{_EMBEDDINGS}/LayerNorm/beta",
    "pooler_transform/kernel": "bert/pooler/dense/kernel",
    "pooler_transform/bias": "bert/pooler/dense/bias",
}


def _original_name(name: str) -> str | None:
    """Returns the original name of a variable of bert-for-tf2 or of the original; None for
    others."""
    match = _ORIGINAL.search(re.sub(r"_embeddings/embeddings$", "_embeddings", name))
    if match is None:
        return None
    return "bert/" + re.sub(
        r"/intermediate/(kernel|bias)$", r"/intermediate/dense/\1", match["name"]
    )


def _keras_bert_name(name: str) -> str | None:
    """Returns the original name of a variable of keras-bert; None for others."""
    *parts, leaf = name.split("/")
    layer = parts[-1] if parts else ""
    # Some of its layers repeat their own name in the name of the weight.
    leaf = leaf.removeprefix(f"{layer}_")
    match = _KERAS_BERT_LAYER.fullmatch(layer)
    if match is None:
        return _KERAS_BERT.get(layer, {}).get(leaf)
    weight = _KERAS_BERT.get(match[2], {}).get(leaf)
    # It counts its layers from 1.
    return None if weight is None else f"{_LAYER}{int(match[1]) - 1}/{weight}"


def _garden_name(name: str) -> str | None:
    """Returns the original name of a variable of the Model Garden's encoders; None for others."""
    match = _GARDEN_LAYER.search(name)
    if match is not None:
        layer = _GARDEN.get(match[2])
        return None if layer is None else f"{_LAYER}{match[1]}/{layer}/{match[3]}"
    return _GARDEN_OTHERS.get("/".join(name.split("/")[-2:]))


# Translation of the names of a kind of program, and the layout of its tensors.
_KINDS = (
    (_keras_bert_name, ORIGINAL),
    (_garden_name, MODEL_GARDEN),
    (_original_name, ORIGINAL),
)


def read_named_variables(file: TensorFile, names: Iterable[str]) -> CheckpointReader | None:
    """Returns the weights of a file by the names of its variables; None if no encoder's layers are
    among them.

    Args:
      names: keys of the file that may be weights.

    Raises:
      UserError: two variables are the same weight, as in a model of two encoders.
    """
    names = sorted(names)
    for translate, layout in _KINDS:
        keys: dict[str, str] = {}
        doubled = ""
        for name in names:
            original = translate(name.removesuffix(":0"))
            if original in keys:
                doubled = f"{keys[original]} and {name} are both {original}"
            elif original is not None:
                keys[original] = name
        layers = {name.split("/")[2] for name in keys if name.startswith(_LAYER)}
        rows = all_weights(len(layers))
        # Names of embeddings alone are too common to tell what a file is.
        if not layers or WORD_EMBEDDINGS.original not in keys or not set(keys) <= set(rows):
            continue
        if doubled:
            raise UserError(f"{file.path}: {doubled}: save the one encoder that is meant by itself")
        used = set(keys.values())
        return stored_weights(
            f"{file.path} (by the names of its variables)",
            {original: (rows[original], file, name) for original, name in keys.items()},
            {name: (file, name) for name in names if name not in used},
            None,
            layout,
        )
    return None

"""Checkpoints of Hugging Face's transformers: a directory with `config.json` and
`model.safetensors`, or such a file.

Read by the safetensors library alone, which proves that the header fits the file; `tf_model.h5`, of
transformers' TensorFlow classes, by h5py. `pytorch_model.bin` is a pickle, which can run any code:
it is never opened. Their `config.json` has the sizes of our `BertConfig`, other names of the
activations and other defaults.
"""

import os
import re
from collections.abc import Iterable, Mapping

import h5py
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

from bert_common import files, json_files
from bert_common.errors import UserError, in_one_line
from modeling.checkpoints.companion_files import StoredWeights, TensorFile
from modeling.checkpoints.weights import (
    EMBEDDINGS,
    HEADS,
    LAYER,
    POOLER,
    WORD_EMBEDDINGS,
    Weight,
    all_weights,
    check_fits,
    encoder_weights,
    heads_of,
    pooled_weights,
    show_shape,
)
from modeling.config import BertConfig

# Theirs → ours: there "gelu" is the exact form, in the original and here it is the tanh form.
_ACTIVATIONS = {
    "gelu": "gelu_erf",
    "gelu_python": "gelu_erf",
    "gelu_new": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_fast": "gelu",
    "gelu_accurate": "gelu",
    "relu": "relu",
    "tanh": "tanh",
    "linear": "linear",
}
_ACTIVATIONS_BACK = {"gelu_erf": "gelu", "gelu": "gelu_new", "gelu_new": "gelu_new"}

# What BertConfig of transformers assumes where a key is missing.
_DEFAULTS = {**BertConfig(vocab_size=30522, type_vocab_size=2).to_dict(), "layer_norm_eps": 1e-12}
# Kept in `BertConfig.extra`: what a task needs to know. The rest is about files, or about other
# models.
_KEPT = ("id2label", "label2id", "classifier_dropout", "problem_type")
# Without cross-attention, a decoder is a model that attends to the left only.
_CAUSAL = "is_decoder"
# Class there → its heads, by the keys of `model.heads`.
ARCHITECTURES = {
    name: tuple(head.name for head in HEADS.values() if name in head.huggingface_classes)
    for row in HEADS.values()
    for name in row.huggingface_classes
} | {"BertModel": ()}
# The class that predicts the next token.
_CAUSAL_LM = "BertLMHeadModel"
# The layer of a head that several of the classes call so.
_SHARED_LAYER = "classifier"
# The class whose heads are not those of a task.
_PRETRAINING = "BertForPreTraining"
# Key → the only value that leaves BERT what it is.
_REQUIRED = {
    "model_type": "bert",
    "position_embedding_type": "absolute",
    "add_cross_attention": False,
}


def read_config(path: str) -> tuple[BertConfig, str | None]:
    """The configuration in a `config.json`, with label names in `extra`, and the class of the
    model, None where it is unknown. Raises `UserError`: it is not JSON, a value is wrong, or it
    describes another model than BERT.
    """
    values = json_files.read(path)
    if not isinstance(values, Mapping):
        raise UserError(f"{path}: a JSON object is expected")
    for key, required in _REQUIRED.items():
        if values.get(key, required) not in (required, None):
            raise UserError(
                f"{path}: {key} is {values[key]!r}: only BERT can be read, where it is {required!r}"
            )
    activation = values.get("hidden_act", _DEFAULTS["hidden_act"])
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise UserError(
            f"{path}: hidden_act {activation!r} is unknown: it may be {', '.join(_ACTIVATIONS)}"
        )
    kept = {key: values[key] for key in (*_KEPT, _CAUSAL) if values.get(key) is not None}
    sizes = {key: values.get(key, default) for key, default in _DEFAULTS.items()}
    config = BertConfig.from_dict({**sizes, "hidden_act": _ACTIVATIONS[activation], **kept}, path)
    architectures = values.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else None
    # It is shown to users: a name of a class has no line breaks.
    return config, first if isinstance(first, str) and first.isidentifier() else None


def config_values(config: BertConfig, tensors: Mapping[str, tuple[int, ...]]) -> dict[str, object]:
    """The keys of a `config.json` that makes transformers compute what we compute; the shapes of
    the tensors, by original names, determine class and number of labels."""
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
    """The class that reads these weights: that of the task's head, else of the pre-training heads,
    else the bare one."""
    heads = tuple(heads_of(tensors))
    if causal and heads == ARCHITECTURES[_CAUSAL_LM]:
        return _CAUSAL_LM
    for architecture, its_heads in ARCHITECTURES.items():
        if heads == its_heads:
            return architecture
    task_heads = [head for head in heads if head not in ARCHITECTURES[_PRETRAINING]]
    return HEADS[task_heads[0]].huggingface_classes[0]


def _classes(tensors: Mapping[str, tuple[int, ...]]) -> int | None:
    """Classes of the head whose number of classes is free; None where there is none."""
    return next(
        (
            tensors[head.signature_name][0]
            for head in HEADS.values()
            if head.classes is None and not head.parts and tensors.get(head.signature_name)
        ),
        None,
    )


INDEX_SUFFIX = ".safetensors.index.json"
# Kinds of numbers that are exact in float32.
_DTYPES = ("F32", "F16", "BF16")


class SafetensorsFile(TensorFile):
    """A `.safetensors` file, or several by the path of their index; raises `UserError` where one is
    damaged."""

    def __init__(self, path: str):
        super().__init__(path, _DTYPES)
        self._local: dict[str, str] = {}
        weight_map = (
            json_files.read_object(path, {"weight_map": dict[str, str]})["weight_map"]
            if path.endswith(INDEX_SUFFIX)
            else None
        )
        for name in [path] if weight_map is None else sorted({*weight_map.values()}):
            # Whoever made an index does not choose what is read of somebody's disk.
            place = os.path.join(os.path.dirname(path), os.path.basename(name))
            try:
                local = files.local_copy(place, self)
                with safe_open(local, "np") as file:
                    for key in (
                        file.keys()
                        if weight_map is None
                        else (key for key in file.keys() if weight_map.get(key) == name)
                    ):
                        there = file.get_slice(key)
                        self._local[key] = local
                        self.shapes[key], self._dtypes[key] = (
                            tuple(there.get_shape()),
                            there.get_dtype(),
                        )
            except (OSError, SafetensorError) as error:
                reason = (
                    error.strerror
                    if isinstance(error, OSError) and error.strerror
                    else str(error).split("\n")[0]
                )
                raise UserError(
                    f"{place} can't be read as safetensors, it is damaged or incomplete: {reason}"
                ) from None
        for key, name in (weight_map or {}).items():
            if key not in self.shapes:
                raise UserError(f"{path} says that {key!r} is in {name}, but it is not")

    def raw(self, key: str) -> np.ndarray:
        try:
            with safe_open(self._local[key], "np") as file:
                return file.get_tensor(key)
        except (OSError, SafetensorError):
            raise UserError(
                f"{self.path}: {key} can't be read any more, the file has changed"
            ) from None


_H5_DTYPES = ("float32", "float16", "bfloat16")
# What h5py raises for files that are damaged.
_H5_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError)
# In transformers' TensorFlow classes the last part of a variable's name → in PyTorch, as it
# translated them itself.
_PYTORCH_LEAVES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
_KERNELS = ("/kernel:0", "/kernel")


class H5File(TensorFile):
    """An HDF5 file with arrays, read without trusting it: only numbers that lie in the file itself.

    HDF5 can point into other files (external links, external and virtual data sets), with which a
    stranger would choose what is read of somebody's disk: those are refused.
    """

    def __init__(self, path: str):
        super().__init__(path, _H5_DTYPES)
        # Key → name in the file, where they differ.
        self._names: dict[str, str] = {}
        found: dict[str, h5py.Dataset | h5py.Group] = {}
        try:
            self._local = files.local_copy(path, self)
            # No lock: the file may be on a read-only or a network file system.
            with h5py.File(self._local, "r", locking=False) as file:
                file.visititems(found.__setitem__)
                for name, array in found.items():
                    if not isinstance(array, h5py.Dataset):
                        continue
                    if array.external or array.is_virtual:
                        raise UserError(
                            f"{path}: the numbers of {name} are in another file, which is not read"
                        )
                    self.shapes[name] = tuple(array.shape)
                    # Keras keeps bfloat16 in bytes that numpy has no name for.
                    kept_as = array.attrs.get("dtype") if array.dtype == "V2" else None
                    is_bfloat16 = isinstance(kept_as, str) and kept_as == "bfloat16"
                    self._dtypes[name] = "bfloat16" if is_bfloat16 else str(array.dtype)
        except _H5_ERRORS as error:
            raise UserError(
                f"{path} can't be read as HDF5, it is damaged or incomplete: {in_one_line(error)}"
            ) from None

    def raw(self, key: str) -> np.ndarray:
        try:
            with h5py.File(self._local, "r", locking=False) as file:
                values = file[self._names.get(key, key)][()]
        except _H5_ERRORS as error:
            raise UserError(
                f"{self.path}: {key} can't be read, the file is damaged: {in_one_line(error)}"
            ) from None
        if self._dtypes[key] == "bfloat16":
            return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return values


class TransformersH5File(H5File):
    """A file of transformers' TensorFlow classes, `TFBertModel` and `TFBertFor…`: `tf_model.h5`, or
    what Keras 2 saved.

    Keys and orientation of the arrays are those of Hugging Face's PyTorch classes.
    """

    def __init__(self, path: str):
        super().__init__(path)
        stored: dict[str, str] = {}
        for name in self.shapes:
            # bert/tf_bert_model/bert/encoder/layer_._0/attention/self/key/kernel:0
            # → tf_bert_model.bert.encoder.layer.0.attention.self.key.weight, still with the class's
            # own prefix. The first part is the layer of the file, under which some variables of
            # other layers are repeated.
            path_in_file = name.partition("/")[2] or name
            # Some names hold the PyTorch name after three underscores: mlm___cls is cls.
            *parts, leaf = [
                part.rpartition("___")[2] for part in path_in_file.removesuffix(":0").split("/")
            ]
            key = re.sub(
                r"layer_\._(\d+)", r"layer.\1", ".".join([*parts, _PYTORCH_LEAVES.get(leaf, leaf)])
            )
            first = stored.setdefault(key, name)
            # Heads that share the embeddings save them along with their own weights.
            if first != name and not np.array_equal(self.read(first), self.read(name)):
                raise UserError(
                    f"{path}: {first} and {name} are two names of one weight, {key}, and differ"
                )
        self._names = stored
        self.shapes = {
            key: self.shapes[name][::-1] if name.endswith(_KERNELS) else self.shapes[name]
            for key, name in stored.items()
        }
        self._dtypes = {key: self._dtypes[name] for key, name in stored.items()}

    def raw(self, key: str) -> np.ndarray:
        values = super().raw(key)
        return values.T if self._names.get(key, key).endswith(_KERNELS) else values


CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
# What the names of the encoder's weights begin with in classes with heads; alone it has none.
_PREFIX = "bert."
_PARTS = tuple(
    dict.fromkeys(
        weight.huggingface.split(".")[1] + "." for weight in (*EMBEDDINGS, *LAYER, *POOLER)
    )
)
_LAYER = re.compile(re.escape(LAYER[0].huggingface.partition("{layer}")[0]) + r"(\d{1,6})\.")
_BARE_WORD_EMBEDDINGS = WORD_EMBEDDINGS.huggingface.removeprefix(_PREFIX)
# Copies of weights that some versions save along: name → the weight that it must be the same as.
_OUTPUT_BIAS = HEADS["masked_lm"].weights[-1]
_COPIES = {
    "cls.predictions.decoder.weight": WORD_EMBEDDINGS,
    "cls.predictions.decoder.bias": _OUTPUT_BIAS,
}
# Numbers 0, 1, 2... and zeros that old versions saved along.
_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")


def read_huggingface(path: str) -> StoredWeights:
    """The weights of a `.safetensors` file, an index of several, or an `.h5` file of transformers'
    TensorFlow classes.

    Raises:
      UserError: a file is missing or damaged, holds no BERT, or `config.json` contradicts the
        tensors.
    """
    config_file = os.path.join(os.path.dirname(path) or ".", CONFIG_FILE)
    config, architecture = read_config(config_file) if files.exists(config_file) else (None, None)
    file = TransformersH5File(path) if path.endswith(".h5") else SafetensorsFile(path)
    # What the names of each encoder begin with: one in a BERT, two in a model of two towers.
    encoders = sorted(
        key.removesuffix(_BARE_WORD_EMBEDDINGS)
        for key in file.shapes
        if key == _BARE_WORD_EMBEDDINGS or key.endswith("." + _BARE_WORD_EMBEDDINGS)
    )
    if len(encoders) > 1:
        raise UserError(
            f"{path} holds {len(encoders)} encoders ({', '.join(map(repr, encoders))}): save the one that is "
            "meant by itself"
        )
    if not encoders:
        raise UserError(f"{path} holds no BERT: there is no {_BARE_WORD_EMBEDDINGS} in it")
    keys = _plain_keys(path, file.shapes, encoders[0])
    # The projection to the vocabulary is the word embedding table; what is saved twice must be the
    # same.
    for copy, weight in _COPIES.items():
        if copy in keys:
            copied, first = keys[copy], keys.setdefault(weight.huggingface, keys[copy])
            if copied != first and not np.array_equal(file.read(copied), file.read(first)):
                raise UserError(f"{path}: {copied} differs from {first}: in BERT they are the same")
    rows = {weight.original: weight for weight in _rows(keys, architecture)}
    stored = {
        name: keys[weight.huggingface]
        for name, weight in rows.items()
        if weight.huggingface in keys
    }
    tensors: dict[str, tuple[int, ...]] = {}
    for name, key in stored.items():
        file.check_dtype(key)
        tensors[name] = shape = file.shapes[key]
        if rows[name].huggingface_transposed:
            if len(shape) != 2:
                raise UserError(f"{path}: {key} is {show_shape(shape)}, a matrix is expected")
            tensors[name] = shape[::-1]
    if config is not None:
        check_fits(config, tensors, path)
        if config.causal and (pooled := pooled_weights(tensors)):
            raise UserError(
                f"{path}: is_decoder is true and {pooled[0]} is there: Hugging Face's pooler reads the first "
                "token, which in such a model sees nothing but itself, and ours the last: save the model as a "
                "class without a pooler, such as BertLMHeadModel"
            )
        classes, labels = _classes(tensors), config.extra.get("id2label")
        if (
            classes is not None
            and labels is not None
            and (not isinstance(labels, Mapping) or {*labels} != {*map(str, range(classes))})
        ):
            raise UserError(
                f"{config_file}: id2label must name the classes 0...{classes - 1} of the head, each once"
            )
    read_already = {
        *stored.values(),
        *(keys[name] for name in (*_COPIES, *_BUFFERS) if name in keys),
    }
    unused = {key: file.shapes[key] for key in keys.values() if key not in read_already}

    def read(name: str) -> np.ndarray:
        values = file.read(stored.get(name, name))
        return (
            np.ascontiguousarray(values.T)
            if name in stored and rows[name].huggingface_transposed
            else values
        )

    return StoredWeights(
        description=f"{path} (Hugging Face{', ' + architecture if architecture else ''})",
        tensors=tensors | unused,
        read=read,
        config=config,
    )


def write_huggingface(
    directory: str, weights: Mapping[str, np.ndarray], config: BertConfig
) -> None:
    """`model.safetensors` and `config.json`; raises `UserError` for two heads which that format
    calls alike."""
    alike = [head for head in heads_of(weights) if HEADS[head].huggingface_layer == _SHARED_LAYER]
    if len(alike) > 1:
        raise UserError(
            f"Hugging Face calls the heads {' and '.join(alike)} alike ({_SHARED_LAYER}): a checkpoint with "
            "both can't be written in that format"
        )
    values = config_values(config, {name: value.shape for name, value in weights.items()})
    # The names of the bare encoder have no prefix.
    prefix = "" if values["architectures"] == ["BertModel"] else _PREFIX
    rows = all_weights(config.num_hidden_layers)
    tensors = {
        re.sub(f"^{re.escape(_PREFIX)}", prefix, rows[name].huggingface): np.ascontiguousarray(
            value.T if rows[name].huggingface_transposed else value
        )
        for name, value in weights.items()
    }
    # As PyTorch's programs expect it.
    path, metadata = os.path.join(directory, WEIGHTS_FILE), {"format": "pt"}
    if files.is_remote(path):
        with files.open_file(path, "wb") as file:
            file.write(save(tensors, metadata=metadata))
    else:
        try:
            # Without a copy of all tensors in memory, which `save` makes.
            save_file(tensors, path, metadata=metadata)
            os.chmod(path, 0o666 & ~files.current_umask())
        except SafetensorError as error:
            raise OSError(str(error)) from None
    json_files.write(os.path.join(directory, CONFIG_FILE), values)


def _rows(keys: Iterable[str], architecture: str | None) -> list[Weight]:
    """The rows of the table of weights that a file with these plain names, of a class or None, can
    have.

    Of several heads of one name it is that of the class; without one the pooler decides, which only
    some classes have.
    """
    layers = sorted({int(match[1]) for key in keys if (match := _LAYER.match(key))})
    reads = (
        "pooled_output"
        if any(weight.huggingface in keys for weight in POOLER)
        else "sequence_output"
    )
    named = ARCHITECTURES.get(architecture or "", ())
    alike = [head for head in HEADS.values() if head.huggingface_layer == _SHARED_LAYER]
    heads = [
        *(head for head in HEADS.values() if head not in alike),
        max(alike, key=lambda head: (head.name in named, head.reads == reads)),
    ]
    return [*encoder_weights(layers), *(weight for head in heads for weight in head.weights)]


def _plain_keys(path: str, keys: Iterable[str], body: str) -> dict[str, str]:
    """Names as Hugging Face's classes with heads write them today → the keys that mean them.

    Prefixes differ ("bert.", "model.", "model.bert.", none), that of the encoder is `body`; gamma
    and beta were called so at first.
    """
    outer = body.removesuffix(_PREFIX)
    plain: dict[str, str] = {}
    for key in keys:
        name = key
        if key.startswith(tuple(body + part for part in _PARTS)):
            name = _PREFIX + key.removeprefix(body)
        elif outer and key.startswith(outer):
            name = key.removeprefix(outer)
        name = re.sub(
            r"LayerNorm\.gamma$",
            "LayerNorm.weight",
            re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name),
        )
        if plain.setdefault(name, key) != key:
            raise UserError(
                f"{path}: {' and '.join(sorted([plain[name], key]))} are two names of one weight, {name}"
            )
    return plain

"""Checkpoints of Hugging Face's transformers: a directory with `config.json` and
`model.safetensors`, or such a file.

`.safetensors` are read by the safetensors library, which proves that the header fits the file;
`tf_model.h5`, of transformers' TensorFlow classes, by h5py. `pytorch_model.bin` is a pickle, which
can run any code: it is never opened. `config.json` has the sizes of our `BertConfig`, with other
names of the activations and other defaults.

Input: the path of a file, with `config.json` beside it. Output: `CheckpointReader`; or the other
way round. `read_huggingface` gives every key its row of the table of weights.
"""

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import h5py
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save, save_file

from bert_common import files, json_files
from bert_common.errors import UserError, in_one_line, listed
from data_gen.tokenization.settings import (
    ABOUT_FILES,
    ABOUT_GENERATION,
    ABOUT_OUTPUTS,
    ABOUT_TRAINING,
    Applied,
    Rule,
    check_keys,
)
from modeling.checkpoints.reader import CheckpointReader, RenamedFile, TensorFile, stored_weights
from modeling.checkpoints.variable_names import read_named_variables
from modeling.checkpoints.weights import (
    HEADS,
    HUGGINGFACE,
    LAYER,
    POOLER,
    WORD_EMBEDDINGS,
    Weight,
    all_weights,
    encoder_weights,
    heads_of,
    pooled_weights,
)
from modeling.config import BertConfig

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
INDEX_SUFFIX = ".safetensors.index.json"

# Hugging Face's name → ours: "gelu" is the exact form there and the tanh form here and in the
# original.
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
# Defaults of transformers' BertConfig for missing keys.
_DEFAULTS = {**BertConfig(vocab_size=30522, type_vocab_size=2).to_dict(), "layer_norm_eps": 1e-12}
# Keys that a task needs, for `BertConfig.extra`, and `is_decoder`: a decoder without
# cross-attention is a left-to-right model. Other keys are about files, or about other models.
_KEPT_KEYS: dict[str, Rule] = {
    "id2label": Applied(dict | None),
    "label2id": Applied(dict | None),
    "classifier_dropout": Applied(float | None),
    "problem_type": (
        None,
        "regression",
        "single_label_classification",
        "multi_label_classification",
    ),
    "is_decoder": Applied(bool | None),
    # The activation of a re-ranker of sentence-transformers, in its versions from 4 on and before.
    "sentence_transformers": Applied(dict | None),
    "sbert_ce_default_activation_function": Applied(str | None),
}
_TIED = "tie_word_embeddings"
# Keys of `config.json` with the only values that leave BERT what it is, see `check_keys`.
_KEYS: dict[str, Rule] = {
    # `BertConfig` has their types and ranges.
    **dict.fromkeys(_DEFAULTS, Applied()),
    **_KEPT_KEYS,
    "model_type": (None, "bert"),
    "position_embedding_type": (None, "absolute"),
    "add_cross_attention": (None, False),
    "is_encoder_decoder": (None, False),
    # Only a head that scores the vocabulary reads it.
    _TIED: Applied(bool | None),
    "pruned_heads": (None, {}),
    # Weights in integers, and layers beside BERT's.
    "quantization_config": (None,),
    "adapters": (None,),
    "architectures": Applied(list[str] | None),
    **dict.fromkeys(
        (
            "_attn_implementation",
            "_name_or_path",
            "attn_implementation",
            "auto_map",
            "chunk_size_feed_forward",
            "custom_pipelines",
            "finetuning_task",
            "language",
            "name",
            "name_or_path",
            "tokenizer_class",
            "torchscript",
            "transformers_version",
            "xla_device",
        ),
        ABOUT_FILES,
    ),
    **dict.fromkeys(("dtype", "torch_dtype", "use_bfloat16"), "the arrays say it"),
    **dict.fromkeys(("_num_labels", "num_labels"), "the head's shape says it"),
    "gradient_checkpointing": ABOUT_TRAINING,
    **dict.fromkeys(
        (
            "bos_token_id",
            "cls_token_id",
            "decoder_start_token_id",
            "eos_token_id",
            "mask_token_id",
            "model_max_length",
            "pad_token_id",
            "sep_token_id",
        ),
        "the tokenizer says it",
    ),
    **dict.fromkeys(
        (
            "cross_attention_hidden_size",
            "directionality",
            "pooler_fc_size",
            "pooler_num_attention_heads",
            "pooler_num_fc_layers",
            "pooler_size_per_head",
            "pooler_type",
        ),
        "BERT does not read it",
    ),
    **dict.fromkeys(
        (
            "output_attentions",
            "output_hidden_states",
            "output_past",
            "return_dict",
            "use_cache",
            "use_return_dict",
        ),
        ABOUT_OUTPUTS,
    ),
    **dict.fromkeys(("prefix", "task_specific_params"), ABOUT_GENERATION),
}
# Generation of text, which old versions of transformers set for every model.
_GENERATION = re.compile(
    r"do_sample|early_stopping|.*_beams?|.*_beam_groups|(min|max)_length|.*penalty|.*ngram_size"
    r"|temperature|top_[kp]|typical_p|bad_words_ids|num_return_sequences|output_scores"
    r"|return_dict_in_generate|forced_[be]os_token_id|remove_invalid_values|.*decay.*"
    r"|suppress_tokens|begin_suppress_tokens|tf_legacy_loss"
).fullmatch

# The class that predicts the next token.
_CAUSAL_LM = "BertLMHeadModel"
# The class whose heads belong to no task.
_PRETRAINING = "BertForPreTraining"
# Name of the layer that several classes have as their head.
_SHARED_LAYER = "classifier"

# Types of numbers that are exact in float32.
_DTYPES = ("F32", "F16", "BF16")
_H5_DTYPES = ("float32", "float16", "bfloat16")
# Whole models of Keras 2 hold their optimizer, too.
_OPTIMIZER = "optimizer_weights/"
# A packed array is at most so many times as large as its bytes in the file, unless it is small.
_MOST_PACKED = 100
_SMALL_BYTES = 1 << 20
# Errors of h5py for damaged files.
_H5_ERRORS = (OSError, ValueError, KeyError, RuntimeError, TypeError)
# Last part of a variable's name in the TensorFlow classes → in PyTorch.
_PYTORCH_LEAVES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
_KERNELS = ("/kernel:0", "/kernel")

# Prefix of the encoder's weights in classes with heads; the bare encoder has none.
_PREFIX = "bert."
_PARTS = ("embeddings.", "encoder.", "pooler.")
_LAYER = re.compile(re.escape(LAYER[0].huggingface.partition("{layer}")[0]) + r"(\d{1,6})\.")
_BARE_WORD_EMBEDDINGS = WORD_EMBEDDINGS.huggingface.removeprefix(_PREFIX)
# Copies of weights that some versions save along: name → the weight that it must equal.
_COPIES = {
    "cls.predictions.decoder.weight": WORD_EMBEDDINGS,
    "cls.predictions.decoder.bias": HEADS["masked_lm"].weights[-1],
}
# Numbers 0, 1, 2... and zeros that old versions saved along.
_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")


def _architectures() -> dict[str, tuple[str, ...]]:
    """Returns class → its heads, by the keys of `model.heads`."""
    heads: dict[str, tuple[str, ...]] = {}
    for head in HEADS.values():
        for name in head.huggingface_classes:
            heads[name] = (*heads.get(name, ()), head.name)
    return {**heads, "BertModel": ()}


ARCHITECTURES = _architectures()


class HuggingFaceConfig(NamedTuple):
    """Contents of a `config.json`.

    Attributes:
      config: the configuration, with label names in `extra`.
      architecture: the class of the model; None if unknown.
      notes: a line that names unknown keys, or none.
    """

    config: BertConfig
    architecture: str | None
    notes: tuple[str, ...]


def read_config(path: str) -> HuggingFaceConfig:
    """Reads a `config.json`.

    Raises:
      UserError: it is not JSON, a value is wrong, or it describes another model than BERT.
    """
    values = json_files.read(path)
    if not isinstance(values, Mapping):
        raise UserError(f"{path}: a JSON object is expected")
    described = {key: value for key, value in values.items() if not _GENERATION(key)}
    note = check_keys(described, _KEYS, path, "BERT")
    # A missing key has transformers' default, which differs from the original's.
    config_values = {key: values.get(key, default) for key, default in _DEFAULTS.items()}
    activation = config_values["hidden_act"]
    if not isinstance(activation, str) or activation not in _ACTIVATIONS:
        raise UserError(
            f"{path}: hidden_act {activation!r} is unknown: it may be {', '.join(_ACTIVATIONS)}"
        )
    config_values["hidden_act"] = _ACTIVATIONS[activation]
    for key in _KEPT_KEYS:
        if values.get(key) is not None:
            config_values[key] = values[key]
    config = BertConfig.from_dict(config_values, path)
    # Messages show it, so it must be a name, without line breaks.
    architecture = next(iter(values.get("architectures") or ()), "")
    if not architecture.isidentifier():
        architecture = None
    return HuggingFaceConfig(config, architecture, (note,) if note else ())


def config_values(
    config: BertConfig, tensors: Mapping[str, tuple[int, ...]], pad_id: int = 0
) -> dict[str, object]:
    """Returns the keys of a `config.json` that makes transformers compute the same.

    Args:
      tensors: original name → shape, which determine class and number of labels.
      pad_id: id of [PAD] in the vocabulary.
    """
    values = {
        "architectures": [architecture_of(tensors, config.causal)],
        "model_type": "bert",
        **config.to_dict(),
        "hidden_act": _ACTIVATIONS_BACK.get(config.hidden_act, config.hidden_act),
        "layer_norm_eps": config.layer_norm_epsilon,
        # CTranslate2 asks for it; transformers 5 has no default.
        "position_embedding_type": "absolute",
        "pad_token_id": pad_id,
        "tie_word_embeddings": True,
        "dtype": "float32",
    }
    # Without the key transformers takes the rate of the layers.
    if config.classifier_dropout != config.hidden_dropout_prob:
        values["classifier_dropout"] = config.classifier_dropout
    classes = _classes(tensors)
    if classes is not None and "id2label" not in values:
        # By default transformers assumes two labels.
        values["id2label"] = {str(index): f"LABEL_{index}" for index in range(classes)}
        values["label2id"] = {f"LABEL_{index}": index for index in range(classes)}
    return values


def architecture_of(tensors: Iterable[str], causal: bool = False) -> str:
    """Returns the class that reads these weights: by the task's head, else by the pre-training
    heads, else the bare one."""
    # A masked-LM head predicts the next token if the model is left-to-right.
    heads = tuple(heads_of(tensors))
    if causal and heads == ARCHITECTURES[_CAUSAL_LM]:
        return _CAUSAL_LM
    for architecture, its_heads in ARCHITECTURES.items():
        if heads == its_heads:
            return architecture
    task_heads = [name for name in heads if name not in ARCHITECTURES[_PRETRAINING]]
    return HEADS[task_heads[0]].huggingface_classes[0]


def _classes(tensors: Mapping[str, tuple[int, ...]]) -> int | None:
    """Returns C of the head whose number of classes is free; None without such a head."""
    for head in HEADS.values():
        shape = tensors.get(head.signature_name)
        if head.has_free_classes and shape:
            return shape[0]
    return None


class SafetensorsFile(TensorFile):
    """A `.safetensors` file, or several by the path of their index.

    Raises:
      UserError: a file is damaged, or is missing a tensor of the index.
    """

    def __init__(self, path: str):
        super().__init__(path, _DTYPES)
        self._local: dict[str, str] = {}
        if not path.endswith(INDEX_SUFFIX):
            self._open(path)
            return
        # The index says which file has a tensor; an older part may hold tensors of the same name.
        index = json_files.read_object(path, {"weight_map": dict[str, str]})
        weight_map = index["weight_map"]
        self.check_count(len(weight_map))
        keys_of: dict[str, set[str]] = {}
        for key, name in weight_map.items():
            keys_of.setdefault(name, set()).add(key)
        for name, keys in sorted(keys_of.items()):
            # An index must not choose files outside its own directory.
            self._open(os.path.join(os.path.dirname(path), os.path.basename(name)), keys)
        for key, name in weight_map.items():
            if key not in self.shapes:
                raise UserError(f"{path} says that {key!r} is in {name}, but it is not")

    def _open(self, path: str, keys: set[str] | None = None) -> None:
        """Reads the header of a file: of all its tensors, or of those with these keys."""
        try:
            local = files.local_copy(path, self)
            self.watch(local)
            with safe_open(local, "np") as file:
                names = file.keys()
                self.check_count(len(names))
                for key in names:
                    if keys is None or key in keys:
                        tensor = file.get_slice(key)
                        self._local[key] = local
                        self.shapes[key] = tuple(tensor.get_shape())
                        self._dtypes[key] = tensor.get_dtype()
        except (OSError, SafetensorError) as error:
            reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
            raise UserError(
                f"{path} can't be read as safetensors, it is damaged or incomplete: {reason}"
            ) from None

    def raw(self, key: str) -> np.ndarray:
        self.check_same_file(self._local[key])
        try:
            with safe_open(self._local[key], "np") as file:
                return file.get_tensor(key)
        except (OSError, SafetensorError):
            raise UserError(
                f"{self.path}: {key} can't be read any more, the file has changed"
            ) from None


class H5File(TensorFile):
    """An HDF5 file with arrays, read without trusting it: only numbers in the file itself.

    HDF5 can point into other files (external links, external and virtual data sets), with which a
    stranger would choose the files that are read: those are refused.
    """

    def __init__(self, path: str):
        super().__init__(path, _H5_DTYPES)
        objects: dict[str, h5py.Dataset | h5py.Group] = {}
        try:
            self._local = files.local_copy(path, self)
            self.watch(self._local)
            # No lock: the file may be on a read-only or a network file system.
            with h5py.File(self._local, "r", locking=False) as file:

                def keep(name: str, entry: h5py.Dataset | h5py.Group) -> None:
                    objects[name] = entry
                    self.check_count(len(objects))

                file.visititems(keep)
                for name, array in objects.items():
                    if isinstance(array, h5py.Dataset):
                        self._add(name, array)
        except _H5_ERRORS as error:
            raise UserError(
                f"{path} can't be read as HDF5, it is damaged or incomplete: {in_one_line(error)}"
            ) from None

    def _add(self, name: str, array: h5py.Dataset) -> None:
        """Keeps shape and type of a data set."""
        if array.external or array.is_virtual:
            raise UserError(
                f"{self.path}: the numbers of {name} are in another file, which is not read"
            )
        self.shapes[name] = () if array.shape is None else tuple(array.shape)
        self._dtypes[name] = str(array.dtype)
        # HDF5 fills up what was never written, however large it is said to be.
        stored_bytes = array.id.get_storage_size()
        if array.id.get_create_plist().get_nfilters():
            stored_bytes = _MOST_PACKED * stored_bytes + _SMALL_BYTES
        if array.shape is not None:
            self.check_stored(name, array.nbytes, stored_bytes)
        # Keras keeps bfloat16 in two bytes that numpy has no name for, and notes the type.
        if array.dtype == "V2" and str(array.attrs.get("dtype")) == "bfloat16":
            self._dtypes[name] = "bfloat16"

    def raw(self, key: str) -> np.ndarray:
        self.check_same_file(self._local)
        try:
            with h5py.File(self._local, "r", locking=False) as file:
                values = file[key][()]
        except _H5_ERRORS as error:
            raise UserError(
                f"{self.path}: {key} can't be read, the file is damaged: {in_one_line(error)}"
            ) from None
        if self._dtypes[key] == "bfloat16":
            # The upper half of a float32.
            return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        return values


class TransformersFile(RenamedFile):
    """The variables of transformers' TensorFlow classes, `TFBertModel` and `TFBertFor…`: in
    `tf_model.h5`, in a file that Keras 2 saved, or in a SavedModel.

    Keys and orientation of the arrays are as in Hugging Face's PyTorch classes.
    """

    def __init__(self, file: TensorFile):
        keys: dict[str, str] = {}
        for name in file.shapes:
            first = keys.setdefault(_pytorch_key(name), name)
            # Heads that share the embeddings save them along with their own weights.
            if first != name and not np.array_equal(file.raw(first), file.raw(name)):
                raise UserError(
                    f"{file.path}: {first} and {name} are two names of one weight, "
                    f"{_pytorch_key(name)}, and differ"
                )
        super().__init__(file, keys)
        for key, name in keys.items():
            # PyTorch multiplies by the transpose of a matrix.
            if name.endswith(_KERNELS):
                self.shapes[key] = self.shapes[key][::-1]

    def raw(self, key: str) -> np.ndarray:
        values = super().raw(key)
        if self._keys[key].endswith(_KERNELS):
            return values.T
        return values


def _pytorch_key(name: str) -> str:
    """Returns the name in Hugging Face's PyTorch classes of a variable of the TensorFlow classes,
    still with the class's own prefix.

        bert/tf_bert_model/bert/encoder/layer_._0/attention/self/key/kernel:0
        → tf_bert_model.bert.encoder.layer.0.attention.self.key.weight
    """
    # The first part is the layer of the file, below which some variables of other layers are
    # repeated.
    path = name.partition("/")[2] or name
    *parts, leaf = path.removesuffix(":0").split("/")
    parts.append(_PYTORCH_LEAVES.get(leaf, leaf))
    # Some names hold the PyTorch name after three underscores: mlm___cls is cls.
    key = ".".join(part.rpartition("___")[2] for part in parts)
    return re.sub(r"layer_\._(\d+)", r"layer.\1", key)


def read_huggingface(path: str) -> CheckpointReader:
    """Returns the weights of a `.safetensors` file, an index of several, or an `.h5` file of
    transformers' TensorFlow classes or of other programs of Keras 2.

    Raises:
      UserError: a file is missing or damaged, holds no BERT, or `config.json` contradicts the
        tensors.
    """
    if not path.endswith(".h5"):
        return read_tensors(path, SafetensorsFile(path))
    file = H5File(path)
    names = [name for name in file.shapes if not name.startswith(_OPTIMIZER)]
    weights = read_named_variables(file, names)
    if weights is not None:
        return weights
    return read_tensors(path, TransformersFile(file))


def read_tensors(path: str, file: TensorFile) -> CheckpointReader:
    """Returns the weights of an open file with Hugging Face's keys; `config.json` is looked for
    beside its path."""
    config = architecture = None
    notes: tuple[str, ...] = ()
    # A file of weights alone can be read, too, with the configuration of --bert_config_file.
    config_file = os.path.join(os.path.dirname(path), CONFIG_FILE)
    if files.exists(config_file):
        config, architecture, notes = read_config(config_file)
    keys = _plain_keys(path, file.shapes)
    for copy, weight in _COPIES.items():
        if copy in keys:
            first = keys.setdefault(weight.huggingface, keys[copy])
            if keys[copy] != first and not np.array_equal(file.read(keys[copy]), file.read(first)):
                raise UserError(
                    f"{path}: {keys[copy]} differs from {first}: in BERT they are the same"
                )
    placed = {}
    used = set()
    for weight in _rows(keys, architecture):
        if weight.huggingface in keys:
            key = keys[weight.huggingface]
            placed[weight.original] = (weight, file, key)
            used.add(key)
    for name in (*_COPIES, *_BUFFERS):
        used.add(keys.get(name, name))
    unused = {key: (file, key) for key in keys.values() if key not in used}
    description = f"{path} (Hugging Face{', ' + architecture if architecture else ''})"
    checkpoint = stored_weights(description, placed, unused, config, HUGGINGFACE)
    if config is not None:
        _check_config(config, checkpoint, config_file)
        is_tied = json_files.read_object(config_file).get(_TIED)
        if is_tied is False and "masked_lm" in checkpoint.heads:
            raise UserError(
                f"{config_file}: {_TIED} is False: only BERT can be read, where a masked-LM head "
                "scores with the embeddings of the words"
            )
    return dataclasses.replace(checkpoint, notes=notes)


def _check_config(config: BertConfig, checkpoint: CheckpointReader, config_file: str) -> None:
    """Raises `UserError` for a left-to-right model with a pooler, and for label names that do not
    fit the head's classes."""
    pooled = pooled_weights(checkpoint.tensors)
    if config.causal and pooled:
        raise UserError(
            f"{checkpoint.description}: is_decoder is true and {pooled[0]} is there: Hugging "
            "Face's pooler reads the first token, which in such a model sees nothing but itself, "
            "and ours the last: save the model as a class without a pooler, such as BertLMHeadModel"
        )
    classes = _classes(checkpoint.tensors)
    labels = config.extra.get("id2label")
    if classes is None or labels is None:
        return
    expected = {str(number) for number in range(classes)}
    if not isinstance(labels, Mapping) or set(labels) != expected:
        raise UserError(
            f"{config_file}: id2label must name the classes 0...{classes - 1} of the head, each "
            "once"
        )


def _plain_keys(path: str, keys: Iterable[str]) -> dict[str, str]:
    """Returns names as Hugging Face's classes with heads write them today → the keys of a file that
    mean them.

    Prefixes differ ("bert.", "model.", "model.bert.", none), and gamma and beta were called so at
    first.
    """
    encoders = []
    for key in keys:
        if ".lora_A." in key or ".base_layer." in key:
            raise UserError(
                f"{path} has LoRA matrices beside the weights ({key}), which are not merged: save "
                "the result of model.merge_and_unload()"
            )
        if key == _BARE_WORD_EMBEDDINGS or key.endswith("." + _BARE_WORD_EMBEDDINGS):
            encoders.append(key.removesuffix(_BARE_WORD_EMBEDDINGS))
    if not encoders:
        raise UserError(f"{path} holds no BERT: there is no {_BARE_WORD_EMBEDDINGS} in it")
    if len(encoders) > 1:
        # A model of two towers: which one is meant can't be guessed.
        raise UserError(
            f"{path} holds {len(encoders)} encoders ({listed(sorted(encoders), repr)}): save the "
            "one that is meant by itself"
        )
    body = encoders[0]
    outer = body.removesuffix(_PREFIX)
    plain: dict[str, str] = {}
    for key in keys:
        # Heads are beside the encoder, below the prefix of the whole model.
        if key.startswith(body) and key.removeprefix(body).startswith(_PARTS):
            name = _PREFIX + key.removeprefix(body)
        else:
            name = key.removeprefix(outer)
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        if plain.setdefault(name, key) != key:
            raise UserError(
                f"{path}: {' and '.join(sorted([plain[name], key]))} are two names of one weight, "
                f"{name}"
            )
    return plain


def _rows(keys: Iterable[str], architecture: str | None) -> list[Weight]:
    """Returns the rows of the table of weights that a file with these plain names can have.

    Several heads share a name: the architecture decides; without one the pooler, which only some
    classes have.
    """
    layers = set()
    for key in keys:
        match = _LAYER.match(key)
        if match:
            layers.add(int(match[1]))
    reads = "sequence_output"
    for weight in POOLER:
        if weight.huggingface in keys:
            reads = "pooled_output"
    rows = encoder_weights(sorted(layers))
    sharing = []
    for head in HEADS.values():
        if head.huggingface_layer == _SHARED_LAYER:
            sharing.append(head)
        else:
            rows += head.weights
    named = () if architecture is None else ARCHITECTURES.get(architecture, ())
    return rows + max(sharing, key=lambda head: (head.name in named, head.reads == reads)).weights


def write_huggingface(
    directory: str, weights: Mapping[str, np.ndarray], config: BertConfig, pad_id: int = 0
) -> None:
    """Writes `model.safetensors` and `config.json`; raises `UserError` for two heads of the same
    name in that format."""
    heads = heads_of(weights)
    sharing = [name for name in heads if HEADS[name].huggingface_layer == _SHARED_LAYER]
    if len(sharing) > 1:
        raise UserError(
            f"Hugging Face calls the heads {' and '.join(sharing)} alike ({_SHARED_LAYER}): a "
            "checkpoint with both can't be written in that format"
        )
    # The class is chosen by the heads that are written, not by the model's.
    shapes = {name: value.shape for name, value in weights.items()}
    values = config_values(config, shapes, pad_id)
    rows = all_weights(config.num_hidden_layers)
    # The class without heads has no prefix.
    prefix = _PREFIX if values["architectures"] == ["BertModel"] else ""
    tensors = {}
    for name, value in weights.items():
        key = rows[name].huggingface.removeprefix(prefix)
        tensors[key] = rows[name].from_original(value, HUGGINGFACE, config.num_attention_heads)
    path = os.path.join(directory, WEIGHTS_FILE)
    # PyTorch's programs expect this entry.
    metadata = {"format": "pt"}
    if files.is_remote(path):
        with files.open_file(path, "wb") as file:
            file.write(save(tensors, metadata=metadata))
    else:
        try:
            # `save` would make a copy of all tensors in memory.
            save_file(tensors, path, metadata=metadata)
            os.chmod(path, 0o666 & ~files.current_umask())
        except SafetensorError as error:
            raise OSError(str(error)) from None
    json_files.write(os.path.join(directory, CONFIG_FILE), values)

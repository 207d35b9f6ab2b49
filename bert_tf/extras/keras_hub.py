"""Weights of KerasHub's (earlier KerasNLP's) BERT: a preset directory, or a `.weights.h5` file.

  config.json                          sizes of the `BertBackbone`
  model.weights.h5                     its weights
  task.weights.h5                      of a `BertTextClassifier` or `BertMaskedLM`: those of the
  head tokenizer.json, assets/tokenizer/    casing and vocabulary

`save_weights` of a task writes encoder and head into one file. Keras names the layers in these
files by their classes.
"""

import dataclasses
import os
import re
from collections.abc import Collection

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import StoredWeights
from modeling.checkpoints.huggingface import H5File
from modeling.checkpoints.model_garden import stored_weights
from modeling.checkpoints.weights import HEADS, WORD_EMBEDDINGS, Weight, encoder_weights
from modeling.config import BertConfig

_CONFIG_FILE = "config.json"
_TOKENIZER_FILE = "tokenizer.json"
_VOCAB_FILE = os.path.join("assets", "tokenizer", "vocabulary.txt")
_MODEL_FILE, _TASK_FILE = "model.weights.h5", "task.weights.h5"
# Theirs → ours. Everything else of a `BertBackbone` is fixed: tanh GELU, an epsilon of 1e-12.
_SIZES = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
_LAYERS = "layers/"
# Not weights: the optimizer's state, seeds, the tokenizer.
_NOT_WEIGHTS = re.compile(r"^(optimizer|preprocessor)/|seed_generator")


def read_keras_hub(path: str) -> StoredWeights:
    """Everything that lies beside the encoder's file, `model.weights.h5` in a preset directory, or
    in one file of any name; raises `UserError` where it is damaged, holds no BERT of KerasHub, or
    `config.json` contradicts the tensors."""
    directory = os.path.dirname(path) or "."
    paths = [path]
    if os.path.basename(path) == _MODEL_FILE and files.exists(os.path.join(directory, _TASK_FILE)):
        paths.append(os.path.join(directory, _TASK_FILE))
    # (number of the file, path as today's KerasHub writes it) → (file, path in it).
    stored = {
        (number, _plain(name)): (file, name)
        for number, file in enumerate(map(H5File, paths))
        for name in file.shapes
        if not _NOT_WEIGHTS.search(name)
    }
    rows = _rows(path, stored)
    for key in rows:
        file, name = stored[key]
        file.check_dtype(name)
    tokenizer_settings = json_files.read_object(os.path.join(directory, _TOKENIZER_FILE)).get(
        "config"
    )
    lowercase = (
        tokenizer_settings.get("lowercase") if isinstance(tokenizer_settings, dict) else None
    )
    config, config_file = None, os.path.join(directory, _CONFIG_FILE)
    if files.exists(config_file):
        record = json_files.read_object(config_file)
        if record.get("class_name") != "BertBackbone":
            raise UserError(
                f"{config_file}: class_name is {record.get('class_name')!r}: only KerasHub's BertBackbone can be "
                "read"
            )
        json_files.check_object(record, {"config": dict.fromkeys(_SIZES, int)}, config_file)
        dropout = record["config"].get("dropout", 0.1)
        config = BertConfig.from_dict(
            {ours: record["config"][theirs] for theirs, ours in _SIZES.items()}
            | {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout},
            config_file,
        )
    weights = stored_weights(
        f"{path} (KerasHub)",
        {row.original: (row, *stored[key]) for key, row in rows.items()},
        {name: (file, name) for key, (file, name) in stored.items() if key not in rows},
        config,
    )
    vocab_file = os.path.join(directory, _VOCAB_FILE)
    return dataclasses.replace(
        weights,
        vocab_file=vocab_file if files.exists(vocab_file) else None,
        do_lower_case=lowercase if isinstance(lowercase, bool) else None,
    )


def _plain(name: str) -> str:
    """A path as today's KerasHub writes it, with a number for each of the encoder's layers.

    Keras 2 called the layers of a model "_layer_checkpoint_dependencies", and the parts of
    attention had an underscore.
    """
    name = name.replace("\\", "/").replace("_layer_checkpoint_dependencies/", _LAYERS)
    name = re.sub(
        r"_self_attention_layer/_(query|key|value|output)_dense/",
        r"_self_attention_layer/\1_dense/",
        name,
    )
    return re.sub(r"(^|/)transformer_encoder/", r"\1transformer_encoder_0/", name)


def _rows(path: str, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Weight]:
    """Key → the row of the table of weights that it is.

    Keys are (number of the file, path in it); the encoder is in file 0, a head in the last one.
    """
    backbones = [
        key.removesuffix(WORD_EMBEDDINGS.keras_hub)
        for _, key in keys
        if key.endswith(_LAYERS + WORD_EMBEDDINGS.keras_hub)
    ]
    if len(backbones) != 1:
        problem = (
            f"holds {len(backbones)} encoders" if backbones else "holds no BertBackbone of KerasHub"
        )
        raise UserError(
            f"{path} {problem}: a preset directory (`save_to_preset`), or what `save_weights` of a "
            "BertBackbone, BertTextClassifier or BertMaskedLM wrote, is expected"
        )
    prefix = backbones[0]
    numbers = {
        int(match[1])
        for _, key in keys
        if (match := re.match(re.escape(prefix) + r"transformer_encoder_(\d{1,6})/", key))
    }
    encoder = {(0, prefix + row.keras_hub): row for row in encoder_weights(sorted(numbers))}
    last_file = max(number for number, _ in keys)
    others = {*keys} - {*encoder}
    for head in HEADS.values():
        its_rows = {(last_file, _LAYERS + row.keras_hub): row for row in head.weights}
        # A model with further layers is a custom one, and its first dense layer is no classifier.
        if head.keras_hub and {*its_rows} == others:
            encoder |= its_rows
    return {key: row for key, row in encoder.items() if key in keys}

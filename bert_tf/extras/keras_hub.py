"""Weights of KerasHub's (earlier KerasNLP's) BERT: a preset directory, or a `.weights.h5` file.

- config.json: sizes of the `BertBackbone`
- model.weights.h5: its weights
- task.weights.h5: of a `BertTextClassifier` or `BertMaskedLM` the weights of the head
- task.json: what a classifier's outputs mean
- tokenizer.json, assets/tokenizer/: casing and vocabulary
- preprocessor.json: the length that texts are cut at

`save_weights` of a task writes encoder and head into one file. Keras names the layers in these
files by their classes.
"""

import dataclasses
import os
import re
from collections.abc import Collection, Mapping

from bert_common import files, json_files
from bert_common.errors import UserError
from data_gen.tokenization.settings import (
    ABOUT_FILES,
    ABOUT_TRAINING,
    Applied,
    Rule,
    TokenizerSettings,
    check_keys,
)
from data_gen.tokenization.vocabulary import Vocabulary, temporary_vocabulary
from modeling.checkpoints.companion_files import CheckpointReader
from modeling.checkpoints.huggingface import H5File
from modeling.checkpoints.model_garden import stored_weights
from modeling.checkpoints.weights import HEADS, WORD_EMBEDDINGS, Weight, encoder_weights
from modeling.config import BertConfig

_CONFIG_FILE = "config.json"
_TOKENIZER_FILE = "tokenizer.json"
_VOCAB_FILE = os.path.join("assets", "tokenizer", "vocabulary.txt")
_MODEL_FILE = "model.weights.h5"
_TASK_WEIGHTS_FILE = "task.weights.h5"
_TASK_FILE = "task.json"
_PREPROCESSOR_FILE = "preprocessor.json"
# KerasHub's names → ours. The rest of a `BertBackbone` is fixed: tanh GELU, an epsilon of 1e-12.
_SIZES = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
}
_OF_EVERY_LAYER: dict[str, Rule] = dict.fromkeys(
    ("config_file", "dtype", "name", "trainable"), ABOUT_FILES
)
_TOKENIZER_KEYS: dict[str, Rule] = {
    **_OF_EVERY_LAYER,
    **dict.fromkeys(("lowercase", "strip_accents"), Applied(bool | None)),
    "split": (True,),
    "split_on_cjk": (True,),
    "suffix_indicator": ("##",),
    "oov_token": ("[UNK]",),
    "sequence_length": "a preprocessor has its own",
    "special_tokens": ABOUT_FILES,
    "special_tokens_in_strings": "they are texts here, but for the masks that are filled",
    "vocabulary": ABOUT_FILES,
}
_PREPROCESSOR_KEYS: dict[str, Rule] = {
    **_OF_EVERY_LAYER,
    "sequence_length": Applied(int | None, smallest=1),
    "truncate": Applied(str | None),
    "tokenizer": ABOUT_FILES,
    **dict.fromkeys(
        (
            "mask_selection_length",
            "mask_selection_rate",
            "mask_token_rate",
            "random_token_rate",
            "unselectable_token_ids",
        ),
        ABOUT_TRAINING,
    ),
}
_TASK_KEYS: dict[str, Rule] = {
    **_OF_EVERY_LAYER,
    "activation": (None, "linear", "softmax", "sigmoid"),
    "dropout": ABOUT_TRAINING,
    "num_classes": "the arrays say it",
    **dict.fromkeys(("backbone", "preprocessor"), ABOUT_FILES),
}
_LAYERS = "layers/"
# The word embeddings in what Keras' `save_weights` makes of a model of this library.
_OWN_FILE = "encoder/embeddings/vars/0"
# The files also contain the optimizer's state, seeds and the tokenizer.
_NOT_WEIGHTS = re.compile(r"^(optimizer|preprocessor)/|seed_generator")


def read_keras_hub(path: str) -> CheckpointReader:
    """Reads a checkpoint of KerasHub: one file of any name, or `model.weights.h5` in a preset
    directory with the files beside it.

    Raises:
      UserError: a file is damaged, holds no BERT of KerasHub, or `config.json` contradicts the
        tensors.
    """
    directory = os.path.dirname(path)
    paths = [path]
    task_file = os.path.join(directory, _TASK_WEIGHTS_FILE)
    if os.path.basename(path) == _MODEL_FILE and files.exists(task_file):
        paths.append(task_file)
    # (number of the file, path as today's KerasHub writes it) → (file, path in it).
    stored = {}
    for number, weights_path in enumerate(paths):
        weights_file = H5File(weights_path)
        for name in weights_file.shapes:
            key = _plain(name)
            # KerasHub before 0.30 repeats the encoder in the file of the task.
            is_repeated = number > 0 and key.count(_LAYERS) > 1
            if not is_repeated and not _NOT_WEIGHTS.search(name):
                stored[number, key] = (weights_file, name)
    rows = _rows(path, stored)
    weights = {}
    unused = {}
    for key, (weights_file, name) in stored.items():
        if key in rows:
            weights_file.check_dtype(name)
            weights[rows[key].original] = (rows[key], weights_file, name)
        else:
            unused[name] = (weights_file, name)
    config = _read_config(os.path.join(directory, _CONFIG_FILE))
    checkpoint = stored_weights(f"{path} (KerasHub)", weights, unused, config)
    return _with_preset_files(checkpoint, directory)


def _with_preset_files(checkpoint: CheckpointReader, directory: str) -> CheckpointReader:
    """Adds what the other files of a preset say of texts and outputs."""
    notes: list[str] = []
    settings = _read_settings(os.path.join(directory, _TOKENIZER_FILE), _TOKENIZER_KEYS, notes)
    do_lower_case = settings.get("lowercase")
    vocab_file: str | None = os.path.join(directory, _VOCAB_FILE)
    if not files.exists(str(vocab_file)):
        vocab_file = None
    # KerasHub keeps accents unless it is told not to, also where it lowers letters.
    elif do_lower_case and settings.get("strip_accents") is False:
        vocabulary = TokenizerSettings(do_lower_case, strip_accents=False)
        vocab_file = temporary_vocabulary(Vocabulary.from_file(vocab_file).tokens, vocabulary)
    path = os.path.join(directory, _PREPROCESSOR_FILE)
    texts = _read_settings(path, _PREPROCESSOR_KEYS, notes)
    if texts.get("truncate") not in (None, "round_robin"):
        notes.append(
            f"{path}: truncate is {texts['truncate']!r}: of pairs that are too long the longer "
            "text is cut here"
        )
    task = _read_settings(os.path.join(directory, _TASK_FILE), _TASK_KEYS, notes)
    config = checkpoint.config
    if config is not None and task.get("activation") == "sigmoid":
        # In Hugging Face's words: a score, or several classes.
        meaning: dict[str, object] = {"problem_type": "multi_label_classification"}
        if checkpoint.classes("classification") == 1:
            meaning = {"sentence_transformers": {"activation_fn": "torch.nn.Sigmoid"}}
        config = dataclasses.replace(config, extra={**config.extra, **meaning})
    return dataclasses.replace(
        checkpoint,
        config=config,
        vocab_file=vocab_file,
        do_lower_case=do_lower_case,
        max_length=texts.get("sequence_length"),
        notes=tuple(notes),
    )


def _read_settings(path: str, rules: Mapping[str, Rule], notes: list[str]) -> dict:
    """Returns what a file says of one layer, {} for another class's or without the file; adds a
    line on unknown keys to the notes."""
    record = json_files.read_object(path)
    # Classes of one's own may have other keys, which say nothing about BERT's.
    if not str(record.get("class_name")).startswith("Bert"):
        return {}
    settings = json_files.object_in(record, "config")
    note = check_keys(settings, rules, path, "KerasHub's BERT")
    if note:
        notes.append(note)
    return settings


def _read_config(path: str) -> BertConfig | None:
    """Reads `config.json`; None if there is none."""
    if not files.exists(path):
        return None
    record = json_files.read_object(path)
    if record.get("class_name") != "BertBackbone":
        raise UserError(
            f"{path}: class_name is {record.get('class_name')!r}: only KerasHub's BertBackbone can "
            "be read"
        )
    json_files.check_object(record, {"config": dict.fromkeys(_SIZES, int)}, path)
    values = {ours: record["config"][theirs] for theirs, ours in _SIZES.items()}
    dropout = record["config"].get("dropout", 0.1)
    values["hidden_dropout_prob"] = dropout
    values["attention_probs_dropout_prob"] = dropout
    return BertConfig.from_dict(values, path)


def _plain(name: str) -> str:
    """Returns a path as today's KerasHub writes it, with a number for each encoder layer."""
    # Keras 2 called the layers of a model "_layer_checkpoint_dependencies", and the parts of
    # attention had an underscore.
    name = name.replace("\\", "/").replace("_layer_checkpoint_dependencies/", _LAYERS)
    name = re.sub(
        r"_self_attention_layer/_(query|key|value|output)_dense/",
        r"_self_attention_layer/\1_dense/",
        name,
    )
    return re.sub(r"(^|/)transformer_encoder/", r"\1transformer_encoder_0/", name)


def _rows(path: str, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Weight]:
    """Returns the row of the table of weights for each key that is a weight of ours.

    Args:
      keys: (number of the file, path in it); the encoder is in file 0, a head in the last one.
    """
    # A task has its encoder below other layers: the word embeddings show where.
    embeddings = _LAYERS + WORD_EMBEDDINGS.keras_hub
    tables = [name for _, name in keys if name.endswith(embeddings)]
    if not tables and any(name == _OWN_FILE for _, name in keys):
        raise UserError(
            f"{path} holds weights of a model of this library, without its configuration: make "
            "the model, model.load_weights(FILE), model.save_checkpoint(NEW_DIR)"
        )
    if len(tables) != 1:
        problem = f"holds {len(tables)} encoders" if tables else "holds no BertBackbone of KerasHub"
        raise UserError(
            f"{path} {problem}: a preset directory (`save_to_preset`), or the output of "
            "`save_weights` of a BertBackbone, BertTextClassifier or BertMaskedLM, is expected"
        )
    prefix = tables[0].removesuffix(WORD_EMBEDDINGS.keras_hub)
    pattern = re.compile(re.escape(prefix) + r"transformer_encoder_(\d{1,6})/")
    layers = set()
    for _, name in keys:
        # Paths of heads have no number of a layer.
        match = pattern.match(name)
        if match:
            layers.add(int(match[1]))
    rows = {}
    for row in encoder_weights(sorted(layers)):
        rows[0, prefix + row.keras_hub] = row
    last_file, _ = max(keys)
    not_encoder = {*keys} - {*rows}
    for head in HEADS.values():
        head_rows = {(last_file, _LAYERS + row.keras_hub): row for row in head.weights}
        # A model with further layers is a custom one, and its first dense layer is no classifier.
        if head.keras_hub and {*head_rows} == not_encoder:
            rows |= head_rows
    return {key: row for key, row in rows.items() if key in keys}

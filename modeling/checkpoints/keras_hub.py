"""Weights of KerasHub's (earlier KerasNLP's) BERT: a preset directory, or a `.weights.h5` file.

  config.json                          sizes of the `BertBackbone`
  model.weights.h5                     its weights
  task.weights.h5                      of a `BertTextClassifier` or `BertMaskedLM`: those of the head
  tokenizer.json, assets/tokenizer/    casing and vocabulary

`save_weights` of a task writes encoder and head into one file. Keras names the layers in these files by their classes.
"""

import dataclasses
import os
import re
from collections.abc import Collection, Mapping
from typing import Any

import h5py
import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import StoredWeights
from modeling.checkpoints.h5_files import H5File
from modeling.checkpoints.model_garden import stored_weights, to_garden
from modeling.checkpoints.weight_shapes import heads_of
from modeling.checkpoints.weights import HEADS, POOLER, WORD_EMBEDDINGS, Head, Weight, all_weights, encoder_weights
from modeling.config import BertConfig

SUFFIX = ".weights.h5"
_CONFIG_FILE = "config.json"
_TOKENIZER_FILE = "tokenizer.json"
_VOCAB_FILE = os.path.join("assets", "tokenizer", "vocabulary.txt")
_MODEL_FILE, _TASK_FILE = f"model{SUFFIX}", f"task{SUFFIX}"
# Theirs → ours. Everything else of a `BertBackbone` is fixed: tanh GELU, an epsilon of 1e-12.
_SIZES = {"vocabulary_size": "vocab_size", "num_layers": "num_hidden_layers", "num_heads": "num_attention_heads",
          "hidden_dim": "hidden_size", "intermediate_dim": "intermediate_size",
          "max_sequence_length": "max_position_embeddings", "num_segments": "type_vocab_size"}
_LAYERS = "layers/"
# What KerasHub needs to know of a preset: where its classes are, the version of Keras that its files are for, and of a
# head the class of the model and that of what makes its inputs.
_MODULE, _PACKAGE, _KERAS_VERSION = "keras_hub.src.models.bert", "keras_hub", "3.0.0"
_MODELS = {"classification": ("BertTextClassifier", "BertTextClassifierPreprocessor"),
           "masked_lm": ("BertMaskedLM", "BertMaskedLMPreprocessor")}
# Not weights: the optimizer's state, seeds, the tokenizer.
_NOT_WEIGHTS = re.compile(r"^(optimizer|preprocessor)/|seed_generator")


def find_keras_hub(path: str) -> str | None:
  """The file of the encoder's weights that `path` means, if it is one of KerasHub's; else None."""
  if files.is_directory(path):
    path = os.path.join(path, _MODEL_FILE)
  return path if path.endswith(SUFFIX) and files.exists(path) else None


def read_keras_hub(path: str) -> StoredWeights:
  """Everything that lies in a preset directory, or in one file with what lies beside it.

  Args:
    path: as `find_keras_hub` returns it.

  Raises:
    UserError: a file is missing or damaged, holds no BERT of KerasHub, or `config.json` contradicts the tensors.
  """
  directory = os.path.dirname(path) or "."
  paths = [path]
  if os.path.basename(path) == _MODEL_FILE and files.exists(os.path.join(directory, _TASK_FILE)):
    paths.append(os.path.join(directory, _TASK_FILE))
  # (number of the file, path as today's KerasHub writes it) → (file, path in it).
  stored = {(number, _plain(name)): (file, name) for number, file in enumerate(map(H5File, paths))
            for name in file.shapes if not _NOT_WEIGHTS.search(name)}
  rows = _rows(path, stored)
  for key in rows:
    file, name = stored[key]
    file.check_dtype(name)
  weights = stored_weights(
      f"{path} (KerasHub)", {row.original: (row, *stored[key]) for key, row in rows.items()},
      {name: (file, name) for key, (file, name) in stored.items() if key not in rows},
      _read_config(os.path.join(directory, _CONFIG_FILE)))
  vocab_file = os.path.join(directory, _VOCAB_FILE)
  return dataclasses.replace(weights, vocab_file=vocab_file if files.exists(vocab_file) else None,
                             do_lower_case=_casing(os.path.join(directory, _TOKENIZER_FILE)))


def _plain(name: str) -> str:
  """A path as today's KerasHub writes it, with a number for each of the encoder's layers.

  Keras 2 called the layers of a model "_layer_checkpoint_dependencies", and the parts of attention had an underscore.
  """
  name = name.replace("\\", "/").replace("_layer_checkpoint_dependencies/", _LAYERS)
  name = re.sub(r"_self_attention_layer/_(query|key|value|output)_dense/", r"_self_attention_layer/\1_dense/", name)
  return re.sub(r"(^|/)transformer_encoder/", r"\1transformer_encoder_0/", name)


def _rows(path: str, keys: Collection[tuple[int, str]]) -> dict[tuple[int, str], Weight]:
  """Key → the row of the table of weights that it is.

  Keys are (number of the file, path in it); the encoder is in file 0, a head in the last one.
  """
  backbones = [key.removesuffix(WORD_EMBEDDINGS.keras_hub) for _, key in keys
               if key.endswith(_LAYERS + WORD_EMBEDDINGS.keras_hub)]
  if len(backbones) != 1:
    problem = f"holds {len(backbones)} encoders" if backbones else "holds no BertBackbone of KerasHub"
    raise UserError(f"{path} {problem}: a preset directory (`save_to_preset`), or what `save_weights` of a "
                    "BertBackbone, BertTextClassifier or BertMaskedLM wrote, is expected")
  prefix = backbones[0]
  numbers = {int(match[1]) for _, key in keys
             if (match := re.match(re.escape(prefix) + r"transformer_encoder_(\d{1,6})/", key))}
  encoder = {(0, prefix + row.keras_hub): row for row in encoder_weights(sorted(numbers))}
  last_file = max(number for number, _ in keys)
  others = {*keys} - {*encoder}
  for head in HEADS.values():
    its_rows = {(last_file, _LAYERS + row.keras_hub): row for row in head.weights}
    # A model with further layers is a custom one, and its first dense layer is no classifier.
    if head.keras_hub and {*its_rows} == others:
      encoder |= its_rows
  return {key: row for key, row in encoder.items() if key in keys}


def _read_config(path: str) -> BertConfig | None:
  """The configuration of a preset; None where there is none."""
  if not files.exists(path):
    return None
  record = json_files.read_object(path)
  if record.get("class_name") != "BertBackbone":
    raise UserError(f"{path}: class_name is {record.get('class_name')!r}: only KerasHub's BertBackbone can be read")
  values: Any = record.get("config")
  missing = sorted({*_SIZES} - {*values}) if isinstance(values, dict) else sorted(_SIZES)
  if missing:
    raise UserError(f"{path}: there is no {', '.join(missing)} in its config")
  dropout = values.get("dropout", 0.1)
  return BertConfig.from_dict({ours: values[theirs] for theirs, ours in _SIZES.items()} | {
      "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}, path)


def _casing(path: str) -> bool | None:
  config = json_files.read_object(path).get("config")
  lowercase = config.get("lowercase") if isinstance(config, dict) else None
  return lowercase if isinstance(lowercase, bool) else None


def write_keras_hub(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """A preset: the encoder, and the model of one head with what makes its inputs, but for the vocabulary.

  Args:
    weights: without those that `left_out` names.

  Raises:
    OSError: it can't be written.
  """
  head = next((HEADS[name] for name in heads_of(weights)), None)
  in_task = {row.original for row in head.weights} if head else set()
  rows = all_weights(config.num_hidden_layers)
  for name, chosen in ((_MODEL_FILE, {*weights} - in_task), (_TASK_FILE, in_task)):
    if chosen:
      with files.open_file(os.path.join(directory, name), "wb") as raw, h5py.File(raw, "w") as file:
        for one in sorted(chosen):
          key = _LAYERS + rows[one].keras_hub.replace("transformer_encoder_0/", "transformer_encoder/")
          file[key] = to_garden(rows[one], weights[one], config.num_attention_heads)
  backbone = _object("BertBackbone", {
      **{theirs: getattr(config, ours) for theirs, ours in _SIZES.items()}, "dropout": config.hidden_dropout_prob})
  json_files.write(os.path.join(directory, _CONFIG_FILE), backbone)
  json_files.write(os.path.join(directory, "metadata.json"), {
      "keras_version": _KERAS_VERSION, "parameter_count": sum(weights[name].size for name in {*weights} - in_task)})
  if head is not None:
    settings = {} if head.classes or head.parts else {
        "num_classes": len(weights[head.signature_name]), "activation": "linear",
        "dropout": config.hidden_dropout_prob}
    json_files.write(os.path.join(directory, "task.json"), _object(
        _MODELS[head.name][0], {"backbone": backbone, "preprocessor": None, **settings}))


def write_keras_hub_tokenizer(directory: str, vocab_file: str, do_lower_case: bool, weights: Collection[str],
                              config: BertConfig) -> None:
  """Adds the vocabulary and its casing, and of a model with a head what makes its inputs, to a preset.

  Raises:
    UserError: they can't be read or written.
  """
  files.make_directories(os.path.join(directory, os.path.dirname(_VOCAB_FILE)))
  files.copy(vocab_file, os.path.join(directory, _VOCAB_FILE))
  # Their classes strip no accents unless they are told to.
  tokenizer = _object("BertTokenizer", {"lowercase": do_lower_case, "strip_accents": do_lower_case})
  json_files.write(os.path.join(directory, _TOKENIZER_FILE), tokenizer)
  for head in heads_of(weights):
    preprocessor = _object(_MODELS[head][1], {
        "tokenizer": tokenizer, "sequence_length": config.max_position_embeddings})
    json_files.write(os.path.join(directory, "preprocessor.json"), preprocessor)
    path = os.path.join(directory, "task.json")
    task = json_files.read_object(path)
    json_files.write(path, {**task, "config": {**task["config"], "preprocessor": preprocessor}})


def left_out(tensors: Collection[str]) -> list[str]:
  """Weights that a preset has no place for: a next-sentence head, and pre-training heads beside another one.

  Raises:
    UserError: there is no pooler, or a head that KerasHub has no model for.
  """
  if any(weight.original not in tensors for weight in POOLER):
    raise UserError("there is no pooler in the input, which KerasHub's BertBackbone has: take a checkpoint with one")
  heads = [HEADS[name] for name in heads_of(tensors)]
  for head in heads:
    if not head.keras_hub and not head.is_of_pretraining:
      raise UserError(f"KerasHub has no BERT with a {head.title}: write another format, such as 'huggingface'")
  kept: Head | None = next(iter(sorted((head for head in heads if head.keras_hub),
                                       key=lambda head: head.is_of_pretraining)), None)
  return [weight.original for head in heads if head is not kept for weight in head.weights]


def _object(name: str, config: Mapping[str, object]) -> dict[str, object]:
  """An object as Keras serializes it."""
  module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("LM", "Lm")).lower()
  return {"module": f"{_MODULE}.{module}", "class_name": name, "config": dict(config),
          "registered_name": f"{_PACKAGE}>{name}"}

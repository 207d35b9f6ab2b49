"""Checkpoints of Hugging Face's transformers: a directory with `config.json` and `model.safetensors`, or such a file.

Read by the safetensors library alone, `tf_model.h5`, of transformers' TensorFlow classes, by h5py.
`pytorch_model.bin` is a pickle, which can run any code: it is never opened.
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from bert_common import files, json_files
from bert_common.errors import UserError
from modeling.checkpoints.companion_files import StoredWeights
from modeling.checkpoints.h5_files import TransformersH5File
from modeling.checkpoints.huggingface_config import ARCHITECTURES, check_labels, config_values, read_config
from modeling.checkpoints.safetensors_files import SafetensorsFile, open_files, write_file
from modeling.checkpoints.weight_shapes import check_fits, heads_of, pooled_weights, show_shape
from modeling.checkpoints.weights import (
  EMBEDDINGS,
  HEADS,
  LAYER,
  POOLER,
  WORD_EMBEDDINGS,
  Head,
  Weight,
  all_weights,
  encoder_weights,
)
from modeling.config import BertConfig

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
# What the names of the encoder's weights begin with in classes with heads; alone it has none.
_PREFIX = "bert."
_PARTS = tuple(dict.fromkeys(weight.huggingface.split(".")[1] + "." for weight in (*EMBEDDINGS, *LAYER, *POOLER)))
_LAYER = re.compile(re.escape(LAYER[0].huggingface.partition("{layer}")[0]) + r"(\d{1,6})\.")
_BARE_WORD_EMBEDDINGS = WORD_EMBEDDINGS.huggingface.removeprefix(_PREFIX)
# Copies of weights that some versions save along: name → the weight that it must be the same as.
_OUTPUT_BIAS = HEADS["masked_lm"].weights[-1]
_COPIES = {"cls.predictions.decoder.weight": WORD_EMBEDDINGS, "cls.predictions.decoder.bias": _OUTPUT_BIAS}
# Numbers 0, 1, 2... and zeros that old versions saved along.
_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")
_File = SafetensorsFile | TransformersH5File


def read_huggingface(path: str) -> StoredWeights:
  """The weights of a `.safetensors` file, an index of several, or an `.h5` file of transformers' TensorFlow classes.

  Args:
    path: of the file.

  Raises:
    UserError: a file is missing or damaged, holds no BERT, or `config.json` contradicts the tensors.
  """
  config_file = os.path.join(os.path.dirname(path) or ".", CONFIG_FILE)
  config, architecture = read_config(config_file) if files.exists(config_file) else (None, None)
  stored_in = _open(path)
  encoders = _encoder_prefixes(stored_in)
  if len(encoders) > 1:
    raise UserError(f"{path} holds {len(encoders)} encoders ({', '.join(map(repr, encoders))}): save the one that is "
                    "meant by itself")
  keys = _plain_keys(path, stored_in)
  if WORD_EMBEDDINGS.huggingface not in keys:
    raise UserError(f"{path} holds no BERT: there is no {_BARE_WORD_EMBEDDINGS} in it")
  _check_copies(path, keys, stored_in)
  rows = {weight.original: weight for weight in _rows(keys, architecture)}
  stored = {name: keys[weight.huggingface] for name, weight in rows.items() if weight.huggingface in keys}
  for copy, weight in _COPIES.items():
    if copy in keys and weight.original not in stored:
      stored[weight.original] = keys[copy]
  tensors = {name: _original_shape(path, rows[name], key, stored_in[key]) for name, key in stored.items()}
  if config is not None:
    check_fits(config, tensors, path)
    if config.causal and (pooled := pooled_weights(tensors)):
      raise UserError(f"{path}: is_decoder is true and {pooled[0]} is there: Hugging Face's pooler reads the first "
                      "token, which in such a model sees nothing but itself, and ours the last: save the model as a "
                      "class without a pooler, such as BertLMHeadModel")
    check_labels(config, tensors, config_file)
  read_already = {*stored.values(), *(keys[name] for name in (*_COPIES, *_BUFFERS) if name in keys)}
  unused = {key: stored_in[key].shapes[key] for key in keys.values() if key not in read_already}

  def read(name: str) -> np.ndarray:
    key = stored.get(name, name)
    values = stored_in[key].read(key)
    return np.ascontiguousarray(values.T) if name in stored and rows[name].huggingface_transposed else values

  return StoredWeights(description=f"{path} (Hugging Face{', ' + architecture if architecture else ''})",
                    tensors=tensors | unused, read=read, config=config)


def write_huggingface(directory: str, weights: Mapping[str, np.ndarray], config: BertConfig) -> None:
  """`model.safetensors` and `config.json`.

  Raises:
    UserError: there are two heads which that format calls alike.
    OSError: they can't be written.
  """
  alike = [head for head in heads_of(weights) if _shares_its_name(HEADS[head])]
  if len(alike) > 1:
    raise UserError(f"Hugging Face calls the heads {' and '.join(alike)} alike ({HEADS[alike[0]].huggingface_layer}): "
                    "a checkpoint with both can't be written in that format")
  values = config_values(config, {name: value.shape for name, value in weights.items()})
  # The names of the bare encoder have no prefix.
  prefix = "" if values["architectures"] == ["BertModel"] else _PREFIX
  rows = all_weights(config.num_hidden_layers)
  write_file(os.path.join(directory, WEIGHTS_FILE), {
      re.sub(f"^{re.escape(_PREFIX)}", prefix, rows[name].huggingface):
          value.T if rows[name].huggingface_transposed else value
      for name, value in weights.items()})
  json_files.write(os.path.join(directory, CONFIG_FILE), values)


def _rows(keys: Iterable[str], architecture: str | None) -> list[Weight]:
  """The rows of the table of weights that a file with these plain names, of a class or None, can have."""
  layers = sorted({int(match[1]) for key in keys if (match := _LAYER.match(key))})
  heads = [head for head in HEADS.values()
           if not _shares_its_name(head) or head is _head_called(head.huggingface_layer, keys, architecture)]
  return [*encoder_weights(layers), *(weight for head in heads for weight in head.weights)]


def _shares_its_name(head: Head) -> bool:
  return sum(other.huggingface_layer == head.huggingface_layer for other in HEADS.values()) > 1


def _head_called(layer: str, keys: Iterable[str], architecture: str | None) -> Head:
  """Chooses among the heads of one name; without an architecture by the pooler, which only some of the classes have."""
  heads = [head for head in HEADS.values() if head.huggingface_layer == layer]
  reads = "pooled_output" if any(weight.huggingface in keys for weight in POOLER) else "sequence_output"
  named = [head for head in heads if head.name in ARCHITECTURES.get(architecture or "", ())]
  return next(iter([*named, *(head for head in heads if head.reads == reads), *heads]))


def _encoder_prefixes(keys: Iterable[str]) -> list[str]:
  """Prefixes of the names of each encoder: one in a BERT, two in a model of two towers."""
  return sorted(key.removesuffix(_BARE_WORD_EMBEDDINGS) for key in keys
                if key == _BARE_WORD_EMBEDDINGS or key.endswith("." + _BARE_WORD_EMBEDDINGS))


def _open(path: str) -> Mapping[str, _File]:
  """The file that each tensor is in."""
  if not path.endswith(".h5"):
    return open_files(path)
  file = TransformersH5File(path)
  return dict.fromkeys(file.shapes, file)


def _plain_keys(path: str, keys: Collection[str]) -> dict[str, str]:
  """Names as Hugging Face's classes with heads write them today → the keys that mean them.

  Prefixes differ ("bert.", "model.", "model.bert.", none), and gamma and beta were called so at first.
  """
  body = next(iter(_encoder_prefixes(keys)), _PREFIX)
  outer = body.removesuffix(_PREFIX)
  plain: dict[str, str] = {}
  for key in keys:
    name = key
    if key.startswith(tuple(body + part for part in _PARTS)):
      name = _PREFIX + key.removeprefix(body)
    elif outer and key.startswith(outer):
      name = key.removeprefix(outer)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))
    if plain.setdefault(name, key) != key:
      raise UserError(f"{path}: {' and '.join(sorted([plain[name], key]))} are two names of one weight, {name}")
  return plain


def _check_copies(path: str, keys: Mapping[str, str], stored_in: Mapping[str, _File]) -> None:
  """The projection to the vocabulary is the word embedding table; what is saved twice must be the same."""
  for copy, weight in _COPIES.items():
    if copy in keys and weight.huggingface in keys:
      copied, first = keys[copy], keys[weight.huggingface]
      if not np.array_equal(stored_in[copied].read(copied), stored_in[first].read(first)):
        raise UserError(f"{path}: {copied} differs from {first}: in BERT they are the same")


def _original_shape(path: str, row: Weight, key: str, file: _File) -> tuple[int, ...]:
  file.check_dtype(key)
  shape = file.shapes[key]
  if row.huggingface_transposed and len(shape) != 2:
    raise UserError(f"{path}: {key} is {show_shape(shape)}, a matrix is expected")
  return shape[::-1] if row.huggingface_transposed else shape

"""Checkpoints of Hugging Face's transformers: a directory with `config.json` and `model.safetensors`, or such a file.

Read by the safetensors library alone. `pytorch_model.bin` is a pickle, which can run any code: it is never opened.
"""

import os

import numpy as np

from common.errors import UserError
from modeling.checkpoints.checkpoint import Checkpoint
from modeling.checkpoints.huggingface_config import check_labels, read_config
from modeling.checkpoints.huggingface_names import encoder_prefixes, is_transposed, original_names_of, plain_keys
from modeling.checkpoints.safetensors_files import INDEX_SUFFIX, SafetensorsFile, open_files
from modeling.checkpoints.shapes import check_fits, show_shape

_WORD_EMBEDDINGS = "bert.embeddings.word_embeddings.weight"
_DECODER, _DECODER_BIAS = "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"
_BIAS = "cls.predictions.bias"
# Numbers 0, 1, 2... and zeros that old versions saved along.
_BUFFERS = ("bert.embeddings.position_ids", "bert.embeddings.token_type_ids")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_OTHERS = ("tf_model.h5", "flax_model.msgpack")


def find_safetensors(path: str) -> list[str]:
  """The `.safetensors` files that `path` may mean, or their indices where a checkpoint is cut into several files."""
  if os.path.isdir(path):
    names = sorted(os.listdir(path))
    indices = [name for name in names if name.endswith(INDEX_SUFFIX)]
    stems = tuple(name.removesuffix(INDEX_SUFFIX) + "-" for name in indices)
    single = [name for name in names if name.endswith(".safetensors") and not (stems and name.startswith(stems))]
    return [os.path.join(path, name) for name in indices + single]
  if path.endswith(INDEX_SUFFIX) or path.endswith(".safetensors"):
    return [path] if os.path.exists(path) else []
  return []


def refuse_pickle(path: str) -> None:
  """Explains the way out to who gives a pickle, or a directory with nothing else.

  Raises:
    UserError: `path` is or holds a file of weights that is not read.
  """
  names = sorted(os.listdir(path)) if os.path.isdir(path) else [os.path.basename(path)]
  for name in names:
    if name.endswith(_PICKLES):
      raise UserError(f"{path}: {name} is a pickle, which can run code when it is opened: it is not read. Where you "
                      "trust it, save it as safetensors: transformers' AutoModelForPreTraining.from_pretrained(DIR)"
                      ".save_pretrained(NEW_DIR)")
    if name in _OTHERS:
      raise UserError(f"{path}: {name} is not read: take the model.safetensors of the same model")


def read_huggingface(path: str) -> Checkpoint:
  """The weights of a `.safetensors` file or an index of several.

  Args:
    path: as `find_safetensors` returns it.

  Raises:
    UserError: a file is missing or damaged, holds no BERT, or `config.json` contradicts the tensors.
  """
  directory = os.path.dirname(path) or "."
  config_file = os.path.join(directory, "config.json")
  config, architecture = read_config(config_file) if os.path.exists(config_file) else (None, None)
  files = open_files(path)
  encoders = encoder_prefixes(files)
  if len(encoders) > 1:
    raise UserError(f"{path} holds {len(encoders)} encoders ({', '.join(map(repr, encoders))}): save the one that is "
                    "meant by itself")
  keys = _unique_keys(path, files)
  if _WORD_EMBEDDINGS not in keys:
    raise UserError(f"{path} holds no BERT: there is no embeddings.word_embeddings.weight in it")
  _check_decoder(path, keys, files)
  names = original_names_of(keys, architecture)
  if "cls/predictions/output_bias" not in names and _DECODER_BIAS in keys:
    names["cls/predictions/output_bias"] = _DECODER_BIAS
  tensors = {}
  for name, key in names.items():
    file, stored = files[keys[key]], keys[key]
    file.check_dtype(stored)
    shape = file.shapes[stored]
    if is_transposed(name) and len(shape) != 2:
      raise UserError(f"{path}: {stored} is {show_shape(shape)}, a matrix is wanted")
    tensors[name] = shape[::-1] if is_transposed(name) else shape
  if config is not None:
    check_fits(config, tensors, path)
    check_labels(config, tensors, config_file)
  read_already = {*names.values(), *_BUFFERS, _DECODER, _DECODER_BIAS}
  unused = {stored: files[stored].shapes[stored] for key, stored in keys.items() if key not in read_already}

  def read(name: str) -> np.ndarray:
    stored = keys[names[name]] if name in names else name
    values = files[stored].read(stored)
    return np.ascontiguousarray(values.T) if is_transposed(name) else values

  return Checkpoint(description=f"{path} (Hugging Face{', ' + architecture if architecture else ''})",
                tensors=tensors | unused, read=read, config=config)


def _unique_keys(path: str, files: dict[str, SafetensorsFile]) -> dict[str, str]:
  """Plain name → key in the file."""
  keys = plain_keys(files)
  for name, meaning_it in keys.items():
    if len(meaning_it) > 1:
      raise UserError(f"{path}: {' and '.join(sorted(meaning_it))} are two names of one weight, {name}")
  return {name: meaning_it[0] for name, meaning_it in keys.items()}


def _check_decoder(path: str, keys: dict[str, str], files: dict[str, SafetensorsFile]) -> None:
  """The projection to the vocabulary is the word embedding table; what is saved twice must be the same."""
  for copy, first in ((_DECODER, _WORD_EMBEDDINGS), (_DECODER_BIAS, _BIAS)):
    if copy in keys and first in keys:
      values = [files[keys[name]].read(keys[name]) for name in (copy, first)]
      if not np.array_equal(*values):
        raise UserError(f"{path}: {keys[copy]} differs from {keys[first]}: in BERT they are the same")

"""Checkpoints of Hugging Face's transformers: a directory with `config.json` and `model.safetensors`, or such a file.

Read by the safetensors library alone. `pytorch_model.bin` is a pickle, which can run any code: it is never opened.
"""

import os
import re
from collections.abc import Iterable, Mapping

import numpy as np

from common.errors import UserError
from modeling.checkpoints.companion_files import Checkpoint
from modeling.checkpoints.huggingface_config import check_labels, read_config
from modeling.checkpoints.safetensors_files import INDEX_SUFFIX, SafetensorsFile, open_files
from modeling.checkpoints.weights import LINEAR_HEADS, check_fits, encoder_shapes, heads_of, show_shape
from modeling.config import BertConfig

# Hugging Face's class → its heads, by the keys of `model.heads`.
ARCHITECTURES = {
    "BertForPreTraining": ("masked_lm", "next_sentence"),
    "BertForMaskedLM": ("masked_lm",),
    "BertLMHeadModel": ("masked_lm",),
    "BertForNextSentencePrediction": ("next_sentence",),
    "BertForSequenceClassification": ("classifier",),
    "BertForQuestionAnswering": ("span",),
    "BertForTokenClassification": ("tagging",),
    "BertForMultipleChoice": ("multiple_choice",),
    "BertModel": (),
}

# Head → its layer there. Three heads have the same name: the architecture tells them apart.
_LINEAR_LAYERS = {
    "next_sentence": "cls.seq_relationship",
    "classifier": "classifier",
    "span": "qa_outputs",
    "tagging": "classifier",
    "multiple_choice": "classifier",
}
_LINEAR_NAMES = {
    f"{prefix}output_{ours}": f"{_LINEAR_LAYERS[head]}.{theirs}"
    for head, prefix in LINEAR_HEADS.items() for ours, theirs in (("weights", "weight"), ("bias", "bias"))
}
_LEAVES = {"kernel": "weight", "gamma": "weight", "beta": "bias"}
CLASSIFIERS = ("classifier", "tagging", "multiple_choice")
_TABLE = "embeddings.word_embeddings.weight"
_HEAD_WEIGHTS = ("cls/predictions/transform/dense/kernel", "cls/predictions/transform/dense/bias",
                 "cls/predictions/transform/LayerNorm/gamma", "cls/predictions/transform/LayerNorm/beta",
                 "cls/predictions/output_bias")


def huggingface_name(name: str) -> str:
  """The name there of a weight of the original, e.g. bert/pooler/dense/kernel → bert.pooler.dense.weight."""
  if name in _LINEAR_NAMES:
    return _LINEAR_NAMES[name]
  if name == "cls/predictions/output_bias":
    return "cls.predictions.bias"
  *path, leaf = re.sub(r"/layer_(\d+)/", r"/layer/\1/", name).split("/")
  if leaf.endswith("_embeddings"):
    return ".".join([*path, leaf, "weight"])
  return ".".join([*path, _LEAVES.get(leaf, leaf)])


def is_transposed(name: str) -> bool:
  """Whether the weight of this original name lies the other way round there."""
  return name.endswith("/kernel")


def original_names_of(keys: Iterable[str], architecture: str | None) -> dict[str, str]:
  """The original names of what a file holds.

  Args:
    keys: of one file or all its shards, in plain form (see `plain_keys`).
    architecture: Hugging Face's class, or None where nothing tells.

  Returns:
    original name → key, for the keys that are weights of ours.
  """
  keys = set(keys)
  layers = {match[1] for key in keys if (match := re.match(r"bert\.encoder\.layer\.(\d{1,6})\.", key))}
  # Only names matter here; one layer stands for all.
  encoder = encoder_shapes(BertConfig(vocab_size=1, hidden_size=1, num_hidden_layers=1, num_attention_heads=1))
  names = [*_HEAD_WEIGHTS]
  for name in encoder:
    names += [name.replace("/layer_0/", f"/layer_{layer}/") for layer in sorted(layers, key=int)
              ] if "/layer_0/" in name else [name]
  for head, prefix in LINEAR_HEADS.items():
    if head not in CLASSIFIERS or head == _classifier(keys, architecture):
      names += [f"{prefix}output_weights", f"{prefix}output_bias"]
  return {name: huggingface_name(name) for name in names if huggingface_name(name) in keys}


def encoder_prefixes(keys: Iterable[str]) -> list[str]:
  """What the names of each encoder begin with: one in a BERT, two in a model of two towers."""
  return sorted(key.removesuffix(_TABLE) for key in keys
                if key == _TABLE or key.endswith("." + _TABLE))


def plain_keys(keys: Iterable[str]) -> dict[str, list[str]]:
  """Names as Hugging Face's classes with heads write them today.

  Prefixes differ ("bert.", "model.", "model.bert.", none), and gamma and beta were called so at first.

  Args:
    keys: of one file or all its shards, with one encoder.

  Returns:
    plain name → the keys that mean it: more than one is a contradiction, none of word embeddings is another network.
  """
  keys = list(keys)
  body = next(iter(encoder_prefixes(keys)), "bert.")
  outer = body.removesuffix("bert.")
  plain: dict[str, list[str]] = {}
  for key in keys:
    name = key
    if key.startswith(tuple(body + part for part in ("embeddings.", "encoder.", "pooler."))):
      name = "bert." + key.removeprefix(body)
    elif outer and key.startswith(outer):
      name = key.removeprefix(outer)
    name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))
    plain.setdefault(name, []).append(key)
  return plain


def architecture_of(tensors: Mapping[str, object]) -> str:
  """The class that reads these weights: that of the task's head, else of the pre-training heads, else the bare one."""
  heads = heads_of(tensors)
  for architecture, its_heads in ARCHITECTURES.items():
    if heads and tuple(heads) == its_heads:
      return architecture
  task_heads = tuple(head for head in heads if head not in ("masked_lm", "next_sentence"))
  return next(architecture for architecture, its_heads in ARCHITECTURES.items() if its_heads == task_heads[:1])


def _classifier(keys: set[str], architecture: str | None) -> str:
  """Which head "classifier" is; without an architecture the pooler tells a classifier from a tagger."""
  heads = ARCHITECTURES.get(architecture or "", ())
  if heads and heads[0] in CLASSIFIERS:
    return heads[0]
  return "classifier" if "bert.pooler.dense.weight" in keys else "tagging"


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

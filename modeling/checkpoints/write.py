"""Writing checkpoints in every format that can be read.

Weights come by their original names and in the original's shapes; `FORMATS` says how each format lays them out.
"""

import os
import shutil
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf
from safetensors import SafetensorError
from safetensors.numpy import save_file

from common import files
from common.errors import UserError
from modeling.checkpoints.huggingface import CLASSIFIERS, huggingface_name, is_transposed
from modeling.checkpoints.huggingface_config import config_values
from modeling.checkpoints.model_garden import (
  MASKED_LM,
  NEXT_SENTENCE_POOLER,
  encoder_layout,
  first_encoder_parts,
  linear_layout,
  to_garden,
)
from modeling.checkpoints.tensorflow_files import attach
from modeling.checkpoints.weights import heads_of, native_path
from modeling.config import BertConfig

Weights = Mapping[str, np.ndarray]

# Head → where the dense layer of the Model Garden's head is in it, and what its model calls the head.
_GARDEN_HEADS = {"classifier": ("out_proj/", "classifier"), "span": ("layer_with_weights-0/", "span_labeling"),
                 "tagging": ("", "classifier")}


def write_checkpoint(output_format: str, directory: str, weights: Weights, config: BertConfig,
                     vocab_file: str | None = None, do_lower_case: bool | None = None) -> None:
  """Writes weights and what is needed to use them.

  Args:
    output_format: one of `FORMATS`.
    directory: an empty one.
    weights: original name → float32 array.
    config: of the network.
    vocab_file: copied as `vocab.txt`, unless None.
    do_lower_case: casing of the vocabulary; None where it is not known.

  Raises:
    UserError: the disk is full, or the directory can't be written.
  """
  try:
    FORMATS[output_format](directory, weights, config)
  except (tf.errors.OpError, SafetensorError) as error:
    # TensorFlow names the operation and its temporary file first, the reason last.
    reason = str(getattr(error, "message", None) or error).rpartition("; ")[2].partition(" [Op")[0]
    raise UserError(f"the weights can't be written in {os.path.dirname(directory) or '.'}: "
                    f"{' '.join(reason.split())}") from None
  if vocab_file is not None:
    shutil.copyfile(vocab_file, os.path.join(directory, "vocab.txt"))
  # The keys that Hugging Face's tokenizers read; what a checkpoint of ours says of its casing.
  facts = {} if do_lower_case is None else {"do_lower_case": do_lower_case}
  files.write_json(os.path.join(directory, "tokenizer_config.json"), {
      **facts, "tokenizer_class": "BertTokenizer", "model_max_length": config.max_position_embeddings,
      "strip_accents": None, "tokenize_chinese_chars": True, "unk_token": "[UNK]", "sep_token": "[SEP]",
      "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"})


def _write_native(directory: str, weights: Weights, config: BertConfig) -> None:
  """A run directory without optimizer and counters."""
  root = tf.Module()
  for name, value in weights.items():
    attach(root, native_path(name), tf.Variable(value))
  parts = {part: getattr(root, part) for part in ("encoder", "heads") if hasattr(root, part)}
  tf.train.Checkpoint(**parts).write(os.path.join(directory, "ckpt-0"))
  with files.atomic_write(os.path.join(directory, "checkpoint")) as file:
    file.write('model_checkpoint_path: "ckpt-0"\nall_model_checkpoint_paths: "ckpt-0"\n')
  _write_config(directory, config)


def _write_original(directory: str, weights: Weights, config: BertConfig) -> None:
  """What TensorFlow 1's Saver writes: the tensors by their names, no object graph."""
  tf.raw_ops.SaveV2(
      prefix=os.path.join(directory, "bert_model.ckpt"), tensor_names=list(weights),
      shape_and_slices=[""] * len(weights), tensors=[tf.constant(value) for value in weights.values()])
  _write_config(directory, config)


def _write_huggingface(directory: str, weights: Weights, config: BertConfig) -> None:
  same_name = [head for head in heads_of(weights) if head in CLASSIFIERS]
  if len(same_name) > 1:
    raise UserError(f"Hugging Face calls the heads {' and '.join(same_name)} alike (classifier): a checkpoint with "
                    "both can't be written in that format")
  shapes = {name: value.shape for name, value in weights.items()}
  values = config_values(config, shapes)
  # The bare encoder's own names have no prefix.
  bare = "" if values["architectures"] == ["BertModel"] else "bert."
  tensors = {}
  for name, value in weights.items():
    key = huggingface_name(name)
    key = bare + key.removeprefix("bert.") if name.startswith("bert/") else key
    tensors[key] = np.ascontiguousarray(value.T if is_transposed(name) else value)
  path = os.path.join(directory, "model.safetensors")
  save_file(tensors, path, metadata={"format": "pt"})
  os.chmod(path, 0o666 & ~files.current_umask())
  files.write_json(os.path.join(directory, "config.json"), values)


def _write_model_garden(directory: str, weights: Weights, config: BertConfig) -> None:
  """One graph in which every way the Model Garden saves and restores these models finds its objects.

  `encoder` and `model/encoder_network` are the same object, as are `classifier` and `layer_with_weights-1` of the
  functional models.
  """
  variables = {name: tf.Variable(to_garden(name, value, config.num_attention_heads))
               for name, value in weights.items()}
  encoder, model, root = _module(variables, encoder_layout(config.num_hidden_layers)), tf.Module(), tf.Module()
  for part, number in first_encoder_parts(config.num_hidden_layers).items():
    if (module := _follow(encoder, part)) is not None:
      setattr(encoder, number, module)
  for attribute in ("encoder_network", "_network", "layer_with_weights-0"):
    setattr(model, attribute, encoder)
  heads = heads_of(weights)
  if "masked_lm" in heads:
    masked_lm = _module(variables, MASKED_LM)
    masked_lm.embedding_table = variables["bert/embeddings/word_embeddings"]
    masked_lm.bias = variables["cls/predictions/output_bias"]
    model.masked_lm = root.masked_lm = masked_lm
  if "next_sentence" in heads:
    head = _module(variables, linear_layout("next_sentence", "out_proj/"))
    if "bert/pooler/dense/kernel" in weights:
      # Variables of its own: in the Model Garden's model they are not the encoder's.
      copies = {name: tf.Variable(weights[name]) for name in NEXT_SENTENCE_POOLER}
      head.dense = _module(copies, NEXT_SENTENCE_POOLER)
      setattr(root, "next_sentence.pooler_dense", head.dense)
    attach(model, "classification_heads/0", head)
  tasks = [head for head in _GARDEN_HEADS if head in heads]
  for number, head in enumerate(tasks, 1):
    prefix, attribute = _GARDEN_HEADS[head]
    module = _module(variables, linear_layout(head, prefix))
    setattr(model, f"layer_with_weights-{number}", module)
    setattr(model, head if hasattr(model, attribute) else attribute, module)
  if "multiple_choice" in heads:
    model.multiple_choice = _module(variables, linear_layout("multiple_choice", ""))
  others = {name: getattr(root, name) for name in ("masked_lm", "next_sentence.pooler_dense") if hasattr(root, name)}
  tf.train.Checkpoint(encoder=encoder, model=model, **others).write(os.path.join(directory, "bert_model.ckpt"))
  _write_config(directory, config)


FORMATS: dict[str, Callable[[str, Weights, BertConfig], None]] = {
    "original": _write_original,
    "huggingface": _write_huggingface,
    "model_garden": _write_model_garden,
    "native": _write_native,
}


def _write_config(directory: str, config: BertConfig) -> None:
  config.to_file(os.path.join(directory, "bert_config.json"))


def _module(variables: Mapping[str, tf.Variable], layout: Mapping[str, str]) -> tf.Module:
  root = tf.Module()
  for name, path in layout.items():
    if name in variables:
      attach(root, path, variables[name])
  return root


def _follow(root: tf.Module, path: str) -> tf.Module | None:
  for part in path.split("/"):
    root = getattr(root, part, None)
  return root

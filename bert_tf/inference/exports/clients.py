"""What formats of token ids have in common: names, the files that a client needs beside the model, what is refused.

  tokenizer.json, tokenizer_config.json, vocab.txt   the exact tokenizer; it truncates to the length of the fine-tuned
                                                     run, and pads
  config.json                                        sizes, `id2label`

Names of inputs, outputs and files are those of Hugging Face's `optimum`, which clients of many languages know.
"""

import os
from collections.abc import Mapping

import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.common.errors import UserError
from bert_tf.inference.exports.loaders import Arrays
from bert_tf.tasks.classification.readers import SEVERAL_CLASSES
from bert_tf.tasks.inference import TaskInference
from bert_tf.tasks.labels import with_label_names
from modeling.checkpoints.companion_files import write_companion_files
from modeling.checkpoints.huggingface import CONFIG_FILE
from modeling.checkpoints.huggingface_config import config_values
from modeling.checkpoints.tokenizer_file import write_tokenizer
from modeling.checkpoints.weights import HEADS, original_names
from modeling.config import BertConfig

# Theirs → ours, in the order of `BertEncoder`'s arguments.
INPUTS = {"input_ids": "input_ids", "attention_mask": "input_mask", "token_type_ids": "segment_ids"}
# Outputs of `FeatureInference`, and the vector of `predict` → names in the export.
_FEATURES = {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output", "vector": "sentence_embedding"}


def check_task(task: TaskInference, name: str) -> None:
  """Raises `UserError` for a model that has no such export."""
  if task.head is None and task.kinds:
    raise UserError(f"--format={name}: a tagger on fixed activations can't be written: export it without --format")
  if getattr(task.model, "bilstm", None) is not None:
    raise UserError(f"--format={name}: a BiLSTM between encoder and head can't be written: export it without --format")


def write_files(task: TaskInference, directory: str, fixed_length: bool = False) -> None:
  """Writes the tokenizer and the configuration.

  Args:
    fixed_length: whether the model takes rows of one length only; else batches are padded to their longest row.
  """
  tokenizer, config = task.tokenizer, _with_labels(task)
  # The model of pre-training has a head more.
  others = {weight.original for head in HEADS.values() for weight in head.weights if head.name != task.head}
  shapes = {name: tuple(value.shape) for name, value in original_names(task.model).items() if name not in others}
  json_files.write(os.path.join(directory, CONFIG_FILE), config_values(config, shapes))
  settings = write_tokenizer(directory, tokenizer.vocabulary.path, tokenizer.do_lower_case, task.max_seq_length,
                             fixed_length)
  write_companion_files(directory, config, tokenizer.vocabulary.path, tokenizer.do_lower_case, **settings)


def _with_labels(task: TaskInference) -> BertConfig:
  config, labels = task.model.config, getattr(task, "labels", None)
  problem = SEVERAL_CLASSES if getattr(task, "multi_label", False) else config.extra.get("problem_type")
  return with_label_names(config, labels, problem) if labels else config


def inputs(features: Arrays, dtype: type) -> Arrays:
  """Features of ours by the names of the export."""
  return {theirs: features[ours].astype(dtype) for theirs, ours in INPUTS.items()}


def outputs(task: TaskInference, features: Mapping) -> dict:
  """The model's outputs by the names of the export, of int32 features by our names; see `onnx_graph.bert_model`."""
  features = {name: tf.convert_to_tensor(value) for name, value in features.items()}
  if task.head is None:
    (vector,) = task.model_outputs(features).values()
    ours = {**task.serve_token_ids(features), "vector": vector}
    return {theirs: ours[name] for name, theirs in _FEATURES.items() if name in ours}
  if task.head == "question_answering":
    return task.model_outputs(features)
  if task.head == "masked_lm":
    ids = features["input_ids"]
    everywhere = tf.zeros_like(ids) + tf.range(tf.shape(ids)[1])
    return {"logits": task.model({**features, "masked_lm_positions": everywhere})["masked_lm_logits"]}
  return {"logits": task.model(features)}

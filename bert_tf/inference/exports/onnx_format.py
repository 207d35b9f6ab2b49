"""An ONNX model of token ids, with `tokenizer.json` and the names of the classes, for programs without TensorFlow.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with

  model.onnx                               input_ids, attention_mask, token_type_ids → see `onnx_graph.bert_model`
  tokenizer.json, tokenizer_config.json,   the exact tokenizer; it truncates to the length of the fine-tuned run and
  vocab.txt                                pads to the longest text of a batch
  config.json                              sizes, `id2label`
"""

import math
import os

import numpy as np
import onnx
import tensorflow as tf

from bert_tf.common import json_files
from bert_tf.common.errors import UserError
from bert_tf.inference.exports.formats import ExportFormat, Request
from bert_tf.inference.exports.loaders import ONNX_FILE, ONNX_SIGNATURE, Arrays
from bert_tf.inference.exports.onnx_graph import INPUTS, bert_model
from bert_tf.inference.exports.saved_model import as_arrays, checked_inputs
from bert_tf.tasks.classification.readers import SEVERAL_CLASSES
from bert_tf.tasks.inference import TaskInference
from bert_tf.tasks.labels import with_label_names
from modeling.checkpoints.companion_files import write_companion_files
from modeling.checkpoints.huggingface import CONFIG_FILE
from modeling.checkpoints.huggingface_config import config_values
from modeling.checkpoints.tokenizer_file import write_tokenizer
from modeling.checkpoints.weights import weight_values
from modeling.config import BertConfig

# Bytes of weights above which they are in a file of their own: a message of protobuf has at most 2 GB.
_LARGEST_MODEL = 2**31 - 2**24
# What our models call the inputs.
_OUR_INPUTS = ("input_ids", "input_mask", "segment_ids")


class Format(ExportFormat):
  """`--format=onnx`."""

  takes_strings = False

  @property
  def tolerance(self) -> float:
    """None where numbers are rounded on purpose."""
    return ExportFormat.tolerance if self.options.quantize == "none" else math.inf

  def write(self, task: TaskInference, directory: str) -> None:
    check_task(task, "onnx")
    weights = {name: value for name, value in weight_values(task.model).items()
               if name not in task.load_report.newly_initialised}
    dtype = np.float16 if self.options.quantize == "float16" else np.float32
    model = bert_model(weights, task.model.config, task.head, dtype, getattr(task, "vectors", None))
    path = os.path.join(directory, ONNX_FILE)
    save(model, path) if self.options.quantize != "int8" else save_quantized(model, path)
    write_client_files(task, {name: value.shape for name, value in weights.items()}, directory)

  def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
    features = task.reference_features(checked_inputs(task, texts)[1])
    return [Request(ONNX_SIGNATURE, client_inputs(features), model_outputs(task, features))]


def _size(model: onnx.ModelProto) -> int:
  return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


def check_task(task: TaskInference, name: str) -> None:
  """Raises `UserError` for a model that has no such export."""
  if task.head is None and task.kinds:
    raise UserError(f"--format={name}: a tagger on fixed activations can't be written: export it without --format")
  if getattr(task.model, "bilstm", None) is not None:
    raise UserError(f"--format={name}: a BiLSTM between encoder and head can't be written: export it without --format")


def save(model: onnx.ModelProto, path: str) -> None:
  """Writes a model; the weights of a large one as `model.onnx.data` beside it."""
  onnx.save_model(model, path, save_as_external_data=_size(model) > _LARGEST_MODEL, location=f"{ONNX_FILE}.data")
  onnx.checker.check_model(path)


def save_quantized(model: onnx.ModelProto, path: str) -> None:
  """Writes a model whose matrices and tables are int8, of matrices with a scale for each column.

  The factors of products that are no weights are rounded to int8 for each call, by the range that they have.
  """
  from onnxruntime.quantization import QuantType, quantize_dynamic

  # Or it warns of shapes that it misses, which it does not need here.
  onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
  quantize_dynamic(model, path, per_channel=True, weight_type=QuantType.QInt8,
                   use_external_data_format=_size(model) > 4 * _LARGEST_MODEL)


def write_client_files(task: TaskInference, shapes: dict[str, tuple[int, ...]], directory: str) -> None:
  """What a client needs beside the model: the tokenizer and the configuration.

  Args:
    shapes: of the weights in the export, by their original names.
  """
  tokenizer = task.tokenizer
  config = _with_labels(task)
  json_files.write(os.path.join(directory, CONFIG_FILE), config_values(config, shapes))
  settings = write_tokenizer(directory, tokenizer.vocabulary.path, tokenizer.do_lower_case, task.max_seq_length)
  write_companion_files(directory, config, tokenizer.vocabulary.path, tokenizer.do_lower_case, **settings)


def _with_labels(task: TaskInference) -> BertConfig:
  config, labels = task.model.config, getattr(task, "labels", None)
  problem = SEVERAL_CLASSES if getattr(task, "multi_label", False) else config.extra.get("problem_type")
  return with_label_names(config, labels, problem) if labels else config


def client_inputs(features: Arrays) -> Arrays:
  """Features of ours by the names of the export; int64 as tokenizers give them."""
  return {name: features[ours].astype(np.int64) for name, ours in zip(INPUTS, _OUR_INPUTS, strict=True)}


def model_outputs(task: TaskInference, features: Arrays) -> Arrays:
  """What the model gives, by the names of the export's outputs."""
  tensors = {name: tf.constant(value) for name, value in features.items()}
  if task.head is None:
    (vector,) = task.model_outputs(tensors).values()
    ours = {**task.serve_token_ids(tensors), "vector": vector}
    return as_arrays({theirs: ours[name] for name, theirs in _FEATURES.items() if name in ours})
  if task.head == "question_answering":
    return as_arrays(task.model_outputs(tensors))
  if task.head == "masked_lm":
    everywhere = tf.zeros_like(tensors["input_ids"]) + tf.range(tf.shape(tensors["input_ids"])[1])
    return as_arrays({"logits": task.model({**tensors, "masked_lm_positions": everywhere})["masked_lm_logits"]})
  return as_arrays({"logits": task.model(tensors)})


# Outputs of `FeatureInference` → names in the export.
_FEATURES = {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output", "vector": "sentence_embedding"}

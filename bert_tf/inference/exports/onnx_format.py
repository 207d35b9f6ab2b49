"""An ONNX model of token ids, for programs without TensorFlow; `clients.py` has what they need beside it.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with `model.onnx`, see
`onnx_graph.bert_model`.
"""

import os

import numpy as np
import onnx

from bert_tf.inference.exports import clients
from bert_tf.inference.exports.loaders import ONNX_FILE
from bert_tf.inference.exports.onnx_graph import bert_model
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.weights import weight_values

# Bytes of weights above which they are in a file of their own: a message of protobuf has at most 2 GB.
_LARGEST_MODEL = 2**31 - 2**24


class Format(clients.TokenIdFormat):
  """`--format=onnx`."""

  def write(self, task: TaskInference, directory: str) -> None:
    self.check_task(task)
    weights = {name: value for name, value in weight_values(task.model).items()
               if name not in task.load_report.newly_initialised}
    dtype = np.float16 if self.options.quantize == "float16" else np.float32
    model = bert_model(weights, task.model.config, task.head, dtype, task.vectors)
    path = os.path.join(directory, ONNX_FILE)
    (save_quantized if self.options.quantize == "int8" else save)(model, path)
    clients.write_files(task, directory)


def _size(model: onnx.ModelProto) -> int:
  return sum(len(tensor.raw_data) for tensor in model.graph.initializer)


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

"""An ONNX model of token ids, for programs without TensorFlow; `token_id_formats.py` has what they need beside it.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with `model.onnx`, see
`onnx_graph.bert_model`.
"""

import os

import numpy as np
import onnx
import onnxruntime

from bert_tf.extras.onnx_graph import bert_model
from bert_tf.extras.token_id_formats import SIGNATURE, TokenIdFormat, write_files
from bert_tf.inference.formats import Arrays, Request, describe_tensor
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.weights import weight_values

ONNX_FILE = "model.onnx"
# Bytes of weights above which they are in a file of their own: a message of protobuf has at most 2 GB.
_LARGEST_MODEL = 2**31 - 2**24


class LoadedOnnx:
  """What a program sees that has onnxruntime, see `LoadedExport`."""

  def __init__(self, directory: str):
    self._session = onnxruntime.InferenceSession(
        os.path.join(directory, ONNX_FILE), providers=["CPUExecutionProvider"])
    inputs, outputs = ({one.name: describe_tensor(one.type.removeprefix("tensor(").removesuffix(")"), one.shape)
                        for one in values} for values in (self._session.get_inputs(), self._session.get_outputs()))
    self.signatures = {SIGNATURE: (inputs, outputs)}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    names = list(self.signatures[signature][1])
    return dict(zip(names, self._session.run(names, dict(inputs)), strict=True))


class OnnxFormat(TokenIdFormat):
  """`--format=onnx`."""

  load = LoadedOnnx

  def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
    weights = {name: value for name, value in weight_values(task.model).items()
               if name not in task.load_report.newly_initialised}
    dtype = np.float16 if self.options.quantize == "float16" else np.float32
    model = bert_model(weights, task.model.config, task.head, dtype, task.vectors)
    path = os.path.join(directory, ONNX_FILE)
    (save_quantized if self.options.quantize == "int8" else save)(model, path)
    write_files(task, directory)


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

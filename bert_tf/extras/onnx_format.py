"""An ONNX model of token ids, for programs without TensorFlow; `token_id_formats.py` has what they need beside it.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with `model.onnx`, see
`onnx_graph.bert_model`; with `--layout` that of a server, see `layouts.py`.
"""

import os
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime

from bert_tf.extras import layouts
from bert_tf.extras.onnx_graph import bert_model
from bert_tf.extras.token_id_formats import INPUTS, SIGNATURE, TokenIdFormat, exported_weights, write_files
from bert_tf.inference.formats import Arrays, Request, describe_tensor
from bert_tf.tasks.inference import TaskInference
from modeling.checkpoints.load import Checkpoint

ONNX_FILE = "model.onnx"
# Bytes of weights above which they are in a file of their own: a message of protobuf has at most 2 GB.
_LARGEST_MODEL = 2**31 - 2**24


class LoadedOnnx:
  """What a program sees that has onnxruntime, see `LoadedExport`; of a file or of its content."""

  def __init__(self, model: str | bytes):
    self._session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    inputs, outputs = ({one.name: describe_tensor(one.type.removeprefix("tensor(").removesuffix(")"), one.shape)
                        for one in values} for values in (self._session.get_inputs(), self._session.get_outputs()))
    self.signatures = {SIGNATURE: (inputs, outputs)}

  def __call__(self, signature: str, inputs: Arrays) -> Arrays:
    names, outputs = self.signatures[signature]
    return dict(zip(outputs, self._session.run([*outputs], {name: inputs[name] for name in names}), strict=True))


class OnnxFormat(TokenIdFormat):
  """`--format=onnx`."""

  def prepare(self, checkpoint: Checkpoint, name: str, task: TaskInference) -> None:
    super().prepare(checkpoint, name, task)
    layouts.check(self.options, task)

  def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
    weights = exported_weights(task)
    path = os.path.join(directory, layouts.MODEL_FILES[self.options.layout])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_model(task, weights, path, self.options.quantize, layouts.inputs(self.options.layout, task))
    write_files(task, directory, {name: value.shape for name, value in weights.items()})
    layouts.finish(self.options, task, directory)

  def load(self, directory: str) -> LoadedOnnx:
    return LoadedOnnx(layouts.model(self.options, directory))


def write_model(task: TaskInference, weights: Mapping[str, np.ndarray], path: str, quantize: str,
                inputs: tuple[str, ...] = tuple(INPUTS)) -> None:
  """Writes the model of a task; the weights of a large one as `model.onnx.data` beside it.

  Args:
    quantize: "none", "float16" or "int8": whose matrices and tables are int8, of matrices with a scale for each column.
      The factors of products that are no weights are rounded to int8 for each call, by the range that they have.
    inputs: see `bert_model`.
  """
  # In texts whose "[SEP]" is that token it is no sign of a second text.
  is_sign = not task.special_tokens and task.model.config.type_vocab_size > 1
  model = bert_model(weights, task.model.config, task.head, np.float16 if quantize == "float16" else np.float32,
                     task.vectors, task.vocabulary.sep_id if is_sign else None, inputs)
  size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
  if quantize != "int8":
    onnx.save_model(model, path, save_as_external_data=size > _LARGEST_MODEL, location=f"{ONNX_FILE}.data")
    onnx.checker.check_model(path)
    return
  from onnxruntime.quantization import QuantType, quantize_dynamic

  # Or it warns of shapes that it misses, which it does not need here.
  onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
  quantize_dynamic(model, path, per_channel=True, weight_type=QuantType.QInt8,
                   use_external_data_format=size > 4 * _LARGEST_MODEL)

"""An ONNX model of token ids, for programs without TensorFlow; `token_id_formats.py` has the files
that clients need beside it.

Input: a task with its model. Output: a directory as Hugging Face's `optimum` writes it, with
`model.onnx`, see `onnx_graph.bert_model`.
"""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime

from bert_tf.extras.onnx_graph import bert_model
from bert_tf.extras.token_id_formats import (
    SIGNATURE,
    TokenIdFormat,
    exported_weights,
    write_files,
)
from bert_tf.inference.export import Arrays, LoadedExport, Request, describe_tensor
from bert_tf.tasks.inference import TaskInference

ONNX_FILE = "model.onnx"
# Larger weights are stored in a file of their own: a protobuf message has at most 2 GB.
_LARGEST_MODEL = 2**31 - 2**24


def load_model(path: str) -> LoadedExport:
    """Loads a model file in onnxruntime."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = _describe(session.get_inputs())
    outputs = _describe(session.get_outputs())

    def ask(signature: str, features: Arrays) -> Arrays:
        # onnxruntime refuses inputs that the graph does not have.
        feed = {name: features[name] for name in inputs}
        values = session.run(list(outputs), feed)
        return dict(zip(outputs, values, strict=True))

    return LoadedExport({SIGNATURE: (inputs, outputs)}, ask)


def _describe(values: Sequence[onnxruntime.NodeArg]) -> dict[str, str]:
    """Returns name → "dtype [shape]"."""
    described = {}
    for value in values:
        dtype = value.type.removeprefix("tensor(").removesuffix(")")
        described[value.name] = describe_tensor(dtype, value.shape)
    return described


class OnnxFormat(TokenIdFormat):
    """`--format=onnx`."""

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        weights = exported_weights(task)
        write_model(task, weights, os.path.join(directory, ONNX_FILE), self.options.quantize)
        write_files(task, directory, weights)

    def load(self, directory: str) -> LoadedExport:
        return load_model(os.path.join(directory, ONNX_FILE))


def write_model(
    task: TaskInference, weights: Mapping[str, np.ndarray], path: str, quantize: str
) -> None:
    """Writes the model of a task; weights of a large one go to `model.onnx.data` beside it.

    With "int8" matrices and tables are int8, matrices with a scale per column; the other factors of
    products are rounded to int8 in each call, by their range.
    """
    dtype = np.float16 if quantize == "float16" else np.float32
    model = bert_model(weights, task.model.config, task.head, dtype, task.vectors)
    size = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
    if quantize != "int8":
        onnx.save_model(
            model, path, save_as_external_data=size > _LARGEST_MODEL, location=f"{ONNX_FILE}.data"
        )
        onnx.checker.check_model(path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # This property silences a warning about missing shapes, which dynamic quantization does not
    # need.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        model,
        path,
        per_channel=True,
        weight_type=QuantType.QInt8,
        # Processors with AVX2 and without VNNI add pairs of 8-bit products in 16 bits, which
        # overflow with weights of 8 bits and fit with 7.
        reduce_range=True,
        use_external_data_format=size > 4 * _LARGEST_MODEL,
    )

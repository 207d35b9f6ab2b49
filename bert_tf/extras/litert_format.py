"""A LiteRT model (once TensorFlow Lite) of token ids, for phones and small machines.

Input: a task with its model. Output: a directory with `model.tflite`, whose inputs are int32 [1,
S], S the length of the task, for multiple choice [1, 1, S], one choice at a time; outputs are those
of `onnx_graph.bert_model`.
"""

import os
from collections.abc import Mapping

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from bert_tf.extras.token_id_formats import (
    INPUTS,
    SIGNATURE,
    TokenIdFormat,
    exported_weights,
    outputs,
    write_files,
)
from bert_tf.inference.export import (
    Arrays,
    LoadedExport,
    Request,
    as_arrays,
    checked_inputs,
    describe_tensor,
)
from bert_tf.inference.saved_model import concrete
from bert_tf.tasks.inference import TaskInference
from bert_tf.training.examples import padded_lengths

LITERT_FILE = "model.tflite"


class LiteRtFormat(TokenIdFormat):
    """`--format=litert`."""

    dtype = np.int32

    def load(self, directory: str) -> LoadedExport:
        # The interpreter owns the memory of the runner's tensors, so it must stay alive.
        self._interpreter = Interpreter(model_path=os.path.join(directory, LITERT_FILE))
        runner = self._interpreter.get_signature_runner(SIGNATURE)

        def ask(signature: str, inputs: Arrays) -> Arrays:
            return {name: value.copy() for name, value in runner(**inputs).items()}

        signature = (_describe(runner.get_input_details()), _describe(runner.get_output_details()))
        return LoadedExport({SIGNATURE: signature}, ask)

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        # One example, for multiple choice one choice, of fixed length.
        shape = [1] * (len(task.token_ids_shape) - 1) + [task.max_seq_length]

        def outputs_of(**inputs) -> dict:
            return outputs(task, {feature: inputs[name] for name, feature in INPUTS.items()})

        specs = {name: tf.TensorSpec(shape, tf.int32, name) for name in INPUTS}
        function = concrete(outputs_of, specs)
        # The converter turns variables into constants only if the root tracks them, which a Keras
        # model does not.
        root = tf.Module()
        root.weights = list(function.variables)
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function], root)
        if self.options.quantize != "none":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if self.options.quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        with open(os.path.join(directory, LITERT_FILE), "wb") as file:
            file.write(converter.convert())
        write_files(task, directory, exported_weights(task), fixed_length=True)

    def batches(self, task: TaskInference) -> tuple[int, np.ndarray]:
        # The shape of the inputs is fixed, so an export answers one row at a time.
        return 1, padded_lengths(task.max_seq_length, 1)

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        # Choices of one example are separate requests, too.
        features = task.reference_features(checked_inputs(task, texts)[1])
        length = task.max_seq_length
        rows = {}
        for name, value in features.items():
            flat = value.reshape(-1, value.shape[-1])
            rows[name] = np.pad(flat, ((0, 0), (0, length - flat.shape[1])))
        shape = [1] * (features["input_ids"].ndim - 1) + [length]
        requests = []
        # Rows of missing choices have no token, and are no requests.
        for number in np.flatnonzero(rows["input_mask"].any(1)):
            row = {name: value[number].reshape(shape) for name, value in rows.items()}
            expected = as_arrays(outputs(task, row))
            requests.append(Request(SIGNATURE, self.inputs(task, row), expected))
        return requests


def _describe(details: Mapping[str, Mapping]) -> dict[str, str]:
    """Returns name → "dtype [shape]"."""
    described = {}
    for name, detail in details.items():
        described[name] = describe_tensor(np.dtype(detail["dtype"]).name, detail["shape"])
    return described

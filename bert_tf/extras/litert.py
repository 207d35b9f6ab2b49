"""A LiteRT model (once TensorFlow Lite) of token ids, for phones and small machines.

Input: a task with its model. Output: a directory with `model.tflite`, whose inputs are int32 [1,
S], S the length of the task, of multiple choice [1, 1, S], a choice at a time; outputs are those of
`onnx_graph.bert_model`.
"""

import os

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
        # The memory of a runner's tensors is the interpreter's.
        self._interpreter = Interpreter(model_path=os.path.join(directory, LITERT_FILE))
        runner = self._interpreter.get_signature_runner(SIGNATURE)
        inputs, results = (
            {
                name: describe_tensor(np.dtype(one["dtype"]).name, one["shape"])
                for name, one in details.items()
            }
            for details in (runner.get_input_details(), runner.get_output_details())
        )
        return LoadedExport(
            {SIGNATURE: (inputs, results)},
            lambda signature, inputs: {
                name: value.copy() for name, value in runner(**inputs).items()
            },
        )

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        shape = [1] * (len(task.token_ids_shape) - 1) + [task.max_seq_length]
        function = concrete(
            lambda **features: outputs(
                task, {ours: features[theirs] for theirs, ours in INPUTS.items()}
            ),
            {name: tf.TensorSpec(shape, tf.int32, name) for name in INPUTS},
        )
        # Variables become constants where the root has them as its own, which a Keras model does
        # not.
        root = tf.Module()
        root.weights = list(function.variables)
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function], root)
        if self.options.quantize != "none":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if self.options.quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        with open(os.path.join(directory, LITERT_FILE), "wb") as file:
            file.write(converter.convert())
        write_files(
            task,
            directory,
            {name: value.shape for name, value in exported_weights(task).items()},
            True,
        )

    def batches(self, task: TaskInference) -> tuple[int, np.ndarray]:
        return 1, padded_lengths(task.max_seq_length, 1)

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        features = task.reference_features(checked_inputs(task, texts)[1])
        length = task.max_seq_length
        rows = {
            name: np.pad(flat, ((0, 0), (0, length - flat.shape[1])))
            for name, value in features.items()
            for flat in [value.reshape(-1, value.shape[-1])]
        }
        requests = []
        for number in np.flatnonzero(rows["input_mask"].any(1)):
            row = {
                name: value[number].reshape([1] * (features[name].ndim - 1) + [length])
                for name, value in rows.items()
            }
            expected = as_arrays(outputs(task, row))
            requests.append(Request(SIGNATURE, self.inputs(task, row), expected))
        return requests

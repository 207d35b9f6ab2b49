"""A SavedModel that takes strings: the tokenizer is in the graph.

Input: a task, whose class has the graphs. Output: a directory with

  serving_default   a signature: strings → outputs
  token_ids         a signature: input_ids, input_mask, segment_ids → outputs
  serve             a function: {name: strings} → outputs, for `keras.layers.TFSMLayer`
  assets.extra/tf_serving_warmup_requests   requests that TensorFlow Serving answers itself before
  the first client

Every output has the batch as its first dimension, as TensorFlow Serving expects it.
"""

import os

import tensorflow as tf

from bert_tf.inference import export
from bert_tf.inference.export import Arrays, ExportFormat, LoadedExport, Request, as_arrays
from bert_tf.tasks.inference import TaskInference
from data_gen.pretraining.records import delimited, masked_crc, record_header

WARMUP_FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")


class SavedModelFormat(ExportFormat):
    """`--format=saved_model`."""

    def load(self, directory: str) -> LoadedExport:
        saved = tf.saved_model.load(directory)

        def ask(signature: str, inputs: Arrays) -> Arrays:
            tensors = {name: tf.constant(value) for name, value in inputs.items()}
            # TFSMLayer passes all strings on as one dict.
            return as_arrays(
                saved.serve(tensors)
                if signature == "serve"
                else saved.signatures[signature](**tensors)
            )

        return LoadedExport(
            {name: describe_function(one) for name, one in sorted(saved.signatures.items())}, ask
        )

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        rows, inputs = export.checked_inputs(task, texts)
        features = task.reference_features(inputs)
        from_ids = as_arrays(
            task.serve_token_ids({name: tf.constant(value) for name, value in features.items()})
        )
        # Where strings give what token ids give, the exact ones count.
        from_strings = {
            name: from_ids.get(name, value)
            for name, value in as_arrays(task.serve_texts(*map(tf.constant, rows.values()))).items()
        }
        strings = {name: tf.constant(values).numpy() for name, values in rows.items()}
        return [
            Request("token_ids", features, from_ids),
            Request("serving_default", strings, from_strings),
            Request("serve", strings, from_strings),
        ]

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        strings = {
            name: tf.TensorSpec(task.text_shapes.get(name, [None]), tf.string, name)
            for name in task.text_inputs
        }
        ids = {
            name: tf.TensorSpec(task.token_ids_shape, tf.int32, name)
            for name in ("input_ids", "input_mask", "segment_ids")
        }
        signatures = {
            "serving_default": concrete(
                lambda **texts: task.serve_texts(*(texts[name] for name in task.text_inputs)),
                strings,
            ),
            "token_ids": concrete(lambda **features: task.serve_token_ids(features), ids),
        }
        # A plain root: a Keras model would bring along its functions, and variables that these
        # signatures don't need.
        root = tf.Module()
        variables = {
            variable.ref(): variable
            for function in signatures.values()
            for variable in function.variables
        }
        root.weights = list(variables.values())
        # Calls the function of the signature, so that its graph is in the file only once.
        root.serve = tf.function(
            lambda texts: signatures["serving_default"](**texts),
            input_signature=[strings],
            autograph=False,
        )
        tf.saved_model.save(root, directory, signatures=signatures)
        path = os.path.join(directory, WARMUP_FILE)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Each request, and its first row alone, as TFRecords of `PredictionLog` messages.
        # TensorFlow lacks the classes of that message, so its four levels are framed here
        # (tensorflow_serving/apis/prediction_log.proto, predict.proto):
        #   PredictionLog { predict_log: 6 { request: 1 {
        #     model_spec: 1 { signature_name: 3 }, inputs: 2 { key: 1, value: 2 (a TensorProto) }
        #     ... } } }
        with open(path, "wb") as file:
            for request in requests:
                for rows in (
                    (slice(None, 1), slice(None)) if request.signature in signatures else ()
                ):
                    message = delimited(1, delimited(3, request.signature.encode()))
                    for name, value in request.inputs.items():
                        tensor = tf.make_tensor_proto(value[rows]).SerializeToString()
                        message += delimited(2, delimited(1, name.encode()) + delimited(2, tensor))
                    log = delimited(6, delimited(1, message))
                    file.write(record_header(len(log)) + log + masked_crc(log))


def concrete(function, specifications: dict):
    """A function of named tensors, traced once, for a signature."""
    return tf.function(function, autograph=False).get_concrete_function(**specifications)


def describe_function(function) -> export.Signature:
    """The inputs and outputs of a signature of a SavedModel."""
    inputs, outputs = (
        {
            name: export.describe_tensor(tensor.dtype.name, tensor.shape)
            for name, tensor in sorted(tensors.items())
        }
        for tensors in (function.structured_input_signature[1], function.structured_outputs)
    )
    return inputs, outputs

"""A SavedModel that takes strings: the tokenizer is in the graph.

Input: a task, whose class builds the graphs. Output: a directory with

- serving_default, a signature: strings → outputs
- token_ids, a signature: input_ids, input_mask, segment_ids → outputs
- serve, a function: {name: strings} → outputs, for `keras.layers.TFSMLayer`
- assets.extra/tf_serving_warmup_requests: requests that TensorFlow Serving answers by itself before
  the first client

Every output has the batch as its first dimension, as TensorFlow Serving expects.
"""

import os
from collections.abc import Mapping

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
        signatures = {}
        for name, function in sorted(saved.signatures.items()):
            signatures[name] = describe_function(function)

        def ask(signature: str, inputs: Arrays) -> Arrays:
            tensors = tf.nest.map_structure(tf.constant, dict(inputs))
            if signature == "serve":
                # TFSMLayer passes all strings on as one dict.
                return as_arrays(saved.serve(tensors))
            return as_arrays(saved.signatures[signature](**tensors))

        return LoadedExport(signatures, ask)

    def requests(self, task: TaskInference, texts: list[str]) -> list[Request]:
        # The strings go through the tokenizer in the graph, the features through the exact one.
        rows, inputs = export.checked_inputs(task, texts)
        features = task.reference_features(inputs)
        tensors = tf.nest.map_structure(tf.constant, features)
        from_ids = as_arrays(task.serve_token_ids(tensors))
        texts_in_graph = [tf.constant(values) for values in rows.values()]
        from_strings = dict(as_arrays(task.serve_texts(*texts_in_graph)))
        # The exact tokenizer's outputs count, if both have them.
        for name in from_strings.keys() & from_ids.keys():
            from_strings[name] = from_ids[name]
        strings = {name: tf.constant(values).numpy() for name, values in rows.items()}
        return [
            Request("token_ids", features, from_ids),
            Request("serving_default", strings, from_strings),
            Request("serve", strings, from_strings),
        ]

    def write(self, task: TaskInference, directory: str, requests: list[Request]) -> None:
        # None lets the batch, and for token ids the length, vary between requests.
        strings = {}
        for name in task.text_inputs:
            shape = task.text_shapes.get(name, [None])
            strings[name] = tf.TensorSpec(shape, tf.string, name)
        ids = {}
        for name in ("input_ids", "input_mask", "segment_ids"):
            ids[name] = tf.TensorSpec(task.token_ids_shape, tf.int32, name)

        def serve_texts(**texts):
            return task.serve_texts(*(texts[name] for name in task.text_inputs))

        def serve_token_ids(**features):
            return task.serve_token_ids(features)

        signatures = {
            "serving_default": concrete(serve_texts, strings),
            "token_ids": concrete(serve_token_ids, ids),
        }

        # It calls the function of the signature, so that the file contains its graph only once.
        @tf.function(input_signature=[strings], autograph=False)
        def serve(texts):
            return signatures["serving_default"](**texts)

        # A Keras model as root would add its functions, and variables that these signatures don't
        # need.
        root = tf.Module()
        variables = {}
        for function in signatures.values():
            variables.update((variable.ref(), variable) for variable in function.variables)
        root.weights = list(variables.values())
        root.serve = serve
        tf.saved_model.save(root, directory, signatures=signatures)
        # The first request to a shape is slow, so one row and all rows are warmed up.
        path = os.path.join(directory, WARMUP_FILE)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            for request in requests:
                if request.signature in signatures:
                    first_row = {name: value[:1] for name, value in request.inputs.items()}
                    file.write(_warmup_record(request.signature, first_row))
                    file.write(_warmup_record(request.signature, request.inputs))


def _warmup_record(signature: str, inputs: Arrays) -> bytes:
    """Returns a TFRecord with a `PredictionLog` message.

    TensorFlow lacks the classes of that message, so its four levels are framed here
    (tensorflow_serving/apis/prediction_log.proto, predict.proto):

      PredictionLog { predict_log: 6 { request: 1 {
        model_spec: 1 { signature_name: 3 }, inputs: 2 { key: 1, value: 2 (TensorProto) } ... } } }
    """
    message = delimited(1, delimited(3, signature.encode()))
    for name, value in inputs.items():
        tensor = tf.make_tensor_proto(value).SerializeToString()
        message += delimited(2, delimited(1, name.encode()) + delimited(2, tensor))
    log = delimited(6, delimited(1, message))
    return record_header(len(log)) + log + masked_crc(log)


def concrete(function, specs: Mapping[str, tf.TensorSpec]):
    """Traces a function of named tensors once, for a signature."""
    # The functions have no Python control flow over tensors, so AutoGraph would only cost time.
    return tf.function(function, autograph=False).get_concrete_function(**specs)


def describe_function(function) -> export.Signature:
    """Returns the inputs and outputs of a signature of a SavedModel."""
    return _describe(function.structured_input_signature[1]), _describe(function.structured_outputs)


def _describe(tensors: Mapping) -> dict[str, str]:
    """Returns name → "dtype [shape]"."""
    # TensorFlow lists them in arbitrary order.
    described = {}
    for name, tensor in sorted(tensors.items()):
        described[name] = export.describe_tensor(tensor.dtype.name, tensor.shape)
    return described

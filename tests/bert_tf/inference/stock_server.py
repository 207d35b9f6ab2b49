"""A stock TensorFlow Serving as far as it can be had without one: its operations, and its two
interfaces."""

import concurrent.futures
import contextlib
import http.server
import json
import re
import threading
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

# Of tensorflow_text 2.20.0 (tensorflow_serving/workspace.bzl) the stock server links
# "tensorflow_text:ops_lib" (SUPPORTED_TENSORFLOW_OPS in tensorflow_serving/model_servers/BUILD),
# which has fast_wordpiece_tokenizer_cc (tensorflow_text/BUILD) and so this operation
# (tensorflow_text/core/ops/fast_wordpiece_tokenizer_op.cc). Whoever adds to this list looks there:
# that pip's tensorflow_text has an operation is not enough (tensorflow/serving#2267).
TEXT_OPERATIONS = {"FastWordpieceTokenizeWithOffsets"}
# Everything that TensorFlow registers by itself; the server links all of tensorflow/core.
_CORE_OPERATIONS = set(dir(tf.raw_ops))


def assert_served(directory) -> None:
    """Asserts that all operations of a SavedModel are linked, and that no function asks for XLA.

    The server's image for GPUs has no compiler for it (tensorflow/serving#2214).
    """
    with open(f"{directory}/saved_model.pb", "rb") as file:
        [graph] = SavedModel.FromString(file.read()).meta_graphs
    functions = graph.graph_def.library.function
    nodes = [*graph.graph_def.node, *(node for function in functions for node in function.node_def)]
    operations = {node.op for node in nodes} - {function.signature.name for function in functions}
    assert not operations - _CORE_OPERATIONS - TEXT_OPERATIONS
    assert not [
        function.signature.name for function in functions if function.attr["_XlaMustCompile"].b
    ]


class Model:
    """The signatures of a SavedModel, asked with arrays."""

    def __init__(self, directory: str):
        self._signatures = tf.saved_model.load(directory).signatures

    def __call__(self, signature: str, inputs: dict) -> dict[str, np.ndarray]:
        function = self._signatures[signature or "serving_default"]
        expected = function.structured_input_signature[1]
        if set(inputs) != set(expected):
            raise ValueError(f"inputs are {sorted(expected)}")
        tensors = {name: tf.constant(value, expected[name].dtype) for name, value in inputs.items()}
        return {name: value.numpy() for name, value in function(**tensors).items()}


@contextlib.contextmanager
def rest(name: str, model: Model) -> Iterator[int]:
    """The port of a server with TensorFlow Serving's REST interface
    (tensorflow.org/tfx/serving/api_rest)."""

    class Handler(http.server.BaseHTTPRequestHandler):
        """`predict` by columns, strings as JSON has them."""

        def do_POST(self):
            try:
                if not re.fullmatch(rf"/v1/models/{name}(/versions/\d+)?:predict", self.path):
                    raise ValueError(f"Malformed request: POST {self.path}")
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outputs = {
                    key: self._plain(value)
                    for key, value in model(body.get("signature_name"), body["inputs"]).items()
                }
                status, answer = 200, {"outputs": outputs}
            except (ValueError, KeyError) as error:
                status, answer = 400, {"error": str(error)}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @staticmethod
        def _plain(value: np.ndarray):
            return (
                np.vectorize(bytes.decode, otypes=[object])(value).tolist()
                if value.dtype == object
                else value.tolist()
            )

        def log_message(self, format, *args):
            """Nothing is printed."""

    server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def grpc_port(name: str, model: Model) -> Iterator[int]:
    """The port of a server with TensorFlow Serving's gRPC interface, made of its own messages."""
    import grpc
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        """`Predict` alone."""

        def Predict(self, request, context):
            assert request.model_spec.name == name
            outputs = model(
                request.model_spec.signature_name,
                {key: tf.make_ndarray(value) for key, value in request.inputs.items()},
            )
            return predict_pb2.PredictResponse(
                outputs={key: tf.make_tensor_proto(value) for key, value in outputs.items()}
            )

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()

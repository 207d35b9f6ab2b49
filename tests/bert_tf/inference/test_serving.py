"""What TensorFlow Serving gets: warm-up requests, operations that it has, and clients, those of the
documentation."""

import pytest
import tensorflow as tf
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from bert_tf.inference.export import export
from bert_tf.inference.options import ExportOptions
from bert_tf.inference.saved_model import WARMUP_FILE
from tests.bert_tf.inference.stock_server import Model, assert_served, grpc_port, rest
from tests.bert_tf.inference.test_export import PAIRS, checkpoint
from tests.page_commands import programs


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    root = tmp_path_factory.mktemp("reviews")
    path = checkpoint(root / "in", "classification", task={**PAIRS, "pair": False})
    export(ExportOptions(init_checkpoint=path, export_dir=str(root / "served/1")))
    return root / "served/1"


def test_warm_up_requests_are_those_of_tensorflow_serving(reviews):
    """Read by its own classes and answered by the signatures: a request that fails would keep a
    server from loading."""
    model, found = Model(str(reviews)), []
    for record in tf.data.TFRecordDataset(str(reviews / WARMUP_FILE)):
        request = PredictionLog.FromString(record.numpy()).predict_log.request
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        answers = model(request.model_spec.signature_name, inputs)
        assert {len(value) for value in (*inputs.values(), *answers.values())} == {
            len(answers["label"])
        }
        found.append((request.model_spec.signature_name, sorted(inputs), len(answers["label"])))
    ids = ["input_ids", "input_mask", "segment_ids"]
    assert found == [
        ("token_ids", ids, 1),
        ("token_ids", ids, 8),
        ("serving_default", ["text_a"], 1),
        ("serving_default", ["text_a"], 8),
    ]


def test_the_stock_image_has_all_operations(reviews, tmp_path):
    assert_served(reviews)
    path = tmp_path / "broken"
    path.mkdir()
    data = (reviews / "saved_model.pb").read_bytes()
    # tensorflow/serving#2267: an operation of pip's tensorflow_text that the server lacks.
    (path / "saved_model.pb").write_bytes(
        data.replace(b"FastWordpieceTokenizeWithOffsets", b"FastWordpieceTokenizeWithOffsetz")
    )
    with pytest.raises(AssertionError):
        assert_served(path)


def test_the_clients_of_the_documentation(reviews, capsys):
    model = Model(str(reviews))
    [over_rest, over_grpc] = programs("docs/exports.md", "TensorFlow Serving")
    assert "tensorflow" not in over_rest and len(over_rest.splitlines()) <= 20
    with rest("reviews", model) as port:
        exec(
            compile(
                over_rest.replace("localhost:8501", f"localhost:{port}"), "docs/exports.md", "exec"
            ),
            {},
        )
        labels = capsys.readouterr().out
        with pytest.raises(SystemExit, match="inputs are .'text_a'."):
            exec(
                compile(
                    over_rest.replace("localhost:8501", f"localhost:{port}").replace(
                        "text_a=", "text="
                    ),
                    "docs/exports.md",
                    "exec",
                ),
                {},
            )
    with grpc_port("reviews", model) as port:
        exec(
            compile(
                over_grpc.replace("localhost:8500", f"localhost:{port}"), "docs/exports.md", "exec"
            ),
            {},
        )
    assert any(label in labels for label in PAIRS["labels"]) and capsys.readouterr().out.startswith(
        "[[0."
    )

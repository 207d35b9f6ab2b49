import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import openvino
import pytest
from tokenizers import Tokenizer as ClientTokenizer

from bert_common import json_files
from bert_common.errors import UserError
from bert_tf.extras import onnx_format
from bert_tf.inference.options import ExportOptions, task_class
from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.convert import convert
from modeling.checkpoints.load import open_checkpoint
from modeling.fine_tuning import BertForClassification
from tests.bert_tf.extras.common import TEXTS, export_to, ids_of
from tests.page_commands import programs
from tests.tiny import CONFIG, write_tiny

HIDDEN = CONFIG.hidden_size
CLASSES = {
    "kind": "classification",
    "labels": ["no", "yes", "né"],
    "pair": False,
    "max_seq_length": 8,
}
# Heads of the checkpoint → its task.json, what the outputs are shaped like.
TASKS = {
    "features": (
        (),
        None,
        {
            "last_hidden_state": ["B", "S", HIDDEN],
            "sentence_embedding": ["B", HIDDEN],
            "pooler_output": ["B", HIDDEN],
        },
    ),
    "classification": (("classification",), CLASSES, {"logits": ["B", 3]}),
    "multiple_choice": (("multiple_choice",), None, {"logits": ["B", "K"]}),
    "question_answering": (
        ("question_answering",),
        None,
        {"start_logits": ["B", "S"], "end_logits": ["B", "S"]},
    ),
    "token_classification": (("token_classification",), None, {"logits": ["B", "S", 5]}),
    "fill_mask": (("masked_lm",), None, {"logits": ["B", "S", CONFIG.vocab_size]}),
}
NAMES = {"B": "batch_size", "S": "sequence_length", "K": "num_choices"}


def session(directory):
    return onnxruntime.InferenceSession(
        os.path.join(directory, "model.onnx"), providers=["CPUExecutionProvider"]
    )


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_vectors_are_those_that_were_trained(tmp_path, pooling):
    """Of a model for sentence embeddings: in ONNX, and in a directory of sentence-transformers."""
    path = write_tiny(
        tmp_path / "in",
        task={
            "kind": "sentence_embedding",
            "pooling": pooling,
            "normalize": True,
            "max_seq_length": 6,
        },
    )
    expected = np.array([one["vector"] for one in Predictor.from_checkpoint(path)(TEXTS)])
    assert np.linalg.norm(expected, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    done = export_to(tmp_path / "out", path, "onnx")
    assert done.task == "sentence_embedding" and done.max_difference < 1e-5
    convert(path, "sentence_transformers", str(tmp_path / "theirs"))
    again = np.array(
        [one["vector"] for one in Predictor.from_checkpoint(str(tmp_path / "theirs"))(TEXTS)]
    )
    np.testing.assert_allclose(again, expected, atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_every_task(tmp_path, task):
    heads, description, outputs = TASKS[task]
    path = write_tiny(tmp_path / "in", *heads, task=description)
    done = export_to(tmp_path / "out", path, "onnx")
    assert done.task == task and done.max_difference < 1e-5 and not done.agreement
    rows = (
        "batch_size, num_choices, sequence_length"
        if task == "multiple_choice"
        else "batch_size, sequence_length"
    )
    assert done.signatures["serving_default"] == (
        dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), f"int64 [{rows}]"),
        {
            name: f"float [{', '.join(str(NAMES.get(axis, axis)) for axis in axes)}]"
            for name, axes in outputs.items()
        },
    )
    assert sorted(os.listdir(tmp_path / "out")) == [
        "config.json",
        "model.onnx",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]


def test_choices_that_are_not_there_have_no_chance(tmp_path):
    path = write_tiny(tmp_path / "in", "multiple_choice")
    export_to(tmp_path / "out", path, "onnx")
    task = task_class("multiple_choice")(open_checkpoint(path), settings(path))
    features = task.reference_features(
        [
            task.check({"context": "the list", "choices": choices})
            for choices in (["is", "a array", "who"], ["is", "b"])
        ]
    )
    (logits,) = session(tmp_path / "out").run(
        None, onnx_format.OnnxFormat(None).inputs(task, features)
    )
    assert (
        logits.shape == (2, 3) and logits[1, 2] < -1e8 and (np.abs(logits.ravel()[:5]) < 1e3).all()
    )


def settings(path, **options):
    return ExportOptions(init_checkpoint=path, export_dir="unused", **options).settings()


@pytest.mark.parametrize("head, is_token", [("classification", False), ("masked_lm", True)])
def test_special_tokens_that_are_typed_are_what_they_are_for_the_task(tmp_path, head, is_token):
    """Whoever writes "[SEP]" into a text must not end it."""
    path = write_tiny(tmp_path / "in", head, **({} if is_token else {"task": CLASSES}))
    export_to(tmp_path / "out", path, "onnx")
    client, ours = (
        ClientTokenizer.from_file(str(tmp_path / "out/tokenizer.json")),
        open_checkpoint(path).tokenizer,
    )
    for text in ("the [MASK] list", "[SEP]", "the[CLS]"):
        assert (
            client.encode(text, add_special_tokens=False).ids
            == ours.encode(text, special_tokens=is_token).tolist()
        )
    assert (
        ours.vocabulary.sep_id in client.encode("[SEP]", add_special_tokens=False).ids
    ) == is_token


def test_a_classifier_of_several_labels_says_so(tmp_path):
    path = write_tiny(
        tmp_path / "in", "classification", task={**CLASSES, "kind": "multi_label_classification"}
    )
    export_to(tmp_path / "out", path, "onnx")
    assert (
        json_files.read(str(tmp_path / "out/config.json"))["problem_type"]
        == "multi_label_classification"
    )


def test_without_a_pooler(tmp_path):
    from modeling.checkpoints.convert import write_checkpoint
    from tests.modeling.checkpoints.common import random_weights

    words = write_tiny(tmp_path / "words")
    weights = random_weights("question_answering", config=CONFIG, pooler=False)
    write_checkpoint(
        "native", str(tmp_path / "in"), weights, CONFIG, os.path.join(words, "vocab.txt"), True
    )
    done = export_to(tmp_path / "out", str(tmp_path / "in"), "onnx", task="features")
    assert set(done.signatures["serving_default"][1]) == {"last_hidden_state", "sentence_embedding"}


def test_large_models_keep_their_weights_in_a_second_file(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_format, "_LARGEST_MODEL", 2000)
    done = export_to(tmp_path / "out", write_tiny(tmp_path / "in"), "onnx")
    assert done.max_difference < 1e-5
    assert os.path.getsize(tmp_path / "out/model.onnx.data") > 2000


@pytest.mark.parametrize(
    "quantize, types", [("float16", {"FLOAT16", "INT64"}), ("int8", {"INT8", "UINT8", "INT64"})]
)
def test_quantized(tmp_path, quantize, types, capfd):
    path = write_tiny(tmp_path / "in", "masked_lm")
    done = export_to(tmp_path / "out", path, "onnx", quantize=quantize)
    assert 0 < done.max_difference < 0.5 and capfd.readouterr() == ("", "")
    initializers = onnx.load(str(tmp_path / "out/model.onnx")).graph.initializer
    matrices = {
        onnx.TensorProto.DataType.Name(one.data_type) for one in initializers if len(one.dims) > 1
    }
    assert matrices == types


def test_what_is_between_encoder_and_head_is_refused(project, tmp_path):
    run = str(project / "tests/fixtures/run_directories/tagging_features/run")
    with pytest.raises(
        UserError, match="--format=onnx: a tagger on fixed activations can't be written"
    ):
        export_to(tmp_path / "out", run, "onnx")
    changed = BertForClassification(dataclasses.replace(CONFIG, bilstm_units=5), 3)
    words = os.path.join(write_tiny(tmp_path / "words"), "vocab.txt")
    changed.save_checkpoint(str(tmp_path / "bilstm"), vocab_file=words, do_lower_case=True)
    with pytest.raises(
        UserError, match="--format=onnx: a BiLSTM between encoder and head can't be written"
    ):
        export_to(tmp_path / "out", str(tmp_path / "bilstm"), "onnx")
    assert not os.path.exists(tmp_path / "out")


def test_the_client_of_the_page(tmp_path):
    """In a process without TensorFlow."""
    path = write_tiny(tmp_path / "in", "classification", task=CLASSES)
    export_to(tmp_path / "served", path, "onnx")
    [program] = programs("docs/exports.md", "ONNX and LiteRT")
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nassert 'tensorflow' not in sys.modules"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    task = task_class("classification")(open_checkpoint(path), settings(path))
    expected = task.predict([task.check(one["text"]) for one in found])
    assert [one["label"] for one in found] == [one["label"] for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["probability"] == pytest.approx(max(other["probabilities"].values()), abs=1e-4)


@pytest.mark.parametrize("quantize", ["none", "int8"])
@pytest.mark.parametrize("task", ["features", "classification", "fill_mask"])
def test_openvino_computes_the_same(tmp_path, task, quantize):
    heads, description, outputs = TASKS[task]
    path = write_tiny(tmp_path / "in", *heads, task=description)
    export_to(tmp_path / "out", path, "onnx", quantize=quantize)
    compiled = openvino.Core().compile_model(
        tmp_path / "out/model.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    for count in (3, 1):
        feed = ids_of(open_checkpoint(path).tokenizer, TEXTS[:count])
        expected = dict(
            zip(outputs, session(tmp_path / "out").run(list(outputs), feed), strict=True)
        )
        found = compiled(feed)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, atol=1e-5 if quantize == "none" else 0.2)

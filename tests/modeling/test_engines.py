"""The library on Keras' other backends, in a process of its own each: a backend is chosen once for
a process."""

import dataclasses
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import modeling
from bert_tf.inference.predictor import Predictor
from modeling.checkpoints.convert import FORMATS
from tests.modeling.common import SMALL, arrays, golden_model, random_features
from tests.modeling.devices_program import HEADS
from tests.modeling.engine_program import fitted, outputs_of, updated

CONFIG = dataclasses.replace(SMALL, max_position_embeddings=32)
MODELS = {
    "classification": modeling.BertForClassification(CONFIG, 3, seed=1),
    "fill_mask": modeling.BertForPreTraining(CONFIG, seed=2),
    "token_classification": modeling.BertForTokenClassification(CONFIG, 3, seed=3),
    "question_answering": modeling.BertForQuestionAnswering(CONFIG, seed=4),
    "multiple_choice": modeling.BertForMultipleChoice(CONFIG, seed=5),
    "features": modeling.BertEncoder(CONFIG, seed=6),
}
INPUTS = {
    "classification": ["w1 w2", ["w3", "w4 w5"]],
    "fill_mask": ["w1 [MASK] w2 [MASK]", "[MASK]"],
    "token_classification": ["w1 w2 w3"],
    "question_answering": [["w1 w2", "w3 w4 w5 w6"]],
    "features": ["w1", "w2 w3"],
    "multiple_choice": [
        {"context": "w1", "choices": ["w2", "w3 w4"]},
        {"context": "w1", "choices": ["w5", "w6", "w7"]},
    ],
}


def records() -> dict[str, dict[str, np.ndarray]]:
    """Model → features of records with its labels."""
    features = random_features(CONFIG, batch=6, length=9, predictions=2)
    features["is_real_example"] = np.array([1, 1, 1, 1, 1, 0], np.int32)
    classes = np.arange(6, dtype=np.int32)
    tags = np.arange(6 * 9, dtype=np.int32).reshape(6, 9) % 4 - 1
    return {
        "BertForClassification": {**features, "label_ids": classes % 3},
        "BertForTokenClassification": {**features, "label_ids": tags},
        "BertForQuestionAnswering": {
            **features,
            "start_positions": classes,
            "end_positions": classes + 1,
        },
        "BertForPreTraining": features,
        "BertForCausalLm": features,
    }


@pytest.fixture(scope="module", params=["jax", "torch"])
def engine(request, tmp_path_factory, golden, project) -> pathlib.Path:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    vocabulary = folder / "words.txt"
    vocabulary.write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(45)), ""])
    )
    for name, model in MODELS.items():
        model.save_checkpoint(str(folder / name), vocab_file=str(vocabulary), do_lower_case=True)
    for name in FORMATS:
        MODELS["classification"].save_checkpoint(str(folder / name), name)
    MODELS["classification"].save(folder / "model.keras")
    np.savez(folder / "features.npz", **ids())
    (folder / "inputs.json").write_text(json.dumps(INPUTS))
    for head, make in HEADS.items():
        np.savez(folder / f"initial_{head}.npz", *make()[0].get_weights())
    for name, features in records().items():
        np.savez(folder / f"{name}.npz", **features)
    program = pathlib.Path(__file__).with_name("engine_program.py")
    subprocess.run(
        [sys.executable, program, folder, golden],
        check=True,
        cwd=folder,
        env={**os.environ, "KERAS_BACKEND": request.param, "PYTHONPATH": str(project)},
    )
    return folder


def ids() -> dict[str, np.ndarray]:
    features = random_features(CONFIG, batch=6, length=9, predictions=2)
    return {name: features[name] for name in ("input_ids", "input_mask", "segment_ids")}


def results(folder, name: str) -> dict[str, np.ndarray]:
    with np.load(folder / "results.npz") as file:
        return {key.partition("|")[2]: file[key] for key in file if key.partition("|")[0] == name}


def assert_close(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=2e-5, err_msg=name)


@pytest.mark.processes
def test_files_of_every_format_give_the_same_outputs(engine):
    model, features = MODELS["classification"], ids()
    for name in (
        "keras",
        *(f"{name} with head" for name in FORMATS if name != "sentence_transformers"),
    ):
        assert_close(results(engine, name), outputs_of(model, features))
    for name in FORMATS:
        assert_close(results(engine, name), outputs_of(model.encoder, features))
    exact = outputs_of(model, features)["logits"]
    mixed = results(engine, "mixed")["logits"]
    assert mixed.dtype == np.float32 and 0 < np.abs(mixed - exact).max() < 0.6


@pytest.mark.golden
@pytest.mark.processes
def test_golden_values_hold(engine, golden):
    expected = arrays(golden / "hf/question_answering/inputs_outputs.npz")
    assert_close(
        results(engine, "golden"), {name: expected[name] for name in ("start_logits", "end_logits")}
    )
    assert_close(
        results(engine, "golden, original"), outputs_of(golden_model(golden).encoder, ids())
    )


@pytest.mark.processes
def test_what_was_trained_there_can_be_used_here(engine):
    losses = json.loads((engine / "facts.json").read_text())["losses"]
    assert losses[1] < losses[0]
    # Where values are not looked at, a label that is no class must not have a loss.
    assert not math.isfinite(losses[2])
    # A model whose layers are frozen after a step trains on from its file.
    assert math.isfinite(losses[3])
    trained = results(engine, "trained")
    assert_close(trained, outputs_of(keras.models.load_model(engine / "trained.keras"), ids()))
    assert_close(
        trained,
        outputs_of(modeling.BertForClassification.from_checkpoint(engine / "trained"), ids()),
    )


@pytest.mark.processes
@pytest.mark.parametrize("head", HEADS)
def test_fit_trains_as_on_tensorflow(engine, head):
    found = results(engine, head)
    expected = fitted(head)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=3e-4, err_msg=name)


@pytest.mark.processes
@pytest.mark.parametrize("optimizer_class", [modeling.BertAdamW, modeling.BertLamb])
def test_optimizers_make_the_same_updates(engine, optimizer_class):
    assert_close(results(engine, optimizer_class.__name__), updated(optimizer_class))


@pytest.mark.processes
def test_records_that_a_dataset_maps_have_the_same_labels(engine):
    for name, features in records().items():
        expected = tf.nest.flatten(getattr(modeling, name).fit_batch(features))
        found = results(engine, name)
        assert len(found) == len(expected)
        for number, value in enumerate(expected):
            np.testing.assert_array_equal(found[str(number)], value, err_msg=name)


@pytest.mark.processes
def test_predictions_are_the_same_and_the_rest_is_refused_in_one_line(engine):
    facts = json.loads((engine / "facts.json").read_text())
    for name, inputs in INPUTS.items():
        assert_alike(facts["answers"][name], Predictor.from_checkpoint(engine / name)(inputs))
    assert facts["ids"] == [[2, 6, 7, 3], [2, 8, 3, 0]]
    assert facts["without labels"].startswith("the labels are missing")
    for what, line in zip(
        ("BertPreprocessor within a model", "a dropout stream", "an export", "a run"),
        facts["refused"],
        strict=True,
    ):
        assert (
            line
            == f"{what} needs Keras' TensorFlow backend, found {facts['backend']!r}: unset KERAS_BACKEND"
        )


def assert_alike(found, expected):
    """The same JSON, but for the last digits of numbers."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, abs=2e-5)
    elif isinstance(expected, list | dict):
        assert len(found) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_alike(found[key], expected[key])
    else:
        assert found == expected
